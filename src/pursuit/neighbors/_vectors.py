"""Compiled vector operations shared by the loops over neighborhoods."""

from numba import njit

from pursuit._fastmath import REORDER


@njit(cache=True, nogil=True, fastmath=REORDER)
def dot(u, v):
    """Return the inner product."""
    total = u.dtype.type(0)
    for i in range(u.shape[0]):
        total += u[i] * v[i]
    return total


@njit(cache=True, nogil=True, fastmath=REORDER)
def add(u, a, v):
    """Set ``u += a v``."""
    for i in range(u.shape[0]):
        u[i] += a * v[i]


@njit(cache=True, nogil=True, fastmath=REORDER)
def differences(R, rows, x, unit, P):
    """Write the neighbors minus ``x``, in units, into the first rows of ``P``."""
    shrink = 1.0 / unit
    for k in range(rows.shape[0]):
        row = R[rows[k]]
        for i in range(x.shape[0]):
            P[k, i] = (row[i] - x[i]) * shrink
