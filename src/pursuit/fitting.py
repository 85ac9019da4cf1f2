"""From data to a path and a size on it: what every estimator's ``fit`` does.

plan        what was asked for, resolved once
search      widths and ridges compared by the same folds as the sizes
final       one pursuit (or one for each output) with what won
size        chosen on that path
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from ._atoms import Atoms
from ._progress import Progress
from .dictionaries import OneKernel, Precomputed
from .path import Path
from .pursuit import Problem, Pursuit, RandomPursuit, run, state_bytes
from .selection import (
    CV_PATIENCE,
    Curve,
    SearchInterrupted,
    held_out_curves,
    leave_one_out_errors,
    without,
)
from .stopping import Patience

Dictionary = OneKernel | Precomputed
OnStep = Callable[[Sequence[Pursuit], Dictionary], bool]

REASONS = {
    "max_support": "max_support: as many steps as were asked for",
    "exhausted": "exhausted: no remaining candidate lies outside the span of the "
    "chosen ones by more than tol, or is correlated with the residue",
    "exact": "exact: the training targets are reproduced",
    "patience": "patience: the held-out error stopped falling",
    "interrupted": "interrupted: stopped by the user",
    "callback": "callback: a callback asked to stop",
}


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit was asked to do, with every name and default resolved.

    Attributes
    ----------
    dictionaries : sequence of OneKernel or Precomputed
        One for each width to compare.
    alphas : sequence of float
        The ridges to compare.
    centers : ndarray of int
        Rows on which atoms may be centred.
    folds : list of bool masks
        Held-out rows of each fold; one only for a single held-out part.
    selection : {"cv", "validation", "loo", None}
    tolerance : float or "1se"
    patience : Patience or None
    method, fit_intercept, tol
        As in :class:`pursuit.pursuit.Problem`.
    max_steps : int
    is_shared : bool
        One support for all outputs, or one for each.
    n_redrawn : int or None
        Candidates drawn anew at each step.
    """

    dictionaries: Sequence[Dictionary]
    alphas: Sequence[float]
    centers: np.ndarray
    folds: list[np.ndarray]
    selection: str | None
    tolerance: float | str
    patience: Patience | None
    method: str
    fit_intercept: bool
    tol: float
    max_steps: int
    is_shared: bool
    n_redrawn: int | None
    seed: int
    memory: int
    dtype: Any
    n_jobs: int | None
    verbose: int | bool

    @property
    def n_configurations(self) -> int:
        """How many pairs of width and ridge are compared."""
        return len(self.dictionaries) * len(self.alphas)


@dataclass(frozen=True, eq=False)
class Fit:
    """What came out: the winning dictionary and ridge, the paths, a size on each.

    Attributes
    ----------
    dictionary : OneKernel or Precomputed
    alpha : float
    paths : list of Path
        Over the rows of the data; one, or one for each output.
    sizes : list of int
    curves : list of (dictionary, alpha, list of Curve)
        All that was compared.
    stop_reason : str
    """

    dictionary: Dictionary
    alpha: float
    paths: list[Path]
    sizes: list[int]
    curves: list[tuple[Dictionary, float, list[Curve]]]
    stop_reason: str


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
    problems = _problems(plan, Y, weight)
    curves = _search(plan, X, problems) if _needs_search(plan) else []
    won = _winner(curves, plan.tolerance) if curves else None
    if won is None:
        dictionary, alpha = plan.dictionaries[0], plan.alphas[0]
        sizes = None
        max_steps = plan.max_steps
    else:
        dictionary, alpha, own = won
        sizes = [curve.best(plan.tolerance) for curve in own]
        max_steps = max(1, *(len(curve.mean) - 1 for curve in own))
    if plan.selection in ("loo", None):
        sizes, max_steps = None, plan.max_steps
    pursuits, paths = _final(
        plan,
        X,
        [replace(p, alpha=alpha, max_steps=max_steps) for p in problems],
        dictionary,
        on_step,
    )
    paths, chosen = _sized(plan, pursuits, paths, sizes)
    reason = _reason(pursuits, paths, curves, max_steps, plan)
    return Fit(dictionary, alpha, paths, chosen, curves, reason)


def _problems(plan: Plan, Y: np.ndarray, weight: np.ndarray) -> list[Problem]:
    whole = Problem(
        Y=Y,
        weight=weight,
        held_out=np.zeros(len(weight)),
        candidates=np.ones(len(plan.centers), dtype=bool),
        method=plan.method,
        alpha=plan.alphas[0],
        fit_intercept=plan.fit_intercept,
        max_steps=plan.max_steps,
        tol=plan.tol,
    )
    if plan.is_shared:
        return [whole]
    return [replace(whole, Y=Y[t : t + 1]) for t in range(len(Y))]


# -- the search --------------------------------------------------------------------


def _needs_search(plan: Plan) -> bool:
    """Whether anything is compared before the final pursuit.

    A single held-out part and a single configuration need none: the final pursuit
    itself is watched.
    """
    if not plan.folds:
        return False
    return plan.selection == "cv" or plan.n_configurations > 1


def _search(
    plan: Plan, X: Any, problems: list[Problem]
) -> list[tuple[Dictionary, float, list[Curve]]]:
    n_jobs = min(effective_n_jobs(plan.n_jobs), len(plan.dictionaries))
    with Progress(len(plan.dictionaries), "widths", plan.verbose) as progress:
        if n_jobs == 1:
            return _search_in_turn(plan, X, problems, progress)
        # Threads share the data; each gets its share of the memory and of BLAS.
        share = replace(plan, memory=plan.memory // n_jobs)
        with threadpool_limits(max(1, effective_n_jobs(-1) // n_jobs)):
            found = Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(_compare_ridges)(share, X, problems, dictionary)
                for dictionary in plan.dictionaries
            )
        progress.show(len(plan.dictionaries))
        return [row for rows in found for row in rows]


def _search_in_turn(
    plan: Plan, X: Any, problems: list[Problem], progress: Progress
) -> list[tuple[Dictionary, float, list[Curve]]]:
    rows: list[tuple[Dictionary, float, list[Curve]]] = []
    for n, dictionary in enumerate(plan.dictionaries):
        try:
            rows += _compare_ridges(plan, X, problems, dictionary)
        except SearchInterrupted:
            if not rows:
                raise KeyboardInterrupt from None
            warnings.warn(
                f"The search was interrupted after {n} of {len(plan.dictionaries)} "
                "widths; the best of these is used.",
                stacklevel=5,
            )
            break
        progress.show(n + 1, error=min(_total(own) for _, _, own in rows))
    return rows


def _compare_ridges(
    plan: Plan, X: Any, problems: list[Problem], dictionary: Dictionary
) -> list[tuple[Dictionary, float, list[Curve]]]:
    atoms, left = _bind(plan, X, problems, dictionary)
    own = state_bytes(atoms.n_rows, atoms.n_atoms, plan.max_steps, len(problems[0].Y))
    curves = held_out_curves(
        atoms,
        problems,
        plan.folds,
        plan.centers,
        plan.alphas,
        _maker(plan),
        max(1, left // own),
    )
    return [(dictionary, a, c) for a, c in zip(plan.alphas, curves, strict=True)]


def _total(curves: list[Curve]) -> float:
    return sum(curve.lowest for curve in curves)


def _winner(
    rows: list[tuple[Dictionary, float, list[Curve]]], tolerance: float | str
) -> tuple[Dictionary, float, list[Curve]]:
    """Return the configuration of lowest error or, with a tolerance, the smallest.

    The tolerance that a size may lose against the lowest error counts from the
    lowest error of all configurations.
    """
    lowest = min(rows, key=lambda row: _total(row[2]))
    if tolerance == 0.0:
        return lowest
    if tolerance == "1se":
        limit = sum(
            curve.mean.min() + curve.standard_error[curve.mean.argmin()]
            for curve in lowest[2]
        )
    else:
        limit = _total(lowest[2]) * (1.0 + float(tolerance))
    near = [row for row in rows if _total(row[2]) <= limit]
    return min(near, key=lambda row: sum(c.best(tolerance) for c in row[2]))


# -- the final pursuit -------------------------------------------------------------


def _final(
    plan: Plan,
    X: Any,
    problems: list[Problem],
    dictionary: Dictionary,
    on_step: OnStep | None,
) -> tuple[list[Pursuit], list[Path]]:
    atoms, _ = _bind(plan, X, problems, dictionary)
    if plan.selection == "validation" and plan.folds:
        fold = plan.folds[0]
        weight = np.where(fold, 0.0, problems[0].weight)
        problems = [without(p, fold, weight, plan.centers) for p in problems]
    make = _maker(plan)
    pursuits = [make(atoms, problem) for problem in problems]
    total = sum(p.max_steps for p in problems)
    with Progress(total, "support", plan.verbose) as progress:

        def watch(pursuits: Sequence[Pursuit]) -> None:
            for p in pursuits:
                _stop_if_impatient(plan, p)
            if on_step is not None and on_step(pursuits, dictionary):
                for p in pursuits:
                    p.stop_reason = p.stop_reason or "callback"
            progress.show(
                sum(p.n_steps for p in pursuits),
                mse=sum(
                    p.errors[p.n_steps, 0] / p.problem.weight.sum() for p in pursuits
                ),
            )

        run(atoms, pursuits, watch)
    if any(p.stop_reason == "interrupted" for p in pursuits):
        warnings.warn(
            f"The fit was interrupted after {sum(p.n_steps for p in pursuits)} "
            "steps; the model is the one found so far.",
            stacklevel=5,
        )
    paths = [p.path() for p in pursuits]
    return pursuits, [replace(p, atoms=plan.centers[p.atoms]) for p in paths]


def _stop_if_impatient(plan: Plan, p: Pursuit) -> None:
    errors = _own_errors(plan, p)
    if p.stop_reason or errors is None:
        return
    patience = plan.patience or _default_patience(plan)
    if patience.length(errors) < len(errors):
        p.stop_reason = "patience"


def _default_patience(plan: Plan) -> Patience:
    return Patience(5) if plan.selection == "loo" else CV_PATIENCE


def _own_errors(plan: Plan, p: Pursuit) -> np.ndarray | None:
    """Return the errors by which a pursuit chooses its own size, if it does."""
    if plan.selection == "validation":
        return p.errors[: p.n_steps + 1, 1]
    if plan.selection == "loo":
        return leave_one_out_errors(p)
    return None


def _sized(
    plan: Plan,
    pursuits: list[Pursuit],
    paths: list[Path],
    sizes: list[int] | None,
) -> tuple[list[Path], list[int]]:
    """Return the paths, cut where patience ended, and the sizes chosen on them."""
    if plan.selection in ("validation", "loo") and (
        plan.selection == "loo" or plan.folds
    ):
        patience = plan.patience or _default_patience(plan)
        cut, chosen = [], []
        for p, path in zip(pursuits, paths, strict=True):
            errors = _own_errors(plan, p)
            assert errors is not None
            seen = patience.length(errors)
            # One path has no folds to tell its noise by.
            curve = Curve(errors[:seen], np.zeros(seen))
            cut.append(path.truncate(seen - 1))
            chosen.append(curve.best(plan.tolerance))
        return cut, chosen
    if sizes is None:
        return paths, [len(path) for path in paths]
    return paths, [min(n, len(path)) for n, path in zip(sizes, paths, strict=True)]


def _reason(
    pursuits: list[Pursuit],
    paths: list[Path],
    curves: list[tuple[Dictionary, float, list[Curve]]],
    max_steps: int,
    plan: Plan,
) -> str:
    found = {p.stop_reason or "max_support" for p in pursuits}
    for reason in ("interrupted", "callback", "exhausted", "exact", "patience"):
        if reason in found:
            return REASONS[reason]
    # The path ends where the folds' errors had stopped falling.
    return REASONS["patience" if max_steps < plan.max_steps else "max_support"]


# -- shared ------------------------------------------------------------------------


def _maker(plan: Plan) -> Callable[[Atoms, Problem], Pursuit]:
    if plan.n_redrawn is None:
        return Pursuit
    n, seed = plan.n_redrawn, plan.seed
    return lambda atoms, problem: RandomPursuit(
        atoms, problem, n, np.random.default_rng(seed)
    )


def _bind(
    plan: Plan, X: Any, problems: list[Problem], dictionary: Dictionary
) -> tuple[Atoms, int]:
    """Return the atoms and the bytes left for pursuits."""
    n_rows = len(problems[0].weight)
    own = len(problems) * state_bytes(
        n_rows, len(plan.centers), problems[0].max_steps, len(problems[0].Y)
    )
    least = 64 * 8 * n_rows
    if own + least > plan.memory:
        raise ValueError(
            f"max_memory allows {plan.memory / 2**20:.0f} MiB, but a pursuit of "
            f"{problems[0].max_steps} steps on {n_rows} rows needs "
            f"{(own + least) / 2**20:.0f} MiB besides the kernel: raise max_memory, "
            "or lower max_support or n_candidates."
        )
    atoms = dictionary.bind(X, plan.centers, plan.memory - own, plan.dtype)
    taken = n_rows * len(plan.centers) * np.dtype(plan.dtype).itemsize
    left = plan.memory - taken if atoms.is_stored else own
    return atoms, left
