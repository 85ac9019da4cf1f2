"""Search for the nearest reference points of each class.

The search is scikit-learn's, or any other object with ``fit(X)`` and
``kneighbors(X, n_neighbors)``.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from sklearn.base import clone
from sklearn.neighbors import KDTree, NearestNeighbors

from pursuit._rows import distinct_rows
from pursuit._threads import deal

from .neighborhoods import EQUAL, LeftOut, Neighborhoods, in_doubt

__all__ = ["ClassSearch"]

# Trees serve up to so many features, and from so many points on, as in scikit-learn's
# NearestNeighbors; otherwise brute force is faster.
_MOST_FEATURES, _LEAST_POINTS = 15, 12
# Number of points that a thread looks up in a tree at a time.
_ROWS = 256


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
        Copied for each class. None is scikit-learn's search, with trees in few
        dimensions and brute force otherwise, on centered points: brute force expands
        squares, which is imprecise far from the origin.
    """

    def __init__(
        self, R: np.ndarray, codes: np.ndarray, n_classes: int, search: Any = None
    ):
        self._points, self._codes, self._search = R, codes, search
        self._members = [np.flatnonzero(codes == c) for c in range(n_classes)]
        self._widest = int(np.ptp(R, axis=0).argmax())
        self._origin = None
        if search is None:
            self._origin = R.mean(axis=0, dtype=np.float64).astype(R.dtype)
        self._indexes = [_index(search, self._part(rows)) for rows in self._members]

    @property
    def largest(self) -> int:
        """The number of points in the largest class."""
        return max(len(rows) for rows in self._members)

    def _part(self, rows: np.ndarray) -> np.ndarray:
        """Return some reference points, moved in place: they may be large."""
        part = self._points[rows]
        if self._origin is not None:
            part -= self._origin
        return part

    def _moved(self, X: np.ndarray) -> np.ndarray:
        return X if self._origin is None else X - self._origin

    def find(
        self,
        X: np.ndarray,
        n_neighbors: int,
        left_out: LeftOut | None = None,
        n_threads: int = 1,
    ) -> Neighborhoods:
        """Return up to ``n_neighbors`` neighbors in each class, not left out."""
        shape = (len(X), len(self._members))
        index = np.zeros((*shape, n_neighbors), dtype=np.intp)
        count, nearest = np.zeros(shape, dtype=np.intp), np.full(shape, np.inf)
        n_level = np.zeros(shape, dtype=np.intp)
        moved = self._moved(X)
        for c, members in enumerate(self._members):
            for rows, spare in _parts(members, len(X), n_neighbors, left_out):
                k = min(n_neighbors + spare, len(members))
                distance, near = self._indexes[c].nearest(moved[rows], k, n_threads)
                near = members[near]
                if left_out is not None:
                    distance, near = _without(
                        distance, near, left_out[rows], n_neighbors
                    )
                index[rows, c, : near.shape[1]] = near
                count[rows, c] = np.isfinite(distance).sum(axis=1)
                nearest[rows, c] = distance[:, 0]
                limit = distance[:, :1] * (1 + EQUAL)
                n_level[rows, c] = (distance <= limit).sum(axis=1)
        if not count.any(axis=1).all():
            raise ValueError(
                f"search={self._search!r} found no neighbor at all for some points: "
                "every point needs at least one."
            )
        is_same = self._are_same(X, index[:, :, 0]) & (count > 0)
        nearest[is_same] = 0.0
        votes = np.ones(shape)
        rows = in_doubt(nearest)
        if len(rows):
            some = None if left_out is None else left_out[rows]
            votes[rows] = self._votes(index[rows], n_level[rows], is_same[rows], some)
        return Neighborhoods(index, count, nearest, votes)

    def _are_same(self, X: np.ndarray, first: np.ndarray) -> np.ndarray:
        """Return whether points equal their first neighbors (n, C).

        The distance between them is 0, but a search by expanded squares rounds it.
        """
        # The feature that varies most tells nearly all of them apart.
        j = self._widest
        is_same = self._points[first, j] == X[:, j, None]
        if is_same.any():
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

        The first ``n_level`` neighbors are at the smallest distance. All points equal
        to them count, not only those among the K neighbors, of which every class has
        as many.
        """
        sets, sizes = self._equal_points
        is_level = np.arange(index.shape[2]) < n_level[:, :, None]
        level = np.sort(np.where(is_level, sets[index], -1), axis=2)
        is_first = np.diff(level, axis=2, prepend=-1) > 0
        votes = np.where(is_first, sizes[level], 0).sum(axis=2).astype(np.float64)
        for c, members in enumerate(self._members):
            if left_out is not None:
                # The point that is left out is among those that equal it.
                votes[:, c] -= is_same[:, c] * left_out.counts(members)
            votes[:, c] += len(members) / len(self._codes)
        return votes

    @cached_property
    def _equal_points(self) -> tuple[np.ndarray, np.ndarray]:
        """The set of equal points of one class that each point is in, and the sizes.

        Few data ever need them.
        """
        _, rows = distinct_rows(self._points, np.ones(len(self._points)))
        pairs = rows * len(self._members) + self._codes
        _, sets, sizes = np.unique(pairs, return_inverse=True, return_counts=True)
        return sets, sizes


def _parts(
    members: np.ndarray, n: int, n_neighbors: int, left_out: LeftOut | None
) -> Iterator[tuple[Any, int]]:
    """Yield points with the number of spare neighbors to request for them."""
    if left_out is None:
        yield slice(None), 0
        return
    counts = np.maximum(left_out.counts(members), 1)
    if counts.max(initial=1) == 1:
        yield slice(None), 1
        return
    # Round up to a power of 2: a few searches, each for at most twice the need.
    spares = 1 << np.ceil(np.log2(counts)).astype(np.intp)
    for spare in np.unique(spares).tolist():
        rows = np.flatnonzero(spares == spare)
        # Request no more at a time than without equal rows.
        step = max(1, n * (n_neighbors + 1) // (n_neighbors + spare))
        for start in range(0, len(rows), step):
            yield rows[start : start + step], spare


def _without(
    distance: np.ndarray, near: np.ndarray, left_out: LeftOut, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Move points to leave out to the end, at infinite distance, and truncate."""
    is_out = left_out.sets[near] == left_out.excluded[:, None]
    last = np.argsort(is_out, axis=1, kind="stable")[:, :n_neighbors]
    distance = np.where(is_out, np.inf, distance)
    return (
        np.take_along_axis(distance, last, axis=1),
        np.take_along_axis(near, last, axis=1),
    )


# -- the index of one class ----------------------------------------------------------


class _Index(Protocol):
    def nearest(
        self, X: np.ndarray, k: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return distances and positions (n, k), nearest first."""


def _index(search: Any, points: np.ndarray) -> _Index:
    if search is not None:
        # clone() needs a scikit-learn estimator; copy other objects.
        is_estimator = hasattr(search, "get_params")
        return _AnySearch(
            clone(search) if is_estimator else copy.deepcopy(search), points
        )
    if points.shape[1] <= _MOST_FEATURES and len(points) >= _LEAST_POINTS:
        return _Tree(points)
    return _AnySearch(NearestNeighbors(algorithm="brute"), points)


class _Tree:
    """A tree, without the checks of scikit-learn's `NearestNeighbors`.

    For one point, these would take longer than all the rest.
    """

    def __init__(self, points: np.ndarray) -> None:
        self._tree = KDTree(points, leaf_size=30, metric="euclidean")

    def nearest(
        self, X: np.ndarray, k: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        if n_threads == 1 or len(X) <= _ROWS:
            return self._tree.query(X, k)
        distance, near = np.empty((len(X), k)), np.empty((len(X), k), dtype=np.intp)

        def work(starts: Any) -> None:
            for start in starts:
                rows = slice(start, start + _ROWS)
                distance[rows], near[rows] = self._tree.query(X[rows], k)

        starts = range(0, len(X), _ROWS)
        deal(work, starts, min(n_threads, len(starts)))
        return distance, near


class _AnySearch:
    """A search object, whose answers are checked.

    Approximate searches that find fewer may return the position -1 or an infinite
    distance: these come last, at infinite distance.
    """

    def __init__(self, search: Any, points: np.ndarray) -> None:
        self._search, self._n_points = search, len(points)
        search.fit(points)

    def nearest(
        self, X: np.ndarray, k: int, n_threads: int
    ) -> tuple[np.ndarray, np.ndarray]:
        answer = self._search.kneighbors(X, n_neighbors=k)
        distance, values = self._arrays(answer, (len(X), k))
        with np.errstate(invalid="ignore"):  # a NaN, which is no index
            near = values.astype(np.intp)
        is_lost = (near == -1) | ~np.isfinite(distance)
        if np.any((near != values) & ~is_lost):
            raise ValueError(
                f"search={self._search!r} returned indices that are not whole numbers "
                "from kneighbors."
            )
        if is_lost.any():
            distance = np.where(is_lost, np.inf, distance)
            near = np.where(is_lost, 0, near)
        if near.size and (near.min() < 0 or near.max() >= self._n_points):
            raise ValueError(
                f"search={self._search!r} returned indices outside 0 .. "
                f"{self._n_points - 1}."
            )
        if np.any(distance[:, 1:] < distance[:, :-1]):
            by_distance = np.argsort(distance, axis=1, kind="stable")
            distance = np.take_along_axis(distance, by_distance, axis=1)
            near = np.take_along_axis(near, by_distance, axis=1)
        return distance, near

    def _arrays(
        self, answer: Any, shape: tuple[int, int]
    ) -> tuple[np.ndarray, np.ndarray]:
        try:
            distance, values = answer
            distance = np.asarray(distance, dtype=np.float64)
            values = np.asarray(values)
            if values.dtype.kind not in "iuf":
                values = values.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"search={self._search!r} returned {type(answer).__name__} from "
                "kneighbors; expected a pair: distances and indices, arrays of numbers."
            ) from error
        if distance.shape != shape or values.shape != shape:
            raise ValueError(
                f"search={self._search!r} returned distances of shape {distance.shape} "
                f"and indices of shape {values.shape} from kneighbors; expected "
                f"{shape} both."
            )
        return distance, values
