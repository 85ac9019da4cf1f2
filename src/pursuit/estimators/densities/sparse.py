"""Manifold Parzen windows of few Gaussians, chosen by pursuit."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import (
    check_verbose,
    is_whole,
    is_word,
    neighbors_at_hand,
    positive_number,
    random_numbers,
    row_count,
    whole_number,
)
from pursuit._words import Auto
from pursuit.densities.points import DistinctRows
from pursuit.densities.sparse_mixtures import (
    Fold,
    SparseMixture,
    SparseSettings,
    fit_sparse,
)
from pursuit.densities.widths import grid_octaves
from pursuit.estimators._available import available_unless
from pursuit.estimators._splits import partition
from pursuit.estimators._validation import check_sample_weight, validate_data
from pursuit.fitting.folds import make_folds

from ._scored import MixtureDensity, check_bandwidth

# Rows on which "auto" lets Gaussians stand, at most.
_MOST_CANDIDATES = 1000


class SparseManifoldParzen(MixtureDensity):
    r"""Mixture of few Gaussians along the data, chosen by pursuit.

    .. math:: p(x) = \sum_{k=1}^N w_k\, N(x; x_{i_k}, C_k)

    The Gaussians are those of `ManifoldParzen`: each stands on a training row, along
    its neighbors. A step of the pursuit adds the one, with its weight, that raises the
    log-likelihood of the training rows most; EM then refits all weights. So the
    mixtures are nested, and one fit gives those of every size.

    A row judges a Gaussian as if this had been made without it, and has no say about
    one that stands on it: otherwise the narrowest would be taken.

    Parameters
    ----------
    max_support : int, default=50
        Largest number of Gaussians.
    n_neighbors : int, list or tuple of int, or "auto", default="auto"
        Number of neighbors that shape a Gaussian. If there are several numbers, each
        row offers a Gaussian for each of them; "auto" are 8, 16, 32 and 64.
    n_components : int or None, default=None
        Number of leading directions kept in each Gaussian. None keeps all.
    bandwidth : float or "auto", default="auto"
        Standard deviation sigma added in every direction. "auto" compares values by
        the log-likelihood of held-out rows.
    cv : int, splitter, iterable or None, default=3
        Folds that choose the size, and the bandwidth: a number of folds, a scikit-learn
        splitter or (train, test) indices that test every row once. The size is the
        number of Gaussians under which held-out rows are likeliest; rows that equal
        fitted ones do not count. None keeps all `max_support`; the bandwidth is then
        compared by the rows that judge.
    n_candidates : int, float, "auto" or None, default="auto"
        Number (or share) of random rows on which Gaussians may stand. "auto" takes up
        to 1000, None all.
    max_memory : int, str or None, default=None
        Memory of a call for blocks of values: bytes, or a text such as "1 GiB". None is
        half of the free memory.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. With None they are fixed.
    n_jobs : int or None, default=None
        Maximum number of threads. None and -1 take as many as BLAS may use.
    verbose : int or bool, default=0
        Whether to show progress bars. Ctrl-C ends the fit with what was found so far
        and a warning.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Training rows on which the Gaussians stand, in order of choice.
    n_support_ : int
        Number of Gaussians.
    weights_ : ndarray of shape (n_support,)
        Their weights, which sum to 1.
    means_ : ndarray of shape (n_support, n_features)
        Their centers.
    covariances_ : ndarray of shape (n_support, n_features, n_features)
        Their covariances; computed at each access.
    path_ : MixturePath
        All steps: `rows`, `n_neighbors`, `weights`, `scores`, and `held_out`, the mean
        log-density of held-out rows at each size.
    bandwidth_ : float
        Value of sigma that was used.
    search_ : list of dict
        Values of ``bandwidth`` compared, with the mean log-density (``score``); empty
        if `bandwidth` is a number.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    ManifoldParzen : A Gaussian on every row.
    sklearn.mixture.GaussianMixture : Gaussians anywhere, by EM alone.
    PrototypePursuit : Few rows for classifiers by local hyperplanes.

    Notes
    -----
    With m rows that judge, M candidates, n features and d directions, the values of all
    candidates cost O(m M n d) once and take O(m M) numbers; a step then costs O(m M).
    Of more than 5000 rows, 5000 drawn ones judge; all shape the Gaussians. A Gaussian
    takes (d + 1) n numbers, and a query O(n d) for each of them; training rows are not
    stored. The comparison of bandwidths is limited to 1000 rows and 200 candidates.

    In neighborhoods each row counts once; as judges rows have their weights. If rows
    lie in planes of fewer dimensions, the search leaves out the growth of the
    likelihood, as `ManifoldParzen` does.

    References
    ----------
    .. [1] P. Vincent, "Modèles à noyaux à structure locale", PhD thesis, Université de
       Montréal, 2003, §14.2.
    .. [2] P. Vincent and Y. Bengio, "Manifold Parzen Windows", NIPS 15, 2002.

    Examples
    --------
    >>> from pursuit import SparseManifoldParzen
    >>> from pursuit.datasets import make_spiral
    >>> X, X_new = make_spiral(300, random_state=0), make_spiral(1000, random_state=1)
    >>> model = SparseManifoldParzen(20).fit(X)
    >>> bool(model.n_support_ <= 20 and model.score(X_new) > 1.0)
    True
    """

    def __init__(
        self,
        max_support: int = 50,
        *,
        n_neighbors: Any = "auto",
        n_components: int | None = None,
        bandwidth: float | Auto = "auto",
        cv: Any = 3,
        n_candidates: int | float | Auto | None = "auto",
        max_memory: int | str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.max_support = max_support
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.cv = cv
        self.n_candidates = n_candidates
        self.max_memory = max_memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> SparseManifoldParzen:
        """Choose the Gaussians and their weights.

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
        self : SparseManifoldParzen
            The fitted density.
        """
        bandwidth = positive_number("bandwidth", self.bandwidth, ("auto",))
        max_support = whole_number("max_support", self.max_support, 1)
        n_components = whole_number("n_components", self.n_components, 0, (None,))
        neighbors = _numbers_of_neighbors(self.n_neighbors)
        check_verbose(self.verbose)
        rng = random_numbers(self.random_state, 0)
        X = validate_data(self, X, dtype=np.float64)
        weight = check_sample_weight(sample_weight, len(X))
        limits = self._limits()
        points = DistinctRows.of(X, weight)
        if neighbors is not None and len(points) > 1:
            neighbors_at_hand(max(neighbors), len(points) - 1, "the other rows")
        check_bandwidth(bandwidth, points.coordinates)
        settings = SparseSettings(
            min(max_support, len(points)),
            neighbors,
            n_components,
            None if is_word(bandwidth, "auto") else bandwidth,
            self._n_candidates(len(points)),
        )
        folds = _folds(self.cv, X, weight, points)
        mixture = fit_sparse(points, settings, folds, limits, rng, self.verbose)
        self._set_mixture(mixture.of_rows(points.training_rows))
        return self

    def _n_candidates(self, n_rows: int) -> int | None:
        if self.n_candidates is None:
            return None
        if is_word(self.n_candidates, "auto"):
            return _MOST_CANDIDATES
        words = ("auto", None)
        return row_count("n_candidates", self.n_candidates, n_rows, words)

    def _set_mixture(self, mixture: SparseMixture) -> None:
        """Store the mixture, and show its numbers as attributes."""
        self._mixture = mixture
        self.path_, self.bandwidth_ = mixture.path, mixture.bandwidth
        self.n_support_ = mixture.size
        self.support_ = mixture.path.rows[: mixture.size]
        self.weights_, self.search_ = mixture.weights, mixture.trials
        centers = mixture.gaussians.centers[: mixture.size]
        self.means_ = mixture.coordinates.outside(centers)

    @property
    def covariances_(self) -> np.ndarray:
        """The covariances of the Gaussians, (n_support, n_features, n_features)."""
        check_is_fitted(self, "bandwidth_")
        mixture = self._mixture
        parts = mixture.gaussians[: mixture.size]
        C = np.einsum("kai,ka,kaj->kij", parts.axes, parts.spreads, parts.axes)
        C += parts.variance * np.eye(C.shape[1])
        unit = mixture.coordinates.unit
        return C * unit * unit

    def staged_score_samples(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the log-densities at each row under the mixtures of sizes 1, 2, ...

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Yields
        ------
        log_density : ndarray of shape (n_samples,)
            Natural logarithms, for every size of the path.
        """
        check_is_fitted(self, "bandwidth_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        yield from self._mixture.staged_log_densities(X, self._limits())

    def truncate(self, size: int) -> SparseManifoldParzen:
        """Return the density with the first Gaussians of the path only.

        Parameters
        ----------
        size : int
            Number of Gaussians, up to the length of the path.

        Returns
        -------
        density : SparseManifoldParzen
            A fitted copy.
        """
        check_is_fitted(self, "bandwidth_")
        size = whole_number("size", size, 1)
        shorter = copy.copy(self)
        shorter._set_mixture(self._mixture.truncate(size))
        return shorter

    def _lacks_rows(self) -> None:
        """Raise an AttributeError if the left-out rows were judged at another size."""
        mixture = getattr(self, "_mixture", None)
        if mixture is not None and mixture.left_out is None:
            raise AttributeError(
                "The training rows were left out at the size that fit chose; a "
                "truncated density does not know them."
            )

    @available_unless(_lacks_rows)
    def loo_score_samples(self) -> np.ndarray:
        """Return the log-density of each training row, left out of all Gaussians.

        Choice and weights stay as fitted: only the shapes change, and a Gaussian that
        stands on the row gives its weight to the others.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            -inf if there is no other Gaussian, NaN for rows of weight 0.
        """
        check_is_fitted(self, "bandwidth_")
        return np.array(self._mixture.left_out)

    def tuning_grid(self, X: Any) -> dict[str, list[float]]:
        """Return values of the bandwidth to compare, if it is "auto".

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points of one density.

        Returns
        -------
        grid : dict of lists
            Grid for `GridSearchCV`; empty if the bandwidth is a number.
        """
        if not is_word(self.bandwidth, "auto"):
            return {}
        X = check_array(X, dtype=np.float64)
        base, highest = DistinctRows.of(X, np.ones(len(X))).scale()
        octaves = grid_octaves(-2, 3, highest)
        return {"bandwidth": [float(base * 2.0**e) for e in octaves]}


def _numbers_of_neighbors(n_neighbors: Any) -> tuple[int, ...] | None:
    """Return the numbers of neighbors; None for "auto"."""
    if is_word(n_neighbors, "auto"):
        return None
    are_several = isinstance(n_neighbors, tuple | list)
    values = n_neighbors if are_several else [n_neighbors]
    if not values or not all(is_whole(k, 1) for k in values):
        raise ValueError(
            f"n_neighbors={n_neighbors!r} must be a whole number of at least 1, a list "
            "or tuple of such numbers, or 'auto'."
        )
    return tuple(int(k) for k in values)


def _folds(
    cv: Any, X: np.ndarray, weight: np.ndarray, points: DistinctRows
) -> list[Fold]:
    """Return the weights of the distinct rows that each fold fits and holds out.

    Rows that equal fitted ones are not held out: they would ask for narrow Gaussians.
    """
    if cv is None:
        return []
    pairs: list[Fold] = []
    given = partition(cv, X, np.zeros(len(X)), weight, is_class=False)
    if isinstance(given, int):
        # Folds go by content, so that equal rows share a fold.
        data = points.rows, np.zeros(len(points)), points.counts
        for share in make_folds(*data, given, 0, True):
            pairs.append((points.counts * (1.0 - share), points.counts * share))
    else:
        used = points.set_of_row >= 0
        sets, weight = points.set_of_row[used], weight[used]
        for fold in given:
            fitted = np.bincount(sets, weight * (fold[used] == 0), len(points))
            tested = np.bincount(sets, weight * (fold[used] == 1), len(points))
            pairs.append((fitted, tested))
    folds = [(fitted, np.where(fitted > 0, 0.0, tested)) for fitted, tested in pairs]
    return [(f, t) for f, t in folds if (f > 0).sum() > 1 and t.any()]
