"""Compiled loops for all numbers of neighbors at once, from one Cholesky factor.

``H`` is the Gram matrix of the differences N_k - x, nearest first; its leading blocks,
and those of its factor, belong to fewer neighbors.
"""

import numpy as np
from numba import njit

from pursuit._fastmath import REORDER

from ._hyperplanes import append
from ._vectors import differences, dot

# Penalties above this multiple of the largest squared length have the same effect, but
# would make the closed form imprecise.
_LARGEST_PENALTY = 1e7
# Without a penalty, squared distances below this share of the largest squared length
# are round-off of the factor.
_ZERO = 1e-12


@njit(cache=True, nogil=True, fastmath=REORDER)
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
        if rest > 1e-13 * (whole + penalty):
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


@njit(cache=True, nogil=True, fastmath=REORDER)
def _forgive(P, n, tangents, penalty, H):
    """Subtract from the Gram matrix ``H`` of ``P`` the part along the tangents."""
    m = tangents.shape[0]
    T = np.empty((m, P.shape[1]))
    append(tangents, 1.0, T, 0)
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
    """Write the squared distances for every number of neighbors and penalty.

    In ``out`` (n, C, L, K), a class with fewer neighbors repeats the last of its
    distances; a class without any is at infinite distance.
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


@njit(cache=True, nogil=True, fastmath=REORDER)
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
        H[k, k] = np.sqrt(max(rest, 1e-14 * whole))
        u[k] = (1.0 - dot(H[k, :k], u[:k])) / H[k, k]
        total += u[k] * u[k]
        for t in range(T):
            w[t, k] = (Y[rows[k], t] - dot(H[k, :k], w[t, :k])) / H[k, k]
            sums[t] += u[k] * w[t, k]
            out[t, k] = sums[t] / total


@njit(cache=True, nogil=True)
def reconstructions(R, X, index, count, out, Y, penalties):
    """Write the values reconstructed from the neighbors, for every K and penalty.

    There is one class. ``Y`` (l, T) are the values of the reference points; in ``out``
    (n, T, L, K), points with fewer neighbors repeat the last of their values.
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
            # A tiny penalty makes the weights unique; points that coincide with x are
            # then averaged.
            least = max(penalties[j], 1e-10 * mean, 1e-300)
            _reconstructed(A, n, least, Y, rows, u, w, found)
            found[:, n:] = found[:, n - 1 : n]
            out[i, :, j] = found
