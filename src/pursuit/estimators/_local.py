"""What the classifiers by local subspaces share."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from pursuit._memory import budget
from pursuit._parameters import (
    check_classes,
    check_scale,
    check_squares,
    is_word,
    random_numbers,
)
from pursuit.neighbors.leave_one_out import error_table, temperature
from pursuit.neighbors.nearest_subspaces import Find, NearestSubspace, scores
from pursuit.neighbors.neighborhoods import ClassSearch, LeftOut, from_graph
from pursuit.neighbors.subspaces import (
    Hulls,
    Hyperplanes,
    Neighborhoods,
    class_variance,
)

from ._inputs import validate_data
from ._local_parameters import (
    MOST_NEIGHBORS,
    check_shared,
    checked_graph,
    limited_threads,
    reference_rows,
    rows_left_out_together,
    thread_count,
    without_weights,
)
from ._targets import class_codes


class BaseLocal(ClassifierMixin, BaseEstimator):
    """A classifier by the nearest of the classes' local subspaces.

    A subclass says which: `_penalties` and `_shape`.
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
    def fit(self, X: Any, y: Any, graph: Any = None) -> Any:
        """Keep the reference points; choose by leave-one-out what is to be chosen.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Class labels.
        graph : sparse matrix of shape (n_samples, n_samples), optional
            Distances to near training points, to be used instead of a search for the
            leave-one-out choices.  The entries of a point itself and of rows equal to
            it are ignored; where fewer than `n_neighbors` points of a class are
            stored, fewer are used.

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
                "loo_samples=0 leaves nothing to choose 'auto' parameters by: give "
                "numbers for n_neighbors and penalty, or a positive loo_samples."
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
        # A copy, so that changes of the caller's X do not reach the model.
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
        """Return the numbers of neighbours to be compared, or the only one."""
        largest = self._search.largest
        if not is_word(self.n_neighbors, "auto"):
            return np.array([min(int(self.n_neighbors), largest)])
        return np.arange(1, min(MOST_NEIGHBORS, largest) + 1)

    def _penalties(self) -> np.ndarray:
        """Return the penalties to be compared, or the only one."""
        raise NotImplementedError

    def _shape(self, penalty: float) -> Hyperplanes | Hulls:
        raise NotImplementedError

    def _choose(self, X: np.ndarray, codes: np.ndarray, graph: Any) -> None:
        """Set the number of neighbours, the penalty and the temperature."""
        penalties, numbers = self._penalties(), self._numbers()
        most = int(numbers[-1])
        self.loo_table_ = None
        self.n_neighbors_, penalty = most, float(penalties[0])
        if self.loo_samples > 0:
            rows = self._left_out_rows(len(X))
            find = self._leaving_out(X, rows, graph, most)
        if self._is_auto():
            self.loo_table_ = error_table(
                self._model(self._shape(0.0), most),
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
            found = scores(*model.distances(X[rows], find))
            self.temperature_ = temperature(found, codes[rows])

    def _set_penalty(self, penalty: float) -> None:
        """Keep the chosen penalty, where there is such a thing."""

    def _left_out_rows(self, n_samples: int) -> np.ndarray:
        n = min(self.loo_samples, n_samples)
        rng = random_numbers(0 if self.random_state is None else self.random_state)
        return np.sort(rng.choice(n_samples, n, replace=False))

    def _leaving_out(
        self, X: np.ndarray, rows: np.ndarray, graph: Any, n_neighbors: int
    ) -> Find:
        """Return the neighbourhoods of training points without rows equal to them.

        They are found once and kept, unless that takes more than half of the memory.
        """
        sets = rows_left_out_together(X, self.reference_)
        left_out = LeftOut(sets[self.reference_], sets[rows])
        X = X[rows]
        find = self._finder(X, graph, rows, left_out)
        each = 8 * len(self.classes_) * (n_neighbors + 4)
        if len(rows) * each > budget(self.max_memory) // 2:
            return find
        model = self._model(self._shape(0.0), n_neighbors)
        parts = [query.hoods for _, query in model.blocks(X, find, n_neighbors)]
        kept = Neighborhoods(
            *(
                np.concatenate([getattr(hoods, name) for hoods in parts])
                for name in ("index", "count", "nearest")
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
            Distances to near training points, to be used instead of a search.  Where
            fewer than `n_neighbors_` points of a class are stored, fewer are used.

        Returns
        -------
        distances : ndarray of shape (n_samples, n_classes)
            Exact, in double precision; infinite for a class without a neighbour in
            `graph`.
        """
        return self._distances(X, graph)[0]

    def decision_function(self, X: Any, graph: Any = None) -> np.ndarray:
        """Return the negative distances, ties broken.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.
        graph : sparse matrix of shape (n_samples, n_training_samples), optional
            As in :meth:`distances`.

        Returns
        -------
        values : ndarray of shape (n_samples,) or (n_samples, n_classes)
            Minus the distance to each class, less 1e-9 of the distance to its nearest
            point; for two classes the difference, positive for ``classes_[1]``.
        """
        found = scores(*self._distances(X, graph))
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
            Class labels.  The choice is that of :meth:`decision_function`, though
            most distances need only be bounded for it.
        """
        X = self._validated(X)
        find = self._finder(X, graph)
        with limited_threads(self.n_jobs):
            return self.classes_[self._fitted_model().nearest_class(X, find)]

    def _has_temperature(self) -> bool:
        """Return whether there are probabilities, or will be after a fit."""
        if hasattr(self, "temperature_"):
            return self.temperature_ is not None
        return bool(self.loo_samples != 0)

    @available_if(_has_temperature)
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
            ``softmax(-distance / temperature_)``.  The temperature is the likeliest
            one for left-out training points and one pretended point that misses its
            class by the typical margin, without which a perfect record would claim
            certainty.  So the probabilities are calibrated as a whole; they do not
            come from a model of the classes' densities.
        """
        found = scores(*self._distances(X, graph))
        return softmax(-found / self.temperature_, axis=1)

    def _distances(self, X: Any, graph: Any) -> tuple[np.ndarray, np.ndarray]:
        X = self._validated(X)
        find = self._finder(X, graph)
        with limited_threads(self.n_jobs):
            return self._fitted_model().distances(X, find)

    def _validated(self, X: Any) -> np.ndarray:
        check_is_fitted(self)
        X = validate_data(self, X, dtype=self._points.dtype, order="C", reset=False)
        check_squares(X)
        return X

    def _fitted_model(self) -> NearestSubspace:
        return self._model(self._fitted_shape, self.n_neighbors_)

    def _model(self, shape: Hyperplanes | Hulls, n_neighbors: int) -> NearestSubspace:
        return NearestSubspace(
            R=self._points,
            shape=shape,
            n_neighbors=n_neighbors,
            n_classes=len(self.classes_),
            unit=float(np.sqrt(self._variance)),
            tangents_of=None if self.tangents is None else self._tangents_of,
            memory=budget(self.max_memory),
            n_threads=thread_count(self.n_jobs),
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
        """Return what finds neighbourhoods of rows of X: the search, or the graph."""
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
                    "least one neighbour beside itself and its copies."
                )
            return hoods

        return find


def _check_finite_tangents(T: np.ndarray) -> None:
    if not np.all(np.isfinite(T)):
        raise ValueError("tangents holds NaN or infinity: expected finite numbers.")
