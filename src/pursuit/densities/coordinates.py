"""Coordinates in which data are centered at the origin and squares do not overflow.

Also which of the columns are constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# The unit changes if the largest coordinate is above this, or below its inverse.
_EXTREME = 1e100
# Largest width whose square can be divided by, and the inverse of the smallest.
_WIDEST = 1e125
# The share of a value that its last digits are.
_LAST_DIGITS = 4.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Coordinates:
    """Where the origin is, and what the unit.

    Attributes
    ----------
    center : ndarray of shape (n,)
        Origin, in the new unit.
    unit : float
        1, or a power of 2 if the data are extremely large or small.
    """

    center: np.ndarray
    unit: float

    @classmethod
    def of(cls, X: np.ndarray) -> Coordinates:
        """Return coordinates about the mean of the rows of X, in a unit for them."""
        largest = float(np.abs(X).max())
        unit = 1.0
        if largest > _EXTREME or 0.0 < largest < 1.0 / _EXTREME:
            unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1))
        return cls((X / unit).mean(axis=0), unit)

    def inside(self, X: np.ndarray) -> np.ndarray:
        """Return points of the data in these coordinates."""
        return np.ascontiguousarray(X / self.unit - self.center)

    def outside(self, X: np.ndarray) -> np.ndarray:
        """Return points of these coordinates in those of the data."""
        return (X + self.center) * self.unit

    def variance(self, sigma: float) -> float:
        """Return σ² in these coordinates, kept where it can be divided by."""
        return float(np.clip(sigma / self.unit, 1.0 / _WIDEST, _WIDEST)) ** 2

    def holds(self, sigma: float) -> bool:
        """Return whether σ² in these coordinates can be divided by."""
        return 1.0 / _WIDEST <= sigma / self.unit <= _WIDEST

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume of a cube of side 1 here, in the data's units."""
        return len(self.center) * float(np.log(self.unit))


def constant_columns(X: np.ndarray) -> np.ndarray:
    """Return which columns have one value, up to rounding; none if all do, (n,)."""
    low, high = X.min(axis=0), X.max(axis=0)
    # Halves: a range may be too large for a number.
    largest = 0.5 * np.maximum(np.abs(low), np.abs(high))
    is_constant = 0.5 * high - 0.5 * low <= _LAST_DIGITS * largest
    return is_constant & ~is_constant.all()
