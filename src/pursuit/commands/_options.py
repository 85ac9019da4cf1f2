"""Options that several commands share."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pursuit.tables import Source

__all__ = ["add_table_options", "count", "count_from_0", "opened", "share"]


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """Add how a table is written."""
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
        default=".",
        help="decimal point (default: %(default)s)",
    )
    group.add_argument(
        "--encoding", metavar="NAME", help="such as cp1252 (default: UTF-8)"
    )


def opened(args: argparse.Namespace) -> Source:
    """Return the table that the options name."""
    from pursuit.tables import open_table

    return open_table(args.data, delimiter=args.delimiter, encoding=args.encoding)


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
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 0.9:
        raise argparse.ArgumentTypeError(f"{text!r} is not a share from 0 to 0.9")
    return value


def _delimiter(text: str) -> str:
    text = {"tab": "\t", "\\t": "\t"}.get(text, text)
    if len(text) != 1 or text in '"\r\n':
        raise argparse.ArgumentTypeError(f"{text!r} is not one character")
    return text
