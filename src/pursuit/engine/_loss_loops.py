"""Compiled linear algebra of the pursuit under any loss (see `backfitting`).

Letters as in :mod:`.loss_pursuit`: functions ``B`` (b, l + tail), coefficients of them
(T, b), values ``V`` (T, l + tail). ``second`` is that of a `backfitting.Point`.
"""

import numpy as np
from numba import njit

from pursuit._fastmath import REORDER

from ._loops import take_out_span

# If less than this share of a squared norm is left, directions are projected out again.
_LEAST_LEFT = 0.01


@njit(cache=True, nogil=True)
def combined(x, B):
    """Return ``x @ B``; BLAS is faster with a vector than with a one-row matrix."""
    if x.shape[0] > 1:
        return np.dot(x, B)
    return np.dot(x[0], B).reshape(1, -1)


@njit(cache=True, nogil=True)
def projected(V, B):
    """Return ``V @ B.T``."""
    if V.shape[0] > 1:
        return np.dot(V, B.T)
    return np.dot(B, V[0]).reshape(1, -1)


@njit(cache=True, nogil=True, fastmath=REORDER)
def _bend(V, second):
    """Multiply by the second derivatives, in place; on the tail they are 1."""
    n_targets, n_rows = second.shape[1:]
    if second.shape[0] == 1:
        for t in range(n_targets):
            for i in range(n_rows):
                V[t, i] *= second[0, t, i]
        return
    shared = np.zeros(n_rows)
    for t in range(n_targets):
        for i in range(n_rows):
            shared[i] += second[1, t, i] * V[t, i]
    for t in range(n_targets):
        for i in range(n_rows):
            V[t, i] = second[0, t, i] * V[t, i] - second[1, t, i] * shared[i]


@njit(cache=True, nogil=True, fastmath=REORDER)
def _inner(x, y):
    total = 0.0
    for t in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[t, j] * y[t, j]
    return total


@njit(cache=True, nogil=True)
def _preconditioned(inverse, r):
    """Return the inverses (T, n, n) times ``r``; functions after n are orthonormal."""
    out, size = r.copy(), inverse.shape[1]
    if size:
        for t in range(r.shape[0]):
            out[t, :size] = np.dot(inverse[t], r[t, :size])
    return out


@njit(cache=True, nogil=True)
def solve(B, second, g, damping, inverse, enough):
    """Solve ``x (B H B.T + damping) = g`` approximately by conjugate gradients.

    H are the second derivatives. Far from the minimum a rough solution is enough; near
    it, the residual must be below ``enough``, so that Newton's method needs no further
    step. Returns the solution, the residual, the number of iterations, and whether a
    direction without curvature was met, along which there is no solution.
    """
    x, r = np.zeros_like(g), g.copy()
    wanted = max(0.01 * enough, 1e-4 * _inner(r, r))
    p = _preconditioned(inverse, r)
    energy = _inner(r, p)
    most, n = 2 * g.size + 10, 0
    while n < most:
        n += 1
        V = combined(p, B)
        _bend(V, second)
        Hp = projected(V, B) + damping * p
        bend = _inner(p, Hp)
        if bend <= 1e-12 * _inner(p, p):
            # Flat along p: if no step was taken yet, return the gradient.
            if not x.any():
                x, r = g.copy(), np.zeros_like(g)
            return x, r, most, True
        x += (energy / bend) * p
        r -= (energy / bend) * Hp
        if _inner(r, r) <= wanted:
            break
        z = _preconditioned(inverse, r)
        before, energy = energy, _inner(r, z)
        p = z + (energy / before) * p
    return x, r, n, False


@njit(cache=True, nogil=True, fastmath=REORDER)
def solved(R, theta):
    """Return ``(R^-1 theta.T).T`` for an upper triangle R, or its leading corner."""
    x = theta.copy()
    n_targets, b = x.shape
    for i in range(b - 1, -1, -1):
        for t in range(n_targets):
            total = x[t, i]
            for j in range(i + 1, b):
                total -= R[i, j] * x[t, j]
            x[t, i] = total / R[i, i]
    return x


@njit(cache=True, nogil=True, fastmath=REORDER)
def append_direction(C, metric, b, Q, tri):
    """Make ``C[b]`` orthonormal to ``Q[:b]`` in the metric.

    Writes ``Q[b]`` and column b of ``tri``; returns the squared norm outside the span
    and the total squared norm.
    """
    u, h = Q[b], np.zeros(b)
    u[:] = C[b]
    squared = take_out_span(u, Q[:b], metric, h, 0, _LEAST_LEFT)
    root = np.sqrt(squared) if squared > 0 else 1.0
    whole = 0.0
    for i in range(u.shape[0]):
        u[i] /= root
        whole += metric[i] * C[b, i] * C[b, i]
    tri[:b, b] = h
    tri[b, b] = root
    return squared, whole


# -- choosing ----------------------------------------------------------------------


@njit(cache=True, nogil=True)
def leave_out(P, norms, e):
    """Subtract directions of correlations ``P`` from the squared norms ``e``.

    Round-off that is left of an atom in their span is set to 0.
    """
    for j in range(P.shape[0]):
        for k in range(e.shape[0]):
            left = e[k] - P[j, k] * P[j, k]
            e[k] = left if left > 1e-14 * norms[k] else 0.0


@njit(cache=True, nogil=True)
def gains(c, e, norms, squares, is_open, tol, floor):
    """Return the gain of each candidate, 0 for those that cannot be chosen.

    Of an atom far from zero, the part outside the span is compared with the squared
    norm around its mean (``norms``), but round-off of correlations (``floor``) grows
    with the whole squared norm (``squares``).
    """
    out = np.zeros(e.shape[0])
    for k in range(e.shape[0]):
        total = 0.0
        for t in range(c.shape[0]):
            total += c[t, k] * c[t, k]
        if is_open[k] and total > floor * squares[k] and e[k] > tol * norms[k]:
            out[k] = total / e[k]
    return out
