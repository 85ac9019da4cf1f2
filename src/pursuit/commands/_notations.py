"""Columns that hold numbers or dates which are written otherwise than the table."""

from __future__ import annotations

from collections.abc import Sequence

from pursuit._user_errors import TableError, shown
from pursuit.tables import Notation, Scan, Source
from pursuit.tables.guesses import (
    Guess,
    Strange,
    doubtful,
    guess,
    options,
    strange,
    united,
)

from ._columns import Choices
from ._talk import counted, in_shell, note

__all__ = ["check_notation", "tell_doubts"]


def check_notation(source: Source, scan: Scan, choices: Choices) -> None:
    """Raise if columns look like numbers or dates in another notation.

    They would become words without it. The error names options that read all of them.
    Numbers with units would, too, and are refused.
    """
    notation = choices.notation
    words = {*choices.ignore, *choices.category}
    if choices.task == "classification":
        words.add(choices.target)
    columns = [scan.columns[name] for name in source.names if name not in words]
    for column in columns:
        cell = united(column)
        if cell is not None:
            raise TableError(
                f"{source.path}: column {shown(column.name)} holds numbers with a "
                f"unit, such as {shown(cell)}: write them without it"
                f"{_otherwise([column.name], choices)}"
            )
    seen = [strange(column, notation) for column in columns]
    found = [each for each in seen if each is not None]
    if not found:
        return
    guessed = guess(source, scan, found, notation)
    if not guessed.notations and _is_mistake(scan, found):
        return  # a wrong cell, which is named with its row
    raise TableError(f"{source.path}: {_told(found, guessed, choices)}")


def tell_doubts(
    source: Source, names: Sequence[str], notation: Notation, *, quiet: bool
) -> None:
    """Say how numbers are read whose points may stand between thousands."""
    found = {n: cell for n, cell in doubtful(source, notation).items() if n in names}
    for name, cell in list(found.items())[:1]:
        more = f" (and {counted(len(found) - 1, 'other')})" if len(found) > 1 else ""
        note(
            f"column {shown(name)}{more}: {shown(cell)} is read as "
            f"{notation.number(cell):g}; if its point stands between thousands: "
            "--thousands .",
            quiet=quiet,
        )


def _is_mistake(scan: Scan, found: Sequence[Strange]) -> bool:
    """Return whether columns hold numbers or dates, but for a few cells."""
    columns = [scan.columns[each.name] for each in found]
    return all(c.is_mostly_numbers or c.is_mostly_dates for c in columns)


def _told(found: Sequence[Strange], guessed: Guess, choices: Choices) -> str:
    holds = _holds(found)
    otherwise = _otherwise([each.name for each in found], choices)
    if guessed.notations:
        told = " or ".join(
            options(each, choices.notation) + _meaning(each, guessed, found)
            for each in guessed.notations
        )
        return f"{holds}: add {told}{otherwise}"
    if guessed.plain is not None:
        name, cell = guessed.plain
        against = f"column {shown(name)} holds {shown(cell)}"
        return f"{holds}, but {against}: write both the same way{otherwise}"
    first = found[0]
    how = "as 2024-01-31" if first.is_date else "as 1234.5"
    return f"{holds}, and no option reads all of them: write them {how}{otherwise}"


def _holds(found: Sequence[Strange]) -> str:
    """Return a column of numbers and one of dates, with a cell of each."""
    told = []
    for is_date, what in ((False, "numbers"), (True, "dates")):
        mine = [each for each in found if each.is_date is is_date]
        if mine:
            more = f" (and {counted(len(mine) - 1, 'other')})" if mine[1:] else ""
            cell = shown(mine[0].example)
            told.append(
                f"column {shown(mine[0].name)}{more} holds {what} such as {cell}"
            )
    return ", ".join(told)


def _meaning(each: Notation, guessed: Guess, found: Sequence[Strange]) -> str:
    """Return what a cell means, if notations differ in that."""
    if len(guessed.notations) == 1:
        return ""
    orders = {other.dates for other in guessed.notations}
    if len(orders) > 1:
        return ""  # the option says it
    number = each.number(next(f.example for f in found if not f.is_date))
    return "" if number is None else f" (it means {number:.12g})"


def _otherwise(found: Sequence[str], choices: Choices) -> str:
    """Return what to do if columns hold words."""
    names = [name for name in found if name != choices.target]
    told = []
    if names:
        told.append(f"--category {in_shell(names)}")
    if len(names) < len(found):
        told.append("--task classification")
    return f"; if these are words: {' '.join(told)}"
