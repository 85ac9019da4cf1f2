"""From data to a path and a size on it: what every estimator's ``fit`` does.

plan        what was asked for                              pursuit.plan
choice      width, ridge and size, by held-out rows         pursuit.choice
final       one pursuit (or one for each output) with what won
size        chosen on its path
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit._progress import Progress
from pursuit._warnings import warn
from pursuit.bounds.paths import Training, bound_curve, positions_of
from pursuit.engine.problem import Problem, Steps
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.running import run
from pursuit.functions import Functions
from pursuit.path import Path

from .choice import choose
from .plan import Plan
from .search import Trial
from .selection import (
    Curve,
    held_out_errors,
    leave_one_out_errors,
    left_of,
    without,
)

OnStep = Callable[[Sequence[Steps], Functions], bool]

# In the order in which they matter where several paths ended differently.
REASONS = {
    "interrupted": "interrupted: stopped by the user",
    "callback": "callback: a callback asked to stop",
    "truncated": "truncated: the first steps of a longer path",
    "exhausted": "exhausted: no remaining candidate lies outside the span of the "
    "chosen ones by more than tol and is correlated with the residue",
    "exact": "exact: the training loss cannot fall further",
    "empty": "empty: without any point the held-out error or the bound was lowest",
    "patience": "patience: the held-out error, or the bound, stopped falling",
    "max_support": "max_support: as many steps as were asked for",
}


@dataclass(frozen=True, eq=False)
class Fit:
    """What came out: the winning dictionary and ridge, the paths, a size on each.

    Attributes
    ----------
    dictionary : Functions
    labels : ndarray of int
        As in the plan.
    alpha : float
    paths : list of Path
        One, or one for each output.
    sizes : list of int
    trials : list of Trial
        All that was compared.
    stop_reason : str
    """

    dictionary: Functions
    labels: np.ndarray
    alpha: float
    paths: list[Path]
    sizes: list[int]
    trials: list[Trial]
    stop_reason: str

    def functions(self, labels: np.ndarray) -> Functions:
        """Return the functions that a path knows by these labels."""
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
    """Fit the targets ``Y`` (T, l) by pursuit as planned.

    ``on_step`` sees the final pursuits after each round and may ask to stop.
    """
    choice = choose(plan, X, Y, weight)
    dictionary, sizes = choice.dictionary, choice.sizes
    problems = [
        replace(p, alpha=choice.alpha, max_steps=choice.max_steps)
        for p in plan.problems(Y, weight)
    ]
    if plan.selection == "validation" and plan.folds:
        fold = plan.folds[0]
        left = left_of(fold, weight)
        problems = [without(p, fold, left, plan.sites) for p in problems]
        dictionary = plan.without_targets(dictionary, left)
    pursuits = _pursue(plan, X, problems, dictionary, on_step)
    paths = [plan.path_of(p) for p in pursuits]
    if _chooses_own_size(plan):
        chosen = [_own_size(plan, p) for p in pursuits]
        paths = [
            replace(path.truncate(end), stop_reason=path.stop_reason)
            for path, (_, end) in zip(paths, chosen, strict=True)
        ]
        sizes = [size for size, _ in chosen]
    elif sizes is None:
        sizes = [len(path) for path in paths]
    sizes = [min(n, len(path)) for n, path in zip(sizes, paths, strict=True)]
    reason = _reason(pursuits, choice.max_steps < plan.max_steps)
    # Nothing was chosen, although there was something to choose.
    if not any(sizes) and any(paths) and not _is_cut_off(pursuits):
        reason = REASONS["empty"]
    return Fit(
        dictionary, plan.labels, choice.alpha, paths, sizes, choice.trials, reason
    )


# -- the final pursuit -------------------------------------------------------------


def _pursue(
    plan: Plan,
    X: Any,
    problems: list[Problem],
    dictionary: Functions,
    on_step: OnStep | None,
) -> list[Steps]:
    pursuits = _final_pursuits(plan, X, problems, dictionary)
    atoms = pursuits[0].atoms
    total = sum(p.max_steps for p in problems)
    looks: dict[int, int] = {}
    with Progress(total, "pursuit", plan.verbose, unit="point") as progress:

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
            raise KeyboardInterrupt
        warn(
            f"The fit was interrupted after {n_steps} steps; the model is the one "
            "found so far. Press Ctrl-C twice within two seconds to end what is around "
            "the fit too."
        )
    return pursuits


def _final_pursuits(
    plan: Plan, X: Any, problems: list[Problem], dictionary: Functions
) -> list[Steps]:
    if (pursuits := plan.moment_pursuits(dictionary, X, problems)) is not None:
        return pursuits
    atoms, _ = plan.bind(dictionary, X, problems)
    gram = None
    # One pursuit is as fast without; "loo" is read off the directions.
    if len(problems) > 1 and plan.selection != "loo":
        gram = plan.gram(atoms, problems[0], [problems[0].weight], len(problems))
    return [plan.pursuit(atoms, problem, gram) for problem in problems]


def _training_error(pursuits: Sequence[Steps]) -> float:
    return sum(float(p.errors[p.n_steps, 0] / p.problem.weight.sum()) for p in pursuits)


# -- sizes that a path chooses by itself -------------------------------------------


def _chooses_own_size(plan: Plan) -> bool:
    return plan.selection in ("loo", "bound") or bool(
        plan.selection == "validation" and plan.folds
    )


def _own_errors(plan: Plan, p: Steps) -> np.ndarray:
    if plan.selection == "loo":
        assert isinstance(p, Pursuit)
        return leave_one_out_errors(p)
    if plan.selection == "bound":
        return _bounds(plan, p)
    return held_out_errors(p)


def _bounds(plan: Plan, p: Steps) -> np.ndarray:
    """Return the bounds of the models so far on the rows that count."""
    path = p.path()
    counted = np.flatnonzero(p.problem.weight > 0)
    K = p.atoms.columns(path.support)[:, counted].T
    rows = positions_of(plan.dictionaries[0].rows[path.support], counted)
    Y = p.problem.Y[:, counted]
    training = Training(Y, rows, len(plan.labels), plan.is_class)
    return bound_curve(path, K, training, plan.bound).values


def _stop_if_impatient(plan: Plan, p: Steps, looks: dict[int, int]) -> None:
    """Stop a pursuit that waited long enough.

    Bounds are computed along the whole path each time, so they are looked at when it
    has grown by a quarter; patience then ends it where it would have ended.
    """
    if p.stop_reason is not None or not _chooses_own_size(plan):
        return
    if p.n_steps < looks.get(id(p), 0):
        return
    if plan.selection == "bound":
        looks[id(p)] = p.n_steps + max(8, p.n_steps // 4)
    errors = _own_errors(plan, p)
    if plan.patience.length(errors) < len(errors):
        p.stop_reason = "patience"


def _own_size(plan: Plan, p: Steps) -> tuple[int, int]:
    """Return the size chosen, and the one at which patience ended."""
    errors = _own_errors(plan, p)
    seen = plan.patience.length(errors)
    if plan.selection == "bound":
        return int(np.argmin(errors[:seen])), seen - 1
    # One path has no folds to tell its noise by.
    curve = Curve(errors[:seen], np.zeros(seen))
    return curve.best(plan.tolerance), seen - 1


def _is_cut_off(pursuits: list[Steps]) -> bool:
    return any(p.stop_reason in ("interrupted", "callback") for p in pursuits)


def _reason(pursuits: list[Steps], is_shortened: bool) -> str:
    """Return why the paths end: the first of the reasons that holds for any."""
    found = {p.stop_reason for p in pursuits}
    if is_shortened:
        # The path ends where the folds' errors had stopped falling.
        found = {"patience" if r == "max_support" else r for r in found}
    return next(text for reason, text in REASONS.items() if reason in found)
