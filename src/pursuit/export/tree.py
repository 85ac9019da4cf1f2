"""A formula as JSON: objects of a type, lists, words and numbers."""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np

from .errors import UnsupportedError

__all__ = ["inline_array", "tree_of"]


def tree_of(value: Any, array: Callable[[np.ndarray], Any]) -> Any:
    """Return a formula, or a part of one, as what JSON can hold.

    An object becomes ``{"type": its class, field: value, ...}``, a number that is not
    finite ``{"float": "nan"}``, "inf" or "-inf", a tuple a list.

    Parameters
    ----------
    value : Formula, Step, ndarray, tuple, str, int, float, bool or None
    array : callable
        Returns what stands for an array.
    """
    if is_dataclass(value) and not isinstance(value, type):
        parts = {f.name: tree_of(getattr(value, f.name), array) for f in fields(value)}
        return {"type": type(value).__name__, **parts}
    if isinstance(value, np.ndarray):
        return array(value)
    if isinstance(value, tuple | list):
        return [tree_of(part, array) for part in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return {"float": str(value)}
    if value is None or isinstance(value, str | int | float):
        return value
    raise UnsupportedError(
        f"{value!r} cannot be exported: labels must be words, numbers or Booleans."
    )


def inline_array(array: np.ndarray) -> dict[str, Any]:
    """Return an array as base64 of its numbers, with dtype and shape."""
    kind = "<f8" if array.dtype.kind == "f" else "<i4"
    data = np.ascontiguousarray(array, dtype=kind).tobytes()
    text = base64.b64encode(data).decode("ascii")
    return {"base64": text, "dtype": kind, "shape": list(array.shape)}
