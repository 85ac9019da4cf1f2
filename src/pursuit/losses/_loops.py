"""Compiled losses: loss, slope and curvature in one pass over the rows.

The formulas are those of the classes, point by point; a test compares both.
"""

import math

from pursuit._compiling import compiled

from ._base import LARGEST_EXPONENT

# Functions of the margin:
EXPONENTIAL, SQUARED_TANH, DOOM2, HINGE, SQUARED_HINGE = range(5)
# Functions of target and prediction:
SQUARED, ABSOLUTE, HUBER, QUANTILE, POISSON = range(5, 10)
# Likelihoods, and distances to sets, which have loops of their own:
LOGISTIC, SOFTMAX, JOINT_MARGIN = range(10, 13)

_LOG2 = math.log(2.0)


@compiled
def look_at_margins(kind, parameters, F, Y, weight, losses, descent, second):
    """Write the losses and their derivatives at ``F`` (T, l and more).

    ``losses`` (l,), 0 before, are summed over the outputs; ``descent`` is minus half
    the weighted slope; ``second`` is half the weighted curvature (that of the parabola
    of `Loss.weights`, if the loss is not convex). ``parameters`` (T, 2) are those of
    the loss. Columns of ``F`` and ``descent`` beyond the l rows are ignored.
    """
    for t in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            y, half = Y[t, i], 0.5 * weight[i]
            value, slope, bend = _of_margin(kind, parameters[t, 0], y * F[t, i])
            losses[i] += value
            descent[t, i] = -half * (slope * y)
            second[0, t, i] = half * bend


@compiled
def look_at_predictions(kind, parameters, F, Y, weight, losses, descent, second):
    """Do the same for a function of target and prediction."""
    for t in range(Y.shape[0]):
        a, b = parameters[t, 0], parameters[t, 1]
        for i in range(Y.shape[1]):
            value, slope, bend = _of_both(kind, a, b, Y[t, i], F[t, i])
            half = 0.5 * weight[i]
            losses[i] += value
            descent[t, i] = -half * slope
            second[0, t, i] = half * bend


@compiled
def look_at_logits(m, e, logs, Y, weight, losses, descent, second):
    """Do the same for logistic loss.

    ``m`` (T, l) are the margins, ``e = exp(-2 abs(m))`` and ``logs = log(1 + e)``.
    """
    for t in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            half, share = 0.5 * weight[i] / _LOG2, 1.0 / (1.0 + e[t, i])
            wrong = share if m[t, i] < 0.0 else e[t, i] * share
            losses[i] += (max(-2.0 * m[t, i], 0.0) + logs[t, i]) / _LOG2
            descent[t, i] = half * 2.0 * wrong * Y[t, i]
            second[0, t, i] = half * 4.0 * (e[t, i] * share * share)


@compiled
def look_at_shares(F, e, total, Y, weight, losses, descent, second):
    """Do the same for the softmax; ``second`` is as in `Loss.coupling`.

    ``F`` are the outputs below the largest one of each row, ``e`` (T, l) their
    exponentials, ``total`` (l,) the sum of these. ``losses`` is the logarithm of that
    before.
    """
    for t in range(Y.shape[0]):
        for i in range(Y.shape[1]):
            half = 0.5 * weight[i] / _LOG2
            share, is_true = e[t, i] / total[i], Y[t, i] > 0
            descent[t, i] = half * ((1.0 if is_true else 0.0) - share)
            second[0, t, i] = half * share
            second[1, t, i] = math.sqrt(half) * share
            if is_true:
                losses[i] -= F[t, i]
    for i in range(Y.shape[1]):
        losses[i] /= _LOG2


@compiled
def look_at_gaps(gap, F, Y, weight, losses, descent, second):
    """Do the same for the distance to outputs that are separated by a gap.

    ``second`` is as in `Loss.coupling`. Outputs are moved to a common level, the mean
    of those above it, which is found by adding outputs until none is above.
    """
    n_targets = Y.shape[0]
    for i in range(Y.shape[1]):
        total = 0.0
        for t in range(n_targets):
            if Y[t, i] > 0:
                total += F[t, i]
        level, n_moved, n_before = total, 1, 0
        while n_moved > n_before:
            n_before, n_moved, moved = n_moved, 1, total
            for t in range(n_targets):
                if Y[t, i] <= 0 and F[t, i] + gap > level:
                    moved += F[t, i] + gap
                    n_moved += 1
            level = moved / n_moved
        half = 0.5 * weight[i]
        for t in range(n_targets):
            shifted = F[t, i] if Y[t, i] > 0 else F[t, i] + gap
            is_moved = n_moved > 1 and (Y[t, i] > 0 or shifted > level)
            way = shifted - level if is_moved else 0.0
            losses[i] += way * way
            descent[t, i] = -weight[i] * way
            second[0, t, i] = weight[i] if is_moved else 0.0
            second[1, t, i] = math.sqrt(2.0 * half / n_moved) if is_moved else 0.0


@compiled(no_cpython_wrapper=True)
def _of_margin(kind, a, m):
    """Return value, slope and curvature at a margin."""
    if kind == EXPONENTIAL:
        e = math.exp(min(-m, LARGEST_EXPONENT))
        return e, -e, e
    if kind == HINGE:
        half = a / 2
        r = 1.0 - half - m
        size, sign, bend = _rounded(r, half)
        return (size + r) / 2, -(sign + 1.0) / 2, bend / 2
    if kind == SQUARED_HINGE:
        left = max(0.0, 1.0 - m)
        return left * left, -2.0 * left, 2.0 if m < 1.0 else 0.0
    t = math.tanh(m)
    flat = 1.0 - t * t
    if kind == DOOM2:
        return 1.0 - t, -flat, flat
    return (a - t) ** 2, -2.0 * (a - t) * flat, 2.0 * flat * flat


@compiled(no_cpython_wrapper=True)
def _of_both(kind, a, b, y, f):
    """Return value, slope and curvature at a target and a prediction."""
    r = y - f
    if kind == SQUARED:
        return r * r, -2.0 * r, 2.0
    if kind == POISSON:
        mean = math.exp(min(f, LARGEST_EXPONENT))
        entropy = y * math.log(y) if y > 0.0 else 0.0
        return mean - y * f + entropy - y, mean - y, mean
    size, sign, bend = _rounded(r, b if kind == QUANTILE else a)
    if kind == ABSOLUTE:
        return size, -sign, bend
    if kind == HUBER:
        return a * (2.0 * size - a), -2.0 * a * sign, 2.0 * a * bend
    return size / 2 + (a - 0.5) * r, 0.5 - a - sign / 2, bend / 2


@compiled(no_cpython_wrapper=True)
def _rounded(r, width):
    """Return |r| smoothed by a parabola at its tip, and its derivatives."""
    if abs(r) < width:
        return (r * r / width + width) / 2, r / width, 1.0 / width
    return abs(r), math.copysign(1.0, r), 0.0
