"""Rounds: what held-out rows choose for one family of kernels in a given metric.

An `Arena` has the rows, folds and candidates that all rounds share. A round walks over
widths and ridges, judges the best by all folds, and keeps the model of each fold, whose
gradients give the next metric.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

import numpy as np

from pursuit._deadline import Interrupted
from pursuit.engine.problem import Problem, Steps
from pursuit.engine.running import CUT_OFF, run
from pursuit.functions import KernelFunctions
from pursuit.gradients import average_products, root_of
from pursuit.kernels import InMetric, Kernel
from pursuit.kernels.metric import mapped
from pursuit.kernels.widths import plain_median_gamma
from pursuit.losses import Squared

from .curves import LEARNING_PATIENCE, Curve, Watched, common_curve
from .engines import Workbench
from .folds import enough_folds
from .plan import Learning, Plan
from .trials import Trial

# Held-out rows that are enough to compare widths by.
HELD_OUT_TO_LEARN = 400

# Longest path of a round: what helps small models helps large ones, too.
LEARNING_STEPS = 200

# The first width, in octaves from the inverse median distance, and how far it is moved.
_FIRST_OCTAVE, _FIRST_STEP, _MOST_MOVES = -1, 2, 4

# The first ridge, counted from the largest.
_FROM_LARGEST = 4

# By which share of the error a smaller ridge, or another round, must be better.
CLEAR_GAIN = 0.01

# By which share of the error a smaller model may be worse.
_TOLERANCE = 0.02

# Number of rows whose distances set the scale of widths.
_MEDIAN_ROWS = 300

# Number of widths of a round that are kept for another ridge, and the share of the
# memory that they may take.
_KEPT, _SHARE_KEPT = 3, 0.1


@dataclass(frozen=True, eq=False)
class Model:
    """An expansion that was fitted to the rows of positive weight.

    Attributes
    ----------
    kernel : Kernel
        Kernel in its metric.
    points : array or CSR of shape (m, d)
    coef : ndarray of shape (m, T)
    weight : ndarray of shape (l,)
    """

    kernel: Kernel
    points: Any
    coef: np.ndarray
    weight: np.ndarray


@dataclass(frozen=True, eq=False)
class Round:
    """What held-out rows chose for one family and one metric of each fold.

    Attributes
    ----------
    family : int
    shape : {"diagonal", "full"} or None
        Shape of the metrics; None if they are those to begin with.
    factors : list of ndarray or None
        Metric of each fold, on top of that to begin with.
    octave : int
        Width: gamma is ``2**octave`` over the median distance.
    alpha : float
        Ridge.
    size : int
    curve : Curve
        Errors along the path.
    losses : ndarray of shape (n,)
        Losses of all held-out rows, fold by fold.
    weight : ndarray of shape (n,)
        Weights of these rows.
    models : list of Model
        Model of each fold.
    before : Round or None
        The round whose models gave the metrics.
    factor : ndarray or None
        Metric for a model of all rows, once it is known.
    n_rows : int or None
        On how many rows a round was repeated, None for the first ones.
    """

    family: int
    shape: str | None
    factors: list[np.ndarray | None]
    octave: int
    alpha: float
    size: int
    curve: Curve
    losses: np.ndarray
    weight: np.ndarray
    models: list[Model]
    before: Round | None
    factor: np.ndarray | None = None
    n_rows: int | None = None

    @property
    def error(self) -> float:
        """The mean held-out loss."""
        return float(self.losses @ self.weight / self.weight.sum())

    @property
    def number(self) -> int:
        """How many rounds came before."""
        return 0 if self.before is None else self.before.number + 1

    def as_trial(self) -> Trial:
        """Return the record of this round for users."""
        kernel = self.models[0].kernel
        kernel = kernel.kernel if isinstance(kernel, InMetric) else kernel
        labels: dict[str, Any] = {
            "kernel": type(kernel).__name__,
            "metric": self.shape,
            "round": self.number,
        }
        if self.n_rows is not None:
            labels["n_rows"] = self.n_rows
        gamma = getattr(kernel, "gamma", None)
        return Trial(0, gamma, self.alpha, [self.curve], labels=labels)


class Arena:
    """Rows, folds and candidates that all rounds share.

    Parameters
    ----------
    plan : Plan
        The part of a plan to learn from.
    learning : Learning
    n_steps : int
        Maximum number of steps of a path.
    """

    def __init__(
        self, plan: Plan, learning: Learning, n_steps: int = LEARNING_STEPS
    ) -> None:
        template = replace(
            plan.template,
            loss=Squared(),
            method="pre-fitting",
            refit_every=1,
            max_steps=min(plan.template.max_steps, n_steps),
        )
        self.engines = replace(plan.engines, n_drawn=None)
        self.plan = replace(
            plan, template=template, engines=self.engines, is_shared=True
        )
        self.families, self.alphas = learning.families, learning.alphas
        # The smallest ones are left out where there are many rows.
        self.first_alpha = self.alphas[max(0, len(self.alphas) - _FROM_LARGEST)]
        points = plan.grid.dictionaries[0]
        assert isinstance(points, KernelFunctions)
        self.X = mapped(plan.sample.X, learning.factor)
        self.points = replace(points, points=mapped(points.points, learning.factor))
        some = enough_folds(plan.folds.parts, plan.sample.sets, HELD_OUT_TO_LEARN)
        n_first = min(len(plan.folds), max(2, len(some)))
        self.first, self.all = range(n_first), range(len(plan.folds))
        self.takes_last = plan.selection.word is None
        # The same rows whatever the units of the columns, or the order of the rows.
        rows = plan.sample.rows
        order = np.argsort(plan.sample.priority[rows], kind="stable")
        self._measured = rows[order[:_MEDIAN_ROWS]]

    def kernel(self, family: int, factor: np.ndarray | None) -> Kernel:
        """Return a family's kernel of octave 0, for rows mapped by the factor."""
        kernel = self.families[family]
        if not hasattr(kernel, "gamma"):
            return kernel
        rows = mapped(self.X[self._measured], factor)
        return kernel.with_gamma(plain_median_gamma(rows, kernel.metric))

    def round(
        self,
        family: int,
        shape: str | None,
        factors: list[np.ndarray | None],
        before: Round | None,
    ) -> Round:
        """Choose width and ridge by the first folds, and judge them by all."""
        bench = _Bench(self, family, factors)
        tried: dict[tuple[int, float], float] = {}

        def error(octave: int, alpha: float) -> float:
            key = octave, alpha
            if key not in tried:
                tried[key] = self.error_of(self.curve(bench, *key, self.first)[1])
            return tried[key]

        octave, alpha, step = _FIRST_OCTAVE, self.first_alpha, _FIRST_STEP
        if before is not None:
            octave, alpha, step = before.octave, before.alpha, 1
        if hasattr(self.families[family], "gamma"):
            octave = _walk(lambda o: error(o, alpha), octave, step, _MOST_MOVES)
        alpha = self._ridge(lambda a: error(octave, a), alpha)
        if before is None and hasattr(self.families[family], "gamma"):
            octave = _walk(lambda o: error(o, alpha), octave, 1, 1)
        return self._judged(bench, family, shape, octave, alpha, before)

    def _judged(
        self,
        bench: _Bench,
        family: int,
        shape: str | None,
        octave: int,
        alpha: float,
        before: Round | None,
    ) -> Round:
        pursuits, curve = self.curve(bench, octave, alpha, self.all)
        size = len(curve.mean) - 1 if self.takes_last else curve.best(_TOLERANCE)
        held = [p.problem.held_out for p in pursuits]
        return Round(
            family=family,
            shape=shape,
            factors=bench.factors,
            octave=octave,
            alpha=alpha,
            size=size,
            curve=curve,
            losses=np.concatenate([_losses(p, size) for p in pursuits]),
            weight=np.concatenate([v[v > 0] for v in held]),
            models=[
                self.model(p, size, bench.kernel(f, octave), f)
                for f, p in enumerate(pursuits)
            ],
            before=before,
        )

    def curve(
        self, bench: _Bench, octave: int, alpha: float, folds: Sequence[int]
    ) -> tuple[list[Steps], Curve]:
        """Return pursuits of some folds, and the curve of their errors."""
        held_out = self.without_folds(alpha)
        pursuits = [bench.at(f, octave).pursuit(held_out[f]) for f in folds]
        watched = [Watched(p, None) for p in pursuits]
        patience = LEARNING_PATIENCE
        if self.takes_last:
            patience = self.plan.patience_of_search
        return pursuits, common_curve(watched, patience)

    def without_folds(self, alpha: float) -> list[Problem]:
        """Return the problem without each of the folds, and without their atoms."""
        problems = self.plan.folds.hold_out(*self.plan.problems(alpha))
        return [replace(p, candidates=p.candidates[p.candidates]) for p in problems]

    def error_of(self, curve: Curve) -> float:
        """Return the error by which widths and ridges are compared."""
        return float(curve.mean[-1]) if self.takes_last else curve.lowest

    def _ridge(self, error: Callable[[float], float], alpha: float) -> float:
        """Return a ridge: raised if that loses nothing, lowered for a clear gain."""
        alphas, at = self.alphas, self.alphas.index(alpha)
        while at + 1 < len(alphas) and error(alphas[at + 1]) <= error(alphas[at]):
            at += 1
        while at and error(alphas[at - 1]) < (1.0 - CLEAR_GAIN) * error(alphas[at]):
            at -= 1
        return alphas[at]

    # -- metrics -------------------------------------------------------------------

    def next_factors(self, r: Round, shape: str) -> list[np.ndarray | None]:
        """Return the metrics that the folds learn from the models of a round."""
        return [self.metric_of(model, shape) for model in r.models]

    def metric_of(self, model: Model, shape: str) -> np.ndarray:
        """Return the factor of the metric that a model's gradients give."""
        G = average_products(
            model.kernel,
            self.X,
            model.points,
            model.coef,
            model.weight,
            is_full=shape == "full",
        )
        return root_of(G)

    def factor_on_all(self, r: Round) -> np.ndarray | None:
        """Return the metric of a round, learned from all rows instead of a fold's."""
        if r.before is None:
            return None
        assert r.shape is not None
        before, factor = r.before, self.factor_on_all(r.before)
        kernel = at_octave(self.kernel(before.family, factor), before.octave)
        kernel = in_metric(kernel, factor)
        (problem,) = self.plan.problems(before.alpha, max(1, before.size))
        pursuit = _ended(self.workbench(kernel, problem), problem)
        return self.metric_of(self.model(pursuit, before.size, kernel), r.shape)

    def points_of(self, f: int | None = None) -> KernelFunctions:
        """Return the functions of a fold, or of all rows."""
        if f is None:
            return self.points
        functions = self.points[self.plan.folds.open_atoms[f]]
        assert isinstance(functions, KernelFunctions)
        return functions

    def model(
        self, pursuit: Steps, size: int, kernel: Kernel, f: int | None = None
    ) -> Model:
        """Return the model of a pursuit on a fold, or on all rows."""
        path = pursuit.path()
        atoms, coef, _ = path.coefficients([min(size, len(path))])
        points = self.points_of(f).points[atoms]
        weight = pursuit.problem.weight
        return Model(kernel, points, np.ascontiguousarray(coef.T), weight)

    def workbench(
        self, kernel: Kernel, problem: Problem, f: int | None = None
    ) -> Workbench:
        """Return the workbench of pursuits that differ in their ridges only."""
        X, functions = self.X, replace(self.points_of(f), kernel=kernel)
        if isinstance(kernel, InMetric):
            # The rows are mapped once instead of in each pass.
            X = kernel.mapped(X)
            points = kernel.mapped(functions.points)
            functions = replace(functions, points=points, kernel=kernel.kernel)
        bench = self.engines.workbench(functions, X, [problem])
        weights = {problem.weighting: problem.weight}
        return bench.with_products(problem, weights, len(self.alphas))


class _Bench:
    """The atoms and inner products of a round's folds, by width."""

    def __init__(
        self, arena: Arena, family: int, factors: list[np.ndarray | None]
    ) -> None:
        self._arena, self.factors = arena, factors
        self._kernels = [
            in_metric(arena.kernel(family, factor), factor) for factor in factors
        ]
        self._kept: dict[tuple[int, int], Workbench] = {}

    def kernel(self, f: int, octave: int) -> Kernel:
        """Return the kernel of a fold."""
        return at_octave(self._kernels[f], octave)

    def at(self, f: int, octave: int) -> Workbench:
        """Return the workbench of a fold."""
        if (f, octave) not in self._kept:
            self._make_room(octave)
            arena = self._arena
            problem = arena.without_folds(min(arena.alphas))[f]
            bench = arena.workbench(self.kernel(f, octave), problem, f)
            self._kept[f, octave] = bench
        return self._kept[f, octave]

    def _make_room(self, octave: int) -> None:
        """Forget the widths that came first if another one does not fit."""
        octaves = list(dict.fromkeys(o for _, o in self._kept))
        if octave in octaves:
            return
        while octaves and (len(octaves) >= _KEPT or self._takes_much()):
            first, *octaves = octaves
            kept = self._kept.items()
            self._kept = {key: b for key, b in kept if key[1] != first}

    def _takes_much(self) -> bool:
        """Return whether the kept values take more than their share of the memory."""
        stored = [b.atoms.stored for b in self._kept.values()]
        n_bytes = sum(0 if A is None else A.nbytes for A in stored)
        return n_bytes > _SHARE_KEPT * self._arena.engines.memory


def _ended(bench: Workbench, problem: Problem) -> Steps:
    """Return a pursuit that has ended; what was chosen is worth a second try."""
    for _ in range(2):
        pursuit = bench.pursuit(problem)
        run([pursuit])
        if pursuit.stop_reason not in CUT_OFF:
            return pursuit
    raise Interrupted


def at_octave(kernel: Kernel, octave: int) -> Kernel:
    """Return the kernel with its gamma doubled so many times."""
    if not hasattr(kernel, "gamma"):
        return kernel
    return kernel.with_gamma(2.0**octave * kernel.gamma)


def in_metric(kernel: Kernel, factor: np.ndarray | None) -> Kernel:
    """Return the kernel that maps rows by the factor, if there is one."""
    return kernel if factor is None else InMetric(kernel, factor)


def _walk(error: Callable[[int], float], at: int, step: int, most: int) -> int:
    """Return a minimum of a function of whole numbers, by moves from a start."""
    for _ in range(most):
        best = min((at, at - step, at + step), key=error)
        if best == at:
            break
        at = best
    return at


def _losses(pursuit: Steps, size: int) -> np.ndarray:
    """Return the squared losses of the held-out rows at a size."""
    size = min(size, pursuit.n_steps)
    values = next(islice(pursuit.held_out_values(), size, None))
    rows = np.flatnonzero(pursuit.problem.held_out)
    return np.asarray(((pursuit.problem.Y[:, rows] - values) ** 2).sum(axis=0))
