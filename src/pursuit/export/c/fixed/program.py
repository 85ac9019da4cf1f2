"""A model in whole numbers: from 32-bit rows to values, classes and probabilities."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from pursuit.export.c.body import STACK_BASE, Body
from pursuit.export.c.preparing import Operations
from pursuit.export.c.text import Constants
from pursuit.export.errors import UnsupportedError
from pursuit.export.formula import Formula, MonomialGroup

from .answers import answer_code, answer_note
from .arithmetic import bits_for, functions, scaled_text, shifted
from .columns import MISSING, given_columns, quantized
from .kernels import Builder, WholeKernel
from .reading import Reader

__all__ = ["FixedProgram"]

_SUM_LIMIT = 2.0**61


@dataclass
class FixedProgram:
    """What a device without floating-point numbers computes, and how exactly.

    Parameters
    ----------
    formula : Formula
        Lowered.
    name : str
        Prefix of names in C.
    X : ndarray of shape (n, d)
        Raw rows, words as codes: the ranges of the columns.
    input_bits : ndarray of int, optional
        Bits of each column of a row; by default as many as fit.
    width : {16, 32}
        Bits of stored centers and matrices.

    Attributes
    ----------
    error : ndarray of shape (T,)
        How far f may be from the formula's, for all rows within the ranges.
    """

    formula: Formula
    name: str
    X: np.ndarray
    input_bits: np.ndarray | None = None
    width: int = 32
    constants: Constants = field(init=False)
    operations: Operations = field(default_factory=Operations)
    needed: set[str] = field(default_factory=set)
    parts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.constants = Constants(self.name)
        inputs = self.formula.inputs
        self.columns = given_columns(inputs, self.X, self.input_bits)
        is_code = np.array([each.categories is not None for each in inputs])
        self.reader = Reader(
            self.name,
            self.columns,
            is_code,
            self.input_bits is not None,
            self.constants,
            self.operations,
        )
        self.prepared = self.reader.write(self.formula.steps)
        self.builder = Builder(
            self.name,
            self.prepared,
            self.constants,
            self.operations,
            self.width,
            self.needed,
            [],
            [],
        )
        self.kernels = [self._kernel(group) for group in self.formula.groups]
        self._choose_bits()

    def _kernel(self, group: object) -> WholeKernel:
        if isinstance(group, MonomialGroup):
            raise UnsupportedError(
                "Products of features are not written in fixed point: use "
                "number='float'."
            )
        assert hasattr(group, "kernel")
        assert hasattr(group, "n_functions")
        return self.builder.kernel(group.kernel, group.n_functions)

    # -- sums ----------------------------------------------------------------------

    def _choose_bits(self) -> None:
        """Choose the bits of the sum and of the values of each output."""
        coef, intercept = self.formula.coef, self.formula.intercept
        sizes = [group.n_functions for group in self.formula.groups]
        tops = np.repeat([k.top for k in self.kernels], sizes)
        bits = np.repeat([k.bits for k in self.kernels], sizes).astype(int)
        errors = np.concatenate(
            [
                np.broadcast_to(k.error, n)
                for k, n in zip(self.kernels, sizes, strict=True)
            ]
            or [np.empty(0)]
        )
        self.tops = np.abs(intercept) + np.abs(coef) @ tops
        positive = np.repeat([k.is_positive for k in self.kernels], sizes).astype(bool)
        least = np.where(positive, 0.0, -tops)
        # The largest value, which may be far below the largest size.
        self.highest = intercept + np.maximum(coef * tops, coef * least).sum(axis=1)
        self.bits = np.array([bits_for(top) for top in self.tops])
        if self.formula.answer.kind == "classes":
            self.bits[:] = self.bits.min()
        self.sum_bits = np.array(
            [self._sum_bits(t, tops, bits) for t in range(len(intercept))]
        )
        self.coef = np.round(np.ldexp(coef, self.sum_bits[:, None] - bits))
        self.intercept = np.round(np.ldexp(intercept, self.sum_bits))
        lost = np.abs(coef - np.ldexp(self.coef, bits - self.sum_bits[:, None]))
        moved = np.abs(intercept - np.ldexp(self.intercept, -self.sum_bits))
        self.error = (
            np.abs(coef) @ errors
            + lost @ (tops + errors)
            + moved
            + np.ldexp(0.5, -self.bits)
        )
        self.coef = self.coef.astype(np.int64)
        self.intercept = self.intercept.astype(np.int64)

    def _sum_bits(self, t: int, tops: np.ndarray, bits: np.ndarray) -> int:
        """Return the most bits of the sum of an output that cannot overflow."""
        alpha, b = self.formula.coef[t], self.formula.intercept[t]
        most = int(self.bits[t]) + 60
        while True:
            whole = np.abs(np.ldexp(alpha, most - bits))
            total = np.ldexp(abs(b), most) + (whole * np.ldexp(tops, bits)).sum()
            if whole.max(initial=0.0) < 2.0**31 - 1 and total < _SUM_LIMIT:
                return most
            most -= 1

    # -- the same as the device ----------------------------------------------------

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Return raw rows as 32-bit numbers."""
        return quantized(self.columns, X)

    def run(self, rows: np.ndarray) -> np.ndarray:
        """Return the values (n, T) that the device answers, bit by bit."""
        x = self.reader.run(rows, self.formula.steps)
        is_missing = (x == MISSING).any(axis=1)
        x[is_missing] = 0
        sums = np.tile(self.intercept, (len(rows), 1))
        first = 0
        for kernel, group in zip(self.kernels, self.formula.groups, strict=True):
            last = first + group.n_functions
            shape = (len(rows), group.n_functions)
            sums += np.broadcast_to(kernel.run(x), shape) @ self.coef[:, first:last].T
            first = last
        pairs = zip(sums.T, self.sum_bits - self.bits, strict=True)
        out = np.column_stack([shifted(column, int(by)) for column, by in pairs])
        out[is_missing] = MISSING
        return out.astype(np.int32)

    def real(self, out: np.ndarray) -> np.ndarray:
        """Return values as real numbers; NaN for rows without an answer."""
        values = np.ldexp(out.astype(np.float64), -self.bits)
        return np.where(out == MISSING, np.nan, values)

    # -- C -------------------------------------------------------------------------

    def body(self) -> Body:
        """Return the C."""
        values = self._values()
        answer, needs = answer_code(self)
        self.needed |= needs
        n = self.formula.n_outputs
        table = self.constants.integers("input_bits", self.columns.bits, "int8_t")
        outputs = self.constants.integers("output_bits", self.bits, "int8_t")
        code = "\n".join(
            [
                functions(self.name, self.needed),
                *self.builder.functions,
                values,
                answer,
            ]
        )
        tables = "\n".join(self.constants.texts)
        described = len(self.columns) + n  # bytes that no function reads
        error = int(np.ceil(np.ldexp(self.error, self.bits)).max(initial=0.0))
        return Body(
            element="int32_t",
            includes=("stdint.h",),
            macros=(
                ("MISSING", "INT32_MIN"),
                ("ERROR_BOUND", str(min(error, 2**31 - 1))),
                *((("OUTPUT_BITS", str(self.bits[0])),) if n == 1 else ()),
            ),
            notes=tuple(self._notes(table, outputs)),
            columns=tuple(self._described()),
            tables=tables,
            code=code,
            table_bytes=self.constants.n_bytes
            - described
            + (128 if "exp" in self.needed else 0),
            parts=self._parts(),
            stack_bytes=self._stack_bytes(),
            operations=self.operations,
        )

    def _notes(self, input_bits: str, output_bits: str) -> list[str]:
        return [
            "",
            "Fixed point: a number with b bits stands for itself divided by 2^b. Rows",
            "and values are of 32 bits, sums of 64. A row's column j has",
            f"{input_bits}[j] bits, as listed below; numbers outside the range are",
            "moved to its end. The values have",
            f"{output_bits}[t] bits: {', '.join(map(str, self.bits[:8]))}"
            + (", ..." if len(self.bits) > 8 else "")
            + ". INT32_MIN is a missing value, in",
            "rows and in the values of rows that have no answer.",
            "Every value is the same on every device. For all rows within the ranges",
            "it differs from the model by at most "
            f"{', '.join(f'{e:.2g}' for e in self.error[:8])}"
            + (", ..." if len(self.error) > 8 else "")
            + ".",
            *answer_note(self),
        ]

    def _described(self) -> list[str]:
        """Return bits and range of each column."""
        parts = zip(
            self.formula.inputs,
            self.columns.bits,
            self.columns.low,
            self.columns.high,
            strict=True,
        )
        return [
            "0 bits"
            if each.categories is not None
            else f"{bits} bits, {low:.6g} to {high:.6g}"
            for each, bits, low, high in parts
        ]

    def _values(self) -> str:
        n, name = self.formula.n_outputs, self.name
        mapped = [
            line
            for place, row_map in enumerate(self.builder.maps)
            for line in row_map.lines(
                name,
                f"y{place}",
                self.constants,
                32 if row_map.factor.ndim == 1 else self.width,
            )
        ]
        loops = self._loops()
        may_miss = "is_missing" in "".join(self.reader.lines)
        text = [*self.reader.lines, *mapped, *loops]
        indices = [c for c in "ijt" if any(f"for ({c} = " in line for line in text)]
        if n > 1:
            indices = sorted({*indices, "t"})
        declared = [
            f"    int32_t y{place}[{max(len(each.low), 1)}];"
            for place, each in enumerate(self.builder.maps)
        ]
        declared += ["    int64_t v;"] if loops else []
        declared += [f"    int {', '.join(indices)};"]
        declared += ["    int is_missing = 0;"] if may_miss else []
        kind = f"{name.upper()}_FUNCTION void"
        lines = [
            "/* The values of the fitted function. out must not overlap row. */",
            f"{kind} {name}_values(const int32_t *row, int32_t *out)",
            "{",
            *declared,
            *self._start(),
            *self.reader.lines,
            *(self._missing() if may_miss else []),
            *([] if mapped or may_miss else ["    (void)x;"]),
            *("    " + line for line in (*mapped, *loops)),
            *self._end(),
            "}\n",
        ]
        return "\n".join(lines)

    def _start(self) -> list[str]:
        n = self.formula.n_outputs
        if n == 1:
            return [f"    int64_t sum = INT64_C({self.intercept[0]});"]
        return [f"    int64_t sums[{n}];"]

    def _missing(self) -> list[str]:
        n = self.formula.n_outputs
        fill = (
            ["        out[0] = INT32_MIN;"]
            if n == 1
            else [
                f"        for (t = 0; t < {n}; t++)",
                "            out[t] = INT32_MIN;",
            ]
        )
        return ["    if (is_missing) {", *fill, "        return;", "    }"]

    def _loops(self) -> list[str]:
        n = self.formula.n_outputs
        lines = []
        if n > 1:
            table = self.constants.integers("intercept", self.intercept, "int64_t")
            lines += [f"for (t = 0; t < {n}; t++)", f"    sums[t] = {table}[t];"]
        coef = (
            self.constants.integers("coef", self.coef.T.ravel(), "int32_t")
            if self.coef.size
            else ""
        )
        first = 0
        for kernel, group in zip(self.kernels, self.formula.groups, strict=True):
            m = group.n_functions
            if not m:
                continue
            self.operations.multiply_adds += m * n
            self.parts["group"] += 1
            place = f"{first} + i" if first else "i"
            lines += [f"for (i = 0; i < {m}; i++) {{", f"    v = {kernel.text};"]
            if n == 1:
                lines.append(f"    sum += {coef}[{place}] * v;")
            else:
                index = f"({place})" if first else place
                lines += [
                    f"    for (t = 0; t < {n}; t++)",
                    f"        sums[t] += {coef}[{n} * {index} + t] * v;",
                ]
            lines.append("}")
            first += m
        return lines

    def _end(self) -> list[str]:
        n, by = self.formula.n_outputs, self.sum_bits - self.bits
        if n == 1:
            value = scaled_text(self.name, "sum", int(by[0]))
            return [f"    out[0] = (int32_t)({value});"]
        if (by == by[0]).all():
            value = scaled_text(self.name, "sums[t]", int(by[0]))
        else:
            table = self.constants.indices("sum_bits", [int(b) for b in by])
            value = f"{self.name}_shift(sums[t], {table}[t])"
        return [
            f"    for (t = 0; t < {n}; t++)",
            f"        out[t] = (int32_t)({value});",
        ]

    # -- costs ---------------------------------------------------------------------

    def _parts(self) -> Counter[str]:
        """Return how often the code has each of its parts."""
        parts = Counter(self.parts)
        parts["step"] = sum(
            line.lstrip().startswith("for (j") for line in self.reader.lines
        )
        parts["leaf"] = len(self.builder.functions)
        parts["map"] = len(self.builder.maps)
        parts.update(self.needed)
        answer = self.formula.answer
        parts[answer.kind] += 1
        if answer.link != "identity":
            parts[answer.link] += self.formula.n_outputs if answer.link == "exp" else 1
        return Counter({f"fixed {part}": n for part, n in parts.items()})

    def _stack_bytes(self) -> int:
        n = self.formula.n_outputs
        numbers = self.reader.buffers + sum(len(m.low) for m in self.builder.maps)
        return 4 * numbers + 12 * n + STACK_BASE
