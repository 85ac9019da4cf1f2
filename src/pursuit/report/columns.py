"""The columns of raw rows: what they hold, and what of a prepared row they shape."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import numpy as np

from pursuit.export import Formula

__all__ = ["column_shares", "columns", "typical_row"]

# A column of numbers with at most so many values may hold codes.
FEW = 25


def columns(
    formula: Formula, rows: np.ndarray, dates: Collection[str] = ()
) -> list[dict[str, Any]]:
    """Return what each column of coded rows holds, as plain values.

    ``dates`` are names of columns that hold days since 1970.
    """
    typical = typical_row(formula, rows, dates)
    return [
        {
            "name": each.name,
            "isUsed": each.is_used,
            "isDate": each.name in dates,
            "words": None if each.categories is None else list(each.categories),
            "missing": int(np.isnan(column).sum()),
            "typical": float(start),
            "takesMissing": _takes(formula, typical, j, np.nan),
            "takesOthers": each.categories is not None
            and _takes(formula, typical, j, -1.0),
            **_described(column, each.categories),
        }
        for j, (each, column, start) in enumerate(
            zip(formula.inputs, rows.T, typical, strict=True)
        )
    ]


def typical_row(
    formula: Formula, rows: np.ndarray, dates: Collection[str] = ()
) -> np.ndarray:
    """Return the median of each column of numbers, the most frequent word of others."""
    return np.array(
        [
            _middle(column, each.categories is not None, each.name in dates)
            for each, column in zip(formula.inputs, rows.T, strict=True)
        ]
    )


def column_shares(
    formula: Formula, rows: np.ndarray, importances: np.ndarray
) -> np.ndarray | None:
    """Return importances of prepared features summed for each raw column.

    None if a feature mixes several columns, as a linear map does.
    """
    mixes = _shaped_features(formula, rows)
    if np.any(mixes.sum(axis=0) > 1):
        return None
    return np.asarray(mixes @ importances)


def _shaped_features(formula: Formula, rows: np.ndarray) -> np.ndarray:
    """Return which features (d, d') of a prepared row each raw column changes."""
    some = np.vstack([rows[:50], typical_row(formula, rows)])
    before = formula.prepared(some)
    shaped = np.zeros((some.shape[1], before.shape[1]), dtype=bool)
    for j, each in enumerate(formula.inputs):
        for value in _other_values(rows[:, j], each.categories):
            changed = some.copy()
            changed[:, j] = value
            after = formula.prepared(changed)
            is_same = (after == before) | (np.isnan(after) & np.isnan(before))
            shaped[j] |= ~is_same.all(axis=0)
    return shaped


def _other_values(column: np.ndarray, categories: Any) -> np.ndarray:
    """Return values that differ from each other, to see what a column changes."""
    if categories is not None:
        return np.array([*range(len(categories)), np.nan], dtype=np.float64)
    known = column[~np.isnan(column)]
    distinct = np.unique(known)
    few = distinct if len(distinct) <= FEW else np.quantile(known, [0.0, 0.5, 1.0])
    return np.array([*few, *(few[-1:] + 1.0), np.nan])


def _middle(column: np.ndarray, is_word: bool, is_date: bool) -> float:
    known = column[~np.isnan(column)]
    if is_word:
        known = known[known >= 0]
        return float(np.bincount(known.astype(int)).argmax()) if len(known) else np.nan
    if not len(known):
        return np.nan
    # A value that occurs, so that a column of whole numbers or codes gets one of them.
    middle = float(np.sort(known)[(len(known) - 1) // 2])
    if is_date:  # whose digits are days and hours
        return middle
    is_measured = middle != round(middle) and len(np.unique(known)) > FEW
    return float(f"{middle:.4g}") if is_measured else middle


def _takes(formula: Formula, typical: np.ndarray, j: int, value: float) -> bool:
    """Return whether the preparation can work with this value in the column."""
    row = typical.copy()
    row[j] = value
    return bool(np.isfinite(formula.prepared(row[None])).all())


def _described(column: np.ndarray, categories: Any) -> dict[str, Any]:
    known = column[~np.isnan(column)]
    if categories is not None:
        codes = known.astype(int)
        counts = np.bincount(codes[codes >= 0], minlength=len(categories))
        return {"counts": counts.tolist(), "others": int(np.sum(codes < 0))}
    if not len(known):
        return {"low": None, "high": None, "isWhole": False, "few": [], "span": None}
    return {
        "low": float(known.min()),
        "high": float(known.max()),
        "isWhole": bool(np.all(known == np.round(known))),
        **_drawn(known),
    }


def _drawn(known: np.ndarray) -> dict[str, Any]:
    """Return where partial dependence is drawn: at each of a few values, or in a range.

    From the 1st to the 99th percentile, so that one outlier does not take the axis.
    """
    distinct = np.unique(known)
    if len(distinct) <= FEW:
        return {"few": distinct.tolist(), "span": distinct[[0, -1]].tolist()}
    low, high = np.quantile(known, [0.01, 0.99])
    span = [low, high] if low < high else distinct[[0, -1]]
    return {"few": None, "span": [float(f"{end:.6g}") for end in span]}
