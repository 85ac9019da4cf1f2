"""Arrays and frames of Dask, checked: divided by rows, and all of them alike."""

from __future__ import annotations

from typing import Any

import dask
import dask.array as da
import numpy as np
from dask.core import flatten

from pursuit.batches import ArrayRows

__all__ = [
    "check_division",
    "checked_features",
    "is_frame",
    "keys_of",
    "matched",
    "simplified",
]


def is_frame(data: Any) -> bool:
    """Return whether data are a frame or a series of Dask."""
    return dask.is_dask_collection(data) and hasattr(data, "divisions")


def simplified(data: Any) -> Any:
    """Return a collection that reads only the columns it needs; arrays as they are.

    Not optimized further: ``optimize()`` joins small partitions of files, which of X
    and y may be others, and ``dask.optimize`` of version 2026.8 confuses columns of
    frames and loses futures of arrays. Tasks that X and y share are done once.
    """
    return data.simplify() if is_frame(data) else data


def keys_of(data: Any) -> list[Any]:
    """Return the keys of the partitions, in the order of the rows."""
    return list(flatten(data.__dask_keys__()))


def check_division(X: Any) -> None:
    """Raise a ValueError if X is no table of Dask, or not divided by rows."""
    _check_kind("X", X)
    if X.ndim != 2:
        raise ValueError(
            f"X has the shape {_shape(X)}: a table is required; X.reshape(-1, 1) makes "
            "one column."
        )
    if not is_frame(X):
        _check_columns("X", X)


def checked_features(X: Any) -> tuple[str, ...] | None:
    """Return the names of the columns of X, if any; raise if X cannot be fitted."""
    check_division(X)
    if is_frame(X):
        return ArrayRows(X._meta_nonempty).feature_names
    if X.dtype.kind in "mMSUV":
        raise ValueError(
            f"X is an array of type {X.dtype}: make numbers of it, such as by an "
            "encoder."
        )
    return None


def matched(name: str, data: Any, X: Any) -> Any:
    """Return targets or weights, divided as the rows of X; raise if they cannot be."""
    _check_kind(name, data)
    if data.ndim > (1 if name == "sample_weight" else 2):
        raise ValueError(f"{name} has the shape {_shape(data)}, X has {_shape(X)}.")
    lengths, wanted = _lengths(data), _lengths(X)
    if lengths is not None and wanted is not None:
        if sum(lengths) != sum(wanted):
            raise ValueError(
                f"{name} has {sum(lengths)} rows, X has {sum(wanted)}: one for each "
                "row of X is required."
            )
        # Targets and weights are small: they follow the division of X.
        return data.rechunk((wanted, *data.shape[1:]))
    if not is_frame(data):
        _check_columns(name, data)
    if _n_parts(data) != _n_parts(X):
        raise ValueError(
            f"{name} has {_n_parts(data)} partitions, X has {_n_parts(X)}, and the "
            "numbers of their rows are not known: divide them alike, such as by taking "
            f"X and {name} from one frame (repartition it before), or by "
            "compute_chunk_sizes() of both arrays."
        )
    if is_frame(data) and is_frame(X) and data.known_divisions and X.known_divisions:
        _check_divisions(name, data, X)
    return data


def _check_kind(name: str, data: Any) -> None:
    if isinstance(data, da.Array) or is_frame(data):
        return
    kind = type(data)
    raise ValueError(
        f"{name} is of type {kind.__module__.partition('.')[0]}.{kind.__name__}, but "
        "an array or a frame of Dask is required: make it one by dask.array.from_array "
        "or dask.dataframe.from_pandas, or fit data in memory by KMPClassifier and "
        "KMPRegressor."
    )


def _check_columns(name: str, data: da.Array) -> None:
    """Raise a ValueError if rows lie in several chunks."""
    if data.ndim == 2 and np.isnan(data.shape[1]):
        raise ValueError(
            f"{name} has an unknown number of columns: call {name}."
            "compute_chunk_sizes(), or pass the frame from which it comes."
        )
    if data.ndim == 2 and data.numblocks[1] > 1:
        raise ValueError(
            f"{name} is divided by columns, into {data.numblocks[1]} chunks of each "
            f"row: pass {name}.rechunk({{1: -1}}), or {name}.rechunk({{0: 'auto', "
            "1: -1}) for chunks of about the same size."
        )


def _check_divisions(name: str, data: Any, X: Any) -> None:
    if data.divisions != X.divisions:
        raise ValueError(
            f"{name} and X are divided at different values of their index "
            f"({_few(data.divisions)} and {_few(X.divisions)}): pass "
            f"{name}.repartition(divisions=X.divisions)."
        )


def _lengths(data: Any) -> tuple[int, ...] | None:
    """Return the rows of each partition, if they are known."""
    if is_frame(data) or any(np.isnan(n) for n in data.chunks[0]):
        return None
    return tuple(data.chunks[0])


def _n_parts(data: Any) -> int:
    return int(data.npartitions if is_frame(data) else data.numblocks[0])


def _shape(data: Any) -> tuple[Any, ...]:
    """Return the shape in words: rows of frames are not counted."""
    shape = data.shape if isinstance(data, da.Array) else ("n", *data.shape[1:])
    return tuple(n if n == n else "n" for n in shape)


def _few(values: tuple[Any, ...]) -> str:
    shown = [str(v) for v in values]
    return ", ".join(shown if len(shown) <= 4 else [*shown[:3], "...", shown[-1]])
