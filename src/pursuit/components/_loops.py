"""Compiled inner loops of the choice of points."""

from __future__ import annotations

import numpy as np
from numba import njit


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def choose_among(A, D, least, is_open, picks, g, q):
    """Write which of a few columns the deflation would choose, and return how many.

    ``A`` holds the inner products of the columns, ``D`` their values at each other's
    rows; both are overwritten. A column whose residual falls below ``least`` is
    skipped, as is one that is not open. At most ``len(picks)`` are chosen; ``g`` and
    ``q`` are scratch. The result is a prediction that the choice verifies.
    """
    n = len(least)
    for step in range(len(picks)):
        best = -1
        top = 0.0
        for k in range(n):
            if is_open[k] and D[k, k] > least[k] and A[k, k] > top * D[k, k]:
                top = A[k, k] / D[k, k]
                best = k
        if best < 0:
            return step
        picks[step] = best
        is_open[best] = False
        root = np.sqrt(D[best, best])
        for k in range(n):
            g[k] = D[best, k] / root
            q[k] = A[best, k] / root
        squared = A[best, best] / D[best, best]
        for i in range(n):
            if is_open[i]:
                for k in range(n):
                    D[i, k] -= g[i] * g[k]
                    A[i, k] += g[i] * (squared * g[k] - q[k]) - q[i] * g[k]
    return len(picks)


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def deflate_pool(U, P, index, along, across, g, q):
    """Subtract a direction from columns and their products, if the index is not -1.

    ``U -= along g'`` and ``P -= along q' + across g'``, in one pass.
    """
    for s in range(len(index)):
        if index[s] >= 0:
            a, b = along[s], across[s]
            u, p = U[s], P[s]
            for j in range(len(g)):
                u[j] -= a * g[j]
                p[j] -= a * q[j] + b * g[j]
