"""Turn the values of fitted functions into predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import NotFittedError

from pursuit.calibration import Calibration
from pursuit.losses import Loss, Quantile
from pursuit.ranking import ndcg


def is_of_quantiles(loss: Any) -> bool:
    """Return whether the outputs under a loss are several quantiles of one target."""
    return isinstance(loss, Quantile) and np.ndim(loss.quantile) > 0


@dataclass(frozen=True, eq=False)
class NumberOutputs:
    """Predictions of a regressor.

    Attributes
    ----------
    loss : Loss
        Loss of the fit, whose link turns values into means.
    is_single : bool
        Whether y was one-dimensional.
    """

    loss: Loss
    is_single: bool

    def predict(self, values: np.ndarray) -> np.ndarray:
        """Return the predictions for values (n, T)."""
        values = self.loss.mean(values)
        return values[:, 0] if self.is_single else values

    @property
    def has_quantiles(self) -> bool:
        """Whether the outputs are several quantiles of one target."""
        return is_of_quantiles(self.loss)

    def score(self, y: Any, predicted: np.ndarray, weight: Any = None) -> float:
        """Return R²; for several quantiles, the mean of scikit-learn's D²."""
        from sklearn.metrics import d2_pinball_score, r2_score  # slow to import

        if not self.has_quantiles:
            return float(r2_score(y, predicted, sample_weight=weight))
        pairs = zip(predicted.T, self.loss.quantile, strict=True)
        scores = [
            d2_pinball_score(y, values, sample_weight=weight, alpha=level)
            for values, level in pairs
        ]
        return float(np.mean(scores))


@dataclass(frozen=True, eq=False)
class RankOutputs(NumberOutputs):
    """Scores of a ranker, which only tell the order of the rows of a group."""

    def score(self, y: Any, predicted: np.ndarray, weight: Any = None) -> float:
        """Return the NDCG of all rows as one group."""
        return ndcg(y, predicted)


@dataclass(frozen=True, eq=False)
class ClassOutputs:
    """Predictions of a classifier.

    Attributes
    ----------
    classes : ndarray
        Class labels, sorted.
    loss : Loss
        Loss of the fit.
    calibration : Calibration or None
        What turns values into probabilities in place of the loss.
    """

    classes: np.ndarray
    loss: Loss
    calibration: Calibration | None = None

    @property
    def has_probabilities(self) -> bool:
        """Whether the loss, or a calibration, gives probabilities."""
        return self.calibration is not None or hasattr(self.loss, "probabilities")

    def decide(self, values: np.ndarray) -> np.ndarray:
        """Return values (n, T) as a decision function: (n,) for two classes."""
        return values[:, 0] if len(self.classes) == 2 else values

    def predict(self, values: np.ndarray) -> np.ndarray:
        """Return the predicted classes."""
        if self.has_probabilities:
            return self.classes[self._most_probable(values)]
        if len(self.classes) == 2:
            return self.classes[(values[:, 0] > 0).astype(int)]
        return self.classes[values.argmax(axis=1)]

    def probabilities(self, values: np.ndarray) -> np.ndarray:
        """Return the probabilities (n, n_classes)."""
        if not self.has_probabilities:
            raise NotFittedError(
                f"This model was fitted with the loss {self.loss!r}, which has no "
                "probabilities, or without held-out rows to calibrate them by: fit it "
                "again, with the parameters that it has now."
            )
        if self.calibration is not None:
            return self.calibration(values)
        return self.loss.probabilities(values.T).T

    def log_probabilities(self, values: np.ndarray) -> np.ndarray:
        """Return the logarithms of the probabilities."""
        if self.calibration is None and hasattr(self.loss, "log_probabilities"):
            return self.loss.log_probabilities(values.T).T
        with np.errstate(divide="ignore"):
            return np.log(self.probabilities(values))

    def _most_probable(self, values: np.ndarray) -> np.ndarray:
        """Return the class of the highest probability, of equal ones the highest value.

        By probabilities, so that `predict` and `predict_proba` agree. Far from the
        boundary they round to 1 for several classes, which the values tell apart.
        """
        P = self.probabilities(values)
        is_highest = P.max(axis=1, keepdims=True) <= P
        if values.shape[1] == 1:
            values = np.hstack([-values, values])
        return np.where(is_highest, values, -np.inf).argmax(axis=1)


Outputs = NumberOutputs | ClassOutputs


def class_targets(codes: np.ndarray, n_classes: int) -> np.ndarray:
    """Return targets of -1 and +1, one row for each class, or one row for two."""
    if n_classes == 2:
        return np.where(codes == 1, 1.0, -1.0)[None]
    return np.where(codes == np.arange(n_classes)[:, None], 1.0, -1.0)
