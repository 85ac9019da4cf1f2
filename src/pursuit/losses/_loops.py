"""Compiled losses: loss, slope and curvature in one pass over the rows.

The formulas are those of the classes, point by point; a test compares both.
"""

import math

import numpy as np

from pursuit._compiling import compiled

from ._base import LARGEST_EXPONENT

# Functions of the margin:
LOGISTIC, EXPONENTIAL, SQUARED_TANH, DOOM2, HINGE, SQUARED_HINGE = range(6)
# Functions of target and prediction:
SQUARED, ABSOLUTE, HUBER, QUANTILE, POISSON = range(6, 11)
# Functions of all outputs at once:
SOFTMAX = 11

_LOG2 = math.log(2.0)


@compiled
def look_at_margins(kind, parameters, Y, F, weight, losses, descent, second):
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
def look_at_predictions(kind, parameters, Y, F, weight, losses, descent, second):
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
def look_at_outputs(kind, parameters, Y, F, weight, losses, descent, second):
    """Do the same for the softmax; ``second`` is as in `Loss.coupling`."""
    n_targets = Y.shape[0]
    p = np.empty(n_targets)
    for i in range(Y.shape[1]):
        top, true, total = -np.inf, 0.0, 0.0
        for t in range(n_targets):
            top = max(top, F[t, i])
        for t in range(n_targets):
            p[t] = math.exp(F[t, i] - top)
            total += p[t]
            if Y[t, i] > 0:
                true += F[t, i] - top
        losses[i] = (math.log(total) - true) / _LOG2
        half = 0.5 * weight[i] / _LOG2
        root = math.sqrt(half)
        for t in range(n_targets):
            share = p[t] / total
            descent[t, i] = -half * (share - (1.0 if Y[t, i] > 0 else 0.0))
            second[0, t, i] = half * share
            second[1, t, i] = root * share


@compiled(no_cpython_wrapper=True)
def _of_margin(kind, a, m):
    """Return value, slope and curvature at a margin."""
    if kind == LOGISTIC:
        return _logistic(m)
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
def _logistic(m):
    e = math.exp(-2.0 * abs(m))
    wrong = (1.0 if m < 0.0 else e) / (1.0 + e)
    bits = (max(-2.0 * m, 0.0) + math.log1p(e)) / _LOG2
    return bits, -2.0 / _LOG2 * wrong, 4.0 / _LOG2 * e / (1.0 + e) ** 2


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
