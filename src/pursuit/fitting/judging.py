"""Score held-out predictions with a scikit-learn scorer instead of the loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True, eq=False)
class Score:
    """A scikit-learn scorer with its sign reversed: lower is better.

    Attributes
    ----------
    scorer : callable
        ``scorer(model, X, y)``.
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
        model = self.model_of(values)
        # Not every scorer supports weights: pass them only if they differ.
        matters = np.ptp(weight) > 0
        how = {"sample_weight": weight} if matters else {}
        score = float(self.scorer(model, self.X[rows], self.y[rows], **how))
        if not np.isfinite(score):
            raise ValueError(
                f"scoring gave {score} on held-out rows: choose a score that is "
                "defined on every fold, or another cv."
            )
        return -score
