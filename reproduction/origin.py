"""Where a result comes from: data, versions, sources of the library, the day."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from pursuit import __version__, datasets

from .experiment import Task

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba")
# Recorded if installed: comparisons then have one more row.
OPTIONAL = ("fastrvm", "catboost", "lightgbm")
# Sources of results that were stored before sources were recorded.
UNKNOWN = "unknown"


def made_here(task: Task) -> dict[str, Any]:
    """Return where the result of a task comes from if it is computed now."""
    return {
        "data": digests(task.needs or ()),
        "versions": versions(),
        "sources": sources(),
        "date": datetime.now(UTC).date().isoformat(),
    }


def digests(needs: Sequence[str]) -> dict[str, str]:
    """Return the SHA-256 digest of each data set's file, of those that are here."""
    present = {*datasets.available(), *datasets.tables()}
    paths = {name: datasets.locate(name) for name in needs if name in present}
    return {name: _digest(path, _state(path)) for name, path in paths.items()}


def _state(path: Path) -> tuple[int, int]:
    """Return what changes when a file does."""
    status = path.stat()
    return status.st_size, status.st_mtime_ns


@cache
def _digest(path: Path, state: tuple[int, int]) -> str:
    """Return a file's digest; with the same ``state`` it is read once per process."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@cache
def sources() -> str:
    """Return a short digest of the library's modules.

    It changes with every default, while the version stays the same between releases.
    The modules of the reproduction do not count: the ``CODE_VERSION`` of a family
    changes with what its tasks compute.
    """
    folder = Path(datasets.__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(folder.rglob("*.py")):
        # As text, so that line ends of other systems do not count.
        text = path.read_text(encoding="utf-8")
        name = path.relative_to(folder).as_posix()
        digest.update(f"{name}\0{text}\0".encode())
    return digest.hexdigest()[:12]


def versions() -> dict[str, str]:
    """Return the versions of Python, of this library and of what it stands on."""
    packages = {package: _version(package) for package in (*PACKAGES, *OPTIONAL)}
    return {
        "python": platform.python_version(),
        "pursuit": __version__,
        **{package: version for package, version in packages.items() if version},
    }


@cache
def _version(package: str) -> str | None:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None
