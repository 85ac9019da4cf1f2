"""Compiled vector operations shared by the loops over neighborhoods."""

from functools import partial

from numba import njit

from pursuit._compiling import REORDER

# Decorator of functions that only compiled functions call: they need no wrappers for
# Python and no files of their own in the cache, which would take time to compile.
inner = partial(njit, nogil=True, no_cpython_wrapper=True, no_cfunc_wrapper=True)
# The same for functions that become part of the loop that calls them, so that they are
# optimized once only. The loop's fastmath, which must be REORDER, applies to them.
inlined = partial(inner, fastmath=REORDER, inline="always")
# Decorator of such loops.
loop = partial(njit, cache=True, nogil=True, fastmath=REORDER)


@inner(fastmath=REORDER)
def dot(u, v):
    """Return the inner product."""
    total = u.dtype.type(0)
    for i in range(u.shape[0]):
        total += u[i] * v[i]
    return total


@inner(fastmath=REORDER)
def add(u, a, v):
    """Set ``u += a v``."""
    for i in range(u.shape[0]):
        u[i] += a * v[i]


@inner()
def copy(u, v):
    """Set ``u = v``.

    For the assignment ``u[:] = v``, Numba would also compile an error message about
    shapes, which takes seconds.
    """
    for i in range(u.shape[0]):
        u[i] = v[i]


@inner(fastmath=REORDER)
def differences(R, rows, x, unit, P):
    """Write the neighbors minus ``x``, in units, into the first rows of ``P``."""
    shrink = 1.0 / unit
    for k in range(rows.shape[0]):
        row = R[rows[k]]
        for i in range(x.shape[0]):
            P[k, i] = (row[i] - x[i]) * shrink
