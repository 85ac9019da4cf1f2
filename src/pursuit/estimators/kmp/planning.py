"""Turn the settings of a KMP estimator and its data into the plan of a fit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pursuit._parameters import WHOLE, is_word
from pursuit._quantiles import lower_quantile
from pursuit._ranges import SMALLEST_POSITIVE
from pursuit._rows import row_digests
from pursuit.bounds.paths import check_rule
from pursuit.dictionaries import Dictionary, OneKernel
from pursuit.engine.gram_pursuit import LEAST_RIDGE, LEAST_TRIAL_RIDGE
from pursuit.engine.problem import Problem
from pursuit.estimators._splits import check_groups, held_out_parts
from pursuit.fitting.engines import Engines
from pursuit.fitting.folds import Folds, enough_folds
from pursuit.fitting.learning import FULL_FEATURES
from pursuit.fitting.plan import Grid, Learning, Plan, Score, middle_widths
from pursuit.functions import Functions
from pursuit.gradients import column_scales
from pursuit.kernels import InMetric, Kernel
from pursuit.kernels.metric import factor_of
from pursuit.losses import Loss
from pursuit.methods import Redrawn
from pursuit.metrics import Given, Metric
from pursuit.sample import Sample
from pursuit.selection import MinimalBound, Selection

from .settings import LearnedKernel, Settings

# Ridges compared by alpha="cv", for a kernel with k(x, x) = 1.
ALPHAS = (1e-4, 1e-3, 1e-2, 1e-1, 1.0)
# Smallest ridge tried, as long as smaller ones are better.
LEAST_ALPHA = 1e-8
# Other losses, flat where the squared loss is steep, need stronger ridges.
LOSS_RIDGE = 10.0

# Ridges compared while a kernel is learned. Smaller ones make models whose large
# coefficients explode far from the data.
LEARNING_ALPHAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1, 1.0, 10.0)

# Above this many rows, "cv" holds out one part instead of using k folds. As many folds
# are used as hold out the second number of rows.
CV_ROWS, HELD_OUT_TO_SIZE = 10_000, 5_000


def make_plan(
    settings: Settings,
    sample: Sample,
    loss: Loss,
    score: Score | None,
    groups: Any,
    is_shared: bool,
) -> Plan:
    """Return the plan that the settings define on these data.

    Parameters
    ----------
    settings : Settings
    sample : Sample
        The training data; the plan's sample has the candidates as ``rows``.
    loss : Loss
    score : Score or None
        Score of held-out rows, used instead of the loss.
    groups : array-like or None
        Groups of rows that a splitter keeps together.
    is_shared : bool
        Whether all outputs share one support.
    """
    settings.check_loss(loss)
    check_groups(settings.selection, groups)
    _check_bound(settings.selection, sample, loss, is_shared)
    is_large = sample.n_distinct > CV_ROWS
    selection = settings.selection_on(is_large, loss, sample.is_class)
    n_distinct = sample.n_distinct
    sample = replace(sample, rows=_candidates(settings, sample))
    grid, learning = _source(settings, sample, loss, is_large)
    n_drawn, n_atoms = settings.n_drawn(n_distinct), len(grid.labels)
    return Plan(
        sample=sample,
        grid=grid,
        template=Problem(
            Y=sample.Y,
            weight=sample.weight,
            held_out=np.zeros(len(sample)),
            candidates=np.ones(n_atoms, dtype=bool),
            method=settings.method.word,
            fit_intercept=sample.fit_intercept,
            max_steps=settings.max_steps(n_distinct, n_atoms),
            tol=float(settings.method.tol),
            loss=sample.bound(loss),
            groups=sample.groups,
            refit_every=int(settings.method.refit_every),
        ),
        folds=_folds(selection, sample, grid, groups, learning is not None),
        selection=selection,
        score=score,
        engines=Engines(
            memory=settings.memory,
            dtype=settings.dtype,
            n_jobs=settings.n_jobs,
            verbose=settings.verbose,
            n_drawn=n_drawn,
            # Drawn only if used: with None, the generator is shared with other code.
            seed=0 if n_drawn is None else drawn_seed(settings.random_numbers),
        ),
        is_shared=is_shared,
        learning=learning,
        deadline=settings.deadline,
    )


def drawn_seed(rng: np.random.RandomState) -> int:
    """Return a seed drawn from random numbers."""
    return int(rng.randint(2**31 - 1))


# -- candidates --------------------------------------------------------------------


def _candidates(settings: Settings, sample: Sample) -> np.ndarray:
    """Return the rows on which functions may be centered."""
    value, n = settings.n_candidates, settings.n_fixed(sample.n_distinct)
    if value is None or is_word(value, "auto") or isinstance(value, Redrawn):
        return sample.rows[sample.priority[sample.rows] < n]
    # Draw by content, so that neither the order of rows nor repeated rows matter.
    seed = drawn_seed(settings.random_numbers)
    digests = row_digests(sample.contents, sample.rows, seed)
    return sample.rows[np.sort(np.argsort(digests)[:n])]


# -- widths and ridges -------------------------------------------------------------


def _source(
    settings: Settings, sample: Sample, loss: Loss, is_large: bool
) -> tuple[Grid, Learning | None]:
    """Return the grid to compare, and what is to be learned before."""
    if settings.dictionary is not None:
        return _grid(settings, settings.dictionary, sample, loss, is_large), None
    assert settings.learned is not None
    families, metric = settings.learned.families, settings.learned.metric
    factor = start_of(settings.learned, sample)
    # It stands for the kernel that will be learned, and serves if there are too few
    # rows to learn from.
    kernel = families[0]
    if hasattr(kernel, "gamma"):
        kernel = kernel.with_gamma("median")
    kernel = kernel if factor is None else InMetric(kernel, factor)
    grid = _grid(settings, OneKernel(kernel), sample, loss, is_large)
    learning = Learning(
        families=families,
        factor=factor,
        chains=[] if metric is None else _chains(families, metric, sample.X.shape[1]),
        may_stay=metric is None or metric.may_stay or not metric.shapes,
        n_rounds=0 if metric is None else metric.n_rounds,
        alphas=_learning_alphas(sample, grid.dictionaries[0], is_large),
        ridge_of_loss=loss_ridge(sample.bound(loss), sample.Y, sample.weight),
    )
    return grid, learning


def _learning_alphas(
    sample: Sample, functions: Functions, is_large: bool
) -> list[float]:
    """Return the ridges to compare, large enough to go by inner products."""
    scale = functions.scale(sample.X, sample.weight)
    unit = sample.unit * (scale if 0 < scale < np.inf else 1.0)
    least = LEAST_RIDGE * float(sample.weight.sum()) / sample.unit
    enough = [a for a in LEARNING_ALPHAS if a >= least] or LEARNING_ALPHAS[-1:]
    if is_large:
        # Little noise asks for the smallest ridge that is possible.
        enough = sorted({least, *enough})
    return [unit * a for a in enough]


def start_of(learned: LearnedKernel, sample: Sample) -> np.ndarray | None:
    """Return the factor of the metric with which learning begins."""
    if learned.metric is None:
        return None
    if isinstance(learned.metric, Given):
        return factor_of(learned.metric.metric)
    return column_scales(sample.X, sample.weight)


def _chains(
    families: Sequence[Kernel], metric: Metric, n_features: int
) -> list[tuple[int, str]]:
    """Return which families learn metrics of which shapes."""
    chains = [(i, shape) for shape in metric.shapes for i in range(len(families))]
    if len(metric.shapes) == 1:
        return chains
    # A sum of absolute differences is about columns, not directions.
    return [
        (i, shape)
        for i, shape in chains
        if shape == "diagonal"
        or (n_features <= FULL_FEATURES and families[i].metric == "sqeuclidean")
    ]


def _grid(
    settings: Settings,
    dictionary: Dictionary,
    sample: Sample,
    loss: Loss,
    is_large: bool,
) -> Grid:
    """Return the widths and ridges to compare, or those that are given."""
    dictionaries = _learned(dictionary, sample)
    widths = middle_widths(len(dictionaries))
    middle = dictionaries[widths[len(widths) // 2]]
    alphas, least_alpha = _alphas(settings.alpha, sample, loss, middle, is_large)
    rows = dictionaries[0].rows
    return Grid(
        dictionaries=dictionaries,
        relearn=_relearner(dictionary, sample),
        alphas=alphas,
        least_alpha=least_alpha,
        rows=rows,
        atom_sets=np.where(rows >= 0, sample.sets[rows], -1),
        labels=_labels(rows),
    )


def _learned(dictionary: Dictionary, sample: Sample) -> list[Functions]:
    collections = dictionary.learn(sample)
    if not collections or not len(collections[0]):
        raise ValueError(f"dictionary={dictionary!r} has no functions on these data.")
    first = collections[0].rows
    if any(not np.array_equal(functions.rows, first) for functions in collections):
        raise ValueError(
            f"dictionary={dictionary!r} compares collections that are not alike: each "
            "must have the same functions but for their widths."
        )
    return collections


def _relearner(
    dictionary: Dictionary, sample: Sample
) -> Callable[[np.ndarray], list[Functions]] | None:
    """Return a function that learns the atoms without the targets of some rows.

    Rows of weight zero are held out. None if the dictionary does not use the targets.
    """
    if not dictionary.learns_from_targets:
        return None
    learned: dict[bytes, list[Functions]] = {}

    def relearn(weight: np.ndarray) -> list[Functions]:
        # The same folds come again for every width and ridge.
        key = weight.tobytes()
        if key not in learned:
            learned[key] = _learned(dictionary, replace(sample, seen=weight))
        return learned[key]

    return relearn


def _labels(rows: np.ndarray) -> np.ndarray:
    """Return the row of each atom if these are all different, else its position."""
    are_distinct = np.all(rows >= 0) and len(np.unique(rows)) == len(rows)
    return rows if are_distinct else np.arange(len(rows))


def _alphas(
    alpha: float | str, sample: Sample, loss: Loss, middle: Functions, is_large: bool
) -> tuple[list[float], float]:
    """Return the ridges to compare, or the one given, and the smallest to try.

    ``middle`` are the functions of the middle width.
    """
    if not isinstance(alpha, str):
        return [alpha], alpha
    # A kernel s times as large has coefficients s times as small.
    scale = middle.scale(sample.X, sample.weight)
    scale = scale if 0 < scale < np.inf else 1.0
    unit = sample.unit
    n_rows = float(sample.weight.sum()) / unit
    is_squared = loss.has_closed_form
    scale *= loss_ridge(sample.bound(loss), sample.Y, sample.weight)
    more = max(1.0, LEAST_RIDGE * n_rows / min(ALPHAS))
    alphas = [more * unit * scale * a for a in ALPHAS]
    # Large data are fitted by inner products, which need a larger ridge than trials.
    digits = LEAST_RIDGE if is_large else LEAST_TRIAL_RIDGE
    least = unit * scale * max(LEAST_ALPHA, 4 * digits * n_rows)
    return alphas, least if is_squared else alphas[0]


def loss_ridge(loss: Loss, Y: np.ndarray, weight: np.ndarray) -> float:
    """Return how many times larger than for the squared loss ridges are.

    A loss s times as curved needs a ridge s times as large for the same effect.
    """
    if loss.is_squared_distance:
        return 1.0
    F = np.broadcast_to(loss.start(Y, weight)[:, None], Y.shape)
    half = 0.5 * loss.weights(Y, np.array(F)).mean(axis=0)
    unit = float(max(lower_quantile(half, weight, 0.5), SMALLEST_POSITIVE))
    return LOSS_RIDGE * unit


# -- sizes -------------------------------------------------------------------------


def _folds(
    selection: Selection, sample: Sample, grid: Grid, groups: Any, learns: bool
) -> Folds:
    """Return what is held out: nothing if neither size, ridge nor kernel need it."""
    are_random = selection.word == "validation" or isinstance(selection.n_folds, WHOLE)
    parts: list[np.ndarray] = []
    if selection.word in ("cv", "validation") or grid.has_choice or learns:
        parts = held_out_parts(selection, sample, groups)
    if are_random:
        parts = enough_folds(parts, sample.sets, HELD_OUT_TO_SIZE)
    return Folds.of(parts, sample.weight, sample.sets, grid.atom_sets, are_random)


def _check_bound(
    selection: Selection, sample: Sample, loss: Loss, is_shared: bool
) -> None:
    """Raise a ValueError if a bound that chooses the size does not suit the task."""
    if not isinstance(selection, MinimalBound):
        return
    n_outputs = len(sample.Y) if is_shared else 1
    check_rule(selection.rule(sample.is_class), sample.is_class, n_outputs)
    if not sample.is_class and not loss.is_identity_linked:
        raise ValueError(
            "selection='bound' is about functions in the span of kernels, which "
            f"loss={loss!r} transforms: use selection='cv'."
        )
