"""Compiled loops over the rows: products of atoms and vectors, and projections.

Letters as in :mod:`.pursuit`.
"""

from __future__ import annotations

import numpy as np

from pursuit._compiling import REORDER, compiled

# Smaller numbers, or squares of numbers, have lost digits.
SMALLEST = 1e-290

# Block of `add_products`: this many atoms by this many rows stay in the second-level
# cache while all vectors are multiplied, and four atoms in the first-level cache.
_ATOMS, _ROWS = 32, 512


@compiled(fastmath=REORDER)
def add_products(A: np.ndarray, V: np.ndarray, out: np.ndarray, first: int) -> None:
    """Add ``V @ A.T`` to the columns of ``out`` from ``first`` on, reading ``A`` once.

    ``A`` (M, l) may be float32: it is widened in registers, and sums are float64.
    For a handful of vectors this runs at the speed of memory, whereas a BLAS matrix
    product first copies ``A``. ``V`` (m, l) must have an even m.
    """
    n_atoms, n_rows = A.shape
    for start in range(0, n_atoms, _ATOMS):
        stop = min(start + _ATOMS, n_atoms)
        for i0 in range(0, n_rows, _ROWS):
            i1 = min(i0 + _ROWS, n_rows)
            for k in range(start, stop, 4):
                # In a last group of fewer than four, one atom is repeated harmlessly.
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
                    out[j, first + k] += s00
                    out[j + 1, first + k] += s01
                    if k1 > k:
                        out[j, first + k1] += s10
                        out[j + 1, first + k1] += s11
                    if k2 > k1:
                        out[j, first + k2] += s20
                        out[j + 1, first + k2] += s21
                    if k3 > k2:
                        out[j, first + k3] += s30
                        out[j + 1, first + k3] += s31


@compiled(fastmath=REORDER)
def product(A: np.ndarray, v: np.ndarray, out: np.ndarray) -> None:
    """Write ``A @ v`` with float64 sums, reading ``A`` once."""
    for k in range(A.shape[0]):
        total = 0.0
        for i in range(A.shape[1]):
            total += np.float64(A[k, i]) * v[i]
        out[k] = total


@compiled(fastmath=REORDER)
def squares(A: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    """Write ``(A * A) @ w``, reading ``A`` once."""
    for k in range(A.shape[0]):
        total = 0.0
        for i in range(A.shape[1]):
            x = np.float64(A[k, i])
            total += w[i] * x * x
        out[k] = total


def inner(R: np.ndarray, q: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Return ``R @ (w q)``."""
    out = np.empty(len(R))
    _write_inner(R, q, w, out)
    return out


@compiled(fastmath=REORDER)
def _write_inner(R: np.ndarray, q: np.ndarray, w: np.ndarray, out: np.ndarray) -> None:
    for t in range(R.shape[0]):
        total = 0.0
        for i in range(q.shape[0]):
            total += w[i] * R[t, i] * q[i]
        out[t] = total


@compiled(fastmath=REORDER)
def take_out(u: np.ndarray, Q: np.ndarray, w: np.ndarray, h: np.ndarray) -> float:
    """Project the directions ``Q`` out of ``u``, four at a time.

    The coefficients are added to ``h``; returns the squared norm that is left.
    """
    n, width = Q.shape
    whole = n // 4 * 4
    for j in range(0, whole, 4):
        q0, q1, q2, q3 = Q[j], Q[j + 1], Q[j + 2], Q[j + 3]
        t0 = t1 = t2 = t3 = 0.0
        for i in range(width):
            x = w[i] * u[i]
            t0 += x * q0[i]
            t1 += x * q1[i]
            t2 += x * q2[i]
            t3 += x * q3[i]
        for i in range(width):
            u[i] -= (t0 * q0[i] + t1 * q1[i]) + (t2 * q2[i] + t3 * q3[i])
        h[j] += t0
        h[j + 1] += t1
        h[j + 2] += t2
        h[j + 3] += t3
    for j in range(whole, n):
        total = 0.0
        for i in range(width):
            total += w[i] * u[i] * Q[j, i]
        for i in range(width):
            u[i] -= total * Q[j, i]
        h[j] += total
    squared = 0.0
    for i in range(width):
        squared += w[i] * u[i] * u[i]
    return squared


@compiled(fastmath=REORDER)
def subtract(u: np.ndarray, Q: np.ndarray, h: np.ndarray) -> None:
    """Set ``u -= h @ Q``, four directions at a time."""
    n, width = Q.shape
    whole = n // 4 * 4
    for j in range(0, whole, 4):
        q0, q1, q2, q3 = Q[j], Q[j + 1], Q[j + 2], Q[j + 3]
        h0, h1, h2, h3 = h[j], h[j + 1], h[j + 2], h[j + 3]
        for i in range(width):
            u[i] -= (h0 * q0[i] + h1 * q1[i]) + (h2 * q2[i] + h3 * q3[i])
    for j in range(whole, n):
        for i in range(width):
            u[i] -= h[j] * Q[j, i]


def take_out_span(
    u: np.ndarray,
    Q: np.ndarray,
    w: np.ndarray,
    h: np.ndarray,
    n_known: int,
    least_left: float,
) -> float:
    """Project the directions ``Q`` out of ``u``; ``h[:n_known]`` is known already.

    The projection is repeated if at most a share ``least_left`` of the squared norm is
    left, because rounding errors would then matter. Writes the rest of ``h``; returns
    the squared norm that is left.
    """
    subtract(u, Q[:n_known], h[:n_known])
    squared = float(take_out(u, Q[n_known:], w, h[n_known:]))
    if squared < least_left * (squared + h @ h):
        squared = float(take_out(u, Q, w, h))
    return squared


@compiled(fastmath=REORDER)
def reduce_residual(
    R: np.ndarray, q: np.ndarray, a: np.ndarray, w: np.ndarray, v: np.ndarray
) -> tuple[float, float]:
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
