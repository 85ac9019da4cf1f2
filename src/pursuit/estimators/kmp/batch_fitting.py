"""Fits by trips over the rows.

A part of the rows, drawn by content, chooses kernel, width and ridge by a usual fit.
Trips over all rows then find the points, their number and the coefficients.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from pursuit._parameters import is_number, is_word
from pursuit._warnings import warn
from pursuit.dictionaries import OneKernel
from pursuit.estimators._batches import set_columns
from pursuit.fitting import REASONS
from pursuit.fitting.curves import CV_PATIENCE, HeldOutError, Patience
from pursuit.functions import Functions, KernelFunctions
from pursuit.gradients import importances
from pursuit.losses import Loss
from pursuit.path import Path, join
from pursuit.sample import Sample
from pursuit.selection import Selection
from pursuit.trips import Visits
from pursuit.trips.blocks import CodedRows
from pursuit.trips.drawing import LEAST_OF_A_CLASS, Drawn
from pursuit.trips.looking import Look
from pursuit.trips.lowest import places_in_class
from pursuit.trips.procedure import Choices, least_alpha, pursue
from pursuit.trips.refitting import Refit
from pursuit.trips.summing import Sum, Summed

from .attributes import IMPORTANCE_ROWS, path_attributes
from .batch_planning import BatchPlan, check_suits_batches, make_batch_plan
from .outputs import ClassOutputs, NumberOutputs, Outputs
from .planning import loss_ridge
from .summary import size_reason

# Rows of the part on which kernels, widths and ridges are compared.
SEARCH_ROWS = 10_000


def fit_visits(model: Any, visits: Visits) -> None:
    """Fit the model by trips over rows that may be anywhere."""
    start = time.perf_counter()
    settings = model._settings()
    check_suits_batches(model, settings)
    looked = visits.total(Look(is_classifier(model)))
    plan = make_batch_plan(model, settings, looked)
    drawn = visits.total(plan.draw)
    part = drawn.part.rows
    if drawn.part.is_complete:
        model.fit(part.X, plan.coding.targets_of(part), part.counts)
    else:
        outputs = _outputs(model, plan, part)
        searched = _searched(model, plan, drawn)
        plan.check_memory(len(searched.functions))
        result = _pursued(visits, plan, part, searched, outputs.loss)
        _take(model, plan, part, searched, outputs, result)
    set_columns(model, looked.n_features, visits.feature_names)
    model._n_rows, model._is_batched = looked.n_used, True
    model._seconds = time.perf_counter() - start


def _outputs(model: Any, plan: BatchPlan, part: CodedRows) -> Outputs:
    """Return how values become predictions, and the loss."""
    classes = plan.coding.classes
    is_joint = plan.is_shared and plan.coding.n_outputs > 1 and classes is not None
    # As `fit` on as many rows: "auto" is the squared loss.
    is_joint = is_joint and not is_word(model.loss, "auto")
    loss = model._bound_loss(plan.settings, part.Y, part.weight, is_joint)
    if classes is not None:
        return ClassOutputs(classes, loss)
    return NumberOutputs(loss, is_single=plan.looked.is_single)


# -- kernel, width and ridge -------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Searched:
    """What the part has chosen.

    Attributes
    ----------
    functions : Functions
        The candidates, all over the rows.
    alpha : float
    trials : list of dict
        What was compared, as ``search_`` has it.
    """

    functions: Functions
    alpha: float
    trials: list[dict[str, Any]]


def _searched(model: Any, plan: BatchPlan, drawn: Drawn) -> _Searched:
    """Return candidates and ridge: those that are given, or the best on the part."""
    dictionary, centers = plan.settings.dictionary, drawn.centers.rows
    if not plan.has_choice:
        assert dictionary is not None
        sample = Sample.of(centers.X, centers.Y, centers.counts)
        (functions,) = dictionary.learn(sample)
        alpha, trials = float(plan.settings.alpha), []
    else:
        rows = _rows_to_search(plan, drawn.part.rows)
        chooser = clone(model).set_params(max_support=min(plan.max_steps, len(rows)))
        if is_word(model.loss, "auto"):
            chooser.set_params(loss="squared")
        if model.random_state is None:
            # A fit that is resumed, or runs elsewhere, must choose the same.
            chooser.set_params(random_state=0)
        fit = chooser._fit(rows.X, plan.coding.targets_of(rows), rows.counts, None)
        functions, alpha, trials = fit.dictionary, fit.alpha, chooser.search_
    is_on_rows = dictionary is None or (
        isinstance(dictionary, OneKernel) and dictionary.centers is None
    )
    kernel = getattr(functions, "kernel", None)
    if is_on_rows and kernel is not None:
        numbers = np.arange(len(centers))
        functions = KernelFunctions(centers.X, numbers, on_rows=False, kernel=kernel)
    return _Searched(functions, alpha, trials)


def _rows_to_search(plan: BatchPlan, part: CodedRows) -> CodedRows:
    """Return some rows that are not held out, and a few of each class.

    The part is in a random order, so that its first rows are a sample.
    """
    fitted = np.flatnonzero(~plan.contents.are_held_out(part.X))
    is_kept = np.arange(len(fitted)) < SEARCH_ROWS
    if plan.coding.classes is not None:
        is_kept |= places_in_class(part.codes[fitted]) < LEAST_OF_A_CLASS
    return part.some(fitted[is_kept])


# -- points, size and coefficients -------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Result:
    """The paths, a size on each, their ridge, and what held-out rows say of them."""

    paths: Sequence[Path]
    sizes: list[int]
    alpha: float
    held_out: HeldOutError | None


def _pursued(
    visits: Visits, plan: BatchPlan, part: CodedRows, searched: _Searched, loss: Loss
) -> _Result:
    """Return what the sums over all rows determine."""
    settings, functions = plan.settings, searched.functions
    intercept = settings.fit_intercept and loss.frees_constant
    # Near the means of the targets.
    shift = (
        part.Y @ part.weight / part.weight.sum() if intercept else 0.0 * part.Y[:, 0]
    )
    summed = visits.total(
        Sum(plan.coding, plan.contents, functions, shift, settings.dtype)
    )
    is_squared, ratio = loss.has_closed_form, 1.0
    if not is_squared and not is_number(settings.alpha):
        ratio = loss_ridge(loss, part.Y, part.weight)
    alpha = _squared_alpha(plan, searched, summed, ratio)
    pursued = pursue(summed, shift, _choices(plan, alpha, intercept))
    paths, sizes = pursued.paths, pursued.sizes
    if is_squared:
        return _Result(paths, sizes, alpha, pursued.held_out)
    refit = Refit(
        coding=plan.coding,
        contents=plan.contents,
        functions=functions,
        loss=loss,
        alpha=alpha * ratio,
        part=part,
        total=plan.looked.total,
    )
    choices = zip(paths, sizes, plan.outputs_of_paths, strict=True)
    refitted, held_out = refit.run(visits, choices)
    return _Result(refitted, sizes, refit.alpha, held_out)


def _squared_alpha(
    plan: BatchPlan, searched: _Searched, summed: Summed, ratio: float
) -> float:
    """Return the ridge under squared loss, large enough to go by inner products.

    Under the loss it is ``ratio`` times as large.
    """
    least = least_alpha(summed)
    if searched.alpha / ratio < least and is_number(plan.settings.alpha):
        warn(
            f"alpha={searched.alpha:.3g} is smaller than inner products, summed over "
            f"{summed.n_rows} rows, can tell from 0: alpha={least * ratio:.3g} is "
            "used instead."
        )
    return max(searched.alpha / ratio, least)


def _choices(plan: BatchPlan, alpha: float, intercept: bool) -> Choices:
    method, selection = plan.settings.method, plan.selection
    return Choices(
        method=method.word,
        alpha=alpha,
        fit_intercept=intercept,
        max_steps=plan.max_steps,
        tol=float(method.tol),
        patience=_patience(selection),
        tolerance=selection.tolerance if selection.word is not None else 0.0,
        outputs_of_paths=plan.outputs_of_paths,
    )


def _patience(selection: Selection) -> Patience:
    n = getattr(selection, "patience", None)
    return CV_PATIENCE if n is None else Patience(int(n))


# -- the model ---------------------------------------------------------------------


def _take(
    model: Any,
    plan: BatchPlan,
    part: CodedRows,
    searched: _Searched,
    outputs: Outputs,
    result: _Result,
) -> None:
    """Give the model its attributes."""
    path, functions = join(result.paths), searched.functions
    reason = path.stop_reason
    model._set(
        {
            **path_attributes(path, result.sizes, functions[path.support]),
            "alpha_": result.alpha,
            "gamma_": functions.gamma,
            "_outputs": outputs,
            "_was_matrix": False,
            "_n_candidates": len(functions),
            "_framer": None,
            "loss_": outputs.loss,
            "selection_": plan.selection.word,
            "_held_out": result.held_out,
            "search_": searched.trials,
            "stop_reason_": REASONS[reason],
            "size_reason_": size_reason(
                plan.selection, result.sizes, len(path), 1, reason
            ),
        }
    )
    if plan.coding.classes is not None:
        model.classes_ = plan.coding.classes
    model._keep_folds([])
    model._importances = _importances(model, part)


def _importances(model: Any, part: CodedRows) -> np.ndarray | None:
    """Return the importances of the features, on rows of the part."""
    kernel = getattr(model.atoms_, "kernel", None)
    if kernel is None or not kernel.has_gradients:
        return None
    rows = slice(0, IMPORTANCE_ROWS)
    points, coef = model.support_vectors_, model.dual_coef_.T
    return importances(kernel, part.X[rows], points, coef, part.counts[rows])
