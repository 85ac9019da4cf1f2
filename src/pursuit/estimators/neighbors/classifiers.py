"""Nearest-neighbor classifiers by local hyperplanes and local convex hulls."""

from __future__ import annotations

from typing import Any

from pursuit._words import Auto, PenaltyWord
from pursuit.neighbors.subspaces import Hulls, Hyperplanes

from ._fitting import Fitted
from ._settings import (
    NO_PENALTY,
    USUAL_NUMBER,
    Penalty,
    Settings,
    number_of_components,
)
from ._subspace_classifier import LocalSubspaceClassifier

# Penalties that "auto" compares, as shares of the class variance.
PENALTY_SHARES = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0)


class HKNNClassifier(LocalSubspaceClassifier):
    """Classifier by the nearest local hyperplane (HKNN).

    The K nearest points N_k of each class span a hyperplane through their mean N̄. The
    predicted class is the one whose hyperplane is nearest:

        ``d² = min_a |x - N̄ - V a|² + penalty |a|²``,

    where the columns of V are ``N_k - N̄``. The penalty keeps the nearest point of the
    hyperplane close to the mean, and is part of the distance.

    Parameters
    ----------
    n_neighbors : int or "auto", default=15
        Number K of neighbors in each class; smaller classes use all their points. If
        all classes are smaller, a warning says so, except for the default.
        ``"auto"`` takes the K (at most 80) with the fewest leave-one-out mistakes if
        they are clearly fewer than those of the default.
    penalty : float, "scale" or "auto", default="scale"
        Weight decay λ, in squared units of the inputs. ``"scale"`` is 0.1 times the
        class variance (summed over features, mean over classes); ``"auto"`` is the
        best of eight multiples of that variance, including 0, by leave-one-out, or
        ``"scale"`` if none is clearly better. 0 gives the plain hyperplane, a very
        large penalty the distance to the mean.
    n_components : int, float or None, default=None
        Number of leading principal directions of the neighbors to keep, or the share
        (below 1) of their variance that the kept ones explain. None keeps all. If
        set, ``n_neighbors="auto"`` compares at most eleven values of K.
    tangents : callable, array-like or None, default=None
        Known directions of invariance. Those of the nearest point of each class are
        added to the directions of its hyperplane, under the same penalty. A function
        of points (n, d) that returns (n, m, d), such as
        :class:`pursuit.neighbors.ImageTangents`, or an array of shape
        (n_samples, m, d).
    reference : None, array-like or estimator, default=None
        Training points to keep: all (None), those of indices or of a mask, or the
        support points (``support_``) of a model such as PrototypePursuit, SVC or
        KMPClassifier. A fitted model must have been fitted to the same rows; an
        unfitted one, and so any clone of a fitted one, is fitted to the data first.
        Under cross-validation, indices and masks would mean other rows in every fold:
        give an unfitted model there.
    search : object with ``fit`` and ``kneighbors``, or None, default=None
        Neighbor search; one copy is fitted to each class. None is scikit-learn's
        `NearestNeighbors`: trees in few dimensions, else brute force. An approximate
        search may pad its results with the index -1 or infinite distances.
    loo_samples : int, default=1000
        Maximum number of training points, drawn at random, that are left out in turn
        to choose what is ``"auto"`` and the temperature of the probabilities. Rows
        equal to the one left out are left out with it, unless the data are categories:
        at most 50 different rows, each repeated five times on average, or a fifth of
        the rows equal some of other classes. With 0 there is no `predict_proba`.
    max_memory : int, str or None, default=None
        Memory for a block of points: bytes, or a text such as "1 GiB". None is half of
        the free memory. If the neighbors of the left-out points do not fit, they are
        searched for twice.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of left-out points; None draws the same ones each time.
    n_jobs : int or None, default=None
        Number of threads; None takes as many as the linear algebra library may use.
    verbose : int or bool, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_neighbors_ : int
        Maximum number of neighbors used in each class.
    reference_ : ndarray of shape (n_reference,)
        Training rows that are kept.
    temperature_ : float or None
        Temperature of the probabilities; None if `loo_samples` is 0.
    loo_table_ : Table or None
        With ``"auto"``, the leave-one-out errors: `errors` (penalties x neighbors),
        `n_neighbors`, `penalties`, `n_samples`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.
    penalty_ : float
        Penalty that was used.

    See Also
    --------
    CKNNClassifier : Convex hulls instead of hyperplanes.
    PrototypePursuit : Chooses few rows to keep, as `reference`.
    HKNNRegressor : The same hyperplanes for real-valued targets.

    Notes
    -----
    Ties go to the class with the nearest point: 1e-9 of the distance to it is added to
    each distance. If that is equal too, as among categories, they go to the class with
    the most reference points at that distance (all copies count), then to the larger
    class, then to the first in `classes_`. Without a penalty and with K above the
    number of features, every hyperplane is the whole space, all distances are zero, and
    only that rule decides.

    With l reference points, d features and C classes, the search costs O(l d) per
    point. Exact distances add O(C K² d); `predict` bounds them and seldom needs more
    than O(C K d).

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "K-Local Hyperplane and Convex Distance Nearest
       Neighbor Algorithms", NIPS 14, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pursuit import HKNNClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = HKNNClassifier().fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.96)
    True
    """

    def __init__(
        self,
        n_neighbors: int | Auto = USUAL_NUMBER,
        penalty: float | PenaltyWord = "scale",
        *,
        n_components: float | None = None,
        tangents: Any = None,
        reference: Any = None,
        search: Any = None,
        loo_samples: int = 1000,
        max_memory: int | str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.n_components = n_components
        self.tangents = tangents
        self.reference = reference
        self.search = search
        self.loo_samples = loo_samples
        self.max_memory = max_memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _set_fitted(self, fitted: Fitted) -> None:
        super()._set_fitted(fitted)
        self.penalty_ = fitted.penalty

    def _settings(self) -> Settings:
        return Settings(
            self.n_neighbors,
            Penalty(self.penalty, PENALTY_SHARES),
            self.search,
            self.loo_samples,
            self.random_state,
            Hyperplanes(0.0, number_of_components(self.n_components)),
        )


class CKNNClassifier(LocalSubspaceClassifier):
    """Classifier by the nearest local convex hull (CKNN).

    The predicted class is the one whose K nearest points N_k have the nearest convex
    hull:

        ``d² = min_b |x - Σ b_k N_k|²``, ``b_k >= 0``, ``Σ b_k = 1``,

    solved exactly by an active-set method.

    Parameters
    ----------
    n_neighbors : int or "auto", default=15
        Number K of neighbors in each class; smaller classes use all their points. If
        all classes are smaller, a warning says so, except for the default.
        ``"auto"`` takes the K (at most 80) with the fewest leave-one-out mistakes if
        they are clearly fewer than those of the default.
    reference : None, array-like or estimator, default=None
        Training points to keep: all (None), those of indices or of a mask, or the
        support points (``support_``) of a model such as PrototypePursuit, SVC or
        KMPClassifier. A fitted model must have been fitted to the same rows; an
        unfitted one, and so any clone of a fitted one, is fitted to the data first.
        Under cross-validation, indices and masks would mean other rows in every fold:
        give an unfitted model there.
    search : object with ``fit`` and ``kneighbors``, or None, default=None
        Neighbor search; one copy is fitted to each class. None is scikit-learn's
        `NearestNeighbors`: trees in few dimensions, else brute force. An approximate
        search may pad its results with the index -1 or infinite distances.
    loo_samples : int, default=1000
        Maximum number of training points, drawn at random, that are left out in turn
        to choose what is ``"auto"`` and the temperature of the probabilities. Rows
        equal to the one left out are left out with it, unless the data are categories:
        at most 50 different rows, each repeated five times on average, or a fifth of
        the rows equal some of other classes. With 0 there is no `predict_proba`.
    max_memory : int, str or None, default=None
        Memory for a block of points: bytes, or a text such as "1 GiB". None is half of
        the free memory. If the neighbors of the left-out points do not fit, they are
        searched for twice.
    random_state : int, RandomState instance or None, default=None
        Seed of the draw of left-out points; None draws the same ones each time.
    n_jobs : int or None, default=None
        Number of threads; None takes as many as the linear algebra library may use.
    verbose : int or bool, default=0
        Whether to show a progress bar.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_neighbors_ : int
        Maximum number of neighbors used in each class.
    reference_ : ndarray of shape (n_reference,)
        Training rows that are kept.
    temperature_ : float or None
        Temperature of the probabilities; None if `loo_samples` is 0.
    loo_table_ : Table or None
        With ``"auto"``, the leave-one-out errors: `errors` (penalties x neighbors),
        `n_neighbors`, `penalties`, `n_samples`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    HKNNClassifier : Hyperplanes instead of convex hulls.
    PrototypePursuit : Chooses few rows to keep, as `reference`.

    Notes
    -----
    Ties go to the class with the nearest point: 1e-9 of the distance to it is added to
    each distance. If that is equal too, as among categories, they go to the class with
    the most reference points at that distance (all copies count), then to the larger
    class, then to the first in `classes_`. With more neighbors than features, a point
    often lies in the hulls of several classes: their distances are then all zero up to
    round-off.

    With l reference points, d features and C classes, the search costs O(l d) per
    point, and the hulls O(C K d) for each neighbor that enters an active set;
    `predict` only bounds most distances.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "K-Local Hyperplane and Convex Distance Nearest
       Neighbor Algorithms", NIPS 14, 2001.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pursuit import CKNNClassifier
    >>> X, y = load_digits(return_X_y=True)
    >>> model = CKNNClassifier().fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.96)
    True
    """

    def __init__(
        self,
        n_neighbors: int | Auto = USUAL_NUMBER,
        *,
        reference: Any = None,
        search: Any = None,
        loo_samples: int = 1000,
        max_memory: int | str | None = None,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.reference = reference
        self.search = search
        self.loo_samples = loo_samples
        self.max_memory = max_memory
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _settings(self) -> Settings:
        return Settings(
            self.n_neighbors,
            NO_PENALTY,
            self.search,
            self.loo_samples,
            self.random_state,
            Hulls(),
        )
