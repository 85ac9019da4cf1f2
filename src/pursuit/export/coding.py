"""Raw rows, with words and missing values, as the numbers that a formula takes.

What follows the imports needs NumPy alone: `to_numpy` copies it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .steps import Input

__all__ = ["coded_rows", "is_missing", "is_nan"]


def coded_rows(inputs: Sequence[Input], X: Any) -> np.ndarray:
    """Return raw rows as float64, words as codes.

    Parameters
    ----------
    inputs : sequence of Input
        Columns of a raw row.
    X : DataFrame of pandas or polars, sparse matrix or array-like
        Rows. Columns of a frame are found by name; other columns than those of the
        inputs are left out. None, NaN and NA are missing values.

    Returns
    -------
    rows : ndarray of shape (n, n_inputs)
        NaN for missing values and columns that no step reads, -1 for words that the
        formula does not know.
    """
    if hasattr(X, "toarray"):
        X = X.toarray()  # sparse
    columns = _columns(inputs, X)
    return np.column_stack(
        [_coded(column, each) for column, each in zip(columns, inputs, strict=True)]
    )


def _coded(column: Any, described: Input) -> np.ndarray:
    if not described.is_used:
        return np.full(len(column), np.nan)
    if described.categories is None:
        return _numbers(column, described.name)
    return _codes(column, described.categories)


def _columns(inputs: Sequence[Input], X: Any) -> list[Any]:
    if not hasattr(X, "columns"):
        return _columns_of_array(inputs, X)
    present = list(X.columns)
    names = [each.name for each in inputs]
    absent = [each.name for each in inputs if each.is_used and each.name not in present]
    if absent and names == [f"x{i}" for i in range(len(present))]:
        names = present  # the model was fitted without names
    elif absent:
        raise ValueError(
            f"Columns {absent} are missing: the model was fitted with {names}."
        )
    return [X[name] if name in present else np.empty(len(X)) for name in names]


def _columns_of_array(inputs: Sequence[Input], X: Any) -> list[np.ndarray]:
    has_words = any(each.categories is not None or not each.is_used for each in inputs)
    # An array of numbers and words at once would turn numbers into words.
    X = np.asarray(X, dtype=object if has_words else None)
    if X.ndim != 2 or X.shape[1] != len(inputs):
        raise ValueError(
            f"X has the shape {X.shape}: rows must have {len(inputs)} columns."
        )
    return list(X.T)


def _codes(column: Any, categories: Sequence[str]) -> np.ndarray:
    codes = {word: float(code) for code, word in enumerate(categories)}

    def code(value: Any) -> float:
        if isinstance(value, str):
            return codes.get(value, -1.0)
        return np.nan if is_missing(value) else -1.0

    return np.array([code(value) for value in np.asarray(column, dtype=object)])


def _numbers(column: Any, name: str) -> np.ndarray:
    values = np.asarray(column)
    if values.dtype.kind in "Mm":
        raise ValueError(
            f"Column {name!r} holds dates or durations; the model takes numbers there."
        )
    if values.dtype.kind != "O":
        return _as_floats(values, name)
    return _as_floats([np.nan if is_missing(v) else v for v in values], name)


def _as_floats(values: Any, name: str) -> np.ndarray:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"Column {name!r} must hold numbers or missing values: {error}."
        ) from None


def is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN or NA."""
    if value is None:
        return True
    # NaN is not equal to itself; a comparison with NA is neither true nor false.
    try:
        return bool(value != value)
    except TypeError:
        return True


def is_nan(value: Any) -> bool:
    """Return whether a value is NaN or NA, which None is not."""
    return value is not None and is_missing(value)
