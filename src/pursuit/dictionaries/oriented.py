"""Gaussians along local principal directions, as in Manifold Parzen (§14.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit._limits import amount
from pursuit._parameters import whole_number
from pursuit._ranges import LARGEST_TO_SQUARE
from pursuit._rows import distinct_rows
from pursuit.functions import Functions, OrientedGaussianFunctions
from pursuit.sample import Sample

from ._base import Dictionary
from ._points import points_of
from .kernel_based import widths_to_compare

# Numbers in a block while the directions are computed: 32 MiB of float64.
_BLOCK = 1 << 22


class OrientedGaussians(Dictionary):
    """Gaussians exp(-½ (x - z)ᵀ C⁻¹ (x - z)), with C from the neighbors of the point z.

    ``C = σ²I + Σ_j (s_j²/k) v_j v_jᵀ``, where s_j and v_j are the leading singular
    values and directions of the differences from z to its k nearest training points,
    and σ² = 1/(2 gamma). Without directions this is the Gaussian kernel.

    Parameters
    ----------
    n_neighbors : int
        Number k of neighbors; at most the number of other points.
    n_directions : int
        Number of directions to keep; at most k and the number of features.
    gamma : float or {"cv", "median", "scale", "auto"}
        Inverse squared width across the directions, as `gamma` of the estimators.
    centers, n_centers
        As in `OneKernel`.

    Notes
    -----
    With M points the directions take M · d · n_directions numbers, and a function
    costs about 1 + n_directions times as much as a Gaussian.
    """

    accepts_sparse = False

    def __init__(
        self,
        n_neighbors: int = 10,
        n_directions: int = 2,
        *,
        gamma: float | str = "cv",
        centers: Any = None,
        n_centers: int | None = None,
    ) -> None:
        self.n_neighbors = n_neighbors
        self.n_directions = n_directions
        self.gamma = gamma
        self.centers = centers
        self.n_centers = n_centers

    def learn(self, sample: Sample) -> list[Functions]:
        """Return the functions, for each gamma to compare."""
        whole_number("n_neighbors", self.n_neighbors, 1)
        whole_number("n_directions", self.n_directions, 0)
        kernels = widths_to_compare("rbf", self.gamma, sample)
        points = points_of(self.centers, self.n_centers, sample)
        directions, variances = self._frames(points["points"], sample)
        return [
            OrientedGaussianFunctions(
                **points, width=kernel.gamma, directions=directions, variances=variances
            )
            for kernel in kernels
        ]

    def _frames(
        self, points: np.ndarray, sample: Sample
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return directions (M, d, r) and variances (M, r) around the points."""
        # Equal rows are one neighbor, so that repeating a row changes nothing.
        rows, _ = distinct_rows(sample.X, sample.weight)
        around = sample.X[rows]
        k = min(self.n_neighbors, len(around) - 1)
        n_points, d = points.shape
        r = min(self.n_directions, max(k, 0), d)
        if 8 * n_points * d * r > sample.memory:
            raise ValueError(
                f"n_directions={self.n_directions} at {n_points} points in {d} "
                f"dimensions take {amount(8 * n_points * d * r)}, more than "
                f"max_memory allows ({amount(sample.memory)}): lower "
                "n_directions, n_candidates or n_centers, or raise max_memory."
            )
        directions, variances = np.zeros((n_points, d, r)), np.zeros((n_points, r))
        if r:
            # Far from the origin, distances by inner products would lose their digits.
            origin = around.mean(axis=0)
            around, points = around - origin, points - origin
            from sklearn.neighbors import NearestNeighbors  # slow to import

            search = NearestNeighbors(n_neighbors=k + 1).fit(around)
            step = max(1, _BLOCK // ((k + 1) * d))
            for start in range(0, n_points, step):
                part = slice(start, start + step)
                index = search.kneighbors(points[part], return_distance=False)
                delta = around[index] - points[part, None]
                _keep_others(delta)
                _, s, Vt = np.linalg.svd(delta, full_matrices=False)
                directions[part] = Vt[:, :r].transpose(0, 2, 1)
                # Limit the variance, so that sums do not overflow.
                variances[part] = np.minimum(s[:, :r], LARGEST_TO_SQUARE) ** 2 / k
        return directions, variances


def _keep_others(delta: np.ndarray) -> None:
    """Leave out the point itself, or else the farthest of k + 1 neighbors."""
    with np.errstate(over="ignore"):
        squared = np.square(delta).sum(axis=2)
    nearest = squared.argmin(axis=1)
    out = np.where(squared.min(axis=1) == 0.0, nearest, squared.argmax(axis=1))
    delta[np.arange(len(delta)), out] = 0.0
