"""What a cell says: a number, a date, a word, or nothing."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from .notation import PLAIN, Notation

__all__ = [
    "DASHES",
    "MISSING",
    "Cells",
    "days",
    "is_missing",
    "number_of",
    "numbers",
    "too_large",
    "words",
]

# A column of a block: texts, or numbers where the file has types.
Cells = Sequence[str] | np.ndarray

# What pandas takes for missing, so that it reads the same from the same file, and "?",
# as in many public data sets.
MISSING = frozenset(
    (
        *("", "NA", "N/A", "n/a", "#N/A", "#N/A N/A", "#NA", "<NA>"),
        *("NaN", "nan", "-NaN", "-nan", "NaT", "None", "NULL", "null"),
        *("1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN", "?"),
    )
)
# Missing among numbers and dates. Among words they are words, such as "+" and "-".
DASHES = frozenset(("-", "--", "---", "\u2013", "\u2014"))
_VOID = MISSING | DASHES

# Beyond it, products of numbers overflow.
LARGEST = 1e100


def is_missing(text: str) -> bool:
    """Return whether a cell says that its value is not known."""
    return text in MISSING or text.strip() in MISSING


def number_of(text: str, notation: Notation = PLAIN) -> float | None:
    """Return the number that a cell holds, NaN if it is missing, None if it is none."""
    value = notation.number(text)  # first, since most cells hold one
    return math.nan if value is None and _is_void(text) else value


def numbers(cells: Cells, notation: Notation = PLAIN) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of cells, and the places of cells that hold none.

    Missing cells are NaN, and so are those that hold none.
    """
    if isinstance(cells, np.ndarray):
        return cells, np.empty(0, dtype=int)
    if notation.is_plain and "_" not in "".join(cells):
        try:
            values = np.fromiter(map(float, cells), float, len(cells))
        except ValueError:
            pass
        else:
            return values, np.empty(0, dtype=int)
    return _split([number_of(cell, notation) for cell in cells])


def too_large(values: np.ndarray) -> np.ndarray:
    """Return the places of numbers that are infinite, or too large to compute with."""
    return np.flatnonzero(np.abs(values) > LARGEST)


def days(
    cells: Sequence[str], notation: Notation = PLAIN
) -> tuple[np.ndarray, np.ndarray]:
    """Return dates as days since 1970, and the places of cells that hold none.

    Missing cells are NaN, and so are those that hold none.
    """
    return _split([math.nan if _is_void(c) else notation.days(c) for c in cells])


def words(cells: Cells) -> list[str | None]:
    """Return the words of cells, None for missing ones."""
    if isinstance(cells, np.ndarray):
        return [None if math.isnan(v) else f"{v:.15g}" for v in cells.tolist()]
    return [None if is_missing(cell) else cell.strip() for cell in cells]


def _is_void(text: str) -> bool:
    """Return whether a cell has no number and no date, without being a mistake."""
    return text in _VOID or text.strip() in _VOID


def _split(values: Sequence[float | None]) -> tuple[np.ndarray, np.ndarray]:
    """Return values, NaN for None, and the places of None."""
    wrong = np.array([i for i, value in enumerate(values) if value is None], dtype=int)
    return np.array([math.nan if v is None else v for v in values], float), wrong
