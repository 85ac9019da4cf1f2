"""Regression by local hyperplanes, the counterpart of the HKNN classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import (
    check_scale,
    check_squares,
    is_word,
    number_from_zero,
)
from pursuit.neighbors.blocks import QueryBlocks
from pursuit.neighbors.leave_one_out import Table, squared_error_table
from pursuit.neighbors.neighborhoods import ClassSearch, LeftOut
from pursuit.neighbors.subspaces import Neighborhoods, class_variance

from ._inputs import validate_data
from ._neighbor_parameters import (
    MOST_NEIGHBORS,
    check_shared,
    limited_threads,
    limits_of,
    penalties_to_compare,
    rows_left_out_together,
    rows_to_leave_out,
    without_weights,
)
from ._targets import as_numbers

# Penalties that "auto" compares, as shares of the variance of X.
PENALTY_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


class HKNNRegressor(RegressorMixin, BaseEstimator):
    """Regression by the local hyperplane of the nearest neighbors.

    A point is reconstructed from its K nearest training points, and its target from
    theirs by the same weights:

        ``min_b |x - Σ b_k x_k|² + penalty |b|²``, ``Σ b_k = 1``;  ``f(x) = Σ b_k y_k``.

    A large penalty gives equal weights, as in `KNeighborsRegressor`; a smaller one
    follows the slope of the data, and can extrapolate.

    Parameters
    ----------
    n_neighbors : int or "auto", default="auto"
        Number K of neighbors. ``"auto"`` takes the K (at most 80) with the smallest
        leave-one-out error.
    penalty : float, "scale" or "auto", default="auto"
        Weight decay λ, in squared units of the inputs. ``"scale"`` is 0.1 times the
        variance of X, summed over features; ``"auto"`` is the best of seven multiples
        of that variance by leave-one-out. The best one depends strongly on the noise
        of the targets.
    search : object with ``fit`` and ``kneighbors``, or None, default=None
        Neighbor search. None is scikit-learn's `NearestNeighbors`.
    loo_samples : int, default=1000
        Maximum number of training points, drawn at random, that are left out in turn
        to choose what is ``"auto"``. Rows equal to the one left out are left out with
        it, unless the data are categories: at most 50 different rows, each repeated
        five times on average, or a fifth of the rows differ from equal ones in their
        targets.
    max_memory : int, str or None, default=None
        Memory for a block of points: bytes, or a text such as "1 GiB". None is half of
        the free memory.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of left-out points; None draws the same ones each time.
    n_jobs : int or None, default=None
        Number of threads; None takes as many as the linear algebra library may use.
    verbose : int or bool, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    n_neighbors_ : int
        Number of neighbors used.
    penalty_ : float
        Penalty that was used.
    loo_table_ : Table or None
        With ``"auto"``, the leave-one-out errors: `errors` (penalties x neighbors)
        are mean squared errors over the variance, averaged over outputs;
        `n_neighbors`, `penalties`, `n_samples`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    HKNNClassifier : Classifier by the nearest local hyperplane.

    Notes
    -----
    With l training points and d features, a prediction costs O(l d + K² d + K³).
    Features should be of comparable scale. A point that lies among its neighbors is
    interpolated; one outside, whose weights may be negative, is extrapolated.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import HKNNRegressor
    >>> X = np.random.default_rng(0).uniform(size=(300, 3))
    >>> y = X @ [1.0, 2.0, 3.0]
    >>> model = HKNNRegressor(15, 0.0).fit(X[:200], y[:200])
    >>> bool(model.score(X[200:], y[200:]) > 0.999)
    True
    """

    def __init__(
        self,
        n_neighbors: int | str = "auto",
        penalty: float | str = "auto",
        *,
        search: Any = None,
        loo_samples: int = 1000,
        max_memory: int | str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.search = search
        self.loo_samples = loo_samples
        self.max_memory = max_memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    @without_weights("KMPRegressor and NadarayaWatson")
    def fit(self, X: Any, y: Any) -> HKNNRegressor:
        """Store the training points, and choose what is "auto" by leave-one-out.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,) or (n_samples, n_outputs)
            Targets.

        Returns
        -------
        self : HKNNRegressor
            The fitted model.
        """
        X, y = validate_data(
            self,
            X,
            as_numbers(y),
            dtype=[np.float64, np.float32],
            order="C",
            multi_output=True,
            y_numeric=True,
        )
        self._check_parameters()
        check_scale(X)
        # A copy, so that later changes of the caller's X do not affect the model.
        self._points = np.array(X, order="C", copy=True)
        self._set_values(np.asarray(y, dtype=np.float64))
        nobody = np.zeros(len(X), dtype=np.intp)
        self._variance = class_variance(X, nobody, 1)
        with limited_threads(self.n_jobs):
            self._search = ClassSearch(
                self._points, nobody, 1, self.search, self.n_jobs
            )
            self._choose()
        return self

    def _set_values(self, y: np.ndarray) -> None:
        """Store each output divided by a power of two: exact, and no overflow."""
        self._is_single_output = y.ndim == 1
        Y = y.reshape(len(y), -1)
        self._exponents = np.frexp(np.abs(Y).max(axis=0))[1]
        self._values = np.array(np.ldexp(Y, -self._exponents), order="C")

    def _check_parameters(self) -> None:
        check_shared(self, least_left_out=1)
        number_from_zero("penalty", self.penalty, ("scale", "auto"))

    def _choose(self) -> None:
        n = len(self._points)
        penalties = penalties_to_compare(self.penalty, PENALTY_SHARES, self._variance)
        if "auto" not in (self.n_neighbors, self.penalty):
            self.loo_table_ = None
            self.n_neighbors_ = min(int(self.n_neighbors), n)
            self.penalty_ = float(penalties[0])
            return
        if n < 2:
            raise ValueError(
                "n_samples=1 is too few to leave one out: give numbers for "
                "n_neighbors and penalty."
            )
        sets = rows_left_out_together(self._points, self._values, np.arange(n))
        self.loo_table_ = self._table(self._numbers(sets), penalties, sets)
        j, k = self.loo_table_.best()
        self.n_neighbors_ = int(self.loo_table_.n_neighbors[k])
        self.penalty_ = float(penalties[j])

    def _numbers(self, sets: np.ndarray) -> np.ndarray:
        if not is_word(self.n_neighbors, "auto"):
            return np.array([min(int(self.n_neighbors), len(sets))])
        # Left-out points have at least one neighbor fewer.
        most = min(MOST_NEIGHBORS, len(sets) - int(np.bincount(sets).min()))
        return np.arange(1, most + 1)

    def _table(
        self, numbers: np.ndarray, penalties: np.ndarray, sets: np.ndarray
    ) -> Table:
        rows = rows_to_leave_out(self, len(self._points))
        X = self._points[rows]

        def find(s: slice, k: int) -> Neighborhoods:
            return self._search.find(X[s], k, LeftOut(sets, sets[rows[s]]))

        return squared_error_table(
            self._blocks(),
            X,
            self._values[rows],
            find,
            self._values,
            penalties,
            numbers,
        )

    def predict(self, X: Any) -> np.ndarray:
        """Return the predicted targets.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions.
        """
        check_is_fitted(self)
        X = validate_data(self, X, dtype=self._points.dtype, order="C", reset=False)
        check_squares(X)
        out = np.empty((len(X), self._values.shape[1]))
        numbers, penalties = np.array([self.n_neighbors_]), np.array([self.penalty_])

        def find(s: slice, k: int) -> Neighborhoods:
            return self._search.find(X[s], k)

        with limited_threads(self.n_jobs):
            found = self._blocks().reconstructed(
                X, find, self._values, penalties, numbers
            )
            for rows, values in found:
                out[rows] = values[:, :, 0, 0]
        out = np.ldexp(out, self._exponents)
        return out[:, 0] if self._is_single_output else out

    def _blocks(self) -> QueryBlocks:
        return QueryBlocks(
            R=self._points,
            n_classes=1,
            tangents_of=None,
            limits=limits_of(self),
            verbose=self.verbose,
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags
