r"""Losses that a pursuit can minimize.

A loss is pointwise in the target y and the prediction f; it knows neither kernels nor
data. Losses for classification are functions of the margin :math:`m = y f` with
targets y of -1 and +1, most losses for regression functions of the residual
:math:`r = y - f`. Losses for ranking compare the predictions of a group of rows.

Your own loss is a class with ``value`` and ``gradient`` (or, for a function of the
margin, ``of_margin`` and ``slope``); :func:`check_loss` tests whether it is correct.
"""

from __future__ import annotations

from typing import Any

from pursuit._parameters import did_you_mean

from ._base import Loss, MarginLoss
from .classes import (
    Doom2,
    Exponential,
    Hinge,
    JointMargin,
    Logistic,
    Margin,
    Softmax,
    SquaredHinge,
    SquaredTanh,
)
from .groups import GroupLoss, PairwiseLogistic, PairwiseSquaredHinge, PlackettLuce
from .laws import check_loss
from .regression import Absolute, Huber, Poisson, Quantile, Squared

__all__ = [
    "Absolute",
    "Doom2",
    "Exponential",
    "GroupLoss",
    "Hinge",
    "Huber",
    "JointMargin",
    "Logistic",
    "Loss",
    "Margin",
    "MarginLoss",
    "PairwiseLogistic",
    "PairwiseSquaredHinge",
    "PlackettLuce",
    "Poisson",
    "Quantile",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "SquaredTanh",
    "as_loss",
    "check_loss",
]

_NAMED: dict[str, type[Loss]] = {
    "squared": Squared,
    "squared-tanh": SquaredTanh,
    "exponential": Exponential,
    "logistic": Logistic,
    "doom2": Doom2,
    "hinge": Hinge,
    "squared-hinge": SquaredHinge,
    "margin": Margin,
    "absolute": Absolute,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
}


RANKING: dict[str, type[Loss]] = {
    "squared": Squared,
    "logistic": PairwiseLogistic,
    "squared-hinge": PairwiseSquaredHinge,
    "plackett-luce": PlackettLuce,
}


def names(is_class: bool) -> list[str]:
    """Return the names of the losses for classification or regression."""
    fits = "fits_classes" if is_class else "fits_numbers"
    return [name for name, loss in _NAMED.items() if getattr(loss, fits)]


def is_named(loss: Any, kind: type[Loss]) -> bool:
    """Return whether a loss, given by name or as an object, is of the given class."""
    named = isinstance(loss, str) and _NAMED.get(loss) is kind
    return named or isinstance(loss, kind)


def as_loss(loss: Any, is_class: bool) -> Loss:
    """Return the loss of the given name, or the given object, after checks.

    Parameters
    ----------
    loss : str or Loss
    is_class : bool
        Whether the targets are classes, or numbers.
    """
    resolved = _NAMED[loss]() if isinstance(loss, str) and loss in _NAMED else loss
    kind = "classification" if is_class else "regression"
    fits = "fits_classes" if is_class else "fits_numbers"
    if not isinstance(resolved, Loss) or not getattr(resolved, fits):
        listed = ", ".join(repr(name) for name in ["auto", *names(is_class)])
        raise ValueError(
            f"loss={loss!r} is not a loss for {kind}: choose one of {listed}, or pass "
            f"an instance of a subclass of pursuit.losses."
            f"{'MarginLoss' if is_class else 'Loss'}."
            f"{did_you_mean(loss, names(is_class))}"
        )
    resolved.check_parameters()
    return resolved


def as_ranking_loss(loss: Any) -> Loss:
    """Return the loss of groups of the given name, or the given object, after checks.

    The squared loss is that of all pairs of a group, whose rows are then centered.
    """
    is_name = isinstance(loss, str) and loss in RANKING
    resolved = RANKING[loss]() if is_name else loss
    if not isinstance(resolved, GroupLoss) and type(resolved) is not Squared:
        listed = ", ".join(map(repr, RANKING))
        raise ValueError(
            f"loss={loss!r} is not a loss for ranking: choose one of {listed}, or pass "
            "an instance of a subclass of pursuit.losses.GroupLoss."
            f"{did_you_mean(loss, list(RANKING))}"
        )
    resolved.check_parameters()
    return resolved
