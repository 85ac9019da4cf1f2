"""Files that a user means: single ones, lists, patterns, folders."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from glob import glob, has_magic
from pathlib import Path
from typing import Any

__all__ = ["File", "files_of", "printed"]


@dataclass(frozen=True)
class File:
    """A file, and the folder in which it was found, if it was.

    Attributes
    ----------
    path : str
    folder : str or None
    """

    path: str
    folder: str | None = None


def files_of(paths: Any, suffixes: tuple[str, ...]) -> tuple[File, ...]:
    """Return the files of paths in a fixed order, or raise an error.

    Parameters
    ----------
    paths : str, path, or sequence of these
        Files, patterns such as "data/*.parquet", and folders. Lists keep their order;
        the files of a folder or a pattern are sorted by their names.
    suffixes : tuple of str
        How the names of files in folders end.
    """
    if isinstance(paths, str | os.PathLike):
        return tuple(_files(os.fspath(paths), suffixes))
    files = tuple(f for path in paths for f in _files(os.fspath(path), suffixes))
    if not files:
        raise ValueError("The list of paths is empty: name at least one file.")
    return files


def _files(path: str, suffixes: tuple[str, ...]) -> list[File]:
    if os.path.isdir(path):
        return _within(path, suffixes)
    if os.path.exists(path):
        return [File(path)]
    if has_magic(path):
        matches = sorted(glob(path, recursive=True))
        if matches:
            return [f for name in matches for f in _files(name, suffixes)]
        raise FileNotFoundError(f"No file matches the pattern {path!r}.")
    hint = (
        " Files of other places are read by ArrowRows(pyarrow.dataset.dataset(...))."
        if "://" in path
        else ""
    )
    raise FileNotFoundError(f"There is no file or folder {path!r}.{hint}")


def _within(folder: str, suffixes: tuple[str, ...]) -> list[File]:
    paths = (p for p in Path(folder).rglob("*") if p.name.lower().endswith(suffixes))
    # What other programs leave beside the data begins with these signs.
    kept = (
        p
        for p in paths
        if p.is_file()
        and not any(s.startswith((".", "_")) for s in p.relative_to(folder).parts)
    )
    files = [File(str(path), str(Path(folder))) for path in sorted(kept)]
    if not files:
        raise FileNotFoundError(
            f"The folder {folder!r} holds no files that end with "
            f"{' or '.join(suffixes)}."
        )
    return files


def printed(files: Sequence[File]) -> tuple[Any, ...]:
    """Return what tells files from others: paths, sizes, times of change."""
    facts = ((os.path.abspath(f.path), os.stat(f.path)) for f in files)
    return tuple((path, fact.st_size, fact.st_mtime_ns) for path, fact in facts)
