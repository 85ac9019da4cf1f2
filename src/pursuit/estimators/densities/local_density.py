"""Density from a Gaussian fitted around each query."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils import Bunch, check_array
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import (
    check_flag,
    check_verbose,
    is_word,
    positive_number,
    random_numbers,
    whole_number,
)
from pursuit._warnings import warn
from pursuit._words import Auto
from pursuit.densities.points import DistinctRows
from pursuit.densities.pointwise_densities import fit_pointwise
from pursuit.densities.widths import grid_octaves
from pursuit.estimators._validation import check_sample_weight, validate_data

from ._scored import ScoredDensity, check_bandwidth

# Relative standard error of the mass above which dividing by it is unreliable.
_LARGEST_ERROR = 0.1
# Number of random points that estimate the mass in `fit`.
_SAMPLES = 10_000


class LocalGaussianDensity(ScoredDensity):
    r"""Density from a Gaussian fitted to the data around each query.

    .. math:: p(x) = \hat Z(x)\, N(x; \mu(x), V(x) + \sigma^2 I), \qquad
        \hat Z(x) = \frac{1}{l} \sum_i k_h(x, x_i)

    with :math:`k_h(x, z) = \exp(-\|x - z\|^2 / 2h^2)`, and the mean and covariance of
    the data weighted by :math:`k_h(x, \cdot)`. Nothing is trained; only the data are
    stored.

    In general the density does not integrate to one. `normalizer` estimates its mass
    from random points, which is reliable in few dimensions (see its standard error),
    and ``normalize=True`` divides by it, with a warning if the estimate is poor.

    Parameters
    ----------
    width : float or "auto", default="auto"
        Width h of the window around a query. "auto" maximizes the leave-one-out
        likelihood.
    bandwidth : float or "auto", default="auto"
        Standard deviation sigma added in every direction; without it, the covariance
        at a query near few points would be singular. "auto" maximizes the
        leave-one-out likelihood.
    n_components : int or None, default=None
        Number of leading directions of V to keep; None keeps all, 0 none.
    normalize : bool, default=False
        Whether to divide the density by its mass, which is estimated in `fit`.
    max_memory : int, str or None, default=None
        Memory of a call for blocks of values: bytes, or a text such as "1 GiB". None is
        half of the free memory.
    random_state : int, RandomState instance or None, default=None
        Seed of the points that estimate the mass with ``normalize=True``.
    n_jobs : int or None, default=None
        Maximum number of threads. None and -1 take as many as BLAS may use.
    verbose : int or bool, default=0
        Whether to show a progress bar during a search.

    Attributes
    ----------
    width_ : float
        Value of h that was used.
    bandwidth_ : float
        Value of sigma that was used.
    log_mass_ : float
        Logarithm of the mass by which the density is divided; 0 unless
        ``normalize=True``.
    search_ : list of dict
        Pairs compared by the search, with the mean log-density of left-out rows
        (``score``); empty if both are numbers.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    ManifoldParzen : Gaussians around the training points; integrates to one.

    Notes
    -----
    A query costs O(l n min(l, n) + min(l, n)³) for l rows and n features.
    Leave-one-out is exact: a row has no weight at itself, and equal rows are left out
    together. A search leaves out at most 1000 rows, extends its grid while the
    likelihood improves, and compares densities before normalization: where that
    matters, check `normalizer`. Constant columns do not take part in it; if the
    likelihood is unbounded as sigma goes to 0, the growth is left out, with a warning.

    References
    ----------
    .. [1] P. Vincent, "Modèles à noyaux à structure locale", PhD thesis, Université de
       Montréal, 2003, §14.3.

    Examples
    --------
    >>> from pursuit import LocalGaussianDensity
    >>> from pursuit.datasets import make_spiral
    >>> model = LocalGaussianDensity(width=0.04, bandwidth=0.008)
    >>> model = model.fit(make_spiral(300, random_state=0))
    >>> bool(0.9 < model.normalizer(random_state=0).mass < 1.1)
    True
    """

    def __init__(
        self,
        width: float | Auto = "auto",
        bandwidth: float | Auto = "auto",
        n_components: int | None = None,
        *,
        normalize: bool = False,
        max_memory: int | str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.width = width
        self.bandwidth = bandwidth
        self.n_components = n_components
        self.normalize = normalize
        self.max_memory = max_memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> LocalGaussianDensity:
        """Store the data, and choose what is "auto".

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same as the row twice, 0 the same as no row.

        Returns
        -------
        self : LocalGaussianDensity
            The fitted density.
        """
        width = positive_number("width", self.width, ("auto",))
        bandwidth = positive_number("bandwidth", self.bandwidth, ("auto",))
        n_components = whole_number("n_components", self.n_components, 0, (None,))
        check_flag("normalize", self.normalize)
        random_numbers(self.random_state)
        check_verbose(self.verbose)
        limits = self._limits()
        X = validate_data(self, X, dtype=np.float64)
        weight = check_sample_weight(sample_weight, len(X))
        points = DistinctRows.of(X, weight)
        check_bandwidth(bandwidth, points.coordinates)
        self._density = fit_pointwise(
            points,
            None if is_word(width, "auto") else width,
            None if is_word(bandwidth, "auto") else bandwidth,
            n_components,
            limits,
            self.verbose,
        )
        self.width_, self.bandwidth_ = self._density.width, self._density.bandwidth
        self.search_ = self._density.trials
        self.log_mass_ = self._checked_log_mass() if self.normalize else 0.0
        return self

    def _checked_log_mass(self) -> float:
        log_mass, error = self._log_mass(_SAMPLES, random_numbers(self.random_state))
        if not error <= _LARGEST_ERROR:
            warn(
                f"The mass that normalize=True divides by has a relative standard "
                f"error of {error:.2g}: use a smaller width, normalizer() with more "
                "samples, or normalize=False."
            )
        return log_mass

    def _log_mass(
        self, n_samples: int, rng: np.random.RandomState
    ) -> tuple[float, float]:
        return self._density.log_mass(n_samples, rng, self._limits())

    def _log_density(self, X: np.ndarray) -> np.ndarray:
        return self._density.log_density(X, self._limits()) - self.log_mass_

    def loo_score_samples(self) -> np.ndarray:
        """Return the log-density of each training row, with that row left out.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Natural logarithms. Equal rows are left out together. -inf if there is no
            other row, NaN for rows of weight 0.
        """
        check_is_fitted(self, "bandwidth_")
        logs = self._density.left_out_log_density(self._limits())
        return logs - self.log_mass_

    def normalizer(self, n_samples: int = 10_000, random_state: Any = None) -> Bunch:
        """Estimate the integral of the density before normalization.

        Parameters
        ----------
        n_samples : int, default=10000
            Number of random points, drawn from Parzen windows.
        random_state : int, RandomState instance or None, default=None
            Seed or generator of random numbers; None takes that of the estimator.

        Returns
        -------
        estimate : Bunch
            ``mass`` and its ``standard_error``. In many dimensions a few points may
            dominate, and both are unreliable.
        """
        check_is_fitted(self, "bandwidth_")
        n = whole_number("n_samples", n_samples, 2)
        rng = random_numbers(random_state, self.random_state)
        log_mass, error = self._log_mass(n, rng)
        with np.errstate(over="ignore"):
            value = float(np.exp(log_mass))
        return Bunch(mass=value, standard_error=error * value)

    def tuning_grid(self, X: Any) -> dict[str, list[float]]:
        """Return values to compare for the parameters that are "auto".

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
        base, highest = DistinctRows.of(X, np.ones(len(X))).scale()
        values = {
            "width": [base * 2.0**e for e in grid_octaves(1, 4, highest)],
            "bandwidth": [base * 2.0**e for e in grid_octaves(-3, 2, highest)],
        }
        params = self.get_params(deep=False)
        return {name: v for name, v in values.items() if is_word(params[name], "auto")}
