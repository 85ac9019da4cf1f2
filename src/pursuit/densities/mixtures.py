"""Fit a mixture of local Gaussians, and choose by leave-one-out what is left to choose.

For one number of neighbors, all numbers of directions and all widths come from one
pass (:mod:`pursuit.densities.left_out`). Widths are first compared on a coarse grid
from below the typical distance of a nearest neighbor to the spread of the data, then
beyond the ends of the grid if the best width is there. Finally a fine grid around the
best width is compared for the best neighbors and directions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from pursuit._limits import Limits
from pursuit._progress import Progress
from pursuit.kernels import Kernel

from .downdates import Models
from .gaussians import LARGEST_ERROR
from .left_out import LeaveOneOut, n_near_for
from .local_gaussians import LocalGaussians
from .local_weights import log_neighbor_masses, nearest, weighted_neighbors
from .points import DistinctRows, scale
from .widths import (
    BANDWIDTHS,
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

# Numbers of neighbors and of directions that are compared.
NEIGHBORS = (2, 3, 4, 6, 8, 11, 16, 23, 32, 45, 64, 91, 128)
COMPONENTS = (0, 1, 2, 3, 4, 6, 8, 11, 16, 23)

# Octaves around the best width that are compared at the end.
_FINE = np.arange(-3, 4) / 4.0
# Numbers of neighbors without a gain after which the search stops.
_PATIENCE = 2

Auto = Literal["auto"]


@dataclass(frozen=True)
class MixtureSettings:
    """Checked parameters of a mixture; a search chooses those that are "auto".

    Attributes
    ----------
    n_neighbors : int, None or "auto"
        None means all other rows.
    n_components : int, None or "auto"
        None means all directions.
    bandwidth : float or "auto"
        σ, in the units of the data.
    kernel : Kernel or None
        Weights of the neighbors; None means equal weights.
    """

    n_neighbors: int | Auto | None
    n_components: int | Auto | None
    bandwidth: float | Auto
    kernel: Kernel | None

    @property
    def is_number_searched(self) -> bool:
        """Whether a search compares numbers of neighbors."""
        return self.n_neighbors == "auto" and self.kernel is None

    def neighbors(self, n_rows: int) -> tuple[int | None, ...]:
        """Return the numbers of neighbors to compare on this many rows."""
        if self.n_components == 0:
            return (0,)
        if self.n_neighbors != "auto":
            return (self.n_neighbors,)
        if self.kernel is not None:
            return (None,)
        return tuple(k for k in NEIGHBORS if k <= max(n_rows - 2, 2))

    def components(self, n_features: int) -> tuple[int | None, ...]:
        """Return the numbers of directions to compare with this many features."""
        if self.n_components == "auto":
            return (*(c for c in COMPONENTS if c < n_features), None)
        return (self.n_components,)


@dataclass(frozen=True)
class Mixture:
    """A fitted mixture of local Gaussians, in the coordinates of the data.

    Attributes
    ----------
    points : DistinctRows
    kernel : Kernel or None
        Weights of the neighbors; None means equal weights.
    n_neighbors : int or None
        None means all other rows.
    n_components : int or None
        None means all directions.
    bandwidth : float
        σ.
    gaussians : LocalGaussians
    trials : list of dict
        Settings that a search compared.
    """

    points: DistinctRows
    kernel: Kernel | None
    n_neighbors: int | None
    n_components: int | None
    bandwidth: float
    gaussians: LocalGaussians
    trials: list[dict[str, Any]]

    def log_density(self, X: np.ndarray, limits: Limits) -> np.ndarray:
        """Return log p at the rows of X, (m,)."""
        coordinates = self.points.coordinates
        logs = self.gaussians.log_density(coordinates.inside(X), limits)
        return logs - coordinates.log_volume

    def left_out_log_density(self, limits: Limits) -> np.ndarray:
        """Return log p of each training row without that row, NaN for weight 0."""
        points, n_rows = self.points, len(self.points)
        logs = np.full(n_rows, -np.inf)
        if n_rows > 1:
            models = Models((self.n_components,), np.array([self.gaussians.variance]))
            near = nearest(points.X, n_near_for(self.n_neighbors, n_rows), limits)
            left_out = _leave_one_out(
                points, points.X, near, self.n_neighbors, self.kernel, limits
            )
            logs = left_out.log_densities(models, np.arange(n_rows))[0, 0]
        return points.of_training_rows(logs - points.coordinates.log_volume)

    def sample(self, n_samples: int, rng: np.random.RandomState) -> np.ndarray:
        """Return random points drawn from the mixture, (n_samples, n)."""
        return self.points.coordinates.outside(self.gaussians.sample(n_samples, rng))


def fit_mixture(
    points: DistinctRows,
    settings: MixtureSettings,
    limits: Limits,
    verbose: int | bool,
) -> Mixture:
    """Return the mixture of these settings, after a search if any is "auto"."""
    k, d, sigma, trials = _resolved(points, settings, limits, verbose)
    is_searched = settings.is_number_searched
    if k is not None and (is_searched or np.all(points.counts == 1.0)):
        k = min(k, len(points) - 1)  # at most all other rows
    # A search counts each neighbor once.
    counts = np.ones(len(points)) if is_searched else points.counts
    gaussians = LocalGaussians(
        points.X,
        weighted_neighbors(points.X, counts, k, settings.kernel, points.rows, limits),
        d,
        points.coordinates.width(sigma) ** 2,
        np.log(points.counts) - np.log(points.counts.sum()),
    )
    return Mixture(
        points, settings.kernel, k, d, sigma, gaussians.factorized(limits), trials
    )


def _resolved(
    points: DistinctRows,
    settings: MixtureSettings,
    limits: Limits,
    verbose: int | bool,
) -> tuple[int | None, int | None, float, list[dict[str, Any]]]:
    """Return neighbors, directions and σ as numbers, and what a search compared."""
    n_rows, unit = len(points), points.coordinates.unit
    is_constant = points.is_constant
    ks = settings.neighbors(n_rows)
    ds = settings.components(int((~is_constant).sum()))
    bandwidth = None if settings.bandwidth == "auto" else settings.bandwidth
    if bandwidth is not None and len(ks) * len(ds) == 1:
        return ks[0], ds[0], bandwidth, []
    if n_rows < 2:
        return ks[0], ds[-1], unit if bandwidth is None else bandwidth, []
    near = nearest(points.X, max(n_near_for(k, n_rows) for k in ks), limits)
    varying = points.varying
    result = _search(
        lambda k: _leave_one_out(
            points, varying, near, k, settings.kernel, limits, TOLERANCE
        ),
        ks,
        ds,
        None if bandwidth is None else bandwidth / unit,
        points.some_rows(),
        verbose,
    )
    if bandwidth is None:
        warn_of_degeneracy(result.growth, result.slope, is_constant)
    best = result.best
    trials = as_table(result.trials, points.coordinates, int(is_constant.sum()))
    return best.n_neighbors, best.n_components, best.bandwidth * unit, trials


def _leave_one_out(
    points: DistinctRows,
    X: np.ndarray,
    near: np.ndarray,
    k: int | None,
    kernel: Kernel | None,
    limits: Limits,
    tolerance: float = LARGEST_ERROR,
) -> LeaveOneOut:
    """Return the training set prepared for leave-one-out with k neighbors.

    ``X`` are the distinct rows, perhaps without some columns; ``near`` the nearest
    other rows of each, at least as many as needed.
    """
    neighbors = np.ascontiguousarray(near[:, : n_near_for(k, len(X))])
    logs = log_neighbor_masses(points.rows, neighbors, kernel, limits.memory)
    return LeaveOneOut(X, neighbors, logs, points.counts, limits, tolerance)


# -- search --------------------------------------------------------------------------


@dataclass(frozen=True)
class MixtureTrial:
    """One setting, and its mean log-density of left-out rows."""

    n_neighbors: int | None
    n_components: int | None
    bandwidth: float
    score: float


def _search(
    make: Callable[[int | None], LeaveOneOut],
    neighbors: tuple[int | None, ...],
    components: tuple[int | None, ...],
    bandwidth: float | None,
    rows: np.ndarray,
    verbose: int | bool,
) -> SearchResult[MixtureTrial]:
    """Return the best setting and all settings compared.

    Parameters
    ----------
    make : callable
        ``make(k)`` returns the training set with k neighbors.
    neighbors, components : tuple of int or None
        Numbers to compare, neighbors in ascending order.
    bandwidth : float or None
        σ; None compares widths.
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
    return SearchResult(best, trials, growth, slope_at_the_end(curve))


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
    curve = curves[best.n_neighbors, best.n_components]
    return growth_without_bound(curve, curves.values())


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
    """Return trials beyond the ends of the grid at which the best trials are."""
    beyond = []
    for step, end in ((0.5, widths[0]), (2.0, widths[-1])):
        at_end = [t for t in _leaders(trials).values() if t.bandwidth == end]
        for k in dict.fromkeys(t.n_neighbors for t in at_end):
            group = [t for t in at_end if t.n_neighbors == k]
            beyond += _walk(make(k), group, step, rows)
    return beyond


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
        compared = _compare(data, k, components, part, rows)
        group, before = [], group
        for last in before:
            curve = [t for t in compared if t.n_components == last.n_components]
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
