"""Classifier by Bayes' rule on any density estimator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassifierMixin,
    MetaEstimatorMixin,
    clone,
)
from sklearn.model_selection import ParameterGrid
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import (
    check_choice,
    check_classes,
    check_verbose,
    positive_number,
)
from pursuit._progress import Progress
from pursuit._rows import distinct_rows
from pursuit._words import Auto, TuningCriterion
from pursuit.densities.posteriors import (
    ancll,
    are_log_densities,
    best_temperature,
    error_rate,
    log_posteriors,
)
from pursuit.estimators._saving import Saved
from pursuit.estimators._splits import among, partition
from pursuit.estimators._validation import (
    check_sample_weight,
    class_codes,
    validate_data,
)
from pursuit.sample import Framer, framer

from ._user_densities import check_density, fit_density, held_out_scores, scores

# Decimal digits of a loss, beyond which settings tie.
_DIGITS = 12
# A number of folds, or the masks of users' folds.
Folds = int | list[np.ndarray]


@dataclass(frozen=True, eq=False)
class _TrainingRows:
    """Validated rows of positive weight.

    Attributes
    ----------
    X : ndarray of shape (l, n)
    codes : ndarray of int of shape (l,)
        Index of the class of each row.
    weight : ndarray of shape (l,)
    log_priors : ndarray of shape (C,)
    folds : int or list of ndarray
        For densities that cannot leave out rows themselves.
    framer : Framer or None
        Makes the frames that the densities get.
    """

    X: np.ndarray
    codes: np.ndarray
    weight: np.ndarray
    log_priors: np.ndarray
    folds: Folds
    framer: Framer | None

    def fitted(self, density: Any) -> list[Any]:
        """Return a clone of the density for each class, fitted to its rows."""
        return [
            fit_density(clone(density), self.X[rows], self.weight[rows], self.framer)
            for rows in self._classes()
        ]

    def left_out_logs(self, densities: list[Any]) -> np.ndarray:
        """Return log p_c of each row, fitted without the row, (l, C)."""
        logs = np.empty((len(self.X), len(densities)))
        for c, (density, rows) in enumerate(
            zip(densities, self._classes(), strict=True)
        ):
            some = self.X[rows], self.weight[rows], among(self.folds, rows)
            logs[rows, c] = held_out_scores(density, *some, self.framer)
            if not rows.all():
                logs[~rows, c] = scores(density, self.X[~rows], self.framer)
        return logs

    def _classes(self) -> list[np.ndarray]:
        """Return which rows belong to each class."""
        return [self.codes == c for c in range(len(self.log_priors))]

    def losses(
        self, logs: np.ndarray, temperature: float | Auto | None
    ) -> dict[str, float]:
        """Return the losses of left-out log-densities, NaN if any of these is NaN."""
        if not are_log_densities(logs):
            return {"ancll": np.nan, "error": np.nan, "temperature": 1.0}
        temperature = temperature or 1.0
        if isinstance(temperature, str):
            n_distinct = len(distinct_rows(self.X, self.weight)[0])
            temperature = best_temperature(
                logs, self.log_priors, self.codes, self.weight, n_distinct
            )
        posterior = log_posteriors(logs, self.log_priors, temperature)
        return {
            "ancll": ancll(posterior, self.codes, self.weight),
            "error": error_rate(posterior, self.codes, self.weight),
            "temperature": float(temperature),
        }


class DensityClassifier(ClassifierMixin, MetaEstimatorMixin, Saved, BaseEstimator):
    r"""Classifier by Bayes' rule with one density per class.

    .. math:: P(c|x) \propto \pi_c \, p_c(x)^{1/T}

    Parameters
    ----------
    density : estimator
        Estimator with ``fit`` and ``score_samples``, of this or another library, such
        as `ManifoldParzen()` or scikit-learn's `KernelDensity`, or a pipeline that
        ends in one. A clone is fitted to each class. If the classifier gets a frame,
        so does the density, which may name columns; all columns must be numbers.
    priors : array-like of shape (n_classes,) or None, default=None
        Prior probabilities of the classes, in sorted order of the labels. None takes
        their shares of the training weight.
    temperature : float, None or "auto", default=None
        Temperature T; None is 1. "auto" maximizes the log-probability of left-out rows
        and of one pretended row, of average weight, that misses its class by the
        typical margin: without it, rows that are all classified correctly would ask
        for T = 0. This calibrates the probabilities and changes few decisions.
    param_grid : dict, list of dict, "auto" or None, default="auto"
        Parameters of the density, shared by all classes, to compare on left-out rows.
        "auto" compares the parameters that are "auto" in the density, at the values
        of its ``tuning_grid``; a density without that method (of another library, or
        a pipeline) is used as it is. Give the grid for those, in a pipeline with names
        such as ``"manifoldparzen__bandwidth"``. None compares nothing; a density
        whose bandwidth is "auto" then chooses it for each class by likelihood, which
        is a poor guide to the error.
    tune_by : {"ancll", "error"}, default="ancll"
        Criterion of the comparison: the average negative conditional log-likelihood,
        -log P of the true class (at the best temperature, if that is "auto"), or the
        error rate, with ties broken by the former. Of settings that tie, the one with
        the widest ``bandwidth`` is taken.
    cv : int, splitter, iterable or None, default=5
        Folds by which rows are left out if the density has no ``loo_score_samples``: a
        number of folds in each class, a scikit-learn splitter or (train, test) indices
        that test every row once; None is stratified 5-fold without shuffling. If it
        has, each row is left out exactly.
    verbose : int or bool, default=0
        Whether to show a progress bar during the comparison.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Class labels.
    densities_ : list of estimators
        Fitted density of each class.
    class_prior_ : ndarray of shape (n_classes,)
        Prior probabilities of the classes.
    temperature_ : float
        Temperature that was used.
    best_params_ : dict
        Chosen parameters of the density; empty if none were compared.
    search_ : list of dict
        Settings compared: ``params``, ``ancll``, ``error``, ``temperature``.
    n_features_in_ : int
        Number of features.
    feature_names_in_ : ndarray of str
        Names of the features, if the training data had some.

    See Also
    --------
    ManifoldParzen, ParzenWindows, LocalGaussianDensity : Densities.

    Notes
    -----
    Each setting compared costs a fit and the scores of all rows under all classes.

    Columns of a few values, such as 0 and 1, have no density. Give a bandwidth there,
    or use `HKNNClassifier` or `KMPClassifier`: a bandwidth chosen on left-out rows
    blurs the classes, since equal rows are left out together.

    Densities that do not integrate to one, such as `LocalGaussianDensity` without
    ``normalize=True``, are used as they are: a class whose density has mass 2 counts as
    if its prior were twice as large.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "Manifold Parzen Windows", Advances in Neural
       Information Processing Systems 15, 2002, section 4.3.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from pursuit import DensityClassifier, ManifoldParzen
    >>> X, y = load_iris(return_X_y=True)
    >>> model = DensityClassifier(ManifoldParzen(), temperature="auto").fit(X, y)
    >>> bool(model.score(X, y) > 0.95)
    True
    """

    def __init__(
        self,
        density: Any,
        *,
        priors: Any = None,
        temperature: float | Auto | None = None,
        param_grid: Any = "auto",
        tune_by: TuningCriterion = "ancll",
        cv: Any = 5,
        verbose: int | bool = 0,
    ) -> None:
        self.density = density
        self.priors = priors
        self.temperature = temperature
        self.param_grid = param_grid
        self.tune_by = tune_by
        self.cv = cv
        self.verbose = verbose

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> DensityClassifier:
        """Fit a density to each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Training points.
        y : array-like of shape (n_samples,)
            Class labels, of at least two classes.
        sample_weight : array-like of shape (n_samples,), optional
            Weights for the densities and the priors. The densities must support them
            unless all are equal. Rows of weight 0 are ignored.

        Returns
        -------
        self : DensityClassifier
            The fitted classifier.
        """
        self._check()
        frame = X
        X, y = validate_data(self, X, y, dtype=np.float64)
        self._framer = framer(frame, getattr(self, "feature_names_in_", None))
        weight = check_sample_weight(sample_weight, len(y))
        folds = partition(self.cv, X, y, weight, is_class=True)
        used = weight > 0
        X, y, weight, folds = X[used], y[used], weight[used], among(folds, used)
        self.classes_, codes = class_codes(y)
        check_classes(self.classes_)
        shares = np.bincount(codes, weight) / weight.sum()
        self.class_prior_ = _priors(self.priors, shares)
        with np.errstate(divide="ignore"):
            self._log_priors = np.log(self.class_prior_)
        rows = _TrainingRows(X, codes, weight, self._log_priors, folds, self._framer)
        self._tune(rows)
        return self

    def _check(self) -> None:
        check_density(self.density)
        check_choice("tune_by", self.tune_by, ("ancll", "error"))
        check_verbose(self.verbose)
        positive_number("temperature", self.temperature, ("auto", None))

    # -- tuning --------------------------------------------------------------------

    def _tune(self, rows: _TrainingRows) -> None:
        """Set the densities and the temperature, after a comparison if requested."""
        settings = list(ParameterGrid(self._grid(rows)))
        if not settings:
            raise ValueError(
                f"param_grid={self.param_grid!r} has no settings: give values to "
                "compare, or None to compare nothing."
            )
        self.search_: list[dict[str, Any]] = []
        is_calibrated = isinstance(self.temperature, str)
        best = None
        with Progress(len(settings), "settings", self.verbose, "setting") as bar:
            for n_done, params in enumerate(settings):
                densities = rows.fitted(clone(self.density).set_params(**params))
                if len(settings) == 1 and not is_calibrated:
                    best = params, densities, float(self.temperature or 1.0)
                    break
                losses = rows.losses(rows.left_out_logs(densities), self.temperature)
                row = {"params": dict(params), **losses}
                self.search_.append(row)
                if row is min(self.search_, key=self._order):
                    best = params, densities, losses["temperature"]
                bar.show(n_done + 1, ancll=losses["ancll"], error=losses["error"])
        assert best is not None
        if self.search_ and all(np.isnan(row["ancll"]) for row in self.search_):
            raise ValueError(
                f"density={self.density!r} gave log-densities that are NaN or +inf "
                "with every setting: its score_samples must return numbers, or -inf."
            )
        self.best_params_, self.densities_, self.temperature_ = best

    def _order(self, row: dict[str, Any]) -> tuple[float, ...]:
        names = ("ancll",) if self.tune_by == "ancll" else ("error", "ancll")
        # NaN counts as worse than any number.
        losses = (np.inf if np.isnan(row[name]) else row[name] for name in names)
        return (*(round(loss, _DIGITS) for loss in losses), -_width(row["params"]))

    def _grid(self, rows: _TrainingRows) -> Any:
        if self.param_grid is None:
            return {}
        if not isinstance(self.param_grid, str):
            return self.param_grid
        check_choice("param_grid", self.param_grid, ("auto", None))
        offered = getattr(self.density, "tuning_grid", None)
        largest = np.bincount(rows.codes, rows.weight).argmax()
        return {} if offered is None else offered(rows.X[rows.codes == largest])

    # -- prediction ----------------------------------------------------------------

    def predict_log_proba(self, X: Any) -> np.ndarray:
        """Return the log-probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        log_proba : ndarray of shape (n_samples, n_classes)
            Natural logarithms; columns in the order of `classes_`.
        """
        check_is_fitted(self, "densities_")
        X = validate_data(self, X, dtype=np.float64, reset=False)
        logs = np.column_stack([scores(d, X, self._framer) for d in self.densities_])
        return log_posteriors(logs, self._log_priors, self.temperature_)

    def predict_proba(self, X: Any) -> np.ndarray:
        """Return the probabilities of the classes.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_classes)
            Rows sum to 1; columns in the order of `classes_`.
        """
        return np.exp(self.predict_log_proba(X))

    def predict(self, X: Any) -> np.ndarray:
        """Return the most probable class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Points.

        Returns
        -------
        y : ndarray of shape (n_samples,)
            Class labels.
        """
        log_proba = self.predict_log_proba(X)
        return self.classes_[log_proba.argmax(axis=1)]


def _width(params: dict[str, Any]) -> float:
    """Return the bandwidth of a setting, also of a pipeline's; 0 without one."""
    widths = (v for name, v in params.items() if name.split("__")[-1] == "bandwidth")
    return max((v for v in widths if isinstance(v, int | float)), default=0.0)


def _priors(priors: Any, shares: np.ndarray) -> np.ndarray:
    if priors is None:
        return shares
    message = (
        f"priors={priors!r} must be {len(shares)} finite numbers of at least 0, one "
        "for each class in sorted order of the labels, or None."
    )
    try:
        values = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(message) from error
    if values.shape != shares.shape or not np.all((values >= 0) & (values < np.inf)):
        raise ValueError(message)
    total = values.sum()
    if not np.isclose(total, 1.0):
        raise ValueError(f"priors={priors!r} must sum to 1; they sum to {total}.")
    return values
