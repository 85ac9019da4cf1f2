"""Widths and ridges, compared by the same folds as the sizes.

One after the other: a few widths at the middle ridge, and further ones for as long as
the error falls; then all ridges at the best width; then its neighbours at the best
ridge.  In trials this chose as well as the whole grid, for a fraction of its pursuits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from pursuit._parameters import thread_count
from pursuit._progress import Progress
from pursuit._warnings import warn
from pursuit.engine.atoms import Atoms
from pursuit.engine.problem import Problem
from pursuit.functions import Functions

from .plan import Plan
from .selection import (
    Curve,
    SearchInterrupted,
    held_out_curves,
    left_of,
    separate_curves,
)


@dataclass(frozen=True, eq=False)
class Trial:
    """A width and a ridge, and the held-out errors they gave, a curve a problem."""

    dictionary: Functions
    alpha: float
    curves: list[Curve]

    @property
    def error(self) -> float:
        """The lowest error, summed over problems."""
        return sum(curve.lowest for curve in self.curves)

    def sizes(self, tolerance: float | str) -> list[int]:
        """Return the size chosen on each curve."""
        return [curve.best(tolerance) for curve in self.curves]


def search(plan: Plan, X: Any, problems: list[Problem]) -> list[Trial]:
    """Return every trial that was made."""
    trials: list[Trial] = []
    with Progress(None, "search", plan.verbose, unit="trial") as progress:
        try:
            for pairs in _stages(plan, trials):
                trials += compare(plan, X, problems, pairs)
                progress.show(len(trials), error=lowest(trials).error)
        except SearchInterrupted:
            if not trials:
                raise KeyboardInterrupt from None
            warn(
                "The search was interrupted; the best of the widths and ridges "
                "compared so far is used."
            )
    return trials


def lowest(trials: list[Trial]) -> Trial:
    """Return the trial of lowest error."""
    return min(trials, key=lambda trial: trial.error)


Pairs = list[tuple[Functions, list[float]]]


def _stages(plan: Plan, trials: list[Trial]) -> Iterator[Pairs]:
    """Yield what to compare next, looking at the trials made so far."""
    middle = plan.alphas[len(plan.alphas) // 2]
    yield [(plan.dictionaries[i], [middle]) for i in plan.first_widths]
    while beside := _beside_best(plan, trials, middle):
        yield [(dictionary, [middle]) for dictionary in beside]
    if others := [alpha for alpha in plan.alphas if alpha != middle]:
        yield [(lowest(trials).dictionary, others)]
        alpha = lowest(trials).alpha
        yield [(d, [alpha]) for d in _beside_best(plan, trials, alpha)]


def _beside_best(plan: Plan, trials: list[Trial], alpha: float) -> list[Functions]:
    """Return the best width's neighbours that were not yet tried with this ridge."""
    tried = [trial.dictionary for trial in trials if trial.alpha == alpha]
    at = list(plan.dictionaries).index(lowest(trials).dictionary)
    beside = plan.dictionaries[max(0, at - 1) : at + 2]
    return [dictionary for dictionary in beside if dictionary not in tried]


# -- comparing ---------------------------------------------------------------------


def compare(plan: Plan, X: Any, problems: list[Problem], pairs: Pairs) -> list[Trial]:
    """Return a trial for each dictionary and ridge."""
    n_jobs = min(thread_count(plan.n_jobs), len(pairs))
    if n_jobs <= 1:
        found = [_trials(plan, X, problems, *pair) for pair in pairs]
    else:
        # Threads share the data; each gets its share of the memory and of BLAS.
        share = replace(plan, memory=plan.memory // n_jobs)
        with threadpool_limits(max(1, effective_n_jobs(-1) // n_jobs)):
            found = Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(_trials)(share, X, problems, *pair) for pair in pairs
            )
    return [trial for trials in found for trial in trials]


def _trials(
    plan: Plan,
    X: Any,
    problems: list[Problem],
    dictionary: Functions,
    alphas: Sequence[float],
) -> list[Trial]:
    if plan.relearn is not None:
        curves = _curves_apart(plan, X, problems, dictionary, alphas)
    else:
        atoms, n_at_once = plan.bind(dictionary, X, problems)
        weights = [left_of(fold, problems[0].weight) for fold in plan.folds]
        n_pursuits = min(n_at_once, len(weights) * len(alphas) * len(problems))
        longest = max(problems, key=lambda p: p.max_steps)
        gram = plan.gram(atoms, longest, weights, n_pursuits)
        curves = held_out_curves(
            atoms,
            problems,
            plan.folds,
            weights,
            plan.sites,
            alphas,
            partial(plan.pursuit, gram=gram),
            n_at_once,
        )
    return [Trial(dictionary, a, c) for a, c in zip(alphas, curves, strict=True)]


def _curves_apart(
    plan: Plan,
    X: Any,
    problems: list[Problem],
    dictionary: Functions,
    alphas: Sequence[float],
) -> list[list[Curve]]:
    """Return the curves where each fold has a dictionary of its own."""

    def bind(weight: np.ndarray) -> tuple[Atoms, int]:
        return plan.bind(plan.without_targets(dictionary, weight), X, problems)

    return separate_curves(bind, problems, plan.folds, plan.sites, alphas, plan.pursuit)


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
