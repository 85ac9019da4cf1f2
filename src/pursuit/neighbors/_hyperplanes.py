"""Compiled distances to the local hyperplanes of many points and classes.

Every neighborhood is a small least-squares problem: the rows of ``B`` (n, d) are the
directions of the hyperplane, and the target ``t`` (d,) is the vector from its origin to
the point. The squared distance is

    min_a |t - Bᵀa|² + λ |a|².

Everything is computed from the differences ``N_k - x``, so a common offset of the data
costs no precision.
"""

import numpy as np
from numba import njit

from pursuit._fastmath import REORDER

from ._vectors import add, differences, dot

# If the penalty is below this share of the mean squared length of the rows, the normal
# equations are too ill-conditioned, and the rows are orthogonalized instead.
_WELL_POSED = 1e-8
# A row whose part outside the span of the others is below this share of the longest
# row adds no direction.
_DEPENDENT = 1e-12
# Squared distances below this share of the longest row's are round-off.
_ZERO = 1e-30


@njit(cache=True, nogil=True, fastmath=REORDER)
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


@njit(cache=True, nogil=True)
def append(tangents, unit, P, n):
    """Append tangents (m, d), in units, to the first ``n`` rows; return the number."""
    for j in range(tangents.shape[0]):
        for i in range(P.shape[1]):
            P[n + j, i] = tangents[j, i] / unit
    return n + tangents.shape[0]


@njit(cache=True, nogil=True)
def _principal(P, n, n_components):
    """Replace ``n`` rows by their leading principal directions; return the number.

    ``n_components`` is a count, or below 1 a share of the variance. Each new row is the
    sum of the old ones weighted by a unit vector, so that its coefficient has the same
    penalty.
    """
    values, vectors = np.linalg.eigh(np.dot(P[:n], P[:n].T))
    wanted, total, kept = n_components, 0.0, 0
    if n_components < 1.0:
        wanted = float(n)
        for k in range(n):
            total += max(values[k], 0.0)
    seen = 0.0
    chosen = np.empty((n, P.shape[1]))
    for k in range(n - 1, -1, -1):
        is_enough = kept >= wanted or (total > 0.0 and seen >= n_components * total)
        if is_enough or values[k] <= 1e-14 * values[n - 1]:
            break
        chosen[kept] = np.dot(np.ascontiguousarray(vectors[:, k]), P[:n])
        seen += values[k]
        kept += 1
    P[:kept] = chosen[:kept]
    return kept


@njit(cache=True, nogil=True, fastmath=REORDER)
def _normal_equations(B, n, t, penalty, r):
    """Return the squared distance by a Cholesky factor, -1 if there is none."""
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
    r[:] = t
    size = 0.0
    for k in range(n):
        add(r, -a[k], B[k])
        size += a[k] * a[k]
    return dot(r, r) + penalty * size


@njit(cache=True, nogil=True, fastmath=REORDER)
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


@njit(cache=True, nogil=True, fastmath=REORDER)
def _orthogonal_rows(B, n, t, penalty):
    """Return the squared distance by Gram-Schmidt on ``[B, sqrt(λ) I]``; any rank."""
    d = B.shape[1]
    extra = n if penalty > 0.0 else 0
    Q, r = np.zeros((n, d + extra)), np.zeros(d + extra)
    longest = 0.0
    for k in range(n):
        Q[k, :d] = B[k]
        if extra > 0:
            Q[k, d + k] = np.sqrt(penalty)
        longest = max(longest, dot(Q[k], Q[k]))
    r[:d] = t
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
        Q[kept] = q / np.sqrt(size)
        for _ in range(2):
            add(r, -dot(Q[kept], r), Q[kept])
        kept += 1
    found = dot(r, r)
    # Written so that NaN stays NaN.
    return 0.0 if found <= _ZERO * longest else found


@njit(cache=True, nogil=True)
def _solved(B, n, t, penalty, r):
    """Return the squared distance, by the method that suits the penalty."""
    found = -1.0
    if penalty > 0.0:
        found = _normal_equations(B, n, t, penalty, r)
    return _orthogonal_rows(B, n, t, penalty) if found < 0.0 else found


@njit(cache=True, nogil=True)
def _directions(R, rows, tangents, x, n_components, is_plain, P, t):
    """Fill rows ``P`` and target ``t`` of one neighborhood; return the row count."""
    n = rows.shape[0]
    differences(R, rows, x, 1.0, P)
    if is_plain:
        # Take the nearest point as origin: equal points then give rows of exact zeros.
        t[:] = -P[0]
        for k in range(n):
            add(P[k], 1.0, t)
    else:
        center(P, n, t)
    if n_components > 0.0:
        n = _principal(P, n, n_components)
    if tangents.shape[0] > 0:
        n = append(tangents, 1.0, P, n)
    return n


@njit(cache=True, nogil=True)
def hyperplane_distances(
    R, X, index, count, wanted, spot, out, tangents, penalty, n_components
):
    """Write the squared distances of points to the hyperplanes of their classes.

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
    penalty, n_components : float
        0 components means all.
    """
    most, d = index.shape[2] + tangents.shape[1], X.shape[1]
    P, t, r, x = np.empty((most, d)), np.empty(d), np.empty(d), np.empty(d)
    is_plain = penalty == 0.0 and n_components == 0.0
    for i in range(X.shape[0]):
        x[:] = X[i]
        for c in range(index.shape[1]):
            if not wanted[i, c]:
                continue
            if count[i, c] == 0:
                out[i, c] = np.inf
                continue
            rows = index[i, c, : count[i, c]]
            T = tangents[spot[i, c]]
            n = _directions(R, rows, T, x, n_components, is_plain, P, t)
            out[i, c] = _solved(P, n, t, penalty, r)


@njit(cache=True, nogil=True)
def component_distances(
    R, X, index, count, spot, out, tangents, penalties, n_components
):
    """Write the squared distances for several penalties, ``out`` (n, C, L).

    The principal directions are computed once for all penalties; arguments as in
    `hyperplane_distances`.
    """
    most, d = index.shape[2] + tangents.shape[1], X.shape[1]
    P, t, r, x = np.empty((most, d)), np.empty(d), np.empty(d), np.empty(d)
    for i in range(X.shape[0]):
        x[:] = X[i]
        for c in range(index.shape[1]):
            if count[i, c] == 0:
                out[i, c] = np.inf
                continue
            rows = index[i, c, : count[i, c]]
            T = tangents[spot[i, c]]
            n = _directions(R, rows, T, x, n_components, False, P, t)
            for j in range(penalties.shape[0]):
                out[i, c, j] = _solved(P, n, t, penalties[j], r)
