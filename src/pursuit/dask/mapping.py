"""Lazy predictions of any fitted estimator, partition by partition."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np

from .partitions import check_division, is_frame
from .tasks import applied

__all__ = ["map_rows"]


def map_rows(
    model: Any, X: Any, method: str = "predict", *, meta: Any = None
) -> da.Array:
    """Return what a method of a fitted model gives for rows of Dask, not computed yet.

    The model is sent once to each worker that needs it, and called for one partition
    after the other.

    Parameters
    ----------
    model : estimator
        Any that is fitted, of this library or of scikit-learn, a pipeline too.
    X : dask array or dask frame of shape (n, d)
        Rows, divided by rows.
    method : str, default="predict"
        A method that takes rows and returns a number, a label or a vector for each,
        such as "predict_proba", "score_samples" or "transform".
    meta : ndarray of shape (0,) or (0, k), optional
        An empty array of the type that the method returns. By default, the method is
        called for one row that is made up.

    Returns
    -------
    results : dask array of shape (n,) or (n, k)
        Divided as `X`; its sizes are unknown if those of `X` are.

    Examples
    --------
    >>> import dask.array as da
    >>> import numpy as np
    >>> from pursuit import ManifoldParzen
    >>> from pursuit.dask import map_rows
    >>> rng = np.random.default_rng(0)
    >>> density = ManifoldParzen().fit(rng.random((100, 2)))
    >>> map_rows(density, da.ones((10, 2), chunks=(5, 2)), "score_samples")
    dask.array<pursuit-score-samples, shape=(10,), dtype=float64, chunksize=(5,), ...>
    """
    model = getattr(model, "local_", model)
    if not callable(getattr(model, method, None)):
        raise ValueError(f"{type(model).__name__} has no method {method!r}.")
    check_division(X)
    if is_frame(X) and not hasattr(model, "feature_names_in_"):
        X = X.to_dask_array()
    empty = _tried(model, method, X) if meta is None else np.asarray(meta)[:0]
    # One task holds the model, and those of all partitions depend on it.
    sent = dask.delayed(model, pure=False, traverse=False)
    token = f"pursuit-{method}".replace("_", "-")
    if is_frame(X):
        how = {"meta": empty, "token": token}
        return X.map_partitions(_of_frame, sent, method, empty, **how)
    shape = {"drop_axis": 1} if empty.ndim == 1 else {"chunks": _chunks(X, empty)}
    return X.map_blocks(
        _of_array, sent, method, empty, token=token, meta=empty, **shape
    )


def _chunks(X: da.Array, empty: np.ndarray) -> tuple[tuple[int, ...], ...]:
    return X.chunks[0], (empty.shape[1],)


def _tried(model: Any, method: str, X: Any) -> np.ndarray:
    """Return no rows of what the method returns; call it for one that is made up."""
    row = X._meta_nonempty[:1] if is_frame(X) else np.zeros((1, X.shape[1]))
    result = np.asarray(getattr(model, method)(row))
    if result.ndim not in (1, 2) or len(result) != 1:
        raise ValueError(
            f"{type(model).__name__}.{method} returns the shape {result.shape} for one "
            "row, but a number, a label or a vector for each row is required."
        )
    return result[:0]


def _of_array(
    rows: Any, model: Any, method: str, empty: np.ndarray, block_id: Any = (0,)
) -> np.ndarray:
    return applied(rows, model, method, block_id[0], empty)


def _of_frame(
    rows: Any, model: Any, method: str, empty: np.ndarray, partition_info: Any = None
) -> np.ndarray:
    number = 0 if partition_info is None else partition_info["number"]
    return applied(rows, model, method, number, empty)
