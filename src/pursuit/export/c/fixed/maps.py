"""The map before a kernel in whole numbers: y = (x - origin) A."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.export.c.text import Constants

from .arithmetic import scaled_text, shifted
from .columns import Columns

__all__ = ["WholeMap", "whole_map"]

# Sums of products stay below 2^62.
_SUM_LIMIT = 2.0**62


@dataclass(frozen=True, eq=False)
class WholeMap:
    """A map of whole numbers.

    Attributes
    ----------
    origin : ndarray of int, shape (d,)
        Subtracted, with the columns' bits.
    factor : ndarray of int, shape (d,) or (d, r)
        A, with ``sum_bits`` less the bits of the column.
    sum_bits, bits : int
        Bits of the sums of products, and of y.
    low, high, error : ndarray of shape (r,)
        Ranges of y in real numbers, and how far y may be from exact ones.
    """

    origin: np.ndarray
    factor: np.ndarray
    sum_bits: int
    bits: int
    low: np.ndarray
    high: np.ndarray
    error: np.ndarray

    def run(self, x: np.ndarray) -> np.ndarray:
        """Return y for prepared rows of whole numbers."""
        moved = x - self.origin
        y = moved * self.factor if self.factor.ndim == 1 else moved @ self.factor
        return shifted(y, self.sum_bits - self.bits)

    def lines(self, name: str, y: str, constants: Constants, width: int) -> list[str]:
        """Return C that fills ``y`` from ``x``; ``width`` is that of constants."""
        d, r = len(self.origin), len(self.low)
        origin = constants.integers("origin", self.origin, "int32_t")
        factor = constants.integers("factor", self.factor.ravel(), f"int{width}_t")
        by = self.sum_bits - self.bits
        moved = f"((int64_t)x[j] - {origin}[j])"
        if self.factor.ndim == 1:
            value = scaled_text(name, f"{moved} * {factor}[j]", by)
            return [f"for (j = 0; j < {d}; j++)", f"    {y}[j] = (int32_t)({value});"]
        value = scaled_text(name, "total", by)
        return [
            f"for (i = 0; i < {r}; i++) {{",
            "    int64_t total = 0;",
            f"    for (j = 0; j < {d}; j++)",
            f"        total += {moved} * {factor}[{r} * j + i];",
            f"    {y}[i] = (int32_t)({value});",
            "}",
        ]


def real_ranges(
    columns: Columns, origin: np.ndarray, factor: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of each coordinate of (x - origin) A."""
    low, high = columns.low - origin, columns.high - origin
    if factor.ndim == 1:
        ends = low * factor, high * factor
        return np.minimum(*ends), np.maximum(*ends)
    up, down = np.maximum(factor, 0.0), np.minimum(factor, 0.0)
    return low @ up + high @ down, high @ up + low @ down


def whole_map(
    columns: Columns, origin: np.ndarray, factor: np.ndarray, bits: int, width: int
) -> WholeMap:
    """Return the map in whole numbers with as many bits as there is room for.

    Parameters
    ----------
    columns : Columns
        Columns of the prepared row.
    origin : ndarray of shape (d,)
        A multiple of the columns' units.
    factor : ndarray of shape (d,) or (d, r)
    bits : int
        Bits of y.
    width : {16, 32}
        Bits of a stored number.
    """
    by_column = columns.bits if factor.ndim == 1 else columns.bits[:, None]
    moved = np.maximum(np.abs(columns.low - origin), np.abs(columns.high - origin))
    moved = moved + columns.error
    room = 2.0 ** (width - 1) - 1.0
    sum_bits = bits + 62  # C shifts 64-bit numbers by less than 63
    while True:
        whole = np.round(np.ldexp(factor, sum_bits - by_column))
        used = np.ldexp(moved, columns.bits)
        total = used * np.abs(whole) if factor.ndim == 1 else used @ np.abs(whole)
        if (
            np.abs(whole).max(initial=0.0) <= room
            and total.max(initial=0.0) < _SUM_LIMIT
        ):
            break
        sum_bits -= 1
    lost = np.abs(factor - np.ldexp(whole, by_column - sum_bits))
    parts = (columns.error, np.abs(factor)), (moved, lost)
    error = sum(a * b if factor.ndim == 1 else a @ b for a, b in parts)
    low, high = real_ranges(columns, origin, factor)
    return WholeMap(
        columns.whole(origin),
        whole.astype(np.int64),
        sum_bits,
        bits,
        low,
        high,
        error + 2.0 ** -(bits + 1),
    )
