"""Fit a density from a Gaussian around each query, and choose its widths.

Both widths are chosen by leave-one-out. All values of σ for one width h of the window
come from one pass. Both are compared on a grid from about the typical distance of a
nearest neighbor to the spread of the data, then beyond its edges as long as that gains.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from pursuit._limits import Limits
from pursuit._progress import Progress

from .points import DistinctRows, scale
from .pointwise_gaussians import PointwiseGaussians
from .widths import (
    BANDWIDTHS,
    FARTHEST,
    LEAST_GAIN,
    TOLERANCE,
    SearchResult,
    WidthScores,
    as_table,
    curves_of,
    growth_without_bound,
    n_gaining,
    passes_beyond,
    slope_at_the_end,
    up_to,
    warn_of_degeneracy,
    winner,
)

# Values of h that are compared at first, in octaves above the typical distance of a
# nearest neighbor; more follow up to the spread of the data.
WIDTHS = tuple(e / 2 for e in range(13))


@dataclass(frozen=True)
class PointwiseDensity:
    """A fitted density, in the coordinates of the data, before normalization.

    Attributes
    ----------
    points : DistinctRows
    gaussians : PointwiseGaussians
    width, bandwidth : float
        h and σ, in the units of the data.
    trials : list of dict
        Pairs of widths that a search compared.
    """

    points: DistinctRows
    gaussians: PointwiseGaussians
    width: float
    bandwidth: float
    trials: list[dict[str, Any]]

    @property
    def _variance(self) -> float:
        return self.points.coordinates.width(self.bandwidth) ** 2

    def log_density(self, X: np.ndarray, limits: Limits) -> np.ndarray:
        """Return log p at the rows of X, (m,)."""
        coordinates = self.points.coordinates
        variances = np.array([self._variance])
        logs = self.gaussians.log_density(coordinates.inside(X), variances, limits)
        return logs[:, 0] - coordinates.log_volume

    def left_out_log_density(self, limits: Limits) -> np.ndarray:
        """Return log p of each training row without that row, NaN for weight 0."""
        points, n_rows = self.points, len(self.points)
        logs = np.full(n_rows, -np.inf)
        if n_rows > 1:
            variances, rows = np.array([self._variance]), np.arange(n_rows)
            logs = self.gaussians.log_density(points.X, variances, limits, rows)[:, 0]
        return points.of_training_rows(logs - points.coordinates.log_volume)

    def log_mass(
        self, n_samples: int, rng: np.random.RandomState, limits: Limits
    ) -> tuple[float, float]:
        """Return an estimate of log ∫ p, and the relative standard error of ∫ p."""
        return self.gaussians.log_mass(self._variance, n_samples, rng, limits)


def fit_pointwise(
    points: DistinctRows,
    width: float | None,
    bandwidth: float | None,
    n_components: int | None,
    limits: Limits,
    verbose: int | bool,
) -> PointwiseDensity:
    """Return the density with these widths; a search chooses those that are None."""
    coordinates, log_counts = points.coordinates, np.log(points.counts)
    unit = coordinates.unit
    # A single row, or rows that are all equal, have no scale but their unit.
    best, trials = PointwiseTrial(1.0, 1.0, np.nan), []
    if (width is None or bandwidth is None) and len(points) > 1:
        is_constant = points.is_constant
        result = _search(
            PointwiseGaussians(points.varying, log_counts, 1.0, n_components),
            None if width is None else coordinates.width(width),
            None if bandwidth is None else bandwidth / unit,
            points.some_rows(),
            limits,
            verbose,
        )
        best = result.best
        trials = as_table(result.trials, coordinates, int(is_constant.sum()))
        if bandwidth is None:
            warn_of_degeneracy(result.growth, result.slope, is_constant)
    width = best.width * unit if width is None else width
    bandwidth = best.bandwidth * unit if bandwidth is None else bandwidth
    gaussians = PointwiseGaussians(
        points.X, log_counts, coordinates.width(width), n_components
    )
    return PointwiseDensity(points, gaussians, width, bandwidth, trials)


# -- search --------------------------------------------------------------------------


@dataclass(frozen=True)
class PointwiseTrial:
    """One pair of widths, and its mean log-density of left-out rows."""

    width: float
    bandwidth: float
    score: float


def _search(
    data: PointwiseGaussians,
    width: float | None,
    bandwidth: float | None,
    rows: np.ndarray,
    limits: Limits,
    verbose: int | bool,
) -> SearchResult[PointwiseTrial]:
    """Return the best pair of widths and all pairs compared.

    Parameters
    ----------
    data : PointwiseGaussians
        The training set; its width does not matter.
    width, bandwidth : float or None
        h and σ; None compares widths.
    rows : ndarray of int of shape (m,)
        Rows that are left out in turn.
    limits : Limits
    verbose : int or bool
    """
    base, highest = scale(data.X, rows)
    widths, sigmas = np.array([width]), np.array([bandwidth])
    if width is None:
        widths = base * 2.0 ** up_to(WIDTHS, highest)
    if bandwidth is None:
        sigmas = base * 2.0 ** up_to(BANDWIDTHS, highest)
    trials: list[PointwiseTrial] = []
    growth = 0.0
    total = len(widths) + FARTHEST

    def compare(h: float, sigmas: np.ndarray) -> list[PointwiseTrial]:
        return _compare(data, float(h), sigmas, rows, limits)

    with Progress(total, "widths", verbose, "width") as bar:
        for n_done, h in enumerate(widths):
            trials += compare(h, sigmas)
            bar.show(n_done + 1, best=_best(trials).score)
        if bandwidth is None:
            trials += _narrower(compare, data.X, trials, float(sigmas[0]))
            growth = _growth(trials)
        for n_done in range(len(widths), total):
            score = _best(trials, growth).score
            trials += _beyond(compare, trials, growth)
            best = _best(trials, growth)
            bar.show(n_done + 1, best=best.score)
            if best.score < score + LEAST_GAIN:
                break
        bar.show(total, best=best.score)
    return SearchResult(
        best, trials, growth, slope_at_the_end(_curves(trials)[best.width])
    )


# The trials of a width with each of some values of σ.
Compare = Callable[[float, np.ndarray], list[PointwiseTrial]]


def _compare(
    data: PointwiseGaussians,
    width: float,
    sigmas: np.ndarray,
    rows: np.ndarray,
    limits: Limits,
) -> list[PointwiseTrial]:
    """Return the trials of a width with each σ."""
    model = replace(data, width=width)
    logs = model.log_density(data.X[rows], sigmas**2, limits, rows, TOLERANCE)
    log_weights = data.log_weights[rows]
    scores = np.average(logs, axis=0, weights=np.exp(log_weights - log_weights.max()))
    return [
        PointwiseTrial(model.width, float(sigma), float(score))
        for sigma, score in zip(sigmas, scores, strict=True)
    ]


def _best(trials: list[PointwiseTrial], growth: float = 0.0) -> PointwiseTrial:
    sigmas, scores = np.array([(t.bandwidth, t.score) for t in trials]).T
    return trials[winner(sigmas, scores, growth)]


def _curves(trials: list[PointwiseTrial]) -> dict[float, WidthScores]:
    """Return the values of σ and scores of each width."""
    return curves_of((t.width, t.bandwidth, t.score) for t in trials)


def _growth(trials: list[PointwiseTrial]) -> float:
    curves = _curves(trials)
    return growth_without_bound(curves[_best(trials).width], curves.values())


def _narrower(
    compare: Compare, X: np.ndarray, trials: list[PointwiseTrial], lowest: float
) -> list[PointwiseTrial]:
    """Return trials below the lowest σ if the best is there, as far as each gains."""
    best = _best(trials)
    walked: list[PointwiseTrial] = []
    if best.bandwidth > lowest:
        return walked
    score = best.score
    for part in passes_beyond(X, lowest, 0.5, TOLERANCE):
        narrower = compare(best.width, part)
        n = n_gaining(score, (t.score for t in narrower))
        walked += narrower[: n + 1]
        if n < len(narrower):
            break
        score = narrower[-1].score
    return walked


def _beyond(
    compare: Compare, trials: list[PointwiseTrial], growth: float
) -> list[PointwiseTrial]:
    """Return trials next to the best one if that is at an edge of the grid."""
    best = _best(trials, growth)
    steps = [
        {1.0, _outward(best.width, {t.width for t in trials})},
        {1.0, _outward(best.bandwidth, {t.bandwidth for t in trials})},
    ]
    return [
        trial
        for f, g in product(*steps)
        if (f, g) != (1.0, 1.0)
        for trial in compare(f * best.width, np.array([g * best.bandwidth]))
    ]


def _outward(value: float, tried: set[float]) -> float:
    """Return the factor that leads beyond those tried; 1 if the value is not an end."""
    ends = {min(tried): 0.5, max(tried): 2.0} if len(tried) > 1 else {}
    return ends.get(value, 1.0)
