"""Sparse kernel canonical correlations of two views."""

from __future__ import annotations

import copy
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from pursuit import bounds
from pursuit._parameters import (
    check_choice,
    check_flag,
    is_whole,
    is_word,
    number_from_zero,
    positive_number,
    whole_between,
    whole_number,
)
from pursuit._words import Auto, KernelFunction, KernelName, PairCriterion, WidthRule
from pursuit.components.choosing import REASONS, choose_pairs
from pursuit.components.pairs import PairedPath, correlations, variates
from pursuit.estimators._validation import validate_data
from pursuit.kernels import Kernel
from pursuit.kernels.given import is_precomputed

from ._settings import SparseComponents, bound_kernel
from ._views import NAMES, SecondView, fitted_views, second_view, why_empty


class SparseKernelCCA(SparseComponents):
    r"""Kernel canonical correlations in the spans of a few training pairs.

    The data are two views of the same rows, each with a kernel. Pairs are chosen
    greedily by the correlation of their columns in the two kernel matrices, which are
    deflated after each choice,

    .. math:: i = \arg\max_i \frac{(K_x K_y)[i, i]}
        {\sqrt{(K_x^2)[i, i] (K_y^2)[i, i]}},

    or by their covariance. Canonical correlations with a ridge are then computed in the
    two subspaces that the chosen points span.

    Parameters
    ----------
    n_components : int, default=2
        Number of pairs of canonical variates; at most the number of directions that
        the chosen pairs span.
    kernel, kernel_y : str, callable or kernel object, default="rbf" and None
        Positive semi-definite kernels of the two views, as in
        :class:`SparseKernelPCA`. None is the same kernel for both. Cross-validation
        slices the columns of a precomputed `X`, but not those of a precomputed `y`.
    gamma, gamma_y : float, str or None, default="median" and "same"
        Inverse squared widths of kernels that are names: a number, or "median",
        "scale", "auto" or None as in :class:`SparseKernelPCA`, computed for each view.
        ``gamma_y="same"`` means as `gamma`.
    max_support : int or None, default=None
        Number of pairs to choose. None is 100, or all if there are fewer.
    criterion : {"correlation", "covariance"}, default="correlation"
        Criterion by which pairs are chosen. "covariance" divides by
        ``sqrt(K_x[i, i] * K_y[i, i])`` instead, which prefers pairs that matter to
        many rows.
    alpha : float, default=1e-3
        Ridge: this share of the total variance of a view is added to the variance of
        each of its directions.
    center : bool, default=True
        Whether to remove the means, in the choice as well as in the correlations.
        False is the criterion of the paper.
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
    x_support_vectors_, y_support_vectors_ : ndarray or sparse matrix
        Chosen rows of the two views; empty for precomputed kernels.
    n_support_ : int
        Number of chosen rows.
    n_components_ : int
        Number of pairs of variates.
    x_weights_, y_weights_ : ndarray of shape (n_components, n_support)
        Variates as combinations of the chosen points' images.
    correlations_ : ndarray of shape (n_components,)
        Correlations of the variates over the training rows, largest first but for
        what the ridge changes.
    path_ : PairedPath
        All steps: rows, criteria, and the two paths of subspaces.
    gamma_, gamma_y_ : float or None
        Values of gamma that were used.
    stop_reason_ : str
        Why no more pairs were chosen; for a model from ``truncate``, that it was cut.
    n_features_in_ : int
        Number of features of the first view.
    feature_names_in_ : ndarray of str
        Names of these features, if the training data had some.

    See Also
    --------
    SparseKernelPCA : Sparse kernel principal components of one view.

    Notes
    -----
    The methods are those of scikit-learn's ``CCA``, with two differences:
    :meth:`fit_transform` returns the variates of the first view only, as a step of a
    pipeline must, and :meth:`score` is the mean correlation, because `y` is not
    predicted.

    With l rows on which the choice is made and N pairs, the choice costs O(l² N) time
    and O(l²) memory or `max_memory` for each view.

    References
    ----------
    .. [1] Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import SparseKernelCCA
    >>> angle = np.random.default_rng(0).uniform(0, 6, 300)
    >>> X, Y = np.c_[np.cos(angle), np.sin(angle)], np.c_[angle**2]
    >>> cca = SparseKernelCCA(n_components=1, max_support=20).fit(X[:200], Y[:200])
    >>> bool(cca.score(X[200:], Y[200:]) > 0.99)
    True
    """

    def __init__(
        self,
        n_components: int = 2,
        *,
        kernel: KernelName | Literal["precomputed"] | KernelFunction = "rbf",
        kernel_y: KernelName | Literal["precomputed"] | KernelFunction | None = None,
        gamma: float | WidthRule | None = "median",
        gamma_y: float | WidthRule | Literal["same"] | None = "same",
        max_support: int | None = None,
        criterion: PairCriterion = "correlation",
        alpha: float = 1e-3,
        center: bool = True,
        subsample: int | float | Auto | None = "auto",
        n_candidates: int | None = None,
        tol: float = 1e-10,
        max_memory: int | str | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_components = n_components
        self.kernel = kernel
        self.kernel_y = kernel_y
        self.gamma = gamma
        self.gamma_y = gamma_y
        self.max_support = max_support
        self.criterion = criterion
        self.alpha = alpha
        self.center = center
        self.subsample = subsample
        self.n_candidates = n_candidates
        self.tol = tol
        self.max_memory = max_memory
        self.random_state = random_state
        self.verbose = verbose

    # -- fitting -------------------------------------------------------------------

    def fit(self, X: Any, y: Any) -> SparseKernelCCA:
        """Choose the pairs and find the canonical variates.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The first view, or its square kernel matrix if precomputed.
        y : array-like or sparse matrix of shape (n_samples, n_targets) or (n_samples,)
            The second view of the same rows.

        Returns
        -------
        self : SparseKernelCCA
            The fitted model.
        """
        self._check_parameters()
        X, Y = self._validated(X, y)
        kernels = self._bound_kernels(X, Y)
        contents = None if None in kernels else X
        wanted = 100 if self.max_support is None else int(self.max_support)
        how = self._choosing(contents, X.shape[0], wanted)
        by_covariance = self.criterion == "covariance"
        path = choose_pairs(how, kernels, X, Y, self.center, by_covariance)
        if not len(path):
            raise ValueError(f"There is nothing to choose: {why_empty(kernels, X, Y)}")
        self.gamma_, self.gamma_y_ = (getattr(k, "gamma", None) for k in kernels)
        first, second = (
            np.empty((0, 0)) if kernel is None else Z[path.atoms]
            for kernel, Z in zip(kernels, (X, Y), strict=True)
        )
        self._set_path(path, kernels, (first, second), (X.shape[1], Y.shape[1]))
        scores = self._scores_of(X, Y)
        self.correlations_ = correlations(*scores, self.center)
        self._gaps = np.abs(scores[0] - scores[1])
        return self

    def _kernel_parameters(self) -> tuple[Any, Any]:
        """Return the kernel parameters of the two views."""
        return self.kernel, self.kernel if self.kernel_y is None else self.kernel_y

    def _bound_kernels(self, X: Any, Y: Any) -> tuple[Kernel | None, Kernel | None]:
        """Return the kernels of the two views, with numeric gammas."""
        kernel, kernel_y = self._kernel_parameters()
        gamma_y = self.gamma if is_word(self.gamma_y, "same") else self.gamma_y
        return (
            bound_kernel(kernel, self.gamma, X, NAMES[0]),
            bound_kernel(kernel_y, gamma_y, Y, NAMES[1]),
        )

    def _accepted(self, view: int) -> Any:
        """Return the sparse format that a view may have."""
        return False if is_precomputed(self._kernel_parameters()[view]) else "csr"

    def _check_parameters(self) -> None:
        whole_number("n_components", self.n_components, 1)
        whole_number("max_support", self.max_support, 1, (None,))
        check_flag("center", self.center)
        check_choice("criterion", self.criterion, ("correlation", "covariance"))
        number_from_zero("alpha", self.alpha)

    def _validated(self, X: Any, y: Any) -> tuple[Any, Any]:
        if y is None:
            raise ValueError(
                "SparseKernelCCA requires y to be passed, but the target y is None: "
                "it is the second view."
            )
        X = validate_data(
            self,
            X,
            accept_sparse=self._accepted(0),
            dtype=np.float64,
            ensure_min_samples=2,
        )
        Y = second_view(y, self._accepted(1))
        check_consistent_length(X, Y)
        self._second = SecondView(self.n_components)
        self._second.check_names(y, reset=True)
        return X, Y

    def _set_path(
        self,
        path: PairedPath,
        kernels: tuple[Kernel | None, Kernel | None],
        points: tuple[Any, Any],
        n_features: tuple[int, int],
    ) -> None:
        """Find the canonical variates in the chosen subspaces."""
        weights, offsets = variates(
            path, self.center, float(self.alpha), int(self.n_components)
        )
        self._views = fitted_views(path, kernels, points, n_features, weights, offsets)
        self.x_weights_, self.y_weights_ = weights
        self.n_components_ = len(self.x_weights_)
        self.path_, self.support_, self.n_support_ = path, path.atoms, len(path)
        self.x_support_vectors_, self.y_support_vectors_ = points
        self.stop_reason_ = REASONS[path.stop_reason]

    def truncate(self, n: int | None = None) -> Self:
        """Return the model of the first ``n`` pairs, without choosing again.

        Parameters
        ----------
        n : int, optional
            From 1 to ``n_support_``, the default.

        Returns
        -------
        model : SparseKernelCCA
            A fitted copy, without ``correlations_`` and :meth:`bound`, which need the
            training rows; this one does not change.
        """
        check_is_fitted(self, "x_weights_")
        size = self.n_support_ if n is None else n
        n = whole_between("n", size, 1, self.n_support_, "the number of chosen pairs")
        model = copy.copy(self)
        for name in ("correlations_", "_gaps"):
            if hasattr(model, name):
                delattr(model, name)
        first, second = self._views
        model._set_path(
            self.path_.truncate(n),
            (first.kernel, second.kernel),
            (self.x_support_vectors_[:n], self.y_support_vectors_[:n]),
            (first.n_features, second.n_features),
        )
        return model

    # -- using ---------------------------------------------------------------------

    def transform(self, X: Any, y: Any = None) -> Any:
        """Return the canonical variates of points.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            First view; if precomputed, its kernel with all training points or with the
            chosen ones only.
        y : array-like or sparse matrix of shape (n_samples, n_targets), optional
            Second view.

        Returns
        -------
        x_scores : ndarray of shape (n_samples, n_components)
            Variates of the first view; over the training rows their variance is 1,
            or with ``center=False`` their mean square.
        y_scores : ndarray of shape (n_samples, n_components)
            Variates of the second view, if `y` is passed. Both are frames if
            ``set_output`` asks for them.
        """
        check_is_fitted(self, "x_weights_")
        if y is None:
            return self._views[0].scores(self._checked(X))
        x_scores, y_scores = self._both_scores(X, y)
        # The type of scikit-learn's output for the first view tells what was asked for.
        kind = type(self.transform(X[:1])).__module__.partition(".")[0]
        if kind == "numpy":
            return x_scores, y_scores
        view = SecondView(self.n_components_).set_output(transform=kind)
        return x_scores, view.transform(y, y_scores)

    def _both_scores(self, X: Any, y: Any) -> tuple[np.ndarray, np.ndarray]:
        X, Y = self._checked(X), self._checked_second(y)
        check_consistent_length(X, Y)
        return self._scores_of(X, Y)

    def _scores_of(self, X: Any, Y: Any) -> tuple[np.ndarray, np.ndarray]:
        first, second = self._views
        return first.scores(X), second.scores(Y)

    def fit_transform(self, X: Any, y: Any) -> np.ndarray:
        """Fit the model, and return the canonical variates of the first view.

        scikit-learn's ``CCA`` returns both views, and therefore cannot precede another
        step in a pipeline. For both views, use
        ``x_scores, y_scores = model.fit(X, y).transform(X, y)``, which works with
        either class.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The first view.
        y : array-like or sparse matrix of shape (n_samples, n_targets) or (n_samples,)
            The second view.

        Returns
        -------
        x_scores : ndarray of shape (n_samples, n_components)
            Variates of the first view.
        """
        return self.fit(X, y).transform(X)

    def correlations(self, X: Any, y: Any) -> np.ndarray:
        """Return the correlations of the pairs of variates on these data.

        Parameters
        ----------
        X, y
            As in :meth:`transform`; two rows at least.

        Returns
        -------
        correlations : ndarray of shape (n_components,)
            Correlation of each pair, 0 if a variate is constant. With
            ``center=False`` they are cosines: means are not removed.
        """
        check_is_fitted(self, "x_weights_")
        scores = self._both_scores(X, y)
        if len(scores[0]) < 2:
            raise ValueError(
                "Correlations need two rows at least; X and y have one. For the "
                "variates of a single row use transform."
            )
        return correlations(*scores, self.center)

    def score(self, X: Any, y: Any) -> float:
        """Return the mean correlation of the pairs of variates on these data.

        Parameters
        ----------
        X, y
            As in :meth:`transform`; two rows at least.

        Returns
        -------
        score : float
            Mean correlation, at most 1.
        """
        return float(self.correlations(X, y).mean())

    def bound(
        self, alpha: float, component: int = 0, delta: float = 0.05
    ) -> bounds.Bound:
        """Bound the share of new pairs whose two variates differ by more than alpha.

        Theorem 4 of Hussain and Shawe-Taylor, with the dimension of both projections
        together (:func:`pursuit.bounds.cca`).

        Parameters
        ----------
        alpha : float
            Tolerated difference, fixed in advance.
        component : int
            Index of the pair of variates.
        delta : float
            Probability with which the bound may fail.

        Returns
        -------
        bound : Bound
            A float that knows whether it is vacuous.
        """
        check_is_fitted(self, "x_weights_")
        if not hasattr(self, "_gaps"):
            raise ValueError(
                "A truncated model does not know the training rows: fit one with "
                f"max_support={self.n_support_}."
            )
        positive_number("alpha", alpha)
        if not is_whole(component, 0) or component >= self.n_components_:
            raise ValueError(
                f"component={component!r} must be a whole number from 0 to "
                f"{self.n_components_ - 1}."
            )
        m, k = len(self._gaps), self.n_support_
        outside = np.setdiff1d(np.arange(m), self.support_)
        t = int((self._gaps[outside, component] > alpha).sum())
        dimension = 2 * k + int(self.center)
        return bounds.cca(m, k, t, dimension=dimension, delta=delta)

    def _checked(self, X: Any) -> Any:
        is_short = getattr(X, "shape", (0, 0))[1:] == (self.n_support_,)
        if self._views[0].kernel is None and is_short:
            return check_array(X, dtype=np.float64)
        return validate_data(
            self, X, reset=False, accept_sparse=self._accepted(0), dtype=np.float64
        )

    def _checked_second(self, y: Any) -> Any:
        Y = second_view(y, self._accepted(1))
        n_features = self._views[1].n_features
        is_short = self._views[1].kernel is None and Y.shape[1] == self.n_support_
        if Y.shape[1] != n_features and not is_short:
            raise ValueError(
                f"y has {Y.shape[1]} columns, but the second view had {n_features} at "
                "fit."
            )
        if Y.shape[1] == n_features:
            self._second.check_names(y, reset=False)
        return Y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
