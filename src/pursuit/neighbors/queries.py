"""Points with their neighborhoods among the reference points, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from pursuit._limits import Limits
from pursuit._progress import Progress
from pursuit._threads import deal

from .neighborhoods import Find, LeftOut, Neighborhoods
from .search import ClassSearch

__all__ = ["Blocks", "Query", "Reference", "Tangents"]

# Number of points that a thread takes at a time.
_ROWS = 32
# Number of points searched at a time: enough for efficient matrix products.
_MOST_ROWS = 4096


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

    def __getitem__(self, rows: Any) -> Tangents:
        """Return the same for some of the points."""
        return Tangents(self.vectors, self.spot[rows])


def no_tangents(hoods: Neighborhoods, n_features: int) -> Tangents:
    """Return an empty set of directions of invariance."""
    spot = np.zeros(hoods.count.shape, dtype=np.intp)
    return Tangents(np.empty((1, 0, n_features)), spot)


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

    def __getitem__(self, rows: np.ndarray) -> Query:
        """Return the query of some of the points."""
        return Query(
            self.R, self.X[rows], self.hoods[rows], self.tangents[rows], self.n_threads
        )

    def run(
        self, loop: Callable[..., None], *rowwise: np.ndarray, settings: tuple[Any, ...]
    ) -> None:
        """Call a compiled loop on slices of the points, in threads.

        ``rowwise`` arrays are sliced like the points; ``settings`` are passed on.
        """
        hoods = self.hoods

        def work(slices: Iterable[slice]) -> None:
            for s in slices:
                parts = (array[s] for array in rowwise)
                loop(
                    self.R, self.X[s], hoods.index[s], hoods.count[s], *parts, *settings
                )

        slices = [slice(i, i + _ROWS) for i in range(0, len(self.X), _ROWS)]
        deal(work, slices, min(self.n_threads, len(slices)))

    @cached_property
    def order(self) -> np.ndarray:
        """The classes of each point, the one with the nearest neighbor first."""
        return np.argsort(self.hoods.nearest, axis=1, kind="stable")

    def empty(self, *more: int) -> np.ndarray:
        """Return an empty array with an entry for each point and class."""
        return np.full((*self.hoods.count.shape, *more), np.inf)


@dataclass(frozen=True)
class Reference:
    """Reference points by class, ready for a search.

    Attributes
    ----------
    points : ndarray of shape (l, d)
    n_classes : int
    search : ClassSearch
        Search among these points.
    tangents_of : callable or None
        Maps rows of the points to their directions of invariance (n, m, d).
    """

    points: np.ndarray
    n_classes: int
    search: ClassSearch
    tangents_of: Callable[[np.ndarray], np.ndarray] | None = None

    def finder(
        self, X: np.ndarray, n_threads: int, left_out: LeftOut | None = None
    ) -> Find:
        """Return the function that searches for the neighborhoods of rows of X."""

        def find(rows: slice, n_neighbors: int) -> Neighborhoods:
            some = None if left_out is None else left_out[rows]
            return self.search.find(X[rows], n_neighbors, some, n_threads)

        return find

    def tangents(self, hoods: Neighborhoods) -> Tangents:
        """Return the tangents at the nearest points of neighborhoods."""
        if self.tangents_of is None:
            return no_tangents(hoods, self.points.shape[1])
        rows, spot = np.unique(hoods.index[:, :, 0], return_inverse=True)
        vectors = np.array(self.tangents_of(rows), dtype=self.points.dtype, order="C")
        return Tangents(vectors, spot.reshape(hoods.count.shape))


@dataclass(frozen=True)
class Blocks:
    """How many points one call processes at a time.

    Attributes
    ----------
    limits : Limits
        Memory of a block, and threads.
    verbose : int or bool
        Whether to show a progress bar.
    """

    limits: Limits
    verbose: int | bool = 0

    def of(
        self,
        reference: Reference,
        X: np.ndarray,
        find: Find,
        n_neighbors: int,
        more: int = 0,
    ) -> Iterator[tuple[slice, Query]]:
        """Yield rows of X with their neighborhoods, as many as the memory allows.

        ``more`` is the number of bytes that the caller needs for each row.
        """
        step = 1 if len(X) == 1 else self._rows(reference, n_neighbors, more)
        with Progress(len(X), "neighbors", self.verbose, "point") as progress:
            for start in range(0, len(X), step):
                rows = slice(start, min(start + step, len(X)))
                hoods = find(rows, n_neighbors)
                # A copy, because compiled loops need writable arrays.
                block = np.array(X[rows], order="C")
                tangents = reference.tangents(hoods)
                n_threads = self.limits.n_threads
                yield rows, Query(reference.points, block, hoods, tangents, n_threads)
                progress.show(rows.stop)

    def _rows(self, reference: Reference, n_neighbors: int, more: int) -> int:
        d, size = reference.points.shape[1], reference.points.itemsize
        # Indices, and those of points that bounds do not decide; the results of the
        # search for one class; distances, bounds, counts and masks; copies of the
        # points for the loops, the search, the undecided ones and their differences.
        n_classes = reference.n_classes
        numbers = (2 * n_classes + 6) * n_neighbors + 18 * n_classes
        each = 8 * numbers + 4 * d * size + more
        most = n_neighbors
        if reference.tangents_of is not None:
            one = reference.tangents_of(np.zeros(1, dtype=np.intp))
            each += 3 * n_classes * one[0].size * 8
            most += one.shape[1]
        workspace = 8 * self.limits.n_threads * (2 * most * d + 4 * most**2)
        return int(np.clip((self.limits.memory - workspace) // each, 1, _MOST_ROWS))
