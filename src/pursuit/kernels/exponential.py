"""Fast exponential of numbers that are not positive.

exp(t) = 2^n exp(r) with an integer n and |r| <= log(2)/2, where Taylor's polynomial is
exact to rounding; LLVM turns it into vector instructions. The relative error is at
most 2e-16, and it is several times faster than ``np.exp``.
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

_LOG2_E = 1.0 / math.log(2.0)
# log 2 in two parts; the first has trailing zero bits, so n * _LN2_HIGH is exact.
_LN2_HIGH = 6.93147180369123816490e-01
_LN2_LOW = 1.90821492927058770002e-10
# Below this the exponential is subnormal, which slows down every later product.
_LOWEST = -708.0
# Adding this rounds to an integer and leaves it in the low bits of the double.
_ROUNDER = 1.5 * 2.0**52
# 1/13!, ..., 1/2!: the rest of the series is below 5e-18.
_TAYLOR = tuple(1.0 / math.factorial(k) for k in range(13, 1, -1))


@njit(nogil=True, fastmath={"contract"}, inline="always")
def exp_nonpositive(t: float) -> float:
    """Return exp(t) for t <= 0; 0 instead of subnormal numbers, NaN for NaN."""
    clipped = _LOWEST if t < _LOWEST else t
    shifted = clipped * _LOG2_E + _ROUNDER
    n = shifted - _ROUNDER
    r = (clipped - n * _LN2_HIGH) - n * _LN2_LOW
    p = 0.0
    for coefficient in _TAYLOR:
        p = coefficient + r * p
    p = 1.0 + (r + (r * r) * p)
    power = np.int64((np.float64(shifted).view(np.int64) + 1023) << 52)
    value = p * np.int64(power).view(np.float64)  # p 2^n, through the exponent's bits
    return 0.0 if t < _LOWEST else value


@njit(nogil=True, cache=True, fastmath={"contract"})
def exponentials(D: np.ndarray, scale: float) -> None:
    """Replace D by exp(scale * D), in place; subnormal values become 0.

    Parameters
    ----------
    D : ndarray of float64 of shape (n, m), C-contiguous
        Not negative; may hold inf.
    scale : float
        Not positive.
    """
    for i in range(D.shape[0]):
        for j in range(D.shape[1]):
            D[i, j] = exp_nonpositive(scale * D[i, j])
