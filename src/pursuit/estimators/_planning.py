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
from pursuit.engine.problem import Judge
from pursuit.fitting.folds import enough_folds
from pursuit.fitting.held_out import Sites
from pursuit.fitting.plan import Plan
from pursuit.functions import Functions
from pursuit.losses import Loss, Squared

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

# Ridges compared by alpha="cv", for a kernel with k(x, x) = 1.
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Smallest ridge tried, as long as smaller ones are better.
LEAST_ALPHA = 1e-8
# Other losses, flat where the squared loss is steep, need stronger ridges.
LOSS_RIDGE = 10.0

# Above this many rows, "cv" holds out one part instead of using k folds. Of these, the
# first ones that hold out enough rows are used.
CV_ROWS, ENOUGH_HELD_OUT = 10_000, 5_000

# Maximum number of candidates with "auto", and of their values on all rows; there are
# at least two candidates for each step.
AUTO_CANDIDATES, AUTO_VALUES = 10_000, 5 * 10**8

# Sums of values with smaller weights underflow.
_SMALLEST_WEIGHT = 1e-120

# Added to the seed of the folds (which is smaller) to get another seed for the turns.
_TURNS = 1 << 32


@dataclass(frozen=True, eq=False)
class Task:
    """Data and targets of a fit, checked and encoded.

    Attributes
    ----------
    X : array or CSR of shape (l, d)
    Y : ndarray of shape (T, l)
        Targets.
    folded : ndarray of shape (l,)
        Variable in which folds are balanced: class codes, or a target.
    weight : ndarray of shape (l,)
    copies : ndarray of shape (l,)
        Weights without those of the classes.
    groups : array-like or None
        Groups that a splitter keeps together.
    loss : Loss
    score : Judge or None
        Score of held-out rows, used instead of the loss.
    is_class : bool
        Whether the targets encode classes.
    is_shared : bool
        Whether all outputs share one support.
    """

    X: Any
    Y: np.ndarray
    folded: np.ndarray
    weight: np.ndarray
    copies: np.ndarray
    groups: Any
    loss: Loss
    score: Judge | None
    is_class: bool
    is_shared: bool


def make_plan(estimator: Any, task: Task) -> Plan:
    """Return the plan that the estimator's parameters define on these data."""
    _settings.check_words(estimator)
    _settings.check_loss_words(estimator, task.loss, task.score)
    check_groups(estimator, task.groups)
    rng = random_numbers(estimator.random_state)
    seed = 0 if estimator.random_state is None else _drawn_seed(rng)
    dictionary = dictionary_of(estimator)
    contents = None if takes_kernel_matrix(estimator) else task.X
    distinct, set_of_row = distinct_rows(contents, task.weight)
    turns = _turns(contents, distinct, seed)
    drawn, n_redrawn = _candidates(estimator, contents, distinct, turns, rng)
    sample = _sample(estimator, task, distinct[drawn], seed)
    dictionaries = learned(dictionary, sample)
    first = _middle_three(len(dictionaries))
    middle = dictionaries[first[len(first) // 2]]
    unit = _unit(task.weight, len(distinct))
    is_large = len(distinct) > CV_ROWS
    alphas, least_alpha = _alphas(estimator.alpha, task, middle, unit, is_large)
    selection = _selection(estimator, is_large)
    compares = len(dictionaries) * len(alphas) > 1
    has_own_folds = isinstance(estimator.cv, WHOLE) or selection == "validation"
    folds = _folds(estimator, task, contents, selection, seed, compares, unit)
    if has_own_folds:
        folds = enough_folds(folds, set_of_row, ENOUGH_HELD_OUT)
    n_bounded = len(task.Y) if task.is_shared else 1
    return Plan(
        dictionaries=dictionaries,
        relearn=relearner(dictionary, sample),
        first_widths=first,
        alphas=alphas,
        least_alpha=least_alpha,
        sites=Sites(set_of_row, sets_of_atoms(middle, set_of_row)),
        copies=task.copies,
        labels=labels(middle),
        turns=np.append(turns, -1)[set_of_row],
        folds=folds,
        has_own_folds=has_own_folds,
        selection=selection,
        tolerance=_settings.tolerance(estimator.size_tolerance),
        patience=_settings.patience(estimator.patience, selection),
        bound=_settings.bound(estimator, task.is_class, n_bounded, task.loss),
        loss=task.loss,
        score=task.score,
        method=estimator.method,
        backfit_every=int(estimator.backfit_every),
        fit_intercept=sample.fit_intercept,
        tol=_settings.tol(estimator.tol),
        max_steps=_settings.max_steps(estimator, len(distinct), len(middle)),
        is_class=task.is_class,
        is_shared=task.is_shared,
        n_redrawn=n_redrawn,
        # Drawn only if used: with None, the generator is shared with other code.
        seed=0 if n_redrawn is None else _drawn_seed(rng),
        memory=budget(estimator.max_memory),
        dtype=_settings.dtype(estimator.dtype),
        n_jobs=estimator.n_jobs,
        verbose=estimator.verbose,
    )


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


def _folds(
    estimator: Any,
    task: Task,
    contents: Any,
    selection: str | None,
    seed: int,
    compares: bool,
    unit: float,
) -> list[np.ndarray]:
    """Return the folds; none if neither the size nor width and ridge need them."""
    if selection not in ("cv", "validation") and not compares:
        return []
    y, weight, groups = task.folded, task.weight / unit, task.groups
    return held_out_rows(
        estimator, contents, task.X, y, weight, groups, selection, seed, task.is_class
    )


def _middle_three(n: int) -> range:
    """Return the indices of the three middle widths, with which the search begins."""
    middle = (n - 1) // 2
    return range(max(0, middle - 1), min(n, middle + 2))


def _candidates(
    estimator: Any,
    contents: Any,
    distinct: np.ndarray,
    turns: np.ndarray,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, int | None]:
    """Return the distinct rows that may be chosen, and how many each step draws."""
    value, n_distinct = estimator.n_candidates, len(distinct)
    every = np.arange(n_distinct)
    if value is None or is_word(value, "auto"):
        if estimator.redraw_candidates:
            return every, 59
        n = n_distinct if value is None else _auto(estimator, n_distinct)
        return every[turns < n], None
    words = "auto", None
    n = min(row_count("n_candidates", value, n_distinct, words), n_distinct)
    if estimator.redraw_candidates:
        return every, n
    # Draw by content, so that neither the order of rows nor repeated rows matter.
    digests = row_digests(contents, distinct, _drawn_seed(rng))
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
    is_squared = type(task.loss) is Squared
    if not is_squared:
        scale *= LOSS_RIDGE * _loss_unit(task.loss, task.Y, task.weight)
    more = max(1.0, LEAST_RIDGE * n_rows / min(ALPHAS))
    alphas = [more * unit * scale * a for a in ALPHAS]
    # Large data are fitted by inner products, which need a larger ridge than trials.
    digits = LEAST_RIDGE if is_large else LEAST_TRIAL_RIDGE
    least = unit * scale * max(LEAST_ALPHA, 4 * digits * n_rows)
    return alphas, least if is_squared else alphas[0]


def _unit(weight: np.ndarray, n_distinct: int) -> float:
    """Return the weight of one row.

    Weights are numbers of rows; if they are small, only their ratios are meant.
    """
    if weight.max() < _SMALLEST_WEIGHT:
        raise ValueError(
            f"sample_weight has values up to {weight.max():.3g} only, whose products "
            "underflow: scale them up."
        )
    return min(1.0, float(weight.sum()) / n_distinct)


def _loss_unit(loss: Loss, Y: np.ndarray, weight: np.ndarray) -> float:
    """Return the typical curvature of the loss at the start; 1 for the squared loss.

    A loss s times as curved needs a ridge s times as large for the same effect.
    """
    F = np.broadcast_to(loss.start(Y, weight)[:, None], Y.shape)
    half = 0.5 * loss.weights(Y, np.array(F)).mean(axis=0)
    return float(max(lower_quantile(half, weight, 0.5), 1e-300))
