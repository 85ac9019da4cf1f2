"""Mixtures of Gaussians, one around each training point, shaped by its neighbors.

    p(x) = Σ_i π_i N(x; x_i, C_i),   C_i = Σ_j w_ij (x_j - x_i)(x_j - x_i)ᵀ + σ² I

with the sum reduced to its d leading directions (Manifold Parzen windows, thesis
ch. 13); with d = 0 this is Parzen's estimator. Nothing of size n is stored for a
Gaussian. With A_i the matrix of rows √w_ij (x_j - x_i) and A_i A_iᵀ = U S² Uᵀ,

    (x - x_i)ᵀ C_i⁻¹ (x - x_i) = (‖x - x_i‖² - Σ_{a≤d} (u_aᵀ g)² / (s_a² + σ²)) / σ²,

where g = A_i (x - x_i) follows from the inner products of x with the training points:
one matrix product for all. With all directions, the Cholesky factor of A_i A_iᵀ + σ² I
replaces U. There is no division by singular values. In few dimensions an n × n factor
of C_i⁻¹ itself is smaller and avoids cancellation.

Letters: l points, n features, K neighbors, d directions, m queries.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pursuit._limits import Limits

from . import _gaussian_loops as loops
from .gaussians import (
    FEW_FEATURES,
    LARGEST_ERROR,
    LogSums,
    are_far,
    descending,
    query_blocks,
    row_blocks,
    singular,
    squared_sizes,
)
from .local_weights import WeightedNeighbors
from .points import EPS

# Bytes for the computation of a block of factors.
_WORKING = 1 << 25


@dataclass(frozen=True)
class Factors:
    """Factors of the Gaussians of consecutive centers.

    Attributes
    ----------
    values : ndarray of shape (c, rows, columns)
        Padded with zeros to an even number of rows and a multiple of four columns.
    log_heights : ndarray of shape (c,)
        log π_i + log N(x_i; x_i, C_i).
    """

    values: np.ndarray
    log_heights: np.ndarray


@dataclass(frozen=True)
class LocalGaussians:
    """A mixture of local Gaussians; see the module docstring.

    Attributes
    ----------
    X : ndarray of shape (l, n), C-contiguous
        Centers x_i, around the origin and of moderate size.
    neighbors : WeightedNeighbors
    n_components : int or None
        Number of directions kept; None means all.
    variance : float
        σ².
    log_weights : ndarray of shape (l,)
        log π_i.
    stored : Factors or None
        Factors of all centers; None if each call computes them.
    """

    X: np.ndarray
    neighbors: WeightedNeighbors
    n_components: int | None
    variance: float
    log_weights: np.ndarray
    stored: Factors | None = None

    def factorized(self, limits: Limits) -> LocalGaussians:
        """Return the mixture with its factors, if they fit half of the memory."""
        n_rows, (rows, columns) = len(self.X), self.factor_shape
        if 8 * rows * columns * n_rows > limits.memory // 2 or self.is_delicate:
            return self
        stored = Factors(np.empty((n_rows, rows, columns)), np.empty(n_rows))

        def work(slices: Iterable[slice]) -> None:
            for here in slices:
                part = self.factors(here)
                stored.values[here] = part.values
                stored.log_heights[here] = part.log_heights

        limits.deal(work, self.blocks_of_centers(min(limits.memory // 4, _WORKING)))
        return replace(self, stored=stored)

    @cached_property
    def norms(self) -> np.ndarray:
        """‖x_i‖² of the centers, (l,)."""
        return np.einsum("ij,ij->i", self.X, self.X)

    @cached_property
    def offsets(self) -> np.ndarray:
        """(x_j - x_i)·x_i for the neighbors j of every center i, (l, K)."""
        offsets = np.empty(self.neighbors.weights.shape)
        for here in self.blocks_of_centers(_WORKING):
            near = self.X[self.neighbors.indices[here]] - self.X[here, None]
            offsets[here] = np.einsum("ijk,ik->ij", near, self.X[here])
        return offsets

    # -- kinds of factors ----------------------------------------------------------

    @cached_property
    def n_directions(self) -> int:
        """The maximum number of directions of a Gaussian."""
        largest = min(self.neighbors.indices.shape[1], self.X.shape[1])
        return largest if self.n_components is None else min(self.n_components, largest)

    @property
    def is_full(self) -> bool:
        """Whether all directions of a neighborhood are kept."""
        return self.n_directions == min(
            self.neighbors.indices.shape[1], self.X.shape[1]
        )

    @cached_property
    def is_direct(self) -> bool:
        """Whether factors act on x - x_i instead of inner products."""
        n, d = self.X.shape[1], self.n_directions
        width = self.neighbors.indices.shape[1]
        return d > 0 and (n <= FEW_FEATURES or n * n <= width * d)

    @cached_property
    def is_triangular(self) -> bool:
        """Whether the factors are Cholesky factors."""
        return self.is_full and self.n_directions > 0 and not self.is_sharp

    @cached_property
    def is_delicate(self) -> bool:
        """Whether σ is so small that inner products would be too imprecise."""
        if self.n_directions == 0 or self.is_direct:
            return False
        error = 4.0 * EPS * self.norms.max() / self.variance
        return bool(error > LARGEST_ERROR)

    @cached_property
    def is_sharp(self) -> bool:
        """Whether σ² is below the rounding of a covariance, so that A is decomposed.

        This matters only if factors are direct; otherwise `is_delicate` is stricter.
        """
        limit = LARGEST_ERROR / EPS * self.variance
        if not self.is_direct or 4.0 * self.norms.max() <= limit:
            return False
        return any(
            squared_sizes(self.spreads(here)).max() > limit
            for here in self.blocks_of_centers(_WORKING)
        )

    @cached_property
    def factor_shape(self) -> tuple[int, int]:
        """Padded numbers of rows and columns of a factor."""
        if self.n_directions == 0:
            return 0, 0
        n, width = self.X.shape[1], self.neighbors.indices.shape[1]
        rows = n if self.is_direct else width if self.is_full else self.n_directions
        columns = n if self.is_direct else width
        return rows + rows % 2, -(-columns // 4) * 4

    def blocks_of_centers(self, n_bytes: int) -> list[slice]:
        """Return slices of centers whose factors can be computed in so many bytes."""
        n_rows, n = self.X.shape
        width = self.neighbors.indices.shape[1]
        rows, columns = self.factor_shape
        each = 8 * (rows * columns + 2 * width * n + 2 * min(width, n) ** 2 + 1)
        height = max(1, min(n_bytes // each, n_rows))
        return [slice(a, min(a + height, n_rows)) for a in range(0, n_rows, height)]

    # -- factors -------------------------------------------------------------------

    def factors(self, centers: slice) -> Factors:
        """Return the factors of some centers, O(K² n + K³) each."""
        height = centers.stop - centers.start
        values = np.zeros((height, *self.factor_shape))
        log_dets = np.full(height, self.X.shape[1] * np.log(self.variance))
        if self.n_directions > 0 and self.is_direct:
            self._direct(self.spreads(centers), values, log_dets)
        elif self.n_directions > 0:
            self._from_products(self.spreads(centers), values, log_dets, centers)
        log_heights = self.log_weights[centers] - 0.5 * (
            self.X.shape[1] * np.log(2.0 * np.pi) + log_dets
        )
        return Factors(values, log_heights)

    def spreads(self, centers: slice) -> np.ndarray:
        """Return A_i, the rows √w_ij (x_j - x_i), of some centers: (c, K, n)."""
        near = self.neighbors
        A = self.X[near.indices[centers]] - self.X[centers, None]
        A *= np.sqrt(near.weights[centers])[:, :, None]
        return A

    def _direct(self, A: np.ndarray, values: np.ndarray, log_dets: np.ndarray) -> None:
        if self.is_triangular:
            C = A.transpose(0, 2, 1) @ A
            loops.inverse_cholesky(C, self.variance, log_dets, values)
            return
        n, d = self.X.shape[1], self.n_directions
        if self.is_sharp:
            spectrum, V = singular(A)
        else:
            spectrum, V = descending(A.transpose(0, 2, 1) @ A)
            V = V.transpose(0, 2, 1)
        spectrum[:, d:] = 0.0
        spectrum += self.variance
        values[:, :n, :n] = V / np.sqrt(spectrum)[:, :, None]
        log_dets[:] = np.log(spectrum).sum(axis=1)

    def _from_products(
        self,
        A: np.ndarray,
        values: np.ndarray,
        log_dets: np.ndarray,
        centers: slice,
    ) -> None:
        G = A @ A.transpose(0, 2, 1)
        n, d, width = self.X.shape[1], self.n_directions, A.shape[1]
        roots = np.sqrt(self.neighbors.weights[centers])[:, None]
        if self.is_full:
            loops.inverse_cholesky(G, self.variance, log_dets, values)
            d = width
        else:
            spectrum, U = descending(G)
            spectrum = spectrum[:, :d] + self.variance
            U = U.transpose(0, 2, 1)[:, :d]
            values[:, :d, :width] = U / np.sqrt(spectrum)[:, :, None]
            log_dets[:] = np.log(spectrum).sum(axis=1)
        values[:, :, :width] *= roots / np.sqrt(self.variance)
        log_dets += (n - d) * np.log(self.variance)

    # -- values --------------------------------------------------------------------

    def log_density(self, Z: np.ndarray, limits: Limits) -> np.ndarray:
        """Return log p at the rows of Z, (m,).

        The cost is O(l (n + K d)) per query, in blocks of queries divided among
        threads.
        """
        far = are_far(Z)
        if not far.any():
            return self._log_density(Z, limits)
        logs = np.full(len(Z), -np.inf)
        logs[~far] = self._log_density(Z[~far], limits)
        return logs

    def _log_density(self, Z: np.ndarray, limits: Limits) -> np.ndarray:
        Z = np.ascontiguousarray(Z)
        if self.is_delicate:
            return self._carefully(Z, limits.memory)
        sums = LogSums(len(Z))
        if self.stored is not None:
            self._add(Z, 0, self.stored, sums, limits)
        else:
            for here in self.blocks_of_centers(limits.memory // 4):
                self._add(Z, here.start, self.factors(here), sums, limits)
        return sums.logs()

    def _add(
        self, Z: np.ndarray, first: int, factors: Factors, sums: LogSums, limits: Limits
    ) -> None:
        """Add the Gaussians of some centers to the running sums."""
        add = self._add_direct if self.is_direct else self._add_from_products

        def work(slices: Iterable[slice]) -> None:
            for here in slices:
                add(Z[here], first, factors, sums.top[here], sums.total[here])

        blocks = query_blocks(len(Z), len(self.X), limits)
        if len(blocks) == 1:
            work(blocks)
        else:
            limits.deal(work, blocks)

    def _add_direct(
        self,
        Z: np.ndarray,
        first: int,
        factors: Factors,
        top: np.ndarray,
        total: np.ndarray,
    ) -> None:
        loops.add_by_differences(
            first,
            self.X,
            np.ascontiguousarray(Z.T),
            factors.values,
            self.is_triangular,
            factors.log_heights,
            top,
            total,
            np.zeros((factors.values.shape[2], len(Z))),
            np.empty((4, len(Z))),
        )

    def _add_from_products(
        self,
        Z: np.ndarray,
        first: int,
        factors: Factors,
        top: np.ndarray,
        total: np.ndarray,
    ) -> None:
        loops.add_by_products(
            self.X @ Z.T,
            first,
            self.X,
            self.norms,
            Z,
            np.einsum("ij,ij->i", Z, Z),
            self.neighbors.indices,
            self.offsets,
            factors.values,
            self.is_triangular,
            1.0 / self.variance,
            factors.log_heights,
            top,
            total,
            np.zeros((factors.values.shape[2], len(Z))),
            np.empty((4, len(Z))),
        )

    def _carefully(self, Z: np.ndarray, memory: int) -> np.ndarray:
        """Return log p from explicit directions and residues, for a tiny σ.

        This costs O(l (n K² + m n d)), but each part of the distance is computed from
        differences, so nothing cancels.
        """
        n, d = self.X.shape[1], self.n_directions
        sums = LogSums(len(Z))
        blocks = list(row_blocks(len(Z), 4 * n, memory))
        for i in range(len(self.X)):
            A = self.spreads(slice(i, i + 1))[0]
            _, s, V = np.linalg.svd(A, full_matrices=False)
            spectrum = s[:d] ** 2 + self.variance
            log_det = np.log(spectrum).sum() + (n - d) * np.log(self.variance)
            constant = self.log_weights[i] - 0.5 * (n * np.log(2 * np.pi) + log_det)
            for here in blocks:
                square = self._squares(Z[here] - self.X[i], V[:d], spectrum)
                terms = constant - 0.5 * square
                loops.add_terms(terms, sums.top[here], sums.total[here])
        return sums.logs()

    def _squares(
        self, x: np.ndarray, V: np.ndarray, spectrum: np.ndarray
    ) -> np.ndarray:
        """Return xᵀ C⁻¹ x of rows x, where C has directions V and σ² elsewhere."""
        along = x @ V.T
        across = x - along @ V
        with np.errstate(over="ignore"):
            square = (along**2 / spectrum).sum(axis=1)
            return square + np.einsum("ij,ij->i", across, across) / self.variance

    def sample(self, n_samples: int, rng: np.random.RandomState) -> np.ndarray:
        """Return random points drawn from the mixture, (n_samples, n)."""
        n = self.X.shape[1]
        p = np.exp(self.log_weights - self.log_weights.max())
        chosen = rng.choice(len(self.X), size=n_samples, p=p / p.sum())
        points = self.X[chosen]
        points += np.sqrt(self.variance) * rng.standard_normal((n_samples, n))
        for i in np.unique(chosen) if self.n_directions > 0 else ():
            here = np.flatnonzero(chosen == i)
            axes = self._axes(self.spreads(slice(i, i + 1))[0])
            points[here] += rng.standard_normal((len(here), len(axes))) @ axes
        return points

    def _axes(self, A: np.ndarray) -> np.ndarray:
        """Return vectors whose outer products sum to the reduced covariance."""
        if self.is_full:
            return A
        _, s, V = np.linalg.svd(A, full_matrices=False)
        d = self.n_directions
        return s[:d, None] * V[:d]
