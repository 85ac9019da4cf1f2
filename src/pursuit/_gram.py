r"""Inner products of all atoms with each other, under several weightings.

Letters as in :mod:`pursuit.pursuit`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.linalg.blas import dsyrk

from ._gram_loops import mirror

# Rows whose products are added at a time: their weighted values are a copy.
_ROWS = 512


class Grams:
    r"""The matrices :math:`G = A W A^\top` of some weightings ``W``.

    One is made for the largest of their weights.  The others are less by some rows:
    these are taken out at once, into a matrix for each weighting, or left to those who
    use the one.

    Parameters
    ----------
    A : ndarray of shape (M, l)
        The atoms.
    weights : sequence of ndarrays of shape (l,)
        Known by what they are, not by their values.
    is_apart : bool
        Whether each weighting gets a matrix of its own.
    """

    def __init__(self, A: np.ndarray, weights: Sequence[np.ndarray], is_apart: bool):
        self._A, self._is_apart = A, is_apart
        self._most = np.max(weights, axis=0)
        whole = _add_products(np.zeros((len(A), len(A))), 1.0, A, self._most)
        self._of = {id(w): self._less(whole, w) for w in weights}

    def of(self, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a matrix ``G`` and vectors ``D`` (r, M).

        The inner products are ``G - D.T @ D``.
        """
        G, gone = self._of[id(weight)]
        less = np.sqrt((self._most - weight)[gone])
        return G, np.ascontiguousarray((self._A[:, gone] * less).T, dtype=np.float64)

    def _less(
        self, whole: np.ndarray, weight: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the matrix to use for a weighting, and the rows to take out of it."""
        less = self._most - weight
        if not self._is_apart or not less.any():
            return whole, np.flatnonzero(less)
        return _add_products(whole.copy(), -1.0, self._A, less), np.empty(0, int)

    @staticmethod
    def n_bytes(n_atoms: int, n_weights: int, is_apart: bool) -> int:
        """Return the bytes of the matrices."""
        n_matrices = n_weights + 1 if is_apart and n_weights > 1 else 1
        return 8 * n_atoms**2 * n_matrices


def _add_products(
    G: np.ndarray, sign: float, A: np.ndarray, w: np.ndarray
) -> np.ndarray:
    """Add the inner products under the weights ``w``, times the sign, to ``G``."""
    for factor, part in _weighted_parts(A, w):
        # What is lower to Fortran, which takes rows for columns, is upper here.
        dsyrk(sign * factor, part.T, 1.0, G.T, trans=1, lower=1, overwrite_c=1)
    mirror(G)
    return G


def _weighted_parts(A: np.ndarray, w: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Yield factors and rows whose inner products add up to those under ``w``."""
    if A.dtype == np.float64 and np.ptp(w) == 0:
        yield float(w[0]), A
        return
    used = np.flatnonzero(w)
    for start in range(0, len(used), _ROWS):
        rows = used[start : start + _ROWS]
        some = A[:, rows] * np.sqrt(w[rows])
        yield 1.0, np.ascontiguousarray(some, dtype=np.float64)
