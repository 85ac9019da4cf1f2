"""Rows to hold out: folds of the library's own, or those that users give."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from pursuit._parameters import WHOLE, whole_number
from pursuit.fitting.folds import hold_out, make_folds
from pursuit.sample import Sample
from pursuit.selection import Selection, Validation

_NOTHING = (
    " To choose nothing by held-out rows, use selection=None and give gamma and alpha."
)


def check_groups(selection: Selection, groups: Any) -> None:
    """Raise a ValueError if groups are given but would be ignored."""
    if groups is None:
        return
    if selection.word in ("validation", "loo"):
        raise ValueError(
            f"selection={selection.word!r} leaves rows out without regard to groups: "
            "use selection=CrossValidation(GroupKFold(5))."
        )
    is_splitter = hasattr(selection.n_folds, "split")
    if not is_splitter or isinstance(selection.n_folds, str):
        raise ValueError(
            f"groups are for a splitter that keeps them together, but "
            f"n_folds={_short(selection.n_folds)} does not look at them: use a "
            "splitter, as in selection=CrossValidation(GroupKFold(5))."
        )


def held_out_parts(
    selection: Selection, sample: Sample, groups: Any
) -> list[np.ndarray]:
    """Return the held-out rows of each fold; none if there are too few rows."""
    y, is_class = sample.balance, sample.is_class
    weight = sample.multiplicity
    data = sample.contents, y, weight
    how = sample.seed, is_class, sample.together
    if isinstance(selection, Validation):
        part = hold_out(*data, selection.fraction, *how)
        return [] if part is None else [part]
    n_folds = selection.n_folds
    if isinstance(n_folds, WHOLE) and not isinstance(n_folds, bool):
        n_folds = whole_number("n_folds", n_folds, 2)
        folds = make_folds(*data, n_folds, *how)
        return folds if len(folds) > 1 else []
    users = _GivenFolds("n_folds", n_folds, "fit(X, y, groups=...), or ", _NOTHING)
    ranked = sample.centered_groups
    if ranked is not None:
        with warnings.catch_warnings():
            # One that does not look at groups may yet keep them whole.
            warnings.filterwarnings("ignore", "The groups parameter is ignored")
            data = sample.X, sample.Y[0], weight
            masks = users.masks(*data, ranked, is_class)
        _check_whole(masks, ranked, weight, n_folds)
        return masks
    return users.masks(sample.X, y, weight, groups, is_class)


def _check_whole(
    masks: list[np.ndarray], groups: np.ndarray, weight: np.ndarray, n_folds: Any
) -> None:
    """Raise a ValueError if a fold divides a group that is to be ranked."""
    used = weight > 0
    for mask in masks:
        sides = np.unique(np.stack([groups[used], mask[used]]), axis=1)
        if len(np.unique(sides[0])) < sides.shape[1]:
            raise ValueError(
                f"n_folds={_short(n_folds)} divides groups, whose rows are to be "
                "compared: use a number of folds, or GroupKFold(5)."
            )


def partition(
    cv: Any, X: Any, y: Any, weight: np.ndarray, is_class: bool
) -> int | list[np.ndarray]:
    """Return a number of folds as it is, or given folds, which must test each row once.

    The latter are masks, 1 for rows to test and 0 for those to fit, -1 for neither.
    Rows of weight 0 may be anywhere.
    """
    if isinstance(cv, WHOLE) and not isinstance(cv, bool):
        return int(whole_number("cv", cv, 2))
    folds = _GivenFolds("cv", cv).masks(X, y, weight, None, is_class)
    n_tests = np.sum([fold == 1 for fold in folds], axis=0)
    if np.any(n_tests[weight > 0] != 1):
        raise ValueError(
            f"cv={_short(cv)} must test every row exactly once: use a splitter such as "
            "KFold, or a number of folds."
        )
    return folds


def among(folds: int | list[np.ndarray], rows: np.ndarray) -> int | list[np.ndarray]:
    """Return the folds of a :func:`partition` for some rows only."""
    return folds if isinstance(folds, int) else [fold[rows] for fold in folds]


# -- folds that are given ------------------------------------------------------------


class _GivenFolds:
    """Folds from a splitter of scikit-learn, or from an iterable of (train, test).

    Parameters
    ----------
    name : str
        Name of the parameter, for errors.
    value : splitter, iterable or None
    how_to_group : str
        How groups can be passed, for errors.
    how_to_avoid : str
        What can be done instead, for errors.
    """

    def __init__(
        self, name: str, value: Any, how_to_group: str = "", how_to_avoid: str = ""
    ) -> None:
        self._value, self._shown = value, f"{name}={_short(value)}"
        self._name, self._how_to_group = name, how_to_group
        self._how_to_avoid = how_to_avoid

    def masks(
        self, X: Any, y: np.ndarray, weight: np.ndarray, groups: Any, is_class: bool
    ) -> list[np.ndarray]:
        """Return the folds with weight on both sides, as in :class:`.Folds`."""
        folds = [self._mask(p, len(y)) for p in self._pairs(X, y, groups, is_class)]
        if not folds:
            raise ValueError(
                f"{self._shown} holds no split (an iterator is spent after one fit: "
                f"pass a list).{self._how_to_avoid}"
            )
        usable = [fold for fold in folds if _has_weight_on_both_sides(fold, weight)]
        if not usable:
            raise ValueError(
                f"{self._shown} has no split with rows of positive weight both to fit "
                "and to test."
            )
        return usable

    def _pairs(
        self, X: Any, y: np.ndarray, groups: Any, is_class: bool
    ) -> Iterator[Any]:
        splitter = self._value
        if splitter is None:
            from sklearn.model_selection import check_cv  # slow to import

            splitter = check_cv(None, y, classifier=is_class)
        if not hasattr(splitter, "split") and isinstance(splitter, Iterable):
            yield from splitter
            return
        if not hasattr(splitter, "split") or isinstance(splitter, str):
            raise ValueError(
                f"{self._shown} must be a number of folds, a scikit-learn splitter, or "
                "an iterable of (train, test) indices."
            )
        try:
            yield from splitter.split(X, y, groups)
        except ValueError as error:
            if groups is not None or "groups" not in str(error):
                raise
            raise ValueError(
                f"{self._shown} needs groups: {self._how_to_group}give the splits "
                f"themselves, {self._name}=list(splitter.split(X, y, groups))."
            ) from error

    def _mask(self, pair: Any, n_rows: int) -> np.ndarray:
        try:
            train, test = pair
        except (TypeError, ValueError):
            raise ValueError(
                f"{self._shown} must be an iterable of (train, test) indices, but "
                f"holds {_short(pair)}."
            ) from None
        fold = np.full(n_rows, -1)
        fold[self._indices(train, n_rows)] = 0
        fold[self._indices(test, n_rows)] = 1
        for value, side in ((0, "training"), (1, "test")):
            if not np.any(fold == value):
                raise ValueError(
                    f"{self._shown} has a split whose {side} side is empty."
                )
        return fold

    def _indices(self, rows: Any, n_rows: int) -> np.ndarray:
        """Return row numbers from indices or a mask."""
        try:
            return np.arange(n_rows)[np.asarray(rows, dtype=None if len(rows) else int)]
        except (TypeError, IndexError):
            raise ValueError(
                f"{self._shown} has a split that is not a set of rows: expected "
                f"indices from 0 to {n_rows - 1}, or a mask of {n_rows} values, got "
                f"{_short(rows)}."
            ) from None


def _has_weight_on_both_sides(fold: np.ndarray, weight: np.ndarray) -> bool:
    return bool(np.any(weight[fold == 1] > 0) and np.any(weight[fold == 0] > 0))


def _short(value: Any) -> str:
    """Return the beginning of the value's representation: lists of rows are long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:60]} …"
