"""Fetch data sets from OpenML through scikit-learn, check them and store them as files.

scikit-learn compares each download with OpenML's checksum. Here its name, shape, order
of the published parts and class counts are compared with those of the original set.
The SHA-256 digest of the stored file is written beside it and checked whenever the
file is read. For the smaller sets, OpenML may order the rows differently from the
original files, so random splits may differ.
"""

from __future__ import annotations

import hashlib
import os
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import fetch_openml

Arrays = dict[str, np.ndarray]


@dataclass(frozen=True)
class Source:
    """A data set of OpenML, with the properties by which it is verified.

    ``counts`` are the class counts in each published part, ``()`` for numeric targets.
    """

    number: int
    title: str
    shape: tuple[int, int]
    arrays: Callable[[Any], Arrays]
    counts: Sequence[Sequence[int]] = ()


def fetch(file: str, folder: Path) -> Path:
    """Fetch a data set and store it as ``file``.npz in a folder.

    Raises
    ------
    OSError
        If OpenML cannot be reached.
    ValueError
        If the download is not the expected data set.
    """
    source = SOURCES[file]
    # pandas reads large files in seconds, but ignores categories.
    parser = "pandas" if find_spec("pandas") and source.shape[0] > 9000 else "liac-arff"
    with warnings.catch_warnings():
        # One warning reports a retry, which the error mentions as well.
        warnings.simplefilter("ignore", UserWarning)
        bunch = fetch_openml(
            data_id=source.number,
            as_frame=False,
            cache=False,
            parser=parser,
            n_retries=1,
        )
    arrays = checked(source, bunch)
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{file}.npz"
    draft = folder / f"{file}.{os.getpid()}.tmp.npz"
    np.savez_compressed(draft, **arrays)  # type: ignore[arg-type]
    digest_path(path).write_text(f"{digest(draft)}  {path.name}\n", encoding="utf-8")
    draft.replace(path)
    return path


def checked(source: Source, bunch: Any) -> Arrays:
    """Return the arrays of a download, or raise a ValueError if it is another set."""
    title = bunch.details["name"]
    if title.lower() != source.title:
        raise ValueError(f"number {source.number} is called {title!r} there")
    if bunch.data.shape != source.shape:
        raise ValueError(f"it is of shape {bunch.data.shape}, not {source.shape}")
    arrays = source.arrays(bunch)
    parts = [arrays[key] for key in ("y", "y_train", "y_test") if key in arrays]
    for part, expected in zip(parts, source.counts, strict=False):
        counts = np.bincount(part).tolist()
        if counts != list(expected):
            raise ValueError(f"its classes have {counts} rows, not {list(expected)}")
    return arrays


def digest(path: Path) -> str:
    """Return the SHA-256 digest of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def digest_path(path: Path) -> Path:
    """Return the path at which the digest of a fetched file is stored."""
    return path.with_name(f"{path.name}.sha256")


def check_digest(path: Path) -> None:
    """Raise a ValueError if a fetched file has changed since."""
    kept = digest_path(path)
    if kept.is_file() and kept.read_text(encoding="utf-8").split()[0] != digest(path):
        raise ValueError("it has changed since it was fetched")


# -- from a download to the arrays of a file -----------------------------------------


def _numbers(bunch: Any) -> np.ndarray:
    """Return the inputs; columns that OpenML calls categories as their values."""
    X = np.array(bunch.data, dtype=np.float64)
    for name, values in (bunch.categories or {}).items():
        if name not in bunch.feature_names:
            continue  # the target
        j = bunch.feature_names.index(name)
        known = ~np.isnan(X[:, j])
        X[known, j] = np.array(values, dtype=np.float64)[X[known, j].astype(int)]
    return X


def _classes(*words: str) -> Callable[[Any], Arrays]:
    """Return a function that codes the classes in the order of the given names."""

    def arrays(bunch: Any) -> Arrays:
        y = _labels(bunch, words)
        return {"X": _numbers(bunch), "y": y, "class_names": np.array(words)}

    return arrays


def _labels(bunch: Any, words: Sequence[str]) -> np.ndarray:
    codes = {word: code for code, word in enumerate(words)}
    return np.array([codes[_bare(word)] for word in bunch.target], dtype=np.uint8)


def _bare(word: Any) -> str:
    return str(word).strip("'\"").lower()


def _targets(bunch: Any) -> Arrays:
    return {
        "X": _numbers(bunch),
        "y": np.array(bunch.target, dtype=np.float64),
        "feature_names": np.array([str(name) for name in bunch.feature_names]),
    }


def _mushrooms(bunch: Any) -> Arrays:
    codes, categories = np.array(bunch.data, dtype=np.float64), []
    for j, name in enumerate(bunch.feature_names):
        letters = [_bare(value) for value in bunch.categories[name]]
        unknown = np.isnan(codes[:, j])
        if unknown.any():
            letters += [] if "?" in letters else ["?"]
            codes[unknown, j] = letters.index("?")
        categories.append("".join(letters))
    return {
        "X": codes.astype(np.uint8),
        "y": _labels(bunch, ("e", "p")),
        "categories": np.array(categories),
        "feature_names": np.array([str(name) for name in bunch.feature_names]),
        "class_names": np.array(["edible", "poisonous"]),
    }


def _digits(n_train: int, first: int, dtype: Any) -> Callable[[Any], Arrays]:
    """Return a function that splits digits into the published parts.

    ``first`` is the label of the digit 0.
    """

    def arrays(bunch: Any) -> Arrays:
        X = np.asarray(bunch.data, dtype=np.float64).astype(dtype)
        y = np.array([int(_bare(word)) - first for word in bunch.target], np.uint8)
        return {
            "X_train": X[:n_train],
            "y_train": y[:n_train],
            "X_test": X[n_train:],
            "y_test": y[n_train:],
        }

    return arrays


SOURCES = {
    "boston": Source(531, "boston", (506, 13), _targets),
    "ionosphere": Source(59, "ionosphere", (351, 34), _classes("b", "g"), [(126, 225)]),
    "mnist": Source(
        554,
        "mnist_784",
        (70000, 784),
        _digits(60000, 0, np.uint8),
        [
            (5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949),
            (980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009),
        ],
    ),
    "mushrooms": Source(24, "mushroom", (8124, 22), _mushrooms, [(4208, 3916)]),
    "pima": Source(
        37,
        "diabetes",
        (768, 8),
        _classes("tested_negative", "tested_positive"),
        [(500, 268)],
    ),
    "sonar": Source(40, "sonar", (208, 60), _classes("rock", "mine"), [(97, 111)]),
    "usps": Source(
        41082,
        "usps",
        (9298, 256),
        _digits(7291, 1, np.float64),
        [
            (1194, 1005, 731, 658, 652, 556, 664, 645, 542, 644),
            (359, 264, 198, 166, 200, 160, 170, 147, 166, 177),
        ],
    ),
    "wisconsin": Source(
        15, "breast-w", (699, 9), _classes("benign", "malignant"), [(458, 241)]
    ),
}
