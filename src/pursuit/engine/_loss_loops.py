"""Compiled linear algebra of the pursuit under any loss (see `backfitting`).

Letters as in :mod:`.loss_pursuit`: functions ``B`` (b, l + tail), coefficients of them
(T, b), values ``V`` (T, l + tail). ``second`` is that of a `backfitting.Point`.
"""

import numpy as np

from pursuit._compiling import REORDER, compiled


@compiled(no_cpython_wrapper=True)
def _combined(x, B):
    """Return ``x @ B``; BLAS is faster with a vector than with a one-row matrix."""
    if x.shape[0] > 1:
        return np.dot(x, B)
    return np.dot(x[0], B).reshape(1, B.shape[1])


@compiled(no_cpython_wrapper=True)
def _projected(V, B):
    """Return ``V @ B.T``."""
    if V.shape[0] > 1:
        return np.dot(V, B.T)
    return np.dot(B, V[0]).reshape(1, B.shape[0])


@compiled(fastmath=REORDER, no_cpython_wrapper=True)
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


@compiled(fastmath=REORDER, no_cpython_wrapper=True)
def _inner(x, y):
    total = 0.0
    for t in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[t, j] * y[t, j]
    return total


@compiled(no_cpython_wrapper=True)
def _add(x, factor, y):
    """Set ``x += factor * y``."""
    for t in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[t, j] += factor * y[t, j]


@compiled(no_cpython_wrapper=True)
def _precondition(inverse, r, z):
    """Write the inverses (T, n, n) times ``r``; functions after n are orthonormal."""
    size = inverse.shape[1]
    for t in range(r.shape[0]):
        for j in range(size, r.shape[1]):
            z[t, j] = r[t, j]
        if size:
            np.dot(inverse[t], r[t, :size], z[t, :size])


@compiled
def solve(B, second, g, damping, inverse, enough, x, r):
    """Solve ``x (B H B.T + damping) = g`` approximately by conjugate gradients.

    H are the second derivatives. Far from the minimum a rough solution is enough; near
    it, the residual must be below ``enough``, so that Newton's method needs no further
    step. Writes the solution ``x``, which is 0 before, and its residual ``r``, which is
    ``g`` before; returns the number of iterations, and whether a direction without
    curvature was met, along which there is no solution.
    """
    wanted = max(0.01 * enough, 1e-4 * _inner(r, r))
    p, z = np.empty_like(r), np.empty_like(r)
    _precondition(inverse, r, p)
    energy = _inner(r, p)
    most, n = 2 * g.size + 10, 0
    while n < most:
        n += 1
        V = _combined(p, B)
        _bend(V, second)
        Hp = _projected(V, B)
        _add(Hp, damping, p)
        bend = _inner(p, Hp)
        if bend <= 1e-12 * _inner(p, p):
            if n == 1:
                # No step was taken yet: return the gradient.
                _add(x, 1.0, g)
                _add(r, -1.0, g)
            return most, True
        _add(x, energy / bend, p)
        _add(r, -energy / bend, Hp)
        if _inner(r, r) <= wanted:
            break
        _precondition(inverse, r, z)
        before, energy = energy, _inner(r, z)
        for t in range(p.shape[0]):
            for j in range(p.shape[1]):
                p[t, j] = z[t, j] + (energy / before) * p[t, j]
    return n, False


@compiled(fastmath=REORDER)
def solve_triangle(R, x):
    """Set ``x.T = R^-1 x.T`` for an upper triangle R, or its leading corner."""
    n_targets, b = x.shape
    for i in range(b - 1, -1, -1):
        for t in range(n_targets):
            total = x[t, i]
            for j in range(i + 1, b):
                total -= R[i, j] * x[t, j]
            x[t, i] = total / R[i, i]


@compiled
def leave_out(P, norms, e):
    """Subtract directions of correlations ``P`` from the squared norms ``e``.

    Round-off that is left of an atom in their span is set to 0.
    """
    for j in range(P.shape[0]):
        for k in range(e.shape[0]):
            left = e[k] - P[j, k] * P[j, k]
            e[k] = left if left > 1e-14 * norms[k] else 0.0
