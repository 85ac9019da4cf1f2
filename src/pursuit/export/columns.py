"""Columns of a table on their way through a pipeline, and the words met in them.

Which raw columns hold words is known only from the encoders and imputers that name
some: `Vocabularies` collects these as a pipeline is read, and gives each a code.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .coding import is_missing
from .errors import UnsupportedError
from .steps import Input

__all__ = ["Column", "Vocabularies"]


@dataclass(frozen=True)
class Column:
    """A column between two steps.

    Attributes
    ----------
    source : int, optional
        Raw column whose values these still are; None for computed numbers.
    is_filled : bool
        Whether NaN was replaced.
    """

    source: int | None = None
    is_filled: bool = False

    def filled(self) -> Column:
        """Return the column after NaN was replaced."""
        return replace(self, is_filled=True)


class Vocabularies:
    """The words of each raw column, with their codes.

    Parameters
    ----------
    names : sequence of str
        Names of the raw columns.
    orders : mapping from int to sequence of str, optional
        Words of raw columns whose codes are their places here; others come after them.
    """

    def __init__(
        self, names: Sequence[str], orders: Mapping[int, Sequence[str]] | None = None
    ) -> None:
        self._names = list(names)
        self._codes: dict[int, dict[str, int]] = {
            source: {word: code for code, word in enumerate(words)}
            for source, words in (orders or {}).items()
        }
        self._listed: dict[int, list[str]] = {}
        self._numbers: set[int] = set()
        self._read: set[int] = set()

    def columns(self) -> list[Column]:
        """Return the raw columns."""
        return [Column(source) for source in range(len(self._names))]

    def read(self, columns: Iterable[Column]) -> None:
        """Note that a step reads columns, as numbers or words."""
        self._read.update(c.source for c in columns if c.source is not None)

    def as_numbers(self, columns: Iterable[Column]) -> list[Column]:
        """Return columns of numbers, after a step that computes with these ones."""
        self._numbers.update(c.source for c in columns if c.source is not None)
        return [Column() for _ in columns]

    def code(self, column: Column, value: Any) -> float:
        """Return a word's code, a number itself, NaN for None, NaN and NA."""
        if is_missing(value):
            return np.nan
        if isinstance(value, str):
            codes = self._codes.setdefault(self._source(column), {})
            return float(codes.setdefault(str(value), len(codes)))
        if isinstance(value, bytes):
            raise UnsupportedError(
                f"The category {value!r} is of bytes: fit the pipeline on strings."
            )
        return float(value)

    def list_words(self, column: Column, words: Sequence[str]) -> None:
        """Note that a column holds words, perhaps none, in the order of an encoder."""
        source = self._source(column)
        self._codes.setdefault(source, {})
        listed = self._listed.setdefault(source, [])
        listed += [word for word in words if word not in listed]

    def orders(self) -> dict[int, list[str]]:
        """Return the words of each raw column in the order of its encoders."""
        return self._listed

    def inputs(self) -> tuple[Input, ...]:
        """Return the raw columns as inputs of a formula."""
        both = self._numbers & set(self._codes)
        if both:
            names = [self._names[source] for source in sorted(both)]
            raise UnsupportedError(
                f"Columns {names} are read as words by one step and as numbers by "
                "another: give each step columns of one kind."
            )
        used = self._read | self._numbers | set(self._codes)
        return tuple(
            Input(name, tuple(self._codes[i]) if i in self._codes else None, i in used)
            for i, name in enumerate(self._names)
        )

    def _source(self, column: Column) -> int:
        if column.source is None:
            raise UnsupportedError(
                "An encoder or imputer of words comes after a step that computes "
                "numbers: put it first."
            )
        return column.source
