"""Estimators that skl2onnx can convert without any registration."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any


class OnnxConvertible:
    """Mixin of the three methods by which skl2onnx asks an estimator for its graph.

    ``skl2onnx.to_onnx`` calls them; see :func:`pursuit.export.to_onnx`.
    """

    def onnx_parser(self) -> Callable[..., Any]:
        """Return the function that names the outputs of the graph, for skl2onnx."""
        return _converters().parser(self)

    def onnx_shape_calculator(self) -> Callable[..., Any]:
        """Return the function that sets the outputs' types, for skl2onnx."""
        return _converters().shape_calculator

    def onnx_converter(self) -> Callable[..., Any]:
        """Return the function that writes the nodes of the graph, for skl2onnx."""
        return _converters().converter


def _converters() -> Any:
    # By name: exports know the estimators, which know them only when they are asked.
    return import_module("pursuit.export.onnx.convert")
