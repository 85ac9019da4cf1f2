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


class Gram:
    r"""The matrix :math:`A W A^\top`, for the largest of some weights and the others.

    The others are less by some rows.  A matrix for each would take longer to make than
    to do without: what must be taken out of a row of the one is known.

    Parameters
    ----------
    A : ndarray of shape (M, l)
        The atoms.
    weights : sequence of ndarrays of shape (l,)
        Known by what they are, not by their values.
    """

    def __init__(self, A: np.ndarray, weights: Sequence[np.ndarray]):
        most = np.max(weights, axis=0)
        self.matrix = np.zeros((len(A), len(A)))
        for factor, part in _weighted_parts(A, most):
            # What is lower to Fortran, which takes rows for columns, is upper here.
            dsyrk(factor, part.T, 1.0, self.matrix.T, trans=1, lower=1, overwrite_c=1)
        mirror(self.matrix)
        self._weights = list(weights)  # kept, lest another array get the place of one
        self._less = {id(w): _weighted_rows(A, most - w) for w in weights}

    def less(self, weight: np.ndarray) -> np.ndarray:
        """Return vectors ``D`` (r, M): under a weighting it is ``matrix - D.T @ D``."""
        return self._less[id(weight)]

    @staticmethod
    def n_bytes(n_atoms: int, weights: Sequence[np.ndarray]) -> int:
        """Return the bytes it takes, besides the atoms."""
        n_less = (np.array(weights) < np.max(weights, axis=0)).sum(axis=1)
        return 8 * n_atoms * (n_atoms + int(np.minimum(n_less, n_atoms).sum()))


def _weighted_parts(A: np.ndarray, w: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Yield factors and parts whose inner products add up to those under ``w``."""
    if A.dtype == np.float64 and np.ptp(w) == 0:
        yield float(w[0]), A
        return
    for start in range(0, len(w), _ROWS):
        rows = slice(start, start + _ROWS)
        part = np.multiply(A[:, rows], np.sqrt(w[rows]), dtype=np.float64)
        yield 1.0, np.ascontiguousarray(part)


def _weighted_rows(A: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return vectors (r, M) whose products are those of the rows under ``w``.

    These are the weighted values of the atoms on them, or where there are more rows
    than atoms, as few vectors as atoms.
    """
    rows = np.flatnonzero(w)
    vectors = np.ascontiguousarray(A[:, rows].T * np.sqrt(w[rows])[:, None])
    if len(rows) <= len(A):
        return vectors
    return np.ascontiguousarray(np.linalg.qr(vectors, mode="r"))
