"""Compiled searches for gamma of a Gaussian at a point (see `adaptive`)."""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from pursuit._compiling import REORDER
from pursuit._rows import STRIDE, mixed
from pursuit.kernels.exponential import exp_nonpositive

_GOLDEN = (math.sqrt(5.0) - 1.0) / 2.0
# The search ends when ln(gamma) is known to half of this.
_PRECISION = 0.01
_LN2 = math.log(2.0)
# Number of squarings between two exponentials: each doubles the error.
_SQUARES = 16
# Values this close (relative) are a tie, which the wider function wins, so that
# rounding does not decide where the criterion is flat.
_TIE = 1e-10


@njit(nogil=True, cache=True, fastmath=REORDER)
def _criterion(
    K: np.ndarray, w: np.ndarray, Z: np.ndarray, scaled: bool, centered: bool
) -> float:
    """Return the criterion to minimize, given the values K of the function.

    Aligned: Σ w (s - K)² minus a constant. Scaled: minus the decrease of the squared
    error by one function with its coefficient (and a constant, if centered; Z is then
    centered already).
    """
    mean = 0.0
    if scaled and centered:
        first, total = 0.0, 0.0
        for j in range(K.shape[0]):
            first += w[j] * K[j]
            total += w[j]
        mean = first / total
    norm, largest = 0.0, 0.0
    for j in range(K.shape[0]):
        norm += w[j] * (K[j] - mean) * (K[j] - mean)
        largest += w[j] * K[j] * K[j]
    drop = 0.0
    for t in range(Z.shape[0]):
        cross = 0.0
        for j in range(K.shape[0]):
            cross += w[j] * Z[t, j] * (K[j] - mean)
        if not scaled:
            return norm - 2.0 * cross
        drop += cross * cross
    # A function that is constant on these points explains nothing more.
    return -drop / norm if norm > 1e-24 * largest else 0.0


@njit(nogil=True, cache=True, fastmath={"contract"})
def _gaussian(d: np.ndarray, gamma: float, K: np.ndarray) -> None:
    for j in range(d.shape[0]):
        K[j] = exp_nonpositive(-gamma * d[j])


@njit(nogil=True, cache=True)
def _value(
    log_gamma: float,
    d: np.ndarray,
    w: np.ndarray,
    Z: np.ndarray,
    scaled: bool,
    centered: bool,
    K: np.ndarray,
) -> float:
    _gaussian(d, math.exp(log_gamma), K)
    return _criterion(K, w, Z, scaled, centered)


@njit(nogil=True, cache=True)
def best_width(
    d: np.ndarray,
    w: np.ndarray,
    Z: np.ndarray,
    low: float,
    high: float,
    scaled: bool,
    centered: bool,
    K: np.ndarray,
) -> float:
    """Return the gamma between ``low`` and ``high`` that minimizes the criterion.

    The search begins with half octaves, where the function is the square of that an
    octave below, so that one exponential serves many gammas. Golden section around
    the best of them follows.

    Parameters
    ----------
    d, w : ndarray of shape (m,)
        Squared distances from the center, and weights.
    Z : ndarray of shape (T, m)
        Signs (+1 for the center's class) or targets; overwritten.
    low, high : float
    scaled, centered : bool
        As in `_criterion`.
    K : ndarray of shape (m,)
        Scratch.
    """
    if scaled and centered:
        for t in range(Z.shape[0]):
            Z[t] -= (w * Z[t]).sum() / w.sum()
    a, b = math.log(low), math.log(high)
    best_x, best = a, np.inf
    for phase in range(2):
        x = a + 0.5 * phase * _LN2
        n_squares = _SQUARES
        while x <= b:
            if n_squares == _SQUARES:
                _gaussian(d, math.exp(x), K)
                n_squares = 0
            else:
                K *= K
                n_squares += 1
            value = _criterion(K, w, Z, scaled, centered)
            if value < best - _TIE * abs(best) or best == np.inf:
                best_x, best = x, value
            x += _LN2
    value = _value(b, d, w, Z, scaled, centered, K)
    if value < best - _TIE * abs(best):
        best_x, best = b, value
    left, right = max(a, best_x - 0.5 * _LN2), min(b, best_x + 0.5 * _LN2)
    u = right - _GOLDEN * (right - left)
    v = left + _GOLDEN * (right - left)
    fu = _value(u, d, w, Z, scaled, centered, K)
    fv = _value(v, d, w, Z, scaled, centered, K)
    while right - left > _PRECISION:
        if fu <= fv + _TIE * abs(fv):
            right, v, fv = v, u, fu
            u = right - _GOLDEN * (right - left)
            fu = _value(u, d, w, Z, scaled, centered, K)
        else:
            left, u, fu = u, v, fv
            v = left + _GOLDEN * (right - left)
            fv = _value(v, d, w, Z, scaled, centered, K)
    # Compare with the ends and the grid, so that a minimum at a bound stays there.
    middle = 0.5 * (left + right)
    value = _value(middle, d, w, Z, scaled, centered, K)
    is_lower = value < best - _TIE * abs(best)
    return math.exp(middle if is_lower else best_x)


@njit(nogil=True, cache=True)
def _is_drawn(here: np.uint64, there: np.uint64, draw: int, limit: np.uint64) -> bool:
    """Return whether a row belongs to the given random subset of a center."""
    number = mixed(here + np.uint64(draw + 1) * STRIDE)
    return mixed(number ^ mixed(there)) < limit


@njit(nogil=True, cache=True)
def widths(
    D: np.ndarray,
    centers: np.ndarray,
    sets: np.ndarray,
    weight: np.ndarray,
    Y: np.ndarray,
    codes: np.ndarray,
    center_codes: np.ndarray,
    digests: np.ndarray,
    center_digests: np.ndarray,
    reach: float,
    n_draws: int,
    limit: np.uint64,
    low: float,
    high: float,
    scaled: bool,
    centered: bool,
    out: np.ndarray,
) -> None:
    """Write the best gamma for each center and each draw; NaN if it is undetermined.

    Parameters
    ----------
    D : ndarray of shape (c, l)
        Squared distances from some centers.
    centers, sets : ndarrays of int of shapes (c,) and (l,)
        Set of equal rows to which each belongs; a center's own set is left out.
    weight, Y : ndarrays of shapes (l,) and (T, l)
    codes, center_codes : ndarrays of int of shapes (l,) and (c,)
        Classes.
    digests, center_digests : ndarrays of uint64
        Digests of the rows' contents, for the draws.
    reach : float
        Squared distance up to which rows count.
    n_draws : int
        Number of random subsets for each center; 0 for all rows.
    limit : uint64
        A row is in a subset if a random number is below this.
    out : ndarray of shape (c, max(1, n_draws))
    """
    n_rows = D.shape[1]
    n_targets = Y.shape[0] if scaled else 1
    d, w, K = np.empty(n_rows), np.empty(n_rows), np.empty(n_rows)
    Z = np.empty((n_targets, n_rows))
    for i in range(D.shape[0]):
        for draw in range(max(1, n_draws)):
            m = 0
            is_mixed = False
            for j in range(n_rows):
                if sets[j] == centers[i] or not D[i, j] <= reach:
                    continue
                if n_draws > 0 and not _is_drawn(
                    center_digests[i], digests[j], draw, limit
                ):
                    continue
                d[m], w[m] = D[i, j], weight[j]
                if scaled:
                    for t in range(n_targets):
                        Z[t, m] = Y[t, j]
                        is_mixed |= Z[t, m] != Z[t, 0]
                else:
                    Z[0, m] = 1.0 if codes[j] == center_codes[i] else -1.0
                    is_mixed |= Z[0, m] != Z[0, 0]
                m += 1
            # Points of one class, or of one target, determine no width.
            out[i, draw] = np.nan
            if is_mixed:
                out[i, draw] = best_width(
                    d[:m], w[:m], Z[:, :m], low, high, scaled, centered, K[:m]
                )
