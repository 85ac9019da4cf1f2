"""Compiled steps of the pursuit by inner products (see `gram_pursuit`)."""

from typing import NamedTuple

import numpy as np
from numba import njit

from pursuit._fastmath import REORDER

from ._loops import reduce_residual, subtract, update
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


class Given(NamedTuple):
    """What does not change from step to step.

    The inner products of the atoms are ``G - D.T @ D``.  ``A`` holds the atoms, and
    ``rows`` are those that are held out, of weights ``v``.
    """

    G: np.ndarray
    D: np.ndarray
    A: np.ndarray
    rows: np.ndarray
    v: np.ndarray
    alpha: float
    offset: int
    by_norm: bool
    tol: float
    floor: float


class State(NamedTuple):
    """Directions so far: correlations ``P``, values ``Q`` on held-out rows, loads.

    ``R`` are the residuals on the held-out rows.
    """

    P: np.ndarray
    Q: np.ndarray
    R: np.ndarray
    roots: np.ndarray
    loads: np.ndarray


class Standing(NamedTuple):
    """The candidates, as in `Scores`."""

    c: np.ndarray
    e: np.ndarray
    norms: np.ndarray
    is_open: np.ndarray
    gain: np.ndarray


class Record(NamedTuple):
    """What is recorded, as in `Steps`."""

    chosen: np.ndarray
    gains: np.ndarray
    errors: np.ndarray


@njit(cache=True, nogil=True, fastmath=REORDER)
def take_steps(given, n, stop, state, standing, record):
    """Go from step ``n`` to ``stop``, or until no candidate is left; return where."""
    G, D, A, rows, v, alpha, offset, by_norm, tol, floor = given
    P, Q, R, roots, loads = state
    c, e, norms, is_open, gain = standing
    chosen, gains, errors = record
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
        errors[n + 1, 1] = reduce_residual(R, q, a, v, v)[0]
        n += 1
    return n
