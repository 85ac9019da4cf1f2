"""Types of a graph's inputs, and rows as onnxruntime takes them.

A model of numbers has one input, ``X``. A pipeline with a column transformer that is
given a frame has one input for each column, by its name.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion, Pipeline

from pursuit.export.coding import is_missing

__all__ = [
    "MISSING_TEXT",
    "as_columns",
    "column_names",
    "has_columns",
    "onnx_inputs",
    "rounded",
]


# Key of a graph's metadata: which text stands for a missing one.
MISSING_TEXT = "missing_text"


def onnx_inputs(proto: Any, X: Any) -> dict[str, np.ndarray]:
    """Return rows as onnxruntime takes them: an array for each input of a graph.

    Parameters
    ----------
    proto : onnx.ModelProto
        A graph, such as `to_onnx` returns.
    X : array-like, sparse matrix or data frame
        Rows as the model takes them.

    Returns
    -------
    inputs : dict from str to ndarray
        ``session.run(None, onnx_inputs(proto, X))`` are the predictions.
    """
    inputs = proto.graph.input
    if len(inputs) == 1 and not inputs[0].doc_string:
        return {inputs[0].name: _matrix(X, _dtype(inputs[0]))}
    names = [each.doc_string or each.name for each in inputs]
    columns = dict(zip(column_names(X), _raw_columns(X), strict=True))
    if not hasattr(X, "columns") and len(columns) == len(names):
        columns = dict(zip(names, columns.values(), strict=True))
    missing = [name for name in names if name not in columns]
    if missing:
        raise ValueError(f"X has no columns {missing}, which the graph takes.")
    fill = {entry.key: entry.value for entry in proto.metadata_props}.get(MISSING_TEXT)
    return {
        each.name: _column(_plain(columns[name]), each, fill)
        for name, each in zip(names, inputs, strict=True)
    }


def has_columns(model: Any, X: Any) -> bool:
    """Return whether the graph of a model takes each column of X as an input."""
    if not _selects(model):
        return False
    return hasattr(X, "columns") or any(_is_text(c) for c in as_columns(X))


def column_names(X: Any) -> list[str]:
    """Return the names of the columns: x0, x1, … without any."""
    if hasattr(X, "columns"):
        return [str(name) for name in X.columns]
    return [f"x{i}" for i in range(np.shape(X)[1])]


def as_columns(X: Any) -> list[np.ndarray]:
    """Return the columns of an array or a frame: floats, or objects for text."""
    return [_plain(column) for column in _raw_columns(X)]


def _raw_columns(X: Any) -> list[np.ndarray]:
    if hasattr(X, "columns"):
        columns = [np.asarray(X[name]) for name in X.columns]
    elif sparse.issparse(X):
        columns = list(X.toarray().T)
    else:
        columns = list(np.asarray(X).T)
    return columns


def rounded(X: Any, precision: str) -> Any:
    """Return the rows as a graph of this precision sees them, in double precision."""
    if precision == "float64":
        return X
    if sparse.issparse(X):
        return X.astype(np.float32).astype(np.float64)
    if not hasattr(X, "columns"):
        X = np.asarray(X)
        is_number = X.dtype.kind in "fiub"
        return X.astype(np.float32).astype(np.float64) if is_number else X
    X = X.clone() if hasattr(X, "clone") else X.copy()
    for name in X.columns:
        column = np.asarray(X[name])
        if column.dtype.kind == "f":
            column = column.astype(np.float32).astype(np.float64)
            X = _with_column(X, name, column)
    return X


def _with_column(X: Any, name: Any, column: np.ndarray) -> Any:
    if hasattr(X, "with_columns"):  # polars
        return X.with_columns(**{name: column})
    return X.assign(**{name: column}) if isinstance(name, str) else X


def _selects(model: Any) -> bool:
    """Return whether a column transformer is the first to see the rows."""
    if isinstance(model, ColumnTransformer):
        return True
    if isinstance(model, Pipeline):
        return _selects(model.steps[0][1])
    if isinstance(model, FeatureUnion):
        return any(_selects(part) for _, part in model.transformer_list)
    return False


def _plain(column: np.ndarray) -> np.ndarray:
    """Return a column as floats, or as objects if it holds text."""
    if column.dtype.kind in "fiub":
        return column.astype(np.float64)
    column = column.astype(object)
    if any(isinstance(each, str) for each in column):
        return column
    return np.array([np.nan if is_missing(each) else each for each in column], float)


def _is_text(column: np.ndarray) -> bool:
    return column.dtype == object


def _column(column: np.ndarray, value: Any, fill: str | None) -> np.ndarray:
    """Return a column (n, 1) of numbers, or of texts with ``fill`` for missing ones."""
    dtype = np.dtype(_dtype(value))
    if dtype.kind != "O":
        return column.astype(dtype)[:, None]
    texts = column.astype(object)
    for row, each in enumerate(texts):
        if fill is None and is_missing(each):
            raise ValueError(
                f"Column {value.doc_string!r} holds {each!r} in row {row}: ONNX has no "
                "missing strings. Replace them by a word of their own before the fit."
            )
        texts[row] = fill if is_missing(each) else str(each)
    return texts[:, None]


def _matrix(X: Any, dtype: Any) -> np.ndarray:
    if sparse.issparse(X):
        X = X.toarray()
    return np.ascontiguousarray(np.asarray(X), dtype=dtype)


def _dtype(value: Any) -> Any:
    import onnx

    return onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
