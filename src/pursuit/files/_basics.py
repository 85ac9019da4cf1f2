"""Records of values that are not the library's: sparse rows, labels, random states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import model_selection

from ._components import component
from .tree import Fields, Record, RefusalError

__all__ = ["RECORDS", "check_rows", "is_labels"]

_NUMBERS = ("float64", "float32", "int64", "int32", "uint8", "bool", "object", "number")
# Functions of one number, by their names in NumPy.
_FUNCTIONS = (
    "absolute",
    "arcsinh",
    "arctan",
    "cbrt",
    "ceil",
    "cos",
    "exp",
    "exp2",
    "expm1",
    "floor",
    "log",
    "log10",
    "log1p",
    "log2",
    "negative",
    "positive",
    "reciprocal",
    "rint",
    "sign",
    "sin",
    "sinh",
    "sqrt",
    "square",
    "tan",
    "tanh",
)
# More columns than any model has, few enough for the indices of sparse rows.
_MOST = 1 << 31


# -- arrays ------------------------------------------------------------------------


def _take_array(array: np.ndarray) -> Mapping[str, Any]:
    """Return the entries of an array of words, objects or unusual numbers."""
    if array.dtype.kind == "U":
        # Code points: the file then holds as many bytes as the array will.
        width = max(1, array.dtype.itemsize // 4)
        plain = np.ascontiguousarray(array, f"<U{width}")
        codes = np.frombuffer(plain.tobytes(), "<i4")
        return {"kind": "text", "values": codes.reshape(*array.shape, width)}
    if array.dtype.kind == "O":
        values = array.ravel().tolist()
        for value in values:
            if value is not None and not isinstance(value, str | int | float):
                raise RefusalError(f"it holds {value!r:.60}")
        return {"kind": "objects", "shape": list(array.shape), "values": values}
    if array.dtype.kind in "iuf" and array.dtype.itemsize < 8:
        wide = np.int64 if array.dtype.kind in "iu" else np.float64
        return {"kind": array.dtype.name, "values": array.astype(wide)}
    raise RefusalError(f"it is an array of {array.dtype}")


def _make_array(fields: Fields) -> np.ndarray:
    small = ("int8", "int16", "uint16", "uint32", "float16")
    kind = fields.word("kind", "text", "objects", *small)
    if kind == "text":
        return _text(fields)
    if kind == "objects":
        return _objects(fields)
    values = fields.only("values", np.ndarray)
    if values.dtype.kind != ("f" if kind == "float16" else "i"):
        raise fields.error("values", f"cannot be {kind}")
    with np.errstate(over="ignore"):
        return np.asarray(values.astype(kind))


def _text(fields: Fields) -> np.ndarray:
    codes = fields.only("values", np.ndarray)
    if codes.dtype != np.int32 or codes.ndim < 1 or not codes.shape[-1]:
        raise fields.error("values", "must be code points")
    fields.check_range("values", codes, least=0, below=0x110000)
    width = codes.shape[-1]
    text = np.frombuffer(np.ascontiguousarray(codes, "<i4").tobytes(), f"<U{width}")
    return text.reshape(codes.shape[:-1]).astype(f"U{width}")


def _objects(fields: Fields) -> np.ndarray:
    values, shape = fields.only("values", list), fields.only("shape", list)
    is_plain = all(v is None or isinstance(v, str | int | float) for v in values)
    if not is_plain or any(type(n) is not int or n < 0 for n in shape):
        raise fields.error("values", "must be words, numbers or null")
    out = np.empty(len(values), dtype=object)
    out[:] = values
    if len(shape) > 8 or int(np.prod(np.asarray(shape, dtype=object))) != len(values):
        raise fields.error("shape", "does not fit the values")
    return out.reshape(shape)


def is_labels(value: Any) -> bool:
    """Return whether a value is an array that may hold the labels of classes."""
    return isinstance(value, np.ndarray) and value.ndim == 1


# -- sparse rows -------------------------------------------------------------------


def _take_csr(value: Any) -> Mapping[str, Any]:
    return {
        "shape": list(value.shape),
        "values": value.data,
        "indices": value.indices,
        "indptr": value.indptr,
    }


def _csr_maker(kind: type) -> Any:
    def make(fields: Fields) -> Any:
        shape = fields.only("shape", list)
        is_shape = len(shape) == 2 and all(type(n) is int for n in shape)
        if not is_shape or not all(0 <= n < _MOST for n in shape):
            raise fields.error("shape", "must be two whole numbers")
        n, d = shape
        values = fields.array("values", "f", "k")
        index_type = fields.only("indices", np.ndarray).dtype
        indices = fields.array("indices", "i", "k", least=0, below=d)
        indptr = fields.array("indptr", "i", n + 1, least=0)
        is_rising = not len(indptr) or (indptr[0] == 0 and (np.diff(indptr) >= 0).all())
        if not is_rising or indptr[-1] != len(indices):
            raise fields.error("indptr", "does not describe rows")
        index_type = index_type if index_type.itemsize == 4 else np.dtype(np.int64)
        parts = values, indices.astype(index_type), indptr.astype(index_type)
        return kind(parts, shape=(n, d))

    return make


def check_rows(fields: Fields, key: str, *shape: str | int) -> Any:
    """Return a field of points: a finite array, or sparse rows."""
    value = fields.any(key)
    if not sparse.issparse(value):
        return np.ascontiguousarray(fields.array(key, "f", *shape))
    for letter, length in zip(shape, value.shape, strict=True):
        fields.agree(key, letter, length)
    fields.check_range(key, value.data)
    return value


# -- types of numbers, functions, random numbers -----------------------------------


def _make_type(fields: Fields) -> Any:
    name = fields.word("name", *_NUMBERS, "float", "int")
    if name in ("float", "int", "object"):
        return {"float": float, "int": int, "object": object}[name]
    return bool if name == "bool" else getattr(np, name)


def _take_type(kind: type) -> Mapping[str, Any]:
    is_known = kind in (float, int, bool, object) or issubclass(kind, np.generic)
    if not is_known or kind.__name__ not in (*_NUMBERS, "float", "int"):
        raise RefusalError(f"it is the class {kind.__name__}")
    return {"name": kind.__name__}


def _take_function(function: np.ufunc) -> Mapping[str, Any]:
    name = function.__name__
    if name not in _FUNCTIONS or getattr(np, name) is not function:
        raise RefusalError(f"it is the function {name!r}")
    return {"name": name}


def _make_function(fields: Fields) -> Any:
    return getattr(np, fields.word("name", *_FUNCTIONS))


def _take_state(state: np.random.RandomState) -> Mapping[str, Any]:
    parts: Any = state.get_state(legacy=True)
    word, keys, position, has_gauss, gauss = parts
    if word != "MT19937":
        raise RefusalError(f"it is a RandomState of {word}")
    return {
        "keys": keys.astype(np.int64),
        "position": int(position),
        "has_gauss": bool(has_gauss),
        "gauss": float(gauss),
    }


def _make_state(fields: Fields) -> np.random.RandomState:
    keys = fields.array("keys", "i", 624, least=0, below=1 << 32)
    position = fields.whole("position", 0, 624)
    has_gauss, gauss = fields.flag("has_gauss"), fields.number("gauss")
    state = np.random.RandomState(0)
    state.set_state(
        ("MT19937", keys.astype(np.uint32), position, int(has_gauss), gauss)
    )
    return state


def _make_slice(fields: Fields) -> slice:
    ends = [fields.any(name) for name in ("start", "stop", "step")]
    if not all(end is None or isinstance(end, str | int) for end in ends):
        raise fields.error("start", "and stop must be numbers or names")
    return slice(*ends)


# By type: metaclasses are not subclasses here, so `type` stands for all classes.
RECORDS = (
    Record("basics.Array", np.ndarray, _take_array, _make_array),
    Record(
        "basics.CSRMatrix", sparse.csr_matrix, _take_csr, _csr_maker(sparse.csr_matrix)
    ),
    Record(
        "basics.CSRArray", sparse.csr_array, _take_csr, _csr_maker(sparse.csr_array)
    ),
    Record(
        "basics.Slice",
        slice,
        lambda s: {"start": s.start, "stop": s.stop, "step": s.step},
        _make_slice,
    ),
    Record("basics.NumberType", type, _take_type, _make_type),
    Record("basics.Function", np.ufunc, _take_function, _make_function),
    Record("basics.RandomState", np.random.RandomState, _take_state, _make_state),
    *(
        component("splitters", getattr(model_selection, name))
        for name in (
            "GroupKFold",
            "KFold",
            "ShuffleSplit",
            "StratifiedGroupKFold",
            "StratifiedKFold",
            "StratifiedShuffleSplit",
            "TimeSeriesSplit",
        )
    ),
)
