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
    grid, selection = plan.grid, plan.size.selection
    # With a single held-out part and nothing to compare, no search is needed: the
    # final pursuit itself records the held-out error.
    if not plan.held_out.folds or not (selection == "cv" or grid.has_choice):
        dictionary, alpha = grid.dictionaries[0], grid.alphas[0]
        return Choice(dictionary, alpha, plan.steps.max_steps, None, [])
    scope = scope_of_search(plan, X, Y, weight)
    found = search(scope.plan, scope.X, scope.problems)
    best = lowest(found.trials)
    dictionary = grid.dictionaries[scope.plan.grid.place(best.dictionary)]
    is_whole, is_cut_short = scope.plan is plan, found.is_cut_short
    choice = Choice(
        dictionary, best.alpha, plan.steps.max_steps, None, found.trials, is_cut_short
    )
    if selection == "cv" and not is_whole and not is_cut_short:
        return _sized_by_all(plan, X, plan.problems(Y, weight), choice, best)
    is_sized = selection == "cv" or (selection == "validation" and is_whole)
    return _sized(choice, best, plan) if is_sized else choice


def _sized(choice: Choice, trial: Trial, plan: Plan) -> Choice:
    """Return the choice with the sizes, and the end of the paths, of a trial."""
    max_steps = max(1, *(len(curve.mean) - 1 for curve in trial.curves))
    sizes = trial.sizes(plan.size.tolerance)
    return replace(choice, max_steps=max_steps, sizes=sizes)


def _sized_by_all(
    plan: Plan, X: Any, problems: list[Problem], choice: Choice, best: Trial
) -> Choice:
    """Return the choice, sized by the best trial with all functions, rows and folds.

    If that is interrupted, the trial itself gives the sizes.
    """
    furthest = [int(_FURTHER * curve.best()) + _MORE for curve in best.curves]
    problems = [
        replace(p, alpha=best.alpha, max_steps=min(p.max_steps, n))
        for p, n in zip(problems, furthest, strict=True)
    ]
    dictionary, weight = choice.dictionary, problems[0].weight
    folds = Folds.of(plan.held_out.folds, weight, plan.rows.sites)
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
        return _sized(replace(choice, is_cut_short=True), best, plan)
    trial = Trial(dictionary, best.alpha, curves)
    choice = replace(choice, trials=[*choice.trials, trial])
    if bench.suits_model(problems[0]):
        choice = replace(choice, bench=bench)
    return _sized(choice, trial, plan)
