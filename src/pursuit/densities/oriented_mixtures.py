"""Mixtures of few oriented Gaussians, which know nothing of the training rows.

    p(x) = Σ_k w_k N(x; z_k, C_k),   C_k = Σ_a s_ka v_ka v_kaᵀ + σ² I

Letters: N Gaussians, n features, d directions, m queries.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pursuit._limits import Limits

from .gaussians import (
    LARGEST_ERROR,
    are_far,
    covers_features,
    descending,
    log_sum_exp,
    row_blocks,
)
from .points import EPS

# A direction whose variance is below this share of the largest is rounding.
_NO_DIRECTION = 1e-10


@dataclass(frozen=True, eq=False)
class OrientedGaussians:
    """Gaussians of individual shapes.

    Attributes
    ----------
    centers : ndarray of shape (N, n)
    axes : ndarray of shape (N, d, n)
        Orthonormal directions v; 0 where a Gaussian has fewer.
    spreads : ndarray of shape (N, d)
        Variances s along the directions, without σ².
    variance : float
        σ².
    """

    centers: np.ndarray
    axes: np.ndarray
    spreads: np.ndarray
    variance: float

    def __len__(self) -> int:
        return len(self.centers)

    def __getitem__(self, index: slice | np.ndarray) -> OrientedGaussians:
        return replace(
            self,
            centers=self.centers[index],
            axes=self.axes[index],
            spreads=self.spreads[index],
        )

    def log_densities(self, Z: np.ndarray, limits: Limits) -> np.ndarray:
        """Return log N(z; z_k, C_k) for the rows z of Z, (N, m): O(n d) each."""
        out = np.full((len(self), len(Z)), -np.inf)
        near = np.flatnonzero(~are_far(Z))
        n, d = self.centers.shape[1], self.axes.shape[1]
        blocks = list(row_blocks(len(near), 3 * n + 2 * d, limits.memory))

        def work(numbers: object) -> None:
            for k in numbers:  # type: ignore[attr-defined]
                for here in blocks:
                    rows = near[here]
                    out[k, rows] = self._log_density(k, Z[rows])

        limits.deal(work, range(len(self)))
        return out

    def _log_density(self, k: int, Z: np.ndarray) -> np.ndarray:
        V, kept = self.axes[k], self.spreads[k] + self.variance
        gaps = Z - self.centers[k]
        along = gaps @ V.T
        squares = np.einsum("ij,ij->i", gaps, gaps)
        with np.errstate(over="ignore"):
            if EPS * squares.max(initial=0.0) / self.variance > LARGEST_ERROR:
                # The squares would cancel: what is across comes from differences.
                across = gaps - along @ V
                rest = np.einsum("ij,ij->i", across, across)
            else:
                rest = np.maximum(squares - (along**2).sum(axis=1), 0.0)
            q = (along**2 / kept).sum(axis=1) + rest / self.variance
        n = self.centers.shape[1]
        is_axis = self.spreads[k] > 0.0
        log_det = np.log(kept[is_axis]).sum()
        log_det += (n - is_axis.sum()) * np.log(self.variance)
        return -0.5 * (n * np.log(2.0 * np.pi) + log_det + q)

    def sample(self, chosen: np.ndarray, rng: np.random.RandomState) -> np.ndarray:
        """Return a random point of each of the chosen Gaussians, (m, n)."""
        n, d = self.centers.shape[1], self.axes.shape[1]
        points = self.centers[chosen]
        points += np.sqrt(self.variance) * rng.standard_normal((len(chosen), n))
        along = rng.standard_normal((len(chosen), d)) * np.sqrt(self.spreads[chosen])
        for k in np.unique(chosen):
            here = chosen == k
            points[here] += along[here] @ self.axes[k]
        return points


def oriented(
    centers: np.ndarray,
    differences: np.ndarray,
    n_components: int | None,
    variance: float,
) -> OrientedGaussians:
    """Return Gaussians around centers (N, n) from the differences (N, K, n) to others.

    Their covariances are the mean squares of the differences, reduced to the leading
    directions.
    """
    N, K, n = differences.shape
    largest = min(K, n)
    d = largest if n_components is None else min(n_components, largest)
    if d == 0:
        return OrientedGaussians(
            centers, np.zeros((N, 0, n)), np.zeros((N, 0)), variance
        )
    A = differences / np.sqrt(K)
    if covers_features(K, n):
        spreads, V = descending(A.transpose(0, 2, 1) @ A)
        axes = V.transpose(0, 2, 1)[:, :d]
        spreads = spreads[:, :d]
    else:
        spreads, U = descending(A @ A.transpose(0, 2, 1))
        spreads, axes = spreads[:, :d], U.transpose(0, 2, 1)[:, :d] @ A
        axes /= np.sqrt(np.where(spreads > 0.0, spreads, 1.0))[:, :, None]
    is_none = spreads <= _NO_DIRECTION * spreads[:, :1]
    spreads, axes = np.where(is_none, 0.0, spreads), np.array(axes, order="C")
    axes[is_none] = 0.0
    return OrientedGaussians(centers, axes, np.ascontiguousarray(spreads), variance)


def log_mixture(logs: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the log-densities (m,) of a mixture, from those of its parts (N, m)."""
    with np.errstate(divide="ignore"):
        return log_sum_exp((logs + np.log(weights)[:, None]).T)
