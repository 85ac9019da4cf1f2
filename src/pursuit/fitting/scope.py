"""Subsample rows, candidates and folds for the search on large data.

A part is enough to rank widths and ridges; the final model, and its size if folds
choose it, use everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit.engine.problem import Problem

from .folds import enough_folds
from .plan import Plan

# Enough to compare widths and ridges: functions (at least two for each step), rows,
# and held-out rows.
ENOUGH_ATOMS, ENOUGH_ROWS, HELD_OUT_TO_RANK = 2_000, 20_000, 3_000

# Minimum number of rows from each class, fitted and held out.
_LEAST_OF_A_PART = 30


@dataclass(frozen=True, eq=False)
class Scope:
    """A plan with its data.

    Attributes
    ----------
    plan : Plan
    X : array or CSR of shape (l, d)
    problems : list of Problem
    """

    plan: Plan
    X: Any
    problems: list[Problem]


def scope_of_search(plan: Plan, X: Any, Y: np.ndarray, weight: np.ndarray) -> Scope:
    """Return the plan and data of the search; the given plan itself if that is all."""
    whole = Scope(plan, X, plan.problems(Y, weight))
    if plan.grid.relearn is not None or not plan.grid.has_choice:
        return whole
    rows, held_out = np.arange(len(weight)), plan.held_out
    if held_out.is_random:
        folds = enough_folds(held_out.folds, plan.rows.sites.of_rows, HELD_OUT_TO_RANK)
        held_out = replace(held_out, folds=folds)
        if plan.rows.turns.max() >= ENOUGH_ROWS:
            rows = _enough_rows(plan, folds, Y)
    atoms = _enough_atoms(plan, rows)
    has_all_rows = len(rows) == len(weight)
    has_all_atoms = len(atoms) == len(plan.rows.labels)
    has_all_folds = len(held_out.folds) == len(plan.held_out.folds)
    if has_all_rows and has_all_atoms and has_all_folds:
        return whole
    smaller = replace(
        plan,
        grid=plan.grid.some(atoms),
        rows=plan.rows.some(rows, atoms),
        held_out=held_out.some(rows),
    )
    problems = smaller.problems(Y[:, rows], weight[rows])
    return Scope(smaller, X if has_all_rows else X[rows], problems)


def _enough_rows(plan: Plan, folds: list[np.ndarray], Y: np.ndarray) -> np.ndarray:
    """Return the rows of highest priority in each part of the data.

    Parts are the classes within each fold; small ones get more than their share.
    """
    used = np.flatnonzero(plan.rows.turns >= 0)
    held_by = np.zeros(len(used), dtype=np.int64)
    for f, fold in enumerate(folds, start=1):
        held_by[fold[used] > 0] = f
    kind = Y[:, used].argmax(axis=0) if len(Y) > 1 else Y[0, used] > 0
    part = held_by * (len(Y) + 1) + (kind if plan.is_class else 0)
    parts = np.unique(part)
    share = ENOUGH_ROWS / (plan.rows.turns.max() + 1)
    least = max(_LEAST_OF_A_PART, HELD_OUT_TO_RANK // len(parts))
    rows = []
    for one in parts:
        its = used[part == one]
        turns = np.unique(plan.rows.turns[its])
        n = min(len(turns), max(least, int(np.ceil(share * len(turns)))))
        rows.append(its[plan.rows.turns[its] <= turns[n - 1]])
    return np.sort(np.concatenate(rows))


def _enough_atoms(plan: Plan, rows: np.ndarray) -> np.ndarray:
    """Return the functions on rows of highest priority, and all that have no row.

    Functions on rows outside the sample are left out.
    """
    at = plan.grid.dictionaries[0].rows
    n = max(ENOUGH_ATOMS, 2 * plan.steps.max_steps)
    is_present = np.zeros(len(plan.rows.turns), dtype=bool)
    is_present[rows] = True
    on_rows = np.flatnonzero((at >= 0) & is_present[at])
    first = on_rows[np.argsort(plan.rows.turns[at[on_rows]], kind="stable")[:n]]
    return np.sort(np.concatenate([np.flatnonzero(at < 0), first]))
