r"""Losses: what a pursuit minimises.

A loss is pointwise in the target y and the prediction f; it knows neither kernels nor
data.  Those for classes are functions of the margin :math:`m = y f` with y of -1 and
+1, those for regression functions of the residue :math:`r = y - f`.

A loss of your own is a class with ``value`` and ``gradient`` (or, of the margin,
``of_margin`` and ``slope``); :func:`pursuit.loss_laws.check_loss` tells
whether it keeps the laws.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import expit, xlogy

from ._loss import (
    Loss,
    MarginLoss,
    exp_cut,
    robust_scale,
    rounded_absolute,
    rounded_sign,
    tip_curvature,
    touching_curvature,
)
from ._quantiles import lower_quantile

__all__ = [
    "Absolute",
    "Doom2",
    "Exponential",
    "Hinge",
    "Huber",
    "Logistic",
    "Loss",
    "MarginLoss",
    "Poisson",
    "Quantile",
    "Softmax",
    "Squared",
    "SquaredHinge",
    "SquaredTanh",
    "as_loss",
]

_LOG2 = np.log(2.0)

# Widths of what is rounded off or robust, as shares of the targets' spread.
_ROUNDING, _HUBER = 0.05, 0.5


class Squared(Loss):
    """Least squares, ``(y - f)**2``; for classes ``(1 - m)**2``."""

    fits_classes = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the squared residue."""
        return (y - f) ** 2

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return 2.0 * (f - y)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return 2."""
        return np.full_like(f, 2.0)


# -- classes -----------------------------------------------------------------------


class Logistic(MarginLoss):
    r"""Logistic loss, :math:`\log_2(1 + e^{-2m})`: gives probabilities.

    LogitBoost's loss: the negative log-likelihood, in bits, of classes of
    :math:`P(y = 1) = 1 / (1 + e^{-2f})`.  Over a shared support, several classes
    have one :class:`Softmax`.
    """

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return the bits that the class takes."""
        return np.logaddexp(0.0, -2.0 * m) / _LOG2

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return (-2.0 / _LOG2) * expit(-2.0 * m)

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        p = expit(-2.0 * m)
        return (4.0 / _LOG2) * p * (1.0 - p)

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return half the log-odds of the classes."""
        share = ((y > 0) @ weight) / weight.sum()
        return np.arctanh(np.clip(2.0 * share - 1.0, -0.999, 0.999))

    def jointly(self) -> Loss:
        """Return :class:`Softmax`."""
        return Softmax()

    def probabilities(self, f: np.ndarray) -> np.ndarray:
        """Return the classes' probabilities (2, n) or, normalised, (T, n)."""
        if len(f) == 1:
            return np.concatenate([expit(-2.0 * f), expit(2.0 * f)])
        p = expit(2.0 * f)
        return p / np.maximum(p.sum(axis=0), np.finfo(float).tiny)


def _softmax(f: np.ndarray) -> np.ndarray:
    p = np.exp(f - f.max(axis=0))
    return p / p.sum(axis=0)


class Softmax(Loss):
    r"""Multinomial logistic loss, :math:`-\log_2 P(c)`, P the softmax of all outputs.

    The targets of a sample are +1 for its class and -1 for the others.  With two
    classes and ``f = (-g, g)`` it is :class:`Logistic` of ``g``.
    """

    fits_numbers = False
    fits_classes = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the bits that each sample's class takes, shape (n,)."""
        shifted = f - f.max(axis=0)
        own = np.where(y > 0, shifted, 0.0).sum(axis=0)
        return (np.log(np.exp(shifted).sum(axis=0)) - own) / _LOG2

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivatives in each output."""
        return (_softmax(f) - (y > 0)) / _LOG2

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the second derivatives in each output by itself."""
        p = _softmax(f)
        return p * (1.0 - p) / _LOG2

    def second(
        self, y: np.ndarray, f: np.ndarray
    ) -> Callable[[np.ndarray], np.ndarray]:
        """Return the function that multiplies by diag(p) - p p'."""
        p = _softmax(f)
        return lambda V: p * (V - (p * V).sum(axis=0)) / _LOG2

    def reduced(self, theta: np.ndarray) -> np.ndarray:
        """Return the loads less their mean: what all outputs share does nothing."""
        return theta - theta.mean(axis=0)

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the logarithms of the classes' shares."""
        share = ((y > 0) @ weight) / weight.sum()
        logs = np.log(np.maximum(share, 1e-3))
        return logs - logs.mean()

    def probabilities(self, f: np.ndarray) -> np.ndarray:
        """Return the classes' probabilities (T, n)."""
        return _softmax(f)


class Exponential(MarginLoss):
    """AdaBoost's loss, ``exp(-m)``."""

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return exp(-m)."""
        return exp_cut(-m)

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return -exp_cut(-m)

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        return exp_cut(-m)


class SquaredTanh(MarginLoss):
    """Squared loss after tanh, ``(target - tanh(m))**2``; not convex.

    Points far on the wrong side pull no more than others do: the papers' "KMP-tanh".

    Parameters
    ----------
    target : float, default=0.65
        Between 0 and 1.
    """

    is_convex = False

    def __init__(self, target: float = 0.65) -> None:
        self.target = target

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return the squared difference."""
        return (self.target - np.tanh(m)) ** 2

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        t = np.tanh(m)
        return -2.0 * (self.target - t) * (1.0 - t * t)

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        t = np.tanh(m)
        return 2.0 * (1.0 - t * t) * (1.0 - 3.0 * t * t + 2.0 * self.target * t)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of the squared difference with tanh made linear."""
        t = np.tanh(y * f)
        return 2.0 * (1.0 - t * t) ** 2

    def check_parameters(self) -> None:
        """Raise a ValueError unless the target is between 0 and 1."""
        self._check_share("target")


class Doom2(MarginLoss):
    """Doom II's loss, ``1 - tanh(m)``; not convex.

    It falls without end as all margins grow: a ridge keeps the coefficients bounded.
    A constant would run away to where all points of the rarer class are given up, so
    there is none (``intercept_`` is 0).
    """

    is_convex = False
    frees_constant = False

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return 1 - tanh(m)."""
        return 1.0 - np.tanh(m)

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return np.tanh(m) ** 2 - 1.0

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        t = np.tanh(m)
        return 2.0 * t * (1.0 - t * t)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the slope's size: large where a point can still be won or lost."""
        return 1.0 - np.tanh(y * f) ** 2


class Hinge(MarginLoss):
    """The SVM's loss ``max(0, 1 - m)``, its corner rounded off.

    Parameters
    ----------
    smoothing : float, default=0.5
        From ``1 - smoothing`` to 1 a parabola joins the two straight parts.
    """

    def __init__(self, smoothing: float = 0.5) -> None:
        self.smoothing = smoothing

    def _arguments(self, m: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the distance before the middle of the corner, and half its width."""
        half = self.smoothing / 2
        return 1.0 - half - m, half

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return the loss."""
        r, half = self._arguments(m)
        return (rounded_absolute(r, half) + r) / 2

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return -(rounded_sign(*self._arguments(m)) + 1.0) / 2

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        return tip_curvature(*self._arguments(m)) / 2

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of a parabola above the loss."""
        return touching_curvature(*self._arguments(y * f)) / 2

    def check_parameters(self) -> None:
        """Raise a ValueError unless the smoothing is positive."""
        self._check_positive("smoothing")


class SquaredHinge(MarginLoss):
    """The squared hinge, ``max(0, 1 - m)**2``."""

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return the loss."""
        return np.maximum(0.0, 1.0 - m) ** 2

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return -2.0 * np.maximum(0.0, 1.0 - m)

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        return np.where(m < 1.0, 2.0, 0.0)


# -- regression --------------------------------------------------------------------


class _RobustLoss(Loss):
    """What the losses of small influence share: they begin at the median."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the median of each output."""
        return np.array([lower_quantile(row, weight, 0.5) for row in y])


class Absolute(_RobustLoss):
    """Least absolute deviations, ``|y - f|``, its tip rounded off: robust, the median.

    Parameters
    ----------
    smoothing : float or None, default=None
        Residues below it have a parabola instead.  None: a twentieth of the targets'
        spread.
    """

    def __init__(self, smoothing: Any = None) -> None:
        self.smoothing = smoothing

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss."""
        return rounded_absolute(y - f, self.smoothing)

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return -rounded_sign(y - f, self.smoothing)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        return tip_curvature(y - f, self.smoothing)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of a parabola above the loss."""
        return touching_curvature(y - f, self.smoothing)

    def bind(self, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return the loss with its smoothing as numbers."""
        if self.smoothing is not None:
            return self
        return Absolute(_ROUNDING * robust_scale(y, weight))

    def check_parameters(self) -> None:
        """Raise a ValueError unless the smoothing is positive."""
        self._check_positive("smoothing", None)


class Huber(_RobustLoss):
    """Huber's loss: ``r**2`` up to delta, ``2 delta |r| - delta**2`` beyond.

    Parameters
    ----------
    delta : float or None, default=None
        From where on residues count by their size instead of its square.  None: half
        of the targets' spread.
    """

    def __init__(self, delta: Any = None) -> None:
        self.delta = delta

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss."""
        return self.delta * (2.0 * rounded_absolute(y - f, self.delta) - self.delta)

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return -2.0 * np.clip(y - f, -self.delta, self.delta)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        return np.where(np.abs(y - f) < self.delta, 2.0, 0.0)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of a parabola above the loss."""
        return 2.0 * self.delta * touching_curvature(y - f, self.delta)

    def bind(self, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return the loss with its delta as numbers."""
        if self.delta is not None:
            return self
        return Huber(_HUBER * robust_scale(y, weight))

    def check_parameters(self) -> None:
        """Raise a ValueError unless delta is positive."""
        self._check_positive("delta", None)


class Quantile(Loss):
    """The pinball loss, its tip rounded off: fits a quantile of y given x.

    ``quantile * r`` for positive residues, ``(quantile - 1) * r`` for negative ones.

    Parameters
    ----------
    quantile : float, default=0.5
        Between 0 and 1; 0.5 is half of :class:`Absolute`.
    smoothing : float or None, default=None
        Residues below it have a parabola instead.  None: a twentieth of the targets'
        spread.
    """

    def __init__(self, quantile: float = 0.5, smoothing: Any = None) -> None:
        self.quantile = quantile
        self.smoothing = smoothing

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss."""
        r = y - f
        return rounded_absolute(r, self.smoothing) / 2 + (self.quantile - 0.5) * r

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return 0.5 - self.quantile - rounded_sign(y - f, self.smoothing) / 2

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        return tip_curvature(y - f, self.smoothing) / 2

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of a parabola above the loss."""
        return touching_curvature(y - f, self.smoothing) / 2

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the quantile of each output."""
        return np.array([lower_quantile(row, weight, self.quantile) for row in y])

    def bind(self, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return the loss with its smoothing as numbers."""
        if self.smoothing is not None:
            return self
        return Quantile(self.quantile, _ROUNDING * robust_scale(y, weight))

    def check_parameters(self) -> None:
        """Raise a ValueError unless the quantile is between 0 and 1."""
        self._check_share("quantile")
        self._check_positive("smoothing", None)


class Poisson(Loss):
    """Half the Poisson deviance of counts or rates with mean ``exp(f)``."""

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return half the deviance."""
        return exp_cut(f) - y * f + xlogy(y, y) - y

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return its derivative."""
        return exp_cut(f) - y

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return its second derivative."""
        return exp_cut(f)

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the logarithm of the mean."""
        mean = (y @ weight) / weight.sum()
        return np.log(np.maximum(mean, 1e-12))

    def mean(self, f: np.ndarray) -> np.ndarray:
        """Return exp(f)."""
        return exp_cut(f)

    def check_targets(self, y: np.ndarray) -> None:
        """Raise a ValueError if a target is negative."""
        if np.any(y < 0):
            raise ValueError(
                f"loss='poisson' needs targets of 0 or more; the lowest is {y.min():g}."
            )


_NAMED: dict[str, type[Loss]] = {
    "squared": Squared,
    "squared-tanh": SquaredTanh,
    "exponential": Exponential,
    "logistic": Logistic,
    "doom2": Doom2,
    "hinge": Hinge,
    "squared-hinge": SquaredHinge,
    "absolute": Absolute,
    "huber": Huber,
    "quantile": Quantile,
    "poisson": Poisson,
}


def names(is_class: bool) -> list[str]:
    """Return the names of the losses for classes, or for regression."""
    fits = "fits_classes" if is_class else "fits_numbers"
    return [name for name, loss in _NAMED.items() if getattr(loss, fits)]


def is_named(loss: Any, kind: type[Loss]) -> bool:
    """Return whether a name or an object, as given by a user, is a loss of a kind."""
    named = isinstance(loss, str) and _NAMED.get(loss) is kind
    return named or isinstance(loss, kind)


def as_loss(loss: Any, is_class: bool) -> Loss:
    """Return the loss that a name stands for, or the object itself, checked.

    Parameters
    ----------
    loss : str or Loss
    is_class : bool
        Whether it is to fit classes, or numbers.
    """
    found = _NAMED[loss]() if isinstance(loss, str) and loss in _NAMED else loss
    kind = "classification" if is_class else "regression"
    fits = "fits_classes" if is_class else "fits_numbers"
    if not isinstance(found, Loss) or not getattr(found, fits):
        listed = ", ".join(repr(name) for name in names(is_class))
        raise ValueError(
            f"loss={loss!r} is not a loss for {kind}: choose one of {listed}, or pass "
            f"an instance of a subclass of pursuit.losses."
            f"{'MarginLoss' if is_class else 'Loss'}."
        )
    found.check_parameters()
    return found
