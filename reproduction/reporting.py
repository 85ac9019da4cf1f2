"""What reports share: parameters as printed, sentences, a picture of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import sqrt
from typing import Any

import numpy as np

from .experiment import Row

# Names of the parameters, in the order in which they are printed.
WORDS = {
    "n_components": "d",
    "n_neighbors": "k",
    "K": "K",
    "penalty": "λ",
    "bandwidth": "σ",
    "variance": "σ²",
    "sigma": "σ",
    "C": "C",
}
# Why a quick version differs.
FEWER = "the quick version has fewer rows"
OTHER_CHOICE = (
    "the paper's grid is unknown, and validation rows tell near-equal settings apart "
    "by very little"
)
UNKNOWN = "no reason is known"
# What many experiments say of their seeds.
IN_ORDER = "Rows are taken in the order of the files."
INSIDE = (
    "Methods draw folds, landmarks and samples of rows with seed 0; estimators of this "
    "library with random_state=None, too, draw the same at every fit."
)


def shortened(grid: dict[str, list[Any]]) -> dict[str, list[Any]]:
    """Return two or three values of each parameter, for a quick version."""
    return {key: values[:: max(1, len(values) // 2)] for key, values in grid.items()}


def parameter_text(params: Mapping[str, Any]) -> str:
    """Return "K 15, λ 30"."""
    words = (f"{w} {params[key]:.4g}" for key, w in WORDS.items() if key in params)
    return ", ".join(words)


def labeled(model: str, params: Mapping[str, Any], how: str = "") -> str:
    """Return "HKNN, K 15, λ 30 (as published)"."""
    parts = [model, parameter_text(params)] if params else [model]
    return ", ".join(parts) + (f" ({how})" if how else "")


def runs(chosen: Any, published: Any) -> dict[str, Any]:
    """Return the settings to show, by origin; only one if both are the same."""
    if chosen == published:
        return {"as published and by validation": published}
    return {"as published": published, "by validation": chosen}


def compared(
    model: str, chosen: Mapping[str, Any], published: Mapping[str, Any]
) -> str:
    """Return a sentence that compares the chosen with the published parameters."""
    start = f"{model}: validation chose {parameter_text(chosen)}"
    if chosen == published:
        return f"{start}, as published."
    return f"{start}; published: {parameter_text(published)}."


def chance(what: str, errors: int, n: int) -> str:
    """Return a sentence on how much of the error is due to the choice of rows."""
    p = errors / n
    return (
        f"{what}: with other test rows of the same kind, an error of {100 * p:.2f} % "
        f"of {n} would vary by a standard error of "
        f"{100 * sqrt(p * (1 - p) / n):.2f} points."
    )


def dots(rows: Sequence[Row], axis: str) -> Callable[[Any], None]:
    """Return a function that draws each row: ours as a dot, published as a bar."""

    def draw(figure: Any) -> None:
        figure.set_size_inches(8.5, 1.5 + 0.3 * len(rows))
        axes = figure.subplots()
        places = np.arange(len(rows))[::-1]
        placed = list(zip(rows, places, strict=True))
        published = [(row, y) for row, y in placed if row.published is not None]
        unpublished = [(row, y) for row, y in placed if row.published is None]
        if published:
            x, y = zip(*((row.published, y) for row, y in published), strict=True)
            axes.plot(x, y, "|", color="black", markersize=16, label="published")
        _ours(axes, published, "C0", "ours, of a published row")
        _ours(axes, unpublished, "C1", "ours: today's methods, defaults")
        axes.set_yticks(places, [row.label for row in rows])
        axes.set_xlabel(axis)
        axes.grid(alpha=0.3)
        figure.legend(loc="outside lower center", ncols=3, fontsize="small")

    return draw


def _ours(
    axes: Any, placed: Sequence[tuple[Row, float]], color: str, label: str
) -> None:
    if placed:
        rows, y = zip(*placed, strict=True)
        x, errors = zip(*((r.ours, r.standard_error or 0.0) for r in rows), strict=True)
        axes.errorbar(x, y, xerr=errors, fmt="o", color=color, label=label)
