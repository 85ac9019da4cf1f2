"""Rows to hold out: the estimator's own folds, or those given as `cv`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import check_cv

from pursuit._parameters import WHOLE, probability, whole_number
from pursuit.fitting.folds import hold_out, make_folds

from ._task import Task

_NOTHING = (
    " To choose nothing by held-out rows, use selection=None and give gamma and alpha."
)


def check_groups(estimator: Any, groups: Any) -> None:
    """Raise a ValueError if groups are given but would be ignored."""
    if groups is None:
        return
    if not hasattr(estimator.cv, "split"):
        raise ValueError(
            f"groups are for a splitter that keeps them together, but "
            f"cv={_short(estimator.cv)} does not look at them: use a splitter such as "
            "cv=GroupKFold(5)."
        )
    if estimator.selection in ("validation", "loo"):
        raise ValueError(
            f"selection={estimator.selection!r} leaves rows out without regard to "
            "groups: use selection='cv'."
        )


def held_out_rows(
    estimator: Any,
    task: Task,
    contents: Any,
    weight: np.ndarray,
    selection: str | None,
    seed: int,
) -> list[np.ndarray]:
    """Return the held-out rows of each fold; none if there are too few rows.

    ``contents`` tells equal rows apart from others, None if rows differ by their index
    only; ``weight`` (l,) counts the rows that each row stands for.
    """
    y, is_class = task.folded, task.is_class
    if selection == "validation":
        share = probability("validation_fraction", estimator.validation_fraction)
        part = hold_out(contents, y, weight, share, seed, is_class)
        return [] if part is None else [part]
    if isinstance(estimator.cv, WHOLE) and not isinstance(estimator.cv, bool):
        if estimator.cv < 2:
            raise ValueError(f"cv={estimator.cv!r} must be at least 2 folds.")
        n_folds = int(estimator.cv)
        folds = make_folds(contents, y, weight, n_folds, seed, is_class)
        return folds if len(folds) > 1 else []
    return _given_folds(estimator.cv, task.X, y, weight, task.groups, is_class)


def partition(
    cv: Any, X: Any, y: Any, weight: np.ndarray, is_class: bool
) -> int | list[np.ndarray]:
    """Return a number of folds as it is, or given folds, which must test each row once.

    The latter are masks, 1 for rows to test and 0 for those to fit, -1 for neither.
    Rows of weight 0 may be anywhere.
    """
    if isinstance(cv, WHOLE) and not isinstance(cv, bool):
        return int(whole_number("cv", cv, 2))
    folds = _given_folds(cv, X, y, weight, None, is_class, for_pursuit=False)
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


def _given_folds(
    cv: Any,
    X: Any,
    y: np.ndarray,
    weight: np.ndarray,
    groups: Any,
    is_class: bool,
    for_pursuit: bool = True,
) -> list[np.ndarray]:
    """Return the folds with weight on both sides.

    A pursuit takes groups and may choose nothing, which its errors mention.
    """
    pairs = _pairs(cv, X, y, groups, is_class, for_pursuit)
    folds = [_fold(cv, pair, len(y)) for pair in pairs]
    if not folds:
        raise ValueError(
            f"cv={_short(cv)} holds no split (an iterator is spent after one fit: "
            f"pass a list).{_NOTHING if for_pursuit else ''}"
        )
    usable = [fold for fold in folds if _has_weight_on_both_sides(fold, weight)]
    if not usable:
        raise ValueError(
            f"cv={_short(cv)} has no split with rows of positive weight both to fit "
            "and to test."
        )
    return usable


def _pairs(
    cv: Any,
    X: Any,
    y: np.ndarray,
    groups: Any,
    is_class: bool,
    for_pursuit: bool,
) -> Iterator[Any]:
    splitter = check_cv(cv, y, classifier=is_class) if cv is None else cv
    if not hasattr(splitter, "split") and isinstance(splitter, Iterable):
        yield from splitter
        return
    if not hasattr(splitter, "split") or isinstance(splitter, str):
        raise ValueError(
            f"cv={_short(cv)} must be a number of folds, a scikit-learn splitter, or "
            "an iterable of (train, test) indices."
        )
    try:
        yield from splitter.split(X, y, groups)
    except ValueError as error:
        if groups is not None or "groups" not in str(error):
            raise
        given = "fit(X, y, groups=...), or " if for_pursuit else ""
        raise ValueError(
            f"cv={_short(cv)} needs groups: {given}give the splits themselves, "
            f"cv=list(splitter.split(X, y, groups))."
        ) from error


def _fold(cv: Any, pair: Any, n_rows: int) -> np.ndarray:
    """Return a fold as in :func:`.without`."""
    try:
        train, test = pair
    except (TypeError, ValueError):
        raise ValueError(
            f"cv={_short(cv)} must be an iterable of (train, test) indices, but holds "
            f"{_short(pair)}."
        ) from None
    fold = np.full(n_rows, -1)
    fold[_indices(cv, train, n_rows)] = 0
    fold[_indices(cv, test, n_rows)] = 1
    for value, side in ((0, "training"), (1, "test")):
        if not np.any(fold == value):
            raise ValueError(f"cv={_short(cv)} has a split whose {side} side is empty.")
    return fold


def _indices(cv: Any, rows: Any, n_rows: int) -> np.ndarray:
    """Return row numbers from indices or a mask."""
    try:
        return np.arange(n_rows)[np.asarray(rows, dtype=None if len(rows) else int)]
    except (TypeError, IndexError):
        raise ValueError(
            f"cv={_short(cv)} has a split that is not a set of rows: expected indices "
            f"from 0 to {n_rows - 1}, or a mask of {n_rows} values, got "
            f"{_short(rows)}."
        ) from None


def _has_weight_on_both_sides(fold: np.ndarray, weight: np.ndarray) -> bool:
    return bool(np.any(weight[fold == 1] > 0) and np.any(weight[fold == 0] > 0))


def _short(value: Any) -> str:
    """Return the beginning of the value's representation: lists of rows are long."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:60]} …"
