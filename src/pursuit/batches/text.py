"""Rows of CSV files."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pursuit._parameters import is_number

from ._arrow import kind
from ._files import files_of, printed
from ._packages import optional
from ._tables import (
    Batch,
    TableRows,
    chosen,
    first_line,
    numbered,
    without_first,
)
from .blocks import RowsError

__all__ = ["CsvRows"]

# Bytes of text that are parsed at once; pyarrow reads 32 times as many ahead. More are
# not quicker, but a row may not be longer.
_TEXT_BYTES = 1 << 18
_LARGEST_TEXT_BYTES = 1 << 28
_ENDS = ("", ".gz", ".bz2")
_SUFFIXES = tuple(f"{s}{end}" for s in (".csv", ".tsv", ".tab") for end in _ENDS)
# Whole numbers up to here are the same as floats.
_LARGEST_WHOLE = 2**53


class CsvRows(TableRows):
    r"""Rows of files of text, with a delimiter between cells and a header.

    The text is parsed as it is read, so that a file need not fit into memory. Rows are
    counted as a spreadsheet counts them: the header is row 1.

    Parameters
    ----------
    paths : str, path, or sequence of these
        Files, which may be compressed (.gz, .bz2), patterns such as ``data/*.csv``, or
        folders, whose files are read in the order of their names.
    target : str or sequence of str, optional
        Column of the targets, or several of them. They are numbers or words as the
        first rows are.
    features : sequence of str, optional
        Columns of the features, in this order; by default all others.
    weight : str, optional
        Column of the weights.
    delimiter : str, optional
        What stands between cells; by default a tab in files named .tsv or .tab, and a
        comma in others.
    names : sequence of str, optional
        Names of the columns, if the files have no header.
    words : sequence of str, default=()
        Columns that are words even where they look like numbers.
    encoding : str, default="utf-8"
        How letters are written.
    rows_at_once : int, optional
        Rows of a block; by default what makes 8 to 16 MiB.
    as_frame : bool, default=False
        Whether blocks hold frames of pandas, for `through`; then features may be words
        and dates.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> from pursuit.batches import CsvRows
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "table.csv")
    ...     _ = path.write_text("a,b,y\n1,2,u\n3,4,v\n")
    ...     block = next(CsvRows(path, target="y").blocks())
    >>> block.X.tolist(), block.y.tolist()
    ([[1.0, 2.0], [3.0, 4.0]], ['u', 'v'])
    """

    def __init__(
        self,
        paths: Any,
        *,
        target: str | Sequence[str] | None = None,
        features: Sequence[str] | None = None,
        weight: str | None = None,
        delimiter: str | None = None,
        names: Sequence[str] | None = None,
        words: Sequence[str] = (),
        encoding: str = "utf-8",
        rows_at_once: int | None = None,
        as_frame: bool = False,
    ) -> None:
        self._files = files_of(paths, _SUFFIXES)
        self._delimiter, self._encoding = delimiter, encoding
        self._names = None if names is None else tuple(names)
        first = self._files[0].path
        schema = self._schema(first)
        columns = chosen(schema.names, first, target, features, weight)
        self._types = {n: _type(schema.field(n).type, n in words) for n in columns.all}
        super().__init__(columns, self._types, first, rows_at_once, as_frame)
        # All numbers are read as floats: the first rows tell which targets are whole.
        whole = (str(schema.field(n).type) == "int64" for n in columns.targets)
        self._are_whole = all(whole) and not set(words) & set(columns.targets)
        for file in self._files[1:]:
            self._check_like(first, file.path, are_all=features is None)

    def fingerprint(self) -> str:
        """Return a text that differs for other files or columns."""
        how = (
            self._delimiter,
            self._names,
            self._encoding,
            sorted(self._types.items()),
        )
        return self._printed((printed(self._files), str(how), *self._described()))

    def _place(self) -> str:
        return f"{self._files[0].path}{' and others' * (len(self._files) > 1)}"

    def _batches(self, n_skipped: int) -> Iterator[Batch]:
        batches = (b for file in self._files for b in self._of_file(file.path))
        return without_first(batches, n_skipped)

    def _of_file(self, path: str) -> Iterator[Batch]:
        first = 1 if self._names else 2  # the header is row 1
        pa = optional("pyarrow", "CSV files")
        try:
            with self._opened(path, self._types) as reader:
                yield from numbered(reader, path, first)
        except (pa.ArrowException, OSError) as error:
            raise RowsError(f"{path}: {self._explained(path, error)}") from error

    def _targets(self, batches: Sequence[Any]) -> np.ndarray:
        """Return the targets of batches, as whole numbers if they all are."""
        y = super()._targets(batches)
        if not self._are_whole or not np.array_equal(y, np.rint(y)):
            return y
        if np.abs(y).max() >= _LARGEST_WHOLE:
            raise RowsError(
                f"{self._place()}: target holds whole numbers of more than 15 digits: "
                f"if they are labels, pass words={list(self.columns.targets)}."
            )
        return y.astype(np.int64)

    def _opened(self, path: str, types: dict[str, Any] | None = None) -> Any:
        csv = optional("pyarrow.csv", "CSV files")
        is_tabbed = re.search(r"\.(tsv|tab)(\.\w+)?$", path.lower())
        return csv.open_csv(
            # Compression is told from the name.
            optional("pyarrow", "CSV files").input_stream(path),
            read_options=csv.ReadOptions(
                # One thread counts rows, so that errors tell them.
                use_threads=False,
                block_size=_text_bytes(path),
                column_names=self._names,
                encoding=self._encoding,
            ),
            parse_options=csv.ParseOptions(
                delimiter=self._delimiter or ("\t" if is_tabbed else ","),
                newlines_in_values=True,
            ),
            convert_options=csv.ConvertOptions(
                column_types=types,
                include_columns=None if types is None else list(types),
                strings_can_be_null=True,
            ),
        )

    def _schema(self, path: str) -> Any:
        """Return names and types of the columns, as the first rows tell them."""
        pa = optional("pyarrow", "CSV files")
        try:
            with self._opened(path) as reader:
                schema, names = reader.schema, reader.schema.names
        except UnicodeDecodeError as error:
            raise RowsError(
                f"{path}: the text is not {self._encoding}: pass encoding=..., such as "
                "'latin-1'."
            ) from error
        except (pa.ArrowException, OSError, LookupError) as error:
            raise RowsError(f"{path}: {_plainly(error)}") from error
        if self._names is None and all(map(_looks_like_number, names)):
            raise RowsError(
                f"{path}: the first row holds numbers ({names[0]}, ...), not "
                "the names of the columns: pass names=[...]."
            )
        return schema

    def _check_like(self, first: str, other: str, are_all: bool) -> None:
        """Raise a `RowsError` that tells how a file differs from the first one."""
        names, wanted = self._schema(other).names, self.columns.all
        problems = [
            f"it has no column {name!r}" for name in wanted if name not in names
        ]
        more = [name for name in names if name not in wanted] if are_all else []
        problems += [f"it has one more column, {name!r}" for name in more]
        if problems:
            raise RowsError(
                f"{other} differs from {first}: {', '.join(problems)}. Leave the file "
                "out, or choose columns that all files have by features=[...]."
            )

    def _explained(self, path: str, error: BaseException) -> str:
        """Return what pyarrow says, with the column's name instead of its number."""
        text = _plainly(error)
        match = re.match(r"In CSV column #(\d+): (.*)", text)
        if match is None:
            return text
        name = self._schema(path).names[int(match[1])]
        may_be_words = self.as_frame or name in self.columns.targets
        advice = f"; if these are words, pass words=[{name!r}]" if may_be_words else ""
        rest = match[2].replace("CSV conversion error to double: ", "no number: ")
        return f"column {name!r}, {rest}{advice}."


def _text_bytes(path: str) -> int:
    """Return the bytes that are parsed at once: enough for rows, as the first tells."""
    n, piece = 0, b""
    with optional("pyarrow", "CSV files").input_stream(path) as stream:
        while b"\n" not in piece and 16 * n < _LARGEST_TEXT_BYTES:
            piece = stream.read(1 << 16)
            n += piece.find(b"\n") if b"\n" in piece else len(piece)
            if not piece:
                break
    return min(max(_TEXT_BYTES, 16 * n), _LARGEST_TEXT_BYTES)


def _plainly(error: BaseException) -> str:
    text = first_line(error).removeprefix("CSV parse error: ")
    return text.replace("Row #", "row ")


def _type(inferred: Any, is_word: bool) -> Any:
    """Return the type that a column is read as; numbers may be whole in some rows."""
    pa = optional("pyarrow", "CSV files")
    if is_word:
        return pa.string()
    return pa.float64() if kind(inferred) == "number" else inferred


def _looks_like_number(text: str) -> bool:
    try:
        return is_number(float(text))
    except ValueError:
        return False
