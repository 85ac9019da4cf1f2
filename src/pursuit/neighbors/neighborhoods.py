"""Find the nearest reference points of each class.

The search is scikit-learn's, any other object with ``fit(X)`` and
``kneighbors(X, n_neighbors)``, or a precomputed sparse graph of distances.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from pursuit._rows import distinct_rows

from .subspaces import EQUAL, Neighborhoods, in_doubt

__all__ = ["ClassSearch", "LeftOut", "from_graph"]


@dataclass(frozen=True)
class LeftOut:
    """Reference points that must not be neighbors of given points.

    Attributes
    ----------
    sets : ndarray of int of shape (l,)
        Set of each reference point, such as a set of equal rows.
    own : ndarray of int of shape (n,)
        Set that is left out for each point.
    """

    sets: np.ndarray
    own: np.ndarray

    def __getitem__(self, rows: Any) -> LeftOut:
        """Return the same for some of the points."""
        return LeftOut(self.sets, self.own[rows])

    def counts(self, members: np.ndarray) -> np.ndarray:
        """Return how many of these reference points are left out, (n,)."""
        n_sets = 1 + max(self.sets.max(initial=0), self.own.max(initial=0))
        return np.bincount(self.sets[members], minlength=n_sets)[self.own]


class ClassSearch:
    """Neighbor search with one index per class.

    Parameters
    ----------
    R : ndarray of shape (l, d)
        Reference points.
    codes : ndarray of shape (l,)
        Classes of the reference points, 0 to ``n_classes - 1``.
    n_classes : int
    search : object with ``fit`` and ``kneighbors``, or None
        Copied for each class. None is scikit-learn's `NearestNeighbors`, with trees in
        few dimensions and brute force otherwise, on centered points: brute force
        expands squares, which is imprecise far from the origin.
    n_jobs : int or None
        Number of jobs of scikit-learn's search.
    """

    def __init__(
        self,
        R: np.ndarray,
        codes: np.ndarray,
        n_classes: int,
        search: Any = None,
        n_jobs: int | None = None,
    ):
        self._members = [np.flatnonzero(codes == c) for c in range(n_classes)]
        self._points, self._codes = R, codes
        self._copies: tuple[np.ndarray, np.ndarray] | None = None
        self._telling = int(np.ptp(R, axis=0).argmax())
        prototype = NearestNeighbors(n_jobs=n_jobs) if search is None else search
        self._origin = None
        if search is None:
            self._origin = R.mean(axis=0, dtype=np.float64).astype(R.dtype)
        self._finders = [
            _fitted(prototype, self._moved(R[rows])) for rows in self._members
        ]

    @property
    def largest(self) -> int:
        """The number of points in the largest class."""
        return max(len(rows) for rows in self._members)

    def _moved(self, X: np.ndarray) -> np.ndarray:
        return X if self._origin is None else X - self._origin

    def find(
        self, X: np.ndarray, n_neighbors: int, left_out: LeftOut | None = None
    ) -> Neighborhoods:
        """Return up to ``n_neighbors`` neighbors in each class, not left out."""
        shape = (len(X), len(self._members))
        index = np.zeros((*shape, n_neighbors), dtype=np.intp)
        count, nearest = np.zeros(shape, dtype=np.intp), np.full(shape, np.inf)
        n_level = np.zeros(shape, dtype=np.intp)
        moved = self._moved(X)
        for c in range(len(self._members)):
            for here, spare in self._parts(c, len(X), n_neighbors, left_out):
                own = None if left_out is None else left_out[here]
                distance, found = self._found(c, moved[here], n_neighbors, spare, own)
                k = found.shape[1]
                index[here, c, :k] = found
                count[here, c] = np.isfinite(distance).sum(axis=1)
                if k:
                    nearest[here, c] = distance[:, 0]
                    limit = distance[:, :1] * (1 + EQUAL)
                    n_level[here, c] = (distance <= limit).sum(axis=1)
        if np.any(count.sum(axis=1) == 0):
            raise ValueError(
                f"search={self._finders[0]!r} found no neighbor at all for some "
                "points: every point needs at least one."
            )
        is_same = self._are_same(X, index[:, :, 0]) & (count > 0)
        nearest[is_same] = 0.0
        votes = np.ones(shape)
        rows = in_doubt(nearest)
        if len(rows):
            own = None if left_out is None else left_out[rows]
            votes[rows] = self._votes(index[rows], n_level[rows], is_same[rows], own)
        return Neighborhoods(index, count, nearest, votes)

    def _are_same(self, X: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return whether points equal their first neighbors (n, C).

        The distance between them is 0, but a search by expanded squares rounds it.
        """
        # The feature that varies most tells nearly all of them apart.
        j = self._telling
        is_same = self._points[first, j] == X[:, j, None]
        rows, classes = np.nonzero(is_same)
        is_same[rows, classes] = np.all(
            self._points[first[rows, classes]] == X[rows], axis=1
        )
        return is_same

    def _votes(
        self,
        index: np.ndarray,
        n_level: np.ndarray,
        is_same: np.ndarray,
        left_out: LeftOut | None,
    ) -> np.ndarray:
        """Return the votes (n, C); see `Neighborhoods`.

        The first ``n_level`` neighbors are at the smallest distance. All their copies
        count, not only those among the K neighbors, of which every class has as many.
        """
        sets, sizes = self._sets()
        level = np.arange(index.shape[2]) < n_level[:, :, None]
        found = np.sort(np.where(level, sets[index], -1), axis=2)
        is_first = np.diff(found, axis=2, prepend=-1) > 0
        votes = np.where(is_first, sizes[found], 0).sum(axis=2).astype(np.float64)
        for c, members in enumerate(self._members):
            if left_out is not None:
                # A point that is left out is a copy only of what it equals.
                votes[:, c] -= is_same[:, c] * left_out.counts(members)
            votes[:, c] += len(members) / len(self._codes)
        return votes

    def _sets(self) -> tuple[np.ndarray, np.ndarray]:
        """Return the set of copies of each reference point, and the sets' sizes.

        Copies are equal points of one class. Few data ever need them.
        """
        if self._copies is None:
            _, rows = distinct_rows(self._points, np.ones(len(self._points)))
            pairs = rows * len(self._members) + self._codes
            _, sets, sizes = np.unique(pairs, return_inverse=True, return_counts=True)
            self._copies = sets, sizes
        return self._copies

    def _parts(
        self, c: int, n: int, n_neighbors: int, left_out: LeftOut | None
    ) -> Iterator[tuple[Any, int]]:
        """Yield points with the number of spare neighbors to request for them."""
        if left_out is None:
            yield slice(None), 0
            return
        counts = np.maximum(left_out.counts(self._members[c]), 1)
        if counts.max(initial=1) == 1:
            yield slice(None), 1
            return
        # Round up to a power of 2: a few searches, each for at most twice the need.
        spares = 1 << np.ceil(np.log2(counts)).astype(np.intp)
        for spare in np.unique(spares).tolist():
            rows = np.flatnonzero(spares == spare)
            # Find no more at a time than without equal rows.
            step = max(1, n * (n_neighbors + 1) // (n_neighbors + spare))
            for start in range(0, len(rows), step):
                yield rows[start : start + step], spare

    def _found(
        self,
        c: int,
        X: np.ndarray,
        n_neighbors: int,
        spare: int,
        left_out: LeftOut | None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the distances and indices of the neighbors in one class."""
        rows = self._members[c]
        k = min(n_neighbors + spare, len(rows))
        distance, found = _ask(self._finders[c], X, k, len(rows))
        found = rows[found]
        if left_out is None:
            return distance, found
        return _without(distance, found, left_out, n_neighbors)


def _fitted(search: Any, points: np.ndarray) -> Any:
    # clone() needs a scikit-learn estimator; copy other objects.
    one = clone(search) if hasattr(search, "get_params") else copy.deepcopy(search)
    one.fit(points)
    return one


def _ask(
    finder: Any, X: np.ndarray, k: int, n_points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and positions (n, k), nearest first, from a search object.

    Approximate searches that find fewer may return the position -1 or an infinite
    distance: these come last, at infinite distance.
    """
    answer = finder.kneighbors(X, n_neighbors=k)
    try:
        distance, given = answer
        distance = np.asarray(distance, dtype=np.float64)
        given = np.asarray(given)
        with np.errstate(invalid="ignore"):  # a NaN, which is no index
            found = given.astype(np.intp)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"search={finder!r} returned {type(answer).__name__} from kneighbors; "
            "expected a pair: distances and indices, arrays of numbers."
        ) from error
    wanted = (len(X), k)
    if distance.shape != wanted or found.shape != wanted:
        raise ValueError(
            f"search={finder!r} returned distances of shape {distance.shape} and "
            f"indices of shape {found.shape} from kneighbors; expected {wanted} both."
        )
    is_lost = (found == -1) | ~np.isfinite(distance)
    if np.any((found != given) & ~is_lost):
        raise ValueError(
            f"search={finder!r} returned indices that are not whole numbers from "
            "kneighbors."
        )
    distance, found = np.where(is_lost, np.inf, distance), np.where(is_lost, 0, found)
    if found.size and (found.min() < 0 or found.max() >= n_points):
        raise ValueError(
            f"search={finder!r} returned indices outside 0 .. {n_points - 1}."
        )
    if np.any(distance[:, 1:] < distance[:, :-1]):
        by_distance = np.argsort(distance, axis=1, kind="stable")
        distance = np.take_along_axis(distance, by_distance, axis=1)
        found = np.take_along_axis(found, by_distance, axis=1)
    return distance, found


def _without(
    distance: np.ndarray, found: np.ndarray, left_out: LeftOut, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Move points to leave out to the end, at infinite distance, and truncate."""
    is_out = left_out.sets[found] == left_out.own[:, None]
    last = np.argsort(is_out, axis=1, kind="stable")
    distance = np.where(is_out, np.inf, distance)
    distance = np.take_along_axis(distance, last, axis=1)[:, :n_neighbors]
    return distance, np.take_along_axis(found, last, axis=1)[:, :n_neighbors]


def from_graph(
    graph: Any,
    classes: np.ndarray,
    position: np.ndarray,
    n_classes: int,
    n_neighbors: int,
    left_out: LeftOut | None = None,
) -> Neighborhoods:
    """Return the neighbors stored in a sparse graph of distances.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n_samples)
        Stored entries, including zeros, are distances to training rows.
    classes, position : ndarray of shape (n_samples,)
        Class of each training row, and its index among the reference points (-1 if it
        is none of them).
    n_classes, n_neighbors : int
    left_out : LeftOut, optional
        As in `ClassSearch.find`.
    """
    rows, columns, distance = _entries(graph)
    keep = position[columns] >= 0
    if left_out is not None:
        keep &= left_out.sets[position[columns]] != left_out.own[rows]
    rows, columns, distance = rows[keep], columns[keep], distance[keep]
    group = rows * n_classes + classes[columns]
    order = np.lexsort((columns, distance, group))
    group, columns, distance = group[order], columns[order], distance[order]
    rank = _ranks(group)
    n_groups = graph.shape[0] * n_classes
    nearest = np.full(n_groups, np.inf)
    nearest[group[rank == 0]] = distance[rank == 0]
    is_level = distance <= nearest[group] * (1 + EQUAL)
    votes = np.bincount(group[is_level], minlength=n_groups).astype(np.float64)
    keep = rank < n_neighbors
    group, rank, columns = group[keep], rank[keep], columns[keep]
    index = np.zeros((n_groups, n_neighbors), dtype=np.intp)
    index[group, rank] = position[columns]
    shape = (graph.shape[0], n_classes)
    count = np.bincount(group, minlength=n_groups).reshape(shape)
    sizes = np.bincount(classes[position >= 0], minlength=n_classes)
    return Neighborhoods(
        index.reshape(*shape, n_neighbors),
        count,
        nearest.reshape(shape),
        votes.reshape(shape) + sizes / sizes.sum(),
    )


def _entries(graph: Any) -> Sequence[np.ndarray]:
    """Return rows, columns and values of all stored entries, including zeros."""
    csr = sparse.csr_array(graph)
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    return rows, csr.indices.astype(np.intp), np.asarray(csr.data, dtype=np.float64)


def _ranks(group: np.ndarray) -> np.ndarray:
    """Return the index of each entry within its group; groups are contiguous."""
    is_first = np.ones(len(group), dtype=bool)
    is_first[1:] = group[1:] != group[:-1]
    starts = np.flatnonzero(is_first)
    return np.arange(len(group)) - starts[np.cumsum(is_first) - 1]
