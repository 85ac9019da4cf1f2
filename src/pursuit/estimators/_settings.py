"""Check and resolve the simple parameters of the KMP estimators."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit._parameters import (
    check_choice,
    check_flag,
    check_verbose,
    finite_number,
    is_number,
    is_whole,
    number_from_zero,
    positive_number,
    probability,
    row_count,
    thread_count,
    whole_number,
)
from pursuit.bounds.paths import KINDS, BoundRule, check_rule, default_kind
from pursuit.engine.problem import METHODS, Judge
from pursuit.fitting.stopping import CV_PATIENCE, Patience
from pursuit.losses import Loss

SELECTIONS = ("cv", "loo", "validation", "bound", None)


def check_words(estimator: Any) -> None:
    """Check the parameters that are words or flags, and their combinations."""
    check_choice("method", estimator.method, METHODS)
    check_choice("selection", estimator.selection, SELECTIONS)
    for name in ("fit_intercept", "redraw_candidates"):
        check_flag(name, getattr(estimator, name))
    whole_number("degree", estimator.degree, 1)
    finite_number("coef0", estimator.coef0)
    probability("validation_fraction", estimator.validation_fraction)
    thread_count(estimator.n_jobs)
    check_verbose(estimator.verbose)
    if estimator.selection == "loo" and estimator.method == "basic":
        raise ValueError(
            "selection='loo' needs a least-squares fit at each step, which "
            "method='basic' does not make: use method='back-fitting' or "
            "'pre-fitting', or selection='cv'."
        )


def check_loss_words(estimator: Any, loss: Loss, score: Judge | None) -> None:
    """Check the parameters that depend on the loss, and their combinations."""
    every = estimator.backfit_every
    if not is_whole(every, 1):
        raise ValueError(
            f"backfit_every={every!r} must be a whole number of at least 1: after how "
            "many steps all coefficients are optimized again."
        )
    if estimator.selection != "loo":
        return
    if not loss.has_closed_form or every != 1:
        raise ValueError(
            "selection='loo' needs loss='squared' and backfit_every=1, for which "
            "leave-one-out errors have a closed form: use selection='cv'."
        )
    if score is not None:
        raise ValueError(
            "selection='loo' knows the squared leave-one-out error only, not "
            f"scoring={estimator.scoring!r}: use selection='cv'."
        )


def wanted_steps(estimator: Any, n_distinct: int) -> int:
    """Return the number of steps asked for, even if there are fewer candidates."""
    value = estimator.max_support
    if value is None:
        return int(np.clip(10 * np.sqrt(n_distinct), 100, 1000))
    return row_count("max_support", value, n_distinct, (None,))


def max_steps(estimator: Any, n_distinct: int, n_candidates: int) -> int:
    """Return the maximum number of steps."""
    wanted = wanted_steps(estimator, n_distinct)
    # The basic method may choose a point any number of times.
    return wanted if estimator.method == "basic" else min(wanted, n_candidates)


def tol(value: Any) -> float:
    """Return the share of a squared norm that must be left outside the span."""
    if not is_number(value) or not 0.0 <= value < 1.0:
        raise ValueError(
            f"tol={value!r} must be a number of at least 0 and below 1: the share of a "
            "function's squared norm that must lie outside the span of the chosen ones."
        )
    return float(value)


def tolerance(value: Any) -> float | str:
    """Return by how much the error of a smaller size may exceed the lowest."""
    return number_from_zero("size_tolerance", value, ("1se",))


def patience(value: Any, selection: str | None) -> Patience:
    """Return the number of steps without improvement after which a path stops."""
    if value is None:
        return Patience(5) if selection == "loo" else CV_PATIENCE
    if not is_whole(value, 1):
        raise ValueError(
            f"patience={value!r} must be a whole number of at least 1, or None."
        )
    return Patience(int(value))


def bound(estimator: Any, is_class: bool, n_outputs: int, loss: Loss) -> BoundRule:
    """Return the bound that chooses the size; raise if it does not suit the task."""
    check_choice("bound", estimator.bound, ("auto", *KINDS))
    alpha = estimator.bound_alpha
    if alpha is not None:
        positive_number("bound_alpha", alpha)
    delta = probability("delta", estimator.delta)
    is_named = estimator.bound != "auto"
    rule = BoundRule(
        estimator.bound if is_named else default_kind(is_class), alpha, delta
    )
    if estimator.selection == "bound":
        check_rule(rule, is_class, n_outputs)
        if not is_class and not loss.is_identity_linked:
            raise ValueError(
                f"selection='bound' is about functions in the span of kernels, which "
                f"loss={estimator.loss!r} transforms: use selection='cv'."
            )
    return rule


def dtype(value: Any) -> np.dtype:
    """Return the type in which kernel values are stored."""
    for known in (np.dtype("float64"), np.dtype("float32")):
        try:
            if value is not None and np.dtype(value) == known:
                return known
        except TypeError:
            break
    raise ValueError(f"dtype={value!r} must be 'float64' or 'float32'.")
