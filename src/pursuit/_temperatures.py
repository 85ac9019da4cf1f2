"""Temperatures of probabilities, from points whose classes are known."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import minimize_scalar

# Logarithms of the lowest and the highest temperature, in units of the typical margin.
_COLDEST, _HOTTEST = -12.0, 6.0
# Precision to which the logarithm is searched, and the decimal digits of it that are
# kept: further digits are rounding, which depends on the order of the points.
_TOLERANCE, _DIGITS = 1e-8, 5


def likeliest(
    surprise: Callable[[float], float], typical: float, miss: float = 1.0
) -> float:
    """Return the temperature of the least surprise, with one pretended miss.

    The miss is a point that misses its class by the typical margin. Without it, points
    that are all classified correctly would give a temperature of zero, and one new
    mistake would cost a great deal.

    Parameters
    ----------
    surprise : callable
        Negative log-likelihood, in nats, summed over the points, at a temperature.
    typical : float
        Typical difference of the scores of a point's class and of the best other class.
    miss : float
        How many points the miss stands for.
    """

    def total(log_t: float) -> float:
        t = typical * float(np.exp(log_t))
        return surprise(t) + miss * typical / t

    result = minimize_scalar(
        total,
        bounds=(_COLDEST, _HOTTEST),
        method="bounded",
        options={"xatol": _TOLERANCE},
    )
    return typical * float(np.exp(round(result.x, _DIGITS)))
