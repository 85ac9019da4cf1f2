"""Blocks of rows, checked, and coded as the fit sees them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from pursuit.batches import Block


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
            Y = np.ascontiguousarray(y.reshape(len(counts), -1).T, dtype=np.float64)
            if len(Y) != self.n_targets:
                raise ValueError(
                    f"{block.where}: y has {len(Y)} columns, the rows before had "
                    f"{self.n_targets}."
                )
            return CodedRows(X, Y, counts, counts, None)
        codes = self._codes(y, block.where)
        assert self.factors is not None
        weight = counts * self.factors[codes]
        kept = np.flatnonzero(weight > 0)
        if len(kept) < len(weight):
            X, codes, counts, weight = X[kept], codes[kept], counts[kept], weight[kept]
        return CodedRows(X, self._targets(codes), weight, counts, codes)

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
    codes : ndarray of int of shape (n,) or None
        Classes, if there are some.
    """

    X: Any
    Y: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    codes: np.ndarray | None

    def __len__(self) -> int:
        return len(self.weight)


def checked(
    block: Block, n_features: int | None = None
) -> tuple[Any, np.ndarray, np.ndarray]:
    """Return points, targets as they are, and weights; raise if they do not fit."""
    X = points_of(block, n_features)
    if block.y is None:
        raise ValueError(
            f"{block.where}: these rows have no targets, but a fit needs some."
        )
    y = np.asarray(block.y)
    weight = np.ones(len(y)) if block.weight is None else np.asarray(block.weight)
    if not len(X if not sp.issparse(X) else y) == len(y) == len(weight) == X.shape[0]:
        raise ValueError(
            f"{block.where}: X has {X.shape[0]} rows, y {len(y)} and the weights "
            f"{len(weight)}."
        )
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        row = int(np.argwhere(~np.isfinite(y))[0][0])
        raise ValueError(
            f"{block.where}: y is {y[row]} at row {row + 1} of the block: leave such "
            "rows out."
        )
    weight = weight.astype(np.float64, copy=False)
    if not np.all((weight >= 0) & (weight < np.inf)):
        raise ValueError(f"{block.where}: weights must be finite numbers of 0 or more.")
    return X, y, weight


def points_of(block: Block, n_features: int | None = None) -> Any:
    """Return the points of a block as float64; raise if they are no such."""
    X = block.X
    if sp.issparse(X):
        X = sp.csr_array(X, dtype=np.float64)
    else:
        X = np.asarray(X, dtype=np.float64)
    if X.ndim != 2:
        raise ValueError(f"{block.where}: X has shape {X.shape}, a table is required.")
    if n_features is not None and X.shape[1] != n_features:
        raise ValueError(
            f"{block.where}: X has {X.shape[1]} columns, the rows before had "
            f"{n_features}."
        )
    values = X.data if sp.issparse(X) else X
    if not np.isfinite(values.sum()) and not np.isfinite(values).all():
        where = np.argwhere(~np.isfinite(X.toarray() if sp.issparse(X) else X))[0]
        raise ValueError(
            f"{block.where}: X is {_entry(X, where)} at row {where[0] + 1} of the "
            f"block, column {where[1]}: leave such rows out, or fill the values in, "
            "such as by rows.through(imputer)."
        )
    return X


def _entry(X: Any, where: np.ndarray) -> float:
    return float(X[int(where[0]), int(where[1])])


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
