"""Mixtures of few oriented Gaussians, which know nothing of the training rows.

    p(x) = Σ_k w_k N(x; z_k, C_k),   C_k = Σ_a s_ka v_ka v_kaᵀ + σ² I

Letters: N Gaussians, n features, d directions, m queries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from pursuit._limits import Limits
from pursuit.kernels.distances import rows_of, squared_distances

from .gaussians import (
    LARGEST_ERROR,
    are_far,
    covers_features,
    descending,
    log_sum_exp,
    row_blocks,
)
from .points import EPS

# Directions that are evaluated at a time.
_AXES = 256
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
        height = max(1, _AXES // (1 + self.axes.shape[1]))
        parts = [slice(k, k + height) for k in range(0, len(self), height)]

        def work(parts: Iterable[slice]) -> None:
            for part in parts:
                some = self[part]
                width = 2 * Z.shape[1] + 2 * _AXES
                for here in row_blocks(len(near), width, limits.memory):
                    out[part, near[here]] = some._log_densities(Z[near[here]])

        limits.deal(work, parts)
        return out

    def _log_densities(self, Z: np.ndarray) -> np.ndarray:
        N, d, n = self.axes.shape
        left, right = rows_of(self.centers), rows_of(Z)
        with np.errstate(over="ignore"):
            largest = max(left.norms.max(), right.norms.max(initial=0.0))
            if EPS * largest / self.variance > LARGEST_ERROR:
                q = np.stack([self._squares(k, Z) for k in range(N)])
            else:
                q = squared_distances(left, right, np.empty((N, len(Z))))
                V = self.axes.reshape(N * d, n)
                along = (V @ right.points.T).reshape(N, d, len(Z))
                along -= np.einsum("kdn,kn->kd", self.axes, left.points)[:, :, None]
                # 1/σ² across the directions, 1/(s + σ²) along them.
                shares = self.spreads / (self.spreads + self.variance)
                q -= np.einsum("kdm,kdm,kd->km", along, along, shares)
                q = np.maximum(q, 0.0) / self.variance
        log_det = np.log1p(self.spreads / self.variance).sum(axis=1)
        log_det += n * np.log(2.0 * np.pi * self.variance)
        return -0.5 * (log_det[:, None] + q)

    def _squares(self, k: int, Z: np.ndarray) -> np.ndarray:
        """Return δᵀ C_k⁻¹ δ, with what is across the directions from differences."""
        gaps = Z - self.centers[k]
        along = gaps @ self.axes[k].T
        across = gaps - along @ self.axes[k]
        q = (along**2 / (self.spreads[k] + self.variance)).sum(axis=1)
        return q + np.einsum("ij,ij->i", across, across) / self.variance

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
