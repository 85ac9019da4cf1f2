"""Compiled distances to the local hyperplanes of many points and classes, and bounds.

Every neighborhood is a small least-squares problem: the rows of ``B`` (n, d) are the
directions of the hyperplane, and the target ``t`` (d,) is the vector from its origin to
the point. The squared distance is

    min_a |t - Bᵀa|² + λ |a|².

Everything is computed from the differences ``N_k - x``, so a common offset of the data
costs no precision.
"""

import numpy as np

from pursuit._compiling import REORDER

from ._vectors import add, copy, differences, dot, inlined, inner, loop

# If the penalty is below this share of the mean squared length of the rows, the normal
# equations are too ill-conditioned, and the rows are orthogonalized instead.
_WELL_POSED = 1e-8
# A row whose part outside the span of the others is below this share of the longest
# row adds no direction.
_DEPENDENT = 1e-12
# Squared distances below this share of the longest row's are round-off.
_ZERO = 1e-30
# Steps of conjugate gradients after which a class is left to the exact computation.
_STEPS = 40


@inner(fastmath=REORDER)
def center(P, n, t):
    """Center the first ``n`` rows at their mean; ``t`` is the vector from it to x."""
    t[:] = 0
    for k in range(n):
        add(t, P.dtype.type(-1), P[k])
    scale = P.dtype.type(1.0 / n)
    for i in range(t.shape[0]):
        t[i] *= scale
    for k in range(n):
        add(P[k], P.dtype.type(1), t)


@inner()
def append(tangents, unit, P, n):
    """Append tangents (m, d), in units, to the first ``n`` rows; return the number."""
    for j in range(tangents.shape[0]):
        for i in range(P.shape[1]):
            P[n + j, i] = tangents[j, i] / unit
    return n + tangents.shape[0]


@inlined()
def by_normal_equations(B, n, t, penalty, r):
    """Return the squared distance by a Cholesky factor, -1 if it would be imprecise."""
    A = np.dot(B[:n], B[:n].T)
    mean = 0.0
    for k in range(n):
        mean += A[k, k] / n
        A[k, k] += penalty
    if penalty <= _WELL_POSED * mean:
        return -1.0
    a = np.empty(n)
    for k in range(n):
        a[k] = dot(B[k], t)
    _cholesky_solve(A, n, a)
    # Compute the distance from the residue: an error of ``a`` enters only squared.
    copy(r, t)
    size = 0.0
    for k in range(n):
        add(r, -a[k], B[k])
        size += a[k] * a[k]
    return dot(r, r) + penalty * size


@inlined()
def _cholesky_solve(A, n, a):
    """Solve ``A z = a`` in place, with the factor in the lower half of ``A``."""
    for k in range(n):
        for j in range(k):
            A[k, j] = (A[k, j] - dot(A[k, :j], A[j, :j])) / A[j, j]
        A[k, k] = np.sqrt(A[k, k] - dot(A[k, :k], A[k, :k]))
        a[k] = (a[k] - dot(A[k, :k], a[:k])) / A[k, k]
    for k in range(n - 1, -1, -1):
        a[k] /= A[k, k]
        for j in range(k):
            a[j] -= a[k] * A[k, j]


@inlined()
def by_orthogonal_rows(B, n, t, penalty):
    """Return the squared distance by Gram-Schmidt on ``[B, sqrt(λ) I]``; any rank."""
    d = B.shape[1]
    extra = n if penalty > 0.0 else 0
    Q, r = np.zeros((n, d + extra)), np.zeros(d + extra)
    longest = 0.0
    for k in range(n):
        copy(Q[k, :d], B[k])
        if extra > 0:
            Q[k, d + k] = np.sqrt(penalty)
        longest = max(longest, dot(Q[k], Q[k]))
    copy(r[:d], t)
    longest = max(longest, dot(t, t))
    kept = 0
    for k in range(n):
        q = Q[k]
        for _ in range(2):
            for j in range(kept):
                add(q, -dot(Q[j], q), Q[j])
        size = dot(q, q)
        if size <= _DEPENDENT**2 * longest:
            continue
        length = np.sqrt(size)
        for i in range(d + extra):
            Q[kept, i] = q[i] / length
        for _ in range(2):
            add(r, -dot(Q[kept], r), Q[kept])
        kept += 1
    squared = dot(r, r)
    # Written so that NaN stays NaN.
    return 0.0 if squared <= _ZERO * longest else squared


@loop()
def hyperplane_distances(R, X, index, count, wanted, spot, out, tangents, penalty):
    """Write the squared distances of points to the hyperplanes of their classes.

    A distance that the normal equations would give imprecisely becomes -1:
    `orthogonal_distances` computes it. That is a loop of its own, because few data need
    it and it takes long to compile.

    Parameters
    ----------
    R : (l, d) reference points, float32 or float64; sums are float64.
    X : (n, d) points.
    index : (n, C, K) neighbors in each class, nearest first.
    count : (n, C) numbers of neighbors; with 0 the distance is infinite.
    wanted : (n, C) flags of distances to compute; the rest of ``out`` is not changed.
    spot : (n, C) index of the tangents of the nearest point of each class.
    out : (n, C)
    tangents : (u, m, d) directions of invariance; m may be 0.
    penalty : float, positive
    """
    most, d = index.shape[2] + tangents.shape[1], X.shape[1]
    P, t, r, x = np.empty((most, d)), np.empty(d), np.empty(d), np.empty(d)
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
            center(P, n, t)
            n = append(tangents[spot[i, c]], 1.0, P, n)
            out[i, c] = by_normal_equations(P, n, t, penalty, r)


@loop()
def orthogonal_distances(R, X, index, count, wanted, spot, out, tangents, penalty):
    """Write the squared distances under any penalty, also 0.

    Arguments as in `hyperplane_distances`.
    """
    most, d = index.shape[2] + tangents.shape[1], X.shape[1]
    P, t, x = np.empty((most, d)), np.empty(d), np.empty(d)
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
            if penalty > 0.0:
                center(P, n, t)
            else:
                # Take the nearest point as origin: equal points then give rows of
                # exact zeros.
                for j in range(d):
                    t[j] = -P[0, j]
                for k in range(n):
                    add(P[k], 1.0, t)
            n = append(tangents[spot[i, c]], 1.0, P, n)
            out[i, c] = by_orthogonal_rows(P, n, t, penalty)


# -- bounds --------------------------------------------------------------------------


@inlined()
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


@inlined()
def _gradient(B, n, lam, r, a, s):
    """Write ``s = B r - λ a``; return its squared length."""
    total = B.dtype.type(0)
    for k in range(n):
        s[k] = dot(B[k], r) - lam * a[k]
        total += s[k] * s[k]
    return total


@inlined()
def _bounded(B, n, t, penalty, limit, precision, p, q, r, s, a):
    """Return lower and upper bounds on the squared distance, by conjugate gradients.

    Ends when the lower bound passes ``limit``, or when the two are within
    ``precision`` (relative).
    """
    lam = B.dtype.type(penalty)
    a[:] = 0
    copy(r, t)
    size = _gradient(B, n, lam, r, a, s)
    copy(p, s)
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


@loop()
def hyperplane_bounds(
    R, X, index, count, order, spot, out, tangents, penalty, unit, precision
):
    """Write bounds on the squared distances, tight enough to find the smallest.

    Classes are processed in ``order`` (n, C); a class is abandoned as soon as
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
