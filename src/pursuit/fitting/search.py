"""Choose width, ridge and size by held-out rows.

Widths and ridges are compared one after the other, on the same folds as the sizes: a
few widths at the middle ridge, and further ones for as long as the error falls; then
ridges at the best width in the same way; then the neighbors of that width at the best
ridge. In trials this chose as well as the whole grid, for a fraction of its pursuits.
If none of these widths is clearly better than the constant, all others are tried,
because nothing shows the direction.

On large data, widths and ridges are compared on a subsample of rows, candidates and
folds. The plan's rows, candidates and folds then choose the size and fit the model.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._parameters import thread_count
from pursuit._progress import Progress
from pursuit._threads import allowed_threads, limited
from pursuit._warnings import warn
from pursuit.engine.problem import Problem
from pursuit.functions import Functions

from .curves import TIE, Curve, separate_curves, shared_curves
from .engines import Workbench
from .folds import enough_folds
from .plan import Grid, Plan, middle_widths

# How many times smaller the next ridge is if the smallest was the best, and by which
# share of the error the smallest must be better than the next one.
_SMALLER, _CLEAR = 10.0, 0.002

# Least share of the constant's error by which a width must be better to be followed.
_PROMISING = 0.1

# Enough to compare widths and ridges: functions (at least two for each step), rows,
# and held-out rows.
ENOUGH_ATOMS, ENOUGH_ROWS, HELD_OUT_TO_RANK = 2_000, 20_000, 3_000

# Minimum number of rows from each class, fitted and held out.
_LEAST_OF_A_PART = 30

# How far sizes are tried in the final comparison with all functions: factor of, and
# steps beyond, the best size with some of them.
_FURTHER, _MORE = 1.25, 30


@dataclass(frozen=True, eq=False)
class Choice:
    """Settings of the final pursuit.

    Attributes
    ----------
    width : int
        Index of the dictionary.
    alpha : float
        Ridge.
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

    width: int
    alpha: float
    max_steps: int
    sizes: list[int] | None = None
    trials: Sequence[Trial] = ()
    is_cut_short: bool = False
    bench: Workbench | None = None

    def sized_by(self, trial: Trial, tolerance: float | str) -> Choice:
        """Return the choice with the sizes, and the end of the paths, of a trial."""
        return replace(
            self,
            max_steps=max(1, *(len(curve.mean) - 1 for curve in trial.curves)),
            sizes=[curve.best(tolerance) for curve in trial.curves],
        )


@dataclass(frozen=True, eq=False)
class Trial:
    """A width and a ridge with their held-out errors.

    Attributes
    ----------
    width : int
        Index of the dictionary.
    gamma : float or None
        Its width, if it has one.
    alpha : float
        Ridge.
    curves : list of Curve
        One for each problem.
    takes_last : bool
        Whether the model will have all steps, so that the last error counts and not
        the lowest.
    """

    width: int
    gamma: float | None
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

    def as_dict(self) -> dict[str, Any]:
        """Return plain values: gamma, alpha, errors at sizes 0, 1, ..."""
        return {
            "gamma": self.gamma,
            "alpha": self.alpha,
            "errors": _summed([curve.mean for curve in self.curves]),
            "standard_errors": _summed([c.standard_error for c in self.curves]),
        }


def choose(plan: Plan) -> Choice:
    """Return the dictionary, ridge and sizes that held-out rows choose."""
    grid, selection = plan.grid, plan.selection.word
    max_steps, tolerance = plan.template.max_steps, plan.selection.tolerance
    # With a single held-out part and nothing to compare, no search is needed: the
    # final pursuit itself records the held-out error.
    if not len(plan.folds) or not (selection == "cv" or grid.has_choice):
        return Choice(0, grid.alphas[0], max_steps)
    part = part_to_search(plan)
    trials, is_cut_short = search(part)
    best = lowest(trials)
    choice = Choice(
        best.width, best.alpha, max_steps, None, trials, is_cut_short=is_cut_short
    )
    is_whole = part is plan
    if selection == "cv" and not is_whole and not is_cut_short:
        return _sized_by_all(plan, choice, best)
    is_sized = selection == "cv" or (selection == "validation" and is_whole)
    return choice.sized_by(best, tolerance) if is_sized else choice


def _sized_by_all(plan: Plan, choice: Choice, best: Trial) -> Choice:
    """Return the choice, sized by the best trial with all functions, rows and folds.

    If that is interrupted, the trial itself gives the sizes.
    """
    tolerance, folds = plan.selection.tolerance, plan.folds
    furthest = [int(_FURTHER * curve.best()) + _MORE for curve in best.curves]
    problems = [
        replace(p, max_steps=min(p.max_steps, n))
        for p, n in zip(plan.problems(best.alpha), furthest, strict=True)
    ]
    try:
        with single_interrupts():
            # The final model comes last, under the weights of all rows.
            weights = {**folds.keyed_weights, 0: plan.template.weight}
            dictionary = plan.grid.dictionaries[best.width]
            bench = _bench_of_folds(plan, dictionary, problems, weights)
            curves = shared_curves(bench, problems, folds, score=plan.score)
    except Interrupted:
        warn(
            "The choice of a size was interrupted; the one that was best in the search "
            "is used."
        )
        return replace(choice, is_cut_short=True).sized_by(best, tolerance)
    trial = Trial(best.width, best.gamma, best.alpha, curves)
    choice = replace(choice, trials=[*choice.trials, trial])
    if bench.suits_model(problems[0]):
        choice = replace(choice, bench=bench)
    return choice.sized_by(trial, tolerance)


# -- a part of large data ----------------------------------------------------------


def part_to_search(plan: Plan) -> Plan:
    """Return the plan on the part of the data to search on; the plan itself if all."""
    if plan.grid.relearn is not None or not plan.grid.has_choice:
        return plan
    rows, parts = np.arange(len(plan.sample)), plan.folds.parts
    if plan.folds.are_random:
        parts = enough_folds(parts, plan.sample.sets, HELD_OUT_TO_RANK)
        if plan.sample.n_distinct > ENOUGH_ROWS:
            rows = _enough_rows(plan, parts)
    atoms = _enough_atoms(plan, rows)
    has_all_rows = len(rows) == len(plan.sample)
    has_all_atoms = len(atoms) == len(plan.grid.labels)
    if has_all_rows and has_all_atoms and len(parts) == len(plan.folds):
        return plan
    return plan.some(rows, atoms, parts)


def _enough_rows(plan: Plan, parts: Sequence[np.ndarray]) -> np.ndarray:
    """Return the rows of lowest priority in each stratum of the data.

    Strata are the classes within each fold; small ones get more than their share.
    """
    Y, priority = plan.sample.Y, plan.sample.priority
    used = np.flatnonzero(priority >= 0)
    held_by = np.zeros(len(used), dtype=np.int64)
    for f, part in enumerate(parts, start=1):
        held_by[part[used] > 0] = f
    code = Y[:, used].argmax(axis=0) if len(Y) > 1 else Y[0, used] > 0
    stratum = held_by * (len(Y) + 1) + (code if plan.sample.is_class else 0)
    strata = np.unique(stratum)
    share = ENOUGH_ROWS / plan.sample.n_distinct
    least = max(_LEAST_OF_A_PART, HELD_OUT_TO_RANK // len(strata))
    rows = []
    for one in strata:
        members = used[stratum == one]
        priorities = np.unique(priority[members])
        n = min(len(priorities), max(least, int(np.ceil(share * len(priorities)))))
        rows.append(members[priority[members] <= priorities[n - 1]])
    return np.sort(np.concatenate(rows))


def _enough_atoms(plan: Plan, rows: np.ndarray) -> np.ndarray:
    """Return the functions on rows of lowest priority, and all that have no row.

    Functions on rows outside the sample are left out.
    """
    priority, at = plan.sample.priority, plan.grid.dictionaries[0].rows
    n = max(ENOUGH_ATOMS, 2 * plan.template.max_steps)
    is_present = np.zeros(len(plan.sample), dtype=bool)
    is_present[rows] = True
    on_rows = np.flatnonzero((at >= 0) & is_present[at])
    first = on_rows[np.argsort(priority[at[on_rows]], kind="stable")[:n]]
    return np.sort(np.concatenate([np.flatnonzero(at < 0), first]))


# -- trials, stage by stage --------------------------------------------------------

# Widths, by their index, and the ridges to compare at each.
Pairs = list[tuple[int, list[float]]]


def search(plan: Plan) -> tuple[list[Trial], bool]:
    """Compare widths and ridges; return all trials, and whether it was cut short."""
    trials: list[Trial] = []
    with Progress(None, "search", plan.engines.verbose, unit="trial") as progress:
        try:
            with single_interrupts():
                for pairs in _stages(plan, trials):
                    for more in compare(plan, pairs):
                        trials += more
                        progress.show(len(trials), error=lowest(trials).error)
        except Interrupted as stop:
            trials = trials or stop.partial or []
            if not trials:
                raise KeyboardInterrupt from None
            warn(
                "The search was interrupted; the best of the widths and ridges "
                "compared so far is used."
            )
            return trials, True
    return trials, False


def lowest(trials: Sequence[Trial]) -> Trial:
    """Return the trial with the lowest error, the first of those that tie."""
    least = min(trial.error for trial in trials)
    limit = least + TIE * abs(least)
    return next(trial for trial in trials if trial.error <= limit)


def _stages(plan: Plan, trials: list[Trial]) -> Iterator[Pairs]:
    """Yield the pairs to compare next, given the trials so far."""
    grid, middle = plan.grid, plan.grid.middle_alpha
    yield [(width, [middle]) for width in middle_widths(len(grid.dictionaries))]
    while widths := _widths_beside(grid, trials, middle):
        yield [(width, [middle]) for width in widths]
    if not lowest(trials).is_promising:
        tried = [trial.width for trial in trials]
        others = [i for i in range(len(grid.dictionaries)) if i not in tried]
        yield [(width, [middle]) for width in others]
    if len(grid.alphas) > 1:
        # Under squared loss all ridges share the inner products.
        shares_products = plan.template.loss.has_closed_form
        while ridges := _ridges_beside(grid, shares_products, trials):
            yield [(lowest(trials).width, ridges)]
        alpha = lowest(trials).alpha
        yield [(width, [alpha]) for width in _widths_beside(grid, trials, alpha)]


def _widths_beside(grid: Grid, trials: list[Trial], alpha: float) -> list[int]:
    """Return the widths next to the best that were not tried with this ridge yet."""
    tried = [trial.width for trial in trials if trial.alpha == alpha]
    at = lowest(trials).width
    beside = range(max(0, at - 1), min(at + 2, len(grid.dictionaries)))
    return [width for width in beside if width not in tried]


def _ridges_beside(
    grid: Grid, shares_products: bool, trials: list[Trial]
) -> list[float]:
    """Return the ridges that were not tried with the best width yet.

    These are all of the grid, or those next to the best; after them a smaller one.
    """
    best, beside = lowest(trials), list(grid.alphas)
    if not shares_products:
        at = beside.index(best.alpha)
        beside = beside[max(0, at - 1) : at + 2]
    tried = [t.alpha for t in trials if t.width == best.width]
    return [a for a in beside if a not in tried] or _smaller_ridge(grid, trials)


def _smaller_ridge(grid: Grid, trials: list[Trial]) -> list[float]:
    """Return a smaller ridge, if the best one is the smallest and clearly so."""
    best = lowest(trials)
    same = [trial for trial in trials if trial.width == best.width]
    smallest, following = sorted(same, key=lambda trial: trial.alpha)[:2]
    is_clear = best.error < following.error - _CLEAR * abs(following.error)
    alpha = best.alpha / _SMALLER
    goes_on = smallest is best and is_clear and alpha >= grid.least_alpha
    return [alpha] if goes_on else []


# -- comparing ---------------------------------------------------------------------


def compare(plan: Plan, pairs: Pairs) -> Iterator[list[Trial]]:
    """Yield the trials of each width, one for each of its ridges."""
    n_jobs = min(thread_count(plan.engines.n_jobs), len(pairs))
    if n_jobs <= 1:
        for pair in pairs:
            yield _trials(plan, *pair)
        return
    # Threads share the data; each gets its share of the memory and of BLAS.
    share = replace(plan, engines=plan.engines.shared_by(n_jobs))
    with limited(max(1, allowed_threads() // n_jobs)):
        yield from Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            delayed(_trials)(share, *pair) for pair in pairs
        )


def _trials(plan: Plan, width: int, alphas: Sequence[float]) -> list[Trial]:
    """Return the trials of a width, with one curve for each problem and ridge."""
    gamma, takes_last = plan.grid.dictionaries[width].gamma, plan.selection.word is None
    problems = [p for alpha in alphas for p in plan.problems(alpha)]
    n = len(problems) // len(alphas)

    def trials(curves: list[Curve]) -> list[Trial]:
        # A ridge that lacks the curves of some problems is dropped.
        return [
            Trial(width, gamma, alpha, curves[i * n : (i + 1) * n], takes_last)
            for i, alpha in enumerate(alphas)
            if len(curves) >= (i + 1) * n
        ]

    try:
        return trials(_curves(plan, width, problems))
    except Interrupted as stop:
        raise Interrupted(trials(stop.partial or [])) from None


def _curves(plan: Plan, width: int, problems: list[Problem]) -> list[Curve]:
    """Return the held-out curves of problems that differ in output and ridge."""
    folds, how = plan.folds, (plan.patience_of_search, plan.score)
    if plan.grid.relearn is None:
        dictionary, weights = plan.grid.dictionaries[width], folds.keyed_weights
        bench = _bench_of_folds(plan, dictionary, problems, weights)
        return shared_curves(bench, problems, folds, *how)

    def bench_of(weight: np.ndarray) -> Workbench:
        relearned = plan.grid.without_targets(width, weight)
        return _bench(plan, relearned, problems)

    return separate_curves(bench_of, problems, folds, *how)


def _bench_of_folds(
    plan: Plan,
    dictionary: Functions,
    problems: list[Problem],
    weights: Mapping[int, np.ndarray],
) -> Workbench:
    """Return a workbench for problems under the weights of folds."""
    longest = max(problems, key=lambda p: p.max_steps)
    longest = replace(longest, alpha=min(p.alpha for p in problems))
    bench = _bench(plan, dictionary, problems)
    return bench.with_products(longest, weights, len(weights) * len(problems))


def _bench(plan: Plan, dictionary: Functions, problems: list[Problem]) -> Workbench:
    """Return a workbench that has room for the problems of one ridge, if not of all."""
    of_one_ridge = [p for p in problems if p.alpha == problems[0].alpha]
    return plan.engines.workbench(dictionary, plan.sample.X, of_one_ridge)


def _summed(values: list[np.ndarray]) -> np.ndarray:
    length = max(len(v) for v in values)
    return np.sum([np.pad(v, (0, length - len(v)), "edge") for v in values], axis=0)
