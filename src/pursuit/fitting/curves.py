"""Held-out errors along the path, averaged over folds, and the size they choose.

Every fold and every ridge of one dictionary is a pursuit over the same atoms, and all
of them share each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile

import numpy as np

from pursuit.engine.problem import Problem, Steps
from pursuit.engine.running import run

from .engines import Workbench
from .held_out import Sites, held_out_errors, left_of, without
from .stopping import CV_PATIENCE, Patience

# Errors closer than this (relative) are a tie, decided by order and not by rounding.
TIE = 1e-9


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
        return int(np.argmax(self.mean <= limit + TIE * abs(limit)))

    @property
    def lowest(self) -> float:
        """The lowest error."""
        return float(self.mean.min())


class SearchInterrupted(Exception):  # noqa: N818 -- not an error
    """The user stopped the search; earlier comparisons remain valid.

    Parameters
    ----------
    curves : list of list of Curve
        Curves as far as they got: for each of the first ridges, one for each problem.
    """

    def __init__(self, curves: list[list[Curve]]) -> None:
        super().__init__()
        self.curves = curves


@dataclass(frozen=True, eq=False)
class Folds:
    """Parts of the rows, each held out once.

    Attributes
    ----------
    parts : sequence of ndarray of shape (l,)
        As in :func:`.without`.
    weights : sequence of ndarray of shape (l,)
        Weights of the rows that each fold leaves. Engines tell weights apart by
        object, so that all pursuits of a fold share its norms and inner products.
    sites : Sites
        Tells which atoms are centered on held-out rows, and closed with them.
    """

    parts: Sequence[np.ndarray]
    weights: Sequence[np.ndarray]
    sites: Sites

    @classmethod
    def of(cls, parts: Sequence[np.ndarray], weight: np.ndarray, sites: Sites) -> Folds:
        """Return the folds that hold out these parts of weighted rows."""
        return cls(parts, [left_of(part, weight) for part in parts], sites)

    def hold_out(self, problem: Problem) -> Iterator[Problem]:
        """Yield the problem without each of the parts."""
        for part, weight in zip(self.parts, self.weights, strict=True):
            yield without(problem, part, weight, self.sites)


def shared_curves(
    bench: Workbench,
    problems: Sequence[Problem],
    folds: Folds,
    alphas: Sequence[float],
    patience: Patience = CV_PATIENCE,
) -> list[list[Curve]]:
    """Return the held-out curves: for each ridge, one for each problem.

    As many pursuits as the memory allows run at once and share their passes. The
    pursuits of one curve stop together, once their mean error no longer falls.

    Parameters
    ----------
    bench : Workbench
        With atoms that are the same in all folds, see :func:`.bench_of_folds`.
    problems : sequence of Problem
        Problems on all rows; each fold gives its rows weight 0 and closes their atoms.
    folds : Folds
    alphas : sequence of float
    patience : Patience
        When the pursuits of a curve stop.
    """
    tasks = [replace(problem, alpha=alpha) for alpha in alphas for problem in problems]
    n_tasks = max(1, bench.n_at_once // max(1, len(folds.parts)))
    curves: list[Curve] = []
    for start in range(0, len(tasks), n_tasks):
        groups = [
            [bench.pursuit(problem) for problem in folds.hold_out(task)]
            for task in tasks[start : start + n_tasks]
        ]

        def look(_: Sequence[Steps], groups: list[list[Steps]] = groups) -> None:
            for group in groups:
                _stop_when_hopeless(group, patience)

        is_whole = _run_in_batches(bench, [p for g in groups for p in g], look)
        if not is_whole:
            begun = takewhile(_has_begun, groups)
            curves += [_curve(group, patience) for group in begun]
            raise SearchInterrupted(_by_ridge(curves, len(problems)))
        curves += [_curve(group, patience) for group in groups]
    return _by_ridge(curves, len(problems))


def separate_curves(
    bench_of: Callable[[np.ndarray], Workbench],
    problems: Sequence[Problem],
    folds: Folds,
    alphas: Sequence[float],
    patience: Patience = CV_PATIENCE,
) -> list[list[Curve]]:
    """Return the curves of :func:`shared_curves` if each fold has its own atoms.

    ``bench_of(weight)`` returns a workbench made from the rows of positive weight.
    Folds run one after the other and do not know when the others stop improving, so
    each runs to its end.
    """
    tasks = [replace(problem, alpha=alpha) for alpha in alphas for problem in problems]
    groups: list[list[Steps]] = [[] for _ in tasks]
    held_out = zip(*(folds.hold_out(task) for task in tasks), strict=True)
    for weight, parts in zip(folds.weights, held_out, strict=True):
        bench = bench_of(weight)
        pursuits = [bench.pursuit(problem) for problem in parts]
        if not _run_in_batches(bench, pursuits):
            complete = [_curve(group, patience) for group in groups if group]
            raise SearchInterrupted(_by_ridge(complete, len(problems)))
        for group, p in zip(groups, pursuits, strict=True):
            group.append(p)
    return _by_ridge([_curve(group, patience) for group in groups], len(problems))


def _run_in_batches(
    bench: Workbench,
    pursuits: list[Steps],
    watch: Callable[[Sequence[Steps]], None] | None = None,
) -> bool:
    """Run as many pursuits at once as the memory allows; keep only their records.

    Return False if the user interrupted them.
    """
    size = max(1, bench.n_at_once)
    for start in range(0, len(pursuits), size):
        batch = pursuits[start : start + size]
        run(bench.atoms, batch, watch)
        for p in batch:
            p.release()
        if any(p.stop_reason == "interrupted" for p in batch):
            return False
    return True


def _by_ridge(curves: list[Curve], n_problems: int) -> list[list[Curve]]:
    """Group the curves by ridge; drop a last ridge that lacks some problems."""
    n_whole = len(curves) // n_problems * n_problems
    return [curves[i : i + n_problems] for i in range(0, n_whole, n_problems)]


def _has_begun(group: list[Steps]) -> bool:
    return all(p.n_steps > 0 or _is_spent(p) for p in group)


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


def _stop_when_hopeless(group: list[Steps], patience: Patience) -> None:
    going = [p for p in group if not _is_spent(p)]
    if not going or all(p.stop_reason for p in going):
        return
    length = min(p.n_steps for p in going) + 1
    mean = _fold_weights(group) @ _group_errors(group, length)
    if patience.length(mean) < length:
        for p in going:
            p.stop_reason = p.stop_reason or "patience"


def _curve(group: list[Steps], patience: Patience) -> Curve:
    going = [p for p in group if not _is_spent(p)]
    length = min((p.n_steps for p in going), default=max(p.n_steps for p in group)) + 1
    errors = _group_errors(group, length)
    shares = _fold_weights(group)
    mean = shares @ errors
    scale = np.max(np.abs(errors - mean), initial=1e-300)
    spread = scale * np.sqrt(shares @ ((errors - mean) / scale) ** 2)
    seen = patience.length(mean)
    return Curve(mean[:seen], spread[:seen] / np.sqrt(max(1, len(group) - 1)))
