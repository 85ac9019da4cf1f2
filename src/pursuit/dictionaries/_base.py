"""What a dictionary is, and what it may learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pursuit.functions import Functions, join


@dataclass(frozen=True, eq=False)
class Sample:
    """What a dictionary may learn from.

    Attributes
    ----------
    X : array or CSR of shape (l, d)
    Y : ndarray of shape (T, l)
        Targets; of classes -1 and +1, one row for two classes or one for each class.
    labels : ndarray of shape (l,) or None
        The class of each row; None in regression.
    weight : ndarray of shape (l,)
        Rows of weight 0 are as if absent.
    seen : ndarray of shape (l,)
        The same, and 0 also on rows that are held out, whose targets must not be
        learned from.
    rows : ndarray of int
        The rows on which functions may be centred: one of each set of equal rows.
    feature_names : tuple of str
    fit_intercept : bool
        Whether a constant is in the model besides the dictionary.
    memory : int
        Bytes that learning may take.
    seed : int
        The only source of chance.
    """

    X: Any
    Y: np.ndarray
    labels: np.ndarray | None
    weight: np.ndarray
    seen: np.ndarray
    rows: np.ndarray
    feature_names: tuple[str, ...]
    fit_intercept: bool
    memory: int
    seed: int


class Dictionary(BaseEstimator):
    """Where the functions of a model come from.

    A dictionary is its parameters and nothing else; :meth:`learn` makes functions.
    ``first + second`` is the dictionary of the functions of both.

    Attributes
    ----------
    accepts_sparse : bool
        Whether X may be sparse.
    learns_from_targets : bool
        Whether the functions depend on Y, so that each fold learns its own.
    is_matrix : bool
        Whether X is taken as the functions' values.
    """

    accepts_sparse: bool = True
    learns_from_targets: bool = False
    is_matrix: bool = False

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the functions; several collections of one length to compare widths.

        From wide to narrow, alike but for the width.
        """
        raise NotImplementedError

    def __add__(self, other: Any) -> Dictionary:
        return Union(self, other) if isinstance(other, Dictionary) else NotImplemented


class Union(Dictionary):
    """The functions of two dictionaries; what ``first + second`` makes.

    Parameters
    ----------
    first, second : Dictionary
        Where both compare widths, these go together.
    """

    def __init__(self, first: Dictionary, second: Dictionary) -> None:
        self.first = first
        self.second = second

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        """Whether both accept sparse X."""
        return self.first.accepts_sparse and self.second.accepts_sparse

    @property
    def learns_from_targets(self) -> bool:  # type: ignore[override]
        """Whether one of them does."""
        return self.first.learns_from_targets or self.second.learns_from_targets

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the functions of both."""
        for part in (self.first, self.second):
            if part.is_matrix:
                raise ValueError(
                    f"{part} takes X as the values of its functions, so nothing can be "
                    "added to it: use Features() for columns of X as they are."
                )
        first, second = self.first.learn(sample), self.second.learn(sample)
        n = max(len(first), len(second))
        if {len(first), len(second)} - {1, n}:
            raise ValueError(
                f"{self.first} compares {len(first)} widths and {self.second} "
                f"{len(second)}: set the widths of one of them."
            )
        first, second = first * (n // len(first)), second * (n // len(second))
        return [join(pair) for pair in zip(first, second, strict=True)]


def check_count(name: str, value: Any, least: int, who: Any) -> int:
    """Return a whole number, or say what is wrong with a dictionary's parameter."""
    is_whole = isinstance(value, (int, np.integer)) and not isinstance(value, bool)
    if not is_whole or value < least:
        raise ValueError(
            f"{name}={value!r} must be a whole number of at least {least}, in {who}."
        )
    return int(value)
