"""Records of kernels, losses, dictionaries and what chooses sizes and metrics."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit import dictionaries, kernels, losses, methods, metrics, selection

from ._components import component

__all__ = ["RECORDS", "check_kernel", "check_loss"]

_FAMILIES: dict[str, Any] = {
    "kernels": (
        kernels.Constant,
        kernels.Cosine,
        kernels.Gaussian,
        kernels.InMetric,
        kernels.InverseMultiquadric,
        kernels.Laplacian,
        kernels.Linear,
        kernels.Matern,
        kernels.Polynomial,
        kernels.Product,
        kernels.Scaled,
        kernels.Sigmoid,
        kernels.Sum,
    ),
    "losses": (
        losses.Absolute,
        losses.Doom2,
        losses.Exponential,
        losses.Hinge,
        losses.Huber,
        losses.JointMargin,
        losses.Logistic,
        losses.Margin,
        losses.PairwiseLogistic,
        losses.PairwiseSquaredHinge,
        losses.PlackettLuce,
        losses.Poisson,
        losses.Quantile,
        losses.Softmax,
        losses.Squared,
        losses.SquaredHinge,
        losses.SquaredTanh,
    ),
    "dictionaries": (
        dictionaries.AdaptiveGaussian,
        dictionaries.Constant,
        dictionaries.Features,
        dictionaries.KernelPerClass,
        dictionaries.ManyKernels,
        dictionaries.ManyWidths,
        dictionaries.OneKernel,
        dictionaries.OrientedGaussians,
        dictionaries.Precomputed,
        dictionaries.Transformed,
        dictionaries.Union,
    ),
    "selection": (
        selection.CrossValidation,
        selection.FixedSize,
        selection.LeaveOneOut,
        selection.MinimalBound,
        selection.Validation,
    ),
    "methods": (
        methods.BackFitting,
        methods.Basic,
        methods.PreFitting,
        methods.Redrawn,
    ),
    "metrics": (metrics.Best, metrics.Diagonal, metrics.Full, metrics.Given),
}

RECORDS = tuple(
    component(family, kind) for family, kinds in _FAMILIES.items() for kind in kinds
)

# A polynomial multiplies as often as its degree.
_HIGHEST_DEGREE = 10_000
_LOSSES = _FAMILIES["losses"]


def check_kernel(kernel: Any, n_features: int, owner: str) -> None:
    """Raise a ValueError unless a kernel of the library can compare such points."""
    if type(kernel) not in _FAMILIES["kernels"]:
        raise ValueError(f"The kernel of {owner} is not one of pursuit.kernels.")
    if isinstance(kernel, kernels.Sum | kernels.Product):
        for part in (kernel.first, kernel.second):
            check_kernel(part, n_features, owner)
        return
    if isinstance(kernel, kernels.InMetric):
        factor = kernel.factor
        is_numbers = isinstance(factor, np.ndarray) and factor.dtype.kind in "fi"
        if not is_numbers or factor.ndim not in (1, 2) or len(factor) != n_features:
            raise ValueError(f"The metric of {owner} is not for {n_features} columns.")
        n_features = factor.shape[-1]
    if isinstance(kernel, kernels.InMetric | kernels.Scaled):
        check_kernel(kernel.kernel, n_features, owner)
    if isinstance(kernel, kernels.Polynomial):
        degree: Any = kernel.degree
        if type(degree) is not int or not 1 <= degree <= _HIGHEST_DEGREE:
            raise ValueError(f"The degree of the kernel of {owner} is {degree!r:.30}.")
    kernel._check()


def check_loss(loss: Any, owner: str) -> None:
    """Raise a ValueError unless a loss is one of the library."""
    if type(loss) not in _LOSSES:
        raise ValueError(f"The loss of {owner} is not one of pursuit.losses.")
