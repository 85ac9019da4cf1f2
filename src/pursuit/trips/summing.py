"""The third trip: inner products of all candidates, on fitted and held-out rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from pursuit.batches import Block
from pursuit.engine.moments import Sums, rows_at_once
from pursuit.functions import Functions

from .blocks import Coding
from .drawing import Contents
from .visits import Tally, Trip


@dataclass(eq=False)
class Summed(Tally):
    """Inner products so far.

    Attributes
    ----------
    fitted : Sums
    held_out : Sums or None
        None if nothing is held out.
    """

    n_rows: int
    fitted: Sums
    held_out: Sums | None

    def merged(self, other: Summed) -> Summed:
        """Return the sums over the rows of both."""
        held_out = None
        if self.held_out is not None:
            assert other.held_out is not None
            held_out = self.held_out + other.held_out
        n_rows = self.n_rows + other.n_rows
        return Summed(n_rows, self.fitted + other.fitted, held_out)


@dataclass(frozen=True, eq=False)
class Sum(Trip[Summed]):
    """Sum up inner products.

    Attributes
    ----------
    coding : Coding
    contents : Contents
    functions : Functions
        The candidates.
    shift : ndarray of shape (T,)
        Numbers near the means of the targets, which are subtracted: sums of squares of
        what is left keep more digits.
    dtype : float64 or float32
        Type in which the functions are evaluated; sums are float64.
    """

    coding: Coding
    contents: Contents
    functions: Functions
    shift: np.ndarray
    dtype: Any
    name: ClassVar[str] = "products"

    def begin(self) -> Summed:
        """Return the tally of no rows."""
        size = len(self.functions), self.coding.n_outputs
        held_out = Sums.empty(*size) if self.contents.share else None
        return Summed(0, Sums.empty(*size), held_out)

    def visit(self, tally: Summed, block: Block) -> None:
        """Add a block."""
        if not len(block):
            return
        rows = self.coding.rows(block)
        is_held_out = self.contents.are_held_out(rows.X)
        Y = rows.Y - self.shift[:, None]
        for sums, some in (
            (tally.fitted, np.flatnonzero(~is_held_out)),
            (tally.held_out, np.flatnonzero(is_held_out)),
        ):
            if sums is not None:
                self._add(sums, rows.X, Y, rows.weight, some)
        tally.n_rows += len(block)

    def _add(
        self, sums: Sums, X: Any, Y: np.ndarray, weight: np.ndarray, rows: np.ndarray
    ) -> None:
        n_atoms = len(self.functions)
        n_at_once = rows_at_once(n_atoms, X.shape[1])
        for start in range(0, len(rows), n_at_once):
            some = rows[start : start + n_at_once]
            evaluate = self.functions.evaluator(X[some], self.dtype)
            sums.add(evaluate(slice(0, n_atoms)), Y[:, some], weight[some])
