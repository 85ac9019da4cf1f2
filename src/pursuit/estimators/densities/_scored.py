"""Base classes of the densities: scores of validated rows, and samples."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin
from sklearn.utils.validation import check_is_fitted

from pursuit._limits import Limits
from pursuit._parameters import random_numbers, whole_number
from pursuit.densities.points import Coordinates
from pursuit.estimators._saving import Saved
from pursuit.estimators._validation import validate_data


class ScoredDensity(DensityMixin, Saved, BaseEstimator):
    """A density whose score is the mean of its log-densities.

    Subclasses define `_log_density`.
    """

    max_memory: int | str | None
    n_jobs: int | None

    def _limits(self) -> Limits:
        """Return the memory and the threads that a call may use."""
        return Limits.of(self.max_memory, self.n_jobs)

    @abstractmethod
    def _log_density(self, X: np.ndarray) -> np.ndarray:
        """Return the log-densities of validated rows."""

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-density at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Natural logarithms, in the units of the training data.
        """
        check_is_fitted(self, "bandwidth_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return self._log_density(X)

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


class MixtureDensity(ScoredDensity):
    """A density that is a mixture, kept in `_mixture`, from which points are drawn."""

    _mixture: Any

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        return self._mixture.log_density(X, self._limits())

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Return random points drawn from the density.

        Parameters
        ----------
        n_samples : int, default=1
            Number of points.
        random_state : int, RandomState instance or None, default=None
            Seed or generator of random numbers.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Points.
        """
        check_is_fitted(self, "bandwidth_")
        n = whole_number("n_samples", n_samples, 0)
        return self._mixture.sample(n, random_numbers(random_state))


def check_bandwidth(bandwidth: Any, coordinates: Coordinates) -> None:
    """Raise a ValueError if the square of σ over- or underflows in the data's units."""
    if not isinstance(bandwidth, str) and not coordinates.holds(bandwidth):
        raise ValueError(
            f"bandwidth={bandwidth!r} is too far from the scale of X, whose unit is "
            f"{coordinates.unit:.3g}: its square overflows or underflows. Give one of "
            "the data's order of magnitude, or 'auto'."
        )
