"""Compiled losses of groups of rows: values, slopes and second derivatives.

Rows come sorted by group, and in a group by grade; ``starts`` (G + 1,) are the first
rows of the groups, and ``lower[i]`` is the first row of the grade of row i, so that
rows ``starts[g]`` to ``lower[i] - 1`` have lower grades. ``w`` are the weights of the
rows, ``f`` their predictions. A loss is a sum over rows of weights times ``value``, and
its derivative in ``f[i]`` is ``w[i] * slope[i]``: ``slope``, ``bend`` (its second
derivative in ``f[i]`` alone) and ``out`` (all second derivatives times ``v``) are 0
before, and what a row of weight 0 gets from others is of no account.
"""

import math

import numpy as np

from pursuit._compiling import compiled

# Exponents of scores below the best of a group are cut off here.
_LEAST = -300.0

# Products are below this number times the largest ratio of exponentials.
_MOST = 1e150


@compiled
def _exponentials(f, first, last, e):
    """Write exp(f) relative to the largest of a group."""
    most = f[first]
    for i in range(first, last):
        most = max(most, f[i])
    for i in range(first, last):
        e[i] = math.exp(max(f[i] - most, _LEAST))


@compiled
def _total(w, first, last):
    """Return the weight of a group, 1 if that is 0."""
    total = 0.0
    for i in range(first, last):
        total += w[i]
    return total if total > 0.0 else 1.0


# -- logistic loss of pairs ------------------------------------------------------------


@compiled
def look_at_logistic_pairs(f, w, starts, lower, value, slope, bend):
    """Write log(1 + exp(-(f_i - f_j))), y_i > y_j, over the weight of the group."""
    e = np.empty(len(f))
    for g in range(len(starts) - 1):
        first, last = starts[g], starts[g + 1]
        _exponentials(f, first, last, e)
        total = _total(w, first, last)
        for i in range(first, last):
            # A product takes a fraction of the time of a sum of logarithms.
            product, weight = 1.0, w[first]
            for j in range(first, lower[i]):
                if product > _MOST or w[j] != weight:
                    value[i] += weight / total * math.log(product)
                    product, weight = 1.0, w[j]
                product *= 1.0 + e[j] / e[i]
                wrong = e[j] / (e[i] + e[j])
                slope[i] -= w[j] / total * wrong
                slope[j] += w[i] / total * wrong
                h = wrong * (1.0 - wrong) / total
                bend[i] += w[j] * h
                bend[j] += w[i] * h
            value[i] += weight / total * math.log(product)


@compiled
def bend_logistic_pairs(f, w, starts, lower, v, out):
    """Write the second derivatives of the same times ``v``."""
    e = np.empty(len(f))
    for g in range(len(starts) - 1):
        first, last = starts[g], starts[g + 1]
        _exponentials(f, first, last, e)
        total = _total(w, first, last)
        for i in range(first, last):
            for j in range(first, lower[i]):
                wrong = e[j] / (e[i] + e[j])
                h = wrong * (1.0 - wrong) / total * (v[i] - v[j])
                out[i] += w[j] * h
                out[j] -= w[i] * h


# -- squared hinge loss of pairs -------------------------------------------------------


@compiled
def window_sums(f, order, starts, level, Z, below, above):
    """Write sums of ``Z`` (c, l) over the pairs that are closer than the margin 1.

    ``below[:, i]`` is over rows j of the group with a lower level and f_j > f_i - 1,
    ``above[:, j]`` over rows i with a higher level and f_i < f_j + 1. In the order of f
    (``order``, group by group) rows come in and never leave, and a tree of sums over
    the levels answers for all lower ones: O(m log m) for a group of m rows.
    """
    n_columns = len(Z)
    for g in range(len(starts) - 1):
        first, last = starts[g], starts[g + 1]
        n_levels = level[last - 1] + 1
        tree = np.zeros((n_columns, n_levels + 1))
        come = last - 1
        for place in range(last - 1, first - 1, -1):
            i = order[place]
            while come >= first and f[order[come]] > f[i] - 1.0:
                j = order[come]
                _put(tree, level[j], Z, j)
                come -= 1
            _sum_below(tree, level[i], below, i)
        tree[:] = 0.0
        come = first
        for place in range(first, last):
            j = order[place]
            while come < last and f[order[come]] < f[j] + 1.0:
                i = order[come]
                _put(tree, n_levels - 1 - level[i], Z, i)
                come += 1
            _sum_below(tree, n_levels - 1 - level[j], above, j)


@compiled
def _put(tree, level, Z, i):
    at = level + 1
    while at < tree.shape[1]:
        for c in range(tree.shape[0]):
            tree[c, at] += Z[c, i]
        at += at & -at


@compiled
def _sum_below(tree, level, out, i):
    at = level
    while at > 0:
        for c in range(tree.shape[0]):
            out[c, i] += tree[c, at]
        at -= at & -at


# -- lists -----------------------------------------------------------------------------


@compiled
def look_at_lists(f, w, starts, lower, value, slope, bend, above):
    """Write -log of the share of exp(f_i) in its sum with those of lower grades.

    ``above`` is ``bend`` without what copies of a row share, which a weight adds to it.
    """
    e, low, none = np.empty(len(f)), np.empty(len(f)), np.zeros(len(f))
    for g in range(len(starts) - 1):
        first, last = starts[g], starts[g + 1]
        _exponentials(f, first, last, e)
        _sum_lower(w, lower, first, last, e, none, low, none)
        once, twice, stop = 0.0, 0.0, last
        while stop > first:
            start = lower[stop - 1]
            for i in range(start, stop):
                value[i] += math.log1p(low[i] / e[i])
                slope[i] += e[i] * once - low[i] / (e[i] + low[i])
                above[i] += e[i] * low[i] / (e[i] + low[i]) ** 2 + e[i] * once
                bend[i] += above[i] - w[i] * e[i] * e[i] * twice
            for i in range(start, stop):
                once += w[i] / (e[i] + low[i])
                twice += w[i] / (e[i] + low[i]) ** 2
            stop = start


@compiled
def bend_lists(f, w, starts, lower, v, out):
    """Write the second derivatives of the same times ``v``."""
    e, low, lowv = np.empty(len(f)), np.empty(len(f)), np.empty(len(f))
    for g in range(len(starts) - 1):
        first, last = starts[g], starts[g + 1]
        _exponentials(f, first, last, e)
        _sum_lower(w, lower, first, last, e, v, low, lowv)
        once, mean, stop = 0.0, 0.0, last
        while stop > first:
            start = lower[stop - 1]
            for i in range(start, stop):
                q = (e[i] * v[i] + lowv[i]) / (e[i] + low[i])
                out[i] += e[i] / (e[i] + low[i]) * (v[i] - q)
                out[i] += e[i] * (v[i] * once - mean)
            for i in range(start, stop):
                q = (e[i] * v[i] + lowv[i]) / (e[i] + low[i])
                once += w[i] / (e[i] + low[i])
                mean += w[i] * q / (e[i] + low[i])
            stop = start


@compiled
def _sum_lower(w, lower, first, last, e, v, low, lowv):
    """Write for each row the sums of w e, and of w e v, over those of lower grades."""
    total, totalv, done = 0.0, 0.0, first
    for i in range(first, last):
        while done < lower[i]:
            total += w[done] * e[done]
            totalv += w[done] * e[done] * v[done]
            done += 1
        low[i] = total
        lowv[i] = totalv
