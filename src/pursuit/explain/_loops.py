"""Compiled loops over rows, products and the rows of a background, these innermost.

The Shapley value of a factor in a game ``v(S) = Π_{j in S} p_j Π_{j not in S} q_j`` is

    ∫₀¹ (p_j - q_j) Π_{l ≠ j} (t p_l + (1 - t) q_l) dt,

the integral of a polynomial, for which Gauss's rule is exact. No difference of large
numbers occurs. Scratch is allocated by callers, as compiled allocations are slow to
compile.
"""

import numpy as np

from pursuit._compiling import REORDER, compiled


@compiled(fastmath=REORDER)
def add_values(P, Q, share, nodes, weights, coef, ahead, behind, sums, out):
    """Add the Shapley values of products to ``out``.

    Parameters
    ----------
    P : ndarray of shape (n, m, c)
        Factors at the rows to explain.
    Q : ndarray of shape (m, c, b)
        Factors at the background.
    share : ndarray of shape (b,)
        Weight of each row of the background.
    nodes, weights : ndarray of shape (g,)
        Gauss's rule on [0, 1].
    coef : ndarray of shape (T, m)
    ahead : ndarray of shape (c + 1, b)
    behind : ndarray of shape (b,)
    sums : ndarray of shape (c,)
    out : ndarray of shape (n, c, T)
    """
    n, m, c = P.shape
    b = Q.shape[2]
    for r in range(n):
        for i in range(m):
            for j in range(c):
                sums[j] = 0.0
            for g in range(nodes.shape[0]):
                t = nodes[g]
                _multiply(P[r, i], Q[i], t, weights[g], share, ahead)
                for a in range(b):
                    behind[a] = 1.0
                for k in range(c):
                    j = c - 1 - k
                    p, total = P[r, i, j], 0.0
                    for a in range(b):
                        q = Q[i, j, a]
                        total += (p - q) * ahead[j, a] * behind[a]
                        behind[a] *= t * p + (1.0 - t) * q
                    sums[j] += total
            for j in range(c):
                for o in range(coef.shape[0]):
                    out[r, j, o] += coef[o, i] * sums[j]


@compiled(fastmath=REORDER)
def add_interactions(
    P, Q, share, nodes, weights, coef, ahead, behind, between, sums, out
):
    """Add the Shapley interactions of pairs of factors j < k to ``out``.

    Parameters as in `add_values`, but for ``behind`` of shape (c + 1, b), ``between``
    (b,), ``sums`` (c, c) and ``out`` (n, c, c, T).
    """
    for r in range(P.shape[0]):
        for i in range(P.shape[1]):
            for j in range(P.shape[2]):
                for k in range(P.shape[2]):
                    sums[j, k] = 0.0
            for g in range(nodes.shape[0]):
                t = nodes[g]
                _multiply(P[r, i], Q[i], t, weights[g], share, ahead)
                _multiply_back(P[r, i], Q[i], t, behind)
                _add_pairs(P[r, i], Q[i], t, ahead, behind, between, sums)
            for j in range(P.shape[2] - 1):
                for k in range(j + 1, P.shape[2]):
                    for o in range(coef.shape[0]):
                        out[r, j, k, o] += coef[o, i] * sums[j, k]


@compiled(fastmath=REORDER)
def _add_pairs(p, Q, t, ahead, behind, between, sums):
    """Add what one node says of all pairs of factors of one product."""
    c, b = Q.shape
    for j in range(c - 1):
        for a in range(b):
            between[a] = ahead[j, a] * (p[j] - Q[j, a])
        for k in range(j + 1, c):
            total = 0.0
            for a in range(b):
                q = Q[k, a]
                total += between[a] * (p[k] - q) * behind[k + 1, a]
                between[a] *= t * p[k] + (1.0 - t) * q
            sums[j, k] += total


@compiled(fastmath=REORDER)
def _multiply(p, Q, t, weight, share, ahead):
    """Write the products of the factors ahead of each, at one node."""
    for a in range(share.shape[0]):
        ahead[0, a] = weight * share[a]
    for j in range(Q.shape[0]):
        for a in range(share.shape[0]):
            ahead[j + 1, a] = ahead[j, a] * (t * p[j] + (1.0 - t) * Q[j, a])


@compiled(fastmath=REORDER)
def _multiply_back(p, Q, t, behind):
    """Write the products of the factors from each to the last, at one node."""
    c, b = Q.shape
    for a in range(b):
        behind[c, a] = 1.0
    for step in range(c):
        j = c - 1 - step
        for a in range(b):
            behind[j, a] = behind[j + 1, a] * (t * p[j] + (1.0 - t) * Q[j, a])


def gauss_rule(degree: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights on [0, 1] that integrate polynomials of a degree."""
    nodes, weights = np.polynomial.legendre.leggauss(max(1, degree // 2 + 1))
    return 0.5 * (nodes + 1.0), 0.5 * weights
