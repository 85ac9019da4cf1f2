"""Choose both widths of Gaussians fitted around each query by leave-one-out.

All values of σ for one width h of the window come from one pass. Both are compared on a
grid from about the typical distance of a nearest neighbor to the spread of the data,
then beyond its edges as long as that gains.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from pursuit._progress import Progress

from .pointwise_gaussians import PointwiseGaussians
from .widths import (
    BANDWIDTHS,
    FARTHEST,
    LEAST_GAIN,
    TOLERANCE,
    Found,
    WidthScores,
    curves_of,
    growth_without_bound,
    n_gaining,
    passes_beyond,
    scale,
    slope_at_the_end,
    up_to,
    winner,
)

# Values of h that are compared at first, in octaves above the typical distance of a
# nearest neighbor; more follow up to the spread of the data.
WIDTHS = tuple(e / 2 for e in range(13))


@dataclass(frozen=True)
class PointwiseTrial:
    """One pair of widths, and its mean log-density of left-out rows."""

    width: float
    bandwidth: float
    score: float


def search_widths(
    data: PointwiseGaussians,
    width: float | None,
    bandwidth: float | None,
    rows: np.ndarray,
    verbose: int | bool,
) -> Found[PointwiseTrial]:
    """Return the best pair of widths and all pairs compared.

    Parameters
    ----------
    data : PointwiseGaussians
        The training set; its own width does not matter.
    width, bandwidth : float or None
        h and σ, if given.
    rows : ndarray of int of shape (m,)
        Rows that are left out in turn.
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
    with Progress(total, "widths", verbose, "width") as bar:
        for n_done, h in enumerate(widths):
            trials += _compare(data, h, sigmas, rows)
            bar.show(n_done + 1, best=_best(trials).score)
        if bandwidth is None:
            trials += _narrower(data, trials, float(sigmas[0]), rows)
            growth = _growth(trials)
        for n_done in range(len(widths), total):
            score = _best(trials, growth).score
            trials += _beyond(data, trials, growth, rows)
            best = _best(trials, growth)
            bar.show(n_done + 1, best=best.score)
            if best.score < score + LEAST_GAIN:
                break
        bar.show(total, best=best.score)
    return Found(best, trials, growth, slope_at_the_end(_curves(trials)[best.width]))


def _compare(
    data: PointwiseGaussians, width: float, sigmas: np.ndarray, rows: np.ndarray
) -> list[PointwiseTrial]:
    """Return the trials of a width with each σ."""
    model = replace(data, width=float(width))
    logs = model.log_density(data.X[rows], sigmas**2, rows, TOLERANCE)
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
    data: PointwiseGaussians,
    trials: list[PointwiseTrial],
    lowest: float,
    rows: np.ndarray,
) -> list[PointwiseTrial]:
    """Return trials below the lowest σ if the best is there, as far as each gains."""
    best = _best(trials)
    walked: list[PointwiseTrial] = []
    if best.bandwidth > lowest:
        return walked
    score = best.score
    for part in passes_beyond(data.X, lowest, 0.5, TOLERANCE):
        found = _compare(data, best.width, part, rows)
        n = n_gaining(score, (t.score for t in found))
        walked += found[: n + 1]
        if n < len(found):
            break
        score = found[-1].score
    return walked


def _beyond(
    data: PointwiseGaussians,
    trials: list[PointwiseTrial],
    growth: float,
    rows: np.ndarray,
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
        for trial in _compare(
            data, f * best.width, np.array([g * best.bandwidth]), rows
        )
    ]


def _outward(value: float, tried: set[float]) -> float:
    """Return the factor that leads beyond those tried; 1 if the value is not an end."""
    ends = {min(tried): 0.5, max(tried): 2.0} if len(tried) > 1 else {}
    return ends.get(value, 1.0)
