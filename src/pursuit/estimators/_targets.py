"""What is asked of targets: classes, their weights, and numbers of a fit scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pursuit._parameters import is_number

# Targets that vary, but by less than this, have squares that underflow.
_SMALLEST_SPREAD = 1e-140

# -- numbers -------------------------------------------------------------------------


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
    if 0 < spread < _SMALLEST_SPREAD:
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


def check_class_count(weight: np.ndarray, codes: np.ndarray) -> None:
    """Raise a ValueError unless rows of two classes, at least, have weight."""
    present = np.unique(codes[weight > 0])
    if len(present) > 1:
        return
    if len(np.unique(codes)) < 2:
        raise ValueError(
            "y holds one class only; a classifier needs at least two classes."
        )
    raise ValueError(
        "Only one class has rows of positive weight (sample_weight, class_weight); a "
        "classifier needs at least two classes."
    )


def class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the weight of each class, or say what is wrong with one.

    ``codes`` (l,) are the rows' places in ``classes``, ``weight`` (l,) how often each
    row counts.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return _balanced(np.bincount(codes, weight, minlength=len(classes)))
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight={class_weight!r} must be a dict from class to weight, "
            "'balanced' or None."
        )
    return _of_mapping(class_weight, classes)


def _balanced(totals: np.ndarray) -> np.ndarray:
    """Return the weights that make the classes' totals equal, and keep their sum."""
    present = totals > 0
    # A class of weight 0 is as if absent.
    share = totals.sum() / np.count_nonzero(present)
    return np.divide(share, totals, out=np.zeros(len(totals)), where=present)


def _of_mapping(given: Mapping[Any, Any], classes: np.ndarray) -> np.ndarray:
    """Return the weights of the classes; one that is not mentioned has weight 1."""
    known = classes.tolist()
    for label, weight in given.items():
        if not is_number(weight) or not 0 <= weight < np.inf:
            raise ValueError(
                f"class_weight={given!r} gives the class {label!r} the weight "
                f"{weight!r}: weights must be finite numbers of 0 or more."
            )
    unknown = [label for label in given if label not in known]
    # A fold may lack a class; a name that is wrong leaves another without a weight.
    if unknown and any(label not in given for label in known):
        raise ValueError(
            f"class_weight={given!r} mentions {unknown[0]!r}, which is no class of y: "
            f"these are {', '.join(map(repr, known))}."
        )
    return np.array([float(given.get(label, 1.0)) for label in known])
