"""Formulas of everything that ONNX can hold, and the outputs that they have."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pursuit.export.errors import UnsupportedError
from pursuit.export.formula import Answer, Comparison, Formula, KernelGroup
from pursuit.export.models import groups_of
from pursuit.export.preparation import formula_of
from pursuit.export.steps import Input
from pursuit.functions import KernelFunctions

__all__ = ["formula_for", "outputs_of", "whole_formula"]


def formula_for(model: Any) -> Formula:
    """Return the formula of a fitted estimator: a predictor's or a transformer's."""
    if hasattr(model, "components_"):
        return _of_components(model)
    if hasattr(model, "factor_"):
        return _of_metric(model)
    check_is_fitted(model)
    return formula_of(model)


def whole_formula(model: Any) -> Formula | None:
    """Return the formula of a model or pipeline, None if a part of it has none."""
    try:
        return formula_for(model) if _is_ours(model) else formula_of(model)
    except UnsupportedError:
        return None


def outputs_of(answer: Answer) -> tuple[str, ...]:
    """Return the names of a model's outputs; the first two are those by default."""
    if answer.kind == "numbers":
        return ("variable",)
    if answer.has_probabilities:
        return "label", "probabilities", "scores"
    return "label", "scores"


def _is_ours(model: Any) -> bool:
    return hasattr(model, "onnx_converter")


def _of_components(model: Any) -> Formula:
    """Return the components of SparseKernelPCA: linear in kernel values."""
    projection = model._projection
    if projection.values is None:
        raise UnsupportedError(
            "kernel='precomputed' has no formula: fit with a kernel of "
            "pursuit.kernels to export the model."
        )
    kernel, points = projection.values.kernel, model.support_vectors_
    rows = np.asarray(model.support_)
    groups, order = groups_of(KernelFunctions(points, rows, True, kernel))
    return Formula(
        inputs=_inputs(model),
        steps=(),
        groups=tuple(groups),
        coef=np.ascontiguousarray(projection.weights[:, order]),
        intercept=-projection.offset,
        answer=Answer("numbers", "identity", is_single=False),
    )


def _of_metric(model: Any) -> Formula:
    """Return the map of LearnedMetric: a linear kernel on the columns of its factor."""
    factor = np.asarray(model.factor_, dtype=np.float64)
    columns = np.diag(factor) if factor.ndim == 1 else factor.T
    leaf = Comparison("product", "identity", np.ascontiguousarray(columns), np.ones(1))
    size = len(columns)
    return Formula(
        inputs=_inputs(model),
        steps=(),
        groups=(KernelGroup(leaf, size),),
        coef=np.eye(size),
        intercept=np.zeros(size),
        answer=Answer("numbers", "identity", is_single=False),
    )


def _inputs(model: Any) -> tuple[Input, ...]:
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        names = [f"x{i}" for i in range(model.n_features_in_)]
    return tuple(Input(str(name)) for name in names)
