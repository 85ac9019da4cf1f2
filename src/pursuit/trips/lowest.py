"""A sample of rows that any order and division of the rows gives.

Each row has a random number that its contents determine. The rows of the lowest
numbers are a sample of the different rows, and two such samples make one of all rows.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .blocks import CodedRows

_LAST = np.uint64(2**64 - 1)


@dataclass(eq=False)
class Lowest:
    """Rows of the lowest numbers so far; equal rows are one, of their total weight.

    Attributes
    ----------
    keys : ndarray of uint64 of shape (k,)
        Their numbers, in order.
    rows : CodedRows
    is_complete : bool
        Whether no row was left out yet.
    """

    keys: np.ndarray
    rows: CodedRows
    is_complete: bool = True

    @classmethod
    def none(cls, n_outputs: int) -> Lowest:
        """Return no rows."""
        return cls(np.zeros(0, dtype=np.uint64), CodedRows.none(n_outputs))

    def __len__(self) -> int:
        return len(self.keys)

    def with_more(self, other: Lowest, n: int, n_of_class: int = 0) -> Lowest:
        """Return the ``n`` lowest of both, and ``n_of_class`` of each class."""
        are_complete = self.is_complete and other.is_complete
        if other.rows.X is None:
            return replace(self, is_complete=are_complete)
        rows = self.rows.joined(other.rows)
        keys, first, which = np.unique(
            np.concatenate([self.keys, other.keys]),
            return_index=True,
            return_inverse=True,
        )
        weight, counts = (np.bincount(which, w) for w in (rows.weight, rows.counts))
        rows = replace(rows.some(first), weight=weight, counts=counts)
        is_kept = np.arange(len(keys)) < n
        if n_of_class:
            is_kept |= places_in_class(rows.codes) < n_of_class
        kept = np.flatnonzero(is_kept)
        is_all = len(kept) == len(keys)
        return Lowest(keys[kept], rows.some(kept), are_complete and is_all)

    def limits(self, n: int, n_of_class: int = 0, n_classes: int = 1) -> np.ndarray:
        """Return the number above which a row of each class would not be kept."""
        limits = np.full(n_classes, self.keys[n - 1] if len(self) >= n else _LAST)
        for code in range(n_classes if n_of_class else 0):
            keys = self.keys[self.rows.codes == code]
            of_class = keys[n_of_class - 1] if len(keys) >= n_of_class else _LAST
            limits[code] = max(limits[code], of_class)
        return limits


def places_in_class(codes: np.ndarray) -> np.ndarray:
    """Return the place of each row among those of its class, in order."""
    order = np.argsort(codes, kind="stable")
    ranked = codes[order]
    starts = np.searchsorted(ranked, ranked)
    places = np.empty(len(codes), dtype=np.int64)
    places[order] = np.arange(len(codes)) - starts
    return places
