"""Sparse kernel PCA of rows that are read block by block."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pursuit._ranges import check_scale
from pursuit._rows import units_of
from pursuit.components.choosing import choose_among
from pursuit.engine.gram import mirrored
from pursuit.estimators._batches import set_columns
from pursuit.kernels import Kernel
from pursuit.kernels._base import KernelOn
from pursuit.kernels.given import is_precomputed
from pursuit.trips import Visits
from pursuit.trips.looking import Look, Looked
from pursuit.trips.projecting import Project
from pursuit.trips.sampling import DrawSample, Sampled

from ._settings import bound_kernel, sample_size

if TYPE_CHECKING:
    from .pca import SparseKernelPCA

# More copies of rows than NumPy draws from without replacement.
_MANY = 10**9


def fit_visits(model: SparseKernelPCA, visits: Visits) -> None:
    """Fit sparse kernel PCA by trips over rows that may be anywhere."""
    _check(model)
    wanted, seed = model._wanted_support(), model._seed()
    looked = visits.total(Look(None))
    ranges, n = _ranges(looked), sample_size(model.subsample, looked.n_rows)
    n = min(n, looked.n_rows)
    drawn = visits.total(DrawSample(units_of(*ranges), seed, n))
    kernel = _kernel(model, ranges, drawn)
    rows = _repeated(drawn.sample.rows.counts, n, seed)
    sample = drawn.sample.rows.X[rows]
    how = model._choosing_among(n, None, seed, wanted)
    chosen = choose_among(
        how, kernel, sample, model._rule(kernel, sample, looked.n_rows)
    )
    points = sample[chosen.atoms]
    sums = visits.total(Project(KernelOn(kernel, points), chosen.triangle))
    path = chosen.path(
        rows[chosen.atoms],
        sums.n_rows,
        sums.total,
        mirrored(sums.products),
        sums.trace,
        sums.sup,
    )
    set_columns(model, looked.n_features, visits.feature_names)
    model._take(path, kernel, points)


def _check(model: SparseKernelPCA) -> None:
    """Raise a ValueError on settings that need all rows in memory."""
    why = None
    if is_precomputed(model.kernel):
        why = "a precomputed kernel is a matrix of all rows by all rows: give points"
    elif model.subsample is None:
        why = "subsample=None chooses among all rows: give a number, or 'auto'"
    if why is not None:
        raise ValueError(f"fit_batches visits rows block by block; {why}.")


def _ranges(looked: Looked) -> np.ndarray:
    """Return the least and the largest value of each column, (2, d)."""
    if looked.low is None or looked.high is None:
        raise ValueError("There are no rows to fit.")
    return np.array([looked.low, looked.high])


def _kernel(model: SparseKernelPCA, ranges: np.ndarray, drawn: Sampled) -> Kernel:
    """Return the kernel with a numeric gamma, by drawn rows."""
    rows = (drawn.sample if drawn.sample.is_complete else drawn.pairs).rows
    kernel = bound_kernel(model.kernel, model.gamma, rows.X, weight=rows.weight)
    assert kernel is not None
    if kernel.takes_squares:
        check_scale(ranges)
    return kernel


def _repeated(copies: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return ``n`` of some rows, each of which came a number of times.

    Rows that came more often are taken more often; all of them if they are ``n``.
    """
    numbers, rng = copies.astype(np.int64), np.random.default_rng(seed)
    total = int(numbers.sum())
    if total >= _MANY:
        numbers = rng.multinomial(n, numbers / total)
    elif total > n:
        numbers = rng.multivariate_hypergeometric(numbers, n)
    return np.repeat(np.arange(len(copies)), numbers)
