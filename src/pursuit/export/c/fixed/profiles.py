"""Profiles of a distance in whole numbers, and how steep they are.

A profile turns q, a squared or absolute distance, into a value with 30 bits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pursuit.export.errors import UnsupportedError
from pursuit.export.formula import Comparison

from .arithmetic import (
    EXP_ABSOLUTE,
    EXP_BITS,
    EXP_CUT,
    EXP_RELATIVE,
    ONE_BITS,
    exponentials,
    roots,
    scaled_text,
    shifted,
)

if TYPE_CHECKING:
    from .kernels import Builder

__all__ = ["PROFILES", "Profile", "refuse_widths"]

_HALF_STEP = 2.0 ** -(EXP_BITS + 1)
# Steepest slopes of profiles of the distance s: exp(-s²); Matérn's of nu = 0.5, 1.5,
# 2.5; 1 / sqrt(1 + s²).
_GAUSSIAN_SLOPE = float(np.sqrt(2.0 / np.e))
_MATERN_SLOPES = {0.5: 1.0, 1.5: float(np.exp(-1.0)), 2.5: 0.2802}
_MULTIQUADRIC_SLOPE = 2.0 / float(np.sqrt(27.0))


@dataclass(frozen=True, eq=False)
class Profile:
    """A profile for m centers.

    Attributes
    ----------
    lines : list of str
        C that returns the value of ``q`` for center ``i``.
    run : callable
        The same for q of shape (n, m).
    error : ndarray of shape (m,)
        How far values may be from exact ones.
    """

    lines: list[str]
    run: Callable[[np.ndarray], np.ndarray]
    error: np.ndarray


def exponential(
    builder: Builder,
    leaf: Comparison,
    q_bits: int,
    ratios: np.ndarray,
    error: np.ndarray,
    m: int,
) -> Profile:
    """Return exp(-g q), with one g for all centers or one for each."""
    builder.needed.add("exp")
    builder.operations.call("exp", m)
    by = q_bits - EXP_BITS
    cut = _cut(q_bits, float(ratios.min()))
    ratio = np.round(np.ldexp(ratios, ONE_BITS)).astype(np.int64)
    has_widths = len(ratios) > 1
    is_squared = leaf.quantity == "squared-distance"
    slope = _GAUSSIAN_SLOPE * np.sqrt(ratios) if is_squared else ratios
    total = slope * error + _HALF_STEP + EXP_RELATIVE + EXP_ABSOLUTE
    if has_widths:
        # q exp(-g q) is below 1 / (e g); a wrong g moves the exponent q times.
        lost = np.abs(ratios - np.ldexp(ratio, -ONE_BITS))
        total = total + lost / (np.e * ratios) + 2.0 * _HALF_STEP

    def profile(q: np.ndarray) -> np.ndarray:
        t = shifted(np.minimum(q, cut), by)
        if not has_widths:
            return exponentials(t)
        t = (t >> 30) * ratio + shifted((t & ((1 << 30) - 1)) * ratio, 30)
        return exponentials(t)

    lines = [f"if (q > INT64_C({cut}))", f"    q = INT64_C({cut});"]
    if not has_widths:
        value = scaled_text(builder.name, "q", by)
        lines.append(f"return {builder.name}_exp({value});")
        return Profile(lines, profile, np.broadcast_to(total, error.shape))
    table = builder.constants.integers("gamma", ratio, "int32_t")
    rest = scaled_text(builder.name, f"(q & 0x3fffffff) * {table}[i]", 30)
    if by:
        lines.append(f"q = {scaled_text(builder.name, 'q', by)};")
    lines.append(f"return {builder.name}_exp((q >> 30) * {table}[i] + {rest});")
    return Profile(lines, profile, np.asarray(total))


def matern(
    builder: Builder,
    leaf: Comparison,
    q_bits: int,
    ratios: np.ndarray,
    error: np.ndarray,
    m: int,
) -> Profile:
    """Return Matérn's profile of the root of q."""
    refuse_widths(ratios)
    builder.needed |= {"exp", "sqrt"}
    builder.operations.call("exp", m)
    builder.operations.call("sqrt", m)
    nu, by = float(leaf.nu), q_bits // 2 - EXP_BITS
    cut = EXP_CUT << EXP_BITS
    step = 2.0 ** -(q_bits // 2) + _HALF_STEP  # the root is cut, then rounded
    # The largest polynomial multiplies the error of the exponential.
    largest = {0.5: 1.0, 1.5: 1.0 + EXP_CUT, 2.5: 1.0 + EXP_CUT + EXP_CUT**2 / 3}[nu]
    numeric = EXP_RELATIVE + largest * EXP_ABSOLUTE + 2.0 * _HALF_STEP
    total = _MATERN_SLOPES[nu] * (error + step) + numeric
    name = builder.name

    def profile(q: np.ndarray) -> np.ndarray:
        t = np.minimum(shifted(roots(q), by), cut)
        values, one = exponentials(t), 1 << EXP_BITS
        if nu == 0.5:
            return values
        inside = one + t + (t * t // (3 * one) if nu == 2.5 else 0)
        return shifted(inside * values, EXP_BITS)

    lines = [
        f"const int64_t one = (int64_t)1 << {EXP_BITS}, cut = {EXP_CUT} * one;",
        f"int64_t t = {scaled_text(name, f'{name}_sqrt(q)', by)};",
        "if (t > cut)",
        "    t = cut;",
    ]
    inside = {1.5: "one + t", 2.5: "one + t + t * t / (3 * one)"}.get(nu)
    value = f"{name}_exp(t)"
    if inside:
        value = scaled_text(name, f"({inside}) * {value}", EXP_BITS)
    return Profile([*lines, f"return {value};"], profile, total)


def multiquadric(
    builder: Builder,
    leaf: Comparison,
    q_bits: int,
    ratios: np.ndarray,
    error: np.ndarray,
    m: int,
) -> Profile:
    """Return 1 / sqrt(1 + q)."""
    refuse_widths(ratios)
    builder.needed.add("sqrt")
    builder.operations.call("sqrt", m)
    half = q_bits // 2
    total = _MULTIQUADRIC_SLOPE * error + 2.0**-half + 2.0**-ONE_BITS

    def profile(q: np.ndarray) -> np.ndarray:
        return (1 << (ONE_BITS + half)) // roots(q + (1 << q_bits))

    lines = [
        f"q += (int64_t)1 << {q_bits};",
        f"return ((int64_t)1 << {ONE_BITS + half}) / {builder.name}_sqrt(q);",
    ]
    return Profile(lines, profile, total)


def refuse_widths(ratios: np.ndarray) -> None:
    """Raise if centers have widths of their own."""
    if len(ratios) > 1:
        raise UnsupportedError(
            "A width for each point is written in fixed point for exponential "
            "kernels only: use number='float'."
        )


def _cut(bits: int, least: float) -> int:
    """Return from where the exponential is 0, with these bits, at most 2^62."""
    return min(int(np.ceil(EXP_CUT / least)) << bits, 1 << 62)


PROFILES = {
    "exponential": exponential,
    "matern": matern,
    "inverse-multiquadric": multiquadric,
}
