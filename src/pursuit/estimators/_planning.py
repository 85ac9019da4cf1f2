"""From an estimator's parameters to a plan: every check, name and default, once."""

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
from pursuit.engine.problem import Judge
from pursuit.fitting.plan import Plan
from pursuit.fitting.selection import Sites
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
# Other losses, flat where least squares are steep, want stronger ones.
LOSS_RIDGE = 10.0

# Above this many rows, "cv" holds out one part instead of trying k folds.
CV_ROWS = 10_000

# Of more than this many rows, "auto" makes so many the candidates; fewer where their
# values on all rows would be more than so many, and at least two for each step.
AUTO_CANDIDATES, AUTO_VALUES = 10_000, 5 * 10**8

# Ridges compared are at least this share of the rows' number, or inner products would
# not have digits enough: 1e-4 for 100 000 rows.
_RIDGE_A_ROW = 1e-9

# What tells turns from folds: seeds are smaller.
_TURNS = 1 << 32


@dataclass(frozen=True, eq=False)
class Task:
    """What is to be fitted, checked and encoded.

    Attributes
    ----------
    X : array or CSR of shape (l, d)
    Y : ndarray of shape (T, l)
        The targets.
    folded : ndarray of shape (l,)
        What folds are balanced in: class codes, or a target.
    weight : ndarray of shape (l,)
    groups : array-like or None
        What a splitter is to keep together.
    loss : Loss
    score : Judge or None
        Judges held-out rows instead of the loss.
    is_class : bool
        Whether the targets stand for classes.
    is_shared : bool
        One support for all outputs, or one for each.
    """

    X: Any
    Y: np.ndarray
    folded: np.ndarray
    weight: np.ndarray
    groups: Any
    loss: Loss
    score: Judge | None
    is_class: bool
    is_shared: bool


def make_plan(estimator: Any, task: Task) -> Plan:
    """Return what the estimator's parameters ask for on these data."""
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
    alphas = _alphas(estimator.alpha, task, middle)
    selection = _selection(estimator, len(distinct))
    compares = len(dictionaries) * len(alphas) > 1
    n_bounded = len(task.Y) if task.is_shared else 1
    return Plan(
        dictionaries=dictionaries,
        relearn=relearner(dictionary, sample),
        first_widths=first,
        alphas=alphas,
        sites=Sites(set_of_row, sets_of_atoms(middle, set_of_row)),
        labels=labels(middle),
        turns=np.append(turns, -1)[set_of_row],
        folds=_folds(estimator, task, contents, selection, seed, compares),
        has_own_folds=isinstance(estimator.cv, WHOLE) or selection == "validation",
        selection=selection,
        tolerance=_settings.tolerance(estimator.size_tolerance),
        patience=_settings.patience(estimator.patience, selection),
        bound=_settings.bound(estimator, task.is_class, n_bounded, task.loss),
        loss=task.loss,
        score=task.score,
        method=estimator.method,
        backfit_every=int(estimator.backfit_every),
        fit_intercept=sample.fit_intercept,
        tol=number_from_zero("tol", estimator.tol, most=1.0),
        max_steps=_settings.max_steps(estimator, len(distinct), len(middle)),
        is_class=task.is_class,
        is_shared=task.is_shared,
        n_redrawn=n_redrawn,
        # Drawn where it is used only: None stands for a generator that others share.
        seed=0 if n_redrawn is None else _drawn_seed(rng),
        memory=budget(estimator.max_memory),
        dtype=_settings.dtype(estimator.dtype),
        n_jobs=estimator.n_jobs,
        verbose=estimator.verbose,
    )


def _sample(estimator: Any, task: Task, rows: np.ndarray, seed: int) -> Sample:
    """Return what the dictionary may learn from; ``rows`` are its candidates."""
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
) -> list[np.ndarray]:
    """Return the folds, none where neither size nor width and ridge need any."""
    if selection not in ("cv", "validation") and not compares:
        return []
    y, weight, groups = task.folded, task.weight, task.groups
    return held_out_rows(
        estimator, contents, task.X, y, weight, groups, selection, seed, task.is_class
    )


def _middle_three(n: int) -> range:
    """Return with which of the widths the search begins."""
    middle = (n - 1) // 2
    return range(max(0, middle - 1), min(n, middle + 2))


def _candidates(
    estimator: Any,
    contents: Any,
    distinct: np.ndarray,
    turns: np.ndarray,
    rng: np.random.RandomState,
) -> tuple[np.ndarray, int | None]:
    """Return which distinct rows may be chosen, and how many are drawn at each step."""
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
    # By content, so that neither the order of rows nor repeated rows matter.
    digests = row_digests(contents, distinct, _drawn_seed(rng))
    return np.sort(np.argsort(digests)[:n]), None


def _auto(estimator: Any, n_distinct: int) -> int:
    """Return how many candidates there are unless a number is given."""
    least = 2 * _settings.wanted_steps(estimator, n_distinct)
    return max(least, min(AUTO_CANDIDATES, AUTO_VALUES // n_distinct))


def _turns(contents: Any, distinct: np.ndarray, seed: int) -> np.ndarray:
    """Return when each of the distinct rows has its turn, where only some serve."""
    turns = np.empty(len(distinct), dtype=np.int64)
    # Another draw than that of the folds, which would hold the first ones out together.
    order = np.argsort(row_digests(contents, distinct, seed + _TURNS))
    turns[order] = np.arange(len(distinct))
    return turns


def _drawn_seed(rng: np.random.RandomState) -> int:
    return int(rng.randint(2**31 - 1))


def _selection(estimator: Any, n_distinct: int) -> str | None:
    """Return how the size is chosen: many rows are not tried in folds."""
    is_large = n_distinct > CV_ROWS and isinstance(estimator.cv, WHOLE)
    if estimator.selection == "cv" and is_large:
        return "validation"
    return estimator.selection


def _alphas(alpha: Any, task: Task, dictionary: Functions) -> list[float]:
    """Return the ridges to compare, or the only one."""
    alpha = number_from_zero("alpha", alpha, ("cv",))
    if alpha != "cv":
        return [alpha]
    # A kernel s times as large has coefficients s times as small.
    scale = dictionary.scale(task.X, task.weight)
    scale = scale if 0 < scale < np.inf else 1.0
    if type(task.loss) is not Squared:
        scale *= LOSS_RIDGE * _loss_unit(task.loss, task.Y, task.weight)
    more = max(1.0, _RIDGE_A_ROW * float(task.weight.sum()) / min(ALPHAS))
    return [more * scale * a for a in ALPHAS]


def _loss_unit(loss: Loss, Y: np.ndarray, weight: np.ndarray) -> float:
    """Return the loss's typical curvature at the start, that of squared loss being 1.

    A loss s times as curved takes a ridge s times as large for the same effect.
    """
    F = np.broadcast_to(loss.start(Y, weight)[:, None], Y.shape)
    half = 0.5 * loss.weights(Y, np.array(F)).mean(axis=0)
    return float(max(lower_quantile(half, weight, 0.5), 1e-300))
