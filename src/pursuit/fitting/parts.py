"""A part of large data: rows and functions that are enough to compare settings."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .plan import Plan

# Minimum number of rows from each class, fitted and held out.
_LEAST_OF_A_PART = 30


def enough_rows(
    plan: Plan, parts: Sequence[np.ndarray], n_rows: int, n_held_out: int
) -> np.ndarray:
    """Return the rows of lowest priority in each stratum of the data.

    Strata are the classes within each fold; small ones get more than their share.

    Parameters
    ----------
    plan : Plan
    parts : sequence of ndarray of shape (l,)
        What the folds hold out, as in :class:`.Folds`.
    n_rows : int
        Number of distinct rows, about.
    n_held_out : int
        Minimum number of rows that are held out.
    """
    Y, priority = plan.sample.Y, plan.sample.priority
    used = np.flatnonzero(priority >= 0)
    held_by = np.zeros(len(used), dtype=np.int64)
    for f, part in enumerate(parts, start=1):
        held_by[part[used] > 0] = f
    code = Y[:, used].argmax(axis=0) if len(Y) > 1 else Y[0, used] > 0
    stratum = held_by * (len(Y) + 1) + (code if plan.sample.is_class else 0)
    strata = np.unique(stratum)
    share = n_rows / plan.sample.n_distinct
    least = max(_LEAST_OF_A_PART, n_held_out // len(strata))
    rows = []
    for one in strata:
        members = used[stratum == one]
        priorities = np.unique(priority[members])
        n = min(len(priorities), max(least, int(np.ceil(share * len(priorities)))))
        rows.append(members[priority[members] <= priorities[n - 1]])
    return np.sort(np.concatenate(rows))


def enough_atoms(plan: Plan, rows: np.ndarray, n: int) -> np.ndarray:
    """Return the functions on ``n`` rows of lowest priority, and all without a row.

    Functions on rows outside the sample are left out.
    """
    priority, at = plan.sample.priority, plan.grid.rows
    is_present = np.zeros(len(plan.sample), dtype=bool)
    is_present[rows] = True
    on_rows = np.flatnonzero((at >= 0) & is_present[at])
    first = on_rows[np.argsort(priority[at[on_rows]], kind="stable")[:n]]
    return np.sort(np.concatenate([np.flatnonzero(at < 0), first]))
