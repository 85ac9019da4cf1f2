"""Neighborhoods of points in each class; graphs of distances that hold them.

The module `search` searches for them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

__all__ = ["Find", "GraphColumns", "LeftOut", "Neighborhoods"]

# Two lengths are equal if they differ by no more than this share, which is rounding.
EQUAL = 1e-12


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

    @classmethod
    def concatenated(cls, parts: list[Neighborhoods]) -> Neighborhoods:
        """Return the neighborhoods of all points of the parts, in this order."""
        return cls(
            np.concatenate([part.index for part in parts]),
            np.concatenate([part.count for part in parts]),
            np.concatenate([part.nearest for part in parts]),
            np.concatenate([part.votes for part in parts]),
        )


# ``find(rows, K)`` returns the neighborhoods of some rows of the points.
Find = Callable[[slice, int], Neighborhoods]


def in_doubt(nearest: np.ndarray) -> np.ndarray:
    """Return the points that are equally far from the first neighbors of two classes.

    ``nearest`` (n, C) are the distances to these. For other points no votes are needed.
    """
    lengths = np.sort(nearest, axis=1)
    is_equal = lengths[:, 1:] <= lengths[:, :-1] * (1 + EQUAL)
    return np.flatnonzero(np.any(is_equal & np.isfinite(lengths[:, 1:]), axis=1))


@dataclass(frozen=True)
class LeftOut:
    """Reference points that must not be neighbors of some points.

    Attributes
    ----------
    sets : ndarray of int of shape (l,)
        Set of each reference point, such as a set of equal rows.
    excluded : ndarray of int of shape (n,)
        Set that is left out for each point.
    """

    sets: np.ndarray
    excluded: np.ndarray

    def __getitem__(self, rows: Any) -> LeftOut:
        """Return the same for some of the points."""
        return LeftOut(self.sets, self.excluded[rows])

    def counts(self, members: np.ndarray) -> np.ndarray:
        """Return how many of these reference points are left out, (n,)."""
        n_sets = 1 + max(self.sets.max(initial=0), self.excluded.max(initial=0))
        return np.bincount(self.sets[members], minlength=n_sets)[self.excluded]


@dataclass(frozen=True)
class GraphColumns:
    """Which reference points the columns of a graph of distances stand for.

    Attributes
    ----------
    codes : ndarray of shape (n_samples,)
        Class of each training row.
    position : ndarray of shape (n_samples,)
        Index of each training row among the reference points, -1 if it is none.
    n_classes : int
    """

    codes: np.ndarray
    position: np.ndarray
    n_classes: int

    def find(
        self, graph: Any, n_neighbors: int, left_out: LeftOut | None = None
    ) -> Neighborhoods:
        """Return the neighbors that a sparse graph stores.

        Parameters
        ----------
        graph : sparse matrix of shape (n, n_samples)
            Stored entries, including zeros, are distances to training rows.
        n_neighbors : int
        left_out : LeftOut, optional
        """
        rows, columns, distance = _entries(graph)
        keep = self.position[columns] >= 0
        if left_out is not None:
            sets = left_out.sets[self.position[columns]]
            keep &= sets != left_out.excluded[rows]
        rows, columns, distance = rows[keep], columns[keep], distance[keep]
        group = rows * self.n_classes + self.codes[columns]
        order = np.lexsort((columns, distance, group))
        group, columns, distance = group[order], columns[order], distance[order]
        rank = _ranks(group)
        n_groups = graph.shape[0] * self.n_classes
        nearest = np.full(n_groups, np.inf)
        nearest[group[rank == 0]] = distance[rank == 0]
        is_level = distance <= nearest[group] * (1 + EQUAL)
        votes = np.bincount(group[is_level], minlength=n_groups).astype(np.float64)
        keep = rank < n_neighbors
        group, rank, columns = group[keep], rank[keep], columns[keep]
        index = np.zeros((n_groups, n_neighbors), dtype=np.intp)
        index[group, rank] = self.position[columns]
        shape = (graph.shape[0], self.n_classes)
        count = np.bincount(group, minlength=n_groups).reshape(shape)
        if np.any(count.sum(axis=1) == 0):
            raise ValueError(
                "graph has rows without any reference point: every point needs at "
                "least one neighbor beside itself and rows equal to it."
            )
        sizes = np.bincount(self.codes[self.position >= 0], minlength=self.n_classes)
        return Neighborhoods(
            index.reshape(*shape, n_neighbors),
            count,
            nearest.reshape(shape),
            votes.reshape(shape) + sizes / sizes.sum(),
        )


def _entries(graph: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
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
