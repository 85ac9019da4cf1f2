"""Check targets: numbers of a suitable scale, or classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from pursuit._parameters import SMALLEST_TO_SQUARE

# -- numbers -------------------------------------------------------------------------


def as_numbers(y: Any) -> Any:
    """Convert strings and objects to numbers, or raise a ValueError.

    Missing values become NaN, which scikit-learn's checks reject.
    """
    if sparse.issparse(y):
        raise TypeError("y is sparse, but dense targets are required: use y.toarray().")
    values = np.asarray(y)
    if y is None or values.dtype.kind not in "OSU":
        return y
    try:
        if hasattr(y, "isna"):  # pandas, whose NA is not a number
            return y.to_numpy(np.float64, na_value=np.nan)
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y holds values that are not numbers ({error}): a regressor needs "
            "numbers; for classes use a classifier, such as KMPClassifier."
        ) from error


def check_target_scale(Y: np.ndarray, weight: np.ndarray, is_centered: bool) -> None:
    """Raise a ValueError if sums of squares of the targets over- or underflow.

    Parameters
    ----------
    Y : ndarray of shape (n, T)
        Targets of the rows of positive weight.
    weight : ndarray
    is_centered : bool
        Whether a constant is fitted, so that only differences matter.
    """
    largest = float(np.abs(Y).max())
    # Correlations with functions of size 1 are squared too.
    if largest > np.sqrt(np.finfo(np.float64).max / 16) / max(1.0, weight.sum()):
        raise ValueError(
            f"y holds values up to {largest:.3g}, whose squares overflow: scale it "
            "down, for instance with TransformedTargetRegressor and StandardScaler."
        )
    spread = float(np.ptp(Y, axis=0).max()) if is_centered else largest
    if 0 < spread < SMALLEST_TO_SQUARE:
        raise ValueError(
            f"y varies by {spread:.3g} at most, whose square underflows: scale it up, "
            "for instance with TransformedTargetRegressor and StandardScaler."
        )


def n_targets(y: Any) -> int:
    """Return the number of columns of an unchecked y, as far as it can be told."""
    first = y[0] if isinstance(y, list | tuple) and len(y) else 0.0
    shape: Any = getattr(y, "shape", (1, *np.shape(first)))
    return int(shape[1]) if len(shape) > 1 else 1


# -- classes -------------------------------------------------------------------------


def class_codes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sorted classes, and the index of each row's class."""
    if y.dtype.kind == "O" and any(label is None for label in y):
        raise ValueError("y has labels that are missing (None): leave these rows out.")
    try:
        classes, codes = np.unique(y, return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in y}))
        raise ValueError(
            f"y holds labels of types that have no common order ({kinds}): make them "
            "all words, or all numbers."
        ) from error
    check_classification_targets(y)
    return classes, codes
