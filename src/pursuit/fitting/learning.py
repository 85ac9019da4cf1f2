"""Learn the kernel: its family, its metric, its width, and the ridge to begin with.

A *round* chooses width, ridge and size for one family in a given metric, by held-out
rows. Its models then give the next metric: the average outer product of their
gradients, which is large along the directions in which the targets change. Each fold
learns from its own model on its own rows, so that rows that judge a metric never shaped
it. Chains of rounds, one for each family and shape of the metric, go on as long as they
gain. The smallest model within the noise of the best round wins; its rounds are then
repeated on all rows.

All of this takes the squared loss, few candidates and, on large data, some of the rows.
The plan that it returns leaves ridge and size to the usual search, with all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any

import numpy as np

from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._progress import Progress
from pursuit._threads import limited
from pursuit._warnings import warn
from pursuit.engine.problem import Problem, Steps
from pursuit.engine.running import run
from pursuit.functions import Functions, KernelFunctions
from pursuit.gradients import average_products, root_of
from pursuit.kernels import InMetric, Kernel
from pursuit.kernels.metric import composed, mapped
from pursuit.kernels.widths import plain_median_gamma
from pursuit.losses import Squared
from pursuit.sample import Sample

from .curves import LEARNING_PATIENCE, Curve, Watched, common_curve
from .engines import Workbench
from .folds import Folds, enough_folds, make_folds
from .parts import enough_atoms, enough_rows
from .plan import Learning, Plan
from .trials import Trial

# Enough to learn from: rows, functions, folds, and held-out rows to compare widths by.
LEARNING_ROWS, LEARNING_ATOMS, N_FOLDS, HELD_OUT_TO_LEARN = 2_000, 500, 5, 400
# On at most this many times as many rows, all of them are used.
_FEW_MORE = 1.25

# Maximum number of rows held out to choose ridge and size, where some rows are learned
# from, and their share of all.
HELD_OUT_OF_MANY, _HELD_SHARE = 2_000, 0.2

# Longest path of a round: what helps small models helps large ones, too.
_LEARNING_STEPS = 200

# The first width, in octaves from the inverse median distance, and how far it is moved.
_FIRST_OCTAVE, _FIRST_STEP, _MOST_MOVES = -1, 2, 4

# The first ridge, counted from the largest.
_FROM_LARGEST = 4

# By which share of the error a smaller ridge, or another round, must be better.
CLEAR_GAIN = 0.01
# A chain ends if it is so many times worse than others after as many rounds, and is not
# begun for a family that starts so many times worse than another.
_BEHIND, _FAR_BEHIND = 1.25, 2.0

# By which share of the error a smaller model may be worse.
_TOLERANCE = 0.02

# Number of rows whose distances set the scale of widths.
_MEDIAN_ROWS = 300

# The full metric is left to those who ask for it above this many features.
FULL_FEATURES = 300

# Number of widths of a round that are kept for another ridge, and the share of the
# memory that they may take.
_KEPT, _SHARE_KEPT = 3, 0.1


def learn(plan: Plan) -> Plan:
    """Return the plan with a learned kernel; the plan itself if nothing is learned."""
    if plan.learning is None or not len(plan.folds):
        return plan
    part, is_shared = _part_to_learn(plan)
    arena = Arena(part, plan.learning)
    # Hundreds of short pursuits: threads would wait for each other most of the time.
    with limited(1):
        rounds, is_cut_short = _rounds(arena, plan.learning)
        best = chosen(_eligible(rounds, plan.learning))
        learned = _with_kernel(plan, arena, best, is_shared)
    tried = [r.as_trial() for r in rounds]
    return replace(learned, tried=tried, is_cut_short=is_cut_short)


# -- rounds ------------------------------------------------------------------------


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
    kernels : list of Kernel
        Kernel of each fold.
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
    """

    family: int
    shape: str | None
    factors: list[np.ndarray | None]
    kernels: list[Kernel]
    octave: int
    alpha: float
    size: int
    curve: Curve
    losses: np.ndarray
    weight: np.ndarray
    models: list[Model]
    before: Round | None

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
        kernel = self.kernels[0]
        while isinstance(kernel, InMetric):
            kernel = kernel.kernel
        labels = {
            "kernel": type(kernel).__name__,
            "metric": self.shape,
            "round": self.number,
        }
        gamma = getattr(kernel, "gamma", None)
        return Trial(0, gamma, self.alpha, [self.curve], labels=labels)


class Arena:
    """Rows, folds and candidates that all rounds share.

    Parameters
    ----------
    plan : Plan
        The part of a plan to learn from.
    learning : Learning
    """

    def __init__(self, plan: Plan, learning: Learning) -> None:
        template = replace(
            plan.template,
            loss=Squared(),
            method="pre-fitting",
            refit_every=1,
            max_steps=min(plan.template.max_steps, _LEARNING_STEPS),
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
        """Return a family's kernel in a metric, with the width of octave 0."""
        kernel = self.families[family]
        if hasattr(kernel, "gamma"):
            rows = mapped(self.X[self._measured], factor)
            kernel = kernel.with_gamma(plain_median_gamma(rows, kernel.metric))
        return kernel if factor is None else InMetric(kernel, factor)

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
        kernels = [bench.kernel(f, octave) for f in self.all]
        return Round(
            family=family,
            shape=shape,
            factors=bench.factors,
            kernels=kernels,
            octave=octave,
            alpha=alpha,
            size=size,
            curve=curve,
            losses=np.concatenate([_losses(p, size) for p in pursuits]),
            weight=np.concatenate([v[v > 0] for v in held]),
            models=[self.model(p, size, kernels[f], f) for f, p in enumerate(pursuits)],
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
        self._kernels = [arena.kernel(family, factor) for factor in factors]
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
        if pursuit.stop_reason != "interrupted":
            return pursuit
    raise KeyboardInterrupt


def at_octave(kernel: Kernel, octave: int) -> Kernel:
    """Return the kernel with its gamma doubled so many times."""
    if not hasattr(kernel, "gamma"):
        return kernel
    return kernel.with_gamma(2.0**octave * kernel.gamma)


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


# -- chains and the choice among their rounds --------------------------------------


def _rounds(arena: Arena, learning: Learning) -> tuple[list[Round], bool]:
    """Return all rounds that were worth trying, and whether the user cut them short."""
    rounds: list[Round] = []
    with Progress(None, "kernel", arena.engines.verbose, unit="round") as progress:
        try:
            with single_interrupts():
                for r in _worthwhile(arena, learning):
                    rounds.append(r)
                    progress.show(len(rounds), error=min(r.error for r in rounds))
        except Interrupted:
            if not rounds:
                raise KeyboardInterrupt from None
            warn(
                "The search for a kernel was interrupted; the best of those compared "
                "so far is used."
            )
            return rounds, True
    return rounds, False


def _worthwhile(arena: Arena, learning: Learning) -> Iterator[Round]:
    """Yield the first round of each family, then those of chains while they gain."""
    none: list[np.ndarray | None] = [None for _ in arena.all]
    starts = []
    for family in range(len(learning.families)):
        starts.append(arena.round(family, None, none, None))
        yield starts[-1]
    # The lowest error so far after each number of rounds, and fewer.
    lowest = [min(r.error for r in starts)] * (1 + learning.n_rounds)
    for family, shape in learning.chains:
        r = starts[family]
        if not r.size or (r.error > _FAR_BEHIND * lowest[0] and learning.may_stay):
            continue
        for n in range(1, 1 + learning.n_rounds):
            new = arena.round(family, shape, arena.next_factors(r, shape), r)
            yield new
            lowest[n:] = np.minimum(lowest[n:], new.error)
            gains = new.error <= (1.0 - CLEAR_GAIN) * r.error
            if not gains or new.error > _BEHIND * lowest[n] or not new.size:
                break
            r = new


def _eligible(rounds: Sequence[Round], learning: Learning) -> Sequence[Round]:
    """Return the rounds that may be chosen: those in a learned metric, if asked for."""
    if learning.may_stay:
        return rounds
    return [r for r in rounds if r.shape is not None] or rounds


def chosen(rounds: Sequence[Round]) -> Round:
    """Return the round with the smallest model within the noise of the best.

    Noise is one standard error of the difference between the losses of the same rows;
    sizes are compared by octaves, and equal ones by the error. So neither the draw of
    the folds nor a fragile model decides for a gain that is none.
    """
    best = min(rounds, key=lambda r: r.error)
    close = [r for r in rounds if _is_close(r, best)]
    return min(close, key=lambda r: (round(np.log2(max(r.size, 1))), r.error))


def _is_close(r: Round, best: Round) -> bool:
    share = r.weight / r.weight.sum()
    difference = r.losses - best.losses
    mean = difference @ share
    spread = np.sqrt(np.square(difference - mean) @ share)
    # Weights are numbers of rows; if they are small, only their ratios are meant.
    n_rows = r.weight.sum() / min(1.0, float(r.weight.mean()))
    return bool(mean <= spread / np.sqrt(n_rows))


# -- what is learned from, and what becomes of it ----------------------------------


def _part_to_learn(plan: Plan) -> tuple[Plan, bool]:
    """Return the plan to learn on, and whether all folds share what it learns.

    Folds of all rows learn metrics of their own. Where a part of the rows is enough, or
    the model itself leaves a part out, folds are made anew among the rows to learn
    from, and none of these is ever held out later.
    """
    sample = plan.sample
    is_large = sample.n_distinct > _FEW_MORE * LEARNING_ROWS
    if not plan.holds_out_of_model and not (is_large and plan.folds.are_random):
        parts = plan.folds.parts
        rows = np.arange(len(sample))
        if is_large:
            rows = enough_rows(plan, parts, LEARNING_ROWS, HELD_OUT_TO_LEARN)
        return plan.some(rows, enough_atoms(plan, rows, LEARNING_ATOMS), parts), False
    is_open = sample.weight > 0
    if plan.holds_out_of_model:
        is_open = plan.folds.weights[0] > 0
    rows = np.flatnonzero(is_open & (sample.priority < _priority_of(sample, is_open)))
    part = plan.some(rows, enough_atoms(plan, rows, LEARNING_ATOMS), [])
    few = part.sample
    data = few.contents, few.balance, few.multiplicity
    parts = make_folds(*data, N_FOLDS, few.seed, few.is_class)
    folds = Folds.of(parts, few.weight, few.sets, part.grid.atom_sets, True)
    return replace(part, folds=folds), True


def _priority_of(sample: Sample, is_open: np.ndarray) -> int:
    """Return the priority below which there are enough distinct rows to learn from."""
    priorities = np.unique(sample.priority[is_open])
    few = int(_FEW_MORE * LEARNING_ROWS)
    if len(priorities) <= few:
        return int(priorities[-1]) + 1
    return int(priorities[LEARNING_ROWS])


def _with_kernel(plan: Plan, arena: Arena, best: Round, is_shared: bool) -> Plan:
    """Return the plan with the kernel of a round, for ridge and size to be chosen."""
    kernels = _kernels_to_compare(plan, best)
    collections = partial(_collections, plan, arena, kernels)
    pairs = [(i, _ridges(plan, kernel)) for i, kernel in enumerate(kernels)]
    grid = replace(
        plan.grid,
        dictionaries=collections(arena.factor_on_all(best)),
        alphas=sorted({alpha for _, alphas in pairs for alpha in alphas}),
        clear=CLEAR_GAIN,
        pairs=pairs,
    )
    if is_shared:
        return replace(plan, grid=grid, folds=_folds_of_others(plan, arena))
    of_folds = dict(zip(_keys(plan.folds), best.factors, strict=True))

    def relearn(weight: np.ndarray) -> list[Functions]:
        return collections(of_folds[weight.tobytes()])

    return replace(plan, grid=replace(grid, relearn=relearn))


@dataclass(frozen=True)
class _Candidate:
    """A kernel among which the loss of the model chooses.

    Attributes
    ----------
    family, octave : int
    alphas : tuple of float
        Ridges for the squared loss.
    is_learned : bool
        Whether it has the learned metric, or that to begin with.
    """

    family: int
    octave: int
    alphas: tuple[float, ...]
    is_learned: bool = True


def _kernels_to_compare(plan: Plan, best: Round) -> list[_Candidate]:
    """Return the kernels that the loss of the model chooses from.

    Under the squared loss that is the one learned by it. A loss that asks for a margin
    only, not for particular values, is content with wider kernels, and maybe with the
    metric to begin with.
    """
    assert plan.learning is not None
    alphas = plan.learning.alphas
    at = alphas.index(best.alpha)
    if not plan.template.loss.is_squared_distance or plan.template.loss.has_closed_form:
        # More rows and functions need smaller ridges.
        near = tuple(alphas[max(0, at - 2) : at + 2])
        return [_Candidate(best.family, best.octave, near)]
    beside = tuple(alphas[max(0, at - 1) :: 2][:2])
    wide, narrow = (_Candidate(best.family, best.octave + o, beside) for o in (-2, 0))
    kernels = [
        wide,
        _Candidate(best.family, best.octave - 1, (best.alpha,)),
        narrow,
    ]
    if best.before is not None:
        kernels += [_Candidate(0, o, tuple(alphas[2:5:2]), False) for o in (-3, -1)]
    return kernels


def _ridges(plan: Plan, kernel: _Candidate) -> list[float]:
    """Return the ridges to compare for a kernel: the one given, if one is."""
    assert plan.learning is not None
    if len(plan.grid.alphas) == 1:
        return list(plan.grid.alphas)
    return [plan.learning.ridge_of_loss * alpha for alpha in kernel.alphas]


def _collections(
    plan: Plan,
    arena: Arena,
    kernels: Sequence[_Candidate],
    factor: np.ndarray | None,
) -> list[Functions]:
    """Return the plan's functions with each of the kernels."""
    assert plan.learning is not None
    functions = plan.grid.dictionaries[0]
    assert isinstance(functions, KernelFunctions)
    collections: list[Functions] = []
    for candidate in kernels:
        own = factor if candidate.is_learned else None
        kernel = at_octave(arena.kernel(candidate.family, own), candidate.octave)
        kernel = kernel.kernel if isinstance(kernel, InMetric) else kernel
        whole = composed(plan.learning.factor, own)
        if whole is not None:
            kernel = InMetric(kernel, whole)
        collections.append(replace(functions, kernel=kernel))
    return collections


def _keys(folds: Folds) -> list[bytes]:
    return [weight.tobytes() for weight in folds.weights]


def _folds_of_others(plan: Plan, arena: Arena) -> Folds:
    """Return one part of the rows that nothing was learned from, to be held out.

    A part that the model leaves out holds none of them already.
    """
    if plan.holds_out_of_model:
        return plan.folds
    sample = plan.sample
    learned_from = arena.plan.sample.priority.max()
    n = min(HELD_OUT_OF_MANY, int(_HELD_SHARE * sample.n_distinct))
    first = max(learned_from + 1, sample.n_distinct - n)
    part = (sample.priority >= first).astype(np.float64)
    return Folds.of(
        [part], sample.weight, sample.sets, plan.grid.atom_sets, are_random=True
    )
