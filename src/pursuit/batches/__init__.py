"""Sources of rows that need not fit into memory."""

from .arrays import ArrayRows
from .blocks import Block, Rows, RowsError
from .choosing import rows_of

__all__ = ["ArrayRows", "Block", "Rows", "RowsError", "rows_of"]
