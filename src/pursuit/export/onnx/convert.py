"""Converters of the estimators for skl2onnx.

skl2onnx asks an estimator for ``onnx_parser``, ``onnx_shape_calculator`` and
``onnx_converter``, so nothing has to be registered before it converts one. Options such
as ``zipmap``, and estimators inside a grid search, do need an entry in its registers:
the first question, for the parser, makes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from skl2onnx import update_registered_converter
from skl2onnx.common._registration import get_converter, get_shape_calculator
from skl2onnx.common.data_types import (
    DoubleTensorType,
    FloatTensorType,
    Int64TensorType,
    StringTensorType,
)

from pursuit.export.formula import Formula

from .formulas import formula_for, outputs_of
from .nodes import label_array, write_answer, write_values
from .preparing import CONVERTED_HERE, steps_of, width_after, write_steps

__all__ = [
    "converter",
    "parser",
    "register",
    "register_all",
    "shape_calculator",
    "step_converters",
    "step_shapes",
]

# What skl2onnx's users pass. The probabilities are always an array (no ZipMap).
OPTIONS = {
    "zipmap": [True, False, "columns"],
    "raw_scores": [True, False],
    "outputs": None,
}
# Axes of sums are inputs, and softmax is along one axis, since then.
FIRST_OPSET = 13


def parser(model: Any) -> Callable[..., list[tuple[str, Any]]]:
    """Return the function that names the outputs of a model."""
    register(type(model))

    def named_outputs(scope: Any = None, inputs: Any = None) -> list[Any]:
        names = _names(model, scope.get_options(model, {}))
        return [scope.declare_local_variable(name, _float(inputs)()) for name in names]

    return named_outputs


def register(kind: type) -> None:
    """Enter a class of estimators in skl2onnx's registers."""
    update_registered_converter(
        kind,
        f"Pursuit{kind.__name__}",
        shape_calculator,
        converter,
        overwrite=True,
        parser=_parse,
        options=dict(OPTIONS),
    )


def register_all() -> None:
    """Enter all estimators that have a graph in skl2onnx's registers."""
    from pursuit.estimators import (
        KMPClassifier,
        KMPRanker,
        KMPRegressor,
        LearnedMetric,
        SparseKernelPCA,
    )

    kinds = KMPClassifier, KMPRanker, KMPRegressor, LearnedMetric, SparseKernelPCA
    for kind in kinds:
        register(kind)


def _parse(
    scope: Any, model: Any, inputs: list[Any], custom_parsers: Any = None
) -> list[Any]:
    operator = scope.declare_local_operator(f"Pursuit{type(model).__name__}", model)
    operator.inputs = inputs
    operator.outputs.extend(parser(model)(scope=scope, inputs=inputs))
    return operator.outputs


def shape_calculator(operator: Any) -> None:
    """Set the types of the outputs."""
    formula = formula_for(operator.raw_operator)
    n = operator.inputs[0].get_first_dimension()
    width = len(formula.answer.labels) or formula.n_outputs
    for name, variable in _named(operator):
        if name == "label":
            variable.type = _label_type(formula)([n])
        else:
            variable.type = _float(operator.inputs)([n, width])


def converter(scope: Any, operator: Any, container: Any) -> None:
    """Write the nodes of a model."""
    if container.target_opset < FIRST_OPSET:
        raise ValueError(
            f"opset={container.target_opset} is too old: pursuit's models need "
            f"{FIRST_OPSET} or later."
        )
    nodes = _Container(scope, container, _precision(operator))
    rows = _joined(operator, nodes)
    formula = formula_for(operator.raw_operator)
    f = write_values(nodes, formula, rows)
    for name, variable in _named(operator):
        write_answer(nodes, formula, f, name, variable.full_name)


def step_converters() -> dict[type, Callable[..., None]]:
    """Return converters of the transformers that are written here."""
    return dict.fromkeys(CONVERTED_HERE, _convert_steps)


def step_shapes() -> dict[type, Callable[..., None]]:
    """Return shape calculators of the transformers that are written here."""
    return dict.fromkeys(CONVERTED_HERE, _shape_of_steps)


def _convert_steps(scope: Any, operator: Any, container: Any) -> None:
    if _has_text(operator):
        get_converter(operator.type)(scope, operator, container)
        return
    nodes = _Container(scope, container, _precision(operator))
    rows = _joined(operator, nodes)
    done = write_steps(nodes, steps_of(operator.raw_operator), rows)
    nodes.add("Identity", done, output=operator.outputs[0].full_name)


def _shape_of_steps(operator: Any) -> None:
    if _has_text(operator):
        get_shape_calculator(operator.type)(operator)
        return
    transformer = operator.raw_operator
    width = width_after(steps_of(transformer), transformer.n_features_in_)
    n = operator.inputs[0].get_first_dimension()
    operator.outputs[0].type = _float(operator.inputs)([n, width])


def _has_text(operator: Any) -> bool:
    return any(isinstance(each.type, StringTensorType) for each in operator.inputs)


class _Container:
    """skl2onnx's container as `Nodes`."""

    def __init__(self, scope: Any, container: Any, precision: str) -> None:
        self._scope, self._container = scope, container
        self.precision = precision
        self._known: dict[tuple[Any, ...], str] = {}

    def add(
        self, operator: str, *inputs: str, output: str | None = None, **attributes: Any
    ) -> str:
        """Append a node and return the name of its output."""
        if output is None:
            output = self._scope.get_unique_variable_name(operator.lower())
        name = self._scope.get_unique_operator_name(operator)
        self._container.add_node(
            operator, list(inputs), [output], name=name, **attributes
        )
        return output

    def constant(self, array: Any) -> str:
        """Store an array, once, and return its name."""
        array = np.asarray(array)
        if array.dtype.kind == "f":
            array = array.astype(self.precision)
        if array.dtype == object:
            return self._texts(array)
        array = np.ascontiguousarray(array)
        key = (array.dtype.str, array.shape, array.tobytes())
        if key not in self._known:
            content = onnx.numpy_helper.from_array(array)
            self._known[key] = self._store(content.data_type, array, content)
        return self._known[key]

    def _texts(self, array: np.ndarray) -> str:
        content = [text.encode() for text in array]
        return self._store(onnx.TensorProto.STRING, array, content)

    def _store(self, kind: int, array: np.ndarray, content: Any) -> str:
        name = self._scope.get_unique_variable_name("constant")
        self._container.add_initializer(name, kind, list(array.shape), content)
        return str(name)


def _joined(operator: Any, nodes: _Container) -> str:
    """Write the inputs as one array of the graph's precision; return its name."""
    kind = _float(operator.inputs)
    parts = [
        each.full_name
        if isinstance(each.type, kind)
        else nodes.add("Cast", each.full_name, to=_ELEMENTS[nodes.precision])
        for each in operator.inputs
    ]
    return parts[0] if len(parts) == 1 else nodes.add("Concat", *parts, axis=1)


_ELEMENTS = {
    "float64": onnx.TensorProto.DOUBLE,
    "float32": onnx.TensorProto.FLOAT,
}


def _float(inputs: Sequence[Any]) -> type:
    """Return the type of the model's numbers: double if an input is."""
    is_double = any(isinstance(each.type, DoubleTensorType) for each in inputs)
    return DoubleTensorType if is_double else FloatTensorType


def _precision(operator: Any) -> str:
    is_double = _float(operator.inputs) is DoubleTensorType
    return "float64" if is_double else "float32"


def _label_type(formula: Formula) -> type:
    has_text = label_array(formula.answer.labels).dtype == object
    return StringTensorType if has_text else Int64TensorType


def _named(operator: Any) -> list[tuple[str, Any]]:
    """Return the outputs with what they are.

    Other converters, as that of a calibrated classifier, name them otherwise.
    """
    model = operator.raw_operator
    names = _names(model, operator.scope_inst.get_options(model, {}))
    return list(zip(names, operator.outputs, strict=True))


def _names(model: Any, options: dict[str, Any]) -> Sequence[str]:
    if options.get("outputs"):
        return options["outputs"]
    names = outputs_of(formula_for(model).answer)
    if options.get("raw_scores") and "scores" in names:
        return "label", "scores"
    return names[:2]
