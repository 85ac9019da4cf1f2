"""Choose number of neighbors, penalty and temperature by leave-one-out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from pursuit._temperatures import likeliest

from .models import Reconstruction, winners
from .neighborhoods import Find
from .queries import Blocks, Reference
from .subspaces import Hulls, Hyperplanes

__all__ = ["Mistakes", "Table", "mistakes", "squared_error_table", "temperature"]


@dataclass(frozen=True)
class Table:
    """Leave-one-out errors for several numbers of neighbors and penalties.

    Attributes
    ----------
    n_neighbors : ndarray of shape (K,)
        Numbers of neighbors compared.
    penalties : ndarray of shape (L,)
        Penalties compared.
    errors : ndarray of shape (L, K)
        Error rates of a classifier, or mean squared errors of a regressor over the
        variance of the targets.
    n_samples : int
        Number of points left out in turn.
    """

    n_neighbors: np.ndarray
    penalties: np.ndarray
    errors: np.ndarray
    n_samples: int

    def best(self) -> tuple[int, int]:
        """Return the indices (penalty, neighbors) of the lowest error.

        Ties go to the smallest K, then to the largest penalty.
        """
        ties = np.argwhere(self.errors <= self.errors.min() + 1e-12)
        j, k = min(ties.tolist(), key=lambda place: (place[1], -place[0]))
        return j, k


@dataclass(frozen=True)
class Mistakes:
    """Which left-out points each setting of a classifier misses.

    Attributes
    ----------
    n_neighbors : ndarray of shape (K,)
        Numbers of neighbors compared.
    penalties : ndarray of shape (L,)
        Penalties compared.
    is_wrong : ndarray of bool, shape (n, L, K)
        Whether a point is given to another class.
    """

    n_neighbors: np.ndarray
    penalties: np.ndarray
    is_wrong: np.ndarray

    def table(self) -> Table:
        """Return the error rates."""
        rates = self.is_wrong.mean(axis=0)
        return Table(self.n_neighbors, self.penalties, rates, len(self.is_wrong))

    def choice(self, n_neighbors: int, penalty: float) -> tuple[int, int]:
        """Return the indices (penalty, neighbors) of the setting to take.

        The usual setting, the one nearest to ``n_neighbors`` and ``penalty``, stays
        unless the best one beats it by a standard error of their difference: the errors
        of good settings differ by chance only, and the least of many is too low. Of
        equally good ones the nearest to the usual one counts, a factor of 2 in the
        number of neighbors as much as one step in the penalties.
        """
        steps = np.log2(self.n_neighbors / n_neighbors)
        usual = (
            int(np.argmin(np.abs(self.penalties - penalty))),
            int(np.argmin(np.abs(steps))),
        )
        counts = self.is_wrong.sum(axis=0)
        ties = np.argwhere(counts == counts.min())
        away = (ties[:, 0] - usual[0]) ** 2 + steps[ties[:, 1]] ** 2
        j, k = ties[np.argmin(away)].tolist()
        gain = np.subtract(
            self.is_wrong[:, *usual], self.is_wrong[:, j, k], dtype=np.float64
        )
        is_clear = gain.sum() > gain.std() * np.sqrt(len(gain))
        return (j, k) if is_clear else usual


def mistakes(
    shape: Hyperplanes | Hulls,
    reference: Reference,
    X: np.ndarray,
    codes: np.ndarray,
    find: Find,
    penalties: np.ndarray,
    numbers: np.ndarray,
    blocks: Blocks,
) -> Mistakes:
    """Return the leave-one-out mistakes of a classifier.

    The cost is one search and, for each penalty, one factor per neighborhood.

    Parameters
    ----------
    shape : Hyperplanes or Hulls
        Its penalty is ignored.
    reference : Reference
    X, codes : ndarrays of shapes (n, d) and (n,)
        Points and their classes.
    find : callable
    penalties, numbers : ndarrays of shapes (L,) and (K,)
        What is compared, numbers of neighbors in ascending order.
    blocks : Blocks
    """
    is_wrong = np.empty((len(X), len(penalties), len(numbers)), dtype=bool)
    most = int(numbers[-1])
    # The distances, their scores, and what decides between equal ones.
    more = 8 * 8 * reference.n_classes * len(penalties) * most
    for rows, query in blocks.of(reference, X, find, most, more):
        squared = shape.paths(query, penalties, numbers)
        chosen = winners(np.sqrt(squared), query.hoods)
        is_wrong[rows] = chosen != codes[rows, None, None]
    return Mistakes(numbers, penalties, is_wrong)


def squared_error_table(
    model: Reconstruction,
    X: np.ndarray,
    Y: np.ndarray,
    find: Find,
    penalties: np.ndarray,
    numbers: np.ndarray,
    blocks: Blocks,
) -> Table:
    """Return the leave-one-out errors of targets rebuilt from those of neighbors.

    Errors are relative to the variance of the model's values. Parameters as in
    `mistakes`; ``Y`` (n, T) are the targets of the points.
    """
    # The deviation of a constant output is round-off.
    is_constant = np.ptp(model.values, axis=0) == 0
    spread = np.where(is_constant, 1.0, model.values.std(axis=0))
    squared = np.zeros((len(penalties), len(numbers)))
    for rows, values in model.of(X, find, penalties, numbers, blocks):
        missed = (values - Y[rows, :, None, None]) / spread[:, None, None]
        squared += (missed**2).sum(axis=(0, 1))
    return Table(numbers, penalties, squared / Y.size, len(X))


def temperature(
    score: np.ndarray, codes: np.ndarray, shares: np.ndarray | None = None
) -> float:
    """Return the T that maximizes the likelihood of softmax(log(shares) - score / T).

    Shares (n, C) of equal scores are 1 by default. One more point is added that misses
    its class by the typical margin. Points without a finite score of their class are
    ignored. If no point has a margin, T is the typical score.
    """
    of_class = score[np.arange(len(score)), codes]
    is_known = np.isfinite(of_class)
    gaps = score[is_known] - of_class[is_known, None]
    others = np.where(np.arange(score.shape[1]) == codes[is_known, None], np.inf, gaps)
    margins = np.abs(others.min(axis=1, initial=np.inf))
    margins = margins[np.isfinite(margins) & (margins > 0)]
    if len(margins) == 0:
        lengths = score[np.isfinite(score) & (score > 0)]
        return float(np.median(lengths)) if len(lengths) else 1.0

    logs = np.zeros(gaps.shape) if shares is None else np.log(shares[is_known])

    def surprise(t: float) -> float:
        return float(logsumexp(logs - gaps / t, axis=1).sum())

    return likeliest(surprise, float(np.median(margins)))
