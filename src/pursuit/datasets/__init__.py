"""Data sets of the papers, read from local files or fetched from OpenML.

The package ships no data. ``load("sonar")`` reads ``sonar.npz`` from the folder given
by the environment variable ``PURSUIT_DATA``, else from ``~/.pursuit_data``. If the file
is in neither, it is fetched into the latter from OpenML, for the sets that exist there
in their original form: boston, ionosphere, mnist, mushrooms, pima, sonar, usps and
wisconsin. ``names()`` lists the known sets, ``available()`` those whose file is
present, ``folders()`` where files are looked for.

A folder ``tables`` inside these may hold further sets, each a file with arrays ``X``
and ``y``: ``tables()`` lists them, and ``load("tables/airfoil")`` reads one.

Synthetic data: `make_spiral` and `make_ripley` draw points from a known density,
`make_strong_dimensions` draws those of Hussain and Shawe-Taylor's toy experiment, and
`make_interlocked` and `make_far_cluster` draw two classes in the plane.
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

from pursuit._parameters import check_flag

from . import _openml
from ._bunches import bunch
from ._catalogue import SETS, TABLES, Set, table
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
    "folders",
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
    "tables",
]

# Sets of images that can be smoothed.
_IMAGES = [name for name, known in SETS.items() if known.background is not None]

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
    """Return the names that :func:`load` knows; ``ida_titanic`` means ``titanic``."""
    return sorted(SETS)


def available() -> list[str]:
    """Return the known names whose file is present; its contents are not checked."""
    return [name for name in names() if _find(SETS[name].file) is not None]


def tables() -> list[str]:
    """Return the names of the tables that are present, such as ``tables/airfoil``.

    Tables are files in the folder ``tables`` of one of :func:`folders`. They are data
    of whoever put them there: :func:`names` does not list them, nothing is fetched.
    """
    files = (path for folder in folders() for path in (folder / TABLES).glob("*.npz"))
    return sorted({f"{TABLES}/{path.stem}" for path in files})


def folders() -> list[Path]:
    """Return the folders in which files are looked for, in this order.

    The first is that of ``PURSUIT_DATA``, if it is set; what is fetched goes into the
    last. They need not exist.
    """
    places = [os.environ.get("PURSUIT_DATA"), "~/.pursuit_data"]
    return [Path(os.path.expanduser(place)) for place in places if place]


def load(name: str, *, one_hot: bool = True, smooth: bool = False) -> Bunch:
    """Load a data set from its local file, fetching it first if needed.

    Parameters
    ----------
    name : str
        One of :func:`names` or of :func:`tables`.
    one_hot : bool, default=True
        Encoding of the categorical columns of ``mushrooms`` and ``adult``: one 0/1
        column per category, or (False) one column of codes into ``categories``. A
        missing value is the category ``?``. Other sets are not affected.
    smooth : bool, default=False
        Whether to smooth the images of ``usps`` by a Gaussian filter (standard
        deviation 0.75 pixel, background outside), as for the experiments of the papers
        and most of the figures of this library on USPS.

    Returns
    -------
    Bunch
        - ``data`` : (n, d) float64 array; float32 for the large ``mnist`` and
          ``covtype``, a CSR array for ``a9a``. Values are as published: nothing is
          scaled, missing values are NaN.
        - ``target`` : (n,) array; integer labels as published (0/1, -1/+1, digits …)
          or, for ``boston``, ``california`` and some tables, floats.
        - ``feature_names``, and ``target_names`` in the order of the sorted labels.
        - ``splits`` : list of (train, test) row indices, suitable as scikit-learn's
          ``cv=``; empty if the set has no published splits.
        - ``data_train``, ``target_train``, ``data_test``, ``target_test`` if the set
          is published in two parts; the training rows come first in ``data``.
        - ``views`` : for ``mfeat`` and ``nutrimouse``, the blocks of columns that
          ``data`` holds side by side.
        - ``categories`` : for categorical sets, column name -> categories.
        - ``DESCR``, and further fields of the set (``ids``, ``raw``, ``genotype`` …).

    Raises
    ------
    ValueError
        If the name is unknown, or if `smooth` is True for a set without such images.
    FileNotFoundError
        If the file is in none of the folders and cannot be fetched.
    OSError
        If the file exists but is damaged: torn, with other arrays, or with values that
        are not finite in a set that has no missing ones.
    """
    known = _known(name)
    check_flag("smooth", smooth)
    if smooth and known.background is None:
        raise ValueError(
            f"smooth={smooth!r} is for the images of {', '.join(_IMAGES)}: load "
            f"{name!r} with smooth=False."
        )
    path = locate(name)
    try:
        _openml.check_digest(path)
        with _archive(path) as arrays:
            return bunch(known, arrays, one_hot, smooth)
    except _DAMAGE as error:
        raise OSError(
            f"{path} is not a sound copy of the {name!r} data "
            f"({type(error).__name__}: {error}); replace the file"
        ) from error


def locate(name: str) -> Path:
    """Return the file of a data set, fetching it from OpenML if needed.

    Parameters
    ----------
    name : str
        One of :func:`names` or of :func:`tables`.

    Returns
    -------
    path : Path
        File in the folder given by ``PURSUIT_DATA``, or in ``~/.pursuit_data``.

    Raises
    ------
    ValueError
        If the name is unknown.
    FileNotFoundError
        If the file is in none of the folders and cannot be fetched; the message says
        where to put it.
    """
    file = _known(name).file
    path = _find(file)
    if path is not None:
        return path
    if file not in _openml.SOURCES:
        reason = "it is not among those that can be fetched from OpenML"
        raise FileNotFoundError(_missing(name, file, reason))
    try:
        return _openml.fetch(file, folders()[-1])
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
    if str(name).startswith(f"{TABLES}/"):
        return table(name)
    close = get_close_matches(str(name), SETS, n=1)
    hint = f" (did you mean {close[0]!r}?)" if close else ""
    raise ValueError(f"unknown data set {name!r}{hint}; known are {', '.join(names())}")


def _find(file: str) -> Path | None:
    paths = (folder / f"{file}.npz" for folder in folders())
    return next((path for path in paths if path.is_file()), None)


def _missing(name: str, file: str, reason: str) -> str:
    looked = ", ".join(
        f"{folder}" if folder.is_dir() else f"{folder} (no such folder)"
        for folder in folders()
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
