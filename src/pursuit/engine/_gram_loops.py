"""Compiled steps of the pursuit by inner products (see `gram_pursuit`)."""

import numpy as np
from numba import njit

from ._loops import REORDER, reduce_residue, subtract, update
from .ties import first_largest

# Block size of a transposition: both sides stay in the first-level cache.
_BLOCK = 32


@njit(cache=True, nogil=True)
def mirror(G):
    """Copy the upper triangle of a square matrix to the lower."""
    n = G.shape[0]
    for i0 in range(0, n, _BLOCK):
        for j0 in range(0, i0 + 1, _BLOCK):
            for i in range(i0, min(i0 + _BLOCK, n)):
                for j in range(j0, min(j0 + _BLOCK, i)):
                    G[i, j] = G[j, i]


@njit(cache=True, nogil=True, fastmath=REORDER)
def take_steps(
    G, D, A, rows, v, alpha, offset, by_norm, tol, floor, n, stop,
    P, Q, R, roots, loads, c, e, norms, is_open, gain, chosen, gains, errors,
):  # fmt: skip
    """Take the steps from ``n`` to ``stop``, or until candidates run out; return n.

    The inner products of the atoms are ``G - D.T @ D``. ``Q`` and ``R`` are the
    directions and residues on the held-out ``rows`` of the atoms ``A``, which have
    weights ``v``.
    """
    while n < stop:
        k = first_largest(gain)
        if k < 0:
            break
        b = n + offset
        h, p, q = P[:b, k].copy(), P[b], Q[b]
        p[:] = G[k]
        subtract(p, D, D[:, k].copy())
        subtract(p, P[:b], h)
        squared = p[k] + alpha
        if squared <= tol * norms[k]:
            is_open[k], gain[k] = False, 0.0
            continue
        for i in range(rows.shape[0]):
            q[i] = A[k, rows[i]]
        subtract(q, Q[:b], h)
        root = np.sqrt(squared)
        p /= root
        q /= root
        a = c[:, k] / root
        is_open[k] = False
        chosen[n], gains[n], roots[b], loads[b] = k, gain[k], root, a
        update(c, e, norms, p, a, True, by_norm, tol, floor, is_open, gain)
        errors[n + 1, 0] = errors[n, 0] - (a * a).sum()
        errors[n + 1, 1] = reduce_residue(R, q, a, v, v)[0]
        n += 1
    return n
