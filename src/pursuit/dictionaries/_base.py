"""Base class of dictionaries."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pursuit.functions import Functions, join
from pursuit.sample import Sample


class Dictionary(BaseEstimator):
    """Source of the functions of a model.

    A dictionary holds its parameters and nothing else; :meth:`learn` makes the
    functions. ``first + second`` is the dictionary of the functions of both.

    Attributes
    ----------
    accepts_sparse : bool
        Whether X may be sparse.
    learns_from_targets : bool
        Whether the functions depend on Y, so that each fold learns its own.
    is_matrix : bool
        Whether X is the matrix of the functions' values.
    is_kernel : bool
        Whether X is, moreover, a kernel matrix of the training rows.
    """

    accepts_sparse: bool = True
    learns_from_targets: bool = False
    is_matrix: bool = False
    is_kernel: bool = False

    def learn(self, sample: Sample) -> list[Functions]:
        """Return a list with one collection of functions, or several to compare.

        Several collections differ only in their width, from wide to narrow.
        """
        raise NotImplementedError

    def __add__(self, other: Any) -> Dictionary:
        return Union(self, other) if isinstance(other, Dictionary) else NotImplemented

    def __radd__(self, other: Any) -> Dictionary:
        # sum() starts with 0.
        return self if isinstance(other, int) and other == 0 else NotImplemented


class Union(Dictionary):
    """The functions of two dictionaries, made by ``first + second``.

    Parameters
    ----------
    first, second : Dictionary
        If both compare widths, they are compared in pairs.
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
        """Whether one of them learns from the targets."""
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
    """Return the class of each point; for equal rows, the class of largest weight.

    Held-out rows count only if all rows equal to them are held out. Ties go to the
    lowest class.
    """
    assert sample.classes is not None
    assert sample.codes is not None
    classes, codes, sets = sample.classes, sample.codes, sample.sets
    used = np.flatnonzero(sample.weight > 0)
    keys, pair = np.unique(sets[used] * len(classes) + codes[used], return_inverse=True)
    seen = np.bincount(pair, sample.seen[used])
    weight = np.bincount(pair, sample.weight[used])
    order = np.lexsort((keys, -weight, -seen, keys // len(classes)))
    heaviest = keys[order]
    _, first = np.unique(heaviest // len(classes), return_index=True)
    code_of_set = heaviest[first] % len(classes)
    return classes[code_of_set[sets[sample.rows]]]
