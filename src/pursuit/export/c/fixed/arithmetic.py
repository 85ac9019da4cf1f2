"""Whole numbers that stand for real ones: shifts, roots and an exponential.

A number with b bits stands for itself times 2^-b. Each operation is written twice, in C
and for arrays of NumPy, and both give the same bits: what a device will answer is known
beforehand. Products and sums are of 64 bits, stored numbers of 32 or 16.
"""

from __future__ import annotations

import numpy as np

from pursuit.export.c.text import joined_lines

__all__ = [
    "EXP_BITS",
    "EXP_CUT",
    "EXP_RELATIVE",
    "ONE_BITS",
    "bits_for",
    "exponentials",
    "functions",
    "roots",
    "scaled_text",
    "shifted",
]

# Bits of the exponential's argument and of its value.
EXP_BITS = 27
ONE_BITS = 30
ONE = 1 << ONE_BITS
# exp(-22) is a quarter of the last bit: beyond, the value is 0.
EXP_CUT = 22
# The exponential is right up to this share of the value, and `EXP_ABSOLUTE`. In units
# of 2^-31: one for the product with log 2, two for the polynomial's last steps, one for
# the table, one for the product with it; 1/e for the constant 1 / log 2. The last shift
# and the cut are absolute.
EXP_RELATIVE = 5.5 * 2.0**-31
EXP_ABSOLUTE = 2.0**-31 + float(np.exp(-22.0))

_LOG2_E = round(float(np.log2(np.e)) * ONE)
_LN_2 = round(float(np.log(2.0)) * ONE)
_HALVES = [round(2.0 ** (-i / 32) * ONE) for i in range(32)]


def bits_for(top: float, limit: int = ONE_BITS) -> int:
    """Return the most bits with which numbers up to ``top`` stay below 2^limit."""
    if top <= 0.0:
        return limit
    return int(np.floor(limit - np.log2(top) - 1e-9))


def shifted(values: np.ndarray, by: int | np.ndarray) -> np.ndarray:
    """Return values with ``by`` bits fewer, rounded, halves away from zero."""
    values = np.asarray(values, dtype=np.int64)
    if np.ndim(by) == 0 and by <= 0:
        return values * (1 << -int(by))
    half = np.where(np.asarray(by) > 0, np.int64(1) << np.maximum(by - 1, 0), 0)
    return np.asarray(np.sign(values) * ((np.abs(values) + half) >> by))


def scaled_text(name: str, value: str, by: int) -> str:
    """Return C for `shifted`."""
    if by == 0:
        return value
    if by < 0:
        return f"({value}) * ((int64_t)1 << {-by})"
    return f"{name}_shift({value}, {by})"


def exponentials(t: np.ndarray) -> np.ndarray:
    """Return exp(-t) with 30 bits for t >= 0 with 27."""
    t = np.asarray(t, dtype=np.int64)
    is_small = t < EXP_CUT << EXP_BITS
    w = shifted(np.where(is_small, t, 0) * _LOG2_E, EXP_BITS + ONE_BITS - 32)
    log = shifted((w & ((1 << 27) - 1)) * _LN_2, 32)
    a = ONE - log // 4
    a = ONE - shifted(log * a, ONE_BITS) // 3
    a = ONE - shifted(log * a, ONE_BITS) // 2
    a = ONE - shifted(log * a, ONE_BITS)
    y = shifted(np.array(_HALVES)[(w >> 27) & 31] * a, ONE_BITS)
    return np.where(is_small, shifted(y, w >> 32), 0)


def roots(values: np.ndarray) -> np.ndarray:
    """Return the whole part of square roots of numbers below 2^62."""
    values = np.asarray(values, dtype=np.int64)
    guess = np.sqrt(values.astype(np.float64)).astype(np.int64)
    guess -= guess * guess > values
    guess += (guess + 1) * (guess + 1) <= values
    return np.asarray(guess)


def functions(name: str, needed: set[str]) -> str:
    """Return the C of the functions that are needed."""
    parts = [_SHIFT]
    if "exp" in needed:
        parts.append(_EXP)
    if "sqrt" in needed:
        parts.append(_SQRT)
    return "\n".join(parts).replace("NAME", name).replace("CAPITALS", name.upper())


_SHIFT = """\
/* A number with fewer bits, rounded; halves go away from zero. */
static inline int64_t NAME_shift(int64_t value, int bits)
{
    const int64_t half = ((int64_t)1 << bits) / 2;
    if (value < 0)
        return -((half - value) >> bits);
    return (value + half) >> bits;
}
"""

_EXP = f"""\
/*
 * exp(-t) with {ONE_BITS} bits, for t >= 0 with {EXP_BITS}. The error is below
 * {EXP_RELATIVE:.1e} times the value plus {EXP_ABSOLUTE:.1e}.
 */
CAPITALS_FUNCTION int32_t NAME_exp(int64_t t)
{{
    static const int32_t powers[32] = {{ /* 2^(-i / 32) */
{joined_lines([str(v) for v in _HALVES], " " * 8)}
    }};
    const int64_t one = (int64_t)1 << {ONE_BITS};
    int64_t w, log, a;
    if (t >= ((int64_t){EXP_CUT} << {EXP_BITS}))
        return 0;
    /* t / log 2 in whole parts, parts of 32, and a rest whose series is short. */
    w = NAME_shift(t * {_LOG2_E}, {EXP_BITS + ONE_BITS - 32});
    log = NAME_shift((w & 0x7ffffff) * {_LN_2}, 32);
    a = one - log / 4;
    a = one - NAME_shift(log * a, {ONE_BITS}) / 3;
    a = one - NAME_shift(log * a, {ONE_BITS}) / 2;
    a = one - NAME_shift(log * a, {ONE_BITS});
    a = NAME_shift(powers[(w >> 27) & 31] * a, {ONE_BITS});
    return (int32_t)NAME_shift(a, (int)(w >> 32));
}}
"""

_SQRT = """\
/* The whole part of a square root, bit by bit. */
CAPITALS_FUNCTION int64_t NAME_sqrt(int64_t value)
{
    int64_t root = 0, bit = (int64_t)1 << 62;
    while (bit > value)
        bit /= 4;
    while (bit) {
        if (value >= root + bit) {
            value -= root + bit;
            root = root / 2 + bit;
        } else {
            root /= 2;
        }
        bit /= 4;
    }
    return root;
}
"""
