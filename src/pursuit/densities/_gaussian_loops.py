"""Compiled inner loops of mixtures of local Gaussians, with queries innermost.

Letters as in :mod:`pursuit.densities.local_gaussians`: l centers x_j, b queries in a
block, K neighbors. A running log-sum-exp is a pair: ``top`` (b,), the largest term so
far, and ``total`` (b,), the sum of exp(term - top). ``g`` (columns of F, b), ``s``
(rows of F, b) and ``t`` (rows, b) are scratch: callers allocate them, because compiled
allocations take long to compile.
"""

import numpy as np
from numba import njit

from pursuit.kernels.distances import CANCELLED
from pursuit.kernels.exponential import exp_nonpositive

_CONTRACT = {"contract"}


@njit(nogil=True, cache=True, fastmath=_CONTRACT)
def add_terms(terms, top, total):
    """Add one term per query to the running log-sum-exp, with one exponential each."""
    for q in range(terms.shape[0]):
        gap = terms[q] - top[q]
        e = exp_nonpositive(-abs(gap))
        is_higher = gap > 0.0
        total[q] = total[q] * e + 1.0 if is_higher else total[q] + e
        top[q] = terms[q] if is_higher else top[q]


@njit(nogil=True, cache=True, fastmath=_CONTRACT)
def distances_from(products, x, x_norm, Z, z_norms, out):
    """Write |x - z|² from the products x·z, or from x - z if these cancel."""
    n_cancelled = 0
    for q in range(out.shape[0]):
        sum_of_norms = x_norm + z_norms[q]
        out[q] = sum_of_norms - 2.0 * products[q]
        n_cancelled += out[q] <= CANCELLED * sum_of_norms
    if n_cancelled > 0:
        for q in range(out.shape[0]):
            if out[q] <= CANCELLED * (x_norm + z_norms[q]):
                square = 0.0
                for a in range(x.shape[0]):
                    square += (x[a] - Z[q, a]) * (x[a] - Z[q, a])
                out[q] = square


@njit(nogil=True, cache=True, fastmath=_CONTRACT)
def inner_products(P, j, indices, offsets, g):
    """Write (x_h - x_j)·(z - x_j) for the neighbors h of j, from the products x·z."""
    for h in range(indices.shape[0]):
        other = indices[h]
        for q in range(P.shape[1]):
            g[h, q] = P[other, q] - P[j, q] - offsets[h]


@njit(nogil=True, cache=True, fastmath=_CONTRACT)
def add_squares(F, g, is_triangular, t, out):
    """Add |F g|² of each query to ``out``.

    Two rows and four columns of F at a time balance loads and arithmetic; F is padded
    with zeros to an even number of rows and a multiple of four columns; so is g.
    """
    n_rows, n_columns = F.shape
    for a in range(0, n_rows, 2):
        stop = min((a // 4 + 1) * 4, n_columns) if is_triangular else n_columns
        for q in range(g.shape[1]):
            t[0, q] = 0.0
            t[1, q] = 0.0
        for h in range(0, stop, 4):
            f00, f01, f02, f03 = F[a, h], F[a, h + 1], F[a, h + 2], F[a, h + 3]
            f10, f11 = F[a + 1, h], F[a + 1, h + 1]
            f12, f13 = F[a + 1, h + 2], F[a + 1, h + 3]
            for q in range(g.shape[1]):
                g0, g1, g2, g3 = g[h, q], g[h + 1, q], g[h + 2, q], g[h + 3, q]
                t[0, q] += f00 * g0 + f01 * g1 + f02 * g2 + f03 * g3
                t[1, q] += f10 * g0 + f11 * g1 + f12 * g2 + f13 * g3
        for q in range(g.shape[1]):
            out[q] += t[0, q] * t[0, q] + t[1, q] * t[1, q]


@njit(nogil=True, cache=True, fastmath=_CONTRACT)
def add_by_products(
    P, first, X, norms, Z, z_norms, indices, offsets, F, is_triangular,
    precision, log_heights, top, total, g, t,
):  # fmt: skip
    """Add Gaussians whose factors act on inner products with the neighbors.

    ``P`` (l, b) holds x·z; centers ``first`` to ``first + len(F)`` are added, with
    terms ``log_heights[j] - (precision |z - x_j|² - |F_j g_j|²) / 2``.
    """
    b = P.shape[1]
    square, fitted = t[2], t[3]
    for i in range(F.shape[0]):
        j = first + i
        distances_from(P[j], X[j], norms[j], Z, z_norms, square)
        for q in range(b):
            fitted[q] = 0.0
        if F.shape[1] > 0:
            inner_products(P, j, indices[j], offsets[j], g)
            add_squares(F[i], g, is_triangular, t, fitted)
        for q in range(b):
            rest = precision * square[q] - fitted[q]
            square[q] = log_heights[i] - 0.5 * (0.0 if rest <= 0.0 else rest)
        add_terms(square, top, total)


@njit(nogil=True, cache=True, fastmath=_CONTRACT)
def add_by_differences(
    first, X, Zt, F, is_triangular, log_heights, top, total, g, t
):  # fmt: skip
    """Add Gaussians whose factors act on z - x_j: term log_heights - |F (z - x)|²/2.

    ``Zt`` (n, b) holds the queries as columns.
    """
    n, b = Zt.shape
    terms = t[2]
    for i in range(F.shape[0]):
        for a in range(n):
            for q in range(b):
                g[a, q] = Zt[a, q] - X[first + i, a]
        for q in range(b):
            terms[q] = 0.0
        add_squares(F[i], g, is_triangular, t, terms)
        for q in range(b):
            terms[q] = log_heights[i] - 0.5 * terms[q]
        add_terms(terms, top, total)


@njit(nogil=True, cache=True, fastmath=_CONTRACT)
def add_left_out(
    first, start, places, neighbors, corrected, squares, s,
    precisions, curvatures, log_heights, i, top, total, terms,
):  # fmt: skip
    """Add the terms of one center to the sums of every model, without its own row.

    Model m has the term ``log_heights[m] - (precisions[m] |δ|² - curvatures[m]·s²)/2``;
    at the center's neighbors, which shaped it, ``corrected`` is used instead.
    ``places`` maps training rows to queries, -1 for none; the block's queries begin at
    ``start``.
    """
    b = squares.shape[0]
    for m in range(precisions.shape[0]):
        for q in range(b):
            terms[q] = precisions[m] * squares[q]
        for a in range(s.shape[0]):
            c = curvatures[i, m, a]
            for q in range(b):
                terms[q] -= c * (s[a, q] * s[a, q])
        for q in range(b):
            rest = 0.0 if terms[q] <= 0.0 else terms[q]
            terms[q] = log_heights[i, m] - 0.5 * rest
        for p in range(neighbors.shape[1]):
            q = places[neighbors[i, p]] - start
            if 0 <= q < b:
                terms[q] = corrected[i, p, m]
        q = places[first + i] - start
        if 0 <= q < b:
            terms[q] = -np.inf
        add_terms(terms, top[m], total[m])


@njit(nogil=True, cache=True, fastmath=_CONTRACT)
def left_out_by_products(
    P, first, start, places, X, norms, Z, z_norms, neighbors, offsets, F,
    corrected, precisions, curvatures, log_heights, top, total, g, s, t,
):  # fmt: skip
    """Do `add_by_products` for many models at once, with each row left out."""
    squares, terms = t[0], t[1]
    for i in range(F.shape[0]):
        j = first + i
        distances_from(P[j], X[j], norms[j], Z, z_norms, squares)
        inner_products(P, j, neighbors[i, : F.shape[2]], offsets[i], g)
        np.dot(F[i], g, s)
        add_left_out(
            first, start, places, neighbors, corrected, squares, s,
            precisions, curvatures, log_heights, i, top, total, terms,
        )  # fmt: skip


@njit(nogil=True, cache=True, fastmath=_CONTRACT)
def left_out_by_differences(
    first, start, places, X, Zt, neighbors, F, corrected,
    precisions, curvatures, log_heights, top, total, g, s, t,
):  # fmt: skip
    """Do `add_by_differences` for many models at once, with each row left out."""
    n, b = Zt.shape
    squares, terms = t[0], t[1]
    for q in range(b):
        squares[q] = 0.0
    for i in range(F.shape[0]):
        for a in range(n):
            for q in range(b):
                g[a, q] = Zt[a, q] - X[first + i, a]
        np.dot(F[i], g, s)
        add_left_out(
            first, start, places, neighbors, corrected, squares, s,
            precisions, curvatures, log_heights, i, top, total, terms,
        )  # fmt: skip


@njit(nogil=True, cache=True, fastmath={"contract", "reassoc"})
def inverse_cholesky(G, floor, log_dets, out):
    """Write the inverse Cholesky factors of G + floor I, and its log-determinants.

    For a positive semi-definite G every pivot is at least ``floor``: a smaller one is
    round-off and is raised to it, so the factorization cannot fail. ``G`` (m, K, K) is
    overwritten; ``out`` (m, ≥K, ≥K) keeps zeros around the triangles.
    """
    K = G.shape[1]
    for i in range(G.shape[0]):
        L, inverse = G[i], out[i]
        log_det = 0.0
        for a in range(K):
            for c in range(a + 1):
                value = L[a, c]
                for e in range(c):
                    value -= L[a, e] * L[c, e]
                if c < a:
                    L[a, c] = value / L[c, c]
                else:
                    pivot = value + floor
                    L[a, a] = np.sqrt(pivot if pivot > floor else floor)
            log_det += 2.0 * np.log(L[a, a])
        log_dets[i] = log_det
        for c in range(K):
            inverse[c, c] = 1.0 / L[c, c]
            for a in range(c + 1, K):
                value = 0.0
                for e in range(c, a):
                    value -= L[a, e] * inverse[e, c]
                inverse[a, c] = value / L[a, a]
