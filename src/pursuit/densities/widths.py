"""Widths by the likelihood of left-out rows: which to try, and which of them is best.

Where rows lie in planes of fewer dimensions than there are features, overall or around
each point, the likelihood L(σ) grows without bound: across the plane it goes with
-log σ for each missing dimension. The slope g at the narrow end is the number of these
dimensions, and L(σ) + g log σ, which leaves them out, is compared instead.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import asdict, dataclass
from typing import Any, Generic, TypeVar

import numpy as np

from pursuit._warnings import warn

from .points import EPS, Coordinates

# Error in nats that does not affect any choice.
TOLERANCE = 1e-4

# Values of σ that are compared at first, in octaves above the typical distance of a
# nearest neighbor; more follow up to the spread of the data.
BANDWIDTHS = tuple(range(-6, 4))
# How many octaves the best may lie beyond these, and what an octave beyond must gain in
# nats. Where the likelihood has no bound, gains below this are ties as well.
FARTHEST = 12
LEAST_GAIN = 1e-3

# Relative difference of scores that is rounding.
_ROUNDING = 1e-12
# Constant columns that a warning names.
_NAMED = 10

# Widths and their scores.
WidthScores = list[tuple[float, float]]
# One setting, as a dataclass with ``bandwidth`` and ``score``, the mean log-density of
# left-out rows.
AnyTrial = TypeVar("AnyTrial")


@dataclass(frozen=True)
class SearchResult(Generic[AnyTrial]):
    """The best setting of a search, and what it compared.

    Attributes
    ----------
    best : trial
    trials : list of trials
        All that were compared.
    growth : float
        In how many dimensions the likelihood grows without bound; 0 if it does not.
    slope : float
        How fast that of the best setting rises with -log σ at the narrow end.
    """

    best: AnyTrial
    trials: list[AnyTrial]
    growth: float
    slope: float


def as_table(
    trials: Iterable[Any], coordinates: Coordinates, n_constant: int
) -> list[dict[str, Any]]:
    """Return trials as dictionaries, in the units of the data.

    Their scores were without the constant columns, across which every Gaussian has
    the width σ: these are added.
    """
    return [_row(asdict(trial), coordinates, n_constant) for trial in trials]


def _row(
    trial: dict[str, Any], coordinates: Coordinates, n_constant: int
) -> dict[str, Any]:
    lengths = [name for name in ("width", "bandwidth") if name in trial]
    score = trial["score"] + n_constant * _log_peak(trial["bandwidth"])
    return {
        **trial,
        **{name: trial[name] * coordinates.unit for name in lengths},
        "score": score - coordinates.log_volume,
    }


def _log_peak(width: float) -> float:
    """Return the log-density of a Gaussian of one dimension at its mean."""
    return -float(np.log(width)) - 0.5 * float(np.log(2.0 * np.pi))


def up_to(octaves: tuple[float, ...], highest: int) -> np.ndarray:
    """Return the octaves, extended by whole ones up to the spread of the data."""
    return np.array([*octaves, *range(int(octaves[-1]) + 1, highest + 1)], dtype=float)


def grid_octaves(lowest: int, highest: int, spread: int) -> list[int]:
    """Return the octaves to offer: all up to the highest, and a few below the spread.

    The latter matter if most rows have a near duplicate.
    """
    return [*range(lowest, highest + 1), *range(spread, highest + 1, -2)[3::-1]]


def passes_beyond(
    X: np.ndarray, end: float, step: float, tolerance: float
) -> list[np.ndarray]:
    """Return widths beyond an end of the grid, those of a pass together.

    Tiny widths need slow forms: they are a separate pass, and are there only if the
    data are that thin in some direction. Otherwise growth up to there has no bound.
    """
    widths = end * step ** np.arange(1.0, FARTHEST + 1)
    squares = np.einsum("ij,ij->i", X, X)
    lowest = float(np.sqrt(4.0 * EPS * squares.max() / tolerance))
    parts = [widths[widths >= lowest], widths[widths < lowest]]
    if len(parts[1]) and len(parts[0]) and _thinnest(X) > lowest:
        parts.pop()
    return [part for part in parts if len(part)]


def _thinnest(X: np.ndarray) -> float:
    """Return the smallest spread of the data in any direction in which they have one.

    X is about the origin.
    """
    spreads = np.linalg.svd(X, compute_uv=False) / np.sqrt(len(X))
    return float(spreads[spreads > max(X.shape) * EPS * spreads[0]].min())


def winner(widths: np.ndarray, scores: np.ndarray, growth: float = 0.0) -> int:
    """Return the place of the best score, leaving out growth without bound.

    Of equal ones the widest is taken.
    """
    worth = scores + growth * np.log(widths)
    best = worth.max()
    slack = LEAST_GAIN if growth > 0 else _ROUNDING * abs(best)
    ties = np.flatnonzero(worth >= (best - slack if np.isfinite(best) else best))
    return int(ties[widths[ties].argmax()])


def growth_without_bound(best: WidthScores, curves: Iterable[WidthScores]) -> float:
    """Return in how many dimensions the likelihood grows without bound, or 0.

    It does if the best score is that of the narrowest width of its curve. The steepest
    curve tells by how much, so that none still rises.

    Parameters
    ----------
    best : list of pairs of floats
        Widths and scores, among them the best of all.
    curves : iterable of such lists
    """
    narrowest = min(best)
    if narrowest[1] < max(score for _, score in best):
        return 0.0
    if slope_at_the_end(best) * np.log(2.0) < LEAST_GAIN:
        return 0.0
    return max(slope_at_the_end(curve) for curve in curves)


def slope_at_the_end(curve: WidthScores) -> float:
    """Return how fast scores rise with -log σ at the narrow end; -inf from -inf."""
    if len(curve) < 2:
        return 0.0
    (narrow, higher), (wide, lower) = sorted(curve)[:2]
    if not np.isfinite(lower):
        return -np.inf
    return float((higher - lower) / np.log(wide / narrow))


def n_gaining(score: float, scores: Iterable[float]) -> int:
    """Return how many scores gain on the one before; the first on ``score``."""
    n = 0
    for following in scores:
        if not following >= score + LEAST_GAIN:
            break
        score, n = following, n + 1
    return n


def warn_of_degeneracy(growth: float, slope: float, is_constant: np.ndarray) -> None:
    """Warn if the likelihood grows without bound.

    ``growth`` and ``slope`` are those of a `SearchResult`. The search left out constant
    columns, which add one each to the slope.
    """
    columns = np.flatnonzero(is_constant)
    reasons = []
    if len(columns) and slope + len(columns) > 0:
        named = ", ".join(map(str, columns[:_NAMED]))
        more = f" and {len(columns) - _NAMED} more" if len(columns) > _NAMED else ""
        which, are = ("column", "is") if len(columns) == 1 else ("columns", "are")
        reasons.append(f"{which} {named}{more} (counted from 0) {are} constant")
    if growth > 0:
        reasons.append(
            "the rows lie in planes of fewer dimensions (by about "
            f"{max(growth, 0.1):.1f}) than there are features, overall or around each "
            "point, as where columns depend on others or share many values, or are "
            "nearly equal in pairs"
        )
    if not reasons:
        return
    warn(
        "The leave-one-out likelihood grows as bandwidth goes to 0: "
        f"{'; '.join(reasons)}. bandwidth_ was chosen by the likelihood in the other "
        "dimensions. Drop such columns or rows, reduce the dimension first (PCA), or "
        "give bandwidth."
    )


def curves_of(
    scores: Iterable[tuple[Hashable, float, float]],
) -> dict[Any, WidthScores]:
    """Return the widths and scores of each setting, from (setting, width, score)."""
    curves: dict[Any, WidthScores] = {}
    for setting, width, score in scores:
        curves.setdefault(setting, []).append((width, score))
    return curves
