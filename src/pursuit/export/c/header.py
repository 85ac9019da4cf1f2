"""The header around the functions of a model: comments, macros, labels, self test."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from pursuit.export.formula import Formula
from pursuit.export.steps import Input

from .body import Body
from .text import comment, index_type, joined_lines

__all__ = ["SelfTest", "checked_name", "header"]

# Words of C and C++, with which no prefix of names can be confused; the few that could
# be a model's name.
_RESERVED = {"auto", "default", "double", "float", "int", "long", "register", "short"}


@dataclass(frozen=True)
class SelfTest:
    """Rows that a device computes again.

    Attributes
    ----------
    n_rows : int
    rows, values : sequence of str
        Numbers in C, row by row.
    tolerances : sequence of str
        How much each output may differ; empty if not at all.
    """

    n_rows: int
    rows: Sequence[str]
    values: Sequence[str]
    tolerances: Sequence[str] = ()


def checked_name(name: str) -> str:
    """Return a prefix for names in C, or raise."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_]{0,40}", str(name)) or name in _RESERVED:
        raise ValueError(
            f"name={name!r} must be a name of C: letters, digits and _, at most 41, a "
            "letter first."
        )
    return name


def header(
    formula: Formula, body: Body, name: str, about: Sequence[str], test: SelfTest | None
) -> str:
    """Return the text of the header."""
    guard = f"{name.upper()}_H"
    macros = [
        ("N_INPUTS", str(len(formula.inputs))),
        ("N_OUTPUTS", str(formula.n_outputs)),
        *body.macros,
    ]
    if formula.answer.kind == "classes":
        macros.insert(2, ("N_CLASSES", str(len(formula.answer.labels))))
    is_floating = body.element in ("float", "double")
    checked = _self_test(formula, body, name, test) if test else ""
    texts = (body.tables, body.code, checked)
    includes = list(body.includes)
    if any(word in text for word in ("NAN", "INFINITY") for text in texts):
        includes.append("math.h")
    parts = [
        _title(formula, [*about, *body.notes], body.columns),
        f"#ifndef {guard}\n#define {guard}\n",
        "".join(f"#include <{each}>\n" for each in sorted(set(includes))),
        _NO_FAST_MATH if is_floating and "!=" in body.code else "",
        _FUNCTION.replace("NAME", name.upper()),
        "".join(f"#define {name.upper()}_{key} {value}\n" for key, value in macros),
        _enumerations(formula.inputs, name.upper()),
        _labels(formula.answer.labels, name),
        body.tables,
        body.code,
        checked,
        f"#endif /* {guard} */\n",
    ]
    return "\n".join(part for part in parts if part)


# Copies of long functions where they are called would take flash.
_FUNCTION = """\
#ifdef __GNUC__
#define NAME_FUNCTION static __attribute__((noinline, unused))
#else
#define NAME_FUNCTION static inline
#endif
"""

_NO_FAST_MATH = """\
#ifdef __FAST_MATH__
#error "Missing values are told by x != x: compile without -ffast-math."
#endif
"""


def _title(formula: Formula, about: Sequence[str], columns: Sequence[str]) -> str:
    lines = [*about, "", "Columns of a row:"]
    for place, each in enumerate(formula.inputs):
        kind = "" if each.categories is None else ", a code: see below"
        kind += "" if each.is_used else ", not used"
        more = f": {columns[place]}" if columns else ""
        lines.append(f"  [{place}] {each.name}{kind}{more}")
    text = "\n".join(f" * {comment(line)}".rstrip() for line in lines)
    return f"/*\n{text}\n */"


def _enumerations(inputs: Sequence[Input], prefix: str) -> str:
    """Return the codes of words as constants, one enumeration for each column."""
    used: set[str] = set()
    parts = []
    for each in inputs:
        if not each.categories:
            continue
        lines = []
        column = _identifier(each.name) or f"COLUMN_{inputs.index(each)}"
        for code, word in enumerate(each.categories):
            # A word without Latin letters or digits goes by its code.
            name = f"{prefix}_{column}_{_identifier(word) or f'WORD_{code}'}"
            if name in used:
                name = f"{name}_{code}"
            used.add(name)
            end = "," if code < len(each.categories) - 1 else ""
            lines.append(f"    {name} = {code}{end} /* {comment(word)} */")
        body = "\n".join(lines)
        words = "-1 for other words, NAN for a missing one"
        text = f"/* Codes of {comment(each.name)}; {words}. */"
        parts.append(f"{text}\nenum {{\n{body}\n}};\n")
    return "\n".join(parts)


def _identifier(word: str) -> str:
    return re.sub(r"\W+", "_", word, flags=re.ASCII).strip("_").upper()


def _labels(labels: Sequence[object], name: str) -> str:
    if not labels:
        return ""
    if all(isinstance(label, int) for label in labels):  # Booleans are whole, too
        numbers = [int(str(int(label))) for label in labels if isinstance(label, int)]
        kind = "int64_t" if index_type(numbers) == "int64_t" else "int32_t"
        words = [str(number) for number in numbers]
        if kind == "int64_t":
            words = [f"INT64_C({word})" for word in words]
    else:
        kind, words = "char *const", [_string(str(label)) for label in labels]
    body = joined_lines(words)
    return f"static const {kind} {name}_labels[{len(words)}] = {{\n{body}\n}};\n"


def _string(word: str) -> str:
    """Return a constant of C; bytes other than plain ones in octal."""
    plain = (
        chr(b) if 32 <= b < 127 and b not in b'"\\?' else f"\\{b:03o}"
        for b in word.encode("utf-8")
    )
    return '"' + "".join(plain) + '"'


def _self_test(formula: Formula, body: Body, name: str, test: SelfTest) -> str:
    T, n, d = body.element, formula.n_outputs, len(formula.inputs)
    rows, values = (joined_lines(words, " " * 8) for words in (test.rows, test.values))
    place = f"{n} * i + t" if n > 1 else "i"
    tolerances = joined_lines(test.tolerances, " " * 8)
    if not test.tolerances:
        said, table = "The values are the same on every device.", ""
        differs = f"out[t] != values[{place}]"
    else:
        said = f"A value may differ by {', '.join(test.tolerances[:4])}"
        said += ", ..." if n > 4 else "."
        table = f"    static const {T} tolerances[{n}] = {{\n{tolerances}\n    }};\n"
        # Written so that a value that is no number differs.
        differs = "!(size <= tolerances[t])"
    size = (
        ""
        if not test.tolerances
        else f"""\
            const {T} difference = out[t] - values[{place}];
            const {T} size = difference < 0 ? -difference : difference;
"""
    )
    return f"""\
/*
 * 0 if this device computes what the model did for {test.n_rows} rows, else the number
 * of the first row that differs: 1, 2, ... {said}
 */
static inline int {name}_selftest(void)
{{
    static const {T} rows[{max(test.n_rows * d, 1)}] = {{
{rows}
    }};
    static const {T} values[{test.n_rows * n}] = {{
{values}
    }};
{table}    {T} out[{n}];
    int i, t;
    for (i = 0; i < {test.n_rows}; i++) {{
        {name}_values(rows + {d} * i, out);
        for (t = 0; t < {n}; t++) {{
{size}            if ({differs})
                return i + 1;
        }}
    }}
    return 0;
}}
"""
