"""Choose width, ridge and size by held-out rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit._interrupts import is_repeated
from pursuit._warnings import warn
from pursuit.engine.problem import Problem
from pursuit.functions import Functions

from .curves import Folds, SearchInterrupted, shared_curves
from .engines import Workbench
from .plan import Plan
from .scope import scope_of_search
from .search import Trial, bench_of_folds, lowest, search

# How far sizes are tried in the final comparison with all functions: factor of, and
# steps beyond, the best size with some of them.
_FURTHER, _MORE = 1.25, 30


@dataclass(frozen=True, eq=False)
class Choice:
    """Settings of the final pursuit.

    Attributes
    ----------
    dictionary : Functions
    alpha : float
    max_steps : int
    sizes : list of int or None
        Size on each path; None if the final paths determine it.
    trials : list of Trial
        All that was compared.
    is_cut_short : bool
        Whether the user interrupted it.
    bench : Workbench or None
        Inner products of all functions on all rows, if they were needed to choose the
        size and suit the final model too.
    """

    dictionary: Functions
    alpha: float
    max_steps: int
    sizes: list[int] | None
    trials: list[Trial]
    is_cut_short: bool = False
    bench: Workbench | None = None


def choose(plan: Plan, X: Any, Y: np.ndarray, weight: np.ndarray) -> Choice:
    """Return the dictionary, ridge and sizes that held-out rows choose."""
    # With a single held-out part and nothing to compare, no search is needed: the
    # final pursuit itself records the held-out error.
    if not plan.folds or not (plan.selection == "cv" or plan.has_choice):
        first = plan.dictionaries[0], plan.alphas[0]
        return Choice(*first, plan.max_steps, None, [])
    scope = scope_of_search(plan, X, Y, weight)
    found = search(scope.plan, scope.X, scope.problems)
    trials, best, is_cut_short = found.trials, lowest(found.trials), found.is_cut_short
    place = list(scope.plan.dictionaries).index(best.dictionary)
    dictionary, is_whole, bench = plan.dictionaries[place], scope.plan is plan, None
    if plan.selection == "cv" and not is_whole and not is_cut_short:
        again, bench = _again(plan, X, plan.problems(Y, weight), dictionary, best)
        is_cut_short = again is None
        best = again or best
        trials = [*trials, best] if again else trials
    elif not (plan.selection == "cv" or (plan.selection == "validation" and is_whole)):
        steps = plan.max_steps
        return Choice(dictionary, best.alpha, steps, None, trials, is_cut_short)
    max_steps = max(1, *(len(curve.mean) - 1 for curve in best.curves))
    sizes = best.sizes(plan.tolerance)
    return Choice(dictionary, best.alpha, max_steps, sizes, trials, is_cut_short, bench)


def _again(
    plan: Plan, X: Any, problems: list[Problem], dictionary: Functions, best: Trial
) -> tuple[Trial | None, Workbench | None]:
    """Repeat the best trial with all functions, rows and folds.

    Return also the workbench, if it suits the final model; no trial if it was
    interrupted.
    """
    furthest = [int(_FURTHER * curve.best()) + _MORE for curve in best.curves]
    problems = [
        replace(p, alpha=best.alpha, max_steps=min(p.max_steps, n))
        for p, n in zip(problems, furthest, strict=True)
    ]
    weight = problems[0].weight
    folds = Folds.of(plan.folds, weight, plan.sites)
    try:
        # The final model comes last, under the weights of all rows.
        weights, alphas = [*folds.weights, weight], [best.alpha]
        bench = bench_of_folds(plan, X, problems, dictionary, weights, alphas)
        (curves,) = shared_curves(bench, problems, folds, alphas)
    except (SearchInterrupted, KeyboardInterrupt) as stop:
        if not isinstance(stop, SearchInterrupted) and is_repeated():
            raise
        warn(
            "The choice of a size was interrupted; the one that was best in the search "
            "is used."
        )
        return None, None
    again = Trial(dictionary, best.alpha, curves)
    return again, bench if bench.suits_model(problems[0]) else None
