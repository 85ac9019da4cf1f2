"""Compiled loops for several penalties and numbers of neighbors at once.

``H`` is the Gram matrix of the differences N_k - x, nearest first; its leading blocks,
and those of its Cholesky factor, belong to fewer neighbors. So one factor serves all
numbers of neighbors.
"""

import numpy as np

from ._hyperplanes import append, by_normal_equations, by_orthogonal_rows, center
from ._vectors import copy, differences, dot, inlined, inner, loop

# Penalties above this multiple of the largest squared length have the same effect, but
# would make the closed form imprecise.
_LARGEST_PENALTY = 1e7
# Without a penalty, squared distances below this share of the largest squared length
# are round-off of the factor.
_ZERO = 1e-12
# If a pivot is below this share of its diagonal, the point depends on nearer ones.
_DEPENDENT = 1e-13
# A smaller share of the largest eigenvalue is round-off: of tangents, of neighbors.
_NO_TANGENT, _NO_DIRECTION = 1e-12, 1e-14
# The least penalty that makes weights unique: a share of the mean squared length, and a
# number for points that all coincide, whose inverse is finite.
_LEAST_SHARE, _LEAST = 1e-10, 1e-300
# Share of its diagonal to which such weights round up a pivot.
_LEAST_PIVOT = 1e-14


@loop()
def path(H, n, penalty, u, out):
    """Write the squared distance for the nearest 1, 2, ... n points, from one factor.

    ``H`` is the Gram matrix of the differences N_k - x, and is overwritten; ``u`` (n,)
    is scratch.
    """
    longest = 0.0
    for k in range(n):
        longest = max(longest, H[k, k])
    penalty = min(penalty, _LARGEST_PENALTY * longest)
    total, longest = 0.0, 0.0
    is_inside = False
    for k in range(n):
        whole = H[k, k]
        longest = max(longest, whole)
        for j in range(k):
            top = H[k, j] - dot(H[k, :j], H[j, :j])
            H[k, j] = top / H[j, j] if H[j, j] > 0.0 else 0.0
        rest = whole + penalty - dot(H[k, :k], H[k, :k])
        lack = 1.0 - dot(H[k, :k], u[:k])
        if rest > _DEPENDENT * (whole + penalty):
            H[k, k] = np.sqrt(rest)
            u[k] = lack / H[k, k]
            total += u[k] * u[k]
        else:
            # Dependent: the point (such as a duplicate), or x, is on the others' plane.
            H[k, k], u[k] = 0.0, 0.0
            is_inside = is_inside or abs(lack) > 1e-6
        is_zero = penalty == 0.0 and _ZERO * longest * total > 1.0
        if is_inside or total == 0.0 or is_zero:
            out[k] = 0.0
        else:
            out[k] = max(1.0 / total - penalty / (k + 1), 0.0)


@inner()
def _copy_block(A, n, H):
    for k in range(n):
        copy(A[k, :n], H[k])


@loop()
def hyperplane_paths(R, X, index, count, out, penalties):
    """Write the squared distances for every number of neighbors and penalty.

    In ``out`` (n, C, L, K), a class with fewer neighbors repeats the last of its
    distances; a class without any is at infinite distance.
    """
    most, d = index.shape[2], X.shape[1]
    P, x, u = np.empty((most, d)), np.empty(d), np.empty(most)
    A = np.empty((most, most))
    for i in range(X.shape[0]):
        copy(x, X[i])
        for c in range(index.shape[1]):
            n = count[i, c]
            if n == 0:
                out[i, c] = np.inf
                continue
            differences(R, index[i, c, :n], x, 1.0, P)
            H = np.dot(P[:n], P[:n].T)
            for j in range(penalties.shape[0]):
                _copy_block(A, n, H)
                path(A, n, penalties[j], u, out[i, c, j])
                out[i, c, j, n:] = out[i, c, j, n - 1]


# -- tangents ------------------------------------------------------------------------


@inlined()
def _forgive(P, n, tangents, penalty, H):
    """Subtract from the Gram matrix ``H`` of ``P`` the part along the tangents."""
    m = tangents.shape[0]
    T = np.empty((m, P.shape[1]))
    append(tangents, 1.0, T, 0)
    values, vectors = np.linalg.eigh(np.dot(T, T.T))
    C = np.dot(np.dot(P[:n], T.T), vectors)
    for j in range(m):
        if values[j] <= _NO_TANGENT * values[m - 1]:
            continue
        for k in range(n):
            for i in range(n):
                H[k, i] -= C[k, j] * C[i, j] / (values[j] + penalty)


@loop()
def tangent_paths(R, X, index, count, spot, out, tangents, penalties):
    """Do what `hyperplane_paths` does for hyperplanes with tangents (u, m, d).

    ``spot`` (n, C) is the index of the tangents of the nearest point of each class.
    """
    most, d = index.shape[2], X.shape[1]
    P, x, u = np.empty((most, d)), np.empty(d), np.empty(most)
    A = np.empty((most, most))
    for i in range(X.shape[0]):
        copy(x, X[i])
        for c in range(index.shape[1]):
            n = count[i, c]
            if n == 0:
                out[i, c] = np.inf
                continue
            differences(R, index[i, c, :n], x, 1.0, P)
            H = np.dot(P[:n], P[:n].T)
            for j in range(penalties.shape[0]):
                _copy_block(A, n, H)
                _forgive(P, n, tangents[spot[i, c]], penalties[j], A)
                path(A, n, penalties[j], u, out[i, c, j])
                out[i, c, j, n:] = out[i, c, j, n - 1]


# -- principal directions --------------------------------------------------------------


@inner()
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
    explained = 0.0
    chosen = np.empty((n, P.shape[1]))
    for k in range(n - 1, -1, -1):
        is_enough = kept >= wanted or (
            total > 0.0 and explained >= n_components * total
        )
        if is_enough or values[k] <= _NO_DIRECTION * values[n - 1]:
            break
        copy(chosen[kept], np.dot(np.ascontiguousarray(vectors[:, k]), P[:n]))
        explained += values[k]
        kept += 1
    for k in range(kept):
        copy(P[k], chosen[k])
    return kept


@loop()
def component_distances(
    R, X, index, count, spot, out, tangents, penalties, n_components
):
    """Write the squared distances for several penalties, ``out`` (n, C, L).

    The principal directions are computed once for all penalties; other arguments as in
    `_hyperplanes.hyperplane_distances`.
    """
    most, d = index.shape[2] + tangents.shape[1], X.shape[1]
    P, t, r, x = np.empty((most, d)), np.empty(d), np.empty(d), np.empty(d)
    for i in range(X.shape[0]):
        copy(x, X[i])
        for c in range(index.shape[1]):
            n = count[i, c]
            if n == 0:
                out[i, c] = np.inf
                continue
            differences(R, index[i, c, :n], x, 1.0, P)
            center(P, n, t)
            n = append(tangents[spot[i, c]], 1.0, P, _principal(P, n, n_components))
            for j in range(penalties.shape[0]):
                squared = -1.0
                if penalties[j] > 0.0:
                    squared = by_normal_equations(P, n, t, penalties[j], r)
                if squared < 0.0:
                    squared = by_orthogonal_rows(P, n, t, penalties[j])
                out[i, c, j] = squared


# -- values --------------------------------------------------------------------------


@inlined()
def _reconstructed(H, n, penalty, Y, rows, u, w, out):
    """Write the values reconstructed from the nearest 1, 2, ... n points.

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
        H[k, k] = np.sqrt(max(rest, _LEAST_PIVOT * whole))
        u[k] = (1.0 - dot(H[k, :k], u[:k])) / H[k, k]
        total += u[k] * u[k]
        for t in range(T):
            w[t, k] = (Y[rows[k], t] - dot(H[k, :k], w[t, :k])) / H[k, k]
            sums[t] += u[k] * w[t, k]
            out[t, k] = sums[t] / total


@loop()
def reconstructions(R, X, index, count, out, Y, penalties):
    """Write the values reconstructed from the neighbors, for every K and penalty.

    There is one class. ``Y`` (l, T) are the values of the reference points; in ``out``
    (n, T, L, K), points with fewer neighbors repeat the last of their values.
    """
    most, d = index.shape[2], X.shape[1]
    P, x, A = np.empty((most, d)), np.empty(d), np.empty((most, most))
    u, w = np.empty(most), np.empty((Y.shape[1], most))
    values = np.empty((Y.shape[1], most))
    for i in range(X.shape[0]):
        copy(x, X[i])
        n = count[i, 0]
        rows = index[i, 0, :n]
        differences(R, rows, x, 1.0, P)
        H = np.dot(P[:n], P[:n].T)
        mean = np.trace(H) / n
        for j in range(penalties.shape[0]):
            _copy_block(A, n, H)
            # A tiny penalty makes the weights unique; points that coincide with x are
            # then averaged.
            least = max(penalties[j], _LEAST_SHARE * mean, _LEAST)
            _reconstructed(A, n, least, Y, rows, u, w, values)
            for t in range(Y.shape[1]):
                values[t, n:] = values[t, n - 1]
                copy(out[i, t, j], values[t])
