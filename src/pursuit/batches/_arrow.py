"""Columns of Arrow as arrays of NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._packages import optional

__all__ = ["kind", "labels", "numbers", "plain"]


def kind(type_: Any) -> str:
    """Return "number", "truth value", "word", or the name of another type."""
    types = optional("pyarrow", "Tables").types
    if types.is_dictionary(type_):
        return kind(type_.value_type)
    if types.is_boolean(type_):
        return "truth value"
    tests = (types.is_integer, types.is_floating, types.is_decimal, types.is_null)
    if any(test(type_) for test in tests):
        return "number"
    # Views of strings came with pyarrow 16.
    return "word" if str(type_) in _STRINGS else str(type_)


_STRINGS = ("string", "large_string", "string_view")


def plain(column: Any) -> Any:
    """Return a column without a dictionary: its values themselves."""
    types = optional("pyarrow", "Tables").types
    return column.dictionary_decode() if types.is_dictionary(column.type) else column


def numbers(column: Any) -> np.ndarray:
    """Return a column of numbers or truth values as float64; null becomes NaN."""
    pa = optional("pyarrow", "Tables")
    column = plain(column)
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.uint8())
    return column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def labels(column: Any) -> np.ndarray:
    """Return a target: whole numbers and truth values as they are, words as objects.

    Null becomes NaN or None.
    """
    pa = optional("pyarrow", "Tables")
    column = plain(column)
    type_ = column.type
    if kind(type_) == "number" and not pa.types.is_integer(type_):
        return numbers(column)
    if kind(type_) == "word":
        column = column.cast(pa.large_string())
    return column.to_numpy(zero_copy_only=False)
