"""Base class of the classifiers by local subspaces."""

from __future__ import annotations

from typing import Any, Self, cast

import numpy as np
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from pursuit._memory import budget
from pursuit._parameters import (
    check_classes,
    check_scale,
    check_squares,
    is_word,
)
from pursuit.neighbors.blocks import Find, QueryBlocks
from pursuit.neighbors.leave_one_out import error_table, temperature
from pursuit.neighbors.nearest_subspaces import NearestSubspace, Scores
from pursuit.neighbors.neighborhoods import ClassSearch, LeftOut, from_graph
from pursuit.neighbors.subspaces import (
    Hulls,
    Hyperplanes,
    Neighborhoods,
    class_variance,
)

from ._available import available_unless
from ._inputs import validate_data
from ._neighbor_parameters import (
    MOST_NEIGHBORS,
    check_shared,
    checked_graph,
    limited_threads,
    limits_of,
    reference_rows,
    rows_left_out_together,
    rows_to_leave_out,
    without_weights,
)
from ._targets import class_codes


class LocalSubspaceClassifier(ClassifierMixin, BaseEstimator):
    """Classifier by the nearest local subspace.

    Subclasses define the subspace by `_penalties` and `_shape`.
    """

    n_neighbors: Any
    tangents: Any = None
    reference: Any
    search: Any
    loo_samples: Any
    max_memory: Any
    random_state: Any
    n_jobs: Any
    verbose: Any

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
        self._check_parameters(len(X))
        check_scale(X)
        self.reference_ = reference_rows(self.reference, X, y)
        with limited_threads(self.n_jobs):
            self._set_reference(X, codes)
            self._choose(X, codes, graph)
        return self

    def _check_parameters(self, n_samples: int) -> None:
        check_shared(self, least_left_out=0)
        if self._is_auto() and self.loo_samples == 0:
            raise ValueError(
                "loo_samples=0 leaves no points by which to choose 'auto' parameters: "
                "give numbers for n_neighbors and penalty, or a positive loo_samples."
            )
        self._check_tangents(n_samples)

    def _check_tangents(self, n_samples: int) -> None:
        T = self.tangents
        if T is None or callable(T):
            return
        if np.ndim(T) != 3 or np.shape(T)[::2] != (n_samples, self.n_features_in_):
            raise ValueError(
                f"tangents has shape {np.shape(T)}: expected (n_samples, n_tangents, "
                f"n_features) = ({n_samples}, any, {self.n_features_in_}), or a "
                "function of points."
            )
        _check_finite_tangents(np.asarray(T))

    def _set_reference(self, X: np.ndarray, codes: np.ndarray) -> None:
        rows, n_classes = self.reference_, len(self.classes_)
        # A copy, so that later changes of the caller's X do not affect the model.
        self._points = X[rows]
        self._codes = codes[rows]
        sizes = np.bincount(self._codes, minlength=n_classes)
        if np.any(sizes == 0):
            missing = self.classes_[sizes == 0].tolist()
            raise ValueError(
                f"reference, of {len(rows)} training rows, holds no point of the "
                f"classes {missing}: add rows of them, or leave them out of y."
            )
        self._position = np.full(len(X), -1)
        self._position[rows] = np.arange(len(rows))
        self._row_codes = codes
        T = self.tangents
        self._tangents = None if T is None or callable(T) else np.asarray(T)[rows]
        self._search = ClassSearch(
            self._points, self._codes, n_classes, self.search, self.n_jobs
        )
        self._variance = class_variance(self._points, self._codes, n_classes)

    def _is_auto(self) -> bool:
        return is_word(self.n_neighbors, "auto")

    def _numbers(self) -> np.ndarray:
        """Return the numbers of neighbors to compare, or the single one given."""
        largest = self._search.largest
        if not is_word(self.n_neighbors, "auto"):
            return np.array([min(int(self.n_neighbors), largest)])
        return np.arange(1, min(MOST_NEIGHBORS, largest) + 1)

    def _penalties(self) -> np.ndarray:
        """Return the penalties to compare, or the single one given."""
        raise NotImplementedError

    def _shape(self, penalty: float) -> Hyperplanes | Hulls:
        raise NotImplementedError

    def _choose(self, X: np.ndarray, codes: np.ndarray, graph: Any) -> None:
        """Set the number of neighbors, the penalty and the temperature."""
        penalties, numbers = self._penalties(), self._numbers()
        most = int(numbers[-1])
        self.loo_table_ = None
        self.n_neighbors_, penalty = most, float(penalties[0])
        if self.loo_samples > 0:
            rows = rows_to_leave_out(self, len(X))
            find = self._leaving_out(X, codes, rows, graph, most)
        if self._is_auto():
            self.loo_table_ = error_table(
                self._shape(0.0),
                self._blocks(),
                X[rows],
                codes[rows],
                find,
                penalties,
                numbers,
            )
            j, k = self.loo_table_.best()
            self.n_neighbors_ = int(self.loo_table_.n_neighbors[k])
            penalty = float(penalties[j])
        self._fitted_shape = self._shape(penalty)
        self._set_penalty(penalty)
        self.temperature_ = None
        if self.loo_samples > 0:
            model = self._model(self._fitted_shape, self.n_neighbors_)
            found = model.scores(X[rows], find)
            self.temperature_ = temperature(found.values, codes[rows], found.shares)

    def _set_penalty(self, penalty: float) -> None:
        """Store the chosen penalty, if the subspaces have one."""

    def _leaving_out(
        self,
        X: np.ndarray,
        codes: np.ndarray,
        rows: np.ndarray,
        graph: Any,
        n_neighbors: int,
    ) -> Find:
        """Return a finder of neighborhoods that leaves out rows equal to the query.

        The neighborhoods are found once and kept, unless that takes more than half of
        the memory.
        """
        sets = rows_left_out_together(X, codes, self.reference_)
        left_out = LeftOut(sets[self.reference_], sets[rows])
        X = X[rows]
        find = self._finder(X, graph, rows, left_out)
        each = 8 * len(self.classes_) * (n_neighbors + 5)
        if len(rows) * each > budget(self.max_memory) // 2:
            return find
        blocks = self._blocks().of(X, find, n_neighbors)
        parts = [query.hoods for _, query in blocks]
        kept = Neighborhoods(
            *(
                np.concatenate([getattr(hoods, name) for hoods in parts])
                for name in ("index", "count", "nearest", "votes")
            )
        )
        return lambda some, k: kept[some].first(k)

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
        X = self._validated(X)
        find = self._finder(X, graph)
        with limited_threads(self.n_jobs):
            return self._fitted_model().distances(X, find)

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
        found = self._scores(X, graph).ranked(float(np.sqrt(self._variance)))
        return found[:, 0] - found[:, 1] if len(self.classes_) == 2 else -found

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
        X = self._validated(X)
        find = self._finder(X, graph)
        with limited_threads(self.n_jobs):
            return self.classes_[self._fitted_model().nearest_class(X, find)]

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
        return self._scores(X, graph).logits(cast(float, self.temperature_))

    def _scores(self, X: Any, graph: Any) -> Scores:
        X = self._validated(X)
        find = self._finder(X, graph)
        with limited_threads(self.n_jobs):
            return self._fitted_model().scores(X, find)

    def _validated(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=self._points.dtype, order="C", reset=False)
        check_squares(X)
        return X

    def _fitted_model(self) -> NearestSubspace:
        return self._model(self._fitted_shape, self.n_neighbors_)

    def _model(self, shape: Hyperplanes | Hulls, n_neighbors: int) -> NearestSubspace:
        unit = float(np.sqrt(self._variance))
        return NearestSubspace(self._blocks(), shape, n_neighbors, unit)

    def _blocks(self) -> QueryBlocks:
        return QueryBlocks(
            R=self._points,
            n_classes=len(self.classes_),
            tangents_of=None if self.tangents is None else self._tangents_of,
            limits=limits_of(self),
            verbose=self.verbose,
        )

    def _tangents_of(self, rows: np.ndarray) -> np.ndarray:
        """Return the directions of invariance of some reference points."""
        if self._tangents is not None:
            return self._tangents[rows]
        found = np.asarray(self.tangents(self._points[rows]))
        if found.ndim != 3 or found.shape[::2] != (len(rows), self.n_features_in_):
            raise ValueError(
                f"tangents={self.tangents!r} returned shape {found.shape} for "
                f"{len(rows)} points: expected ({len(rows)}, n_tangents, "
                f"{self.n_features_in_})."
            )
        _check_finite_tangents(found)
        return found

    def _finder(
        self,
        X: np.ndarray,
        graph: Any,
        graph_rows: np.ndarray | None = None,
        left_out: LeftOut | None = None,
    ) -> Find:
        """Return the finder of neighborhoods of rows of X, by search or by graph."""
        if graph is None:
            return lambda s, k: self._search.find(
                X[s], k, None if left_out is None else left_out[s]
            )
        n_rows = len(self._position) if graph_rows is not None else len(X)
        csr = checked_graph(graph, n_rows, len(self._position))
        csr = csr if graph_rows is None else csr[graph_rows]

        def find(s: slice, k: int) -> Neighborhoods:
            own = None if left_out is None else left_out[s]
            hoods = from_graph(
                csr[s], self._row_codes, self._position, len(self.classes_), k, own
            )
            if np.any(hoods.count.sum(axis=1) == 0):
                raise ValueError(
                    "graph has rows without any reference point: every point needs at "
                    "least one neighbor beside itself and its copies."
                )
            return hoods

        return find


def _check_finite_tangents(T: np.ndarray) -> None:
    if not np.all(np.isfinite(T)):
        raise ValueError("tangents holds NaN or infinity: expected finite numbers.")
