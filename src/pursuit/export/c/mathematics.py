"""Functions of mathematics in C: those of libm, or own ones for devices without it.

An own exponential is right up to `EXPONENTIAL_ERROR`, relative; roots, logarithms and
hyperbolic tangents are built likewise. Numbers are taken to be IEEE 754's.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import factorial

from pursuit.export.steps import HIGHEST, LOWEST

from .text import Number, joined_lines

__all__ = ["EXPONENTIAL_ERROR", "functions"]

# Relative error of the own exponential, by the type of numbers.
EXPONENTIAL_ERROR = {"float": 2e-7, "double": 5e-16}

# What an own function calls.
_NEEDS = {
    "tanh": ("exp",),
    "log1p": ("log",),
    "expm1": ("exp", "log"),
    "power": ("expm1", "log1p"),
    "box_cox": ("expm1", "log"),
    "normal_quantile": ("log", "sqrt"),
}
_ORDER = (
    "exp",
    "log",
    "sqrt",
    "tanh",
    "log1p",
    "expm1",
    "power",
    "box_cox",
    "normal_quantile",
)
_IN_LIBM = {"exp", "log", "sqrt", "tanh", "log1p", "expm1"}


def functions(
    name: str, number: Number, needed: Iterable[str], with_libm: bool
) -> tuple[str, list[str]]:
    """Return the C of the functions that a model calls, and the names of all.

    They are called ``<name>_exp`` and so on, whether libm or own code answers.
    """
    found = _closure(needed)
    chosen = [each for each in _ORDER if each in found]
    parts = [
        _by_libm(name, number, each)
        if with_libm and each in _IN_LIBM
        else _OWN[each](name, number)
        for each in chosen
    ]
    return "\n".join(parts), chosen


def _closure(needed: Iterable[str]) -> set[str]:
    found: set[str] = set()
    waiting = list(needed)
    while waiting:
        each = waiting.pop()
        if each not in found:
            found.add(each)
            waiting.extend(_NEEDS.get(each, ()))
    return found


def _by_libm(name: str, number: Number, function: str) -> str:
    T = number.word
    call = number.function(function)
    return f"static inline {T} {name}_{function}({T} x) {{ return {call}(x); }}\n"


def _bits(number: Number) -> tuple[str, int, int, str]:
    """Return the type of a number's bits, the digits, the bias, and a suffix."""
    return ("int32_t", 23, 127, "f") if number.is_float else ("int64_t", 52, 1023, "")


def _exp(name: str, number: Number) -> str:
    T, (bits, digits, bias, f) = number.word, _bits(number)
    if number.is_float:
        low, high, n_terms = "-87.33f", "89.0f", 8
        parts = ("0.693359375f", "-2.12194440e-4f")
    else:
        low, high, n_terms = "-708.39", "710.0", 14
        parts = ("6.93147180369123816490e-01", "1.90821492927058770002e-10")
    terms = ", ".join(
        number.literal(1.0 / factorial(k)) for k in reversed(range(n_terms))
    )
    return f"""\
/* exp(x) with a relative error below {EXPONENTIAL_ERROR[T]:g}; 0 for x < {low}. */
{name.upper()}_FUNCTION {T} {name}_exp({T} x)
{{
    static const {T} terms[{n_terms}] = {{
        {_wrapped(terms)}
    }};
    {bits} bits;
    {T} half, rest, r, y = terms[0];
    int n, k;
    if (x != x)
        return x;
    if (x < {low})
        return 0.0{f};
    if (x > {high})
        x = {high};
    /* x = n log 2 + r; the first part of log 2 has few digits: n times it is exact. */
    n = (int)(x * 1.4426950408889634{f} + (x < 0.0{f} ? -0.5{f} : 0.5{f}));
    r = (x - ({T})n * {parts[0]}) - ({T})n * {parts[1]};
    for (k = 1; k < {n_terms}; k++)
        y = y * r + terms[k];
    /* 2^n in two parts, since one may be too large. */
    bits = ({bits})(n / 2 + {bias}) * (({bits})1 << {digits});
    memcpy(&half, &bits, sizeof half);
    bits = ({bits})(n - n / 2 + {bias}) * (({bits})1 << {digits});
    memcpy(&rest, &bits, sizeof rest);
    return y * half * rest;
}}
"""


def _log(name: str, number: Number) -> str:
    T, (bits, digits, bias, f) = number.word, _bits(number)
    n_terms = 6 if number.is_float else 12
    terms = ", ".join(
        number.literal(1.0 / (2 * k + 1)) for k in reversed(range(n_terms))
    )
    low, high = (
        ("2.12194440e-4f", "0.693359375f")
        if number.is_float
        else ("-1.90821492927058770002e-10", "6.93147180369123816490e-01")
    )
    return f"""\
{name.upper()}_FUNCTION {T} {name}_log({T} x)
{{
    static const {T} terms[{n_terms}] = {{
        {_wrapped(terms)}
    }};
    {bits} bits;
    {T} s, square, y = terms[0];
    int n, k;
    if (x != x)
        return x;
    if (x <= 0.0{f})
        return x < 0.0{f} ? (x - x) / (x - x) : -1.0{f} / (x * x);
    if (x - x != 0.0{f})
        return x;
    memcpy(&bits, &x, sizeof bits);
    n = (int)(bits >> {digits}) - {bias};
    bits = (bits & ((({bits})1 << {digits}) - 1)) | (({bits}){bias} << {digits});
    memcpy(&x, &bits, sizeof x);
    if (x > 1.4142135623730951{f}) {{
        x *= 0.5{f};
        n++;
    }}
    s = (x - 1.0{f}) / (x + 1.0{f});
    square = s * s;
    for (k = 1; k < {n_terms}; k++)
        y = y * square + terms[k];
    return ({T})n * {high} + (2.0{f} * s * y - ({T})n * {low});
}}
"""


def _sqrt(name: str, number: Number) -> str:
    T, (bits, digits, bias, f) = number.word, _bits(number)
    n_rounds = 3 if number.is_float else 4
    tiny = "1.2e-38f" if number.is_float else "2.3e-308"
    return f"""\
{name.upper()}_FUNCTION {T} {name}_sqrt({T} x)
{{
    {bits} bits;
    {T} y;
    int k;
    if (!(x > {tiny}))
        return x < 0.0{f} ? (x - x) / (x - x) : x * 0.0{f};
    if (x - x != 0.0{f})
        return x;
    /* Half the exponent is a first guess; Newton's steps double its digits. */
    memcpy(&bits, &x, sizeof bits);
    bits = (bits >> 1) + (({bits}){bias} << {digits - 1});
    memcpy(&y, &bits, sizeof y);
    for (k = 0; k < {n_rounds}; k++)
        y = 0.5{f} * (y + x / y);
    return y;
}}
"""


def _tanh(name: str, number: Number) -> str:
    T, f = number.word, _bits(number)[3]
    return f"""\
static inline {T} {name}_tanh({T} x)
{{
    {T} e = {name}_exp(x < 0.0{f} ? 2.0{f} * x : -2.0{f} * x);
    {T} y = (1.0{f} - e) / (1.0{f} + e);
    return x < 0.0{f} ? -y : y;
}}
"""


def _log1p(name: str, number: Number) -> str:
    T, f = number.word, _bits(number)[3]
    return f"""\
static inline {T} {name}_log1p({T} x)
{{
    /* The quotient makes up for the digits that 1 + x loses. */
    volatile {T} u = 1.0{f} + x;
    {T} v = u;
    if (v == 1.0{f})
        return x;
    return {name}_log(v) * (x / (v - 1.0{f}));
}}
"""


def _expm1(name: str, number: Number) -> str:
    T, f = number.word, _bits(number)[3]
    return f"""\
static inline {T} {name}_expm1({T} x)
{{
    volatile {T} u = {name}_exp(x);
    {T} v = u;
    if (v == 1.0{f})
        return x;
    if (x > -0.5{f} && x < 0.5{f})
        return (v - 1.0{f}) * (x / {name}_log(v));
    return v - 1.0{f};
}}
"""


def _power(name: str, number: Number) -> str:
    T, f = number.word, _bits(number)[3]
    return f"""\
/* Yeo and Johnson's transform. */
static inline {T} {name}_power({T} x, {T} power)
{{
    {T} sign = 1.0{f}, y;
    if (x < 0.0{f}) {{
        sign = -1.0{f};
        x = -x;
        power = 2.0{f} - power;
    }}
    y = {name}_log1p(x);
    return sign * (power == 0.0{f} ? y : {name}_expm1(power * y) / power);
}}
"""


def _box_cox(name: str, number: Number) -> str:
    T, f = number.word, _bits(number)[3]
    return f"""\
/* Box and Cox's transform. */
static inline {T} {name}_box_cox({T} x, {T} power)
{{
    {T} y = {name}_log(x);
    return power == 0.0{f} ? y : {name}_expm1(power * y) / power;
}}
"""


# Wichura (1988), "The percentage points of the normal distribution", AS 241: quotients
# of polynomials of degree 7 near the middle, in the tails, and far in the tails.
_QUANTILE = (
    (
        (2.5090809287301226727e3, 3.3430575583588128105e4, 6.7265770927008700853e4,
         4.5921953931549871457e4, 1.3731693765509461125e4, 1.9715909503065514427e3,
         1.3314166789178437745e2, 3.3871328727963666080e0),
        (5.2264952788528545610e3, 2.8729085735721942674e4, 3.9307895800092710610e4,
         2.1213794301586595867e4, 5.3941960214247511077e3, 6.8718700749205790830e2,
         4.2313330701600911252e1, 1.0),
    ),
    (
        (7.74545014278341407640e-4, 2.27238449892691845833e-2,
         2.41780725177450611770e-1, 1.27045825245236838258e0,
         3.64784832476320460504e0, 5.76949722146069140550e0,
         4.63033784615654529590e0, 1.42343711074968357734e0),
        (1.05075007164441684324e-9, 5.47593808499534494600e-4,
         1.51986665636164571966e-2, 1.48103976427480074590e-1,
         6.89767334985100004550e-1, 1.67638483018380384940e0,
         2.05319162663775882187e0, 1.0),
    ),
)  # fmt: skip
# Shares are cut at 1e-7 from 0 and 1, where the third quotient is not needed.


def _normal_quantile(name: str, number: Number) -> str:
    T, f = number.word, _bits(number)[3]
    tables = [
        "".join(
            f"        {_wrapped(', '.join(map(number.literal, p)))}{end}\n"
            for p, end in zip((a, b), (",", ""), strict=True)
        )
        for a, b in _QUANTILE
    ]
    low, high = number.literal(LOWEST), number.literal(HIGHEST)
    return f"""\
/* The number below which a normal variable lies with this probability (AS 241). */
static inline {T} {name}_normal_quantile({T} share)
{{
    static const {T} middle[16] = {{
{tables[0]}    }};
    static const {T} tail[16] = {{
{tables[1]}    }};
    const {T} *table = middle;
    {T} q = share - 0.5{f}, r, up, down;
    int k;
    if (share != share)
        return share;
    if (share <= 1e-7{f})
        return {low};
    if (1.0{f} - share <= 1e-7{f})
        return {high};
    if (q > 0.425{f} || q < -0.425{f}) {{
        r = {name}_sqrt(-{name}_log(q < 0.0{f} ? share : 1.0{f} - share)) - 1.6{f};
        table = tail;
    }} else {{
        r = 0.180625{f} - q * q;
    }}
    up = table[0];
    down = table[8];
    for (k = 1; k < 8; k++) {{
        up = up * r + table[k];
        down = down * r + table[8 + k];
    }}
    if (table == middle)
        return q * up / down;
    return q < 0.0{f} ? -up / down : up / down;
}}
"""


def _wrapped(text: str) -> str:
    return joined_lines(text.split(", "), " " * 8).strip()


_OWN = {
    "exp": _exp,
    "log": _log,
    "sqrt": _sqrt,
    "tanh": _tanh,
    "log1p": _log1p,
    "expm1": _expm1,
    "power": _power,
    "box_cox": _box_cox,
    "normal_quantile": _normal_quantile,
}
