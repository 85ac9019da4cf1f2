"""What a fit makes of the columns of a table, and of the target."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from pursuit._user_errors import TableError, UsageError, shown
from pursuit.tables import PLAIN, Field, Kind, Notation, Scan, Source
from pursuit.tables.columns import MAX_WORDS, Column
from pursuit.tables.rows import FINITE, wrong_cell

from ._talk import counted, in_shell, quoted

__all__ = ["Choices", "Columns", "chosen_columns", "found", "named"]

# Number of different whole numbers up to which a target is a class.
MAX_NUMBERED_CLASSES = 10
# Number of rows that each of them must have, on average.
ROWS_OF_CLASS = 3


@dataclass(frozen=True)
class Choices:
    """What the user says about the columns.

    Attributes
    ----------
    target : str
    task : {"classification", "regression"}, optional
        Told from the target by default.
    ignore, category, number : tuple of str
        Columns to leave out, or whose kind is known.
    weights : str, optional
        Column with the weights of the rows.
    notation : Notation
        How numbers and dates are written.
    """

    target: str
    task: str | None = None
    ignore: tuple[str, ...] = ()
    category: tuple[str, ...] = ()
    number: tuple[str, ...] = ()
    weights: str | None = None
    notation: Notation = PLAIN


@dataclass(frozen=True)
class Columns:
    """What is read, and why the rest is not.

    Attributes
    ----------
    features : tuple of Field
    target : Field
    weights : Field, optional
    task : {"classification", "regression"}
    reason : str
        Why this task.
    left_out : tuple of (str, str)
        Names of columns, and why they are not read.
    """

    features: tuple[Field, ...]
    target: Field
    weights: Field | None
    task: str
    reason: str
    left_out: tuple[tuple[str, str], ...]

    @property
    def fields(self) -> list[Field]:
        """All columns that are read."""
        extra = [] if self.weights is None else [self.weights]
        return [*self.features, self.target, *extra]

    @property
    def is_class(self) -> bool:
        """Whether classes are predicted."""
        return self.task == "classification"


def found(name: str, source: Source, what: str = "column") -> str:
    """Return the name of a column; raise with the nearest one if it is not there.

    Spaces and line breaks in it count alike, so that one can type it.
    """
    if name in source.names:
        return name
    for each in source.names:
        if each.split() == name.split():
            return each
    if name in source.unreadable:
        raise TableError(
            f"{source.path}: the {what} {shown(name)} cannot be read: "
            f"{source.unreadable[name]}"
        )
    folded = {each.casefold(): each for each in source.names}
    near = get_close_matches(name.casefold(), folded, n=1)
    if near:
        hint = f": did you mean {shown(folded[near[0]])}?"
    else:
        some = source.names[:8]
        more = ", ..." if len(source.names) > len(some) else ""
        hint = f"; its columns are {quoted(some)}{more}"
    raise TableError(f"{source.path}: there is no {what} {shown(name)}{hint}")


def named(option: str, name: str, source: Source) -> str:
    """Return the name of a column that an option names."""
    what = "target" if option == "--target" else f"column for {option}:"
    try:
        return found(name, source, what)
    except TableError as error:
        raise UsageError(str(error)) from None


def chosen_columns(source: Source, scan: Scan, choices: Choices) -> Columns:
    """Return what is made of each column; raise if one cannot be used."""
    _check_choices(choices)
    target, task, reason = _target(source, scan.columns[choices.target], choices)
    weights = None
    if choices.weights is not None:
        weights = _weights(source, scan.columns[choices.weights], choices.notation)
    features, left_out, refused = [], [], []
    for name in source.names:
        if name in (choices.target, choices.weights):
            continue
        column = scan.columns[name]
        kind, why = _kind(column, choices)
        if why:
            left_out.append((name, why))
        elif kind is Kind.TEXT:
            refused.append(column)
        else:
            _check_cells(source.path, column, kind, choices.notation)
            features.append(Field(name, kind))
    if refused:
        raise TableError(_too_many_words(source.path, refused))
    if not features:
        raise TableError(
            f"{source.path}: no column is left to predict {shown(target.name)} from"
        )
    return Columns(tuple(features), target, weights, task, reason, tuple(left_out))


def _check_choices(choices: Choices) -> None:
    asked = {
        "--ignore": choices.ignore,
        "--category": choices.category,
        "--number": choices.number,
    }
    for option, names in asked.items():
        if choices.target in names:
            raise UsageError(
                f"{option} {in_shell([choices.target])}: this is the target"
            )
    for name in choices.category:
        if name in choices.number:
            raise UsageError(
                f"column {shown(name)} cannot be both --category and --number"
            )


def _kind(column: Column, choices: Choices) -> tuple[Kind, str]:
    """Return the kind of a column, and why it is left out, if it is."""
    if column.name in choices.ignore:
        return column.kind, "as asked for"
    if not column.n_present:
        return Kind.EMPTY, "it is empty"
    if column.name in choices.category:
        return Kind.CATEGORY, ""
    if column.name in choices.number:
        return Kind.NUMBER, ""
    if column.kind is Kind.ROW_NUMBER:
        return column.kind, "it counts the rows (--number keeps it)"
    return column.kind, ""


def _check_cells(path: str, column: Column, kind: Kind, notation: Notation) -> None:
    """Raise if a cell is not of the column's kind."""
    if kind is Kind.NUMBER and column.other is not None:
        where = _placed(column, column.other)
        error = wrong_cell(path, *where, "a number", notation)
        raise TableError(
            f"{error}; if it means missing: leave it empty, if the column holds words: "
            f"--category {in_shell([column.name])}"
        )
    if kind is Kind.NUMBER and column.too_large is not None:
        where = _placed(column, column.too_large)
        raise wrong_cell(path, *where, FINITE)
    if kind is Kind.DATE and column.undated is not None:
        where = _placed(column, column.undated)
        raise wrong_cell(path, *where, "a date", notation)
    if kind is Kind.DATE and column.n_numbers:
        raise TableError(
            f"{path}: column {shown(column.name)} holds dates and {column.n_numbers} "
            "numbers: write all of it as dates such as 2024-01-31"
        )


def _placed(column: Column, cell: tuple[int, str]) -> tuple[int, str, str]:
    row, text = cell
    return row, column.name, text


def _too_many_words(path: str, columns: Sequence[Column]) -> str:
    many = [
        f"{shown(c.name)} holds {c.n_distinct} different words in {c.n_present} rows"
        for c in columns
    ]
    names = in_shell([c.name for c in columns])
    return (
        f"{path}: column {', column '.join(many)}: leave out by --ignore {names}, or "
        f"take the {MAX_WORDS} most frequent words by --category {names}"
    )


# -- the target --------------------------------------------------------------------


def _target(source: Source, column: Column, choices: Choices) -> tuple[Field, str, str]:
    """Return how the target is read, the task, and why."""
    path, name = source.path, column.name
    _check_varies(path, column)
    task, reason = _told_task(column)
    if choices.task is None:
        _check_classes(path, column, choices.notation)
    else:
        task, reason = choices.task, "as asked for"
    if task == "regression":
        _check_numbers(path, column, choices.notation)
        return Field(name, Kind.NUMBER), task, reason
    # Larger numbers lose digits, unless they are read as words.
    is_exact = max(map(abs, column.values), default=0) < 2**53
    is_numbered = column.is_whole and is_exact and not column.words
    return Field(name, Kind.NUMBER if is_numbered else Kind.CATEGORY), task, reason


def _check_varies(path: str, column: Column) -> None:
    """Raise if a target has fewer than two values."""
    if column.n_distinct > 1:
        return
    target = f"{path}: the target {shown(column.name)}"
    if not column.n_present:
        raise TableError(f"{target} is empty in all rows{_missing_words(column)}")
    (value,) = (*column.words, *(f"{v:g}" for v in column.values))
    where = "all rows"
    if column.n_missing:
        where = f"all {counted(column.n_present, 'row')} that have one"
    raise TableError(
        f"{target} is {shown(value)} in {where}: nothing can be learned from it"
        f"{_missing_words(column)}"
    )


def _missing_words(column: Column) -> str:
    """Return which words of a target count as missing, and what to do about it."""
    if column.absent is None:
        return ""
    row, text = column.absent
    n = column.missing[text] + column.dashes[text]
    return (
        f"; {shown(text)} ({counted(n, 'row')}, the first is row {row}) counts as "
        "missing: if it is a class, write another word for it"
    )


def _told_task(column: Column) -> tuple[str, str]:
    kind, n = column.kind, column.n_distinct
    if kind is Kind.DATE:
        return "regression", "dates"
    if kind is Kind.TEXT:
        return "classification", "words"
    if kind is Kind.CATEGORY:
        return "classification", counted(n, "class", "classes")
    few = max(2, min(MAX_NUMBERED_CLASSES, column.n_present // ROWS_OF_CLASS))
    if column.is_whole and not column.words and n <= few:
        return "classification", f"{counted(n, 'different whole number')}"
    return "regression", "numbers"


def _check_classes(path: str, column: Column, notation: Notation) -> None:
    """Raise if the target is a text rather than a class."""
    if column.kind is not Kind.TEXT:
        return
    if column.n_numbers > column.n_others and column.other is not None:
        raise _not_a_number(path, column, notation)
    raise TableError(
        f"{path}: the target {shown(column.name)} holds {column.n_distinct} different "
        f"words in {column.n_present} rows, too many for classes; if they are: "
        "--task classification"
    )


def _not_a_number(path: str, column: Column, notation: Notation) -> TableError:
    """Return the error for a target of numbers that holds a word."""
    assert column.other is not None
    where = _placed(column, column.other)
    error = wrong_cell(path, *where, "a number", notation)
    n = counted(column.n_others + column.n_dates, "such cell")
    return TableError(
        f"{error} ({n}); if it means missing: leave it empty, and the row is left out; "
        "for classes: --task classification"
    )


def _check_numbers(path: str, column: Column, notation: Notation) -> None:
    """Raise if a target of a regression holds anything but numbers."""
    if column.kind is Kind.DATE:
        raise TableError(
            f"{path}: the target {shown(column.name)} holds dates: replace it by a "
            "number, such as the days from another date"
        )
    if column.other is not None:
        raise _not_a_number(path, column, notation)
    if column.too_large is not None:
        where = _placed(column, column.too_large)
        raise wrong_cell(path, *where, FINITE)


def _weights(source: Source, column: Column, notation: Notation) -> Field:
    where = f"{source.path}: --weights {in_shell([column.name])}"
    if column.kind not in (Kind.NUMBER, Kind.ROW_NUMBER):
        raise TableError(f"{where}: the column holds no numbers")
    _check_cells(source.path, column, Kind.NUMBER, notation)
    if column.n_missing:
        rows = counted(column.n_missing, "row has", "rows have")
        raise TableError(f"{where}: {rows} no weight")
    if min(column.values) < 0:
        raise TableError(f"{where}: {min(column.values):g} is negative")
    return Field(column.name, Kind.NUMBER)
