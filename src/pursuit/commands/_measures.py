"""Errors of predictions, beside that of a constant."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

__all__ = ["Measured", "best_constant", "measured"]


@dataclass(frozen=True)
class Measured:
    """Error on rows, and that of a constant.

    Attributes
    ----------
    error, baseline : float
        Share of rows that are misclassified, or the root of the mean squared error.
    constant : str
        What the baseline always predicts.
    n_rows : int
        Number of rows.
    is_class : bool
        Whether classes were predicted.
    explained : float, optional
        Share of the variance that is explained, in regressions.
    """

    error: float
    baseline: float
    constant: str
    n_rows: int
    is_class: bool
    explained: float | None = None

    @classmethod
    def of_dict(cls, told: dict[str, Any]) -> Measured:
        """Return what JSON tells."""
        explained = told["explained"]
        return cls(
            float(told["error"]),
            float(told["baseline"]),
            str(told["constant"]),
            int(told["n_rows"]),
            bool(told["is_class"]),
            None if explained is None else float(explained),
        )


def best_constant(y: np.ndarray, weight: np.ndarray, is_class: bool) -> Any:
    """Return the best constant: the most frequent class, or the mean."""
    if not is_class:
        return float(np.average(y, weights=weight))
    labels, codes = np.unique(y, return_inverse=True)
    return labels[np.bincount(codes, weight).argmax()]


def measured(
    predicted: np.ndarray, y: np.ndarray, weight: np.ndarray, constant: Any
) -> Measured:
    """Return the error of predictions, and that of a constant."""
    if not weight.any():
        weight = np.ones(len(y))
    if not isinstance(constant, float):
        return Measured(
            error=float(np.average(predicted != y, weights=weight)),
            baseline=float(np.average(y != constant, weights=weight)),
            constant=str(constant),
            n_rows=len(y),
            is_class=True,
        )
    squared = np.average((predicted - y) ** 2, weights=weight)
    of_constant = np.average((constant - y) ** 2, weights=weight)
    variance = np.average((y - np.average(y, weights=weight)) ** 2, weights=weight)
    return Measured(
        error=float(np.sqrt(squared)),
        baseline=float(np.sqrt(of_constant)),
        constant=f"{constant:.6g}",
        n_rows=len(y),
        is_class=False,
        explained=float(1 - squared / variance) if variance > 0 else None,
    )
