"""Compiled steps of the pursuit by inner products (see `gram_pursuit`)."""

import numpy as np

from pursuit._compiling import REORDER, compiled

from ._loops import reduce_residual, subtract
from .gains import first_largest, update


@compiled(fastmath=REORDER)
def take_steps(
    n,
    stop,
    offset,
    G,
    D,
    A,
    rows,
    v,
    alpha,
    by_norm,
    tol,
    floor,
    c,
    e,
    norms,
    is_open,
    gain,
    S,
    R,
    roots,
    loads,
    h,
    chosen,
    gains,
    errors,
):
    """Go from step ``n`` to ``stop``, or until no candidate is left; return where.

    The inner products of the atoms are ``G - D.T @ D``. ``A`` holds the atoms, ``rows``
    are those that are held out, of weights ``v``. The candidates ``c``, ``e``,
    ``norms``, ``is_open``, ``gain`` are those of `Scores`. Of the directions so far,
    ``S`` holds the correlations with the atoms and then the values on the held-out
    rows, ``roots`` the norms, ``loads`` the coefficients; ``R`` are the residuals on
    the held-out rows. ``h`` is room for coefficients. ``chosen``, ``gains`` and
    ``errors`` are the record.
    """
    n_atoms = e.shape[0]
    while n < stop:
        k = first_largest(gain)
        if k < 0:
            break
        b = n + offset
        s, load = S[b], loads[b]
        p, q = s[:n_atoms], s[n_atoms:]
        for i in range(n_atoms):
            p[i] = G[k, i]
        for i in range(q.shape[0]):
            q[i] = A[k, rows[i]]
        for j in range(D.shape[0]):
            h[j] = D[j, k]
        subtract(p, D, h)
        for j in range(b):
            h[j] = S[j, k]
        subtract(s, S[:b], h)
        is_open[k] = False
        squared = p[k] + alpha
        if squared <= tol * norms[k]:
            gain[k] = 0.0
            continue
        root = np.sqrt(squared)
        for i in range(s.shape[0]):
            s[i] /= root
        explained = 0.0
        for t in range(c.shape[0]):
            load[t] = c[t, k] / root
            explained += load[t] * load[t]
        chosen[n], gains[n], roots[b] = k, gain[k], root
        update(c, e, norms, p, load, 0.0, by_norm, tol, floor, is_open, gain)
        errors[n + 1, 0] = errors[n, 0] - explained
        errors[n + 1, 1] = reduce_residual(R, q, load, v, v)[0]
        n += 1
    return n
