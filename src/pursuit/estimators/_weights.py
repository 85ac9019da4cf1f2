"""Weights of rows and of classes."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_array

from pursuit._parameters import check_classes, is_number, is_word

from ._inputs import check_kind

# Largest sum of weights whose square does not overflow.
_LARGEST_TOTAL = 1e150


def check_sample_weight(sample_weight: Any, n_rows: int) -> np.ndarray:
    """Return sample weights as a float64 array, or raise a ValueError."""
    if sample_weight is None:
        return np.ones(n_rows)
    if isinstance(sample_weight, Real):
        sample_weight = np.full(n_rows, sample_weight)
    weight = _numbers(sample_weight)
    if weight.shape != (n_rows,):
        raise ValueError(
            f"sample_weight.shape == {weight.shape}, expected {(n_rows,)}: one "
            "weight for each sample."
        )
    if np.any(weight < 0):
        raise ValueError(
            f"sample_weight has negative values (the lowest is {weight.min():g}); "
            "weights must be 0 or more."
        )
    if not np.any(weight > 0):
        raise ValueError("sample_weight is zero for all samples: nothing to fit.")
    if weight.max() > _LARGEST_TOTAL / n_rows:
        raise ValueError(
            f"sample_weight has values up to {weight.max():.3g}, whose sum cannot be "
            "squared: scale them down."
        )
    return weight


def _numbers(sample_weight: Any) -> np.ndarray:
    name = "sample_weight"
    check_kind(sample_weight, name)
    try:
        return check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name=name
        )
    except (TypeError, ValueError) as error:
        if name in str(error):
            raise
        raise ValueError(
            f"sample_weight holds values that are not numbers: {error}"
        ) from error


def check_weighted_classes(
    classes: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> None:
    """Raise a ValueError unless at least two classes have rows of positive weight."""
    check_classes(classes)
    if len(np.unique(codes[weight > 0])) < 2:
        raise ValueError(
            "Only one class has rows of positive weight (sample_weight, class_weight); "
            "a classifier needs at least two classes."
        )


def class_weights(
    class_weight: Any, classes: np.ndarray, codes: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Return the weight of each class, or raise a ValueError.

    ``codes`` (l,) are the indices of the rows' classes, ``weight`` (l,) the sample
    weights.
    """
    if class_weight is None:
        return np.ones(len(classes))
    if is_word(class_weight, "balanced"):
        return _balanced(np.bincount(codes, weight, minlength=len(classes)))
    if not isinstance(class_weight, Mapping):
        raise ValueError(
            f"class_weight={class_weight!r} must be a dict from class to weight, "
            "'balanced' or None."
        )
    return _of_mapping(class_weight, classes)


def _balanced(totals: np.ndarray) -> np.ndarray:
    """Return the weights that make the class totals equal and keep their sum."""
    present = totals > 0
    # A class of total weight 0 counts as absent.
    share = totals.sum() / np.count_nonzero(present)
    return np.divide(share, totals, out=np.zeros(len(totals)), where=present)


def _of_mapping(mapping: Mapping[Any, Any], classes: np.ndarray) -> np.ndarray:
    """Return the weights of the classes; those not mentioned have weight 1."""
    known = classes.tolist()
    for label, weight in mapping.items():
        if not is_number(weight) or not 0 <= weight < np.inf:
            raise ValueError(
                f"class_weight={mapping!r} gives the class {label!r} the weight "
                f"{weight!r}: weights must be finite numbers of 0 or more."
            )
    unknown = [label for label in mapping if label not in known]
    # A fold may lack a class, so an unknown label is an error only if another class is
    # left without a weight.
    if unknown and any(label not in mapping for label in known):
        raise ValueError(
            f"class_weight={mapping!r} mentions {unknown[0]!r}, which is not a class "
            f"of y; the classes are {', '.join(map(repr, known))}."
        )
    return np.array([float(mapping.get(label, 1.0)) for label in known])
