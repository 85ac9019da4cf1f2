"""How numbers and dates are written in a table."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime

__all__ = ["DATES", "DAY_FIRST", "PLAIN", "Notation"]

DECIMALS = (".", ",")
DAY_FIRST, MONTH_FIRST = "day-first", "month-first"
DATES = (DAY_FIRST, MONTH_FIRST)
# What may stand between thousands, and other signs that look like it.
THOUSANDS = {"": "", ",": ",", ".": ".", " ": " \u00a0\u202f", "'": "'\u2019"}

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_TIME = (
    r"(?:(?:[Tt]|,?\s+)(?P<hour>\d{1,2}):(?P<minute>\d{2})"
    r"(?P<second>:\d{2}(?:\.\d+)?)?\s*(?P<half>[AaPp])?(?(half)\.?[Mm]\.?)"
    r"\s*(?P<zone>[Zz]|[+-]\d{2}:?\d{2})?)?"
)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}(?:[T ]\d{2}:\d{2}(?::\d{2})?)?")
_YEAR_FIRST = re.compile(
    r"(?P<year>\d{4})(?P<sep>[-/.])(?P<month>\d{1,2})(?P=sep)(?P<day>\d{1,2})" + _TIME
)
_YEAR_LAST = re.compile(
    r"(?P<one>\d{1,2})(?P<sep>[-/.])(?P<two>\d{1,2})(?P=sep)(?P<year>\d{4}|\d{2})"
    + _TIME
)
_NAMED = re.compile(
    r"(?:(?P<day>\d{1,2})[-\s.]+(?P<month>[A-Za-z]{3,9})"
    r"|(?P<name>[A-Za-z]{3,9})\.?\s+(?P<number>\d{1,2}))"
    r"[-\s.,]+(?P<year>\d{4}|\d{2})" + _TIME
)
# Two digits of a year: 69 is 1969, 68 is 2068, as in POSIX.
_FIRST_OF_1900S = 69
_SECONDS_OF_DAY = 86400.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Notation:
    """How numbers and dates are written.

    Attributes
    ----------
    decimal : {".", ","}
    thousands : {"", ",", ".", " ", "'"}
        What stands between groups of three digits; "" if nothing may.
    dates : {"", "day-first", "month-first"}
        What 1/2/2024 means; "" if it is no date. Dates that begin with the year, or
        name the month, are always read.
    """

    decimal: str = "."
    thousands: str = ""
    dates: str = ""

    def __post_init__(self) -> None:
        known = (
            self.decimal in DECIMALS,
            self.thousands in THOUSANDS,
            self.dates in ("", *DATES),
            self.thousands != self.decimal,
        )
        if not all(known):
            raise ValueError(f"{self} cannot be.")

    @property
    def is_plain(self) -> bool:
        """Whether Python reads the same numbers."""
        return self.decimal == "." and not self.thousands

    @property
    def example(self) -> str:
        """How dates may be written."""
        first = {DAY_FIRST: "31/1/2024, ", MONTH_FIRST: "1/31/2024, "}
        return f"{first.get(self.dates, '')}2024-01-31 or 2024-01-31 13:05"

    def number(self, text: str) -> float | None:
        """Return the number that a text says, None if it says none."""
        if "_" in text:  # Python reads 2024_01 as 202401
            return None
        try:
            return float(text if self.is_plain else self._plain_number(text))
        except ValueError:
            return None

    def _plain_number(self, text: str) -> str:
        """Return a number as Python writes it; what is not one stays none."""
        if self.thousands:
            marks = re.escape(THOUSANDS[self.thousands])
            grouped = rf"\s*[+-]?\d{{1,3}}(?:[{marks}]\d{{3}})+(?![\d{marks}])"
            match = re.match(grouped, text)
            if match:
                text = re.sub(f"[{marks}]", "", match[0].strip()) + text[match.end() :]
        if self.decimal == ".":
            return text
        # A point that is left makes it no number.
        return text.replace(".", "x").replace(self.decimal, ".")

    def days(self, text: str) -> float | None:
        """Return the days since 1970 of a date, None if the text says none."""
        text = text.strip()
        if not _ISO.fullmatch(text):
            parts = self._date(text)
            if parts is None:
                return None
            year, month, day, time = parts
            text = f"{year:04}-{month:02}-{day:02}{time}"
        try:
            moment = datetime.fromisoformat(text)
        except ValueError:  # such as the 30th of February
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return (moment - _EPOCH).total_seconds() / _SECONDS_OF_DAY

    def _date(self, text: str) -> tuple[int, int, int, str] | None:
        """Return year, month and day, and the time of day in ISO 8601."""
        if match := _YEAR_FIRST.fullmatch(text):
            return int(match["year"]), int(match["month"]), int(match["day"]), _t(match)
        if self.dates and (match := _YEAR_LAST.fullmatch(text)):
            one, two = int(match["one"]), int(match["two"])
            day, month = (one, two) if self.dates == DAY_FIRST else (two, one)
            return _year(match["year"]), month, day, _t(match)
        if match := _NAMED.fullmatch(text):
            month = _month(match["month"] or match["name"])
            day = int(match["day"] or match["number"])
            return _year(match["year"]), month, day, _t(match)
        return None


PLAIN = Notation()


def _year(digits: str) -> int:
    year = int(digits)
    if len(digits) == 4:
        return year
    return year + (1900 if year >= _FIRST_OF_1900S else 2000)


def _month(name: str) -> int:
    """Return the number of a month by its English name or its beginning, else 0."""
    found = [m.startswith(name.lower()) for m in _MONTHS]
    return found.index(True) + 1 if any(found) else 0


def _t(match: re.Match[str]) -> str:
    """Return the time of a date in ISO 8601, empty if there is none."""
    if match["hour"] is None:
        return ""
    hour = int(match["hour"])
    if match["half"]:
        if not 1 <= hour <= 12:
            return " wrong"
        hour = hour % 12 + 12 * (match["half"] in "Pp")
    zone = (match["zone"] or "").upper()
    return f"T{hour:02}:{match['minute']}{match['second'] or ''}{zone}"
