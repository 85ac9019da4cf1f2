"""Check the parameters of a KMP estimator and resolve them into a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit._memory import budget
from pursuit._parameters import (
    WHOLE,
    is_word,
    number_from_zero,
    random_numbers,
    row_count,
)
from pursuit._quantiles import lower_quantile
from pursuit._rows import distinct_rows, row_digests
from pursuit.dictionaries import Sample
from pursuit.engine.gram_pursuit import LEAST_RIDGE, LEAST_TRIAL_RIDGE
from pursuit.fitting.folds import enough_folds
from pursuit.fitting.held_out import Sites
from pursuit.fitting.plan import Grid, HeldOut, Plan, Rows, SizeRule, StepRule
from pursuit.fitting.resources import Drawing, Resources
from pursuit.functions import Functions
from pursuit.losses import Loss

from . import _settings
from ._learning import (
    dictionary_of,
    feature_names,
    labels,
    learned,
    relearner,
    sets_of_atoms,
    takes_kernel_matrix,
)
from ._splits import check_groups, held_out_rows
from ._task import Task

# Ridges compared by alpha="cv", for a kernel with k(x, x) = 1.
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Smallest ridge tried, as long as smaller ones are better.
LEAST_ALPHA = 1e-8
# Other losses, flat where the squared loss is steep, need stronger ridges.
LOSS_RIDGE = 10.0

# Above this many rows, "cv" holds out one part instead of using k folds. Of these, the
# first ones that hold out enough rows are used.
CV_ROWS, HELD_OUT_TO_SIZE = 10_000, 5_000

# The best of this many is among the best 5 % of all with a probability of 95 %.
REDRAWN = 59

# Maximum number of candidates with "auto", and of their values on all rows; there are
# at least two candidates for each step.
AUTO_CANDIDATES, AUTO_VALUES = 10_000, 5 * 10**8

# Sums of values with smaller weights underflow.
_SMALLEST_WEIGHT = 1e-120

# Added to the seed of the folds (which is smaller) to get another seed for the turns.
_TURNS = 1 << 32


@dataclass(frozen=True, eq=False)
class EqualRows:
    """Sets of equal rows among those of positive weight.

    Attributes
    ----------
    contents : array or CSR of shape (l, d), or None
        What tells rows apart; None if they differ by their index only.
    first : ndarray of int
        First row of each set.
    of_rows : ndarray of int of shape (l,)
        Set of each row, -1 for rows of weight 0.
    turns : ndarray of int
        Random priority of each set, used to draw subsamples.
    """

    contents: Any
    first: np.ndarray
    of_rows: np.ndarray
    turns: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    @property
    def are_many(self) -> bool:
        """Whether one held-out part takes the place of k folds."""
        return len(self) > CV_ROWS


def make_plan(estimator: Any, task: Task) -> Plan:
    """Return the plan that the estimator's parameters define on these data."""
    _settings.check_words(estimator)
    _settings.check_loss_words(estimator, task.loss, task.score)
    check_groups(estimator, task.groups)
    rng = random_numbers(estimator.random_state)
    seed = 0 if estimator.random_state is None else _drawn_seed(rng)
    sets = _equal_rows(estimator, task, seed)
    drawn, n_redrawn = _candidates(estimator, sets, rng)
    sample = _sample(estimator, task, sets.first[drawn], seed)
    unit = _unit(task.weight)
    grid = _grid(estimator, task, sample, sets, unit)
    size = _size_rule(estimator, task, sets)
    atoms = grid.dictionaries[0]
    return Plan(
        grid=grid,
        rows=Rows(
            sites=Sites(sets.of_rows, sets_of_atoms(atoms, sets.of_rows)),
            copies=task.copies,
            turns=np.append(sets.turns, -1)[sets.of_rows],
            labels=labels(atoms),
        ),
        held_out=_held_out(estimator, task, sets, grid, size.selection, seed, unit),
        size=size,
        steps=StepRule(
            method=estimator.method,
            loss=task.loss,
            backfit_every=int(estimator.backfit_every),
            fit_intercept=sample.fit_intercept,
            tol=_settings.tol(estimator.tol),
            max_steps=_settings.max_steps(estimator, len(sets), len(atoms)),
        ),
        # Drawn only if used: with None, the generator is shared with other code.
        drawing=None if n_redrawn is None else Drawing(n_redrawn, _drawn_seed(rng)),
        resources=Resources(
            memory=budget(estimator.max_memory),
            dtype=_settings.dtype(estimator.dtype),
            n_jobs=estimator.n_jobs,
            verbose=estimator.verbose,
        ),
        is_class=task.is_class,
        is_shared=task.is_shared,
    )


def _equal_rows(estimator: Any, task: Task, seed: int) -> EqualRows:
    contents = None if takes_kernel_matrix(estimator) else task.X
    first, of_rows = distinct_rows(contents, task.weight)
    return EqualRows(contents, first, of_rows, _turns(contents, first, seed))


def _sample(estimator: Any, task: Task, rows: np.ndarray, seed: int) -> Sample:
    """Return the data for the dictionary to learn from; ``rows`` are the candidates."""
    codes = task.folded.astype(int) if task.is_class else None
    return Sample(
        X=task.X,
        Y=task.Y,
        labels=None if codes is None else estimator.classes_[codes],
        weight=task.weight,
        seen=task.weight,
        rows=rows,
        feature_names=feature_names(estimator, task.X),
        fit_intercept=bool(estimator.fit_intercept) and task.loss.frees_constant,
        memory=budget(estimator.max_memory),
        seed=seed,
        verbose=estimator.verbose,
        framer=estimator._framer,
    )


def _grid(
    estimator: Any, task: Task, sample: Sample, sets: EqualRows, unit: float
) -> Grid:
    """Return the widths and ridges to compare, or those that are given."""
    dictionary = dictionary_of(estimator)
    dictionaries = learned(dictionary, sample)
    first = _middle_three(len(dictionaries))
    middle = dictionaries[first[len(first) // 2]]
    alphas, least = _alphas(estimator.alpha, task, middle, unit, sets.are_many)
    return Grid(dictionaries, relearner(dictionary, sample), first, alphas, least)


def _size_rule(estimator: Any, task: Task, sets: EqualRows) -> SizeRule:
    selection = _selection(estimator, sets.are_many)
    n_bounded = len(task.Y) if task.is_shared else 1
    return SizeRule(
        selection=selection,
        tolerance=_settings.tolerance(estimator.size_tolerance),
        patience=_settings.patience(estimator.patience, selection),
        bound=_settings.bound(estimator, task.is_class, n_bounded, task.loss),
    )


def _held_out(
    estimator: Any,
    task: Task,
    sets: EqualRows,
    grid: Grid,
    selection: str | None,
    seed: int,
    unit: float,
) -> HeldOut:
    """Return what is held out: nothing if neither size nor width and ridge need it."""
    is_random = isinstance(estimator.cv, WHOLE) or selection == "validation"
    folds: list[np.ndarray] = []
    if selection in ("cv", "validation") or grid.has_choice:
        weight = task.weight / unit
        folds = held_out_rows(estimator, task, sets.contents, weight, selection, seed)
    if is_random:
        folds = enough_folds(folds, sets.of_rows, HELD_OUT_TO_SIZE)
    return HeldOut(folds, is_random, task.score)


def _middle_three(n: int) -> range:
    """Return the indices of the three middle widths, with which the search begins."""
    middle = (n - 1) // 2
    return range(max(0, middle - 1), min(n, middle + 2))


def _candidates(
    estimator: Any, sets: EqualRows, rng: np.random.RandomState
) -> tuple[np.ndarray, int | None]:
    """Return the distinct rows that may be chosen, and how many each step draws."""
    value, n_distinct = estimator.n_candidates, len(sets)
    every = np.arange(n_distinct)
    if value is None or is_word(value, "auto"):
        if estimator.redraw_candidates:
            return every, REDRAWN
        n = n_distinct if value is None else _auto(estimator, n_distinct)
        return every[sets.turns < n], None
    words = "auto", None
    n = min(row_count("n_candidates", value, n_distinct, words), n_distinct)
    if estimator.redraw_candidates:
        return every, n
    # Draw by content, so that neither the order of rows nor repeated rows matter.
    digests = row_digests(sets.contents, sets.first, _drawn_seed(rng))
    return np.sort(np.argsort(digests)[:n]), None


def _auto(estimator: Any, n_distinct: int) -> int:
    """Return the default number of candidates."""
    least = 2 * _settings.wanted_steps(estimator, n_distinct)
    return max(least, min(AUTO_CANDIDATES, AUTO_VALUES // n_distinct))


def _turns(contents: Any, distinct: np.ndarray, seed: int) -> np.ndarray:
    """Return the random priority of each distinct row, used to draw subsamples."""
    turns = np.empty(len(distinct), dtype=np.int64)
    # Unlike the folds' digests: otherwise one fold would hold out all the first rows.
    order = np.argsort(row_digests(contents, distinct, seed + _TURNS))
    turns[order] = np.arange(len(distinct))
    return turns


def _drawn_seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(2**31 - 1))


def _selection(estimator: Any, is_large: bool) -> str | None:
    """Return how the size is chosen: "cv" becomes "validation" on many rows."""
    has_own_folds = isinstance(estimator.cv, WHOLE)
    if estimator.selection == "cv" and is_large and has_own_folds:
        return "validation"
    return estimator.selection


def _alphas(
    alpha: Any, task: Task, dictionary: Functions, unit: float, is_large: bool
) -> tuple[list[float], float]:
    """Return the ridges to compare, or the one given, and the smallest to try."""
    alpha = number_from_zero("alpha", alpha, ("cv",))
    if alpha != "cv":
        return [alpha], alpha
    # A kernel s times as large has coefficients s times as small.
    scale = dictionary.scale(task.X, task.weight)
    scale = scale if 0 < scale < np.inf else 1.0
    n_rows = float(task.weight.sum()) / unit
    is_squared = task.loss.has_closed_form
    if not is_squared:
        scale *= LOSS_RIDGE * _loss_unit(task.loss, task.Y, task.weight)
    more = max(1.0, LEAST_RIDGE * n_rows / min(ALPHAS))
    alphas = [more * unit * scale * a for a in ALPHAS]
    # Large data are fitted by inner products, which need a larger ridge than trials.
    digits = LEAST_RIDGE if is_large else LEAST_TRIAL_RIDGE
    least = unit * scale * max(LEAST_ALPHA, 4 * digits * n_rows)
    return alphas, least if is_squared else alphas[0]


def _unit(weight: np.ndarray) -> float:
    """Return the weight of one row.

    Weights are numbers of rows; if they are small, only their ratios are meant.
    """
    if weight.max() < _SMALLEST_WEIGHT:
        raise ValueError(
            f"sample_weight has values up to {weight.max():.3g} only, whose products "
            "underflow: scale them up."
        )
    return min(1.0, float(weight[weight > 0].mean()))


def _loss_unit(loss: Loss, Y: np.ndarray, weight: np.ndarray) -> float:
    """Return the typical curvature of the loss at the start; 1 for the squared loss.

    A loss s times as curved needs a ridge s times as large for the same effect.
    """
    F = np.broadcast_to(loss.start(Y, weight)[:, None], Y.shape)
    half = 0.5 * loss.weights(Y, np.array(F)).mean(axis=0)
    return float(max(lower_quantile(half, weight, 0.5), 1e-300))
