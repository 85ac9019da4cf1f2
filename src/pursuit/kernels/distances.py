"""Distances between all rows of two sets.

Squared distances come from one matrix product,

    |x - z|² = |x|² + |z|² - 2 x·z,

after moving the origin to the mean, so that a common offset of the data costs no
precision. If the subtraction still cancels (near and identical rows) or overflows, the
pair is recomputed from its difference: identical rows are at distance exactly 0, and
no distance is negative or NaN.

Absolute distances, the sums of |x - z|, are sums over the columns, each in the same
order: exactly symmetric, and the same for a row whatever the others are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from scipy import sparse
from sklearn.utils.extmath import row_norms

from pursuit._compiling import compiled
from pursuit._ranges import LARGEST_TO_SQUARE

# A distance below this fraction of |x|² + |z|² has lost three or more digits to
# cancellation and is recomputed.
CANCELLED = 1e-3
# Number of pairs of sparse rows recomputed at a time.
_PAIRS = 1024
# Points whose absolute distances to two others are summed at a time: sums and
# coordinates stay in the first cache.
_STRIP = 512


@dataclass(frozen=True)
class Rows:
    """Points with their squared norms, ready for distances to other `Rows`.

    Attributes
    ----------
    points : ndarray or CSR matrix of shape (n, d)
        If dense, moved so that the center is the origin.
    norms : ndarray of shape (n,)
    """

    points: Any
    norms: np.ndarray

    def __len__(self) -> int:
        return len(self.norms)

    def __getitem__(self, index: Any) -> Rows:
        points = self.points[index]
        if not sparse.issparse(points):
            points = np.ascontiguousarray(points)
        return Rows(points, np.ascontiguousarray(self.norms[index]))


def paired_rows(X: Any, Y: Any) -> tuple[Rows, Rows]:
    """Return the `Rows` of X and of Y about one center, the mean of Y.

    If Y is X, both are the same object, which marks a symmetric matrix.
    """
    if sparse.issparse(X) or sparse.issparse(Y):
        # Moving the origin would destroy sparsity.
        left = rows_of(sparse.csr_array(X))
        return left, left if Y is X else rows_of(sparse.csr_array(Y))
    center = center_of(Y)
    left = rows_of(X - center)
    return left, left if Y is X else rows_of(Y - center)


def rows_of(points: Any) -> Rows:
    """Return points, moved to their origin, with their squared norms."""
    with np.errstate(over="ignore"):
        if sparse.issparse(points):
            return Rows(points, row_norms(points, squared=True))
        return Rows(points, np.einsum("ij,ij->i", points, points))


def center_of(Y: np.ndarray) -> np.ndarray:
    """Return the mean of dense rows, 0 where subtracting it may overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        center = Y.mean(axis=0) if len(Y) else np.zeros(Y.shape[1])
    return np.where(np.abs(center) < LARGEST_TO_SQUARE, center, 0.0)


@dataclass(frozen=True, eq=False)
class FixedPoints:
    """Dense points to which squared distances are computed again and again.

    Attributes
    ----------
    center : ndarray of shape (d,)
        Origin about which distances are computed.
    rows : Rows
        The points about the center, with their squared norms.
    """

    center: np.ndarray
    rows: Rows

    @classmethod
    def of(cls, points: np.ndarray) -> FixedPoints:
        """Prepare the points, (m, d)."""
        center = center_of(points)
        return cls(center, rows_of(points - center))

    def __len__(self) -> int:
        return len(self.rows)

    def squared_distances(self, X: np.ndarray) -> np.ndarray:
        """Return |x - z|² for the rows x of X, as `paired_rows` would, (n, m)."""
        D = np.empty((X.shape[0], len(self)))
        return squared_distances(rows_of(X - self.center), self.rows, D)


def squared_distances(left: Rows, right: Rows, out: np.ndarray) -> np.ndarray:
    """Write |x - z|² for x in `left` and z in `right` into `out`.

    Parameters
    ----------
    left, right : Rows
        About the same center. The same object gives an exactly symmetric matrix.
    out : ndarray of float64 of shape (len(left), len(right)), C-contiguous
    """
    with np.errstate(over="ignore", invalid="ignore"):
        if sparse.issparse(left.points):
            _sparse_distances(left, right, out)
        else:
            np.dot(left.points, right.points.T, out=out)
            _finish(out, left.points, left.norms, right.points, right.norms)
    return out


def absolute_distances(X: Any, Y: Any = None) -> np.ndarray:
    """Return Σ |x - z| for the rows x of X and z of Y; Y defaults to X."""
    Y = X if Y is None else Y
    if sparse.issparse(X) or sparse.issparse(Y):
        from sklearn.metrics.pairwise import manhattan_distances  # slow to import

        # It adds all values up to see whether they are finite.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(manhattan_distances(_narrow(X), _narrow(Y)))
    check_columns(X, Y)
    D = absolute_sums(X, Y, np.empty(X.shape[0] * Y.shape[0]))
    return np.ascontiguousarray(D)


def check_columns(X: Any, Y: Any) -> None:
    """Raise a ValueError unless the points of X and Y have as many coordinates."""
    if X.shape[1] != Y.shape[1]:
        raise ValueError(
            f"X has {X.shape[1]} columns and Y has {Y.shape[1]}: points must have the "
            "same features."
        )


def absolute_sums(X: np.ndarray, Y: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    """Return Σ |x - z| for dense rows, of shape (n, m), in the memory of ``buffer``.

    The result is the transpose of a contiguous array if Y has fewer rows than X: the
    loop is fast along the larger set.
    """
    if len(Y) < len(X):
        return absolute_sums(Y, X, buffer).T
    return absolute_sums_to(columns_of(Y), X, buffer.reshape(len(X), len(Y)))


def columns_of(Y: np.ndarray) -> np.ndarray:
    """Return the columns of Y as rows, ready for `absolute_sums_to`."""
    return np.array(Y.T, dtype=np.float64, order="C")


def absolute_sums_to(columns: np.ndarray, X: np.ndarray, out: np.ndarray) -> np.ndarray:
    """Write Σ |x - z| for the points z of `columns_of` into ``out``, (n, m)."""
    # A copy, for one compiled loop serves arrays of one kind only.
    X = np.array(X, dtype=np.float64, order="C")
    n_pairs = len(X) // 2 * 2
    # Each loop is compiled only if it is needed.
    if n_pairs:
        _sum_differences(X[:n_pairs], columns, out[:n_pairs])
    if n_pairs < len(X):
        _sum_differences_of_one(X[n_pairs:], columns, out[n_pairs:])
    return out


def _narrow(X: Any) -> Any:
    """Return a sparse matrix with 32-bit indices, as scikit-learn requires."""
    if not sparse.issparse(X) or max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        return X
    parts = X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return sparse.csr_array(parts, shape=X.shape)


def _sparse_distances(left: Rows, right: Rows, out: np.ndarray) -> None:
    total = left.norms[:, np.newaxis] + right.norms
    out[...] = total - 2.0 * (left.points @ right.points.T).toarray()
    i, j = np.nonzero(~(out > CANCELLED * total))
    for a in range(0, len(i), _PAIRS):
        pairs = i[a : a + _PAIRS], j[a : a + _PAIRS]
        difference = left.points[pairs[0]] - right.points[pairs[1]]
        out[pairs] = row_norms(difference, squared=True)


@njit(nogil=True, cache=True, fastmath={"contract"})
def _finish(
    D: np.ndarray,
    X: np.ndarray,
    x_norms: np.ndarray,
    Z: np.ndarray,
    z_norms: np.ndarray,
) -> None:
    """Turn the products x·z in `D` into squared distances, in place."""
    for i in range(D.shape[0]):
        n_cancelled = 0
        for j in range(D.shape[1]):
            total = x_norms[i] + z_norms[j]
            D[i, j] = total - 2.0 * D[i, j]
            # Negated, so that NaN (from inf - inf) counts as well.
            n_cancelled += not (D[i, j] > CANCELLED * total)
        if n_cancelled > 0:
            for j in range(D.shape[1]):
                if not (D[i, j] > CANCELLED * (x_norms[i] + z_norms[j])):
                    D[i, j] = _squared_difference(X[i], Z[j])


# Reassociation vectorizes the sum, and keeps zeros, symmetry and NaN intact.
@njit(nogil=True, fastmath={"contract", "reassoc"})
def _squared_difference(x: np.ndarray, z: np.ndarray) -> float:
    total = 0.0
    for k in range(x.shape[0]):
        total += (x[k] - z[k]) * (x[k] - z[k])
    return total


# Two rows and four columns at a time: each loaded coordinate serves twice, each sum is
# loaded and stored once for four differences. LLVM makes vectors of the points z, if
# the inner loops start at 0.
@compiled
def _sum_differences(X: np.ndarray, Z: np.ndarray, out: np.ndarray) -> None:
    d, m = Z.shape
    for start in range(0, m, _STRIP):
        end = min(start + _STRIP, m)
        for i in range(0, X.shape[0], 2):
            first, second = out[i, start:end], out[i + 1, start:end]
            for k in range(end - start):
                first[k] = 0.0
                second[k] = 0.0
            for j in range(0, d - 3, 4):
                a, b, c, e = X[i, j], X[i, j + 1], X[i, j + 2], X[i, j + 3]
                f, g = X[i + 1, j], X[i + 1, j + 1]
                p, q = X[i + 1, j + 2], X[i + 1, j + 3]
                s, t = Z[j, start:end], Z[j + 1, start:end]
                u, v = Z[j + 2, start:end], Z[j + 3, start:end]
                for k in range(end - start):
                    first[k] += (abs(s[k] - a) + abs(t[k] - b)) + (
                        abs(u[k] - c) + abs(v[k] - e)
                    )
                    second[k] += (abs(s[k] - f) + abs(t[k] - g)) + (
                        abs(u[k] - p) + abs(v[k] - q)
                    )
            for j in range(d - d % 4, d):
                a, f, s = X[i, j], X[i + 1, j], Z[j, start:end]
                for k in range(end - start):
                    first[k] += abs(s[k] - a)
                    second[k] += abs(s[k] - f)


@compiled
def _sum_differences_of_one(X: np.ndarray, Z: np.ndarray, out: np.ndarray) -> None:
    """Do the same for one row, in the same order."""
    d, m = Z.shape
    for i in range(X.shape[0]):
        for k in range(m):
            out[i, k] = 0.0
        for j in range(0, d - 3, 4):
            a, b, c, e = X[i, j], X[i, j + 1], X[i, j + 2], X[i, j + 3]
            for k in range(m):
                first = abs(Z[j, k] - a) + abs(Z[j + 1, k] - b)
                out[i, k] += first + (abs(Z[j + 2, k] - c) + abs(Z[j + 3, k] - e))
        for j in range(d - d % 4, d):
            a = X[i, j]
            for k in range(m):
                out[i, k] += abs(Z[j, k] - a)
