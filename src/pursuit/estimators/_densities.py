"""What the density estimators share: distinct training rows, score, bandwidth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin

from pursuit._rows import distinct_rows, row_digests
from pursuit.densities.coordinates import Coordinates, constant_columns
from pursuit.densities.widths import LEFT_OUT_ROWS, scale


@dataclass(frozen=True)
class DistinctRows:
    """Distinct rows of positive weight, as given and in coordinates of their own.

    Attributes
    ----------
    rows : ndarray of shape (l, n)
        Rows as given.
    X : ndarray of shape (l, n)
        Rows in `coordinates`.
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

    @property
    def is_constant(self) -> np.ndarray:
        """Which columns are constant, (n,)."""
        return constant_columns(self.rows)

    @property
    def varying(self) -> np.ndarray:
        """``X`` without its constant columns, which say nothing of a width."""
        is_constant = self.is_constant
        if not is_constant.any():
            return self.X
        return np.ascontiguousarray(self.X[:, ~is_constant])

    def some_rows(self) -> np.ndarray:
        """Return the rows that a search leaves out: all, or a random sample."""
        everything = np.arange(len(self.rows))
        if len(everything) <= LEFT_OUT_ROWS:
            return everything
        digests = row_digests(self.rows, everything, 0)
        return np.sort(np.argsort(digests)[:LEFT_OUT_ROWS])

    def scale(self) -> tuple[float, int]:
        """Return the typical distance, and the octaves from there to the spread.

        A single row has no scale; its coordinates have a unit.
        """
        unit = self.coordinates.unit
        if len(self.X) < 2:
            return unit, 0
        base, highest = scale(self.X, self.some_rows())
        return base * unit, highest


class ScoredDensity(DensityMixin, BaseEstimator):
    """A density whose score is the mean of its log-densities."""

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of the rows.

        This is a mean, while the ``score`` of scikit-learn's ``KernelDensity`` is a
        sum. The average negative log-likelihood (ANLL) of the literature is its
        negative.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Mean log-density; higher is better.
        """
        return float(np.mean(self.score_samples(X)))


def check_bandwidth(bandwidth: Any, coordinates: Coordinates) -> None:
    """Raise a ValueError if the square of σ over- or underflows in the data's units."""
    if not isinstance(bandwidth, str) and not coordinates.holds(bandwidth):
        raise ValueError(
            f"bandwidth={bandwidth!r} is too far from the scale of X, whose unit is "
            f"{coordinates.unit:.3g}: its square overflows or underflows. Give one of "
            "the data's order of magnitude, or 'auto'."
        )
