"""Write the page: one HTML file with its style, its code and its data inside."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from pursuit._writing import write_whole
from pursuit.export.javascript import script_source
from pursuit.export.tree import inline_array, tree_of

from .contents import Options, contents

__all__ = ["Report", "write"]

# Code of the page, in the order in which it runs.
SCRIPTS = (
    "charts.js",
    "dates.js",
    "model.js",
    "page.js",
    "size.js",
    "importance.js",
    "dependence.js",
    "what_if.js",
    "errors.js",
    "about.js",
    "main.js",
)


def write(
    model: Any,
    path: str | os.PathLike[str],
    X: Any,
    y: Any,
    *,
    title: str | None = None,
    is_held_out: bool = True,
    X_train: Any = None,
    y_train: Any = None,
    feature_names: Any = None,
    target_names: Any = None,
    date_columns: Any = (),
    rows: int = 200,
    random_state: Any = 0,
) -> Path:
    """Write a report of a fitted model as one HTML file.

    The page shows the error against the size, with a slider that changes the model; the
    importance of columns, partial dependence, the prediction for a row that the reader
    fills in, with the nearest support points; confusions or residuals, calibration,
    data and settings. It runs the model itself and needs no network.

    Parameters
    ----------
    model : KMPClassifier, KMPRegressor, Pipeline or search
        Fitted; a pipeline or a search that ends in one of the two.
    path : path-like
        File to write, such as "report.html".
    X : array-like or frame of shape (n_samples, n_features)
        Rows to judge the model on, best ones that the fit has not seen.
    y : array-like of shape (n_samples,) or (n_samples, n_outputs)
        Their targets.
    title : str, default=None
        Title of the page; by default the name of the estimator.
    is_held_out : bool, default=True
        Whether the fit has not seen these rows. The page says which.
    X_train, y_train : optional
        The rows of the fit and their targets. With them the page shows raw columns and
        targets of support points. A model without preparation shows the columns anyway.
    feature_names : sequence of str, default=None
        Names of the columns of X, for a model that was fitted without names.
    target_names : str or sequence of str, default=None
        Name of the target, or of each output. By default the names that y has.
    date_columns : sequence of str, default=()
        Names of columns that hold days since 1970; the page shows them as dates.
    rows : int, default=200
        Number of rows, drawn at random, that the page holds, at most; fewer if there
        are many columns. **Who gets the file can read these rows, and the support
        points, which are rows of the training data.**
    random_state : int, RandomState instance or None, default=0
        Draws the rows.

    Returns
    -------
    path : Path
        The file.

    Raises
    ------
    pursuit.export.UnsupportedError
        If the model cannot run in a page: neighbors, densities, kernels of your own.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pursuit import KMPClassifier, report
    >>> X, y = load_iris(return_X_y=True)
    >>> model = KMPClassifier("rbf", max_support=8).fit(X[::2], y[::2])
    >>> path = report.write(model, "iris.html", X[1::2], y[1::2])  # doctest: +SKIP
    """
    report = Report(
        model,
        X,
        y,
        title=title,
        is_held_out=is_held_out,
        X_train=X_train,
        y_train=y_train,
        feature_names=feature_names,
        target_names=target_names,
        date_columns=date_columns,
        rows=rows,
        random_state=random_state,
    )
    return report.save(path)


class Report:
    """A report of a fitted model, which a notebook shows.

    Parameters
    ----------
    model, X, y, **options
        As in :func:`write`.

    Attributes
    ----------
    contents : dict
        What the page holds: numbers, words, lists and arrays.
    html : str
        The page.
    """

    def __init__(self, model: Any, X: Any, y: Any, **options: Any) -> None:
        self.contents = contents(model, X, y, Options(**options))

    @cached_property
    def html(self) -> str:
        """The page as text."""
        return page(self.contents)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file; return its path.

        Parameters
        ----------
        path : path-like
            File to write.

        Returns
        -------
        path : Path
            The file.
        """
        path = Path(path)
        write_whole(path, self.html.encode("utf-8"))
        return path

    def _repr_html_(self) -> str:
        # A frame of its own, so that neither styles nor scripts meet the notebook's.
        return (
            f'<iframe title="{html.escape(self.contents["title"])}" '
            'sandbox="allow-scripts" style="width: 100%; height: 46rem; border: 0" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )


def page(held: dict[str, Any]) -> str:
    """Return the HTML of what a page holds."""
    style = _text("report.css")
    scripts = [
        script_source("runtime.js"),
        *(_text("scripts", name) for name in SCRIPTS),
    ]
    script = "\n".join(["(() => {", '"use strict";', *scripts, "})();"])
    parts = {
        "TITLE": html.escape(held["title"]),
        "POLICY": _policy(script, style),
        "STYLE": style,
        "DATA": _safe_json(held),
        "SCRIPT": script,
    }
    text = _text("template.html")
    # One pass: what is inserted is never searched for marks.
    pieces = text.split("%%")
    return "".join(parts[p] if i % 2 else p for i, p in enumerate(pieces))


def _policy(script: str, style: str) -> str:
    """Return what the page may do: run this script, use this style, and no more."""
    run, look = (_digest(text) for text in (script, style))
    return f"default-src 'none'; script-src {run}; style-src {look}; img-src data:"


def _digest(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _text(*names: str) -> str:
    return resources.files(__package__).joinpath(*names).read_text("utf-8")


def _safe_json(value: Any) -> str:
    """Return JSON that ends no script element and that every parser reads."""
    text = json.dumps(_plain(value), allow_nan=False, separators=(",", ":"))
    # Only strings hold these letters: no word can end the element.
    for letter in "<>&":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return text


def _plain(value: Any) -> Any:
    """Return what JSON can hold: dictionaries of lists, words, numbers and arrays."""
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return tree_of(value, _array)


def _array(array: np.ndarray) -> dict[str, Any]:
    if array.dtype != np.float32:
        return inline_array(array)
    text = base64.b64encode(array.astype("<f4").tobytes()).decode("ascii")
    return {"base64": text, "dtype": "<f4", "shape": list(array.shape)}
