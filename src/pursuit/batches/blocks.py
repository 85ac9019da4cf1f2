"""What a source of rows is: blocks that can be read again and again."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, NoReturn

import numpy as np
import scipy.sparse as sp

__all__ = ["Block", "Rows", "RowsError", "default_rows_at_once"]

# Bytes of a block of numbers, at most; at least half of it, but for the last block.
_BLOCK_BYTES = 16 << 20
# Rows of a block, at most: what is computed from a row may be longer than the row.
_MOST_ROWS = 1 << 17
# Rows from which a fingerprint is made.
_PRINTED_ROWS = 64


class RowsError(ValueError):
    """Rows that cannot be read, or are not what they should be; says where."""


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a source.

    Attributes
    ----------
    X : ndarray of float64 of shape (n, d), or CSR matrix
        Features. A pandas frame if the source was asked for frames, which only
        `Rows.through` takes.
    y : ndarray of shape (n,) or (n, T), or None
        Targets as the source has them, numbers or labels, not encoded.
    weight : ndarray of float64 of shape (n,), or None
        Weights of the rows.
    where : str
        Names the rows in messages, such as "part-3.parquet, rows 4097 to 8192".
    """

    X: Any
    y: np.ndarray | None = None
    weight: np.ndarray | None = None
    where: str = "rows"

    def __len__(self) -> int:
        return int(self.X.shape[0])


class Rows(ABC):
    """Rows that are read block by block, as often as needed.

    A subclass needs `blocks`; the attributes say what is known before a trip.

    Attributes
    ----------
    feature_names : tuple of str, or None
        Names of the columns of X.
    n_rows : int or None
        Number of rows, if it is known without a trip over them.
    """

    feature_names: tuple[str, ...] | None = None
    n_rows: int | None = None

    @abstractmethod
    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the same blocks in the same order at each call.

        Parameters
        ----------
        start : int, default=0
            Blocks to skip, which costs less than to read them where the source allows.
        """

    def raw_blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the blocks as `blocks` does, but with missing features, as NaN.

        A transformer is given these, since it may fill what is missing. By default they
        are the same.

        Parameters
        ----------
        start : int, default=0
            Blocks to skip.
        """
        return self.blocks(start)

    def fingerprint(self) -> str:
        """Return a text that differs for other rows.

        It tells whether a checkpoint belongs to these rows. Unless a source knows
        better, it depends on names, number and some rows of the first block.
        """
        first = next(iter(self.raw_blocks()), None)
        return self._printed(() if first is None else (len(first), *contents(first)))

    def through(self, transformer: Any) -> Rows:
        """Return these rows with their features transformed, block by block.

        Parameters
        ----------
        transformer : object
            A fitted transformer of scikit-learn, or a pipeline of some. It must give
            one row for each row. If it was fitted on a frame, it is given frames of
            pandas with the same names.
        """
        from ._transformed import TransformedRows

        return TransformedRows(self, transformer)

    def __repr__(self) -> str:
        known = [] if self.n_rows is None else [f"n_rows={self.n_rows}"]
        if self.feature_names:
            first = self.feature_names[:3]
            more = ", ..." * (len(self.feature_names) > 3)
            known.append(f"feature_names=({', '.join(first)}{more})")
        return f"{type(self).__name__}({', '.join(known)})"

    def _printed(self, parts: Any) -> str:
        """Return the digest of what identifies the rows, beside their names."""
        digest = blake2b(digest_size=16)
        for part in (type(self).__name__, self.feature_names, self.n_rows, *parts):
            digest.update(part if isinstance(part, bytes) else repr(part).encode())
            digest.update(b"\0")
        return digest.hexdigest()


# -- sizes and contents ------------------------------------------------------------


def default_rows_at_once(n_columns: float) -> int:
    """Return a number of rows, a power of two, of 8 to 16 MiB as float64."""
    rows = min(_MOST_ROWS, int(_BLOCK_BYTES / (8 * max(n_columns, 1.0))))
    return 1 << max(rows.bit_length() - 1, 0)


def contents(block: Block) -> tuple[bytes, ...]:
    """Return bytes that differ for other rows: some of the rows, evenly spread."""
    n = len(block)
    some = np.unique(np.linspace(0, max(n - 1, 0), min(n, _PRINTED_ROWS)).astype(int))
    if hasattr(block.X, "iloc"):
        X = block.X.iloc[some].to_csv()
    else:
        rows = block.X[some]
        X = (rows.toarray() if sp.issparse(rows) else np.asarray(rows)).tobytes()
    others = (repr(v[some].tolist()) for v in (block.y, block.weight) if v is not None)
    return tuple(p if isinstance(p, bytes) else p.encode() for p in (X, *others))


# -- spans of rows, and the checks that name them ----------------------------------


@dataclass(frozen=True)
class Span:
    """Rows that follow each other in one place, such as a file.

    Attributes
    ----------
    place : str
        Name of the place; "" for rows that need none.
    first : int
        Number of the first row, from 1.
    n : int
        Number of rows.
    """

    place: str
    first: int
    n: int

    def __str__(self) -> str:
        last = self.first + self.n - 1
        rows = f"row {last}" if self.n == 1 else f"rows {self.first} to {last}"
        return f"{self.place}, {rows}" if self.place else rows

    def part(self, start: int, stop: int) -> Span:
        """Return the span of some of these rows."""
        return replace(self, first=self.first + start, n=stop - start)


def described(spans: tuple[Span, ...]) -> str:
    """Return the rows in words; of many places the first and the last."""
    if len(spans) <= 2:
        return " and ".join(map(str, spans))
    return f"{spans[0]}, and so on until {spans[-1]}"


def at_row(spans: tuple[Span, ...], index: int) -> str:
    """Return one row of the spans in words."""
    for span in spans:
        if index < span.n:
            return str(span.part(index, index + 1))
        index -= span.n
    raise IndexError(index)


def checked_block(
    X: Any,
    y: np.ndarray | None,
    weight: np.ndarray | None,
    spans: tuple[Span, ...],
    names: tuple[str, ...] | None = None,
    is_raw: bool = False,
) -> Block:
    """Return a block, or raise a `RowsError` that names a value that is not finite.

    Features of raw blocks are not looked at.
    """
    if not is_raw and not hasattr(X, "iloc"):
        check_features(X, spans, names)
    if y is not None:
        check_targets(y, spans)
    if weight is not None:
        check_weight(weight, spans)
    return Block(X, y, weight, described(spans))


def check_features(
    X: Any, spans: tuple[Span, ...], names: tuple[str, ...] | None = None
) -> None:
    """Raise a `RowsError` that names an entry of X that is not finite."""
    values = X.data if sp.issparse(X) else X
    if are_finite(values):
        return
    wrong = np.argwhere(~np.isfinite(values))[0]
    if sp.issparse(X):
        k = int(wrong[0])
        row, column = int(np.searchsorted(X.indptr, k, "right")) - 1, int(X.indices[k])
    else:
        row, column = map(int, wrong)
    name = f"column {column}" if names is None else f"column {names[column]!r}"
    _refuse(values[tuple(wrong)], f"{at_row(spans, row)}, {name}")


def check_targets(y: np.ndarray, spans: tuple[Span, ...]) -> None:
    """Raise a `RowsError` that names a target that is missing or not finite."""
    if y.dtype.kind == "f":
        if are_finite(y):
            return
        wrong = np.argwhere(~np.isfinite(y))
    elif y.dtype.kind == "O":
        wrong = np.argwhere(np.frompyfunc(_is_missing, 1, 1)(y).astype(bool))
    else:
        return
    if len(wrong):
        row, *column = wrong[0].tolist()
        which = f"target {column[0]}" if column else "target"
        _refuse(y[tuple(wrong[0])], f"{at_row(spans, row)}, {which}")


def check_weight(weight: np.ndarray, spans: tuple[Span, ...]) -> None:
    """Raise a `RowsError` that names a weight that is none."""
    is_wrong = ~((weight >= 0) & (weight < np.inf))
    if is_wrong.any():
        row = int(np.flatnonzero(is_wrong)[0])
        raise RowsError(
            f"{at_row(spans, row)}: the weight is {weight[row]:g}; weights must be "
            "finite numbers of 0 or more."
        )


def are_finite(values: np.ndarray) -> bool:
    """Return whether all values are; the sum tells it without more memory."""
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum()) or np.isfinite(values).all())


def _refuse(value: Any, where: str) -> NoReturn:
    what = "is missing" if _is_missing(value) else f"is {value}"
    raise RowsError(
        f"{where}: the value {what}, but finite values are required: leave such rows "
        "out, or fill the value, such as by rows.through(imputer)."
    )


def _is_missing(value: Any) -> bool:
    # NaN differs from itself, and what pandas' NA is like is NA.
    return value is None or type(value).__name__ == "NAType" or bool(value != value)
