"""Two classical kernel methods: Nadaraya-Watson and the kernel centroid."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pursuit._limits import budget
from pursuit._parameters import check_classes, is_word
from pursuit._ranges import check_squares
from pursuit._removed import RemovedParameters
from pursuit._words import KernelFunction, KernelName, WidthRule
from pursuit.densities.smoothing import ClassMeans, LeftOutRows, Smoother
from pursuit.estimators._saving import Saved
from pursuit.estimators._validation import (
    as_numbers,
    check_sample_weight,
    class_codes,
    validate_data,
)
from pursuit.kernels import Kernel, as_kernel
from pursuit.kernels.given import bound_to, check_given

from ._equal_rows import removed_weight

# Multiples of the median rule that gamma="loo" compares.
LOO_MULTIPLES = tuple(2.0**e for e in range(-4, 11))
# Range of the values of gamma that are normal numbers.
_WIDTHS = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)


class _KernelEstimator(Saved, RemovedParameters):
    """Estimator of all training points with a kernel; takes sparse points."""

    _removed: ClassVar[dict[str, str]] = {
        "degree": "kernel=Polynomial(degree=...)",
        "coef0": "kernel=Polynomial(coef0=...) or kernel=Sigmoid(coef0=...)",
    }

    kernel_: Kernel

    def _points(self, X: Any) -> Any:
        """Return the validated points of a prediction."""
        X = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if self.kernel_.takes_squares:
            check_squares(X)
        return X

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def bound_kernel(
    kernel: Any, gamma: Any, X: Any, weight: np.ndarray, words: tuple[str, ...] = ()
) -> Kernel:
    """Return the kernel, with gamma computed from the training rows.

    gamma may also be one of ``words``; the kernel then has the median rule's value.
    """
    check_given(kernel, gamma, words=words)
    rule = "median" if isinstance(gamma, str) and gamma in words else gamma
    return bound_to(as_kernel(kernel, rule), X, weight)


class NadarayaWatson(RegressorMixin, _KernelEstimator):
    r"""Kernel regression by the kernel-weighted mean of the targets.

    .. math:: f(x) = \frac{\sum_i k(x, x_i) y_i}{\sum_i k(x, x_i)}

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel, as in :func:`pursuit.kernels.as_kernel`; it must not be negative.
    gamma : float or {"loo", "median", "scale", "auto"}, default="loo"
        Inverse squared width of a kernel that is a name,
        ``k(x, z) = exp(-gamma ‖x - z‖²)`` for "rbf"; larger is narrower. "loo" takes
        the multiple of "median" with the lowest leave-one-out squared error.
    max_memory : int, str or None, default=None
        Memory of a call for blocks of kernel values: bytes, or a text such as "1 GiB".
        None is half of the free memory.

    Attributes
    ----------
    kernel_ : Kernel
        Kernel with a numeric gamma.
    gamma_ : float or None
        Value of gamma that was used; None if the kernel has none.
    search_ : list of dict
        Values of ``gamma`` compared, with their leave-one-out mean squared errors
        (``mse``); empty unless ``gamma="loo"``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    KernelCentroidClassifier : Classifier by the nearest class mean in feature space.

    Notes
    -----
    A prediction costs one kernel value for each training row. Far from all data, where
    every kernel value is too small for a number, it is the exact ratio for the kernels
    "rbf" and "laplacian", and the mean target of the nearest rows for others.

    Leave-one-out is exact, with at most 1000 different rows in turn. Equal rows are
    left out together, unless the features are categories, which new rows will have
    again: if at least a fifth of the weight is in rows of equal features but different
    targets, each is left out alone (rows of equal targets too, together if most
    targets are different numbers, one at a time if they are not).

    References
    ----------
    .. [1] E. A. Nadaraya, "On estimating regression", Theory of Probability and its
       Applications 9, 1964.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import NadarayaWatson
    >>> X = np.linspace(0, 10, 100)[:, None]
    >>> y = np.sin(X[:, 0])
    >>> bool(NadarayaWatson().fit(X, y).score(X, y) > 0.98)
    True
    """

    def __init__(
        self,
        kernel: KernelName | KernelFunction = "rbf",
        *,
        gamma: float | WidthRule | Literal["loo"] = "loo",
        max_memory: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.max_memory = max_memory

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NadarayaWatson:
        """Store the data, and choose gamma if it is "loo".

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same as the row twice, 0 the same as no row.

        Returns
        -------
        self : NadarayaWatson
            The fitted model.
        """
        X, y = validate_data(
            self,
            X,
            as_numbers(y),
            accept_sparse="csr",
            dtype=np.float64,
            multi_output=True,
            y_numeric=True,
        )
        Y = np.asarray(y, dtype=np.float64)
        self._is_single_output = Y.ndim == 1
        weight = check_sample_weight(sample_weight, len(Y))
        used = np.flatnonzero(weight > 0)
        X, Y, weight = X[used], Y.reshape(len(Y), -1)[used], weight[used]
        self.search_: list[dict[str, float]] = []
        kernel = bound_kernel(self.kernel, self.gamma, X, weight, words=("loo",))
        is_searched = is_word(self.gamma, "loo") and isinstance(self.kernel, str)
        if is_searched and hasattr(kernel, "gamma"):
            kernel = self._best_width(kernel, X, Y, weight)
        self.kernel_, self.gamma_ = kernel, getattr(kernel, "gamma", None)
        self._smoother = Smoother.of(kernel, X, Y, weight)
        self._smoother.means(X[:1], budget(self.max_memory))  # reject negative kernels
        return self

    def _best_width(
        self, kernel: Kernel, X: Any, Y: np.ndarray, weight: np.ndarray
    ) -> Kernel:
        """Return the kernel whose gamma has the lowest leave-one-out error."""
        # Scale the targets so that their squares neither overflow nor underflow.
        unit = float(np.abs(Y).max()) or 1.0
        Y = Y / unit
        left_out = LeftOutRows.of(X, Y, weight, removed_weight(X, Y, weight))
        if left_out.points.shape[0] < 2:
            return kernel
        best = kernel
        for multiple in LOO_MULTIPLES:
            gamma = float(np.clip(multiple * kernel.gamma, *_WIDTHS))
            trial = kernel.with_gamma(gamma)
            mse = left_out.error(trial, budget(self.max_memory))
            if not self.search_ or mse < min(row["mse"] for row in self.search_):
                best = trial
            self.search_.append({"gamma": gamma, "mse": mse})
        for row in self.search_:
            row["mse"] *= unit * unit  # Python floats overflow to inf without a warning
        return best

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        check_is_fitted(self, "kernel_")
        F = self._smoother.means(self._points(X), budget(self.max_memory))
        return F[:, 0] if self._is_single_output else F

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags


class KernelCentroidClassifier(ClassifierMixin, _KernelEstimator):
    r"""Classifier by the nearest class mean in the feature space of a kernel.

    .. math:: d^2(x, c) = k(x, x) - 2 \sum_{i \in c} w_i k(x, x_i)
        + \sum_{i, j \in c} w_i w_j k(x_i, x_j)

    with weights that sum to one in each class. With a linear kernel this is
    :class:`sklearn.neighbors.NearestCentroid`; with a Gaussian kernel it compares the
    Parzen windows of the classes, up to a constant for each class.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel, as in :func:`pursuit.kernels.as_kernel`.
    gamma : float or {"median", "scale", "auto"}, default="median"
        Inverse squared width of a kernel that is a name,
        ``k(x, z) = exp(-gamma ‖x - z‖²)`` for "rbf"; larger is narrower.
    max_memory : int, str or None, default=None
        Memory of a call for blocks of kernel values: bytes, or a text such as "1 GiB".
        None is half of the free memory.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    kernel_ : Kernel
        Kernel with a numeric gamma.
    gamma_ : float or None
        Value of gamma that was used; None if the kernel has none.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    DensityClassifier : Classifier by Bayes' rule with one density per class.

    Notes
    -----
    With l training rows, fitting costs O(l²) kernel values and a prediction l.

    References
    ----------
    .. [1] P. Vincent, "Modèles à noyaux à structure locale", PhD thesis, Université de
       Montréal, 2003, §5.3.4.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pursuit import KernelCentroidClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(KernelCentroidClassifier().fit(X, y).score(X, y) > 0.9)
    True
    """

    def __init__(
        self,
        kernel: KernelName | KernelFunction = "rbf",
        *,
        gamma: float | WidthRule = "median",
        max_memory: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.max_memory = max_memory

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None
    ) -> KernelCentroidClassifier:
        """Store the data, and compute the norms of the class means.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Class labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same as the row twice, 0 the same as no row.

        Returns
        -------
        self : KernelCentroidClassifier
            The fitted classifier.
        """
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=np.float64)
        weight = check_sample_weight(sample_weight, len(y))
        used = np.flatnonzero(weight > 0)
        self.classes_, codes = class_codes(y[used])
        check_classes(self.classes_)
        X, weight = X[used], weight[used]
        shares = np.zeros((len(used), len(self.classes_)))
        shares[np.arange(len(used)), codes] = weight
        shares /= shares.sum(axis=0)
        self.kernel_ = bound_kernel(self.kernel, self.gamma, X, weight)
        self.gamma_ = getattr(self.kernel_, "gamma", None)
        memory = budget(self.max_memory)
        self._means = ClassMeans.of(self.kernel_, X, shares, memory)
        return self

    def distances(self, X: Any) -> np.ndarray:
        """Return the squared distances to the class means in feature space.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_classes)
            Squared distances; not negative, up to rounding, if the kernel is positive
            definite.
        """
        check_is_fitted(self, "kernel_")
        memory = budget(self.max_memory)
        return self._means.squared_distances(self._points(X), memory)

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the negative squared distances; for two classes, their difference.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        decision : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive for ``classes_[1]``.
        """
        D = self.distances(X)
        return D[:, 0] - D[:, 1] if D.shape[1] == 2 else -D

    def predict(self, X: Any) -> np.ndarray:
        """Return the class of the nearest mean.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        D = self.distances(X)
        return self.classes_[D.argmin(axis=1)]
