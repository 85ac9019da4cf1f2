"""The nearest reference points of each class, by scikit-learn's search or another.

Anything with ``fit(X)`` and ``kneighbors(X, n_neighbors)`` can search; so can a sparse
graph of distances that was computed elsewhere.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import NearestNeighbors

from .subspaces import Neighborhoods

__all__ = ["ClassSearch", "from_graph"]


class ClassSearch:
    """Neighbours in each class, from one index a class.

    Parameters
    ----------
    R : ndarray of shape (l, d)
        Reference points.
    codes : ndarray of shape (l,)
        Their classes, 0 to ``n_classes - 1``.
    n_classes : int
    search : object with ``fit`` and ``kneighbors``, or None
        Copied for each class.  None is scikit-learn's `NearestNeighbors`, which takes
        trees in few dimensions and brute force otherwise, on points minus their mean:
        brute force expands squares, which costs digits far from the origin.
    n_jobs : int or None
        Of scikit-learn's search.
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
        prototype = NearestNeighbors(n_jobs=n_jobs) if search is None else search
        self._origin = None
        if search is None:
            self._origin = R.mean(axis=0, dtype=np.float64).astype(R.dtype)
        self._finders = [
            _fitted(prototype, self._moved(R[rows])) for rows in self._members
        ]

    @property
    def largest(self) -> int:
        """The number of points of the largest class."""
        return max(len(rows) for rows in self._members)

    def _moved(self, X: np.ndarray) -> np.ndarray:
        return X if self._origin is None else X - self._origin

    def find(
        self, X: np.ndarray, n_neighbors: int, left_out: np.ndarray | None = None
    ) -> Neighborhoods:
        """Return up to ``n_neighbors`` neighbours in each class.

        ``left_out`` (n,): a reference row that is not to be its own neighbour, or -1.
        """
        shape = (len(X), len(self._members))
        index = np.zeros((*shape, n_neighbors), dtype=np.intp)
        count, nearest = np.zeros(shape, dtype=np.intp), np.full(shape, np.inf)
        spare = 0 if left_out is None else 1
        moved = self._moved(X)
        for c, rows in enumerate(self._members):
            k = min(n_neighbors + spare, len(rows))
            distance, found = _ask(self._finders[c], moved, k, len(rows))
            found = rows[found]
            if left_out is not None:
                distance, found = _without(distance, found, left_out, n_neighbors)
            _write(distance, found, index[:, c], count[:, c], nearest[:, c])
        if np.any(count.sum(axis=1) == 0):
            raise ValueError(
                f"search={self._finders[0]!r} found no neighbour at all for some "
                "points: every point needs at least one."
            )
        return Neighborhoods(index, count, nearest)


def _fitted(search: Any, points: np.ndarray) -> Any:
    # clone() wants a scikit-learn estimator; others are copied as they are.
    one = clone(search) if hasattr(search, "get_params") else copy.deepcopy(search)
    one.fit(points)
    return one


def _ask(
    finder: Any, X: np.ndarray, k: int, n_points: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return distances and positions (n, k), nearest first, from a search object.

    Approximate indexes that find fewer say so by the position -1 or an infinite
    distance: these come last, infinitely far.
    """
    distance, found = finder.kneighbors(X, n_neighbors=k)
    distance = np.asarray(distance, dtype=np.float64)
    found = np.asarray(found, dtype=np.intp)
    wanted = (len(X), k)
    if distance.shape != wanted or found.shape != wanted:
        raise ValueError(
            f"search={finder!r} returned distances of shape {distance.shape} and "
            f"indices of shape {found.shape} from kneighbors; expected {wanted} both."
        )
    is_lost = (found == -1) | ~np.isfinite(distance)
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
    distance: np.ndarray, found: np.ndarray, left_out: np.ndarray, n_neighbors: int
) -> tuple[np.ndarray, np.ndarray]:
    """Move a point's own row behind its neighbours, infinitely far, and cut."""
    is_self = found == left_out[:, None]
    last = np.argsort(is_self, axis=1, kind="stable")
    distance = np.where(is_self, np.inf, distance)
    distance = np.take_along_axis(distance, last, axis=1)[:, :n_neighbors]
    return distance, np.take_along_axis(found, last, axis=1)[:, :n_neighbors]


def _write(
    distance: np.ndarray,
    found: np.ndarray,
    index: np.ndarray,
    count: np.ndarray,
    nearest: np.ndarray,
) -> None:
    k = found.shape[1]
    index[:, :k] = found
    count[:] = np.isfinite(distance).sum(axis=1)
    if k > 0:
        nearest[:] = distance[:, 0]


def from_graph(
    graph: Any,
    classes: np.ndarray,
    position: np.ndarray,
    n_classes: int,
    n_neighbors: int,
    left_out: np.ndarray | None = None,
) -> Neighborhoods:
    """Return the neighbours that a sparse graph of distances holds.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n_samples)
        Stored entries are distances to training rows, zeros included.
    classes, position : ndarray of shape (n_samples,)
        The class of a training row, and its number among the reference points (-1 if
        it is none of them).
    n_classes, n_neighbors : int
    left_out : ndarray of shape (n,), optional
        As in `ClassSearch.find`.
    """
    rows, columns, distance = _entries(graph)
    keep = position[columns] >= 0
    if left_out is not None:
        keep &= position[columns] != left_out[rows]
    rows, columns, distance = rows[keep], columns[keep], distance[keep]
    group = rows * n_classes + classes[columns]
    order = np.lexsort((columns, distance, group))
    group, columns, distance = group[order], columns[order], distance[order]
    rank = _ranks(group)
    keep = rank < n_neighbors
    group, rank, columns = group[keep], rank[keep], columns[keep]
    n_groups = graph.shape[0] * n_classes
    index = np.zeros((n_groups, n_neighbors), dtype=np.intp)
    index[group, rank] = position[columns]
    nearest = np.full(n_groups, np.inf)
    nearest[group[rank == 0]] = distance[keep][rank == 0]
    shape = (graph.shape[0], n_classes)
    count = np.bincount(group, minlength=n_groups).reshape(shape)
    return Neighborhoods(
        index.reshape(*shape, n_neighbors), count, nearest.reshape(shape)
    )


def _entries(graph: Any) -> Sequence[np.ndarray]:
    """Return rows, columns and values of all stored entries, explicit zeros too."""
    csr = sparse.csr_array(graph)
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    return rows, csr.indices.astype(np.intp), np.asarray(csr.data, dtype=np.float64)


def _ranks(group: np.ndarray) -> np.ndarray:
    """Return the place of each entry within its group; groups are contiguous."""
    is_first = np.ones(len(group), dtype=bool)
    is_first[1:] = group[1:] != group[:-1]
    starts = np.flatnonzero(is_first)
    return np.arange(len(group)) - starts[np.cumsum(is_first) - 1]
