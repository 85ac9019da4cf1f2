r"""Inner products of all pairs of atoms under several weightings.

Letters as in :mod:`.pursuit`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
from scipy.linalg.blas import dsyrk

from pursuit._deadline import check

# Number of rows whose products are added at a time, from a copy of weighted values.
_ROWS = 512

# The same for values as they are. BLAS adds products in pieces of which this is a
# multiple, so that the sums are the same as by a single call, which lasts long.
_PIECE = 1024

# Block size of a transposition.
_BLOCK = 128


class Gram(ABC):
    r"""The matrices :math:`A W A^\top` for several weights.

    Parameters
    ----------
    A : ndarray of shape (M, l)
        Atoms.
    weights : mapping from int to ndarray of shape (l,)
        Weights by their key, as ``weighting`` of a problem.
    """

    def __init__(self, A: np.ndarray, weights: Mapping[int, np.ndarray]):
        most = np.max(list(weights.values()), axis=0)
        parts = self._make(A, most, [most - w for w in weights.values()])
        self._parts = dict(zip(weights, parts, strict=True))

    def under(self, weighting: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ``G`` (M, M) and ``D`` (r, M); the products are ``G - D.T @ D``."""
        return self._parts[weighting]

    @abstractmethod
    def _make(
        self, A: np.ndarray, most: np.ndarray, less: list[np.ndarray]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return ``G`` and ``D`` for each of the weights ``most - less``."""

    @staticmethod
    @abstractmethod
    def n_bytes(n_atoms: int, weights: Sequence[np.ndarray]) -> int:
        """Return the bytes needed besides the atoms."""


class SharedGram(Gram):
    """One matrix for the largest of the weights.

    The other weights lack some rows, whose contribution is subtracted from a row of
    the matrix when needed.
    """

    def _make(
        self, A: np.ndarray, most: np.ndarray, less: list[np.ndarray]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        matrix = mirrored(_products(A, most))
        return [(matrix, _weighted_rows(A, w)) for w in less]

    @staticmethod
    def n_bytes(n_atoms: int, weights: Sequence[np.ndarray]) -> int:
        """Return the bytes needed besides the atoms."""
        n_less = (np.array(weights) < np.max(weights, axis=0)).sum(axis=1)
        return 8 * n_atoms * (n_atoms + int(np.minimum(n_less, n_atoms).sum()))


class OwnGrams(Gram):
    """One matrix for each of the weights: slower to set up, with faster steps."""

    def _make(
        self, A: np.ndarray, most: np.ndarray, less: list[np.ndarray]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        parts = [_products(A, w) for w in less]
        # The held-out parts of the folds add up to all rows, or most of them.
        rest = most - np.sum(less, axis=0)
        if rest.min() >= 0:
            whole = _products(A, rest)
            for part in parts:
                whole += part
        else:
            whole = _products(A, most)
        for part in parts:
            mirrored(np.subtract(whole, part, out=part))
        none = np.empty((0, len(A)))
        return [(part, none) for part in parts]

    @staticmethod
    def n_bytes(n_atoms: int, weights: Sequence[np.ndarray]) -> int:
        """Return the bytes needed besides the atoms."""
        return 8 * n_atoms**2 * (len(weights) + 1)


def _products(A: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return the weighted inner products of atoms, with zeros below the diagonal."""
    matrix = np.zeros((len(A), len(A)))
    for factor, part in _weighted_parts(A, w):
        check()
        add_products(matrix, factor, part)
    return matrix


def add_products(G: np.ndarray, factor: float, A: np.ndarray) -> None:
    """Add ``factor`` times ``A @ A.T`` to the upper triangle of ``G``."""
    # Fortran reads rows as columns, so its lower triangle is the upper one here.
    dsyrk(factor, A.T, 1.0, G.T, trans=1, lower=1, overwrite_c=1)


def add_wide_products(G: np.ndarray, A: np.ndarray) -> None:
    """Add ``A @ A.T`` to ``G``, or to its upper triangle, among NumPy's own products.

    SciPy has another copy of BLAS than NumPy. After a call, threads go on waiting in
    busy loops for a while: calls of both in turn take up to three times as long.
    """
    n_rows, n_columns = A.shape
    if n_columns < n_rows:
        # Here the product is small beside the sum of two matrices.
        add_products(G, 1.0, A)
    else:
        G += A @ A.T


def mirrored(G: np.ndarray) -> np.ndarray:
    """Copy the upper triangle of a matrix to the lower in place, and return it."""
    lower = np.tri(min(_BLOCK, len(G)), k=-1, dtype=bool)
    for i in range(0, len(G), _BLOCK):
        rows = slice(i, i + _BLOCK)
        for j in range(0, i, _BLOCK):
            columns = slice(j, j + _BLOCK)
            G[rows, columns] = G[columns, rows].T
        corner = G[rows, rows]
        np.copyto(corner, corner.T.copy(), where=lower[: len(corner), : len(corner)])
    return G


def _weighted_parts(A: np.ndarray, w: np.ndarray) -> Iterator[tuple[float, np.ndarray]]:
    """Yield factors and parts whose inner products add up to those under ``w``."""
    if A.dtype == np.float64 and np.ptp(w) == 0:
        for start in range(0, A.shape[1], _PIECE):
            yield float(w[0]), A[:, start : start + _PIECE]
        return
    used = np.flatnonzero(w)
    for start in range(0, len(used), _ROWS):
        rows = used[start : start + _ROWS]
        part = np.multiply(A[:, rows], np.sqrt(w[rows]), dtype=np.float64)
        yield 1.0, np.ascontiguousarray(part)


def _weighted_rows(A: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return vectors (r, M) whose products are those of the rows under ``w``.

    These are the weighted values of the atoms on the rows or, if there are more rows
    than atoms, only as many vectors as atoms.
    """
    rows = np.flatnonzero(w)
    vectors = np.ascontiguousarray(A[:, rows].T * np.sqrt(w[rows])[:, None])
    if len(rows) <= len(A):
        return vectors
    return np.ascontiguousarray(np.linalg.qr(vectors, mode="r"))
