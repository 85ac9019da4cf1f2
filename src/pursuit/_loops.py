"""Compiled inner loops of the pursuit, each a few lines over contiguous memory.

Letters as in :mod:`pursuit.pursuit`: ``c`` (T, M) correlations of the atoms with the
residues, ``e`` (M,) squared norms of their parts outside the span, ``norms`` (M,) the
same at the start, ``p`` (M,) correlations with one direction ``q``.
"""

import numpy as np
from numba import njit

# Scores closer than this (relative) are a tie, and the lowest index wins it: equal
# atoms may get scores that differ in the last digits, depending on where the blocks
# of a matrix product fell.
TIE = 1e-10

# A foreseen step leaves at least this share of a squared norm.
_LEAST_LEFT = 0.1

# Reordering sums lets LLVM use vector registers; NaN and infinity keep their meaning.
_REORDER = {"reassoc", "contract", "nsz"}

# Blocks of `products`: this many atoms by this many rows stay in the second-level
# cache while every vector passes over them, four atoms of them in the first-level one.
_ATOMS, _ROWS = 32, 512


@njit(cache=True, nogil=True, fastmath=_REORDER)
def products(A, V, out):
    """Write ``V @ A.T`` for a few vectors, reading ``A`` once.

    ``A`` (M, l) may be float32: it is widened in registers, and sums are float64.
    For a handful of vectors this runs at the speed of memory, where a BLAS matrix
    product first copies ``A``.  ``V`` (m, l) has m even.
    """
    n_atoms, n_rows = A.shape
    out[:] = 0.0
    for start in range(0, n_atoms, _ATOMS):
        stop = min(start + _ATOMS, n_atoms)
        for i0 in range(0, n_rows, _ROWS):
            i1 = min(i0 + _ROWS, n_rows)
            for k in range(start, stop, 4):
                # Of a last group of fewer than four one is done again, harmlessly.
                last = stop - 1
                k1, k2, k3 = min(k + 1, last), min(k + 2, last), min(k + 3, last)
                a0, a1 = A[k, i0:i1], A[k1, i0:i1]
                a2, a3 = A[k2, i0:i1], A[k3, i0:i1]
                for j in range(0, V.shape[0], 2):
                    v0, v1 = V[j, i0:i1], V[j + 1, i0:i1]
                    s00 = s01 = s10 = s11 = s20 = s21 = s30 = s31 = 0.0
                    for i in range(i1 - i0):
                        y0, y1 = v0[i], v1[i]
                        x0, x1 = np.float64(a0[i]), np.float64(a1[i])
                        x2, x3 = np.float64(a2[i]), np.float64(a3[i])
                        s00 += x0 * y0
                        s01 += x0 * y1
                        s10 += x1 * y0
                        s11 += x1 * y1
                        s20 += x2 * y0
                        s21 += x2 * y1
                        s30 += x3 * y0
                        s31 += x3 * y1
                    out[j, k] += s00
                    out[j + 1, k] += s01
                    if k1 > k:
                        out[j, k1] += s10
                        out[j + 1, k1] += s11
                    if k2 > k1:
                        out[j, k2] += s20
                        out[j + 1, k2] += s21
                    if k3 > k2:
                        out[j, k3] += s30
                        out[j + 1, k3] += s31


@njit(cache=True, nogil=True, fastmath=_REORDER)
def product(A, v, out):
    """Write ``A @ v`` with float64 sums, reading ``A`` once."""
    for k in range(A.shape[0]):
        total = 0.0
        for i in range(A.shape[1]):
            total += np.float64(A[k, i]) * v[i]
        out[k] = total


@njit(cache=True, nogil=True, fastmath=_REORDER)
def squares(A, w, out):
    """Write ``(A * A) @ w``, reading ``A`` once."""
    for k in range(A.shape[0]):
        total = 0.0
        for i in range(A.shape[1]):
            x = np.float64(A[k, i])
            total += w[i] * x * x
        out[k] = total


@njit(cache=True, nogil=True)
def first_largest(gain):
    """Return the lowest index whose value ties with the largest, -1 if none is > 0."""
    top = 0.0
    for k in range(gain.shape[0]):
        if gain[k] > top:
            top = gain[k]
    if top == 0.0:
        return -1
    top *= 1.0 - TIE
    for k in range(gain.shape[0]):
        if gain[k] >= top:
            return k
    return -1


@njit(cache=True, nogil=True, fastmath=_REORDER)
def update(c, e, norms, p, a, orthogonal, by_norm, tol, floor, is_open, gain):
    """Move ``c`` and ``e`` past a direction with correlations ``p``, and score again.

    One trip over the candidates: ``c -= a p``, ``e -= p**2``, and the gain of every
    candidate that is open, outside the span by more than ``tol`` (relative squared
    norm), and correlated with the residue by more than round-off (``floor``).
    """
    n_targets, n_atoms = c.shape
    for k in range(n_atoms):
        total = 0.0
        for t in range(n_targets):
            c[t, k] -= a[t] * p[k]
            total += c[t, k] * c[t, k]
        if orthogonal:
            e[k] -= p[k] * p[k]
        if is_open[k] and e[k] > tol * norms[k] and total > floor * norms[k]:
            gain[k] = total / (norms[k] if by_norm else e[k])
        else:
            gain[k] = 0.0


@njit(cache=True, nogil=True, fastmath=_REORDER)
def subtract(u, rows, h):
    """Set ``u -= h @ rows``."""
    for j in range(h.shape[0]):
        for i in range(u.shape[0]):
            u[i] -= h[j] * rows[j, i]


@njit(cache=True, nogil=True, fastmath=_REORDER)
def inner(R, q, w):
    """Return ``R @ (w q)``."""
    out = np.zeros(R.shape[0])
    for t in range(R.shape[0]):
        total = 0.0
        for i in range(q.shape[0]):
            total += w[i] * R[t, i] * q[i]
        out[t] = total
    return out


@njit(cache=True, nogil=True, fastmath=_REORDER)
def reduce_residue(R, q, a, w, v):
    """Set ``R[t] -= a[t] q``; return its sums of squares under two weightings."""
    n_targets, width = R.shape
    fitted = 0.0
    held_out = 0.0
    for t in range(n_targets):
        for i in range(width):
            R[t, i] -= a[t] * q[i]
        for i in range(w.shape[0]):
            square = R[t, i] * R[t, i]
            fitted += w[i] * square
            held_out += v[i] * square
    return fitted, held_out


@njit(cache=True, nogil=True, fastmath=_REORDER)
def pursue_among(gram, c, norms, by_norm, n_picks):  # noqa: C901
    """Return the atoms that a pursuit among a few would choose, in order.

    ``gram`` holds the inner products of the atoms' parts outside the span and ``c``
    their correlations with the residue; both are overwritten.  The result is a
    guess that the pursuit checks, so the cheapest arithmetic will do.
    """
    n_targets, n_atoms = c.shape
    picks = np.empty(n_picks, dtype=np.int64)
    scale = np.diag(gram).copy()
    taken = np.zeros(n_atoms, dtype=np.bool_)
    for n in range(n_picks):
        best = -1
        top = 0.0
        for k in range(n_atoms):
            if taken[k] or gram[k, k] <= 1e-8 * scale[k]:
                continue
            total = 0.0
            for t in range(n_targets):
                total += c[t, k] * c[t, k]
            total /= norms[k] if by_norm else gram[k, k]
            if total > top:
                top = total
                best = k
        if best < 0:
            return picks[:n]
        picks[n] = best
        taken[best] = True
        p = gram[best] / np.sqrt(gram[best, best])
        for t in range(n_targets):
            a = c[t, best] / p[best]
            for k in range(n_atoms):
                c[t, k] -= a * p[k]
        for i in range(n_atoms):
            for k in range(n_atoms):
                gram[i, k] -= p[i] * p[k]
    return picks


# -- short images of the atoms (see `_sketch`) -------------------------------------


@njit(cache=True, nogil=True, fastmath=_REORDER)
def fold(A, factor, Z):
    """Add column i of ``A``, times ``factor[i]``, to column ``i % size`` of ``Z``."""
    size = Z.shape[1]
    for k in range(A.shape[0]):
        for i0 in range(0, A.shape[1], size):
            for i in range(min(size, A.shape[1] - i0)):
                Z[k, i] += np.float32(A[k, i0 + i] * factor[i0 + i])


@njit(cache=True, nogil=True, fastmath=_REORDER)
def take_out(Z, P, images):
    """Set ``Z -= P.T @ images``, in one trip over ``Z``."""
    for k in range(Z.shape[0]):
        for j in range(images.shape[0]):
            x = np.float32(P[j, k])
            for i in range(Z.shape[1]):
                Z[k, i] -= x * images[j, i]


@njit(cache=True, nogil=True, fastmath=_REORDER)
def foresee_step(Z, k, n, z, p, c, e, norms, gain, orthogonal, by_norm):
    """Take atom ``k`` as the n-th foreseen direction, with inner products by images.

    ``z[n]`` and ``p[n]`` get its image and correlations; ``c``, ``e`` and ``gain``
    are moved past it.
    """
    z[n] = Z[k]
    if orthogonal:
        subtract(z[n], z[:n], p[:n, k])
    root = np.sqrt(e[k] if orthogonal else norms[k])
    z[n] /= np.float32(root)
    a = c[:, k] / root
    for j in range(Z.shape[0]):
        total = np.float32(0.0)
        for i in range(Z.shape[1]):
            total += Z[j, i] * z[n, i]
        p[n, j] = total
        squared = 0.0
        for t in range(c.shape[0]):
            c[t, j] -= a[t] * total
            squared += c[t, j] * c[t, j]
        if orthogonal:
            # The images are too coarse to tell that nearly nothing is left.
            e[j] = max(e[j] - total * total, _LEAST_LEFT * e[j])
        if gain[j] > 0.0:
            gain[j] = squared / (norms[j] if by_norm else e[j])
    if orthogonal:
        gain[k] = 0.0
