"""The parameters of the KMP estimators, checked and resolved."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from pursuit._deadline import Deadline, seconds_of
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
from pursuit.kernels import Gaussian, InMetric, Kernel, Laplacian, as_kernel
from pursuit.kernels.given import check_given, is_precomputed
from pursuit.kernels.metric import factor_of
from pursuit.losses import Loss
from pursuit.methods import Method, Redrawn, as_method
from pursuit.metrics import Given, Metric, as_metric
from pursuit.selection import Selection, Validation, as_selection

# Parameters that a dictionary replaces, with their defaults.
_KERNEL_DEFAULTS = {"kernel": "auto", "gamma": "cv", "metric": "auto"}

# Kernels that kernel="auto" compares.
FAMILIES = (Gaussian(gamma="cv"), Laplacian(gamma="cv"))

# Share of the error by which a smaller model may be worse, with "auto"; that for
# classes in a learned kernel under squared loss. Under the margin loss it is 0, since
# sizes are few and models small.
TOLERANCE, TOLERANCE_OF_CLASSES = 0.01, 0.02

# Number of folds with "auto": each fold learns a kernel of its own, if that is learned.
FOLDS, FOLDS_TO_LEARN = 10, 5

# Maximum number of rows that are fitted under the margin loss by default.
MARGIN_ROWS = 10_000

# Maximum number of candidates with "auto", and of their values on all rows; there are
# at least two candidates for each step.
AUTO_CANDIDATES, AUTO_VALUES = 10_000, 5 * 10**8
# Maximum number of candidates with "auto" if the kernel is learned.
LEARNED_CANDIDATES = 3_000

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


# What takes the place of parameters of SVC and SVR, and where to read more.
SVC_WORDS = {
    "C": "the ridge alpha is large where C is small, and max_support limits the number "
    "of points; by default held-out rows choose both",
    "probability": "loss='logistic' gives predict_proba",
    "epsilon": "there is no tube; loss='absolute' or 'huber' is as robust",
    "nu": "max_support sets the number of points",
    "shrinking": "leave it out",
    "cache_size": "max_memory limits the memory of the whole fit",
    "max_iter": "max_support limits the number of steps",
    "decision_function_shape": "there is one function for each class; multiclass says "
    "whether they share their points",
    "break_ties": "leave it out; the class is always the one of the largest value",
}
SVC_GUIDE = "The page 'Moving from SVC and SVR' of the documentation has all of them."


@dataclass(frozen=True, eq=False)
class Settings:
    """The parameters of a KMP estimator that do not depend on the data.

    Attributes
    ----------
    dictionary : Dictionary or None
        The one given, or the one that the kernel stands for; None if the kernel is
        learned.
    learned : LearnedKernel or None
        What of the kernel is learned.
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
    deadline : Deadline
        When the fit has to end; it runs from here on.
    """

    dictionary: Dictionary | None
    learned: LearnedKernel | None
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
    deadline: Deadline

    @classmethod
    def of(cls, parameters: Mapping[str, Any]) -> Settings:
        """Return the settings that these parameters mean; raise if one is wrong."""
        method = as_method(parameters["method"])
        selection = as_selection(parameters["selection"])
        check_flag("fit_intercept", parameters["fit_intercept"])
        thread_count(parameters["n_jobs"])
        check_verbose(parameters["verbose"])
        return cls(
            **source_of(parameters),
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
            deadline=Deadline(seconds_of(parameters["max_time"])),
        )

    def suits_margin(self, n_rows: int) -> bool:
        """Return whether several classes are fitted under the margin loss by default.

        That is where its pursuit goes by inner products: the kernel is learned, all
        coefficients are optimized at each step, and the rows are not too many.
        """
        goes_by_products = (
            self.method.word != "basic"
            and self.method.refit_every == 1
            and not isinstance(self.n_candidates, Redrawn)
            and self.alpha != 0
        )
        by_folds = self.selection.word not in ("loo", "bound")
        is_learned = self.learned is not None
        return is_learned and by_folds and goes_by_products and n_rows <= MARGIN_ROWS

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

    def selection_on(self, is_large: bool, loss: Loss, is_class: bool) -> Selection:
        """Return how the size is chosen: on large data, one part replaces folds."""
        # Not a clone: the folds may be an iterator.
        rule = copy(self.selection)
        if is_word(rule.n_folds, "auto"):
            n_folds = FOLDS if self.learned is None else FOLDS_TO_LEARN
            rule.set_params(n_folds=n_folds)
        if is_word(rule.tolerance, "auto"):
            rule.set_params(tolerance=self._tolerance(loss, is_class))
        if is_large and rule.word == "cv" and isinstance(rule.n_folds, WHOLE):
            return Validation(tolerance=rule.tolerance, scoring=rule.scoring)
        return rule

    def _tolerance(self, loss: Loss, is_class: bool) -> float:
        """Return by which share of the error a smaller model may be worse."""
        if self.learned is None or not is_class:
            return TOLERANCE
        if loss.has_closed_form:
            return TOLERANCE_OF_CLASSES
        return 0.0 if loss.is_squared_distance else TOLERANCE

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
            most = AUTO_CANDIDATES if self.learned is None else LEARNED_CANDIDATES
            return max(least, min(most, AUTO_VALUES // n_distinct))
        words = "auto", None
        return min(row_count("n_candidates", value, n_distinct, words), n_distinct)


def takes_kernel_matrix(kernel: Any, dictionary: Any) -> bool:
    """Return whether X is a kernel matrix."""
    return getattr(dictionary, "is_kernel", False) or is_precomputed(kernel)


@dataclass(frozen=True, eq=False)
class LearnedKernel:
    """Which kernels are compared, and in which metric.

    Attributes
    ----------
    families : list of Kernel
    metric : Metric or None
    """

    families: list[Kernel]
    metric: Metric | None

    @property
    def learns_metric(self) -> bool:
        """Whether a metric is learned, beginning with the columns' own scales."""
        return self.metric is not None and bool(self.metric.shapes)


def source_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Return the dictionary, or what is learned instead: attributes of `Settings`."""
    kernel, gamma = parameters["kernel"], parameters["gamma"]
    is_auto = is_word(kernel, "auto")
    has_own_width = callable(kernel) and not isinstance(kernel, type)
    if has_own_width and not is_word(gamma, "cv"):
        raise ValueError(
            f"gamma={gamma!r} is the width of a kernel given by name, but "
            f"kernel={kernel!r} has its own parameters: set the width there, as in "
            "Gaussian(gamma=0.5), and leave gamma at 'cv'."
        )
    # Whoever names a kernel or its width means distances between rows as they are.
    metric = as_metric(parameters["metric"], is_auto and is_word(gamma, "cv"))
    if parameters["dictionary"] is not None:
        return {"dictionary": _given_dictionary(parameters), "learned": None}
    if is_auto and not is_word(gamma, "cv"):
        is_auto, kernel = False, "rbf"
    if not is_auto and (metric is None or isinstance(metric, Given)):
        return {"dictionary": _of_kernel(kernel, gamma, metric), "learned": None}
    families = FAMILIES if is_auto else (_to_learn_with(kernel, gamma),)
    learned = LearnedKernel([clone(k) for k in families], metric)
    return {"dictionary": None, "learned": learned}


def _of_kernel(kernel: Any, gamma: Any, metric: Given | None) -> Dictionary:
    """Return the functions of a kernel that is named."""
    if is_precomputed(kernel):
        if metric is not None:
            raise ValueError(
                "metric is for points, but with kernel='precomputed' X is a matrix of "
                "kernel values: leave metric at 'auto'."
            )
        return Precomputed(is_kernel=True)
    if metric is None:
        return OneKernel(kernel, gamma=gamma)
    check_given(kernel, gamma, words=("cv",))
    described = as_kernel(kernel, gamma)
    return OneKernel(InMetric(described, factor_of(metric.metric)))


def _to_learn_with(kernel: Any, gamma: Any) -> Kernel:
    """Return a kernel whose metric is learned; raise if it cannot be."""
    what = "a learned metric needs"
    if is_precomputed(kernel):
        raise ValueError(
            f"{what} points, but with kernel='precomputed' X is a matrix of kernel "
            "values: leave metric at 'auto'."
        )
    check_given(kernel, gamma, words=("cv",))
    described = as_kernel(kernel, gamma)
    width = getattr(described, "gamma", "cv")
    if is_word(width, "median"):
        described = described.with_gamma("cv")
    elif not is_word(width, "cv"):
        raise ValueError(
            f"gamma={width!r} is a width in the units of X, but {what} a width in the "
            "units of the metric: use gamma='cv'."
        )
    if not described.has_gradients:
        raise ValueError(
            f"{what} the gradients of the kernel, which {described!r} does not give: "
            "use a kernel such as 'rbf' or 'laplacian', or metric=None."
        )
    return described


def _given_dictionary(parameters: Mapping[str, Any]) -> Dictionary:
    dictionary = parameters["dictionary"]
    for name, default in _KERNEL_DEFAULTS.items():
        value = parameters[name]
        is_plain = isinstance(value, str) or is_number(value)
        is_default = (is_plain and value == default) or (
            name == "metric" and value is None
        )
        if not is_default:
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
