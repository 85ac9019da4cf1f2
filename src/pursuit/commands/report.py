"""``pursuit report``: a page that shows a model, and runs it."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pursuit._user_errors import CommandError, TableError, shown

from ._options import add_table_options
from ._talk import bar, counted, lines, note, size, told_warnings, written
from ._translations import in_command_words

if TYPE_CHECKING:
    from pursuit.tables import Rows, Source

    from ._recipes import Recipe

__all__ = ["SUMMARY", "configure", "run"]

SUMMARY = "write a page (HTML) that shows a model on a table, and runs it"
# Number of rows from which a page is made; it holds fewer.
MAX_ROWS = 100_000


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="model file, from `pursuit fit`"
    )
    parser.add_argument(
        "data",
        metavar="TABLE",
        help="table with the target: that of the fit, or new rows",
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write (default: the model's name with .html)",
    )
    parser.add_argument("--title", help="title of the page")
    add_table_options(parser, has_model=True)
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> None:
    """Write the page."""
    from . import _model_files
    from ._options import check_output, opened

    path = args.output or Path(args.model.stem + ".html")
    check_output(path, args.model, args.data)
    model, recipe = _model_files.load(args.model)
    source = opened(args, recipe.usual)
    read, n_rows = _read(source, recipe, args)
    judged, rows = _judged(model, recipe, read, n_rows)
    if len(read) < n_rows:
        rows += f"; {len(read)} of {n_rows} rows of the table were drawn"
    title = args.title or f"{args.model.stem}: {recipe.target_name}"
    from pursuit import report  # slow to import
    from pursuit.tables import Kind

    is_new = not path.is_file()
    with told_warnings(quiet=args.quiet):
        try:
            report.write(
                model,
                path,
                title=title,
                target_names=recipe.target_name,
                date_columns=[f.name for f in recipe.fields if f.kind is Kind.DATE],
                **judged,
            )
        except ValueError as error:
            raise CommandError(f"{args.model}: {in_command_words(error)}") from error
    if not args.quiet:
        note("who gets the page can read some rows of the table in it")
        file = written(path, size(path.stat().st_size), is_new=is_new)
        print(lines([("rows", rows), file]))


def _read(source: Source, recipe: Recipe, args: argparse.Namespace) -> tuple[Rows, int]:
    """Return rows of a table that have a target, and how many there are."""
    from pursuit.tables import drawn_rows

    from ._columns import found
    from ._options import notation_of
    from .predict import check_columns

    if recipe.target is None:
        raise CommandError(
            f"{args.model}: the file does not say which column is the target: write "
            "the report in Python, with pursuit.report.write"
        )
    check_columns(source, recipe)
    target = recipe.target
    found(target.name, source, "target")
    with bar(None, "reading", quiet=args.quiet, unit="row") as advance:
        rows, n_rows = drawn_rows(
            source,
            [*recipe.fields, target],
            max_rows=MAX_ROWS,
            notation=notation_of(args, recipe.notation),
            keeps=lambda rows: rows.is_known(target.name),
            seen=lambda block: advance(len(block)),
        )
    if not len(rows):
        raise TableError(f"{source.path}: no row has a target in {shown(target.name)}")
    return rows, n_rows


def _judged(
    model: Any, recipe: Recipe, rows: Rows, n_rows: int
) -> tuple[dict[str, Any], str]:
    """Return the rows to judge the model on, and a line about them.

    Of the table of the fit, these are the rows that were held out.
    """
    from sklearn.base import is_classifier

    from pursuit.tables import fingerprint

    from ._training import ordered, targets

    assert recipe.target is not None
    is_class = bool(is_classifier(model))
    rows, digests = ordered(rows, recipe.fields, recipe.target)
    X, y = rows.array(recipe.names), targets(rows, recipe.target, is_class)
    is_known = fingerprint(digests) == recipe.fingerprint
    facts = recipe.facts
    if not is_known and facts is not None and facts.n_drawn < facts.n_rows == n_rows:
        # Rows of the fit are among these, but which they are is not known.
        seen = f"{counted(len(y), 'row')}, of which the fit has seen some"
        return {"X": X, "y": y, "is_held_out": False}, seen
    if recipe.split is None or not is_known:
        new = f"{counted(len(y), 'row')}, which are not the table of the fit"
        return {"X": X, "y": y, "is_held_out": True}, new
    split = recipe.split
    names = [*recipe.names, recipe.target.name]
    numbered = rows.numbered_digests(names, split.seed)
    is_out = split.holds_out(numbered, y if is_class else None)
    is_refitted = facts is not None and facts.is_refitted
    fitted = ~is_out | is_refitted
    training = {"X_train": X[fitted], "y_train": y[fitted]}
    if is_refitted or not is_out.any():
        all_rows = f"{counted(len(y), 'row')}, all of which the fit has seen"
        return {"X": X, "y": y, "is_held_out": False, **training}, all_rows
    held = f"{counted(int(is_out.sum()), 'row')} that the fit has not seen"
    return {"X": X[is_out], "y": y[is_out], "is_held_out": True, **training}, held
