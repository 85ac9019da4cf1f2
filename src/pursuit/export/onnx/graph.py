"""A formula as a whole graph: inputs, preparation, values and answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from pursuit.export.formula import Formula
from pursuit.export.steps import Input

from .extra import needed
from .inputs import MISSING_TEXT
from .nodes import label_array, repeated, write_answer, write_values
from .preparing import write_steps

__all__ = ["written_graph"]

_ML, _ML_VERSION = "ai.onnx.ml", 2


def written_graph(
    formula: Formula, precision: str, outputs: Sequence[str], opset: int
) -> Any:
    """Return the graph of a formula.

    Parameters
    ----------
    formula : Formula
    precision : {"float64", "float32"}
    outputs : sequence of str
        Some of `outputs_of`.
    opset : int

    Returns
    -------
    proto : onnx.ModelProto
    """
    helper = needed("onnx").helper
    graph = _Graph(precision, [*outputs, *(each.name for each in formula.inputs)])
    rows = _write_inputs(graph, formula.inputs, outputs)
    rows = write_steps(graph, formula.steps, rows)
    f = write_values(graph, formula, rows)
    for name in outputs:
        write_answer(graph, formula, f, name, name)
        graph.declare_output(name, *_output_type(formula, name, graph.number))
    opsets = [helper.make_opsetid("", opset)]
    if graph.has_text:
        opsets.append(helper.make_opsetid(_ML, _ML_VERSION))
    proto = helper.make_model(
        graph.proto(),
        opset_imports=opsets,
        ir_version=helper.find_min_ir_version_for(opsets),
    )
    if graph.has_text and not _has_empty_text(formula.inputs):
        helper.set_model_props(proto, {MISSING_TEXT: ""})
    return proto


def _has_inputs_by_column(inputs: Sequence[Input]) -> bool:
    """Return whether columns are inputs of their own: some hold text, or anything."""
    return any(each.categories is not None or not each.is_used for each in inputs)


class _Graph:
    """A graph that grows: `Nodes` of onnx itself."""

    def __init__(self, precision: str, taken: Sequence[str]) -> None:
        self._onnx = needed("onnx")
        self.precision = precision
        self.number = self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(precision))
        self.has_text = False
        self._taken = set(taken)
        self._count = 0
        self._nodes: list[Any] = []
        self._constants: dict[tuple[Any, ...], Any] = {}
        self._inputs: list[Any] = []
        self._outputs: list[Any] = []

    def add(
        self, operator: str, *inputs: str, output: str | None = None, **attributes: Any
    ) -> str:
        """Append a node and return the name of its output."""
        output = self.new_name(operator.lower()) if output is None else output
        node = self._onnx.helper.make_node(
            operator, list(inputs), [output], name=f"{operator}_{output}", **attributes
        )
        self._nodes.append(node)
        return output

    def constant(self, array: Any) -> str:
        """Store an array, once, and return its name."""
        array = np.asarray(array)
        if array.dtype.kind == "f":
            array = array.astype(self.precision)
        content = array.tolist() if array.dtype == object else array.tobytes()
        key = (array.dtype.str, array.shape, str(content))
        if key not in self._constants:
            name = self.new_name("constant")
            tensor = self._onnx.numpy_helper.from_array(np.ascontiguousarray(array))
            tensor.name = name
            self._constants[key] = tensor
        return str(self._constants[key].name)

    def declare_input(self, name: str, kind: int, width: int, column: str = "") -> str:
        """Declare an input (n, width); ``column`` is the column that it takes."""
        make = self._onnx.helper.make_tensor_value_info
        self._inputs.append(make(name, kind, [None, width], doc_string=column))
        return name

    def declare_output(self, name: str, kind: int, shape: list[int | None]) -> None:
        """Declare an output."""
        make = self._onnx.helper.make_tensor_value_info
        self._outputs.append(make(name, kind, shape))

    def new_name(self, stem: str) -> str:
        """Return a name that nothing has."""
        while True:
            self._count += 1
            name = f"{stem}_{self._count}"
            if name not in self._taken:
                return name

    def proto(self) -> Any:
        """Return the graph."""
        return self._onnx.helper.make_graph(
            self._nodes,
            "pursuit",
            self._inputs,
            self._outputs,
            list(self._constants.values()),
        )


def _write_inputs(
    graph: _Graph, inputs: Sequence[Input], outputs: Sequence[str]
) -> str:
    """Declare the inputs; write them as one array, words as codes."""
    if not _has_inputs_by_column(inputs):
        return graph.declare_input("X", graph.number, len(inputs))
    columns: list[str | None] = []
    for each in inputs:
        # An output may have the column's name; the column then gets an underscore.
        name = each.name + "_" * (each.name in outputs)
        if not each.is_used:
            columns.append(None)
        elif each.categories is None:
            columns.append(graph.declare_input(name, graph.number, 1, each.name))
        else:
            columns.append(_write_codes(graph, each, name))
    some = next(column for column in columns if column is not None)
    nothing = repeated(graph, np.zeros((1, 1)), some)
    return graph.add("Concat", *(column or nothing for column in columns), axis=1)


def _write_codes(graph: _Graph, column: Input, name: str) -> str:
    """Write the codes of a column of words: -1 for others, NaN for missing ones."""
    assert column.categories is not None
    graph.has_text = True
    text = graph.declare_input(name, 8, 1, column.name)  # 8 is string
    words, codes = list(column.categories), list(range(len(column.categories)))
    if "" not in words:
        words, codes = [*words, ""], [*codes, -2]
    code = graph.add(
        "LabelEncoder",
        text,
        domain=_ML,
        keys_strings=words,
        values_int64s=codes,
        default_int64=-1,
    )
    is_missing = graph.add("Equal", code, graph.constant(np.array([[-2]])))
    number = graph.add("Cast", code, to=graph.number)
    nothing = graph.constant(np.full((1, 1), np.nan))
    return graph.add("Where", is_missing, nothing, number)


def _has_empty_text(inputs: Sequence[Input]) -> bool:
    return any("" in each.categories for each in inputs if each.categories is not None)


def _output_type(
    formula: Formula, name: str, number: int
) -> tuple[int, list[int | None]]:
    labels = formula.answer.labels
    if name != "label":
        return number, [None, len(labels) or formula.n_outputs]
    return 8 if label_array(labels).dtype == object else 7, [None]
