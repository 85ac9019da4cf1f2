"""Export to one Python file that needs NumPy alone.

The file is the definition of a formula, copied from this package, and one expression
that says which formula it is.
"""

from __future__ import annotations

import ast
import base64
from collections.abc import Sequence
from dataclasses import fields, is_dataclass
from importlib import resources
from pathlib import Path
from textwrap import wrap
from typing import Any

import numpy as np

from pursuit._writing import write_whole

from .errors import UnsupportedError
from .preparation import formula_of

__all__ = ["to_numpy"]

_OPENING = '''\
"""A model of pursuit, written by pursuit.export.to_numpy. It needs NumPy alone.

`predict(X)` returns a prediction for each row of X; a model of classes also has
`decision_function(X)`, perhaps `predict_proba(X)`, and `classes`.

X is a frame or a two-dimensional array of raw values in the order of `inputs`. None and
NaN are missing values. A row without an answer, since it misses a value that the model
needs or holds a category that it must know, raises a ValueError.

What the model computes stands at the end of the file, as `FORMULA`; what the parts of a
formula mean stands before, as in the library (BSD-3-Clause license).
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
'''

_DEFINITIONS = ("steps.py", "coding.py", "formula.py")

_ARRAY = '''

def _array(shape: tuple[int, ...], text: str) -> np.ndarray:
    """Return numbers that are written in base64."""
    return np.frombuffer(base64.b64decode(text), dtype="<f8").reshape(shape)


'''

_PREDICT = '''

inputs = FORMULA.inputs


def predict(X: Any) -> np.ndarray:
    """Return a prediction for each row."""
    return FORMULA.answer.predictions(FORMULA.answered(X))
'''

_CLASSES = '''

classes = FORMULA.answer.labels


def decision_function(X: Any) -> np.ndarray:
    """Return (n,) values for two classes, above 0 for the second, else one for each."""
    f = FORMULA.answered(X)
    return f[:, 0] if f.shape[1] == 1 else f
'''

_PROBABILITIES = '''

def predict_proba(X: Any) -> np.ndarray:
    """Return the probability of each class, in the order of `classes`."""
    return FORMULA.answer.probabilities(FORMULA.answered(X))
'''

_WIDTH = 88
_MOST_NUMBERS = 12  # of an array that is written as a list


def to_numpy(model: Any, path: str | Path | None = None) -> str:
    """Write a fitted model as a Python file that needs NumPy alone.

    The file has ``predict(X)`` and ``inputs``, the columns of a row; for classes also
    ``decision_function(X)``, ``classes`` and, if the model has probabilities,
    ``predict_proba(X)``. X is a frame or an array of raw values. Rows are taken in
    blocks, so that memory is bounded.

    Parameters
    ----------
    model : KMPClassifier, KMPRanker, KMPRegressor, Pipeline or Formula
        Fitted.
    path : str or Path, optional
        File to write, such as "model.py".

    Returns
    -------
    source : str
        The file's text. It computes in double precision; predictions differ from
        `predict` by rounding.
    """
    formula = formula_of(model)
    parts = [_OPENING, *map(_definitions, _DEFINITIONS), _ARRAY]
    parts += [f"FORMULA = {_expression(formula, 0)}\n", _PREDICT]
    if formula.answer.kind == "classes":
        parts.append(_CLASSES)
    if formula.answer.has_probabilities:
        parts.append(_PROBABILITIES)
    source = "".join(parts)
    if path is not None:
        write_whole(path, source.encode("utf-8"))
    return source


def _definitions(name: str) -> str:
    """Return what follows the imports and ``__all__`` of a module of this package."""
    text = resources.files(__package__).joinpath(name).read_text(encoding="utf-8")
    exported = next(
        node
        for node in ast.parse(text).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
    )
    return "\n" + "".join(text.splitlines(keepends=True)[exported.end_lineno :])


def _expression(value: Any, indent: int) -> str:
    """Return Python code of a value; words are literals, whatever they hold."""
    if is_dataclass(value) and not isinstance(value, type):
        parts = [(f.name, getattr(value, f.name), f.default) for f in fields(value)]
        named = [
            f"{name}={_expression(part, indent + 4)}"
            for name, part, default in parts
            if isinstance(part, np.ndarray) or part != default
        ]
        return _bracketed(f"{type(value).__name__}(", named, ")", indent)
    if isinstance(value, tuple | list):
        items = [_expression(item, indent + 4) for item in value]
        return _bracketed("(", items, ",)" if len(items) == 1 else ")", indent)
    if isinstance(value, np.ndarray):
        return _array_expression(value, indent)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not np.isfinite(value):
        return f'float("{value}")'
    if value is None or isinstance(value, str | int | float):
        return ascii(value)
    raise UnsupportedError(
        f"{value!r} cannot be exported: labels must be words, numbers or Booleans."
    )


def _bracketed(start: str, items: Sequence[str], end: str, indent: int) -> str:
    """Return items on one line if they fit, else each on lines of its own."""
    line = start + ", ".join(items) + end
    if "\n" not in line and indent + len(line) <= _WIDTH:
        return line
    inner = " " * (indent + 4)
    lines = "".join(f"{inner}{item},\n" for item in items)
    return f"{start}\n{lines}{' ' * indent}{end.lstrip(',')}"


def _array_expression(array: np.ndarray, indent: int) -> str:
    is_whole = array.dtype.kind == "i"
    if array.size == 0:
        return f"np.empty({array.shape}, dtype={'int' if is_whole else 'float'})"
    if is_whole or array.size <= _MOST_NUMBERS:
        return f"np.array({_expression(array.tolist(), indent)})"
    text = base64.b64encode(np.ascontiguousarray(array, dtype="<f8").tobytes())
    inner = " " * (indent + 4)
    pieces = wrap(text.decode("ascii"), _WIDTH - len(inner) - 2)
    lines = "\n".join(f'{inner}"{piece}"' for piece in pieces)
    return f"_array(\n{inner}{array.shape},\n{lines},\n{' ' * indent})"
