"""Name the columns and rows of values that cannot be used, and what to use instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

# Number of columns that a message names.
_NAMED = 3


@dataclass(frozen=True)
class _Found:
    """Bad values of a column: how many, the first one and its row."""

    column: str
    row: int
    value: Any
    count: int


def explained(X: Any) -> str | None:
    """Return what is wrong with which values of X; None if all are finite numbers.

    Parameters
    ----------
    X : frame, array-like or sparse matrix
        Data that a check has refused.
    """
    columns = list(_columns(X))
    words = [found for column in columns if (found := _words(*column))]
    if words:
        some = "; ".join(f"{f.column} (row {f.row}: {f.value!r})" for f in words[:3])
        return (
            f"X holds words, where numbers are required, in {some}{_more(words)}: make "
            "numbers of them, for instance with OneHotEncoder or OrdinalEncoder, or "
            "leave the columns out."
        )
    missing = [found for column in columns if (found := _missing(*column))]
    if missing:
        return (
            f"Input X contains NaN: {_places(missing)}. Fill missing values, for "
            "instance with SimpleImputer, or leave these rows out."
        )
    infinite = [found for column in columns if (found := _infinite(*column))]
    if infinite:
        return (
            "Input X contains infinity or a value too large for dtype('float64'): "
            f"{_places(infinite)}. Replace them by finite numbers."
        )
    return None


def _columns(X: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yield name and values of each column, nothing if X has none."""
    if sparse.issparse(X):
        # Values that are not stored are 0; the rows of the others do not matter here.
        X = X.tocsc()
        for j in range(X.shape[1]):
            part = slice(X.indptr[j], X.indptr[j + 1])
            values = np.zeros(X.shape[0], dtype=X.dtype)
            values[X.indices[part]] = X.data[part]
            yield f"column {j}", values
        return
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):
        for name in X.columns:
            column = X[name]
            if not hasattr(column, "to_numpy") or np.ndim(column) != 1:
                return  # two columns of one name
            yield f"column {name!r}", np.asarray(column.to_numpy())
        return
    try:
        values = np.asarray(X)
    except ValueError:
        return  # rows of different lengths
    if values.ndim == 2:
        for j, column in enumerate(values.T):
            yield f"column {j}", column


def _words(name: str, values: np.ndarray) -> _Found | None:
    if values.dtype.kind not in "OUST":
        return None
    rows = [i for i, value in enumerate(values) if _is_word(value)]
    return _Found(name, rows[0], str(values[rows[0]]), len(rows)) if rows else None


def _is_word(value: Any) -> bool:
    """Return whether a value is a string that is no number."""
    if not isinstance(value, str):
        return False
    try:
        float(value)
    except ValueError:
        return True
    return False


def _missing(name: str, values: np.ndarray) -> _Found | None:
    if values.dtype.kind == "O":
        is_missing = np.array([_is_missing(value) for value in values], dtype=bool)
    elif values.dtype.kind in "fc":
        is_missing = np.isnan(values)
    else:
        return None
    return _first(name, values, is_missing)


def _is_missing(value: Any) -> bool:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and bool(np.isnan(value))


def _infinite(name: str, values: np.ndarray) -> _Found | None:
    try:
        values = values.astype(np.float64)
    except (TypeError, ValueError):
        return None
    return _first(name, values, ~np.isfinite(values))


def _first(name: str, values: np.ndarray, is_bad: np.ndarray) -> _Found | None:
    if not is_bad.any():
        return None
    row = int(np.argmax(is_bad))
    return _Found(name, row, values[row], int(is_bad.sum()))


def _places(found: list[_Found]) -> str:
    def words(f: _Found) -> str:
        more = f" and {f.count - 1} more" if f.count > 1 else ""
        return f"{f.column} (row {f.row}{more})"

    return ", ".join(words(f) for f in found[:_NAMED]) + _more(found)


def _more(found: list[_Found]) -> str:
    rest = len(found) - _NAMED
    return f" and {rest} more columns" if rest > 0 else ""
