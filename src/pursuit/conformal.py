"""Intervals and sets with a promised coverage, from errors on rows never seen.

Each fold k has a model that never saw the rows of the fold, and scores of these rows:
how wrong the model is there. If rows are exchangeable, the score of a new row is as
likely to be the largest as any other. A *limit* at x is the smallest value that enough
of the rows do not exceed, each judged by the model that never saw it:

    the ⌈c (l + 1)⌉-th smallest of  μ_k(i)(x) + s_k(i)(x) R_i,   i = 1 ... l,

where c is the coverage, μ_k the values of the fold's model and s_k their scale. Both
limits together are the interval of CV+ [1]_, and of the split conformal method if there
is one fold. Rows of weight w count as w rows.

References
----------
.. [1] R. Foygel Barber, E. J. Candès, A. Ramdas and R. J. Tibshirani, "Predictive
   inference with the jackknife+", Annals of Statistics 49, 486-507, 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ._compiling import compiled

# Sums of weights that are closer than this are equal.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Scores:
    """How wrong models are on rows that they never saw, fold by fold.

    Attributes
    ----------
    values : sequence of ndarray
        The scores of each fold, from the largest to the smallest.
    weights : sequence of ndarray
        How many rows each stands for.
    """

    values: Sequence[np.ndarray]
    weights: Sequence[np.ndarray]

    @classmethod
    def of(cls, values: Sequence[np.ndarray], weights: Sequence[np.ndarray]) -> Scores:
        """Return scores, in any order, with the weights of their rows.

        Weights below 1 in the mean are ratios: they count as 1 in the mean.
        """
        unit = min(1.0, float(np.mean(np.concatenate(weights))))
        orders = [np.argsort(-v, kind="stable") for v in values]
        return cls(
            [v[order] for v, order in zip(values, orders, strict=True)],
            [w[order] / unit for w, order in zip(weights, orders, strict=True)],
        )

    @property
    def n_rows(self) -> float:
        """The number of rows that they stand for."""
        return float(sum(w.sum() for w in self.weights))

    def beyond(self, coverage: float) -> float:
        """Return how many rows may exceed a limit, negative if no finite limit will do.

        Few rows cannot promise a high coverage.
        """
        n = self.n_rows + 1.0
        beyond = (1.0 - coverage) * n - 1.0
        return 0.0 if abs(beyond) < _ROUNDING * n else beyond

    def limits(
        self, centers: np.ndarray, scales: np.ndarray, coverage: float
    ) -> np.ndarray:
        """Return the limits (q,) at points where models have these values and scales.

        Parameters
        ----------
        centers, scales : ndarray of shape (q, K)
            Of the model of each fold.
        coverage : float

        Notes
        -----
        Takes O(q K (1 - c) l): the scores of a fold are in order, so that those beyond
        the limit are found one after the other from the largest on.
        """
        limits = np.full(len(centers), np.inf)
        beyond = self.beyond(coverage)
        if beyond >= 0:
            starts = np.cumsum([0, *map(len, self.values)])
            _find_limits(
                np.ascontiguousarray(centers, dtype=np.float64),
                np.ascontiguousarray(scales, dtype=np.float64),
                np.concatenate(self.values),
                np.concatenate(self.weights),
                starts,
                beyond + _ROUNDING * (self.n_rows + 1.0),
                limits,
            )
        return limits

    def are_likely(self, scores: np.ndarray, coverage: float) -> np.ndarray:
        """Return whether new scores (q, K) are no larger than coverage allows.

        The k-th score of a point is that of the model of fold k.
        """
        # As many rows as there are beyond a limit must be at least as wrong.
        count = np.zeros(len(scores))
        for k, (values, weights) in enumerate(
            zip(self.values, self.weights, strict=True)
        ):
            n_larger = np.searchsorted(-values, -scores[:, k], side="right")
            count += np.concatenate([[0.0], np.cumsum(weights)])[n_larger]
        return count > self.beyond(coverage) + _ROUNDING * (self.n_rows + 1.0)


@compiled
def _find_limits(
    centers: np.ndarray,
    scales: np.ndarray,
    values: np.ndarray,
    weights: np.ndarray,
    starts: np.ndarray,
    beyond: float,
    limits: np.ndarray,
) -> None:
    """Write the limits at each point; ``values`` fall within each fold."""
    n_folds = len(starts) - 1
    at = np.empty(n_folds, np.int64)
    for i in range(len(centers)):
        for k in range(n_folds):
            at[k] = starts[k]
        total = 0.0
        # A coverage of nearly 0 leaves nothing beyond the last row.
        for _ in range(len(values)):
            largest, fold = -np.inf, -1
            for k in range(n_folds):
                if at[k] < starts[k + 1]:
                    value = centers[i, k] + scales[i, k] * values[at[k]]
                    if fold < 0 or value > largest:
                        largest, fold = value, k
            if fold < 0:
                break  # All rows may exceed the limit: it is the lowest of them.
            limits[i] = largest
            total += weights[at[fold]]
            if total > beyond:
                break
            at[fold] += 1
