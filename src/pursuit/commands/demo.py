"""``pursuit demo``: from a CSV file to a report, and the comparison with an SVM."""

from __future__ import annotations

import argparse
import csv
import shlex
from pathlib import Path
from types import ModuleType

from . import export, fit, predict, report

__all__ = ["SUMMARY", "configure", "run", "tour", "write_tables"]

SUMMARY = "from a CSV file to a report; then a comparison with a tuned SVM"
# Every so manieth row is new to the model.
NEW_EVERY = 5


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/demo"),
        metavar="DIR",
        help="folder of all files (default: %(default)s)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer rows and a smaller search, in a few seconds",
    )


def run(args: argparse.Namespace) -> None:
    """Show what the commands do, then compare."""
    from pursuit import demo

    tour(args.output, quick=args.quick)
    demo.run(args.output, quick=args.quick)


def tour(folder: Path, *, quick: bool = False) -> None:
    """Run the commands on a data set of scikit-learn, and show them.

    Parameters
    ----------
    folder : Path
        Folder of all files, created if absent.
    quick : bool, default=False
        Fit a kernel that is not learned, and few points.
    """
    table, new = write_tables(folder)
    model = str(folder / "cancer.pursuit")
    faster = ["--kernel", "rbf", "--points", "20"] if quick else []
    _show(fit, str(table), "--target", "diagnosis", *faster, "-o", model)
    predictions = folder / "predictions.csv"
    _show(predict, model, str(new), "-o", str(predictions))
    header = str(folder / "cancer.h")
    _show(export, model, "--to", "c", "--max-bytes", "8192", "-o", header)
    page = folder / "cancer.html"
    _show(report, model, str(table), "-o", str(page))
    print(f"the report: open {page} in a browser\n")


def write_tables(folder: Path) -> tuple[Path, Path]:
    """Write scikit-learn's breast cancer data as CSV files.

    Returns
    -------
    table, new : Path
        Rows to fit, and others without the diagnosis.
    """
    from sklearn.datasets import load_breast_cancer

    folder.mkdir(parents=True, exist_ok=True)
    data = load_breast_cancer()
    names = [*data.feature_names.tolist(), "diagnosis"]
    words = data.target_names[data.target].tolist()
    rows = [[*x, word] for x, word in zip(data.data.tolist(), words, strict=True)]
    table, new = folder / "cancer.csv", folder / "new.csv"
    _write(table, names, [row for i, row in enumerate(rows) if i % NEW_EVERY])
    _write(new, names[:-1], [row[:-1] for row in rows[::NEW_EVERY]])
    return table, new


def _write(path: Path, names: list[str], rows: list[list[object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(names)
        writer.writerows(rows)


def _show(command: ModuleType, *words: str) -> None:
    """Show a command line, and run it."""
    name = command.__name__.rpartition(".")[2]
    print(f"$ pursuit {name} {shlex.join(words)}", flush=True)
    parser = argparse.ArgumentParser(prog=f"pursuit {name}")
    command.configure(parser)
    command.run(parser.parse_args(words))
    print(flush=True)
