"""Fitted models in other languages: C, JavaScript, NumPy alone and ONNX.

`formula_of` turns a fitted model, or a pipeline that ends in one, into a `Formula`:
plain numbers and words. Each exporter writes a formula down in its language. ONNX
graphs are compared with the model, and C headers come with a bound of their error.
"""

from typing import TYPE_CHECKING

from pursuit._lazy import lazy_names

from .errors import UnsupportedError
from .formula import Formula
from .preparation import formula_of

if TYPE_CHECKING:
    from .c import CCode, Costs, to_c
    from .javascript import to_javascript
    from .numpy_module import to_numpy
    from .onnx import check_onnx, onnx_inputs, to_onnx

__all__ = [
    "CCode",
    "Costs",
    "Formula",
    "UnsupportedError",
    "check_onnx",
    "formula_of",
    "onnx_inputs",
    "to_c",
    "to_javascript",
    "to_numpy",
    "to_onnx",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "c": ("CCode", "Costs", "to_c"),
        "javascript": ("to_javascript",),
        "numpy_module": ("to_numpy",),
        "onnx": ("check_onnx", "onnx_inputs", "to_onnx"),
    },
)
