"""Write steps of a preparation as nodes, in the graph's precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn import impute, preprocessing

from pursuit.export.columns import Vocabularies
from pursuit.export.encoders import ENCODERS
from pursuit.export.steps import (
    _CENTER,
    _MIDDLE,
    HIGHEST,
    LOWEST,
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
from pursuit.export.transformers import NUMERIC

from .nodes import Nodes

__all__ = ["CONVERTED_HERE", "steps_of", "width_after", "write_steps"]

# For graphs that skl2onnx assembles. It writes imputers and powers in single precision
# only, and no flags of missing values, no normal quantiles and no functions.
CONVERTED_HERE = (
    impute.SimpleImputer,
    impute.MissingIndicator,
    preprocessing.FunctionTransformer,
    preprocessing.PowerTransformer,
    preprocessing.QuantileTransformer,
)


def steps_of(transformer: Any) -> list[Step]:
    """Return the steps of a fitted transformer of numbers."""
    if type(transformer) in NUMERIC:
        return NUMERIC[type(transformer)](transformer)
    names = [f"x{i}" for i in range(transformer.n_features_in_)]
    words = Vocabularies(names)
    return ENCODERS[type(transformer)](transformer, words.columns(), words).steps


def width_after(steps: Sequence[Step], width: int) -> int:
    """Return the number of columns after the steps."""
    for step in steps:
        if isinstance(step, Take):
            width = len(step.columns)
        elif isinstance(step, Branches):
            width = sum(width_after(branch, width) for branch in step.branches)
    return width


def write_steps(nodes: Nodes, steps: Sequence[Step], rows: str) -> str:
    """Write steps on rows (n, d); return the name of the prepared rows."""
    for step in steps:
        rows = _write_step(nodes, step, rows)
    return rows


def _write_step(nodes: Nodes, step: Step, rows: str) -> str:
    if isinstance(step, Branches):
        parts = [write_steps(nodes, branch, rows) for branch in step.branches]
        return nodes.add("Concat", *parts, axis=1)
    return _WRITERS[type(step)](nodes, step, rows)


def _take(nodes: Nodes, step: Take, rows: str) -> str:
    return nodes.add("Gather", rows, nodes.constant(step.columns), axis=1)


def _linear(nodes: Nodes, step: Linear, rows: str) -> str:
    return nodes.add("MatMul", rows, nodes.constant(step.matrix))


def _clip(nodes: Nodes, step: Clip, rows: str) -> str:
    low, high = nodes.constant(step.low[None]), nodes.constant(step.high[None])
    rows = nodes.add("Where", nodes.add("Less", rows, low), low, rows)
    return nodes.add("Where", nodes.add("Greater", rows, high), high, rows)


def _fill(nodes: Nodes, step: Fill, rows: str) -> str:
    values = nodes.constant(step.values[None])
    return nodes.add("Where", _is_missing(nodes, step.missing, rows), values, rows)


def _flag(nodes: Nodes, step: Flag, rows: str) -> str:
    one, zero = _number(nodes, 1.0), _number(nodes, 0.0)
    return nodes.add("Where", _is_missing(nodes, step.missing, rows), one, zero)


def _one_hot(nodes: Nodes, step: OneHot, rows: str) -> str:
    """Write which category a row has, (n, all categories), times their places."""
    masks, places, refused = [], [], []
    for i, (known, place) in enumerate(zip(step.categories, step.places, strict=True)):
        mask = _is_category(nodes, known, rows, i)
        masks.append(mask)
        places.append(_selection(place, step.n_outputs))
        if step.unknown[i] != -1:
            is_other = _is_none(nodes, mask, len(known))
            if step.unknown[i] == -2:
                refused.append(is_other)
            else:
                masks.append(is_other)
                places.append(_selection(np.array([step.unknown[i]]), step.n_outputs))
    matrix = np.concatenate(places)
    values = nodes.add("Concat", *masks, axis=1)
    if not np.array_equal(matrix, np.eye(len(matrix))):
        values = nodes.add("MatMul", values, nodes.constant(matrix))
    for is_other in refused:
        refuses = nodes.add("Greater", is_other, _number(nodes, 0.5))
        values = nodes.add("Where", refuses, _number(nodes, np.nan), values)
    return values


def _encode(nodes: Nodes, step: Encode, rows: str) -> str:
    columns = []
    parts = zip(step.categories, step.codes, step.unknown, strict=True)
    for i, (known, codes, unknown) in enumerate(parts):
        mask = _is_category(nodes, known, rows, i)
        value = _chosen(nodes, mask, np.nan_to_num(codes))
        if np.isnan(codes).any():
            holes = _chosen(nodes, mask, np.isnan(codes).astype(float))
            is_hole = nodes.add("Greater", holes, _number(nodes, 0.5))
            value = nodes.add("Where", is_hole, _number(nodes, np.nan), value)
        is_other = _is_none(nodes, mask, len(known))
        is_other = nodes.add("Greater", is_other, _number(nodes, 0.5))
        columns.append(nodes.add("Where", is_other, _number(nodes, unknown), value))
    return nodes.add("Concat", *columns, axis=1)


def _is_category(nodes: Nodes, known: np.ndarray, rows: str, column: int) -> str:
    """Write 1 for the category of a column that a row has, else 0: (n, categories)."""
    x = nodes.add("Gather", rows, nodes.constant(np.array([column])), axis=1)
    is_equal = nodes.add("Equal", x, nodes.constant(known[None]))
    hole = np.isnan(known)
    if hole.any():
        is_missing = nodes.add("IsNaN", x)
        both = nodes.add("And", is_missing, nodes.constant(hole[None]))
        is_equal = nodes.add("Or", is_equal, both)
    one, zero = _number(nodes, 1.0), _number(nodes, 0.0)
    return nodes.add("Where", is_equal, one, zero)


def _is_none(nodes: Nodes, mask: str, n_categories: int) -> str:
    """Write 1 for rows that have none of the categories, else 0: (n, 1)."""
    some = _chosen(nodes, mask, np.ones(n_categories))
    return nodes.add("Sub", _number(nodes, 1.0), some)


def _chosen(nodes: Nodes, mask: str, numbers: np.ndarray) -> str:
    return nodes.add("MatMul", mask, nodes.constant(numbers[:, None]))


def _selection(places: np.ndarray, n_outputs: int) -> np.ndarray:
    """Return the matrix that brings categories to their places; -1 is none."""
    return (places[:, None] == np.arange(n_outputs)).astype(np.float64)


def _affine(nodes: Nodes, step: Affine, rows: str) -> str:
    if (step.scale != 1).any():
        rows = nodes.add("Mul", rows, nodes.constant(step.scale[None]))
    if (step.shift != 0).any():
        rows = nodes.add("Add", rows, nodes.constant(step.shift[None]))
    return rows


def _is_missing(nodes: Nodes, missing: float, rows: str) -> str:
    if np.isnan(missing):
        return nodes.add("IsNaN", rows)
    return nodes.add("Equal", rows, _number(nodes, missing))


def _power(nodes: Nodes, step: Power, rows: str) -> str:
    if step.method == "box-cox":
        return _power_of(nodes, nodes.add("Log", rows), step.powers)
    zero = _number(nodes, 0.0)
    above = _log1p(nodes, nodes.add("Max", rows, zero))
    below = _log1p(nodes, nodes.add("Max", nodes.add("Neg", rows), zero))
    up = _power_of(nodes, above, step.powers)
    down = nodes.add("Neg", _power_of(nodes, below, 2.0 - step.powers))
    value = nodes.add("Where", nodes.add("Less", rows, zero), down, up)
    return nodes.add("Where", nodes.add("IsNaN", rows), rows, value)


def _power_of(nodes: Nodes, logs: str, powers: np.ndarray) -> str:
    """Write (exp(λ log) - 1) / λ, the logarithm itself for λ = 0."""
    is_zero = np.abs(powers) < np.spacing(1.0)
    if is_zero.all():
        return logs
    safe = nodes.constant(np.where(is_zero, 1.0, powers)[None])
    values = nodes.add("Div", _expm1(nodes, nodes.add("Mul", logs, safe)), safe)
    if not is_zero.any():
        return values
    return nodes.add("Where", nodes.constant(is_zero[None]), logs, values)


def _log1p(nodes: Nodes, x: str) -> str:
    """Write log(1 + x): with u = 1 + x rounded, log(u) x / (u - 1) keeps all digits."""
    one = _number(nodes, 1.0)
    u = nodes.add("Add", x, one)
    grown = nodes.add("Sub", u, one)
    is_tiny = nodes.add("Equal", grown, _number(nodes, 0.0))
    quotient = nodes.add("Div", x, nodes.add("Where", is_tiny, one, grown))
    value = nodes.add("Mul", nodes.add("Log", u), quotient)
    return nodes.add("Where", is_tiny, x, value)


def _expm1(nodes: Nodes, x: str) -> str:
    """Write exp(x) - 1: with u = exp(x) rounded, (u - 1) x / log(u) keeps all digits.

    Far from 0, where u - 1 has them all, log(u) might be infinite: there it is u - 1.
    """
    one = _number(nodes, 1.0)
    u = nodes.add("Exp", x)
    grown = nodes.add("Sub", u, one)
    is_near = nodes.add("Less", nodes.add("Abs", x), one)
    is_tiny = nodes.add("Equal", grown, _number(nodes, 0.0))
    log = nodes.add("Log", nodes.add("Where", is_near, u, _number(nodes, 2.0)))
    safe = nodes.add("Where", is_tiny, one, log)
    value = nodes.add("Mul", grown, nodes.add("Div", x, safe))
    value = nodes.add("Where", is_tiny, x, value)
    return nodes.add("Where", is_near, value, grown)


def _quantiles(nodes: Nodes, step: Quantiles, rows: str) -> str:
    """Write shares: a search for the last quantile not above, and a line from there.

    The share jumps where quantiles are equal, so that rounded quantiles would change
    the side on which a row lies. They are compared rounded up, which decides the same
    for every row of the graph's precision, and subtracted in two parts.
    """
    q, references = step.quantiles, step.references
    count = _count_not_above(nodes, _rounded_up(q, nodes.precision), rows)
    zero = nodes.constant(np.array([[0]]))
    place = nodes.add("Max", _less_one(nodes, count), zero)
    high = q.astype(nodes.precision).astype(np.float64)
    ahead = nodes.add("Sub", rows, _looked_up(nodes, high, place))
    if (high != q).any():
        ahead = nodes.add("Sub", ahead, _looked_up(nodes, q - high, place))
    slope = _looked_up(nodes, _slopes(q, references), place)
    base = _looked_up(nodes, np.tile(references[:, None], q.shape[1]), place)
    share = nodes.add("Add", base, nodes.add("Mul", slope, ahead))
    is_equal = nodes.add("Equal", ahead, _number(nodes, 0.0))
    ties = _looked_up(nodes, _ties(q, references), place)
    share = nodes.add("Where", is_equal, ties, share)
    is_below = nodes.add("Equal", count, zero)
    share = nodes.add("Where", is_below, _number(nodes, 0.0), share)
    if step.is_normal:
        share = _normal_quantile(nodes, _near_ends(nodes, q, rows, share))
    return nodes.add("Where", nodes.add("IsNaN", rows), rows, share)


def _near_ends(nodes: Nodes, q: np.ndarray, rows: str, share: str) -> str:
    """Write 0 and 1 for rows up to 1e-7 inside the first and last quantile."""
    first = _rounded_up(q[:1] + 1e-7, nodes.precision)
    last = -_rounded_up(1e-7 - q[-1:], nodes.precision)
    is_last = nodes.add("Greater", rows, nodes.constant(last))
    share = nodes.add("Where", is_last, _number(nodes, 1.0), share)
    is_first = nodes.add("Less", rows, nodes.constant(first))
    return nodes.add("Where", is_first, _number(nodes, 0.0), share)


def _rounded_up(numbers: np.ndarray, precision: str) -> np.ndarray:
    near = numbers.astype(precision)
    above = np.nextafter(near, np.inf, dtype=near.dtype)
    return np.where(near < numbers, above, near).astype(np.float64)


def _count_not_above(nodes: Nodes, q: np.ndarray, x: str) -> str:
    """Write how many numbers of each column of q are <= x, (n, d), by halving."""
    width = 1 << len(q).bit_length()
    padded = np.full((width, q.shape[1]), np.inf)
    padded[: len(q)] = q
    count = nodes.add("Cast", nodes.add("IsNaN", x), to=7)  # int64, of the right shape
    count = nodes.add("Mul", count, nodes.constant(np.array([[0]])))
    while width > 1:
        width //= 2
        onward = nodes.add("Add", count, nodes.constant(np.array([[width]])))
        value = _looked_up(nodes, padded, _less_one(nodes, onward))
        is_below = nodes.add("LessOrEqual", value, x)
        count = nodes.add("Where", is_below, onward, count)
    return nodes.add("Min", count, nodes.constant(np.array([[len(q)]])))


def _less_one(nodes: Nodes, count: str) -> str:
    return nodes.add("Sub", count, nodes.constant(np.array([[1]])))


def _looked_up(nodes: Nodes, table: np.ndarray, place: str) -> str:
    """Write table[place, column] for each column."""
    columns = np.arange(table.shape[1])[None] * len(table)
    flat = nodes.add("Add", place, nodes.constant(columns))
    return nodes.add("Gather", nodes.constant(table.T.reshape(-1)), flat, axis=0)


def _slopes(q: np.ndarray, references: np.ndarray) -> np.ndarray:
    gaps = np.diff(q, axis=0, append=np.inf)
    rises = np.diff(references, append=references[-1])[:, None]
    return np.divide(rises, gaps, out=np.zeros(q.shape), where=gaps > 0)


def _ties(q: np.ndarray, references: np.ndarray) -> np.ndarray:
    """Return the share of a value equal to q[j], for the last j of equal ones."""
    ties = np.empty(q.shape)
    for column, out in zip(q.T, ties.T, strict=True):
        first = np.searchsorted(column, column, side="left")
        out[:] = 0.5 * (references[first] + references)
        out[column == column[-1]] = 1.0
        out[column == column[0]] = 0.0
    return ties


def _normal_quantile(nodes: Nodes, share: str) -> str:
    """Write the normal quantile of shares, cut at `LOWEST` and `HIGHEST`.

    As `Quantiles` computes it; what its third polynomial is for is cut.
    """
    half = _number(nodes, 0.5)
    middle = nodes.add("Sub", share, half)
    square = nodes.add("Mul", middle, middle)
    r = nodes.add("Sub", _number(nodes, 0.180625), square)
    inside = nodes.add("Mul", middle, _rational(nodes, _CENTER, r))
    rest = nodes.add("Sub", _number(nodes, 1.0), share)
    least = nodes.add("Max", nodes.add("Min", share, rest), _number(nodes, 1e-8))
    log = nodes.add("Neg", nodes.add("Log", least))
    r = nodes.add("Sub", nodes.add("Sqrt", log), _number(nodes, 1.6))
    sign = nodes.add("Sign", middle)
    outside = nodes.add("Mul", sign, _rational(nodes, _MIDDLE, r))
    is_inside = nodes.add(
        "LessOrEqual", nodes.add("Abs", middle), _number(nodes, 0.425)
    )
    value = nodes.add("Where", is_inside, inside, outside)
    value = nodes.add("Max", value, _number(nodes, LOWEST))
    return nodes.add("Min", value, _number(nodes, HIGHEST))


def _rational(nodes: Nodes, parts: tuple[tuple[float, ...], ...], x: str) -> str:
    return nodes.add("Div", *(_polynomial(nodes, part, x) for part in parts))


def _polynomial(nodes: Nodes, coefficients: Sequence[float], x: str) -> str:
    *rest, highest = coefficients
    value = _number(nodes, highest)
    for coefficient in reversed(rest):
        product = nodes.add("Mul", value, x)
        value = nodes.add("Add", product, _number(nodes, coefficient))
    return value


def _number(nodes: Nodes, value: float) -> str:
    return nodes.constant(np.full((1, 1), float(value)))


_WRITERS: dict[type, Callable[[Nodes, Any, str], str]] = {
    Affine: _affine,
    Clip: _clip,
    Encode: _encode,
    Fill: _fill,
    Flag: _flag,
    Linear: _linear,
    OneHot: _one_hot,
    Power: _power,
    Quantiles: _quantiles,
    Take: _take,
}
