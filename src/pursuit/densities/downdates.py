"""Local Gaussians at the neighbors that shaped them, each without that neighbor.

If a neighbor is left out, the next takes its place. Let S be the sum of c_h δ_h δ_hᵀ
over the k + 1 nearest neighbors h of a center x_j (δ_h = x_h - x_j, c_h = 1 or the
kernel's value), p the one left out, z = Σ_{h≠p} c_h. Then, with A = S/z + σ² I and all
directions kept,

    C = A - (c_p/z) δ_p δ_pᵀ,   q = q_0/(1 - c_p q_0/z),   q_0 = δ_pᵀ A⁻¹ δ_p,
    log det C = log det A + log(1 - c_p q_0/z),

so that one eigendecomposition of S gives every neighbor p and every σ. With only d
leading directions, or if 1 - c_p q_0/z has lost its precision (σ is tiny, or p holds
almost all of the mass), each pair of center and neighbor needs its own decomposition.

Letters: c centers, n features, E = k + 1 neighbors, s values of σ², D numbers of
directions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .gaussians import (
    covers_features,
    decomposed,
    log_gaussians,
    mass_of_others,
    normalized,
    relative_masses,
)
from .points import EPS, LEAST_MASS

# Numbers held at a time for pairs of a center and a neighbor.
_PAIRS = 1 << 20


@dataclass(frozen=True)
class Models:
    """Models to compare: every number of directions with every variance.

    Attributes
    ----------
    components : tuple of int or None
        D numbers of directions; None means all.
    variances : ndarray of shape (s,)
    """

    components: tuple[int | None, ...]
    variances: np.ndarray

    def directions(self, largest: int) -> list[int]:
        """Return the numbers of directions, limited to `largest`."""
        return [largest if d is None else min(d, largest) for d in self.components]


def corrected(
    differences: np.ndarray,
    log_masses: np.ndarray,
    models: Models,
    is_asked: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Return log N at each neighbor of a Gaussian made without it, (c, E, models).

    Only the requested pairs are guaranteed, up to the tolerance in nats.
    """
    c, E, n = differences.shape
    masses = relative_masses(log_masses)
    out = np.empty((c, E, len(models.components), len(models.variances)))
    largest = max(min(E - 1, n), 0)
    for i, d in enumerate(models.directions(largest)):
        if d == 0:
            out[:, :, i] = _spherical(differences, models.variances)
        elif d == largest:
            out[:, :, i] = _downdated(differences, masses, models.variances)
            pairs = is_asked & _are_sharp(differences, masses, models, tolerance)
            _reduce(out[:, :, i], differences, log_masses, pairs, d, models, tolerance)
        else:
            pairs = is_asked
            _reduce(out[:, :, i], differences, log_masses, pairs, d, models, tolerance)
    return out.reshape(c, E, len(models.components) * len(models.variances))


def _are_sharp(
    differences: np.ndarray, masses: np.ndarray, models: Models, tolerance: float
) -> np.ndarray:
    """Return whether the closed form may be wrong by more than the tolerance, (c, E).

    Rounding of S, which includes the neighbor left out, is divided by the mass of the
    others.
    """
    squares = np.einsum("ijk,ijk->ij", differences, differences)
    trace = np.einsum("ij,ij->i", masses, squares)[:, None]
    largest = np.maximum(squares.max(axis=1)[:, None], trace / _rest(masses))
    return 4.0 * EPS * largest / models.variances.min() > tolerance


def _reduce(
    out: np.ndarray,
    differences: np.ndarray,
    log_masses: np.ndarray,
    pairs: np.ndarray,
    d: int,
    models: Models,
    tolerance: float,
) -> None:
    """Write the values of some pairs of a center and a neighbor, (c, E) bool."""
    center, place = np.nonzero(pairs)
    out[center, place] = _reduced(
        differences, log_masses, center, place, d, models.variances, tolerance
    )


def _spherical(differences: np.ndarray, variances: np.ndarray) -> np.ndarray:
    n = differences.shape[2]
    square = np.einsum("ijk,ijk->ij", differences, differences)[:, :, None]
    return -0.5 * (n * np.log(2.0 * np.pi * variances) + square / variances)


def _downdated(
    differences: np.ndarray, masses: np.ndarray, variances: np.ndarray
) -> np.ndarray:
    """Return log N in closed form, with all directions kept: (c, E, s)."""
    _, E, n = differences.shape
    is_direct = covers_features(E, n)
    A = differences * np.sqrt(masses)[:, :, None]
    spectrum, axes = decomposed(A, is_direct)
    vectors = axes.transpose(0, 2, 1)  # (c, E or n, r)
    squares = np.einsum("ijk,ijk->ij", differences, differences)
    along = differences if is_direct else differences @ A.transpose(0, 2, 1)
    coordinates = (along @ vectors) ** 2  # of each neighbor, (c, E, r)
    rest = _rest(masses)
    if np.all(masses == masses[:, :1]):
        rest = rest[:, :1]  # the same for all neighbors, which saves most of the time
    out = np.empty((*squares.shape, len(variances)))
    for i, v in enumerate(variances):
        shifted = spectrum[:, None] + (rest * v)[:, :, None]
        if is_direct:
            q = rest * _sums_of_quotients(coordinates, shifted)
            left = 1.0 - masses / rest * q
        else:
            q = (squares - _sums_of_quotients(coordinates, shifted)) / v
            left = rest * v * _sums_of_quotients(vectors**2, shifted)
        # Enforce the exact lower limits of both despite rounding.
        q = np.maximum(q, 0.0)
        left = np.maximum(left, v / (v + masses / rest * squares))
        log_det = np.log(shifted / rest[:, :, None]).sum(axis=2) + np.log(left)
        log_det += (n - spectrum.shape[1]) * np.log(v)
        out[:, :, i] = -0.5 * (n * np.log(2.0 * np.pi) + log_det + q / left)
    return out


def _sums_of_quotients(values: np.ndarray, divisors: np.ndarray) -> np.ndarray:
    """Return the sums over r of values (c, E, r) by divisors (c, E or 1, r): (c, E)."""
    if divisors.shape[1] == 1:
        return np.matmul(values, 1.0 / divisors.transpose(0, 2, 1))[:, :, 0]
    return (values / divisors).sum(axis=2)


def _rest(masses: np.ndarray) -> np.ndarray:
    """Return the mass of the other neighbors; tiny, not 0, if they have none."""
    return np.maximum(mass_of_others(masses), LEAST_MASS)


def _reduced(
    differences: np.ndarray,
    log_masses: np.ndarray,
    center: np.ndarray,
    place: np.ndarray,
    d: int,
    variances: np.ndarray,
    tolerance: float,
) -> np.ndarray:
    """Return log N at pairs of center and neighbor with d directions: (pairs, s)."""
    _, E, n = differences.shape
    height = max(1, _PAIRS // (E * max(E, n)))
    out = np.empty((len(center), len(variances)))
    for a in range(0, len(out), height):
        i, p = center[a : a + height], place[a : a + height]
        logs = log_masses[i]
        logs[np.arange(len(i)), p] = -np.inf
        A = differences[i] * np.sqrt(normalized(logs))[:, :, None]
        out[a : a + height] = log_gaussians(
            A, differences[i, p], d, variances, tolerance
        )
    return out
