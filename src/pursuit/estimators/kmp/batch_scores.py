"""Scores of a model on rows that are read block by block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import is_classifier

from pursuit.batches import Block, Rows
from pursuit.estimators._batches import for_blocks
from pursuit.trips import LocalVisits, Tally, Trip
from pursuit.trips.blocks import checked


def scored(model: Any, rows: Rows) -> float:
    """Return the accuracy of a classifier, or the R² of a regressor."""
    trip = Score(for_blocks(model, rows.feature_names))
    return LocalVisits(rows, model.verbose).total(trip).score


@dataclass(eq=False)
class Scored(Tally):
    """Weighted sums from which the score follows.

    Attributes
    ----------
    n_rows : int
    is_class : bool
    total : float
        Sum of the weights.
    errors : ndarray of shape (T,)
        Sum of the mistakes, or of the squared errors.
    linear, squares : ndarray of shape (T,)
        Sums of the targets and of their squares, both minus ``shift``.
    shift : ndarray of shape (T,) or None
        One of the targets: differences from it keep more digits.
    """

    n_rows: int
    is_class: bool
    total: float = 0.0
    errors: Any = 0.0
    linear: Any = 0.0
    squares: Any = 0.0
    shift: np.ndarray | None = None

    def merged(self, other: Scored) -> Scored:
        """Return the sums over the rows of both."""
        if self.shift is None or other.shift is None:
            known = other if self.shift is None else self
            return Scored(**vars(known))
        by = other.shift - self.shift
        linear = other.linear + by * other.total
        squares = other.squares + by * (2.0 * other.linear + by * other.total)
        return Scored(
            n_rows=self.n_rows + other.n_rows,
            is_class=self.is_class,
            total=self.total + other.total,
            errors=self.errors + other.errors,
            linear=self.linear + linear,
            squares=self.squares + squares,
            shift=self.shift,
        )

    @property
    def score(self) -> float:
        """The accuracy, or R² averaged over targets."""
        if not self.total > 0:
            raise ValueError("There are no rows of positive weight to score.")
        if self.is_class:
            return float(1.0 - self.errors[0] / self.total)
        spread = self.squares - self.linear**2 / self.total
        with np.errstate(divide="ignore", invalid="ignore"):
            scores = 1.0 - self.errors / spread
        # As scikit-learn has it for constant targets.
        return float(np.where(spread > 0, scores, 1.0 * (self.errors == 0)).mean())


@dataclass(frozen=True, eq=False)
class Score(Trip[Scored]):
    """Compare predictions with targets."""

    model: Any
    name: ClassVar[str] = "score"

    def begin(self) -> Scored:
        """Return the tally of no rows."""
        return Scored(n_rows=0, is_class=is_classifier(self.model))

    def visit(self, tally: Scored, block: Block) -> None:
        """Add a block."""
        if not len(block):
            return
        X, y, weight = checked(block, self.model.n_features_in_)
        predicted = self.model.predict(X)
        if tally.is_class:
            mistakes = predicted != y.reshape(len(y)).astype(predicted.dtype)
            Y = errors = mistakes[:, None].astype(float)
        else:
            Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
            errors = (Y - predicted.reshape(len(y), -1)) ** 2
        D = Y - Y[0]
        of_block = Scored(
            n_rows=len(y),
            is_class=tally.is_class,
            total=float(weight.sum()),
            errors=weight @ errors,
            linear=weight @ D,
            squares=weight @ D**2,
            shift=Y[0],
        )
        vars(tally).update(vars(tally.merged(of_block)))
