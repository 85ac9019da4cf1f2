"""``pursuit predict``: a model file and a table in, predictions out."""

from __future__ import annotations

import argparse
import csv
import io
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pursuit._user_errors import CommandError, TableError, UsageError
from pursuit._writing import whole_file

from ._options import add_table_options, coverage
from ._sizes import last_step
from ._talk import bar, counted, lines, note, percent, quoted, told_warnings, written
from ._translations import in_command_words

if TYPE_CHECKING:
    import numpy as np

    from pursuit.tables import Block, Notation, Source

    from ._recipes import Recipe

__all__ = ["SUMMARY", "check_columns", "configure", "read_block", "run"]

SUMMARY = "predict the rows of a table"
PREDICTION = "prediction"
# What --interval adds to the prediction of a number, and of a class.
LIMITS, POSSIBLE = ["low", "high"], "possible"


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="model file, from `pursuit fit`"
    )
    parser.add_argument(
        "data", metavar="TABLE", help="CSV, TSV or Parquet; - reads from a pipe"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="CSV file of the predictions (default: the standard output)",
    )
    parser.add_argument(
        "--proba", action="store_true", help="add the probability of each class"
    )
    parser.add_argument(
        "--interval",
        type=coverage,
        metavar="SHARE",
        help="add limits between which this share of the targets lies, such as 0.9; "
        "for classes, those that it may be",
    )
    parser.add_argument(
        "--keep",
        nargs="+",
        action="extend",
        default=[],
        metavar="COLUMN",
        help="copy these columns of the table, before the prediction",
    )
    add_table_options(parser, has_model=True)
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> None:
    """Predict a table, block by block."""
    from . import _model_files
    from ._columns import found
    from ._options import check_output, notation_of, opened

    check_output(args.output, args.model, args.data)
    model, recipe = _model_files.load(args.model)
    notation = notation_of(args, recipe.notation)
    source = opened(args, recipe.usual)
    check_columns(source, recipe)
    args.keep = [found(name, source, "column for --keep:") for name in args.keep]
    predictor = _Predictor(model, recipe, notation, args)
    _tell_extra(source, recipe, args)
    is_new = args.output is None or not args.output.is_file()
    with _output(args.output) as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(predictor.header)
        with bar(None, "predicting", quiet=args.quiet, unit="row") as advance:
            for block in source.blocks(_wanted(source, recipe, args.keep)):
                writer.writerows(predictor.lines(block, source.path))
                advance(len(block))
    predictor.tell()
    if _is_file(args.output) and not args.quiet:
        rows = counted(predictor.n_rows, "row")
        print(lines([written(args.output, rows, is_new=is_new)]))


class _Predictor:
    """Predicts blocks, and counts what deserves a note."""

    def __init__(
        self,
        model: Any,
        recipe: Recipe,
        notation: Notation,
        args: argparse.Namespace,
    ) -> None:
        self._model, self._recipe, self._args = model, recipe, args
        self._notation = notation
        self._labels: Any = getattr(model, "classes_", None)
        if args.proba:
            _check_probabilities(model, args.model)
        if args.interval is not None:
            _check_intervals(model, args.model)
        self._strange: Counter[str] = Counter()
        self._example: dict[str, str] = {}
        self._check = _Check(self._labels is not None)
        self.n_rows = 0

    @property
    def header(self) -> list[str]:
        """Names of the columns that are written."""
        proba = [] if not self._args.proba else [f"p_{c}" for c in self._labels]
        return [*self._args.keep, PREDICTION, *self._of_interval, *proba]

    @property
    def _of_interval(self) -> list[str]:
        """Names of the columns that --interval adds."""
        if self._args.interval is None:
            return []
        return LIMITS if self._labels is None else [POSSIBLE]

    def lines(self, block: Block, path: str) -> Iterator[Sequence[Any]]:
        """Return the lines of a block."""
        X = read_block(block, self._recipe, path, self._notation, self._see)
        where = f"{path}: rows {block.rows[0]} to {block.rows[-1]}"
        P, predicted, more = self._predict(X, where)
        self.n_rows += len(block)
        cells = block.columns.get(self._recipe.target_name)
        if cells is not None:
            self._check.see(predicted, cells, self._notation)
        columns = [block.columns[name] for name in self._args.keep]
        columns += [predicted.tolist(), *more]
        if P is not None:
            columns += [p.tolist() for p in P.T]
        return zip(*columns, strict=True)

    def _predict(self, X: np.ndarray, where: str) -> tuple[Any, Any, list[Any]]:
        """Return probabilities, if asked for, predictions, and columns of intervals."""
        with told_warnings(quiet=self._args.quiet):
            try:
                more = self._limits(X)
                if not self._args.proba:
                    return None, self._model.predict(X), more
                P = self._model.predict_proba(X)
            except ValueError as error:
                raise CommandError(f"{where}: {in_command_words(error)}") from error
        return P, self._labels[P.argmax(axis=1)], more

    def _limits(self, X: np.ndarray) -> list[Any]:
        """Return what --interval adds, column by column."""
        share, last = self._args.interval, last_step(self._model)
        if share is None:
            return []
        if last is not self._model:
            X = self._model[:-1].transform(X)
        if self._labels is None:
            _, intervals = last.predict_interval(X, share)
            return intervals[..., 0].T.tolist()
        _, sets = last.predict_set(X, share)
        return [[" ".join(map(str, self._labels[s])) for s in sets[..., 0]]]

    def _see(self, name: str, words: Counter[str]) -> None:
        """Count words that the model does not know."""
        self._strange[name] += sum(words.values())
        self._example.setdefault(name, next(iter(words)))

    def tell(self) -> None:
        """Say what was strange, and the error if the targets are known."""
        quiet = self._args.quiet
        for name, n in self._strange.items():
            example = self._example[name]
            note(
                f"column {quoted([name])}: {counted(n, 'row')} with words that the fit "
                f"did not see, such as {quoted([example])}",
                quiet=quiet,
            )
        text = self._check.text
        if text:
            name = self._recipe.target_name
            note(
                f"{quoted([name])} is in the table: {text}; rows of the fit may be "
                "among them",
                quiet=quiet,
            )


class _Check:
    """The error of predictions, summed over blocks."""

    def __init__(self, is_class: bool) -> None:
        self._is_class = is_class
        self._n = 0
        self._total = 0.0

    def see(self, predicted: np.ndarray, cells: Any, notation: Notation) -> None:
        """Add a block; rows without a target do not count."""
        import numpy as np

        from pursuit.tables import numbers
        from pursuit.tables.cells import words

        if self._is_class and predicted.dtype.kind in "US":
            pairs = zip(predicted.tolist(), words(cells), strict=True)
            known = [(p, w) for p, w in pairs if w is not None]
            self._n += len(known)
            self._total += sum(p != w for p, w in known)
            return
        y, _ = numbers(cells, notation)
        is_known = np.isfinite(y)
        y, predicted = y[is_known], predicted[is_known]
        errors = predicted != y if self._is_class else (predicted - y) ** 2
        self._n += len(y)
        self._total += float(errors.sum())

    @property
    def text(self) -> str:
        """What the error is, empty if no target was known."""
        if not self._n:
            return ""
        mean = self._total / self._n
        if self._is_class:
            return f"{percent(mean)} of {self._n} rows misclassified"
        return f"error {mean**0.5:.4g} (root mean square, {self._n} rows)"


def read_block(
    block: Block, recipe: Recipe, path: str, notation: Notation, see: Any = None
) -> np.ndarray:
    """Return a block as the model takes it; unknown words are passed to ``see``."""
    from pursuit.tables import Reader

    rows = Reader(path, recipe.fields, notation)(block)
    if see is not None:
        for name, words in rows.words.items():
            known = set(recipe.words.get(name, ()))
            strange = {i: w for i, w in enumerate(words) if w not in known}
            if known and strange:
                codes = Counter(rows.columns[name].tolist())
                see(name, Counter({w: codes[i] for i, w in strange.items()}))
    return rows.array(recipe.names)


def check_columns(source: Source, recipe: Recipe) -> None:
    """Raise if a table lacks columns that the model takes."""
    if not recipe.fields:
        raise CommandError(
            "the model does not say which columns it takes: use it in Python"
        )
    missing = [name for name in recipe.names if name not in source.names]
    if missing:
        shown = quoted(missing[:6]) + (", ..." if len(missing) > 6 else "")
        noun = "column" if len(missing) == 1 else "columns"
        raise TableError(
            f"{source.path}: the model needs the {noun} {shown}; the table has "
            f"{quoted(source.names[:8])}{', ...' if len(source.names) > 8 else ''}"
        )


def _tell_extra(source: Source, recipe: Recipe, args: argparse.Namespace) -> None:
    used = {*recipe.names, recipe.target_name, *args.keep}
    extra = [name for name in source.names if name not in used]
    if extra:
        shown = quoted(extra[:6]) + (", ..." if len(extra) > 6 else "")
        note(f"columns that the model does not use: {shown}", quiet=args.quiet)


def _wanted(source: Source, recipe: Recipe, keep: Sequence[str]) -> list[str]:
    wanted = [*recipe.names, *keep]
    if recipe.target_name in source.names:
        wanted.append(recipe.target_name)
    return list(dict.fromkeys(wanted))


def _check_probabilities(model: Any, path: Path) -> None:
    if not hasattr(model, "predict_proba"):
        raise UsageError(
            f"--proba: the model {path} has no probabilities: fit it with "
            "`pursuit fit --proba`"
        )


def _check_intervals(model: Any, path: Path) -> None:
    if not getattr(last_step(model), "_has_folds", False):
        raise UsageError(
            f"--interval: the file {path} holds no errors on rows that were held out: "
            "`pursuit fit` writes them, unless the fit went by blocks"
        )


def _is_file(path: Path | None) -> bool:
    return path is not None and str(path) != "-"


@contextmanager
def _output(path: Path | None) -> Iterator[IO[str]]:
    """Open the file for the predictions; it appears when all of them are there."""
    if path is None or not _is_file(path):
        yield sys.stdout
        return
    with whole_file(path) as file:
        stream = io.TextIOWrapper(file, encoding="utf-8", newline="")
        try:
            yield stream
        finally:
            stream.detach()
