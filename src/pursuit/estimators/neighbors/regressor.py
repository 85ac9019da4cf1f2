"""Regression by local hyperplanes, the counterpart of the HKNN classifier."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import whole_number
from pursuit._ranges import check_scale, check_squares
from pursuit._words import Auto, PenaltyWord
from pursuit.estimators._saving import Saved
from pursuit.estimators._validation import as_numbers, validate_data
from pursuit.neighbors.leave_one_out import Table, squared_error_table
from pursuit.neighbors.models import Reconstruction
from pursuit.neighbors.neighborhoods import LeftOut
from pursuit.neighbors.queries import Blocks, Reference
from pursuit.neighbors.search import ClassSearch
from pursuit.neighbors.subspaces import Hyperplanes, class_variance

from ._equal_rows import rows_left_out_together
from ._settings import (
    Penalty,
    Settings,
    blocks_of,
    check_limits,
    limited_threads,
    without_weights,
)

_ROWS = "the rows"
# Penalties that "auto" compares, as shares of the variance of X.
PENALTY_SHARES = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)


@dataclass(frozen=True)
class Fitted:
    """A fitted regressor.

    Attributes
    ----------
    model : Reconstruction
        Its values are the targets, each output divided by a power of two.
    exponents : ndarray of int of shape (T,)
        These powers: the division is exact, and nothing overflows.
    penalties, numbers : ndarrays of shape (1,)
        Penalty and number of neighbors.
    has_one_output : bool
        Whether the targets were a vector.
    """

    model: Reconstruction
    exponents: np.ndarray
    penalties: np.ndarray
    numbers: np.ndarray
    has_one_output: bool


class HKNNRegressor(RegressorMixin, Saved, BaseEstimator):
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
        leave-one-out error. More than there are rows means all, with a warning.
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

    _fitted: Fitted
    loo_table_: Table | None

    def __init__(
        self,
        n_neighbors: int | Auto = "auto",
        penalty: float | PenaltyWord = "auto",
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
        settings = self._settings()
        check_scale(X)
        # Copies, so that later changes of the caller's data do not affect the model.
        points, y = np.array(X, order="C"), np.asarray(y, dtype=np.float64)
        Y = y.reshape(len(y), -1)
        exponents = np.frexp(np.abs(Y).max(axis=0))[1]
        values = np.array(np.ldexp(Y, -exponents), order="C")
        blocks = blocks_of(len(X), self.max_memory, self.n_jobs, self.verbose)
        with limited_threads(self.n_jobs, len(X), X):
            one_class = np.zeros(len(X), dtype=np.intp)
            index = ClassSearch(points, one_class, 1, settings.search)
            model = Reconstruction(Reference(points, 1, index), values)
            self._choose(settings, model, blocks)
        self._fitted = Fitted(
            model,
            exponents,
            np.array([self.penalty_]),
            np.array([self.n_neighbors_]),
            has_one_output=y.ndim == 1,
        )
        return self

    def _settings(self) -> Settings:
        """Return the checked parameters."""
        check_limits(self.max_memory, self.n_jobs, self.verbose)
        whole_number("loo_samples", self.loo_samples, 1)
        return Settings(
            self.n_neighbors,
            Penalty(self.penalty, PENALTY_SHARES),
            self.search,
            self.loo_samples,
            self.random_state,
            Hyperplanes(0.0),
        )

    def _choose(
        self, settings: Settings, model: Reconstruction, blocks: Blocks
    ) -> None:
        """Set the number of neighbors and the penalty."""
        X = model.reference.points
        variance = class_variance(X, np.zeros(len(X), dtype=np.intp), 1)
        penalties = settings.penalty.candidates(variance)
        if not settings.is_auto:
            self.loo_table_ = None
            self.n_neighbors_ = int(settings.numbers(len(X), _ROWS)[0])
            self.penalty_ = float(penalties[0])
            return
        if len(X) < 2:
            raise ValueError(
                "n_samples=1 is too few to leave one out: give numbers for "
                "n_neighbors and penalty."
            )
        self.loo_table_ = _table(settings, model, penalties, blocks)
        j, k = self.loo_table_.best()
        self.n_neighbors_ = int(self.loo_table_.n_neighbors[k])
        self.penalty_ = float(penalties[j])

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
        if not hasattr(self, "_fitted"):
            check_is_fitted(self)
        fitted = self._fitted
        points = fitted.model.reference.points
        X = validate_data(self, X, dtype=points.dtype, order="C", reset=False)
        check_squares(X)
        blocks = blocks_of(len(X), self.max_memory, self.n_jobs, self.verbose)
        find = fitted.model.reference.finder(X, blocks.limits.n_threads)
        out = np.empty((len(X), len(fitted.exponents)))
        with limited_threads(self.n_jobs, len(X), points):
            for rows, values in fitted.model.of(
                X, find, fitted.penalties, fitted.numbers, blocks
            ):
                out[rows] = values[:, :, 0, 0]
        out = np.ldexp(out, fitted.exponents)
        return out[:, 0] if fitted.has_one_output else out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.single_output = True
        return tags


def _table(
    settings: Settings, model: Reconstruction, penalties: np.ndarray, blocks: Blocks
) -> Table:
    """Return the leave-one-out errors of all that is compared."""
    X, Y = model.reference.points, model.values
    sets = rows_left_out_together(X, Y, np.arange(len(X)))
    largest = len(X)
    if settings.chooses_number:
        # Left-out points have at least one neighbor fewer.
        largest -= int(np.bincount(sets).min())
    rows = settings.rows_to_leave_out(len(X))
    left_out = LeftOut(sets, sets[rows])
    find = model.reference.finder(X[rows], blocks.limits.n_threads, left_out)
    return squared_error_table(
        model,
        X[rows],
        Y[rows],
        find,
        penalties,
        settings.numbers(largest, _ROWS),
        blocks,
    )
