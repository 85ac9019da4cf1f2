"""Parameters of the neighbour estimators: checks, threads, reference points."""

from __future__ import annotations

from contextlib import nullcontext
from numbers import Real
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from pursuit._threads import allowed_threads
from pursuit.estimators._planning import check_choice

# Types of whole numbers.
_WHOLE = (int, np.integer)

# The largest number of neighbours that "auto" compares.
MOST_NEIGHBORS = 80


def thread_count(n_jobs: int | None) -> int:
    """Return how many threads to use; None: as many as BLAS may."""
    return allowed_threads() if n_jobs is None else int(effective_n_jobs(n_jobs))


def limited_threads(n_jobs: int | None) -> Any:
    """Hold scikit-learn's search to the threads that ``n_jobs`` allows."""
    return nullcontext() if n_jobs is None else threadpool_limits(thread_count(n_jobs))


def check_search(search: Any) -> None:
    """Raise a ValueError unless ``search`` can find neighbours."""
    if search is None or (hasattr(search, "fit") and hasattr(search, "kneighbors")):
        return
    raise ValueError(
        f"search={search!r} must have the methods fit and kneighbors, or be None."
    )


def check_penalty(penalty: Any) -> None:
    """Raise a ValueError unless ``penalty`` is a number or a known word."""
    if isinstance(penalty, str):
        check_choice("penalty", penalty, ("scale", "auto"))
    elif not is_number(penalty) or not 0 <= penalty < np.inf:
        raise ValueError(
            f"penalty={penalty!r} must be a finite number of at least 0, 'scale' or "
            "'auto'."
        )


def check_whole(name: str, value: Any, low: int, otherwise: str = "") -> None:
    """Raise a ValueError unless ``value`` is a whole number of at least ``low``."""
    if isinstance(value, (bool, np.bool_)) or not (
        isinstance(value, _WHOLE) and value >= low
    ):
        raise ValueError(
            f"{name}={value!r} must be a whole number of at least {low}{otherwise}."
        )


def is_number(value: Any) -> bool:
    """Return whether ``value`` is a real number and no truth value."""
    return isinstance(value, Real) and not isinstance(value, (bool, np.bool_))


def checked_graph(graph: Any, n_rows: int, n_columns: int) -> Any:
    """Return a sparse graph of distances as CSR, or say what is wrong with it."""
    if not sparse.issparse(graph) or graph.shape != (n_rows, n_columns):
        raise ValueError(
            f"graph must be a sparse matrix of shape ({n_rows}, {n_columns}): one row "
            "a point, one column a training point of fit; got "
            f"{type(graph).__name__} of shape {np.shape(graph)}."
        )
    return sparse.csr_array(graph)


def reference_rows(reference: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the training rows that are kept as reference points, sorted."""
    if reference is None:
        return np.arange(len(X))
    if hasattr(reference, "support_") or hasattr(reference, "fit"):
        return _support_rows(reference, X, y)
    rows = np.asarray(reference)
    if rows.dtype == bool and rows.shape == (len(X),):
        rows = np.flatnonzero(rows)
    is_whole = rows.ndim == 1 and rows.dtype.kind in "iu"
    if not is_whole or len(rows) == 0 or rows.min() < 0 or rows.max() >= len(X):
        raise ValueError(
            f"reference={reference!r} must hold indices of training rows (0 to "
            f"{len(X) - 1}), be a mask of all rows, a model with support_, or None."
        )
    return np.unique(rows)


def _support_rows(model: Any, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    try:
        rows = model.support_
    except (AttributeError, NotFittedError):
        model = clone(model).fit(X, y)
        rows = getattr(model, "support_", None)
    if rows is None:
        raise ValueError(
            f"reference={model!r} has no support_ after its fit: give a model with "
            "support points, such as SVC or KMPClassifier, or indices."
        )
    rows = np.unique(rows)
    vectors = getattr(model, "support_vectors_", np.empty(0))
    if rows[-1] >= len(X) or (
        np.shape(vectors) == (len(model.support_), X.shape[1])
        and not np.allclose(X[model.support_], vectors)
    ):
        raise ValueError(
            f"reference={model!r} was fitted to other rows: its support_ must index "
            "the X given to fit. An unfitted model is fitted to X and y."
        )
    return rows
