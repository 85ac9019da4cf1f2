"""Fitted models: classes by the nearest local subspace, values by reconstruction.

Models are frozen. How points get their neighborhoods (``find``) and how much memory and
how many threads that may take (``blocks``) are told at each call.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ._hyperplane_paths import reconstructions
from .neighborhoods import EQUAL, Find, Neighborhoods, in_doubt
from .queries import Blocks, Query, Reference
from .subspaces import PRECISION, Hulls, Hyperplanes

__all__ = ["TIE_BREAK", "NearestSubspace", "Reconstruction", "Scores", "winners"]

# This share of the distance to the nearest point of a class is added to its distance,
# to decide between distances that are equal up to round-off.
TIE_BREAK = 1e-9


@dataclass(frozen=True)
class Scores:
    """Scores of the classes; the smallest wins, of equal ones the largest share.

    Attributes
    ----------
    values : ndarray of shape (n, C, ...)
        Distances plus `TIE_BREAK` of those to the nearest points. If both are equal for
        several classes up to rounding, these have the same value.
    shares : ndarray of shape (n, C, ...)
        Votes of such classes, over their mean; 1 for all others.
    """

    values: np.ndarray
    shares: np.ndarray

    @classmethod
    def of(cls, distance: np.ndarray, nearest: np.ndarray, votes: np.ndarray) -> Scores:
        """Return the scores of distances (n, C, ...) to the classes.

        ``nearest`` and ``votes`` (n, C) are those of the neighborhoods.
        """
        shape = (*nearest.shape, *[1] * (distance.ndim - 2))
        values = distance + TIE_BREAK * nearest.reshape(shape)
        shares = np.ones(values.shape)
        rows = in_doubt(nearest)
        if len(rows):
            values[rows], shares[rows] = _leveled(
                values[rows], nearest.reshape(shape)[rows], votes.reshape(shape)[rows]
            )
        return cls(values, shares)

    def winners(self) -> np.ndarray:
        """Return the class (n, ...) of each point, the first of full ties."""
        best = self.values.min(axis=1, keepdims=True)
        return np.where(self.values <= best, self.shares, -1.0).argmax(axis=1)

    def ranked(self, unit: float) -> np.ndarray:
        """Return values (n, C) that are smallest for the winners only.

        Of equal ones, those that lose get up to `TIE_BREAK` units more.
        """
        step = TIE_BREAK * (unit or 1.0)
        step = step + EQUAL * self.values.min(axis=1, keepdims=True)
        return self.values + step * (
            1 - self.shares / self.shares.max(axis=1, keepdims=True)
        )

    def logits(self, temperature: float) -> np.ndarray:
        """Return the logarithms of the probabilities, up to a constant."""
        return np.log(self.shares) - self.values / temperature


def winners(distance: np.ndarray, hoods: Neighborhoods) -> np.ndarray:
    """Return the classes (n, ...) that win by their distances (n, C, ...)."""
    shape = (*hoods.nearest.shape, *[1] * (distance.ndim - 2))
    winner = (distance + TIE_BREAK * hoods.nearest.reshape(shape)).argmin(axis=1)
    # Only few points, if any, need more than that.
    rows = in_doubt(hoods.nearest)
    if len(rows):
        scores = Scores.of(distance[rows], hoods.nearest[rows], hoods.votes[rows])
        winner[rows] = scores.winners()
    return winner


def _leveled(
    values: np.ndarray, nearest: np.ndarray, votes: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the values, equal where nothing but rounding differs, and the shares."""
    best = values.min(axis=1, keepdims=True)
    is_tied = values <= best * (1 + EQUAL)
    closest = np.where(is_tied, nearest, np.inf).min(axis=1, keepdims=True)
    is_tied &= nearest <= closest * (1 + EQUAL)
    total = np.where(is_tied, votes, 0.0).sum(axis=1, keepdims=True)
    n_tied = is_tied.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):  # NaN ties with nothing
        shares = np.where(is_tied, votes * n_tied / total, 1.0)
    others = np.maximum(values, best * (1 + EQUAL))
    return np.where(is_tied, best, others), shares


# Error of a distance in single precision, in units.
_ROUND_OFF = 1e-5

# Points farther than this from all others, in units, get exact distances: in single
# precision the differences between neighbors are too imprecise.
_FAR = 1e3


@dataclass(frozen=True)
class NearestSubspace:
    """Distances of points to the local subspaces of the classes.

    Attributes
    ----------
    reference : Reference
    shape : Hyperplanes or Hulls
    n_neighbors : int
    unit : float
        Typical length, the unit of the bounds; 0 if every class is one point.
    """

    reference: Reference
    shape: Hyperplanes | Hulls
    n_neighbors: int
    unit: float

    def distances(self, X: np.ndarray, find: Find, blocks: Blocks) -> np.ndarray:
        """Return the distances (n, C) to the classes."""
        return self._measure(X, find, blocks)[0]

    def scores(self, X: np.ndarray, find: Find, blocks: Blocks) -> Scores:
        """Return the scores of the classes."""
        return Scores.of(*self._measure(X, find, blocks))

    def _measure(
        self, X: np.ndarray, find: Find, blocks: Blocks
    ) -> tuple[np.ndarray, ...]:
        """Return the distances (n, C), those to nearest points, and the votes."""
        squared, nearest, votes = np.empty((3, len(X), self.reference.n_classes))
        for rows, query in blocks.of(self.reference, X, find, self.n_neighbors):
            squared[rows] = self.shape.distances(query, _all(query))
            nearest[rows], votes[rows] = query.hoods.nearest, query.hoods.votes
        return np.sqrt(squared), nearest, votes

    def nearest_class(self, X: np.ndarray, find: Find, blocks: Blocks) -> np.ndarray:
        """Return the class (n,) with the smallest score.

        Bounds decide if they can; otherwise exact distances are computed.
        """
        winner = np.empty(len(X), dtype=np.intp)
        for rows, query in blocks.of(self.reference, X, find, self.n_neighbors):
            winner[rows] = self._decide(query)
        return winner

    def _decide(self, query: Query) -> np.ndarray:
        bounds = self.shape.bounds(query, self.unit) if self.unit > 0 else None
        if bounds is None:
            return self._measured(query, _all(query))
        lower, upper = np.sqrt(bounds[:, :, 0]), np.sqrt(bounds[:, :, 1])
        best = upper.min(axis=1, keepdims=True)
        # Written so that a NaN bound excludes nothing.
        is_clear = lower > best * (1 + PRECISION) + _ROUND_OFF
        is_far = ~(_nearest_lengths(query) < _FAR * self.unit)
        is_open = (~is_clear | is_far[:, None]) & (query.hoods.count > 0)
        winner = upper.argmin(axis=1)
        is_unsure = (is_open.sum(axis=1) != 1) | ~np.isfinite(best[:, 0])
        unsure = np.flatnonzero(is_far | is_unsure)
        if len(unsure):
            winner[unsure] = self._measured(query[unsure], is_open[unsure])
        return winner

    def _measured(self, query: Query, wanted: np.ndarray) -> np.ndarray:
        distance = np.sqrt(self.shape.distances(query, wanted))
        return winners(distance, query.hoods)


def _nearest_lengths(query: Query) -> np.ndarray:
    """Return the Euclidean distances (n,) to the nearest neighbor in any class.

    Those of searches and graphs cannot be used, as they may be in another metric.
    """
    first = query.hoods.index[np.arange(len(query.X)), query.order[:, 0], 0]
    gaps = np.subtract(query.R[first], query.X, dtype=np.float64)
    return np.sqrt(np.einsum("ij,ij->i", gaps, gaps))


def _all(query: Query) -> np.ndarray:
    return np.ones(query.hoods.count.shape, dtype=bool)


@dataclass(frozen=True)
class Reconstruction:
    """Values of points, rebuilt from those of the reference points of one class.

    The weights that reconstruct a point from its neighbors, ``min |x - Σ b_k N_k|² +
    λ |b|²`` with ``Σ b_k = 1``, are applied to the values of the neighbors.

    Attributes
    ----------
    reference : Reference
    values : ndarray of shape (l, T)
    """

    reference: Reference
    values: np.ndarray

    def of(
        self,
        X: np.ndarray,
        find: Find,
        penalties: np.ndarray,
        numbers: np.ndarray,
        blocks: Blocks,
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows of X with their values (n, T, L, len(numbers)), in blocks."""
        most, T = int(numbers[-1]), self.values.shape[1]
        more = 3 * 8 * T * len(penalties) * most
        for rows, query in blocks.of(self.reference, X, find, most, more):
            out = np.empty((len(query.X), T, len(penalties), most))
            query.run(reconstructions, out, settings=(self.values, penalties))
            yield rows, out[..., numbers - 1]
