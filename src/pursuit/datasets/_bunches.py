"""Build the `Bunch` of a data set from the arrays of its file."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import Bunch

from ._catalogue import Set
from ._images import smoothed
from ._layouts import Arrays, Fields, column_names


def bunch(known: Set, arrays: Arrays, one_hot: bool, smooth: bool) -> Bunch:
    """Return the result of :func:`pursuit.datasets.load` from the file's arrays."""
    fields = {"splits": [], **known.layout(arrays)}
    if "codes" in fields:
        fields |= _encode(fields.pop("codes"), one_hot, fields)
    data = fields["data"] = fields["data"].astype(known.dtype, copy=False)
    fields["target"] = _plain(fields["target"])
    if data.ndim != 2 or not 0 < data.shape[0] == len(fields["target"]):
        raise ValueError(f"data {data.shape}, target {fields['target'].shape}")
    _check_finite(known, data, fields["target"])
    if smooth and known.background is not None:
        data = fields["data"] = smoothed(data, known.background)
    if "y_train" in arrays:
        fields |= _parts(len(arrays["y_train"]), data, fields["target"])
    fields.setdefault("feature_names", column_names(arrays, "feature", data.shape[1]))
    fields |= _target_names(arrays, fields["target"])
    extras = {key: arrays[key] for key in known.extras if key in arrays}
    return Bunch(**(fields | extras), DESCR=known.descr)


def _plain(target: np.ndarray) -> np.ndarray:
    """Return labels of a wide type: differences of small unsigned ones would wrap."""
    return target.astype(np.float64 if target.dtype.kind == "f" else np.int64)


def _check_finite(known: Set, data: Any, target: np.ndarray) -> None:
    """Raise a ValueError for values that no copy of the set has."""
    values = data.data if sparse.issparse(data) else data
    odd = np.isinf(values) if known.has_gaps else ~np.isfinite(values)
    if odd.any():
        raise ValueError(f"{np.count_nonzero(odd)} values of the data are not finite")
    if not np.isfinite(target).all():
        raise ValueError("some targets are not finite")


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


def _target_names(arrays: Arrays, target: np.ndarray) -> Fields:
    if target.dtype.kind == "f":
        return {}
    for key in ("class_names", "diet_names"):
        if key in arrays:
            return {"target_names": arrays[key].tolist()}
    return {"target_names": [str(label) for label in np.unique(target)]}
