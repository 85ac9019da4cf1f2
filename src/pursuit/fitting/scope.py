"""Subsample rows, candidates and folds for the search on large data.

A part is enough to rank widths and ridges; the final model, and its size if folds
choose it, use everything.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit.engine.problem import Judge, Problem

from .folds import enough_folds
from .held_out import Sites
from .plan import Plan

# Enough to compare widths and ridges: functions (at least two for each step), rows,
# and held-out rows.
ENOUGH_ATOMS, ENOUGH_ROWS, ENOUGH_HELD_OUT = 2_000, 20_000, 3_000

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
    if plan.relearn is not None or not plan.has_choice:
        return whole
    rows, folds = np.arange(len(weight)), plan.folds
    if plan.has_own_folds:
        folds = enough_folds(folds, plan.sites.of_rows, ENOUGH_HELD_OUT)
        if plan.turns.max() >= ENOUGH_ROWS:
            rows = _enough_rows(plan, folds, Y)
    atoms = _enough_atoms(plan, rows)
    has_all_rows = len(rows) == len(weight)
    has_all_atoms = len(atoms) == len(plan.labels)
    if has_all_rows and has_all_atoms and len(folds) == len(plan.folds):
        return whole
    smaller = replace(
        plan,
        dictionaries=[dictionary[atoms] for dictionary in plan.dictionaries],
        sites=Sites(plan.sites.of_rows[rows], plan.sites.of_atoms[atoms]),
        labels=plan.labels[atoms],
        turns=plan.turns[rows],
        folds=[fold[rows] for fold in folds],
        score=None if plan.score is None else _score_of(plan.score, rows),
    )
    problems = smaller.problems(Y[:, rows], weight[rows])
    return Scope(smaller, X if has_all_rows else X[rows], problems)


def _score_of(score: Judge, rows: np.ndarray) -> Judge:
    """Return the score of some rows, addressed by their positions among them."""
    return lambda places, values, weight: score(rows[places], values, weight)


def _enough_rows(plan: Plan, folds: list[np.ndarray], Y: np.ndarray) -> np.ndarray:
    """Return the rows of highest priority in each part of the data.

    Parts are the classes within each fold; small ones get more than their share.
    """
    used = np.flatnonzero(plan.turns >= 0)
    held_by = np.zeros(len(used), dtype=np.int64)
    for f, fold in enumerate(folds, start=1):
        held_by[fold[used] > 0] = f
    kind = Y[:, used].argmax(axis=0) if len(Y) > 1 else Y[0, used] > 0
    part = held_by * (len(Y) + 1) + (kind if plan.is_class else 0)
    parts = np.unique(part)
    share = ENOUGH_ROWS / (plan.turns.max() + 1)
    least = max(_LEAST_OF_A_PART, ENOUGH_HELD_OUT // len(parts))
    rows = []
    for one in parts:
        its = used[part == one]
        turns = np.unique(plan.turns[its])
        n = min(len(turns), max(least, int(np.ceil(share * len(turns)))))
        rows.append(its[plan.turns[its] <= turns[n - 1]])
    return np.sort(np.concatenate(rows))


def _enough_atoms(plan: Plan, rows: np.ndarray) -> np.ndarray:
    """Return the functions on rows of highest priority, and all that have no row.

    Functions on rows outside the sample are left out.
    """
    at = plan.dictionaries[0].rows
    n = max(ENOUGH_ATOMS, 2 * plan.max_steps)
    is_present = np.zeros(len(plan.turns), dtype=bool)
    is_present[rows] = True
    on_rows = np.flatnonzero((at >= 0) & is_present[at])
    first = on_rows[np.argsort(plan.turns[at[on_rows]], kind="stable")[:n]]
    return np.sort(np.concatenate([np.flatnonzero(at < 0), first]))
