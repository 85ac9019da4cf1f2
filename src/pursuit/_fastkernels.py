"""Machinery below `pursuit.kernels`: distances, exponentials, widths from data.

Squared distances between all rows of two sets come from one matrix product,

    |x - z|² = |x|² + |z|² - 2 x·z,

after moving the origin to the mean, so that a common offset of the data costs no
digits. Where the subtraction would still cancel (near and identical rows) or
overflow, the pair is computed again from its difference: identical rows are at
distance exactly 0, and no distance is negative or NaN.

The exponential is a polynomial that LLVM turns into vector instructions; it agrees
with the exact value to 2e-16 relative and is several times faster than ``np.exp``.

Threads are plain Python threads around functions that release the GIL rather than
Numba's own, because Numba's default thread pool ends the process when it is entered
from two threads at once, which ``joblib``'s threading backend does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
from numba import get_num_threads, njit
from scipy import sparse
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.utils.extmath import row_norms
from threadpoolctl import ThreadpoolController

# A distance below this fraction of |x|² + |z|² lost three digits or more to
# cancellation and is computed again.
CANCELLED = 1e-3
# A coordinate of the mean above this may overflow when it is subtracted.
LARGEST_CENTER = 1e150
# Rows of one block of distances: enough for a full-speed matrix product.
CHUNK = 1024
# Entries after which cancelled distances are repaired, while still in cache.
_TILE = 256
# Different rows of which all distances are taken for their median.
SAMPLED_ROWS = 2000
# Entries of a matrix below which starting threads costs more than it saves.
WORTH_THREADS = 1 << 18

_LOG2_E = 1.0 / math.log(2.0)
# log 2 in two parts; the first has trailing zero bits, so n * _LN2_HIGH is exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Below it the exponential is subnormal, which slows down every later product.
_LOWEST = -708.0
# Adding this rounds to an integer and leaves it in the low bits of the double.
_ROUNDER = 1.5 * 2.0**52
# Taylor's coefficients 1/k!: on |r| <= log(2)/2 the rest is below 5e-18.
_C2, _C3, _C4, _C5, _C6, _C7, _C8, _C9, _C10, _C11, _C12, _C13 = (
    1.0 / math.factorial(k) for k in range(2, 14)
)


@njit(nogil=True, fastmath={"contract"}, inline="always")
def _exp(t: float) -> float:
    """Return exp(t) for t <= 0: 0 where it would be subnormal, NaN at NaN."""
    clipped = _LOWEST if t < _LOWEST else t
    shifted = clipped * _LOG2_E + _ROUNDER
    n = shifted - _ROUNDER
    r = (clipped - n * _LN2_HIGH) - n * _LN2_LOW
    p = _C12 + r * _C13
    p = _C11 + r * p
    p = _C10 + r * p
    p = _C9 + r * p
    p = _C8 + r * p
    p = _C7 + r * p
    p = _C6 + r * p
    p = _C5 + r * p
    p = _C4 + r * p
    p = _C3 + r * p
    p = _C2 + r * p
    p = 1.0 + (r + (r * r) * p)
    power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52)
    value = p * np.int64(power).view(np.float64)  # p 2^n, through the exponent's bits
    return 0.0 if t < _LOWEST else value


@njit(nogil=True, cache=True, fastmath={"contract"})
def _exponentials(D: np.ndarray, scale: float) -> None:
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            D[i, j] = _exp(scale * D[i, j])


# Reassociation lets the sum use vectors; it keeps zero, symmetry and NaN intact.
@njit(nogil=True, fastmath={"contract", "reassoc"})
def _squared_difference(x: np.ndarray, z: np.ndarray) -> float:
    total = 0.0
    for k in range(x.shape[0]):
        total += (x[k] - z[k]) * (x[k] - z[k])
    return total


@njit(nogil=True, cache=True, fastmath={"contract"})
def _finish_distances(
    D: np.ndarray, X: np.ndarray, x_norms: np.ndarray, Z: np.ndarray, z_norms: Any
) -> None:
    """Turn the products x·z in `D` into squared distances, in place."""
    for i in range(D.shape[0]):
        for start in range(0, D.shape[1], _TILE):
            stop = min(start + _TILE, D.shape[1])
            n_cancelled = 0
            for j in range(start, stop):
                total = x_norms[i] + z_norms[j]
                D[i, j] = total - 2.0 * D[i, j]
                # Negated, so that NaN (from inf - inf) counts as well.
                n_cancelled += not (D[i, j] > CANCELLED * total)
            if n_cancelled > 0:
                for j in range(start, stop):
                    if not (D[i, j] > CANCELLED * (x_norms[i] + z_norms[j])):
                        D[i, j] = _squared_difference(X[i], Z[j])


@njit(nogil=True, cache=True)
def _narrow(D: np.ndarray, tiny: float, out: np.ndarray) -> None:
    """Write D into a float32 `out`, with 0 for what would be subnormal there."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = D[i, j] if abs(D[i, j]) >= tiny else 0.0


@cache
def _thread_pools() -> ThreadpoolController:
    return ThreadpoolController()


def n_threads() -> int:
    """Threads allowed here: what BLAS and Numba are both limited to."""
    limits = [pool.num_threads for pool in _thread_pools().lib_controllers]
    return min([get_num_threads(), *limits])


def in_threads(function: Callable[[slice], Any], shape: tuple[int, int]) -> None:
    """Call `function` on slices that together cover the rows of a matrix."""
    large = shape[0] * shape[1] >= WORTH_THREADS
    threads = min(n_threads(), shape[0]) if large else 1
    if threads == 1:
        function(slice(0, shape[0]))
        return
    edges = np.linspace(0, shape[0], threads + 1).astype(int).tolist()
    # A pool a call: a lasting one would not survive a fork.
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(function, map(slice, edges[:-1], edges[1:])))


def exponentials(D: np.ndarray, scale: float) -> None:
    """Replace D by exp(scale * D), in place; subnormal values become 0.

    Parameters
    ----------
    D : ndarray of float64, C-contiguous
        Not negative; may hold inf.
    scale : float
        Not positive.
    """
    in_threads(lambda s: _exponentials(D[s], scale), D.shape)


@dataclass(frozen=True)
class Rows:
    """Points with their squared norms, ready for distances to other `Rows`.

    Attributes
    ----------
    points : ndarray or CSR matrix of shape (n, d)
        If dense, moved so that the center is the origin, and followed by zeros up
        to a number of rows of which a matrix product computes all in the same way.
        Otherwise identical points at the edge of the matrix could get other last
        digits than those inside.
    norms : ndarray of shape (n,)
    size : int
        The number of rows without those zeros.
    """

    points: Any
    norms: np.ndarray
    size: int

    def __len__(self) -> int:
        return self.size

    def __getitem__(self, index: Any) -> Rows:
        if isinstance(index, slice) and index == slice(None):
            return self
        return _rows(self.points[: self.size][index], self.norms[: self.size][index])


def paired_rows(X: Any, Y: Any = None) -> tuple[Rows, Rows]:
    """Return the `Rows` of X and of Y about one center, the mean of Y.

    Without Y both are the same object, which marks a symmetric matrix.
    """
    if sparse.issparse(X) or sparse.issparse(Y):
        # Moving the origin would fill the zeros.
        rows = [None if A is None else _rows(_as_csr(A)) for A in (X, Y)]
    else:
        center = _center(X if Y is None else Y)
        rows = [None if A is None else _rows(A - center) for A in (X, Y)]
    return rows[0], rows[0] if Y is None else rows[1]  # type: ignore[return-value]


def _as_csr(X: Any) -> Any:
    return X.tocsr() if sparse.issparse(X) else sparse.csr_array(X)


def _center(X: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        center = X.mean(axis=0) if len(X) else np.zeros(X.shape[1])
    return np.where(np.abs(center) < LARGEST_CENTER, center, 0.0)


def _rows(points: Any, norms: np.ndarray | None = None) -> Rows:
    size = points.shape[0]
    if norms is None:
        with np.errstate(over="ignore"):
            norms = row_norms(points, squared=True)
    if sparse.issparse(points):
        return Rows(points, norms, size)
    missing = _even(size) - size
    if missing:
        points = np.pad(points, ((0, missing), (0, 0)))
        norms = np.pad(norms, (0, missing))
    return Rows(np.ascontiguousarray(points), np.ascontiguousarray(norms), size)


def _even(size: int) -> int:
    """Return the number of rows to which `Rows` of this size are filled up."""
    # Multiples of the tiles of BLAS on common processors; one row is no product of
    # matrices but of a matrix and a vector, which has no edge.
    tile = 1 if size == 1 else 8 if size <= 8 else 16
    return -(-size // tile) * tile


def squared_distances(left: Rows, right: Rows, out: np.ndarray) -> np.ndarray:
    """Write |x - z|² for x in `left` and z in `right` into `out`.

    Parameters
    ----------
    left, right : Rows
        About the same center. The same object gives an exactly symmetric matrix.
    out : ndarray of float64, C-contiguous
        With a row for each row of ``left.points``, a column for those of `right`.
    """
    if sparse.issparse(left.points):
        return _sparse_squared_distances(left, right, out)
    with np.errstate(over="ignore", invalid="ignore"):
        np.dot(left.points, right.points.T, out=out)
    in_threads(
        lambda s: _finish_distances(
            out[s], left.points[s], left.norms[s], right.points, right.norms
        ),
        out.shape,
    )
    return out


def _sparse_squared_distances(left: Rows, right: Rows, out: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        out[...] = (left.points @ right.points.T).toarray()
        out *= -2.0
        total = left.norms[:, np.newaxis] + right.norms
        out += total
        i, j = np.nonzero(~(out > CANCELLED * total))
        for a in range(0, len(i), CHUNK):
            pairs = i[a : a + CHUNK], j[a : a + CHUNK]
            difference = left.points[pairs[0]] - right.points[pairs[1]]
            out[pairs] = row_norms(difference, squared=True)
    return out


def distance_blocks(left: Rows, right: Rows, out: np.ndarray) -> Iterator[np.ndarray]:
    """Yield blocks of squared distances; what is made of them goes to `out`.

    Whoever iterates turns each block into kernel values in place. A symmetric
    matrix takes half the work: only the blocks on and above the diagonal are
    yielded, and each is mirrored below it.

    Parameters
    ----------
    left, right : Rows
        About the same center; the same object for a symmetric matrix.
    out : ndarray of float64 or float32 of shape (len(left), len(right))
    """
    # One buffer for all blocks; it takes no memory until it is written to.
    buffer = np.empty(_even(min(CHUNK, len(left))) * _even(len(right)))
    for a in range(0, len(left), CHUNK):
        here = slice(a, min(a + CHUNK, len(left)))
        if left is right:
            after = slice(here.stop, len(left))
            block = left[here]
            yield from _distance_block(block, block, out[here, here], buffer)
            yield from _distance_block(block, left[after], out[here, after], buffer)
            out[after, here] = out[here, after].T
        else:
            yield from _distance_block(left[here], right, out[here], buffer)


def _distance_block(
    left: Rows, right: Rows, out: np.ndarray, buffer: np.ndarray
) -> Iterator[np.ndarray]:
    shape = left.points.shape[0], right.points.shape[0]
    fits = out.dtype == np.float64 and out.flags.c_contiguous and out.shape == shape
    D = out if fits else buffer[: shape[0] * shape[1]].reshape(shape)
    yield squared_distances(left, right, D)
    if not fits:
        _store(D, out)


def _store(D: np.ndarray, out: np.ndarray) -> None:
    """Write the upper left part of D into `out`."""
    if out.dtype == np.float64:
        out[...] = D[: out.shape[0], : out.shape[1]]
    else:
        tiny = np.finfo(out.dtype).tiny
        in_threads(lambda s: _narrow(D[s], tiny, out[s]), out.shape)


def median_gamma(
    X: Any, sample_weight: Any = None, metric: str = "sqeuclidean"
) -> float:
    """Return 1 / the weighted median of the distances between different rows.

    A pair weighs the product of its rows' weights, so that a row of weight 2 is two
    equal rows and one of weight 0 is none; of two medians the lower is taken. Among
    more than 2000 different rows, the 2000 with the smallest fingerprints stand for
    all: a sample that is arbitrary, but the same for any order, repetition and
    weights of the rows, dense or sparse. If all rows are equal, the answer is 1.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    sample_weight : array of shape (n,), optional
    metric : {"sqeuclidean", "manhattan"}
        Squared Euclidean distances, or sums of absolute differences.
    """
    X, weights = _distinct(*_weighted_rows(X, sample_weight))
    X, unit = _in_units(X)
    upper = np.triu_indices(X.shape[0], 1)
    D = _all_distances(X, metric)[upper]
    pair_weights = weights[upper[0]] * weights[upper[1]]
    positive = D > 0
    if not positive.any():
        return 1.0
    median = _weighted_median(D[positive], pair_weights[positive])
    return _finite_inverse(median, unit, 2 if metric == "sqeuclidean" else 1)


def scale_gamma(X: Any, sample_weight: Any = None) -> float:
    """Return 1 / (d * variance of the entries of X), as SVC's ``gamma="scale"``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    sample_weight : array of shape (n,), optional
    """
    X, weights = _weighted_rows(X, sample_weight)
    X, unit = _in_units(X)
    weights = weights / (weights.sum() * X.shape[1])
    mean = (weights @ X).sum()
    if sparse.issparse(X):
        variance = weights @ row_norms(X, squared=True) - mean**2
    else:
        variance = weights @ row_norms(X - mean, squared=True)
    if variance <= 0:
        return 1.0
    return _finite_inverse(X.shape[1] * variance, unit, 2)


def _finite_inverse(value: float, unit: float, power: int) -> float:
    """Return 1 / (value * unit**power), kept where it can still be multiplied."""
    with np.errstate(over="ignore", under="ignore"):
        inverse = np.float64(1.0) / value
        for _ in range(power):
            inverse = inverse / unit
    return float(np.clip(inverse, 1e-300, 1e300))


def _weighted_rows(X: Any, sample_weight: Any) -> tuple[Any, np.ndarray]:
    """Return the rows of positive weight and their weights."""
    if sample_weight is None:
        return X, np.ones(X.shape[0])
    weights = np.asarray(sample_weight, dtype=np.float64)
    kept = np.flatnonzero(weights > 0)
    return X[kept], weights[kept] / weights.max(initial=np.finfo(np.float64).tiny)


def _in_units(X: Any) -> tuple[Any, float]:
    """Return X divided by a power of 2 near its largest entry, and that power."""
    largest = np.abs(X).max() if min(X.shape) else 0.0
    unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1)) if largest > 0 else 1.0
    return X / unit, unit


def _all_distances(X: Any, metric: str) -> np.ndarray:
    if metric == "manhattan":
        return manhattan_distances(X)
    rows, _ = paired_rows(X)
    D = np.empty((rows.points.shape[0],) * 2)
    return squared_distances(rows, rows, D)[: len(rows), : len(rows)]


def _weighted_median(values: np.ndarray, weights: np.ndarray) -> float:
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(weights[order])
    # Half the weight up to rounding is half the weight.
    half = 0.5 * cumulated[-1] * (1.0 - 1e-12)
    return float(values[order[np.searchsorted(cumulated, half)]])


def _distinct(X: Any, weights: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return different rows in the order of their fingerprints, and their weights."""
    _, first, inverse = np.unique(
        _fingerprints(X), return_index=True, return_inverse=True
    )
    weights = np.bincount(inverse, weights, len(first))
    return X[first[:SAMPLED_ROWS]], weights[:SAMPLED_ROWS]


def _fingerprints(X: Any) -> np.ndarray:
    """Return a number a row that depends on its non-zero entries only."""
    digests = []
    for a in range(0, X.shape[0], CHUNK):
        rows = sparse.csr_array(X[a : a + CHUNK], copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
        indices = rows.indices.astype(np.int64)
        for start, stop in pairwise(rows.indptr.tolist()):
            content = indices[start:stop].tobytes() + rows.data[start:stop].tobytes()
            digests.append(blake2b(content, digest_size=8).digest())
    return np.frombuffer(b"".join(digests), dtype=np.uint64)
