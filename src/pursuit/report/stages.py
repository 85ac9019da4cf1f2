"""Sizes of a model that a page can show, each with its coefficients."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from pursuit.export import Formula, formula_of

__all__ = [
    "Stage",
    "chosen_sizes",
    "last_step",
    "n_numbers",
    "path_formula",
    "shown_sizes",
    "stages",
    "without_nesting",
]

# Sizes up to this one are all shown; from there on, each is larger by a factor.
ALL_UP_TO = 20
FACTORS = (1.15, 1.3, 1.6, 2.0)
MAX_COEFFICIENTS = 12_000


@dataclass(frozen=True, eq=False)
class Stage:
    """A model on the path.

    Attributes
    ----------
    steps : int or None
        Number of steps; None if each output has its own.
    n_points : int
        Number of distinct functions.
    coef : ndarray of shape (n_outputs, n)
        Coefficients of the first n functions of the path, in the order of choice.
    intercept : ndarray of shape (n_outputs,)
    is_chosen : bool
        Whether this is the model itself.
    """

    steps: int | None
    n_points: int
    coef: np.ndarray
    intercept: np.ndarray
    is_chosen: bool


def last_step(model: Any) -> Any:
    """Return the model of a pipeline, or the model itself."""
    return model[-1] if isinstance(model, Pipeline) else model


def without_nesting(model: Any) -> Any:
    """Return a model with one pipeline for those that end in others, or in searches."""
    model = getattr(model, "best_estimator_", model)
    if not isinstance(model, Pipeline):
        return model
    *before, (name, last) = model.steps
    inner = without_nesting(last)
    if not isinstance(inner, Pipeline):
        return model if inner is last else Pipeline([*before, (name, inner)])
    taken = {outer for outer, _ in before}
    inside = [(f"{name} {n}" if n in taken else n, step) for n, step in inner.steps]
    return Pipeline([*before, *inside])


def chosen_sizes(model: Any) -> list[int]:
    """Return the number of steps that each path of a fitted model has."""
    return [len(path) for path in model.truncate().path_.paths]


def shown_sizes(largest: int, chosen: Sequence[int], n_outputs: int = 1) -> list[int]:
    """Return sizes from 0 to ``largest``: all small ones, then spaced by a factor.

    The factor is the smallest with which the coefficients of all sizes are few enough.
    """
    for factor in FACTORS:
        sizes = _spaced(largest, factor)
        if n_outputs * sum(sizes) <= MAX_COEFFICIENTS:
            break
    own = chosen[:1] if len(set(chosen)) == 1 else []
    return sorted({*sizes, *own})


def _spaced(largest: int, factor: float) -> list[int]:
    sizes = [*range(min(largest, ALL_UP_TO) + 1)]
    while sizes[-1] < largest:
        sizes.append(min(largest, int(np.ceil(sizes[-1] * factor))))
    return sizes


def path_formula(model: Any, largest: int) -> tuple[Formula, np.ndarray]:
    """Return the formula of the path's first functions.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.
    largest : int
        Number of steps of the path.

    Returns
    -------
    formula : Formula
        The model after so many steps.
    order : ndarray of int
        For each function of the formula, when the path chose it: 0 for the first.
    """
    whole = last_step(model).truncate(largest)
    numbered = copy.copy(whole)
    # Coefficients that are the numbers of the functions tell the formula's order.
    numbered.dual_coef_ = np.arange(whole.n_support_, dtype=np.float64)[None]
    order = formula_of(_with_last_step(model, numbered)).coef[0].astype(int)
    return formula_of(_with_last_step(model, whole)), order


def stages(model: Any, sizes: Sequence[int]) -> list[Stage]:
    """Return the models of these sizes, and the model itself, from small to large."""
    chosen = chosen_sizes(model)
    is_even = len(set(chosen)) == 1
    path = model.path_
    found = [_stage(path, n, n, is_even and n == chosen[0]) for n in sizes]
    if not is_even:
        found.append(_stage(path, chosen, None, True))
    return sorted(found, key=lambda stage: (stage.n_points, stage.coef.shape[1]))


def n_numbers(formula: Formula, stage: Stage) -> int:
    """Return how many numbers the model of a stage consists of."""
    of_functions = sum(_count(group, is_own=True) for group in formula.groups)
    share = stage.n_points / max(1, formula.n_functions)
    coefficients = formula.n_outputs * (stage.n_points + 1)
    fixed = sum(_count(part, is_own=False) for part in formula.groups + formula.steps)
    return round(of_functions * share) + coefficients + fixed


def _count(part: Any, *, is_own: bool) -> int:
    """Return how many numbers a part has that each function has, or that all share."""
    found = 0
    for name, array in _arrays(part):
        is_of_function = name == "centers" or (name == "gamma" and array.size > 1)
        found += array.size if is_of_function == is_own else 0
    return found


def _arrays(part: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the arrays inside a value of a formula, with the names of their fields."""
    if isinstance(part, tuple):
        for each in part:
            yield from _arrays(each)
    elif is_dataclass(part):
        for field in fields(part):
            value = getattr(part, field.name)
            if isinstance(value, np.ndarray):
                yield field.name, value
            else:
                yield from _arrays(value)


def _stage(path: Any, size: Any, steps: int | None, is_chosen: bool) -> Stage:
    support, coef, intercept = path.coefficients(size)
    place = {int(atom): i for i, atom in enumerate(path.support)}
    places = [place[int(atom)] for atom in support]
    spread = np.zeros((len(coef), max(places, default=-1) + 1))
    spread[:, places] = coef
    return Stage(steps, len(support), spread, intercept, is_chosen)


def _with_last_step(model: Any, last: Any) -> Any:
    if not isinstance(model, Pipeline):
        return last
    return Pipeline([*model.steps[:-1], (model.steps[-1][0], last)])
