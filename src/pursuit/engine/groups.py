r"""Values within groups of rows, of which only differences count.

A loss of pairs, or of lists, does not change if a number is added to all values of a
group. Under the squared loss of all pairs of a group of total weight W,

.. math::

    \frac{1}{W} \sum_{i < j} w_i w_j (r_i - r_j)^2 = \sum_i w_i (r_i - \bar r)^2,

so that atoms and targets around their means in each group make it least squares.
"""

from __future__ import annotations

import numpy as np

from pursuit._compiling import compiled


def centered(V: np.ndarray, groups: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return rows of values (m, l) minus their weighted mean in each group."""
    out = np.array(V, dtype=np.float64)
    center_rows(out, groups, weight)
    return out


def center_rows(A: np.ndarray, groups: np.ndarray, weight: np.ndarray) -> None:
    """Subtract from rows of values (m, l) their weighted means in each group.

    A row that is constant in each group becomes exactly 0, not round-off. Values of
    weight 0 count for nothing.

    Parameters
    ----------
    A : ndarray of shape (m, l), of float64 or float32
        Changed in place.
    groups : ndarray of int of shape (l,)
        Number of the group of each value.
    weight : ndarray of shape (l,)
    """
    totals = np.bincount(groups, weights=weight)
    shares = weight / np.where(totals > 0, totals, 1.0)[groups]
    least = (8.0 * float(np.finfo(A.dtype).eps)) ** 2
    _center(A, np.ascontiguousarray(groups, np.int64), shares, weight, totals, least)


@compiled
def _center(
    A: np.ndarray,
    groups: np.ndarray,
    shares: np.ndarray,
    weight: np.ndarray,
    totals: np.ndarray,
    least: float,
) -> None:
    means = np.empty(len(totals))
    for k in range(A.shape[0]):
        row = A[k]
        before = 0.0
        # Twice, because a mean of large values is rounded.
        for turn in range(2):
            for g in range(len(means)):
                means[g] = 0.0
            for i in range(len(row)):
                means[groups[i]] += shares[i] * row[i]
                if turn == 0:
                    before += weight[i] * row[i] * row[i]
            for i in range(len(row)):
                row[i] -= means[groups[i]]
        after = 0.0
        for i in range(len(row)):
            after += weight[i] * row[i] * row[i]
        if after <= least * before:
            for i in range(len(row)):
                row[i] = 0.0
