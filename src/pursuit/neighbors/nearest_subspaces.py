"""Classify points by the nearest local subspace, in blocks of points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pursuit._progress import Progress

from .subspaces import (
    PRECISION,
    Hulls,
    Hyperplanes,
    Neighborhoods,
    Query,
    Tangents,
    no_tangents,
    reconstruct,
)

__all__ = ["TIE_BREAK", "NearestSubspace"]

# This share of the distance to the nearest point of a class is added to its distance,
# to decide between distances that are equal up to round-off.
TIE_BREAK = 1e-9

# Number of points searched at a time: enough for efficient matrix products.
_MOST_ROWS = 4096

# Error of a distance in single precision, in units.
_ROUND_OFF = 1e-5

# Points farther than this from all others, in units, get exact distances: in single
# precision the differences between neighbors are too imprecise.
_FAR = 1e3

Find = Callable[[slice, int], Neighborhoods]


@dataclass(frozen=True)
class NearestSubspace:
    """Distances of points to the local subspaces of the classes.

    Attributes
    ----------
    R : ndarray of shape (l, d)
        Reference points.
    shape : Hyperplanes or Hulls
    n_neighbors : int
    n_classes : int
    unit : float
        Typical length, the unit of the bounds.
    tangents_of : callable or None
        Maps rows of R to their directions of invariance (n, m, d).
    memory : int
        Bytes that a block of points may use.
    n_threads : int
    verbose : int or bool
    """

    R: np.ndarray
    shape: Hyperplanes | Hulls
    n_neighbors: int
    n_classes: int
    unit: float
    tangents_of: Callable[[np.ndarray], np.ndarray] | None
    memory: int
    n_threads: int
    verbose: int | bool = 0

    def distances(self, X: np.ndarray, find: Find) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances (n, C) to the classes and to their nearest points.

        ``find(rows, K)`` returns the neighborhoods of some rows of X.
        """
        squared = np.empty((len(X), self.n_classes))
        nearest = np.empty_like(squared)
        for rows, query in self.blocks(X, find, self.n_neighbors):
            squared[rows] = self.shape.distances(query, _all(query))
            nearest[rows] = query.hoods.nearest
        return np.sqrt(squared), nearest

    def nearest_class(self, X: np.ndarray, find: Find) -> np.ndarray:
        """Return the class (n,) with the smallest score.

        Bounds decide if they can; otherwise exact distances are computed.
        """
        winner = np.empty(len(X), dtype=np.intp)
        for rows, query in self.blocks(X, find, self.n_neighbors):
            winner[rows] = self._decide(query)
        return winner

    def reconstructed(
        self,
        X: np.ndarray,
        find: Find,
        values: np.ndarray,
        penalties: np.ndarray,
        numbers: np.ndarray,
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows of X with their values (n, T, L, len(numbers)), in blocks.

        They are rebuilt from the values (l, T) of the neighbors, which are of one
        class; see :func:`.reconstruct`.
        """
        most = int(numbers[-1])
        more = 3 * 8 * values.shape[1] * len(penalties) * most
        for rows, query in self.blocks(X, find, most, more):
            yield rows, reconstruct(query, values, penalties, numbers)

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

    def blocks(
        self, X: np.ndarray, find: Find, n_neighbors: int, more: int = 0
    ) -> Iterator[tuple[slice, Query]]:
        """Yield rows of X with their neighborhoods, as many as the memory allows.

        ``more`` is the number of bytes that the caller needs for each row.
        """
        step = self._rows(n_neighbors, more)
        with Progress(len(X), "neighbors", self.verbose, "point") as progress:
            for start in range(0, len(X), step):
                rows = slice(start, min(start + step, len(X)))
                hoods = find(rows, n_neighbors)
                # A copy, because compiled loops need writable arrays.
                block = np.array(X[rows], order="C")
                yield (
                    rows,
                    Query(self.R, block, hoods, self._tangents(hoods), self.n_threads),
                )
                progress.show(rows.stop)

    def _rows(self, n_neighbors: int, more: int) -> int:
        d, size = self.R.shape[1], self.R.itemsize
        # Indices, and those of points that bounds do not decide; the results of the
        # search for one class; distances, bounds, counts and masks; copies of the
        # points for the loops, the search, the undecided ones and their differences.
        numbers = (2 * self.n_classes + 6) * n_neighbors + 16 * self.n_classes
        each = 8 * numbers + 4 * d * size + more
        most = n_neighbors
        if self.tangents_of is not None:
            one = self.tangents_of(np.zeros(1, dtype=np.intp))
            each += 3 * self.n_classes * one[0].size * 8
            most += one.shape[1]
        workspace = 8 * self.n_threads * (2 * most * d + 4 * most**2)
        return int(np.clip((self.memory - workspace) // each, 1, _MOST_ROWS))

    def _tangents(self, hoods: Neighborhoods) -> Tangents:
        if self.tangents_of is None:
            return no_tangents(hoods, self.R.shape[1])
        rows, spot = np.unique(hoods.index[:, :, 0], return_inverse=True)
        vectors = np.array(self.tangents_of(rows), dtype=self.R.dtype, order="C")
        return Tangents(vectors, spot.reshape(hoods.count.shape))


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
