"""Pictures that several tables share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pursuit.reproduce.experiment import Row


def dots(rows: Sequence[Row], axis: str) -> Callable[[Any], None]:
    """Return what draws a line for each row: ours a dot, published a bar across it."""

    def draw(figure: Any) -> None:
        figure.set_size_inches(8.5, 1.5 + 0.3 * len(rows))
        axes = figure.subplots()
        place = np.arange(len(rows))[::-1]
        _published(axes, rows, place)
        for has, color, label in (
            (True, "C0", "ours, of a published row"),
            (False, "C1", "ours: today's methods, defaults"),
        ):
            shown = [(r, p) for r, p in zip(rows, place, strict=True) if _is(r) == has]
            if shown:
                x = [row.ours for row, _ in shown]
                y = [p for _, p in shown]
                errors = [row.standard_error or 0.0 for row, _ in shown]
                axes.errorbar(x, y, xerr=errors, fmt="o", color=color, label=label)
        axes.set_yticks(place, [row.label for row in rows])
        axes.set_xlabel(axis)
        axes.grid(alpha=0.3)
        figure.legend(loc="outside lower center", ncols=3, fontsize="small")

    return draw


def _is(row: Row) -> bool:
    return row.published is not None


def _published(axes: Any, rows: Sequence[Row], place: np.ndarray) -> None:
    shown = [(r.published, p) for r, p in zip(rows, place, strict=True) if _is(r)]
    if shown:
        x, y = zip(*shown, strict=True)
        axes.plot(x, y, "|", color="black", markersize=16, label="published")
