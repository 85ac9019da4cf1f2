"""Losses for regression: most are functions of the residual r = y - f."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import xlogy

from pursuit._parameters import is_number
from pursuit._quantiles import lower_quantile

from ._base import (
    Loss,
    exp_cut,
    robust_scale,
    rounded_absolute,
    rounded_sign,
    tip_curvature,
    touching_curvature,
)

# Default smoothing, and default delta of Huber's loss, as shares of the spread of y.
_ROUNDING, _HUBER = 0.05, 0.5


class Squared(Loss):
    """Squared loss, ``(y - f)**2``; for classes ``(1 - m)**2``."""

    fits_classes = True

    @property
    def has_closed_form(self) -> bool:
        """Whether the best coefficients have a closed form: not in a subclass."""
        return type(self) is Squared

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the squared residual."""
        return (y - f) ** 2

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return 2.0 * (f - y)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return 2."""
        return np.full_like(f, 2.0)


class _RobustLoss(Loss):
    """Base class of the robust losses, which start at the median."""

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the median of each output."""
        return np.array([lower_quantile(row, weight, 0.5) for row in y])


class Absolute(_RobustLoss):
    """Absolute loss, ``|y - f|`` with a smoothed tip: robust, fits the median.

    Parameters
    ----------
    smoothing : float or None, default=None
        Size of the residual below which the loss is a parabola. None is a twentieth of
        the spread of the targets.
    """

    def __init__(self, smoothing: Any = None) -> None:
        self.smoothing = smoothing

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss."""
        return rounded_absolute(y - f, self.smoothing)

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return -rounded_sign(y - f, self.smoothing)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
        return tip_curvature(y - f, self.smoothing)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of a parabola that lies above the loss."""
        return touching_curvature(y - f, self.smoothing)

    def bind(self, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return the loss with numeric smoothing for each output."""
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
        Size of the residual beyond which the loss is linear. None is half of the spread
        of the targets.
    """

    def __init__(self, delta: Any = None) -> None:
        self.delta = delta

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss."""
        return self.delta * (2.0 * rounded_absolute(y - f, self.delta) - self.delta)

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return -2.0 * np.clip(y - f, -self.delta, self.delta)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
        return np.where(np.abs(y - f) < self.delta, 2.0, 0.0)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of a parabola that lies above the loss."""
        return 2.0 * self.delta * touching_curvature(y - f, self.delta)

    def bind(self, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return the loss with numeric delta for each output."""
        if self.delta is not None:
            return self
        return Huber(_HUBER * robust_scale(y, weight))

    def check_parameters(self) -> None:
        """Raise a ValueError unless delta is positive."""
        self._check_positive("delta", None)


class Quantile(Loss):
    """Pinball loss with a smoothed tip: fits a quantile of y given x.

    ``quantile * r`` for positive residuals, ``(quantile - 1) * r`` for negative ones.

    Parameters
    ----------
    quantile : float or sequence of float, default=0.5
        Quantile to fit, between 0 and 1; 0.5 is half of :class:`Absolute`. Several are
        several outputs for one target, on the same functions.
    smoothing : float or None, default=None
        Size of the residual below which the loss is a parabola. None is a twentieth of
        the spread of the targets.
    """

    def __init__(self, quantile: Any = 0.5, smoothing: Any = None) -> None:
        self.quantile = quantile
        self.smoothing = smoothing

    @property
    def _level(self) -> Any:
        """The quantile, or a column with that of each output."""
        return self.quantile if is_number(self.quantile) else self._column

    @property
    def _column(self) -> np.ndarray:
        return np.reshape(np.asarray(self.quantile, dtype=np.float64), (-1, 1))

    def outputs(self, y: np.ndarray) -> np.ndarray:
        """Return the target once for each quantile."""
        return y if is_number(self.quantile) else np.repeat(y, len(self._column), 0)

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss."""
        r = y - f
        return rounded_absolute(r, self.smoothing) / 2 + (self._level - 0.5) * r

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return 0.5 - self._level - rounded_sign(y - f, self.smoothing) / 2

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
        return tip_curvature(y - f, self.smoothing) / 2

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of a parabola that lies above the loss."""
        return touching_curvature(y - f, self.smoothing) / 2

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the quantile of each output."""
        levels = np.broadcast_to(np.ravel(self.quantile), len(y))
        pairs = zip(y, levels, strict=True)
        return np.array([lower_quantile(row, weight, level) for row, level in pairs])

    def bind(self, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return the loss with numeric smoothing for each output."""
        if self.smoothing is not None:
            return self
        return Quantile(self.quantile, _ROUNDING * robust_scale(y, weight))

    def check_parameters(self) -> None:
        """Raise a ValueError unless the quantiles are between 0 and 1, and rise."""
        if is_number(self.quantile):
            self._check_share("quantile")
        else:
            self._check_levels()
        self._check_positive("smoothing", None)

    def _check_levels(self) -> None:
        try:
            levels = np.asarray(self.quantile, dtype=np.float64)
        except (TypeError, ValueError):
            levels = np.zeros(0)
        is_valid = levels.ndim == 1 and len(levels) and levels[0] > 0
        if not is_valid or levels[-1] >= 1 or not np.all(np.diff(levels) > 0):
            raise ValueError(
                f"Quantile has quantile={self.quantile!r}; it must be a number between "
                "0 and 1, or several in rising order, such as [0.05, 0.95]."
            )


class Poisson(Loss):
    """Half the Poisson deviance of counts or rates with mean ``exp(f)``."""

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return half the deviance."""
        return exp_cut(f) - y * f + xlogy(y, y) - y

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative."""
        return exp_cut(f) - y

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the second derivative."""
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
