"""Rows on which a model can be tried when none are given: its support points, raw.

A support point is known after the preparation; each step is undone to find a raw row
that leads there. What a step does not tell, such as a column that no kernel sees, is 0.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import singledispatch

import numpy as np
from scipy.special import ndtr

from pursuit.export.formula import Formula, KernelGroup
from pursuit.export.steps import (
    Affine,
    Branches,
    Encode,
    Fill,
    Flag,
    Linear,
    OneHot,
    Power,
    Quantiles,
    Step,
    Take,
)

from .lowering import leaves_of, width_after, width_after_all

__all__ = ["typical_rows"]


def typical_rows(formula: Formula, support: np.ndarray | None = None) -> np.ndarray:
    """Return raw rows (n, d), words as codes, near the model's support points.

    Parameters
    ----------
    formula : Formula
    support : ndarray of shape (m, d), optional
        Support points after the preparation; by default found from the centers of the
        first kernel. Without a kernel, one row of zeros is returned.
    """
    width = len(formula.inputs)
    if support is None:
        support = _centers(formula, width_after_all(formula.steps, width))
    points = _all_undone(formula.steps, support, width)
    codes = [each.categories is not None for each in formula.inputs]
    points = np.where(np.isfinite(points), points, 0.0)
    points[:, codes] = np.maximum(np.round(points[:, codes]), 0.0)
    return points


def _centers(formula: Formula, width: int) -> np.ndarray:
    for group in formula.groups:
        if isinstance(group, KernelGroup) and group.n_functions:
            for leaf in leaves_of(group.kernel):
                points = leaf.centers
                if leaf.factor is not None and leaf.factor.ndim == 1:
                    points = points / np.where(leaf.factor == 0, 1.0, leaf.factor)
                elif leaf.factor is not None:
                    points = points @ np.linalg.pinv(leaf.factor)
                return points if leaf.origin is None else points + leaf.origin
    return np.zeros((1, width))


# NaN stands for what is not known yet.


@singledispatch
def _undone(step: Step, Z: np.ndarray, width: int) -> np.ndarray:
    return Z  # Clip and Fill leave usual values as they are


@_undone.register
def _(step: Affine, Z: np.ndarray, width: int) -> np.ndarray:
    scale = np.where(step.scale == 0, 1.0, step.scale)
    return np.asarray((Z - step.shift) / scale)


@_undone.register
def _(step: Linear, Z: np.ndarray, width: int) -> np.ndarray:
    return np.asarray(np.nan_to_num(Z) @ np.linalg.pinv(step.matrix))


@_undone.register
def _(step: Take, Z: np.ndarray, width: int) -> np.ndarray:
    X = np.full((len(Z), width), np.nan)
    X[:, step.columns] = Z
    return X


@_undone.register
def _(step: Fill, Z: np.ndarray, width: int) -> np.ndarray:
    return np.where(np.isnan(Z), step.values, Z)


@_undone.register
def _(step: Flag, Z: np.ndarray, width: int) -> np.ndarray:
    return np.full((len(Z), width), np.nan)


@_undone.register
def _(step: OneHot, Z: np.ndarray, width: int) -> np.ndarray:
    columns = []
    for known, places in zip(step.categories, step.places, strict=True):
        if not len(known):
            columns.append(np.full(len(Z), np.nan))
            continue
        # A dropped category has no column: it is the one when no other is.
        scores = np.where(places >= 0, Z[:, np.maximum(places, 0)], 0.5)
        columns.append(known[np.argmax(scores, axis=1)])
    return np.column_stack(columns) if columns else np.empty((len(Z), 0))


@_undone.register
def _(step: Encode, Z: np.ndarray, width: int) -> np.ndarray:
    columns = []
    for z, known, codes in zip(Z.T, step.categories, step.codes, strict=True):
        distances = np.abs(np.nan_to_num(z)[:, None] - np.nan_to_num(codes, nan=np.inf))
        columns.append(known[np.argmin(distances, axis=1)])
    return np.column_stack(columns)


@_undone.register
def _(step: Power, Z: np.ndarray, width: int) -> np.ndarray:
    with np.errstate(all="ignore"):
        if step.method == "box-cox":
            return np.exp(_logarithm(Z, step.powers))
        up = np.expm1(_logarithm(np.maximum(Z, 0.0), step.powers))
        down = -np.expm1(_logarithm(np.maximum(-Z, 0.0), 2.0 - step.powers))
        return np.where(Z >= 0, up, down)


def _logarithm(Z: np.ndarray, powers: np.ndarray) -> np.ndarray:
    is_zero = np.abs(powers) < np.spacing(1.0)
    safe = np.where(is_zero, 1.0, powers)
    return np.where(is_zero, Z, np.log1p(safe * Z) / safe)


@_undone.register
def _(step: Quantiles, Z: np.ndarray, width: int) -> np.ndarray:
    shares = ndtr(Z) if step.is_normal else Z
    columns = zip(shares.T, step.quantiles.T, strict=True)
    return np.column_stack([np.interp(s, step.references, q) for s, q in columns])


@_undone.register
def _(step: Branches, Z: np.ndarray, width: int) -> np.ndarray:
    X = np.full((len(Z), width), np.nan)
    first = 0
    for branch in step.branches:
        last = first + width_after_all(branch, width)
        part = _all_undone(branch, Z[:, first:last], width)
        X = np.where(np.isnan(X), part, X)
        first = last
    return X


def _all_undone(steps: Sequence[Step], Z: np.ndarray, width: int) -> np.ndarray:
    widths = [width]
    for step in steps:
        widths.append(width_after(step, widths[-1]))
    for step, before in zip(reversed(steps), widths[-2::-1], strict=True):
        Z = _undone(step, Z, before)
    return Z
