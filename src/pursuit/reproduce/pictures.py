"""Pictures shared by several tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .experiment import Row


def dots(rows: Sequence[Row], axis: str) -> Callable[[Any], None]:
    """Return a function that draws each row: ours as a dot, published as a bar."""

    def draw(figure: Any) -> None:
        figure.set_size_inches(8.5, 1.5 + 0.3 * len(rows))
        axes = figure.subplots()
        places = np.arange(len(rows))[::-1]
        placed = list(zip(rows, places, strict=True))
        compared = [(row, y) for row, y in placed if row.published is not None]
        own = [(row, y) for row, y in placed if row.published is None]
        if compared:
            x, y = zip(*((row.published, y) for row, y in compared), strict=True)
            axes.plot(x, y, "|", color="black", markersize=16, label="published")
        _ours(axes, compared, "C0", "ours, of a published row")
        _ours(axes, own, "C1", "ours: today's methods, defaults")
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
