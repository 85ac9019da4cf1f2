"""Rows of lazy frames of polars."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ._packages import optional
from ._tables import BATCH_ROWS, Batch, TableRows, chosen, numbered, without_first
from .blocks import RowsError, contents

__all__ = ["PolarsRows"]


class PolarsRows(TableRows):
    """Rows of a lazy frame of polars, whose query runs once for each trip.

    Columns that are not needed are never read. Polars streams the result in batches;
    how much it reads ahead is its choice, a few row groups of a Parquet file. Queries
    that need all rows, such as a sort, need memory for them in each trip: write their
    result to a file first. Versions of polars without ``collect_batches`` run the query
    once for each 65536 rows instead, on a slice of it: this is slow with filters.

    Parameters
    ----------
    frame : LazyFrame
        The query. It must give the same rows in the same order each time.
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
    >>> import polars as pl
    >>> from pursuit.batches import PolarsRows
    >>> query = pl.LazyFrame({"a": [1, 2, 3], "y": [4, 5, 6]}).filter(pl.col("a") > 1)
    >>> block = next(PolarsRows(query, target="y").blocks())
    >>> block.X.tolist(), block.y.tolist()
    ([[2.0], [3.0]], [5, 6])
    """

    def __init__(
        self,
        frame: Any,
        *,
        target: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        rows_at_once: int | None = None,
        as_frame: bool = False,
    ) -> None:
        pl = optional("polars", "Lazy frames")
        if not isinstance(frame, pl.LazyFrame):
            raise TypeError(
                f"frame is {type(frame).__name__}: pass a LazyFrame, such as "
                "polars.scan_parquet(...)."
            )
        self._pl, self.frame = pl, frame
        try:
            schema = frame.collect_schema()
        except (pl.exceptions.PolarsError, OSError) as error:
            raise RowsError(f"The query cannot be run: {error}") from error
        columns = chosen(list(schema), "the lazy frame", target, features, weight)
        types = {
            field.name: field.type
            for field in schema.to_frame().select(columns.all).to_arrow().schema
        }
        super().__init__(columns, types, "the lazy frame", rows_at_once, as_frame)

    def fingerprint(self) -> str:
        """Return a text that differs for other queries, or other first rows."""
        first = next(self.raw_blocks())
        query = self.frame.explain(optimized=False)
        return self._printed((*self._described(), query, len(first), *contents(first)))

    def _place(self) -> str:
        return "the lazy frame"

    def _batches(self, n_skipped: int) -> Iterator[Batch]:
        frames = (frame.to_arrow() for frame in self._frames())
        batches = (batch for table in frames for batch in table.to_batches())
        return without_first(numbered(batches, "lazy frame"), n_skipped)

    def _frames(self) -> Iterator[Any]:
        query, n = self.frame.select(self.columns.all), BATCH_ROWS
        try:
            if hasattr(query, "collect_batches"):
                yield from query.collect_batches(chunk_size=n, maintain_order=True)
                return
            start = 0
            while len(frame := query.slice(start, n).collect()):
                yield frame
                start += n
        except (self._pl.exceptions.PolarsError, OSError) as error:
            raise RowsError(f"lazy frame: the query failed: {error}") from error
