"""Kernel matching pursuit as a classifier."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Literal

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import column_or_1d

from pursuit._parameters import check_choice
from pursuit._words import (
    Auto,
    ClassLoss,
    FloatType,
    KernelFunction,
    KernelName,
    MethodWord,
    MetricWord,
    Multiclass,
    ProbabilityWord,
    SelectionWord,
    WidthRule,
)
from pursuit.calibration import CALIBRATIONS
from pursuit.estimators._available import available_unless
from pursuit.estimators._validation import (
    check_sample_weight,
    check_weighted_classes,
    class_codes,
    class_weights,
)
from pursuit.fitting import Fit
from pursuit.losses import Logistic, Loss, is_named
from pursuit.methods import Method, Redrawn
from pursuit.metrics import Metric
from pursuit.selection import Selection

from .base import BaseKMP
from .batches import BatchFits
from .bounding import Bounded
from .callbacks import with_callbacks
from .continuing import Known
from .outputs import ClassOutputs, class_targets
from .sets import Sets


def _has_probabilities(loss: Any) -> bool:
    return is_named(loss, Logistic) or hasattr(loss, "probabilities")


def _lacks_probabilities(estimator: Any) -> None:
    """Raise an AttributeError that says how to get probabilities."""
    is_calibrated = getattr(estimator, "probability", None) is not None
    if not is_calibrated and not _has_probabilities(estimator.loss):
        raise AttributeError(
            f"loss={estimator.loss!r} has no probabilities: set "
            "probability='temperature', which costs no second fit, or use "
            "loss='logistic'."
        )


class KMPClassifier(ClassifierMixin, Sets, Bounded, BatchFits, BaseKMP):
    """Kernel matching pursuit for classification, with the squared or any other loss.

    A sparse kernel expansion for each class (only one for two classes) is built point
    by point from the training points. The number of points can be set, and one fit
    gives the models of all smaller sizes.

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
    loss : str or Loss, default="auto"
        Loss to minimize: "squared"; "margin", the squared distance to outputs that
        separate the classes; "logistic", which gives probabilities (one softmax
        if several classes share their support); "hinge" (smoothed), "squared-hinge",
        "exponential", "squared-tanh", "doom2"; or a loss object of
        :mod:`pursuit.losses`, including your own. "auto" is "squared", but "margin" for
        three or more classes that share their support, up to 10 000 rows, if the kernel
        is learned: fewer points are enough then. Kernels are learned under the squared
        loss whatever the loss.
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
    multiclass : {"shared", "ovr"}, default="shared"
        With more than two classes: "shared" chooses one set of support points for all
        by the summed gain, so that a prediction costs one kernel row; "ovr" chooses
        one set for each class.
    class_weight : dict, "balanced" or None, default=None
        Factors of the sample weights, as in SVC. "balanced" makes the summed sample
        weights of the classes equal: a row of weight 2 counts as two rows here too.
    probability : {"temperature", "isotonic"} or None, default=None
        How :meth:`predict_proba` turns values into probabilities, under any loss, by
        the values of the folds' models on the rows that these never saw: the softmax of
        the values times a factor, or a rising step function for each class, which
        needs some thousand rows. None leaves it to the loss, if that has probabilities.
        Needs a `selection` that holds rows out.
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
    KMPRegressor : Kernel matching pursuit for regression.

    Notes
    -----
    Classes are coded as -1 and +1. Sizes, widths and ridges are compared by the loss,
    which is less noisy than the number of errors, unless the selection has a
    `scoring`.
    :meth:`predict_proba` is available with `probability`, and with losses that give
    probabilities, such as "logistic".

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

    _outputs: ClassOutputs

    def __init__(
        self,
        kernel: KernelName | Literal["auto", "precomputed"] | KernelFunction = "auto",
        *,
        gamma: float | WidthRule | Literal["cv"] = "cv",
        metric: MetricWord | Auto | Metric | list[Any] | np.ndarray | None = "auto",
        dictionary: Any = None,
        loss: ClassLoss | Auto | Loss = "auto",
        max_support: int | float | None = None,
        method: MethodWord | Method = "pre-fitting",
        selection: SelectionWord | Selection | None = "cv",
        alpha: float | Literal["cv"] = "cv",
        fit_intercept: bool = True,
        n_candidates: int | float | Auto | Redrawn | None = "auto",
        max_memory: int | str | None = None,
        max_time: float | str | None = None,
        dtype: FloatType | type | np.dtype = "float64",
        multiclass: Multiclass = "shared",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        probability: ProbabilityWord | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(
            kernel,
            gamma=gamma,
            metric=metric,
            dictionary=dictionary,
            loss=loss,
            max_support=max_support,
            method=method,
            selection=selection,
            alpha=alpha,
            fit_intercept=fit_intercept,
            n_candidates=n_candidates,
            max_memory=max_memory,
            max_time=max_time,
            dtype=dtype,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )
        self.multiclass = multiclass
        self.class_weight = class_weight
        self.probability = probability

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
            A weight of 2 is the same as the row twice, 0 the same as no row. (A bound
            counts rows, so that fractions of a weight mean nothing to
            ``selection="bound"``.)
        groups : array-like of shape (n_samples,), optional
            For ``selection=CrossValidation(splitter)``, if the splitter keeps groups
            of rows together, such as scikit-learn's ``GroupKFold``.

        Returns
        -------
        self : KMPClassifier
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
        check_choice("multiclass", self.multiclass, ("shared", "ovr"))
        check_choice("probability", self.probability, (None, *CALIBRATIONS))
        X, y = self._validated(X, y)
        self.classes_, codes = class_codes(y)
        counts = check_sample_weight(sample_weight, len(codes))
        factors = class_weights(self.class_weight, self.classes_, codes, counts)
        weight = counts * factors[codes]
        check_weighted_classes(self.classes_, codes, weight)
        Y = class_targets(codes, len(self.classes_))
        is_shared = self.multiclass == "shared" or len(Y) == 1
        if not is_shared and getattr(self.loss, "is_coupled", False):
            raise ValueError(
                f"loss={self.loss!r} is about all classes together, but "
                "multiclass='ovr' fits each by itself: use loss='logistic', or "
                "multiclass='shared'."
            )
        loss = self._bound_loss(settings, Y, weight, is_joint=is_shared and len(Y) > 1)
        more = {"counts": counts, "classes": self.classes_, "codes": codes}
        sample = self._sample(settings, X, Y, weight, loss, **more)
        outputs = ClassOutputs(self.classes_, loss)
        return self._pursue(settings, sample, outputs, y, groups, is_shared, known)

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
        values = self._values(X)
        return self._outputs.decide(values)

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
        values = self._values(X)
        return self._outputs.predict(values)

    @available_unless(_lacks_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes.

        Available with `probability`, and with losses that give probabilities, such as
        "logistic". :meth:`predict` returns the class of the largest.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points, as in :meth:`decision_function`.

        Returns
        -------
        P : ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns in the order of ``classes_``.
        """
        values = self._values(X)
        return self._outputs.probabilities(values)

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
        return self._outputs.log_probabilities(values)

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
            yield self._outputs.decide(values)

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
        for outputs, values in self._staged_with_outputs(X):
            yield outputs.predict(values)

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
        for outputs, values in self._staged_with_outputs(X):
            yield outputs.probabilities(values)

    def _encoded(self, y: Any) -> np.ndarray:
        """Return targets (T, n) as the fit sees them."""
        y = column_or_1d(y)
        codes = np.searchsorted(self.classes_, y).clip(max=len(self.classes_) - 1)
        if np.any(self.classes_[codes] != y):
            raise ValueError("y holds classes that the model was not fitted to.")
        return class_targets(codes, len(self.classes_))
