"""Checks, fits and held-out scores of the densities given to meta-estimators."""

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


def check_density(density: Any) -> None:
    """Raise a TypeError unless the density has ``fit`` and ``score_samples``."""
    missing = [m for m in ("fit", "score_samples") if not hasattr(density, m)]
    if missing or isinstance(density, type):
        raise TypeError(
            f"density={density!r} must be an estimator with fit and score_samples, "
            "such as ManifoldParzen() or sklearn.neighbors.KernelDensity()."
        )


def fit_density(density: Any, X: np.ndarray, weight: np.ndarray) -> Any:
    """Fit the density, with weights if they differ; raise if it takes none."""
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
    """Return the log-density of each training row, fitted without that row."""
    if hasattr(density, "loo_score_samples"):
        return density.loo_score_samples()
    logs = np.full(len(X), -np.inf)
    # Folds go by content, so that equal rows share a fold.
    folds = make_folds(X, np.zeros(len(X)), weight, n_folds, 0, True)
    for fold in folds if len(folds) > 1 else ():
        part = fit_density(clone(density), X[~fold], weight[~fold])
        logs[fold] = part.score_samples(X[fold])
    return logs
