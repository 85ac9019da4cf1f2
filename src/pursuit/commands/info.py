"""``pursuit info``: what is installed, or what a model file holds."""

from __future__ import annotations

import argparse
import os
import platform
import re
import shlex
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._talk import lines, plain, quoted, size

if TYPE_CHECKING:
    from ._recipes import Facts, Recipe

__all__ = ["SUMMARY", "configure", "run"]

SUMMARY = (
    "show what a model file holds; without one, versions, threads and data folders"
)
PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")
OPTIONAL_PACKAGES = (
    "matplotlib",
    "tqdm",
    "pandas",
    "polars",
    "pyarrow",
    "onnx",
    "onnxruntime",
    "skl2onnx",
    "fastrvm",
)


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "model", type=Path, nargs="?", metavar="MODEL", help="model file"
    )


def run(args: argparse.Namespace) -> None:
    """Show a model, or the surroundings."""
    if args.model is not None:
        print(lines(list(_model(args.model))))
        return
    for title, entries in (
        ("versions", _versions()),
        ("threads", _threads()),
        ("data sets", _data_sets()),
    ):
        print(title)
        for name, value in entries:
            print(f"  {name:<14} {value}")


# -- a model -----------------------------------------------------------------------


def _model(path: Path) -> Iterator[tuple[str, str]]:
    from . import _model_files

    model, recipe = _model_files.load(path)
    yield "file", f"{path} ({size(path.stat().st_size)})"
    yield from _estimator(model, recipe)
    if recipe.target is not None:
        yield "target", quoted([recipe.target.name])
    shares: dict[str, float] = {}
    if recipe.facts is not None:
        yield from _facts(recipe.facts)
        shares = dict(recipe.facts.importances)
    yield from _written(recipe)
    width = max((len(plain(name)) for name in recipe.names), default=0)
    for field in recipe.fields:
        words = recipe.words.get(field.name, ())
        some = ", ".join(plain(word) for word in words[:6])
        more = ", ..." if len(words) > 6 else ""
        kind = f"{field.kind} ({some}{more})" if words else str(field.kind)
        matters = f"{100 * shares[field.name]:5.1f} %  " if field.name in shares else ""
        yield "columns", f"{plain(field.name):<{width}}  {matters}{kind}"


def _written(recipe: Recipe) -> Iterator[tuple[str, str]]:
    """Yield how tables of the model are read, if not as usual."""
    from pursuit.tables import PLAIN
    from pursuit.tables.guesses import options

    told = [options(recipe.notation, PLAIN)]
    if recipe.usual.delimiter:
        told.append(f"--delimiter {shlex.quote(recipe.usual.delimiter)}")
    if recipe.usual.encoding:
        told.append(f"--encoding {recipe.usual.encoding}")
    if any(told):
        yield "tables", f"are read with {' '.join(filter(None, told))}"


def _estimator(model: Any, recipe: Recipe) -> Iterator[tuple[str, str]]:
    from ._said import kernel_text

    steps = getattr(model, "steps", [("", model)])
    last = steps[-1][1]
    names = [type(step).__name__ for _, step in steps]
    if recipe.facts is not None:  # what stands before it is that of every fit
        names = [f"{names[-1]}, made by pursuit fit"]
    yield "model", ", ".join(names)
    if hasattr(last, "path_"):
        sizes = f"sizes up to {len(last.path_)} are in the file"
        yield "points", f"{last.n_support_} ({sizes})"
        yield "loss", _loss(last.loss_)
    if hasattr(last, "kernel_") and hasattr(last, "metric_"):
        yield "kernel", kernel_text(last)
    labels = getattr(last, "classes_", None)
    if labels is not None:
        some = ", ".join(plain(str(label)) for label in labels[:8])
        more = ", ..." if len(labels) > 8 else ""
        yield "classes", f"{len(labels)}: {some}{more}"
        has = hasattr(model, "predict_proba")
        why = "yes: predict --proba" if has else "no: fit with --proba to have them"
        yield "probabilities", why
    if getattr(last, "_has_folds", False):
        yield "intervals", "yes: predict --interval 0.9"


def _loss(loss: Any) -> str:
    """Return the name of a loss, as options have it."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "-", type(loss).__name__).lower()


def _facts(facts: Facts) -> Iterator[tuple[str, str]]:
    from ._said import error_text

    yield "task", facts.task
    fitted = facts.n_drawn if facts.is_refitted else facts.n_fitted
    drawn = f" ({facts.n_drawn} were drawn)" if facts.n_drawn < facts.n_rows else ""
    yield "rows", f"{fitted} fitted of {facts.n_rows} with a target{drawn}"
    if facts.measured is None:
        yield "error", "not measured: the fit held out no rows (--test-size)"
    else:
        yield "error", error_text(facts.measured)


# -- the surroundings --------------------------------------------------------------


def _versions() -> Iterator[tuple[str, str]]:
    from pursuit import __version__

    yield "pursuit", __version__
    yield "python", f"{platform.python_version()} ({platform.platform()})"
    for package in PACKAGES:
        yield package, metadata.version(package)
    for package in OPTIONAL_PACKAGES:
        try:
            yield package, metadata.version(package)
        except metadata.PackageNotFoundError:
            yield package, "not installed (optional)"


def _threads() -> Iterator[tuple[str, str]]:
    import joblib
    import numba
    import scipy.linalg  # noqa: F401  loads its BLAS, so that it is listed
    import sklearn.utils  # noqa: F401  loads OpenMP
    from threadpoolctl import threadpool_info

    yield "cores", f"{joblib.cpu_count()} usable of {os.cpu_count()}"
    yield "numba", f"{numba.config.NUMBA_NUM_THREADS} threads"
    for pool in threadpool_info():
        version = pool.get("version") or "version unknown"
        yield (
            pool["user_api"],
            f"{pool['internal_api']} {version}, {pool['num_threads']} threads",
        )


def _data_sets() -> Iterator[tuple[str, str]]:
    from pursuit import datasets

    for folder in datasets.folders():
        yield "looked for in", f"{folder}{'' if folder.is_dir() else ' (absent)'}"
    if not os.environ.get("PURSUIT_DATA"):
        yield "PURSUIT_DATA", "not set: may name another folder"
    present = datasets.available()
    yield "found", f"{len(present)} of {len(datasets.names())}"
    if present:
        yield "", ", ".join(present)
