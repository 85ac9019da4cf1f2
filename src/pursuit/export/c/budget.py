"""The largest model of a path that fits into a number of bytes."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sklearn.compose import TransformedTargetRegressor
from sklearn.pipeline import Pipeline

from pursuit.export.formula import Formula
from pursuit.export.preparation import formula_of

from .costs import Costs

__all__ = ["Choice", "largest_that_fits"]


@dataclass(frozen=True)
class Choice:
    """A model to export.

    Attributes
    ----------
    formula : Formula
    size : int, optional
        Steps of the path, if a budget was given.
    note : str
        What the budget meant.
    """

    formula: Formula
    size: int | None = None
    note: str = ""


def largest_that_fits(
    model: Any, max_bytes: int, costs: Callable[[Formula], Costs]
) -> Choice:
    """Return the largest model of the path, up to its chosen size, that fits.

    Parameters
    ----------
    model : estimator or Pipeline
        Fitted.
    max_bytes : int
        Bytes of flash for constants and code.
    costs : callable
        Costs of a formula.
    """
    last = _last(model)
    if not hasattr(last, "truncate"):
        raise ValueError(
            f"max_bytes={max_bytes} needs a path to choose from, which "
            f"{type(last).__name__} does not have: give the fitted model or pipeline."
        )
    whole = len(last.truncate().path_)

    def at(n: int) -> Formula:
        return formula_of(_truncated(model, n))

    formula = at(whole)
    if costs(formula).flash_bytes <= max_bytes:
        return Choice(formula, whole, _note(last, formula, whole, whole, max_bytes))
    size, beyond = 0, whole
    while beyond - size > 1:  # size fits or is 0, beyond does not fit
        middle = (size + beyond) // 2
        trial = at(middle)
        if costs(trial).flash_bytes <= max_bytes:
            size, formula = middle, trial
        else:
            beyond = middle
    if not size:
        least = costs(at(min(1, whole)))
        raise ValueError(
            f"max_bytes={max_bytes} is too small: the model after one step takes "
            f"{least.flash_bytes} bytes of flash ({least.table_bytes} of constants, "
            f"about {least.code_bytes} of code)."
        )
    return Choice(formula, size, _note(last, formula, size, whole, max_bytes))


def _last(model: Any) -> Any:
    if hasattr(model, "best_estimator_"):
        return _last(model.best_estimator_)
    if isinstance(model, TransformedTargetRegressor):
        return _last(model.regressor_)
    return _last(model.steps[-1][1]) if isinstance(model, Pipeline) else model


def _truncated(model: Any, n: int) -> Any:
    """Return the model with ``n`` steps at most; a pipeline with its last step so."""
    if hasattr(model, "best_estimator_"):
        return _truncated(model.best_estimator_, n)
    if isinstance(model, TransformedTargetRegressor):
        smaller = copy.copy(model)
        smaller.regressor_ = _truncated(model.regressor_, n)
        return smaller
    if isinstance(model, Pipeline):
        *before, (name, last) = model.steps
        return Pipeline([*before, (name, _truncated(last, n))])
    return model.truncate().truncate(n)  # first to its chosen size


def _note(model: Any, formula: Formula, n: int, whole: int, max_bytes: int) -> str:
    one = formula.n_functions == 1
    points = f"{formula.n_functions} function{'' if one else 's'}"
    if n == whole:
        return f"The whole model, {points}, fits into {max_bytes} bytes"
    text = f"The first {n} of {whole} steps, {points}, fit into {max_bytes} bytes"
    errors, word = _held_out_errors(model), "held-out loss"
    if errors is None or len(errors) <= n:
        errors, word = model.path_.errors, "training loss"
    at_whole = errors[min(whole, len(errors) - 1)]
    return f"{text}: {word} {errors[n]:.4g}, {at_whole:.4g} for all steps"


def _held_out_errors(model: Any) -> Any:
    """Return the losses at sizes 0, 1, ... of the trial that the model was made by."""
    for trial in reversed(model.search_):
        is_same = trial["gamma"] == model.gamma_ and trial["alpha"] == model.alpha_
        if is_same and "round" not in trial:
            return trial["errors"]
    return None
