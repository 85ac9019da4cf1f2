"""Classify points by the nearest local subspace."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .blocks import Find, QueryBlocks
from .subspaces import PRECISION, Hulls, Hyperplanes, Query, Tangents

__all__ = ["TIE_BREAK", "NearestSubspace"]

# This share of the distance to the nearest point of a class is added to its distance,
# to decide between distances that are equal up to round-off.
TIE_BREAK = 1e-9

# Error of a distance in single precision, in units.
_ROUND_OFF = 1e-5

# Points farther than this from all others, in units, get exact distances: in single
# precision the differences between neighbors are too imprecise.
_FAR = 1e3


@dataclass(frozen=True)
class NearestSubspace:
    """Distances of points to the local subspaces of the classes.

    Attributes
    ----------
    blocks : QueryBlocks
        Reference points, and how their neighborhoods are made.
    shape : Hyperplanes or Hulls
    n_neighbors : int
    unit : float
        Typical length, the unit of the bounds.
    """

    blocks: QueryBlocks
    shape: Hyperplanes | Hulls
    n_neighbors: int
    unit: float

    def distances(self, X: np.ndarray, find: Find) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances (n, C) to the classes and to their nearest points.

        ``find(rows, K)`` returns the neighborhoods of some rows of X.
        """
        squared = np.empty((len(X), self.blocks.n_classes))
        nearest = np.empty_like(squared)
        for rows, query in self.blocks.of(X, find, self.n_neighbors):
            squared[rows] = self.shape.distances(query, _all(query))
            nearest[rows] = query.hoods.nearest
        return np.sqrt(squared), nearest

    def nearest_class(self, X: np.ndarray, find: Find) -> np.ndarray:
        """Return the class (n,) with the smallest score.

        Bounds decide if they can; otherwise exact distances are computed.
        """
        winner = np.empty(len(X), dtype=np.intp)
        for rows, query in self.blocks.of(X, find, self.n_neighbors):
            winner[rows] = self._decide(query)
        return winner

    def _decide(self, query: Query) -> np.ndarray:
        bounds = None
        if np.isfinite(self.unit) and self.unit > 0:
            bounds = self.shape.bounds(query, self.unit)
        if bounds is None:
            return self._measured(query, _all(query))
        lower, upper = np.sqrt(bounds[:, :, 0]), np.sqrt(bounds[:, :, 1])
        best = upper.min(axis=1, keepdims=True)
        # Written so that a NaN bound excludes nothing.
        is_clear = lower > best * (1 + PRECISION) + _ROUND_OFF
        is_far = ~(_nearest_lengths(query) < _FAR * self.unit)
        is_open = (~is_clear | is_far[:, None]) & (query.hoods.count > 0)
        winner = upper.argmin(axis=1)
        is_unsure = (is_open.sum(axis=1) != 1) | ~np.isfinite(best[:, 0])
        unsure = np.flatnonzero(is_far | is_unsure)
        if len(unsure):
            part = _part(query, unsure)
            winner[unsure] = self._measured(part, is_open[unsure])
        return winner

    def _measured(self, query: Query, wanted: np.ndarray) -> np.ndarray:
        distance = np.sqrt(self.shape.distances(query, wanted))
        return scores(distance, query.hoods.nearest).argmin(axis=1)


def scores(distance: np.ndarray, nearest: np.ndarray) -> np.ndarray:
    """Return distances with ties broken; the smallest wins."""
    return distance + TIE_BREAK * nearest


def _nearest_lengths(query: Query) -> np.ndarray:
    """Return the Euclidean distances (n,) to the nearest neighbor in any class.

    Those of searches and graphs cannot be used, as they may be in another metric.
    """
    each = np.arange(len(query.X))
    gaps = query.R[query.hoods.index[each, query.order[:, 0], 0]]
    with np.errstate(over="ignore"):
        gaps -= query.X
        return np.sqrt(np.einsum("ij,ij->i", gaps, gaps, dtype=np.float64))


def _all(query: Query) -> np.ndarray:
    return np.ones(query.hoods.count.shape, dtype=bool)


def _part(query: Query, rows: np.ndarray) -> Query:
    T = Tangents(query.tangents.vectors, query.tangents.spot[rows])
    return Query(query.R, query.X[rows], query.hoods[rows], T, query.n_threads)
