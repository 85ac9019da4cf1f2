"""Manifold Parzen windows and Parzen windows, as mixtures of local Gaussians."""

from __future__ import annotations

from typing import Any, Literal

from pursuit._words import Auto, KernelFunction, KernelName

from ._mixtures import LocalGaussianMixture


class ManifoldParzen(LocalGaussianMixture):
    r"""Manifold Parzen windows: a Gaussian on each point, along its neighbors.

    .. math:: p(x) = \frac{1}{l} \sum_i N(x; x_i, C_i), \qquad
        C_i = \sum_j w_{ij} (x_j - x_i)(x_j - x_i)^T + \sigma^2 I

    with the sum reduced to its leading directions. If the data lie near a surface of
    few dimensions, the Gaussians lie along it, and the density there is far higher
    than that of Parzen windows, whose Gaussians are spheres of one size.

    Parameters
    ----------
    n_neighbors : int, None or "auto", default="auto"
        Number of neighbors that shape a Gaussian. None takes all other rows, as does a
        number above theirs, with a warning. "auto" compares numbers up to 128 by
        leave-one-out likelihood (with a soft neighborhood, it takes all other rows).
    n_components : int, None or "auto", default=None
        Number of leading directions kept in each Gaussian. None keeps all; 0 is
        Parzen's estimator; "auto" compares numbers by leave-one-out likelihood.
    bandwidth : float or "auto", default="auto"
        Standard deviation sigma added in every direction. "auto" maximizes the
        leave-one-out likelihood.
    neighborhood : "hard", str, Kernel or callable, default="hard"
        Weights of the neighbors. "hard" weights them equally. A kernel, as in
        :func:`pursuit.kernels.as_kernel`, weights them by its values (eq. 13.3 of
        [2]_), usually with ``n_neighbors=None``.
    max_memory : int, str or None, default=None
        Memory of a call for factors and blocks of values: bytes, or a text such as
        "1 GiB". None is half of the free memory. Factors that do not fit at fit are
        recomputed at each call.
    n_jobs : int or None, default=None
        Maximum number of threads. None and -1 take as many as BLAS may use.
    verbose : int or bool, default=0
        Whether to show a progress bar during a search.

    Attributes
    ----------
    n_neighbors_ : int or None
        Number of neighbors used; None for all other rows.
    n_components_ : int or None
        Number of directions kept; None for all.
    bandwidth_ : float
        Value of sigma that was used.
    search_ : list of dict
        Settings compared by the search (``n_neighbors``, ``n_components``,
        ``bandwidth``), with the mean log-density of left-out rows (``score``); empty
        if nothing was "auto".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    SparseManifoldParzen : Few such Gaussians, chosen by pursuit.
    ParzenWindows : Spherical Gaussians on each point.
    LocalGaussianDensity : A Gaussian fitted around each query instead.
    DensityClassifier : Classifier with one density per class.

    Notes
    -----
    With l rows, n features, K neighbors and d directions, fitting costs O(l² n) for
    the neighbors plus O(l (K² n + K³)), and a query O(l (n + K d)). O(l K d) numbers
    are stored, and no direction of n features. A search costs, for each number of
    neighbors, about as much as a few queries at 1000 of the rows. Keeping fewer than
    all directions (`n_components`) makes it slower, because each pair of neighbors
    then needs a decomposition.

    A soft neighborhood of all rows stores l - 1 weights per row, and factors of that
    size are recomputed at each call if they do not fit into `max_memory`: use it for
    at most a few thousand rows.

    Leave-one-out is exact: a row is also taken out of the neighborhoods that it
    shaped, and the next neighbor takes its place. Equal rows are left out together.
    Weights mean repeated rows: weight 2 is the same as the row twice. If
    `n_neighbors` is a number, neighbors are counted by weight, so that weight 0.5 is
    half a neighbor: give weights as counts, not as shares. If a search chose the
    number, each neighbor counts once, as in the search.

    Constant columns do not take part in a search. If rows lie exactly in planes of
    fewer dimensions, overall or around each point, the likelihood is unbounded as sigma
    goes to 0. A search then leaves out the growth across the planes: it chooses the
    sigma of highest likelihood within them, with a warning.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "Manifold Parzen Windows", NIPS 15, 2002.
    .. [2] P. Vincent, "Modèles à noyaux à structure locale", PhD thesis, Université de
       Montréal, 2003.

    Examples
    --------
    >>> from pursuit import ManifoldParzen, ParzenWindows
    >>> from pursuit.datasets import make_spiral
    >>> X, X_new = make_spiral(300, random_state=0), make_spiral(1000, random_state=1)
    >>> scores = [m.fit(X).score(X_new) for m in (ManifoldParzen(), ParzenWindows())]
    >>> bool(scores[0] > scores[1] + 0.05)
    True
    """

    def __init__(
        self,
        n_neighbors: int | Auto | None = "auto",
        n_components: int | Auto | None = None,
        bandwidth: float | Auto = "auto",
        neighborhood: KernelName | Literal["hard"] | KernelFunction = "hard",
        *,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_components = n_components
        self.bandwidth = bandwidth
        self.neighborhood = neighborhood
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ManifoldParzen:
        """Fit the density.

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
        self : ManifoldParzen
            The fitted density.
        """
        mixture = self._fit(
            X,
            sample_weight,
            self.n_neighbors,
            self.n_components,
            self.bandwidth,
            self.neighborhood,
        )
        self.n_neighbors_ = mixture.n_neighbors
        self.n_components_ = mixture.n_components
        return self


class ParzenWindows(LocalGaussianMixture):
    r"""Parzen windows: a spherical Gaussian of one width on each point.

    .. math:: p(x) = \frac{1}{l} \sum_i N(x; x_i, \sigma^2 I)

    This is :class:`sklearn.neighbors.KernelDensity` with a Gaussian kernel, computed
    exactly in any number of dimensions, with a bandwidth chosen from the data.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        Standard deviation sigma of the Gaussians. "auto" maximizes the leave-one-out
        likelihood, with equal rows left out together.
    max_memory : int, str or None, default=None
        Memory for blocks of values: bytes, or a text such as "1 GiB". None is half of
        the free memory.
    n_jobs : int or None, default=None
        Maximum number of threads. None and -1 take as many as BLAS may use.
    verbose : int or bool, default=0
        Whether to show a progress bar during a search.

    Attributes
    ----------
    bandwidth_ : float
        Value of sigma that was used.
    search_ : list of dict
        Values of ``bandwidth`` compared by the search, with the mean log-density of
        left-out rows (``score``); empty if `bandwidth` is a number.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    ManifoldParzen : Gaussians along the neighbors of each point.

    Notes
    -----
    With l rows and n features, a query costs O(l n), in one matrix product for all
    queries of a block.

    References
    ----------
    .. [1] E. Parzen, "On the estimation of a probability density function and mode",
       Annals of Mathematical Statistics 33, 1962.

    Examples
    --------
    >>> from pursuit import ParzenWindows
    >>> model = ParzenWindows(bandwidth=1.0).fit([[0.0], [0.0]])
    >>> round(model.score([[0.0]]), 3)
    -0.919
    """

    def __init__(
        self,
        bandwidth: float | Auto = "auto",
        *,
        max_memory: int | str | None = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.bandwidth = bandwidth
        self.max_memory = max_memory
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> ParzenWindows:
        """Fit the density.

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
        self : ParzenWindows
            The fitted density.
        """
        mixture = self._fit(X, sample_weight, None, 0, self.bandwidth, "hard")
        names = ("bandwidth", "score")
        self.search_ = [{name: row[name] for name in names} for row in mixture.trials]
        return self
