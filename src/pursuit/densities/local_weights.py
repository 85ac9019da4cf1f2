"""Neighbors, with weights, that shape the Gaussian around each training point.

A hard neighborhood gives weight 1/k to the k nearest other rows; a soft one (eq. 13.3
of the thesis) weights them by a kernel. A row with count 2 stands for two equal rows:
each of them has the other as its nearest neighbor.

Letters: X (l, n) points, K the largest number of neighbors of a point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from pursuit._limits import Limits
from pursuit.kernels import Kernel
from pursuit.kernels.distances import Rows, paired_rows, squared_distances

from .gaussians import exponent_distances, normalized

# Number of distances held at a time, and number of arrays of that size for sorting.
_HELD = 1 << 21
_ARRAYS = 6


@dataclass(frozen=True)
class WeightedNeighbors:
    """The neighbors of every point, nearest first.

    Attributes
    ----------
    indices : ndarray of int of shape (l, K)
        Neighbors; if a point has fewer than K, padded with the index of the point.
    weights : ndarray of shape (l, K)
        Non-negative weights. They sum to 1, or to less if rows equal to the point take
        a share, which adds nothing to a covariance.
    """

    indices: np.ndarray
    weights: np.ndarray


def weighted_neighbors(
    X: np.ndarray,
    counts: np.ndarray,
    k: int | None,
    kernel: Kernel | None,
    points: np.ndarray,
    limits: Limits,
) -> WeightedNeighbors:
    """Return the neighborhoods of the rows of X.

    Parameters
    ----------
    X : ndarray of shape (l, n)
        Distinct rows.
    counts : ndarray of shape (l,)
        How often each row occurs in the data; positive, possibly fractional.
    k : int or None
        Number of neighbors; None means all other rows.
    kernel : Kernel or None
        Weights k(x_j, x_i); None gives equal weights.
    points : ndarray of shape (l, n)
        Rows in original coordinates, for the kernel; X may be moved and scaled.
    limits : Limits
    """
    if k == 0 or np.all(counts == 1.0):
        size = len(X) - 1 if k is None else min(k, len(X) - 1)
        indices = nearest(X, size, limits)
        own_masses, masses = np.zeros(len(X)), np.ones(indices.shape)
    else:
        wanted = np.inf if k is None else float(k)
        indices, masses, own_masses = _weighed(X, counts, wanted, limits)
    with np.errstate(divide="ignore"):
        logs = np.log(np.column_stack([own_masses, masses]))
        if kernel is not None:
            logs[:, 0] += np.log(kernel.diag(points))
            logs[:, 1:] += log_neighbor_masses(points, indices, kernel, limits.memory)
    return WeightedNeighbors(indices, normalized(logs)[:, 1:])


def nearest(
    X: np.ndarray, k: int, limits: Limits, rows: np.ndarray | None = None
) -> np.ndarray:
    """Return the k nearest other rows of every row, or of some, nearest first, (r, k).

    Ties go to the lower index. The cost is O(r l n), in blocks of rows.
    """
    own = np.arange(len(X)) if rows is None else rows
    indices = np.empty((len(own), k), dtype=np.int64)

    def choose(D: np.ndarray, here: slice) -> None:
        D[np.arange(len(D)), own[here]] = np.inf
        indices[here] = _smallest(D, k)

    if k > 0:
        _each_block(X, choose, limits, rows)
    return indices


def log_neighbor_masses(
    X: np.ndarray, indices: np.ndarray, kernel: Kernel | None, memory: int
) -> np.ndarray:
    """Return log k(x_j, x_i) for the neighbors j of every row i; 0 without a kernel."""
    logs = np.zeros(indices.shape)
    if kernel is None:
        return logs
    height = max(1, _held(memory, 1) // len(X))
    for a in range(0, len(X), height):
        rows = slice(a, a + height)
        logs[rows] = _log_values(kernel, X, rows, indices[rows])
    return logs


def _log_values(
    kernel: Kernel, X: np.ndarray, rows: slice, indices: np.ndarray
) -> np.ndarray:
    """Return the logarithms for some rows; the values must not be negative."""
    D = exponent_distances(kernel, X[rows], X)
    with np.errstate(over="ignore", divide="ignore"):
        if D is not None:
            return -float(kernel.gamma) * np.take_along_axis(D, indices, axis=1)
        # Neighbors come first: a user's kernel may not be symmetric.
        values = np.take_along_axis(kernel(X, X[rows]).T, indices, axis=1)
        if values.size and values.min() < 0:
            raise ValueError(
                f"neighborhood={kernel!r} gives negative weights (down to "
                f"{values.min():g}); a neighborhood needs a kernel that is nowhere "
                "negative, such as Gaussian()."
            )
        return np.log(values)


def _smallest(D: np.ndarray, k: int) -> np.ndarray:
    """Return the columns of the k smallest values per row, in order; ties by index."""
    chosen = np.sort(np.argpartition(D, k - 1, axis=1)[:, :k], axis=1)
    last = np.take_along_axis(D, chosen, axis=1).max(axis=1, keepdims=True)
    is_tied = (last >= D).sum(axis=1) > k
    if is_tied.any():
        chosen[is_tied] = np.argsort(D[is_tied], axis=1, kind="stable")[:, :k]
        chosen.sort(axis=1)
    values = np.take_along_axis(D, chosen, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    return np.take_along_axis(chosen, order, axis=1)


def _weighed(
    X: np.ndarray, counts: np.ndarray, k: float, limits: Limits
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return neighbors, their shares of a mass k, and that of rows equal to each."""
    own_masses = np.minimum(np.maximum(counts - 1.0, 0.0), k)
    parts: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def fill(D: np.ndarray, rows: slice) -> None:
        D[np.arange(len(D)), np.arange(rows.start, rows.stop)] = np.inf
        order = np.argsort(D, axis=1, kind="stable")[:, :-1]
        available = counts[order]
        before = np.cumsum(available, axis=1) - available + own_masses[rows, None]
        masses = np.clip(k - before, 0.0, available)
        width = int((masses > 0).sum(axis=1).max(initial=0))
        # Copy, because a view would keep all l columns alive.
        parts[rows.start] = order[:, :width].copy(), masses[:, :width].copy()

    _each_block(X, fill, limits)
    width = max(order.shape[1] for order, _ in parts.values())
    indices = np.tile(np.arange(len(X))[:, None], width)
    masses = np.zeros((len(X), width))
    for start, (order, shares) in parts.items():
        rows = slice(start, start + len(order))
        indices[rows, : order.shape[1]] = order
        masses[rows, : order.shape[1]] = shares
    return indices, masses, own_masses


def _each_block(
    X: np.ndarray,
    work: Callable[[np.ndarray, slice], None],
    limits: Limits,
    rows: np.ndarray | None = None,
) -> None:
    """Call ``work(D, here)`` with the squared distances of a block to all rows.

    The blocks are those of all rows, or of some.
    """
    points, _ = paired_rows(X, X)
    n_rows = len(X) if rows is None else len(rows)
    held = _held(limits.memory, limits.usable_threads)
    height = max(1, min(held // len(X), n_rows))
    starts = range(0, n_rows, height)
    others = Rows(points.points, points.norms)

    def some(starts: Iterable[int]) -> None:
        for a in starts:
            here = slice(a, min(a + height, n_rows))
            block = points[here if rows is None else rows[here]]
            D = np.empty((len(block), len(X)))
            work(squared_distances(block, others, D), here)

    limits.deal(some, starts)


def _held(memory: int, n_threads: int) -> int:
    """Return the number of distances per thread that fit a quarter of the memory."""
    return min(_HELD, memory // (4 * 8 * _ARRAYS * n_threads))
