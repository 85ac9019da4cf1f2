"""Rules that compute gamma, the inverse (squared) width of a kernel, from data.

The rules treat a row of weight 2 as two equal rows and one of weight 0 as none, and
scale with the units of the data, however large or small.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from pursuit._quantiles import lower_quantile
from pursuit._ranges import LARGEST_FINITE
from pursuit._rows import exact_digests

from .distances import absolute_distances, paired_rows, squared_distances

RULES = ("median", "scale", "auto")

# Maximum number of distinct rows whose distances enter the median.
SAMPLED_ROWS = 1000


def width(rule: str, X: Any, sample_weight: Any, metric: str) -> float:
    """Return the `gamma` that a rule, one of `RULES`, gives on X."""
    if rule == "median":
        return median_gamma(X, sample_weight, metric)
    if rule == "scale":
        return scale_gamma(X, sample_weight)
    return 1.0 / X.shape[1]


def median_gamma(
    X: Any, sample_weight: Any = None, metric: str = "sqeuclidean"
) -> float:
    """Return 1 / the weighted median of the distances between different rows.

    The weight of a pair is the product of its rows' weights; of two medians the lower
    is taken. If there are more than 1000 different rows, the 1000 with the smallest
    fingerprints are used: an arbitrary sample, but the same for any order, repetition
    and weights of the rows, dense or sparse. If all rows are equal, the result is 1.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    sample_weight : array of shape (n,), optional
    metric : {"sqeuclidean", "manhattan"}
        Squared Euclidean distances, or sums of absolute differences.
    """
    return quantile_gamma(0.5, X, sample_weight, metric)


def quantile_gamma(
    share: float, X: Any, sample_weight: Any = None, metric: str = "sqeuclidean"
) -> float:
    """Return 1 / the given quantile of the distances; see :func:`median_gamma`."""
    X, weights = _distinct(*_weighted_rows(X, sample_weight))
    X, unit = in_units(X)
    upper = np.triu_indices(X.shape[0], 1)
    D = _distances(X, metric)[upper]
    pair_weights = weights[upper[0]] * weights[upper[1]]
    positive = D > 0
    if not positive.any():
        return 1.0
    quantile = lower_quantile(D[positive], pair_weights[positive], share)
    return _finite_inverse(quantile, unit, 2 if metric == "sqeuclidean" else 1)


def plain_median_gamma(X: Any, metric: str) -> float:
    """Return 1 / the median of the positive distances between rows, all of them."""
    X, unit = in_units(X)
    D = _distances(X, metric)[np.tri(X.shape[0], k=-1, dtype=bool)]
    D = D[D > 0]
    if not len(D):
        return 1.0
    middle = (len(D) - 1) // 2
    median = np.partition(D, middle)[middle]
    return _finite_inverse(median, unit, 2 if metric == "sqeuclidean" else 1)


def scale_gamma(X: Any, sample_weight: Any = None) -> float:
    """Return 1 / (d * variance of the entries of X), as SVC's ``gamma="scale"``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    sample_weight : array of shape (n,), optional
    """
    X, weights = _weighted_rows(X, sample_weight)
    X, unit = in_units(X)
    weights = weights / (weights.sum() * X.shape[1])
    mean = (weights @ X).sum()
    if sparse.issparse(X):
        variance = weights @ row_norms(X, squared=True) - mean**2
    else:
        variance = weights @ row_norms(X - mean, squared=True)
    if variance <= 0:
        return 1.0
    return _finite_inverse(X.shape[1] * variance, unit, 2)


def _finite_inverse(value: float, unit: float, power: int) -> float:
    """Return 1 / (value * unit**power), clipped so that products do not overflow."""
    with np.errstate(over="ignore", under="ignore"):
        inverse = np.float64(1.0) / value
        for _ in range(power):
            inverse = inverse / unit
    return float(np.clip(inverse, np.finfo(np.float64).tiny, LARGEST_FINITE))


def _weighted_rows(X: Any, sample_weight: Any) -> tuple[Any, np.ndarray]:
    """Return the rows of positive weight and their weights."""
    if sample_weight is None:
        return X, np.ones(X.shape[0])
    weights = np.asarray(sample_weight, dtype=np.float64)
    kept = np.flatnonzero(weights > 0)
    return X[kept], weights[kept] / weights.max(initial=np.finfo(np.float64).tiny)


def in_units(X: Any) -> tuple[Any, float]:
    """Return X divided by a power of 2 near its largest entry, and that power."""
    largest = np.abs(X).max() if min(X.shape) else 0.0
    unit = float(np.ldexp(1.0, np.frexp(largest)[1] - 1)) if largest > 0 else 1.0
    return X / unit, unit


def _distances(X: Any, metric: str) -> np.ndarray:
    if metric == "manhattan":
        return absolute_distances(X)
    rows, _ = paired_rows(X, X)
    return squared_distances(rows, rows, np.empty((len(rows), len(rows))))


def _distinct(X: Any, weights: np.ndarray) -> tuple[Any, np.ndarray]:
    """Return the distinct rows, ordered by fingerprint, and their weights."""
    everything = np.arange(X.shape[0])
    _, first, inverse = np.unique(
        exact_digests(X, everything), return_index=True, return_inverse=True
    )
    weights = np.bincount(inverse, weights, len(first))
    return X[first[:SAMPLED_ROWS]], weights[:SAMPLED_ROWS]
