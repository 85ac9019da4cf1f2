"""Sparse kernel principal components."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, Literal, Self

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import (
    WHOLE,
    check_flag,
    is_number,
    is_whole,
    is_word,
    probability,
    whole_between,
    whole_number,
)
from pursuit._ranges import check_squares
from pursuit._words import Auto, KernelFunction, KernelName, WidthRule
from pursuit.components.choosing import (
    REASONS,
    Stop,
    choose_points,
    diagonal,
    never,
    until_bound,
    until_share,
)
from pursuit.components.preimages import has_preimages, preimages
from pursuit.components.subspaces import Projection, SubspacePath
from pursuit.estimators._batches import by_blocks, visits_of
from pursuit.estimators._onnx import OnnxConvertible
from pursuit.estimators._validation import validate_data
from pursuit.kernels import Kernel
from pursuit.kernels._base import KernelOn
from pursuit.kernels.given import is_precomputed

from ._batches import fit_visits
from ._settings import SparseComponents, bound_kernel, check_square_or_support


class SparseKernelPCA(OnnxConvertible, SparseComponents):
    r"""Kernel principal components in the span of a few training points.

    Points are chosen greedily. Each captures as much as possible of the variance in
    feature space that the earlier ones left:

    .. math:: i = \arg\max_i \sum_j K[j, i]^2 / K[i, i], \qquad
        K \leftarrow K - K[:, i] K[i, :] / K[i, i].

    The components are the principal ones in the span of the chosen points, and need
    kernel values with these points only. In contrast,
    :class:`~sklearn.decomposition.KernelPCA` keeps every training row, and
    :class:`~sklearn.kernel_approximation.Nystroem` draws its points at random.

    Parameters
    ----------
    n_components : int, float, "bound" or None, default=100
        Number of components; at most as many as there are independent rows. A share
        below 1: points are chosen until they capture this share of the variance of
        the candidates, about their mean as far as the span holds this, or with
        ``center=False`` of their mean ``k(x, x)``. "bound": as many as give the
        lowest bound on the residual of new points (Corollary 1 of [1]_). None: points
        are chosen until everything is captured up to `tol`.
    kernel : str, callable or kernel object, default="rbf"
        Positive semi-definite kernel: a name ("rbf", "poly", "linear", "laplacian",
        "cosine", "precomputed"), a callable ``k(X, Y)`` that returns a matrix, or a
        kernel of :mod:`pursuit.kernels`, such as ``Polynomial(degree=2, coef0=1)``.
        "poly" has degree 3 and coef0 1, as in ``KernelPCA``.
    gamma : float, {"median", "scale", "auto"} or None, default="median"
        Inverse squared width of a kernel that is a name,
        ``k(x, z) = exp(-gamma ‖x - z‖²)`` for "rbf"; larger is narrower. "median" is
        1 over the median squared distance of the training points; "scale" is that of
        SVC; "auto" and None are 1 / n_features.
    max_support : int or None, default=None
        Number of points to choose. None is the number of components; more points give
        better components at a higher cost.
    center : bool, default=True
        Whether to center the images in feature space, as KernelPCA does. The same
        points are chosen either way, but their number differs if `n_components` is a
        share.
    delta : float, default=0.05
        With ``n_components="bound"``, the probability with which the bound may fail.
    subsample : int, float, "auto" or None, default="auto"
        Number (or share) of random rows on which the choice is made: they are the
        candidates, and the criterion is summed over them. Everything else is computed
        from all rows. "auto" takes up to 5000 rows, None all.
    n_candidates : int or None, default=None
        Number of candidates drawn anew at each step; 59 find one of the best 5 % with
        95 % certainty. None takes all, for the exact choice. (The KMP estimators draw
        theirs once, unless ``n_candidates=Redrawn(59)``.)
    tol : float, default=1e-10
        A row whose squared distance from the span of the chosen ones is below this
        share of ``k(x, x)`` counts as inside; at least 1e-13, for rounding. One below
        1e-4 of it counts as inside too if rounding has made its values inconsistent.
    max_memory : int, str or None, default=None
        Memory that the fit may use: bytes, or a text such as "1 GiB". None is half of
        the free memory. Kernel values that do not fit are recomputed at each pass,
        with the same result.
    random_state : int, RandomState instance or None, default=None
        Seed of the sample and of the candidates drawn. With None they are fixed.
    verbose : int or bool, default=0
        Whether to show a progress bar. Ctrl-C ends the choice with the points chosen so
        far and a warning.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the chosen training rows, in order of choice.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Chosen rows; empty for a precomputed kernel.
    n_support_ : int
        Number of chosen rows.
    n_components_ : int
        Number of components.
    components_ : ndarray of shape (n_components, n_support)
        Components as combinations of the chosen points' images.
    explained_variance_ : ndarray of shape (n_components,)
        Variances of the components over the training rows, in decreasing order.
    explained_variance_ratio_ : ndarray of shape (n_components,)
        Their shares of the total variance, the mean squared distance of the training
        images from their center: their mean as projected on the span of the chosen
        points, or 0 if `center` is False. All components of the chosen points add up
        to 1 minus the share that ``path_.residuals`` leaves.
    path_ : SubspacePath
        All steps: rows, criteria, mean residuals (``path_.residuals``), and bounds on
        the residual of new points (``path_.bound()``).
    gamma_ : float or None
        Value of gamma that was used.
    stop_reason_ : str
        Why no more points were chosen; for a model from ``truncate``, that it was cut.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    SparseKernelCCA : Sparse kernel canonical correlations of two views.

    Notes
    -----
    With l rows on which the choice is made and N points, the choice costs at most
    O(l² N) time, in fewer passes over the kernel matrix than steps, and O(l²) memory or
    `max_memory`. The components cost O(n N²) for n rows; a transform costs O(N) kernel
    values and O(N n_components) operations per row. No ``l × l`` matrix is rewritten.

    References
    ----------
    .. [1] Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.
    .. [2] A. Smola and B. Schölkopf, "Sparse greedy matrix approximation for machine
       learning", ICML 17, 911-918, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pursuit import SparseKernelPCA
    >>> X, _ = load_digits(return_X_y=True)
    >>> pca = SparseKernelPCA(n_components=20).fit(X)
    >>> pca.transform(X).shape
    (1797, 20)
    >>> bool(pca.path_.residuals[-1] < 0.5 * pca.path_.residuals[0])
    True
    """

    def __init__(
        self,
        n_components: int | float | Literal["bound"] | None = 100,
        *,
        kernel: KernelName | Literal["precomputed"] | KernelFunction = "rbf",
        gamma: float | WidthRule | None = "median",
        max_support: int | None = None,
        center: bool = True,
        delta: float = 0.05,
        subsample: int | float | Auto | None = "auto",
        n_candidates: int | None = None,
        tol: float = 1e-10,
        max_memory: int | str | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.max_support = max_support
        self.center = center
        self.delta = delta
        self.subsample = subsample
        self.n_candidates = n_candidates
        self.tol = tol
        self.max_memory = max_memory
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any = None) -> SparseKernelPCA:
        """Choose the points and find the components.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points, or the square kernel matrix if precomputed.
        y : Ignored
            Present for compatibility with pipelines.

        Returns
        -------
        self : SparseKernelPCA
            The fitted transformer.
        """
        check_flag("center", self.center)
        probability("delta", self.delta)
        is_pairwise = is_precomputed(self.kernel)
        accepted = False if is_pairwise else "csr"
        X = validate_data(self, X, accept_sparse=accepted, dtype=np.float64)
        kernel = bound_kernel(self.kernel, self.gamma, X)
        wanted = self._wanted_support()
        how = self._choosing(None if is_pairwise else X, X.shape[0], wanted)
        path = choose_points(how, kernel, X, self._rule(kernel, X, X.shape[0]))
        points = np.empty((0, 0)) if is_pairwise else X[path.atoms]
        self._take(path, kernel, points)
        return self

    def fit_batches(
        self, rows: Any, *, checkpoint: str | os.PathLike[str] | None = None
    ) -> Self:
        """Find points and components of rows that are read block by block.

        The rows are read three times: to count them, to draw the sample on which points
        are chosen, and to sum up coordinates. The result does not depend on their order
        nor on their division into blocks, and is that of `fit` on all rows, up to
        rounding. (Only two things differ: if rows are repeated, and more of them differ
        than ``subsample`` takes, another sample is drawn; and ``gamma="scale"`` is that
        of drawn rows.)

        Parameters
        ----------
        rows : Rows, path, callable or other source
            What :func:`pursuit.batches.rows_of` takes, such as
            ``ParquetRows("folder")``, or a callable that returns an iterator of blocks.
            Targets are ignored. An object of :class:`pursuit.trips.Visits` visits
            blocks wherever they are.
        checkpoint : path, optional
            File in which the work so far is kept. If the fit is killed, another one
            with the same rows, parameters and file goes on from there, to the same
            model. The file stays when the fit is complete.

        Returns
        -------
        self : SparseKernelPCA
            The fitted transformer. ``support_`` counts the drawn rows in the order of
            their draw, since rows of a source have no lasting number.
        """
        check_flag("center", self.center)
        probability("delta", self.delta)
        fit_visits(self, visits_of(self, rows, checkpoint))
        return self

    def transform_batches(self, rows: Any) -> Iterator[np.ndarray]:
        """Yield the components of rows that are read block by block.

        Parameters
        ----------
        rows : Rows, path, callable or other source
            As in :meth:`fit_batches`.

        Yields
        ------
        T : ndarray of shape (n_block, n_components)
            What :meth:`transform` returns for a block.
        """
        check_is_fitted(self, "components_")
        return by_blocks(self, rows, "transform")

    def _take(self, path: SubspacePath, kernel: Kernel | None, points: Any) -> None:
        """Set the attributes that follow from a path, cut where its bound is lowest."""
        if self._is_by_bound():
            terms = np.asarray(path.bound(delta=self.delta).terms)
            best = path.truncate(1 + int(np.argmin(terms[1:])))
            path = replace(best, stop_reason=path.stop_reason)
            points = points[: len(path)]
        self.gamma_ = getattr(kernel, "gamma", None)
        self._set_path(path, kernel, points)

    def _is_by_bound(self) -> bool:
        return is_word(self.n_components, "bound")

    def _is_by_share(self) -> bool:
        value: Any = self.n_components
        is_real = is_number(value) and not isinstance(value, WHOLE)
        return bool(is_real and 0 < value < 1)

    def _wanted_support(self) -> int | None:
        """Return the maximum number of points to choose."""
        value: Any = self.n_components
        is_count = is_whole(value, 1)
        is_other = value is None or self._is_by_bound() or self._is_by_share()
        if not (is_count or is_other):
            raise ValueError(
                f"n_components={value!r} must be a whole number of at least 1, a share "
                "between 0 and 1, 'bound' or None."
            )
        most = whole_number("max_support", self.max_support, 1, (None,))
        if most is None and is_count:
            return int(value)
        return most

    def _rule(self, kernel: Kernel | None, X: Any, n_rows: int) -> Stop:
        """Return when to stop; a bound is about ``n_rows`` rows, such as those of X."""
        if self._is_by_bound():
            sup = float(diagonal(kernel, X).max())
            return until_bound(n_rows, sup, self.delta)
        if self._is_by_share():
            share = float(self.n_components)  # type: ignore[arg-type]
            return until_share(share, self.center)
        return never

    def _set_path(self, path: SubspacePath, kernel: Kernel | None, points: Any) -> None:
        """Set the attributes that follow from the chosen points."""
        n = len(path)
        count = self.n_components if is_whole(self.n_components, 1) else n
        self.n_components_ = min(int(count), n)  # type: ignore[arg-type]
        values, V = path.principal_directions(self.center)
        V = V[:, : self.n_components_]
        factor = path.n_samples / max(1, path.n_samples - int(self.center))
        self.explained_variance_ = factor * values[: self.n_components_]
        shares = values / path.variance(self.center)
        self.explained_variance_ratio_ = shares[: self.n_components_]
        means = path.means if self.center else np.zeros(n)
        self.components_ = solve_triangular(path.triangle.T, V).T
        on_points = None if kernel is None else KernelOn(kernel, points)
        self._projection = Projection(on_points, self.components_, means @ V)
        self.path_, self.support_, self.n_support_ = path, path.atoms, n
        self.support_vectors_ = points
        self.stop_reason_ = REASONS[path.stop_reason]

    @property
    def _kernel(self) -> Kernel | None:
        values = self._projection.values
        return None if values is None else values.kernel

    def truncate(self, n: int | None = None) -> Self:
        """Return the transformer of the first ``n`` points, without another fit.

        Parameters
        ----------
        n : int, optional
            From 1 to ``n_support_``, the default.

        Returns
        -------
        model : SparseKernelPCA
            A fitted copy with at most ``n`` components; this one does not change.
        """
        check_is_fitted(self, "components_")
        size = self.n_support_ if n is None else n
        n = whole_between("n", size, 1, self.n_support_, "the number of chosen points")
        model = copy.copy(self)
        points = self.support_vectors_[:n]
        model._set_path(self.path_.truncate(n), self._kernel, points)
        return model

    def transform(self, X: Any) -> np.ndarray:
        """Return the components of points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; if precomputed, their kernel with all training points or with the
            chosen ones only.

        Returns
        -------
        T : ndarray of shape (n_samples, n_components)
            Orthonormal coordinates; over the training rows they are uncorrelated and
            of decreasing variance.
        """
        check_is_fitted(self, "components_")
        return self._projection(self._checked(X))

    def inverse_transform(self, X: Any) -> np.ndarray:
        """Return pre-images: points whose images come close to these components.

        For the Gaussian kernel, a local maximum of the inner product with the point of
        feature space, found by Mika's fixed-point iteration from the best of the
        chosen points; for the linear kernel, the point itself. Other kernels are not
        supported.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_components)
            Components.

        Returns
        -------
        points : ndarray of shape (n_samples, n_features)
            Pre-images.
        """
        check_is_fitted(self, "components_")
        kernel = self._kernel
        if kernel is None or not has_preimages(kernel):
            raise ValueError(
                f"kernel={self.kernel!r} has no pre-images here: use 'rbf' or "
                "'linear', or reconstruction_error, which needs none."
            )
        T = check_array(X, dtype=np.float64)
        if T.shape[1] != self.n_components_:
            raise ValueError(
                f"X has {T.shape[1]} columns, but there are {self.n_components_} "
                "components."
            )
        weights = T @ self.components_ + self.path_.mean_weights(self.center)
        return preimages(kernel, self.support_vectors_, weights)

    def reconstruction_error(self, X: Any, diagonal: Any = None) -> np.ndarray:
        r"""Return the squared distances of images from the space of the components.

        .. math:: \|\phi(x) - P\phi(x)\|^2 = k(x, x) - k_i K_{ii}^{-1} k_i^T

        with all components of the chosen points ``i``; with fewer components the
        errors are larger.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points, as in :meth:`transform`.
        diagonal : array-like of shape (n_samples,), optional
            ``k(x, x)``, needed if precomputed.

        Returns
        -------
        errors : ndarray of shape (n_samples,)
            Squared distances. Their mean over the training rows is the last of
            ``path_.residuals``, if no component is left out.
        """
        check_is_fitted(self, "components_")
        X = self._checked(X)
        squares = self._diagonal(X, diagonal)
        n_lost = self.n_support_ - self.n_components_
        for rows, K in self._projection.blocks(X):
            Z = self.path_.coordinates(K)
            squares[rows] -= (Z**2).sum(axis=1)
            if n_lost:
                T = K @ self.components_.T - self._projection.offset
                Z = Z - self.path_.means if self.center else Z
                squares[rows] += (Z**2).sum(axis=1) - (T**2).sum(axis=1)
        return np.maximum(squares, 0.0)

    def _diagonal(self, X: Any, diagonal: Any) -> np.ndarray:
        if self._kernel is not None:
            return np.array(self._kernel.diag(X))
        if diagonal is None:
            raise ValueError(
                "kernel='precomputed' does not contain k(x, x): pass it as diagonal."
            )
        values = check_array(diagonal, ensure_2d=False, dtype=np.float64, copy=True)
        if values.shape != (X.shape[0],):
            raise ValueError(
                f"diagonal has the shape {values.shape}, expected {(X.shape[0],)}."
            )
        return values

    def _checked(self, X: Any) -> Any:
        """Return validated points, or their kernel values with the chosen points."""
        if self._kernel is not None:
            X = validate_data(
                self, X, reset=False, accept_sparse="csr", dtype=np.float64
            )
            if self._kernel.takes_squares:
                check_squares(X)
            return X
        if getattr(X, "shape", (0, 0))[1:] == (self.n_support_,):
            X = check_array(X, dtype=np.float64)
        else:
            X = validate_data(self, X, reset=False, dtype=np.float64)
        return check_square_or_support(X, self.n_features_in_, self.support_)
