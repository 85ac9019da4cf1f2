"""Predictions, classes and probabilities from whole values."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pursuit.export.errors import UnsupportedError

from .arithmetic import EXP_BITS, ONE_BITS, bits_for, scaled_text

if TYPE_CHECKING:
    from .program import FixedProgram

__all__ = ["answer_code", "answer_note"]

# Probabilities are right up to this and the error of the values: a few exponentials,
# and a division.
_PROBABILITY_ERROR = 2e-8


def answer_note(program: FixedProgram) -> list[str]:
    """Return lines for the header about what predictions mean."""
    answer = program.formula.answer
    if answer.has_probabilities:
        error = probability_error(program)
        return [f"Probabilities have {ONE_BITS} bits, wrong by at most {error:.2g}."]
    if answer.kind == "numbers" and answer.link == "exp":
        every = [counts(program, t) for t in range(program.formula.n_outputs)]
        bits = ", ".join(str(bits) for _, bits, _ in every)
        most = ", ".join(f"{most:.2g}" for _, _, most in every)
        return [f"Predictions have {bits} bits, and differ by at most {most}."]
    if answer.kind == "numbers":
        return ["Predictions are the values."]
    return []


def probability_error(program: FixedProgram) -> float:
    """Return how far probabilities may be from the model's."""
    answer = program.formula.answer
    error = answer.factor * float(program.error.max())
    if answer.factor > 2.0 ** (4 + int(program.bits.min())):
        raise UnsupportedError(
            f"Probabilities are made of {answer.factor:.1g} times the values, which do "
            "not fit into fixed point: use number='float'."
        )
    if answer.link == "logistic":
        return 0.5 * error + _PROBABILITY_ERROR
    # A quotient p of positive terms s moves by p (1 - p) times the relative errors of
    # two terms, which are those of f, doubled where s = 1 / (1 + exp(-2 f)).
    slope = 0.5 if answer.link == "softmax" else 1.0
    return slope * error + len(answer.labels) * _PROBABILITY_ERROR


def counts(program: FixedProgram, t: int) -> tuple[float, int, float]:
    """Return the largest f of an output, the bits of exp(f), and how far it may be."""
    error = float(program.error[t])
    highest = float(program.highest[t]) + error
    if abs(highest) > 40.0:
        raise UnsupportedError(
            f"Predictions exp(f) may be as large as exp({highest:.0f}), which does not "
            "fit into fixed point: use number='float'."
        )
    largest = float(np.exp(highest))
    bits = bits_for(largest)
    most = largest * (float(np.expm1(error)) + _PROBABILITY_ERROR) + 2.0**-bits
    return highest, bits, most


def answer_code(program: FixedProgram) -> tuple[str, set[str]]:
    """Return the C of predictions and probabilities, and the functions they call."""
    answer = program.formula.answer
    if answer.kind == "numbers":
        if answer.link == "exp":
            return _counts_code(program), {"exp"}
        return _numbers_code(program), set()
    code = _classes_code(program)
    if answer.has_probabilities:
        return code + "\n" + _probabilities_code(program), {"exp"}
    return code, set()


def _numbers_code(program: FixedProgram) -> str:
    name, n = program.name, program.formula.n_outputs
    if n == 1:
        return f"""\
/* The prediction for a row, with {program.bits[0]} bits. */
static inline int32_t {name}_predict(const int32_t *row)
{{
    int32_t out;
    {name}_values(row, &out);
    return out;
}}
"""
    return f"""\
/* The {n} predictions for a row. out must not overlap row. */
static inline void {name}_predict(const int32_t *row, int32_t *out)
{{
    {name}_values(row, out);
}}
"""


def _counts_code(program: FixedProgram) -> str:
    name, n = program.name, program.formula.n_outputs
    program.operations.call("exp", n)
    parts = []
    for t in range(n):
        top, bits, _ = counts(program, t)
        largest = round(float(np.ldexp(np.exp(top), bits)))
        f_bits = int(program.bits[t])
        whole = int(np.ceil(np.ldexp(top, f_bits)))
        inside = scaled_text(name, f"INT64_C({whole}) - out[{t}]", f_bits - EXP_BITS)
        value = scaled_text(
            name, f"{name}_exp({inside}) * INT64_C({largest})", ONE_BITS
        )
        parts.append(
            f"    if (out[{t}] != INT32_MIN)\n        out[{t}] = (int32_t)({value});"
        )
    body = "\n".join(parts)
    if n == 1:
        return f"""\
/* The prediction for a row, with {bits} bits. */
static inline int32_t {name}_predict(const int32_t *row)
{{
    int32_t out[1];
    {name}_values(row, out);
{body}
    return out[0];
}}
"""
    return f"""\
/* The {n} predictions for a row. out must not overlap row. */
static inline void {name}_predict(const int32_t *row, int32_t *out)
{{
    {name}_values(row, out);
{body}
}}
"""


def _classes_code(program: FixedProgram) -> str:
    name, n = program.name, program.formula.n_outputs
    choice = "    return out[0] > 0;"
    if n > 1:
        choice = f"""\
    for (t = 1; t < {n}; t++)
        if (out[t] > out[best])
            best = t;
    return best;"""
    declared = "    int t, best = 0;\n" if n > 1 else ""
    return f"""\
/* The class of a row: its place in {name}_labels; -1 if values are missing. */
static inline int {name}_predict(const int32_t *row)
{{
    int32_t out[{n}];
{declared}    {name}_values(row, out);
    if (out[0] == INT32_MIN)
        return -1;
{choice}
}}
"""


def _probabilities_code(program: FixedProgram) -> str:
    name, n = program.name, program.formula.n_outputs
    link, bits = program.formula.answer.link, int(program.bits[0])
    head = f"""\
/* The probability of each class, with {ONE_BITS} bits. out must not overlap row. */
static inline void {name}_probabilities(const int32_t *row, int32_t *out)
{{
    const int64_t one = (int64_t)1 << {ONE_BITS};
"""

    def argument(value: str, doubled: bool = False) -> str:
        """Return C for the argument of the exponential, of a value that is not < 0."""
        value, more = _times(value, program.formula.answer.factor)
        return scaled_text(name, value, bits - EXP_BITS - int(doubled) + more)

    if link == "logistic":
        program.operations.call("exp", 1)
        size = argument("(f < 0 ? -(int64_t)f : f)", doubled=True)
        return (
            head
            + f"""\
    int32_t f;
    int64_t e;
    {name}_values(row, &f);
    if (f == INT32_MIN) {{
        out[0] = out[1] = f;
        return;
    }}
    e = {name}_exp({size});
    e = (e * one) / (one + e);
    out[0] = (int32_t)(f > 0 ? e : one - e);
    out[1] = (int32_t)(f > 0 ? one - e : e);
}}
"""
        )
    start = f"""\
    int64_t sum = 0;
    int32_t top;
    int t;
    {name}_values(row, out);
    if (out[0] == INT32_MIN) {{
        for (t = 1; t < {n + 1}; t++)
            out[t - 1] = INT32_MIN;
        return;
    }}
    top = out[0];
    for (t = 1; t < {n}; t++)
        if (out[t] > top)
            top = out[t];
"""
    if link == "softmax":
        program.operations.call("exp", n)
        inside = argument("((int64_t)top - out[t])")
        terms = f"        out[t] = {name}_exp({inside});"
    else:
        program.operations.call("exp", 2 * n)
        # 1 / (1 + exp(-2 f)) of all classes over the largest.
        start += "    if (top > 0)\n        top = 0;\n"
        low = argument("((int64_t)top - low)", doubled=True)
        size = argument("size", doubled=True)
        terms = f"""\
        const int64_t size = out[t] < 0 ? -(int64_t)out[t] : out[t];
        const int64_t low = out[t] < 0 ? out[t] : 0;
        out[t] = (int32_t)({name}_exp({low}) * one / (one + {name}_exp({size})));"""
    return (
        head
        + start
        + f"""\
    for (t = 0; t < {n}; t++) {{
{terms}
        sum += out[t];
    }}
    for (t = 0; t < {n}; t++)
        out[t] = (int32_t)((out[t] * one + sum / 2) / sum);
}}
"""
    )


def _times(value: str, factor: float) -> tuple[str, int]:
    """Return C for a whole number below 2^32 times a factor, and its further bits.

    The factor has 30 bits, which changes arguments that matter by less than 2e-8.
    """
    if factor == 1.0:
        return value, 0
    _, exponent = np.frexp(factor)
    more = min(30 - int(exponent), 55)
    return f"{value} * INT64_C({round(float(np.ldexp(factor, more)))})", more
