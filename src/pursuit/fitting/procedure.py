"""The procedure of a fit, from a plan to a path and a size on it.

plan.py     data and settings, resolved
learning.py the kernel, if it is not given: family, metric and width
search.py   width, ridge and size, by held-out rows
here        one pursuit (or one for each output) with the chosen settings
sizes.py    the size, if errors along that path choose it
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pursuit._deadline import GRACE, Deadline, reason_to_stop
from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._progress import Progress
from pursuit.engine.problem import Problem, Steps
from pursuit.engine.running import CUT_OFF, run
from pursuit.functions import Functions
from pursuit.path import Path

from .curves import HeldOutError, Watched
from .engines import Workbench
from .held_out import FoldPath, fold_of_paths
from .learning import learn
from .plan import Plan
from .search import Choice, choose
from .sizes import chosen_size, has_lost_patience
from .timing import holding_out_once, set_up_seconds, shrunk, tell_of_interrupt
from .trials import Trial

# Called with the pursuits and the functions they choose from after each round; returns
# the number of steps to keep if the fit is to stop, else None.
OnRound = Callable[[Sequence[Steps], Functions], int | None]

# Shares of the time that is left, for the set-up of a model on all rows and on a first
# part of them, and for a larger part, which must take clearly longer; and the share of
# a short overtime.
_SAFE, _TRY, _NEXT, _CLEARLY, _LAST = 0.25, 0.05, 0.6, 2.0, 0.1

# In order of precedence if several paths ended for different reasons.
REASONS = {
    "interrupted": "interrupted: stopped by the user",
    "callback": "callback: a callback asked to stop",
    "time": "time: max_time was over",
    "truncated": "truncated: the first steps of a longer path",
    "exhausted": "exhausted: no remaining candidate lies outside the span of the "
    "chosen ones by more than tol and is correlated with the residual",
    "complete": "complete: every candidate is in the model",
    "exact": "exact: the training loss cannot fall further",
    "empty": "empty: without any point the held-out error or the bound was lowest",
    "patience": "patience: the held-out error, or the bound, stopped falling",
    "max_support": "max_support: as many steps as were asked for",
}


@dataclass(frozen=True, eq=False)
class Fit:
    """Result of a fit: the best dictionary and ridge, the paths, a size on each.

    Attributes
    ----------
    dictionary : Functions
    alpha : float
    paths : list of Path
        One path, or one for each output.
    sizes : list of int
    trials : sequence of Trial
        All trials of the search.
    stop_reason : str
        A key of :data:`REASONS`.
    plan : Plan
        The plan as it was carried out.
    held_out : HeldOutError or None
        What the rows, or the bound, that chose the size say of it.
    folds : sequence of FoldPath
        Models with the same settings that never saw some rows.
    """

    dictionary: Functions
    alpha: float
    paths: list[Path]
    sizes: list[int]
    trials: Sequence[Trial]
    stop_reason: str
    plan: Plan
    held_out: HeldOutError | None = None
    folds: Sequence[FoldPath] = ()


def fit(plan: Plan, on_round: OnRound | None = None) -> Fit:
    """Fit a sample as planned; ``on_round`` may stop the final pursuits.

    With a deadline that is over before, as much is done as it allows.
    """
    with plan.deadline.active():
        return _fit(plan, on_round)


def _fit(plan: Plan, on_round: OnRound | None) -> Fit:
    plan = learn(plan)
    choice = choose(plan)
    plan.deadline.ask = None  # from here on, they see the steps
    if choice.lacks_size and plan.selection.word == "cv":
        plan = holding_out_once(plan)
    plan, dictionary, pursuits = _final_pursuits(plan, choice, on_round)
    paths = [_ended_path(plan, choice, p.pursuit) for p in pursuits]
    sizes = choice.sizes or [len(path) for path in paths]
    held_out = choice.held_out
    if plan.chooses_size_on_path:
        chosen = [chosen_size(plan, p) for p in pursuits]
        sizes, curves = [size for size, _ in chosen], [curve for _, curve in chosen]
        held_out = HeldOutError.of(curves, sizes, has_folds=False)
        ends = [len(curve.mean) - 1 for curve in curves]
        paths = [_cut(path, n) for path, n in zip(paths, ends, strict=True)]
    if held_out is not None:
        held_out = replace(held_out, is_score=plan.score is not None)
    sizes = [min(n, len(path)) for n, path in zip(sizes, paths, strict=True)]
    reason = _common_reason(paths, sizes)
    trials = [*plan.tried, *choice.trials]
    folds = choice.folds
    if plan.holds_out_of_model:
        folds = [_own_fold(plan, dictionary, pursuits)]
    return Fit(
        dictionary, choice.alpha, paths, sizes, trials, reason, plan, held_out, folds
    )


def _own_fold(
    plan: Plan, dictionary: Functions, pursuits: Sequence[Watched]
) -> FoldPath:
    """Return the model itself, as one that never saw the part that it holds out."""
    paths = [p.pursuit.path() for p in pursuits]
    return fold_of_paths(plan, 0, dictionary, paths, [len(path) for path in paths])


# -- the final pursuit -------------------------------------------------------------


def _final_pursuits(
    plan: Plan, choice: Choice, on_round: OnRound | None
) -> tuple[Plan, Functions, list[Watched]]:
    """Return the plan that there is time for, its functions, and the pursuits.

    They have steps even if they were interrupted before the first: what a search has
    chosen, or all that time allows, is worth a second try.
    """
    dictionary = plan.grid.dictionaries[choice.width]
    if plan.holds_out_of_model:
        weight = plan.folds.weights[0]
        dictionary = plan.grid.without_targets(choice.width, weight)

    # The only dictionary is that of the model.
    grid = replace(plan.grid, dictionaries=[dictionary], relearn=None)
    model_plan = replace(plan, grid=grid)
    try:
        with single_interrupts(), plan.deadline.part(1.0):
            if not plan.deadline.is_bound or choice.bench is not None:
                pursuits = _pursue(plan, choice, dictionary, on_round)
                return plan, dictionary, pursuits
            return _in_time(model_plan, choice, on_round)
    except Interrupted:
        has_searched = choice.trials or plan.tried
        if plan.deadline.reason in (None, "interrupted") and not has_searched:
            raise
        tell_of_interrupt(
            plan.deadline,
            "The fit was interrupted after its search; the model that this chose is "
            "fitted nevertheless. Press Ctrl-C twice within two seconds to end the "
            "fit.",
        )
    part = shrunk(model_plan, _LAST * GRACE / set_up_seconds(model_plan))
    plan.deadline.allow_overtime()
    return _on(part, replace(choice, bench=None), on_round)


def _in_time(
    plan: Plan, choice: Choice, on_round: OnRound | None
) -> tuple[Plan, Functions, list[Watched]]:
    """Return the pursuits on all rows, or on as large a part as there is time for.

    If it is doubtful whether there is time for all, a small part gives a model, and
    tells how large the next part may be.
    """
    deadline = plan.deadline
    if deadline.is_over:
        deadline.cut_short()
        raise Interrupted
    left, seconds = deadline.left, set_up_seconds(plan)
    if seconds <= _SAFE * left:
        return _on(plan, choice, on_round)
    first = _on(shrunk(plan, _TRY * left / seconds), choice, on_round)
    # Most of the time of a small part goes into its steps, which read each of its
    # values; rows and functions have shrunk alike.
    longer = _NEXT * deadline.left / (left - deadline.left)
    if longer < _CLEARLY:
        return first
    try:
        larger = shrunk(plan, _TRY * left / seconds * longer**1.5)
        last = _on(larger, choice, on_round)
    except Interrupted:
        return first
    n_before, n_steps = (sum(p.n_steps for p in ps) for _, _, ps in (first, last))
    is_complete = all(p.stop_reason not in CUT_OFF for p in last[2])
    return last if is_complete or n_steps >= n_before else first


def _on(
    plan: Plan, choice: Choice, on_round: OnRound | None
) -> tuple[Plan, Functions, list[Watched]]:
    """Return the pursuits of a plan with the only dictionary of the model."""
    functions = plan.grid.dictionaries[0]
    return plan, functions, _pursue(plan, choice, functions, on_round)


def _pursue(
    plan: Plan, choice: Choice, dictionary: Functions, on_round: OnRound | None
) -> list[Watched]:
    max_steps = max(choice.max_steps, plan.least_steps)
    problems = plan.problems(choice.alpha, max_steps)
    if plan.holds_out_of_model:
        problems = [next(plan.folds.hold_out(problem)) for problem in problems]
    score = plan.score if plan.holds_out_of_model else None
    is_scored = score is not None
    steps = _new_pursuits(plan, problems, dictionary, choice.bench, is_scored)
    pursuits = [Watched(p, score) for p in steps]
    total = sum(p.max_steps for p in problems)
    with Progress(total, "pursuit", plan.engines.verbose, unit="point") as progress:

        def watch(steps: Sequence[Steps]) -> None:
            for p in pursuits:
                p.look()
                _stop_if_impatient(plan, p)
                if plan.deadline.is_over and p.n_steps and p.stop_reason is None:
                    p.pursuit.stop_reason = reason_to_stop()
            n_kept = None if on_round is None else on_round(steps, dictionary)
            if n_kept is not None:
                for s in steps:
                    s.take_back(n_kept, "callback")
            progress.show(sum(s.n_steps for s in steps), loss=_training_error(steps))

        run(steps, watch)
    for p in pursuits:
        p.look()
    _tell_if_interrupted(steps, plan.deadline)
    return pursuits


def _new_pursuits(
    plan: Plan,
    problems: list[Problem],
    dictionary: Functions,
    bench: Workbench | None,
    is_scored: bool,
) -> list[Steps]:
    if bench is not None:
        return [bench.pursuit(problem) for problem in problems]
    return plan.engines.final_pursuits(
        dictionary,
        plan.sample.X,
        problems,
        needs_directions=plan.selection.word == "loo",
        needs_values=is_scored,
    )


def _stop_if_impatient(plan: Plan, p: Watched) -> None:
    """Stop a pursuit that has not improved for long enough.

    Bounds are computed along the whole path each time, so they are checked only when
    it has grown by a quarter; the path is still cut where patience ends.
    """
    is_due = p.stop_reason is None and p.n_steps >= p.next_look
    if not is_due or not plan.chooses_size_on_path:
        return
    if plan.selection.word == "bound":
        p.next_look = p.n_steps + max(8, p.n_steps // 4)
    if has_lost_patience(plan, p):
        p.pursuit.stop_reason = "patience"


def _training_error(steps: Sequence[Steps]) -> float:
    return sum(float(p.errors[p.n_steps, 0] / p.problem.weight.sum()) for p in steps)


def _tell_if_interrupted(steps: Sequence[Steps], deadline: Deadline) -> None:
    """Warn of a shorter path; raise if there is none."""
    if all(p.stop_reason not in CUT_OFF for p in steps):
        return
    n_steps = sum(p.n_steps for p in steps)
    if not n_steps:
        raise Interrupted
    if all(p.stop_reason != "interrupted" for p in steps):
        return
    tell_of_interrupt(
        deadline,
        f"The fit was interrupted after {n_steps} steps; the model is the one "
        "found so far. Press Ctrl-C twice within two seconds to end the calling "
        "code too.",
    )


# -- why paths end -----------------------------------------------------------------


def _ended_path(plan: Plan, choice: Choice, p: Steps) -> Path:
    """Return the path of a pursuit, with the reason why it ends."""
    return replace(plan.path_of(p), stop_reason=_reason(plan, choice, p))


def _reason(plan: Plan, choice: Choice, p: Steps) -> str:
    is_cut_short = choice.is_cut_short or plan.is_cut_short
    if is_cut_short or (p.stop_reason != "callback" and plan.deadline.reason):
        return plan.deadline.reason or "interrupted"
    if p.stop_reason != "max_support":
        assert p.stop_reason is not None
        return p.stop_reason
    n_candidates = np.count_nonzero(p.problem.candidates)
    if p.problem.is_orthogonal and p.n_steps == n_candidates:
        return "complete"
    # The path ends where the errors of the folds had stopped falling.
    return "patience" if choice.max_steps < plan.template.max_steps else "max_support"


def _cut(path: Path, size: int) -> Path:
    """Return the path up to the size at which patience ended."""
    is_cut_off = path.stop_reason in CUT_OFF
    reason = path.stop_reason if is_cut_off or size == len(path) else "patience"
    return replace(path.truncate(size), stop_reason=reason)


def _common_reason(paths: Sequence[Path], sizes: Sequence[int]) -> str:
    """Return why the fit ended: the first of the reasons of its paths."""
    reason = min((path.stop_reason for path in paths), key=list(REASONS).index)
    is_cut_off = reason in CUT_OFF
    # Nothing was chosen, although there was something to choose.
    return (
        "empty"
        if not any(sizes) and any(len(p) for p in paths) and not is_cut_off
        else reason
    )
