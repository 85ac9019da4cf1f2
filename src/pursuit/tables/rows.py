"""Rows of a table as numbers and codes, and which of them are kept.

What is kept depends on the contents of the rows and a seed: not on their order, nor on
how many are read at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np

from pursuit._rows import STRIDE, mixed
from pursuit._user_errors import TableError, shown

from .cells import LARGEST, Cells, days, numbers, too_large, words
from .columns import Kind
from .guesses import hint
from .notation import PLAIN, Notation
from .sources import Block, Source

__all__ = ["Field", "Reader", "Rows", "drawn_rows", "smallest", "wrong_cell"]

FINITE = f"a finite number (below {LARGEST:g})"


@dataclass(frozen=True)
class Field:
    """A column that is read, and how: as a number, a date or a category."""

    name: str
    kind: Kind


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows in memory.

    Attributes
    ----------
    columns : dict from str to ndarray
        Numbers, days of dates, or codes of words (-1 for missing ones).
    words : dict from str to list of str
        Words of the categories, whose places are their codes.
    """

    columns: dict[str, np.ndarray]
    words: dict[str, list[str]]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()))) if self.columns else 0

    def __getitem__(self, rows: np.ndarray) -> Rows:
        taken = {name: values[rows] for name, values in self.columns.items()}
        return Rows(taken, self.words)

    def array(self, names: Sequence[str]) -> np.ndarray:
        """Return columns side by side: numbers, or objects if some hold words."""
        if not any(name in self.words for name in names):
            columns = [self.columns[name] for name in names]
            return np.column_stack(columns) if columns else np.empty((len(self), 0))
        out = np.empty((len(self), len(names)), dtype=object)
        for j, name in enumerate(names):
            out[:, j] = self.texts(name) if name in self.words else self.columns[name]
        return out

    def texts(self, name: str) -> np.ndarray:
        """Return the words of a category as objects, NaN for missing ones."""
        known = np.array([*self.words[name], np.nan], dtype=object)
        return known[self.columns[name]]

    def is_known(self, name: str) -> np.ndarray:
        """Return whether each cell of a column is not missing."""
        values = self.columns[name]
        return values >= 0 if name in self.words else ~np.isnan(values)

    def digests(self, names: Sequence[str], seed: int = 0) -> np.ndarray:
        """Return a pseudo-random number per row that depends on contents and seed.

        Neither the order of the columns matters nor that of the words.
        """
        total = np.full(len(self), np.uint64(seed), dtype=np.uint64)
        for name in names:
            values = self.columns[name]
            if name in self.words:
                known = [_digest(word) for word in self.words[name]]
                bits = np.array([*known, 0], dtype=np.uint64)[values]
            else:
                # One zero, and one NaN.
                bits = np.where(np.isnan(values), np.nan, values + 0.0).view(np.uint64)
            total += mixed(bits + np.uint64(_digest(name)))
        return mixed(total + STRIDE)

    def numbered_digests(self, names: Sequence[str], seed: int = 0) -> np.ndarray:
        """Return `digests` that differ where rows are equal, by counting these.

        Tables of few words repeat their rows, and a split by contents alone would hold
        out all rows of some words. Which of several equal rows gets which number does
        not matter.
        """
        digests = self.digests(names, seed)
        order = np.argsort(digests, kind="stable")
        in_order = digests[order]
        is_first = np.append(True, in_order[1:] != in_order[:-1])[: len(digests)]
        starts = np.flatnonzero(is_first)
        places = np.arange(len(digests))
        times = np.empty(len(digests), dtype=np.uint64)
        times[order] = places - starts[np.cumsum(is_first) - 1]
        return np.asarray(mixed(digests + times * STRIDE))

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return sum(values.itemsize for values in self.columns.values())


class Reader:
    """Turns blocks of texts into rows of numbers and codes.

    Parameters
    ----------
    path : str
        File, for messages.
    fields : sequence of Field
    notation : Notation, optional
        How numbers and dates are written.
    """

    def __init__(
        self, path: str, fields: Sequence[Field], notation: Notation = PLAIN
    ) -> None:
        self._path, self._fields, self._notation = path, tuple(fields), notation
        categories = [f.name for f in fields if f.kind is Kind.CATEGORY]
        self._codes: dict[str, dict[str, int]] = {name: {} for name in categories}

    @property
    def words(self) -> dict[str, list[str]]:
        """Words of the categories so far."""
        return {name: list(codes) for name, codes in self._codes.items()}

    def __call__(self, block: Block) -> Rows:
        """Return a block as rows; raise a TableError that names the wrong cell."""
        columns = {
            f.name: self._read(f, block.columns[f.name], block.rows)
            for f in self._fields
        }
        return Rows(columns, self.words)

    def _read(self, field: Field, cells: Cells, rows: Sequence[int]) -> np.ndarray:
        if field.kind is Kind.CATEGORY:
            codes = self._codes[field.name]
            return np.array(
                [
                    -1 if w is None else codes.setdefault(w, len(codes))
                    for w in words(cells)
                ],
                dtype=np.int32,
            )
        if field.kind is Kind.DATE and not isinstance(cells, np.ndarray):
            values, wrong = days(cells, self._notation)
        else:
            values, wrong = numbers(cells, self._notation)
        for places, what in ((wrong, f"a {field.kind}"), (too_large(values), FINITE)):
            if len(places):
                i = int(places[0])
                where = self._path, rows[i], field.name
                raise wrong_cell(*where, str(cells[i]), what, self._notation)
        return values


def wrong_cell(
    path: str,
    row: int,
    column: str,
    text: str,
    what: str,
    notation: Notation = PLAIN,
) -> TableError:
    """Return the error for a cell that is not what it should be."""
    help_ = "" if what == FINITE else hint(text, notation)
    if not help_ and what == "a date":
        help_ = f"dates are written {notation.example}"
    said = f" ({help_})" if help_ else ""
    return TableError(
        f"{path}: row {row}, column {shown(column)}: {shown(text)} is not {what}{said}"
    )


def drawn_rows(
    source: Source,
    fields: Sequence[Field],
    *,
    max_rows: int | None = None,
    notation: Notation = PLAIN,
    seed: int = 0,
    keeps: Callable[[Rows], np.ndarray] | None = None,
    seen: Callable[[Block], None] | None = None,
) -> tuple[Rows, int]:
    """Return the rows of a table, or as many of them as may be kept.

    Parameters
    ----------
    source : Source
    fields : sequence of Field
        Columns to read.
    max_rows : int, optional
        Maximum number of rows; those with the smallest digests are kept, in the order
        of the file.
    notation : Notation, optional
        How numbers and dates are written.
    seed : int, default=0
        Seed of the digests.
    keeps : callable, optional
        Says of some rows which of them count.
    seen : callable, optional
        Called with every block.

    Returns
    -------
    rows : Rows
        At most twice `max_rows` and one block are in memory at any time.
    n : int
        Number of rows that count.
    """
    reader = Reader(source.path, fields, notation)
    names = [f.name for f in fields]
    parts: list[Rows] = []
    n_held = n = 0
    for rows in _read_blocks(source, reader, names, seen):
        part = rows if keeps is None else rows[keeps(rows)]
        parts.append(part)
        n += len(part)
        n_held += len(part)
        if max_rows is not None and n_held > 2 * max_rows:
            parts = [smallest(_joined(parts, reader.words), names, max_rows, seed)]
            n_held = max_rows
    whole = _joined(parts, reader.words)
    return (whole if max_rows is None else smallest(whole, names, max_rows, seed)), n


def _read_blocks(
    source: Source,
    reader: Reader,
    names: Sequence[str],
    seen: Callable[[Block], None] | None,
) -> Iterator[Rows]:
    for block in source.blocks(names):
        yield reader(block)
        if seen is not None:
            seen(block)


def _joined(parts: Sequence[Rows], words: dict[str, list[str]]) -> Rows:
    if not parts:
        return Rows({}, words)
    names = parts[0].columns
    columns = {n: np.concatenate([part.columns[n] for part in parts]) for n in names}
    return Rows(columns, words)


def smallest(rows: Rows, names: Sequence[str], n: int, seed: int) -> Rows:
    """Return the rows with the smallest digests of some columns, in their order."""
    if len(rows) <= n:
        return rows
    order = np.argpartition(rows.digests(names, seed), n - 1)[:n]
    return rows[np.sort(order)]


def _digest(text: str) -> int:
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")
