"""Exact leave-one-out log-densities of mixtures of local Gaussians.

Leaving out only the Gaussian of x_i itself is wrong: x_i also shaped those of the
centres that have it as a neighbour. There, the next neighbour takes its place. Let S be
the sum of c_h δ_h δ_hᵀ over the k + 1 nearest neighbours h of such a centre (δ_h = x_h
- x_j, c_h = 1 or the kernel's value), p the place of x_i among them, z = Σ_{h≠p} c_h.
Then, with A = S/z + σ² I and all directions kept,

    C = A - (c_p/z) δ_p δ_pᵀ,   q = q_0/(1 - c_p q_0/z),   q_0 = δ_pᵀ A⁻¹ δ_p,
    log det C = log det A + log(1 - c_p q_0/z),

so that one eigendecomposition of S gives every neighbour p and every σ. With d leading
directions only, each pair of centre and neighbour needs a decomposition of its own.

Letters: l points, n features, E = k + 1 neighbours, m rows left out in turn, s values
of σ², D numbers of directions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from . import _gaussian_loops as loops
from ._threads import allowed_threads, deal
from .kernels import Kernel
from .local_gaussians import (
    covers_features,
    decomposed,
    finished,
    log_gaussians,
    query_blocks,
)
from .local_weights import kernel_values, nearest

# Share of the memory for the arrays of a block of centres.
_SHARE = 8
# Numbers held at a time for pairs of a centre and a neighbour.
_PAIRS = 1 << 22


@dataclass(frozen=True)
class Models:
    """What is compared: every number of directions with every variance.

    Attributes
    ----------
    components : tuple of int or None
        D numbers of directions; None is all.
    variances : ndarray of shape (s,)
    """

    components: tuple[int | None, ...]
    variances: np.ndarray

    def directions(self, largest: int) -> list[int]:
        """Return the numbers of directions where there are no more than `largest`."""
        return [largest if d is None else min(d, largest) for d in self.components]


@dataclass(frozen=True)
class LeftOut:
    """A training set, ready for leaving out rows.

    Attributes
    ----------
    X : ndarray of shape (l, n)
        Different rows, about the origin; at least two.
    neighbours : ndarray of int of shape (l, E)
        The k + 1 nearest other rows, or all others if they are fewer.
    masses : ndarray of shape (l, E)
        The c_h.
    memory, n_threads : int
    """

    X: np.ndarray
    neighbours: np.ndarray
    masses: np.ndarray
    memory: int
    n_threads: int

    def log_densities(self, models: Models, rows: np.ndarray) -> np.ndarray:
        """Return log p of some rows, each under the mixture of all others.

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
        top = np.full((n_models, len(rows)), loops.START)
        total = np.zeros((n_models, len(rows)))
        places = np.full(len(self.X), -1)
        places[rows] = np.arange(len(rows))
        for here in self._blocks(n_models):
            block = _Block.of(self, here, models, places)
            self._add(block, rows, places, top, total)
        return finished(top, total).reshape(shape) - np.log(len(self.X) - 1)

    def _blocks(self, n_models: int) -> list[slice]:
        n_rows, E = self.neighbours.shape
        size = E * (2 * self.X.shape[1] + 4 * E + 2 * n_models)
        height = int(np.clip(self.memory // (_SHARE * 8 * size + 1), 1, n_rows))
        return [slice(a, min(a + height, n_rows)) for a in range(0, n_rows, height)]

    def _add(
        self,
        block: _Block,
        rows: np.ndarray,
        places: np.ndarray,
        top: np.ndarray,
        total: np.ndarray,
    ) -> None:
        n_threads = min(self.n_threads, allowed_threads())
        queries = query_blocks(len(rows), len(self.X), n_threads, self.memory)

        def work(mine: Sequence[slice]) -> None:
            for here in mine:
                sums = top[:, here].copy(), total[:, here].copy()
                block.add(self.X, self.X[rows[here]], here.start, places, *sums)
                top[:, here], total[:, here] = sums

        deal(work, queries, min(n_threads, len(queries)))


def leave_out(
    X: np.ndarray,
    k: int | None,
    kernel: Kernel | None,
    points: np.ndarray,
    memory: int,
    n_threads: int,
) -> LeftOut:
    """Return the training set X, ready for leaving out rows of it.

    Parameters
    ----------
    X : ndarray of shape (l, n)
        Different rows, two at least.
    k : int or None
        Neighbours that shape a Gaussian; None is all others.
    kernel : Kernel or None
        Weights of the neighbours; None weighs them equally.
    points : ndarray of shape (l, n)
        The rows as the kernel knows them; X may be moved and scaled.
    memory, n_threads : int
    """
    n_others = len(X) - 1
    n_near = n_others if k is None else min(k + 1, n_others)
    neighbours = nearest(X, 0 if k == 0 else n_near, n_threads)
    masses = np.ones(neighbours.shape)
    if kernel is not None:
        masses = kernel_values(points, neighbours, kernel)
    return LeftOut(X, neighbours, masses, memory, n_threads)


@dataclass(frozen=True)
class _Block:
    """Factors of some centres without the last neighbour, and corrections.

    Attributes
    ----------
    first : int
    neighbours : ndarray of int of shape (c, E)
    factors : ndarray of shape (c, r, E - 1) or (c, n, n)
    offsets : ndarray of shape (c, E - 1)
    is_direct : bool
    corrected : ndarray of shape (c, E, models)
    precisions : ndarray of shape (models,)
    curvatures : ndarray of shape (c, models, r)
    log_heights : ndarray of shape (c, models)
    """

    first: int
    neighbours: np.ndarray
    factors: np.ndarray
    offsets: np.ndarray
    is_direct: bool
    corrected: np.ndarray
    precisions: np.ndarray
    curvatures: np.ndarray
    log_heights: np.ndarray

    @classmethod
    def of(
        cls, data: LeftOut, here: slice, models: Models, places: np.ndarray
    ) -> _Block:
        X, neighbours = data.X, data.neighbours[here]
        differences = X[neighbours] - X[here, None]
        masses = data.masses[here]
        corrected = _corrected(differences, masses, models, places[neighbours] >= 0)
        near, weights = differences[:, :-1], _normalised(masses[:, :-1])
        is_direct = covers_features(*near.shape[1:])
        roots = np.sqrt(weights)
        spectrum, factors = decomposed(near * roots[:, :, None], is_direct)
        if not is_direct:
            factors *= roots[:, None]
        return cls(
            here.start,
            neighbours,
            factors,
            np.einsum("ijk,ik->ij", near, X[here]),
            is_direct,
            corrected,
            _precisions(models, is_direct),
            _curvatures(spectrum, models, is_direct),
            _log_heights(spectrum, models, X.shape[1]),
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
        models = (
            self.corrected, self.precisions, self.curvatures, self.log_heights,
            top, total,
        )  # fmt: skip
        if self.is_direct:
            Zt = np.ascontiguousarray(Z.T)
            loops.left_out_by_differences(
                self.first, start, places, X, Zt, self.neighbours, self.factors,
                *models,
            )  # fmt: skip
            return
        loops.left_out_by_products(
            X @ Z.T, self.first, start, places, X, np.einsum("ij,ij->i", X, X),
            Z, np.einsum("ij,ij->i", Z, Z), self.neighbours, self.offsets,
            self.factors, *models,
        )  # fmt: skip


def _normalised(masses: np.ndarray) -> np.ndarray:
    total = masses.sum(axis=1, keepdims=True)
    return masses / np.where(total > 0, total, 1.0)


def _pairs(models: Models, largest: int) -> list[tuple[int, float]]:
    return [(d, v) for d in models.directions(largest) for v in models.variances]


def _precisions(models: Models, is_direct: bool) -> np.ndarray:
    if is_direct:
        return np.zeros(len(models.components) * len(models.variances))
    return np.array([1.0 / v for _, v in _pairs(models, 0)])


def _curvatures(spectrum: np.ndarray, models: Models, is_direct: bool) -> np.ndarray:
    """Return what multiplies the squared coordinates in each model, (c, models, r)."""
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


# -- neighbours that shaped a Gaussian ---------------------------------------------


def _corrected(
    differences: np.ndarray,
    masses: np.ndarray,
    models: Models,
    is_asked: np.ndarray,
) -> np.ndarray:
    """Return log N at each neighbour of a Gaussian made without it, (c, E, models)."""
    c, E, n = differences.shape
    out = np.empty((c, E, len(models.components), len(models.variances)))
    largest = max(min(E - 1, n), 0)
    for i, d in enumerate(models.directions(largest)):
        if d == 0:
            out[:, :, i] = _spherical(differences, models.variances)
        elif d == largest:
            out[:, :, i] = _downdated(differences, masses, models.variances)
        else:
            centre, place = np.nonzero(is_asked)
            out[centre, place, i] = _reduced(
                differences, masses, centre, place, d, models.variances
            )
    return out.reshape(c, E, len(models.components) * len(models.variances))


def _spherical(differences: np.ndarray, variances: np.ndarray) -> np.ndarray:
    n = differences.shape[2]
    square = np.einsum("ijk,ijk->ij", differences, differences)[:, :, None]
    return -0.5 * (n * np.log(2.0 * np.pi * variances) + square / variances)


def _downdated(
    differences: np.ndarray, masses: np.ndarray, variances: np.ndarray
) -> np.ndarray:
    """Return log N in closed form, all directions kept: (c, E, s)."""
    _, E, n = differences.shape
    is_direct = covers_features(E, n)
    A = differences * np.sqrt(masses)[:, :, None]
    spectrum, axes = decomposed(A, is_direct)
    vectors = axes.transpose(0, 2, 1)  # (c, E or n, r)
    squares = np.einsum("ijk,ijk->ij", differences, differences)
    along = differences if is_direct else differences @ A.transpose(0, 2, 1)
    coordinates = (along @ vectors) ** 2  # of each neighbour, (c, E, r)
    rest = _rest(masses)
    out = np.empty((*squares.shape, len(variances)))
    for i, v in enumerate(variances):
        shifted = spectrum[:, None] + (rest * v)[:, :, None]
        if is_direct:
            q = rest * (coordinates / shifted).sum(axis=2)
            left = 1.0 - masses / rest * q
        else:
            q = (squares - (coordinates / shifted).sum(axis=2)) / v
            left = rest * v * (vectors**2 / shifted).sum(axis=2)
        # What both are at the least, however they are rounded.
        q = np.maximum(q, 0.0)
        left = np.maximum(left, v / (v + masses / rest * squares))
        log_det = np.log(shifted / rest[:, :, None]).sum(axis=2) + np.log(left)
        log_det += (n - spectrum.shape[1]) * np.log(v)
        out[:, :, i] = -0.5 * (n * np.log(2.0 * np.pi) + log_det + q / left)
    return out


def _rest(masses: np.ndarray) -> np.ndarray:
    """Return the mass of the other neighbours, 1 where they have none."""
    rest = masses.sum(axis=1, keepdims=True) - masses
    return np.where(rest > 0, rest, 1.0)


def _reduced(
    differences: np.ndarray,
    masses: np.ndarray,
    centre: np.ndarray,
    place: np.ndarray,
    d: int,
    variances: np.ndarray,
) -> np.ndarray:
    """Return log N at pairs of centre and neighbour, d directions kept: (pairs, s)."""
    _, E, n = differences.shape
    height = max(1, _PAIRS // (E * max(E, n)))
    out = np.empty((len(centre), len(variances)))
    for a in range(0, len(out), height):
        i, p = centre[a : a + height], place[a : a + height]
        weights = masses[i]
        weights[np.arange(len(i)), p] = 0.0
        A = differences[i] * np.sqrt(_normalised(weights))[:, :, None]
        out[a : a + height] = log_gaussians(A, differences[i, p], d, variances)
    return out
