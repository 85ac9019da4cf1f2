"""Base class of the classifiers by local subspaces."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self, TypeVar, cast

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import check_classes
from pursuit._ranges import check_scale, check_squares
from pursuit.estimators._available import available_unless
from pursuit.estimators._saving import Saved
from pursuit.estimators._validation import class_codes, validate_data
from pursuit.neighbors.models import NearestSubspace, Scores
from pursuit.neighbors.neighborhoods import Find
from pursuit.neighbors.queries import Blocks, Reference
from pursuit.neighbors.search import ClassSearch

from ._fitting import Fitted, TrainingRows, fitted
from ._reference import reference_rows, tangents_of
from ._settings import (
    Settings,
    blocks_of,
    check_limits,
    limited_threads,
    without_weights,
)

# What a model answers for points: distances, scores, classes.
Answer = TypeVar("Answer", np.ndarray, Scores)


class LocalSubspaceClassifier(ClassifierMixin, Saved, BaseEstimator):
    """Classifier by the nearest local subspace.

    Subclasses define the subspaces in `_settings`.
    """

    tangents: Any = None
    reference: Any
    max_memory: int | str | None
    n_jobs: int | None
    loo_samples: int
    verbose: int | bool

    _fitted: Fitted

    # -- fitting -------------------------------------------------------------------

    @without_weights("KMPClassifier and DensityClassifier")
    def fit(self, X: Any, y: Any, graph: Any = None) -> Self:
        """Store the reference points, and choose what is "auto" by leave-one-out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Class labels.
        graph : sparse matrix of shape (n_samples, n_samples), optional
            Distances to near training points, used instead of a search for the
            leave-one-out choices. Entries of the point itself and of rows equal to it
            are ignored. If fewer than `n_neighbors` points of a class are stored,
            fewer are used.

        Returns
        -------
        self : object
            The fitted model.
        """
        X, y = validate_data(self, X, y, dtype=[np.float64, np.float32], order="C")
        self.classes_, codes = class_codes(y)
        check_classes(self.classes_)
        settings = self._settings()
        check_limits(self.max_memory, self.n_jobs, self.verbose)
        check_scale(X)
        self.reference_ = reference_rows(self.reference, X, y)
        training = TrainingRows(X, codes, self.reference_, graph)
        blocks = blocks_of(len(X), self.max_memory, self.n_jobs, self.verbose)
        with limited_threads(self.n_jobs, len(X), X):
            reference = self._kept_points(training, settings.search)
            self._set_fitted(fitted(settings, reference, training, blocks))
        return self

    def _set_fitted(self, fitted: Fitted) -> None:
        """Store the fitted classifier, and show its numbers as attributes."""
        self._fitted = fitted
        self.n_neighbors_ = fitted.model.n_neighbors
        self.loo_table_ = fitted.table
        self.temperature_ = fitted.temperature

    def _settings(self) -> Settings:
        """Return the checked parameters."""
        raise NotImplementedError

    def _kept_points(self, training: TrainingRows, search: Any) -> Reference:
        """Return the reference points, ready for a search."""
        rows, n_classes = training.kept, len(self.classes_)
        # A copy, so that later changes of the caller's X do not affect the model.
        points, codes = training.X[rows], training.codes[rows]
        sizes = np.bincount(codes, minlength=n_classes)
        if np.any(sizes == 0):
            missing = self.classes_[sizes == 0].tolist()
            raise ValueError(
                f"reference, of {len(rows)} training rows, holds no point of the "
                f"classes {missing}: add rows of them, or leave them out of y."
            )
        tangents = tangents_of(self.tangents, points, rows, len(training.X))
        index = ClassSearch(points, codes, n_classes, search)
        return Reference(points, n_classes, index, tangents)

    # -- using ---------------------------------------------------------------------

    def distances(self, X: Any, graph: Any = None) -> np.ndarray:
        """Return the distances to the local subspaces of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        graph : sparse matrix of shape (n_samples, n_training_samples), optional
            Distances to near training points, used instead of a search. If fewer than
            `n_neighbors_` points of a class are stored, fewer are used.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_classes)
            Exact distances in double precision; infinite for a class without a
            neighbor in `graph`.
        """
        return self._ask(NearestSubspace.distances, X, graph)

    def decision_function(self, X: Any, graph: Any = None) -> np.ndarray:
        """Return the negative distances, with ties broken.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        graph : sparse matrix of shape (n_samples, n_training_samples), optional
            As in :meth:`distances`.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Negative distance to each class, minus 1e-9 of the distance to its nearest
            point; for two classes their difference, positive for ``classes_[1]``. If
            these are equal for several classes, all but the one with the most points
            at that distance get up to 1e-9 of the typical distance less.
        """
        scores = self._ask(NearestSubspace.scores, X, graph)
        values = scores.ranked(self._fitted.model.unit)
        return values[:, 0] - values[:, 1] if len(self.classes_) == 2 else -values

    def predict(self, X: Any, graph: Any = None) -> np.ndarray:
        """Return the class of the nearest local subspace.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        graph : sparse matrix of shape (n_samples, n_training_samples), optional
            As in :meth:`distances`.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels. They agree with :meth:`decision_function`, although most
            distances are only bounded.
        """
        codes = self._ask(NearestSubspace.nearest_class, X, graph)
        return self.classes_[codes]

    def _lacks_temperature(self) -> None:
        """Raise an AttributeError that says how to get probabilities."""
        if getattr(self, "temperature_", self.loo_samples or None) is None:
            raise AttributeError(
                "Probabilities need a temperature, which is chosen by leaving out "
                f"training points; with loo_samples={self.loo_samples!r} there is none."
            )

    @available_unless(_lacks_temperature)
    def predict_proba(self, X: Any, graph: Any = None) -> np.ndarray:
        """Return class probabilities, a softmax of the negative distances.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        graph : sparse matrix of shape (n_samples, n_training_samples), optional
            As in :meth:`distances`.

        Returns
        -------
        probabilities : ndarray of shape (n_samples, n_classes)
            ``softmax(-distance / temperature_)``. The temperature maximizes the
            likelihood of left-out training points and of one pretended point that
            misses its class by the typical margin, without which a perfect record
            would claim certainty. So the probabilities are calibrated on the whole;
            they do not come from a model of the class densities. Classes at equal
            distances share theirs by their numbers of nearest points.
        """
        return softmax(self._logits(X, graph), axis=1)

    @available_unless(_lacks_temperature)
    def predict_log_proba(self, X: Any, graph: Any = None) -> np.ndarray:
        """Return the logarithms of the class probabilities.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        graph : sparse matrix of shape (n_samples, n_training_samples), optional
            As in :meth:`distances`.

        Returns
        -------
        logarithms : ndarray of shape (n_samples, n_classes)
            Of :meth:`predict_proba`; finite even where these round to 0, and minus
            infinity for a class without a neighbor in `graph`.
        """
        return log_softmax(self._logits(X, graph), axis=1)

    def _logits(self, X: Any, graph: Any) -> np.ndarray:
        scores = self._ask(NearestSubspace.scores, X, graph)
        return scores.logits(cast(float, self.temperature_))

    def _ask(
        self,
        question: Callable[[NearestSubspace, np.ndarray, Find, Blocks], Answer],
        X: Any,
        graph: Any,
    ) -> Answer:
        """Return the model's answer for points that are to be validated."""
        if not hasattr(self, "_fitted"):
            check_is_fitted(self)
        model = self._fitted.model
        points = model.reference.points
        X = validate_data(self, X, dtype=points.dtype, order="C", reset=False)
        check_squares(X)
        blocks = blocks_of(len(X), self.max_memory, self.n_jobs, self.verbose)
        find = self._fitted.finder(X, graph, blocks.limits.n_threads)
        with limited_threads(self.n_jobs, len(X), points):
            return question(model, X, find, blocks)
