"""Tables from files, block by block: CSV, TSV and Parquet.

A file is read twice: `scan` looks at every cell and says what each column holds,
`drawn_rows` then reads the columns that are wanted as numbers and codes of words. Both
hold a block of the file at a time, so that the file may be larger than the memory.
"""

from .cells import days, number_of, numbers
from .columns import Kind, Scan, scan
from .notation import PLAIN, Notation
from .rows import Field, Reader, Rows, drawn_rows, smallest
from .sources import Block, Source, Usual, open_table
from .splits import Split, fingerprint

__all__ = [
    "PLAIN",
    "Block",
    "Field",
    "Kind",
    "Notation",
    "Reader",
    "Rows",
    "Scan",
    "Source",
    "Split",
    "Usual",
    "days",
    "drawn_rows",
    "fingerprint",
    "number_of",
    "numbers",
    "open_table",
    "scan",
    "smallest",
]
