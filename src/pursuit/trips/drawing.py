"""The second trip: rows that are drawn by their contents.

Whether a row is held out, a candidate, or in the part on which settings are compared,
depends on its contents and on the ranges of the columns only: neither the order of the
rows nor their division into blocks matters, nor whether a row is repeated or has a
weight.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pursuit._rows import (
    completed,
    content_numbers,
    joined_halves,
    mixed,
    rough_digests,
    target_numbers,
    units_of,
)
from pursuit.batches import Block
from pursuit.kernels.metric import mapped

from .blocks import CodedRows, Coding
from .lowest import Lowest
from .visits import Tally, Trip

# At least this many rows of each class are in the part.
LEAST_OF_A_CLASS = 30


@dataclass(frozen=True, eq=False)
class Contents:
    """What of a row decides over its lot.

    Attributes
    ----------
    units : ndarray of shape (d,)
        To which columns are rounded.
    scales : ndarray of shape (d,) or None
        What columns are multiplied by, if their units must not matter.
    seed : int
    share : float
        Share of the rows to hold out.
    """

    units: np.ndarray
    scales: np.ndarray | None
    seed: int
    share: float

    @classmethod
    def of(
        cls,
        low: np.ndarray,
        high: np.ndarray,
        scales: np.ndarray | None,
        seed: int,
        share: float,
    ) -> Contents:
        """Return what decides, for columns of these ranges."""
        if scales is not None:
            low, high = low * scales, high * scales
        return cls(units_of(low, high), scales, seed, share)

    def numbers(self, X: Any) -> np.ndarray:
        """Return a random number for each row, uint64."""
        return mixed(content_numbers(mapped(X, self.scales), self.units) + self._key)

    def are_held_out(self, X: Any) -> np.ndarray:
        """Return whether each row is held out."""
        if not self.share:
            return np.zeros(X.shape[0], dtype=bool)
        return self._are_held_out(self.numbers(X))

    def _are_held_out(self, numbers: np.ndarray) -> np.ndarray:
        return mixed(numbers) < np.uint64(self.share * 2.0**64)

    @property
    def _key(self) -> np.uint64:
        return mixed(np.array([self.seed], dtype=np.uint64))[0]


@dataclass(eq=False)
class Drawn(Tally):
    """Rows that were drawn so far.

    Attributes
    ----------
    centers : Lowest
        Candidates, in the order of their priority.
    part : Lowest
        Rows on which settings are compared, each with its targets.
    n_centers, n_part, n_classes : int
        How many rows, and of how many classes, are drawn.
    """

    n_rows: int
    centers: Lowest
    part: Lowest
    n_centers: int
    n_part: int
    n_classes: int

    def merged(self, other: Drawn) -> Drawn:
        """Return the rows drawn from both."""
        return replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            centers=self.centers.with_more(other.centers, self.n_centers),
            part=self.part.with_more(other.part, self.n_part, self._of_class),
        )

    @property
    def _of_class(self) -> int:
        return LEAST_OF_A_CLASS if self.n_classes > 1 else 0


@dataclass(frozen=True, eq=False)
class Draw(Trip[Drawn]):
    """Draw candidates, and a part of the rows.

    Attributes
    ----------
    coding : Coding
    contents : Contents
        Held-out rows are no candidates.
    center_seed : int
        Seed of the priorities of candidates, which are those that `fit` gives them.
    n_centers, n_part : int
    """

    coding: Coding
    contents: Contents
    center_seed: int
    n_centers: int
    n_part: int
    name: ClassVar[str] = "draw"

    def begin(self) -> Drawn:
        """Return the tally of no rows."""
        classes, n_outputs = self.coding.classes, self.coding.n_outputs
        return Drawn(
            n_rows=0,
            centers=Lowest.none(n_outputs),
            part=Lowest.none(n_outputs),
            n_centers=self.n_centers,
            n_part=self.n_part,
            n_classes=1 if classes is None else len(classes),
        )

    def visit(self, tally: Drawn, block: Block) -> None:
        """Add a block."""
        if not len(block):
            return
        rows = self.coding.rows(block)
        numbers = self.contents.numbers(rows.X)
        drawn = replace(
            self.begin(),
            n_rows=len(block),
            centers=self._centers(tally, rows, numbers),
            part=self._part(tally, rows, numbers),
        )
        vars(tally).update(vars(tally.merged(drawn)))

    def _centers(self, tally: Drawn, rows: CodedRows, numbers: np.ndarray) -> Lowest:
        """Return candidates among the rows, by their priorities."""
        contents, seed = self.contents, self.center_seed
        X, every = mapped(rows.X, contents.scales), np.arange(len(rows))
        if contents.share:
            every = every[~contents._are_held_out(numbers)]
        rough = rough_digests(X, every, seed, contents.units)
        half, limit = np.uint64(32), tally.centers.limits(self.n_centers)[0]
        near = rough >> half <= limit >> half
        some = every[near]
        keys = completed(rough[near], X, some, seed)
        return Lowest(keys, rows.some(some), len(some) == len(every))

    def _part(self, tally: Drawn, rows: CodedRows, numbers: np.ndarray) -> Lowest:
        """Return rows for the part; rows that differ in their targets differ."""
        targets = target_numbers(rows.Y)
        keys = mixed(numbers ^ targets)
        limits = tally.part.limits(self.n_part, tally._of_class, tally.n_classes)
        half = np.uint64(32)
        some = np.flatnonzero(keys >> half <= limits[rows.codes] >> half)
        X = mapped(rows.X, self.contents.scales)
        nothing = np.zeros(len(some), dtype=np.uint64)
        # Rows that only round to the same differ in the second half.
        exact = completed(nothing, X, some, self.contents.seed) << half
        keys = joined_halves(keys[some], mixed(exact ^ targets[some]))
        return Lowest(keys, rows.some(some), len(some) == len(rows))
