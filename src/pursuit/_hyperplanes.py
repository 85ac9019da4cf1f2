"""Compiled distances to the local hyperplanes of many points and classes.

Every neighbourhood becomes one small least-squares problem: rows ``B`` (n, d), the
directions in which the hyperplane may be walked, and a target ``t`` (d,), the way from
its origin to the point; the squared distance is

    min_a |t - Bᵀa|² + λ |a|².

All comes from the differences ``N_k - x``, so a common offset of the data costs no
digits.
"""

import numpy as np
from numba import njit

# Reordering sums lets LLVM use vector registers; NaN and infinity keep their meaning.
_REORDER = {"reassoc", "contract", "nsz"}

# A penalty below this share of the mean squared length of the rows leaves the normal
# equations too ill-conditioned: the rows are made orthogonal instead.
_WELL_POSED = 1e-8
# A row whose part outside the span of the others is below this share of the longest
# row adds no direction.
_DEPENDENT = 1e-12
# Squared distances below this share of the longest row's are round-off.
_ZERO = 1e-30
# Steps of conjugate gradients before a class is left to the exact computation.
_STEPS = 40


@njit(cache=True, nogil=True, fastmath=_REORDER)
def dot(u, v):
    """Return the inner product."""
    total = u.dtype.type(0)
    for i in range(u.shape[0]):
        total += u[i] * v[i]
    return total


@njit(cache=True, nogil=True, fastmath=_REORDER)
def add(u, a, v):
    """Set ``u += a v``."""
    for i in range(u.shape[0]):
        u[i] += a * v[i]


@njit(cache=True, nogil=True, fastmath=_REORDER)
def differences(R, rows, x, unit, P):
    """Write the neighbours minus ``x``, in units, into the first rows of ``P``."""
    shrink = 1.0 / unit
    for k in range(rows.shape[0]):
        row = R[rows[k]]
        for i in range(x.shape[0]):
            P[k, i] = (row[i] - x[i]) * shrink


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _centre(P, n, t):
    """Move the origin to the mean of the first ``n`` rows; ``t`` leads to x from it."""
    t[:] = 0
    for k in range(n):
        add(t, P.dtype.type(-1), P[k])
    scale = P.dtype.type(1.0 / n)
    for i in range(t.shape[0]):
        t[i] *= scale
    for k in range(n):
        add(P[k], P.dtype.type(1), t)


@njit(cache=True, nogil=True)
def _append(tangents, unit, P, n):
    """Copy tangents (m, d), in units, behind the first ``n`` rows; return how many."""
    for j in range(tangents.shape[0]):
        for i in range(P.shape[1]):
            P[n + j, i] = tangents[j, i] / unit
    return n + tangents.shape[0]


@njit(cache=True, nogil=True)
def _principal(P, n, n_components):
    """Turn ``n`` rows into their leading principal directions; return how many.

    ``n_components`` of 1 or more is a number, below 1 a share of the variance.  A row
    is the sum of the old ones with the weights of a unit vector, so that its
    coefficient costs the same penalty.
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


@njit(cache=True, nogil=True, fastmath=_REORDER)
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
    # The distance from the residue itself: an error of ``a`` enters it squared.
    r[:] = t
    size = 0.0
    for k in range(n):
        add(r, -a[k], B[k])
        size += a[k] * a[k]
    return dot(r, r) + penalty * size


@njit(cache=True, nogil=True, fastmath=_REORDER)
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


@njit(cache=True, nogil=True, fastmath=_REORDER)
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
    return found if found > _ZERO * longest else 0.0


@njit(cache=True, nogil=True)
def _directions(R, rows, tangents, x, n_components, is_plain, P, t):
    """Fill rows ``P`` and target ``t`` of one neighbourhood; return how many rows."""
    n = rows.shape[0]
    differences(R, rows, x, 1.0, P)
    if is_plain:
        # From the nearest point: equal points then give rows that are exactly zero.
        t[:] = -P[0]
        for k in range(n):
            add(P[k], 1.0, t)
    else:
        _centre(P, n, t)
    if n_components > 0.0:
        n = _principal(P, n, n_components)
    if tangents.shape[0] > 0:
        n = _append(tangents, 1.0, P, n)
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
    index : (n, C, K) the neighbours of each class, nearest first.
    count : (n, C) how many there are; none makes the distance infinite.
    wanted : (n, C) flags of what to compute; the rest of ``out`` is left alone.
    spot : (n, C) which tangents belong to the nearest point of each class.
    out : (n, C)
    tangents : (u, m, d) directions of invariance; m may be 0.
    penalty, n_components : float
        0 components stand for all.
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
            found = -1.0
            if penalty > 0.0:
                found = _normal_equations(P, n, t, penalty, r)
            out[i, c] = found if found >= 0.0 else _orthogonal_rows(P, n, t, penalty)


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _two_bounds(n, t, penalty, r, s, a):
    """Return bounds of the squared distance from ``a`` and ``s = B r - λ a``.

    Any ``a`` bounds it from above; its residue ``r`` from below, by the dual problem:
    (r·t)² / (|r|² + |B r|²/λ).
    """
    walked, products = 0.0, 0.0
    for k in range(n):
        walked += a[k] * a[k]
        products += (s[k] + penalty * a[k]) ** 2
    rr, rt = float(dot(r, r)), float(dot(r, t))
    bottom = rr + products / penalty
    return rt * rt / bottom if bottom > 0.0 else 0.0, rr + penalty * walked


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _gradient(B, n, lam, r, a, s):
    """Write ``s = B r - λ a``; return its squared length."""
    total = B.dtype.type(0)
    for k in range(n):
        s[k] = dot(B[k], r) - lam * a[k]
        total += s[k] * s[k]
    return total


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _bounded(B, n, t, penalty, limit, precision, p, q, r, s, a):
    """Return lower and upper bounds of the squared distance, by conjugate gradients.

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
    """Write bounds of the squared distances, as tight as the smallest one needs.

    Classes are tried in the given ``order`` (n, C); one is left as soon as its lower
    bound passes the smallest upper bound so far.  Arithmetic is in single precision,
    with lengths divided by ``unit``: what ``precision`` cannot tell apart is left to
    the exact distances.  ``out`` (n, C, 2): lower and upper bounds, in squared units.
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
            _centre(P, n, t)
            n = _append(tangents[spot[i, c]], unit, P, n)
            low, high = _bounded(
                P, n, t, penalty, limit * (1.0 + precision), precision, p, q, r, s, a
            )
            out[i, c, 0], out[i, c, 1] = low, high
            limit = min(limit, high)


@njit(cache=True, nogil=True, fastmath=_REORDER)
def path(H, n, penalty, u, out):
    """Write the squared distance of the nearest 1, 2, ... n points, from one factor.

    ``H`` is the Gram matrix of the differences N_k - x, and is overwritten; ``u`` (n,)
    is room to work in.
    """
    total = 0.0
    is_inside = False
    for k in range(n):
        whole = H[k, k]
        for j in range(k):
            top = H[k, j] - dot(H[k, :j], H[j, :j])
            H[k, j] = top / H[j, j] if H[j, j] > 0.0 else 0.0
        rest = whole + penalty - dot(H[k, :k], H[k, :k])
        lack = 1.0 - dot(H[k, :k], u[:k])
        if rest > 1e-13 * (whole + penalty):
            H[k, k] = np.sqrt(rest)
            u[k] = lack / H[k, k]
            total += u[k] * u[k]
        else:
            # Dependent: on the plane of the others (a duplicate, say), or else x is.
            H[k, k], u[k] = 0.0, 0.0
            is_inside = is_inside or abs(lack) > 1e-6
        if is_inside or total == 0.0:
            out[k] = 0.0
        else:
            out[k] = max(1.0 / total - penalty / (k + 1), 0.0)


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _forgive(P, n, tangents, penalty, H):
    """Take from the Gram matrix ``H`` of ``P`` what the tangents explain."""
    m = tangents.shape[0]
    T = np.empty((m, P.shape[1]))
    _append(tangents, 1.0, T, 0)
    values, vectors = np.linalg.eigh(np.dot(T, T.T))
    C = np.dot(np.dot(P[:n], T.T), vectors)
    for j in range(m):
        if values[j] <= 1e-12 * values[m - 1]:
            continue
        for k in range(n):
            for i in range(n):
                H[k, i] -= C[k, j] * C[i, j] / (values[j] + penalty)


@njit(cache=True, nogil=True)
def hyperplane_paths(R, X, index, count, spot, out, tangents, penalties):
    """Write the squared distances for every number of neighbours and penalty.

    ``out`` (n, C, L, K): a class with fewer neighbours keeps the last of its
    distances, one without any is infinitely far.
    """
    most, d = index.shape[2], X.shape[1]
    P, x, u = np.empty((most, d)), np.empty(d), np.empty(most)
    A = np.empty((most, most))
    for i in range(X.shape[0]):
        x[:] = X[i]
        for c in range(index.shape[1]):
            n = count[i, c]
            if n == 0:
                out[i, c] = np.inf
                continue
            differences(R, index[i, c, :n], x, 1.0, P)
            H = np.dot(P[:n], P[:n].T)
            for j in range(penalties.shape[0]):
                A[:n, :n] = H
                if tangents.shape[1] > 0:
                    _forgive(P, n, tangents[spot[i, c]], penalties[j], A)
                path(A, n, penalties[j], u, out[i, c, j])
                out[i, c, j, n:] = out[i, c, j, n - 1]


@njit(cache=True, nogil=True, fastmath=_REORDER)
def _reconstructed(H, n, penalty, Y, rows, u, w, out):
    """Write the values rebuilt from the nearest 1, 2, ... n points, from one factor.

    With ``u = L⁻¹1`` and ``w = L⁻¹y``, the weights ``(H + λI)⁻¹1`` over their sum
    give ``Σ_{j<=k} u_j w_j / Σ_{j<=k} u_j²``.  ``H`` is overwritten; ``out`` (T, n).
    """
    T = Y.shape[1]
    total = 0.0
    sums = np.zeros(T)
    for k in range(n):
        for j in range(k):
            H[k, j] = (H[k, j] - dot(H[k, :j], H[j, :j])) / H[j, j]
        whole = H[k, k] + penalty
        rest = whole - dot(H[k, :k], H[k, :k])
        H[k, k] = np.sqrt(max(rest, 1e-14 * whole))
        u[k] = (1.0 - dot(H[k, :k], u[:k])) / H[k, k]
        total += u[k] * u[k]
        for t in range(T):
            w[t, k] = (Y[rows[k], t] - dot(H[k, :k], w[t, :k])) / H[k, k]
            sums[t] += u[k] * w[t, k]
            out[t, k] = sums[t] / total


@njit(cache=True, nogil=True)
def reconstructions(R, X, index, count, out, Y, penalties):
    """Write the values rebuilt from the neighbours, for every K and penalty.

    There is one class.  ``Y`` (l, T) are the values of the reference points, ``out``
    (n, T, L, K); points with fewer neighbours keep the last of their values.
    """
    most, d = index.shape[2], X.shape[1]
    P, x, A = np.empty((most, d)), np.empty(d), np.empty((most, most))
    u, w = np.empty(most), np.empty((Y.shape[1], most))
    found = np.empty((Y.shape[1], most))
    for i in range(X.shape[0]):
        x[:] = X[i]
        n = count[i, 0]
        rows = index[i, 0, :n]
        differences(R, rows, x, 1.0, P)
        H = np.dot(P[:n], P[:n].T)
        mean = np.trace(H) / n
        for j in range(penalties.shape[0]):
            A[:n, :n] = H
            # A trace of a penalty makes the weights unique where many serve; points
            # that coincide with x are then simply averaged.
            least = max(penalties[j], 1e-10 * mean, 1e-300)
            _reconstructed(A, n, least, Y, rows, u, w, found)
            found[:, n:] = found[:, n - 1 : n]
            out[i, :, j] = found
