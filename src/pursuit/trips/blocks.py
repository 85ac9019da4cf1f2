"""Blocks of rows, checked, and coded as the fit sees them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pursuit.batches import Block
from pursuit.batches.blocks import Span, check_features, check_targets, check_weight


@dataclass(frozen=True, eq=False)
class Coding:
    """How the rows of a block become points, targets and weights.

    Attributes
    ----------
    n_features : int
    n_targets : int
        Number of columns of y, for numbers.
    classes : ndarray or None
        Class labels, sorted; None for numbers.
    factors : ndarray or None
        Weight of each class.
    """

    n_features: int
    n_targets: int
    classes: np.ndarray | None = None
    factors: np.ndarray | None = None

    @property
    def n_outputs(self) -> int:
        """The number of rows of Y."""
        if self.classes is None:
            return self.n_targets
        return 1 if len(self.classes) == 2 else len(self.classes)

    def rows(self, block: Block) -> CodedRows:
        """Return the rows of positive weight of a block."""
        X, y, counts = checked(block, self.n_features)
        used = np.flatnonzero(counts > 0)
        if len(used) < len(counts):
            X, y, counts = X[used], y[used], counts[used]
        if self.classes is None:
            columns = y[:, None] if y.ndim == 1 else y
            Y = np.ascontiguousarray(columns.T, dtype=np.float64)
            if len(Y) != self.n_targets:
                raise ValueError(
                    f"{block.where}: y has {len(Y)} columns, the rows before had "
                    f"{self.n_targets}."
                )
            codes = np.zeros(len(counts), dtype=np.int64)
            return CodedRows(X, Y, counts, counts, codes)
        codes = self._codes(y, block.where)
        assert self.factors is not None
        weight = counts * self.factors[codes]
        rows = CodedRows(X, self._targets(codes), weight, counts, codes)
        kept = np.flatnonzero(weight > 0)
        return rows if len(kept) == len(rows) else rows.some(kept)

    def targets_of(self, rows: CodedRows) -> np.ndarray:
        """Return the targets of rows as the user gave them."""
        if self.classes is not None:
            return np.asarray(self.classes[rows.codes])
        return rows.Y[0] if len(rows.Y) == 1 else rows.Y.T

    def _codes(self, y: np.ndarray, where: str) -> np.ndarray:
        assert self.classes is not None
        labels = comparable(y)
        codes = np.searchsorted(self.classes, labels).clip(max=len(self.classes) - 1)
        if np.any(self.classes[codes] != labels):
            raise ValueError(
                f"{where}: y holds a class that was not there on the first trip: the "
                "rows must be the same each time they are read."
            )
        return codes

    def _targets(self, codes: np.ndarray) -> np.ndarray:
        assert self.classes is not None
        if len(self.classes) == 2:
            return np.where(codes == 1, 1.0, -1.0)[None]
        return np.where(codes == np.arange(len(self.classes))[:, None], 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class CodedRows:
    """Rows of positive weight.

    Attributes
    ----------
    X : array or CSR of shape (n, d)
    Y : ndarray of shape (T, n)
        Targets.
    weight, counts : ndarray of shape (n,)
        Weights with and without those of the classes.
    codes : ndarray of int of shape (n,)
        Classes, 0 if there are none.
    """

    X: Any
    Y: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    codes: np.ndarray

    def __len__(self) -> int:
        return len(self.weight)

    @classmethod
    def of_points(cls, X: Any) -> CodedRows:
        """Return rows without targets, of weight 1."""
        n = X.shape[0]
        ones = np.ones(n)
        return cls(X, np.zeros((0, n)), ones, ones, np.zeros(n, dtype=np.int64))

    @classmethod
    def none(cls, n_outputs: int) -> CodedRows:
        """Return no rows, of as many columns as those that they will be joined with."""
        zeros = np.zeros(0)
        Y = np.zeros((n_outputs, 0))
        return cls(None, Y, zeros, zeros, np.zeros(0, dtype=np.int64))

    def some(self, index: np.ndarray) -> CodedRows:
        """Return some of the rows."""
        return CodedRows(
            self.X[index],
            self.Y[:, index],
            self.weight[index],
            self.counts[index],
            self.codes[index],
        )

    def joined(self, other: CodedRows) -> CodedRows:
        """Return these rows, and those of another collection."""
        if self.X is None:
            return other
        return CodedRows(
            stacked([self.X, other.X]),
            np.concatenate([self.Y, other.Y], axis=1),
            np.concatenate([self.weight, other.weight]),
            np.concatenate([self.counts, other.counts]),
            np.concatenate([self.codes, other.codes]),
        )


def stacked(parts: Sequence[Any]) -> Any:
    """Return arrays, or sparse matrices, one below the other."""
    if any(map(sp.issparse, parts)):
        return sp.csr_array(sp.vstack(parts))
    return np.concatenate(parts)


def checked(
    block: Block, n_features: int | None = None
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return points, targets as they are, and weights; raise if they do not fit."""
    X = points_of(block, n_features)
    if block.y is None:
        raise ValueError(
            f"{block.where}: these rows have no targets, but a fit needs some."
        )
    n, y = X.shape[0], np.asarray(block.y)
    weight = np.ones(len(y)) if block.weight is None else np.asarray(block.weight)
    if not n == len(y) == len(weight):
        raise ValueError(
            f"{block.where}: X has {n} rows, y {len(y)} and the weights {len(weight)}."
        )
    weight = weight.astype(np.float64, copy=False)
    check_targets(y, _spans(block))
    check_weight(weight, _spans(block))
    return X, y, weight


def points_of(block: Block, n_features: int | None = None) -> Any:
    """Return the points of a block as float64; raise if they are no such."""
    if sp.issparse(block.X):
        X = sp.csr_array(block.X, dtype=np.float64)
    else:
        X = np.asarray(block.X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"{block.where}: X has shape {X.shape}, a table is required.")
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(
            f"{block.where}: X has {X.shape[1]} columns, the rows before had "
            f"{n_features}."
        )
    check_features(X, _spans(block))
    return X


def _spans(block: Block) -> tuple[Span]:
    """Return where the rows of a block are, for messages."""
    return (Span(block.where, 1, len(block)),)


def comparable(y: np.ndarray) -> np.ndarray:
    """Return class labels as an array that can be sorted; raise if it cannot."""
    if y.ndim == 2 and y.shape[1] == 1:
        y = y[:, 0]
    if y.ndim != 1:
        raise ValueError(f"y has shape {y.shape}: a classifier takes one label a row.")
    if y.dtype.kind != "O":
        return y
    kinds = {type(label) for label in y.tolist()}
    if kinds == {str}:
        return y.astype(str)
    if len(kinds) == 1 and kinds <= {int, float, bool}:
        return np.array(y.tolist())
    names = ", ".join(sorted(kind.__name__ for kind in kinds))
    raise ValueError(
        f"y holds labels of these types: {names}; make them all words, or all numbers."
    )
