"""The reading and preparation of a row in whole numbers, in C and in NumPy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import singledispatchmethod

import numpy as np

from pursuit.export.c.preparing import Operations
from pursuit.export.c.text import Constants
from pursuit.export.errors import UnsupportedError
from pursuit.export.steps import (
    Branches,
    Clip,
    Encode,
    Fill,
    Flag,
    OneHot,
    Step,
    Take,
)

from .arithmetic import bits_for
from .columns import LIMIT, MISSING, Columns

__all__ = ["Reader"]


@dataclass
class Reader:
    """Writes the reading and preparation of a row as C, and does the same in NumPy.

    Attributes
    ----------
    columns : Columns
        Columns of a raw row.
    is_code : ndarray of bool
        Whether a column holds codes of words.
    has_given_bits : bool
        Whether the bits of the columns were given, and may leave room.
    """

    name: str
    columns: Columns
    is_code: np.ndarray
    has_given_bits: bool
    constants: Constants
    operations: Operations
    lines: list[str] = field(default_factory=list)
    buffers: int = 0
    _count: int = 0

    def write(self, steps: Sequence[Step]) -> Columns:
        """Write everything up to ``x``, the prepared row; return its columns."""
        raw = self._raised()
        self._read("r" if steps else "x")
        columns = self._all(steps, "r", "x", raw, 1) if steps else raw
        if columns.may_miss.any():
            self._line(f"for (j = 0; j < {len(columns)}; j++)", 1)
            self._line("if (x[j] == INT32_MIN)", 2)
            self._line("is_missing = 1;", 3)
        return columns

    def run(self, rows: np.ndarray, steps: Sequence[Step]) -> np.ndarray:
        """Return prepared rows of whole numbers for 32-bit rows."""
        x = rows.astype(np.int64)
        ends = (self.columns.low, self.columns.high)
        lifted = np.clip(x, *map(self.columns.whole, ends)) * (1 << self.lifts())
        x = np.where(x == MISSING, MISSING, lifted)
        return self._run_all(steps, x, self._raised())

    def _raised(self) -> Columns:
        return replace(self.columns, bits=self.columns.bits + self.lifts())

    def lifts(self) -> np.ndarray:
        """Return by how many bits the columns are raised, to use all the room there is.

        Only columns whose bits were given need it. Codes are compared, not computed
        with.
        """
        if not self.has_given_bits:
            return np.zeros(len(self.columns), dtype=int)
        sizes = np.maximum(np.abs(self.columns.low), np.abs(self.columns.high))
        most = np.array([bits_for(size, LIMIT) for size in sizes])
        return np.where(self.is_code, 0, np.maximum(most - self.columns.bits, 0))

    def _read(self, target: str) -> None:
        d, lifts = len(self.columns), self.lifts()
        low, high = (
            self.constants.integers(word, self.columns.whole(end), "int32_t")
            for word, end in (("low", self.columns.low), ("high", self.columns.high))
        )
        self.operations.comparisons += 2 * d
        self.buffers += d
        lines = [
            f"int32_t {target}[{d}];",
            f"for (j = 0; j < {d}; j++) {{",
            "    int32_t given = row[j];",
            "    if (given != INT32_MIN) {",
            f"        if (given < {low}[j])",
            f"            given = {low}[j];",
            f"        if (given > {high}[j])",
            f"            given = {high}[j];",
        ]
        if lifts.any():
            table = self.constants.indices("lifts", [int(n) for n in lifts])
            lines.append(f"        given *= (int32_t)1 << {table}[j];")
        for line in (*lines, "    }", f"    {target}[j] = given;", "}"):
            self._line(line, 1)

    def _line(self, text: str, depth: int) -> None:
        self.lines.append("    " * depth + text)

    # -- lists of steps ------------------------------------------------------------

    def _all(
        self, steps: Sequence[Step], src: str, dst: str, columns: Columns, depth: int
    ) -> Columns:
        for place, step in enumerate(steps):
            after = self._after(step, columns)
            if place < len(steps) - 1:
                self._count += 1
                goal = f"x{self._count}"
            else:
                goal = dst
            if goal != dst or depth == 1:
                self._line(f"int32_t {goal}[{max(len(after), 1)}];", depth)
                self.buffers += len(after)
            self._step(step, columns, src, goal, depth)
            src, columns = goal, after
        if not steps:
            self._loop(len(columns), f"{dst}[j] = {src}[j];", depth)
        return columns

    def _run_all(
        self, steps: Sequence[Step], x: np.ndarray, columns: Columns
    ) -> np.ndarray:
        for step in steps:
            x, columns = self._done(step, columns, x), self._after(step, columns)
        return x

    def _loop(self, width: int, body: str, depth: int) -> None:
        if width:
            self._line(f"for (j = 0; j < {width}; j++)", depth)
            self._line(body, depth + 1)

    # -- what columns become -------------------------------------------------------

    @singledispatchmethod
    def _after(self, step: Step, columns: Columns) -> Columns:
        raise UnsupportedError(
            f"The step {type(step).__name__} is not written in fixed point: scalers, "
            "imputers of NaN, one-hot and ordinal encoders and choices of columns are. "
            "Use number='float', or prepare the rows otherwise."
        )

    @_after.register
    def _(self, step: Take, columns: Columns) -> Columns:
        return columns[np.asarray(step.columns, dtype=int)]

    @_after.register
    def _(self, step: Clip, columns: Columns) -> Columns:
        ends = [
            np.clip(end, step.low, step.high) for end in (columns.low, columns.high)
        ]
        error = columns.error + np.ldexp(0.5, -columns.bits)
        return replace(columns, low=ends[0], high=ends[1], error=error)

    @_after.register
    def _(self, step: Fill, columns: Columns) -> Columns:
        _refuse_number(step.missing)
        low, high = (
            f(e, step.values)
            for f, e in ((np.minimum, columns.low), (np.maximum, columns.high))
        )
        sizes = np.ldexp(np.maximum(np.abs(low), np.abs(high)), columns.bits)
        if (sizes > 2.0**30).any():
            raise UnsupportedError(
                f"Values {step.values[sizes > 2.0**30]} that fill missing ones are far "
                "outside the range of X: give rows X that cover them."
            )
        error = np.maximum(columns.error, np.ldexp(0.5, -columns.bits))
        filled = np.zeros(len(columns), dtype=bool)
        return replace(columns, low=low, high=high, error=error, may_miss=filled)

    @_after.register
    def _(self, step: Flag, columns: Columns) -> Columns:
        _refuse_number(step.missing)
        return _flags(len(columns))

    @_after.register
    def _(self, step: OneHot, columns: Columns) -> Columns:
        return _flags(step.n_outputs, -2 in step.unknown)

    @_after.register
    def _(self, step: Encode, columns: Columns) -> Columns:
        codes = [
            np.array([*codes, other])[~np.isnan([*codes, other])]
            for codes, other in zip(step.codes, step.unknown, strict=True)
        ]
        low, high = (
            np.array([f(c, initial=0.0) for c in codes]) for f in (np.min, np.max)
        )
        sizes = np.maximum(np.abs(low), np.abs(high))
        bits = np.array([bits_for(size, LIMIT) for size in sizes])
        every = zip(step.codes, step.unknown, strict=True)
        may_miss = np.array([bool(np.isnan([*c, other]).any()) for c, other in every])
        return Columns(bits, low, high, np.ldexp(0.5, -bits), may_miss)

    @_after.register
    def _(self, step: Branches, columns: Columns) -> Columns:
        parts = []
        for branch in step.branches:
            part = columns
            for each in branch:
                part = self._after(each, part)
            parts.append(part)
        return Columns.joined(parts)

    # -- what the device does ------------------------------------------------------

    @singledispatchmethod
    def _step(
        self, step: Step, columns: Columns, src: str, dst: str, depth: int
    ) -> None:
        raise TypeError(f"{type(step).__name__} is no step.")

    @_step.register
    def _(self, step: Take, columns: Columns, src: str, dst: str, depth: int) -> None:
        table = self.constants.indices("columns", [int(c) for c in step.columns])
        self._loop(len(step.columns), f"{dst}[j] = {src}[{table}[j]];", depth)

    @_step.register
    def _(self, step: Clip, columns: Columns, src: str, dst: str, depth: int) -> None:
        low, high = (
            self.constants.integers(word, values, "int32_t")
            for word, values in zip(
                ("low", "high"), _clip_ends(step, columns), strict=True
            )
        )
        v = f"{src}[j]"
        value = f"{v} < {low}[j] ? {low}[j] : ({v} > {high}[j] ? {high}[j] : {v})"
        self._loop(
            len(columns), f"{dst}[j] = {v} == INT32_MIN ? {v} : ({value});", depth
        )

    @_step.register
    def _(self, step: Fill, columns: Columns, src: str, dst: str, depth: int) -> None:
        table = self.constants.integers("fill", columns.whole(step.values), "int32_t")
        value = f"{src}[j] == INT32_MIN ? {table}[j] : {src}[j]"
        self._loop(len(columns), f"{dst}[j] = {value};", depth)

    @_step.register
    def _(self, step: Flag, columns: Columns, src: str, dst: str, depth: int) -> None:
        value = f"{src}[j] == INT32_MIN ? {1 << LIMIT} : 0"
        self._loop(len(columns), f"{dst}[j] = {value};", depth)

    @_step.register
    def _(self, step: OneHot, columns: Columns, src: str, dst: str, depth: int) -> None:
        places = [int(p) for each in step.places for p in each] or [-1]
        table = self.constants.indices("places", places)
        unknown = self.constants.indices("unknown", [int(u) for u in step.unknown])
        self._loop(step.n_outputs, f"{dst}[j] = 0;", depth)
        self._search(step, columns, src, depth)
        self._line(f"    int place = at < 0 ? {unknown}[j] : {table}[at];", depth)
        self._line("    if (place >= 0)", depth)
        self._line(f"        {dst}[place] = {1 << LIMIT};", depth)
        if -2 in step.unknown:
            self._line("    if (place == -2)", depth)
            self._line("        is_missing = 1;", depth)
        self._line("}", depth)

    @_step.register
    def _(self, step: Encode, columns: Columns, src: str, dst: str, depth: int) -> None:
        codes, others = _encoded(step, self._after(step, columns))
        table = self.constants.integers("codes", [*np.concatenate(codes), 0], "int32_t")
        unknown = self.constants.integers("others", others, "int32_t")
        self._search(step, columns, src, depth)
        self._line(f"    {dst}[j] = at < 0 ? {unknown}[j] : {table}[at];", depth)
        self._line("}", depth)

    @_step.register
    def _(
        self, step: Branches, columns: Columns, src: str, dst: str, depth: int
    ) -> None:
        first = 0
        for branch in step.branches:
            self._line("{", depth)
            self._count += 1
            place = f"z{self._count}"
            self._line(
                f"int32_t *{place} = {dst}" + (f" + {first};" if first else ";"),
                depth + 1,
            )
            first += len(self._all(branch, src, place, columns, depth + 1))
            self._line("}", depth)

    def _search(
        self, step: OneHot | Encode, columns: Columns, src: str, depth: int
    ) -> None:
        """Open a loop over columns in which ``at`` is the place of the category."""
        known = [
            _known(k, b) for k, b in zip(step.categories, columns.bits, strict=True)
        ]
        starts = [int(s) for s in np.cumsum([0, *map(len, known)])]
        first = self.constants.indices("starts", starts)
        flat = [int(v) for each in known for v in each] or [0]
        table = self.constants.integers("categories", flat, "int32_t")
        self.operations.comparisons += len(flat)
        self._line(f"for (j = 0; j < {len(columns)}; j++) {{", depth)
        self._line("    int k, at = -1;", depth)
        self._line(f"    for (k = {first}[j]; k < {first}[j + 1]; k++)", depth)
        self._line(f"        if ({src}[j] == {table}[k])", depth)
        self._line("            at = k;", depth)

    # -- the same in NumPy ---------------------------------------------------------

    @singledispatchmethod
    def _done(self, step: Step, columns: Columns, x: np.ndarray) -> np.ndarray:
        raise TypeError(f"{type(step).__name__} is no step.")

    @_done.register
    def _(self, step: Take, columns: Columns, x: np.ndarray) -> np.ndarray:
        return x[:, step.columns]

    @_done.register
    def _(self, step: Clip, columns: Columns, x: np.ndarray) -> np.ndarray:
        low, high = _clip_ends(step, columns)
        return np.where(x == MISSING, x, np.clip(x, low, high))

    @_done.register
    def _(self, step: Fill, columns: Columns, x: np.ndarray) -> np.ndarray:
        return np.where(x == MISSING, columns.whole(step.values), x)

    @_done.register
    def _(self, step: Flag, columns: Columns, x: np.ndarray) -> np.ndarray:
        return np.where(x == MISSING, 1 << LIMIT, 0)

    @_done.register
    def _(self, step: OneHot, columns: Columns, x: np.ndarray) -> np.ndarray:
        out = np.zeros((len(x), step.n_outputs), dtype=np.int64)
        parts = zip(
            x.T, columns.bits, step.categories, step.places, step.unknown, strict=True
        )
        for column, bits, known, places, unknown in parts:
            place = _looked_up(column, _known(known, bits), places, unknown)
            rows = np.flatnonzero(place >= 0)
            out[rows, place[rows]] = 1 << LIMIT
            out[place == -2] = MISSING
        return out

    @_done.register
    def _(self, step: Encode, columns: Columns, x: np.ndarray) -> np.ndarray:
        codes, others = _encoded(step, self._after(step, columns))
        parts = zip(x.T, columns.bits, step.categories, codes, others, strict=True)
        return np.column_stack(
            [
                _looked_up(c, _known(known, bits), results, other)
                for c, bits, known, results, other in parts
            ]
        )

    @_done.register
    def _(self, step: Branches, columns: Columns, x: np.ndarray) -> np.ndarray:
        return np.hstack([self._run_all(each, x, columns) for each in step.branches])


def _flags(n: int, may_miss: bool = False) -> Columns:
    bits, zeros = np.full(n, LIMIT), np.zeros(n)
    return Columns(bits, zeros, np.ones(n), zeros, np.full(n, may_miss))


def _refuse_number(missing: float) -> None:
    if not np.isnan(missing):
        raise UnsupportedError(
            f"missing_values={missing:g} is not written in fixed point: mark missing "
            "values by NaN, which becomes INT32_MIN, or use number='float'."
        )


def _clip_ends(step: Clip, columns: Columns) -> tuple[np.ndarray, np.ndarray]:
    limit = np.ldexp(2.0**30, -columns.bits)
    ends = (np.clip(end, -limit, limit) for end in (step.low, step.high))
    low, high = (columns.whole(end) for end in ends)
    return low, high


def _known(categories: np.ndarray, bits: int) -> np.ndarray:
    """Return categories as whole numbers."""
    values = np.ldexp(np.nan_to_num(categories), bits)
    if (values != np.round(values)).any() or (np.abs(values) >= 2.0**31).any():
        raise UnsupportedError(
            f"Categories {categories} are not multiples of 2^-{bits}, the column's "
            "unit in fixed point: use number='float'."
        )
    return np.where(np.isnan(categories), MISSING, values).astype(np.int64)


def _encoded(step: Encode, after: Columns) -> tuple[list[np.ndarray], np.ndarray]:
    codes = [
        np.where(np.isnan(each), MISSING, np.round(np.ldexp(np.nan_to_num(each), bits)))
        for each, bits in zip(step.codes, after.bits, strict=True)
    ]
    unknown = np.asarray(step.unknown, dtype=np.float64)
    others = np.where(np.isnan(unknown), MISSING, after.whole(np.nan_to_num(unknown)))
    return [each.astype(np.int64) for each in codes], others.astype(np.int64)


def _looked_up(
    x: np.ndarray, known: np.ndarray, results: np.ndarray, other: int
) -> np.ndarray:
    out = np.full(len(x), other, dtype=np.int64)
    for category, result in zip(known, results, strict=True):
        out[x == category] = result
    return out
