"""Sources of rows that need not fit into memory.

A source gives its rows in blocks, again and again, and knows the names of its features.
What fits models of more rows than the memory holds takes any of them:

============================  =======================================================
source                        rows come from
============================  =======================================================
`ArrayRows`                   arrays, memory maps, sparse matrices, frames
`ParquetRows`                 Parquet files and folders; needs ``pursuit[tables]``
`CsvRows`                     CSV files, plain or compressed; needs ``pursuit[tables]``
`ArrowRows`                   tables, datasets and streams of Arrow; needs
                              ``pursuit[tables]``
`PolarsRows`                  lazy frames of polars; needs ``pursuit[polars]``
`CalledRows`                  any function that returns an iterator of blocks
============================  =======================================================

`rows_of` chooses one by the type of the data. Other sources are subclasses of `Rows`
that yield a `Block` after another.

- **Columns.** Tables are asked for ``target``, ``features`` and ``weight`` by name, and
  no other column is read. Features are numbers (whole, decimal, floating, truth values)
  and become float64. Targets stay as they are: numbers, truth values, words.
- **Blocks** of tables and arrays have ``rows_at_once`` rows each, but for the last one,
  however files, row groups and batches are divided: the same rows make the same blocks.
  By default a block has 8 to 16 MiB.
- **Words and dates** as features are encoded by a transformer that was fitted before,
  on a part of the rows:
  ``ParquetRows(path, target="y", as_frame=True).through(encoder)``.
- **Checks** happen as rows are read. A value that is missing or not finite, a damaged
  file, a row of another length raise a `RowsError` that names file, row and column.
- **Memory** holds a block or two, and what is read ahead: a megabyte per column of a
  Parquet file, 8 MB of a CSV file. Lazy frames of polars and datasets of Arrow read
  ahead as they please, some row groups of each file.

Examples
--------
>>> import numpy as np
>>> from pursuit.batches import rows_of
>>> X = np.arange(12.0).reshape(6, 2)
>>> rows = rows_of(X, X.sum(axis=1))
>>> sum(block.X.sum() for block in rows.blocks())
np.float64(66.0)
"""

from .arrays import ArrayRows
from .arrow import ArrowRows
from .blocks import Block, Rows, RowsError
from .calls import CalledRows
from .choosing import rows_of
from .lazy_frames import PolarsRows
from .parquet import ParquetRows
from .text import CsvRows

__all__ = [
    "ArrayRows",
    "ArrowRows",
    "Block",
    "CalledRows",
    "CsvRows",
    "ParquetRows",
    "PolarsRows",
    "Rows",
    "RowsError",
    "rows_of",
]
