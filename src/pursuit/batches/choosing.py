"""From what users have to a source of rows."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

from ._tables import chosen
from .arrays import ArrayRows
from .arrow import ArrowRows
from .blocks import Rows
from .calls import CalledRows
from .lazy_frames import PolarsRows
from .parquet import ParquetRows
from .text import CsvRows

__all__ = ["rows_of"]


def rows_of(
    data: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    target: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
) -> Rows:
    """Return the source that reads some data.

    Parameters
    ----------
    data : object
        - `Rows`: returned as they are;
        - paths of Parquet or CSV files, or of folders of them: `ParquetRows`,
          `CsvRows`;
        - tables, record batches and datasets of Arrow: `ArrowRows`;
        - a lazy frame of polars: `PolarsRows`;
        - a function that returns an iterator of blocks: `CalledRows`;
        - an array, a memory map, a sparse matrix, or a frame of pandas or polars:
          `ArrayRows`.
    y, sample_weight : array-like, optional
        Targets and weights beside an array or frame.
    target : str or sequence of str, optional
        Column of the targets, or several of them, in files, tables and frames.
    features : sequence of str, optional
        Columns of the features; by default all others.
    weight : str, optional
        Column of the weights.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.batches import rows_of
    >>> rows_of(np.eye(3), [1, 2, 3])
    ArrayRows(n_rows=3)
    """
    columns = {"target": target, "features": features, "weight": weight}
    named = {name: value for name, value in columns.items() if value is not None}
    if isinstance(data, Rows):
        _refuse(data, y=y, sample_weight=sample_weight, **named)
        return data
    make = _maker(data)
    if make is not None:
        _refuse(data, y=y, sample_weight=sample_weight)
        return make(data, **named)
    if named:
        return _of_frame(data, y, sample_weight, named)
    return ArrayRows(data, y, sample_weight)


def _maker(data: Any) -> Any:
    """Return what makes rows of data that hold targets too, or None for arrays."""
    if _is_path(data):
        return _of_files
    library, kind = type(data).__module__.partition(".")[0], type(data).__name__
    first = data[0] if isinstance(data, list | tuple) and data else None
    if "pyarrow" in (library, type(first).__module__.partition(".")[0]):
        return ArrowRows
    if library == "polars" and kind == "LazyFrame":
        return PolarsRows
    if isinstance(data, Iterator):
        raise ValueError(
            f"{kind} can be read only once, but a fit reads its rows several times: "
            "pass the function that makes it, as in rows_of(blocks) instead of "
            "rows_of(blocks())."
        )
    return _of_function if callable(data) else None


def _is_path(data: Any) -> bool:
    if isinstance(data, list | tuple):
        return bool(data) and all(map(_is_path, data))
    return isinstance(data, str | os.PathLike)


def _of_files(paths: Any, **columns: Any) -> Rows:
    """Return rows of files, whose kind their names tell."""
    first = os.fspath(paths[0] if isinstance(paths, list | tuple) else paths)
    names = [first]
    if os.path.isdir(first):
        names = [name for _, _, files in os.walk(first) for name in files]
    is_text = [_is_text(name) for name in names]
    is_parquet = [name.lower().endswith((".parquet", ".parq", ".pq")) for name in names]
    if any(is_text) and any(is_parquet):
        raise ValueError(
            f"The folder {first!r} holds both CSV and Parquet files: name the source, "
            "CsvRows or ParquetRows."
        )
    return CsvRows(paths, **columns) if any(is_text) else ParquetRows(paths, **columns)


def _is_text(name: str) -> bool:
    stem, end = os.path.splitext(name.lower())
    end = os.path.splitext(stem)[1] if end in (".gz", ".bz2") else end
    return end in (".csv", ".tsv", ".tab", ".txt")


def _of_function(function: Any, **columns: Any) -> Rows:
    if columns:
        raise ValueError(
            f"{_listed(columns)} cannot be given with a function, whose blocks are X, "
            "y and weights: pass ArrowRows(function, ...) if it gives an Arrow stream."
        )
    return CalledRows(function)


def _of_frame(data: Any, y: Any, sample_weight: Any, columns: dict[str, Any]) -> Rows:
    """Return rows of a frame that may hold targets and weights too."""
    if not hasattr(data, "columns"):
        raise ValueError(
            f"{_listed(columns)} cannot be given with {type(data).__name__}, whose "
            "columns have no names: pass y and sample_weight."
        )
    for name, other, value in (
        ("target", "y", y),
        ("weight", "sample_weight", sample_weight),
    ):
        if name in columns and value is not None:
            raise ValueError(f"Both {name} and {other} are given: give one of them.")
    read = chosen(
        list(data.columns),
        "the frame",
        columns.get("target"),
        columns.get("features"),
        columns.get("weight"),
    )
    if read.targets:
        y = data[list(read.targets)] if read.is_list else data[read.targets[0]]
    if read.weight is not None:
        sample_weight = data[read.weight]
    return ArrayRows(data[list(read.features)], y, sample_weight)


def _refuse(data: Any, **given: Any) -> None:
    names = [name for name, value in given.items() if value is not None]
    if names:
        raise ValueError(
            f"{_listed(names)} cannot be given with {type(data).__name__}, which says "
            "itself where targets and weights are: name their columns as target and "
            "weight where the rows are made."
        )


def _listed(names: Any) -> str:
    return " and ".join(names)
