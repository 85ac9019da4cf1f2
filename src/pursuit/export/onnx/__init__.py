"""Models as ONNX graphs.

nodes.py      values and answers of a formula as nodes, with core operators
preparing.py  steps of a preparation as nodes
graph.py      the whole graph of a formula
pipelines.py  graphs of what has no formula, which skl2onnx assembles
convert.py    converters of the estimators for skl2onnx
formulas.py   formulas of the estimators that ONNX can hold
inputs.py     rows as onnxruntime takes them
checking.py   whether a graph agrees with its model
writing.py    `to_onnx`
"""

from .checking import Agreement, check_onnx
from .extra import needed
from .inputs import onnx_inputs
from .writing import to_onnx

__all__ = ["Agreement", "check_onnx", "onnx_inputs", "register_all", "to_onnx"]


def register_all() -> None:
    """Enter all estimators that have a graph in skl2onnx's registers.

    skl2onnx finds them by itself where they stand alone, in pipelines and in searches.
    Estimators that hold others, such as CalibratedClassifierCV and BaggingClassifier,
    look these up in its registers: call this once before ``skl2onnx.to_onnx``.
    """
    needed("skl2onnx")
    from . import convert

    convert.register_all()
