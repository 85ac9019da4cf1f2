"""Compiled bounds on the distances to local hyperplanes, by conjugate gradients."""

import numpy as np
from numba import njit

from pursuit._fastmath import REORDER

from ._hyperplanes import append, center
from ._vectors import add, differences, dot

# Steps of conjugate gradients after which a class is left to the exact computation.
_STEPS = 40


@njit(cache=True, nogil=True, fastmath=REORDER)
def _two_bounds(n, t, penalty, r, s, a):
    """Return bounds on the squared distance from ``a`` and ``s = B r - λ a``.

    Any ``a`` gives an upper bound; its residue ``r`` gives a lower bound by the dual
    problem, (r·t)² / (|r|² + |B r|²/λ).
    """
    walked, products = 0.0, 0.0
    for k in range(n):
        walked += a[k] * a[k]
        products += (s[k] + penalty * a[k]) ** 2
    rr, rt = float(dot(r, r)), float(dot(r, t))
    bottom = rr + products / penalty
    return rt * rt / bottom if bottom > 0.0 else 0.0, rr + penalty * walked


@njit(cache=True, nogil=True, fastmath=REORDER)
def _gradient(B, n, lam, r, a, s):
    """Write ``s = B r - λ a``; return its squared length."""
    total = B.dtype.type(0)
    for k in range(n):
        s[k] = dot(B[k], r) - lam * a[k]
        total += s[k] * s[k]
    return total


@njit(cache=True, nogil=True, fastmath=REORDER)
def _bounded(B, n, t, penalty, limit, precision, p, q, r, s, a):
    """Return lower and upper bounds on the squared distance, by conjugate gradients.

    Ends when the lower bound passes ``limit``, or when the two are within
    ``precision`` (relative).
    """
    lam = B.dtype.type(penalty)
    a[:] = 0
    r[:] = t
    size = _gradient(B, n, lam, r, a, s)
    p[:] = s
    lower, upper = 0.0, np.inf
    for _ in range(_STEPS):
        low, high = _two_bounds(n, t, penalty, r, s, a)
        lower, upper = max(lower, low), min(upper, high)
        if lower > limit or upper - lower <= precision * upper:
            break
        q[:] = 0
        for k in range(n):
            add(q, p[k], B[k])
        curvature = dot(q, q) + lam * dot(p[:n], p[:n])
        # Negated, so that NaN ends the loop as well.
        if not curvature > 0:
            break
        length = size / curvature
        add(a[:n], length, p[:n])
        add(r, -length, q)
        fresh = _gradient(B, n, lam, r, a, s)
        for k in range(n):
            p[k] = s[k] + fresh / size * p[k]
        size = fresh
    return lower, upper


@njit(cache=True, nogil=True)
def hyperplane_bounds(
    R, X, index, count, order, spot, out, tangents, penalty, unit, precision
):
    """Write bounds on the squared distances, tight enough to find the smallest.

    Classes are processed in the given ``order`` (n, C); a class is abandoned as soon as
    its lower bound exceeds the smallest upper bound so far. Arithmetic is in single
    precision, with lengths divided by ``unit``: distances that differ by less than
    ``precision`` are left to the exact computation. ``out`` (n, C, 2) holds lower and
    upper bounds, in squared units.
    """
    most, d = index.shape[2] + tangents.shape[1], X.shape[1]
    P, t = np.empty((most, d), np.float32), np.empty(d, np.float32)
    q, r = np.empty(d, np.float32), np.empty(d, np.float32)
    p, s = np.empty(most, np.float32), np.empty(most, np.float32)
    a = np.empty(most, np.float32)
    for i in range(X.shape[0]):
        limit = np.inf
        for place in range(order.shape[1]):
            c = order[i, place]
            n = count[i, c]
            if n == 0:
                out[i, c] = np.inf
                continue
            differences(R, index[i, c, :n], X[i], unit, P)
            center(P, n, t)
            n = append(tangents[spot[i, c]], unit, P, n)
            low, high = _bounded(
                P, n, t, penalty, limit * (1.0 + precision), precision, p, q, r, s, a
            )
            out[i, c, 0], out[i, c, 1] = low, high
            limit = min(limit, high)
