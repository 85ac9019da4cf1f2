"""Compiled loops of the pursuit of prototypes, with the judges outermost.

Letters: m judges, C classes, K neighbors, N prototypes at most, P candidates. A judge
keeps its K nearest prototypes of each class: ``index`` (m, C, K) are their places among
the prototypes, ``near`` (m, C, K) their squared distances, ``count`` (m, C) how many
there are, ``squared`` (m, C) the squared distances to the hyperplanes. All of
``H_kj = (x_k - x)·(x_j - x)`` follows from squared distances.
"""

import numpy as np

from ._vectors import inlined, inner, loop

# The pivot of a point that depends on nearer ones, as a share of its diagonal.
_LEAST_PIVOT = 1e-12


@inner()
def misfit(own, other, slope, unit):
    """Return the loss of a judge, from its squared distances to two classes."""
    margin = 0.0
    if own == np.inf or other == np.inf:
        if own != other:
            margin = 1.0 if own == np.inf else -1.0
    elif own + other > 0.0:
        margin = (own - other) / (own + other)
    residue = 0.0 if own == np.inf else own / unit
    return np.log1p(np.exp(slope * margin)) + residue


@inlined()
def _row_of_factor(products, n, L, u, row):
    """Write the row below ``n`` rows of the factor; return the pivot and the rest.

    ``products`` (n + 1,) are the inner products, the last one with the penalty; the
    rest is 1 less what ``u``, the solution of ``L u = 1``, explains of it.
    """
    rest, pivot = 1.0, products[n]
    for k in range(n):
        value = products[k]
        for j in range(k):
            value -= L[k, j] * row[j]
        value /= L[k, k]
        row[k] = value
        pivot -= value * value
        rest -= value * u[k]
    return max(pivot, _LEAST_PIVOT * products[n]), rest


@inlined()
def _factor(places, near, n, S, penalty, L, u, products, row):
    """Factor ``H + penalty`` of the first ``n`` prototypes; return Σ u²."""
    total = 0.0
    for k in range(n):
        for j in range(k):
            products[j] = 0.5 * (near[k] + near[j] - S[places[k], places[j]])
        products[k] = near[k] + penalty
        pivot, rest = _row_of_factor(products, k, L, u, row)
        for j in range(k):
            L[k, j] = row[j]
        L[k, k] = np.sqrt(pivot)
        u[k] = rest / L[k, k]
        total += u[k] * u[k]
    return total


@inlined()
def _nearest_others(squared, own):
    """Return the nearest other class, its distance, and that of the next one."""
    first, least, next_least = -1, np.inf, np.inf
    for c in range(squared.shape[0]):
        if c == own:
            continue
        if first < 0 or squared[c] < least:
            first, least, next_least = c, squared[c], least
        elif squared[c] < next_least:
            next_least = squared[c]
    return first, least, next_least


@loop()
def add_gains(
    codes, sets, index, near, count, squared, S, D, E,
    starts, sets_of, penalty, slope, unit, out,
):  # fmt: skip
    """Add to ``out`` (P,) how the loss of some judges changes with each candidate.

    ``D`` (m, P) and ``E`` (N, P) are squared distances from the candidates to judges
    and prototypes. Those of class c are from ``starts[c]`` to ``starts[c + 1]``. A
    judge says nothing about a candidate of its own set.
    """
    m, C, K = index.shape
    L, u = np.zeros((K, K)), np.zeros(K)
    products, row = np.zeros(K + 1), np.zeros(K + 1)
    for i in range(m):
        own = codes[i]
        first, least, next_least = _nearest_others(squared[i], own)
        before = misfit(squared[i, own], least, slope, unit)
        for c in range(C):
            n = min(count[i, c], K - 1)
            limit = near[i, c, K - 1] if count[i, c] == K else np.inf
            total = -1.0
            for p in range(starts[c], starts[c + 1]):
                if sets_of[p] == sets[i] or D[i, p] >= limit:
                    continue
                places = index[i, c]
                if total < 0.0:
                    total = _factor(
                        places, near[i, c], n, S, penalty, L, u, products, row
                    )
                for k in range(n):
                    products[k] = 0.5 * (D[i, p] + near[i, c, k] - E[places[k], p])
                products[n] = D[i, p] + penalty
                pivot, rest = _row_of_factor(products, n, L, u, row)
                sum_of_squares = total + rest * rest / pivot
                new = max(1.0 / sum_of_squares - penalty / (n + 1), 0.0)
                if c == own:
                    after = misfit(new, least, slope, unit)
                else:
                    other = min(new, next_least if c == first else least)
                    after = misfit(squared[i, own], other, slope, unit)
                out[p] += after - before


@loop()
def insert(place, c, is_out, d, index, near, count, squared, S, penalty):
    """Insert a prototype of class ``c``, at squared distances ``d`` (m,) of judges."""
    m, _, K = index.shape
    L, u = np.zeros((K, K)), np.zeros(K)
    products, row = np.zeros(K + 1), np.zeros(K + 1)
    for i in range(m):
        n = count[i, c]
        if is_out[i] or (n == K and d[i] >= near[i, c, K - 1]):
            continue
        k = min(n, K - 1)
        while k > 0 and near[i, c, k - 1] > d[i]:
            near[i, c, k], index[i, c, k] = near[i, c, k - 1], index[i, c, k - 1]
            k -= 1
        near[i, c, k], index[i, c, k] = d[i], place
        n = count[i, c] = min(n + 1, K)
        total = _factor(index[i, c], near[i, c], n, S, penalty, L, u, products, row)
        squared[i, c] = max(1.0 / total - penalty / n, 0.0)


@loop()
def losses(codes, squared, slope, unit, out, is_wrong):
    """Write the loss of each judge, and whether another class is nearer."""
    for i in range(codes.shape[0]):
        own = squared[i, codes[i]]
        _, least, _ = _nearest_others(squared[i], codes[i])
        out[i] = misfit(own, least, slope, unit)
        is_wrong[i] = not own < least
