"""Held-out errors along pursuits, and the size that they choose.

Held-out rows are rows of weight zero (see :mod:`.engine.pursuit`): every fold and
every ridge of one dictionary is a pursuit over the same atoms, and all of them share
each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pursuit.engine.atoms import Atoms
from pursuit.engine.problem import Problem, Steps
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.running import run

from .stopping import Patience

# How far cross-validated paths continue beyond their best size so far.
CV_PATIENCE = Patience(steps=30, share=1.0)


@dataclass(frozen=True, eq=False)
class Curve:
    """Held-out error at sizes 0, 1, ...: its mean and standard error over folds."""

    mean: np.ndarray
    standard_error: np.ndarray

    def best(self, tolerance: float | str = 0.0) -> int:
        """Return the smallest size whose error is close to the lowest.

        Parameters
        ----------
        tolerance : float or "1se"
            The error may exceed the lowest by this share, or by one standard error.
        """
        return self.smallest(self.limit(tolerance))

    def limit(self, tolerance: float | str) -> float:
        """Return the largest error that a smaller size may have."""
        if tolerance == "1se":
            return self.lowest + float(self.standard_error[self.mean.argmin()])
        # Negated scores are negative.
        return self.lowest + abs(self.lowest) * float(tolerance)

    def smallest(self, limit: float) -> int:
        """Return the smallest size with an error within the limit."""
        return int(np.argmax(self.mean <= limit))

    @property
    def lowest(self) -> float:
        """The lowest error."""
        return float(self.mean.min())


# -- held-out rows and atoms ---------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Sites:
    """Sets of equal rows, on which atoms are centered.

    Attributes
    ----------
    of_rows : ndarray of int of shape (l,)
        Set of each row, -1 for rows of weight 0.
    of_atoms : ndarray of int of shape (M,)
        Set on which each atom is centered, -1 for atoms that are not on rows.
    """

    of_rows: np.ndarray
    of_atoms: np.ndarray

    def open_atoms(self, weight: np.ndarray) -> np.ndarray:
        """Return which atoms may be chosen if only some rows have weight.

        An atom stays open if it is centered on a row that is fitted, or on none.
        """
        present = np.zeros(self.of_rows.max(initial=-1) + 2, dtype=bool)
        present[self.of_rows[weight > 0]] = True
        present[-1] = True  # index -1: atoms that are not on rows
        return present[self.of_atoms]


# -- curves ------------------------------------------------------------------------


def held_out_curves(
    atoms: Atoms,
    problems: Sequence[Problem],
    folds: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    sites: Sites,
    alphas: Sequence[float],
    make: Callable[[Atoms, Problem], Steps],
    n_at_once: int,
) -> list[list[Curve]]:
    """Return the held-out curves: for each ridge, one for each problem.

    As many pursuits as the memory allows run at once and share their passes.

    Parameters
    ----------
    atoms : Atoms
    problems : sequence of Problem
        Problems on all rows; each fold gives its rows weight 0 and closes their atoms.
    folds : sequence of ndarray of shape (l,)
        As in :func:`without`.
    weights : sequence of ndarray of shape (l,)
        Weights that each fold leaves (see :func:`left_of`); pursuits with the same
        array share the norms.
    sites : Sites
    alphas : sequence of float
    make : callable
        Makes a pursuit from atoms and a problem.
    n_at_once : int
        Number of pursuits that the memory allows at a time.
    """
    tasks = [(alpha, problem) for alpha in alphas for problem in problems]
    n_tasks = max(1, n_at_once // max(1, len(folds)))
    curves: list[Curve] = []
    for start in range(0, len(tasks), n_tasks):
        groups = [
            [
                make(atoms, without(replace(problem, alpha=alpha), fold, w, sites))
                for fold, w in zip(folds, weights, strict=True)
            ]
            for alpha, problem in tasks[start : start + n_tasks]
        ]

        def look(_: Sequence[Steps], groups: list[list[Steps]] = groups) -> None:
            for group in groups:
                _stop_when_hopeless(group)

        for batch in _batches([p for group in groups for p in group], n_at_once):
            run(atoms, batch, look)
            for p in batch:
                p.release()
        curves += [_curve(group) for group in groups]
        if any(p.stop_reason == "interrupted" for group in groups for p in group):
            raise SearchInterrupted
    n = len(problems)
    return [curves[i : i + n] for i in range(0, len(curves), n)]


def separate_curves(
    bind: Callable[[np.ndarray], tuple[Atoms, int]],
    problems: Sequence[Problem],
    folds: Sequence[np.ndarray],
    sites: Sites,
    alphas: Sequence[float],
    make: Callable[[Atoms, Problem], Steps],
) -> list[list[Curve]]:
    """Return the curves of :func:`held_out_curves` if each fold has its own atoms.

    ``bind(weight)`` returns the atoms from the rows of positive weight, and the number
    of pursuits that the memory allows. Folds run one after the other and do not know
    when the others stop improving, so each runs to its end.
    """
    tasks = [(alpha, problem) for alpha in alphas for problem in problems]
    groups: list[list[Steps]] = [[] for _ in tasks]
    for fold in folds:
        weight = left_of(fold, problems[0].weight)
        atoms, n_at_once = bind(weight)
        pursuits = [
            make(atoms, without(replace(problem, alpha=alpha), fold, weight, sites))
            for alpha, problem in tasks
        ]
        for batch in _batches(pursuits, n_at_once):
            run(atoms, batch)
        if any(p.stop_reason == "interrupted" for p in pursuits):
            raise SearchInterrupted
        for group, p in zip(groups, pursuits, strict=True):
            p.release()
            group.append(p)
    curves = [_curve(group) for group in groups]
    n = len(problems)
    return [curves[i : i + n] for i in range(0, len(curves), n)]


class SearchInterrupted(Exception):  # noqa: N818 -- not an error
    """The user stopped the search; earlier comparisons remain valid."""


def _batches(pursuits: list[Steps], n_at_once: int) -> list[list[Steps]]:
    size = max(1, n_at_once)
    return [pursuits[i : i + size] for i in range(0, len(pursuits), size)]


def without(
    problem: Problem, fold: np.ndarray, weight: np.ndarray, sites: Sites
) -> Problem:
    """Return the problem with the rows of one fold held out, and their atoms closed.

    ``fold`` is 1 (or True) on held-out rows, 0 on fitted rows, in between if some
    copies of a row are held out, and -1 on rows of neither part; ``weight`` is
    :func:`left_of` the fold.
    """
    return replace(
        problem,
        weight=weight,
        held_out=problem.weight * np.maximum(fold, 0.0),
        candidates=problem.candidates & sites.open_atoms(weight),
    )


def left_of(fold: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weights of the rows that are fitted when a fold is held out."""
    return np.where(fold < 0, 0.0, weight * (1.0 - fold))


def held_out_errors(p: Steps) -> np.ndarray:
    """Return the mean held-out error at sizes 0, 1, ..., by the loss or the judge."""
    if p.problem.judge is not None:
        return p.judged[: p.n_steps + 1]
    return p.errors[: p.n_steps + 1, 1] / p.problem.held_out.sum()


def _group_errors(group: list[Steps], length: int) -> np.ndarray:
    """Return the held-out errors (n_folds, length) of several pursuits.

    A pursuit that found nothing more to add keeps its last error.
    """
    return np.array([_padded(held_out_errors(p), length) for p in group])


def _padded(errors: np.ndarray, length: int) -> np.ndarray:
    """Return the first ``length`` errors, padded with the last one."""
    if len(errors) >= length:
        return errors[:length]
    return np.pad(errors, (0, length - len(errors)), mode="edge")


def _fold_weights(group: list[Steps]) -> np.ndarray:
    totals = np.array([p.problem.held_out.sum() for p in group])
    return totals / totals.sum()


def _is_spent(p: Steps) -> bool:
    return p.stop_reason in ("exact", "exhausted")


def _stop_when_hopeless(group: list[Steps]) -> None:
    going = [p for p in group if not _is_spent(p)]
    if not going or all(p.stop_reason for p in going):
        return
    length = min(p.n_steps for p in going) + 1
    mean = _fold_weights(group) @ _group_errors(group, length)
    if CV_PATIENCE.length(mean) < length:
        for p in going:
            p.stop_reason = p.stop_reason or "patience"


def _curve(group: list[Steps]) -> Curve:
    going = [p for p in group if not _is_spent(p)]
    length = min((p.n_steps for p in going), default=max(p.n_steps for p in group)) + 1
    errors = _group_errors(group, length)
    shares = _fold_weights(group)
    mean = shares @ errors
    scale = np.max(np.abs(errors - mean), initial=1e-300)
    spread = scale * np.sqrt(shares @ ((errors - mean) / scale) ** 2)
    seen = CV_PATIENCE.length(mean)
    return Curve(mean[:seen], spread[:seen] / np.sqrt(max(1, len(group) - 1)))


# -- leave-one-out -----------------------------------------------------------------


def leave_one_out_errors(pursuit: Pursuit) -> np.ndarray:
    """Return the mean squared leave-one-out error at sizes 0, 1, ... (PRESS).

    The closed form is ``R / (1 - h)``, where ``h`` is the diagonal of the hat matrix,
    which grows by ``q**2`` at each step. It ignores that the atoms were selected with
    the left-out point, so it can stop a path, but not compare widths. A row of weight 3
    stands for three rows, of which one is left out; a row of weight below 1 is left out
    whole.
    """
    problem = pursuit.problem
    fitted = problem.weight > 0
    w = problem.weight[fitted]
    share = np.minimum(w, 1.0)
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
