"""The parameters of the KMP estimators, checked and resolved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit._limits import budget
from pursuit._parameters import (
    WHOLE,
    check_flag,
    check_verbose,
    is_number,
    is_word,
    number_from_zero,
    random_numbers,
    row_count,
    thread_count,
)
from pursuit.dictionaries import Dictionary, OneKernel, Precomputed
from pursuit.kernels import Kernel
from pursuit.kernels.given import is_precomputed
from pursuit.losses import Loss
from pursuit.methods import Method, Redrawn, as_method
from pursuit.selection import Selection, Validation, as_selection

# Parameters that a dictionary replaces, with their defaults.
_KERNEL_DEFAULTS = {"kernel": "rbf", "gamma": "cv"}

# Maximum number of candidates with "auto", and of their values on all rows; there are
# at least two candidates for each step.
AUTO_CANDIDATES, AUTO_VALUES = 10_000, 5 * 10**8

# Successors of the parameters that became parts of components.
REMOVED = {
    "degree": "kernel=Polynomial(degree=..., gamma='cv') of pursuit.kernels",
    "coef0": "kernel=Polynomial(coef0=..., gamma='cv'), or Sigmoid, of pursuit.kernels",
    "backfit_every": "method=PreFitting(refit_every=...), or BackFitting, of "
    "pursuit.methods",
    "tol": "method=PreFitting(tol=...), or BackFitting, of pursuit.methods",
    "redraw_candidates": "n_candidates=Redrawn(n) of pursuit.methods for True, and "
    "nothing for False",
    "cv": "selection=CrossValidation(n_folds=...), or n_folds of another selection, of "
    "pursuit.selection",
    "scoring": "selection=CrossValidation(scoring=...), or scoring of another "
    "selection, of pursuit.selection",
    "size_tolerance": "selection=CrossValidation(tolerance=...), or tolerance of "
    "another selection, of pursuit.selection",
    "validation_fraction": "selection=Validation(fraction=...) of pursuit.selection",
    "patience": "selection=Validation(patience=...), LeaveOneOut or MinimalBound of "
    "pursuit.selection",
    "bound": "selection=MinimalBound(kind=...) of pursuit.selection",
    "bound_alpha": "selection=MinimalBound(alpha=...) of pursuit.selection",
    "delta": "selection=MinimalBound(delta=...) of pursuit.selection",
}


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters of a KMP estimator that do not depend on the data.

    Attributes
    ----------
    dictionary : Dictionary
        The one given, or the one that the kernel stands for.
    alpha : float or "cv"
    method : Method
    selection : Selection
    max_support, n_candidates
        As in the estimator.
    fit_intercept : bool
    memory : int
        Bytes that the fit may use.
    dtype : float64 or float32
    random_numbers : RandomState
    is_seeded : bool
        Whether `random_state` is set.
    n_jobs : int or None
    verbose : int or bool
    """

    dictionary: Dictionary
    alpha: float | str
    method: Method
    selection: Selection
    max_support: int | float | None
    n_candidates: int | float | str | Redrawn | None
    fit_intercept: bool
    memory: int
    dtype: np.dtype
    random_numbers: np.random.RandomState
    is_seeded: bool
    n_jobs: int | None
    verbose: int | bool

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        """Return the settings that these parameters mean; raise if one is wrong."""
        method = as_method(parameters["method"])
        selection = as_selection(parameters["selection"])
        check_flag("fit_intercept", parameters["fit_intercept"])
        thread_count(parameters["n_jobs"])
        check_verbose(parameters["verbose"])
        return cls(
            dictionary=dictionary_of(parameters),
            alpha=number_from_zero("alpha", parameters["alpha"], ("cv",)),
            method=method,
            selection=selection,
            max_support=parameters["max_support"],
            n_candidates=parameters["n_candidates"],
            fit_intercept=bool(parameters["fit_intercept"]),
            memory=budget(parameters["max_memory"]),
            dtype=_dtype(parameters["dtype"]),
            random_numbers=random_numbers(parameters["random_state"]),
            is_seeded=parameters["random_state"] is not None,
            n_jobs=parameters["n_jobs"],
            verbose=parameters["verbose"],
        )

    def check_loss(self, loss: Loss) -> None:
        """Raise a ValueError unless the selection suits the method and the loss."""
        if self.selection.word != "loo":
            return
        if self.method.word == "basic":
            raise ValueError(
                "selection='loo' needs a least-squares fit at each step, which "
                "method='basic' does not make: use method='back-fitting' or "
                "'pre-fitting', or selection='cv'."
            )
        if not loss.has_closed_form or self.method.refit_every != 1:
            raise ValueError(
                "selection='loo' needs loss='squared' and refit_every=1, for which "
                "leave-one-out errors have a closed form: use selection='cv'."
            )

    def selection_on(self, is_large: bool) -> Selection:
        """Return how the size is chosen: on large data, one part replaces folds."""
        rule = self.selection
        if is_large and rule.word == "cv" and isinstance(rule.n_folds, WHOLE):
            return Validation(tolerance=rule.tolerance, scoring=rule.scoring)
        return rule

    def wanted_steps(self, n_distinct: int) -> int:
        """Return the number of steps asked for, even if there are fewer candidates."""
        if self.max_support is None:
            return int(np.clip(10 * np.sqrt(n_distinct), 100, 1000))
        return row_count("max_support", self.max_support, n_distinct, (None,))

    def max_steps(self, n_distinct: int, n_candidates: int) -> int:
        """Return the maximum number of steps."""
        wanted = self.wanted_steps(n_distinct)
        # The basic method may choose a point any number of times.
        return wanted if self.method.word == "basic" else min(wanted, n_candidates)

    def n_drawn(self, n_distinct: int) -> int | None:
        """Return how many candidates each step draws, None if they are fixed."""
        if isinstance(self.n_candidates, Redrawn):
            return self.n_candidates.count(n_distinct)
        return None

    def n_fixed(self, n_distinct: int) -> int:
        """Return the number of distinct rows that are candidates of all steps."""
        value = self.n_candidates
        if value is None or isinstance(value, Redrawn):
            return n_distinct
        if is_word(value, "auto"):
            least = 2 * self.wanted_steps(n_distinct)
            return max(least, min(AUTO_CANDIDATES, AUTO_VALUES // n_distinct))
        words = "auto", None
        return min(row_count("n_candidates", value, n_distinct, words), n_distinct)


def takes_kernel_matrix(kernel: Any, dictionary: Any) -> bool:
    """Return whether X is a kernel matrix."""
    return getattr(dictionary, "is_kernel", False) or is_precomputed(kernel)


def dictionary_of(parameters: Mapping[str, Any]) -> Dictionary:
    """Return the given dictionary, or the one that the kernel stands for."""
    kernel, dictionary = parameters["kernel"], parameters["dictionary"]
    if dictionary is None:
        if is_precomputed(kernel):
            return Precomputed(is_kernel=True)
        return OneKernel(kernel, gamma=parameters["gamma"])
    for name, default in _KERNEL_DEFAULTS.items():
        value = parameters[name]
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


def _dtype(value: Any) -> np.dtype:
    """Return the type in which kernel values are stored."""
    for known in (np.dtype("float64"), np.dtype("float32")):
        try:
            if value is not None and np.dtype(value) == known:
                return known
        except TypeError:
            break
    raise ValueError(f"dtype={value!r} must be 'float64' or 'float32'.")
