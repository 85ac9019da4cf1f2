"""Published rules that thin out the training rows of nearest-neighbor classifiers.

Each returns the rows that it keeps. Ties go to the nearest row, of equally near ones to
the first.
"""

from __future__ import annotations

import numpy as np
from sklearn.neighbors import NearestNeighbors

from pursuit.kernels.distances import Rows, paired_rows, squared_distances

__all__ = ["condensed", "drop3", "edited"]

# Neighbors that DROP3 lists at a time.
_LISTED = 64


def condensed(X: np.ndarray, codes: np.ndarray, order: np.ndarray) -> np.ndarray:
    """Return the rows that Hart's condensed nearest-neighbor rule keeps.

    Rows are read in ``order``, again and again; one whose nearest kept row is of
    another class is kept. O(l d) for each row that is kept.
    """
    points = paired_rows(X, X)[0]
    kept = [int(order[0])]
    nearest = _distances(points, points[kept])
    winner = np.full(len(X), codes[kept[0]])
    while True:
        n_before = len(kept)
        place = 0
        while True:
            wrong = np.flatnonzero((winner != codes)[order[place:]])
            if not len(wrong):
                break
            place += int(wrong[0])
            row = int(order[place])
            kept.append(row)
            d = _distances(points, points[[row]])
            # The row itself is nearest to itself, also if another one equals it.
            is_nearer = d < nearest
            is_nearer[row] = True
            nearest[is_nearer], winner[is_nearer] = d[is_nearer], codes[row]
            place += 1
        if len(kept) == n_before:
            return np.sort(kept)


def edited(X: np.ndarray, codes: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Return the rows that Wilson's edited nearest-neighbor rule keeps.

    A row goes if another class has more of its K nearest other rows than its own.
    """
    near = nearest_others(X, min(n_neighbors, len(X) - 1))
    votes = np.zeros((len(X), int(codes.max()) + 1), dtype=np.intp)
    for k in range(near.shape[1]):
        votes[np.arange(len(X)), codes[near[:, k]]] += 1
    own = votes[np.arange(len(X)), codes]
    return np.flatnonzero(own >= votes.max(axis=1))


def drop3(X: np.ndarray, codes: np.ndarray, n_neighbors: int) -> np.ndarray:
    """Return the rows that DROP3 keeps.

    Edited rows are taken in order of their distance to the nearest row of another
    class, the farthest first. One goes if at least as many of the rows that have it
    among their K nearest are classified rightly by their K nearest without it.
    """
    first = edited(X, codes, n_neighbors)
    if len(np.unique(codes[first])) < 2:
        return first
    kept = _Shrinking(X[first], codes[first], n_neighbors)
    for row in np.argsort(
        -_distances_to_enemies(X[first], codes[first]), kind="stable"
    ):
        if kept.is_spare(int(row)):
            kept.drop(int(row))
    return first[np.flatnonzero(kept.is_kept)]


class _Shrinking:
    """A set of rows that others leave, with the K + 1 nearest kept ones of each."""

    def __init__(self, X: np.ndarray, codes: np.ndarray, n_neighbors: int) -> None:
        self._points, self._codes = paired_rows(X, X)[0], codes
        self._K = min(n_neighbors, len(X) - 1)
        self.is_kept = np.ones(len(X), dtype=bool)
        self._listed = list(nearest_others(X, min(_LISTED, len(X) - 1)))
        self._next = np.full(len(X), self._K + 1)
        self._near = [row[: self._K + 1].tolist() for row in self._listed]
        self._associates: list[set[int]] = [set() for _ in range(len(X))]
        for row, near in enumerate(self._near):
            for other in near:
                self._associates[other].add(row)

    def is_spare(self, row: int) -> bool:
        """Return whether its associates do as well without a row."""
        gain = 0
        for other in self._associates[row]:
            near = self._near[other]
            without = [j for j in near if j != row][: self._K]
            gain += self._is_right(other, without)
            gain -= self._is_right(other, near[: self._K])
        return gain >= 0

    def _is_right(self, row: int, near: list[int]) -> bool:
        """Return whether the class of a row has the most votes, or as many."""
        if not near:
            return False
        votes = np.bincount(self._codes[near], minlength=1)
        own = self._codes[row]
        return bool(own < len(votes) and votes[own] == votes.max())

    def drop(self, row: int) -> None:
        """Let a row go; it stays an associate of its neighbors."""
        self.is_kept[row] = False
        for other in sorted(self._associates[row]):
            self._near[other].remove(row)
            self._replenish(other)
        self._associates[row].clear()

    def _replenish(self, row: int) -> None:
        """Give a row its next neighbor, if there is one."""
        while True:
            listed = self._listed[row]
            while self._next[row] < len(listed):
                other = int(listed[self._next[row]])
                self._next[row] += 1
                if self.is_kept[other]:
                    self._near[row].append(other)
                    self._associates[other].add(row)
                    return
            self._listed[row], self._next[row] = self._searched(row), 0
            if not len(self._listed[row]):
                return

    def _searched(self, row: int) -> np.ndarray:
        """Return the kept rows that follow the neighbors of a row, nearest first."""
        rows = np.flatnonzero(self.is_kept)
        rows = rows[~np.isin(rows, [row, *self._near[row]])]
        d = _distances(self._points[rows], self._points[row : row + 1])
        return rows[np.argsort(d, kind="stable")[:_LISTED]]


def nearest_others(X: np.ndarray, k: int) -> np.ndarray:
    """Return the k nearest other rows of each row, nearest first, (l, k)."""
    if k == 0:
        return np.empty((len(X), 0), dtype=np.intp)
    centered = X - X.mean(axis=0)
    search = NearestNeighbors(n_neighbors=k).fit(centered)
    return search.kneighbors(return_distance=False)


def _distances_to_enemies(X: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """Return the distance of each row to the nearest row of another class."""
    out = np.empty(len(X))
    centered = X - X.mean(axis=0)
    for c in np.unique(codes):
        is_own = codes == c
        search = NearestNeighbors(n_neighbors=1).fit(centered[~is_own])
        out[is_own] = search.kneighbors(centered[is_own])[0][:, 0]
    return out


def _distances(points: Rows, point: Rows) -> np.ndarray:
    """Return the squared distances of points to a single one, (l,)."""
    return squared_distances(points, point, np.empty((len(points), 1)))[:, 0]
