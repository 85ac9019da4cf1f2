"""Export to one plain JavaScript file, which needs nothing else."""

from __future__ import annotations

import json
import re
from importlib import resources
from pathlib import Path
from typing import Any

from pursuit._parameters import check_choice
from pursuit._writing import write_whole

from .errors import UnsupportedError
from .preparation import formula_of
from .tree import inline_array, tree_of

__all__ = ["script_source", "to_javascript"]

_ENDINGS = {
    "esm": "export default {name};\nexport {{ {name} }};\n",
    "commonjs": "module.exports = {name};\n",
    "script": "",
}

_LARGEST = 2**53 - 1

# Words that are no names in JavaScript, in strict code and modules too.
_RESERVED = (
    " arguments await break case catch class const continue debugger default delete do "
    "else enum eval export extends false finally for function if implements import in "
    "instanceof interface let new null package private protected public return static "
    "super switch this throw true try typeof undefined var void while with yield "
)


def to_javascript(
    model: Any,
    path: str | Path | None = None,
    *,
    name: str = "model",
    module: str = "esm",
) -> str:
    """Write a fitted model as a JavaScript file without dependencies.

    In JavaScript, ``model.predict(row)`` returns a number, a list of numbers or a
    label, ``model.probabilities(row)`` the probabilities of ``model.labels``, and
    ``model.values(row)`` the outputs behind them. A row is an array of raw values in
    the order of ``model.inputs``, or an object by their names; words are strings;
    null, NaN and "" are missing values. A row without an answer, since it misses a
    value that the model needs or holds a category that it must know, throws an error.

    Parameters
    ----------
    model : KMPClassifier, KMPRanker, KMPRegressor, Pipeline or Formula
        Fitted.
    path : str or Path, optional
        File to write.
    name : str, default="model"
        Name of the constant that holds the model.
    module : {"esm", "commonjs", "script"}, default="esm"
        How the model leaves the file: by ``export``, by ``module.exports``, or as a
        global constant of a page's script.

    Returns
    -------
    source : str
        The file's text. It computes in double precision; predictions differ from
        `predict` by rounding.
    """
    check_choice("module", module, tuple(_ENDINGS))
    if not re.fullmatch(r"[A-Za-z_$][A-Za-z0-9_$]*", name) or f" {name} " in _RESERVED:
        raise ValueError(
            f"name={name!r} must be a name in JavaScript, such as 'model'."
        )
    formula = formula_of(model)
    for label in formula.answer.labels:
        if isinstance(label, int) and abs(label) > _LARGEST:
            raise UnsupportedError(
                f"The label {label} is larger than JavaScript's whole numbers, "
                f"{_LARGEST}: fit the model on labels of words."
            )
    tree = tree_of(formula, inline_array)
    source = (
        "// A model of pursuit, written by pursuit.export.to_javascript.\n"
        f"const {name} = (() => {{\n"
        '"use strict";\n\n'
        f"{script_source('runtime.js')}\n"
        f"return new Model(decode({_literal(tree)}, base64Array));\n"
        "})();\n"
    ) + _ENDINGS[module].format(name=name)
    if path is not None:
        write_whole(path, source.encode("utf-8"))
    return source


def script_source(name: str) -> str:
    """Return the text of a script of this package, "runtime.js" or "reader.js"."""
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _literal(tree: Any) -> str:
    """Return JSON that is safe in a script, even one inside a page of HTML."""
    text = json.dumps(tree, allow_nan=False, separators=(",", ":"))
    # Only strings hold these letters: no word can end the script.
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text
