"""Prediction sets and calibrated probabilities of the classifier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pursuit.calibration import CALIBRATIONS, Calibration
from pursuit.conformal import Scores
from pursuit.fitting.held_out import FoldModel, FoldPath
from pursuit.fitting.plan import Plan

from .held_out import HeldOut, as_coverages
from .outputs import ClassOutputs


class Sets(HeldOut):
    """Mixin of the classifier: which classes a row may be of, and how likely."""

    _outputs: ClassOutputs

    # -- probabilities -------------------------------------------------------------

    def _check_plan(self, plan: Plan) -> None:
        """Raise a ValueError if there will be nothing to calibrate by."""
        if self.probability is not None and not len(plan.folds):
            raise ValueError(
                f"probability={self.probability!r} needs rows that the fit holds out, "
                f"and selection={plan.selection.word!r} holds out none here: use "
                "selection='cv' or 'validation', and rows that differ in X."
            )

    def _keep_folds(self, folds: Sequence[FoldPath]) -> None:
        """Keep these models, and the calibration that follows from them."""
        super()._keep_folds(folds)
        if self.probability is not None and folds:
            kind = CALIBRATIONS[self.probability]
            self._outputs = self._calibrated(kind, self._sizes)

    def _outputs_of(self, sizes: Sequence[int]) -> ClassOutputs:
        """Return the outputs with the calibration of a model of these sizes."""
        calibration = self._outputs.calibration
        if calibration is None or list(sizes) == list(self._sizes):
            return self._outputs
        if not self._folds:
            return replace(self._outputs, calibration=None)
        return self._calibrated(type(calibration), sizes)

    def _calibrated(
        self, kind: type[Calibration], sizes: Sequence[int]
    ) -> ClassOutputs:
        """Return the outputs with a calibration of this kind.

        Where the folds have no model so large, their largest tells.
        """
        models = [
            fold.at([min(n, m) for n, m in zip(sizes, fold.longest, strict=True)])
            for fold in self._folds
        ]
        values, codes, weight = (
            np.concatenate(parts)
            for parts in zip(
                *((m.values, codes_of(m.Y), m.weight) for m in models), strict=True
            )
        )
        calibration = kind.of(values, codes, weight)
        return replace(self._outputs, calibration=calibration)

    # -- sets ----------------------------------------------------------------------

    def predict_set(self, X: Any, coverage: Any = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions, and sets of classes that hold so many of the true ones.

        A class is in the set unless the model is more wrong about it than about enough
        of the rows that it never saw, each judged by the fold's model that held it out.
        How wrong it is: one minus the probability under losses that have probabilities,
        otherwise how far the value of another class is above that of the class. A set
        may be empty: nothing like this row was seen. No other fit is needed.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; if precomputed, their kernel with all training points.
        coverage : float or sequence of float, default=0.9
            Share of rows whose class is in the set.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Predictions, as :meth:`predict`.
        sets : ndarray of bool of shape (n_samples, n_classes, n_coverages)
            Whether each class is in the set; columns in the order of ``classes_``.

        Notes
        -----
        The coverage is that of all classes together, for rows from where the training
        rows came from; rows of a rare class may be covered less often. Other sizes have
        sets too: ``truncate(n).predict_set(X)``, or :meth:`staged_predict_set`.

        References
        ----------
        .. [1] M. Sadinle, J. Lei and L. Wasserman, "Least ambiguous set-valued
           classifiers with bounded error levels", Journal of the American Statistical
           Association 114, 223-234, 2019.
        .. [2] Y. Romano, M. Sesia and E. J. Candès, "Classification with valid and
           adaptive coverage", NeurIPS 2020.
        """
        coverages = as_coverages(coverage)
        models = self._fold_models()
        X = self._staged_points(X)
        predicted = self._outputs.predict(self._expansion(X))
        return predicted, self._sets(X, models, coverages)

    def staged_predict_set(
        self, X: Any, coverage: Any = 0.9
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield predictions and sets of the models of sizes 1, 2, ...

        The stages go as far as the models of the folds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.
        coverage : float or sequence of float, default=0.9
            Share of rows whose class is in the set.

        Yields
        ------
        y, sets : ndarray
            As :meth:`predict_set` of ``truncate(n)``.
        """
        coverages = as_coverages(coverage)
        self._fold_models([0])
        stages = self._staged_with_outputs(X)
        X = self._staged_points(X)
        for n in range(1, self._largest_known + 1):
            outputs, values = next(stages)
            sets = self._sets(X, self._fold_models([n]), coverages)
            yield outputs.predict(values), sets

    def _sets(
        self, X: Any, models: Sequence[FoldModel], coverages: np.ndarray
    ) -> np.ndarray:
        """Return the sets at X by the models of the folds, (n, C, n_coverages)."""
        true = [
            self._wrongness(m.values)[np.arange(len(m.Y)), codes_of(m.Y)]
            for m in models
        ]
        scores = Scores.of(true, [m.weight for m in models])
        new = np.stack([self._wrongness(m.expansion(X)) for m in models], axis=-1)
        sets = [
            [scores.are_likely(new[:, c], share) for c in range(new.shape[1])]
            for share in coverages
        ]
        return np.array(sets).T

    def _wrongness(self, values: np.ndarray) -> np.ndarray:
        """Return how wrong values (n, T) are if each class is the true one.

        A calibration is not used: it has seen all held-out rows.
        """
        loss = self._outputs.loss
        if hasattr(loss, "probabilities"):
            return 1.0 - loss.probabilities(values.T).T
        if values.shape[1] == 1:
            return np.hstack([values, -values])
        best, second = np.sort(values, axis=1)[:, :-3:-1].T
        highest_other = np.where(
            values == best[:, None], second[:, None], best[:, None]
        )
        return highest_other - values


def codes_of(Y: np.ndarray) -> np.ndarray:
    """Return the class of each row, as a number, from targets (n, T) of -1 and 1."""
    if Y.shape[1] == 1:
        return (Y[:, 0] > 0).astype(np.intp)
    return np.asarray(Y.argmax(axis=1))
