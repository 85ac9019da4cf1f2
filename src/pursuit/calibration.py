"""Probabilities from the values of a classifier, by rows that it has not seen.

A calibration is learned from values F (n, T) of models on rows that these never saw,
with one column for two classes (positive for the second), else one for each class.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp, softmax
from sklearn.isotonic import IsotonicRegression

# Range of the logarithm of the factor that follows one of unit size.
_LEAST, _MOST = -6.0, 6.0


class Calibration(Protocol):
    """Turns values (n, T) into probabilities (n, n_classes)."""

    @classmethod
    def of(cls, values: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> Self:
        """Return a calibration learned from values on rows that were not seen.

        Parameters
        ----------
        values : ndarray of shape (n, T)
        codes : ndarray of int of shape (n,)
            The class of each row.
        weight : ndarray of shape (n,)
        """

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the probabilities; rows sum to 1."""


def _of_classes(values: np.ndarray) -> np.ndarray:
    """Return a value for each class, for two classes too."""
    return values if values.shape[1] > 1 else np.hstack([-0.5 * values, 0.5 * values])


def _least_share(codes: np.ndarray) -> float:
    """Return the probability that is left to what none of these rows was (Laplace)."""
    return 1.0 / (len(codes) + 2.0)


@dataclass(frozen=True)
class Temperature:
    """The softmax of the values times a factor, which the likelihood of the rows sets.

    The class of the largest value stays the most probable one.
    """

    factor: float

    @classmethod
    def of(
        cls, values: np.ndarray, codes: np.ndarray, weight: np.ndarray
    ) -> Temperature:
        """Return the factor of highest likelihood.

        Rows that were all right do not tell that the next one is right for sure: each
        counts for a share of 1 / (n + 2) as one of the other classes.
        """
        F = _of_classes(values)
        spread = np.abs(F - F.mean(axis=1, keepdims=True)).mean()
        if not spread > 0:
            return cls(0.0)
        own, other = F[np.arange(len(codes)), codes], _least_share(codes)
        rest = (F.sum(axis=1) - own) / (F.shape[1] - 1)
        wanted = (1.0 - other) * own + other * rest

        def loss(log_factor: float) -> float:
            factor = np.exp(log_factor) / spread
            return float(weight @ (logsumexp(factor * F, axis=1) - factor * wanted))

        best = minimize_scalar(loss, bounds=(_LEAST, _MOST), method="bounded")
        return cls(float(np.exp(best.x) / spread))

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the probabilities; rows sum to 1."""
        return np.asarray(softmax(self.factor * _of_classes(values), axis=1))


@dataclass(frozen=True, eq=False)
class Isotonic:
    """For each class the rising function of its value that fits the rows best.

    With more than two classes the results are divided by their sum.

    Attributes
    ----------
    values, shares : tuple of ndarray
        The corners of each function: values of the classifier in order, and
        probabilities. For two classes there is one function, that of the second.
    """

    values: tuple[np.ndarray, ...]
    shares: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, values: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> Isotonic:
        """Return the functions of least squared error.

        Rows that were never of a class do not tell that it is impossible, but that
        the next one is of it with 1 / (n + 2) (Laplace).
        """
        second = 1 if values.shape[1] == 1 else 0
        least = _least_share(codes)
        rises = [
            IsotonicRegression(y_min=least, y_max=1.0 - least).fit(
                column, codes == t + second, sample_weight=weight
            )
            for t, column in enumerate(values.T)
        ]
        corners = [(rise.X_thresholds_, rise.y_thresholds_) for rise in rises]
        return cls(
            *(tuple(map(np.asarray, part)) for part in zip(*corners, strict=True))
        )

    def __call__(self, values: np.ndarray) -> np.ndarray:
        """Return the probabilities; rows sum to 1."""
        P = np.column_stack(
            [
                np.interp(column, v, s)
                for column, v, s in zip(values.T, self.values, self.shares, strict=True)
            ]
        )
        if P.shape[1] == 1:
            return np.hstack([1.0 - P, P])
        return np.asarray(P / P.sum(axis=1, keepdims=True))


CALIBRATIONS: dict[str, type[Calibration]] = {
    "temperature": Temperature,
    "isotonic": Isotonic,
}
