"""Options that several commands share."""

from __future__ import annotations

import argparse
import math
from pathlib import Path
from typing import TYPE_CHECKING

from pursuit._user_errors import CommandError, UsageError

if TYPE_CHECKING:
    from pursuit.tables import Notation, Source, Usual

__all__ = [
    "add_table_options",
    "check_output",
    "count",
    "count_from_0",
    "coverage",
    "notation_of",
    "opened",
    "share",
    "usual_of",
]

AS_FIT = "as in the fit"


def add_table_options(parser: argparse.ArgumentParser, *, has_model: bool) -> None:
    """Add how a table is written; a model knows how that of its fit was."""

    def default(what: str) -> str:
        return f"(default: {AS_FIT if has_model else what})"

    group = parser.add_argument_group("how the table is written")
    group.add_argument(
        "--delimiter",
        type=_delimiter,
        metavar="CHAR",
        help="what stands between cells, 'tab' for tabs (default: told from the file)",
    )
    group.add_argument(
        "--decimal",
        choices=(".", ","),
        metavar="CHAR",
        help=f"decimal point of numbers: . or , {default('.')}",
    )
    group.add_argument(
        "--thousands",
        type=_thousands,
        metavar="CHAR",
        help="what stands between thousands: , or . or ' or 'space' or 'none' "
        + default("none"),
    )
    group.add_argument(
        "--dates",
        choices=("day-first", "month-first"),
        help="what 1/2/2024 means; 2024-01-31 and 31 Jan 2024 are always read "
        + default("such dates are refused"),
    )
    group.add_argument(
        "--encoding",
        metavar="NAME",
        help=f"such as cp1252 {default('UTF-8')}",
    )


def opened(args: argparse.Namespace, usual: Usual | None = None) -> Source:
    """Return the table that the options name."""
    from pursuit.tables import open_table

    return open_table(
        args.data, delimiter=args.delimiter, encoding=args.encoding, usual=usual
    )


def notation_of(args: argparse.Namespace, usual: Notation | None = None) -> Notation:
    """Return how numbers and dates are written: as the options say, else as usual."""
    from pursuit.tables import PLAIN, Notation

    usual = usual or PLAIN
    decimal, thousands = args.decimal, args.thousands
    if decimal is None:  # points between thousands leave the comma
        decimal = {".": ",", ",": "."}.get(thousands, usual.decimal)
    if thousands is None:
        thousands = "" if usual.thousands == decimal else usual.thousands
    if thousands == decimal:
        raise UsageError(
            f"--thousands {thousands}: this is the decimal point, too; name another "
            "--decimal"
        )
    return Notation(decimal, thousands, args.dates or usual.dates)


def check_output(output: Path | None, *inputs: str | Path) -> None:
    """Raise if a file cannot be written, before the work is done for it.

    Nor may it replace what the command reads.
    """
    if output is None or str(output) == "-":
        return
    if output.is_dir():
        raise CommandError(f"{output}: this is a folder; name a file in it")
    if not output.parent.is_dir():
        raise CommandError(f"{output}: There is no folder {output.parent}")
    for each in map(Path, inputs):
        if output.exists() and each.exists() and output.samefile(each):
            raise UsageError(
                f"-o {output}: the command reads this file, and would replace it; name "
                "another"
            )


def usual_of(args: argparse.Namespace) -> Usual:
    """Return what was said about a file, for the next of its kind."""
    from pursuit.tables import Usual

    return Usual(args.delimiter or "", args.encoding or "")


def count(text: str, lowest: int = 1) -> int:
    """Return a whole number."""
    try:
        value = int(text)
    except ValueError:
        value = lowest - 1
    if value < lowest:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a whole number from {lowest} on"
        )
    return value


def count_from_0(text: str) -> int:
    """Return a whole number that may be 0."""
    return count(text, lowest=0)


def share(text: str) -> float:
    """Return a share of the rows that may be held out."""
    value = _number(text)
    if not 0 <= value <= 0.9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 0.9")
    return value


def coverage(text: str) -> float:
    """Return a share of the targets that intervals are to hold."""
    value = _number(text)
    if not 0 < value < 1:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a share between 0 and 1, such as 0.9"
        )
    return value


def _number(text: str) -> float:
    """Return a number, NaN if the text is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _delimiter(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text


def _thousands(text: str) -> str:
    text = {"space": " ", "none": ""}.get(text, text)
    if text not in ("", ",", ".", " ", "'"):
        raise argparse.ArgumentTypeError(f"{text!r} is not , . ' space or none")
    return text
