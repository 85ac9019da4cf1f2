"""Prototypes: selectors of the training rows that local classifiers keep."""

from __future__ import annotations

import copy
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from pursuit._limits import Limits
from pursuit._parameters import (
    check_classes,
    check_verbose,
    is_word,
    positive_number,
    random_numbers,
    row_count,
    thread_count,
    whole_number,
)
from pursuit._ranges import check_scale
from pursuit._warnings import warn
from pursuit._words import Auto
from pursuit.estimators._saving import Saved
from pursuit.estimators._validation import class_codes, validate_data
from pursuit.neighbors.condensing import condensed, drop3, edited
from pursuit.neighbors.prototypes import (
    SPREAD,
    Contest,
    pursue_prototypes,
)
from pursuit.neighbors.subspaces import class_variance

from ._equal_rows import rows_left_out_together
from ._settings import limited_threads, without_weights

# Rows of which "auto" makes the choice, at most.
_MOST_ROWS = 10_000
# penalty="scale", as a share of the variance within classes, and the share above which
# penalties differ by rounding only.
_PENALTY_SCALE, _LARGEST_PENALTY = 0.1, 1e7


class PrototypeSelector(Saved, BaseEstimator):
    """Selector of training rows; subclasses say which by `_select`."""

    @without_weights("KMPClassifier and DensityClassifier")
    def fit(self, X: Any, y: Any) -> Self:
        """Choose the rows to keep.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Class labels, of at least two classes.

        Returns
        -------
        self : object
            The fitted selector.
        """
        X, y = validate_data(self, X, y, dtype=np.float64, order="C")
        self.classes_, codes = class_codes(y)
        check_classes(self.classes_)
        check_scale(X)
        rows = self._select(X, codes)
        lost = np.setdiff1d(codes, codes[rows])
        if len(lost):
            warn(
                f"{type(self).__name__} keeps no row of the classes "
                f"{self.classes_[lost].tolist()}: others outvote all of them. Lower "
                "n_neighbors, or use PrototypePursuit, which keeps rows of each class."
            )
        self._keep(X, rows)
        return self

    def _select(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        """Return the rows that are kept."""
        raise NotImplementedError

    def _keep(self, X: np.ndarray, rows: np.ndarray) -> None:
        self.support_, self.support_vectors_ = rows, X[rows]
        self.n_support_ = len(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class PrototypePursuit(PrototypeSelector):
    r"""Greedy choice of the rows by which local hyperplanes tell the classes apart.

    Every training row is a judge: it is measured to the hyperplane of its K nearest
    prototypes in each class, as `HKNNClassifier` does, without those equal to itself.
    Its loss is

    .. math:: \log\Bigl(1 + \exp 10\,\frac{d_y^2 - d_o^2}{d_y^2 + d_o^2}\Bigr)
        + \frac{d_y^2}{4 v}

    for its class y, the nearest other class o and the variance v within classes. Each
    step adds the row that lowers the sum of the losses most. So the sets are nested,
    and one fit gives those of every size.

    Give it to a classifier as ``reference=PrototypePursuit(...)``.

    Parameters
    ----------
    max_support : int or float, default=0.1
        Number of rows to choose, or their share of the training rows; at least one of
        each class is chosen.
    n_neighbors : int, default=8
        Number K of prototypes of each class that a judge is measured to. 1 chooses for
        the nearest-neighbor rule. The classifier may use another number: few judge
        faster, and choose as well.
    penalty : float or "scale", default="scale"
        Weight decay λ of the hyperplanes, as in `HKNNClassifier`.
    n_candidates : int or None, default=60
        Number of candidates drawn anew at each step; 59 find one of the best 5 % with
        95 % certainty. None takes all, for the exact choice.
    subsample : int, float, "auto" or None, default="auto"
        Number (or share) of random rows that are judges and candidates. "auto" takes
        up to 10 000, None all.
    random_state : int, RandomState instance or None, default=None
        Seed of the draws. With None they are fixed.
    n_jobs : int or None, default=None
        Number of threads; None takes as many as the linear algebra library may use.
    verbose : int or bool, default=0
        Whether to show a progress bar. Ctrl-C ends the choice with the rows chosen so
        far and a warning.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the chosen rows, in order of choice; the first ones are one of each
        class, nearest to its mean.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Chosen rows.
    n_support_ : int
        Number of chosen rows.
    path_ : PrototypePath
        All steps: `rows`, `losses`, and `mistakes`, the share of judges that another
        class is nearer to after each step.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    HKNNClassifier, CKNNClassifier : Classifiers that keep only the chosen rows.
    CondensedNeighbors, EditedNeighbors, DropNeighbors : Published rules.

    Notes
    -----
    With l judges, d features, C classes, P candidates and N prototypes, a step costs at
    most O(l (P d + C K³ + P K²)), and memory is O(l (d + C K + P) + N²). Rows equal in
    features and class are one candidate.

    References
    ----------
    .. [1] P. Vincent, "Modèles à noyaux à structure locale", PhD thesis, Université de
       Montréal, 2003, §14.2.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pursuit import HKNNClassifier, PrototypePursuit
    >>> X, y = load_digits(return_X_y=True)
    >>> chosen = PrototypePursuit(max_support=100).fit(X[:1000], y[:1000])
    >>> model = HKNNClassifier(reference=chosen).fit(X[:1000], y[:1000])
    >>> bool(model.score(X[1000:], y[1000:]) > 0.92)
    True
    """

    def __init__(
        self,
        max_support: int | float = 0.1,
        *,
        n_neighbors: int = 8,
        penalty: Any = "scale",
        n_candidates: int | None = 60,
        subsample: int | float | Auto | None = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        self.max_support = max_support
        self.n_neighbors = n_neighbors
        self.penalty = penalty
        self.n_candidates = n_candidates
        self.subsample = subsample
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def _select(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        n_neighbors = whole_number("n_neighbors", self.n_neighbors, 1)
        penalty = positive_number("penalty", self.penalty, ("scale",))
        n_candidates = whole_number("n_candidates", self.n_candidates, 1, (None,))
        check_verbose(self.verbose)
        thread_count(self.n_jobs)
        size = row_count("max_support", self.max_support, len(X), ())
        rng = random_numbers(self.random_state, 0)
        rows = self._judges(codes, rng)
        judges, codes = X[rows], codes[rows]
        variance = class_variance(judges, codes, len(self.classes_)) or 1.0
        contest = Contest(
            judges,
            codes,
            rows_left_out_together(judges, codes, np.arange(len(judges))),
            min(n_neighbors, len(judges)),
            _PENALTY_SCALE * variance
            if is_word(penalty, "scale")
            else min(penalty, _LARGEST_PENALTY * variance),
            SPREAD * variance,
            n_candidates,
        )
        size = min(max(size, len(self.classes_)), len(judges))
        limits = Limits.of(None, self.n_jobs)
        with limited_threads(self.n_jobs, len(X), X):
            path = pursue_prototypes(contest, size, rng, limits, self.verbose)
        self.path_ = path.of_rows(rows)
        return self.path_.rows

    def _judges(self, codes: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Return the rows that judge, with one of each class at least."""
        n_rows = len(codes)
        if self.subsample is None:
            return np.arange(n_rows)
        n = _MOST_ROWS
        if not is_word(self.subsample, "auto"):
            n = row_count("subsample", self.subsample, n_rows, ("auto", None))
        if n >= n_rows:
            return np.arange(n_rows)
        order = rng.permutation(n_rows)
        firsts = np.unique(codes[order], return_index=True)[1]
        return np.sort(np.union1d(order[:n], order[firsts]))

    def truncate(self, size: int) -> PrototypePursuit:
        """Return the selector with the first ``size`` rows only.

        Parameters
        ----------
        size : int
            Number of rows, at least that of the classes.

        Returns
        -------
        selector : PrototypePursuit
            A fitted copy.
        """
        check_is_fitted(self, "path_")
        shorter = copy.copy(self)
        shorter.path_ = self.path_.truncate(whole_number("size", size, 1))
        shorter.support_ = shorter.path_.rows
        shorter.support_vectors_ = self.support_vectors_[: len(shorter.support_)]
        shorter.n_support_ = len(shorter.support_)
        return shorter


class CondensedNeighbors(PrototypeSelector):
    """Hart's condensed nearest-neighbor rule.

    Rows are read one after the other, again and again, until nothing changes; one is
    kept if the nearest kept row is of another class. What is kept classifies all
    training rows rightly by the nearest neighbor.

    Parameters
    ----------
    random_state : int, RandomState instance or None, default=None
        Seed of the order in which rows are read; None is that of the data.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the kept rows, sorted.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Kept rows.
    n_support_ : int
        Number of kept rows.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    PrototypePursuit : Chooses any number of rows, for local hyperplanes.

    Notes
    -----
    The cost is O(l d) for each row that is kept. Of equal rows of several classes the
    first one is nearest, so that others remain misjudged.

    References
    ----------
    .. [1] P. E. Hart, "The condensed nearest neighbor rule", IEEE Transactions on
       Information Theory 14, 1968.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pursuit import CondensedNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> bool(CondensedNeighbors().fit(X, y).n_support_ < 0.15 * len(X))
    True
    """

    def __init__(self, *, random_state: Any = None) -> None:
        self.random_state = random_state

    def _select(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        order = np.arange(len(X))
        if self.random_state is not None:
            order = random_numbers(self.random_state).permutation(len(X))
        return condensed(X, codes, order)


class EditedNeighbors(PrototypeSelector):
    """Wilson's edited nearest-neighbor rule.

    A row goes if another class has more of its K nearest other rows than its own. This
    smooths the border between the classes, and keeps most rows.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number K of neighbors that vote.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the kept rows, sorted.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Kept rows.
    n_support_ : int
        Number of kept rows.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    DropNeighbors : Goes on where this rule ends.

    Notes
    -----
    The cost is that of a search for the neighbors of all rows. A class may lose all of
    its rows; classifiers then refuse them as their `reference`.

    References
    ----------
    .. [1] D. L. Wilson, "Asymptotic properties of nearest neighbor rules using edited
       data", IEEE Transactions on Systems, Man, and Cybernetics 2, 1972.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pursuit import EditedNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> bool(EditedNeighbors().fit(X, y).n_support_ > 0.97 * len(X))
    True
    """

    def __init__(self, n_neighbors: int = 3) -> None:
        self.n_neighbors = n_neighbors

    def _select(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return edited(X, codes, whole_number("n_neighbors", self.n_neighbors, 1))


class DropNeighbors(PrototypeSelector):
    """The decremental reduction DROP3 of Wilson and Martinez.

    After `EditedNeighbors`, rows far from other classes are considered first. One goes
    if the rows that have it among their K nearest are classified as well without it.

    Parameters
    ----------
    n_neighbors : int, default=3
        Number K of neighbors that vote.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Indices of the kept rows, sorted.
    support_vectors_ : ndarray of shape (n_support, n_features)
        Kept rows.
    n_support_ : int
        Number of kept rows.
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    PrototypePursuit : Chooses any number of rows, for local hyperplanes.

    Notes
    -----
    The cost is that of a search for the neighbors of all rows, and O(K² l) votes. A
    class may lose all of its rows; classifiers then refuse them as their `reference`.

    References
    ----------
    .. [1] D. R. Wilson and T. R. Martinez, "Reduction techniques for instance-based
       learning algorithms", Machine Learning 38, 2000.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from pursuit import DropNeighbors
    >>> X, y = load_digits(return_X_y=True)
    >>> bool(DropNeighbors().fit(X, y).n_support_ < 0.2 * len(X))
    True
    """

    def __init__(self, n_neighbors: int = 3) -> None:
        self.n_neighbors = n_neighbors

    def _select(self, X: np.ndarray, codes: np.ndarray) -> np.ndarray:
        return drop3(X, codes, whole_number("n_neighbors", self.n_neighbors, 1))
