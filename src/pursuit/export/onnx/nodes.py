"""Write a formula as nodes of an ONNX graph, with core operators only.

Squared distances have two forms. |y|² + |z|² - 2 y·z is one matrix product, but it
cancels: its error is that of the squares. Differences lose nothing, but take longer.
The first is for centers within so few widths of their mean that the error stays small
(`_WIDTHS`), as most are; the second for the others.

Sums of differences never hold n × m × d numbers: they go over blocks of columns
(`_HELD` numbers per row).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from pursuit.export.formula import (
    Combination,
    Comparison,
    Formula,
    MonomialGroup,
)

__all__ = ["Nodes", "label_array", "repeated", "write_answer", "write_values"]

# Largest gamma |z|² for which squared distances are expanded, so that exponents err by
# about 1e-12 and 5e-6.
_WIDTHS = {"float64": 1000.0, "float32": 10.0}
# Differences of a row from centers that are held at a time.
_HELD = 512


class Nodes(Protocol):
    """Where nodes are written to: a graph that grows.

    ``precision`` is "float64" or "float32".
    """

    precision: str

    def add(
        self, operator: str, *inputs: str, output: str | None = None, **attributes: Any
    ) -> str:
        """Append a node and return the name of its output."""

    def constant(self, array: Any) -> str:
        """Store an array and return its name; floats are in the graph's precision."""


def write_values(nodes: Nodes, formula: Formula, rows: str) -> str:
    """Write the values f (n, T) of a formula at prepared rows; return their name."""
    fixed = formula.intercept.copy()
    terms, first = [], 0
    kernels = _KernelWriter(nodes, rows)
    for group in formula.groups:
        last = first + group.n_functions
        coef = formula.coef[:, first:last]
        first = last
        if not group.n_functions:
            continue
        if isinstance(group, MonomialGroup):
            values = _write_products(nodes, group, rows)
        elif _is_constant(group.kernel):
            value = float(group.kernel(np.empty((1, 0)))[0, 0])
            fixed = fixed + value * coef.sum(axis=1)
            continue
        else:
            values = kernels.write(group.kernel)
        terms.append(nodes.add("MatMul", values, nodes.constant(coef.T)))
    if not terms:
        return repeated(nodes, fixed[None], rows)
    total = terms[0]
    for term in terms[1:]:
        total = nodes.add("Add", total, term)
    return nodes.add("Add", total, nodes.constant(fixed[None]))


def write_answer(nodes: Nodes, formula: Formula, f: str, name: str, output: str) -> str:
    """Write one answer from the values f: one of `outputs_of`."""
    answer = formula.answer
    if name == "label":
        return _write_label(nodes, formula, f, output)
    if name == "variable":
        operator = "Exp" if answer.link == "exp" else "Identity"
        return nodes.add(operator, f, output=output)
    if formula.n_outputs == 1:
        f = nodes.add("Mul", f, nodes.constant(np.array([[-1.0, 1.0]])))
    if name == "scores":
        return nodes.add("Identity", f, output=output)
    if answer.factor != 1.0:
        f = nodes.add("Mul", f, nodes.constant(np.array([[answer.factor]])))
    # Of two classes, 1 / (1 + exp(-2 f)) is the softmax of -f and f.
    if answer.link == "logistic-ovr":
        # Their logarithms, so that far from every class the quotient is defined.
        f = _log_logistic(nodes, f)
    return nodes.add("Softmax", f, output=output, axis=1)


def _log_logistic(nodes: Nodes, f: str) -> str:
    """Write -log(1 + exp(-2 f)) as min(2 f, 0) - log(1 + exp(-|2 f|)).

    onnxruntime has no Softplus in double precision.
    """
    one, zero = nodes.constant(np.ones((1, 1))), nodes.constant(np.zeros((1, 1)))
    doubled = nodes.add("Add", f, f)
    decay = nodes.add("Exp", nodes.add("Neg", nodes.add("Abs", doubled)))
    rest = nodes.add("Log", nodes.add("Add", decay, one))
    return nodes.add("Sub", nodes.add("Min", doubled, zero), rest)


def _write_label(nodes: Nodes, formula: Formula, f: str, output: str) -> str:
    if formula.n_outputs == 1:
        is_second = nodes.add("Greater", f, nodes.constant(np.zeros((1, 1))))
        column = nodes.add("Cast", is_second, to=7)  # 7 is int64
        place = nodes.add("Squeeze", column, nodes.constant(np.array([1])))
    else:
        place = nodes.add("ArgMax", f, axis=1, keepdims=0)
    labels = nodes.constant(label_array(formula.answer.labels))
    return nodes.add("Gather", labels, place, output=output, axis=0)


def label_array(labels: tuple[Any, ...]) -> np.ndarray:
    """Return labels as skl2onnx has them: strings, or whole numbers.

    False and True become 0 and 1, 2.0 becomes 2. Classifiers take no other numbers.
    """
    if all(isinstance(label, str) for label in labels):
        return np.array(labels, dtype=object)
    return np.array([int(label) for label in labels], dtype=np.int64)


class _KernelWriter:
    """Writes kernels at rows; leaves of one map share it."""

    def __init__(self, nodes: Nodes, rows: str) -> None:
        self._nodes, self._rows = nodes, rows
        self._mapped: dict[tuple[bytes, bytes], str] = {}

    def write(self, kernel: Comparison | Combination) -> str:
        """Write the values (n, m), (1, 1) for a constant."""
        nodes = self._nodes
        if isinstance(kernel, Comparison):
            return self._write_leaf(_as_stored(kernel, nodes.precision))
        if kernel.operation == "constant":
            return self._number(kernel.number)
        values = [self.write(operand) for operand in kernel.operands]
        if kernel.operation == "scaled":
            return nodes.add("Mul", values[0], self._number(kernel.number))
        return nodes.add("Add" if kernel.operation == "sum" else "Mul", *values)

    def _write_leaf(self, leaf: Comparison) -> str:
        nodes = self._nodes
        if leaf.profile == "identity":
            return self._quantities(leaf, np.ones(1))
        if leaf.profile == "exponential":
            return nodes.add("Exp", self._quantities(leaf, -leaf.gamma))
        if leaf.profile == "matern":
            return self._write_matern(leaf)
        q = self._quantities(leaf, leaf.gamma)
        if leaf.profile == "inverse-multiquadric":
            square = nodes.add("Add", q, self._number(1.0))
            return nodes.add("Reciprocal", nodes.add("Sqrt", square))
        if leaf.coef0:
            q = nodes.add("Add", q, self._number(leaf.coef0))
        if leaf.profile == "tanh":
            return nodes.add("Tanh", q)
        return nodes.add("Pow", q, self._number(float(leaf.degree)))

    def _write_matern(self, leaf: Comparison) -> str:
        nodes = self._nodes
        q = self._quantities(leaf, 2.0 * leaf.nu * leaf.gamma)
        # Beyond 1e4 the exponential is 0, and inf * 0 would be NaN.
        t = nodes.add("Sqrt", nodes.add("Min", q, self._number(1e8)))
        decay = nodes.add("Exp", nodes.add("Neg", t))
        if leaf.nu == 0.5:
            return decay
        factor = nodes.add("Add", t, self._number(1.0))
        if leaf.nu == 2.5:
            third = nodes.add("Mul", nodes.add("Mul", t, t), self._number(1.0 / 3.0))
            factor = nodes.add("Add", factor, third)
        return nodes.add("Mul", factor, decay)

    def _quantities(self, leaf: Comparison, weights: np.ndarray) -> str:
        """Write weights * q, all weights of one sign."""
        nodes = self._nodes
        Y = self._map(leaf)
        if leaf.quantity in ("product", "cosine"):
            centers = leaf.centers * weights[:, None]
            products = nodes.add("MatMul", Y, nodes.constant(centers.T))
            if leaf.quantity == "product":
                return products
            # A row of zeros has products of zero: any length will do.
            tiny = self._number(float(np.finfo(nodes.precision).tiny))
            lengths = nodes.add("Max", nodes.add("Sqrt", self._squares(Y)), tiny)
            return nodes.add("Div", products, lengths)
        is_far = _is_far(leaf, nodes.precision)
        if is_far.all():
            return self._differences(leaf, Y, weights)
        if not is_far.any():
            return self._expanded(Y, leaf.centers, weights)
        near = self._quantities(*_some(leaf, weights, ~is_far))
        far = self._quantities(*_some(leaf, weights, is_far))
        both = nodes.add("Concat", near, far, axis=1)
        place = np.argsort(np.argsort(is_far, kind="stable"), kind="stable")
        return nodes.add("Gather", both, nodes.constant(place), axis=1)

    def _differences(self, leaf: Comparison, Y: str, weights: np.ndarray) -> str:
        is_squared = leaf.quantity == "squared-distance"
        q = _write_differences(self._nodes, Y, leaf.centers, is_squared)
        return self._nodes.add("Mul", q, self._nodes.constant(weights[None]))

    def _expanded(self, Y: str, Z: np.ndarray, weights: np.ndarray) -> str:
        """Write weights * (|y|² + |z|² - 2 y·z), cut at 0."""
        nodes = self._nodes
        products = (-2.0 * weights[:, None] * Z).T
        squares = weights * np.square(Z).sum(axis=1)
        of_rows = nodes.add("Mul", self._squares(Y), nodes.constant(weights[None]))
        q = nodes.add("MatMul", Y, nodes.constant(products))
        q = nodes.add("Add", q, nodes.constant(squares[None]))
        q = nodes.add("Add", q, of_rows)
        return nodes.add("Max" if weights[0] > 0 else "Min", q, self._number(0.0))

    def _squares(self, Y: str) -> str:
        axis = self._nodes.constant(np.array([1]))
        square = self._nodes.add("Mul", Y, Y)
        return self._nodes.add("ReduceSum", square, axis, keepdims=1)

    def _map(self, leaf: Comparison) -> str:
        """Write (x - origin) A."""
        nodes, Y = self._nodes, self._rows
        key = (_bytes(leaf.origin), _bytes(leaf.factor))
        if key in self._mapped:
            return self._mapped[key]
        if leaf.origin is not None:
            Y = nodes.add("Sub", Y, nodes.constant(leaf.origin[None]))
        if leaf.factor is not None and leaf.factor.ndim == 1:
            Y = nodes.add("Mul", Y, nodes.constant(leaf.factor[None]))
        elif leaf.factor is not None:
            Y = nodes.add("MatMul", Y, nodes.constant(leaf.factor))
        self._mapped[key] = Y
        return Y

    def _number(self, value: float) -> str:
        return self._nodes.constant(np.full((1, 1), value))


def _as_stored(leaf: Comparison, precision: str) -> Comparison:
    """Return the leaf with an origin that the precision holds exactly.

    Centers move with it, so that differences from rows stay what they are.
    """
    if leaf.origin is None:
        return leaf
    origin = leaf.origin.astype(precision).astype(np.float64)
    shift = leaf.origin - origin
    if leaf.factor is not None:
        shift = shift * leaf.factor if leaf.factor.ndim == 1 else shift @ leaf.factor
    return replace(leaf, origin=origin, centers=leaf.centers + shift)


def _is_far(leaf: Comparison, precision: str) -> np.ndarray:
    """Return for which centers differences must be taken."""
    is_root = leaf.profile == "matern" and leaf.nu == 0.5
    if leaf.quantity == "absolute-distance" or is_root:
        # Of a root, an error of 1e-16 at a center becomes one of 1e-8.
        return np.ones(len(leaf.centers), dtype=bool)
    spread = leaf.gamma * np.square(leaf.centers).sum(axis=1)
    return np.asarray(spread > _WIDTHS[precision])


def _some(
    leaf: Comparison, weights: np.ndarray, chosen: np.ndarray
) -> tuple[Comparison, np.ndarray]:
    """Return a part of the centers, with their weights."""
    gamma = leaf.gamma if len(leaf.gamma) == 1 else leaf.gamma[chosen]
    weights = weights if len(weights) == 1 else weights[chosen]
    return replace(leaf, centers=leaf.centers[chosen], gamma=gamma), weights


def _write_differences(
    nodes: Nodes, Y: str, centers: np.ndarray, is_squared: bool
) -> str:
    """Write Σ (y - z)² or Σ |y - z|, a block of columns at a time."""
    m, r = centers.shape
    if r == 0:  # a metric of rank 0
        return repeated(nodes, np.zeros((1, m)), Y)
    # (columns, rows, centers): sums over the first axis are the fastest.
    columns = nodes.add("Transpose", Y, perm=[1, 0])
    columns = nodes.add("Unsqueeze", columns, nodes.constant(np.array([2])))
    width = max(1, _HELD // m)
    total = ""
    for start in range(0, r, width):
        end = min(start + width, r)
        block = columns if end - start == r else _slice(nodes, columns, start, end)
        part = _summed(nodes, block, centers[:, start:end], is_squared)
        total = nodes.add("Add", total, part) if total else part
    return total


def _slice(nodes: Nodes, columns: str, start: int, end: int) -> str:
    bounds = (nodes.constant(np.array([each])) for each in (start, end, 0))
    return nodes.add("Slice", columns, *bounds)


def _summed(nodes: Nodes, block: str, Z: np.ndarray, is_squared: bool) -> str:
    """Write the sum over the columns of a block, (n, m)."""
    difference = nodes.add("Sub", block, nodes.constant(Z.T[:, None]))
    if is_squared:
        size = nodes.add("Mul", difference, difference)
    else:
        size = nodes.add("Abs", difference)
    return nodes.add("ReduceSum", size, nodes.constant(np.array([0])), keepdims=0)


def _write_products(nodes: Nodes, group: MonomialGroup, rows: str) -> str:
    """Write products of features: factor by factor, for all products at once."""
    most = max(1, max(len(product) for product in group.products))
    ones = repeated(nodes, np.ones((1, 1)), rows)
    padded = nodes.add("Concat", rows, ones, axis=1)
    table = np.full((most, group.n_functions), -1)  # the last column: 1
    for i, product in enumerate(group.products):
        table[: len(product), i] = product
    values = None
    for columns in table:
        factor = nodes.add("Gather", padded, nodes.constant(columns), axis=1)
        values = factor if values is None else nodes.add("Mul", values, factor)
    assert values is not None
    return values


def repeated(nodes: Nodes, row: np.ndarray, rows: str) -> str:
    """Write one row as often as there are rows."""
    shape = nodes.add("Shape", rows)
    n = nodes.add("Mul", shape, nodes.constant(np.array([1, 0])))
    wanted = nodes.add("Add", n, nodes.constant(np.array([0, row.shape[1]])))
    return nodes.add("Expand", nodes.constant(row), wanted)


def _is_constant(kernel: Comparison | Combination) -> bool:
    if isinstance(kernel, Comparison):
        return False
    return all(_is_constant(operand) for operand in kernel.operands)


def _bytes(array: np.ndarray | None) -> bytes:
    return b"" if array is None else array.tobytes()
