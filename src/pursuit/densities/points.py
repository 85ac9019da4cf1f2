"""Training points of a density: distinct rows about the origin, in a suitable unit.

This module also names the limits beyond which numbers are not squared, divided by or
summed, and measures the scale of the points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit._ranges import LARGEST_TO_SQUARE
from pursuit._rows import distinct_rows, row_digests
from pursuit.kernels.distances import paired_rows, squared_distances

EPS = float(np.finfo(np.float64).eps)

# The unit changes if the largest coordinate is above this, or below its inverse.
EXTREME = 1e100
# Largest width whose square can be divided by, and the inverse of the smallest.
WIDEST = 1e125
# Largest coordinate of a query at which the density is not set to 0.
LARGEST_COORDINATE = LARGEST_TO_SQUARE
# Least mass, relative to the largest, that is divided by.
LEAST_MASS = 1e-100
# Sum of exponentials below which some of them, rounded to 0, may be missed.
UNDERFLOWED = 1e-280
# Start of a running log-sum-exp: finite, so that differences are not NaN.
START = -1e300

# Maximum number of rows left out in turn; more change the choice very little.
LEFT_OUT_ROWS = 1000
# The share of a value that its last digits are.
_LAST_DIGITS = 4.0 * EPS
# Rows whose distances to all others are held at a time.
_BLOCK = 250


@dataclass(frozen=True)
class Coordinates:
    """Where the origin is, and what the unit is.

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
        if largest > EXTREME or 0.0 < largest < 1.0 / EXTREME:
            unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1))
        return cls((X / unit).mean(axis=0), unit)

    def inside(self, X: np.ndarray) -> np.ndarray:
        """Return points of the data in these coordinates."""
        return np.ascontiguousarray(X / self.unit - self.center)

    def outside(self, X: np.ndarray) -> np.ndarray:
        """Return points of these coordinates in those of the data."""
        return (X + self.center) * self.unit

    def width(self, width: float) -> float:
        """Return a width in these coordinates, limited to those that can be squared."""
        return min(max(width / self.unit, 1.0 / WIDEST), WIDEST)

    def holds(self, width: float) -> bool:
        """Return whether the square of a width can be divided by, unlimited."""
        return 1.0 / WIDEST <= width / self.unit <= WIDEST

    @property
    def log_volume(self) -> float:
        """Logarithm of the volume of a cube of side 1 here, in the data's units."""
        return len(self.center) * float(np.log(self.unit))


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows of positive weight, in two kinds of coordinates.

    Attributes
    ----------
    rows : ndarray of shape (l, n)
        Rows of the data.
    X : ndarray of shape (l, n)
        The same rows in `coordinates`.
    counts : ndarray of shape (l,)
        Summed weights of the equal rows.
    set_of_row : ndarray of int of shape (n_samples,)
        Index of the distinct row that each training row equals; -1 for weight 0.
    coordinates : Coordinates
    """

    rows: np.ndarray
    X: np.ndarray
    counts: np.ndarray
    set_of_row: np.ndarray
    coordinates: Coordinates

    @classmethod
    def of(cls, X: np.ndarray, weight: np.ndarray) -> DistinctRows:
        """Return the distinct rows of X whose weight is above 0."""
        first, set_of_row = distinct_rows(X, weight)
        used = set_of_row >= 0
        counts = np.bincount(set_of_row[used], weight[used])
        coordinates = Coordinates.of(X[first])
        rows = np.ascontiguousarray(X[first])
        return cls(rows, coordinates.inside(rows), counts, set_of_row, coordinates)

    def __len__(self) -> int:
        return len(self.X)

    @property
    def is_constant(self) -> np.ndarray:
        """Which columns are constant, (n,)."""
        return _constant_columns(self.rows)

    @property
    def varying(self) -> np.ndarray:
        """``X`` without its constant columns, which say nothing about a width."""
        is_constant = self.is_constant
        if not is_constant.any():
            return self.X
        return np.ascontiguousarray(self.X[:, ~is_constant])

    def some_rows(self) -> np.ndarray:
        """Return the rows that a search leaves out: all, or a random sample."""
        everything = np.arange(len(self))
        if len(everything) <= LEFT_OUT_ROWS:
            return everything
        digests = row_digests(self.rows, everything, 0)
        return np.sort(np.argsort(digests)[:LEFT_OUT_ROWS])

    def scale(self) -> tuple[float, int]:
        """Return the typical distance, and the octaves from there to the spread.

        A single row has no scale; its coordinates have a unit.
        """
        unit = self.coordinates.unit
        if len(self) < 2:
            return unit, 0
        base, highest = scale(self.X, self.some_rows())
        return base * unit, highest

    @property
    def training_rows(self) -> np.ndarray:
        """The training row that is each distinct row, the first of equal ones, (l,)."""
        used = np.flatnonzero(self.set_of_row >= 0)
        return used[np.unique(self.set_of_row[used], return_index=True)[1]]

    def of_training_rows(self, values: np.ndarray) -> np.ndarray:
        """Return values of distinct rows for all training rows, NaN for weight 0."""
        return np.append(values, np.nan)[self.set_of_row]


def _constant_columns(X: np.ndarray) -> np.ndarray:
    """Return which columns have one value, up to rounding; none if all do, (n,)."""
    low, high = X.min(axis=0), X.max(axis=0)
    # Halves: a range may be too large for a number.
    largest = 0.5 * np.maximum(np.abs(low), np.abs(high))
    is_constant = 0.5 * high - 0.5 * low <= _LAST_DIGITS * largest
    return is_constant & ~is_constant.all()


def scale(X: np.ndarray, rows: np.ndarray) -> tuple[float, int]:
    """Return the typical distance, above 0, and the octaves from there to the spread.

    If most rows have a near duplicate, that distance is too small a guide; the spread
    (root mean square of the coordinates about their mean) limits the useful widths.
    """
    spread = float(np.sqrt(X.var(axis=0).mean())) or 1.0
    base = max(_typical_distance(X, rows), EPS * spread)
    return base, int(np.ceil(np.log2(spread / base)))


def _typical_distance(X: np.ndarray, rows: np.ndarray) -> float:
    """Return the median, over some rows, of the nearest distance divided by √n."""
    points, _ = paired_rows(X, X)
    squares = np.empty(len(rows))
    for a in range(0, len(rows), _BLOCK):
        some = rows[a : a + _BLOCK]
        D = squared_distances(points[some], points, np.empty((len(some), len(X))))
        D[np.arange(len(some)), some] = np.inf
        squares[a : a + _BLOCK] = D.min(axis=1)
    return float(np.sqrt(np.median(squares) / X.shape[1]))
