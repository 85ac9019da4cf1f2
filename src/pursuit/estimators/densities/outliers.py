"""Outlier detection by low density."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, MetaEstimatorMixin, OutlierMixin, clone
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import probability
from pursuit._quantiles import lower_quantile
from pursuit.estimators._saving import Saved
from pursuit.estimators._splits import among, partition
from pursuit.estimators._validation import check_sample_weight, validate_data
from pursuit.sample import framer

from ._user_densities import check_density, fit_density, held_out_scores, scores


class DensityOutlierDetector(OutlierMixin, MetaEstimatorMixin, Saved, BaseEstimator):
    """Outlier detector by the log-density of any density estimator.

    The threshold is a quantile of the log-densities of left-out training rows, so that
    it is valid for new rows: about `false_alarm_rate` of new rows that resemble the
    training rows are called outliers. (With the row left in, its density includes its
    own Gaussian and is much higher; a threshold from those would reject almost every
    new row in many dimensions.) For the same reason, a row that equals a training row
    is scored with that row left out, so that `fit_predict` finds the outliers among
    the training rows. Rows that occur more than once (total weight above 1) are not
    left out.

    Parameters
    ----------
    density : estimator
        Estimator with ``fit`` and ``score_samples``, or a pipeline that ends in one.
        If the detector gets a frame, so does the density, which may name columns; all
        columns must be numbers.
    false_alarm_rate : float, default=0.05
        Share of regular new rows that may be called outliers; between 0 and 1.
    cv : int, splitter, iterable or None, default=5
        Folds by which rows are left out if the density has no ``loo_score_samples``: a
        number of folds, a scikit-learn splitter or (train, test) indices that test
        every row once; None is 5-fold without shuffling.

    Attributes
    ----------
    density_ : estimator
        Fitted density.
    offset_ : float
        Threshold: ``decision_function`` is ``score_samples - offset_``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    DensityClassifier : Classifier by Bayes' rule with one density per class.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import DensityOutlierDetector, ParzenWindows
    >>> X = np.random.default_rng(0).standard_normal((200, 2))
    >>> model = DensityOutlierDetector(ParzenWindows()).fit(X)
    >>> model.predict([[0.0, 0.0], [9.0, 9.0]]).tolist()
    [1, -1]
    """

    def __init__(
        self, density: Any, *, false_alarm_rate: float = 0.05, cv: Any = 5
    ) -> None:
        self.density = density
        self.false_alarm_rate = false_alarm_rate
        self.cv = cv

    def fit(
        self, X: Any, y: Any = None, sample_weight: Any = None
    ) -> DensityOutlierDetector:
        """Fit the density and set the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : None
            Ignored.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the density; rows of weight 0 are ignored.

        Returns
        -------
        self : DensityOutlierDetector
            The fitted detector.
        """
        check_density(self.density)
        rate = probability("false_alarm_rate", self.false_alarm_rate)
        frame = X
        X = validate_data(self, X, dtype=np.float64)
        self._framer = framer(frame, getattr(self, "feature_names_in_", None))
        weight = check_sample_weight(sample_weight, len(X))
        folds = partition(self.cv, X, np.zeros(len(X)), weight, is_class=False)
        used = weight > 0
        X, weight, folds = X[used], weight[used], among(folds, used)
        self.density_ = fit_density(clone(self.density), X, weight, self._framer)
        logs = held_out_scores(self.density_, X, weight, folds, self._framer)
        self._left_out = _single_rows(X, weight, logs)
        lowest = float(np.finfo(np.float64).min)
        self.offset_ = max(lower_quantile(logs, weight, rate), lowest)
        return self

    def score_samples(self, X: Any) -> np.ndarray:
        """Return the log-density of each row, with training rows left out.

        By design it jumps at the training rows: a row equal to one that occurred once
        is scored without the contribution of that row, a row next to it with it.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        log_density : ndarray of shape (n_samples,)
            Log-densities; lower is more abnormal.
        """
        check_is_fitted(self, "offset_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        logs = np.array(scores(self.density_, X, self._framer), dtype=np.float64)
        for i, key in enumerate(_keys(X)):
            logs[i] = self._left_out.get(key, logs[i])
        return logs

    def decision_function(self, X: Any) -> np.ndarray:
        """Return the log-density minus the threshold.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        decision : ndarray of shape (n_samples,)
            Negative for outliers.
        """
        return self.score_samples(X) - self.offset_

    def predict(self, X: Any) -> np.ndarray:
        """Return -1 for outliers and 1 for the others.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        y : ndarray of int of shape (n_samples,)
            -1 or 1.
        """
        return np.where(self.decision_function(X) < 0, -1, 1)


def _keys(X: np.ndarray) -> list[bytes]:
    """Return the bytes of each row, the same for 0 and -0."""
    return [row.tobytes() for row in X + 0.0]


def _single_rows(
    X: np.ndarray, weight: np.ndarray, logs: np.ndarray
) -> dict[bytes, float]:
    """Return the left-out log-densities of rows that occur once, by content.

    Empty if all are -inf, as with a single distinct row.
    """
    if np.isneginf(logs).all():
        return {}
    keys = _keys(X)
    count = dict.fromkeys(keys, 0.0)
    for key, w in zip(keys, weight, strict=True):
        count[key] += float(w)
    rows = zip(keys, logs, strict=True)
    return {key: float(log) for key, log in rows if count[key] <= 1.0}
