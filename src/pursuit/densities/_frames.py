"""Coordinates in which a data set lies about the origin and squares do not overflow.

Also which of the columns are constant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

# Largest coordinates beyond which, or below whose inverse, the unit changes.
_EXTREME = 1e100
# The largest width whose square is divided by, and the inverse of the smallest.
_WIDEST = 1e125
# The share of a value that its last digits are.
_LAST_DIGITS = 4.0 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True)
class Frame:
    """Where the origin is, and what the unit.

    Attributes
    ----------
    center : ndarray of shape (n,)
        In the new unit.
    unit : float
        1 unless the data are extremely large or small, then a power of 2.
    """

    center: np.ndarray
    unit: float

    @classmethod
    def of(cls, X: np.ndarray) -> Frame:
        """Return the frame of the rows of X: their mean, and a unit for them."""
        largest = float(np.abs(X).max())
        unit = 1.0
        if largest > _EXTREME or 0.0 < largest < 1.0 / _EXTREME:
            unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1))
        return cls((X / unit).mean(axis=0), unit)

    def inside(self, X: np.ndarray) -> np.ndarray:
        """Return points in the coordinates of the frame."""
        return np.ascontiguousarray(X / self.unit - self.center)

    def outside(self, X: np.ndarray) -> np.ndarray:
        """Return points of the frame in the coordinates of the data."""
        return (X + self.center) * self.unit

    def variance(self, sigma: float) -> float:
        """Return σ² in the frame, kept where it can be divided by."""
        return float(np.clip(sigma / self.unit, 1.0 / _WIDEST, _WIDEST)) ** 2

    def holds(self, sigma: float) -> bool:
        """Return whether σ² in the frame is a number that can be divided by."""
        return 1.0 / _WIDEST <= sigma / self.unit <= _WIDEST

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume of a cell of the frame, in the data's units."""
        return len(self.center) * float(np.log(self.unit))


def constant_columns(X: np.ndarray) -> np.ndarray:
    """Return which columns have one value, up to rounding; none if all do, (n,)."""
    low, high = X.min(axis=0), X.max(axis=0)
    # Halves: a range may be too large for a number.
    largest = 0.5 * np.maximum(np.abs(low), np.abs(high))
    is_constant = 0.5 * high - 0.5 * low <= _LAST_DIGITS * largest
    return is_constant & ~is_constant.all()
