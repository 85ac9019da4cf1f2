"""Kernel matching pursuit as a ranker."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pursuit._words import (
    Auto,
    FloatType,
    KernelFunction,
    KernelName,
    MethodWord,
    MetricWord,
    RankingLoss,
    WidthRule,
)
from pursuit.estimators._validation import (
    as_numbers,
    check_sample_weight,
    check_target_scale,
)
from pursuit.fitting import Fit
from pursuit.fitting.held_out import FoldPath
from pursuit.losses import Loss, as_ranking_loss
from pursuit.methods import Method, Redrawn
from pursuit.metrics import Metric
from pursuit.ranking import group_codes, have_order, ndcg
from pursuit.sample import Sample
from pursuit.selection import Selection

from .base import BaseKMP
from .callbacks import with_callbacks
from .continuing import Known
from .outputs import Outputs, RankOutputs
from .scoring import RankScore, measure_of
from .settings import Settings


class KMPRanker(BaseKMP):
    """Kernel matching pursuit for ranking: scores that order the rows of each group.

    A sparse kernel expansion ``f(x) = sum_j coef_j k(x, x_j)`` is built point by point
    from the training points, such that in each group, such as the answers to a query,
    rows of higher grades get higher scores. Only comparisons within groups count:
    what all rows of a group have in common neither helps nor harms. One fit gives the
    models of all smaller sizes.

    Parameters
    ----------
    kernel : str, callable or kernel object, default="auto"
        "auto" compares Gaussian and Laplacian kernels in learned metrics, on held-out
        rows, so that neither the units of the columns nor useless columns matter. A
        name ("rbf", "poly", "linear" or "sigmoid" as in SVC, "laplacian", "cosine",
        "precomputed"), a callable ``k(X, Y)`` that returns a matrix, a kernel of
        :mod:`pursuit.kernels` such as ``Polynomial(degree=2, coef0=1)``, or one of
        scikit-learn's Gaussian-process kernels is taken as it is, with distances
        between rows as they are. It need not be symmetric or positive definite.
    gamma : float or {"cv", "median", "scale", "auto"}, default="cv"
        Inverse squared width of a kernel given by name,
        ``k(x, z) = exp(-gamma ‖x - z‖²)`` for "rbf", which it means without a name;
        larger is narrower. "median" is 1 over the median squared distance of the
        training points; "scale" and "auto" are those of SVC; "cv" compares multiples
        of "median" on the same held-out rows as the size, together with `alpha`: those
        around 1, and further ones for as long as the error falls. If none is clearly
        better than the constant, all from 1/64 to 256 are tried. A kernel object has
        its own gamma, which may be "cv" too.
    metric : {"auto", "best", "diagonal", "full"}, None, array or Metric, default="auto"
        Metric M in which the kernel sees distances, ``(x - z)ᵀ M (x - z)``: a weight
        for each feature ("diagonal"), a matrix ("full"), or the better of both and the
        features' own scales ("best"), learned by rounds from the gradients of the
        model; an array of weights, or a positive semi-definite matrix, that is known;
        None for distances between rows as they are; or an object of
        :mod:`pursuit.metrics` with more options. "auto" is "best" if the kernel is
        "auto" without a `gamma`, and None otherwise.
    dictionary : Dictionary, kernel or None, default=None
        Source of the model's functions, in place of `kernel`, `gamma` and `metric`: an
        object of :mod:`pursuit.dictionaries`, or a kernel, which stands for `OneKernel`
        of it. None is the kernel on the training points.
    loss : str or Loss, default="squared"
        Loss of the groups: "squared", that of all pairs,
        ``((y_i - y_j) - (f_i - f_j))**2``, which is least squares around the means of
        the groups; "logistic" (RankNet), "squared-hinge" (a ranking SVM), which ask for
        the order of each pair only; "plackett-luce" (ListMLE), for the order of the
        whole list; or a loss object of :mod:`pursuit.losses`. In all of them a group
        counts as much as its rows do, not as its pairs. Kernels are learned under the
        squared loss whatever the loss.
    max_support : int, float or None, default=None
        Maximum number of support points: a count, or a share of the distinct training
        rows. None is 10 times the square root of their number, at least 100 and at
        most 1000. For ``method="basic"``, the number of steps.
    method : {"pre-fitting", "back-fitting", "basic"} or Method, default="pre-fitting"
        How each point is chosen, and what is optimized with it: a word, or an object
        of :mod:`pursuit.methods` with more options, such as
        ``PreFitting(refit_every=5)``. "pre-fitting" (orthogonal least squares) chooses
        the point that leaves the smallest error after all coefficients are optimized;
        "back-fitting" (orthogonal matching pursuit) chooses by the residual and
        optimizes all coefficients afterwards; "basic" (matching pursuit) only sets the
        new coefficient.
    selection : {"cv", "validation"}, None or Selection, default="cv"
        How the size of the model is chosen: a word, or an object of
        :mod:`pursuit.selection` with more options. "cv" (`CrossValidation`): the
        lowest error of paths on 10 folds (5 if the kernel is learned, of which each
        fold learns its own), then a fit to all data. "validation" (`Validation`): a
        fifth is held out, the model is fitted to the rest, and the size that is best on
        that part is kept. None (`FixedSize`): all of `max_support`. What is held out is
        whole groups, or rows if all are one group. The error is the loss;
        ``CrossValidation(scoring="ndcg")``, "pairwise-accuracy" or a function
        ``scoring(y, scores, groups)``, larger is better, judges by that instead.
    alpha : float or "cv", default="cv"
        Ridge: ``alpha * sum(coef**2)`` is added to the summed loss. "cv" compares
        ridges on the same held-out rows as the size, as in :class:`KMPRegressor`.
    n_candidates : int, float, "auto", Redrawn or None, default="auto"
        Number (or share) of random training points that are candidates. None takes
        all. "auto" takes up to 10 000 (3000 if the kernel is learned), the same ones at
        every fit; above 50 000 rows fewer, down to two for each step, so that their
        values on all rows are no more than 5e8 numbers. ``Redrawn(59)`` of
        :mod:`pursuit.methods` draws new ones at each step.
    max_memory : int, str or None, default=None
        Memory that the fit may use: bytes, or a text such as "1 GiB". None is half of
        the free memory. Kernel values that do not fit are recomputed at each pass,
        with the same result.
    max_time : float, str or None, default=None
        Time that the fit may take, search and all: seconds, or a text such as "30 s" or
        "2 min"; None is as long as it takes. The model is the best that was found in
        that time, and `stop_reason_` begins with "time" if anything was cut short:
        first fewer settings are compared, then fewer rows and candidates. Such a model
        depends on the machine and its load, even with a `random_state`; a time that
        amply suffices changes nothing.
    dtype : {"float64", "float32"}, default="float64"
        Type in which kernel values are stored during the fit; sums are always
        float64.
    random_state : int, RandomState instance or None, default=None
        Seed of the folds and the random candidates. With None the folds are the same
        at every fit, and random candidates are not.
    n_jobs : int or None, default=None
        Number of widths compared at a time, in threads that share `max_memory` and
        the threads of BLAS.
    verbose : int or bool, default=0
        Whether to show a progress bar. Ctrl-C ends the fit within about a second, with
        the model that can be had from what was found so far, and a warning (see also
        :meth:`continue_fit`); pressed twice within two seconds, it also ends the
        surrounding code, such as a grid search.

    Attributes
    ----------
    support_ : ndarray of shape (n_support,)
        Training rows of the chosen points, in order of choice; with a dictionary in
        which rows have no or several functions, positions of the chosen functions in
        it.
    support_vectors_ : ndarray or sparse matrix of shape (n_support, n_features)
        Points on which the functions are centered; empty for a precomputed kernel.
    atoms_ : Functions
        Chosen functions: ``atoms_.names`` describes each, ``atoms_.rows`` is the
        training row on which it is centered (-1 for none), ``atoms_(X)`` are their
        values.
    dual_coef_ : ndarray of shape (1, n_support)
        Coefficients of the functions.
    coef_ : ndarray of shape (1, n_features)
        Weights of the features; with ``kernel="linear"`` only.
    intercept_ : ndarray of shape (1,)
        Constant, which says nothing: only differences of scores count.
    n_support_ : int
        Number of support points.
    path_ : Path
        All steps: atoms, errors, and the coefficients of every size.
    search_ : list of dict
        Widths and ridges compared: ``gamma``, ``alpha``, the mean held-out losses
        (or negated scores) at sizes 0, 1, ... as ``errors``, and their
        ``standard_errors`` over folds. The comparison uses at most 2000 candidates
        (or two for each step), about 20 000 rows, and as many of the folds as hold
        3000 rows. Where that is not all, "cv" runs the best once more with all
        candidates, rows and folds; this last entry chooses the size. The rounds in
        which a kernel was learned come first: they have ``kernel``, ``metric`` and
        ``round`` too, and squared losses.
    kernel_ : Kernel
        Kernel of the model: ``kernel_(X, support_vectors_) @ dual_coef_.T +
        intercept_`` are its values.
    metric_ : ndarray of shape (n_features,) or (n_features, n_features), or None
        Metric in which the kernel sees distances; None if rows are taken as they are.
    feature_importances_ : ndarray of shape (n_features,)
        Share of each feature in how much the model varies within groups: the mean
        squared derivative times the feature's variance around the means of the groups.
        Not for functions without gradients.
    loss_ : Loss
        Loss that was minimized.
    gamma_ : float or None
        Value of gamma that was used.
    alpha_ : float
        Ridge that was used.
    selection_ : str or None
        How the size was chosen.
    stop_reason_ : str
        Why the path ends; for a model from ``truncate``, that it was cut. Where time
        was too short for all rows, how many were fitted.
    size_reason_ : str
        What chose the size on the path.
    held_out_error_ : float or None
        Error of that size on held-out rows; None if nothing chose it.
    held_out_standard_error_ : float or None
        Its standard error over folds.
    n_iter_ : int
        Number of steps on the path, ``len(path_)``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    KMPRegressor : Kernel matching pursuit for regression.
    pursuit.ranking.ndcg : The score of rankings.
    pursuit.ranking.pairwise_accuracy : The share of pairs in the right order.

    Notes
    -----
    With l rows, M candidates and N points, a path costs at most O(l M N) time, as that
    of :class:`KMPRegressor`. Under the squared loss no pair is formed; see
    :mod:`pursuit.losses` for the others.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "Kernel Matching Pursuit", Machine Learning 48,
       165-187, 2002.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit import KMPRanker
    >>> rng = np.random.default_rng(0)
    >>> X, groups = rng.normal(size=(200, 2)), np.repeat(np.arange(20), 10)
    >>> y = np.digitize(np.sin(2 * X[:, 0]), [-0.5, 0.5])
    >>> model = KMPRanker("rbf", max_support=20).fit(X, y, groups=groups)
    >>> bool(model.score(X, y, groups=groups) > 0.95)
    True
    """

    _outputs: RankOutputs

    def __init__(
        self,
        kernel: KernelName | Literal["auto", "precomputed"] | KernelFunction = "auto",
        *,
        gamma: float | WidthRule | Literal["cv"] = "cv",
        metric: MetricWord | Auto | Metric | list[Any] | np.ndarray | None = "auto",
        dictionary: Any = None,
        loss: RankingLoss | Loss = "squared",
        max_support: int | float | None = None,
        method: MethodWord | Method = "pre-fitting",
        selection: Literal["cv", "validation"] | Selection | None = "cv",
        alpha: float | Literal["cv"] = "cv",
        n_candidates: int | float | Auto | Redrawn | None = "auto",
        max_memory: int | str | None = None,
        max_time: float | str | None = None,
        dtype: FloatType | type | np.dtype = "float64",
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int | bool = 0,
    ) -> None:
        super().__init__(
            kernel,
            gamma=gamma,
            metric=metric,
            dictionary=dictionary,
            loss=loss,  # type: ignore[arg-type]
            max_support=max_support,
            method=method,
            selection=selection,
            alpha=alpha,
            n_candidates=n_candidates,
            max_memory=max_memory,
            max_time=max_time,
            dtype=dtype,
            random_state=random_state,
            n_jobs=n_jobs,
            verbose=verbose,
        )

    @with_callbacks
    def fit(
        self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None
    ) -> KMPRanker:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Training points, or the square kernel matrix if precomputed.
        y : array-like of shape (n_samples,)
            Grades, larger is better.
        groups : array-like of shape (n_samples,), optional
            The group of each row, numbers or words, in any order: rows are compared
            with others of their group. By default all rows are one group.
        sample_weight : array-like of shape (n_samples,), optional
            A weight of 2 is the same as the row twice, 0 the same as no row: a pair
            weighs the product of its rows, over the weight of the group.

        Returns
        -------
        self : KMPRanker
            The fitted model.
        """
        self._fit(X, y, sample_weight, groups)
        return self

    def _fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any,
        groups: Any,
        known: Known | None = None,
    ) -> Fit:
        """Fit the model, and return how it was found."""
        X, y = self._validated(X, as_numbers(y), y_numeric=True)
        weight = check_sample_weight(sample_weight, len(y))
        codes = group_codes(groups, len(y))
        is_fitted = weight > 0
        _check_order(y[is_fitted], codes[is_fitted])
        settings = self._settings_for(len(np.unique(codes[is_fitted])))
        # Rows of weight 0 are as if absent, whatever their grades.
        Y = np.where(is_fitted, y, 0.0)[None]
        loss = as_ranking_loss(self.loss)
        sample = self._sample(settings, X, Y, weight, loss, groups=codes)
        check_target_scale(Y[:, is_fitted].T, weight, True)
        outputs = RankOutputs(loss, is_single=True)
        return self._pursue(settings, sample, outputs, y, None, known=known)

    def _settings_for(self, n_groups: int) -> Settings:
        """Return the parameters, checked and resolved.

        A constant takes care of a single group; several are centered each.
        """
        parameters = {**self.get_params(deep=False), "fit_intercept": n_groups == 1}
        settings = Settings.of(parameters)
        if settings.selection.word in ("loo", "bound"):
            raise ValueError(
                f"selection={settings.selection.word!r} is about rows by themselves, "
                "but here rows are compared: use selection='cv' or 'validation'."
            )
        return settings

    def _score(
        self,
        settings: Settings,
        sample: Sample,
        outputs: Outputs,
        y: np.ndarray,
        is_shared: bool,
    ) -> RankScore | None:
        """Return the score of held-out groups if there is one, None for the loss."""
        scoring = settings.selection.scoring
        if scoring is None:
            return None
        assert sample.groups is not None
        return RankScore(measure_of(scoring), y, sample.groups)

    def _keep_folds(self, folds: Any) -> None:
        """Keep nothing: errors of single rows have no meaning here."""
        self._folds: list[FoldPath] = []

    def continue_fit(  # type: ignore[override]
        self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None
    ) -> Self:
        """Go on from the fitted model: more steps, with its kernel and ridge.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            The training points, as in `fit`.
        y : array-like of shape (n_samples,)
            Their grades.
        groups : array-like of shape (n_samples,), optional
            Their groups.
        sample_weight : array-like of shape (n_samples,), optional
            Their weights.

        Returns
        -------
        self : KMPRanker
            The model with the longer path, up to the present `max_support`.
        """
        return super().continue_fit(X, y, sample_weight, groups)

    def predict(self, X: Any) -> np.ndarray:
        """Return the scores, larger is better.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; if precomputed, their kernel with all training points or with
            the support points only.

        Returns
        -------
        scores : ndarray of shape (n_samples,)
            Scores, of which only differences within a group mean anything.
        """
        values = self._values(X)
        return self._outputs.predict(values)

    def staged_predict(self, X: Any) -> Iterator[np.ndarray]:
        """Yield the scores of the models of sizes 1, 2, ... on the path.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.

        Yields
        ------
        scores : ndarray of shape (n_samples,)
            Those of ``truncate(n)``, also past the chosen size.
        """
        for values in self._staged(X):
            yield self._outputs.predict(values)

    def score(self, X: Any, y: Any, groups: Any = None) -> float:
        """Return the mean NDCG of the groups, see :func:`pursuit.ranking.ndcg`.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,)
            Their grades, of 0 or more.
        groups : array-like of shape (n_samples,), optional
            Their groups; by default all rows are one group.

        Returns
        -------
        score : float
            1 is best.
        """
        check_is_fitted(self, "dual_coef_")
        return ndcg(as_numbers(y), self.predict(X), groups)

    def staged_score(
        self, X: Any, y: Any, groups: Any = None, *, scoring: Any = None
    ) -> Iterator[float]:
        """Yield the scores of the models of sizes 1, 2, ... on the path.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.
        y : array-like of shape (n_samples,)
            Their grades.
        groups : array-like of shape (n_samples,), optional
            Their groups; by default all rows are one group.
        scoring : {"ndcg", "pairwise-accuracy"} or callable, optional
            A function is called as ``scoring(y, scores, groups)``; by default NDCG.

        Yields
        ------
        score : float
            Score of ``truncate(n)``.
        """
        measure = measure_of("ndcg" if scoring is None else scoring)
        for scores in self.staged_predict(X):
            yield float(measure(y, scores, groups))


def _check_order(y: np.ndarray, codes: np.ndarray) -> None:
    """Raise a ValueError if no group has two rows of different grades."""
    if have_order(y, codes).any():
        return
    n = len(np.unique(codes))
    raise ValueError(
        f"No group has rows of two different grades (n_samples={len(y)}, "
        f"n_groups={n}), so that there is nothing to rank: groups must hold several "
        "rows, and y their grades."
    )
