"""The learned metric as a transformer."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.multiclass import type_of_target
from sklearn.utils.validation import (
    _check_feature_names_in,
    _generate_get_feature_names_out,
    check_is_fitted,
)

from pursuit._parameters import check_choice, is_whole
from pursuit._words import KernelFunction, KernelName, MetricWord, Task
from pursuit.gradients import column_scales
from pursuit.kernels import InMetric, Kernel
from pursuit.kernels.metric import mapped
from pursuit.metrics import Best, Diagonal, Full

from ._onnx import OnnxConvertible
from ._saving import Saved
from ._validation import check_sample_weight, validate_data
from .kmp import KMPClassifier, KMPRegressor

_METRICS = {"best": Best, "diagonal": Diagonal, "full": Full}
TASKS = ("auto", "classification", "regression")


class LearnedMetric(OnnxConvertible, TransformerMixin, Saved, BaseEstimator):
    """Transform points so that distances between them count what matters to y.

    The metric of a kernel matching pursuit is learned, as by
    ``KMPClassifier(metric=...)``, and applied: Euclidean distances between transformed
    points are distances in the metric. Put it before any method that goes by distances,
    such as SVC, KNeighborsClassifier, HKNNClassifier or a density.

    Parameters
    ----------
    shape : {"best", "diagonal", "full"}, default="best"
        A weight for each feature, a weight for each direction, or the better of both
        and the features' own scales, on held-out rows.
    kernel : str or kernel object, default="rbf"
        Kernel whose metric is learned; "auto" also compares the Laplacian kernel.
    task : {"auto", "classification", "regression"}, default="auto"
        What y is. "auto" takes strings, booleans and whole numbers as classes.
    n_rounds : int, default=6
        Maximum number of rounds in which the metric is learned.
    n_components : int or None, default=None
        Number of directions to keep, those of the largest weights. None keeps all
        features, in their order, or as many directions as there are features.
    max_support : int, float or None, default=None
        Maximum number of support points of the model whose gradients are used, as in
        :class:`KMPClassifier`.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds. With None they are the same at every fit.
    verbose : int or bool, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    metric_ : ndarray of shape (n_features,) or (n_features, n_features)
        Weights of the features' squared differences, or the matrix of the metric; their
        scale is such that transformed training points have a mean variance of 1.
    factor_ : ndarray of shape (n_features,) or (n_features, n_components)
        Transformed points are ``X * factor_`` or ``X @ factor_``.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in how much the model varies.
    model_ : KMPClassifier or KMPRegressor
        Model whose metric it is.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    KMPClassifier : Learns the metric together with a classifier.
    KMPRegressor : Learns the metric together with a regressor.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import LearnedMetric
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(200, 5)) * [1, 1, 10, 100, 1000]
    >>> y = X[:, 0] * X[:, 1] > 0
    >>> metric = LearnedMetric("diagonal").fit(X, y)
    >>> bool(metric.feature_importances_[:2].sum() > 0.9)
    True
    """

    def __init__(
        self,
        shape: MetricWord = "best",
        *,
        kernel: KernelName | KernelFunction = "rbf",
        task: Task = "auto",
        n_rounds: int = 6,
        n_components: int | None = None,
        max_support: int | float | None = None,
        random_state: Any = None,
        verbose: int | bool = 0,
    ) -> None:
        self.shape = shape
        self.kernel = kernel
        self.task = task
        self.n_rounds = n_rounds
        self.n_components = n_components
        self.max_support = max_support
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Class labels or target values.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same as the row twice, 0 the same as no row.

        Returns
        -------
        self : LearnedMetric
            The fitted transformer.
        """
        check_choice("shape", self.shape, tuple(_METRICS))
        check_choice("task", self.task, TASKS)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=np.float64,
            multi_output=True,
            y_numeric=self.task == "regression",
        )
        self._check_components(X.shape[1])
        weight = check_sample_weight(sample_weight, X.shape[0])
        self.model_ = self._model(y).fit(X, y, sample_weight=weight)
        factor = _factor_of(self.model_.kernel_, X.shape[1])
        factor = factor if self.n_components is None else self._directions(factor)
        self.factor_ = factor * _unit(factor, column_scales(X, weight))
        is_vector = self.factor_.ndim == 1
        self.metric_ = self.factor_**2 if is_vector else self.factor_ @ self.factor_.T
        self._n_features_out = self.factor_.shape[-1]
        return self

    def transform(self, X: Any) -> Any:
        """Return the points in the metric.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        X_new : ndarray or sparse matrix of shape (n_samples, n_components)
            Sparse if X is and each feature has a weight.
        """
        check_is_fitted(self, "factor_")
        X = validate_data(self, X, reset=False, accept_sparse="csr", dtype=np.float64)
        return mapped(X, self.factor_)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the transformed features.

        Parameters
        ----------
        input_features : array-like of str or None, default=None
            Names of the features; by default those seen in `fit`.

        Returns
        -------
        names : ndarray of str
            The same names if each feature has a weight, else learnedmetric0, …
        """
        check_is_fitted(self, "factor_")
        if self.factor_.ndim == 1:
            return _check_feature_names_in(self, input_features)
        return _generate_get_feature_names_out(
            self, self._n_features_out, input_features=input_features
        )

    @property
    def feature_importances_(self) -> np.ndarray:
        """The share of each feature in how much the model varies."""
        check_is_fitted(self, "factor_")
        return self.model_.feature_importances_

    def _model(self, y: np.ndarray) -> KMPClassifier | KMPRegressor:
        metric = _METRICS[self.shape](n_rounds=self.n_rounds)
        kind = KMPClassifier if self._is_class(y) else KMPRegressor
        return kind(
            self.kernel,
            metric=metric,
            max_support=self.max_support,
            random_state=self.random_state,
            verbose=self.verbose,
        )

    def _is_class(self, y: np.ndarray) -> bool:
        if self.task != "auto":
            return self.task == "classification"
        return type_of_target(y, input_name="y") in ("binary", "multiclass")

    def _check_components(self, n_features: int) -> None:
        n = self.n_components
        if n is not None and (not is_whole(n, 1) or n > n_features):
            raise ValueError(
                f"n_components={n!r} must be None or a whole number from 1 to the "
                f"number of features, {n_features}."
            )

    def _directions(self, factor: np.ndarray) -> np.ndarray:
        """Return the directions of the largest weights, scaled by them."""
        if factor.ndim == 1:
            factor = np.diag(factor)
        vectors, values, _ = linalg.svd(factor)
        return np.asarray((vectors * values)[:, : self.n_components])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.required = True
        return tags


def _factor_of(kernel: Kernel, n_features: int) -> np.ndarray:
    if isinstance(kernel, InMetric):
        return np.asarray(kernel.factor)
    return np.ones(n_features)


def _unit(factor: np.ndarray, scales: np.ndarray) -> float:
    """Return what makes the mean variance of mapped training points 1, about.

    Features count as if they were uncorrelated.
    """
    deviations = np.divide(1.0, scales, out=np.zeros(len(scales)), where=scales > 0)
    parts = factor * deviations if factor.ndim == 1 else factor * deviations[:, None]
    total = float(np.square(parts).sum())
    return float(np.sqrt(len(factor) / total)) if total > 0 else 1.0
