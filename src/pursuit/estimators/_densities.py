"""What is asked of a density given to a meta-estimator, and how rows are left out."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, DensityMixin, clone
from sklearn.utils.validation import has_fit_parameter

from pursuit.densities._coordinates import Coordinates
from pursuit.fitting.folds import make_folds


class ScoredDensity(DensityMixin, BaseEstimator):
    """A density whose score is the mean of its log-densities."""

    def score(self, X: Any, y: Any = None) -> float:
        """Return the mean log-density of the rows.

        The mean, whatever the number of rows; the ``score`` of scikit-learn's
        ``KernelDensity`` is the sum.  The literature's average negative log-likelihood
        (ANLL) is minus this.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        y : None
            Ignored.

        Returns
        -------
        score : float
            Higher is better.
        """
        return float(np.mean(self.score_samples(X)))


def check_bandwidth(bandwidth: Any, coordinates: Coordinates) -> None:
    """Raise a ValueError if the square of a given σ is no number beside the data."""
    if not isinstance(bandwidth, str) and not coordinates.holds(bandwidth):
        raise ValueError(
            f"bandwidth={bandwidth!r} is too far from the scale of X, of which the "
            f"unit is {coordinates.unit:.3g}: its square overflows or underflows. Give "
            "one of the data's order, or 'auto'."
        )


def check_density(density: Any) -> None:
    """Raise a TypeError unless this is an estimator with ``score_samples``."""
    missing = [m for m in ("fit", "score_samples") if not hasattr(density, m)]
    if missing or isinstance(density, type):
        raise TypeError(
            f"density={density!r} must be an estimator with fit and score_samples, "
            "such as ManifoldParzen() or sklearn.neighbors.KernelDensity()."
        )


def fit_density(density: Any, X: np.ndarray, weight: np.ndarray) -> Any:
    """Fit with weights where they matter, or say that the density takes none."""
    if np.all(weight == 1.0):
        return density.fit(X)
    if has_fit_parameter(density, "sample_weight"):
        return density.fit(X, sample_weight=weight)
    if np.all(weight == weight[0]):
        return density.fit(X)
    raise ValueError(
        f"sample_weight was given, but {type(density).__name__}.fit takes none: use a "
        "density that does, or leave the weights out."
    )


def held_out_scores(
    density: Any, X: np.ndarray, weight: np.ndarray, n_folds: int
) -> np.ndarray:
    """Return log-densities of the rows a density was fitted to, with them left out."""
    if hasattr(density, "loo_score_samples"):
        return density.loo_score_samples()
    logs = np.full(len(X), -np.inf)
    # By content: equal rows share a fold, however they are written.
    folds = make_folds(X, np.zeros(len(X)), weight, n_folds, 0, True)
    for fold in folds if len(folds) > 1 else ():
        part = fit_density(clone(density), X[~fold], weight[~fold])
        logs[fold] = part.score_samples(X[fold])
    return logs
