"""Exact leave-one-out log-densities of mixtures of local Gaussians.

Leaving out only the Gaussian of x_i itself is wrong: x_i also shaped those of the
centers that have it as a neighbor. There, the next neighbor takes its place
(:mod:`pursuit.densities.downdates`); all other Gaussians stay unchanged. Many models
are compared in one pass: all numbers of directions and all σ share the coordinates of
a query in the directions of a neighborhood.

Letters: l points, n features, E = k + 1 neighbors, m rows left out in turn, s values
of σ², D numbers of directions.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from pursuit._limits import Limits
from pursuit._threads import one_blas_thread

from . import _gaussian_loops as loops
from .downdates import Models, corrected
from .gaussians import (
    LARGEST_ERROR,
    LogSums,
    covers_features,
    decomposed,
    mass_of_others,
    normalized,
    query_blocks,
    squared_sizes,
)
from .points import EPS

# One eighth of the memory is for the arrays of a block of centers.
_SHARE = 8


@dataclass(frozen=True)
class LeaveOneOut:
    """A training set prepared for leave-one-out.

    Attributes
    ----------
    X : ndarray of shape (l, n)
        Distinct rows, centered at the origin; at least two.
    neighbors : ndarray of int of shape (l, E)
        The k + 1 nearest other rows, or all others if there are fewer.
    log_masses : ndarray of shape (l, E)
        Logarithms of the masses c_h of the neighbors.
    counts : ndarray of shape (l,)
        Weights of the Gaussians. Neighborhoods count each row once.
    limits : Limits
    tolerance : float
        Largest error, in nats, for which the fast forms are used.
    """

    X: np.ndarray
    neighbors: np.ndarray
    log_masses: np.ndarray
    counts: np.ndarray
    limits: Limits
    tolerance: float = LARGEST_ERROR

    def log_densities(self, models: Models, rows: np.ndarray) -> np.ndarray:
        """Return log p of some rows, each under the mixture of all other rows.

        Parameters
        ----------
        models : Models
        rows : ndarray of int of shape (m,)

        Returns
        -------
        ndarray of shape (D, s, m)
        """
        shape = len(models.components), len(models.variances), len(rows)
        n_models = shape[0] * shape[1]
        sums = LogSums(n_models, len(rows))
        places = np.full(len(self.X), -1)
        places[rows] = np.arange(len(rows))
        is_direct = self._is_direct(models)
        # The matrices are small: threads of BLAS would only wait.
        with one_blas_thread():
            for group in self._groups(n_models, is_direct):
                for block in self._blocks(group, models, places, is_direct):
                    self._add(block, rows, places, sums)
        log_rest = np.log(mass_of_others(self.counts)[rows])
        return sums.logs().reshape(shape) - log_rest

    def _is_direct(self, models: Models) -> bool:
        """Return whether factors act on differences instead of inner products.

        These are slower in many dimensions, but stay precise at a tiny σ.
        """
        n_near = self.neighbors.shape[1] - 1
        if n_near < 1:
            return False
        error = 4.0 * EPS * np.square(self.X).sum(axis=1).max()
        is_delicate = error / models.variances.min() > self.tolerance
        return is_delicate or covers_features(n_near, self.X.shape[1])

    def _groups(self, n_models: int, is_direct: bool) -> list[list[slice]]:
        """Return slices of centers, in lists of those computed at a time."""
        n_threads = self.limits.usable_threads
        n_rows, E = self.neighbors.shape
        n = self.X.shape[1]
        size = E * (2 * n + 4 * E + 2 * n_models)
        size += (n_models + n) * n if is_direct else n_models * E
        most = self.limits.memory // (_SHARE * 8 * size * n_threads + 1)
        height = int(np.clip(min(most, -(-n_rows // n_threads)), 1, n_rows))
        starts = range(0, n_rows, height)
        blocks = [slice(a, min(a + height, n_rows)) for a in starts]
        return [blocks[a : a + n_threads] for a in range(0, len(blocks), n_threads)]

    def _blocks(
        self, group: list[slice], models: Models, places: np.ndarray, is_direct: bool
    ) -> list[_Block]:
        """Return the blocks of centers of a group, made in threads."""
        blocks: dict[int, _Block] = {}

        def work(slices: Iterable[slice]) -> None:
            for here in slices:
                blocks[here.start] = _Block.of(self, here, models, places, is_direct)

        self.limits.deal(work, group)
        return [blocks[here.start] for here in group]

    def _add(
        self, block: _Block, rows: np.ndarray, places: np.ndarray, sums: LogSums
    ) -> None:
        """Add the Gaussians of a block to the running sums of all rows left out."""

        def work(slices: Iterable[slice]) -> None:
            for here in slices:
                top, total = sums.top[:, here].copy(), sums.total[:, here].copy()
                block.add(self.X, self.X[rows[here]], here.start, places, top, total)
                sums.top[:, here], sums.total[:, here] = top, total

        self.limits.deal(work, query_blocks(len(rows), len(self.X), self.limits))


def n_near_for(k: int | None, n_rows: int) -> int:
    """Return the number of neighbors of every row that leave-one-out needs for k."""
    if k == 0:
        return 0
    return n_rows - 1 if k is None else min(k + 1, n_rows - 1)


@dataclass(frozen=True)
class _Block:
    """Factors of some centers without the last neighbor, and corrections.

    Attributes
    ----------
    first : int
    neighbors : ndarray of int of shape (c, E)
    factors : ndarray of shape (c, r, E - 1) or (c, n, n)
    offsets : ndarray of shape (c, E - 1)
    is_direct : bool
    corrected : ndarray of shape (c, E, models)
    precisions : ndarray of shape (models,)
    curvatures : ndarray of shape (c, models, r)
    log_heights : ndarray of shape (c, models)
    """

    first: int
    neighbors: np.ndarray
    factors: np.ndarray
    offsets: np.ndarray
    is_direct: bool
    corrected: np.ndarray
    precisions: np.ndarray
    curvatures: np.ndarray
    log_heights: np.ndarray

    @classmethod
    def of(
        cls,
        data: LeaveOneOut,
        here: slice,
        models: Models,
        places: np.ndarray,
        is_direct: bool,
    ) -> _Block:
        X, neighbors = data.X, data.neighbors[here]
        differences = X[neighbors] - X[here, None]
        log_masses = data.log_masses[here]
        log_corrected = corrected(
            differences, log_masses, models, places[neighbors] >= 0, data.tolerance
        )
        near, weights = differences[:, :-1], normalized(log_masses[:, :-1])
        roots = np.sqrt(weights)
        A = near * roots[:, :, None]
        is_sharp = (
            EPS * squared_sizes(A).max() / models.variances.min() > data.tolerance
        )
        spectrum, factors = decomposed(A, is_direct, is_sharp)
        if not is_direct:
            factors *= roots[:, None]
        log_counts = np.log(data.counts[here])[:, None]
        return cls(
            here.start,
            neighbors,
            factors,
            np.einsum("ijk,ik->ij", near, X[here]),
            is_direct,
            log_corrected + log_counts[:, :, None],
            _precisions(models, is_direct),
            _curvatures(spectrum, models, is_direct),
            _log_heights(spectrum, models, X.shape[1]) + log_counts,
        )

    def add(
        self,
        X: np.ndarray,
        Z: np.ndarray,
        start: int,
        places: np.ndarray,
        top: np.ndarray,
        total: np.ndarray,
    ) -> None:
        """Add the Gaussians of the block at the queries Z to the running sums."""
        b, (_, n_rows, n_columns) = len(Z), self.factors.shape
        models = (
            self.corrected, self.precisions, self.curvatures, self.log_heights,
            top, total, np.empty((n_columns, b)), np.empty((n_rows, b)),
            np.empty((2, b)),
        )  # fmt: skip
        if self.is_direct:
            Zt = np.ascontiguousarray(Z.T)
            loops.left_out_by_differences(
                self.first, start, places, X, Zt, self.neighbors, self.factors,
                *models,
            )  # fmt: skip
            return
        loops.left_out_by_products(
            X @ Z.T, self.first, start, places, X, np.einsum("ij,ij->i", X, X),
            Z, np.einsum("ij,ij->i", Z, Z), self.neighbors, self.offsets,
            self.factors, *models,
        )  # fmt: skip


def _pairs(models: Models, largest: int) -> list[tuple[int, float]]:
    return [(d, v) for d in models.directions(largest) for v in models.variances]


def _precisions(models: Models, is_direct: bool) -> np.ndarray:
    if is_direct:
        return np.zeros(len(models.components) * len(models.variances))
    return np.array([1.0 / v for _, v in _pairs(models, 0)])


def _curvatures(spectrum: np.ndarray, models: Models, is_direct: bool) -> np.ndarray:
    """Return the factors of the squared coordinates in each model, (c, models, r)."""
    c, r = spectrum.shape
    out = np.zeros((c, len(_pairs(models, r)), r))
    for m, (d, v) in enumerate(_pairs(models, r)):
        if is_direct:
            out[:, m, d:] = -1.0 / v
            out[:, m, :d] = -1.0 / (spectrum[:, :d] + v)
        else:
            out[:, m, :d] = 1.0 / ((spectrum[:, :d] + v) * v)
    return out


def _log_heights(spectrum: np.ndarray, models: Models, n: int) -> np.ndarray:
    """Return log N(x_j; x_j, C_j) in each model, (c, models)."""
    heights = [
        np.log(spectrum[:, :d] + v).sum(axis=1) + (n - d) * np.log(v)
        for d, v in _pairs(models, spectrum.shape[1])
    ]
    return -0.5 * (np.stack(heights, axis=1) + n * np.log(2.0 * np.pi))
