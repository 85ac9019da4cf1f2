"""Turn the kernel or dictionary of an estimator into functions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pursuit._parameters import is_number
from pursuit.dictionaries import Dictionary, OneKernel, Precomputed, Sample
from pursuit.functions import Functions
from pursuit.kernels import Kernel
from pursuit.kernels.given import is_precomputed

# Parameters that a dictionary replaces, with their defaults.
_KERNEL_DEFAULTS = {"kernel": "rbf", "gamma": "cv", "degree": 3, "coef0": 0.0}


def takes_kernel_matrix(estimator: Any) -> bool:
    """Return whether the estimator's X is a kernel matrix."""
    if getattr(estimator.dictionary, "is_kernel", False):
        return True
    return is_precomputed(estimator.kernel)


def dictionary_of(estimator: Any) -> Dictionary:
    """Return the given dictionary, or the one that the kernel stands for."""
    kernel, dictionary = estimator.kernel, estimator.dictionary
    if dictionary is None:
        if is_precomputed(kernel):
            return Precomputed(is_kernel=True)
        return OneKernel(
            kernel,
            gamma=estimator.gamma,
            degree=estimator.degree,
            coef0=estimator.coef0,
        )
    for name, default in _KERNEL_DEFAULTS.items():
        value = getattr(estimator, name)
        is_plain = isinstance(value, str) or is_number(value)
        if not is_plain or value != default:
            raise ValueError(
                f"{name}={value!r} and a dictionary were both given: the dictionary "
                f"has kernels and widths of its own, so leave {name} at {default!r}."
            )
    if isinstance(dictionary, Dictionary):
        return dictionary
    is_function = callable(dictionary) and not isinstance(dictionary, type)
    if isinstance(dictionary, (str, Kernel)) or is_function:
        return OneKernel(dictionary)
    raise ValueError(
        f"dictionary={dictionary!r} must be an object of pursuit.dictionaries, such as "
        "ManyWidths(), a kernel, or None."
    )


def learned(dictionary: Dictionary, sample: Sample) -> list[Functions]:
    found = dictionary.learn(sample)
    if not found or not len(found[0]):
        raise ValueError(f"dictionary={dictionary!r} has no functions on these data.")
    if any(not np.array_equal(f.rows, found[0].rows) for f in found):
        raise ValueError(
            f"dictionary={dictionary!r} compares collections that are not alike: each "
            "must have the same functions but for their widths."
        )
    return found


def relearner(
    dictionary: Dictionary, sample: Sample
) -> Callable[[np.ndarray], list[Functions]] | None:
    """Return a function that learns the atoms without the targets of some rows.

    Rows of weight zero are held out. None if the dictionary does not use the targets.
    """
    if not dictionary.learns_from_targets:
        return None
    found: dict[bytes, list[Functions]] = {}

    def relearn(weight: np.ndarray) -> list[Functions]:
        # The same folds come again for every width and ridge.
        seen = weight.tobytes()
        if seen not in found:
            found[seen] = learned(dictionary, replace(sample, seen=weight))
        return found[seen]

    return relearn


def sets_of_atoms(functions: Functions, set_of_row: np.ndarray) -> np.ndarray:
    rows = functions.rows
    return np.where(rows >= 0, set_of_row[rows], -1)


def labels(functions: Functions) -> np.ndarray:
    """Return the row of each atom if these are all different, else its position."""
    rows = functions.rows
    has_own = np.all(rows >= 0) and len(np.unique(rows)) == len(rows)
    return rows if has_own else np.arange(len(rows))


def feature_names(estimator: Any, X: Any) -> tuple[str, ...]:
    names = getattr(estimator, "feature_names_in_", None)
    if names is None:
        return tuple(f"x{j}" for j in range(X.shape[1]))
    return tuple(map(str, names))
