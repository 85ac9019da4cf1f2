"""Densities made of local Gaussians: Manifold Parzen windows and Parzen windows."""

from __future__ import annotations

from typing import Any

from ._mixtures import LocalGaussianMixture


class ManifoldParzen(LocalGaussianMixture):
    r"""Manifold Parzen windows: a Gaussian on each point, along its neighbours.

    .. math:: p(x) = \frac{1}{l} \sum_i N(x; x_i, C_i), \qquad
        C_i = \sum_j w_{ij} (x_j - x_i)(x_j - x_i)^T + \sigma^2 I

    with the sum reduced to its leading directions. Where data lie near a surface of few
    dimensions, the Gaussians lie along it, and the density is far higher there than
    that of Parzen windows, whose Gaussians are all spheres of one size.

    Parameters
    ----------
    n_neighbors : int, None or "auto", default="auto"
        Neighbours that shape a Gaussian. None is all other rows; more than there are
        is the same. "auto" compares numbers up to 128 by leave-one-out likelihood
        (with a soft neighbourhood: all other rows).
    n_components : int, None or "auto", default=None
        Leading directions kept in each Gaussian. None is all of them; 0 is Parzen's
        estimator; "auto" compares numbers by leave-one-out likelihood.
    bandwidth : float or "auto", default="auto"
        sigma, the standard deviation added in every direction. "auto" takes the one
        of highest leave-one-out likelihood.
    neighborhood : "hard", str, Kernel or callable, default="hard"
        "hard" weighs the neighbours equally. A kernel, given as in
        :func:`pursuit.kernels.as_kernel`, weighs them by its values (eq. 13.3 of
        [2]_), usually with ``n_neighbors=None``.
    max_memory : int, str or None, default=None
        What factors and blocks may take: bytes, or a text such as "1 GiB". None: half
        of the free memory. Factors that do not fit are made again at each call.
    n_jobs : int or None, default=None
        The most threads. None and -1: as many as BLAS is allowed.
    verbose : int or bool, default=0
        Whether a search shows a progress bar.

    Attributes
    ----------
    n_neighbors_ : int or None
        Neighbours used; None for all other rows.
    n_components_ : int or None
        Directions kept; None for all.
    bandwidth_ : float
        sigma.
    search_ : list of dict
        Every setting that a search compared (``n_neighbors``, ``n_components``,
        ``bandwidth``), with its mean log-density of rows left out (``score``); empty
        if nothing was "auto".
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where the training data had some.

    See Also
    --------
    ParzenWindows : The same without directions.
    LocalGaussianDensity : A Gaussian fitted around each query instead.
    DensityClassifier : A classifier of one density a class.

    Notes
    -----
    With l rows, n features, K neighbours and d directions, fitting costs O(l² n) for
    the neighbours and O(l (K² n + K³)), a query O(l (n + K d)); O(l K d) numbers are
    kept, and no direction of n features. A search costs about as much as some queries
    at 1000 of the rows for each number of neighbours; fixed directions fewer than all
    (`n_components`) make it slower, as each pair of neighbours then needs a
    decomposition.

    A soft neighbourhood of all rows keeps l - 1 weights a row, and factors of that
    size are made again at each call where they do not fit into `max_memory`: it is for
    some thousands of rows.

    Leave-one-out is exact: a row is also taken out of the neighbourhoods that it
    shaped, and the next neighbour takes its place. Equal rows are left out together.
    Weights mean repeated rows: weight 2 is the same as the row twice, and with a given
    `n_neighbors` the neighbours are counted so, weight 0.5 being half a neighbour: give
    weights as counts, not as shares. Neighbours that a search found count once each,
    as in the search, whatever the weights.

    Constant columns do not take part in a search. Where rows lie exactly in planes of
    fewer dimensions, overall or around each point, the likelihood has no bound as
    sigma goes to 0. A search then leaves out the growth across the planes: it chooses
    the sigma of highest likelihood within them, with a warning.

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
        n_neighbors: int | str | None = "auto",
        n_components: int | str | None = None,
        bandwidth: float | str = "auto",
        neighborhood: Any = "hard",
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
        self._fit(
            X,
            sample_weight,
            self.n_neighbors,
            self.n_components,
            self.bandwidth,
            self.neighborhood,
        )
        return self


class ParzenWindows(LocalGaussianMixture):
    r"""Parzen windows: a spherical Gaussian of one width on each point.

    .. math:: p(x) = \frac{1}{l} \sum_i N(x; x_i, \sigma^2 I)

    The same estimator as :class:`sklearn.neighbors.KernelDensity` with a Gaussian
    kernel, computed exactly in any number of dimensions, and with its width from the
    data.

    Parameters
    ----------
    bandwidth : float or "auto", default="auto"
        sigma. "auto" takes the one of highest leave-one-out likelihood, equal rows
        being left out together.
    max_memory : int, str or None, default=None
        What blocks may take: bytes, or a text such as "1 GiB". None: half of the free
        memory.
    n_jobs : int or None, default=None
        The most threads. None and -1: as many as BLAS is allowed.
    verbose : int or bool, default=0
        Whether a search shows a progress bar.

    Attributes
    ----------
    bandwidth_ : float
        sigma.
    search_ : list of dict
        Every width that a search compared, with its mean log-density of rows left out
        (``score``); empty if it was given.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where the training data had some.

    See Also
    --------
    ManifoldParzen : Gaussians along the neighbours of each point.

    Notes
    -----
    A query costs O(l n), in one matrix product for all queries of a block.

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
        bandwidth: float | str = "auto",
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
        self._fit(X, sample_weight, None, 0, self.bandwidth, "hard")
        return self
