"""What users give beside the data: reference rows, directions of invariance, graphs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

# An array of more values is not printed.
_FEW_VALUES = 10


# -- reference rows ------------------------------------------------------------------


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


def _in_short(reference: Any) -> str:
    """Return the text of a parameter, of a long array its kind only."""
    values = np.asarray(reference)
    if values.size <= _FEW_VALUES:
        return repr(reference)
    kind = "mask" if values.dtype == bool else f"array of {values.dtype}"
    return f"<{kind} of shape {values.shape}>"


def _row_numbers(indices_or_mask: Any, n_rows: int) -> np.ndarray | None:
    """Return row numbers from indices or a mask; None if they are invalid."""
    rows = np.asarray(indices_or_mask)
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
            "support points, such as PrototypePursuit or SVC, or indices."
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
    is_known = np.shape(vectors) == (len(rows), X.shape[1])
    return is_known and not np.allclose(X[rows], vectors)


# -- directions of invariance --------------------------------------------------------


@dataclass(frozen=True)
class TangentsOf:
    """Directions of invariance (n, m, d) of some reference points.

    Attributes
    ----------
    tangents : callable, or ndarray of shape (l, m, d)
        Function of points, or the directions of all reference points.
    points : ndarray of shape (l, d)
        Reference points.
    """

    tangents: Any
    points: np.ndarray

    def __call__(self, rows: np.ndarray) -> np.ndarray:
        if not callable(self.tangents):
            return self.tangents[rows]
        T = np.asarray(self.tangents(self.points[rows]))
        n_features = self.points.shape[1]
        if T.ndim != 3 or T.shape[::2] != (len(rows), n_features):
            raise ValueError(
                f"tangents={self.tangents!r} returned shape {T.shape} for {len(rows)} "
                f"points: expected ({len(rows)}, n_tangents, {n_features})."
            )
        _check_finite(T)
        return T


def tangents_of(
    tangents: Any, points: np.ndarray, rows: np.ndarray, n_samples: int
) -> TangentsOf | None:
    """Return the directions of the reference points, or raise a ValueError.

    These are some rows of the training data.
    """
    if tangents is None:
        return None
    if callable(tangents):
        return TangentsOf(tangents, points)
    n_features = points.shape[1]
    if np.ndim(tangents) != 3 or np.shape(tangents)[::2] != (n_samples, n_features):
        raise ValueError(
            f"tangents has shape {np.shape(tangents)}: expected (n_samples, "
            f"n_tangents, n_features) = ({n_samples}, any, {n_features}), or a "
            "function of points."
        )
    T = np.asarray(tangents)
    _check_finite(T)
    return TangentsOf(T[rows], points)


def _check_finite(T: np.ndarray) -> None:
    if not np.all(np.isfinite(T)):
        raise ValueError("tangents holds NaN or infinity: expected finite numbers.")


# -- graphs --------------------------------------------------------------------------


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
