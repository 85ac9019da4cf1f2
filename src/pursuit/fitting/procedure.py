"""The procedure of a fit, from a plan to a path and a size on it.

plan.py     all settings, resolved
choice.py   width, ridge and size, by held-out rows
final       one pursuit (or one for each output) with the chosen settings
size        chosen on its path, if held-out rows did not
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from pursuit._interrupts import is_repeated
from pursuit._progress import Progress
from pursuit._warnings import warn
from pursuit.bounds.paths import Training, bound_curve, positions_of
from pursuit.engine.directions import DirectionSteps
from pursuit.engine.problem import Problem, Steps
from pursuit.engine.running import run
from pursuit.functions import Functions
from pursuit.path import Path

from .choice import Choice, choose
from .curves import Curve
from .engines import Workbench
from .held_out import held_out_errors, leave_one_out_errors, left_of, without
from .plan import Plan
from .search import Trial

OnStep = Callable[[Sequence[Steps], Functions], bool]

# In order of precedence if several paths ended for different reasons.
REASONS = {
    "interrupted": "interrupted: stopped by the user",
    "callback": "callback: a callback asked to stop",
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
    labels : ndarray of int
        As in the plan.
    alpha : float
    paths : list of Path
        One path, or one for each output.
    sizes : list of int
    trials : list of Trial
        All trials of the search.
    stop_reason : str
        A key of :data:`REASONS`.
    """

    dictionary: Functions
    labels: np.ndarray
    alpha: float
    paths: list[Path]
    sizes: list[int]
    trials: list[Trial]
    stop_reason: str

    def functions(self, labels: np.ndarray) -> Functions:
        """Return the functions with these labels."""
        order = np.argsort(self.labels)
        place = np.searchsorted(self.labels, labels, sorter=order)
        return self.dictionary[order[place]]


def fit(
    plan: Plan,
    X: Any,
    Y: np.ndarray,
    weight: np.ndarray,
    on_step: OnStep | None = None,
) -> Fit:
    """Fit the targets ``Y`` (T, l) as planned.

    ``on_step`` is called with the final pursuits after each round and may stop them.
    """
    choice = choose(plan, X, Y, weight)
    dictionary, sizes = choice.dictionary, choice.sizes
    problems = [
        replace(p, alpha=choice.alpha, max_steps=choice.max_steps)
        for p in plan.problems(Y, weight)
    ]
    if plan.size.selection == "validation" and plan.held_out.folds:
        fold = plan.held_out.folds[0]
        left = left_of(fold, weight)
        problems = [without(p, fold, left, plan.rows.sites) for p in problems]
        dictionary = plan.grid.without_targets(dictionary, left)
    pursue = partial(_pursue, plan, X, problems, dictionary, choice.bench, on_step)
    pursuits = _with_patience(pursue) if choice.trials else pursue()
    reasons = [_reason(plan, choice, p) for p in pursuits]
    paths = [
        replace(plan.rows.path_of(p), stop_reason=reason)
        for p, reason in zip(pursuits, reasons, strict=True)
    ]
    if _chooses_own_size(plan):
        chosen = [_own_size(plan, p) for p in pursuits]
        paths = [
            _ended(path, end) for path, (_, end) in zip(paths, chosen, strict=True)
        ]
        reasons = [path.stop_reason for path in paths]
        sizes = [size for size, _ in chosen]
    elif sizes is None:
        sizes = [len(path) for path in paths]
    sizes = [min(n, len(path)) for n, path in zip(sizes, paths, strict=True)]
    # Where several paths ended differently, the first of the reasons tells.
    why = min(reasons, key=list(REASONS).index)
    # Nothing was chosen, although there was something to choose.
    if not any(sizes) and any(paths) and not _is_cut_off(pursuits):
        why = "empty"
    labels, trials = plan.rows.labels, choice.trials
    return Fit(dictionary, labels, choice.alpha, paths, sizes, trials, why)


# -- the final pursuit -------------------------------------------------------------


def _with_patience(pursue: Callable[[], list[Steps]]) -> list[Steps]:
    """Return the final pursuits even if they were interrupted before the first step.

    What a search has chosen is worth a second try.
    """
    try:
        return pursue()
    except NothingYet:
        pass
    except KeyboardInterrupt:
        if is_repeated():
            raise
    warn(
        "The fit was interrupted after its search; the model that this chose is fitted "
        "nevertheless. Press Ctrl-C twice within two seconds to end the fit."
    )
    return pursue()


class NothingYet(KeyboardInterrupt):
    """A first interrupt that came before the first step."""


def _pursue(
    plan: Plan,
    X: Any,
    problems: list[Problem],
    dictionary: Functions,
    bench: Workbench | None,
    on_step: OnStep | None,
) -> list[Steps]:
    if bench is not None:
        pursuits = [bench.pursuit(problem) for problem in problems]
    else:
        is_loo = plan.size.selection == "loo"
        pursuits = plan.engines.final_pursuits(dictionary, X, problems, is_loo)
    atoms = pursuits[0].atoms
    total = sum(p.max_steps for p in problems)
    looks: dict[int, int] = {}
    with Progress(total, "pursuit", plan.resources.verbose, unit="point") as progress:

        def watch(pursuits: Sequence[Steps]) -> None:
            for p in pursuits:
                _stop_if_impatient(plan, p, looks)
            if on_step is not None and on_step(pursuits, dictionary):
                for p in pursuits:
                    p.stop_reason = "callback"
            progress.show(
                sum(p.n_steps for p in pursuits), loss=_training_error(pursuits)
            )

        run(atoms, pursuits, watch)
    if any(p.stop_reason == "interrupted" for p in pursuits):
        n_steps = sum(p.n_steps for p in pursuits)
        if not n_steps:
            raise NothingYet
        warn(
            f"The fit was interrupted after {n_steps} steps; the model is the one "
            "found so far. Press Ctrl-C twice within two seconds to end the calling "
            "code too."
        )
    return pursuits


def _training_error(pursuits: Sequence[Steps]) -> float:
    return sum(float(p.errors[p.n_steps, 0] / p.problem.weight.sum()) for p in pursuits)


# -- sizes chosen on the final path ------------------------------------------------


def _chooses_own_size(plan: Plan) -> bool:
    selection, has_folds = plan.size.selection, bool(plan.held_out.folds)
    return selection in ("loo", "bound") or (selection == "validation" and has_folds)


def _own_errors(plan: Plan, p: Steps) -> np.ndarray:
    if plan.size.selection == "loo":
        assert isinstance(p, DirectionSteps)
        return leave_one_out_errors(p, plan.rows.copies)
    if plan.size.selection == "bound":
        return _bounds(plan, p)
    return held_out_errors(p)


def _bounds(plan: Plan, p: Steps) -> np.ndarray:
    """Return the bounds of the models so far, on the rows of positive weight."""
    path = p.path()
    counted = np.flatnonzero(p.problem.weight > 0)
    K = p.atoms.values(path.support)[:, counted].T
    rows = positions_of(plan.grid.dictionaries[0].rows[path.support], counted)
    Y = p.problem.Y[:, counted]
    training = Training(Y, rows, len(plan.rows.labels), plan.is_class)
    return bound_curve(path, K, training, plan.size.bound).values


def _stop_if_impatient(plan: Plan, p: Steps, looks: dict[int, int]) -> None:
    """Stop a pursuit that has not improved for long enough.

    Bounds are computed along the whole path each time, so they are checked only when
    it has grown by a quarter; the path is still cut where patience ends.
    """
    if p.stop_reason is not None or not _chooses_own_size(plan):
        return
    if p.n_steps < looks.get(id(p), 0):
        return
    if plan.size.selection == "bound":
        looks[id(p)] = p.n_steps + max(8, p.n_steps // 4)
    errors = _own_errors(plan, p)
    if plan.size.patience.length(errors) < len(errors):
        p.stop_reason = "patience"


def _own_size(plan: Plan, p: Steps) -> tuple[int, int]:
    """Return the size chosen, and the one at which patience ended."""
    errors = _own_errors(plan, p)
    seen = plan.size.patience.length(errors)
    if plan.size.selection == "bound":
        return int(np.argmin(errors[:seen])), seen - 1
    # One path has no standard errors over folds.
    curve = Curve(errors[:seen], np.zeros(seen))
    return curve.best(plan.size.tolerance), seen - 1


def _ended(path: Path, size: int) -> Path:
    """Return the path up to the size at which patience ended."""
    was_cut_off = path.stop_reason in ("interrupted", "callback")
    reason = path.stop_reason if was_cut_off or size == len(path) else "patience"
    return replace(path.truncate(size), stop_reason=reason)


def _is_cut_off(pursuits: list[Steps]) -> bool:
    return any(p.stop_reason in ("interrupted", "callback") for p in pursuits)


def _reason(plan: Plan, choice: Choice, p: Steps) -> str:
    """Return why a path ends, in a word."""
    if choice.is_cut_short:
        return "interrupted"
    if p.stop_reason != "max_support":
        assert p.stop_reason is not None
        return p.stop_reason
    n_candidates = np.count_nonzero(p.problem.candidates)
    if p.problem.is_orthogonal and p.n_steps == n_candidates:
        return "complete"
    # The path ends where the folds' errors had stopped falling.
    return "patience" if choice.max_steps < plan.steps.max_steps else "max_support"
