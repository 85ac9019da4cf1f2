"""Rows of arrays, memory maps, sparse matrices and frames."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp

from pursuit._parameters import whole_number

from .blocks import (
    Block,
    Rows,
    RowsError,
    Span,
    checked_block,
    contents,
    default_rows_at_once,
)

__all__ = ["ArrayRows"]

# Types of pandas that hold words, though their kind is that of objects.
_WORDS = ("category", "str", "string")


class ArrayRows(Rows):
    """Rows of an array, a memory map, a sparse matrix or a frame.

    Nothing is copied but the rows of a block, and those only if they are not float64:
    an array that `numpy.load` opened with ``mmap_mode="r"`` may be larger than the
    memory.

    Parameters
    ----------
    X : array, memory map, sparse matrix, or frame of pandas or polars, of shape (n, d)
        Features, numbers. A sparse matrix is made CSR if it is not.
    y : array-like of shape (n,) or (n, T), optional
        Targets: numbers or labels.
    sample_weight : array-like of shape (n,), optional
        Weights.
    rows_at_once : int, optional
        Rows of a block; by default what makes 8 to 16 MiB.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.batches import ArrayRows
    >>> rows = ArrayRows(np.eye(5), [0, 1, 0, 1, 0], rows_at_once=2)
    >>> [(block.X.shape, block.where) for block in rows.blocks()]
    [((2, 5), 'rows 1 to 2'), ((2, 5), 'rows 3 to 4'), ((1, 5), 'row 5')]
    """

    def __init__(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        rows_at_once: int | None = None,
    ) -> None:
        self.X = _table(X)
        self.n_rows = n = int(self.X.shape[0])
        self.feature_names = _names(self.X)
        if n == 0 or self.X.shape[1] == 0:
            raise ValueError(
                f"X has the shape {tuple(self.X.shape)}: at least one row and one "
                "column are required."
            )
        self.y = None if y is None else _targets(y, n)
        self.weight = None if sample_weight is None else _weight(sample_weight, n)
        whole_number("rows_at_once", rows_at_once, 1, (None,))
        self.rows_at_once = rows_at_once or default_rows_at_once(_numbers_a_row(self.X))

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the same blocks in the same order at each call.

        Parameters
        ----------
        start : int, default=0
            Blocks to skip.
        """
        return self._blocks(start, is_raw=False)

    def raw_blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the blocks as `blocks` does, but with missing features, as NaN.

        Parameters
        ----------
        start : int, default=0
            Blocks to skip.
        """
        return self._blocks(start, is_raw=True)

    def _blocks(self, start: int, is_raw: bool) -> Iterator[Block]:
        n, step = int(self.X.shape[0]), self.rows_at_once
        for first in range(start * step, n, step):
            yield self._block(slice(first, min(first + step, n)), is_raw)

    def fingerprint(self) -> str:
        """Return a text that differs for arrays of other shapes, types or rows."""
        n = int(self.X.shape[0])
        some = np.unique(np.linspace(0, n - 1, min(n, 64)).astype(int))
        y, weight = (None if v is None else v[some] for v in (self.y, self.weight))
        X = _numbers(_taken(self.X, some), self.feature_names, (Span("", 1, n),))
        kind = str(getattr(self.X, "dtype", "frame"))
        parts = contents(Block(X, y, weight))
        return self._printed((tuple(self.X.shape), kind, self.rows_at_once, *parts))

    def _block(self, part: slice, is_raw: bool) -> Block:
        spans = (Span("", part.start + 1, part.stop - part.start),)
        y, weight = (None if v is None else v[part] for v in (self.y, self.weight))
        X = _numbers(_taken(self.X, part), self.feature_names, spans)
        return checked_block(X, y, weight, spans, self.feature_names, is_raw)


def _table(X: Any) -> Any:
    if sp.issparse(X):
        return sp.csr_matrix(X) if X.format != "csr" else X
    if hasattr(X, "columns"):
        _check_types(X)
    else:
        X = X if isinstance(X, np.ndarray) else np.asarray(X)
        if X.dtype.kind in "mMSUV":
            raise ValueError(
                f"X is an array of type {X.dtype}: make numbers of it, such as by an "
                "encoder."
            )
    if len(X.shape) != 2:
        raise ValueError(
            f"X has the shape {tuple(X.shape)}: an array of two dimensions is required."
        )
    return X


def _names(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns, if all are words, as scikit-learn does."""
    columns = list(getattr(X, "columns", ()))
    if not columns or not all(isinstance(name, str) for name in columns):
        return None
    if len(set(columns)) < len(columns):
        twice = next(name for name in columns if columns.count(name) > 1)
        raise ValueError(f"X has two columns named {twice!r}: rename one.")
    return tuple(columns)


def _targets(y: Any, n: int) -> np.ndarray:
    targets = y.to_numpy() if hasattr(y, "to_numpy") else y
    if not isinstance(targets, np.ndarray):
        targets = np.asarray(targets)
    if targets.dtype.kind in "mM":
        raise ValueError("y holds dates or durations: make numbers of them.")
    if targets.ndim == 2 and targets.shape[1] == 1:
        targets = targets[:, 0]
    if targets.ndim not in (1, 2) or targets.shape[0] != n:
        raise ValueError(
            f"y has the shape {targets.shape}, X has {n} rows: one target, or one row "
            "of targets, is required for each row."
        )
    return targets


def _weight(sample_weight: Any, n: int) -> np.ndarray:
    weight = np.asarray(sample_weight, dtype=np.float64)
    if weight.shape != (n,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n,)}: one weight for "
            "each row."
        )
    return weight


def _numbers_a_row(X: Any) -> float:
    # An entry of a CSR matrix has a position beside its value.
    return 1.5 * X.nnz / X.shape[0] if sp.issparse(X) else float(X.shape[1])


def _taken(X: Any, rows: Any) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _numbers(X: Any, names: tuple[str, ...] | None, spans: tuple[Span, ...]) -> Any:
    """Return rows of an array or frame as float64."""
    if sp.issparse(X):
        return X if X.dtype == np.float64 else X.astype(np.float64)
    if hasattr(X, "columns"):
        columns = [_column(X, j, spans) for j in range(X.shape[1])]
        return np.column_stack(columns)
    try:
        return np.ascontiguousarray(X, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise RowsError(
            f"{', '.join(map(str, spans))}: X holds values that are not numbers "
            f"({error}): encode them first."
        ) from error


def _column(frame: Any, j: int, spans: tuple[Span, ...]) -> np.ndarray:
    """Return a column of a frame of pandas or polars as float64."""
    name = frame.columns[j]
    try:
        if hasattr(frame, "iloc"):
            return frame.iloc[:, j].to_numpy(dtype=np.float64, na_value=np.nan)
        # Null becomes NaN.
        return frame[name].cast(float).to_numpy()
    except (TypeError, ValueError) as error:
        raise RowsError(f"{spans[0]}, column {name!r}: {error}") from error


def _check_types(frame: Any) -> None:
    """Raise a ValueError that names the columns that do not hold numbers."""
    dtypes = zip(frame.columns, frame.dtypes, strict=True)
    wrong = [f"{name!r} ({dtype})" for name, dtype in dtypes if not _is_number(dtype)]
    if wrong:
        raise ValueError(
            f"X has columns that are not numbers: {', '.join(wrong)}. Encode them, "
            "such as by a ColumnTransformer, or leave them out."
        )


def _is_number(dtype: Any) -> bool:
    if hasattr(dtype, "is_numeric"):  # polars
        return bool(dtype.is_numeric() or str(dtype) == "Boolean")
    # Objects may be decimals, which conversion tells.
    return getattr(dtype, "kind", "O") in "biufO" and str(dtype) not in _WORDS
