"""Mixtures of few oriented Gaussians, each on a row, along its neighbors.

The dictionary holds Manifold Parzen's Gaussians of some rows, each with several numbers
of neighbors. Rows judge a Gaussian as if it had been made without them: where a row is
a neighbor, the next one takes its place (:mod:`pursuit.densities.downdates`).
:mod:`pursuit.densities.mixture_pursuit` chooses; held-out rows say which width and how
many Gaussians.

Letters: l points, n features, M candidates, m judges, K neighbors, N Gaussians.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._limits import Limits
from pursuit._progress import Progress
from pursuit._warnings import warn

from .downdates import Models, corrected
from .gaussians import LARGEST_ERROR
from .local_weights import nearest
from .mixture_pursuit import Dictionary, MixturePath, mean_log, pursue_mixture
from .oriented_mixtures import OrientedGaussians, log_mixture, oriented
from .points import Coordinates, DistinctRows, scale
from .widths import (
    FARTHEST,
    LEAST_GAIN,
    WidthScores,
    as_table,
    growth_without_bound,
    slope_at_the_end,
    warn_of_degeneracy,
    winner,
)

# Numbers of neighbors in the dictionary unless one is given.
NEIGHBORS = (8, 16, 32, 64)
# Rows that judge, at most; rows that judge, and are candidates, while widths are
# compared.
_MOST_JUDGES = 5000
_JUDGES, _CANDIDATES = 1000, 200
# Bytes for the computation of a block of candidates.
_WORKING = 1 << 25

# Weights of the distinct rows that are fitted, and of those that are held out.
Fold = tuple[np.ndarray, np.ndarray]


# -- the dictionary ----------------------------------------------------------------


@dataclass(frozen=True)
class SparseSettings:
    """Checked parameters of a sparse mixture.

    Attributes
    ----------
    max_support : int
        Length of the path.
    neighbors : tuple of int, or None
        Numbers of neighbors; None means `NEIGHBORS`.
    n_components : int or None
        Number of directions; None means all.
    bandwidth : float or None
        σ, in the units of the data; None means that it is searched.
    n_candidates : int or None
        Rows on which Gaussians may stand; None means all.
    """

    max_support: int
    neighbors: tuple[int, ...] | None
    n_components: int | None
    bandwidth: float | None
    n_candidates: int | None

    def numbers(self, n_rows: int) -> tuple[int, ...]:
        """Return the numbers of neighbors for so many different rows."""
        if self.n_components == 0:
            return (0,)  # all are round, whatever the neighbors
        numbers = NEIGHBORS if self.neighbors is None else self.neighbors
        return tuple(sorted({min(k, n_rows - 1) for k in numbers}))


def dictionary_of(
    X: np.ndarray,
    counts: np.ndarray,
    judges: np.ndarray,
    rows: np.ndarray,
    settings: SparseSettings,
    variance: float,
    limits: Limits,
) -> Dictionary:
    """Return the Gaussians on some rows of X, and what the judges say of them."""
    places = np.full(len(X), -1)
    places[judges] = np.arange(len(judges))
    numbers = settings.numbers(len(X))
    near = nearest(X, min(numbers[-1] + 1, len(X) - 1), limits, rows)
    logs = np.empty((len(numbers), len(rows), len(judges)))
    for i, k in enumerate(numbers):
        E = min(k + 1, len(X) - 1)
        for here in _blocks(len(rows), E, X.shape[1]):
            logs[i, here] = _judged(
                X,
                rows[here],
                near[here, :E],
                judges,
                places,
                settings,
                variance,
                limits,
            )
    return Dictionary(
        np.tile(rows, len(numbers)),
        np.repeat(numbers, len(rows)),
        np.tile(places[rows], len(numbers)),
        logs.reshape(-1, len(judges)),
        counts[judges],
    )


def _blocks(n_rows: int, n_near: int, n_features: int) -> list[slice]:
    """Return slices of centers whose neighborhoods are held at a time."""
    each = 8 * n_near * (3 * n_features + 4 * n_near)
    height = max(1, _WORKING // each)
    return [slice(a, min(a + height, n_rows)) for a in range(0, n_rows, height)]


def _judged(
    X: np.ndarray,
    rows: np.ndarray,
    near: np.ndarray,
    judges: np.ndarray,
    places: np.ndarray,
    settings: SparseSettings,
    variance: float,
    limits: Limits,
) -> np.ndarray:
    """Return the log-densities (c, m) of the judges under Gaussians on some rows."""
    differences = X[near] - X[rows, None]
    # All neighbors but the last, which replaces the one that is left out.
    plain = oriented(X[rows], differences[:, :-1], settings.n_components, variance)
    logs = plain.log_densities(X[judges], limits)
    spots = places[near]
    models = Models((settings.n_components,), np.array([variance]))
    without = corrected(
        differences, np.zeros(near.shape), models, spots >= 0, LARGEST_ERROR
    )[:, :, 0]
    i, e = np.nonzero(spots >= 0)
    logs[i, spots[i, e]] = without[i, e]
    return logs


def gaussians_of(
    X: np.ndarray, path: MixturePath, settings: SparseSettings, variance: float
) -> OrientedGaussians:
    """Return the Gaussians of a path, made with all rows of X."""
    largest = int(path.n_neighbors.max())
    near = nearest(X, largest, Limits(_WORKING, 1), path.rows)
    n = X.shape[1]
    d = min(largest, n)
    d = d if settings.n_components is None else min(settings.n_components, d)
    axes, spreads = np.zeros((len(path), d, n)), np.zeros((len(path), d))
    for i, k in enumerate(path.n_neighbors.tolist()):
        differences = X[near[i, :k]] - X[path.rows[i]]
        one = oriented(
            X[path.rows[i : i + 1]], differences[None], settings.n_components, variance
        )
        r = one.axes.shape[1]
        axes[i, :r], spreads[i, :r] = one.axes[0], one.spreads[0]
    return OrientedGaussians(X[path.rows], axes, spreads, variance)


# -- fitting -----------------------------------------------------------------------


@dataclass(frozen=True)
class WidthTrial:
    """A width, and the mean log-density of rows that the Gaussians do not know."""

    bandwidth: float
    score: float


@dataclass(frozen=True, eq=False)
class SparseMixture:
    """A fitted mixture of few Gaussians.

    Attributes
    ----------
    coordinates : Coordinates
    gaussians : OrientedGaussians
        Those of the whole path.
    path : MixturePath
    bandwidth : float
        σ, in the units of the data.
    size : int
        How many Gaussians are used.
    trials : list of dict
        Widths that a search compared.
    left_out : ndarray of shape (n_samples,) or None
        Log-density of each training row without itself at this size; None if it is
        unknown.
    """

    coordinates: Coordinates
    gaussians: OrientedGaussians
    path: MixturePath
    bandwidth: float
    size: int
    trials: list[dict[str, Any]]
    left_out: np.ndarray | None

    @property
    def weights(self) -> np.ndarray:
        """The weights at this size."""
        return self.path.weights[self.size - 1]

    def staged_log_densities(self, X: np.ndarray, limits: Limits) -> list[np.ndarray]:
        """Return log p at the rows of X for every size, each (m,)."""
        logs = self.gaussians.log_densities(self.coordinates.inside(X), limits)
        volume = self.coordinates.log_volume
        sizes = range(1, len(self.path) + 1)
        return [log_mixture(logs[:s], self.path.weights[s - 1]) - volume for s in sizes]

    def log_density(self, X: np.ndarray, limits: Limits) -> np.ndarray:
        """Return log p at the rows of X, (m,)."""
        Z = self.coordinates.inside(X)
        logs = self.gaussians[: self.size].log_densities(Z, limits)
        return log_mixture(logs, self.weights) - self.coordinates.log_volume

    def sample(self, n_samples: int, rng: np.random.RandomState) -> np.ndarray:
        """Return random points drawn from the mixture, (n_samples, n)."""
        chosen = rng.choice(self.size, size=n_samples, p=self.weights)
        return self.coordinates.outside(self.gaussians.sample(chosen, rng))

    def of_rows(self, rows: np.ndarray) -> SparseMixture:
        """Return the same with its rows as indices of others, of which it had some."""
        return replace(self, path=replace(self.path, rows=rows[self.path.rows]))

    def truncate(self, size: int) -> SparseMixture:
        """Return the mixture of the first Gaussians."""
        path = self.path.truncate(size)
        left_out = self.left_out if size == self.size else None
        gaussians = self.gaussians[:size]
        return replace(
            self, path=path, gaussians=gaussians, size=size, left_out=left_out
        )


def fit_sparse(
    points: DistinctRows,
    settings: SparseSettings,
    folds: list[Fold],
    limits: Limits,
    rng: np.random.RandomState,
    verbose: int | bool,
) -> SparseMixture:
    """Return the mixture; folds, if there are some, choose width and size.

    A Ctrl-C ends it with what was found so far and a warning.
    """
    if len(points) < 2:
        return _single(points, settings)
    search = _Search(points, settings, folds, limits, rng)
    sigma, trials = settings.bandwidth, list[dict[str, Any]]()
    if sigma is None:
        sigma, trials = search.width(verbose)
    variance = points.coordinates.width(sigma) ** 2
    path = search.path(variance, verbose)
    size, volume = len(path), points.coordinates.log_volume
    curve = search.held_out(variance, size)
    if curve is not None:
        path, size = replace(path, held_out=curve - volume), 1 + int(curve.argmax())
    if search.was_interrupted:
        warn(
            f"The fit was interrupted; the density has the best bandwidth and the "
            f"{size} Gaussians found so far."
        )
    path = replace(path, scores=path.scores - volume)
    left_out = search.left_out(path.truncate(size), variance)
    return SparseMixture(
        points.coordinates,
        gaussians_of(points.X, path, settings, variance),
        path,
        sigma,
        size,
        trials,
        points.of_training_rows(left_out - volume),
    )


def _single(points: DistinctRows, settings: SparseSettings) -> SparseMixture:
    """Return the round Gaussian on a single row."""
    unit, n = points.coordinates.unit, points.X.shape[1]
    sigma = unit if settings.bandwidth is None else settings.bandwidth
    path = MixturePath(
        np.zeros(1, dtype=np.intp),
        np.zeros(1, dtype=np.intp),
        (np.ones(1),),
        np.array([-np.inf]),
        None,
        "exhausted",
    )
    variance = points.coordinates.width(sigma) ** 2
    one = OrientedGaussians(points.X, np.zeros((1, 0, n)), np.zeros((1, 0)), variance)
    left_out = points.of_training_rows(np.array([-np.inf]))
    return SparseMixture(points.coordinates, one, path, sigma, 1, [], left_out)


def _left_out(logs: np.ndarray, own: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return log p of each row without the Gaussian on itself, (l,).

    The others share its weight. ``logs`` (N, l) are log-densities, which are changed;
    ``own`` (N,) are the rows on which the Gaussians stand.
    """
    logs[np.arange(len(own)), own] = -np.inf
    rest = np.ones(logs.shape[1])
    rest[own] -= weights
    out = np.full(len(rest), -np.inf)
    is_left = rest > 0
    out[is_left] = log_mixture(logs[:, is_left], weights) - np.log(rest[is_left])
    return out


class _Search:
    """Fits on parts of the rows, for the choice of a width and of a size.

    ``was_interrupted`` says whether a Ctrl-C ended a part of it: then the best so far
    is taken, no more is compared, and few rows judge what remains to be done.
    """

    def __init__(
        self,
        points: DistinctRows,
        settings: SparseSettings,
        folds: list[Fold],
        limits: Limits,
        rng: np.random.RandomState,
    ) -> None:
        self._points, self._settings, self._limits = points, settings, limits
        self._folds = folds
        self.was_interrupted = False
        # One order of the rows, of which draws take the first.
        self._order = rng.permutation(len(points))

    def _first(self, rows: np.ndarray, n: int | None) -> np.ndarray:
        """Return n of some rows, those that come first in the order, sorted."""
        if n is None or n >= len(rows):
            return rows
        is_some = np.zeros(len(self._order), dtype=bool)
        is_some[rows] = True
        return np.sort(self._order[is_some[self._order]][:n])

    def dictionary(
        self,
        X: np.ndarray,
        counts: np.ndarray,
        rows: np.ndarray,
        variance: float,
        full: bool = True,
    ) -> Dictionary:
        """Return the dictionary of some rows, of which X and counts are."""
        n_candidates, n_judges = self._settings.n_candidates, _MOST_JUDGES
        if not full:
            n_candidates = min(n_candidates or _CANDIDATES, _CANDIDATES)
            n_judges = _JUDGES
        judges = self._first(rows, n_judges)
        place = np.searchsorted(rows, self._first(rows, n_candidates))
        return dictionary_of(
            X,
            counts,
            np.searchsorted(rows, judges),
            place,
            self._settings,
            variance,
            self._limits,
        )

    def curve(
        self, variance: float, full: bool, X: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the mean log-density of held-out rows at sizes 1, 2, ..."""
        X = self._points.X if X is None else X
        size, curves = self._settings.max_support, []
        for fitted, tested in self._folds:
            rows, rest = np.flatnonzero(fitted > 0), np.flatnonzero(tested > 0)
            if not full:
                rest = self._first(rest, _JUDGES)
            data = self.dictionary(X[rows], fitted[rows], rows, variance, full)
            path = pursue_mixture(data, size, self._limits)
            logs = gaussians_of(X[rows], path, self._settings, variance).log_densities(
                X[rest], self._limits
            )
            means = [
                mean_log(log_mixture(logs[: len(w)], w), tested[rest])
                for w in path.weights
            ]
            curves.append(np.pad(means, (0, size - len(means)), "edge"))
        return np.mean(curves, axis=0)

    def path(self, variance: float, verbose: int | bool) -> MixturePath:
        """Return the path of all rows."""
        points, size = self._points, self._settings.max_support
        everything = np.arange(len(points))
        full = not self.was_interrupted
        data = self.dictionary(points.X, points.counts, everything, variance, full)
        try:
            with Progress(size, "Gaussians", verbose, "Gaussian") as bar:
                return pursue_mixture(data, size, self._limits, bar)
        except Interrupted as stop:
            if stop.partial is None:
                raise
            self.was_interrupted = True
            return stop.partial

    def held_out(self, variance: float, size: int) -> np.ndarray | None:
        """Return the mean log-density of held-out rows at sizes 1 to ``size``.

        None if no rows are held out, or a Ctrl-C came.
        """
        if not self._folds or self.was_interrupted:
            return None
        try:
            with single_interrupts():
                curve = self.curve(variance, full=True)[:size]
        except Interrupted:
            self.was_interrupted = True
            return None
        return np.pad(curve, (0, size - len(curve)), "edge")

    def left_out(self, path: MixturePath, variance: float) -> np.ndarray:
        """Return log p of each row, left out of the Gaussians of a path, (l,).

        One that stands on the row gives its weight to the others.
        """
        points, rows = self._points, np.unique(path.rows)
        everything = np.arange(len(points))
        data = dictionary_of(
            points.X,
            points.counts,
            everything,
            rows,
            self._settings,
            variance,
            self._limits,
        )
        numbers = data.n_neighbors[:: len(rows)]
        kinds = np.searchsorted(numbers, path.n_neighbors)
        chosen = kinds * len(rows) + np.searchsorted(rows, path.rows)
        return _left_out(data.logs[chosen], path.rows, path.weights[-1])

    def _score(self, width: float, X: np.ndarray) -> float:
        """Return how likely rows are that the Gaussians do not know."""
        if self._folds:
            return float(self.curve(width**2, False, X).max())
        everything = np.arange(len(X))
        data = self.dictionary(X, self._points.counts, everything, width**2, False)
        path = pursue_mixture(data, self._settings.max_support, self._limits)
        return float(path.scores.max())

    def width(self, verbose: int | bool) -> tuple[float, list[dict[str, Any]]]:
        """Return σ, in the units of the data, and what was compared.

        Octaves from the typical distance of a nearest neighbor on, as far as each
        gains on the one before, then halves of them around the best.
        """
        points = self._points
        X = points.varying
        base, _ = scale(X, points.some_rows())
        curve: WidthScores = []
        with Progress(None, "bandwidth", verbose, "value") as bar:

            def score(octave: float) -> float:
                width = base * 2.0**octave
                curve.append((width, self._score(width, X)))
                bar.show(len(curve), score=curve[-1][1])
                return curve[-1][1]

            try:
                with single_interrupts():
                    _climb(score)
            except Interrupted:
                if not curve:
                    raise
                self.was_interrupted = True
        widths, scores = np.array(curve).T
        growth = growth_without_bound(curve, [curve])
        warn_of_degeneracy(growth, slope_at_the_end(curve), points.is_constant)
        best = winner(widths, scores, growth)
        trials = [WidthTrial(float(w), float(s)) for w, s in curve]
        n_constant = int(points.is_constant.sum())
        table = as_table(trials, points.coordinates, n_constant)
        return float(widths[best]) * points.coordinates.unit, table


def _climb(score: Callable[[float], float]) -> None:
    """Score octaves in both directions while they gain, then halves at the top."""
    start = score(0.0)
    tops = {0.0: start}
    for direction in (-1.0, 1.0):
        last = start
        for k in range(1, FARTHEST + 1):
            tops[direction * k] = score(direction * k)
            if not tops[direction * k] > last + LEAST_GAIN:
                break
            last = tops[direction * k]
    best = max(tops, key=lambda octave: (tops[octave], octave))
    for half in (-0.5, 0.5):
        score(best + half)
