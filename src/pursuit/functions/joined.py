"""Several collections of functions as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from pursuit._quantiles import lower_quantile
from pursuit.engine.atoms import Evaluate

from ._base import Functions, room_for


@dataclass(frozen=True, eq=False, repr=False)
class Joined(Functions):
    """The functions of several collections, in any order.

    Attributes
    ----------
    parts : tuple of Functions
    order : ndarray of int of shape (M,)
        Index of each function in the concatenated parts.
    """

    parts: tuple[Functions, ...]
    order: np.ndarray

    @cached_property
    def rows(self) -> np.ndarray:
        """The training row on which each function is centered, -1 for none."""
        return np.concatenate([part.rows for part in self.parts])[self.order]

    @property
    def is_centered(self) -> np.ndarray:
        """Whether each function is centered on a point."""
        return np.concatenate([part.is_centered for part in self.parts])[self.order]

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """The gamma of the parts that have one, if they agree."""
        gammas = {part.gamma for part in self.parts if part.gamma is not None}
        return gammas.pop() if len(gammas) == 1 else None

    @property
    def centers(self) -> Any:
        """The centers of the functions that have one."""
        kept = [part.centers for part in self.parts]
        kept = [centers for centers in kept if centers.shape[0]]
        if not kept:
            return np.empty((0, 0))
        points = sp.vstack(kept) if sp.issparse(kept[0]) else np.concatenate(kept)
        has_one = np.concatenate([part.is_centered for part in self.parts])
        place = np.cumsum(has_one) - 1
        return points[place[self.order[self.is_centered]]]

    @property
    def names(self) -> list[str]:
        """A short description of each function."""
        names = [name for part in self.parts for name in part.names]
        return [names[i] for i in self.order]

    def __getitem__(self, index: Any) -> Joined:
        wanted = self.order[index]
        parts, place, start = [], np.empty(len(wanted), dtype=int), 0
        for part, where, places in self._by_part(wanted):
            parts.append(part[places])
            place[where] = np.arange(start, start + len(parts[-1]))
            start += len(parts[-1])
        return Joined(tuple(parts) or (self.parts[0][:0],), place)

    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) of the functions at the rows of X."""
        return np.concatenate([part(X) for part in self.parts], axis=1)[:, self.order]

    def scale(self, X: Any, weight: np.ndarray) -> float:
        """Return the median, over functions, of the sizes of their parts."""
        sizes = np.array([part.scale(X, weight) for part in self.parts])
        counts = np.array([float(len(part)) for part in self.parts])
        return float(lower_quantile(sizes, counts, 0.5))

    def held_bytes(self, n_rows: int) -> int:
        """Return the bytes that the parts hold."""
        return sum(part.held_bytes(n_rows) for part in self.parts)

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return a function that evaluates some of them on X, one function per row."""
        evaluators = {id(part): part.evaluator(X, dtype) for part in self.parts}

        def evaluate(index: Any, out: np.ndarray | None = None) -> np.ndarray:
            if out is None:
                out = room_for(index, len(self), X.shape[0], dtype)
            for part, where, places in self._by_part(self.order[index]):
                if isinstance(where, slice):
                    evaluators[id(part)](places, out[where])
                else:
                    out[where] = evaluators[id(part)](places)
            return out

        return evaluate

    def _by_part(self, wanted: np.ndarray) -> Iterator[tuple[Functions, Any, Any]]:
        """Yield each part in use, the positions of its functions, and their indices."""
        start = 0
        for part in self.parts:
            stop = start + len(part)
            where = np.flatnonzero((wanted >= start) & (wanted < stop))
            if len(where):
                yield part, _tight(where), _tight(wanted[where] - start)
            start = stop


def _tight(index: np.ndarray) -> Any:
    """Return an index as a slice if it is contiguous."""
    is_run = np.array_equal(index, np.arange(index[0], index[0] + len(index)))
    return slice(int(index[0]), int(index[0]) + len(index)) if is_run else index


def join(parts: Sequence[Functions]) -> Functions:
    """Return the functions of several collections as one."""
    if len(parts) == 1:
        return parts[0]
    return Joined(tuple(parts), np.arange(sum(len(part) for part in parts)))
