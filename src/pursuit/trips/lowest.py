"""A sample of rows that any order and division of the rows gives.

Each row has a random number that its contents determine. The rows of the lowest
numbers are a sample of the different rows, and two such samples make one of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

_LAST = np.uint64(2**64 - 1)


@dataclass(eq=False)
class Lowest:
    """Rows of the lowest numbers so far; equal rows are one, of their total weight.

    Attributes
    ----------
    keys : ndarray of uint64 of shape (k,)
        Their numbers, in order.
    X : array or CSR of shape (k, d), or None
    Y : ndarray of shape (T, k), or None
    weight : ndarray of shape (k,)
    labels : ndarray of int of shape (k,)
        Their classes, 0 if there are none.
    is_complete : bool
        Whether no row was left out yet.
    """

    keys: np.ndarray
    X: Any
    Y: np.ndarray
    weight: np.ndarray
    labels: np.ndarray
    is_complete: bool = True

    @classmethod
    def none(cls, n_outputs: int) -> Lowest:
        """Return no rows."""
        return cls(
            keys=np.zeros(0, dtype=np.uint64),
            X=None,
            Y=np.zeros((n_outputs, 0)),
            weight=np.zeros(0),
            labels=np.zeros(0, dtype=np.int64),
        )

    def __len__(self) -> int:
        return len(self.keys)

    def with_more(self, other: Lowest, n: int, n_of_class: int = 0) -> Lowest:
        """Return the ``n`` lowest of both, and ``n_of_class`` of each class."""
        if other.X is None:
            complete = self.is_complete and other.is_complete
            return replace(self, is_complete=complete)
        if self.X is None:
            X = other.X
        elif sp.issparse(other.X):
            X = sp.csr_array(sp.vstack([self.X, other.X]))
        else:
            X = np.concatenate([self.X, other.X])
        keys = np.concatenate([self.keys, other.keys])
        keys, first, where = np.unique(keys, return_index=True, return_inverse=True)
        weight = np.bincount(where, np.concatenate([self.weight, other.weight]))
        labels = np.concatenate([self.labels, other.labels])[first]
        is_kept = np.arange(len(keys)) < n
        if n_of_class:
            is_kept |= places_in_class(labels) < n_of_class
        kept = np.flatnonzero(is_kept)
        complete = self.is_complete and other.is_complete and len(kept) == len(keys)
        return Lowest(
            keys=keys[kept],
            X=X[first[kept]],
            Y=np.concatenate([self.Y, other.Y], axis=1)[:, first[kept]],
            weight=weight[kept],
            labels=labels[kept],
            is_complete=complete,
        )

    def limits(self, n: int, n_of_class: int, n_classes: int) -> np.ndarray:
        """Return the number above which a row of each class would not be kept."""
        limits = np.full(n_classes, self.keys[n - 1] if len(self) >= n else _LAST)
        for label in range(n_classes if n_of_class else 0):
            keys = self.keys[self.labels == label]
            of_class = keys[n_of_class - 1] if len(keys) >= n_of_class else _LAST
            limits[label] = max(limits[label], of_class)
        return limits


def places_in_class(labels: np.ndarray) -> np.ndarray:
    """Return the place of each label among those equal to it, in order."""
    order = np.argsort(labels, kind="stable")
    ranked = labels[order]
    starts = np.searchsorted(ranked, ranked)
    places = np.empty(len(labels), dtype=np.int64)
    places[order] = np.arange(len(labels)) - starts
    return places
