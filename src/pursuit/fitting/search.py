"""Search for width and ridge, on the same folds as the sizes.

One after the other: a few widths at the middle ridge, and further ones for as long as
the error falls; then ridges at the best width in the same way; then its neighbors at
the best ridge.  In trials this chose as well as the whole grid, for a fraction of its
pursuits.  Where none of these widths is clearly better than the constant, nothing tells
which way to go, and all others are tried.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from pursuit._interrupts import is_repeated
from pursuit._parameters import thread_count
from pursuit._progress import Progress
from pursuit._threads import allowed_threads, limited
from pursuit._warnings import warn
from pursuit.engine.problem import Problem
from pursuit.functions import Functions
from pursuit.losses import Loss

from .curves import (
    TIE,
    Curve,
    Folds,
    SearchInterrupted,
    separate_curves,
    shared_curves,
)
from .engines import Workbench
from .plan import Grid, Plan

# How many times smaller the next ridge is if the smallest was the best, and by which
# share of the error the smallest must be better than the next one.
_SMALLER, _CLEAR = 10.0, 0.002

# Least share of the constant's error by which a width must be better to be followed.
_PROMISING = 0.1


@dataclass(frozen=True, eq=False)
class Trial:
    """A width and a ridge with their held-out errors, one curve per problem.

    Trials are compared by the lowest error, or by the last one if the model will have
    all steps (``takes_last``).
    """

    dictionary: Functions
    alpha: float
    curves: list[Curve]
    takes_last: bool = False

    @property
    def error(self) -> float:
        """The error by which trials are compared, summed over problems."""
        if self.takes_last:
            return float(sum(curve.mean[-1] for curve in self.curves))
        return sum(curve.lowest for curve in self.curves)

    @property
    def is_promising(self) -> bool:
        """Whether it is clearly better than the constant, on some curve."""
        return any(
            curve.lowest < curve.mean[0] - _PROMISING * abs(curve.mean[0])
            for curve in self.curves
        )

    def sizes(self, tolerance: float | str) -> list[int]:
        """Return the size chosen on each curve."""
        return [curve.best(tolerance) for curve in self.curves]


@dataclass(frozen=True, eq=False)
class Search:
    """Every trial that was made, and whether the user cut the search short."""

    trials: list[Trial]
    is_cut_short: bool = False


def search(plan: Plan, X: Any, problems: list[Problem]) -> Search:
    """Compare widths and ridges."""
    trials: list[Trial] = []
    with Progress(None, "search", plan.resources.verbose, unit="trial") as progress:
        try:
            for pairs in _stages(plan.grid, plan.steps.loss, trials):
                for found in compare(plan, X, problems, pairs):
                    trials += found
                    progress.show(len(trials), error=lowest(trials).error)
        except (CutShort, KeyboardInterrupt) as stop:
            if isinstance(stop, CutShort):
                trials = trials or stop.trials
            elif is_repeated():
                raise
            if not trials:
                raise KeyboardInterrupt from None
            warn(
                "The search was interrupted; the best of the widths and ridges "
                "compared so far is used."
            )
            return Search(trials, is_cut_short=True)
    return Search(trials)


class CutShort(Exception):  # noqa: N818 -- not an error
    """A first interrupt, and the trials as far as it let them go."""

    def __init__(self, trials: list[Trial]) -> None:
        super().__init__()
        self.trials = trials


def lowest(trials: list[Trial]) -> Trial:
    """Return the trial with the lowest error, the first of those that tie."""
    least = min(trial.error for trial in trials)
    limit = least + TIE * abs(least)
    return next(trial for trial in trials if trial.error <= limit)


Pairs = list[tuple[Functions, list[float]]]


def _stages(grid: Grid, loss: Loss, trials: list[Trial]) -> Iterator[Pairs]:
    """Yield the pairs to compare next, given the trials so far."""
    middle = grid.middle_alpha
    yield [(grid.dictionaries[i], [middle]) for i in grid.first]
    while widths := _widths_beside(grid, trials, middle):
        yield [(dictionary, [middle]) for dictionary in widths]
    if not lowest(trials).is_promising:
        tried = [trial.dictionary for trial in trials]
        yield [(d, [middle]) for d in grid.dictionaries if d not in tried]
    if len(grid.alphas) > 1:
        while ridges := _ridges_beside(grid, loss, trials):
            yield [(lowest(trials).dictionary, ridges)]
        alpha = lowest(trials).alpha
        yield [(d, [alpha]) for d in _widths_beside(grid, trials, alpha)]


def _widths_beside(grid: Grid, trials: list[Trial], alpha: float) -> list[Functions]:
    """Return the widths next to the best that were not tried with this ridge yet."""
    tried = [trial.dictionary for trial in trials if trial.alpha == alpha]
    beside = grid.beside(lowest(trials).dictionary)
    return [dictionary for dictionary in beside if dictionary not in tried]


def _ridges_beside(grid: Grid, loss: Loss, trials: list[Trial]) -> list[float]:
    """Return the ridges next to the best that were not tried with its width yet.

    Under squared loss these are all, because ridges share the inner products.
    """
    best, beside = lowest(trials), list(grid.alphas)
    if not loss.has_closed_form:
        at = beside.index(best.alpha)
        beside = beside[max(0, at - 1) : at + 2]
    tried = [t.alpha for t in trials if t.dictionary is best.dictionary]
    return [a for a in beside if a not in tried] or _smaller_ridge(grid, trials)


def _smaller_ridge(grid: Grid, trials: list[Trial]) -> list[float]:
    """Return a smaller ridge, if the best one is the smallest and clearly so."""
    best = lowest(trials)
    same = [trial for trial in trials if trial.dictionary is best.dictionary]
    smallest, following = sorted(same, key=lambda trial: trial.alpha)[:2]
    is_clear = best.error < following.error - _CLEAR * abs(following.error)
    alpha = best.alpha / _SMALLER
    goes_on = smallest is best and is_clear and alpha >= grid.least_alpha
    return [alpha] if goes_on else []


# -- comparing ---------------------------------------------------------------------


def compare(
    plan: Plan, X: Any, problems: list[Problem], pairs: Pairs
) -> Iterator[list[Trial]]:
    """Yield the trials of each dictionary, one for each of its ridges."""
    n_jobs = min(thread_count(plan.resources.n_jobs), len(pairs))
    if n_jobs <= 1:
        for pair in pairs:
            yield _trials(plan, X, problems, *pair)
        return
    # Threads share the data; each gets its share of the memory and of BLAS.
    share = replace(plan, resources=plan.resources.shared_by(n_jobs))
    with limited(max(1, allowed_threads() // n_jobs)):
        yield from Parallel(n_jobs=n_jobs, prefer="threads")(
            delayed(_trials)(share, X, problems, *pair) for pair in pairs
        )


def _trials(
    plan: Plan,
    X: Any,
    problems: list[Problem],
    dictionary: Functions,
    alphas: Sequence[float],
) -> list[Trial]:
    def trials(curves: list[list[Curve]]) -> list[Trial]:
        pairs = zip(alphas, curves, strict=False)
        takes_last = plan.size.selection is None
        return [Trial(dictionary, *pair, takes_last) for pair in pairs]

    try:
        return trials(_curves(plan, X, problems, dictionary, alphas))
    except SearchInterrupted as stop:
        raise CutShort(trials(stop.curves)) from None


def _curves(
    plan: Plan,
    X: Any,
    problems: list[Problem],
    dictionary: Functions,
    alphas: Sequence[float],
) -> list[list[Curve]]:
    """Return held-out curves, for each ridge one for each problem."""
    folds = Folds.of(plan.held_out.folds, problems[0].weight, plan.rows.sites)
    if plan.grid.relearn is None:
        bench = bench_of_folds(plan, X, problems, dictionary, folds.weights, alphas)
        return shared_curves(bench, problems, folds, alphas, plan.patience_of_search)

    def bench_of(weight: np.ndarray) -> Workbench:
        own = plan.grid.without_targets(dictionary, weight)
        return plan.engines.workbench(own, X, problems)

    return separate_curves(bench_of, problems, folds, alphas, plan.patience_of_search)


def bench_of_folds(
    plan: Plan,
    X: Any,
    problems: list[Problem],
    dictionary: Functions,
    weights: Sequence[np.ndarray],
    alphas: Sequence[float],
) -> Workbench:
    """Return a workbench for problems under the weights of folds, and some ridges."""
    longest = max(problems, key=lambda p: p.max_steps)
    longest = replace(longest, alpha=min(alphas))
    n_pursuits = len(weights) * len(problems) * len(alphas)
    bench = plan.engines.workbench(dictionary, X, problems)
    return bench.with_products(longest, weights, n_pursuits)


def as_table(trials: Sequence[Trial]) -> list[dict[str, Any]]:
    """Return the trials as plain values: gamma, alpha, errors at sizes 0, 1, ..."""
    return [
        {
            "gamma": trial.dictionary.gamma,
            "alpha": trial.alpha,
            "errors": _summed([curve.mean for curve in trial.curves]),
            "standard_errors": _summed([c.standard_error for c in trial.curves]),
        }
        for trial in trials
    ]


def _summed(values: list[np.ndarray]) -> np.ndarray:
    length = max(len(v) for v in values)
    return np.sum([np.pad(v, (0, length - len(v)), "edge") for v in values], axis=0)
