"""Score held-out predictions with a scikit-learn scorer instead of the loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


def _accuracy(model: Any, X: Any, y: np.ndarray, sample_weight: Any = None) -> float:
    return float(np.average(model.predict(X) == y, weights=sample_weight))


def _squares(model: Any, X: Any, y: np.ndarray, sample_weight: Any = None) -> float:
    errors = (model.predict(X) - y) ** 2
    return -float(np.mean(np.average(errors, axis=0, weights=sample_weight)))


def _absolutes(model: Any, X: Any, y: np.ndarray, sample_weight: Any = None) -> float:
    errors = np.abs(model.predict(X) - y)
    return -float(np.mean(np.average(errors, axis=0, weights=sample_weight)))


# Common scores without scikit-learn's checks, which take a hundred times as long as the
# score itself: each size of each fold is scored.
QUICK_SCORERS: dict[str, Callable[..., float]] = {
    "accuracy": _accuracy,
    "neg_mean_squared_error": _squares,
    "neg_mean_absolute_error": _absolutes,
}


@dataclass(frozen=True, eq=False)
class Score:
    """A scikit-learn scorer with its sign reversed: lower is better.

    Attributes
    ----------
    scorer : callable
        ``scorer(model, X, y)``, with ``sample_weight`` if it takes that; otherwise all
        rows count alike.
    model_of : callable
        ``model_of(values)`` returns a model that predicts from the values (T, n) of
        its function on the rows, without a fit.
    X, y
        Training data.
    """

    scorer: Callable[..., float]
    model_of: Callable[[np.ndarray], Any]
    X: Any
    y: np.ndarray

    def __call__(
        self, rows: np.ndarray, values: np.ndarray, weight: np.ndarray
    ) -> float:
        """Return the negative score of the model with these values on the rows."""
        given = self.model_of(values), self.X[rows], self.y[rows]
        try:
            found = self._scored(given, weight)
        except AttributeError as error:
            raise AttributeError(
                f"scoring asks for what the model does not have: {error} "
                "Probabilities need loss='logistic'."
            ) from error
        try:
            score = float(found)
        except (TypeError, ValueError):
            raise ValueError(f"scoring gave {found!r}, which is no number.") from None
        if not np.isfinite(score):
            raise ValueError(
                f"scoring gave {score} on held-out rows: choose a score that is "
                "defined on every fold, or another cv."
            )
        return -score

    def _scored(self, given: tuple[Any, Any, np.ndarray], weight: np.ndarray) -> Any:
        if np.ptp(weight) == 0:
            return self.scorer(*given)
        try:
            return self.scorer(*given, sample_weight=weight)
        except TypeError:
            return self.scorer(*given)
