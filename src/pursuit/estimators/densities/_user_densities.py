"""Density estimators that users pass: checks, fits and held-out scores."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from pursuit.fitting.folds import make_folds
from pursuit.sample import Framer

from ._scored import ScoredDensity


def check_density(density: Any) -> None:
    """Raise a TypeError unless the density has ``fit`` and ``score_samples``."""
    missing = [m for m in ("fit", "score_samples") if not hasattr(density, m)]
    if missing or isinstance(density, type):
        raise TypeError(
            f"density={density!r} must be an estimator with fit and score_samples, "
            "such as ManifoldParzen() or sklearn.neighbors.KernelDensity()."
        )


def fit_density(
    density: Any, X: np.ndarray, weight: np.ndarray, framer: Framer | None = None
) -> Any:
    """Fit the density, with weights if they differ; raise if it takes none.

    With a ``framer``, the density gets a frame, since a pipeline may name columns. If
    classes or folds have fewer rows than neighbors, they use what they have.
    """
    rows = X if framer is None else framer(X)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_neighbors=.* the other rows")
        return _fitted(density, rows, weight)


def _fitted(density: Any, rows: Any, weight: np.ndarray) -> Any:
    if np.all(weight == 1.0):
        return density.fit(rows)
    if has_fit_parameter(density, "sample_weight"):
        return density.fit(rows, sample_weight=weight)
    if np.all(weight == weight[0]):
        return density.fit(rows)
    raise ValueError(
        f"sample_weight was given, but {type(density).__name__}.fit takes none: use a "
        "density that does, or leave the weights out."
    )


def scores(density: Any, X: np.ndarray, framer: Framer | None = None) -> np.ndarray:
    """Return the log-densities of validated rows under a fitted density."""
    if getattr(type(density), "score_samples", None) is ScoredDensity.score_samples:
        return density._log_density(X)  # saves a second validation
    return density.score_samples(X if framer is None else framer(X))


def held_out_scores(
    density: Any,
    X: np.ndarray,
    weight: np.ndarray,
    cv: int | list[np.ndarray],
    framer: Framer | None = None,
) -> np.ndarray:
    """Return the log-density of each training row, fitted without that row.

    ``cv`` is a number of folds, or folds as :func:`.partition` returns them, for a
    density that cannot leave out rows itself.
    """
    if hasattr(density, "loo_score_samples"):
        return density.loo_score_samples()
    logs = np.full(len(X), -np.inf)
    if isinstance(cv, int):
        # Folds go by content, so that equal rows share a fold.
        masks = make_folds(X, np.zeros(len(X)), weight, cv, 0, True)
        cv = [mask.astype(int) for mask in masks]
    for fold in cv:
        rest, part = fold == 0, fold == 1
        if rest.any() and part.any():
            fitted = fit_density(clone(density), X[rest], weight[rest], framer)
            logs[part] = scores(fitted, X[part], framer)
    return logs
