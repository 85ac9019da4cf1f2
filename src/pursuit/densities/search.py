"""Choose neighbors, directions and width of local Gaussians by leave-one-out.

For one number of neighbors, all numbers of directions and all widths come from one
pass (:mod:`pursuit.densities.left_out`). Widths are first compared on a coarse grid
from below the typical distance of a nearest neighbor to the spread of the data, then,
for the best neighbors and directions, on a fine grid around the best.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
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
NEIGHBOURS = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
COMPONENTS = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23)
# Maximum number of rows left out in turn; more change the choice very little.
LEFT_OUT_ROWS = 1000

# Error in nats that does not affect any choice.
TOLERANCE = 1e-4

# Widths as powers of 2 times the typical nearest distance: the range compared first
# (extended up to the spread of the data), how many steps the best may lie outside it,
# and the minimum gain of such a step in nats.
_LOWEST, _HIGHEST = -6, 3
FARTHEST = 12
LEAST_GAIN = 1e-3
_FINE = np.arange(-3, 4) / 4.0
# Numbers of neighbors without a gain after which the search stops.
_PATIENCE = 2


@dataclass(frozen=True)
class Trial:
    """One setting, and its mean log-density of left-out rows."""

    n_neighbors: int | None
    n_components: int | None
    bandwidth: float
    score: float


def as_table(trials: Iterable[Trial], coordinates: Coordinates) -> list[dict[str, Any]]:
    """Return trials as dictionaries, in the units of the data."""
    return [
        asdict(trial)
        | {
            "bandwidth": trial.bandwidth * coordinates.unit,
            "score": trial.score - coordinates.log_volume,
        }
        for trial in trials
    ]


def search(
    make: Callable[[int | None], LeaveOneOut],
    neighbours: tuple[int | None, ...],
    components: tuple[int | None, ...],
    bandwidth: float | None,
    rows: np.ndarray,
    verbose: int | bool,
) -> tuple[Trial, list[Trial]]:
    """Return the best setting and all settings compared.

    Parameters
    ----------
    make : callable
        ``make(k)`` returns the training set with k neighbors.
    neighbours, components : tuple of int or None
        Numbers to compare, neighbors in ascending order.
    bandwidth : float or None
        σ, if given.
    rows : ndarray of int of shape (m,)
        Rows that are left out in turn.
    verbose : int or bool
    """
    trials: list[Trial] = []
    leaders: dict[int | None, tuple[Trial, LeaveOneOut]] = {}
    n_without = 0
    widths = np.array([bandwidth])
    with Progress(len(neighbours) + 1, "neighbours", verbose, "number") as bar:
        for n_done, k in enumerate(neighbours):
            data = make(k)
            if bandwidth is None and not leaders:
                base, highest = scale(data.X, rows)
                octaves = np.arange(_LOWEST, max(_HIGHEST, highest) + 1)
                widths = base * 2.0**octaves
            found = _compare(data, k, components, widths, rows)
            trials += found
            n_without = 0 if _lead(leaders, found, data) else n_without + 1
            bar.show(n_done + 1, best=_best(leaders).score)
            if n_without == _PATIENCE:
                break
        for leader, data in list(leaders.values()) if bandwidth is None else ():
            finer = list(_refine(data, leader, widths, rows))
            trials += finer
            _lead(leaders, finer, data)
        bar.show(len(neighbours) + 1, best=_best(leaders).score)
    best = _best(leaders)
    if bandwidth is None and best.bandwidth < lowest_width(widths):
        warn_of_no_width()
    return best, trials


def lowest_width(widths: np.ndarray) -> float:
    """Return the width below which the likelihood seems to be unbounded."""
    return float(widths[0]) * 2.0 ** (0.5 - FARTHEST)


def warn_of_no_width() -> None:
    """Warn that the narrowest width was the best."""
    warn(
        "The leave-one-out likelihood grows as bandwidth goes to 0: the rows lie in a "
        "plane of fewer dimensions than there are features (a constant column, or one "
        "that depends on others), or are nearly equal in pairs. bandwidth_ is the "
        "narrowest width that was tried. Drop such columns or rows, or give bandwidth."
    )


def _lead(
    leaders: dict[int | None, tuple[Trial, LeaveOneOut]],
    found: list[Trial],
    data: LeaveOneOut,
) -> bool:
    """Update the best trial for each number of directions; return whether any did."""
    is_changed = False
    for trial in found:
        d = trial.n_components
        if d not in leaders or trial.score > leaders[d][0].score:
            leaders[d] = trial, data
            is_changed = True
    return is_changed


def _best(leaders: dict[int | None, tuple[Trial, LeaveOneOut]]) -> Trial:
    return max((trial for trial, _ in leaders.values()), key=lambda t: t.score)


def neighbour_candidates(n_rows: int) -> tuple[int, ...]:
    """Return the numbers of neighbors to compare on this many rows."""
    return tuple(k for k in NEIGHBOURS if k <= max(n_rows - 2, 2))


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
    rows = rows[: LEFT_OUT_ROWS // 4]
    points, _ = paired_rows(X, X)
    block = points[rows]
    D = np.empty((len(block), len(X)))
    squared_distances(block, points, D)
    D[np.arange(len(block)), rows] = np.inf
    return float(np.sqrt(np.median(D.min(axis=1)) / X.shape[1]))


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


def _refine(
    data: LeaveOneOut, best: Trial, widths: np.ndarray, rows: np.ndarray
) -> Iterator[Trial]:
    """Yield trials beyond an end of the grid while they improve, then finer ones."""
    k, components = best.n_neighbors, (best.n_components,)
    step = {float(widths[0]): 0.5, float(widths[-1]): 2.0}.get(best.bandwidth)
    for _ in range(FARTHEST if step else 0):
        beyond = np.array([best.bandwidth * (step or 1.0)])
        (trial,) = _compare(data, k, components, beyond, rows)
        yield trial
        if trial.score < best.score + LEAST_GAIN:
            break
        best = trial
    finer = best.bandwidth * 2.0 ** _FINE[_FINE != 0]
    yield from _compare(data, k, components, finer, rows)
