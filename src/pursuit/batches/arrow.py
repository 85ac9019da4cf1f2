"""Rows of Arrow tables, datasets and streams."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from ._packages import optional
from ._tables import (
    BATCH_ROWS,
    Batch,
    TableRows,
    chosen,
    guarded,
    numbered,
    without_first,
)
from .blocks import RowsError, contents

__all__ = ["ArrowRows"]


class ArrowRows(TableRows):
    """Rows of an Arrow table, of record batches, of a dataset, or of a stream.

    Parameters
    ----------
    data : Table, RecordBatch, sequence of these, Dataset, or callable
        A callable is called once for each trip over the rows, and returns a new
        ``RecordBatchReader``, or anything that gives an Arrow stream: a query of
        DuckDB, a table of another library. A reader itself can be read only once.
        A dataset of pyarrow may be anywhere that pyarrow reads, such as on S3.
    target : str or sequence of str, optional
        Column of the targets, or several of them.
    features : sequence of str, optional
        Columns of the features, in this order; by default all others.
    weight : str, optional
        Column of the weights.
    rows_at_once : int, optional
        Rows of a block; by default what makes 8 to 16 MiB.
    as_frame : bool, default=False
        Whether blocks hold frames of pandas, for `through`; then features may be words
        and dates.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from pursuit.batches import ArrowRows
    >>> table = pa.table({"a": [1, 2, 3], "y": [0.5, 1.5, 2.5]})
    >>> rows = ArrowRows(lambda: table.to_reader(), target="y", rows_at_once=2)
    >>> [block.y.tolist() for block in rows.blocks()]
    [[0.5, 1.5], [2.5]]
    """

    def __init__(
        self,
        data: Any,
        *,
        target: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        rows_at_once: int | None = None,
        as_frame: bool = False,
    ) -> None:
        self.data = _again_and_again(data)
        schema = _schema(self.data)
        columns = chosen(schema.names, "the table", target, features, weight)
        types = {field.name: field.type for field in schema}
        super().__init__(columns, types, "the table", rows_at_once, as_frame)
        self.n_rows = getattr(self.data, "num_rows", None)

    def fingerprint(self) -> str:
        """Return a text that differs for other columns, or other first rows."""
        first = next(self.raw_blocks())
        return self._printed((*self._described(), len(first), *contents(first)))

    def _place(self) -> str:
        return "the table"

    def _batches(self, n_skipped: int) -> Iterator[Batch]:
        names = list(self.columns.all)
        if self.n_rows is not None:
            batches = self.data.select(names).slice(n_skipped).to_batches(BATCH_ROWS)
            return numbered(batches, "", n_skipped + 1)
        read = partial(_read, self.data, names)
        return without_first(guarded(read, "stream", "cannot be read"), n_skipped)


def _again_and_again(data: Any) -> Any:
    """Return the data as a table, a dataset or a callable."""
    pa = optional("pyarrow", "Arrow tables")
    if isinstance(data, pa.RecordBatchReader):
        raise ValueError(
            "A RecordBatchReader can be read only once, but a fit reads its rows "
            "several times: pass a function that returns a new one, as in "
            "ArrowRows(lambda: pyarrow.ipc.open_stream(path))."
        )
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, list | tuple) and data:
        tables = [t if isinstance(t, pa.Table) else _again_and_again(t) for t in data]
        try:
            return pa.concat_tables(tables)
        except pa.ArrowException as error:
            raise ValueError(f"The batches are not of one schema: {error}") from error
    if isinstance(data, pa.Table) or callable(data) or _is_dataset(data):
        return data
    raise TypeError(
        f"{type(data).__name__} is not known: pass a Table or record batches of "
        "pyarrow, a Dataset, or a function that returns a RecordBatchReader."
    )


def _is_dataset(data: Any) -> bool:
    return isinstance(data, optional("pyarrow.dataset", "Datasets").Dataset)


def _schema(data: Any) -> Any:
    if not callable(data):
        return data.schema
    with _reader(data) as reader:
        return reader.schema


def _reader(function: Any) -> Any:
    """Return a new reader of record batches."""
    pa = optional("pyarrow", "Arrow tables")
    stream = function()
    if isinstance(stream, pa.RecordBatchReader):
        return stream
    if hasattr(stream, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(stream)
    raise TypeError(
        f"The function returned {type(stream).__name__}: it must return a "
        "RecordBatchReader of pyarrow, or what gives an Arrow stream."
    )


def _read(data: Any, names: list[str]) -> Iterator[Batch]:
    """Yield the batches of a dataset or of a new reader."""
    if _is_dataset(data):
        # Little is read ahead, so that memory stays bounded.
        scanner = data.scanner(
            columns=names,
            batch_size=BATCH_ROWS,
            batch_readahead=1,
            fragment_readahead=1,
        )
        yield from numbered(scanner.to_batches(), "dataset")
        return
    with _reader(data) as reader:
        missing = [name for name in names if name not in reader.schema.names]
        if missing:
            raise RowsError(
                f"The stream has no column {missing[0]!r}, which it had when it was "
                "read first."
            )
        yield from numbered((batch.select(names) for batch in reader), "stream")
