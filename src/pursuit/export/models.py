"""Formulas of fitted models, without their preparation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import is_classifier
from sklearn.utils.validation import check_is_fitted

from pursuit import kernels
from pursuit.calibration import Temperature
from pursuit.functions import (
    Functions,
    Joined,
    KernelFunctions,
    Monomials,
    VariedGaussians,
)
from pursuit.losses import Logistic, Poisson, Softmax

from .errors import UnsupportedError
from .formula import (
    Answer,
    Combination,
    Comparison,
    Formula,
    KernelGroup,
    MonomialGroup,
)
from .steps import Input, Step

__all__ = ["formula_of_model", "groups_of"]


def formula_of_model(
    model: Any, inputs: Sequence[Input], steps: Sequence[Step]
) -> Formula:
    """Return the formula of a fitted KMP estimator behind a preparation."""
    check_is_fitted(model, "dual_coef_")
    functions, coef = model.atoms_, np.asarray(model.dual_coef_, dtype=np.float64)
    groups, order = groups_of(functions)
    return Formula(
        inputs=tuple(inputs),
        steps=tuple(steps),
        groups=tuple(groups),
        coef=np.ascontiguousarray(coef[:, order]),
        intercept=np.asarray(model.intercept_, dtype=np.float64),
        answer=_answer(model),
    )


def _answer(model: Any) -> Answer:
    loss = model.loss_
    if not is_classifier(model):
        link = "exp" if isinstance(loss, Poisson) else "identity"
        if link == "identity" and not loss.is_identity_linked:
            raise UnsupportedError(
                f"The loss {loss!r} turns values into predictions by a function of "
                "your own: export a model of a loss of pursuit.losses."
            )
        return Answer("numbers", link, is_single=model._outputs.is_single)
    labels = tuple(model.classes_.tolist())
    calibration = model._outputs.calibration
    if isinstance(calibration, Temperature):
        # Of two classes, 1 / (1 + exp(-f)) is the softmax of -f / 2 and f / 2.
        is_of_two = len(labels) == 2
        link, halved = ("logistic", 0.5) if is_of_two else ("softmax", 1.0)
        return Answer("classes", link, labels, factor=halved * calibration.factor)
    if calibration is not None:
        raise UnsupportedError(
            f"probability={model.probability!r} cannot be exported: fit with "
            "probability='temperature', or save the model with model.save(path)."
        )
    if isinstance(loss, Logistic):
        link = "logistic" if len(labels) == 2 else "logistic-ovr"
    elif isinstance(loss, Softmax):
        link = "softmax"
    elif hasattr(loss, "probabilities"):
        raise UnsupportedError(
            f"The loss {loss!r} has probabilities of your own: export a model of a "
            "loss of pursuit.losses."
        )
    else:
        link = "identity"
    return Answer("classes", link, labels)


def groups_of(
    functions: Functions,
) -> tuple[list[KernelGroup | MonomialGroup], np.ndarray]:
    """Return the groups of a collection, and the order of its functions in them."""
    if isinstance(functions, Joined):
        parts = [groups_of(part) for part in functions.parts]
        sizes = [len(part) for part in functions.parts]
        starts = np.cumsum([0, *sizes[:-1]])
        inside = [
            start + order for start, (_, order) in zip(starts, parts, strict=True)
        ]
        place = np.argsort(functions.order)  # of each function of the parts
        groups = [group for some, _ in parts for group in some]
        return groups, place[np.concatenate(inside).astype(int)]
    order = np.arange(len(functions))
    if isinstance(functions, KernelFunctions):
        kernel = _node(functions.kernel, _dense(functions.points), None)
        return [KernelGroup(kernel, len(functions))], order
    if isinstance(functions, VariedGaussians):
        centers = _dense(functions.centers)
        leaf = _comparison("squared-distance", "exponential", centers, None)
        leaf = replace(leaf, gamma=np.asarray(functions.gammas, dtype=np.float64))
        return [KernelGroup(leaf, len(functions))], order
    if isinstance(functions, Monomials):
        return [MonomialGroup(functions.factors)], order
    raise UnsupportedError(
        f"{type(functions).__name__} cannot be exported: kernels of the library by "
        "name, their sums and products, learned metrics, a width for each point and "
        "products of features can. Save the model with model.save(path) instead."
    )


def _node(
    kernel: kernels.Kernel, points: np.ndarray, factor: np.ndarray | None
) -> Comparison | Combination:
    """Return a kernel on points as a tree; ``factor`` maps rows before it."""
    if isinstance(kernel, kernels.InMetric):
        inner = np.asarray(kernel.factor, dtype=np.float64)
        return _node(kernel.kernel, points, kernels.metric.composed(factor, inner))
    if isinstance(kernel, kernels.Sum | kernels.Product):
        operation = "sum" if isinstance(kernel, kernels.Sum) else "product"
        both = (kernel.first, kernel.second)
        return Combination(operation, tuple(_node(k, points, factor) for k in both))
    if isinstance(kernel, kernels.Scaled):
        inside = (_node(kernel.kernel, points, factor),)
        return Combination("scaled", inside, float(kernel.factor))
    if isinstance(kernel, kernels.Constant):
        return Combination("constant", (), float(kernel.value))
    return _leaf(kernel, points, factor)


# Quantity, profile and further parameters of each kernel. By type, not by descent: a
# subclass may have a profile of its own.
_LEAVES: dict[type, tuple[str, str, tuple[str, ...]]] = {
    kernels.Gaussian: ("squared-distance", "exponential", ()),
    kernels.Laplacian: ("absolute-distance", "exponential", ()),
    kernels.Matern: ("squared-distance", "matern", ("nu",)),
    kernels.InverseMultiquadric: ("squared-distance", "inverse-multiquadric", ()),
    kernels.Polynomial: ("product", "polynomial", ("coef0", "degree")),
    kernels.Sigmoid: ("product", "tanh", ("coef0",)),
    kernels.Linear: ("product", "identity", ()),
    kernels.Cosine: ("cosine", "identity", ()),
}


# Whole numbers would be stored as such, which a graph does not mix with others.
_FIELDS: dict[str, Any] = {"nu": float, "coef0": float, "degree": int}


def _leaf(
    kernel: kernels.Kernel, points: np.ndarray, factor: np.ndarray | None
) -> Comparison:
    if type(kernel) not in _LEAVES:
        raise UnsupportedError(
            f"The kernel {kernel!r} cannot be exported: it calls Python code. Kernels "
            "of pursuit.kernels, their sums and products can."
        )
    quantity, profile, names = _LEAVES[type(kernel)]
    leaf = _comparison(quantity, profile, points, factor)
    gamma = getattr(kernel, "gamma", None)
    numbers = np.ones(1) if gamma is None else np.full(1, float(gamma))
    others = {name: _FIELDS[name](getattr(kernel, name)) for name in names}
    return replace(leaf, gamma=numbers, **others)


def _comparison(
    quantity: str, profile: str, points: np.ndarray, factor: np.ndarray | None
) -> Comparison:
    origin = None
    centers = points
    if quantity.endswith("distance") and len(points):
        origin = points.mean(axis=0)
        centers = points - origin
    if factor is not None:
        centers = centers * factor if factor.ndim == 1 else centers @ factor
    if quantity == "cosine":
        lengths = np.linalg.norm(centers, axis=1, keepdims=True)
        centers = centers / np.where(lengths > 0, lengths, 1.0)
    return Comparison(quantity, profile, centers, np.ones(1), factor, origin)


def _dense(points: Any) -> np.ndarray:
    points = points.toarray() if sparse.issparse(points) else points
    return np.ascontiguousarray(points, dtype=np.float64)
