"""Columns of a row in whole numbers: their bits and ranges.

A row comes in as 32-bit numbers with a number of bits for each column. Numbers outside
the column's range are moved to its ends, so that nothing can overflow later. A missing
value is the smallest number of 32 bits, and so are the values of a row that misses one
which nothing fills.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np

from pursuit.export.steps import Input

from .arithmetic import bits_for

__all__ = ["LIMIT", "MISSING", "Columns", "given_columns", "quantized"]

MISSING = -(2**31)
# Numbers of a column stay below 2^29: differences of two fit into 32 bits.
LIMIT = 29


@dataclass(frozen=True, eq=False)
class Columns:
    """What is known of columns.

    Attributes
    ----------
    bits : ndarray of int
        Bits of each column.
    low, high : ndarray
        Range, in real numbers.
    error : ndarray
        How far a number may be from the exact one.
    may_miss : ndarray of bool
        Whether a number may be missing.
    """

    bits: np.ndarray
    low: np.ndarray
    high: np.ndarray
    error: np.ndarray
    may_miss: np.ndarray

    def __len__(self) -> int:
        return len(self.bits)

    def __getitem__(self, places: np.ndarray) -> Columns:
        return Columns(*(getattr(self, each.name)[places] for each in fields(self)))

    @staticmethod
    def joined(parts: Sequence[Columns]) -> Columns:
        """Return the columns of all parts side by side."""
        return Columns(
            *(
                np.concatenate([getattr(part, each.name) for part in parts])
                for each in fields(Columns)
            )
        )

    def whole(self, values: np.ndarray) -> np.ndarray:
        """Return numbers in these columns as whole ones."""
        return np.round(np.ldexp(values, self.bits)).astype(np.int64)


def given_columns(
    inputs: Sequence[Input], X: np.ndarray, input_bits: np.ndarray | None
) -> Columns:
    """Return the columns of raw rows, with the ranges of given rows."""
    is_code = np.array([each.categories is not None for each in inputs])
    safe = np.where(np.isfinite(X), X, np.nan)
    empty = np.isnan(safe).all(axis=0)
    safe[:, empty] = 0.0
    low, high = np.nanmin(safe, axis=0), np.nanmax(safe, axis=0)
    sizes = np.maximum(np.abs(low), np.abs(high))
    bits = np.array([bits_for(size, LIMIT) for size in sizes])
    if input_bits is not None:
        for each, given, most in zip(inputs, input_bits, bits, strict=True):
            if given > most:
                raise ValueError(
                    f"input_bits={given} is too many for column {each.name!r}: with "
                    f"its range, at most {most} keep it within {LIMIT} bits."
                )
        bits = input_bits
    bits = np.where(is_code, 0, bits)
    error = np.where(is_code, 0.0, np.ldexp(0.5, -bits))
    # One unit beyond the ends is no category, whatever was moved there.
    low = np.ldexp(np.round(np.ldexp(low, bits)) - 1.0, -bits)
    high = np.ldexp(np.round(np.ldexp(high, bits)) + 1.0, -bits)
    n_codes = np.array([len(each.categories or ()) for each in inputs])
    low, high = np.where(is_code, -1.0, low), np.where(is_code, n_codes, high)
    return Columns(bits, low, high, error, np.ones(len(bits), dtype=bool))


def quantized(columns: Columns, X: np.ndarray) -> np.ndarray:
    """Return raw rows as the 32-bit numbers that a device takes."""
    whole = np.round(np.ldexp(X, columns.bits))
    limits = np.clip(whole, MISSING + 1, -(MISSING + 1))
    return np.where(np.isnan(X), MISSING, limits).astype(np.int32)
