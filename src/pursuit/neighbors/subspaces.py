"""Local hyperplanes and convex hulls of neighborhoods, and the distances to them.

The K nearest points ``N_1 … N_K`` of a class represent the class near a point ``x``:

- by their hyperplane, with weight decay λ on the vector from their mean N̄ (eq. 11.5),
  ``d² = min_a |x - N̄ - V a|² + λ |a|²``, where the columns of V are ``N_k - N̄``;
- by their convex hull, ``d² = min_b |x - Σ b_k N_k|²``, ``b >= 0``, ``Σ b_k = 1``.

Both are also ``min bᵀ(H + λI) b - λ/K`` over weights that sum to one, where H is the
Gram matrix of ``N_k - x``. So ``d² = 1 / (1ᵀ(H + λI)⁻¹1) - λ/K`` for the hyperplane,
and one factor gives every smaller K at once (:func:`.gram_path`).

`Hyperplanes` and `Hulls` are for many points and classes, in threads; `distances` has
the same for one neighborhood.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit._threads import deal

from ._hulls import hull_bounds, hull_distances, hull_paths
from ._hyperplane_paths import (
    component_distances,
    hyperplane_paths,
    reconstructions,
    tangent_paths,
)
from ._hyperplanes import (
    hyperplane_bounds,
    hyperplane_distances,
    orthogonal_distances,
)

__all__ = [
    "Hulls",
    "Hyperplanes",
    "Neighborhoods",
    "Query",
    "Tangents",
    "class_variance",
    "reconstruct",
]

# Number of points that a thread takes at a time.
_ROWS = 32
# Relative precision of the bounds that `predict` uses; well above the round-off of
# single precision.
PRECISION = 2e-3
# Two lengths are equal if they differ by no more than this share, which is rounding.
EQUAL = 1e-12
# Penalty, as a share of the class variance, below which conjugate gradients are slow
# and their lower bound is weak.
_SMALLEST_PENALTY = 1e-4


@dataclass(frozen=True)
class Neighborhoods:
    """The neighbors of n points in each of C classes, nearest first.

    Attributes
    ----------
    index : ndarray of shape (n, C, K)
        Rows of the reference points; entries beyond `count` are undefined.
    count : ndarray of shape (n, C)
        Number of neighbors, at most K.
    nearest : ndarray of shape (n, C)
        Distance to the first neighbor, infinite if there is none.
    votes : ndarray of shape (n, C)
        Number of reference points at that distance, and the class's share of all
        reference points, which decides between equal numbers. A search counts them for
        points `in_doubt` only; others have 1.
    """

    index: np.ndarray
    count: np.ndarray
    nearest: np.ndarray
    votes: np.ndarray

    def __getitem__(self, rows: Any) -> Neighborhoods:
        return Neighborhoods(
            self.index[rows], self.count[rows], self.nearest[rows], self.votes[rows]
        )

    def first(self, n_neighbors: int) -> Neighborhoods:
        """Return the nearest ``n_neighbors`` of each class."""
        count = np.minimum(self.count, n_neighbors)
        index = np.ascontiguousarray(self.index[:, :, :n_neighbors])
        return Neighborhoods(index, count, self.nearest, self.votes)


@dataclass(frozen=True)
class Tangents:
    """Known directions of invariance at the nearest point of each class.

    Attributes
    ----------
    vectors : ndarray of shape (u, m, d)
    spot : ndarray of shape (n, C)
        Index, among the u, of the tangents for each point and class.
    """

    vectors: np.ndarray
    spot: np.ndarray


@dataclass(frozen=True)
class Query:
    """Points, their neighborhoods among the reference points, and their tangents.

    Attributes
    ----------
    R : ndarray of shape (l, d)
        Reference points, float32 or float64.
    X : ndarray of shape (n, d)
        Points of the same type.
    hoods : Neighborhoods
    tangents : Tangents
    n_threads : int
    """

    R: np.ndarray
    X: np.ndarray
    hoods: Neighborhoods
    tangents: Tangents
    n_threads: int

    def run(
        self, loop: Callable[..., None], *rowwise: np.ndarray, settings: tuple[Any, ...]
    ) -> None:
        """Call a compiled loop on slices of the points, in threads.

        ``rowwise`` arrays are sliced like the points; ``settings`` are passed on.
        """
        hoods = self.hoods

        def work(slices: Sequence[slice]) -> None:
            for s in slices:
                parts = (array[s] for array in rowwise)
                loop(
                    self.R, self.X[s], hoods.index[s], hoods.count[s], *parts, *settings
                )

        slices = [slice(i, i + _ROWS) for i in range(0, len(self.X), _ROWS)]
        deal(work, slices, min(self.n_threads, len(slices)))

    @property
    def order(self) -> np.ndarray:
        """The classes of each point, the one with the nearest neighbor first."""
        return np.argsort(self.hoods.nearest, axis=1, kind="stable")

    def empty(self, *more: int) -> np.ndarray:
        """Return an empty array with an entry for each point and class."""
        return np.full((*self.hoods.count.shape, *more), np.inf)


def no_tangents(hoods: Neighborhoods, n_features: int) -> Tangents:
    """Return an empty set of directions of invariance."""
    spot = np.zeros(hoods.count.shape, dtype=np.intp)
    return Tangents(np.empty((1, 0, n_features)), spot)


@dataclass(frozen=True)
class Hyperplanes:
    """Hyperplanes through the neighbors.

    Parameters
    ----------
    penalty : float
        Weight decay λ; 0 for the plain hyperplane.
    n_components : float, default=0
        Principal directions to keep: a count, a share of the variance below 1, or 0
        for all.
    """

    penalty: float
    n_components: float = 0.0

    def distances(self, query: Query, wanted: np.ndarray) -> np.ndarray:
        """Return the squared distances (n, C) in float64, infinite if not wanted."""
        if self.n_components > 0:
            squared = self._of_components(query, np.array([self.penalty]))
            return np.where(wanted, squared[..., 0], np.inf)
        out, T = query.empty(), query.tangents
        settings = T.vectors, self.penalty
        if self.penalty > 0:
            query.run(hyperplane_distances, wanted, T.spot, out, settings=settings)
            wanted = out < 0
        if np.any(wanted):
            query.run(orthogonal_distances, wanted, T.spot, out, settings=settings)
        return out

    def bounds(self, query: Query, unit: float) -> np.ndarray | None:
        """Return bounds (n, C, 2), in units², tight enough to find the smallest.

        None if exact distances are faster.
        """
        penalty = self.penalty / unit**2
        if self.n_components > 0 or not _SMALLEST_PENALTY <= penalty <= 1e9:
            return None
        out, T = query.empty(2), query.tangents
        query.run(
            hyperplane_bounds,
            query.order,
            T.spot,
            out,
            settings=(T.vectors, penalty, unit, PRECISION),
        )
        return out

    def paths(
        self, query: Query, penalties: np.ndarray, numbers: np.ndarray
    ) -> np.ndarray:
        """Return the squared distances (n, C, L, len(numbers)).

        They are for L penalties and the given numbers of neighbors, all from one
        factor unless components are left out.
        """
        if self.n_components > 0:
            return self._one_by_one(query, penalties, numbers)
        out, T = query.empty(len(penalties), query.hoods.index.shape[2]), query.tangents
        if T.vectors.shape[1] > 0:
            query.run(tangent_paths, T.spot, out, settings=(T.vectors, penalties))
        else:
            query.run(hyperplane_paths, out, settings=(penalties,))
        return out[..., numbers - 1]

    def _one_by_one(
        self, query: Query, penalties: np.ndarray, numbers: np.ndarray
    ) -> np.ndarray:
        each = [replace(query, hoods=query.hoods.first(k)) for k in numbers.tolist()]
        return np.stack([self._of_components(some, penalties) for some in each], -1)

    def _of_components(self, query: Query, penalties: np.ndarray) -> np.ndarray:
        """Return the squared distances (n, C, L) along the principal directions."""
        out, T = query.empty(len(penalties)), query.tangents
        settings = T.vectors, penalties, self.n_components
        query.run(component_distances, T.spot, out, settings=settings)
        return out


@dataclass(frozen=True)
class Hulls:
    """Convex hulls of the neighbors; the methods are those of `Hyperplanes`."""

    def distances(self, query: Query, wanted: np.ndarray) -> np.ndarray:
        """Return the squared distances (n, C) in float64, infinite if not wanted."""
        out = query.empty()
        query.run(hull_distances, wanted, out, settings=())
        return out

    def bounds(self, query: Query, unit: float) -> np.ndarray | None:
        """Return bounds (n, C, 2), in units²."""
        out = query.empty(2)
        query.run(hull_bounds, query.order, out, settings=(unit, PRECISION))
        return out

    def paths(
        self, query: Query, penalties: np.ndarray, numbers: np.ndarray
    ) -> np.ndarray:
        """Return the squared distances (n, C, 1, len(numbers)) for some K."""
        out = query.empty(1, query.hoods.index.shape[2])
        query.run(hull_paths, out, settings=())
        return out[..., numbers - 1]


def reconstruct(
    query: Query, Y: np.ndarray, penalties: np.ndarray, numbers: np.ndarray
) -> np.ndarray:
    """Return values (n, T, L, len(numbers)) reconstructed from neighbors of one class.

    The weights that reconstruct a point from its neighbors, ``min |x - Σ b_k N_k|² +
    λ |b|²`` with ``Σ b_k = 1``, are applied to the neighbors' values ``Y`` (l, T).
    """
    shape = (len(query.X), Y.shape[1], len(penalties), query.hoods.index.shape[2])
    out = np.empty(shape)
    query.run(reconstructions, out, settings=(Y, penalties))
    return out[..., numbers - 1]


def in_doubt(nearest: np.ndarray) -> np.ndarray:
    """Return the points that are equally far from the first neighbors of two classes.

    ``nearest`` (n, C) are the distances to these. For other points no votes are needed.
    """
    lengths = np.sort(nearest, axis=1)
    is_equal = lengths[:, 1:] <= lengths[:, :-1] * (1 + EQUAL)
    return np.flatnonzero(np.any(is_equal & np.isfinite(lengths[:, 1:]), axis=1))


def class_variance(X: np.ndarray, codes: np.ndarray, n_classes: int) -> float:
    """Return the mean over classes of the summed variances of the features."""
    sums = [X[codes == c].var(axis=0, dtype=np.float64).sum() for c in range(n_classes)]
    return float(np.mean(sums))
