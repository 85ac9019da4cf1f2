"""What a cell says: a number, a date, a word, or nothing."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

__all__ = [
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

# Beyond it, products of numbers overflow.
LARGEST = 1e100

_DATE = re.compile(r"\s*\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}.*)?\s*\Z")
_SECONDS_OF_DAY = 86400.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def is_missing(text: str) -> bool:
    """Return whether a cell says that its value is not known."""
    return text in MISSING or text.strip() in MISSING


def number_of(text: str, decimal: str = ".") -> float | None:
    """Return the number that a cell holds, NaN if it is missing, None if it is none."""
    if is_missing(text):
        return math.nan
    if "_" in text:  # Python reads 2024_01 as 202401
        return None
    try:
        return float(text if decimal == "." else _with_point(text, decimal))
    except ValueError:
        return None


def numbers(cells: Cells, decimal: str = ".") -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of cells, and the places of cells that hold none.

    Missing cells are NaN, and so are those that hold none.
    """
    none = np.empty(0, dtype=int)
    if isinstance(cells, np.ndarray):
        return cells, none
    if decimal == "." and "_" not in "".join(cells):
        try:
            return np.fromiter(map(float, cells), float, len(cells)), none
        except ValueError:
            pass
    values = [number_of(cell, decimal) for cell in cells]
    wrong = np.array([i for i, value in enumerate(values) if value is None], dtype=int)
    return np.array([math.nan if v is None else v for v in values]), wrong


def too_large(values: np.ndarray) -> np.ndarray:
    """Return the places of numbers that are infinite, or too large to compute with."""
    return np.flatnonzero(np.abs(values) > LARGEST)


def days(cells: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Return dates as days since 1970, and the places of cells that hold none.

    A date is written as in ISO 8601, 2024-01-31 or 2024-01-31 13:05:59. Missing cells
    are NaN, and so are those that hold none.
    """
    values = [_days_of(cell) for cell in cells]
    wrong = np.array([i for i, value in enumerate(values) if value is None], dtype=int)
    return np.array([math.nan if v is None else v for v in values], float), wrong


def words(cells: Cells) -> list[str | None]:
    """Return the words of cells, None for missing ones."""
    if isinstance(cells, np.ndarray):
        return [None if math.isnan(v) else f"{v:.15g}" for v in cells.tolist()]
    return [None if is_missing(cell) else cell.strip() for cell in cells]


def _days_of(text: str) -> float | None:
    if is_missing(text):
        return math.nan
    if not _DATE.match(text):
        return None
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:  # such as the 30th of February
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return (moment - _EPOCH).total_seconds() / _SECONDS_OF_DAY


def _with_point(text: str, decimal: str) -> str:
    """Return a number with a decimal point; a point in it makes it no number."""
    return text.replace(".", "x").replace(decimal, ".")
