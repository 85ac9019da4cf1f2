"""Compiled loops of Gaussians with individual shapes."""

from __future__ import annotations

import numpy as np
from numba import njit

from pursuit.kernels.exponential import exp_nonpositive

# Exponent from which on the exponential is subnormal, and set to 0.
_HIGHEST = 708.0
# If gamma times the squared norms is larger, subtracting the part along the directions
# loses too many digits.
_PRECISE = 1e5


@njit(nogil=True, cache=True, fastmath={"contract"})
def write_varied(
    D: np.ndarray,
    place: np.ndarray,
    gammas: np.ndarray,
    floor: float,
    out: np.ndarray,
    rows: np.ndarray,
    start: int,
) -> None:
    """Write exp(-gamma_i D[place_i]) into the rows ``rows`` of ``out``.

    Parameters
    ----------
    D : ndarray of shape (p, n)
        Squared distances from p points.
    place, gammas, rows : ndarrays of shape (m,)
    floor : float
        Values below this become 0.
    out : ndarray of shape (M, N)
    start : int
        Column of ``out`` at which D begins.
    """
    n = D.shape[1]
    for i in range(len(place)):
        d, gamma, row = D[place[i]], gammas[i], out[rows[i], start : start + n]
        for j in range(n):
            row[j] = exp_nonpositive(-gamma * d[j])
        if floor > 0.0:
            for j in range(n):
                row[j] = row[j] if row[j] >= floor else 0.0


@njit(nogil=True, cache=True, fastmath={"contract"})
def write_oriented(
    D: np.ndarray,
    along: np.ndarray,
    offsets: np.ndarray,
    shrunk: np.ndarray,
    gamma: float,
    z: np.ndarray,
    z_norms: np.ndarray,
    V: np.ndarray,
    x: np.ndarray,
    x_norms: np.ndarray,
    floor: float,
    out: np.ndarray,
) -> None:
    """Write exp(-gamma (‖δ‖² - Σ_k (1 - shrunk_k) (v_kᵀδ)²)), δ = x - z.

    Parameters
    ----------
    D : ndarray of shape (m, n)
        Squared distances from points z to x; overwritten.
    along : ndarray of shape (m, r, n)
        v_kᵀ x.
    offsets, shrunk : ndarrays of shape (m, r)
        v_kᵀ z, and the factor of the squared distance along v_k.
    V : ndarray of shape (m, d, r)
        Directions.
    """
    n = D.shape[1]
    for i in range(D.shape[0]):
        q, row = D[i], out[i]
        for k in range(offsets.shape[1]):
            share, offset, a = 1.0 - shrunk[i, k], offsets[i, k], along[i, k]
            for j in range(n):
                q[j] -= share * (a[j] - offset) * (a[j] - offset)
        n_lost = 0
        for j in range(n):
            q[j] *= gamma
            # Negated, so that NaN (from inf - inf) counts as well.
            is_precise = gamma * (z_norms[i] + x_norms[j]) <= _PRECISE
            n_lost += not (is_precise or q[j] >= _HIGHEST)
        if n_lost > 0:
            for j in range(n):
                is_precise = gamma * (z_norms[i] + x_norms[j]) <= _PRECISE
                if not (is_precise or q[j] >= _HIGHEST):
                    q[j] = gamma * _shrunk_distance(x[j], z[i], V[i], shrunk[i])
        for j in range(n):
            row[j] = exp_nonpositive(-max(q[j], 0.0))
        for j in range(n):
            # NaN, from overflow, becomes 0 as well.
            row[j] = row[j] if q[j] < _HIGHEST and row[j] >= floor else 0.0


@njit(nogil=True, cache=True, fastmath={"contract"})
def _shrunk_distance(
    x: np.ndarray, z: np.ndarray, V: np.ndarray, shrunk: np.ndarray
) -> float:
    """Return ‖δ - V Vᵀδ‖² + Σ_k shrunk_k (v_kᵀδ)², precise also far from z."""
    delta = x - z
    total = 0.0
    across = delta.copy()
    for k in range(V.shape[1]):
        a = 0.0
        for c in range(len(delta)):
            a += V[c, k] * delta[c]
        total += shrunk[k] * a * a
        for c in range(len(delta)):
            across[c] -= V[c, k] * a
    for c in range(len(delta)):
        total += across[c] * across[c]
    return total
