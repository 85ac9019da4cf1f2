"""``pursuit info``: what is installed, or what a model file holds."""

from __future__ import annotations

import argparse
import os
import platform
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._talk import lines, size

if TYPE_CHECKING:
    from ._recipes import Facts

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
    parser.add_argument("model", type=Path, nargs="?", help="model file")


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
    yield from _estimator(model)
    if recipe.target is not None:
        yield "target", f"{recipe.target.name!r}"
    shares: dict[str, float] = {}
    if recipe.facts is not None:
        yield from _facts(recipe.facts)
        shares = dict(recipe.facts.importances)
    width = max((len(name) for name in recipe.names), default=0)
    for field in recipe.fields:
        words = recipe.words.get(field.name, ())
        shown = f" ({', '.join(words[:6])}{', ...' if len(words) > 6 else ''})"
        kind = f"{field.kind}{shown if words else ''}"
        matters = f"{100 * shares[field.name]:5.1f} %  " if field.name in shares else ""
        yield "columns", f"{field.name:<{width}}  {matters}{kind}"


def _estimator(model: Any) -> Iterator[tuple[str, str]]:
    from ._said import kernel_text

    steps = getattr(model, "steps", [("", model)])
    last = steps[-1][1]
    yield "model", ", ".join(type(step).__name__ for _, step in steps)
    if hasattr(last, "path_"):
        sizes = f"sizes up to {len(last.path_)} are in the file"
        yield "points", f"{last.n_support_} ({sizes})"
        yield "loss", f"{last.loss_!r}"
    if hasattr(last, "kernel_") and hasattr(last, "metric_"):
        yield "kernel", kernel_text(last)
    labels = getattr(last, "classes_", None)
    if labels is not None:
        shown = ", ".join(map(str, labels[:8]))
        more = ", ..." if len(labels) > 8 else ""
        yield "classes", f"{len(labels)}: {shown}{more}"
        yield "proba", "yes" if hasattr(model, "predict_proba") else "no"


def _facts(facts: Facts) -> Iterator[tuple[str, str]]:
    from ._said import error_text

    yield "task", facts.task
    fitted = facts.n_drawn if facts.is_refitted else facts.n_fitted
    yield "rows", f"{fitted} fitted of {facts.n_rows} with a target"
    if facts.measured is not None:
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
