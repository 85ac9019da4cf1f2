"""The preparation of a row in C: loops over tables, in few buffers.

Steps that keep the columns work in place. Others write into a buffer of their own, and
the last of a list into where its result belongs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import singledispatchmethod

import numpy as np

from pursuit.export.steps import (
    Affine,
    Branches,
    Clip,
    Encode,
    Fill,
    Flag,
    Linear,
    OneHot,
    Power,
    Quantiles,
    Step,
    Take,
)

from .lowering import width_after
from .text import Constants, Number

__all__ = ["Operations", "Preparation"]

_ELEMENTWISE = (Affine, Clip, Fill, Encode, Flag, Power, Quantiles)


@dataclass
class Operations:
    """What a row costs, counted while its code is written."""

    multiply_adds: int = 0
    comparisons: int = 0
    functions: dict[str, int] = field(default_factory=dict)

    def call(self, function: str, times: int) -> None:
        """Count calls of a function of mathematics."""
        self.functions[function] = self.functions.get(function, 0) + times


@dataclass
class Preparation:
    """Writes steps as C.

    Attributes
    ----------
    name : str
        Prefix of all names.
    number : Number
    constants : Constants
        Gets the tables.
    operations : Operations
        Counts the work.
    lines : list of str
        The code so far.
    buffers : int
        Numbers in all buffers.
    """

    name: str
    number: Number
    constants: Constants
    operations: Operations
    lines: list[str] = field(default_factory=list)
    buffers: int = 0
    helpers: set[str] = field(default_factory=set)
    _n_buffers: int = 0

    def write(
        self, steps: Sequence[Step], source: str, width: int, target: str, depth: int
    ) -> int:
        """Write steps from one array into another; return the width of the result."""
        if not steps:
            self._loop(width, f"{target}[j] = {source}[j];", depth)
            return width
        is_own = False
        for place, step in enumerate(steps):
            after = width_after(step, width)
            keeps = isinstance(step, _ELEMENTWISE)
            if is_own and keeps:
                goal = source
            elif all(isinstance(later, _ELEMENTWISE) for later in steps[place + 1 :]):
                goal = target
            else:
                goal = self._buffer(after, depth)
            self._step(step, source, goal, width, depth)
            source, width, is_own = goal, after, True
        if source != target:
            self._loop(width, f"{target}[j] = {source}[j];", depth)
        return width

    def _buffer(self, width: int, depth: int) -> str:
        self._n_buffers += 1
        self.buffers += width
        name = f"x{self._n_buffers}"
        self._line(f"{self.number.word} {name}[{max(width, 1)}];", depth)
        return name

    def _line(self, text: str, depth: int) -> None:
        self.lines.append("    " * depth + text)

    def _loop(self, width: int, body: str, depth: int) -> None:
        if width:
            self._line(f"for (j = 0; j < {width}; j++)", depth)
            self._line(body, depth + 1)

    def _table(self, word: str, values: np.ndarray) -> str:
        return self.constants.numbers(word, values, self.number)

    # -- one step ------------------------------------------------------------------

    @singledispatchmethod
    def _step(self, step: Step, src: str, dst: str, width: int, depth: int) -> None:
        raise TypeError(f"{type(step).__name__} is no step.")

    @_step.register
    def _(self, step: Affine, src: str, dst: str, width: int, depth: int) -> None:
        scale, shift = (
            self._table("scale", step.scale),
            self._table("shift", step.shift),
        )
        self.operations.multiply_adds += width
        self._loop(width, f"{dst}[j] = {src}[j] * {scale}[j] + {shift}[j];", depth)

    @_step.register
    def _(self, step: Linear, src: str, dst: str, width: int, depth: int) -> None:
        n = step.matrix.shape[1]
        table = self._table("matrix", step.matrix)
        self.operations.multiply_adds += step.matrix.size
        self._loop(n, f"{dst}[j] = {self.number.literal(0.0)};", depth)
        self._line(f"for (i = 0; i < {width}; i++)", depth)
        self._line(f"    for (j = 0; j < {n}; j++)", depth)
        self._line(f"        {dst}[j] += {src}[i] * {table}[{n} * i + j];", depth)

    @_step.register
    def _(self, step: Clip, src: str, dst: str, width: int, depth: int) -> None:
        low, high = self._table("low", step.low), self._table("high", step.high)
        self.operations.comparisons += 2 * width
        # Both comparisons are false for NaN, which stays.
        value = (
            f"{src}[j] < {low}[j] ? {low}[j] : "
            f"({src}[j] > {high}[j] ? {high}[j] : {src}[j])"
        )
        self._loop(width, f"{dst}[j] = {value};", depth)

    @_step.register
    def _(self, step: Take, src: str, dst: str, width: int, depth: int) -> None:
        columns = [int(c) for c in step.columns]
        if columns == list(range(width)):
            body = f"{dst}[j] = {src}[j];"
        elif columns and columns == list(range(columns[0], columns[-1] + 1)):
            body = f"{dst}[j] = {src}[j + {columns[0]}];"
        else:
            table = self.constants.indices("columns", columns)
            body = f"{dst}[j] = {src}[{table}[j]];"
        self._loop(len(columns), body, depth)

    @_step.register
    def _(self, step: Fill, src: str, dst: str, width: int, depth: int) -> None:
        table = self._table("fill", step.values)
        is_missing = self._missing(f"{src}[j]", step.missing)
        body = f"{dst}[j] = {is_missing} ? {table}[j] : {src}[j];"
        self.operations.comparisons += width
        self._loop(width, body, depth)

    @_step.register
    def _(self, step: Flag, src: str, dst: str, width: int, depth: int) -> None:
        is_missing = self._missing(f"{src}[j]", step.missing)
        one, zero = self.number.literal(1.0), self.number.literal(0.0)
        self.operations.comparisons += width
        self._loop(width, f"{dst}[j] = {is_missing} ? {one} : {zero};", depth)

    @_step.register
    def _(self, step: OneHot, src: str, dst: str, width: int, depth: int) -> None:
        starts, known = self._categories(step.categories)
        places = self.constants.indices(
            "places", [int(p) for each in step.places for p in each] or [-1]
        )
        unknown = self.constants.indices("unknown", [int(u) for u in step.unknown])
        one, zero = self.number.literal(1.0), self.number.literal(0.0)
        if -2 in step.unknown:
            depth += 1
            self._line("{ int is_known = 1;", depth - 1)
        self._loop(step.n_outputs, f"{dst}[j] = {zero};", depth)
        self._search(step.categories, width, depth, src, starts, known)
        self._line(f"    int place = at < 0 ? {unknown}[j] : {places}[at];", depth)
        self._line("    if (place >= 0)", depth)
        self._line(f"        {dst}[place] = {one};", depth)
        if -2 in step.unknown:
            self._line("    is_known &= place != -2;", depth)
        self._line("}", depth)
        if -2 in step.unknown:
            self._line("if (!is_known)", depth)
            self._loop(step.n_outputs, f"{dst}[j] = NAN;", depth + 1)
            self._line("}", depth - 1)

    @_step.register
    def _(self, step: Encode, src: str, dst: str, width: int, depth: int) -> None:
        starts, known = self._categories(step.categories)
        codes = self._table("codes", np.concatenate([*step.codes, np.zeros(1)]))
        unknown = self._table("others", np.asarray(step.unknown, dtype=np.float64))
        self._search(step.categories, width, depth, src, starts, known)
        self._line(f"    {dst}[j] = at < 0 ? {unknown}[j] : {codes}[at];", depth)
        self._line("}", depth)

    @_step.register
    def _(self, step: Power, src: str, dst: str, width: int, depth: int) -> None:
        function = "box_cox" if step.method == "box-cox" else "power"
        is_zero = np.abs(step.powers) < np.spacing(1.0)
        powers = self._table("powers", np.where(is_zero, 0.0, step.powers))
        self.operations.call(function, width)
        self._loop(
            width, f"{dst}[j] = {self.name}_{function}({src}[j], {powers}[j]);", depth
        )

    @_step.register
    def _(self, step: Quantiles, src: str, dst: str, width: int, depth: int) -> None:
        share = "normal_share" if step.is_normal else "share"
        self.helpers.add(share)
        n = len(step.references)
        table = self._table("quantiles", np.ascontiguousarray(step.quantiles.T))
        references = self._table("references", step.references)
        value = f"{self.name}_{share}({src}[j], {table} + {n} * j, {references}, {n})"
        self.operations.comparisons += width * (int(np.ceil(np.log2(max(n, 2)))) + 2)
        self.operations.multiply_adds += 2 * width
        if step.is_normal:
            self.operations.call("normal_quantile", width)
            value = f"{self.name}_normal_quantile({value})"
        self._loop(width, f"{dst}[j] = {value};", depth)

    @_step.register
    def _(self, step: Branches, src: str, dst: str, width: int, depth: int) -> None:
        first = 0
        for branch in step.branches:
            self._line("{", depth)
            place = f"z{self._n_buffers}_{first}"
            self._line(
                f"{self.number.word} *{place} = {dst}"
                + (f" + {first};" if first else ";"),
                depth + 1,
            )
            first += self.write(branch, src, width, place, depth + 1)
            self._line("}", depth)

    # -- look-ups ------------------------------------------------------------------

    def _missing(self, value: str, missing: float) -> str:
        if np.isnan(missing):
            return f"{value} != {value}"
        return f"{value} == {self.number.literal(missing)}"

    def _categories(self, categories: Sequence[np.ndarray]) -> tuple[str, str]:
        sizes = [len(known) for known in categories]
        starts = [int(s) for s in np.cumsum([0, *sizes])]
        known = np.concatenate([*categories, np.zeros(0 if sum(sizes) else 1)])
        return (
            self.constants.indices("starts", starts),
            self._table("categories", known.astype(np.float64)),
        )

    def _search(
        self,
        categories: Sequence[np.ndarray],
        width: int,
        depth: int,
        src: str,
        starts: str,
        known: str,
    ) -> None:
        """Open a loop over columns in which ``at`` is the place of the category."""
        has_nan = any(np.isnan(each).any() for each in categories)
        test = f"{src}[j] == {known}[k]"
        if has_nan:
            test = f"({test} || ({src}[j] != {src}[j] && {known}[k] != {known}[k]))"
        self.operations.comparisons += sum(len(each) for each in categories)
        self._line(f"for (j = 0; j < {width}; j++) {{", depth)
        self._line("    int k, at = -1;", depth)
        self._line(f"    for (k = {starts}[j]; k < {starts}[j + 1]; k++)", depth)
        self._line(f"        if ({test})", depth)
        self._line("            at = k;", depth)


def _share(name: str, number: Number) -> str:
    return _share_function(name, number, "share", "x >= q[n - 1]", "x <= q[0]")


def _normal_share(name: str, number: Number) -> str:
    # scikit-learn counts what is as near as this to an end as the end. In single
    # precision large numbers do not change by so little.
    near = number.literal(1e-7)
    return _share_function(
        name,
        number,
        "normal_share",
        f"x >= q[n - 1] || x + {near} > q[n - 1]",
        f"x <= q[0] || x - {near} < q[0]",
    )


def _share_function(
    name: str, number: Number, word: str, is_last: str, is_first: str
) -> str:
    """Return the C of the share of the training rows below a value."""
    T, half = number.word, number.literal(0.5)
    return f"""\
/* The share of the training rows below a value; equal quantiles give their middle. */
static inline {T} {name}_{word}({T} x, const {T} *q, const {T} *share, int n)
{{
    int low = 0, high = n, above, middle;
    if (x != x)
        return x;
    if ({is_first})
        return share[0];
    if ({is_last})
        return share[n - 1];
    while (low < high) {{ /* low: the first quantile that is not below x */
        middle = (low + high) / 2;
        if (q[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }}
    above = low;
    high = n;
    while (above < high) {{ /* above: the first quantile beyond x */
        middle = (above + high) / 2;
        if (q[middle] <= x)
            above = middle + 1;
        else
            high = middle;
    }}
    if (low < above)
        return {half} * (share[low] + share[above - 1]);
    return share[low - 1] + (x - q[low - 1]) / (q[low] - q[low - 1])
        * (share[low] - share[low - 1]);
}}
"""


HELPERS: dict[str, Callable[[str, Number], str]] = {
    "share": _share,
    "normal_share": _normal_share,
}
