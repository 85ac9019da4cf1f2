"""Predictions, classes and probabilities from values, in floating-point numbers."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from pursuit.export.formula import Formula

from .preparing import Operations
from .text import Number

__all__ = ["FloatingAnswer"]


@dataclass(frozen=True)
class FloatingAnswer:
    """Writes what follows after the values; counts its work and its parts of code."""

    formula: Formula
    name: str
    number: Number
    operations: Operations
    parts: Counter[str]

    def code(self) -> str:
        """Return the functions in C."""
        answer, T, n = self.formula.answer, self.number.word, self.formula.n_outputs
        name = self.name
        if answer.kind == "numbers":
            return self._predicted_numbers()
        self.parts["classes"] += 1
        code = f"""\
/* The class of a row: its place in {name}_labels; -1 if values are missing. */
static inline int {name}_predict(const {T} *row)
{{
    {T} out[{n}];
{self._chosen(n)}
}}
"""
        if answer.has_probabilities:
            self.parts[answer.link] += 1
            code += "\n" + self._probabilities()
        return code

    def _predicted_numbers(self) -> str:
        answer, T, n = self.formula.answer, self.number.word, self.formula.n_outputs
        name, exp = self.name, f"{self.name}_exp"
        if answer.link == "exp":
            self.operations.call("exp", n)
        if n == 1:
            value = f"{exp}(out)" if answer.link == "exp" else "out"
            return f"""\
/* The prediction for a row, NAN if values are missing. */
static inline {T} {name}_predict(const {T} *row)
{{
    {T} out;
    {name}_values(row, &out);
    return {value};
}}
"""
        more = ""
        if answer.link == "exp":
            more = f"    for (t = 0; t < {n}; t++)\n        out[t] = {exp}(out[t]);\n"
        declared = "    int t;\n" if more else ""
        return f"""\
/*
 * The {n} predictions for a row, NAN if values are missing. out must not overlap row.
 */
static inline void {name}_predict(const {T} *row, {T} *out)
{{
{declared}    {name}_values(row, out);
{more}}}
"""

    def _chosen(self, n: int) -> str:
        if n == 1:
            return f"""\
    {self.name}_values(row, out);
    if (out[0] != out[0])
        return -1;
    return out[0] > {self.number.literal(0.0)};"""
        return f"""\
    int t, best = 0;
    {self.name}_values(row, out);
    for (t = 0; t < {n}; t++) {{
        if (out[t] != out[t])
            return -1;
        if (out[t] > out[best])
            best = t;
    }}
    return best;"""

    def _probabilities(self) -> str:
        T, n, name = self.number.word, self.formula.n_outputs, self.name
        link, factor = self.formula.answer.link, self.formula.answer.factor
        one, two, zero = (self.number.literal(v) for v in (1.0, 2.0 * factor, 0.0))
        exp = f"{name}_exp"
        head = f"""\
/* The probability of each class. out must not overlap row. */
static inline void {name}_probabilities(const {T} *row, {T} *out)
{{
"""
        if link == "logistic":
            self.operations.call("exp", 1)
            return (
                head
                + f"""\
    {T} f, e, small;
    {name}_values(row, &f);
    e = {exp}(f < {zero} ? {two} * f : -{two} * f);
    small = e / ({one} + e);
    out[0] = f > {zero} ? small : {one} / ({one} + e);
    out[1] = f > {zero} ? {one} / ({one} + e) : small;
}}
"""
            )
        if link == "softmax":
            self.operations.call("exp", n)
            size = f"{self.number.literal(factor)} * (out[t] - top)"
            terms = (
                f"        out[t] = {exp}({size if factor != 1.0 else 'out[t] - top'});"
            )
            start = ""
        else:
            self.operations.call("exp", 2 * n)
            # 1 / (1 + exp(-2 f)) of all classes over the largest, without overflow.
            start = f"    if (top > {zero})\n        top = {zero};\n"
            terms = f"""\
        const {T} f = out[t];
        const {T} low = f < {zero} ? f : {zero};
        const {T} size = f < {zero} ? -f : f;
        out[t] = {exp}({two} * (low - top)) / ({one} + {exp}(-{two} * size));"""
        return (
            head
            + f"""\
    {T} top, sum = {zero};
    int t;
    {name}_values(row, out);
    top = out[0];
    for (t = 1; t < {n}; t++)
        if (out[t] > top)
            top = out[t];
{start}    for (t = 0; t < {n}; t++) {{
{terms}
        sum += out[t];
    }}
    for (t = 0; t < {n}; t++)
        out[t] /= sum;
}}
"""
        )
