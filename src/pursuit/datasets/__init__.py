"""Data sets of the literature on these models, read from local files or fetched.

The package ships no data. ``load("sonar")`` reads ``sonar.npz`` from the folder that
the environment variable ``PURSUIT_DATA`` names, else from ``~/.pursuit_data``; what is
in neither is fetched into the latter from OpenML, if it exists there in the original
form: boston, ionosphere, mnist, mushrooms, pima, sonar, usps and wisconsin. ``names()``
lists the known sets, ``available()`` those whose file is present.

Made data: `make_spiral` and `make_ripley` draw points of a known density,
`make_strong_dimensions` those of Hussain and Shawe-Taylor's toy experiment,
`make_interlocked` and `make_far_cluster` two classes in the plane.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from pathlib import Path

import numpy as np
from sklearn.utils import Bunch

from . import _openml
from ._bunches import bunch
from ._catalogue import SETS, Set
from ._layouts import Arrays
from ._synthetic import (
    make_far_cluster,
    make_interlocked,
    make_ripley,
    make_spiral,
    make_strong_dimensions,
    ripley_bayes_error,
    ripley_log_density,
    spiral_log_density,
)

__all__ = [
    "available",
    "load",
    "locate",
    "make_far_cluster",
    "make_interlocked",
    "make_ripley",
    "make_spiral",
    "make_strong_dimensions",
    "names",
    "ripley_bayes_error",
    "ripley_log_density",
    "spiral_log_density",
]

_DAMAGE = (
    OSError,
    EOFError,
    LookupError,
    NotImplementedError,
    RuntimeError,
    TypeError,
    ValueError,
    zipfile.BadZipFile,
    zlib.error,
)


def names() -> list[str]:
    """Names that :func:`load` knows; ``ida_titanic`` is also taken for ``titanic``."""
    return sorted(SETS)


def available() -> list[str]:
    """The known names whose file is present; its contents are not looked at."""
    return [name for name in names() if _find(SETS[name].file) is not None]


def load(name: str, *, one_hot: bool = True) -> Bunch:
    """Load a data set from its local file, which may be fetched first.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    one_hot : bool, default=True
        How the categorical columns of ``mushrooms`` and ``adult`` are given: one
        0/1 column for each category, or (False) one column of codes, to be looked up in
        ``categories``. A missing value is the category ``?``. No effect elsewhere.

    Returns
    -------
    Bunch
        - ``data`` : (n, d) float64 array; float32 for the large ``mnist`` and
          ``covtype``, a CSR array for ``a9a``. Values are as published: nothing is
          scaled, missing values are NaN.
        - ``target`` : (n,) array; integer labels as published (0/1, -1/+1, digits …)
          or, for ``boston`` and ``california``, floats.
        - ``feature_names``, and ``target_names`` in the order of the sorted labels.
        - ``splits`` : list of (train, test) row indices, which scikit-learn takes as
          ``cv=``; empty where the set has none of its own.
        - ``data_train``, ``target_train``, ``data_test``, ``target_test`` where the
          set is published in two parts, the first of which comes first in ``data``.
        - ``views`` : for ``mfeat`` and ``nutrimouse``, the blocks of columns that
          ``data`` holds side by side.
        - ``categories`` : for categorical sets, column name -> categories.
        - ``DESCR``, and what else the set has (``ids``, ``raw``, ``genotype`` …).

    Raises
    ------
    ValueError
        If the name is unknown.
    FileNotFoundError
        If the file is in none of the folders and cannot be fetched.
    OSError
        If the file is there but is not a sound copy: torn, of other arrays, or with
        values that are not finite where none are missing by nature.
    """
    known, path = _known(name), locate(name)
    try:
        _openml.check_digest(path)
        with _archive(path) as arrays:
            return bunch(known, arrays, one_hot)
    except _DAMAGE as error:
        raise OSError(
            f"{path} is not a sound copy of the {name!r} data "
            f"({type(error).__name__}: {error}); replace the file"
        ) from error


def locate(name: str) -> Path:
    """Return the file of a data set, fetched from OpenML if it is not here yet.

    Parameters
    ----------
    name : str
        One of :func:`names`.

    Returns
    -------
    path : Path
        In the folder that ``PURSUIT_DATA`` names, or in the user's.

    Raises
    ------
    ValueError
        If the name is unknown.
    FileNotFoundError
        If the file is in none of the folders and cannot be fetched; it says where to
        put it.
    """
    file = _known(name).file
    path = _find(file)
    if path is not None:
        return path
    if file not in _openml.SOURCES:
        reason = "it is not among those that can be fetched from OpenML"
        raise FileNotFoundError(_missing(name, file, reason))
    try:
        return _openml.fetch(file, _folders()[-1])
    except (OSError, LookupError, ValueError) as error:
        reason = (
            f"it could not be fetched from OpenML ({type(error).__name__}: {error})"
        )
        raise FileNotFoundError(_missing(name, file, reason)) from error


def _known(name: str) -> Set:
    aliases = {known.file: short for short, known in SETS.items()}
    short = aliases.get(name, name)
    if short in SETS:
        return SETS[short]
    close = get_close_matches(str(name), SETS, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"unknown data set {name!r}{hint}; known are {', '.join(names())}")


def _folders() -> list[Path]:
    places = [os.environ.get("PURSUIT_DATA"), "~/.pursuit_data"]
    return [Path(os.path.expanduser(place)) for place in places if place]


def _find(file: str) -> Path | None:
    paths = (folder / f"{file}.npz" for folder in _folders())
    return next((path for path in paths if path.is_file()), None)


def _missing(name: str, file: str, reason: str) -> str:
    looked = ", ".join(
        f"{folder}" if folder.is_dir() else f"{folder} (no such folder)"
        for folder in _folders()
    )
    variable = "is set" if os.environ.get("PURSUIT_DATA") else "is not set"
    return (
        f"no file {file}.npz for the data set {name!r}; looked in {looked}; "
        f"{reason}. Put the file into one of these folders, or set the environment "
        f"variable PURSUIT_DATA (it {variable}) to the folder that holds it, e.g. "
        f"export PURSUIT_DATA=/path/to/data"
    )


@contextmanager
def _archive(path: Path) -> Iterator[Arrays]:
    with path.open("rb") as file:
        if not zipfile.is_zipfile(file):
            raise ValueError("not a NumPy .npz archive")
        file.seek(0)
        with np.load(file, allow_pickle=False) as arrays:
            yield arrays
