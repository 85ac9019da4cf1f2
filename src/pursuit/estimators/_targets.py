"""What is asked of targets: numbers of a fit scale, or classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.multiclass import check_classification_targets

from pursuit._parameters import SMALLEST_TO_SQUARE

# -- numbers -------------------------------------------------------------------------


def as_numbers(y: Any) -> Any:
    """Return targets with numbers for words and objects, or say that they are none.

    What is missing becomes NaN, which scikit-learn's checks refuse.
    """
    if sparse.issparse(y):
        raise TypeError("y is sparse, but dense targets are required: use y.toarray().")
    values = np.asarray(y)
    if y is None or values.dtype.kind not in "OSU":
        return y
    try:
        if hasattr(y, "isna"):  # of pandas, whose NA is no number
            return y.to_numpy(np.float64, na_value=np.nan)
        return values.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"y holds what is no number ({error}): a regressor needs numbers; for "
            "classes take a classifier, such as KMPClassifier."
        ) from error


def check_target_scale(Y: np.ndarray, weight: np.ndarray, is_centred: bool) -> None:
    """Raise a ValueError unless sums of squares of the targets are numbers.

    Parameters
    ----------
    Y : ndarray of shape (n, T)
        Of rows that count.
    weight : ndarray
    is_centred : bool
        Whether a constant is fitted, so that only differences matter.
    """
    largest = float(np.abs(Y).max())
    # Correlations with functions of size 1 are squared too.
    if largest > np.sqrt(np.finfo(np.float64).max / 16) / max(1.0, weight.sum()):
        raise ValueError(
            f"y holds values up to {largest:.3g}, whose squares overflow: scale it "
            "down, for instance with TransformedTargetRegressor and StandardScaler."
        )
    spread = float(np.ptp(Y, axis=0).max()) if is_centred else largest
    if 0 < spread < SMALLEST_TO_SQUARE:
        raise ValueError(
            f"y varies by {spread:.3g} at most, whose square underflows: scale it up, "
            "for instance with TransformedTargetRegressor and StandardScaler."
        )


def n_targets(y: Any) -> int:
    """Return how many columns y has, as far as can be told before it is checked."""
    first = y[0] if isinstance(y, list | tuple) and len(y) else 0.0
    shape: Any = getattr(y, "shape", (1, *np.shape(first)))
    return int(shape[1]) if len(shape) > 1 else 1


# -- classes -------------------------------------------------------------------------


def class_codes(y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes in order, and each row's place among them."""
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
