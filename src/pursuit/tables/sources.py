"""Files as blocks of rows: CSV and TSV, plain or compressed, and Parquet."""

from __future__ import annotations

import atexit
import bz2
import codecs
import csv
import gzip
import io
import lzma
import math
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from pursuit._user_errors import TableError, UsageError, shown

from .cells import Cells, number_of

__all__ = ["BLOCK_ROWS", "Block", "Source", "Usual", "open_table"]

BLOCK_ROWS = 16384
DELIMITERS = (",", ";", "\t", "|")
NO_DELIMITERS = ('"', "\r", "\n")

_OPENERS: dict[bytes, Any] = {
    b"\x1f\x8b": gzip.open,
    b"BZh": bz2.open,
    b"\xfd7zXZ\x00": lzma.open,
}
_STRANGERS = {
    b"PK\x03\x04": "a zip or Excel file, not a table of text: save the sheet as CSV",
    b"\xd0\xcf\x11\xe0": "an Excel file, not a table of text: save the sheet as CSV",
    b"\x89PURSUIT": "a model file, not a table: tables are CSV, TSV or Parquet",
}
# Records from which the delimiter is told.
_SAMPLE_RECORDS = 20
_SAMPLE_BYTES = 1 << 16
# What Excel writes, and understands, before the header.
_SEPARATOR = re.compile(r'\s*"?sep=(?P<delimiter>.)"?[,;\t|]*\s*', re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows that follow each other in a file.

    Attributes
    ----------
    columns : dict from str to Cells
        Cells of each column that was asked for.
    rows : range or list of int
        Number of each row, as a spreadsheet counts: the header is row 1.
    """

    columns: dict[str, Cells]
    rows: Sequence[int]

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Usual:
    """How tables of a kind are usually written, if that was once told.

    Attributes
    ----------
    delimiter : str
        What may stand between cells, beside the usual ones; "" if it was not told.
    encoding : str
        Encoding of files that do not say theirs; "" if it was not told.
    """

    delimiter: str = ""
    encoding: str = ""

    def __post_init__(self) -> None:
        if len(self.delimiter) > 1 or self.delimiter in NO_DELIMITERS:
            raise ValueError(f"{self.delimiter!r} is not one character.")


class Source(Protocol):
    """A table in a file."""

    path: str
    names: tuple[str, ...]
    unnamed: int  # columns without a name, which are not read
    unreadable: dict[str, str]  # others that are not, and why

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield the rows in blocks; all columns, or some of them."""
        ...


def open_table(
    path: str,
    *,
    delimiter: str | None = None,
    encoding: str | None = None,
    usual: Usual | None = None,
) -> Source:
    """Return the table in a file.

    Parameters
    ----------
    path : str
        A file of CSV, TSV or Parquet; the first two may be compressed by gzip, bzip2
        or xz. "-" is the standard input.
    delimiter : str, optional
        What stands between cells. By default the one of comma, semicolon, tab and "|"
        that divides the first rows evenly.
    encoding : str, optional
        By default UTF-8, or UTF-16 if the file says so.
    usual : Usual, optional
        What is likely where nothing is given.
    """
    title, file = ("standard input", _spooled()) if path == "-" else (path, Path(path))
    with file.open("rb") as stream:
        start = stream.read(8)
    if not start:
        raise TableError(f"{title}: the file is empty")
    if start.startswith(b"PAR1"):
        return _ParquetSource(title, file)
    for magic, what in _STRANGERS.items():
        if start.startswith(magic):
            raise TableError(f"{title}: this is {what}")
    return _TextSource(title, file, delimiter, encoding, usual or Usual())


def _spooled() -> Path:
    """Return a file with what the standard input says, since it is read twice."""
    with tempfile.NamedTemporaryFile(prefix="pursuit-", delete=False) as file:
        path = Path(file.name)
        atexit.register(path.unlink, missing_ok=True)
        shutil.copyfileobj(sys.stdin.buffer, file)
    return path


# -- text --------------------------------------------------------------------------


class _TextSource:
    """Cells between delimiters."""

    def __init__(
        self,
        path: str,
        file: Path,
        delimiter: str | None,
        encoding: str | None,
        usual: Usual,
    ) -> None:
        self.path, self._file = path, file
        self.unreadable: dict[str, str] = {}
        start = self._start()
        told = _told_encoding(start) or usual.encoding or "utf-8-sig"
        self._encoding = _known_encoding(encoding or told)
        if b"\0" in start and not self._encoding.lower().startswith("utf-16"):
            raise TableError(f"{path}: this is not a text file: it has zero bytes")
        sample = self._sample()
        separator = _SEPARATOR.fullmatch(sample.partition("\n")[0])
        self._has_separator = separator is not None
        if separator is not None:
            delimiter = delimiter or separator["delimiter"]
        self._delimiter = delimiter or self._told_delimiter(sample, usual.delimiter)
        header, self._n_until_data = self._first()
        self._header = [name.strip() for name in header]
        self.names = tuple(name for name in self._header if name)
        self.unnamed = len(self._header) - len(self.names)
        self._check_names()

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield the rows in blocks."""
        wanted = self.names if columns is None else tuple(columns)
        places = [self._header.index(name) for name in wanted]
        with self._open() as stream:
            reader = self._reader(stream)
            n_before = self._n_until_data
            self._some(reader, n_before, n_before)  # as far as the header
            while records := self._some(reader, BLOCK_ROWS, n_before):
                rows: Sequence[int] = range(n_before + 1, n_before + 1 + len(records))
                n_before += len(records)
                if set(map(len, records)) != {len(self._header)}:
                    records, rows = self._regular(records, rows)
                cells = list(zip(*records, strict=True))
                if cells:
                    pairs = zip(wanted, places, strict=True)
                    yield Block({name: cells[i] for name, i in pairs}, rows)

    def _regular(
        self, records: list[list[str]], rows: Sequence[int]
    ) -> tuple[list[list[str]], list[int]]:
        """Return the records without empty lines; raise if their lengths differ."""
        kept = [(r, n) for r, n in zip(records, rows, strict=True) if r]
        for record, row in kept:
            if len(record) != len(self._header):
                raise TableError(
                    f"{self.path}: row {row} has {_counted(len(record), 'cell')}, the "
                    f"header has {len(self._header)} (delimiter "
                    f"{_shown_delimiter(self._delimiter)}; another: --delimiter)"
                )
        return [r for r, _ in kept], [n for _, n in kept]

    def _some(self, reader: Any, n: int, n_before: int) -> list[list[str]]:
        return list(self._guarded(lambda: list(islice(reader, n)), reader, n_before))

    def _guarded(self, read: Any, reader: Any, n_before: int) -> Any:
        """Call a function that reads; tell errors of the file from others."""
        try:
            return read()
        except csv.Error as error:
            raise TableError(
                f"{self.path}: line {reader.line_num}: {error} (is a quotation mark "
                "left open?)"
            ) from None
        except UnicodeError:
            raise TableError(self._undecodable()) from None
        except (EOFError, gzip.BadGzipFile, lzma.LZMAError, OSError) as error:
            raise TableError(
                f"{self.path}: cannot be decompressed after row {n_before}: {error}"
            ) from None

    def _first(self) -> tuple[list[str], int]:
        """Return the first record that is not empty, and its number."""
        with self._open() as stream:
            reader, n = self._reader(stream), 0
            while records := self._some(reader, 1, n):
                n += 1
                if n == 1 and self._has_separator:
                    continue
                if any(cell.strip() for cell in records[0]):
                    return records[0], n
        raise TableError(f"{self.path}: the file is empty")

    def _check_names(self) -> None:
        for name in self.names:
            if self.names.count(name) > 1:
                places = [i + 1 for i, n in enumerate(self._header) if n == name]
                raise TableError(
                    f"{self.path}: columns {_listed(places)} have the same name, "
                    f"{shown(name)}: rename one"
                )
        if self.names and all(_is_number(name) for name in self.names):
            raise TableError(
                f"{self.path}: the first row holds numbers ({self.names[0]}, ...), not "
                "the names of the columns: put a row of names before it"
            )

    def _start(self) -> bytes:
        with self._binary() as stream:
            try:
                return bytes(stream.read(4096))
            except (EOFError, OSError, lzma.LZMAError) as error:
                raise TableError(
                    f"{self.path}: cannot be decompressed: {error}"
                ) from None

    def _sample(self) -> str:
        with self._open() as stream:
            return str(self._guarded(lambda: stream.read(_SAMPLE_BYTES), None, 0))

    def _told_delimiter(self, sample: str, usual: str) -> str:
        """Return the delimiter that divides the first records evenly, into most."""
        if self.path.lower().partition(".gz")[0].endswith((".tsv", ".tab")):
            return "\t"
        known = dict.fromkeys([*DELIMITERS, usual] if usual else DELIMITERS)
        return max(known, key=lambda d: _evenness(sample, d))

    def _undecodable(self) -> str:
        """Return a message that names the line with the wrong bytes."""
        where = "the file "
        encoding = self._encoding.upper().removesuffix("-SIG")
        # Others have no line ends of one byte.
        with self._binary() as stream:
            has_lines = not encoding.startswith(("UTF-16", "UTF-32"))
            for number, line in enumerate(stream if has_lines else (), 1):
                try:
                    line.decode(self._encoding)
                except UnicodeDecodeError as error:
                    byte = error.object[error.start]
                    where = f"line {number}: byte 0x{byte:02x} "
                    break
        return (
            f"{self.path}: {where}is not {encoding}: "
            "name the encoding, such as --encoding cp1252 or --encoding latin-1"
        )

    def _binary(self) -> IO[bytes]:
        with self._file.open("rb") as stream:
            start = stream.read(8)
        for magic, opener in _OPENERS.items():
            if start.startswith(magic):
                return opener(self._file, "rb")
        return self._file.open("rb")

    def _open(self) -> IO[str]:
        return io.TextIOWrapper(self._binary(), encoding=self._encoding, newline="")

    def _reader(self, stream: IO[str]) -> Any:
        return csv.reader(stream, delimiter=self._delimiter, skipinitialspace=True)


def _told_encoding(start: bytes) -> str:
    """Return the encoding that the first bytes name, empty if they name none."""
    if start.startswith(codecs.BOM_UTF8):
        return "utf-8-sig"
    is_utf16 = start.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return "utf-16" if is_utf16 else ""


def _known_encoding(name: str) -> str:
    try:
        io.TextIOWrapper(io.BytesIO(), name)  # refuses those of bytes, such as hex
        # Without a mark at the start, the two are the same.
        return "utf-8-sig" if codecs.lookup(name).name == "utf-8" else name
    except LookupError:
        raise UsageError(
            f"--encoding {name}: no such encoding; try utf-8, cp1252, latin-1 or utf-16"
        ) from None


def _evenness(text: str, delimiter: str) -> tuple[float, int]:
    """Return the share of records as long as the first, and its length."""
    records = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    try:
        lengths = [len(r) for r in islice(records, _SAMPLE_RECORDS) if r]
    except csv.Error:
        return 0.0, 0
    # The sample may end within its last record.
    lengths = lengths[:-1] if len(lengths) > 2 else lengths
    if not lengths or lengths[0] == 1:
        return 0.0, 0
    return lengths.count(lengths[0]) / len(lengths), lengths[0]


def _is_number(text: str) -> bool:
    value = number_of(text)
    return value is not None and not math.isnan(value)


def _listed(places: Sequence[int]) -> str:
    return " and ".join(map(str, places))


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"


def _shown_delimiter(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else repr(delimiter)


# -- Parquet -----------------------------------------------------------------------


class _ParquetSource:
    """Columns with types; those that are no numbers become texts."""

    def __init__(self, path: str, file: Path) -> None:
        self.path, self.unnamed = path, 0
        pa, parquet = _pyarrow(path)
        self._arrow = pa
        try:
            self._parquet = parquet.ParquetFile(file)
        except pa.ArrowException as error:
            first = str(error).splitlines()[0]
            raise TableError(f"{path}: no readable Parquet file: {first}") from None
        schema = self._parquet.schema_arrow
        self.unreadable: dict[str, str] = {
            field.name: f"its type {field.type} is no number, date, word or truth value"
            for field in schema
            if pa.types.is_nested(field.type) or pa.types.is_binary(field.type)
        }
        names = [field.name for field in schema if field.name not in self.unreadable]
        self.names = tuple(n for n in names if not n.startswith("__index_level_"))

    def blocks(self, columns: Sequence[str] | None = None) -> Iterator[Block]:
        """Yield the rows in blocks."""
        wanted = self.names if columns is None else tuple(columns)
        first = 1
        for batch in self._parquet.iter_batches(BLOCK_ROWS, columns=list(wanted)):
            if len(batch):
                cells = {name: self._cells(batch.column(name)) for name in wanted}
                yield Block(cells, range(first, first + len(batch)))
            first += len(batch)

    def _cells(self, column: Any) -> Cells:
        types = self._arrow.types
        if isinstance(column, self._arrow.DictionaryArray):
            column = column.dictionary_decode()
        kind = column.type
        if types.is_timestamp(kind):  # Python's moments have microseconds
            column = column.cast(self._arrow.timestamp("us", kind.tz), safe=False)
        if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
            numbers = column.cast(self._arrow.float64(), safe=False)
            return np.asarray(numbers.to_numpy(zero_copy_only=False), dtype=np.float64)
        if types.is_boolean(kind):
            return [_truth(value) for value in column.to_pylist()]
        return ["" if value is None else str(value) for value in column.to_pylist()]


def _truth(value: bool | None) -> str:
    return "" if value is None else str(value)


def _pyarrow(path: str) -> tuple[Any, Any]:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError:
        raise TableError(
            f"{path}: Parquet files need pyarrow: pip install 'pursuit[tables]', or "
            "save the table as CSV"
        ) from None
    return pa, parquet
