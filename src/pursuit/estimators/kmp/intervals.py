"""Standard deviations and prediction intervals of the regressor."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from pursuit._parameters import check_choice
from pursuit._warnings import warn
from pursuit.conformal import Scores
from pursuit.expansions import Expansion, value_blocks
from pursuit.fitting.held_out import FoldModel
from pursuit.leverage import Leverage
from pursuit.methods import as_method
from pursuit.path import OrthogonalPath

from .held_out import HeldOut, as_coverages
from .outputs import NumberOutputs

IntervalMethod = Literal["plus", "minmax", "base"]


class Intervals(HeldOut):
    """Mixin of the regressor: how far targets may be from the predictions."""

    # -- standard deviations -------------------------------------------------------

    def _predict_with_std(self, X: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions, and the standard deviations of targets around them."""
        check_is_fitted(self, "dual_coef_")
        leverage = self._leverage(self._sizes[0])
        if leverage is None:
            raise ValueError(
                "return_std=True is about the Bayesian linear model of the squared "
                "loss, in which all coefficients are optimized: this model has "
                f"loss={self.loss!r} and method={self.method!r}. "
                "predict_interval has no such condition."
            )
        values, h = values_and_leverages(self._expansion, leverage, self._checked(X))
        std = np.sqrt(1.0 + h)[:, None] * self._noise(leverage)
        is_single = self._outputs.is_single
        return self._outputs.predict(values), std[:, 0] if is_single else std

    def _noise(self, leverage: Leverage) -> np.ndarray:
        """Return the standard deviation of the noise of each output.

        Held-out errors tell it, since the choice of the functions has not seen their
        rows; without them, the training errors and the degrees of freedom.
        """
        if self._has_folds:
            models = self._fold_models()
            weight = np.concatenate([m.weight for m in models])
            errors = [(m.Y - m.values).T ** 2 / (1.0 + m.leverages) for m in models]
            return np.sqrt(np.concatenate(errors, axis=1) @ weight / weight.sum())
        path = self.path_
        if path.paths[0].n_outputs > 1:
            raise ValueError(
                "Without held-out rows, return_std=True is for one target: fit with "
                "selection='cv' or 'validation'."
            )
        n_free = self._n_rows - leverage.degrees_of_freedom(self.alpha_)
        share = self._n_rows / max(n_free, 1.0)
        return np.sqrt(share * path.errors[self._sizes[0] :][:1])

    def _leverage(self, size: int) -> Leverage | None:
        """Return the leverage of the model of a size; None if there is none."""
        path = self.path_
        is_optimal = as_method(self.method).word != "basic"
        if not is_optimal or not isinstance(path, OrthogonalPath):
            return None
        functions = self._functions_of(path.atoms[:size])
        return Leverage.at(path, size, functions)

    # -- intervals -----------------------------------------------------------------

    def predict_interval(
        self, X: Any, coverage: Any = 0.9, *, method: IntervalMethod = "plus"
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return predictions, and intervals that hold so many of the targets.

        The intervals come from the errors that the models of the folds made on the
        rows that they never saw, without another fit. Under squared loss errors are
        taken relative to ``sqrt(1 + h(x))``, the standard deviation that the Bayesian
        linear model gives a new target, so that intervals are wider where the data say
        less of the coefficients. A model of several quantiles, such as
        ``loss=Quantile([0.05, 0.95])``, gets both ends moved by the same amount.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points; if precomputed, their kernel with all training points.
        coverage : float or sequence of float, default=0.9
            Share of new targets that lie in the interval.
        method : {"plus", "minmax", "base"}, default="plus"
            How the models of the folds are joined. "plus" judges each row by the model
            that never saw it (CV+; the split conformal method if there is one held-out
            part): the coverage in practice, and for exchangeable rows never much less
            than ``1 - 2 * (1 - coverage)``. "minmax" takes the outermost of the models:
            never much less than the coverage, in wider intervals. "base" puts the
            errors around the predictions of the model itself: no guarantee, but the
            models of the folds need not predict.

        Returns
        -------
        y : ndarray of shape (n_samples,) or (n_samples, n_outputs)
            Predictions, as :meth:`predict`.
        intervals : ndarray of shape (n_samples, 2, n_coverages)
            Lower and upper limits; (n_samples, n_outputs, 2, n_coverages) for several
            targets, each covered by itself. Infinite if too few rows were held out.

        Notes
        -----
        The promise is about exchangeable rows: new ones must come from where the
        training rows came from, and rows that belong together, such as several of one
        patient, must be held out together. The same held-out rows have chosen kernel,
        ridge and size, which makes their errors a little too small: folds did not show
        it, 60 rows of selection="validation" held 0.885 instead of 0.9.

        References
        ----------
        .. [1] R. Foygel Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani,
           "Predictive inference with the jackknife+", Annals of Statistics 49,
           486-507, 2021.
        .. [2] Y. Romano, E. Patterson and E. J. Candès, "Conformalized quantile
           regression", NeurIPS 2019.
        """
        how = as_coverages(coverage), _checked_method(method)
        models = self._fold_models()
        X = self._staged_points(X)
        values = self._expansion(X)
        intervals = self._intervals(X, values, self._sizes[0], models, *how)
        return self._outputs.predict(values), intervals

    def staged_predict_interval(
        self, X: Any, coverage: Any = 0.9, *, method: IntervalMethod = "plus"
    ) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Yield predictions and intervals of the models of sizes 1, 2, ...

        The stages go as far as the models of the folds.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            Points.
        coverage : float or sequence of float, default=0.9
            Share of new targets that lie in the interval.
        method : {"plus", "minmax", "base"}, default="plus"
            As in :meth:`predict_interval`.

        Yields
        ------
        y, intervals : ndarray
            As :meth:`predict_interval` of ``truncate(n)``.
        """
        how = as_coverages(coverage), _checked_method(method)
        self._fold_models([0])
        stages = self._staged(X)
        X = self._staged_points(X)
        for n in range(1, self._largest_known + 1):
            values, models = next(stages), self._fold_models([n])
            intervals = self._intervals(X, values, n, models, *how)
            yield self._outputs.predict(values), intervals

    def _intervals(
        self,
        X: Any,
        values: np.ndarray,
        size: int,
        models: Sequence[FoldModel],
        coverages: np.ndarray,
        method: IntervalMethod,
    ) -> np.ndarray:
        """Return the intervals at X, where the model of a size has these values."""
        scores = [_scores(self._outputs, model) for model in models]
        if method == "base":
            own = Ends.of(self._outputs, values, _leverages(self._leverage(size), X))
            ends = [own] * len(models)
        else:
            at_X = (values_and_leverages(m.expansion, m.leverage, X) for m in models)
            ends = [Ends.of(self._outputs, *both) for both in at_X]
        if method == "minmax":
            ends = _outermost(ends)
        weights = [model.weight for model in models]
        of_targets = [
            Scores.of([s[:, t] for s in scores], weights)
            for t in range(ends[0].low.shape[1])
        ]
        _tell_of_infinite(of_targets[0], coverages)
        limits = [_limits(s, ends, t, coverages) for t, s in enumerate(of_targets)]
        has_one = self._outputs.is_single or self._outputs.has_quantiles
        return limits[0] if has_one else np.stack(limits, axis=1)


# -- from models to limits -----------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Ends:
    """Between which values a model alone would look for targets.

    Attributes
    ----------
    low, high : ndarray of shape (n, n_targets)
        The same prediction, or the outer ones of several quantiles.
    spread : ndarray of shape (n,)
        The unit of errors at each point.
    """

    low: np.ndarray
    high: np.ndarray
    spread: np.ndarray

    @classmethod
    def of(
        cls, outputs: NumberOutputs, values: np.ndarray, leverages: np.ndarray
    ) -> Ends:
        """Return the ends where a model has these values and leverages."""
        low = high = outputs.loss.mean(values)
        if outputs.has_quantiles:
            low, high = (end(low, axis=1, keepdims=True) for end in (np.min, np.max))
        return cls(low, high, np.sqrt(1.0 + leverages))


def _scores(outputs: NumberOutputs, model: FoldModel) -> np.ndarray:
    """Return how far (n, n_targets) the targets never seen are beyond the ends."""
    ends = Ends.of(outputs, model.values, model.leverages)
    Y = model.Y[:, : ends.low.shape[1]]
    return np.maximum(ends.low - Y, Y - ends.high) / ends.spread[:, None]


def values_and_leverages(
    expansion: Expansion, leverage: Leverage | None, X: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values (n, T) and leverages at the rows of X, zeros if there are none.

    The functions are evaluated once for both.
    """
    if leverage is None:
        return expansion(X), np.zeros(X.shape[0])
    parts = [
        (G @ expansion.coef.T + expansion.intercept, leverage.of_values(G))
        for _, G in value_blocks(expansion.functions, X)
    ]
    values, leverages = zip(*parts, strict=True)
    return np.concatenate(values), np.concatenate(leverages)


def _leverages(leverage: Leverage | None, X: Any) -> np.ndarray:
    return np.zeros(X.shape[0]) if leverage is None else leverage(X)


def _outermost(ends: Sequence[Ends]) -> list[Ends]:
    """Return, for each model, the outermost ends of all."""
    low = np.min([e.low for e in ends], axis=0)
    high = np.max([e.high for e in ends], axis=0)
    return [replace(e, low=low, high=high) for e in ends]


def _limits(
    scores: Scores, ends: Sequence[Ends], target: int, coverages: np.ndarray
) -> np.ndarray:
    """Return the lower and upper limits (n, 2, n_coverages) of a target."""
    spreads = np.column_stack([e.spread for e in ends])
    low, high = (
        np.column_stack([values[:, target] for values in sides])
        for sides in ([-e.low for e in ends], [e.high for e in ends])
    )
    limits = [
        (-scores.limits(low, spreads, c), scores.limits(high, spreads, c))
        for c in coverages
    ]
    return np.stack(limits, axis=-1).swapaxes(0, 1)


def _checked_method(method: Any) -> IntervalMethod:
    check_choice("method", method, ("plus", "minmax", "base"))
    return method


def _tell_of_infinite(scores: Scores, coverages: np.ndarray) -> None:
    """Warn of coverages that no finite interval has."""
    largest = coverages.max()
    if scores.beyond(largest) < 0:
        needed = int(np.ceil(1.0 / (1.0 - largest) - 1.0 - 1e-9))
        warn(
            f"coverage={largest:g} needs {needed} held-out rows, there are "
            f"{scores.n_rows:g}: the interval is infinite. Ask for less, or fit to "
            "more rows."
        )
