"""Turn the arrays of a file into data, target and other fields."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

Arrays = Mapping[str, np.ndarray]
Fields = dict[str, Any]


def whole(arrays: Arrays) -> Fields:
    """Return all rows unchanged."""
    return {"data": arrays["X"], "target": arrays["y"]}


def resampled(arrays: Arrays) -> Fields:
    """Return all rows and their published splits."""
    splits = list(zip(arrays["train"], arrays["test"], strict=True))
    official = bool(arrays["official_splits"])
    return {**whole(arrays), "splits": splits, "official_splits": official}


def _both(arrays: Arrays, key: str) -> np.ndarray:
    return np.concatenate([arrays[f"{key}_train"], arrays[f"{key}_test"]])


def joined(arrays: Arrays) -> Fields:
    """Return the two published parts, one after the other."""
    return {"data": _both(arrays, "X"), "target": _both(arrays, "y")}


def mushrooms(arrays: Arrays) -> Fields:
    """Return the columns of letters as codes."""
    letters = map(list, arrays["categories"].tolist())
    return {
        "data": np.empty((len(arrays["X"]), 0)),
        "codes": arrays["X"],
        "target": arrays["y"],
        "categories": dict(zip(arrays["feature_names"].tolist(), letters, strict=True)),
    }


def adult(arrays: Arrays) -> Fields:
    """Return the columns of numbers, and the columns of strings as codes."""
    words = (text.split("|") for text in arrays["categories"].tolist())
    return {
        "data": _both(arrays, "X_num"),
        "codes": _both(arrays, "X_cat"),
        "target": _both(arrays, "y"),
        "feature_names": arrays["num_names"].tolist(),
        "categories": dict(zip(arrays["cat_names"].tolist(), words, strict=True)),
    }


def a9a(arrays: Arrays) -> Fields:
    """Return the two published parts as sparse rows of 0 and 1."""

    def part(key: str) -> sparse.csr_array:
        indptr, columns = arrays[f"{key}_indptr"], arrays[f"{key}_indices"]
        shape = (len(indptr) - 1, int(arrays["n_features"]))
        ones = np.ones(len(columns))
        return sparse.csr_array((ones, columns.astype(np.int32), indptr), shape=shape)

    return {
        "data": sparse.vstack([part("train"), part("test")], format="csr"),
        "target": _both(arrays, "y"),
    }


def side_by_side(*keys: str, target: str) -> Callable[[Arrays], Fields]:
    """Return the layout for several blocks of columns (views) side by side."""

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
                for name in column_names(arrays, key, width)
            ],
        }

    return layout


def column_names(arrays: Arrays, key: str, width: int) -> list[str]:
    """Return the column names in the file, or numbered names."""
    if f"{key}_names" in arrays:
        return arrays[f"{key}_names"].tolist()
    return [f"{key}_{j}" for j in range(width)]
