"""The first trip: how many rows there are, the ranges of the columns, the classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import type_of_target

from pursuit.batches import Block

from .blocks import checked, comparable, points_of
from .visits import Tally, Trip


@dataclass(eq=False)
class Looked(Tally):
    """What the rows are like.

    Attributes
    ----------
    n_rows, n_used : int
        Number of rows, and of those of positive weight.
    low, high : ndarray of shape (d,) or None
        Range of each column, on rows of positive weight; None before the first block.
    total : float
        Sum of the weights.
    largest : float
        Largest weight.
    labels : ndarray or None
        Sorted class labels, of rows of any weight.
    counts : ndarray or None
        Weight of each class.
    is_single : bool
        Whether y has one dimension.
    target_low, target_high, target_sum : ndarray of shape (T,) or None
        Range, and weighted sum, of each target.
    """

    n_rows: int = 0
    n_used: int = 0
    low: np.ndarray | None = None
    high: np.ndarray | None = None
    total: float = 0.0
    largest: float = 0.0
    labels: np.ndarray | None = None
    counts: np.ndarray | None = None
    is_single: bool = True
    target_low: np.ndarray | None = None
    target_high: np.ndarray | None = None
    target_sum: np.ndarray | None = None

    def merged(self, other: Looked) -> Looked:
        """Return what the rows of both are like."""
        if self.low is None or other.low is None:
            known = other if self.low is None else self
            return Looked(**vars(known))
        if len(self.low) != len(other.low):
            raise ValueError(
                f"X has {len(self.low)} columns in some blocks and {len(other.low)} in "
                "others."
            )
        both = Looked(
            n_rows=self.n_rows + other.n_rows,
            n_used=self.n_used + other.n_used,
            low=np.minimum(self.low, _known(other.low)),
            high=np.maximum(_known(self.high), _known(other.high)),
            total=self.total + other.total,
            largest=max(self.largest, other.largest),
            is_single=self.is_single and other.is_single,
        )
        if self.labels is not None:
            assert other.labels is not None
            labels = np.concatenate([self.labels, other.labels])
            counts = np.concatenate([_known(self.counts), _known(other.counts)])
            both.labels, where = np.unique(labels, return_inverse=True)
            both.counts = np.bincount(where, counts)
        if self.target_low is None:
            return both
        both.target_low = np.minimum(_known(self.target_low), _known(other.target_low))
        both.target_high = np.maximum(
            _known(self.target_high), _known(other.target_high)
        )
        both.target_sum = _known(self.target_sum) + _known(other.target_sum)
        return both

    @property
    def n_features(self) -> int:
        """The number of columns of X."""
        return len(_known(self.low))

    @property
    def scales(self) -> np.ndarray:
        """1 over the range of each column, 0 for constant columns."""
        half = 0.5 * _known(self.high) - 0.5 * _known(self.low)
        with np.errstate(divide="ignore", over="ignore"):
            return np.where(half > 0, np.minimum(0.5 / half, 1e300), 0.0)


@dataclass(frozen=True)
class Look(Trip[Looked]):
    """Look at all rows once.

    Attributes
    ----------
    is_class : bool or None
        Whether targets are class labels; None if there are none to look at.
    """

    is_class: bool | None
    name: ClassVar[str] = "look"

    def begin(self) -> Looked:
        """Return the tally of no rows."""
        return Looked()

    def visit(self, tally: Looked, block: Block) -> None:
        """Add a block."""
        if not len(block):
            return
        width = None if tally.low is None else len(tally.low)
        if self.is_class is None:
            points = points_of(block, width)
            if block.weight is not None:
                raise ValueError(
                    f"{block.where}: these rows have weights, which this fit does not "
                    "take: make the source without them."
                )
            seen = _points(points, np.ones(len(block)), is_single=True)
            vars(tally).update(vars(tally.merged(seen)))
            return
        X, y, weight = checked(block, width)
        looked = self._look(X, y, weight, block.where)
        before, now = tally.target_low, looked.target_low
        if before is not None and now is not None and len(before) != len(now):
            raise ValueError(
                f"{block.where}: y has {len(now)} columns, the rows before had "
                f"{len(before)}."
            )
        try:
            merged = tally.merged(looked)
        except (TypeError, np.exceptions.DTypePromotionError):
            raise ValueError(
                f"{block.where}: y holds labels of type {y.dtype}, which cannot be "
                "compared with those before: make them all words, or all numbers."
            ) from None
        vars(tally).update(vars(merged))

    def _look(self, X: Any, y: np.ndarray, weight: np.ndarray, where: str) -> Looked:
        used = weight > 0
        looked = _points(X, weight, y.ndim == 1)
        if self.is_class:
            try:
                labels = comparable(y)
            except ValueError as error:
                raise ValueError(f"{where}: {error}") from None
            if labels.dtype.kind == "f" and type_of_target(labels) == "continuous":
                raise ValueError(
                    f"{where}: y holds numbers such as {labels[0]:g}, which are no "
                    "classes: use KMPRegressor for them."
                )
            looked.labels, codes = np.unique(labels, return_inverse=True)
            looked.counts = np.bincount(codes, weight)
            return looked
        try:
            Y = np.asarray(y, dtype=np.float64).reshape(len(y), -1)
        except (TypeError, ValueError):
            raise ValueError(
                f"{where}: y holds values that are not numbers ({y.dtype}): a "
                "regressor needs numbers; for classes use KMPClassifier."
            ) from None
        looked.target_sum = weight @ np.where(used[:, None], Y, 0.0)
        low = np.where(used[:, None], Y, np.inf).min(axis=0)
        high = np.where(used[:, None], Y, -np.inf).max(axis=0)
        looked.target_low, looked.target_high = low, high
        return looked


def _points(X: Any, weight: np.ndarray, is_single: bool) -> Looked:
    """Return what points are like, whatever their targets."""
    used = weight > 0
    looked = Looked(
        n_rows=len(weight),
        n_used=int(used.sum()),
        low=np.full(X.shape[1], np.inf),
        high=np.full(X.shape[1], -np.inf),
        total=float(weight.sum()),
        largest=float(weight.max()),
        is_single=is_single,
    )
    if used.any():
        looked.low, looked.high = _ranges(X if used.all() else X[used])
    return looked


def _ranges(X: Any) -> tuple[np.ndarray, np.ndarray]:
    low, high = X.min(axis=0), X.max(axis=0)
    if sp.issparse(X):
        low, high = low.toarray(), high.toarray()
    return np.ravel(low), np.ravel(high)


def _known(value: np.ndarray | None) -> np.ndarray:
    assert value is not None
    return value
