"""Base classes of losses, and derivatives computed from `value` and `gradient`.

The public names are those of `pursuit.losses`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from pursuit._parameters import is_number
from pursuit._quantiles import lower_quantile

# Arguments of exponentials are clipped here, so that sums of them stay finite.
LARGEST_EXPONENT = 300.0

# Ratio of standard deviation to median absolute deviation in a normal distribution.
_NORMAL = 1.4826


class Loss(BaseEstimator):
    """A loss L(y, f), pointwise in the target y and the prediction f.

    Your own loss needs `value` and `gradient`; the other methods are derived from them
    and may be overridden for speed. They take arrays ``y`` and ``f`` of one shape,
    outputs by samples, and return an array of that shape.

    Attributes
    ----------
    fits_numbers : bool
        Whether targets may be real numbers (regression).
    fits_classes : bool
        Whether targets may be -1 and +1 (classification).
    is_convex : bool
        Whether L is convex in f.
    frees_constant : bool
        Whether a constant may be optimized with the coefficients.
    ignores_common_part : bool
        Whether adding a number to all outputs of a sample does not change L.
    """

    fits_numbers: bool = True
    fits_classes: bool = False
    is_convex: bool = True
    frees_constant: bool = True
    ignores_common_part: bool = False

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return L(y, f)."""
        raise NotImplementedError(f"{type(self).__name__} does not define value(y, f).")

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative of L in f."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define gradient(y, f)."
        )

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the second derivative of L in f; by default from `gradient`.

        Where it jumps, either one-sided value is correct.
        """
        step = 6e-6 * np.maximum(1.0, np.abs(f))
        high, low = self.gradient(y, f + step), self.gradient(y, f - step)
        return (high - low) / (2 * step)

    def weights(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the curvature of the parabola by which pre-fitting models L near f.

        By default the curvature of L itself. Losses with straight parts, where that
        is 0, return that of a parabola that lies above L and touches it at f.
        """
        return np.maximum(self.curvature(y, f), 0.0)

    def coupling(self, y: np.ndarray, f: np.ndarray) -> np.ndarray | None:
        """Return u such that the second derivative in outputs s and t is -u_s u_t.

        None, the default, means that the loss is a sum over outputs.
        """
        return None

    @property
    def is_coupled(self) -> bool:
        """Whether outputs must be fitted together: `coupling` is defined."""
        return type(self).coupling is not Loss.coupling

    @property
    def has_closed_form(self) -> bool:
        """Whether the best coefficients have a closed form: for `Squared` itself only.

        Subclasses of it may override anything, so they are fitted by iterations.
        """
        return False

    @property
    def is_squared_distance(self) -> bool:
        """Whether it is the squared distance to the outputs that have no loss."""
        return self.has_closed_form

    def outputs(self, y: np.ndarray) -> np.ndarray:
        """Return targets (T, n) with a row for each output; by default as they are."""
        return y

    def reduced(self, theta: np.ndarray) -> np.ndarray:
        """Return coefficients (T, b) without the part that does not change the loss."""
        if not self.ignores_common_part:
            return theta
        return theta - np.add.reduce(theta) / len(theta)

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the constant for each output at which its optimization starts."""
        return (y @ weight) / weight.sum()

    def mean(self, f: np.ndarray) -> np.ndarray:
        """Return the prediction for f, by the inverse link."""
        return f

    @property
    def is_identity_linked(self) -> bool:
        """Whether f itself is the prediction."""
        return type(self).mean is Loss.mean

    def bind(self, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return the loss with parameters resolved from the scale of the targets."""
        return self

    def within(self, groups: np.ndarray, y: np.ndarray, weight: np.ndarray) -> Loss:
        """Return the loss for these rows, of which it compares those of a group.

        Parameters
        ----------
        groups : ndarray of int of shape (n,)
        y : ndarray of shape (n,)
            Targets, of which only differences in a group count.
        weight : ndarray of shape (n,)
        """
        return self

    @property
    def couples_rows(self) -> bool:
        """Whether the loss of a row depends on others: `bent` is defined."""
        return False

    def bent(self, y: np.ndarray, f: np.ndarray, v: np.ndarray) -> np.ndarray:
        """Return the second derivatives times changes v of the predictions.

        Only a loss that couples rows has others than `curvature`.
        """
        return self.curvature(y, f) * v

    def jointly(self) -> Loss:
        """Return the loss for several classes that share their support points."""
        return self

    def check_targets(self, y: np.ndarray) -> None:
        """Raise a ValueError if y holds invalid targets for this loss."""

    def check_parameters(self) -> None:
        """Raise a ValueError if a parameter is invalid."""

    def _check_share(self, name: str) -> None:
        value = getattr(self, name)
        if not is_number(value) or not 0.0 < value < 1.0:
            raise ValueError(
                f"{type(self).__name__} has {name}={value!r}; it must be a number "
                "between 0 and 1."
            )

    def _check_positive(self, name: str, *others: None) -> None:
        value = getattr(self, name)
        if value is None and None in others:
            return
        is_positive = is_number(value) and 0 < value < np.inf
        # `bind` sets an array, with one number for each output.
        if not is_positive and not isinstance(value, np.ndarray):
            choice = " or None" if None in others else ""
            raise ValueError(
                f"{type(self).__name__} has {name}={value!r}; it must be a positive "
                f"finite number{choice}."
            )


class MarginLoss(Loss):
    """A loss of the margin m = y f, for classes y of -1 and +1.

    Your own loss needs `of_margin` and `slope`.
    """

    fits_numbers = False
    fits_classes = True

    def of_margin(self, m: np.ndarray) -> np.ndarray:
        """Return the loss at margin m."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define of_margin(m)."
        )

    def slope(self, m: np.ndarray) -> np.ndarray:
        """Return the derivative in m."""
        raise NotImplementedError(f"{type(self).__name__} does not define slope(m).")

    def bend(self, m: np.ndarray) -> np.ndarray:
        """Return the second derivative in m; by default, differences of `slope`."""
        step = 6e-6 * np.maximum(1.0, np.abs(m))
        return (self.slope(m + step) - self.slope(m - step)) / (2 * step)

    def value(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the loss at margin y f."""
        return self.of_margin(y * f)

    def gradient(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the derivative in f."""
        return y * self.slope(y * f)

    def curvature(self, y: np.ndarray, f: np.ndarray) -> np.ndarray:
        """Return the second derivative in f, which equals that in m."""
        return self.bend(y * f)

    def start(self, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return 0, halfway between the classes."""
        return np.zeros(len(y))

    def check_targets(self, y: np.ndarray) -> None:
        """Raise a ValueError unless all of y is -1 or +1."""
        if not np.all(np.abs(y) == 1):
            raise ValueError(f"{type(self).__name__} needs targets of -1 and +1.")


def robust_scale(y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the spread of each output (T, 1), robust to outliers.

    This is the median absolute deviation in units of a normal standard deviation; the
    mean absolute deviation if more than half of the targets are equal; 1 if all are.
    """
    center = np.array([lower_quantile(row, weight, 0.5) for row in y])[:, None]
    deviations = np.abs(y - center)
    scale = _NORMAL * np.array([lower_quantile(d, weight, 0.5) for d in deviations])
    mean = (deviations @ weight) / weight.sum()
    scale = np.where(scale > 0, scale, mean)
    return np.where(scale > 0, scale, 1.0)[:, None]


def rounded_absolute(r: np.ndarray, width: Any) -> np.ndarray:
    """Return |r|, smoothed by a parabola where |r| < width."""
    size = np.abs(r)
    return np.where(size < width, (r * r / width + width) / 2, size)


def rounded_sign(r: np.ndarray, width: Any) -> np.ndarray:
    """Return the derivative of :func:`rounded_absolute`."""
    return np.clip(r / width, -1.0, 1.0)


def tip_curvature(r: np.ndarray, width: Any) -> np.ndarray:
    """Return the second derivative of :func:`rounded_absolute`."""
    return np.where(np.abs(r) < width, 1.0 / width, 0.0)


def touching_curvature(r: np.ndarray, width: Any) -> np.ndarray:
    """Return the curvature of the parabola above |r| that touches it at r and -r."""
    return 1.0 / np.maximum(np.abs(r), width)


def exp_cut(x: np.ndarray) -> np.ndarray:
    """Return exp(x), finite for any finite x."""
    return np.exp(np.minimum(x, LARGEST_EXPONENT))
