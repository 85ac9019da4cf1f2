"""Base class of the mixtures of local Gaussians: fitting, scores, samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pursuit._limits import Limits
from pursuit._parameters import (
    check_scale,
    check_verbose,
    is_word,
    positive_number,
    random_numbers,
    whole_number,
)
from pursuit.densities.downdates import Models
from pursuit.densities.gaussians import LARGEST_ERROR
from pursuit.densities.left_out import LeaveOneOut, n_near_for
from pursuit.densities.local_gaussians import LocalGaussians
from pursuit.densities.local_weights import (
    WeightedNeighbors,
    log_neighbor_masses,
    nearest,
    weighted_neighbors,
)
from pursuit.densities.search import COMPONENTS, neighbor_candidates, search
from pursuit.densities.widths import (
    TOLERANCE,
    as_table,
    grid_octaves,
    warn_of_degeneracy,
)
from pursuit.kernels import Kernel, as_kernel

from ._densities import DistinctRows, ScoredDensity, check_bandwidth
from ._inputs import validate_data
from ._weights import check_sample_weight

# Numbers of neighbors that `tuning_grid` offers.
GRID_NEIGHBORS = (8, 16, 32)


class LocalGaussianMixture(ScoredDensity):
    """Mixture of local Gaussians; subclasses interpret their parameters."""

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        n_neighbors: Any,
        n_components: Any,
        bandwidth: Any,
        neighborhood: Any,
    ) -> None:
        bandwidth = positive_number("bandwidth", bandwidth, ("auto",))
        n_neighbors = whole_number("n_neighbors", n_neighbors, 1, ("auto", None))
        n_components = whole_number("n_components", n_components, 0, ("auto", None))
        check_verbose(self.verbose)
        X = validate_data(self, X, dtype=np.float64)
        weight = check_sample_weight(sample_weight, len(X))
        limits = Limits.of(self.max_memory, self.n_jobs)
        data = DistinctRows.of(X, weight)
        check_bandwidth(bandwidth, data.coordinates)
        kernel = _kernel(neighborhood, X, weight)
        self._data, self._kernel, self._limits = data, kernel, limits
        k, d, sigma = self._tuned(n_neighbors, n_components, bandwidth)
        is_found = _is_auto(n_neighbors) and kernel is None
        if k is not None and (is_found or np.all(data.counts == 1.0)):
            k = min(k, len(data.X) - 1)  # at most all other rows
        self._n_neighbors, self._n_components, self.bandwidth_ = k, d, sigma
        self._gaussians = LocalGaussians(
            data.X,
            self._weighted_neighbors(k, is_found),
            d,
            data.coordinates.variance(sigma),
            np.log(data.counts) - np.log(data.counts.sum()),
            limits,
        )

    def _tuned(
        self, k: Any, d: Any, sigma: Any
    ) -> tuple[int | None, int | None, float]:
        """Return the parameters as numbers, after a search if any is "auto"."""
        data = self._data
        n_rows = len(data.X)
        is_constant = data.is_constant
        self.search_: list[dict[str, Any]] = []
        ks = (0,) if d == 0 else _neighbors(k, n_rows, self._kernel is not None)
        ds = _components(d, int((~is_constant).sum()))
        unit = data.coordinates.unit
        given = None if _is_auto(sigma) else sigma / unit
        if len(ks) * len(ds) == 1 and given is not None:
            return ks[0], ds[0], sigma
        if n_rows < 2:
            return ks[0], ds[-1], unit if given is None else sigma
        largest = max(n_near_for(k, n_rows) for k in ks)
        near = nearest(data.X, largest, self._limits)
        varying = data.varying
        found = search(
            lambda k: self._left_out(varying, near, k, TOLERANCE),
            ks,
            ds,
            given,
            data.some_rows(),
            self.verbose,
        )
        self.search_ = as_table(found.trials, data.coordinates, int(is_constant.sum()))
        best = found.best
        if given is None:
            warn_of_degeneracy(found.growth, found.slope, is_constant)
        return best.n_neighbors, best.n_components, best.bandwidth * unit

    def _weighted_neighbors(self, k: int | None, is_found: bool) -> WeightedNeighbors:
        """Return the neighborhoods; rows count once each if a search found k."""
        data = self._data
        counts = np.ones(len(data.X)) if is_found else data.counts
        return weighted_neighbors(
            data.X, counts, k, self._kernel, data.rows, self._limits
        )

    def _left_out(
        self,
        X: np.ndarray,
        near: np.ndarray,
        k: int | None,
        tolerance: float = LARGEST_ERROR,
    ) -> LeaveOneOut:
        """Return the training set prepared for leave-one-out with k neighbors.

        ``X`` are the distinct rows, perhaps without some columns; ``near`` the nearest
        other rows of each, at least as many as needed.
        """
        data, limits = self._data, self._limits
        neighbors = np.ascontiguousarray(near[:, : n_near_for(k, len(X))])
        logs = log_neighbor_masses(data.rows, neighbors, self._kernel, limits.memory)
        return LeaveOneOut(X, neighbors, logs, data.counts, limits, tolerance)

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-density at each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Natural logarithms, in the units of the training data.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        coordinates = self._data.coordinates
        logs = self._gaussians.log_density(coordinates.inside(X))
        return logs - coordinates.log_volume

    def loo_score_samples(self) -> np.ndarray:
        """Return the log-density of each training row, fitted without that row.

        The parameters stay as fitted. A row is also left out of the neighborhoods that
        it shaped. Equal rows are left out together. Gaussians have the weights of
        their rows; in the neighborhoods that shape them, each row counts once.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            -inf if there is no other row, NaN for rows of weight 0.
        """
        check_is_fitted(self)
        data, mixture = self._data, self._gaussians
        logs = np.full(len(data.X), -np.inf)
        if len(data.X) > 1:
            models = Models((self._n_components,), np.array([mixture.variance]))
            k = self._n_neighbors
            near = nearest(data.X, n_near_for(k, len(data.X)), self._limits)
            left_out = self._left_out(data.X, near, k)
            logs = left_out.log_densities(models, np.arange(len(data.X)))[0, 0]
        logs = np.append(logs, np.nan) - data.coordinates.log_volume
        return logs[data.set_of_row]

    def tuning_grid(self, X: Any) -> dict[str, list[Any]]:
        """Return values to compare for the parameters that are "auto".

        The grid is for searches by a criterion other than the likelihood, such as the
        error of a classifier made of several densities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points of one density.

        Returns
        -------
        grid : dict of lists
            Grid for `GridSearchCV`; empty if nothing is "auto".
        """
        X = check_array(X, dtype=np.float64)
        data = DistinctRows.of(X, np.ones(len(X)))
        base, highest = data.scale()
        values: dict[str, list[Any]] = {
            "bandwidth": [float(base * 2.0**e) for e in grid_octaves(-2, 3, highest)],
            "n_neighbors": [k for k in GRID_NEIGHBORS if k < len(data.X)] or [1],
            "n_components": [1, 2, 4, None],
        }
        mine = self.get_params(deep=False)
        return {name: v for name, v in values.items() if _is_auto(mine.get(name))}

    def sample(self, n_samples: int = 1, random_state: Any = None) -> np.ndarray:
        """Return random points drawn from the density.

        Parameters
        ----------
        n_samples : int, default=1
            Number of points.
        random_state : int, RandomState instance or None, default=None
            Seed or generator of random numbers.

        Returns
        -------
        X : ndarray of shape (n_samples, n_features)
            Points.
        """
        check_is_fitted(self)
        n = whole_number("n_samples", n_samples, 0)
        points = self._gaussians.sample(n, random_numbers(random_state))
        return self._data.coordinates.outside(points)


def _is_auto(value: Any) -> bool:
    return is_word(value, "auto")


def _kernel(neighborhood: Any, X: np.ndarray, weight: np.ndarray) -> Kernel | None:
    if is_word(neighborhood, "hard"):
        return None
    try:
        kernel = as_kernel(neighborhood).bind(X, weight)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"neighborhood={neighborhood!r} must be 'hard' or a kernel: {error}"
        ) from error
    if kernel.takes_squares:
        check_scale(X[weight > 0])
    return kernel


def _neighbors(k: Any, n_rows: int, is_soft: bool) -> tuple[int | None, ...]:
    if _is_auto(k):
        return (None,) if is_soft else neighbor_candidates(n_rows)
    return (k,)


def _components(d: Any, n_features: int) -> tuple[int | None, ...]:
    if _is_auto(d):
        return (*(c for c in COMPONENTS if c < n_features), None)
    return (d,)
