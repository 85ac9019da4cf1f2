"""What a dictionary is, and what it may learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pursuit._rows import distinct_rows
from pursuit.functions import Functions, join

from ._data_frames import Framer


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
    verbose : int or bool
        Whether long work shows how far it is.
    framer : Framer or None
        Makes arrays such frames as X was given as; None if it was no frame.
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
    verbose: int | bool = 0
    framer: Framer | None = None


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
    is_kernel : bool
        Whether X is, moreover, a kernel matrix of the training rows.
    """

    accepts_sparse: bool = True
    learns_from_targets: bool = False
    is_matrix: bool = False
    is_kernel: bool = False

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the functions; several collections of one length to compare widths.

        From wide to narrow, alike but for the width.
        """
        raise NotImplementedError

    def __add__(self, other: Any) -> Dictionary:
        return Union(self, other) if isinstance(other, Dictionary) else NotImplemented

    def __radd__(self, other: Any) -> Dictionary:
        # What sum() begins with.
        return self if isinstance(other, int) and other == 0 else NotImplemented


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
        return all(part.accepts_sparse for part in self._parts())

    @property
    def learns_from_targets(self) -> bool:  # type: ignore[override]
        """Whether one of them does."""
        return any(part.learns_from_targets for part in self._parts())

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the functions of both."""
        for part in self._parts():
            if part.is_matrix:
                raise ValueError(
                    f"{part} takes X as the values of its functions, so nothing can be "
                    "added to it: use Features() for columns of X as they are."
                )
        first, second = (part.learn(sample) for part in self._parts())
        n = max(len(first), len(second))
        if {len(first), len(second)} - {1, n}:
            raise ValueError(
                f"{self.first} compares {len(first)} widths and {self.second} "
                f"{len(second)}: set the widths of one of them."
            )
        first, second = first * (n // len(first)), second * (n // len(second))
        return [join(pair) for pair in zip(first, second, strict=True)]

    def _parts(self) -> tuple[Dictionary, Dictionary]:
        for name in ("first", "second"):
            part = getattr(self, name)
            if not isinstance(part, Dictionary):
                raise ValueError(
                    f"{name}={part!r} of a Union must be a dictionary; for a kernel "
                    "write OneKernel(kernel)."
                )
        return self.first, self.second


def classes_of_points(sample: Sample) -> np.ndarray:
    """Return the class of each point: of equal rows, the one of the most weight.

    Rows that are held out count only where all rows equal to them are; of equal
    weights the lowest class is taken.
    """
    assert sample.labels is not None
    classes, codes = np.unique(sample.labels, return_inverse=True)
    _, sets = distinct_rows(sample.X, sample.weight)
    used = np.flatnonzero(sample.weight > 0)
    keys, pair = np.unique(sets[used] * len(classes) + codes[used], return_inverse=True)
    seen = np.bincount(pair, sample.seen[used])
    weight = np.bincount(pair, sample.weight[used])
    order = np.lexsort((keys, -weight, -seen, keys // len(classes)))
    heaviest = keys[order]
    _, first = np.unique(heaviest // len(classes), return_index=True)
    code_of_set = heaviest[first] % len(classes)
    return classes[code_of_set[sets[sample.rows]]]
