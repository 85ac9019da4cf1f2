"""Kernel matching pursuit on Dask: the scikit-learn faces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from distributed import Client
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pursuit import KMPClassifier, KMPRegressor
from pursuit._words import (
    Auto,
    ClassLoss,
    FloatType,
    KernelFunction,
    KernelName,
    MethodWord,
    MetricWord,
    Multiclass,
    NumberLoss,
    SelectionWord,
    WidthRule,
)
from pursuit.estimators._available import available_unless
from pursuit.estimators._batches import for_blocks
from pursuit.estimators.kmp.batch_scores import Score
from pursuit.estimators.kmp.summary import Summary
from pursuit.losses import Loss
from pursuit.methods import Method, Redrawn
from pursuit.metrics import Metric
from pursuit.selection import Selection

from .base import BaseDask

__all__ = ["DaskKMPClassifier", "DaskKMPRegressor"]


class BaseDaskKMP(BaseDask):
    """What the regressor and the classifier share."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Fit the model to rows of Dask, where they are.

        What :meth:`pursuit.KMPRegressor.fit_batches` does, on the partitions. Each of
        the three or more trips computes `X` and `y` anew: ``persist()`` them before if
        the workers' memory holds them, or if it takes long to compute them.

        Parameters
        ----------
        X : dask array or dask frame of shape (n_samples, n_features)
            Training points, divided by rows. Partitions are arrays, CSR matrices or
            pandas frames; they may be empty, and their sizes unknown.
        y : dask array, series or frame
            Targets of the rows. Arrays of known sizes are divided as X; all others
            must be.
        sample_weight : dask array or series of shape (n_samples,), optional
            Weights of the rows, divided as `y`.

        Returns
        -------
        self : estimator
            The fitted model.
        """
        return self._fit(self._visits(X, y, sample_weight))

    def summary(self) -> Summary:
        """Return what became of the fit, in a few lines.

        Returns
        -------
        summary : Summary
            That of the local model.
        """
        check_is_fitted(self, "local_")
        return self.local_.summary()

    def predict(self, X: Any) -> Any:
        """Return the predictions, not computed yet.

        Parameters
        ----------
        X : dask array or dask frame of shape (n_samples, n_features)
            Points, divided by rows. For points in memory the local model predicts, at
            once.

        Returns
        -------
        y : dask array of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, divided as `X`.
        """
        return self._mapped(X, "predict")

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy, or R², by one trip over the rows.

        Parameters
        ----------
        X, y, sample_weight : dask arrays or frames
            As in :meth:`fit`.

        Returns
        -------
        score : float
            What ``score`` of the local model returns for all rows at once.
        """
        model, visits = self._small(), self._visits(X, y, sample_weight)
        model = for_blocks(model, visits.feature_names)
        return visits.total(Score(model)).score


def _lacks_probabilities(estimator: BaseDaskKMP) -> None:
    """Raise the AttributeError of the local estimator, if it has no probabilities."""
    _ = estimator._unfitted().predict_proba


class DaskKMPClassifier(ClassifierMixin, BaseDaskKMP):
    """Kernel matching pursuit for classification, on arrays and frames of Dask.

    The same model as :meth:`pursuit.KMPClassifier.fit_batches` finds, whatever the
    number of workers and wherever the partitions are. If a worker is lost, others visit
    its partitions again, and the model is the same.

    The parameters are those of :class:`pursuit.KMPClassifier`, and a client. Kernel,
    width and ridge are chosen in this process, on a part of the rows: `n_jobs` and
    `max_memory` are about this process.

    Parameters
    ----------
    client : distributed.Client, optional
        Where to compute. None is the current client; if there is none, Dask's scheduler
        in this process, which is its threads by default. It is left out of pickles, and
        shared by clones.

    Attributes
    ----------
    local_ : KMPClassifier
        The fitted model, an ordinary one: it predicts in memory, and can be saved and
        exported. Its fitted attributes, such as ``n_support_`` and
        ``held_out_error_``, are those of this object too.

    See Also
    --------
    pursuit.KMPClassifier : What the parameters and attributes mean.
    map_rows : Lazy predictions of any fitted estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from pursuit.dask import DaskKMPClassifier
    >>> X = da.random.default_rng(0).random((1000, 2), chunks=(300, 2))
    >>> y = X[:, 0] > X[:, 1]
    >>> model = DaskKMPClassifier("rbf", max_support=10).fit(X, y)
    >>> model.predict(X)
    dask.array<pursuit-predict, shape=(1000,), dtype=bool, chunksize=(300,), ...>
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _kind = KMPClassifier
    # scikit-learn's own needs all predictions in memory.
    score = BaseDaskKMP.score

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
        dtype: FloatType | type | np.dtype = "float64",
        multiclass: Multiclass = "shared",
        class_weight: Mapping[Any, float] | Literal["balanced"] | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        client: Client | None = None,
    ) -> None:
        self._store(locals())

    def decision_function(self, X: Any) -> Any:
        """Return the values of the fitted functions, not computed yet.

        Parameters
        ----------
        X : dask array or dask frame of shape (n_samples, n_features)
            Points, as in :meth:`predict`.

        Returns
        -------
        values : dask array of shape (n_samples,) or (n_samples, n_classes)
            As :meth:`pursuit.KMPClassifier.decision_function`.
        """
        return self._mapped(X, "decision_function")

    @available_unless(_lacks_probabilities)
    def predict_proba(self, X: Any) -> Any:
        """Return the probabilities of the classes, not computed yet.

        Available only with losses that give probabilities, such as "logistic".

        Parameters
        ----------
        X : dask array or dask frame of shape (n_samples, n_features)
            Points, as in :meth:`predict`.

        Returns
        -------
        P : dask array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._mapped(X, "predict_proba")

    @available_unless(_lacks_probabilities)
    def predict_log_proba(self, X: Any) -> Any:
        """Return the logarithms of the probabilities of the classes, not computed yet.

        Available only with losses that give probabilities, such as "logistic".

        Parameters
        ----------
        X : dask array or dask frame of shape (n_samples, n_features)
            Points, as in :meth:`predict`.

        Returns
        -------
        P : dask array of shape (n_samples, n_classes)
            Columns in the order of ``classes_``.
        """
        return self._mapped(X, "predict_log_proba")


class DaskKMPRegressor(RegressorMixin, BaseDaskKMP):
    """Kernel matching pursuit for regression, on arrays and frames of Dask.

    The same model as :meth:`pursuit.KMPRegressor.fit_batches` finds, whatever the
    number of workers and wherever the partitions are. If a worker is lost, others visit
    its partitions again, and the model is the same.

    The parameters are those of :class:`pursuit.KMPRegressor`, and a client. Kernel,
    width and ridge are chosen in this process, on a part of the rows: `n_jobs` and
    `max_memory` are about this process.

    Parameters
    ----------
    client : distributed.Client, optional
        Where to compute. None is the current client; if there is none, Dask's scheduler
        in this process, which is its threads by default. It is left out of pickles, and
        shared by clones.

    Attributes
    ----------
    local_ : KMPRegressor
        The fitted model, an ordinary one: it predicts in memory, and can be saved and
        exported. Its fitted attributes, such as ``n_support_`` and
        ``held_out_error_``, are those of this object too.

    See Also
    --------
    pursuit.KMPRegressor : What the parameters and attributes mean.
    map_rows : Lazy predictions of any fitted estimator.

    Examples
    --------
    >>> import dask.array as da
    >>> from pursuit.dask import DaskKMPRegressor
    >>> X = da.random.default_rng(0).random((1000, 2), chunks=(300, 2))
    >>> y = X.sum(axis=1)
    >>> model = DaskKMPRegressor("rbf", max_support=10).fit(X, y)
    >>> model.predict(X)
    dask.array<pursuit-predict, shape=(1000,), dtype=float64, chunksize=(300,), ...>
    >>> bool(model.score(X, y) > 0.9)
    True
    """

    _kind = KMPRegressor
    # scikit-learn's own needs all predictions in memory.
    score = BaseDaskKMP.score

    def __init__(
        self,
        kernel: KernelName | Literal["auto", "precomputed"] | KernelFunction = "auto",
        *,
        gamma: float | WidthRule | Literal["cv"] = "cv",
        metric: MetricWord | Auto | Metric | list[Any] | np.ndarray | None = "auto",
        dictionary: Any = None,
        loss: ClassLoss | NumberLoss | Auto | Loss = "auto",
        max_support: int | float | None = None,
        method: MethodWord | Method = "pre-fitting",
        selection: SelectionWord | Selection | None = "cv",
        alpha: float | Literal["cv"] = "cv",
        fit_intercept: bool = True,
        n_candidates: int | float | Auto | Redrawn | None = "auto",
        max_memory: int | str | None = None,
        dtype: FloatType | type | np.dtype = "float64",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
        client: Client | None = None,
    ) -> None:
        self._store(locals())
