"""How a table is written, told from cells that are no numbers or dates as it is read.

A table has one notation: what one column shows holds for the others. Where two
notations read all cells, neither is taken; both are named.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice

import numpy as np

from .cells import DASHES, is_missing
from .columns import MOSTLY, Column, Scan
from .notation import DATES, DAY_FIRST, Notation
from .sources import Source

__all__ = [
    "Guess",
    "Strange",
    "doubtful",
    "guess",
    "hint",
    "options",
    "strange",
    "united",
]

# Pairs of decimal point and mark of thousands, those that need fewer options first.
_NUMBERS = (
    *((".", ""), (",", ""), (".", ","), (".", " "), (".", "'")),
    *((",", "."), (",", " "), (",", "'")),
)
# Numbers with the sign of a currency or of percent.
_UNIT = r"(?:[$€£¥%‰]|EUR|USD|GBP|CHF)"
_NUMBER = r"[+-]?\d(?:[\d.,'\s]*\d)?"
_UNITED = re.compile(rf"[+-]?{_UNIT}\s*{_NUMBER}|{_NUMBER}\s*{_UNIT}")
# Numbers from 1000 on with points between thousands, and those below.
_GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}(?:\.\d{3})+")
_SMALL = re.compile(r"[+-]?\d{1,3}")
# Number of blocks of a file, and of different cells of a column, that are looked at.
_BLOCKS, _CELLS = 4, 2000


@dataclass(frozen=True)
class Strange:
    """A column that holds numbers or dates in another notation.

    Attributes
    ----------
    name : str
    is_date : bool
    example : str
        The first cell in another notation.
    """

    name: str
    is_date: bool
    example: str


@dataclass(frozen=True)
class Guess:
    """Notations that read a table.

    Attributes
    ----------
    notations : tuple of Notation
        All that read all columns and need as few options; empty if none does.
    plain : tuple of str and str, optional
        Name and cell of a column which the notation of others does not read.
    """

    notations: tuple[Notation, ...]
    plain: tuple[str, str] | None = None


def strange(column: Column, notation: Notation) -> Strange | None:
    """Return what a column holds if that is numbers or dates in another notation."""
    numbers, dates = _others(notation)
    for is_date, n_read, notations in (
        (False, column.n_numbers, numbers),
        (True, column.n_dates, dates),
    ):
        unread = [w for w in column.words if not _reads(notation, w, is_date)]
        found = [w for w in unread if _is_read(w, notations, is_date)]
        n = sum(column.words[word] for word in found)
        if found and n + n_read >= MOSTLY * column.n_present:
            return Strange(column.name, is_date, found[0])
    return None


def united(column: Column) -> str | None:
    """Return the first cell with a unit if the column holds numbers with units."""
    found = [word for word in column.words if _UNITED.fullmatch(word)]
    n = sum(column.words[word] for word in found)
    is_most = n + column.n_numbers >= MOSTLY * column.n_present
    return found[0] if found and is_most else None


def doubtful(source: Source, notation: Notation) -> dict[str, str]:
    """Return columns whose decimal points may stand between thousands, with a cell.

    In those, each point stands before three digits, no number begins with 0, and some
    numbers below 1000 have no point. Decimals would seldom look so.
    """
    if notation.decimal != ".":
        return {}
    found = {}
    for name, cells in _cells(source, n_blocks=1).items():
        pointed = [cell for cell in cells if "." in cell]
        others = [cell for cell in cells if "." not in cell]
        is_grouped = all(_GROUPED.fullmatch(cell) for cell in pointed)
        if pointed and others and is_grouped and all(map(_SMALL.fullmatch, others)):
            found[name] = pointed[0]
    return found


def guess(
    source: Source, scan: Scan, columns: Sequence[Strange], notation: Notation
) -> Guess:
    """Return how a table is written whose columns are strange."""
    cells = _cells(source)
    odd = {c.name for c in columns}
    for name in odd:
        cells[name] |= scan.columns[name].words
    best: list[Notation] = [notation]
    plain = None
    for is_date in (False, True):
        mine = [cells[c.name] for c in columns if c.is_date is is_date]
        if not mine:
            continue
        others = {
            name: each
            for name, each in cells.items()
            if name not in odd and not is_date and _share(each, notation, False) == 1
        }
        found, plain = _best(mine, others, best, is_date)
        if not found:
            return Guess((), plain)
        best = found
    return Guess(tuple(best))


def options(notation: Notation, given: Notation) -> str:
    """Return the options of the command that ask for a notation."""
    told = []
    if notation.decimal != given.decimal:
        told.append(f"--decimal {notation.decimal}")
    if notation.thousands != given.thousands:
        names = {"": "none", " ": "space", "'": '"\'"'}
        told.append(f"--thousands {names.get(notation.thousands, notation.thousands)}")
    if notation.dates != given.dates:
        told.append(f"--dates {notation.dates}")
    return " ".join(told)


def hint(text: str, notation: Notation) -> str:
    """Return which options would read a cell, empty if none would."""
    for is_date, notations in zip((False, True), _others(notation), strict=True):
        if not _is_read(text, notations, is_date):
            continue
        found, _ = _best([Counter([text.strip()])], {}, [notation], is_date)
        if found:
            told = " or ".join(options(each, notation) for each in found)
            what = "a date that is written so" if is_date else "a number"
            return f"if it is {what}: {told}"
    return ""


def _others(notation: Notation) -> tuple[list[Notation], list[Notation]]:
    """Return notations of numbers, and of dates, beside a given one."""
    numbers = [replace(notation, decimal=d, thousands=t) for d, t in _NUMBERS]
    dates = [replace(notation, dates=order) for order in DATES]
    return (
        [each for each in numbers if each != notation],
        [each for each in dates if each != notation],
    )


def _is_read(text: str, notations: Sequence[Notation], is_date: bool) -> bool:
    return any(_reads(each, text, is_date) for each in notations)


def _reads(notation: Notation, text: str, is_date: bool) -> bool:
    read = notation.days if is_date else notation.number
    return read(text) is not None


def _best(
    columns: Sequence[Counter[str]],
    others: dict[str, Counter[str]],
    starts: Sequence[Notation],
    is_date: bool,
) -> tuple[list[Notation], tuple[str, str] | None]:
    """Return notations that read most of the columns' cells, with the fewest options.

    If there is none: a cell of the others that stands against them, if one does.
    """
    plain = None
    found: dict[tuple[float, int], list[Notation]] = {}
    for start in starts:
        before = [_share(column, start, is_date) for column in columns]
        for each in _others(start)[is_date]:
            shares = [_share(column, each, is_date) for column in columns]
            is_better = all(n > m for n, m in zip(shares, before, strict=True))
            if min(shares) < MOSTLY or not is_better:
                continue
            against = [n for n, c in others.items() if _share(c, each, False) < MOSTLY]
            if against:
                name = against[0]
                cells = [c for c in others[name] if not _reads(each, c, False)]
                plain = plain or (name, cells[0])
                continue
            n_options = (each.decimal != ".") + bool(each.thousands)
            found.setdefault((-sum(shares), n_options), []).append(each)
    best = found[min(found)] if found else []
    if is_date and len(best) > 1 and all("." in c for each in columns for c in each):
        best = [each for each in best if each.dates == DAY_FIRST]
    return best, plain


def _share(cells: Counter[str], notation: Notation, is_date: bool) -> float:
    """Return the share of cells that are read."""
    n = sum(count for cell, count in cells.items() if _reads(notation, cell, is_date))
    return n / max(1, cells.total())


def _cells(source: Source, n_blocks: int = _BLOCKS) -> dict[str, Counter[str]]:
    """Return different cells of the columns of text in the first blocks."""
    found: dict[str, Counter[str]] = {}
    for block in islice(source.blocks(), n_blocks):
        for name, cells in block.columns.items():
            if isinstance(cells, np.ndarray):  # has no notation
                continue
            seen = found.setdefault(name, Counter())
            if len(seen) < _CELLS:
                stripped = (cell.strip() for cell in cells)
                seen.update(
                    c for c in stripped if not is_missing(c) and c not in DASHES
                )
    return found
