"""Kernel matching pursuit as a regressor and as a classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError

from pursuit._parameters import check_choice
from pursuit.losses import Logistic, Poisson, is_named

from ._available import available_unless
from ._base import BaseKMP
from ._callbacks import with_callbacks
from ._targets import (
    as_numbers,
    check_target_scale,
    class_codes,
    n_targets,
)
from ._weights import (
    check_sample_weight,
    check_weighted_classes,
    class_weights,
)


class KMPRegressor(RegressorMixin, BaseKMP):
    """Kernel matching pursuit for regression, with the squared or any other loss.

    A sparse kernel expansion ``f(x) = sum_j coef_j k(x, x_j) + intercept`` is built
    point by point from the training points. The number of points can be set, and one
    fit gives the models of all smaller sizes. Several targets share one set of
    support points.

    Parameters
    ----------
    kernel : str, callable or kernel object, default="rbf"
        A name ("rbf", "poly", "linear" or "sigmoid" as in SVC, "laplacian", "cosine",
        "precomputed"), a callable ``k(X, Y)`` that returns a matrix, a kernel of
        :mod:`pursuit.kernels`, or one of scikit-learn's Gaussian-process kernels.
        It need not be symmetric or positive definite.
    gamma : float or {"cv", "median", "scale", "auto"}, default="cv"
        Inverse squared width of a kernel given by name,
        ``k(x, z) = exp(-gamma ‖x - z‖²)`` for "rbf"; larger is narrower. "median" is
        1 over the median squared distance of the training points; "scale" and "auto"
        are those of SVC; "cv" compares multiples of "median" on the same held-out
        rows as the size, together with `alpha`: those around 1, and further ones for
        as long as the error falls. If none is clearly better than the constant, all
        from 1/64 to 256 are tried.
    degree : int, default=3
        Degree of the polynomial kernel; ignored by other kernels.
    coef0 : float, default=0.0
        Constant term of the kernels "poly" and "sigmoid"; ignored by other kernels.
        With 0, as in SVC, a cubic kernel has no lower powers, and distant points
        dominate the squared error: 1 is better.
    dictionary : Dictionary, kernel or None, default=None
        Source of the model's functions, in place of `kernel` and its parameters: an
        object of :mod:`pursuit.dictionaries`, or a kernel, which stands for
        `OneKernel` of it. None is the kernel on the training points,
        ``OneKernel(kernel, gamma=gamma)``.
    loss : str or Loss, default="squared"
        Loss to minimize: "squared"; "absolute" and "huber", robust to outliers;
        "quantile", the median (``Quantile(0.9)`` for another quantile); "poisson" for
        counts and rates, with a log link; or a loss object of :mod:`pursuit.losses`,
        including your own.
    max_support : int, float or None, default=None
        Maximum number of support points: a count, or a share of the distinct training
        rows. None is 10 times the square root of their number, at least 100 and at
        most 1000. For ``method="basic"``, the number of steps.
    method : {"pre-fitting", "back-fitting", "basic"}, default="pre-fitting"
        How each point is chosen, and what is optimized with it. "pre-fitting"
        (orthogonal least squares) chooses the point that leaves the smallest error
        after all coefficients are optimized; "back-fitting" (orthogonal matching
        pursuit) chooses by the residual and optimizes all coefficients afterwards;
        "basic" (matching pursuit) only sets the new coefficient. With losses other
        than the squared one, "pre-fitting" predicts the error from the quadratic
        approximation of the loss at the current fit.
    backfit_every : int, default=1
        Number of steps from one optimization of all coefficients to the next. In
        between, only the new coefficient and the intercept are set.
    selection : {"cv", "loo", "validation", "bound"} or None, default="cv"
        How the size of the model is chosen. "cv": the lowest error of k-fold paths,
        then a fit to all data (above 10 000 rows with an integer `cv`: as
        "validation"). "validation": a part is held out, the model is fitted to the
        rest, and the size that is best on that part is kept. "loo": one fit, stopped
        by the closed-form leave-one-out error. "bound": one fit, stopped where a
        generalization bound stops falling. None: all of `max_support`.
    scoring : str, callable or None, default=None
        scikit-learn scorer by which "cv" and "validation" compare sizes, widths and
        ridges. None compares the loss.
    size_tolerance : float or "1se", default=0.01
        The smallest size whose error exceeds the lowest by at most this share is
        chosen. "1se" allows one standard error over the folds instead; it acts as 0
        with "validation" and "loo", which have no folds. "bound" takes the lowest
        itself.
    cv : int, splitter or iterable, default=10
        Folds. An integer makes folds that are balanced in y, keep equal rows
        together, and do not depend on the order of the rows. Only where many equal
        rows differ in y (a fifth of the weight, as where X holds categories) do they
        go to different folds. On many rows only as many of these folds are used as
        hold out 5000 rows. A splitter that keeps groups together gets those passed as
        ``fit(X, y, groups=...)``, and all its folds are used.
    validation_fraction : float, default=0.2
        Share of the rows that ``selection="validation"`` holds out.
    patience : int or None, default=None
        Number of steps without improvement after which "validation", "loo" and
        "bound" stop. None is 5 for "loo", else 30 plus the best size so far.
    bound : {"auto", "vc", "mdl", "finite-class"}, default="auto"
        Bound that ``selection="bound"`` minimizes, as in ``path_.bound``. "auto" is
        "finite-class" for classes, else "vc".
    bound_alpha : float or None, default=None
        Error that the bound "vc" tolerates. None is 1 for classes, otherwise half of
        the targets' standard deviation.
    delta : float, default=0.05
        Probability with which the bound may fail.
    alpha : float or "cv", default="cv"
        Ridge: ``alpha * sum(coef**2)`` is added to the summed loss. "cv" compares
        ridges on the same held-out rows as the size: powers of ten from 1e-4 to 1,
        and smaller ones, down to 1e-8, while they are better; with other losses than
        the squared one those from 1e-4 to 1, outward from 0.01 while they are better.
        These are for a kernel of ``k(x, x) = 1``; they are multiplied by the
        functions' size, the loss's curvature and a mean weight below 1, and are
        larger above 100 000 rows (``search_`` shows them).
    fit_intercept : bool, default=True
        Whether to fit an unpenalized constant.
    n_candidates : int, float, "auto" or None, default="auto"
        Number (or share) of random training points that are candidates. None takes
        all. "auto" takes up to 10 000, the same ones at every fit; above 50 000 rows
        fewer, down to two for each step, so that their values on all rows are no more
        than 5e8 numbers.
    redraw_candidates : bool, default=False
        Whether to draw new candidates at each step (59 of them unless `n_candidates`
        says otherwise) instead of once.
    max_memory : int, str or None, default=None
        Memory that the fit may use: bytes, or a text such as "1 GiB". None is half of
        the free memory. Kernel values that do not fit are recomputed at each pass,
        with the same result.
    dtype : {"float64", "float32"}, default="float64"
        Type in which kernel values are stored during the fit; sums are always
        float64.
    tol : float, default=1e-14
        A candidate whose squared norm outside the span of the chosen ones is below
        this share of its squared norm counts as dependent and is skipped.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and the random candidates. With None the folds are the same
        at every fit, and random candidates are not.
    n_jobs : int or None, default=None
        Number of widths compared at a time, in threads that share `max_memory` and
        the threads of BLAS.
    verbose : int or bool, default=0
        Whether to show a progress bar. Ctrl-C ends the fit with the model found so far
        and a warning; pressed twice within two seconds, it also ends the surrounding
        code, such as a grid search.

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
        candidates, rows and folds; this last entry chooses the size.
    gamma_ : float or None
        Value of gamma that was used.
    alpha_ : float
        Ridge that was used.
    selection_ : str or None
        How the size was chosen.
    stop_reason_ : str
        Why the path ends; for a model from ``truncate``, that it was cut.
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
            A weight of 2 is the same as the row twice, 0 the same as no row (only
            ``selection="bound"`` counts rows, whatever their weights).
        groups : array-like of shape (n_samples,), optional
            For a splitter given as `cv` that keeps groups of rows together, such as
            scikit-learn's ``GroupKFold``.

        Returns
        -------
        self : KMPRegressor
            The fitted model.
        """
        if not self._takes_several:
            self._check_one_target(y)
        y = as_numbers(y)
        how = {"multi_output": self._takes_several, "y_numeric": True}
        X, y = self._validated(X, y, **how)
        Y = np.asarray(y, dtype=np.float64)
        self._is_single_output = Y.ndim == 1
        Y = Y.reshape(len(Y), -1)
        weight = check_sample_weight(sample_weight, len(Y))
        # Rows of weight 0 are as if absent, whatever their targets.
        Y = np.where(weight[:, None] > 0, Y, 0.0)
        check_target_scale(Y[weight > 0], weight, self.fit_intercept is not False)
        folded, Y = Y.mean(axis=1), np.ascontiguousarray(Y.T)
        self._pursue(X, y, Y, folded, weight, groups)
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; if precomputed, their kernel with all training points or with
            the support points only.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        return self._shaped(self._values(X))

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
            yield self._shaped(values)

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        values = self._loss.mean(values)
        return values[:, 0] if self._is_single_output else values

    @property
    def _takes_several(self) -> bool:
        """Whether several targets are allowed.

        The bounds are for one output (Theorem 3), and scikit-learn's checks give
        several targets negative values, which are not counts.
        """
        return not is_named(self.loss, Poisson) and not self._is_bounded

    def _check_one_target(self, y: Any) -> None:
        n = n_targets(y)
        if n < 2:
            return
        if self._is_bounded:
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


def _has_probabilities(loss: Any) -> bool:
    return is_named(loss, Logistic) or hasattr(loss, "probabilities")


def _lacks_probabilities(estimator: Any) -> None:
    """Raise an AttributeError that says how to get probabilities."""
    if not _has_probabilities(estimator.loss):
        raise AttributeError(
            f"loss={estimator.loss!r} has no probabilities: use loss='logistic', or "
            "wrap the classifier in scikit-learn's CalibratedClassifierCV."
        )


class KMPClassifier(ClassifierMixin, BaseKMP):
    """Kernel matching pursuit for classification, with the squared or any other loss.

    A sparse kernel expansion for each class (only one for two classes) is built point
    by point from the training points. The number of points can be set, and one fit
    gives the models of all smaller sizes.

    Parameters
    ----------
    kernel : str, callable or kernel object, default="rbf"
        A name ("rbf", "poly", "linear" or "sigmoid" as in SVC, "laplacian", "cosine",
        "precomputed"), a callable ``k(X, Y)`` that returns a matrix, a kernel of
        :mod:`pursuit.kernels`, or one of scikit-learn's Gaussian-process kernels.
        It need not be symmetric or positive definite.
    gamma : float or {"cv", "median", "scale", "auto"}, default="cv"
        Inverse squared width of a kernel given by name,
        ``k(x, z) = exp(-gamma ‖x - z‖²)`` for "rbf"; larger is narrower. "median" is
        1 over the median squared distance of the training points; "scale" and "auto"
        are those of SVC; "cv" compares multiples of "median" on the same held-out
        rows as the size, together with `alpha`: those around 1, and further ones for
        as long as the error falls. If none is clearly better than the constant, all
        from 1/64 to 256 are tried.
    degree : int, default=3
        Degree of the polynomial kernel; ignored by other kernels.
    coef0 : float, default=0.0
        Constant term of the kernels "poly" and "sigmoid"; ignored by other kernels.
        With 0, as in SVC, a cubic kernel has no lower powers, and distant points
        dominate the squared error: 1 is better.
    dictionary : Dictionary, kernel or None, default=None
        Source of the model's functions, in place of `kernel` and its parameters: an
        object of :mod:`pursuit.dictionaries`, or a kernel, which stands for
        `OneKernel` of it. None is the kernel on the training points,
        ``OneKernel(kernel, gamma=gamma)``.
    loss : str or Loss, default="squared"
        Loss to minimize: "squared"; "logistic", which gives probabilities (one softmax
        if several classes share their support); "hinge" (smoothed), "squared-hinge",
        "exponential", "squared-tanh", "doom2"; or a loss object of
        :mod:`pursuit.losses`, including your own.
    max_support : int, float or None, default=None
        Maximum number of support points: a count, or a share of the distinct training
        rows. None is 10 times the square root of their number, at least 100 and at
        most 1000. For ``method="basic"``, the number of steps.
    method : {"pre-fitting", "back-fitting", "basic"}, default="pre-fitting"
        How each point is chosen, and what is optimized with it. "pre-fitting"
        (orthogonal least squares) chooses the point that leaves the smallest error
        after all coefficients are optimized; "back-fitting" (orthogonal matching
        pursuit) chooses by the residual and optimizes all coefficients afterwards;
        "basic" (matching pursuit) only sets the new coefficient. With losses other
        than the squared one, "pre-fitting" predicts the error from the quadratic
        approximation of the loss at the current fit.
    backfit_every : int, default=1
        Number of steps from one optimization of all coefficients to the next. In
        between, only the new coefficient and the intercept are set.
    selection : {"cv", "loo", "validation", "bound"} or None, default="cv"
        How the size of the model is chosen. "cv": the lowest error of k-fold paths,
        then a fit to all data (above 10 000 rows with an integer `cv`: as
        "validation"). "validation": a part is held out, the model is fitted to the
        rest, and the size that is best on that part is kept. "loo": one fit, stopped
        by the closed-form leave-one-out error. "bound": one fit, stopped where a
        generalization bound stops falling. None: all of `max_support`.
    scoring : str, callable or None, default=None
        scikit-learn scorer by which "cv" and "validation" compare sizes, widths and
        ridges. None compares the loss.
    size_tolerance : float or "1se", default=0.01
        The smallest size whose error exceeds the lowest by at most this share is
        chosen. "1se" allows one standard error over the folds instead; it acts as 0
        with "validation" and "loo", which have no folds. "bound" takes the lowest
        itself.
    cv : int, splitter or iterable, default=10
        Folds. An integer makes folds that are balanced in y, keep equal rows
        together, and do not depend on the order of the rows. Only where many equal
        rows differ in y (a fifth of the weight, as where X holds categories) do they
        go to different folds. On many rows only as many of these folds are used as
        hold out 5000 rows. A splitter that keeps groups together gets those passed as
        ``fit(X, y, groups=...)``, and all its folds are used.
    validation_fraction : float, default=0.2
        Share of the rows that ``selection="validation"`` holds out.
    patience : int or None, default=None
        Number of steps without improvement after which "validation", "loo" and
        "bound" stop. None is 5 for "loo", else 30 plus the best size so far.
    bound : {"auto", "vc", "mdl", "finite-class"}, default="auto"
        Bound that ``selection="bound"`` minimizes, as in ``path_.bound``. "auto" is
        "finite-class" for classes, else "vc".
    bound_alpha : float or None, default=None
        Error that the bound "vc" tolerates. None is 1 for classes, otherwise half of
        the targets' standard deviation.
    delta : float, default=0.05
        Probability with which the bound may fail.
    alpha : float or "cv", default="cv"
        Ridge: ``alpha * sum(coef**2)`` is added to the summed loss. "cv" compares
        ridges on the same held-out rows as the size: powers of ten from 1e-4 to 1,
        and smaller ones, down to 1e-8, while they are better; with other losses than
        the squared one those from 1e-4 to 1, outward from 0.01 while they are better.
        These are for a kernel of ``k(x, x) = 1``; they are multiplied by the
        functions' size, the loss's curvature and a mean weight below 1, and are
        larger above 100 000 rows (``search_`` shows them).
    fit_intercept : bool, default=True
        Whether to fit an unpenalized constant.
    n_candidates : int, float, "auto" or None, default="auto"
        Number (or share) of random training points that are candidates. None takes
        all. "auto" takes up to 10 000, the same ones at every fit; above 50 000 rows
        fewer, down to two for each step, so that their values on all rows are no more
        than 5e8 numbers.
    redraw_candidates : bool, default=False
        Whether to draw new candidates at each step (59 of them unless `n_candidates`
        says otherwise) instead of once.
    max_memory : int, str or None, default=None
        Memory that the fit may use: bytes, or a text such as "1 GiB". None is half of
        the free memory. Kernel values that do not fit are recomputed at each pass,
        with the same result.
    dtype : {"float64", "float32"}, default="float64"
        Type in which kernel values are stored during the fit; sums are always
        float64.
    tol : float, default=1e-14
        A candidate whose squared norm outside the span of the chosen ones is below
        this share of its squared norm counts as dependent and is skipped.
    multiclass : {"shared", "ovr"}, default="shared"
        With more than two classes: "shared" chooses one set of support points for all
        by the summed gain, so that a prediction costs one kernel row; "ovr" chooses
        one set for each class.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights, as in SVC. "balanced" makes the summed sample
        weights of the classes equal: a row of weight 2 counts as two rows here too.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and the random candidates. With None the folds are the same
        at every fit, and random candidates are not.
    n_jobs : int or None, default=None
        Number of widths compared at a time, in threads that share `max_memory` and
        the threads of BLAS.
    verbose : int or bool, default=0
        Whether to show a progress bar. Ctrl-C ends the fit with the model found so far
        and a warning; pressed twice within two seconds, it also ends the surrounding
        code, such as a grid search.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
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
        candidates, rows and folds; this last entry chooses the size.
    gamma_ : float or None
        Value of gamma that was used.
    alpha_ : float
        Ridge that was used.
    selection_ : str or None
        How the size was chosen.
    stop_reason_ : str
        Why the path ends; for a model from ``truncate``, that it was cut.
    n_iter_ : int
        Number of steps on the path, ``len(path_)``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    KMPRegressor : Kernel matching pursuit for regression.

    Notes
    -----
    Classes are coded as -1 and +1. Sizes, widths and ridges are compared by the loss,
    which is less noisy than the number of errors, unless `scoring` says otherwise.
    :meth:`predict_proba` is available only with losses that give probabilities, such
    as "logistic".

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "Kernel Matching Pursuit", Machine Learning 48,
       165-187, 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from pursuit import KMPClassifier
    >>> X, y = make_moons(200, noise=0.2, random_state=0)
    >>> model = KMPClassifier(max_support=20).fit(X, y)
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        kernel: Any = "rbf",
        *,
        gamma: float | str = "cv",
        degree: int = 3,
        coef0: float = 0.0,
        dictionary: Any = None,
        loss: Any = "squared",
        max_support: int | float | None = None,
        method: str = "pre-fitting",
        backfit_every: int = 1,
        selection: str | None = "cv",
        scoring: Any = None,
        size_tolerance: float | str = 0.01,
        cv: Any = 10,
        validation_fraction: float = 0.2,
        patience: int | None = None,
        bound: str = "auto",
        bound_alpha: float | None = None,
        delta: float = 0.05,
        alpha: float | str = "cv",
        fit_intercept: bool = True,
        n_candidates: int | float | str | None = "auto",
        redraw_candidates: bool = False,
        max_memory: int | str | None = None,
        dtype: Any = "float64",
        tol: float = 1e-14,
        multiclass: str = "shared",
        class_weight: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(
            kernel,
            gamma=gamma,
            degree=degree,
            coef0=coef0,
            dictionary=dictionary,
            loss=loss,
            max_support=max_support,
            method=method,
            backfit_every=backfit_every,
            selection=selection,
            scoring=scoring,
            size_tolerance=size_tolerance,
            cv=cv,
            validation_fraction=validation_fraction,
            patience=patience,
            bound=bound,
            bound_alpha=bound_alpha,
            delta=delta,
            alpha=alpha,
            fit_intercept=fit_intercept,
            n_candidates=n_candidates,
            redraw_candidates=redraw_candidates,
            max_memory=max_memory,
            dtype=dtype,
            tol=tol,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.multiclass = multiclass
        self.class_weight = class_weight

    @with_callbacks
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, groups: Any = None
    ) -> KMPClassifier:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points, or the square kernel matrix if precomputed.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same as the row twice, 0 the same as no row (only
            ``selection="bound"`` counts rows, whatever their weights).
        groups : array-like of shape (n_samples,), optional
            For a splitter given as `cv` that keeps groups of rows together, such as
            scikit-learn's ``GroupKFold``.

        Returns
        -------
        self : KMPClassifier
            The fitted model.
        """
        check_choice("multiclass", self.multiclass, ("shared", "ovr"))
        X, y = self._validated(X, y)
        self.classes_, codes = class_codes(y)
        weight = check_sample_weight(sample_weight, len(codes))
        of_class = class_weights(self.class_weight, self.classes_, codes, weight)
        check_weighted_classes(self.classes_, codes, weight * of_class[codes])
        Y = _class_targets(codes, len(self.classes_))
        is_shared = self.multiclass == "shared" or len(Y) == 1
        if not is_shared and getattr(self.loss, "is_coupled", False):
            raise ValueError(
                f"loss={self.loss!r} is about all classes together, but "
                "multiclass='ovr' fits each by itself: use loss='logistic', or "
                "multiclass='shared'."
            )
        folded = codes.astype(np.float64)
        self._pursue(X, y, Y, folded, weight, groups, of_class[codes], is_shared)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the values of the fitted functions.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; if precomputed, their kernel with all training points or with
            the support points only.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Values of the function of each class; for two classes those of one
            function, positive for ``classes_[1]``.
        """
        return self._shaped(self._values(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points, as in :meth:`decision_function`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        return self._decoded(self._values(X))

    @available_unless(_lacks_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes.

        Available only with losses that give probabilities, such as "logistic".
        :meth:`predict` returns the class of the largest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points, as in :meth:`decision_function`.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns in the order of ``classes_``.
        """
        return self._probabilities(self._values(X))

    @available_unless(_lacks_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points, as in :meth:`decision_function`.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            Logarithms of :meth:`predict_proba`.
        """
        values = self._values(X)
        if hasattr(self._loss, "log_probabilities"):
            return self._loss.log_probabilities(values.T).T
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(values))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the function values of the models of sizes 1, 2, ... on the path.

        The stages go past the chosen size to the end of the path. Stage ``n`` equals
        ``truncate(n)``; the last one generally differs from :meth:`decision_function`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Yields
        ------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            As :meth:`decision_function`.
        """
        for values in self._staged(X):
            yield self._shaped(values)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the predicted classes of the models of sizes 1, 2, ... on the path.

        The stages go past the chosen size to the end of the path. Stage ``n`` equals
        ``truncate(n)``; the last one generally differs from :meth:`predict`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Yields
        ------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        for values in self._staged(X):
            yield self._decoded(values)

    @available_unless(_lacks_probabilities)
    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the probabilities by the models of sizes 1, 2, ... on the path.

        The stages go past the chosen size to the end of the path. Stage ``n`` equals
        ``truncate(n)``; the last one generally differs from :meth:`predict_proba`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Yields
        ------
        P : ndarray of shape (n_samples, n_classes)
            As :meth:`predict_proba`.
        """
        for values in self._staged(X):
            yield self._probabilities(values)

    def _shaped(self, values: np.ndarray) -> np.ndarray:
        return values[:, 0] if len(self.classes_) == 2 else values

    def _probabilities(self, values: np.ndarray) -> np.ndarray:
        if not hasattr(self._loss, "probabilities"):
            raise NotFittedError(
                f"This model was fitted with the loss {self._loss!r}, which has no "
                f"probabilities, before loss={self.loss!r} was set: fit it again."
            )
        return self._loss.probabilities(values.T).T

    def _decoded(self, values: np.ndarray) -> np.ndarray:
        # Use the fitted loss: the parameter may have been changed since.
        if hasattr(self._loss, "probabilities"):
            return self.classes_[self._most_probable(values)]
        if len(self.classes_) == 2:
            return self.classes_[(values[:, 0] > 0).astype(int)]
        return self.classes_[values.argmax(axis=1)]

    def _most_probable(self, values: np.ndarray) -> np.ndarray:
        """Return the class of the highest probability, of equal ones the highest value.

        By probabilities, so that `predict` and `predict_proba` agree. Far from the
        boundary they round to 1 for several classes, which the values tell apart.
        """
        P = self._probabilities(values)
        is_highest = P.max(axis=1, keepdims=True) <= P
        if values.shape[1] == 1:
            values = np.hstack([-values, values])
        return np.where(is_highest, values, -np.inf).argmax(axis=1)


def _class_targets(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return targets of -1 and +1, one row for each class, or one row for two."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[None]
    return np.where(codes == np.arange(n_classes)[:, None], 1.0, -1.0)
