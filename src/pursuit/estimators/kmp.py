"""Kernel matching pursuit as a regressor and as a classifier."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if

from pursuit._parameters import check_choice
from pursuit.losses import Logistic, Poisson, is_named

from ._base import BaseKMP
from ._callbacks import with_callbacks
from ._kmp_texts import (
    ATTRIBUTES,
    CLASS_LOSSES,
    CLASSIFIER_PARAMETERS,
    REGRESSION_LOSSES,
    parameters,
)
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


class KMPRegressor(RegressorMixin, BaseKMP):  # noqa: D101
    __doc__ = f"""Kernel matching pursuit for regression: squared or any other loss.

    A sparse kernel expansion ``f(x) = sum_j coef_j k(x, x_j) + intercept``, built
    point by point from the training points: the number of points can be set, and
    one fit gives the models of all smaller sizes.  Several targets share one set of
    support points.

    Parameters
    ----------
    {parameters(REGRESSION_LOSSES)}

    Attributes
    ----------
    {ATTRIBUTES}

    See Also
    --------
    KMPClassifier : The same for classes.

    Notes
    -----
    With l rows, M candidates and N points, a path costs O(l M N) time at most, in
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
            A weight of 2 is the same as the row twice, 0 the same as no row.
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
        kind = {"is_class": False, "is_shared": True}
        self._pursue(X, Y, y, folded, weight, groups, **kind)
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

        Past the size that was chosen, to the end of the path: stage ``n`` is what
        ``truncate(n)`` says, and the last one in general not :meth:`predict`.

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
        """Whether there may be several targets.

        One is what Theorem 3 is about, and scikit-learn's checks give several ones
        negative values, which are no counts.
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


def _gives_probabilities(estimator: Any) -> bool:
    """Return True, or say what to do for probabilities."""
    if not _has_probabilities(estimator.loss):
        raise AttributeError(
            f"loss={estimator.loss!r} has no probabilities: use loss='logistic', or "
            "wrap the classifier in scikit-learn's CalibratedClassifierCV."
        )
    return True


class KMPClassifier(ClassifierMixin, BaseKMP):  # noqa: D101
    __doc__ = f"""Kernel matching pursuit for classification: squared or any other loss.

    A sparse kernel expansion for each class (one for two classes), built point by
    point from the training points: the number of points can be set, and one fit
    gives the models of all smaller sizes.

    Parameters
    ----------
    {parameters(CLASS_LOSSES, CLASSIFIER_PARAMETERS)}

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    {ATTRIBUTES}

    See Also
    --------
    KMPRegressor : The same for real-valued targets.

    Notes
    -----
    Classes are coded as -1 and +1.  Sizes, widths and ridges are compared by the loss,
    which is less noisy than the number of errors, unless `scoring` says otherwise.
    :meth:`predict_proba` exists with ``loss="logistic"`` only.

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
            A weight of 2 is the same as the row twice, 0 the same as no row.
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
        weight = weight * of_class[codes]
        check_weighted_classes(self.classes_, codes, weight)
        Y = _class_targets(codes, len(self.classes_))
        is_shared = self.multiclass == "shared" or len(Y) == 1
        kind = {"is_class": True, "is_shared": is_shared}
        self._pursue(X, Y, y, codes.astype(np.float64), weight, groups, **kind)
        return self

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the fitted functions' values.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; if precomputed, their kernel with all training points or with
            the support points only.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes one column, positive for ``classes_[1]``.
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

    @available_if(_gives_probabilities)
    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes.

        Only with ``loss="logistic"``, whose minimum they are; :meth:`predict` is the
        class of the largest.

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

    @available_if(_gives_probabilities)
    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the logarithms of the probabilities of the classes.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points, as in :meth:`decision_function`.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            Of :meth:`predict_proba`.
        """
        values = self._values(X)
        if hasattr(self._loss, "log_probabilities"):
            return self._loss.log_probabilities(values.T).T
        with np.errstate(divide="ignore"):
            return np.log(self._probabilities(values))

    def staged_decision_function(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the function values of the models of sizes 1, 2, ... on the path.

        Past the size that was chosen, to the end of the path: stage ``n`` is what
        ``truncate(n)`` says, and the last one in general not :meth:`decision_function`.

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

        Past the size that was chosen, to the end of the path: stage ``n`` is what
        ``truncate(n)`` says, and the last one in general not :meth:`predict`.

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

    @available_if(_gives_probabilities)
    def staged_predict_proba(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the probabilities by the models of sizes 1, 2, ... on the path.

        Past the size that was chosen, to the end of the path: stage ``n`` is what
        ``truncate(n)`` says, and the last one in general not :meth:`predict_proba`.

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
        # The loss that was fitted, whatever the parameter has become since.
        if hasattr(self._loss, "probabilities"):
            # Rounding may make two of them equal that the values tell apart.
            return self.classes_[self._probabilities(values).argmax(axis=1)]
        if len(self.classes_) == 2:
            return self.classes_[(values[:, 0] > 0).astype(int)]
        return self.classes_[values.argmax(axis=1)]


def _class_targets(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return targets of -1 and +1, one row for each class, or one row for two."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[None]
    return np.where(codes == np.arange(n_classes)[:, None], 1.0, -1.0)
