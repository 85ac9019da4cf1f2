"""Parameters of the neighbour estimators: checks, threads, reference points."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pursuit._memory import budget
from pursuit._parameters import (
    check_jobs,
    check_verbose,
    is_number,
    random_numbers,
    whole_number,
)
from pursuit._rows import distinct_rows
from pursuit._threads import allowed_threads, limited

Fit = TypeVar("Fit", bound=Callable[..., Any])

# The largest number of neighbours that "auto" compares.
MOST_NEIGHBORS = 80
# So few different rows, each there so often, are categories.
_FEW_ROWS, _MANY_COPIES = 50, 5
# An array of more values is not printed.
_FEW_VALUES = 10


def without_weights(others: str) -> Callable[[Fit], Fit]:
    """Return a decorator of ``fit`` that says so where weights are given.

    The signature is left as it is: a parameter would tell scikit-learn that there are
    weights.  ``others`` names models that take some.
    """

    def decorate(fit: Fit) -> Fit:
        @wraps(fit)
        def fit_without(self: Any, *args: Any, **kwargs: Any) -> Any:
            if "sample_weight" in kwargs:
                raise TypeError(
                    f"{type(self).__name__}.fit() takes no sample_weight: neighbours "
                    f"have no weights. {others} take some."
                )
            return fit(self, *args, **kwargs)

        return cast(Fit, fit_without)

    return decorate


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads to use; None: as many as BLAS may."""
    if n_jobs is None:
        return allowed_threads()
    check_jobs(n_jobs)
    return int(effective_n_jobs(n_jobs))


def limited_threads(n_jobs: int | None) -> Any:
    """Hold scikit-learn's search to the threads that ``n_jobs`` allows."""
    return nullcontext() if n_jobs is None else limited(thread_count(n_jobs))


def check_shared(estimator: Any, least_left_out: int) -> None:
    """Raise a ValueError if a parameter that all neighbour estimators have is wrong."""
    whole_number("n_neighbors", estimator.n_neighbors, 1, ("auto",))
    whole_number("loo_samples", estimator.loo_samples, least_left_out)
    budget(estimator.max_memory)
    random_numbers(estimator.random_state)
    thread_count(estimator.n_jobs)
    check_verbose(estimator.verbose)
    check_search(estimator.search)


def check_search(search: Any) -> None:
    """Raise a ValueError unless ``search`` can find neighbours."""
    if inspect.isclass(search):
        raise ValueError(
            f"search={search!r} is a class: give an instance, {search.__name__}(...)."
        )
    if search is None or (hasattr(search, "fit") and hasattr(search, "kneighbors")):
        return
    raise ValueError(
        f"search={search!r} must have the methods fit and kneighbors, or be None."
    )


def check_penalty(penalty: Any) -> None:
    """Raise a ValueError unless ``penalty`` is a number or a known word."""
    is_known = isinstance(penalty, str) and penalty in ("scale", "auto")
    if not is_known and not (is_number(penalty) and 0 <= penalty < np.inf):
        raise ValueError(
            f"penalty={penalty!r} must be a finite number of at least 0, 'scale' or "
            "'auto'."
        )


def checked_graph(graph: Any, n_rows: int, n_columns: int) -> Any:
    """Return a sparse graph of distances as CSR, or say what is wrong with it."""
    if not sparse.issparse(graph) or graph.shape != (n_rows, n_columns):
        raise ValueError(
            f"graph must be a sparse matrix of shape ({n_rows}, {n_columns}): one row "
            "a point, one column a training point of fit; got "
            f"{type(graph).__name__} of shape {np.shape(graph)}."
        )
    csr = sparse.csr_array(graph)
    if not np.all(np.isfinite(csr.data) & (csr.data >= 0)):
        raise ValueError(
            "graph holds values that are negative, infinite or NaN: its stored entries "
            "must be distances."
        )
    if csr.nnz > n_rows and np.all(csr.data == 1):
        raise ValueError(
            "graph holds ones only and looks like mode='connectivity': its stored "
            "entries must be distances; use mode='distance'."
        )
    return csr


def reference_rows(reference: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the training rows that are kept as reference points, sorted."""
    if reference is None:
        return np.arange(len(X))
    if hasattr(reference, "support_") or hasattr(reference, "fit"):
        return _support_rows(reference, X, y)
    rows = _row_numbers(reference, len(X))
    if rows is None or len(rows) == 0:
        raise ValueError(
            f"reference={_in_short(reference)} must hold indices of training rows (0 "
            f"to {len(X) - 1}), be a mask of all {len(X)} rows, a model with support_, "
            "or None."
        )
    return np.unique(rows)


def rows_left_out_together(X: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Return the sets (n,) of training rows of which none is the others' neighbour.

    Equal rows: a left-out row whose copy stays would be its own neighbour.  Where
    inputs are a few categories, whoever predicts meets the same rows again, and each
    row is left out alone, as it is where the reference points are all equal.
    """
    first, sets = distinct_rows(X, np.ones(len(X)))
    n = len(first)
    is_category = n <= _FEW_ROWS and len(X) >= _MANY_COPIES * n
    if n == len(X) or is_category or np.ptp(sets[reference]) == 0:
        return np.arange(len(X))
    return sets


def _in_short(given: Any) -> str:
    """Return what was given, of a long array its kind only."""
    values = np.asarray(given)
    if values.size <= _FEW_VALUES:
        return repr(given)
    kind = "mask" if values.dtype == bool else f"array of {values.dtype}"
    return f"<{kind} of shape {values.shape}>"


def _row_numbers(given: Any, n_rows: int) -> np.ndarray | None:
    """Return the rows of indices or of a mask; None if they are no rows."""
    rows = np.asarray(given)
    if rows.dtype == bool and rows.shape == (n_rows,):
        return np.flatnonzero(rows)
    if rows.ndim == 1 and len(rows) == 0:
        return rows.astype(np.intp)
    is_whole = rows.ndim == 1 and rows.dtype.kind in "iu"
    if not is_whole or rows.min() < 0 or rows.max() >= n_rows:
        return None
    return rows


def _support_rows(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    try:
        support = model.support_
    except (AttributeError, NotFittedError):
        model = clone(model).fit(X, y)
        support = getattr(model, "support_", None)
    if support is None:
        raise ValueError(
            f"reference={model!r} has no support_ after its fit: give a model with "
            "support points, such as SVC or KMPClassifier, or indices."
        )
    rows = _row_numbers(support, len(X))
    if rows is not None and len(rows) == 0:
        raise ValueError(
            f"reference={model!r} has no support points: its support_ is empty. Give a "
            "model that keeps some, or indices."
        )
    if rows is None or _are_others(rows, model, X):
        raise ValueError(
            f"reference={model!r} was fitted to other rows: its support_ must index "
            "the X given to fit, by whole numbers or a mask. An unfitted model is "
            "fitted to X and y."
        )
    return np.unique(rows)


def _are_others(rows: np.ndarray, model: Any, X: np.ndarray) -> bool:
    """Return whether the model's support vectors are not these rows of X."""
    vectors = getattr(model, "support_vectors_", np.empty(0))
    is_told = np.shape(vectors) == (len(rows), X.shape[1])
    return is_told and not np.allclose(X[rows], vectors)
