"""The size of a model, where errors or bounds along its own path choose it."""

from __future__ import annotations

import numpy as np

from pursuit.bounds.paths import Training, bound_curve, counted_rows, positions_of
from pursuit.engine.directions import DirectionSteps
from pursuit.engine.problem import Steps
from pursuit.selection import MinimalBound

from .curves import Curve, Watched
from .plan import Plan


def chosen_size(plan: Plan, p: Watched) -> tuple[int, Curve]:
    """Return the size chosen, and the errors until patience ended."""
    errors = _errors(plan, p)
    seen = plan.patience.length(errors)
    # One path has no standard errors over folds.
    curve = Curve(errors[:seen], np.zeros(seen))
    if plan.selection.word == "bound":
        return int(np.argmin(curve.mean)), curve
    return curve.best(plan.selection.tolerance), curve


def has_lost_patience(plan: Plan, p: Watched) -> bool:
    """Return whether a path has not improved for too long."""
    errors = _errors(plan, p)
    return plan.patience.length(errors) < len(errors)


def _errors(plan: Plan, p: Watched) -> np.ndarray:
    """Return the errors, or bounds, at sizes 0, 1, ..."""
    if plan.selection.word == "loo":
        assert isinstance(p.pursuit, DirectionSteps)
        return leave_one_out_errors(p.pursuit, plan.sample.counts)
    if plan.selection.word == "bound":
        return _bounds(plan, p.pursuit)
    return p.errors


def _bounds(plan: Plan, p: Steps) -> np.ndarray:
    """Return the bounds of the models so far, on the rows that they count."""
    assert isinstance(plan.selection, MinimalBound)
    path = p.path()
    counted = counted_rows(np.where(p.problem.weight > 0, plan.sample.counts, 0.0))
    K = p.atoms.values(path.support)[:, counted].T
    rows = positions_of(plan.grid.rows[path.support], counted)
    Y = p.problem.Y[:, counted]
    training = Training(Y, rows, len(plan.grid.labels), plan.sample.is_class)
    rule = plan.selection.rule(plan.sample.is_class)
    return bound_curve(path, K, training, rule).values


def leave_one_out_errors(pursuit: DirectionSteps, counts: np.ndarray) -> np.ndarray:
    """Return the mean squared leave-one-out error at sizes 0, 1, ... (PRESS).

    The closed form is ``R / (1 - h)``, where ``h`` is the diagonal of the hat matrix,
    which grows by ``q**2`` at each step. It ignores that the atoms were selected with
    the left-out point, so it can stop a path, but not compare widths. A row whose count
    (l,) is three stands for three rows, of which one is left out; a row of less than
    one is left out whole.
    """
    problem = pursuit.problem
    fitted = problem.weight > 0
    w = problem.weight[fitted]
    share = w / np.maximum(counts[fitted], 1.0)
    first = int(problem.fit_intercept)
    n_rows = len(problem.weight)
    R = problem.Y[:, fitted].copy()
    h = np.zeros(fitted.sum())
    errors = []
    for b in range(pursuit.n_steps + 1):
        start, stop = (0, first) if b == 0 else (b + first - 1, b + first)
        Q = pursuit.Q[start:stop, :n_rows][:, fitted]
        R -= pursuit.loads[start:stop].T @ Q
        h += share * (Q**2).sum(axis=0)
        left = np.maximum(1.0 - h, 1e-12)
        errors.append(float((w * (R / left) ** 2).sum() / w.sum()))
    return np.array(errors)
