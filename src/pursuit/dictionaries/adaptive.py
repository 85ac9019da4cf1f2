"""Gaussians whose widths are adapted to the data, point by point (adaptive KMP)."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pursuit._parameters import check_choice, is_number, positive_number, whole_number
from pursuit._progress import Progress
from pursuit._ranges import LARGEST_FINITE, SMALLEST_POSITIVE, check_scale
from pursuit._rows import distinct_rows, row_digests
from pursuit._threads import allowed_threads, deal
from pursuit.functions import Functions, VariedGaussians
from pursuit.kernels.distances import paired_rows, squared_distances
from pursuit.kernels.widths import median_gamma, quantile_gamma
from pursuit.sample import Sample

from . import _width_search
from ._base import Dictionary, classes_of_points
from ._points import points_of

STRATEGIES = ("global", "local", "stochastic")
CRITERIA = ("auto", "aligned", "scaled")

# Share of all pairs of points that count as near, for "local".
_NEAR = 0.1
# Factor of the squared radius. The default radius is the distance of some points, on a
# grid of many: whether these are within it must not be left to rounding.
_ROUNDED = 1.0 + 1e-9
# Number of centers whose distances each thread holds at a time.
_CENTERS = 32


class AdaptiveGaussian(Dictionary):
    """Gaussians exp(-gamma_i ‖x - x_i‖²), with a gamma_i for each training point x_i.

    Before the pursuit, gamma_i is fitted for one function alone on a set J_i of points
    around x_i. The criterion "aligned" takes

        gamma_i = argmin Σ_{j in J_i} w_j (s_ij - exp(-gamma ‖x_j - x_i‖²))²,

    with s_ij = 1 for points of x_i's class and -1 for others. The criterion "scaled",
    which also works for regression, takes the gamma for which one function, times its
    best coefficient (and with a constant, if the model has one), leaves the smallest
    squared error.

    Parameters
    ----------
    strategy : {"stochastic", "global", "local"}
        Choice of J_i: all other points ("global", AKMP-PG); those within `radius`
        ("local", AKMP-PL; if they are all of one class, gamma_i is `preset`); or random
        subsets, over whose gammas an average is taken ("stochastic", AKMP-PS).
    criterion : {"auto", "aligned", "scaled"}
        Criterion of the fit; "auto" is "aligned" for classes, "scaled" for regression.
    n_subsets : int
        Number of random subsets for each point.
    subset_size : float
        Share of the points in each subset; each point is drawn with this probability.
    average : {"median", "mean"}
        Average over the subsets. The paper uses the mean, which gammas at the bound
        dominate.
    radius : float, optional
        Radius for "local". By default, the distance below which a tenth of all pairs
        of points lie.
    preset : float or "median"
        Value of gamma if the points J_i do not determine it.
    gamma_range : (float, float)
        Smallest and largest gamma, as multiples of 1 over the median squared
        distance, because the best gamma may be infinite.

    Notes
    -----
    The gammas depend on the targets, so held-out rows are left out: each fold has its
    own dictionary.

    Time: with l points, O(l²) for "global" and "local", times `n_subsets` times
    `subset_size` for "stochastic" (l = 5000: some seconds on two cores). Memory: a few
    rows of the distance matrix for each thread.

    Adaptive widths are not better in general: on four data sets they were as good as
    one width chosen by validation on one, worse on two, and better on one (Ionosphere,
    "scaled").

    References
    ----------
    .. [1] V. Popovici and J.-P. Thiran, "Adaptive Kernel Matching Pursuit", 2003.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pursuit import KMPClassifier
    >>> from pursuit.dictionaries import AdaptiveGaussian
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = KMPClassifier(dictionary=AdaptiveGaussian("global"), max_support=10)
    >>> bool(model.fit(X, y).score(X, y) > 0.9)
    True
    """

    learns_from_targets = True

    def __init__(
        self,
        strategy: str = "stochastic",
        *,
        criterion: str = "auto",
        n_subsets: int = 25,
        subset_size: float = 0.2,
        average: str = "median",
        radius: float | None = None,
        preset: float | str = "median",
        gamma_range: tuple[float, float] = (0.01, 10.0),
    ) -> None:
        self.strategy = strategy
        self.criterion = criterion
        self.n_subsets = n_subsets
        self.subset_size = subset_size
        self.average = average
        self.radius = radius
        self.preset = preset
        self.gamma_range = gamma_range

    def learn(self, sample: Sample) -> list[Functions]:
        """Return a Gaussian with its own gamma on each point."""
        self._check(sample)
        check_scale(sample.X)
        median = median_gamma(sample.X, sample.seen)
        widths = self._widths(sample, median)
        preset = positive_number("preset", self.preset, ("median",))
        gammas = np.full(len(widths), median if preset == "median" else preset)
        is_told = np.isfinite(widths).any(axis=1)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            average = np.nanmean if self.average == "mean" else np.nanmedian
            gammas[is_told] = average(widths[is_told], axis=1)
        points = points_of(None, None, sample)
        return [VariedGaussians(**points, gammas=gammas, place=np.arange(len(gammas)))]

    def _widths(self, sample: Sample, median: float) -> np.ndarray:
        """Return the best gamma (M, B) for each point and each subset."""
        X, rows = sample.X, sample.rows
        # Nothing here may depend on rows of weight 0, not even how digests round.
        used, seen = (np.flatnonzero(w > 0) for w in (sample.weight, sample.seen))
        _, sets = distinct_rows(X, sample.weight)
        codes, center_codes = _codes(sample)
        digests = np.zeros(X.shape[0], dtype=np.uint64)
        digests[used] = row_digests(X, used, sample.seed)
        is_stochastic = self.strategy == "stochastic"
        n_draws = int(self.n_subsets) if is_stochastic else 0
        limit = np.uint64(min(self.subset_size * 2.0**64, 2.0**64 - 2048))
        ends = [float(end) * median for end in self.gamma_range]
        low, high = np.clip(ends, SMALLEST_POSITIVE, LARGEST_FINITE)
        reach = self._reach(sample)
        left, right = paired_rows(X[rows], X[seen])
        weight, Y = sample.seen[seen], np.ascontiguousarray(sample.Y[:, seen])
        out = np.empty((len(rows), max(1, n_draws)))

        def measure(part: slice) -> None:
            some = rows[part]
            D = np.empty((len(some), len(seen)))
            squared_distances(left[part], right, D)
            _width_search.widths(
                D,
                sets[some],
                sets[seen],
                weight,
                Y,
                codes[seen],
                center_codes[part],
                digests[seen],
                digests[some],
                reach,
                n_draws,
                limit,
                low,
                high,
                self._is_scaled(sample),
                sample.fit_intercept,
                out[part],
            )

        _in_parts(measure, sample)
        return out

    def _reach(self, sample: Sample) -> float:
        """Return the squared distance up to which points count."""
        if self.strategy != "local":
            return np.inf
        if self.radius is not None:
            return _ROUNDED * float(self.radius) ** 2
        return _ROUNDED / quantile_gamma(_NEAR, sample.X, sample.seen)

    def _is_scaled(self, sample: Sample) -> bool:
        if self.criterion == "auto":
            return sample.labels is None
        return self.criterion == "scaled"

    def _check(self, sample: Sample) -> None:
        check_choice("strategy", self.strategy, STRATEGIES)
        check_choice("criterion", self.criterion, CRITERIA)
        check_choice("average", self.average, ("median", "mean"))
        whole_number("n_subsets", self.n_subsets, 1)
        if not is_number(self.subset_size) or not 0 < self.subset_size <= 1:
            raise ValueError(
                f"subset_size={self.subset_size!r} must be a share between 0 and 1."
            )
        if self.radius is not None:
            positive_number("radius", self.radius)
        self._check_range()
        if sample.labels is None and self.criterion == "aligned":
            raise ValueError(
                "criterion='aligned' compares classes: use 'scaled' (or 'auto') for "
                "regression."
            )

    def _check_range(self) -> None:
        ends: Any = self.gamma_range
        is_pair = isinstance(ends, (tuple, list, np.ndarray)) and len(ends) == 2
        is_range = is_pair and all(is_number(end) and 0 < end < np.inf for end in ends)
        if not is_range or ends[0] > ends[1]:
            raise ValueError(
                f"gamma_range={ends!r} must be two positive finite numbers, the lower "
                "one first."
            )


def _in_parts(measure: Callable[[slice], None], sample: Sample) -> None:
    """Call ``measure`` on blocks of centers, in threads, within the memory budget."""
    n_centers, n_threads = len(sample.rows), allowed_threads()
    fitting = sample.memory // (16 * n_threads * max(1, sample.X.shape[0]))
    step = int(np.clip(fitting, 1, _CENTERS))
    parts = [slice(i, i + step) for i in range(0, n_centers, step)]
    is_done = np.zeros(n_centers, dtype=bool)
    with Progress(n_centers, "widths", sample.verbose, unit="point") as progress:

        def work(share: Iterable[slice]) -> None:
            for part in share:
                measure(part)
                is_done[part] = True
                progress.show(int(is_done.sum()))

        deal(work, parts, min(n_threads, len(parts)))


def _codes(sample: Sample) -> tuple[np.ndarray, np.ndarray]:
    """Return the classes of the rows and of the points as integers."""
    if sample.classes is None or sample.codes is None:
        none = np.zeros(sample.X.shape[0], dtype=np.int64)
        return none, none[sample.rows]
    return sample.codes, np.searchsorted(sample.classes, classes_of_points(sample))
