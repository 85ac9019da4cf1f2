"""Parameters as printed in tables, and sentences shared by several tables."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt
from typing import Any

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


def said(params: Mapping[str, Any]) -> str:
    """Return "K 15, λ 30"."""
    words = (f"{w} {params[key]:.4g}" for key, w in WORDS.items() if key in params)
    return ", ".join(words)


def labeled(model: str, params: Mapping[str, Any], how: str = "") -> str:
    """Return "HKNN, K 15, λ 30 (as published)"."""
    parts = [model, said(params)] if params else [model]
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
    start = f"{model}: validation chose {said(chosen)}"
    if chosen == published:
        return f"{start}, as published."
    return f"{start}; published: {said(published)}."


def chance(what: str, errors: int, n: int) -> str:
    """Return a sentence on how much of the error is due to the choice of rows."""
    p = errors / n
    return (
        f"{what}: with other test rows of the same kind, an error of {100 * p:.2f} % "
        f"of {n} would vary by a standard error of "
        f"{100 * sqrt(p * (1 - p) / n):.2f} points."
    )
