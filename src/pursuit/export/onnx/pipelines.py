"""Graphs of what has no formula, such as a pipeline with a classifier of another kind.

skl2onnx assembles them; it finds the converters of pursuit's estimators by itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sklearn.base import is_classifier

from pursuit.export.errors import UnsupportedError

from .checking import last_step
from .extra import needed
from .inputs import as_columns, column_names, has_columns

__all__ = ["converted"]


def converted(
    model: Any, rows: Any, dtype: str, outputs: Sequence[str] | None, opset: int
) -> Any:
    """Return the graph that skl2onnx makes of a model.

    Parameters
    ----------
    model : estimator
    rows : array-like, data frame or None
        Rows that show which columns hold text.
    dtype : {"float64", "float32"}
    outputs : sequence of str, optional
        Outputs of the last step, if it is one of pursuit's.
    opset : int
    """
    skl2onnx = needed("skl2onnx")
    from .convert import register_all, step_converters, step_shapes

    register_all()  # other estimators look their parts up in the registers
    last = last_step(model)
    options: dict[int, dict[str, Any]] = {}
    if is_classifier(last):
        options[id(last)] = {"zipmap": False}
    if outputs is not None:
        options.setdefault(id(last), {})["outputs"] = tuple(outputs)
    try:
        proto = skl2onnx.convert_sklearn(
            model,
            name="pursuit",
            initial_types=_input_types(model, rows, dtype),
            target_opset=opset,
            options=options,
            custom_conversion_functions=step_converters(),
            custom_shape_calculators=step_shapes(),
        )
    except (ImportError, UnsupportedError):
        raise
    except Exception as error:  # its converters raise many kinds
        raise UnsupportedError(
            f"skl2onnx cannot convert a step of {type(model).__name__} in {dtype}: "
            f"{type(error).__name__}, {_one_line(error)} Do this step's work before "
            "the pipeline, or try another dtype or opset."
        ) from error
    for used in proto.opset_import:
        used.version = opset if used.domain == "" else used.version
    if len(proto.graph.input) > 1:
        _name_columns(proto.graph, column_names(rows))
    return proto


def _input_types(model: Any, rows: Any, dtype: str) -> list[tuple[str, Any]]:
    from skl2onnx.common import data_types as types

    kind = types.DoubleTensorType if dtype == "float64" else types.FloatTensorType
    if rows is None or not has_columns(model, rows):
        return [("X", kind([None, model.n_features_in_]))]
    columns = zip(column_names(rows), as_columns(rows), strict=True)
    return [
        (name, (types.StringTensorType if c.dtype == object else kind)([None, 1]))
        for name, c in columns
    ]


def _name_columns(graph: Any, names: list[str]) -> None:
    """Give inputs the names of their columns; skl2onnx has replaced some letters.

    A column that has an output's name gets an underscore; the name itself is noted
    in ``doc_string``.
    """
    new = {}
    outputs = [variable.name for variable in graph.output]
    for variable, name in zip(graph.input, names, strict=True):
        variable.doc_string = name
        new[variable.name] = name + "_" * (name in outputs)
    for node in graph.node:
        for i, name in enumerate(node.input):
            node.input[i] = new.get(name, name)
    for variable in graph.input:
        variable.name = new[variable.name]


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())
