"""Nearest neighbours by local hyperplanes and local convex hulls, as classifiers."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit._parameters import is_number, is_whole, is_word
from pursuit.neighbors.subspaces import Hulls, Hyperplanes

from ._local import BaseLocal
from ._local_parameters import check_penalty

# Penalties that "auto" compares, and the default, as shares of the class variance.
PENALTY_SHARES = (0.0, 0.001, 0.01, 0.03, 0.1, 0.3, 1.0, 10.0)
PENALTY_SCALE = 0.1
# Numbers of neighbours that "auto" compares where each needs a computation of its own.
FEW_NUMBERS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 45)

SHARED = """reference : None, array-like or estimator, default=None
        Which training points are kept: all; those of the given indices or mask; or the
        support points (``support_``) of a model such as SVC or KMPClassifier.  A fitted
        model must have been fitted to the same rows; an unfitted one, and so any clone
        of a fitted one, is fitted to the data first.  Under cross-validation indices
        and masks would mean other rows in every fold: give an unfitted model there.
    search : object with ``fit`` and ``kneighbors``, or None, default=None
        Finds the neighbours; one copy is fitted to each class.  None is scikit-learn's
        `NearestNeighbors`: trees in few dimensions, else brute force.  Approximate ones
        may fill up with the index -1 or infinite distances.
    loo_samples : int, default=1000
        How many training points, at most and drawn at random, are left out in turn to
        choose what is ``"auto"`` and the temperature of the probabilities.  Rows equal
        to the one left out are left out with it, unless the data are a few categories
        (50 different rows at most, each there five times on average).  With 0 there is
        no `predict_proba`.
    max_memory : int, str or None, default=None
        Memory for a block of points, in bytes or as a text such as ``"1 GiB"``; None is
        half of what is free.  Where the neighbours of the points left out do not fit,
        they are searched for twice.
    random_state : int, RandomState instance or None, default=None
        Draws the points that are left out; None draws the same ones each time.
    n_jobs : int or None, default=None
        Threads; None takes as many as the linear algebra library may use.
    verbose : int or bool, default=0
        Whether to show a progress bar."""

ATTRIBUTES = """classes_ : ndarray of shape (n_classes,)
        The class labels.
    n_neighbors_ : int
        Neighbours used in each class, at most.
    reference_ : ndarray of shape (n_reference,)
        The training rows that are kept.
    temperature_ : float or None
        Of the probabilities: the likeliest for left-out training points and one
        pretended miss. None if `loo_samples` is 0.
    loo_table_ : Table or None
        With ``"auto"``, the leave-one-out errors: `errors` (penalties x neighbours),
        `n_neighbors`, `penalties`, `n_samples`.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Their names, where the training data had some."""


class HKNNClassifier(BaseLocal):  # noqa: D101
    __doc__ = f"""Nearest neighbours by local hyperplanes (HKNN).

    The K nearest points of each class span a hyperplane through their mean N̄; the
    class is the one whose hyperplane is nearest:

        ``d² = min_a |x - N̄ - V a|² + penalty |a|²``, V the columns ``N_k - N̄``.

    The penalty keeps the point reached near the mean; the distance includes it.

    Parameters
    ----------
    n_neighbors : int or "auto", default=15
        K; smaller classes give what they have.  ``"auto"`` takes the K (80 at most)
        with the fewest leave-one-out mistakes.
    penalty : float, "scale" or "auto", default="scale"
        Weight decay λ, in squared units of the inputs; ``"scale"`` is 0.1 times
        the class variance (summed over features, mean over classes), ``"auto"`` the
        best of eight multiples of that variance by leave-one-out, zero among them.  0
        gives the plain hyperplane, a very large one the distance to the mean.
    n_components : int, float or None, default=None
        Keep only this many leading principal directions of the neighbours, or as many
        as explain this share (below 1) of their variance.  ``n_neighbors="auto"`` then
        compares eleven K at the most.
    tangents : callable, array-like or None, default=None
        Known directions of invariance: of the nearest point of each class, they are
        added to the directions of its hyperplane, under the same penalty.  A function
        of points (n, d) that returns (n, m, d), such as
        :class:`pursuit.neighbors.ImageTangents`, or an array of shape
        (n_samples, m, d).
    {SHARED}

    Attributes
    ----------
    {ATTRIBUTES}
    penalty_ : float
        The λ used.

    See Also
    --------
    CKNNClassifier : Convex hulls instead of hyperplanes.
    HKNNRegressor : The same hyperplanes for real-valued targets.

    Notes
    -----
    Ties go to the class with the nearest point, then to the first in `classes_`: each
    distance is lengthened by 1e-9 of that of its nearest point.  Without a penalty and
    with K above the number of features every hyperplane is the whole space, all
    distances are zero, and only that rule is left.

    With C classes, the search costs O(l d) a point.  Exact distances add O(C K² d);
    `predict` bounds them and seldom needs more than O(C K d).

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
        n_neighbors: int | str = 15,
        penalty: float | str = "scale",
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

    def _check_parameters(self, n_samples: int) -> None:
        super()._check_parameters(n_samples)
        check_penalty(self.penalty)
        self._check_n_components()

    def _check_n_components(self) -> None:
        n: Any = self.n_components
        is_share = is_number(n) and 0 < n < 1
        if n is not None and not is_share and not is_whole(n, 1):
            raise ValueError(
                f"n_components={n!r} must be a whole number of at least 1, a share "
                "below 1, or None."
            )

    def _is_auto(self) -> bool:
        return super()._is_auto() or is_word(self.penalty, "auto")

    def _numbers(self) -> np.ndarray:
        numbers = super()._numbers()
        if self.n_components is None:
            return numbers
        # Components are found anew for every K: fewer of them.
        return numbers[np.isin(numbers, [*FEW_NUMBERS, numbers[-1]])]

    def _penalties(self) -> np.ndarray:
        if not isinstance(self.penalty, str):
            return np.array([float(self.penalty)])
        shares = PENALTY_SHARES if self.penalty == "auto" else (PENALTY_SCALE,)
        return self._variance * np.array(shares)

    def _shape(self, penalty: float) -> Hyperplanes:
        return Hyperplanes(penalty, float(self.n_components or 0))

    def _set_penalty(self, penalty: float) -> None:
        self.penalty_ = penalty


class CKNNClassifier(BaseLocal):  # noqa: D101
    __doc__ = f"""Nearest neighbours by local convex hulls (CKNN).

    The class is the one for which the convex hull of its K nearest points is nearest:

        ``d² = min_b |x - Σ b_k N_k|²``, ``b_k >= 0``, ``Σ b_k = 1``,

    solved exactly, by an active set.

    Parameters
    ----------
    n_neighbors : int or "auto", default=15
        K; smaller classes give what they have.  ``"auto"`` takes the K (80 at most)
        with the fewest leave-one-out mistakes.
    {SHARED}

    Attributes
    ----------
    {ATTRIBUTES}

    See Also
    --------
    HKNNClassifier : Hyperplanes instead of convex hulls.

    Notes
    -----
    Ties go to the class with the nearest point, then to the first in `classes_`: each
    distance is lengthened by 1e-9 of that of its nearest point.  With more neighbours
    than features, hulls of several classes often hold a point: their distances are
    then all zero up to round-off.

    With C classes, the search costs O(l d) a point, the hulls O(C K d) for each point
    that enters an active set; `predict` bounds most distances only.

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
        n_neighbors: int | str = 15,
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

    def _penalties(self) -> np.ndarray:
        return np.zeros(1)

    def _shape(self, penalty: float) -> Hulls:
        return Hulls()
