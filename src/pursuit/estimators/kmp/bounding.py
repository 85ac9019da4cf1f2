"""Generalization bounds of fitted KMP models, along their paths."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, is_classifier
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import whole_between
from pursuit._rows import exact_digests
from pursuit.bounds import BoundCurve
from pursuit.bounds.paths import (
    BoundRule,
    Training,
    bound_curve,
    check_rule,
    counted_rows,
    default_kind,
    positions_of,
)
from pursuit.estimators._validation import check_sample_weight
from pursuit.expansions import values_of
from pursuit.path import Path


class Bounded(BaseEstimator):
    """The method of the KMP estimators that bounds their errors on new rows."""

    def bound(
        self,
        X: Any,
        y: Any,
        kind: str | None = None,
        *,
        alpha: float | None = None,
        delta: float = 0.05,
        sample_weight: Any = None,
        output: int | None = None,
    ) -> BoundCurve:
        """Return a generalization bound at sizes 0, 1, ... of the path.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training points, as they were passed to `fit`.
        y : array-like of shape (n_samples,)
            Their targets.
        kind : {"vc", "mdl", "finite-class"}, optional
            "vc" bounds the share of new rows with ``|f(x) - y| > alpha``
            (:func:`pursuit.bounds.vc`, one output); the others bound the error rate of
            classifiers, with the fewest bits per weight that keep the training errors
            (:func:`pursuit.bounds.mdl`, :func:`pursuit.bounds.finite_class`). By
            default "finite-class" for classes, otherwise "vc".
        alpha : float, optional
            Tolerated error for "vc". By default 1 for classes, where a wrong sign is
            an error of 1 or more, otherwise half of the targets' standard deviation.
        delta : float, default=0.05
            Probability with which the bound may fail.
        sample_weight : array-like of shape (n_samples,), optional
            Weights of the fit, 0 for rows of a class of weight 0. Whole numbers are
            repetitions; otherwise rows of weight 0 are left out, and all others count
            as one.
        output : int, optional
            Class whose path is meant, with ``multiclass="ovr"``.

        Returns
        -------
        curve : BoundCurve
            Bound at each size, and the size at which it is lowest.
        """
        check_is_fitted(self, "dual_coef_")
        if self._is_batched:
            raise ValueError(
                "This model was fitted by batches, which do not say on which rows its "
                "points lie: a bound needs a model fitted by fit(X, y)."
            )
        is_class = is_classifier(self)
        if not is_class and not self._outputs.loss.is_identity_linked:
            raise ValueError(
                f"The loss {self._outputs.loss!r} transforms the values of the model: "
                "there is no bound for it."
            )
        X, Y = self._staged_points(X), self._encoded(y)
        if not X.shape[0] == Y.shape[1] == self._n_rows:
            raise ValueError(
                f"X has {X.shape[0]} rows and y {Y.shape[1]}, but the model was fitted "
                f"to {self._n_rows}: a bound is about the training data."
            )
        self._check_training_points(X)
        path, Y = self._one_path(Y, output)
        kind = default_kind(is_class) if kind is None else kind
        rule = BoundRule(kind, alpha, delta)
        check_rule(rule, is_class, len(Y))
        weight = check_sample_weight(sample_weight, len(Y.T))
        counted = counted_rows(weight)
        functions = self._functions_of(path.support)
        K = values_of(functions, X)[counted]
        rows = positions_of(functions.rows, counted)
        training = Training(Y[:, counted], rows, self._n_candidates, is_class)
        return bound_curve(path, K, training, rule)

    def _check_training_points(self, X: Any) -> None:
        """Raise a ValueError if a support point is not among the rows of X."""
        functions = self._path_functions
        if self._was_matrix or not len(functions) or np.any(functions.rows < 0):
            return
        points = functions.centers
        known, wanted = (exact_digests(Z, np.arange(Z.shape[0])) for Z in (X, points))
        if not np.isin(wanted, known).all():
            raise ValueError(
                "X does not hold all points of the model: a bound is about the "
                "training data, as the model saw them (in a pipeline, transformed)."
            )

    def _one_path(self, Y: np.ndarray, output: int | None) -> tuple[Path, np.ndarray]:
        """Return the path of an output, and its targets."""
        paths = self.path_.paths
        if len(paths) == 1:
            if output is not None:
                raise ValueError(
                    f"output={output!r} is for multiclass='ovr'; here all outputs "
                    "share one path: leave it out."
                )
            return paths[0], Y
        if output is None:
            raise ValueError(
                "Each class has a path of its own: name one, as output=0 (of "
                f"{len(paths)})."
            )
        t = whole_between("output", output, 0, len(paths) - 1, "the last class")
        return paths[t], Y[t : t + 1]
