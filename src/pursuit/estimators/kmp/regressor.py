"""Kernel matching pursuit as a regressor."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, overload

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from pursuit.estimators._validation import (
    as_numbers,
    check_sample_weight,
    check_target_scale,
    n_targets,
)
from pursuit.fitting import Fit
from pursuit.fitting.plan import Score
from pursuit.losses import Loss, Poisson, is_named
from pursuit.sample import Sample
from pursuit.selection import is_bounded

from .base import BaseKMP
from .batches import BatchFits
from .bounding import Bounded
from .callbacks import with_callbacks
from .continuing import Known
from .intervals import Intervals
from .outputs import NumberOutputs, Outputs, is_of_quantiles
from .settings import Settings


class KMPRegressor(RegressorMixin, Intervals, Bounded, BatchFits, BaseKMP):
    """Kernel matching pursuit for regression, with the squared or any other loss.

    A sparse kernel expansion ``f(x) = sum_j coef_j k(x, x_j) + intercept`` is built
    point by point from the training points. The number of points can be set, and one
    fit gives the models of all smaller sizes. Several targets share one set of
    support points.

    Parameters
    ----------
    kernel : str, callable or kernel object, default="auto"
        "auto" compares Gaussian and Laplacian kernels in learned metrics, on held-out
        rows, so that neither the units of the columns nor useless columns matter. A
        name ("rbf", "poly", "linear" or "sigmoid" as in SVC, "laplacian", "cosine",
        "precomputed"), a callable ``k(X, Y)`` that returns a matrix, a kernel of
        :mod:`pursuit.kernels` such as ``Polynomial(degree=2, coef0=1)``, or one of
        scikit-learn's Gaussian-process kernels is taken as it is, with distances
        between rows as they are. It need not be symmetric or positive definite.
    gamma : float or {"cv", "median", "scale", "auto"}, default="cv"
        Inverse squared width of a kernel given by name,
        ``k(x, z) = exp(-gamma ‖x - z‖²)`` for "rbf", which it means without a name;
        larger is narrower. "median" is 1 over the median squared distance of the
        training points; "scale" and "auto" are those of SVC; "cv" compares multiples
        of "median" on the same held-out rows as the size, together with `alpha`: those
        around 1, and further ones for as long as the error falls. If none is clearly
        better than the constant, all from 1/64 to 256 are tried. A kernel object has
        its own gamma, which may be "cv" too.
    metric : {"auto", "best", "diagonal", "full"}, None, array or Metric, default="auto"
        Metric M in which the kernel sees distances, ``(x - z)ᵀ M (x - z)``: a weight
        for each feature ("diagonal"), a matrix ("full"), or the better of both and the
        features' own scales ("best"), learned by rounds from the gradients of the
        model; an array of weights, or a positive semi-definite matrix, that is known;
        None for distances between rows as they are; or an object of
        :mod:`pursuit.metrics` with more options. "auto" is "best" if the kernel is
        "auto" without a `gamma`, and None otherwise.
    dictionary : Dictionary, kernel or None, default=None
        Source of the model's functions, in place of `kernel`, `gamma` and `metric`: an
        object of :mod:`pursuit.dictionaries`, or a kernel, which stands for `OneKernel`
        of it. None is the kernel on the training points.
    loss : str or Loss, default="squared"
        Loss to minimize: "squared"; "absolute" and "huber", robust to outliers;
        "quantile", the median (``Quantile(0.9)`` for another quantile,
        ``Quantile([0.05, 0.95])`` for several at once); "poisson" for counts and rates,
        with a log link; or a loss object of :mod:`pursuit.losses`, including your own.
        Kernels are learned under the squared loss whatever the loss.
    max_support : int, float or None, default=None
        Maximum number of support points: a count, or a share of the distinct training
        rows. None is 10 times the square root of their number, at least 100 and at
        most 1000. For ``method="basic"``, the number of steps.
    method : {"pre-fitting", "back-fitting", "basic"} or Method, default="pre-fitting"
        How each point is chosen, and what is optimized with it: a word, or an object
        of :mod:`pursuit.methods` with more options, such as
        ``PreFitting(refit_every=5)``. "pre-fitting" (orthogonal least squares) chooses
        the point that leaves the smallest error after all coefficients are optimized;
        "back-fitting" (orthogonal matching pursuit) chooses by the residual and
        optimizes all coefficients afterwards; "basic" (matching pursuit) only sets the
        new coefficient.
    selection : {"cv", "validation", "loo", "bound"}, None or Selection, default="cv"
        How the size of the model is chosen: a word, or an object of
        :mod:`pursuit.selection` with more options. "cv" (`CrossValidation`): the
        lowest error of paths on 10 folds (5 if the kernel is learned, of which each
        fold learns its own), then a fit to all data. "validation"
        (`Validation`): a fifth is held out, the model is fitted to the rest, and the
        size that is best on that part is kept. "loo" (`LeaveOneOut`): one fit, stopped
        by the closed-form leave-one-out error. "bound" (`MinimalBound`): one fit,
        stopped where a generalization bound stops falling. None (`FixedSize`): all of
        `max_support`.
    alpha : float or "cv", default="cv"
        Ridge: ``alpha * sum(coef**2)`` is added to the summed loss. "cv" compares
        ridges on the same held-out rows as the size: powers of ten from 1e-4 to 1,
        and smaller ones, down to 1e-8, while they are better; with other losses than
        the squared one those from 1e-4 to 1, outward from 0.01 while they are better.
        These are for a kernel of ``k(x, x) = 1``; they are multiplied by the
        functions' size, the loss's curvature and a mean weight below 1, and are
        larger above 100 000 rows (``search_`` shows them). While a kernel is learned,
        powers of ten from 1e-6 to 10 are compared (from 1e-9 of the number of rows on),
        and a smaller one must lower the error by 1 %.
    fit_intercept : bool, default=True
        Whether to fit an unpenalized constant.
    n_candidates : int, float, "auto", Redrawn or None, default="auto"
        Number (or share) of random training points that are candidates. None takes
        all. "auto" takes up to 10 000 (3000 if the kernel is learned), the same ones at
        every fit; above 50 000 rows fewer, down to two for each step, so that their
        values on all rows are no more than 5e8 numbers. ``Redrawn(59)`` of
        :mod:`pursuit.methods` draws new ones at each step.
    max_memory : int, str or None, default=None
        Memory that the fit may use: bytes, or a text such as "1 GiB". None is half of
        the free memory. Kernel values that do not fit are recomputed at each pass,
        with the same result.
    max_time : float, str or None, default=None
        Time that the fit may take, search and all: seconds, or a text such as "30 s" or
        "2 min"; None is as long as it takes. The model is the best that was found in
        that time, and `stop_reason_` begins with "time" if anything was cut short:
        first fewer settings are compared, then fewer rows and candidates. Such a model
        depends on the machine and its load, even with a `random_state`; a time that
        amply suffices changes nothing. Not for `fit_batches`.
    dtype : {"float64", "float32"}, default="float64"
        Type in which kernel values are stored during the fit; sums are always
        float64.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and the random candidates. With None the folds are the same
        at every fit, and random candidates are not.
    n_jobs : int or None, default=None
        Number of widths compared at a time, in threads that share `max_memory` and
        the threads of BLAS.
    verbose : int or bool, default=0
        Whether to show a progress bar. Ctrl-C ends the fit within about a second, with
        the model that can be had from what was found so far, and a warning (see also
        :meth:`continue_fit`); pressed twice within two seconds, it also ends the
        surrounding code, such as a grid search.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Training rows of the chosen points, in order of choice; with a dictionary in
        which rows have no or several functions, positions of the chosen functions in
        it.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Points on which the functions are centered; empty for a precomputed kernel.
    atoms_ : Functions
        Chosen functions: ``atoms_.names`` describes each, ``atoms_.rows`` is the
        training row on which it is centered (-1 for none), ``atoms_(X)`` are their
        values.
    dual_coef_ : ndarray of shape (n_outputs, n_support)
        Coefficients of the functions.
    coef_ : ndarray of shape (n_outputs, n_features)
        Weights of the features; with ``kernel="linear"`` only.
    intercept_ : ndarray of shape (n_outputs,)
        Constants.
    n_support_ : int
        Number of support points.
    path_ : Path or SeparatePaths
        All steps: atoms, errors, and the coefficients of every size. With
        ``multiclass="ovr"``, ``path_.paths`` holds one path for each class.
    search_ : list of dict
        Widths and ridges compared: ``gamma``, ``alpha``, the mean held-out losses
        (or negated scores) at sizes 0, 1, ... as ``errors``, and their
        ``standard_errors`` over folds. The comparison uses at most 2000 candidates
        (or two for each step), about 20 000 rows, and as many of the folds as hold
        3000 rows. Where that is not all, "cv" runs the best once more with all
        candidates, rows and folds; this last entry chooses the size. The rounds in
        which a kernel was learned come first: they have ``kernel``, ``metric`` and
        ``round`` too, and squared losses. On large data, entries that were made on a
        part of the rows have their number as ``n_rows``.
    kernel_ : Kernel
        Kernel of the model: ``kernel_(X, support_vectors_) @ dual_coef_.T +
        intercept_`` are its values.
    metric_ : ndarray of shape (n_features,) or (n_features, n_features), or None
        Metric in which the kernel sees distances; None if rows are taken as they are.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in how much the model varies: the mean squared derivative
        times the feature's variance. Not for functions without gradients.
    loss_ : Loss
        Loss that was minimized.
    gamma_ : float or None
        Value of gamma that was used.
    alpha_ : float
        Ridge that was used.
    selection_ : str or None
        How the size was chosen.
    stop_reason_ : str
        Why the path ends; for a model from ``truncate``, that it was cut. Where time
        was too short for all rows, how many were fitted.
    size_reason_ : str
        What chose the size on the path.
    held_out_error_ : float or None
        Error of that size on held-out rows; None if nothing chose it.
    held_out_standard_error_ : float or None
        Its standard error over folds.
    n_iter_ : int
        Number of steps on the path, ``len(path_)``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    KMPClassifier : Kernel matching pursuit for classification.

    Notes
    -----
    With l rows, M candidates and N points, a path costs at most O(l M N) time, in
    fewer passes over the kernel matrix than steps, and O(l M) memory or `max_memory`.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "Kernel Matching Pursuit", Machine Learning 48,
       165-187, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import KMPRegressor
    >>> X = np.linspace(0, 10, 200)[:, None]
    >>> y = np.sinc(X[:, 0] - 5)
    >>> model = KMPRegressor(max_support=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.99)
    True
    >>> model.truncate(3).n_support_
    3
    """

    _outputs: NumberOutputs

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> KMPRegressor:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points, or the square kernel matrix if precomputed.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same as the row twice, 0 the same as no row. (A bound
            counts rows, so that fractions of a weight mean nothing to
            ``selection="bound"``.)
        groups : array-like of shape (n_samples,), optional
            For ``selection=CrossValidation(splitter)``, if the splitter keeps groups
            of rows together, such as scikit-learn's ``GroupKFold``.

        Returns
        -------
        self : KMPRegressor
            The fitted model.
        """
        self._fit(X, y, sample_weight, groups)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        known: Known | None = None,
    ) -> Fit:
        """Fit the model, and return how it was found."""
        settings = self._settings()
        if not self._takes_several:
            self._check_one_target(y)
        y = as_numbers(y)
        how = {"multi_output": self._takes_several, "y_numeric": True}
        X, y = self._validated(X, y, **how)
        weight = check_sample_weight(sample_weight, len(y))
        Y = self._encoded(y)
        # Rows of weight 0 are as if absent, whatever their targets.
        Y = np.where(weight > 0, Y, 0.0)
        check_target_scale(Y[:, weight > 0].T, weight, settings.fit_intercept)
        loss = self._bound_loss(settings, Y, weight, is_joint=False)
        sample = self._sample(settings, X, Y, weight, loss)
        is_single = np.ndim(y) == 1 and not self._has_quantiles
        outputs = NumberOutputs(loss, is_single=is_single)
        return self._pursue(settings, sample, outputs, y, groups, known=known)

    @overload
    def predict(self, X: Any, return_std: Literal[False] = False) -> np.ndarray: ...

    @overload
    def predict(
        self, X: Any, return_std: Literal[True]
    ) -> tuple[np.ndarray, np.ndarray]: ...

    def predict(
        self, X: Any, return_std: bool = False
    ) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; if precomputed, their kernel with all training points or with
            the support points only.
        return_std : bool, default=False
            Whether to return standard deviations too, under squared loss.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        std : ndarray of the same shape
            Only with ``return_std=True``: the standard deviation of a target at each
            point, ``sqrt(s² (1 + h(x)))``. ``s²`` is the variance of the noise, read
            from held-out errors, and ``s² h(x)`` that of the prediction in the
            Bayesian linear model on the chosen functions whose prior is the ridge.
            That model knows no other functions: far from all support points local
            kernels, and with them ``h``, fall to nothing. O(n_support²) a point.
        """
        if return_std:
            return self._predict_with_std(X)
        values = self._values(X)
        return self._outputs.predict(values)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predictions of the models of sizes 1, 2, ... on the path.

        The stages go past the chosen size to the end of the path. Stage ``n`` equals
        ``truncate(n)``; the last one generally differs from :meth:`predict`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Yields
        ------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        for values in self._staged(X):
            yield self._outputs.predict(values)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R²; for several quantiles, their mean share of the pinball loss saved.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Their targets.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the rows.

        Returns
        -------
        score : float
            1 is best; 0 is that of the best constant. For several quantiles the mean
            of scikit-learn's ``d2_pinball_score``.
        """
        check_is_fitted(self, "dual_coef_")
        return self._outputs.score(y, self.predict(X), sample_weight)

    def _encoded(self, y: Any) -> np.ndarray:
        """Return targets (T, n) as the fit sees them."""
        Y = check_array(
            as_numbers(y), ensure_2d=False, dtype=np.float64, input_name="y"
        )
        Y = np.ascontiguousarray(Y.reshape(len(Y), -1).T)
        if not isinstance(self.loss, Loss):
            return Y
        self.loss.check_parameters()
        return self.loss.outputs(Y)

    @property
    def _has_quantiles(self) -> bool:
        """Whether the outputs are several quantiles of one target."""
        return is_of_quantiles(self.loss)

    def _score(
        self,
        settings: Settings,
        sample: Sample,
        outputs: Outputs,
        y: np.ndarray,
        is_shared: bool,
    ) -> Score | None:
        """Return the score of held-out rows if there is one, None for the loss."""
        scoring = settings.selection.scoring
        if self._has_quantiles and isinstance(scoring, str):
            raise ValueError(
                f"scoring={scoring!r} judges one prediction of each row, and "
                f"loss={self.loss!r} makes several: leave scoring=None, which is this "
                "loss, or give a function scorer(model, X, y)."
            )
        return super()._score(settings, sample, outputs, y, is_shared)

    @property
    def _takes_several(self) -> bool:
        """Whether several targets are allowed.

        The bounds are for one output (Theorem 3), and scikit-learn's checks give
        several targets negative values, which are not counts.
        """
        is_pointwise = not is_named(self.loss, Poisson) and not self._has_quantiles
        return is_pointwise and not is_bounded(self.selection)

    def _check_one_target(self, y: Any) -> None:
        n = n_targets(y)
        if n < 2:
            return
        if is_bounded(self.selection):
            raise ValueError(
                f"selection='bound' is about one output, y has {n}: fit a model for "
                "each, or use selection='cv'."
            )
        raise ValueError(
            f"loss={self.loss!r} takes one target, y has {n}: fit a model for each, "
            "for instance with scikit-learn's MultiOutputRegressor."
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = is_named(self.loss, Poisson)
        tags.target_tags.multi_output = self._takes_several
        tags.target_tags.single_output = True
        return tags
