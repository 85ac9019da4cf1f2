"""Two classical kernel methods: Nadaraya-Watson and the kernel centroid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pursuit._memory import budget
from pursuit._parameters import (
    check_classes,
    check_squares,
    is_word,
)
from pursuit._rows import distinct_rows, row_digests
from pursuit.densities.smoothing import (
    class_mean_products,
    means_of_others,
    squared_distances_to_means,
    weighted_means,
)
from pursuit.densities.widths import LEFT_OUT_ROWS
from pursuit.fitting.folds import are_categories
from pursuit.kernels import Kernel, as_kernel
from pursuit.kernels.given import bound_to, check_given

from ._inputs import validate_data
from ._targets import as_numbers, class_codes
from ._weights import check_sample_weight

# Multiples of the median rule that gamma="loo" compares.
LOO_MULTIPLES = tuple(2.0**e for e in range(-4, 11))
# Share of a sum of weights that may be left of it by rounding.
_ROUNDING = 1e-12
# Range of the values of gamma that are normal numbers.
_WIDTHS = float(np.finfo(np.float64).tiny), float(np.finfo(np.float64).max)


class NadarayaWatson(RegressorMixin, BaseEstimator):
    r"""Kernel regression by the kernel-weighted mean of the targets.

    .. math:: f(x) = \frac{\sum_i k(x, x_i) y_i}{\sum_i k(x, x_i)}

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel, given as in :func:`pursuit.kernels.as_kernel`; it must not be negative.
    gamma : float or {"loo", "median", "scale", "auto"}, default="loo"
        Inverse squared width of a kernel given by name,
        ``k(x, z) = exp(-gamma ‖x - z‖²)`` for "rbf"; larger is narrower. "loo" takes
        the multiple of "median" with the lowest leave-one-out squared error.
    degree : int, default=3
        Degree of the polynomial kernel; ignored by other kernels.
    coef0 : float, default=0.0
        Constant term of the kernels "poly" and "sigmoid"; ignored by other kernels.
    max_memory : int, str or None, default=None
        Memory for blocks of kernel values: bytes, or a text such as "1 GiB". None is
        half of the free memory.

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
        kernel: Any = "rbf",
        *,
        gamma: float | str = "loo",
        degree: int = 3,
        coef0: float = 0.0,
        max_memory: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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
        self._X, self._weight = X[used], weight[used]
        self._Y = Y.reshape(len(Y), -1)[used]
        self.search_: list[dict[str, float]] = []
        is_searched = is_word(self.gamma, "loo")
        kernel = _bound(self, words=("loo",))
        if is_searched and isinstance(self.kernel, str) and hasattr(kernel, "gamma"):
            kernel = self._best_width(kernel)
        self.kernel_, self.gamma_ = kernel, getattr(kernel, "gamma", None)
        self._predicted(self._X[:1])  # reject a negative kernel now
        return self

    def _best_width(self, kernel: Kernel) -> Kernel:
        """Return the kernel whose gamma has the lowest leave-one-out error."""
        # Scale the targets so that their squares neither overflow nor underflow.
        unit = float(np.abs(self._Y).max()) or 1.0
        left_out = _LeftOut.of(self._X, self._Y / unit, self._weight)
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
        check_is_fitted(self)
        F = self._predicted(_validated(self, X))
        return F[:, 0] if self._is_single_output else F

    def _predicted(self, X: Any) -> np.ndarray:
        memory = budget(self.max_memory)
        return weighted_means(self.kernel_, self._X, self._Y, self._weight, X, memory)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.target_tags.multi_output = True
        return tags


@dataclass(frozen=True)
class _LeftOut:
    """Rows to be left out in turn, prepared for many kernels.

    Equal rows are one point: without a row, the mean there is that of the other points
    and of what is kept of its own.

    Attributes
    ----------
    points : ndarray or CSR of shape (S, n)
        Distinct rows.
    means : ndarray of shape (S, T)
        Mean targets.
    masses : ndarray of shape (S,)
        Weights, in units of the largest.
    chosen : ndarray of int of shape (m,)
        Points whose rows are left out.
    place : ndarray of int of shape (L,)
        Index in ``chosen`` of the point of each row left out.
    targets : ndarray of shape (L, T)
    weight : ndarray of shape (L,)
    kept : ndarray of shape (L,)
        Mass of the own point without the row.
    kept_means : ndarray of shape (L, T)
        Mean target of that mass.
    """

    points: Any
    means: np.ndarray
    masses: np.ndarray
    chosen: np.ndarray
    place: np.ndarray
    targets: np.ndarray
    weight: np.ndarray
    kept: np.ndarray
    kept_means: np.ndarray

    @classmethod
    def of(cls, X: Any, Y: np.ndarray, weight: np.ndarray) -> _LeftOut:
        """Prepare all rows, or those of a random sample of points."""
        first, sets = distinct_rows(X, weight)
        totals = np.bincount(sets, weight)
        # Divide before summing, so that the result does not leave the range of Y.
        shares = weight / totals[sets]
        means = np.stack([np.bincount(sets, shares * y) for y in Y.T], axis=1)
        chosen = np.argsort(row_digests(X, first, 0))[:LEFT_OUT_ROWS]
        rows = np.flatnonzero(np.isin(sets, chosen))
        place = np.empty(len(first), dtype=np.int64)
        place[chosen] = np.arange(len(chosen))
        own = sets[rows]
        removed = _removed_weight(X, Y, weight, sets)[rows]
        kept = totals[own] - removed
        kept[kept < _ROUNDING * totals[own]] = 0.0
        factor = removed / np.where(kept > 0, kept, np.inf)
        kept_means = means[own] - factor[:, None] * (Y[rows] - means[own])
        largest = totals.max()
        return cls(
            X[first],
            means,
            totals / largest,
            chosen,
            place[own],
            Y[rows],
            weight[rows],
            kept / largest,
            kept_means,
        )

    def error(self, kernel: Kernel, memory: int) -> float:
        """Return the mean squared error of the rows left out."""
        F, masses = means_of_others(
            kernel, self.points, self.means, self.masses, self.chosen, memory
        )
        F, masses = F[self.place], masses[self.place]
        own = kernel.diag(self.points[self.chosen])[self.place] * self.kept
        share = own / np.where(own > 0, own + masses, 1.0)
        F += share[:, None] * (self.kept_means - F)
        errors = ((F - self.targets) ** 2).mean(axis=1)
        return float(np.average(errors, weights=self.weight))


def _removed_weight(
    X: Any, Y: np.ndarray, weight: np.ndarray, sets: np.ndarray
) -> np.ndarray:
    """Return how much of the weight of its set is left out with each row, (l,)."""
    if len(sets) == sets.max() + 1:
        return weight  # no row repeats
    targets, target = np.unique(Y, axis=0, return_inverse=True)
    target = target.ravel()
    are_kinds, are_copies = are_categories(X, target, weight)
    if are_copies:
        return np.minimum(weight, 1.0)
    if are_kinds:
        _, sets = np.unique(sets * len(targets) + target, return_inverse=True)
    return np.bincount(sets, weight)[sets]


class KernelCentroidClassifier(ClassifierMixin, BaseEstimator):
    r"""Classifier by the nearest class mean in the feature space of a kernel.

    .. math:: d^2(x, c) = k(x, x) - 2 \sum_{i \in c} w_i k(x, x_i)
        + \sum_{i, j \in c} w_i w_j k(x_i, x_j)

    with weights that sum to one in each class. With a linear kernel this is
    :class:`sklearn.neighbors.NearestCentroid`; with a Gaussian kernel it compares the
    Parzen windows of the classes, up to a constant for each class.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        Kernel, given as in :func:`pursuit.kernels.as_kernel`.
    gamma : float or {"median", "scale", "auto"}, default="median"
        Inverse squared width of a kernel given by name,
        ``k(x, z) = exp(-gamma ‖x - z‖²)`` for "rbf"; larger is narrower.
    degree : int, default=3
        Degree of the polynomial kernel; ignored by other kernels.
    coef0 : float, default=0.0
        Constant term of the kernels "poly" and "sigmoid"; ignored by other kernels.
    max_memory : int, str or None, default=None
        Memory for blocks of kernel values: bytes, or a text such as "1 GiB". None is
        half of the free memory.

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
        kernel: Any = "rbf",
        *,
        gamma: float | str = "median",
        degree: int = 3,
        coef0: float = 0.0,
        max_memory: int | str | None = None,
    ) -> None:
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
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
        self._X, self._weight = X[used], weight[used]
        self._shares = np.zeros((len(used), len(self.classes_)))
        self._shares[np.arange(len(used)), codes] = self._weight
        self._shares /= self._shares.sum(axis=0)
        self.kernel_ = _bound(self)
        self.gamma_ = getattr(self.kernel_, "gamma", None)
        self._mean_products = class_mean_products(
            self.kernel_, self._X, self._shares, budget(self.max_memory)
        )
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
        check_is_fitted(self)
        X = _validated(self, X)
        return squared_distances_to_means(
            self.kernel_,
            self._X,
            self._shares,
            self._mean_products,
            X,
            budget(self.max_memory),
        )

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

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _bound(estimator: Any, words: tuple[str, ...] = ()) -> Kernel:
    """Return the estimator's kernel, with gamma computed from its training rows.

    gamma may also be one of ``words``; the kernel then has the median rule's value.
    """
    gamma, shape = estimator.gamma, (estimator.degree, estimator.coef0)
    check_given(estimator.kernel, gamma, *shape, words=words)
    first = "median" if isinstance(gamma, str) and gamma in words else gamma
    return bound_to(
        as_kernel(estimator.kernel, first, *shape), estimator._X, estimator._weight
    )


def _validated(estimator: Any, X: Any) -> Any:
    """Return the validated points of a prediction."""
    X = validate_data(estimator, X, accept_sparse="csr", dtype=np.float64, reset=False)
    if estimator.kernel_.takes_squares:
        check_squares(X)
    return X
