"""A trip that draws rows without targets: as `fit` of sparse components draws them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pursuit._rows import completed, exact_digests, mixed, rough_digests
from pursuit.batches import Block
from pursuit.kernels.widths import SAMPLED_ROWS

from .blocks import CodedRows, points_of
from .lowest import Lowest
from .visits import Tally, Trip


@dataclass(eq=False)
class Sampled(Tally):
    """Rows that were drawn so far; the weight of each is how often it came.

    Attributes
    ----------
    sample : Lowest
        Rows among which points are chosen.
    pairs : Lowest
        Rows whose distances tell the width of a kernel.
    n : int
        How many different rows the sample has.
    """

    n_rows: int
    sample: Lowest
    pairs: Lowest
    n: int

    def merged(self, other: Sampled) -> Sampled:
        """Return the rows drawn from both."""
        return replace(
            self,
            n_rows=self.n_rows + other.n_rows,
            sample=self.sample.with_more(other.sample, self.n),
            pairs=self.pairs.with_more(other.pairs, SAMPLED_ROWS),
        )


@dataclass(frozen=True, eq=False)
class DrawSample(Trip[Sampled]):
    """Draw rows by their contents.

    Attributes
    ----------
    units : ndarray of shape (d,)
        To which columns are rounded.
    seed, n : int
        Seed and size of the sample.
    """

    units: np.ndarray
    seed: int
    n: int
    name: ClassVar[str] = "draw"

    def begin(self) -> Sampled:
        """Return the tally of no rows."""
        return Sampled(0, Lowest.none(0), Lowest.none(0), self.n)

    def visit(self, tally: Sampled, block: Block) -> None:
        """Add a block."""
        if not len(block):
            return
        X = points_of(block, len(self.units))
        every = np.arange(X.shape[0])
        rough = rough_digests(X, every, self.seed, self.units)
        digests = mixed(completed(rough, X, every, self.seed))
        drawn = Sampled(
            n_rows=len(block),
            sample=_below(tally.sample, X, digests, self.n),
            pairs=_below(tally.pairs, X, exact_digests(X, every), SAMPLED_ROWS),
            n=self.n,
        )
        vars(tally).update(vars(tally.merged(drawn)))


def _below(before: Lowest, X: Any, keys: np.ndarray, n: int) -> Lowest:
    """Return the rows whose numbers are low enough to be drawn."""
    some = np.flatnonzero(keys <= before.limits(n)[0])
    is_all = len(some) == len(keys)
    return Lowest(keys[some], CodedRows.of_points(X[some]), is_all)
