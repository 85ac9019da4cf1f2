"""Rows of tables: which columns are read, and how batches become blocks."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit._parameters import check_flag, did_you_mean, whole_number

from ._arrow import kind, labels, numbers, plain
from ._packages import optional, pandas
from .blocks import Block, Rows, RowsError, Span, checked_block, default_rows_at_once

__all__ = ["Columns", "TableRows", "chosen", "without_first"]

# Rows of a batch that is read at once; blocks are put together of batches.
BATCH_ROWS = 1 << 16

# A batch of Arrow, and the rows that it holds.
Batch = tuple[Any, Span]


# -- columns -----------------------------------------------------------------------


@dataclass(frozen=True)
class Columns:
    """Columns of a table that are read.

    Attributes
    ----------
    features, targets : tuple of str
    is_list : bool
        Whether the targets were given as a list, so that y has two dimensions.
    weight : str or None
    """

    features: tuple[str, ...]
    targets: tuple[str, ...]
    is_list: bool
    weight: str | None

    @property
    def all(self) -> tuple[str, ...]:
        """Names of all columns that are read."""
        others = () if self.weight is None else (self.weight,)
        return (*self.features, *self.targets, *others)


def chosen(
    names: Sequence[str],
    place: str,
    target: str | Sequence[str] | None,
    features: Sequence[str] | None,
    weight: str | None,
) -> Columns:
    """Return the columns that are read of a table, or raise a ValueError.

    Parameters
    ----------
    names : sequence of str
        Columns of the table.
    place : str
        Name of the table in messages.
    target, features, weight
        What the user asked for. By default the features are all other columns.
    """
    check_names(names, place)
    targets = _named("target", target, names, place)
    weights = _named("weight", weight, names, place)
    others = {*targets, *weights}
    if features is None:
        names_read = tuple(name for name in names if name not in others)
    else:
        names_read = _named("features", features, names, place)
    for name in names_read:
        if name in others:
            role = "target" if name in targets else "weight"
            raise ValueError(
                f"{role}={name!r} is among the features: name it once, as either."
            )
    if not names_read:
        raise ValueError(
            f"{place} has no columns for features beside {sorted(others)}."
        )
    if set(targets) & set(weights):
        raise ValueError(f"{weight!r} is both target and weight: name it once.")
    is_list = target is not None and not isinstance(target, str)
    return Columns(names_read, targets, is_list, weight)


def check_names(names: Sequence[str], place: str) -> None:
    """Raise a ValueError if two columns have the same name."""
    if len(set(names)) < len(names):
        twice = next(name for name in names if list(names).count(name) > 1)
        raise ValueError(f"{place} has two columns named {twice!r}: rename one.")


def _named(
    parameter: str, value: Any, names: Sequence[str], place: str
) -> tuple[str, ...]:
    if value is None:
        return ()
    wanted = (value,) if isinstance(value, str) else tuple(value)
    known = set(names)
    for name in wanted:
        if name not in known:
            raise ValueError(
                f"{parameter}={value!r}: {place} has no column {name!r}."
                f"{did_you_mean(name, names)} Its columns are {_some(names)}."
            )
    if len(set(wanted)) < len(wanted):
        twice = next(name for name in wanted if wanted.count(name) > 1)
        raise ValueError(f"{parameter}={value!r} names {twice!r} twice.")
    return wanted


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(repr, names[:12]))
    return f"{shown} and {len(names) - 12} others" if len(names) > 12 else shown


# -- from batches to blocks --------------------------------------------------------


class TableRows(Rows):
    """Rows of a table that comes as batches of Arrow.

    All blocks but the last have ``rows_at_once`` rows, however the table is divided
    into files and batches, so that the same rows make the same blocks.
    """

    def __init__(
        self,
        columns: Columns,
        types: dict[str, Any],
        place: str,
        rows_at_once: int | None,
        as_frame: bool,
    ) -> None:
        check_flag("as_frame", as_frame)
        whole_number("rows_at_once", rows_at_once, 1, (None,))
        check_types(columns, types, place, as_frame)
        if as_frame:
            pandas()
        self.columns, self.as_frame = columns, bool(as_frame)
        self.feature_names = columns.features
        self.rows_at_once = rows_at_once or default_rows_at_once(len(columns.all))

    @abstractmethod
    def _batches(self, n_skipped: int) -> Iterator[Batch]:
        """Yield batches of all the columns that are read, after some rows."""

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the same blocks in the same order at each call.

        Parameters
        ----------
        start : int, default=0
            Blocks to skip; their rows are not converted, and not read where the source
            can pass over them.
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
        batches = self._batches(start * self.rows_at_once)
        n_blocks = 0
        for pieces in _regrouped(batches, self.rows_at_once):
            yield self._block(pieces, is_raw)
            n_blocks += 1
        if n_blocks == 0 and start == 0:
            raise RowsError(f"{self._place()} has no rows.")

    @abstractmethod
    def _place(self) -> str:
        """Return the name of the whole table in messages."""

    def _block(self, pieces: list[Batch], is_raw: bool) -> Block:
        batches, spans = [b for b, _ in pieces], tuple(s for _, s in pieces)
        columns = self.columns
        weight = None if columns.weight is None else _matrix(batches, [columns.weight])
        if self.as_frame:
            X = _frame(batches, columns.features)
        else:
            X = _matrix(batches, columns.features)
        return checked_block(
            X,
            self._targets(batches) if columns.targets else None,
            None if weight is None else weight[:, 0],
            _merged(spans),
            columns.features,
            is_raw,
        )

    def _targets(self, batches: Sequence[Any]) -> np.ndarray:
        """Return the targets of batches."""
        y = [_columns_together(batch, self.columns) for batch in batches]
        return np.concatenate(y)

    def _described(self) -> tuple[Any, ...]:
        """Return what a fingerprint depends on, beside the table itself."""
        return (self.columns, self.rows_at_once, self.as_frame)


def check_types(
    columns: Columns, types: dict[str, Any], place: str, as_frame: bool
) -> None:
    """Raise a ValueError unless the columns hold what they are read for."""
    for name in columns.targets:
        _check_type(name, types, place, "target", ("number", "truth value", "word"))
    if columns.weight is not None:
        _check_type(columns.weight, types, place, "weight", ("number", "truth value"))
    for name in () if as_frame else columns.features:
        _check_type(name, types, place, "feature", ("number", "truth value"))


def _check_type(
    name: str, types: dict[str, Any], place: str, role: str, known: tuple[str, ...]
) -> None:
    what = kind(types[name])
    if what in known:
        return
    what = "words" if what == "word" else f"values of type {what}"
    advice = {
        "feature": "encode it, as in rows.through(transformer) of rows that were made "
        "with as_frame=True, or leave it out by features=[...]",
        "target": "targets must be numbers, truth values or words",
        "weight": "weights must be numbers",
    }
    raise ValueError(f"{place}: the column {name!r} holds {what}: {advice[role]}.")


def _regrouped(batches: Iterable[Batch], n: int) -> Iterator[list[Batch]]:
    """Yield pieces of batches of ``n`` rows together; the last ones have fewer."""
    pieces: list[Batch] = []
    missing = n
    for batch, span in batches:
        start = 0
        while start < batch.num_rows:
            stop = min(start + missing, batch.num_rows)
            piece = batch.slice(start, stop - start)
            pieces.append((piece, span.part(start, stop)))
            missing -= stop - start
            start = stop
            if missing == 0:
                yield pieces
                pieces, missing = [], n
    if pieces:
        yield pieces


def without_first(batches: Iterable[Batch], n: int) -> Iterator[Batch]:
    """Yield batches without their first ``n`` rows."""
    for batch, span in batches:
        if batch.num_rows > n:
            kept = span.part(n, batch.num_rows)
            yield (batch.slice(n), kept) if n else (batch, span)
        n = max(n - batch.num_rows, 0)


def numbered(batches: Iterable[Any], place: str, first: int = 1) -> Iterator[Batch]:
    """Yield batches of one place with the rows that they hold."""
    for batch in batches:
        yield batch, Span(place, first, batch.num_rows)
        first += batch.num_rows


def guarded(
    read: Callable[[], Iterable[Batch]], place: str, problem: str
) -> Iterator[Batch]:
    """Yield batches; an error of Arrow becomes a `RowsError` that says where."""
    pa = optional("pyarrow", "Tables")
    n = 0
    try:
        for batch, span in read():
            yield batch, span
            n = span.first + span.n - 1
    except (pa.ArrowException, OSError) as error:
        where = f"{place}, after row {n}" if n else place
        raise RowsError(f"{where}: {problem}: {first_line(error)}") from error


def first_line(error: BaseException) -> str:
    """Return what an error says, without the lines that name code."""
    return (str(error).splitlines() or [type(error).__name__])[0]


def _merged(spans: tuple[Span, ...]) -> tuple[Span, ...]:
    """Return spans with those joined that follow each other in one place."""
    merged: list[Span] = []
    for span in spans:
        last = merged[-1] if merged else None
        is_next = last is not None and last.first + last.n == span.first
        if last is not None and is_next and last.place == span.place:
            merged[-1] = Span(span.place, last.first, last.n + span.n)
        else:
            merged.append(span)
    return tuple(merged)


# -- columns as arrays -------------------------------------------------------------


def _matrix(batches: Sequence[Any], names: Sequence[str]) -> np.ndarray:
    X = np.empty((sum(batch.num_rows for batch in batches), len(names)))
    start = 0
    for batch in batches:
        stop = start + batch.num_rows
        for j, name in enumerate(names):
            X[start:stop, j] = numbers(batch.column(name))
        start = stop
    return X


def _columns_together(batch: Any, columns: Columns) -> np.ndarray:
    y = [labels(batch.column(name)) for name in columns.targets]
    return np.column_stack(y) if columns.is_list else y[0]


def _frame(batches: Sequence[Any], names: Sequence[str]) -> Any:
    """Return a frame of pandas; categories become words, the same in all blocks."""
    pa = optional("pyarrow", "Tables")
    table = pa.Table.from_batches(
        [
            pa.RecordBatch.from_arrays(
                [plain(batch.column(name)) for name in names], names=list(names)
            )
            for batch in batches
        ]
    )
    return table.to_pandas()
