"""Support points as a reader can look at them: raw columns, and targets if known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline

from pursuit.export import Formula
from pursuit.functions import Functions

__all__ = ["Training", "points"]

# Numbers of all points together: their columns are cut to keep the file small.
MAX_NUMBERS = 8_000


@dataclass(frozen=True, eq=False)
class Training:
    """Rows that may hold the model's points.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        Raw rows, coded.
    prepared : array-like of shape (n, d')
        The same rows as the model sees them.
    targets : ndarray of shape (n, n_outputs) or None
        Their targets as numbers; classes as their places.
    is_given : bool
        Whether these are known to be the rows of the fit, though perhaps in another
        order: then it is an error if a point is not among them.
    """

    rows: np.ndarray
    prepared: Any
    targets: np.ndarray | None
    is_given: bool


def points(
    model: Any,
    formula: Formula,
    functions: Functions,
    training: Training,
    order: np.ndarray,
) -> dict[str, Any]:
    """Return names, columns and targets of the functions, in the order of choice.

    ``areRows`` says whether the given rows hold the points, in their places.

    ``order`` holds columns from the most to the least important, of which as many are
    kept as fit the page.
    """
    rows, names = np.asarray(functions.rows), functions.names
    is_centered = np.asarray(functions.is_centered)
    labels = [
        f"row {row}" if row >= 0 else name[:60]
        for row, name in zip(rows, names, strict=True)
    ]
    centers = _dense(functions.centers) if is_centered.any() else np.empty((0, 0))
    found = _found(training, rows, centers)
    if found is not None:
        columns = [(each.name, each.categories) for each in formula.inputs]
        values, kind = training.rows[found], "raw"
    else:
        columns = [(name, None) for name in _prepared_names(model, formula, centers)]
        values = np.full((len(rows), len(columns)), np.nan)
        if is_centered.any():
            values[is_centered] = centers
        kind = "prepared" if formula.steps else "raw"
    kept = _kept(len(rows), len(columns), order if kind == "raw" else None)
    targets = None if found is None else training.targets
    return {
        "kind": kind,
        "areRows": found is not None,
        "labels": labels,
        "isCentered": is_centered.tolist(),
        "places": kept,
        "names": [columns[j][0] for j in kept],
        "words": [None if (w := columns[j][1]) is None else list(w) for j in kept],
        "nLeftOut": len(columns) - len(kept),
        "values": values[:, kept].astype(np.float32),
        "targets": None if targets is None else targets[found],
    }


def _found(
    training: Training, rows: np.ndarray, centers: np.ndarray
) -> np.ndarray | None:
    """Return the place of each point among the rows; None if they do not hold all.

    Each point is where the fit found it, or, in rows of the fit in another order,
    wherever an equal row is.
    """
    if not len(rows) or len(centers) < len(rows) or rows.min() < 0:
        return None
    Z = _dense(training.prepared)
    if rows.max() < len(Z) and np.array_equal(Z[rows], centers):
        return rows
    if not training.is_given:
        return None
    place = {row.tobytes(): i for i, row in enumerate(_bytes(Z))}
    found = [place.get(row.tobytes(), -1) for row in _bytes(centers)]
    if min(found) < 0:
        raise ValueError(
            "X_train does not hold the model's support points: pass the rows that the "
            "model was fitted to, or leave X_train out."
        )
    return np.array(found)


def _bytes(Z: np.ndarray) -> np.ndarray:
    """Return rows whose bytes are equal if their numbers are: 0 and -0 are."""
    return np.ascontiguousarray(Z, dtype=np.float64) + 0.0


def _prepared_names(model: Any, formula: Formula, centers: np.ndarray) -> list[str]:
    """Return names of the features that the functions see."""
    if not formula.steps:
        return [each.name for each in formula.inputs]
    names: Any = None
    if isinstance(model, Pipeline) and len(model) > 1:
        try:
            names = model[:-1].get_feature_names_out()
        except (AttributeError, ValueError):
            names = None
    n = centers.shape[1]
    if names is None or len(names) != n:
        names = [f"z{j}" for j in range(n)]
    return [str(name) for name in names]


def _kept(n_points: int, n_columns: int, order: np.ndarray | None) -> list[int]:
    most = max(6, MAX_NUMBERS // max(1, n_points))
    ranked = range(n_columns) if order is None else order.tolist()
    return sorted([*ranked][:most])


def _dense(values: Any) -> np.ndarray:
    return np.asarray(values.toarray() if sparse.issparse(values) else values)
