"""Which width, ridge and size the model gets: all that held-out rows decide."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit._warnings import warn
from pursuit.engine.problem import Problem
from pursuit.functions import Functions

from .plan import Plan
from .scope import scope_of_search
from .search import Trial, compare, lowest, search
from .selection import SearchInterrupted

# How far sizes are tried again, with all functions: a little beyond what was best with
# some of them, of which it takes more.
_FURTHER, _MORE = 1.25, 30


@dataclass(frozen=True, eq=False)
class Choice:
    """What the final pursuit shall do.

    Attributes
    ----------
    dictionary : Functions
    alpha : float
    max_steps : int
    sizes : list of int or None
        On each path; None where the paths themselves will tell.
    trials : list of Trial
        All that was compared.
    """

    dictionary: Functions
    alpha: float
    max_steps: int
    sizes: list[int] | None
    trials: list[Trial]


def choose(plan: Plan, X: Any, Y: np.ndarray, weight: np.ndarray) -> Choice:
    """Return what held-out rows decide of a fit as planned."""
    # One held-out part and nothing to compare need no search: the final pursuit
    # itself is watched.
    if not plan.folds or not (plan.selection == "cv" or plan.has_choice):
        first = plan.dictionaries[0], plan.alphas[0]
        return Choice(*first, plan.max_steps, None, [])
    trials, place, is_whole = _searched(plan, X, Y, weight)
    best, dictionary = lowest(trials), plan.dictionaries[place]
    if not is_whole and plan.selection == "cv":
        again = _again(plan, X, plan.problems(Y, weight), dictionary, best)
        if again is not None:
            trials.append(again)
            best = again
    elif not is_whole or plan.selection not in ("cv", "validation"):
        return Choice(dictionary, best.alpha, plan.max_steps, None, trials)
    max_steps = max(1, *(len(curve.mean) - 1 for curve in best.curves))
    sizes = best.sizes(plan.tolerance)
    return Choice(dictionary, best.alpha, max_steps, sizes, trials)


def _searched(
    plan: Plan, X: Any, Y: np.ndarray, weight: np.ndarray
) -> tuple[list[Trial], int, bool]:
    """Return all trials, the place of the best width, and whether all was looked at."""
    scope = scope_of_search(plan, X, Y, weight)
    trials = search(scope.plan, scope.X, scope.problems)
    place = list(scope.plan.dictionaries).index(lowest(trials).dictionary)
    return trials, place, scope.plan is plan


def _again(
    plan: Plan, X: Any, problems: list[Problem], dictionary: Functions, best: Trial
) -> Trial | None:
    """Return the best trial of some functions and folds, made again with all.

    ``None`` if it was interrupted.
    """
    furthest = [int(_FURTHER * curve.best()) + _MORE for curve in best.curves]
    problems = [
        replace(p, max_steps=min(p.max_steps, n))
        for p, n in zip(problems, furthest, strict=True)
    ]
    try:
        return compare(plan, X, problems, [(dictionary, [best.alpha])])[0]
    except SearchInterrupted:
        warn(
            "The choice of a size was interrupted; the one that was best in the search "
            "is used."
        )
        return None
