"""Choose neighbors, directions and width of local Gaussians by leave-one-out.

For one number of neighbors, all numbers of directions and all widths come from one
pass (:mod:`pursuit.densities.left_out`). Widths are first compared on a coarse grid
from below the typical distance of a nearest neighbor to the spread of the data, then
beyond its ends where the best lies at one, then, for the best neighbors and
directions, on a fine grid around the best.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit._progress import Progress

from .downdates import Models
from .left_out import LeaveOneOut
from .widths import (
    BANDWIDTHS,
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

# Numbers of neighbors and of directions that are compared.
NEIGHBORS = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
COMPONENTS = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23)

# Octaves around the best width that are compared at the end.
_FINE = np.arange(-3, 4) / 4.0
# Numbers of neighbors without a gain after which the search stops.
_PATIENCE = 2


@dataclass(frozen=True)
class MixtureTrial:
    """One setting, and its mean log-density of left-out rows."""

    n_neighbors: int | None
    n_components: int | None
    bandwidth: float
    score: float


def search(
    make: Callable[[int | None], LeaveOneOut],
    neighbors: tuple[int | None, ...],
    components: tuple[int | None, ...],
    bandwidth: float | None,
    rows: np.ndarray,
    verbose: int | bool,
) -> Found[MixtureTrial]:
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
    trials: list[MixtureTrial] = []
    growth = 0.0
    n_without = 0
    widths = np.array([bandwidth])
    with Progress(len(neighbors) + 2, "neighbors", verbose, "number") as bar:
        for n_done, k in enumerate(neighbors):
            data = make(k)
            if bandwidth is None and not trials:
                base, highest = scale(data.X, rows)
                widths = base * 2.0 ** up_to(BANDWIDTHS, highest)
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


def _leaders(
    trials: list[MixtureTrial], growth: float = 0.0
) -> dict[int | None, MixtureTrial]:
    """Return the best trial of each number of directions."""
    groups: dict[int | None, list[MixtureTrial]] = {}
    for trial in trials:
        groups.setdefault(trial.n_components, []).append(trial)
    return {d: _best(group, growth) for d, group in groups.items()}


def _best(trials: list[MixtureTrial], growth: float = 0.0) -> MixtureTrial:
    widths, scores = np.array([(t.bandwidth, t.score) for t in trials]).T
    return trials[winner(widths, scores, growth)]


def _curves(trials: list[MixtureTrial]) -> dict[Any, WidthScores]:
    """Return the widths and scores of each pair of neighbors and directions."""
    return curves_of(
        ((t.n_neighbors, t.n_components), t.bandwidth, t.score) for t in trials
    )


def _growth(trials: list[MixtureTrial]) -> float:
    curves, best = _curves(trials), _best(trials)
    mine = curves[best.n_neighbors, best.n_components]
    return growth_without_bound(mine, curves.values())


def neighbor_candidates(n_rows: int) -> tuple[int, ...]:
    """Return the numbers of neighbors to compare on this many rows."""
    return tuple(k for k in NEIGHBORS if k <= max(n_rows - 2, 2))


def _compare(
    data: LeaveOneOut,
    k: int | None,
    components: tuple[int | None, ...],
    widths: np.ndarray,
    rows: np.ndarray,
) -> list[MixtureTrial]:
    logs = data.log_densities(Models(components, widths**2), rows)
    values = np.average(logs, axis=2, weights=data.counts[rows])
    return [
        MixtureTrial(k, d, float(widths[j]), float(values[i, j]))
        for i, d in enumerate(components)
        for j in range(len(widths))
    ]


def _beyond(
    make: Callable[[int | None], LeaveOneOut],
    trials: list[MixtureTrial],
    widths: np.ndarray,
    rows: np.ndarray,
) -> list[MixtureTrial]:
    """Return trials beyond the ends of the grid, where the best are there."""
    found = []
    for step, end in ((0.5, widths[0]), (2.0, widths[-1])):
        at_end = [t for t in _leaders(trials).values() if t.bandwidth == end]
        for k in dict.fromkeys(t.n_neighbors for t in at_end):
            group = [t for t in at_end if t.n_neighbors == k]
            found += _walk(make(k), group, step, rows)
    return found


def _walk(
    data: LeaveOneOut, group: list[MixtureTrial], step: float, rows: np.ndarray
) -> list[MixtureTrial]:
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


def _finer(
    make: Callable[[int | None], LeaveOneOut],
    trials: list[MixtureTrial],
    growth: float,
    rows: np.ndarray,
) -> list[MixtureTrial]:
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
