"""Compiled loops for rounded atoms (see `image`) and foreseen steps.

Letters as in `_loops`.
"""

import numpy as np
from numba import njit

from pursuit._fastmath import REORDER

from .ties import first_largest

# A foreseen step leaves at least this share of a squared norm.
_LEAST_LEFT = 0.1

# Smaller atoms get no image: their scale would be subnormal.
_SMALLEST = 1e-290

# Number of products of integers up to 127 and 8191 whose sum fits 32 bits.
_SUMMANDS = 2048


@njit(cache=True, nogil=True, fastmath=REORDER)
def fold(A, signs, Z):
    """Add column i of ``A``, times ``signs[i]``, to column ``i % size`` of ``Z``."""
    size = Z.shape[1]
    for k in range(A.shape[0]):
        for i0 in range(0, A.shape[1], size):
            for i in range(min(size, A.shape[1] - i0)):
                Z[k, i] += A[k, i0 + i] * signs[i0 + i]


@njit(cache=True, nogil=True, fastmath=REORDER | {"nnan"})
def quantize(A, Z, scale):
    """Write the rows of ``A`` as 8-bit integers ``Z`` times ``scale``.

    Rows that are nearly zero or not finite get the scale 0.
    """
    for k in range(A.shape[0]):
        top = 0.0
        for i in range(A.shape[1]):
            top = max(top, abs(np.float64(A[k, i])))
        if not _SMALLEST < top < np.inf:
            scale[k] = 0.0
            continue
        scale[k] = top / 127.0
        factor = 127.0 / top
        for i in range(A.shape[1]):
            Z[k, i] = np.int8(np.int32(np.rint(A[k, i] * factor)))


@njit(cache=True, nogil=True, fastmath=REORDER | {"nnan"})
def round_to(v, largest, out):
    """Write ``v`` as integers up to ``largest``; return their unit, or 0."""
    top = 0.0
    for i in range(v.shape[0]):
        top = max(top, abs(v[i]))
    unit = top / largest
    if not 0.0 < unit < np.inf:
        out[:] = 0
        return 0.0
    for i in range(v.shape[0]):
        out[i] = np.int16(np.int32(np.rint(v[i] / unit)))
    return unit


@njit(cache=True, nogil=True)
def scan(Z, v, scale, unit, out):
    """Write ``scale * unit * (Z @ v)`` for integers ``Z``, ``v``.

    Products of 8 and 16 bits are summed in 32 bits for as long as they fit: vector
    registers process 16 at a time.
    """
    for k in range(Z.shape[0]):
        total = 0.0
        for i0 in range(0, Z.shape[1], _SUMMANDS):
            z, x = Z[k, i0 : i0 + _SUMMANDS], v[i0 : i0 + _SUMMANDS]
            part = np.int32(0)
            for i in range(z.shape[0]):
                part = np.int32(part + np.int32(z[i]) * np.int32(x[i]))
            total += part
        out[k] = scale[k] * (unit * total)


@njit(cache=True, nogil=True, fastmath=REORDER)
def foresee(c, e, norms, p, a, gain, orthogonal, by_norm):
    """Update ``c``, ``e`` and ``gain`` by a direction with approximate ``p``."""
    for k in range(p.shape[0]):
        total = 0.0
        for t in range(c.shape[0]):
            c[t, k] -= a[t] * p[k]
            total += c[t, k] * c[t, k]
        if orthogonal:
            # The image is too coarse to show that almost nothing is left.
            e[k] = max(e[k] - p[k] * p[k], _LEAST_LEFT * e[k])
        if gain[k] > 0.0:
            gain[k] = total / (norms[k] if by_norm else e[k])


@njit(cache=True, nogil=True)
def largest(gain, n):
    """Return the sorted indices of the up to ``n`` largest positive values."""
    index = np.empty(n, dtype=np.int64)
    size = 0
    for k in range(gain.shape[0]):
        x = gain[k]
        if not x > 0.0 or (size == n and x <= gain[index[n - 1]]):
            continue
        size = min(size + 1, n)
        i = size - 1
        while i > 0 and gain[index[i - 1]] < x:
            index[i] = index[i - 1]
            i -= 1
        index[i] = k
    return np.sort(index[:size])


@njit(cache=True, nogil=True, fastmath=REORDER)
def look_at(
    A, rows, top, V, loads, c0, e0, norms, orthogonal, by_norm, tol, floor, c, e, gain
):
    """Compute ``c``, ``e`` and ``gain`` of the candidates ``top`` exactly.

    Their atoms are ``A[rows]``; ``c0`` and ``e0`` are the values before the directions
    ``V`` (times the weights) and their ``loads``. Gains are as in :func:`update`;
    returns the best of ``top``, as :func:`first_largest` does.
    """
    n_targets, n = c.shape[0], V.shape[0]
    found = np.empty(top.shape[0])
    p = np.empty(n)
    for j in range(top.shape[0]):
        k = top[j]
        correlations(A[rows[j]], V, p)
        left, total = e0[k], 0.0
        if orthogonal:
            for i in range(n):
                left -= p[i] * p[i]
        for t in range(n_targets):
            x = c0[t, k]
            for i in range(n):
                x -= loads[i, t] * p[i]
            c[t, k] = x
            total += x * x
        e[k], gain[k] = left, 0.0
        if left > tol * norms[k] and total > floor * norms[k]:
            gain[k] = total / (norms[k] if by_norm else left)
        found[j] = gain[k]
    best = first_largest(found)
    return top[best] if best >= 0 else -1


@njit(cache=True, nogil=True, fastmath=REORDER)
def correlations(a, V, out):
    """Write ``V @ a``, four vectors at a time."""
    n, width = V.shape[0], a.shape[0]
    whole = n // 4 * 4
    for j in range(0, whole, 4):
        v0, v1, v2, v3 = V[j], V[j + 1], V[j + 2], V[j + 3]
        s0 = s1 = s2 = s3 = 0.0
        for i in range(width):
            x = np.float64(a[i])
            s0 += x * v0[i]
            s1 += x * v1[i]
            s2 += x * v2[i]
            s3 += x * v3[i]
        out[j], out[j + 1], out[j + 2], out[j + 3] = s0, s1, s2, s3
    for j in range(whole, n):
        total = 0.0
        for i in range(width):
            total += np.float64(a[i]) * V[j, i]
        out[j] = total
