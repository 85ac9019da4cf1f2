"""Base class of the mixtures of local Gaussians: fitting, scores, samples."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import (
    check_verbose,
    is_word,
    neighbors_at_hand,
    positive_number,
    whole_number,
)
from pursuit._ranges import check_scale
from pursuit.densities.mixtures import Mixture, MixtureSettings, fit_mixture
from pursuit.densities.points import DistinctRows
from pursuit.densities.widths import grid_octaves
from pursuit.estimators._validation import check_sample_weight, validate_data
from pursuit.kernels import Kernel, as_kernel

from ._scored import MixtureDensity, check_bandwidth

# Numbers of neighbors that `tuning_grid` offers.
GRID_NEIGHBORS = (8, 16, 32)


class LocalGaussianMixture(MixtureDensity):
    """Mixture of local Gaussians; subclasses interpret their parameters."""

    verbose: int | bool

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        n_neighbors: Any,
        n_components: Any,
        bandwidth: Any,
        neighborhood: Any,
    ) -> Mixture:
        """Check all parameters, and set and return the fitted mixture."""
        bandwidth = positive_number("bandwidth", bandwidth, ("auto",))
        n_neighbors = whole_number("n_neighbors", n_neighbors, 1, ("auto", None))
        n_components = whole_number("n_components", n_components, 0, ("auto", None))
        check_verbose(self.verbose)
        X = validate_data(self, X, dtype=np.float64)
        weight = check_sample_weight(sample_weight, len(X))
        limits = self._limits()
        if not (n_neighbors is None or is_word(n_neighbors, "auto")):
            # As many as weigh more than all others of a row are all of them.
            others = weight.sum() - weight[weight > 0].min()
            neighbors_at_hand(n_neighbors, others, "the other rows")
        points = DistinctRows.of(X, weight)
        check_bandwidth(bandwidth, points.coordinates)
        kernel = _kernel(neighborhood, X, weight)
        settings = MixtureSettings(n_neighbors, n_components, bandwidth, kernel)
        self._mixture = fit_mixture(points, settings, limits, self.verbose)
        self.bandwidth_, self.search_ = self._mixture.bandwidth, self._mixture.trials
        return self._mixture

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
        check_is_fitted(self, "bandwidth_")
        return self._mixture.left_out_log_density(self._limits())

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
        points = DistinctRows.of(X, np.ones(len(X)))
        base, highest = points.scale()
        values: dict[str, list[Any]] = {
            "bandwidth": [float(base * 2.0**e) for e in grid_octaves(-2, 3, highest)],
            "n_neighbors": [k for k in GRID_NEIGHBORS if k < len(points)] or [1],
            "n_components": [1, 2, 4, None],
        }
        params = self.get_params(deep=False)
        return {k: v for k, v in values.items() if is_word(params.get(k), "auto")}


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
