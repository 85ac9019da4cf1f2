"""What the displays share: axes, colors, and the last step of a pipeline."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_array

from pursuit._parameters import check_choice

# Okabe and Ito's colors, which people tell apart however they see colors; the yellow,
# which is faint on white, comes last.
_COLORS = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#000000",
    "#F0E442",
)
# One fewer than colors, so that 56 classes differ in either.
_MARKERS = ("o", "s", "^", "D", "v", "P", "X")
# Colors of values in order, from few to many or low to high.
SHADES = "viridis"
SCALES = ("linear", "log")


def pyplot() -> Any:
    """Return matplotlib's pyplot, or raise an ImportError that names the extra."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "The displays draw with matplotlib, which is not installed: "
            'pip install "pursuit[plot]".'
        ) from error
    return plt


def axes(ax: Any, **how: Any) -> Any:
    """Return the axes, by default those of a new figure, made as ``how`` says."""
    if ax is None:
        _, ax = pyplot().subplots(**{"layout": "constrained", **how})
    return ax


def class_style(c: int) -> dict[str, str]:
    """Return color and marker of the class of this number."""
    return {
        "color": _COLORS[c % len(_COLORS)],
        "marker": _MARKERS[c % len(_MARKERS)],
    }


def scale_sizes(ax: Any, size_scale: str) -> None:
    """Let the horizontal axis show whole numbers, in a linear or logarithmic scale."""
    from matplotlib.ticker import (
        LogLocator,
        MaxNLocator,
        NullFormatter,
        StrMethodFormatter,
    )

    check_choice("size_scale", size_scale, SCALES)
    if size_scale == "linear":
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        return
    ax.set_xscale("log")
    ax.xaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.xaxis.set_major_formatter(StrMethodFormatter("{x:g}"))
    ax.xaxis.set_minor_formatter(NullFormatter())


@contextmanager
def without_name_warnings() -> Iterator[None]:
    """Let rows without names of columns be passed to models that were fitted to some.

    The displays compute such rows themselves.
    """
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield


# -- estimators ----------------------------------------------------------------------


def last_step(estimator: Any) -> Any:
    """Return the estimator itself, or the last step of a pipeline."""
    return estimator[-1] if isinstance(estimator, Pipeline) else estimator


def as_seen(estimator: Any, X: Any) -> Any:
    """Return the rows as the last step sees them."""
    if isinstance(estimator, Pipeline) and len(estimator) > 1:
        return estimator[:-1].transform(X)
    return X


def rows_seen(estimator: Any, X: Any, name: str = "X") -> np.ndarray:
    """Return the rows as the last step sees them, as an array of numbers."""
    X = as_seen(estimator, X)
    X = X.toarray() if sparse.issparse(X) else X
    return np.asarray(check_array(X, dtype=np.float64, input_name=name))


def names_seen(estimator: Any, model: Any, n_features: int) -> list[str]:
    """Return the names of the features that the last step saw, x0, x1, … if none."""
    names = getattr(model, "feature_names_in_", None)
    if names is None and isinstance(estimator, Pipeline) and len(estimator) > 1:
        try:
            names = estimator[:-1].get_feature_names_out()
        except (AttributeError, ValueError):
            names = None
    if names is None:
        names = [f"x{j}" for j in range(n_features)]
    return [str(name) for name in names]


def chosen_size(model: Any) -> int | None:
    """Return the steps of a KMP model; None if each class has a path of its own."""
    path = model.truncate().path_
    return len(path) if len(path.paths) == 1 else None


def column_numbers(features: Any, names: Sequence[str]) -> tuple[int, int]:
    """Return the numbers of two columns, given by names or numbers."""
    if isinstance(features, str) or np.ndim(features) != 1 or len(features) != 2:
        raise ValueError(
            f"features={features!r} must be two columns, by their names or numbers."
        )
    first, second = (_column_number(each, features, names) for each in features)
    if first == second:
        raise ValueError(f"features={features!r} names one column twice.")
    return first, second


def _column_number(feature: Any, features: Any, names: Sequence[str]) -> int:
    if isinstance(feature, str) and feature in names:
        return names.index(feature)
    is_number = isinstance(feature, (int, np.integer)) and not isinstance(feature, bool)
    if is_number and 0 <= feature < len(names):
        return int(feature)
    shown = ", ".join(map(repr, names[:5])) + (", …" if len(names) > 5 else "")
    raise ValueError(
        f"features={features!r}: there is no column {feature!r} among {len(names)}, "
        f"which are {shown} or 0 to {len(names) - 1}."
    )
