"""Choose neighbors, directions and width of local Gaussians by leave-one-out.

For one number of neighbors, all numbers of directions and all widths come from one
pass (:mod:`pursuit.densities.left_out`). Widths are first compared on a coarse grid
from below the typical distance of a nearest neighbor to the spread of the data, then
beyond its ends where the best lies at one, then, for the best neighbors and
directions, on a fine grid around the best.

Where rows lie in planes of fewer dimensions than there are features, overall or around
each point, the likelihood L(σ) grows without bound: across the plane it goes with
-log σ for each missing dimension. The slope g at the narrow end is the number of these
dimensions, and L(σ) + g log σ, which leaves them out, is compared instead.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from pursuit._progress import Progress
from pursuit._warnings import warn
from pursuit.kernels.distances import paired_rows, squared_distances

from ._coordinates import Coordinates
from .downdates import Models
from .gaussians import EPS
from .left_out import LeaveOneOut

# Numbers of neighbors and of directions that are compared.
NEIGHBORS = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
COMPONENTS = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23)
# Maximum number of rows left out in turn; more change the choice very little.
LEFT_OUT_ROWS = 1000

# Rows whose distances to all others are held at a time.
_BLOCK = 250

# Error in nats that does not affect any choice.
TOLERANCE = 1e-4

# Widths as powers of 2 times the typical nearest distance: those compared at first (and
# more up to the spread of the data), how many steps the best may lie below or above,
# and what a step beyond must gain in nats. Where the likelihood has no bound, gains
# below this are ties as well.
_LOWEST, _HIGHEST = -6, 3
FARTHEST = 12
LEAST_GAIN = 1e-3
_FINE = np.arange(-3, 4) / 4.0
# Numbers of neighbors without a gain after which the search stops.
_PATIENCE = 2
# Relative difference of scores that is rounding.
_ROUNDING = 1e-12
# Constant columns that a warning names.
_NAMED = 10


# Widths and their scores.
_Curve = list[tuple[float, float]]


@dataclass(frozen=True)
class Trial:
    """One setting, and its mean log-density of left-out rows."""

    n_neighbors: int | None
    n_components: int | None
    bandwidth: float
    score: float


@dataclass(frozen=True)
class Found:
    """What a search found.

    Attributes
    ----------
    best : Trial
    trials : list of Trial
        All that were compared.
    growth : float
        In how many dimensions the likelihood grows without bound; 0 if it does not.
    slope : float
        How fast that of the best neighbors and directions rises with -log σ at the
        narrow end.
    """

    best: Trial
    trials: list[Trial]
    growth: float
    slope: float


def as_table(
    trials: Iterable[Trial], coordinates: Coordinates, n_constant: int
) -> list[dict[str, Any]]:
    """Return trials as dictionaries, in the units of the data.

    Their scores were without the constant columns, across which every Gaussian has
    the width σ: these are added.
    """
    return [
        asdict(trial)
        | {
            "bandwidth": trial.bandwidth * coordinates.unit,
            "score": trial.score
            + n_constant * log_peak(trial.bandwidth)
            - coordinates.log_volume,
        }
        for trial in trials
    ]


def log_peak(width: float) -> float:
    """Return the log-density of a Gaussian of one dimension at its mean."""
    return -float(np.log(width)) - 0.5 * float(np.log(2.0 * np.pi))


def search(
    make: Callable[[int | None], LeaveOneOut],
    neighbors: tuple[int | None, ...],
    components: tuple[int | None, ...],
    bandwidth: float | None,
    rows: np.ndarray,
    verbose: int | bool,
) -> Found:
    """Return the best setting and all settings compared.

    Parameters
    ----------
    make : callable
        ``make(k)`` returns the training set with k neighbors.
    neighbors, components : tuple of int or None
        Numbers to compare, neighbors in ascending order.
    bandwidth : float or None
        σ, if given.
    rows : ndarray of int of shape (m,)
        Rows that are left out in turn.
    verbose : int or bool
    """
    trials: list[Trial] = []
    growth = 0.0
    n_without = 0
    widths = np.array([bandwidth])
    with Progress(len(neighbors) + 2, "neighbors", verbose, "number") as bar:
        for n_done, k in enumerate(neighbors):
            data = make(k)
            if bandwidth is None and not trials:
                base, highest = scale(data.X, rows)
                octaves = np.arange(_LOWEST, max(_HIGHEST, highest) + 1)
                widths = base * 2.0**octaves
            before = _leaders(trials)
            trials += _compare(data, k, components, widths, rows)
            n_without = n_without + 1 if _leaders(trials) == before else 0
            bar.show(n_done + 1, best=_best(trials).score)
            if n_without == _PATIENCE:
                break
        if bandwidth is None:
            trials += _beyond(make, trials, widths, rows)
            growth = _growth(trials)
            bar.show(len(neighbors) + 1, best=_best(trials, growth).score)
            trials += _finer(make, trials, growth, rows)
        bar.show(len(neighbors) + 2, best=_best(trials, growth).score)
    best = _best(trials, growth)
    curve = _curves(trials)[best.n_neighbors, best.n_components]
    return Found(best, trials, growth, slope_at_the_end(curve))


def winner(widths: np.ndarray, scores: np.ndarray, growth: float = 0.0) -> int:
    """Return the place of the best score, leaving out growth without bound.

    Of equal ones the widest is taken.
    """
    worth = scores + growth * np.log(widths)
    best = worth.max()
    slack = LEAST_GAIN if growth > 0 else _ROUNDING * abs(best)
    ties = np.flatnonzero(worth >= (best - slack if np.isfinite(best) else best))
    return int(ties[widths[ties].argmax()])


def growth_without_bound(best: _Curve, curves: Iterable[_Curve]) -> float:
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


def slope_at_the_end(curve: _Curve) -> float:
    """Return how fast scores rise with -log σ at the narrow end; -inf from -inf."""
    if len(curve) < 2:
        return 0.0
    (narrow, higher), (wide, lower) = sorted(curve)[:2]
    if not np.isfinite(lower):
        return -np.inf
    return float((higher - lower) / np.log(wide / narrow))


def n_gaining(score: float, scores: Iterable[float]) -> int:
    """Return how many scores gain on the one before, the first on a given one."""
    n = 0
    for following in scores:
        if not following >= score + LEAST_GAIN:
            break
        score, n = following, n + 1
    return n


def warn_of_degeneracy(growth: float, slope: float, is_constant: np.ndarray) -> None:
    """Warn if the likelihood grows without bound.

    ``growth`` and ``slope`` are as in `Found`. Constant columns, which were left out,
    add one each to the slope.
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


def _leaders(trials: list[Trial], growth: float = 0.0) -> dict[int | None, Trial]:
    """Return the best trial of each number of directions."""
    groups: dict[int | None, list[Trial]] = {}
    for trial in trials:
        groups.setdefault(trial.n_components, []).append(trial)
    return {d: _best(group, growth) for d, group in groups.items()}


def _best(trials: list[Trial], growth: float = 0.0) -> Trial:
    widths, scores = np.array([(t.bandwidth, t.score) for t in trials]).T
    return trials[winner(widths, scores, growth)]


def curves_of(scores: Iterable[tuple[Hashable, float, float]]) -> dict[Any, _Curve]:
    """Return the widths and scores of each setting, from (setting, width, score)."""
    curves: dict[Any, _Curve] = {}
    for setting, width, score in scores:
        curves.setdefault(setting, []).append((width, score))
    return curves


def _curves(trials: list[Trial]) -> dict[Any, _Curve]:
    """Return the widths and scores of each pair of neighbors and directions."""
    return curves_of(
        ((t.n_neighbors, t.n_components), t.bandwidth, t.score) for t in trials
    )


def _growth(trials: list[Trial]) -> float:
    curves, best = _curves(trials), _best(trials)
    mine = curves[best.n_neighbors, best.n_components]
    return growth_without_bound(mine, curves.values())


def neighbor_candidates(n_rows: int) -> tuple[int, ...]:
    """Return the numbers of neighbors to compare on this many rows."""
    return tuple(k for k in NEIGHBORS if k <= max(n_rows - 2, 2))


def scale(X: np.ndarray, rows: np.ndarray) -> tuple[float, int]:
    """Return the typical distance, above 0, and the octaves from there to the spread.

    If most rows have a near duplicate, that distance is too small a guide; the spread
    (root mean square of the coordinates about their mean) limits the useful widths.
    """
    spread = float(np.sqrt(X.var(axis=0).mean())) or 1.0
    base = max(typical_distance(X, rows), EPS * spread)
    return base, int(np.ceil(np.log2(spread / base)))


def grid_octaves(lowest: int, highest: int, spread: int) -> list[int]:
    """Return the octaves to offer: all up to the highest, and a few below the spread.

    The latter matter if most rows have a near duplicate.
    """
    return [*range(lowest, highest + 1), *range(spread, highest + 1, -2)[3::-1]]


def typical_distance(X: np.ndarray, rows: np.ndarray) -> float:
    """Return the median, over some rows, of the nearest distance divided by √n."""
    points, _ = paired_rows(X, X)
    squares = np.empty(len(rows))
    for a in range(0, len(rows), _BLOCK):
        mine = rows[a : a + _BLOCK]
        block = points[mine]
        D = squared_distances(block, points, np.empty((len(mine), len(X))))
        D[np.arange(len(mine)), mine] = np.inf
        squares[a : a + _BLOCK] = D.min(axis=1)
    return float(np.sqrt(np.median(squares) / X.shape[1]))


def _compare(
    data: LeaveOneOut,
    k: int | None,
    components: tuple[int | None, ...],
    widths: np.ndarray,
    rows: np.ndarray,
) -> list[Trial]:
    logs = data.log_densities(Models(components, widths**2), rows)
    values = np.average(logs, axis=2, weights=data.counts[rows])
    return [
        Trial(k, d, float(widths[j]), float(values[i, j]))
        for i, d in enumerate(components)
        for j in range(len(widths))
    ]


def _beyond(
    make: Callable[[int | None], LeaveOneOut],
    trials: list[Trial],
    widths: np.ndarray,
    rows: np.ndarray,
) -> list[Trial]:
    """Return trials beyond the ends of the grid, where the best are there."""
    found = []
    for step, end in ((0.5, widths[0]), (2.0, widths[-1])):
        at_end = [t for t in _leaders(trials).values() if t.bandwidth == end]
        for k in dict.fromkeys(t.n_neighbors for t in at_end):
            group = [t for t in at_end if t.n_neighbors == k]
            found += _walk(make(k), group, step, rows)
    return found


def _walk(
    data: LeaveOneOut, group: list[Trial], step: float, rows: np.ndarray
) -> list[Trial]:
    """Return trials at ever farther widths, as far as each gains on the one before."""
    k, end = group[0].n_neighbors, group[0].bandwidth
    walked = []
    for part in passes_beyond(data.X, end, step, data.tolerance):
        if not group:
            break
        components = tuple(t.n_components for t in group)
        found = _compare(data, k, components, part, rows)
        group, before = [], group
        for last in before:
            curve = [t for t in found if t.n_components == last.n_components]
            n = n_gaining(last.score, (t.score for t in curve))
            walked += curve[: n + 1]
            if n == len(curve):
                group.append(curve[-1])
    return walked


def passes_beyond(
    X: np.ndarray, end: float, step: float, tolerance: float
) -> list[np.ndarray]:
    """Return widths beyond an end of the grid, those of a pass together.

    Tiny widths need slow forms: they are a pass of their own, and only there if the
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


def _finer(
    make: Callable[[int | None], LeaveOneOut],
    trials: list[Trial],
    growth: float,
    rows: np.ndarray,
) -> list[Trial]:
    """Return trials around the best of each number of directions."""
    groups: dict[tuple[int | None, float], list[int | None]] = {}
    for d, leader in _leaders(trials, growth).items():
        groups.setdefault((leader.n_neighbors, leader.bandwidth), []).append(d)
    octaves = _FINE[_FINE != 0]
    return [
        trial
        for (k, width), components in groups.items()
        for trial in _compare(make(k), k, tuple(components), width * 2.0**octaves, rows)
    ]
