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
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from . import _openml
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

Arrays = Mapping[str, np.ndarray]
Fields = dict[str, Any]

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
    return sorted(_SETS)


def available() -> list[str]:
    """The known names whose file is present; its contents are not looked at."""
    return [name for name in names() if _find(_SETS[name].file) is not None]


def load(name: str, *, one_hot: bool = True) -> Bunch:
    """Load a data set from its local file, which may be fetched first.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    one_hot : bool, default=True
        How the categorical columns of ``mushrooms`` and ``adult`` are given: one
        0/1 column a category, or (False) one column of codes, to be looked up in
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
        If the file is there but is not a sound copy.
    """
    known, path = _known(name), locate(name)
    try:
        _openml.check_digest(path)
        with _archive(path) as arrays:
            return _bunch(known, arrays, one_hot)
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


def _known(name: str) -> _Set:
    aliases = {known.file: short for short, known in _SETS.items()}
    short = aliases.get(name, name)
    if short in _SETS:
        return _SETS[short]
    close = get_close_matches(str(name), _SETS, n=1)
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


def _bunch(known: _Set, arrays: Arrays, one_hot: bool) -> Bunch:
    fields = {"splits": [], **known.layout(arrays)}
    if "codes" in fields:
        fields |= _encode(fields.pop("codes"), one_hot, fields)
    data = fields["data"] = fields["data"].astype(known.dtype, copy=False)
    fields["target"] = _plain(fields["target"])
    if data.ndim != 2 or not 0 < data.shape[0] == len(fields["target"]):
        raise ValueError(f"data {data.shape}, target {fields['target'].shape}")
    if "y_train" in arrays:
        fields |= _parts(len(arrays["y_train"]), data, fields["target"])
    fields.setdefault("feature_names", _column_names(arrays, "feature", data.shape[1]))
    fields |= _target_names(arrays, fields["target"])
    extras = {key: arrays[key] for key in known.extras if key in arrays}
    return Bunch(**(fields | extras), DESCR=known.descr)


def _plain(target: np.ndarray) -> np.ndarray:
    """Wide types only: differences of small unsigned labels would wrap around."""
    return target.astype(np.float64 if target.dtype.kind == "f" else np.int64)


def _encode(codes: np.ndarray, one_hot: bool, fields: Fields) -> Fields:
    data, categories = fields["data"], fields["categories"]
    columns, blocks = list(categories), [codes]
    if one_hot:
        columns = [f"{key}={value}" for key in columns for value in categories[key]]
        sizes = map(len, categories.values())
        blocks = [np.eye(k)[code] for k, code in zip(sizes, codes.T, strict=True)]
    return {
        "data": np.hstack([data, *blocks]),
        "feature_names": [*fields.get("feature_names", []), *columns],
    }


def _parts(cut: int, data: Any, target: np.ndarray) -> Fields:
    rows = np.arange(len(target))
    return {
        "splits": [(rows[:cut], rows[cut:])],
        "data_train": data[:cut],
        "data_test": data[cut:],
        "target_train": target[:cut],
        "target_test": target[cut:],
    }


def _column_names(arrays: Arrays, key: str, width: int) -> list[str]:
    if f"{key}_names" in arrays:
        return arrays[f"{key}_names"].tolist()
    return [f"{key}_{j}" for j in range(width)]


def _target_names(arrays: Arrays, target: np.ndarray) -> Fields:
    if target.dtype.kind == "f":
        return {}
    for key in ("class_names", "diet_names"):
        if key in arrays:
            return {"target_names": arrays[key].tolist()}
    return {"target_names": [str(label) for label in np.unique(target)]}


# Layouts: how a file's arrays become data, target and the rest.


def _whole(arrays: Arrays) -> Fields:
    return {"data": arrays["X"], "target": arrays["y"]}


def _resampled(arrays: Arrays) -> Fields:
    splits = list(zip(arrays["train"], arrays["test"], strict=True))
    official = bool(arrays["official_splits"])
    return {**_whole(arrays), "splits": splits, "official_splits": official}


def _both(arrays: Arrays, key: str) -> np.ndarray:
    return np.concatenate([arrays[f"{key}_train"], arrays[f"{key}_test"]])


def _joined(arrays: Arrays) -> Fields:
    return {"data": _both(arrays, "X"), "target": _both(arrays, "y")}


def _mushrooms(arrays: Arrays) -> Fields:
    letters = map(list, arrays["categories"].tolist())
    return {
        "data": np.empty((len(arrays["X"]), 0)),
        "codes": arrays["X"],
        "target": arrays["y"],
        "categories": dict(zip(arrays["feature_names"].tolist(), letters, strict=True)),
    }


def _adult(arrays: Arrays) -> Fields:
    words = (joined.split("|") for joined in arrays["categories"].tolist())
    return {
        "data": _both(arrays, "X_num"),
        "codes": _both(arrays, "X_cat"),
        "target": _both(arrays, "y"),
        "feature_names": arrays["num_names"].tolist(),
        "categories": dict(zip(arrays["cat_names"].tolist(), words, strict=True)),
    }


def _a9a(arrays: Arrays) -> Fields:
    def part(key: str) -> sparse.csr_array:
        indptr, columns = arrays[f"{key}_indptr"], arrays[f"{key}_indices"]
        shape = (len(indptr) - 1, int(arrays["n_features"]))
        ones = np.ones(len(columns))
        return sparse.csr_array((ones, columns.astype(np.int32), indptr), shape=shape)

    return {
        "data": sparse.vstack([part("train"), part("test")], format="csr"),
        "target": _both(arrays, "y"),
    }


def _side_by_side(*keys: str, target: str) -> Callable[[Arrays], Fields]:
    def layout(arrays: Arrays) -> Fields:
        widths = [arrays[key].shape[1] for key in keys]
        data = np.hstack([arrays[key] for key in keys], dtype=np.float64)
        blocks = np.split(data, np.cumsum(widths)[:-1], axis=1)
        columns = zip(keys, widths, strict=True)
        return {
            "data": data,
            "target": arrays[target],
            "views": Bunch(**dict(zip(keys, blocks, strict=True))),
            "feature_names": [
                name
                for key, width in columns
                for name in _column_names(arrays, key, width)
            ],
        }

    return layout


@dataclass(frozen=True)
class _Set:
    file: str
    descr: str
    layout: Callable[[Arrays], Fields] = _whole
    dtype: type = np.float64
    extras: tuple[str, ...] = ()


def _ida(name: str, about: str, splits: str = "1 to 10 of the original 100") -> _Set:
    descr = (
        f"{about} As in the IDA benchmark (Rätsch et al.): inputs standardised over "
        f"the whole set, labels -1/+1. `splits`: {splits}."
    )
    return _Set(f"ida_{name}", descr, _resampled)


_SETS = {
    "a9a": _Set(
        "a9a",
        "LIBSVM's a9a: `adult` as 123 binary features, same rows; labels -1/+1.",
        _a9a,
    ),
    "adult": _Set(
        "adult",
        "Adult / census income (UCI, CC BY 4.0), 32561 + 16281 rows, 6 numeric and "
        "8 categorical columns; 1 = over 50K.",
        _adult,
    ),
    "banana": _ida("banana", "Banana, 5300 points of the plane."),
    "boston": _Set(
        "boston",
        "Boston housing (StatLib), 506 rows; target MEDV in k$, capped at 50. "
        "Column B is ethically disputed.",
    ),
    "breast_cancer": _ida(
        "breast_cancer", "Ljubljana breast cancer (not Wisconsin), 277 rows."
    ),
    "california": _Set(
        "california",
        "California housing 1990 (StatLib), 20640 rows in geographical order; target "
        "in 100 k$, capped at 5. `raw` is the StatLib table.",
        extras=("raw", "raw_names"),
    ),
    "covtype": _Set(
        "covtype",
        "Forest cover type (UCI, CC BY 4.0; Blackard, Colorado State University), "
        "581012 rows, labels 1..7. The original parts are rows up to 11340 (train), "
        "15120 (validation) and the rest (test).",
        dtype=np.float32,
    ),
    "heart": _ida("heart", "Statlog heart, 270 rows."),
    "ionosphere": _Set(
        "ionosphere",
        "Ionosphere radar returns (UCI, CC BY 4.0), 351 rows; 1 = good. Column 1 is "
        "constant. The usual split is rows up to 200 against the rest.",
    ),
    "mfeat": _Set(
        "mfeat",
        "Multiple Features (UCI, CC BY 4.0): six views of 2000 handwritten digits, "
        "sorted by class.",
        _side_by_side("fac", "fou", "kar", "mor", "pix", "zer", target="y"),
    ),
    "mnist": _Set(
        "mnist",
        "MNIST digits (LeCun, Cortes, Burges), 60000 + 10000 images of 28 x 28 "
        "pixels, 0..255.",
        _joined,
        np.float32,
    ),
    "mushrooms": _Set(
        "mushrooms",
        "Agaricus-Lepiota mushrooms (UCI, CC BY 4.0), 8124 rows, 22 categorical "
        "columns; 1 = poisonous.",
        _mushrooms,
    ),
    "nutrimouse": _Set(
        "nutrimouse",
        "Nutrimouse (R package CCA): gene expression and liver fatty acids of 40 "
        "mice; target is the diet.",
        _side_by_side("gene", "lipid", target="diet"),
        extras=("genotype", "genotype_names"),
    ),
    "pima": _Set(
        "pima",
        "Pima Indians diabetes, 768 rows; 1 = positive. Zeros stand for missing "
        "values in glucose, pressure, triceps, insulin and mass.",
    ),
    "ripley": _Set(
        "ripley",
        "Ripley's synthetic mixture of two classes (R package MASS), 250 + 1000 "
        "points of the plane, each part sorted by class.",
        _joined,
    ),
    "sonar": _Set(
        "sonar",
        "Sonar (UCI, CC BY 4.0), 208 rows sorted by class; 1 = mine, 0 = rock.",
    ),
    "thyroid": _ida(
        "thyroid",
        "UCI new-thyroid (CC BY 4.0), 215 rows.",
        "100 random ones of the original sizes, NOT the original ones",
    ),
    "titanic": _ida("titanic", "Titanic, 2201 rows with 14 distinct inputs."),
    "usps": _Set(
        "usps",
        "USPS ZIP-code digits (zip.train, zip.test of the book The Elements of "
        "Statistical Learning), 7291 + 2007 images of 16 x 16 pixels in [-1, 1].",
        _joined,
    ),
    "waveform": _ida("waveform", "Waveform, 5000 rows."),
    "wisconsin": _Set(
        "wisconsin",
        "Wisconsin breast cancer, original (UCI, CC BY 4.0), 699 rows, integers "
        "1..10; 1 = malignant. 16 rows miss column 5 (NaN).",
        extras=("ids",),
    ),
}
