"""Why a model came out without any points, where the data are not what says so."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit._parameters import SMALLEST_TO_SQUARE
from pursuit._warnings import warn
from pursuit.fitting import REASONS, Fit

# A function with this share of its square on one row says nothing of others.
_MOST = 0.9
# A mean of -1 and +1 from which on hardly any differ.
_ONE_SIDED = 0.98
# Functions that are looked at.
_SOME = 32


def tell_why_empty(
    found: Fit, X: Any, Y: np.ndarray, weight: np.ndarray, is_class: bool
) -> None:
    """Warn or raise if it is the functions for which nothing was chosen.

    That the constant predicts best is an answer like any other, not worth a warning;
    the more so where one class has nearly all the weight.
    """
    if any(found.sizes) or (is_class and _is_one_sided(Y, weight)):
        return
    if found.stop_reason == REASONS["exhausted"]:
        _check_not_tiny(_values(found, X, weight))
    # A width that all share is one that was set, or the best of those compared.
    if found.stop_reason == REASONS["empty"] and found.dictionary.gamma is not None:
        _warn_if_narrow(_values(found, X, weight))


def _is_one_sided(Y: np.ndarray, weight: np.ndarray) -> bool:
    """Return whether targets of -1 and +1 (T, l) are nearly all the same."""
    return bool(np.all(np.abs(Y @ weight) > _ONE_SIDED * weight.sum()))


def _values(found: Fit, X: Any, weight: np.ndarray) -> np.ndarray:
    """Return the values (n, m) of some functions on the rows of positive weight."""
    some = np.unique(np.linspace(0, len(found.dictionary) - 1, _SOME).astype(int))
    return np.abs(found.dictionary[some](X)[weight > 0])


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
            "the constant. Each of its functions is next to nothing on all training "
            "rows but one, where it is largest, so it says nothing of others: try a "
            "smaller gamma or degree, features of comparable scale (StandardScaler), "
            "or another kernel."
        )
