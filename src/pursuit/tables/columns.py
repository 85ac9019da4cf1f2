"""What each column of a table holds: numbers, words of a few kinds, dates or text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from .cells import DASHES, Cells, days, numbers, too_large, words
from .notation import PLAIN, Notation
from .sources import Block, Source

__all__ = ["MAX_WORDS", "MOSTLY", "Column", "Kind", "Scan", "scan"]

# Number of different words up to which a column is a category.
MAX_WORDS = 50
# A few rows may each have a word of their own.
_FEW_WORDS = 10
# Number of different values that are remembered of a column.
_REMEMBERED = 10_000
# Share of numbers (or dates) from which on other cells are mistakes.
MOSTLY = 0.9
# Number of rows from which on 1, 2, 3, ... are row numbers.
_MANY_ROWS = 20


class Kind(StrEnum):
    """What a column holds."""

    NUMBER = "number"
    CATEGORY = "category"
    DATE = "date"
    TEXT = "text"
    ROW_NUMBER = "row number"
    EMPTY = "empty"


@dataclass
class Column:
    """What was seen of a column, cell by cell.

    Attributes
    ----------
    name : str
    n_rows, n_numbers, n_dates, n_others : int
        Rows, and cells that hold a number, a date, something else; the rest is missing.
    values : set of float
        Different numbers, up to `_REMEMBERED`.
    words : Counter
        Different cells that are no numbers, up to `_REMEMBERED`, with their counts.
    missing : Counter
        Different words that say that a cell is missing, such as NA, with their counts.
    dashes : Counter
        Different dashes, which are missing unless the column holds words.
    absent : tuple of int and str, optional
        Row and text of the first word or dash that says so.
    other : tuple of int and str, optional
        Row and text of the first cell that is no number.
    undated : tuple of int and str, optional
        Row and text of the first cell that is neither number nor date.
    too_large : tuple of int and str, optional
        Row and text of the first number that is too large to compute with.
    is_whole : bool
        Whether all numbers are whole.
    is_counting : bool
        Whether each row's number is that of the row before plus 1.
    """

    name: str
    n_rows: int = 0
    n_numbers: int = 0
    n_dates: int = 0
    n_others: int = 0
    values: set[float] = field(default_factory=set)
    words: Counter[str] = field(default_factory=Counter)
    missing: Counter[str] = field(default_factory=Counter)
    dashes: Counter[str] = field(default_factory=Counter)
    absent: tuple[int, str] | None = None
    other: tuple[int, str] | None = None
    undated: tuple[int, str] | None = None
    too_large: tuple[int, str] | None = None
    is_whole: bool = True
    is_counting: bool = True
    _last: float | None = None

    @property
    def n_present(self) -> int:
        """The number of cells that are not missing."""
        return self.n_numbers + self.n_dates + self.n_others

    @property
    def n_missing(self) -> int:
        """The number of missing cells."""
        return self.n_rows - self.n_present - self._n_dashes_as_words

    @property
    def n_distinct(self) -> int:
        """The number of different values, as far as they are remembered."""
        dashes = len(self.dashes) if self._n_dashes_as_words else 0
        return len(self.values) + len(self.words) + dashes

    @property
    def _n_dashes_as_words(self) -> int:
        """The number of dashes, 0 where they mean that a cell is missing."""
        is_worded = self.n_others and not (
            self.is_mostly_numbers or self.is_mostly_dates
        )
        return self.dashes.total() if is_worded else 0

    @property
    def is_mostly_numbers(self) -> bool:
        """Whether cells that hold no number are mistakes."""
        return self.n_numbers >= MOSTLY * self.n_present

    @property
    def is_mostly_dates(self) -> bool:
        """Whether cells that hold no date are mistakes."""
        return self.n_dates >= MOSTLY * self.n_present

    @property
    def kind(self) -> Kind:
        """What the column holds."""
        if not self.n_present:
            return Kind.EMPTY
        if self.is_mostly_numbers:
            is_long = self.n_rows >= _MANY_ROWS
            return Kind.ROW_NUMBER if self.is_counting and is_long else Kind.NUMBER
        if self.is_mostly_dates:
            return Kind.DATE
        few = min(MAX_WORDS, max(_FEW_WORDS, self.n_present // 2))
        return Kind.CATEGORY if self.n_distinct <= few else Kind.TEXT

    def see(
        self, cells: Cells, rows: Sequence[int], notation: Notation = PLAIN
    ) -> None:
        """Take note of a block."""
        values, wrong = numbers(cells, notation)
        self.n_rows += len(rows)
        is_number = ~np.isnan(values)
        self.n_numbers += int(is_number.sum())
        self._see_numbers(values, cells, rows, is_number)
        if len(wrong):
            self.is_counting = False
            texts = [str(cells[i]) for i in wrong]
            self._see_others(texts, [rows[i] for i in wrong], notation)
        if not isinstance(cells, np.ndarray):
            is_number[wrong] = True
            none = np.flatnonzero(~is_number).tolist()
            self._see_missing([cells[i] for i in none], [rows[i] for i in none])

    def _see_numbers(
        self,
        values: np.ndarray,
        cells: Cells,
        rows: Sequence[int],
        is_number: np.ndarray,
    ) -> None:
        large = too_large(values)
        if len(large) and self.too_large is None:
            i = int(large[0])
            self.too_large = rows[i], str(cells[i]).strip()
        known = values[is_number]
        self.is_counting = self.is_counting and self._continues(values)
        self._last = float(values[-1])
        self.is_whole = self.is_whole and bool((known == np.rint(known)).all())
        if len(self.values) <= _REMEMBERED:
            self.values.update(np.unique(known).tolist())

    def _continues(self, values: np.ndarray) -> bool:
        if self._last is not None:
            values = np.concatenate([[self._last], values])
        return bool((np.diff(values) == 1).all())

    def _see_missing(self, texts: list[str], rows: list[int]) -> None:
        for text, n in Counter(texts).items():
            word = text.strip()
            if not word:
                continue
            (self.dashes if word in DASHES else self.missing)[word] += n
            if self.absent is None:
                self.absent = rows[texts.index(text)], word

    def _see_others(
        self, texts: list[str], rows: list[int], notation: Notation
    ) -> None:
        _, wrong = days(texts, notation)
        self.n_dates += len(texts) - len(wrong)
        self.n_others += len(wrong)
        if self.undated is None and len(wrong):
            self.undated = rows[wrong[0]], texts[wrong[0]].strip()
        if self.other is None:
            self.other = rows[0], texts[0].strip()
        if len(self.words) <= _REMEMBERED:
            self.words.update(w for w in words(texts) if w is not None)


@dataclass(frozen=True)
class Scan:
    """What all columns of a table hold.

    Attributes
    ----------
    n_rows : int
    columns : dict from str to Column
    """

    n_rows: int
    columns: dict[str, Column]


def scan(
    source: Source,
    notation: Notation = PLAIN,
    columns: Sequence[str] | None = None,
    seen: Callable[[Block], None] | None = None,
) -> Scan:
    """Look at every cell of a table.

    Parameters
    ----------
    source : Source
    notation : Notation, optional
        How numbers and dates are written.
    columns : sequence of str, optional
        Columns to look at; all by default.
    seen : callable, optional
        Called with every block.
    """
    names = source.names if columns is None else columns
    found = {name: Column(name) for name in names}
    n_rows = 0
    for block in source.blocks(names):
        for name, cells in block.columns.items():
            found[name].see(cells, block.rows, notation)
        n_rows += len(block)
        if seen is not None:
            seen(block)
    return Scan(n_rows, found)
