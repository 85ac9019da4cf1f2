"""Losses for classification: functions of the margin m = y f with y of -1 and +1."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, log_expit, log_softmax, logsumexp

from ._base import (
    Loss,
    MarginLoss,
    exp_cut,
    rounded_absolute,
    rounded_sign,
    tip_curvature,
    touching_curvature,
)

_LOG2 = np.log(2.0)


class Logistic(MarginLoss):
    r"""Logistic loss, :math:`\log_2(1 + e^{-2m})`, which gives probabilities.

    The loss of LogitBoost: the negative log-likelihood, in bits, of classes with
    :math:`P(y = 1) = 1 / (1 + e^{-2f})`. Several classes that share their support
    points use one :class:`Softmax`.
    """

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return the negative log-likelihood in bits."""
        return np.logaddexp(0.0, -2.0 * m) / _LOG2

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return (-2.0 / _LOG2) * expit(-2.0 * m)

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
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
        """Return class probabilities (2, n), or (T, n) normalized over T outputs."""
        if len(f) == 1:
            return np.concatenate([expit(-2.0 * f), expit(2.0 * f)])
        # By logarithms: far from all classes every share rounds to 0.
        return np.exp(self.log_probabilities(f))

    def log_probabilities(self, f: np.ndarray) -> np.ndarray:
        """Return their logarithms, finite even where these round to 0."""
        if len(f) == 1:
            return np.concatenate([log_expit(-2.0 * f), log_expit(2.0 * f)])
        logs = log_expit(2.0 * f)
        return logs - logsumexp(logs, axis=0)


def _softmax(f: np.ndarray) -> np.ndarray:
    p = np.exp(f - f.max(axis=0))
    return p / p.sum(axis=0)


class Softmax(Loss):
    r"""Multinomial logistic loss, :math:`-\log_2 P(c)`.

    P is the softmax of all outputs. The targets of a sample are +1 for its class and
    -1 for the others. With two classes and ``f = (-g, g)`` it is :class:`Logistic` of
    ``g``, which takes its place where there is one output for both.
    """

    fits_numbers = False
    fits_classes = True
    ignores_common_part = True

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the negative log-likelihood of each sample in bits, shape (n,)."""
        shifted = f - f.max(axis=0)
        chosen = np.where(y > 0, shifted, 0.0).sum(axis=0)
        return (np.log(np.exp(shifted).sum(axis=0)) - chosen) / _LOG2

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative in each output."""
        return (_softmax(f) - (y > 0)) / _LOG2

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the diagonal second derivatives, in each output by itself."""
        p = _softmax(f)
        return p * (1.0 - p) / _LOG2

    def coupling(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the probabilities, in the units of the loss."""
        return _softmax(f) / np.sqrt(_LOG2)

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the logarithms of the class frequencies."""
        share = ((y > 0) @ weight) / weight.sum()
        logs = np.log(np.maximum(share, 1e-3))
        return logs - logs.mean()

    def bind(self, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return :class:`Logistic` for the one output of two classes."""
        return Logistic() if len(y) == 1 else self

    def probabilities(self, f: np.ndarray) -> np.ndarray:
        """Return the class probabilities (T, n)."""
        return _softmax(f)

    def log_probabilities(self, f: np.ndarray) -> np.ndarray:
        """Return their logarithms, finite even where these round to 0."""
        return log_softmax(f, axis=0)


class Exponential(MarginLoss):
    """Exponential loss, ``exp(-m)``, as in AdaBoost."""

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return exp(-m)."""
        return exp_cut(-m)

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return -exp_cut(-m)

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
        return exp_cut(-m)


class SquaredTanh(MarginLoss):
    """Squared loss after tanh, ``(target - tanh(m))**2``; not convex.

    Points far on the wrong side have little influence. This is the "KMP-tanh" of the
    papers.

    Parameters
    ----------
    target : float, default=0.65
        Target of tanh(m), between 0 and 1.
    """

    is_convex = False

    def __init__(self, target: float = 0.65) -> None:
        self.target = target

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return the squared difference."""
        return (self.target - np.tanh(m)) ** 2

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        t = np.tanh(m)
        return -2.0 * (self.target - t) * (1.0 - t * t)

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
        t = np.tanh(m)
        return 2.0 * (1.0 - t * t) * (1.0 - 3.0 * t * t + 2.0 * self.target * t)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of the loss with tanh linearized (Gauss-Newton)."""
        t = np.tanh(y * f)
        return 2.0 * (1.0 - t * t) ** 2

    def check_parameters(self) -> None:
        """Raise a ValueError unless the target is between 0 and 1."""
        self._check_share("target")


class Doom2(MarginLoss):
    """Loss of DOOM II, ``1 - tanh(m)``; not convex.

    It keeps falling as all margins grow: a ridge keeps the coefficients bounded. A
    constant would diverge and give up all points of the rarer class, so there is none
    (``intercept_`` is 0).
    """

    is_convex = False
    frees_constant = False

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return 1 - tanh(m)."""
        return 1.0 - np.tanh(m)

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return np.tanh(m) ** 2 - 1.0

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
        t = np.tanh(m)
        return 2.0 * t * (1.0 - t * t)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the absolute slope, large near the decision boundary."""
        return 1.0 - np.tanh(y * f) ** 2


class Hinge(MarginLoss):
    """Hinge loss of the SVM, ``max(0, 1 - m)``, with a smoothed corner.

    Parameters
    ----------
    smoothing : float, default=0.5
        A parabola from ``1 - smoothing`` to 1 joins the two straight parts.
    """

    def __init__(self, smoothing: float = 0.5) -> None:
        self.smoothing = smoothing

    def _arguments(self, m: np.ndarray) -> tuple[np.ndarray, float]:
        """Return the distance below the middle of the corner, and its half width."""
        half = self.smoothing / 2
        return 1.0 - half - m, half

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return the loss."""
        r, half = self._arguments(m)
        return (rounded_absolute(r, half) + r) / 2

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return -(rounded_sign(*self._arguments(m)) + 1.0) / 2

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
        return tip_curvature(*self._arguments(m)) / 2

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of a parabola that lies above the loss."""
        return touching_curvature(*self._arguments(y * f)) / 2

    def check_parameters(self) -> None:
        """Raise a ValueError unless the smoothing is positive."""
        self._check_positive("smoothing")


class SquaredHinge(MarginLoss):
    """Squared hinge loss, ``max(0, 1 - m)**2``."""

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return the loss."""
        return np.maximum(0.0, 1.0 - m) ** 2

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return -2.0 * np.maximum(0.0, 1.0 - m)

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
        return np.where(m < 1.0, 2.0, 0.0)


class Margin(SquaredHinge):
    """Squared distance to the outputs that separate the classes by a margin.

    For two classes the squared hinge loss, ``max(0, 1 - m)**2``. Several classes that
    share their support points use one :class:`JointMargin`.
    """

    def jointly(self) -> Loss:
        """Return :class:`JointMargin`."""
        return JointMargin()


class JointMargin(Loss):
    r"""Squared distance of the outputs to those that separate a class from all others.

    A sample of class c has no loss where :math:`f_c \ge f_k + 2` for all other classes
    k; elsewhere it is the squared distance to the nearest such outputs. Unlike the
    squared loss it asks for no particular values, so that a smooth function is enough
    where classes follow each other. With two classes and ``f = (-g, g)`` it is twice
    :class:`SquaredHinge` of ``g``, which takes its place where there is one output for
    both.
    """

    fits_numbers = False
    fits_classes = True
    ignores_common_part = True
    is_squared_distance = True
    gap = 2.0

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the squared distance of each sample, shape (n,)."""
        return np.square(self._way(y, f)[0]).sum(axis=0)

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative in each output."""
        return 2.0 * self._way(y, f)[0]

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the diagonal second derivatives, in each output by itself."""
        _, is_moved = self._way(y, f)
        n_moved = np.maximum(is_moved.sum(axis=0), 1)
        return np.where(is_moved, 2.0 * (1.0 - 1.0 / n_moved), 0.0)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return 2: that parabola lies above the loss everywhere."""
        return np.full(f.shape, 2.0)

    def coupling(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return what the outputs that are moved have in common."""
        _, is_moved = self._way(y, f)
        n_moved = np.maximum(is_moved.sum(axis=0), 1)
        return is_moved * np.sqrt(2.0 / n_moved)

    def bind(self, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return :class:`SquaredHinge` for the one output of two classes."""
        return SquaredHinge() if len(y) == 1 else self

    def _way(self, y: np.ndarray, f: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return f minus the nearest outputs without loss, and which outputs differ.

        The nearest outputs raise that of the sample's class to ``level``, and lower
        those of others to ``level - gap`` if they are above. Moved by the gap, they
        are all at the mean of the outputs that are moved, the largest mean of those.
        """
        is_class = y > 0
        shifted = np.where(is_class, f, f + self.gap)
        chosen = np.where(is_class, f, 0.0).sum(axis=0)
        others = np.where(is_class, -np.inf, shifted)
        others = -np.sort(-others, axis=0)[:-1]
        sums = np.cumsum(np.concatenate([chosen[None], others]), axis=0)
        level = (sums / np.arange(1, len(sums) + 1)[:, None]).max(axis=0)
        is_moved = is_class | (shifted > level)
        # An output that is moved alone stays where it is.
        is_moved &= is_moved.sum(axis=0) > 1
        return np.where(is_moved, shifted - level, 0.0), is_moved
