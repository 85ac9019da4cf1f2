"""What a search looks at: all functions, rows and folds, or of many some.

Widths and ridges differ by more than it takes all of a large data set to tell.  The
model itself, and where folds choose it also its size, have all.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .plan import Plan
from .problem import Problem
from .selection import Sites

# What is enough to compare by: functions (and at least two for each step), rows, and
# rows that are held out.
ENOUGH_ATOMS, ENOUGH_ROWS, ENOUGH_HELD_OUT = 2_000, 20_000, 3_000


@dataclass(frozen=True, eq=False)
class Scope:
    """A plan and the data that it is for.

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
    """Return what a search looks at; its plan is the given one where that is all."""
    if plan.relearn is not None or not plan.has_choice:
        return Scope(plan, X, plan.problems(Y, weight))
    rows, folds = np.arange(len(weight)), plan.folds
    if plan.has_own_folds:
        rows = np.flatnonzero(plan.turns < ENOUGH_ROWS)
        folds = _enough_folds(folds, weight)
    atoms = _enough_atoms(plan, rows)
    is_all = len(rows) == len(weight) and len(atoms) == len(plan.labels)
    if is_all and len(folds) == len(plan.folds):
        return Scope(plan, X, plan.problems(Y, weight))
    smaller = replace(
        plan,
        dictionaries=[dictionary[atoms] for dictionary in plan.dictionaries],
        sites=Sites(plan.sites.of_rows[rows], plan.sites.of_atoms[atoms]),
        labels=plan.labels[atoms],
        turns=plan.turns[rows],
        folds=[fold[rows] for fold in folds],
    )
    return Scope(smaller, X[rows], smaller.problems(Y[:, rows], weight[rows]))


def _enough_folds(folds: list[np.ndarray], weight: np.ndarray) -> list[np.ndarray]:
    """Return the first of the folds: as many as hold out enough rows."""
    n_held_out = [np.count_nonzero(weight * np.maximum(fold, 0)) for fold in folds]
    n_before = np.cumsum([0, *n_held_out[:-1]])
    return [f for f, n in zip(folds, n_before, strict=True) if n < ENOUGH_HELD_OUT]


def _enough_atoms(plan: Plan, rows: np.ndarray) -> np.ndarray:
    """Return the functions whose rows have the first turns, and all that have no row.

    Those of rows that are left out are left out.
    """
    at = plan.dictionaries[0].rows
    n = max(ENOUGH_ATOMS, 2 * plan.max_steps)
    is_present = np.zeros(len(plan.turns), dtype=bool)
    is_present[rows] = True
    on_rows = np.flatnonzero((at >= 0) & is_present[at])
    first = on_rows[np.argsort(plan.turns[at[on_rows]], kind="stable")[:n]]
    return np.sort(np.concatenate([np.flatnonzero(at < 0), first]))
