"""The functions of a model in C, in single or double precision."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from pursuit.export.formula import (
    Combination,
    Comparison,
    Formula,
    MonomialGroup,
)

from .body import STACK_BASE, Body
from .floating_answers import FloatingAnswer
from .lowering import RowMap, leaves_of, maps_of, width_after
from .mathematics import functions
from .preparing import HELPERS, Operations, Preparation
from .text import Constants, Number

__all__ = ["floating_body"]


def floating_body(formula: Formula, name: str, number: Number, with_libm: bool) -> Body:
    """Return the C of a lowered formula in floating-point numbers."""
    return _Writer(formula, name, number, with_libm).body()


@dataclass
class _Writer:
    formula: Formula
    name: str
    number: Number
    with_libm: bool
    constants: Constants = field(init=False)
    operations: Operations = field(default_factory=Operations)
    parts: Counter[str] = field(default_factory=Counter)  # pieces of code, for costs

    def __post_init__(self) -> None:
        self.constants = Constants(self.name)
        self.maps = maps_of(self.formula)
        self.keys = [row_map.key() for row_map in self.maps]
        self.width = len(self.formula.inputs)
        for step in self.formula.steps:
            self.width = width_after(step, self.width)

    def literal(self, value: float) -> str:
        return self.number.literal(value)

    def table(self, word: str, values: np.ndarray) -> str:
        return self.constants.numbers(word, values, self.number)

    # -- the whole -----------------------------------------------------------------

    def body(self) -> Body:
        preparation = self._preparation()
        kernels, loops = self._groups()
        values = self._values(preparation, loops)
        answer = FloatingAnswer(
            self.formula, self.name, self.number, self.operations, self.parts
        ).code()
        helpers = "\n".join(
            HELPERS[each](self.name, self.number)
            for each in sorted(preparation.helpers)
        )
        mathematics, called = functions(
            self.name, self.number, self.operations.functions, self.with_libm
        )
        tables = "\n".join(self.constants.texts)
        includes = ["stdint.h"]
        if self.with_libm and called:
            includes.append("math.h")
        if "memcpy" in mathematics:
            includes.append("string.h")
        code = "\n".join(filter(None, [mathematics, helpers, *kernels, values, answer]))
        size = self.number.n_bytes
        inside = size * sum(
            _INNER_TABLES.get(each, {}).get(self.number.word, 0)
            for each in called
            if not (self.with_libm and each in _OF_LIBM)
        )
        return Body(
            element=self.number.word,
            includes=tuple(includes),
            macros=(),
            notes=(),
            columns=(),
            tables=tables,
            code=code,
            table_bytes=self.constants.n_bytes + inside,
            parts=self._parts(called, preparation),
            stack_bytes=self._stack_bytes(preparation),
            operations=self.operations,
        )

    def _parts(self, called: list[str], preparation: Preparation) -> Counter[str]:
        """Return how often the code has each of its parts."""
        parts = Counter(self.parts)
        parts["step"] = _count_loops(preparation.lines)
        parts.update(preparation.helpers)
        is_own = not self.with_libm
        parts.update(
            f"own {each}" if is_own and each in _OF_LIBM else each for each in called
        )
        return parts

    def _stack_bytes(self, preparation: Preparation) -> int:
        numbers = preparation.buffers + (self.width if self.formula.steps else 0)
        numbers += sum(m.width(self.width) for m in self.maps if not m.is_identity)
        if self.formula.answer.kind == "classes":
            numbers += self.formula.n_outputs
        return self.number.n_bytes * numbers + STACK_BASE

    # -- the row -------------------------------------------------------------------

    def _preparation(self) -> Preparation:
        preparation = Preparation(
            self.name, self.number, self.constants, self.operations
        )
        if self.formula.steps:
            preparation.write(
                self.formula.steps, "row", len(self.formula.inputs), "x", 1
            )
        return preparation

    def _row(self) -> str:
        return "x" if self.formula.steps else "row"

    def _mapped(self, place: int, row_map: RowMap) -> list[str]:
        """Return the lines that fill ``y<place>``."""
        row, d = self._row(), self.width
        value = f"{row}[j]"
        if row_map.origin is not None:
            value = f"({value} - {self.table('origin', row_map.origin)}[j])"
        if row_map.factor is None:
            return [f"for (j = 0; j < {d}; j++)", f"    y{place}[j] = {value};"]
        factor = self.table("factor", row_map.factor)
        self.operations.multiply_adds += row_map.factor.size
        if row_map.factor.ndim == 1:
            self.parts["scales"] += 1
            return [
                f"for (j = 0; j < {d}; j++)",
                f"    y{place}[j] = {value} * {factor}[j];",
            ]
        self.parts["matrix"] += 1
        r = row_map.factor.shape[1]
        return [
            f"for (i = 0; i < {r}; i++)",
            f"    y{place}[i] = {self.literal(0.0)};",
            f"for (j = 0; j < {d}; j++) {{",
            f"    const {self.number.word} moved = {value};",
            f"    for (i = 0; i < {r}; i++)",
            f"        y{place}[i] += moved * {factor}[{r} * j + i];",
            "}",
        ]

    # -- functions of the row ------------------------------------------------------

    def _groups(self) -> tuple[list[str], list[str]]:
        """Return the functions of the kernels, and the loops that sum them up."""
        coef, T = self.formula.coef, self.formula.n_outputs
        kernels: list[str] = []
        loops: list[str] = []
        table = self.table("coef", coef.T) if coef.size else ""
        first = n_leaves = 0
        for group in self.formula.groups:
            m = group.n_functions
            if not m:
                continue
            if isinstance(group, MonomialGroup):
                value = self._monomial(group)
            else:
                leaves = leaves_of(group.kernel)
                names = {}
                for leaf in leaves:
                    names[id(leaf)] = f"{self.name}_kernel{n_leaves}"
                    kernels.append(self._leaf(leaf, names[id(leaf)], m))
                    n_leaves += 1
                value = [f"v = {self._expression(group.kernel, names)};"]
            self.operations.multiply_adds += m * T
            place = f"{first} + i" if first else "i"
            self.parts["group"] += 1
            loops += [
                f"for (i = 0; i < {m}; i++) {{",
                *("    " + line for line in value),
                *self._added(table, place, T),
                "}",
            ]
            first += m
        return kernels, loops

    def _added(self, table: str, place: str, T: int) -> list[str]:
        if T == 1:
            return [f"    sum += {table}[{place}] * v;"]
        index = f"({place})" if "+" in place else place
        return [
            f"    for (t = 0; t < {T}; t++)",
            f"        out[t] += {table}[{T} * {index} + t] * v;",
        ]

    def _monomial(self, group: MonomialGroup) -> list[str]:
        starts = np.cumsum([0, *map(len, group.products)])
        features = [f for product in group.products for f in product] or [0]
        first = self.constants.indices("starts", [int(s) for s in starts])
        table = self.constants.indices("features", features)
        self.operations.multiply_adds += len(features)
        return [
            f"v = {self.literal(1.0)};",
            f"for (j = {first}[i]; j < {first}[i + 1]; j++)",
            f"    v *= {self._row()}[{table}[j]];",
        ]

    def _expression(self, node: Comparison | Combination, names: dict[int, str]) -> str:
        if isinstance(node, Comparison):
            place = self.keys.index(RowMap(node.origin, node.factor).key())
            row = self._row() if self.maps[place].is_identity else f"y{place}"
            return f"{names[id(node)]}({row}, i)"
        parts = [self._expression(operand, names) for operand in node.operands]
        if node.operation == "sum":
            return f"({parts[0]} + {parts[1]})"
        if node.operation == "product":
            return f"{parts[0]} * {parts[1]}"
        if node.operation == "scaled":
            return f"{self.literal(node.number)} * {parts[0]}"
        return self.literal(node.number)

    def _leaf(self, leaf: Comparison, name: str, m: int) -> str:
        """Return the C function of one comparison with center i."""
        T, r = self.number.word, leaf.centers.shape[1]
        centers = self.table("centers", leaf.centers)
        self.operations.multiply_adds += m * r
        self.parts["leaf"] += 1
        cosine = leaf.quantity == "cosine"
        if cosine:
            self.operations.multiply_adds += m * r
            self.operations.call("sqrt", m)
        gamma = self._gamma(leaf)
        lines = [
            f"static inline {T} {name}(const {T} *y, int i)",
            "{",
            f"    const {T} *z = {centers} + {r} * i;",
            f"    {T} q = {self.literal(0.0)};",
            *([f"    {T} length = {self.literal(0.0)};"] if cosine else []),
            "    int j;",
            *self._quantity(leaf, r),
            *("    " + line for line in self._profile(leaf, gamma, m)),
            "}\n",
        ]
        return "\n".join(lines)

    def _gamma(self, leaf: Comparison) -> str:
        if len(leaf.gamma) == 1:
            return self.literal(float(leaf.gamma[0]))
        return self.table("gamma", leaf.gamma) + "[i]"

    def _quantity(self, leaf: Comparison, r: int) -> list[str]:
        T, zero = self.number.word, self.literal(0.0)
        loop = f"    for (j = 0; j < {r}; j++)"
        if leaf.quantity == "product":
            return [loop, "        q += y[j] * z[j];"]
        if leaf.quantity == "cosine":
            return [
                loop + " {",
                "        q += y[j] * z[j];",
                "        length += y[j] * y[j];",
                "    }",
                f"    if (length > {zero})",
                f"        q /= {self.name}_sqrt(length);",
            ]
        line = "difference * difference"
        if leaf.quantity == "absolute-distance":
            line = f"difference < {zero} ? -difference : difference"
        return [
            loop + " {",
            f"        const {T} difference = y[j] - z[j];",
            f"        q += {line};",
            "    }",
        ]

    def _profile(self, leaf: Comparison, gamma: str, m: int) -> list[str]:
        T, one, exp = self.number.word, self.literal(1.0), f"{self.name}_exp"
        scaled = "q" if gamma == one else f"{gamma} * q"
        self.parts[leaf.profile] += 1
        if leaf.profile == "exponential":
            self.operations.call("exp", m)
            return [f"return {exp}(-{scaled});"]
        if leaf.profile == "matern":
            self.operations.call("exp", m)
            self.operations.call("sqrt", m)
            twice = self.literal(2.0 * leaf.nu)
            value = {
                0.5: f"{exp}(-t)",
                1.5: f"({one} + t) * {exp}(-t)",
                2.5: f"({one} + t + t * t / {self.literal(3.0)}) * {exp}(-t)",
            }[float(leaf.nu)]
            return [
                f"const {T} t = {self.name}_sqrt({twice} * {scaled});",
                # Infinity times 0 would be no number.
                f"if (t > {self.literal(1e4)})",
                f"    return {self.literal(0.0)};",
                f"return {value};",
            ]
        if leaf.profile == "inverse-multiquadric":
            self.operations.call("sqrt", m)
            return [f"return {one} / {self.name}_sqrt({one} + {scaled});"]
        if leaf.profile == "tanh":
            self.operations.call("tanh", m)
            inside = f"{scaled} + {self.literal(leaf.coef0)}"
            return [f"return {self.name}_tanh({inside});"]
        if leaf.profile == "polynomial":
            self.operations.multiply_adds += m * leaf.degree
            return [
                f"const {T} base = {scaled} + {self.literal(leaf.coef0)};",
                f"{T} power = base;",
                f"for (j = 1; j < {leaf.degree}; j++)",
                "    power *= base;",
                "return power;",
            ]
        return ["return q;"]

    # -- values and answers --------------------------------------------------------

    def _values(self, preparation: Preparation, loops: list[str]) -> str:
        T, n = self.number.word, self.formula.n_outputs
        intercept = self.formula.intercept
        used = [(place, m) for place, m in enumerate(self.maps) if not m.is_identity]
        mapped = [line for place, m in used for line in self._mapped(place, m)]
        text = [*preparation.lines, *mapped, *loops]
        names = [
            c
            for c in "ijt"
            if any(f"for ({c} = " in line for line in text) or (c == "t" and n > 1)
        ]
        declared = [f"    {T} x[{max(self.width, 1)}];"] if self.formula.steps else []
        declared += [f"    {T} y{p}[{max(m.width(self.width), 1)}];" for p, m in used]
        if loops:
            declared.append(f"    {T} v;")
        if n == 1:
            declared.append(f"    {T} sum = {self.literal(intercept[0])};")
        if names:
            declared.append(f"    int {', '.join(names)};")
        kind = f"{self.name.upper()}_FUNCTION void"
        lines = [
            "/* The values of the fitted function. out must not overlap row. */",
            f"{kind} {self.name}_values(const {T} *row, {T} *out)",
            "{",
            *declared,
            *(
                []
                if self.formula.steps or (loops and "row" in "".join(text))
                else ["    (void)row;"]
            ),
            *preparation.lines,
        ]
        if n > 1:
            table = self.table("intercept", intercept)
            lines += [f"    for (t = 0; t < {n}; t++)", f"        out[t] = {table}[t];"]
        lines += ["    " + line for line in (*mapped, *loops)]
        if n == 1:
            lines.append("    out[0] = sum;")
        return "\n".join([*lines, "}\n"])


_OF_LIBM = {"exp", "log", "sqrt", "tanh", "log1p", "expm1"}
# Numbers in tables inside functions.
_INNER_TABLES = {
    "exp": {"float": 8, "double": 14},
    "log": {"float": 6, "double": 12},
    "normal_quantile": {"float": 32, "double": 32},
}


def _count_loops(lines: list[str]) -> int:
    return sum(line.lstrip().startswith("for (j") for line in lines)
