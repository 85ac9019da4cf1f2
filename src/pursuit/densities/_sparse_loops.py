"""Compiled loop of the pursuit of a mixture: how much each candidate would gain."""

import numpy as np
from numba import njit

# Largest exponent of which the exponential is a number.
_HIGHEST = 700.0
# Iterations of the search for a share, and its relative precision.
_ITERATIONS, _PRECISION = 60, 1e-7


@njit(nogil=True, cache=True, fastmath={"contract"})
def _slopes(ratios, is_higher, counts, share):
    """Return the first and second derivative of the gain at a share."""
    first, second = 0.0, 0.0
    for i in range(ratios.shape[0]):
        r = ratios[i]
        # Both are (e^s - 1) / (1 - share + share e^s) for the log-ratio s.
        if is_higher[i]:
            t = (1.0 - r) / ((1.0 - share) * r + share)
        else:
            t = (r - 1.0) / (1.0 - share + share * r)
        first += counts[i] * t
        second -= counts[i] * t * t
    return first, second


@njit(nogil=True, cache=True, fastmath={"contract"})
def _gain(ratios, is_higher, logs, counts, share):
    """Return Σ counts log(1 - share + share e^s)."""
    total = 0.0
    for i in range(ratios.shape[0]):
        r = ratios[i]
        if is_higher[i]:
            total += counts[i] * (logs[i] + np.log(share + (1.0 - share) * r))
        else:
            total += counts[i] * np.log(1.0 - share + share * r)
    return total


@njit(nogil=True, cache=True, fastmath={"contract"})
def best_share(log_ratios, counts, start, to_beat):
    """Return the best share of one candidate, and its gain.

    The gain is ``Σ counts log(1 - a + a e^s)``, concave in the share a; a candidate
    whose tangent at ``start`` stays below ``to_beat`` is given up.
    """
    m = log_ratios.shape[0]
    ratios, is_higher = np.empty(m), np.empty(m, np.bool_)
    at_zero = 0.0
    for i in range(m):
        s = log_ratios[i]
        is_higher[i] = s > 0.0
        ratios[i] = np.exp(-abs(s))
        at_zero += counts[i] * (np.exp(min(s, _HIGHEST)) - 1.0)
    if not at_zero > 0.0:
        return 0.0, 0.0
    low, high, share = 0.0, 1.0, start
    for iteration in range(_ITERATIONS):
        first, second = _slopes(ratios, is_higher, counts, share)
        if iteration == 0:
            here = _gain(ratios, is_higher, log_ratios, counts, share)
            if here + max(first * (1.0 - share), -first * share) <= to_beat:
                return 0.0, 0.0
        if first > 0.0:
            low = share
        else:
            high = share
        step = share - first / second if second < 0.0 else high
        if not low < step < high:
            step = 0.5 * (low + high) if low > 0.0 else 0.1 * high
        change = abs(step - share)
        share = step
        if change <= _PRECISION * share:
            break
    return share, _gain(ratios, is_higher, log_ratios, counts, share)


@njit(nogil=True, cache=True)
def best_candidate(G, own, log_p, counts, is_left, start):
    """Return the candidate that gains most, its share and its gain.

    ``G`` (M, m) are the log-densities of the judges under the candidates; a candidate
    is not judged by its own row, ``own`` (M,), -1 if that is no judge.
    """
    m = log_p.shape[0]
    log_ratios, c = np.empty(m), np.empty(m)
    winner, best, best_gain = -1, 0.0, 0.0
    for j in range(G.shape[0]):
        if not is_left[j]:
            continue
        for i in range(m):
            log_ratios[i] = G[j, i] - log_p[i]
            c[i] = counts[i]
        if own[j] >= 0:
            log_ratios[own[j]], c[own[j]] = 0.0, 0.0
        share, gain = best_share(log_ratios, c, start, best_gain)
        if gain > best_gain:
            winner, best, best_gain = j, share, gain
    return winner, best, best_gain
