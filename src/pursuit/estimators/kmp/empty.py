"""Explain an empty model when the kernel, not the data, is the cause."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pursuit._ranges import SMALLEST_TO_SQUARE
from pursuit._warnings import warn
from pursuit.fitting import Fit
from pursuit.functions import Functions
from pursuit.functions._base import spread
from pursuit.kernels import InMetric
from pursuit.sample import Sample

# A function with this share of its sum of squares on one row is too narrow.
_MOST = 0.9
# How many times wider than others a feature must be to rule the distances.
_RULING = 1e4
# Absolute mean of targets -1 and +1 above which nearly all are equal.
_ONE_SIDED = 0.98


def tell_why_empty(result: Fit, sample: Sample) -> None:
    """Warn or raise if the model is empty because its functions are unsuitable.

    That the constant predicts best is a valid result and deserves no warning,
    especially if one class has nearly all the weight.
    """
    if any(result.sizes) or (sample.is_class and _is_one_sided(sample)):
        return
    if result.stop_reason == "exhausted":
        _check_not_tiny(_some_values(result.dictionary, sample))
    # A common gamma was set by the user, or is the best of those compared.
    if result.stop_reason == "empty" and result.dictionary.gamma is not None:
        _warn_if_narrow(_some_values(result.dictionary, sample))
        kernel = getattr(result.dictionary, "kernel", None)
        if not isinstance(kernel, InMetric):
            _warn_if_one_feature_rules(sample.X[sample.weight > 0])


def _is_one_sided(sample: Sample) -> bool:
    """Return whether targets of -1 and +1 are nearly all the same."""
    means = sample.Y @ sample.weight / sample.weight.sum()
    return bool(np.all(np.abs(means) > _ONE_SIDED))


def _some_values(dictionary: Functions, sample: Sample) -> np.ndarray:
    """Return the values (n, m) of some functions on the rows of positive weight."""
    some = dictionary[spread(len(dictionary))]
    return np.abs(some(sample.X)[sample.weight > 0])


def _check_not_tiny(values: np.ndarray) -> None:
    largest = float(values.max())
    if 0 < largest < SMALLEST_TO_SQUARE:
        raise ValueError(
            "The functions of the dictionary (kernels on training points, features …) "
            f"have values up to {largest:.3g} only, whose squares underflow: scale the "
            "features, for instance with StandardScaler."
        )


def _warn_if_narrow(values: np.ndarray) -> None:
    largest = np.maximum(values.max(axis=0), SMALLEST_TO_SQUARE)
    shares = 1.0 / np.maximum(np.square(values / largest).sum(axis=0), 1.0)
    if len(values) > 2 and np.median(shares) > _MOST:
        warn(
            "The model has no support points: on held-out rows nothing was better than "
            "the constant. Each of its functions is nearly zero on all training rows "
            "but one, and so cannot generalize to others: try a smaller gamma or "
            "degree, features of comparable scale (StandardScaler), or another kernel."
        )


def _warn_if_one_feature_rules(X: Any) -> None:
    if sparse.issparse(X):
        return
    spreads = np.sort(X.std(axis=0))
    spreads = spreads[spreads > 0]
    ratio = spreads[-1] / spreads[-2] if len(spreads) > 1 else 1.0
    if ratio > _RULING:
        warn(
            "The model has no support points: on held-out rows nothing was better than "
            f"the constant. One feature varies {ratio:.1g} times as much as others, so "
            "that distances depend on it alone: scale the features, for instance with "
            "StandardScaler."
        )
