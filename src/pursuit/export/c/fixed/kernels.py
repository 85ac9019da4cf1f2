"""Kernels in whole numbers: trees that write C, compute the same, and bound errors.

The error of a kernel of a distance follows from how steep it is: with rows and centers
that are wrong by a vector of length e, exp(-|y - z|²) is wrong by at most
sqrt(2 / e') e, where e' is Euler's number, and so on. It holds for every row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from pursuit.export.c.preparing import Operations
from pursuit.export.c.text import Constants
from pursuit.export.errors import UnsupportedError
from pursuit.export.formula import Combination, Comparison

from .arithmetic import (
    ONE_BITS,
    bits_for,
    scaled_text,
    shifted,
)
from .columns import Columns
from .maps import WholeMap, real_ranges, whole_map
from .profiles import PROFILES, refuse_widths

__all__ = ["Builder", "WholeKernel"]

_SUM_LIMIT = 2.0**62


@dataclass(frozen=True, eq=False)
class WholeKernel:
    """The values k(x, z_i) of a kernel, or a part of it, as whole numbers.

    Attributes
    ----------
    text : str
        Expression of C with the index ``i``, of 64 bits.
    run : callable
        The same for prepared rows (n, d) of whole numbers: (n, m), or (n, 1).
    bits : int
        Bits of the values.
    top : float
        Largest size of a value.
    error : ndarray of shape (m,) or (1,)
        How far values may be from exact ones.
    is_positive : bool
        Whether exact values are never below 0.
    """

    text: str
    run: Callable[[np.ndarray], np.ndarray]
    bits: int
    top: float
    error: np.ndarray
    is_positive: bool = False

    def with_bits(self, name: str, bits: int) -> WholeKernel:
        """Return the same with another number of bits."""
        by = self.bits - bits
        if by == 0:
            return self
        lost = np.ldexp(0.5, -bits) if by > 0 else 0.0
        return WholeKernel(
            scaled_text(name, self.text, by),
            lambda x: shifted(self.run(x), by),
            bits,
            self.top,
            self.error + lost,
            self.is_positive,
        )


@dataclass
class Builder:
    """Makes whole kernels, with their tables, functions and maps.

    Attributes
    ----------
    columns : Columns
        Columns of the prepared row.
    width : {16, 32}
        Bits of stored centers and factors.
    needed : set of str
        Functions that the code calls.
    functions : list of str
        C functions of the comparisons.
    maps : list of WholeMap
        Maps that fill y0, y1, ...
    """

    name: str
    columns: Columns
    constants: Constants
    operations: Operations
    width: int
    needed: set[str]
    functions: list[str]
    maps: list[WholeMap]

    def kernel(self, node: Comparison | Combination, m: int) -> WholeKernel:
        """Return a kernel of m functions in whole numbers."""
        if isinstance(node, Comparison):
            return self._comparison(node, m)
        parts = [self.kernel(operand, m) for operand in node.operands]
        if node.operation == "sum":
            return self._sum(*parts)
        if node.operation == "product":
            return self._product(*parts)
        if node.operation == "scaled":
            return self._product(parts[0], _constant(node.number))
        return _constant(node.number)

    # -- combinations --------------------------------------------------------------

    def _sum(self, first: WholeKernel, second: WholeKernel) -> WholeKernel:
        top = first.top + second.top
        bits = bits_for(top)
        a, b = (part.with_bits(self.name, bits) for part in (first, second))
        return WholeKernel(
            f"({a.text} + {b.text})",
            lambda x: a.run(x) + b.run(x),
            bits,
            top,
            a.error + b.error,
            a.is_positive and b.is_positive,
        )

    def _product(self, a: WholeKernel, b: WholeKernel) -> WholeKernel:
        top = a.top * b.top
        bits = min(bits_for(top), a.bits + b.bits)
        by = a.bits + b.bits - bits
        error = a.top * b.error + b.top * a.error + a.error * b.error
        return WholeKernel(
            scaled_text(self.name, f"({a.text}) * ({b.text})", by),
            lambda x: shifted(a.run(x) * b.run(x), by),
            bits,
            top,
            error + np.ldexp(0.5, -bits),
            a.is_positive and b.is_positive,
        )

    # -- comparisons ---------------------------------------------------------------

    def _comparison(self, leaf: Comparison, m: int) -> WholeKernel:
        if leaf.quantity == "cosine" or leaf.profile == "tanh":
            word = "cosine" if leaf.quantity == "cosine" else "sigmoid"
            raise UnsupportedError(
                f"The {word} kernel is not written in fixed point: Gaussian, "
                "Laplacian, Matérn, inverse multiquadric, polynomial and linear ones "
                "are. Use number='float'."
            )
        d = len(self.columns)
        factor = np.ones(d) if leaf.factor is None else leaf.factor
        origin = np.zeros(d) if leaf.origin is None else leaf.origin
        if leaf.quantity == "product":
            return self._of_product(leaf, origin, factor, m)
        return self._of_distance(leaf, origin, factor, m)

    def _of_distance(
        self, leaf: Comparison, origin: np.ndarray, factor: np.ndarray, m: int
    ) -> WholeKernel:
        is_squared = leaf.quantity == "squared-distance"
        widest = float(leaf.gamma.max())
        scale = widest * (2.0 * leaf.nu if leaf.profile == "matern" else 1.0)
        scale = float(np.sqrt(scale)) if is_squared else scale
        factor = factor * scale
        # An origin inside the ranges, in the columns' units: then it has no error.
        columns = self.columns
        nearest = np.clip(origin, columns.low, columns.high)
        rounded = np.ldexp(columns.whole(nearest).astype(np.float64), -columns.bits)
        centers = leaf.centers * scale - _mapped(rounded - origin, factor)
        low, high = real_ranges(columns, rounded, factor)
        bits = _distance_bits(centers, low, high, is_squared)
        row_map = whole_map(columns, rounded, factor, bits, self._width_of(factor))
        z_bits = min(bits, self._center_bits(centers))
        whole = np.round(np.ldexp(centers, z_bits))
        lost = np.abs(centers - np.ldexp(whole, -z_bits)) + row_map.error
        error = np.sqrt((lost**2).sum(axis=1)) if is_squared else lost.sum(axis=1)
        ratios = leaf.gamma / widest
        self.operations.multiply_adds += m * whole.shape[1]
        return self._profile_of_distance(
            leaf, row_map, whole.astype(np.int64), bits - z_bits, ratios, error, m
        )

    def _width_of(self, factor: np.ndarray) -> int:
        # A vector is short, and better exact.
        return 32 if factor.ndim == 1 else self.width

    def _center_bits(self, centers: np.ndarray) -> int:
        top = float(np.abs(centers).max(initial=0.0))
        return bits_for(top * 1.0001, self.width - 1)

    def _profile_of_distance(
        self,
        leaf: Comparison,
        row_map: WholeMap,
        centers: np.ndarray,
        lift: int,
        ratios: np.ndarray,
        error: np.ndarray,
        m: int,
    ) -> WholeKernel:
        is_squared = leaf.quantity == "squared-distance"
        q_bits = 2 * row_map.bits if is_squared else row_map.bits
        profile = PROFILES[leaf.profile](self, leaf, q_bits, ratios, error, m)
        place = self._placed(row_map)
        text = self._function(leaf, centers, profile.lines, place, lift)

        def run(x: np.ndarray) -> np.ndarray:
            y = row_map.run(x)
            q = np.zeros((len(y), m), dtype=np.int64)
            for column, z in zip(y.T, centers.T, strict=True):
                difference = column[:, None] - z * (1 << lift)
                q += difference**2 if is_squared else np.abs(difference)
            return profile.run(q)

        top = 1.0 + float(profile.error.max())
        return WholeKernel(text, run, ONE_BITS, top, profile.error, is_positive=True)

    def _of_product(
        self, leaf: Comparison, origin: np.ndarray, factor: np.ndarray, m: int
    ) -> WholeKernel:
        if leaf.gamma.shape != (1,):
            refuse_widths(leaf.gamma)
        columns = self.columns
        inside = np.abs(np.ldexp(origin, columns.bits)) <= 2.0**30
        if not inside.all():
            raise UnsupportedError(
                f"Columns {np.flatnonzero(~inside).tolist()} are moved by far more "
                "than the range of X: give rows X like those of the fit."
            )
        rounded = np.ldexp(columns.whole(origin).astype(np.float64), -columns.bits)
        gamma = 1.0 if leaf.profile == "identity" else float(leaf.gamma[0])
        centers = leaf.centers * gamma
        low, high = real_ranges(columns, rounded, factor)
        sizes = np.maximum(np.abs(low), np.abs(high)) + 2.0**-20
        z_bits = self._center_bits(centers)
        bits = bits_for(float(sizes.max(initial=0.0)))
        largest = float((np.abs(centers) @ sizes).max(initial=0.0))
        while np.ldexp(largest, bits + z_bits) >= _SUM_LIMIT / 4.0:
            bits -= 1
        row_map = whole_map(columns, rounded, factor, bits, self._width_of(factor))
        moved = np.abs(_mapped(origin - rounded, np.abs(factor)))
        y_error = row_map.error + moved
        whole = np.round(np.ldexp(centers, z_bits))
        lost = np.abs(centers - np.ldexp(whole, -z_bits))
        error = np.abs(centers) @ y_error + lost @ (sizes + y_error)
        self.operations.multiply_adds += m * whole.shape[1]
        return self._profile_of_product(
            leaf, row_map, whole.astype(np.int64), bits + z_bits, largest, error, m
        )

    def _profile_of_product(
        self,
        leaf: Comparison,
        row_map: WholeMap,
        centers: np.ndarray,
        q_bits: int,
        largest: float,
        error: np.ndarray,
        m: int,
    ) -> WholeKernel:
        is_linear = leaf.profile == "identity"
        coef0, degree = (0.0, 1) if is_linear else (leaf.coef0, leaf.degree)
        # The base of the power is scaled to less than 1 by a power of 2.
        scale = int(np.ceil(np.log2(max(largest + abs(coef0), 1e-30) * 1.0001)))
        by = q_bits - (ONE_BITS - scale)
        added = round(float(np.ldexp(coef0, ONE_BITS - scale)))
        base_error = np.ldexp(error, -scale) + 2.0 * 2.0 ** -(ONE_BITS + 1)
        relative = 1.01 * degree * (base_error + 2.0 ** -(ONE_BITS + 1))
        self.operations.multiply_adds += m * (degree - 1)
        name = self.name
        base = scaled_text(name, "q", by) + (f" + {added}" if added else "")
        lines = [f"return {base};"]
        if degree > 1:
            lines = [
                f"const int64_t base = {base};",
                "int64_t power = base;",
                f"for (j = 1; j < {degree}; j++)",
                f"    power = {scaled_text(name, 'power * base', ONE_BITS)};",
                "return power;",
            ]
        text = self._function(leaf, centers, lines, self._placed(row_map))

        def run(x: np.ndarray) -> np.ndarray:
            first = shifted(row_map.run(x) @ centers.T, by) + added
            power = first
            for _ in range(1, degree):
                power = shifted(power * first, ONE_BITS)
            return power

        top = float(np.ldexp(1.0, degree * scale))
        total = np.ldexp(relative, degree * scale)
        return WholeKernel(
            text, run, ONE_BITS - degree * scale, top + float(total.max()), total
        )

    # -- text ----------------------------------------------------------------------

    def _placed(self, row_map: WholeMap) -> str:
        """Return the name of the mapped row, shared by equal maps."""
        for place, other in enumerate(self.maps):
            if (
                other.bits == row_map.bits
                and other.sum_bits == row_map.sum_bits
                and np.array_equal(other.origin, row_map.origin)
                and np.array_equal(other.factor, row_map.factor)
            ):
                return f"y{place}"
        self.maps.append(row_map)
        self.operations.multiply_adds += row_map.factor.size
        return f"y{len(self.maps) - 1}"

    def _function(
        self,
        leaf: Comparison,
        centers: np.ndarray,
        lines: list[str],
        y: str,
        lift: int = 0,
    ) -> str:
        """Add the C function of a comparison; return how it is called."""
        name, r = f"{self.name}_kernel{len(self.functions)}", centers.shape[1]
        kind = f"int{self.width}_t"
        table = self.constants.integers("centers", centers.ravel(), kind)
        if leaf.quantity == "product":
            body = ["        q += (int64_t)y[j] * z[j];"]
        else:
            term = "difference * difference"
            if leaf.quantity == "absolute-distance":
                term = "difference < 0 ? -difference : difference"
            z = f"z[j] * ((int64_t)1 << {lift})" if lift else "z[j]"
            body = [
                f"        const int64_t difference = (int64_t)y[j] - {z};",
                f"        q += {term};",
            ]
        text = [
            f"static inline int64_t {name}(const int32_t *y, int i)",
            "{",
            f"    const {kind} *z = {table} + {r} * i;",
            "    int64_t q = 0;",
            "    int j;",
            f"    for (j = 0; j < {r}; j++) {{",
            *body,
            "    }",
            *("    " + line for line in lines),
            "}\n",
        ]
        self.functions.append("\n".join(text))
        return f"{name}({y}, i)"


def _constant(number: float) -> WholeKernel:
    bits = bits_for(abs(number))
    whole = round(float(np.ldexp(number, bits)))
    error = np.full(1, abs(number - float(np.ldexp(whole, -bits))))
    return WholeKernel(
        f"(int64_t){whole}" if whole >= 0 else f"((int64_t){whole})",
        lambda x: np.full((len(x), 1), whole, dtype=np.int64),
        bits,
        abs(number),
        error,
        number >= 0.0,
    )


def _distance_bits(
    centers: np.ndarray, low: np.ndarray, high: np.ndarray, is_squared: bool
) -> int:
    """Return the most bits of y with which nothing overflows."""
    farthest = np.maximum(high - centers.min(axis=0), centers.max(axis=0) - low)
    sizes = [np.abs(part).max(initial=0.0) for part in (low, high, centers)]
    bits = min(bits_for(float(max(sizes)) * 1.0001), 45)
    if is_squared:
        total = float((farthest**2).sum())
        # 1 is added for the inverse multiquadric.
        bits = min(bits, bits_for(float(np.sqrt(total + 1.0)) * 1.0001, 31), 30)
    if bits < 8:
        raise UnsupportedError(
            "The ranges of X are so wide, compared with the kernel, that fixed point "
            "would have few digits: give rows X without outliers, or use "
            "number='float'."
        )
    return bits


def _mapped(x: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return np.asarray(x * factor if factor.ndim == 1 else x @ factor)
