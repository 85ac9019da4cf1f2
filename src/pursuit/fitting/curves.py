"""Held-out errors along the path, averaged over folds, and the size they choose.

Every fold and every ridge of one dictionary is a pursuit over the same atoms, and all
of them share each pass.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

import numpy as np

from pursuit._interrupts import Interrupted
from pursuit._ranges import SMALLEST_POSITIVE
from pursuit.engine.problem import Problem, Steps
from pursuit.engine.running import CUT_OFF, run
from pursuit.path import Path

from .engines import Workbench
from .folds import Folds

# Errors closer than this (relative) are a tie, decided by order and not by rounding.
TIE = 1e-9

# Room for this many pursuits is needed for one whose fold has atoms of its own.
_COPIES = 4

# Returns the path of a pursuit that is over.
LaterPath = Callable[[], Path]

# Returns the error of values (T, n) on held-out rows, given these and their weights.
ScoreRows = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Patience:
    """Stop when the error has not decreased for some steps.

    Attributes
    ----------
    steps : int
        Number of steps to wait.
    share : float
        Additional steps to wait, as a share of the size of the best model so far:
        large models improve in small steps.
    least : float
        Share of the error by which it must decrease to count.
    """

    steps: int = 5
    share: float = 0.0
    least: float = 0.0

    def length(self, errors: np.ndarray) -> int:
        """Return the number of errors, at sizes 0, 1, ..., until patience ends."""
        best, at = np.inf, -1
        for n, error in enumerate(errors.tolist()):
            if at < 0 or error < best - self.least * abs(best):
                best, at = error, n
            if n - at >= self.steps + self.share * at:
                return n + 1
        return len(errors)


# How far cross-validated paths continue beyond their best size so far.
CV_PATIENCE = Patience(steps=30, share=1.0)
# The same where many kernels are compared.
LEARNING_PATIENCE = Patience(steps=20, share=0.3, least=1e-3)


@dataclass(frozen=True, eq=False)
class Curve:
    """Held-out error at sizes 0, 1, ...: its mean and standard error over folds.

    Attributes
    ----------
    mean, standard_error : ndarray of shape (n_sizes,)
    paths : tuple of callable
        Make the path of each fold, of atoms as the pursuits number them.
    """

    mean: np.ndarray
    standard_error: np.ndarray
    paths: tuple[LaterPath, ...] = ()

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


@dataclass(frozen=True)
class HeldOutError:
    """What held-out rows say of the chosen size.

    Attributes
    ----------
    error : float
        Mean error of the model, a negated score if there is a scorer.
    standard_error : float or None
        Its standard error over folds; None if there is one held-out part.
    of_constant : float
        Error of the model without points.
    is_score : bool
        Whether the errors are negated scores.
    """

    error: float
    standard_error: float | None
    of_constant: float
    is_score: bool = False

    @classmethod
    def of(
        cls, curves: Sequence[Curve], sizes: Sequence[int], has_folds: bool = True
    ) -> HeldOutError:
        """Return the errors at a size on each curve, summed over the curves."""
        pairs = list(zip(curves, sizes, strict=True))
        spreads = [float(curve.standard_error[n]) for curve, n in pairs]
        return cls(
            error=sum(float(curve.mean[n]) for curve, n in pairs),
            standard_error=math.hypot(*spreads) if has_folds else None,
            of_constant=sum(float(curve.mean[0]) for curve in curves),
        )


# -- one pursuit -------------------------------------------------------------------


class Watched:
    """A pursuit with the held-out errors of its models so far.

    Parameters
    ----------
    pursuit : Steps
    score : callable or None
        Scores held-out rows; None for the loss, which the pursuit records itself.
    """

    def __init__(self, pursuit: Steps, score: ScoreRows | None) -> None:
        self.pursuit = pursuit
        self._score = score
        self._scores: list[float] = []
        self._is_cut_off = False
        # Size at which the error is looked at next, where each look is costly.
        self.next_look = 0
        held_out = pursuit.problem.held_out
        self._rows = np.flatnonzero(held_out)
        self._weight = held_out[self._rows]
        self.total = float(held_out.sum())

    def look(self) -> None:
        """Score the steps since the last look."""
        if self._score is None or not len(self._rows) or self._is_cut_off:
            return
        # If an interrupt cuts a score off, those of later sizes are not wanted either.
        self._is_cut_off = True
        for values in self.pursuit.held_out_values():
            self._scores.append(self._score(self._rows, values, self._weight))
        self._is_cut_off = False

    @property
    def errors(self) -> np.ndarray:
        """The mean held-out error at sizes 0, 1, ..."""
        p = self.pursuit
        if self._score is not None:
            return np.array(self._scores[: p.n_steps + 1])
        return p.errors[: p.n_steps + 1, 1] / self.total

    @property
    def n_steps(self) -> int:
        """The number of steps so far."""
        return self.pursuit.n_steps

    @property
    def stop_reason(self) -> str | None:
        """Why the pursuit ended; None while it goes on."""
        return self.pursuit.stop_reason

    def record(self, keeps_path: bool = True) -> FoldErrors:
        """Return the errors, and how to make the path, without the pursuit."""
        self.look()
        path = self.pursuit.later_path() if keeps_path else None
        return FoldErrors(self.errors.copy(), self.total, self.stop_reason, path)


@dataclass(frozen=True, eq=False)
class FoldErrors:
    """What a pursuit on one fold recorded.

    Attributes
    ----------
    errors : ndarray of shape (n_steps + 1,)
        Mean held-out error at sizes 0, 1, ...
    total : float
        Weight of the held-out rows.
    stop_reason : str or None
    path : callable or None
        Makes the path; None if nobody will ask for it.
    """

    errors: np.ndarray
    total: float
    stop_reason: str | None
    path: LaterPath | None = None

    @property
    def n_steps(self) -> int:
        """The number of steps."""
        return len(self.errors) - 1


# -- several pursuits --------------------------------------------------------------


def shared_curves(
    bench: Workbench,
    problems: Sequence[Problem],
    folds: Folds,
    patience: Patience = CV_PATIENCE,
    score: ScoreRows | None = None,
) -> list[Curve]:
    """Return the held-out curve of each problem.

    As many pursuits as the memory allows run at once and share their passes. The
    pursuits of one curve stop together, once their mean error no longer falls.

    Parameters
    ----------
    bench : Workbench
        With atoms that are the same in all folds.
    problems : sequence of Problem
        Problems on all rows; each fold gives its rows weight 0 and closes their atoms.
    folds : Folds
    patience : Patience
        When the pursuits of a curve stop.
    score : callable, optional
        Scores held-out rows in place of the loss.

    Raises
    ------
    Interrupted
        With the curves that were begun in all folds.
    """
    n_at_once = max(1, bench.n_at_once // max(1, len(folds)))
    curves: list[Curve] = []
    for batch in _batches(problems, n_at_once):
        tasks = [list(folds.hold_out(problem)) for problem in batch]
        records, is_complete = _run_tasks(bench, tasks, patience, score)
        if not is_complete:
            records = list(takewhile(lambda r: _have_begun(r, len(folds)), records))
        curves += [_curve(record, patience) for record in records]
        if not is_complete:
            raise Interrupted(curves)
    return curves


def separate_curves(
    bench_of: Callable[[np.ndarray, int], Workbench],
    problems: Sequence[Problem],
    folds: Folds,
    patience: Patience = CV_PATIENCE,
    score: ScoreRows | None = None,
) -> list[Curve]:
    """Return the curves of :func:`shared_curves` if each fold has its own atoms.

    ``bench_of(weight, key)`` returns a workbench made from the rows of positive weight.
    If those of all folds fit the memory, the pursuits of a curve stop together.
    Otherwise folds run one after the other and do not know when the others stop
    improving, so each runs to its end.
    """
    keyed = folds.keyed_weights.items()
    held_out = list(zip(*(folds.hold_out(p) for p in problems), strict=True))
    first = bench_of(*next((weight, key) for key, weight in keyed))
    if first.n_at_once >= _COPIES * len(problems) * len(folds):
        others = [bench_of(weight, key) for key, weight in keyed if key > 1]
        return _joint_curves([first, *others], held_out, patience, score)
    records: list[list[FoldErrors]] = [[] for _ in problems]
    for (key, weight), parts in zip(keyed, held_out, strict=True):
        bench = first if key == 1 else bench_of(weight, key)
        fold, is_complete = _run_in_batches(bench, parts, score)
        if not is_complete:
            raise Interrupted([_curve(r, patience) for r in records if r])
        for record, errors in zip(records, fold, strict=True):
            record.append(errors)
    return [_curve(record, patience) for record in records]


def _joint_curves(
    benches: Sequence[Workbench],
    held_out: Sequence[Sequence[Problem]],
    patience: Patience,
    score: ScoreRows | None,
) -> list[Curve]:
    """Return the curve of each problem; all of its folds run at once."""
    groups = [
        [
            Watched(bench.pursuit(problem), score)
            for bench, problem in zip(benches, task, strict=True)
        ]
        for task in zip(*held_out, strict=True)
    ]
    is_complete = _run(groups, patience)
    records = [[p.record() for p in group] for group in groups]
    if not is_complete:
        records = list(takewhile(lambda r: _have_begun(r, len(benches)), records))
    curves = [_curve(record, patience) for record in records]
    if not is_complete:
        raise Interrupted(curves)
    return curves


def common_curve(pursuits: list[Watched], patience: Patience) -> Curve:
    """Return the curve of pursuits on several folds, each over atoms of its own.

    They stop together, once their mean error no longer falls.

    Raises
    ------
    Interrupted
        If the user stopped them.
    """
    if not _run([pursuits], patience):
        raise Interrupted
    return _curve([p.record(keeps_path=False) for p in pursuits], patience)


def _run_tasks(
    bench: Workbench,
    tasks: list[list[Problem]],
    patience: Patience,
    score: ScoreRows | None,
) -> tuple[list[list[FoldErrors]], bool]:
    """Run the folds of several problems, or of one if these do not fit at once.

    Return their errors, as far as they got, and whether nobody interrupted them.
    """
    if len(tasks) == 1 and len(tasks[0]) > bench.n_at_once:
        # The folds do not know when the others stop improving.
        fold, is_complete = _run_in_batches(bench, tasks[0], score)
        return [fold], is_complete
    groups = [[Watched(bench.pursuit(p), score) for p in task] for task in tasks]
    is_complete = _run(groups, patience)
    return [[p.record() for p in group] for group in groups], is_complete


def _run_in_batches(
    bench: Workbench, problems: Sequence[Problem], score: ScoreRows | None
) -> tuple[list[FoldErrors], bool]:
    """Run as many pursuits at once as the memory allows, each to its end."""
    records: list[FoldErrors] = []
    for batch in _batches(problems, max(1, bench.n_at_once)):
        pursuits = [Watched(bench.pursuit(problem), score) for problem in batch]
        is_complete = _run([pursuits], None)
        records += [p.record() for p in pursuits]
        # Free their memory before the next batch allocates its own.
        del pursuits
        if not is_complete:
            return records, False
    return records, True


def _batches(items: Sequence[Any], size: int) -> Iterator[Sequence[Any]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]


def _run(groups: list[list[Watched]], patience: Patience | None) -> bool:
    """Run pursuits; return False if they were interrupted.

    With patience, those of a group stop once their mean error no longer falls.
    """
    pursuits = [p for group in groups for p in group]

    def look(_: Sequence[Steps]) -> None:
        for p in pursuits:
            p.look()
        if patience is not None:
            for group in groups:
                _stop_when_hopeless(group, patience)

    run([p.pursuit for p in pursuits], look)
    return all(p.stop_reason not in CUT_OFF for p in pursuits)


def _stop_when_hopeless(group: list[Watched], patience: Patience) -> None:
    going = [p for p in group if not _is_spent(p)]
    if not going or all(p.stop_reason for p in going):
        return
    length = min(p.n_steps for p in going) + 1
    mean = _shares(group) @ _errors(group, length)
    if patience.length(mean) < length:
        for p in going:
            p.pursuit.stop_reason = p.stop_reason or "patience"


def _curve(group: list[FoldErrors], patience: Patience) -> Curve:
    going = [p for p in group if not _is_spent(p)]
    length = min((p.n_steps for p in going), default=max(p.n_steps for p in group)) + 1
    errors = _errors(group, length)
    shares = _shares(group)
    mean = shares @ errors
    scale = np.max(np.abs(errors - mean), initial=SMALLEST_POSITIVE)
    spread = scale * np.sqrt(shares @ ((errors - mean) / scale) ** 2)
    seen = patience.length(mean)
    paths = tuple(p.path for p in group if p.path is not None)
    standard_error = spread[:seen] / np.sqrt(max(1, len(group) - 1))
    return Curve(mean[:seen], standard_error, paths)


def _errors(group: Sequence[Watched | FoldErrors], length: int) -> np.ndarray:
    """Return the held-out errors (n_folds, length) of several pursuits.

    A pursuit that has nothing more to add keeps its last error.
    """
    return np.array([_padded(p.errors, length) for p in group])


def _padded(errors: np.ndarray, length: int) -> np.ndarray:
    """Return the first ``length`` errors, padded with the last one."""
    if len(errors) >= length:
        return errors[:length]
    return np.pad(errors, (0, length - len(errors)), mode="edge")


def _shares(group: Sequence[Watched | FoldErrors]) -> np.ndarray:
    totals = np.array([p.total for p in group])
    return totals / totals.sum()


def _is_spent(p: Watched | FoldErrors) -> bool:
    return p.stop_reason in ("exact", "exhausted")


def _have_begun(group: list[FoldErrors], n_folds: int) -> bool:
    return len(group) == n_folds and all(p.n_steps > 0 or _is_spent(p) for p in group)
