"""``pursuit fit``: a table in, a model file and its error out."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pursuit._user_errors import TableError, UsageError

from ._options import add_table_options, count, count_from_0, share
from ._talk import bar, lines, quoted, size, written

if TYPE_CHECKING:
    from pursuit.tables import Notation, Scan, Source, Usual

    from ._columns import Choices, Columns
    from ._pipelines import Settings
    from ._training import Data, Trained

__all__ = ["SUMMARY", "configure", "run"]

SUMMARY = "fit a model to a table, and measure it on rows held out"
SUFFIX = ".pursuit"
LOSSES = (
    "auto",
    "squared",
    "logistic",
    "margin",
    "hinge",
    "squared-hinge",
    "exponential",
    "squared-tanh",
    "doom2",
    "huber",
    "absolute",
    "quantile",
    "poisson",
)
KERNELS = ("auto", "rbf", "laplacian", "poly", "linear")


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "data", metavar="TABLE", help="CSV, TSV or Parquet; - reads from a pipe"
    )
    parser.add_argument(
        "--target", required=True, metavar="COLUMN", help="what to predict"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help=f"model file (default: the table's name with {SUFFIX})",
    )
    parser.add_argument(
        "--task",
        choices=("classification", "regression"),
        help="what is predicted (default: told from the target)",
    )
    columns = parser.add_argument_group("columns")
    for option, what in (
        ("--ignore", "leave these out"),
        ("--category", "these hold words, even if they look like numbers or text"),
        ("--number", "these hold numbers, even if they count the rows"),
    ):
        columns.add_argument(
            option, nargs="+", action="extend", default=[], metavar="COLUMN", help=what
        )
    columns.add_argument("--weights", metavar="COLUMN", help="weights of the rows")
    _configure_model(parser.add_argument_group("model"))
    add_table_options(parser, has_model=False)
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def _configure_model(group: Any) -> None:
    group.add_argument(
        "--points",
        "--max-support",
        dest="points",
        type=count,
        metavar="N",
        help="keep at most N points (default: as many as help)",
    )
    group.add_argument(
        "--proba",
        action="store_true",
        help="make probabilities of classes (the logistic loss)",
    )
    group.add_argument(
        "--loss", choices=LOSSES, default="auto", help="what is minimized"
    )
    group.add_argument(
        "--kernel", choices=KERNELS, default="auto", help="default: it is learned"
    )
    group.add_argument(
        "--test-size",
        type=share,
        default=0.2,
        metavar="SHARE",
        help="share of the rows held out to measure the error (default: %(default)s)",
    )
    group.add_argument(
        "--refit",
        action="store_true",
        help="after the error is measured, fit once more, to all rows",
    )
    group.add_argument(
        "--random-state",
        type=count_from_0,
        default=0,
        metavar="SEED",
        help="default: 0",
    )
    group.add_argument(
        "--max-memory",
        metavar="AMOUNT",
        help="such as '2 GiB' (default: half of what is free); if the rows need more, "
        "some of them are drawn",
    )
    group.add_argument(
        "--max-rows", type=count, metavar="N", help="draw N rows if there are more"
    )


def run(args: argparse.Namespace) -> None:
    """Fit a model, write it, and print what was measured."""
    from pursuit.tables import Kind

    from ._columns import chosen_columns
    from ._notations import check_notation, tell_doubts
    from ._options import check_output, notation_of, opened, usual_of
    from ._pipelines import importances
    from ._said import said
    from ._training import read, train

    settings, notation = _settings(args), notation_of(args)
    path = args.output or _default_path(args.data)
    check_output(path, args.data)
    source = opened(args)
    choices = _choices(source, notation, args)
    scan = _scanned(source, notation, args)
    check_notation(source, scan, choices)
    columns = chosen_columns(source, scan, choices)
    if args.proba and not columns.is_class:
        raise UsageError("--proba: a regression has no probabilities")
    numbers = [f.name for f in columns.fields if f.kind is Kind.NUMBER]
    tell_doubts(source, numbers, notation, quiet=args.quiet)
    data = read(source, scan, columns, settings, notation=notation, quiet=args.quiet)
    trained, data = train(data, columns, settings, quiet=args.quiet)
    shares = importances(trained.pipeline, trained.fields)
    is_new = not path.is_file()
    _save(path, trained, columns, data, shares, notation, usual_of(args))
    if not args.quiet:
        print(
            lines(
                [
                    *said(source, scan, columns, data, trained, shares),
                    *_after(path, args, is_new),
                ]
            )
        )


def _settings(args: argparse.Namespace) -> Settings:
    from pursuit._limits import budget

    from ._pipelines import Settings

    try:
        budget(args.max_memory)
    except ValueError:
        raise UsageError(
            f"--max-memory {args.max_memory}: not an amount of memory such as '2 GiB'"
        ) from None
    if args.proba and args.loss not in ("auto", "logistic"):
        raise UsageError(
            f"--proba: the loss {args.loss!r} gives no probabilities; leave --loss out"
        )
    return Settings(
        kernel=args.kernel,
        loss="logistic" if args.proba else args.loss,
        max_support=args.points,
        random_state=args.random_state,
        max_memory=args.max_memory,
        max_rows=args.max_rows,
        test_size=args.test_size,
        refit=args.refit,
    )


def _choices(source: Source, notation: Notation, args: argparse.Namespace) -> Choices:
    """Return what the options say; raise if they name columns that are not there."""
    from ._columns import Choices, named

    if len(source.names) == 1:
        raise TableError(
            f"{source.path}: the only column is {quoted(source.names)}: a fit needs "
            "another to predict from (is the delimiter another one? --delimiter)"
        )
    weights = args.weights
    return Choices(
        named("--target", args.target, source),
        args.task,
        tuple(
            named("--ignore", name, source)
            for name in args.ignore
            if name not in source.unreadable
        ),
        tuple(named("--category", name, source) for name in args.category),
        tuple(named("--number", name, source) for name in args.number),
        None if weights is None else named("--weights", weights, source),
        notation,
    )


def _scanned(source: Source, notation: Notation, args: argparse.Namespace) -> Scan:
    from pursuit.tables import scan

    with bar(None, "looking", quiet=args.quiet, unit="row") as advance:
        seen = scan(source, notation, seen=lambda block: advance(len(block)))
    if not seen.n_rows:
        raise TableError(f"{source.path}: there are no rows after the header")
    return seen


def _default_path(data: str) -> Path:
    """Return the table's name with the suffix of model files, in this folder."""
    stem = "model" if data == "-" else Path(data).name
    while Path(stem).suffix:  # data.csv.gz has two
        stem = Path(stem).stem
    return Path(stem + SUFFIX)


def _save(
    path: Path,
    trained: Trained,
    columns: Columns,
    data: Data,
    shares: list[tuple[str, float]],
    notation: Notation,
    usual: Usual,
) -> None:
    from . import _model_files
    from ._pipelines import known_words
    from ._recipes import Facts, Recipe
    from ._sizes import to_write

    facts = Facts(
        columns.task,
        data.n_rows,
        len(data.rows),
        trained.n_fitted,
        trained.is_refitted,
        trained.measured,
        tuple((name, round(share, 6)) for name, share in shares),
    )
    words = known_words(trained.pipeline, trained.fields)
    recipe = Recipe(
        trained.fields,
        columns.target,
        words,
        trained.split,
        trained.fingerprint,
        facts,
        notation,
        usual,
    )
    _model_files.save(to_write(trained.pipeline), path, recipe)


def _after(path: Path, args: argparse.Namespace, is_new: bool) -> list[tuple[str, str]]:
    """Return what was written, and what to do with it."""
    file = shlex.quote(str(path))
    data = "data.csv" if args.data == "-" else shlex.quote(args.data)
    return [
        written(path, size(path.stat().st_size), is_new=is_new),
        ("next", f"pursuit predict {file} new.csv -o predictions.csv"),
        ("next", f"pursuit report {file} {data}"),
        ("next", f"pursuit export {file} --to c"),
    ]
