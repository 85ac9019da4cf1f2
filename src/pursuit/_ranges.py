"""Ranges of numbers whose squares and sums neither overflow nor underflow.

Data are checked against them once, when they are validated.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

# The square of a number that is not 0, but below this, underflows.
SMALLEST_TO_SQUARE = 1e-140
# Sums of squares of larger numbers may overflow.
LARGEST_TO_SQUARE = 1e150
# Sums of values with smaller weights underflow.
SMALLEST_WEIGHT = 1e-120
# Stand in for 0 and for infinity where a quotient or a product must be finite.
SMALLEST_POSITIVE, LARGEST_FINITE = 1e-300, 1e300


def check_scale(X: Any, name: str = "X") -> None:
    """Raise a ValueError if squared distances of training rows over- or underflow.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Finite values.
    name : str
        Name of X in the error message.
    """
    check_squares(X, name)
    spread = _spread(X)
    if 0 < spread < SMALLEST_TO_SQUARE:
        raise ValueError(
            f"{name} varies by {spread:.3g} at most, whose square underflows: scale it "
            "up, for the fit and for predictions."
        )


def check_squares(X: Any, name: str = "X") -> None:
    """Raise a ValueError if squared distances between such rows overflow.

    New rows cannot be checked for underflow: they may be equal, or a single one.
    """
    values = X.data if sparse.issparse(X) else X
    largest = float(max(values.max(initial=0.0), -values.min(initial=0.0)))
    if largest > np.sqrt(np.finfo(np.float64).max / (16 * X.shape[1])):
        raise ValueError(
            f"{name} holds values up to {largest:.3g}, whose squares overflow: scale "
            "it down, for the fit and for predictions."
        )


def _spread(X: Any) -> float:
    """Return the largest range of a feature."""
    if sparse.issparse(X):
        return float((X.max(axis=0) - X.min(axis=0)).max())
    with np.errstate(over="ignore"):  # float32
        return float(np.ptp(X, axis=0).max())
