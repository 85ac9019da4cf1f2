"""Choose width, ridge and size by held-out rows.

Widths and ridges are compared one after the other, on the same folds as the sizes: a
few widths at the middle ridge, and further ones for as long as the error falls; then
ridges at the best width in the same way; then the neighbors of that width at the best
ridge. In trials this chose as well as the whole grid, for a fraction of its pursuits.
If none of these widths is clearly better than the constant, all others are tried,
because nothing shows the direction.

On large data, widths and ridges are compared on a subsample of rows, candidates and
folds. The plan's rows, candidates and folds then choose the size and fit the model.
Of several learned kernels only the best two of a small part are compared on all rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextvars import copy_context
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from joblib import Parallel, delayed

from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._parameters import thread_count
from pursuit._progress import Progress
from pursuit._threads import allowed_threads, limited
from pursuit.engine.problem import Problem
from pursuit.functions import Functions

from .curves import Curve, HeldOutError, separate_curves, shared_curves
from .engines import Workbench
from .folds import enough_folds
from .held_out import FoldPath, folds_of_trial
from .parts import enough_atoms, enough_rows
from .plan import Grid, Pairs, Plan, middle_widths
from .timing import part_in_time, share_to_search, tell_of_interrupt
from .trials import Trial, lowest, steadiest

# How many times smaller the next ridge is if the smallest was the best, and by which
# share of the error the smallest must be better than the next one.
_SMALLER, _CLEAR = 10.0, 0.002

# Enough to compare widths and ridges: functions (at least two for each step), rows,
# and held-out rows.
ENOUGH_ATOMS, ENOUGH_ROWS, HELD_OUT_TO_RANK = 2_000, 20_000, 3_000

# Enough to rule out most of several kernels on at least as many rows: rows (at most
# half of all), functions and steps; and how many are left.
ROWS_TO_NARROW, ATOMS_TO_NARROW, STEPS_TO_NARROW, N_NARROW = 4_000, 1_000, 400, 2

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
        Whether it was interrupted, or its time was over.
    lacks_size : bool
        Whether there was no time for the folds to choose a size.
    bench : Workbench or None
        Inner products of all functions on all rows, if they were needed to choose the
        size and suit the final model too.
    held_out : HeldOutError or None
        Error of the best trial, at its size.
    folds : sequence of FoldPath
        What its folds leave.
    """

    width: int
    alpha: float
    max_steps: int
    sizes: list[int] | None = None
    trials: Sequence[Trial] = ()
    is_cut_short: bool = False
    lacks_size: bool = False
    bench: Workbench | None = None
    held_out: HeldOutError | None = None
    folds: Sequence[FoldPath] = ()

    def sized_by(self, trial: Trial, tolerance: float | str, n_folds: int) -> Choice:
        """Return the choice with the sizes, and the end of the paths, of a trial."""
        sizes = [curve.best(tolerance) for curve in trial.curves]
        return replace(
            self,
            max_steps=max(1, *(len(curve.mean) - 1 for curve in trial.curves)),
            sizes=sizes,
            held_out=HeldOutError.of(trial.curves, sizes, n_folds > 1),
        )


def choose(plan: Plan) -> Choice:
    """Return the dictionary, ridge and sizes that held-out rows choose."""
    grid, selection = plan.grid, plan.selection.word
    max_steps, tolerance = plan.template.max_steps, plan.selection.tolerance
    # With a single held-out part and nothing to compare, no search is needed: the
    # final pursuit itself records the held-out error.
    if not plan.has_search:
        return Choice(0, grid.alphas[0], max_steps)
    if plan.deadline.is_over:
        return _untried(plan)
    part = part_in_time(part_to_search(plan))
    before: list[Trial] = []
    with plan.deadline.part(share_to_search(plan)):
        if (small := part_to_narrow(part)) is None:
            trials, is_cut_short = search(part)
        else:
            before, trials, is_cut_short = _narrowed_search(part, small)
            # Otherwise these are the trials on the small part.
            part = part if before else small
    if not trials:
        return _untried(plan)
    best = steadiest(trials, grid.clear)
    choice = Choice(
        best.width,
        best.alpha,
        max_steps,
        None,
        [*before, *(trial.reduced() for trial in trials)],
        is_cut_short=is_cut_short,
        bench=best.bench if part is plan else None,
        folds=folds_of_trial(part, best),
    )
    is_whole = part is plan
    if is_cut_short and plan.deadline.reason != "interrupted" and _went_on(best):
        return replace(choice, lacks_size=True)
    if selection == "cv" and not is_whole and not is_cut_short:
        return _sized_by_all(plan, choice, best)
    if selection == "cv" or (selection == "validation" and is_whole):
        return choice.sized_by(best, tolerance, len(part.folds))
    if selection is None:
        ends = [len(curve.mean) - 1 for curve in best.curves]
        error = HeldOutError.of(best.curves, ends, len(part.folds) > 1)
        return replace(choice, held_out=error)
    return choice


def _untried(plan: Plan) -> Choice:
    """Return what serves if there was no time to compare anything."""
    plan.deadline.cut_short()
    grid = plan.grid
    width, alphas = (len(grid.dictionaries) - 1) // 2, list(grid.alphas)
    if grid.pairs is not None:
        width, alphas = grid.pairs[min(1, len(grid.pairs) - 1)]
    alpha, max_steps = alphas[len(alphas) // 2], plan.template.max_steps
    return Choice(width, alpha, max_steps, is_cut_short=True, lacks_size=True)


def _went_on(trial: Trial) -> bool:
    """Return whether the error of a trial still fell at its end."""
    return any(curve.best() == len(curve.mean) - 1 for curve in trial.curves)


def _sized_by_all(plan: Plan, choice: Choice, best: Trial) -> Choice:
    """Return the choice, sized by the best trial with all functions, rows and folds.

    If that is interrupted, the trial itself gives the sizes.
    """
    tolerance = plan.selection.tolerance
    furthest = [int(_FURTHER * curve.best()) + _MORE for curve in best.curves]
    problems = [
        replace(p, max_steps=min(p.max_steps, n))
        for p, n in zip(plan.problems(best.alpha), furthest, strict=True)
    ]
    try:
        with single_interrupts(), plan.deadline.part(share_to_search(plan)):
            # The final model comes last, under the weights of all rows.
            weights = {**plan.folds.keyed_weights, 0: plan.template.weight}
            dictionary = plan.grid.dictionaries[best.width]
            bench = _bench_of_folds(plan, dictionary, problems, weights)
            curves = shared_curves(bench, problems, plan.folds, score=plan.score)
    except Interrupted:
        tell_of_interrupt(
            plan.deadline,
            "The choice of a size was interrupted; the one that was best in the search "
            "is used.",
        )
        choice = replace(choice, is_cut_short=True)
        return choice.sized_by(best, tolerance, len(plan.folds))
    trial = Trial(best.width, best.gamma, best.alpha, curves)
    choice = replace(choice, trials=[*choice.trials, trial.reduced()])
    choice = replace(choice, folds=folds_of_trial(plan, trial))
    if bench.suits_model(problems[0]):
        choice = replace(choice, bench=bench)
    return choice.sized_by(trial, tolerance, len(plan.folds))


# -- a part of large data ----------------------------------------------------------


def part_to_search(plan: Plan) -> Plan:
    """Return the plan on the part of the data to search on; the plan itself if all."""
    if plan.grid.relearn is not None or not plan.grid.has_choice:
        return plan
    if plan.learning is not None and plan.sample.n_distinct <= ENOUGH_ROWS:
        # Few ridges are left to compare, and the model has the same inner products.
        return plan
    rows, parts = np.arange(len(plan.sample)), plan.folds.parts
    if plan.folds.are_random:
        parts = enough_folds(parts, plan.sample.sets, HELD_OUT_TO_RANK)
        if plan.sample.n_distinct > ENOUGH_ROWS:
            rows = enough_rows(plan, parts, ENOUGH_ROWS, HELD_OUT_TO_RANK)
    n_atoms = max(ENOUGH_ATOMS, 2 * plan.template.max_steps)
    atoms = enough_atoms(plan, rows, n_atoms)
    has_all_rows = len(rows) == len(plan.sample)
    has_all_atoms = len(atoms) == len(plan.grid.labels)
    if has_all_rows and has_all_atoms and len(parts) == len(plan.folds):
        return plan
    return plan.some(rows, atoms, parts)


def part_to_narrow(plan: Plan) -> Plan | None:
    """Return a small part to compare several learned kernels on, None for few rows."""
    grid, sample = plan.grid, plan.sample
    are_several = plan.learning is not None and grid.pairs and len(grid.pairs) > 1
    if not are_several or grid.relearn is not None or plan.selection.word != "cv":
        return None
    is_held = plan.folds.parts[0] > 0
    others = np.unique(sample.priority[(sample.priority >= 0) & ~is_held])
    if len(others) < ROWS_TO_NARROW:
        return None
    limit = others[min(ROWS_TO_NARROW, len(others) // 2)]
    rows = np.flatnonzero(is_held | (sample.priority < limit) & (sample.priority >= 0))
    atoms = enough_atoms(plan, rows, ATOMS_TO_NARROW)
    part = plan.some(rows, atoms, plan.folds.parts)
    n_steps = min(STEPS_TO_NARROW, part.template.max_steps)
    return replace(part, template=replace(part.template, max_steps=n_steps))


def _narrowed_search(plan: Plan, small: Plan) -> tuple[list[Trial], list[Trial], bool]:
    """Return trials on a small part, those that follow, and if these were cut short.

    If there was no time for others, those on the small part are the second.
    """
    trials, is_cut_short = search(small)
    if is_cut_short:
        return [], trials, True
    best: dict[int, float] = {}
    for trial in sorted(trials, key=lambda trial: trial.error):
        best.setdefault(trial.width, trial.alpha)
    pairs = [(width, [alpha]) for width, alpha in best.items()][:N_NARROW]
    more, is_cut_short = search(replace(plan, grid=replace(plan.grid, pairs=pairs)))
    if not more:
        return [], trials, True
    labels = {"n_rows": len(small.sample)}
    before = [replace(trial.reduced(), labels=labels) for trial in trials]
    return before, more, is_cut_short


# -- trials, stage by stage --------------------------------------------------------


def search(plan: Plan) -> tuple[list[Trial], bool]:
    """Compare widths and ridges; return all trials, and whether it was cut short."""
    trials: list[Trial] = []
    with Progress(None, "search", plan.engines.verbose, unit="trial") as progress:
        try:
            with single_interrupts():
                for pairs in _stages(plan, trials):
                    for more in compare(plan, pairs):
                        trials += more
                        _keep_best(trials, plan.grid.clear)
                        progress.show(len(trials), error=lowest(trials).error)
        except Interrupted as stop:
            trials = trials or stop.partial or []
            is_by_user = plan.deadline.reason in (None, "interrupted")
            if not trials and is_by_user and not plan.tried:
                raise KeyboardInterrupt from None
            tell_of_interrupt(
                plan.deadline,
                "The search was interrupted; the best of the widths and ridges "
                "compared so far is used.",
            )
            return trials, True
    return trials, False


def _keep_best(trials: list[Trial], clear: float) -> None:
    """Keep of all trials but the best only their errors, to save memory."""
    best = steadiest(trials, clear)
    trials[:] = [trial if trial is best else trial.reduced() for trial in trials]


def _stages(plan: Plan, trials: list[Trial]) -> Iterator[Pairs]:
    """Yield the pairs to compare next, given the trials so far."""
    grid, middle = plan.grid, plan.grid.middle_alpha
    if grid.pairs is not None:
        yield grid.pairs
        return
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
    # Each thread knows the deadline of this one.
    tasks = [delayed(copy_context().run)(_trials, share, *pair) for pair in pairs]
    with limited(max(1, allowed_threads() // n_jobs)):
        yield from Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")(
            tasks
        )


def _trials(plan: Plan, width: int, alphas: Sequence[float]) -> list[Trial]:
    """Return the trials of a width, with one curve for each problem and ridge."""
    gamma, takes_last = plan.grid.dictionaries[width].gamma, plan.selection.word is None
    problems = [p for alpha in alphas for p in plan.problems(alpha)]
    n = len(problems) // len(alphas)

    def trials(curves: list[Curve], bench: Workbench | None = None) -> list[Trial]:
        # A ridge that lacks the curves of some problems is dropped.
        return [
            Trial(
                width,
                gamma,
                alpha,
                curves[i * n : (i + 1) * n],
                takes_last,
                bench=bench if _suits_model(bench, plan, alpha) else None,
            )
            for i, alpha in enumerate(alphas)
            if len(curves) >= (i + 1) * n
        ]

    try:
        return trials(*_curves(plan, width, problems))
    except Interrupted as stop:
        raise Interrupted(trials(stop.partial or [])) from None


def _curves(
    plan: Plan, width: int, problems: list[Problem]
) -> tuple[list[Curve], Workbench | None]:
    """Return the held-out curves of problems that differ in output and ridge.

    The inner products are returned too if the final model may use them.
    """
    folds, how = plan.folds, (plan.patience_of_search, plan.score)
    if plan.grid.relearn is not None:
        bench_of = partial(_bench_of_fold, plan, width, problems)
        return separate_curves(bench_of, problems, folds, *how), None
    weights = folds.keyed_weights
    # A learned kernel is the only one under squared loss, so that the final model has
    # it too.
    is_final = plan.learning is not None and not plan.holds_out_of_model
    is_final &= problems[0].is_least_squares
    if is_final:
        weights = {**weights, 0: plan.template.weight}
    dictionary = plan.grid.dictionaries[width]
    bench = _bench_of_folds(plan, dictionary, problems, weights)
    curves = shared_curves(bench, problems, folds, *how)
    return curves, bench if is_final else None


def _suits_model(bench: Workbench | None, plan: Plan, alpha: float) -> bool:
    if bench is None or plan.selection.word not in ("cv", None):
        return False
    return bench.suits_model(plan.problems(alpha)[0])


def _bench_of_fold(
    plan: Plan, width: int, problems: list[Problem], weight: np.ndarray, key: int
) -> Workbench:
    """Return a workbench with the functions that a fold learns without its rows."""
    relearned = plan.grid.without_targets(width, weight)
    return _bench_of_folds(plan, relearned, problems, {key: weight})


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
