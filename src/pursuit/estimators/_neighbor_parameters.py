"""Parameters of the neighbor estimators: checks, threads, reference points."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from functools import wraps
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from pursuit._limits import Limits
from pursuit._memory import budget
from pursuit._parameters import (
    check_verbose,
    random_numbers,
    thread_count,
    whole_number,
)
from pursuit._rows import distinct_rows
from pursuit._threads import allowed_threads, limited
from pursuit.fitting.folds import are_categories

Fit = TypeVar("Fit", bound=Callable[..., Any])

# Largest number of neighbors that "auto" compares.
MOST_NEIGHBORS = 80
# penalty="scale", as a share of the variance.
PENALTY_SCALE = 0.1
# At most so many different rows, with on average so many copies, are categories.
_FEW_ROWS, _MANY_COPIES = 50, 5
# An array of more values is not printed.
_FEW_VALUES = 10


def without_weights(others: str) -> Callable[[Fit], Fit]:
    """Return a decorator of ``fit`` that raises an error if weights are given.

    The signature does not change: a parameter would tell scikit-learn that weights are
    supported. ``others`` names models that support them.
    """

    def decorate(fit: Fit) -> Fit:
        @wraps(fit)
        def fit_without(self: Any, *args: Any, **kwargs: Any) -> Any:
            if "sample_weight" in kwargs:
                raise TypeError(
                    f"{type(self).__name__}.fit() does not support sample_weight; "
                    f"{others} do."
                )
            return fit(self, *args, **kwargs)

        return cast(Fit, fit_without)

    return decorate


def limited_threads(n_jobs: int | None) -> Any:
    """Limit scikit-learn's search to the threads that ``n_jobs`` allows."""
    return nullcontext() if n_jobs is None else limited(thread_count(n_jobs))


def limits_of(estimator: Any) -> Limits:
    """Return the memory of a block and the number of threads.

    A given ``n_jobs`` is taken as it is; None is as many as BLAS may use now.
    """
    n_threads = thread_count(estimator.n_jobs, default=allowed_threads())
    return Limits(budget(estimator.max_memory), n_threads)


def check_shared(estimator: Any, least_left_out: int) -> None:
    """Raise a ValueError if a parameter shared by the neighbor estimators is wrong."""
    whole_number("n_neighbors", estimator.n_neighbors, 1, ("auto",))
    whole_number("loo_samples", estimator.loo_samples, least_left_out)
    budget(estimator.max_memory)
    random_numbers(estimator.random_state)
    thread_count(estimator.n_jobs)
    check_verbose(estimator.verbose)
    check_search(estimator.search)


def penalties_to_compare(
    penalty: float | str, shares: tuple[float, ...], variance: float
) -> np.ndarray:
    """Return the penalties to compare, or the single one given.

    ``shares`` are those of the variance that "auto" compares.
    """
    if not isinstance(penalty, str):
        return np.array([float(penalty)])
    return variance * np.array(shares if penalty == "auto" else (PENALTY_SCALE,))


def rows_to_leave_out(estimator: Any, n_samples: int) -> np.ndarray:
    """Return the training rows that are left out in turn, sorted."""
    state = estimator.random_state
    rng = random_numbers(0 if state is None else state)
    n = min(estimator.loo_samples, n_samples)
    return np.sort(rng.choice(n_samples, n, replace=False))


def check_search(search: Any) -> None:
    """Raise a ValueError unless ``search`` can find neighbors."""
    if inspect.isclass(search):
        raise ValueError(
            f"search={search!r} is a class: give an instance, {search.__name__}(...)."
        )
    if search is None or (hasattr(search, "fit") and hasattr(search, "kneighbors")):
        return
    raise ValueError(
        f"search={search!r} must have the methods fit and kneighbors, or be None."
    )


def checked_graph(graph: Any, n_rows: int, n_columns: int) -> Any:
    """Return a sparse graph of distances as CSR, or raise a ValueError."""
    if not sparse.issparse(graph) or graph.shape != (n_rows, n_columns):
        raise ValueError(
            f"graph must be a sparse matrix of shape ({n_rows}, {n_columns}): one row "
            "per point, one column per training point; got "
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


def rows_left_out_together(
    X: np.ndarray, y: np.ndarray, reference: np.ndarray
) -> np.ndarray:
    """Return for each training row (n,) the set with which it is left out.

    Equal rows form a set: otherwise a row would be its own neighbor through a copy. If
    the data are categories, new points equal training rows anyway, and each row is left
    out alone, as it is if all reference points are equal. The rules are those of
    :mod:`pursuit.fitting.folds`: many rows that differ in their targets only are
    categories, and of these, rows of equal targets are copies, unless there are too few
    different targets to tell.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,) or (n, T)
        Class codes or target values.
    reference : ndarray of int
        Rows of the reference points.
    """
    alone, one = np.arange(len(X)), np.ones(len(X))
    first, sets = distinct_rows(X, one)
    n = len(first)
    are_few = n <= _FEW_ROWS and len(X) >= _MANY_COPIES * n
    if n == len(X) or are_few or np.ptp(sets[reference]) == 0:
        return alone
    targets, target = distinct_rows(y.reshape(len(y), -1), one)
    are_kinds, are_copies = are_categories(X, target, one)
    if not are_kinds:
        return sets
    pair = np.unique(sets * len(targets) + target, return_inverse=True)[1]
    return alone if are_copies else pair


def _in_short(given: Any) -> str:
    """Return what was given, of a long array its kind only."""
    values = np.asarray(given)
    if values.size <= _FEW_VALUES:
        return repr(given)
    kind = "mask" if values.dtype == bool else f"array of {values.dtype}"
    return f"<{kind} of shape {values.shape}>"


def _row_numbers(given: Any, n_rows: int) -> np.ndarray | None:
    """Return row numbers from indices or a mask; None if they are invalid."""
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
    """Return whether the model's support vectors differ from these rows of X."""
    vectors = getattr(model, "support_vectors_", np.empty(0))
    is_told = np.shape(vectors) == (len(rows), X.shape[1])
    return is_told and not np.allclose(X[rows], vectors)
