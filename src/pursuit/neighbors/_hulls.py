"""Compiled distances to the convex hulls of the neighbors, by an active-set method.

Wolfe's method finds the point ``v = Σ b_k p_k`` of the hull of ``p_k = N_k - x`` that
is nearest to the origin (non-negative least squares with weights that sum to one). It
keeps a few affinely independent points with positive weights, moves to the nearest
point of their plane, drops points whose weights would become negative, then adds the
point that lies farthest below the plane through ``v``. Gram columns are computed only
for points that enter.
"""

import numpy as np

from pursuit._compiling import REORDER

from ._vectors import add, copy, differences, dot, inlined, inner, loop

# A point that would lower |v|² by less than this share of |p|² is round-off.
_NOISE = 1e-15
# If a pivot is below this share of its diagonal, the point depends on the active ones.
_DEPENDENT = 1e-14


@inner(fastmath=REORDER)
def _factor(G, L, first, size, shift):
    """Extend the Cholesky factor of ``G + shift`` from row ``first`` on.

    Returns whether all pivots are large enough.
    """
    for k in range(first, size):
        for j in range(k):
            L[k, j] = (G[k, j] + shift - dot(L[k, :j], L[j, :j])) / L[j, j]
        rest = G[k, k] + shift - dot(L[k, :k], L[k, :k])
        if rest <= _DEPENDENT * (G[k, k] + shift):
            return False
        L[k, k] = np.sqrt(rest)
    return True


@inner(fastmath=REORDER)
def _plane_weights(L, size, u):
    """Write the weights of the point of the plane that is nearest to the origin."""
    for k in range(size):
        u[k] = (1.0 - dot(L[k, :k], u[:k])) / L[k, k]
    total = 0.0
    for k in range(size - 1, -1, -1):
        u[k] /= L[k, k]
        total += u[k]
        for j in range(k):
            u[j] -= u[k] * L[k, j]
    for k in range(size):
        u[k] /= total


@inner()
def _drop(active, b, G, size, k):
    """Remove the ``k``-th active point; return how many are left."""
    for j in range(k, size - 1):
        active[j], b[j] = active[j + 1], b[j + 1]
        for i in range(size):
            G[j, i] = G[j + 1, i]
    for j in range(k, size - 1):
        for i in range(size - 1):
            G[i, j] = G[i, j + 1]
    return size - 1


@inner()
def _balance(active, b, G, L, size, shift, u):
    """Move to the nearest point of the active plane, dropping points on the way.

    Returns how many points remain, 0 if the factor broke down.
    """
    first = size - 1
    while True:
        if not _factor(G, L, first, size, shift):
            return 0
        _plane_weights(L, size, u)
        step, blocking = 1.0, size
        for k in range(size):
            if u[k] <= 0.0 and b[k] - u[k] > 0.0 and b[k] / (b[k] - u[k]) < step:
                step, blocking = b[k] / (b[k] - u[k]), k
        for k in range(size):
            b[k] += step * (u[k] - b[k])
        if blocking == size:
            return size
        size = _drop(active, b, G, size, blocking)
        first = 0


@inner(fastmath=REORDER)
def _combine(P, active, b, size, v):
    v[:] = 0
    for k in range(size):
        add(v, P.dtype.type(b[k]), P[active[k]])
    return float(dot(v, v))


@inlined()
def _lowest(P, n, v):
    """Return the point with the smallest product with ``v``, and that product."""
    lowest, entering = np.inf, 0
    for k in range(n):
        w = float(dot(P[k], v))
        if w < lowest:
            lowest, entering = w, k
    return entering, lowest


@inlined()
def _descend(P, n, scale, limit, precision, size, active, b, G, L, u, v):
    """Continue from an active set until none of the first ``n`` points improves it.

    Ends earlier when the lower bound (min p·v)²/|v|² passes ``limit`` or is within
    ``precision`` of |v|².  Returns the size of the active set and both bounds.
    """
    upper, lower = _combine(P, active, b, size, v), 0.0
    for _ in range(10 * n + 10):
        entering, lowest = _lowest(P, n, v)
        if lowest > 0.0:
            lower = max(lower, lowest * lowest / upper)
        gap = upper - lowest
        if lower > limit or gap <= precision * upper or gap <= _NOISE * scale:
            break
        is_active = False
        for k in range(size):
            is_active = is_active or active[k] == entering
        if is_active:
            break
        old = size
        kept_active, kept_b = active[:old].copy(), b[:old].copy()
        active[size], b[size] = entering, 0.0
        for k in range(size + 1):
            G[size, k] = G[k, size] = dot(P[active[k]], P[entering])
        size = _balance(active, b, G, L, size + 1, scale, u)
        lowered = _combine(P, active, b, size, v) if size > 0 else np.inf
        if not lowered < upper:
            # Round-off: restore the previous state.
            copy(active[:old], kept_active)
            copy(b[:old], kept_b)
            size = old
            upper = _combine(P, active, b, size, v)
            break
        upper = lowered
    return size, lower, upper


@inlined()
def _start(P, n, active, b, G, L):
    """Start with the first point alone; return the largest squared length."""
    scale = 0.0
    for k in range(n):
        scale = max(scale, float(dot(P[k], P[k])))
    active[0], b[0] = 0, 1.0
    G[0, 0] = dot(P[0], P[0])
    L[0, 0] = np.sqrt(G[0, 0] + scale)
    return scale


@loop()
def hull_distances(R, X, index, count, wanted, out):
    """Write the squared distances of points to the hulls of their classes.

    Arguments as in `_hyperplanes.hyperplane_distances`.
    """
    most, d = index.shape[2], X.shape[1]
    P, x, v = np.empty((most, d)), np.empty(d), np.empty(d)
    active, b, u = np.empty(most, np.int64), np.empty(most), np.empty(most)
    G, L = np.empty((most, most)), np.empty((most, most))
    # Not the literal 1, for which another version of `_descend` would be compiled.
    one = np.int64(1)
    for i in range(X.shape[0]):
        copy(x, X[i])
        for c in range(index.shape[1]):
            n = count[i, c]
            if not wanted[i, c]:
                continue
            if n == 0:
                out[i, c] = np.inf
                continue
            differences(R, index[i, c, :n], x, 1.0, P)
            scale = _start(P, n, active, b, G, L)
            _, _, out[i, c] = _descend(
                P, n, scale, np.inf, 0.0, one, active, b, G, L, u, v
            )


@loop()
def hull_bounds(R, X, index, count, order, out, unit, precision):
    """Write bounds on the squared distances, tight enough to find the smallest.

    Arguments as in `_hyperplanes.hyperplane_bounds`.
    """
    most, d = index.shape[2], X.shape[1]
    P, v = np.empty((most, d), np.float32), np.empty(d, np.float32)
    active, b, u = np.empty(most, np.int64), np.empty(most), np.empty(most)
    G, L = np.empty((most, most)), np.empty((most, most))
    # Not the literal 1, for which another version of `_descend` would be compiled.
    one = np.int64(1)
    for i in range(X.shape[0]):
        limit = np.inf
        for place in range(order.shape[1]):
            c = order[i, place]
            n = count[i, c]
            if n == 0:
                out[i, c] = np.inf
                continue
            differences(R, index[i, c, :n], X[i], unit, P)
            scale = _start(P, n, active, b, G, L)
            bar = limit * (1.0 + precision)
            _, lower, upper = _descend(
                P, n, scale, bar, precision, one, active, b, G, L, u, v
            )
            out[i, c, 0], out[i, c, 1] = lower, upper
            limit = min(limit, upper)


@loop()
def hull_paths(R, X, index, count, out):
    """Write the squared distances for every number of neighbors, ``out`` (n, C, 1, K).

    Each number starts from the active set of the previous one.
    """
    most, d = index.shape[2], X.shape[1]
    P, x, v = np.empty((most, d)), np.empty(d), np.empty(d)
    active, b, u = np.empty(most, np.int64), np.empty(most), np.empty(most)
    G, L = np.empty((most, most)), np.empty((most, most))
    for i in range(X.shape[0]):
        copy(x, X[i])
        for c in range(index.shape[1]):
            n = count[i, c]
            if n == 0:
                out[i, c] = np.inf
                continue
            differences(R, index[i, c, :n], x, 1.0, P)
            scale = _start(P, n, active, b, G, L)
            size = 1
            for k in range(n):
                size, _, out[i, c, 0, k] = _descend(
                    P, k + 1, scale, np.inf, 0.0, size, active, b, G, L, u, v
                )
            out[i, c, 0, n:] = out[i, c, 0, n - 1]
