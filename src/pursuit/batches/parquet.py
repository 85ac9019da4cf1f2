"""Rows of Parquet files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import Any

from ._arrow import kind
from ._files import File, files_of, printed
from ._packages import optional
from ._tables import (
    BATCH_ROWS,
    Batch,
    Columns,
    TableRows,
    check_names,
    chosen,
    first_line,
    guarded,
    numbered,
    without_first,
)
from .blocks import RowsError

__all__ = ["ParquetRows"]

# Bytes that are read ahead of each column.
_BUFFER_BYTES = 1 << 20
_SUFFIXES = (".parquet", ".parq", ".pq")


@dataclass(frozen=True)
class _Part:
    """A file, and what of it is read.

    Attributes
    ----------
    path : str
    types : dict from str to DataType
        Type of each column, with those that the folders' names tell.
    keys : dict from str to Scalar
        Values that the folders' names tell, as in "year=2024/part-0.parquet".
    groups : tuple of int
        Row groups that may hold rows which the filter keeps.
    sizes : tuple of int
        Numbers of rows of these groups.
    """

    path: str
    types: dict[str, Any]
    keys: dict[str, Any]
    groups: tuple[int, ...]
    sizes: tuple[int, ...]


class ParquetRows(TableRows):
    """Rows of Parquet files: of one, of several, or of all in a folder.

    Only the columns that are needed are read, and of these a few thousand rows at a
    time, so that neither files nor row groups need to fit into memory.

    Parameters
    ----------
    paths : str, path, or sequence of these
        Files, patterns such as ``data/*.parquet``, or folders, whose files are read in
        the order of their names. Folders named as in "year=2024" give their files a
        column ``year``.
    target : str or sequence of str, optional
        Column of the targets, or several of them.
    features : sequence of str, optional
        Columns of the features, in this order; by default all others, in the order of
        the first file.
    weight : str, optional
        Column of the weights.
    filter : pyarrow.dataset.Expression or list of tuples, optional
        Which rows are read, such as ``[("year", ">=", 2020)]``. Row groups whose
        statistics tell that no row of theirs is wanted are passed over.
    rows_at_once : int, optional
        Rows of a block; by default what makes 8 to 16 MiB.
    as_frame : bool, default=False
        Whether blocks hold frames of pandas, for `through`; then features may be words
        and dates.

    Examples
    --------
    >>> import tempfile, pyarrow as pa, pyarrow.parquet as pq
    >>> from pursuit.batches import ParquetRows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pa.table({"a": [1, 2, 3], "b": [4, 5, 6], "y": ["u", "v", "u"]})
    ...     pq.write_table(table, f"{folder}/part-0.parquet")
    ...     rows = ParquetRows(folder, target="y")
    ...     block = next(rows.blocks())
    >>> rows.feature_names, rows.n_rows
    (('a', 'b'), 3)
    >>> block.X.tolist(), block.y.tolist()
    ([[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]], ['u', 'v', 'u'])
    """

    def __init__(
        self,
        paths: Any,
        *,
        target: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        filter: Any = None,  # noqa: A002 - the word that pyarrow and pandas have
        rows_at_once: int | None = None,
        as_frame: bool = False,
    ) -> None:
        self._files = files_of(paths, _SUFFIXES)
        self._filter = _expression(filter)
        parts = [_part(file) for file in self._files]
        first = parts[0]
        columns = chosen(list(first.types), first.path, target, features, weight)
        super().__init__(columns, first.types, first.path, rows_at_once, as_frame)
        for part in parts[1:]:
            _check_like(first, part, columns, are_all=features is None)
        self._filtered = _columns_of(self._filter, first)
        self._parts = [_pruned(part, self._filter) for part in parts]
        if self._filter is None:
            self.n_rows = sum(sum(part.sizes) for part in self._parts)
            if not self.n_rows:
                raise RowsError(f"{self._place()} has no rows.")

    def fingerprint(self) -> str:
        """Return a text that differs for other files, columns or filters."""
        facts = printed(self._files)
        return self._printed((facts, str(self._filter), *self._described()))

    def _place(self) -> str:
        kept = "" if self._filter is None else " that the filter keeps"
        return f"{self._files[0].path}{' and others' * (len(self._files) > 1)}{kept}"

    def _batches(self, n_skipped: int) -> Iterator[Batch]:
        if self._filter is not None:
            # Which rows are kept is known only once they are read.
            return without_first(self._all_batches(self._parts), n_skipped)
        n, parts = n_skipped, list(self._parts)
        while parts and n >= sum(parts[0].sizes):
            n -= sum(parts.pop(0).sizes)
        return self._all_batches(parts, n)

    def _all_batches(self, parts: list[_Part], n: int = 0) -> Iterator[Batch]:
        for part in parts:
            read = partial(self._of_part, part, n)
            yield from guarded(read, part.path, "cannot be read")
            n = 0

    def _of_part(self, part: _Part, n_skipped: int) -> Iterator[Batch]:
        """Yield what is read of one file, after some rows."""
        ends = list(accumulate(part.sizes))
        n_groups = sum(end <= n_skipped for end in ends)
        before = ends[n_groups - 1] if n_groups else 0
        with _opened(part.path) as file:
            batches = file.iter_batches(
                BATCH_ROWS,
                row_groups=list(part.groups[n_groups:]),
                columns=[name for name in self._read if name not in part.keys],
                use_threads=False,
            )
            kept = (self._kept(batch, part) for batch in batches)
            if self._filter is None:
                yield from without_first(
                    numbered(kept, part.path, before + 1), n_skipped - before
                )
            else:
                yield from numbered(kept, f"{part.path}, of the rows kept")

    @property
    def _read(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*self.columns.all, *self._filtered)))

    def _kept(self, batch: Any, part: _Part) -> Any:
        """Return a batch with the folders' columns, and only the rows that are kept."""
        pa = optional("pyarrow", "Parquet files")
        for name in self._read:
            if name in part.keys:
                values = pa.repeat(part.keys[name], batch.num_rows)
                batch = batch.append_column(name, values)
        if self._filter is None:
            return batch
        table = pa.Table.from_batches([batch]).filter(self._filter)
        return table.combine_chunks().to_batches()[0] if len(table) else batch[:0]


# -- files -------------------------------------------------------------------------


def _part(file: File) -> _Part:
    """Return what is known of a file from its last bytes, and from its path."""
    pa = optional("pyarrow", "Parquet files")
    try:
        with _opened(file.path) as parquet:
            metadata, schema = parquet.metadata, parquet.schema_arrow
    except (pa.ArrowException, OSError) as error:
        raise RowsError(
            f"{file.path}: not a readable Parquet file: {first_line(error)}"
        ) from error
    names = [name for name in schema.names if not name.startswith("__index_level_")]
    check_names(names, file.path)
    types = {name: schema.field(name).type for name in names}
    keys = {name: k for name, k in _keys(file).items() if name not in types}
    types |= {name: key.type for name, key in keys.items()}
    groups = range(metadata.num_row_groups)
    sizes = tuple(metadata.row_group(group).num_rows for group in groups)
    return _Part(file.path, types, keys, tuple(groups), sizes)


def _opened(path: str) -> Any:
    parquet = optional("pyarrow.parquet", "Parquet files")
    # Buffered: columns are read as their rows are needed, not whole row groups.
    return parquet.ParquetFile(path, buffer_size=_BUFFER_BYTES, pre_buffer=False)


def _keys(file: File) -> dict[str, Any]:
    """Return what the names of folders tell of a file."""
    if file.folder is None or "=" not in os.path.relpath(file.path, file.folder):
        return {}
    ds = optional("pyarrow.dataset", "Parquet files")
    pa = optional("pyarrow", "Parquet files")
    options = ds.FileSystemFactoryOptions(
        partition_base_dir=file.folder, partitioning=ds.HivePartitioning.discover()
    )
    dataset = ds.FileSystemDatasetFactory(
        pa.fs.LocalFileSystem(), [file.path], ds.ParquetFileFormat(), options
    ).finish()
    (fragment,) = dataset.get_fragments()
    keys = ds.get_partition_keys(fragment.partition_expression)
    types = {name: dataset.schema.field(name).type for name in keys}
    return {name: pa.scalar(value, types[name]) for name, value in keys.items()}


def _pruned(part: _Part, condition: Any) -> _Part:
    """Return a part without the row groups that a filter leaves nothing of."""
    if condition is None:
        return part
    pa, ds = optional("pyarrow", "Filters"), optional("pyarrow.dataset", "Filters")
    fragment = ds.ParquetFileFormat().make_fragment(
        part.path, pa.fs.LocalFileSystem(), _told(part)
    )
    schema = pa.schema(list(part.types.items()))
    kept = fragment.split_by_row_group(condition, schema=schema)
    groups = tuple(group.id for one in kept for group in one.row_groups)
    return replace(part, groups=groups, sizes=tuple(part.sizes[g] for g in groups))


def _told(part: _Part) -> Any:
    """Return as an expression what the names of folders tell of a file."""
    field = optional("pyarrow.dataset", "Filters").field
    told = None
    for name, key in part.keys.items():
        one = field(name) == key if key.is_valid else field(name).is_null()
        told = one if told is None else told & one
    return told


def _check_like(first: _Part, other: _Part, columns: Columns, are_all: bool) -> None:
    """Raise a `RowsError` that tells how a file differs from the first one."""
    problems = []
    for name in columns.all:
        if name not in other.types:
            problems.append(f"it has no column {name!r}")
        elif kind(other.types[name]) != kind(first.types[name]):
            problems.append(
                f"its column {name!r} is of type {other.types[name]}, not "
                f"{first.types[name]}"
            )
    more = [name for name in other.types if name not in first.types] if are_all else []
    problems += [f"it has one more column, {name!r}" for name in more]
    if problems:
        raise RowsError(
            f"{other.path} differs from {first.path}: {', '.join(problems)}. Leave the "
            "file out, or choose columns that all files have by features=[...]."
        )


# -- filters -----------------------------------------------------------------------


def _expression(condition: Any) -> Any:
    if condition is None:
        return None
    ds = optional("pyarrow.dataset", "Filters")
    if isinstance(condition, ds.Expression):
        return condition
    parquet = optional("pyarrow.parquet", "Filters")
    try:
        return parquet.filters_to_expression(condition)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"filter={condition!r} must be a pyarrow expression or a list of tuples "
            f"such as ('year', '>=', 2020): {error}"
        ) from error


def _columns_of(condition: Any, part: _Part) -> tuple[str, ...]:
    """Return the columns that an expression needs: without them it fails."""
    if condition is None:
        return ()
    pa = optional("pyarrow", "Filters")
    empty = pa.schema(list(part.types.items())).empty_table()
    try:
        empty.filter(condition)
    except pa.ArrowException as error:
        raise ValueError(f"filter={condition}: {first_line(error)}") from error
    return tuple(name for name in part.types if _needs(condition, empty, name))


def _needs(condition: Any, empty: Any, name: str) -> bool:
    if name not in str(condition):
        return False
    try:
        empty.drop_columns([name]).filter(condition)
    except optional("pyarrow", "Filters").ArrowException:
        return True
    return False
