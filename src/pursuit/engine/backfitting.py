"""Minimize a loss over the coefficients of a few functions by a damped Newton method.

Letters as in :mod:`.loss_pursuit`; the objective is that of :mod:`.objective`.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.blas import dsyrk
from scipy.linalg.lapack import dpotrf, dpotri
from sklearn.exceptions import ConvergenceWarning

from pursuit._compiling import REORDER, compiled
from pursuit._deadline import check
from pursuit._warnings import warn

from .objective import Objective, Point

# At the end the gradient, in coordinates orthonormal in the curvature's metric, is
# below this share of the root of the objective, which is then within about the square
# of this share of the minimum. Models that are compared must converge as far as the
# final one, because stopping early regularizes.
GRADIENT_TOLERANCE = 1e-5

_MOST_STEPS = 300
# Damping relative to the metric: first value, value that counts as none, maximum.
_FIRST_DAMPING, _NO_DAMPING, _MOST_DAMPING = 1e-3, 1e-6, 1e12
# Minimum share of the decrease predicted by the parabola that a step must achieve.
_LEAST_SHARE = 1e-4
# If a step achieves less than this share under a convex loss, its length is searched,
# until the slope is this share of the first one.
_GOOD_SHARE, _SEARCHED_SLOPE = 0.3, 0.1
# Least damping under such a loss, once it has been straight along some functions: a
# step then also goes along these, and far if the search for its length allows it.
_FLAT_DAMPING = 1e-9
# Part of the interval that each trial cuts off at least, and maximum number of trials.
_LEAST_PART, _MOST_LENGTHS = 0.05, 60


class Newton:
    """Damped Newton method for repeated fits with one more function each time.

    Its linear systems are solved by conjugate gradients, preconditioned by the
    inverse of each output's own second derivatives. Computing that inverse costs about
    b / 2 iterations for b functions, so it is kept until the iterations become many.

    Parameters
    ----------
    objective : Objective
    """

    def __init__(self, objective: Objective):
        self._objective = objective
        self._least_damping, self._has_warned = 0.0, False
        self.forget()

    def forget(self) -> None:
        """Discard the preconditioner, because the functions have changed."""
        # Until iterations become many, assume them orthonormal in the curvature too.
        self._inverse = np.zeros((len(self._objective.Y), 0, 0))
        self._damped_by, self._n_least, self._is_stale = 0.0, 0, False

    def refit(
        self, F: np.ndarray, B: np.ndarray, scale: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the loads ``theta`` (T, b) that minimize the objective at F + theta B.

        The objective never increases. For a convex loss the minimum is reached up to
        `GRADIENT_TOLERANCE`, or a warning says that it is not.

        Parameters
        ----------
        F : ndarray of shape (T, l + tail)
            Starting point.
        B : ndarray of shape (b, l + tail)
            Functions, orthonormal in a metric near the curvature.
        scale : float
            Scale of the objective: its value for the constant model.

        Returns
        -------
        F : ndarray
            The new values.
        theta : ndarray of shape (T, b)
        """
        here = self._objective.at(F)
        theta = np.zeros((len(F), len(B)))
        is_convex = self._objective.loss.is_convex
        g, damping, self._least_damping = projected(here.descent, B), 0.0, 0.0
        enough = GRADIENT_TOLERANCE**2 * scale
        for _ in range(_MOST_STEPS):
            check()
            if np.vdot(g, g) <= enough or damping > _MOST_DAMPING:
                break
            step, promise = self._step(here, B, g, damping, enough)
            move = combined(step, B)
            there, length = self._objective.at(here.F + move), 1.0
            fall = here.value - there.value
            # NaN compares as False, so such a step is rejected.
            is_good = fall >= (_GOOD_SHARE if is_convex else _LEAST_SHARE) * promise
            if not is_good:
                if promise <= 1e-15 * abs(here.value):
                    break  # the remaining gain is round-off
                length = 0.0
                if is_convex:
                    length, there = self._searched(here, move, there)
            if length > 0:
                theta += length * step
                here, g = there, projected(there.descent, B)
                if fall > 0.7 * promise:
                    damping = damping / 10 if damping > _NO_DAMPING else 0.0
            else:
                damping = max(10 * damping, _FIRST_DAMPING)
        else:
            self._tell_of_the_end()
        return here.F, theta

    def _tell_of_the_end(self) -> None:
        """Warn, once in a pursuit, that the steps did not reach the minimum."""
        if self._objective.loss.is_convex and not self._has_warned:
            self._has_warned = True
            warn(
                f"{_MOST_STEPS} steps of Newton's method did not minimize the loss "
                f"{type(self._objective.loss).__name__}: the coefficients are not the "
                "best. A loss with sharper corners (a smaller smoothing) and a smaller "
                "alpha need more steps.",
                ConvergenceWarning,
            )

    def _searched(
        self, here: Point, move: np.ndarray, there: Point
    ) -> tuple[float, Point]:
        """Return how much of a move nearly minimizes a convex objective, and the point.

        Where the loss is nearly straight, a step passes many of its corners, and its
        parabola says little about where to stop. The slope along the move only rises:
        its root is found by regula falsi (Illinois), for the price of a few looks at
        the rows. ``there`` is the point after the whole move.
        """
        first = float(np.vdot(here.descent, move))
        ends, slopes, last = [0.0, np.inf], [first, 0.0], -1
        length, best = 0.0, here
        tried = 1.0
        for _ in range(_MOST_LENGTHS):
            slope = float(np.vdot(there.descent, move))
            if there.value < best.value:
                length, best = tried, there
                if abs(slope) <= _SEARCHED_SLOPE * first:
                    break
            # NaN, from overflow, is too far.
            side = 0 if slope > 0 else 1
            ends[side], slopes[side] = tried, slope if np.isfinite(slope) else -first
            if side == last:
                slopes[1 - side] /= 2
            last = side
            if ends[1] - ends[0] <= 1e-14 * ends[1]:
                break
            if ends[1] == np.inf:
                tried *= 4
            else:
                # Exponentials may be astronomically steep at the far end.
                share = slopes[0] / (slopes[0] - slopes[1])
                share = min(max(share, _LEAST_PART), 1.0 - _LEAST_PART)
                tried = ends[0] + (ends[1] - ends[0]) * share
            there = self._objective.at(here.F + tried * move)
        return length, best

    def _step(
        self, here: Point, B: np.ndarray, g: np.ndarray, damping: float, enough: float
    ) -> tuple[np.ndarray, float]:
        """Return a step, and the decrease of the damped parabola along it."""
        damping = max(damping, self._least_damping)
        is_new = self._is_stale or damping != self._damped_by
        if is_new:
            self._inverse, self._damped_by = self._inverted(here, B, damping), damping
        step, left = np.zeros_like(g), g.copy()
        loss = self._objective.loss
        n_used, is_flat = self._solved(here, B, g, damping, enough, step, left)
        if is_flat and loss.is_convex and damping < _FLAT_DAMPING:
            self._least_damping = _FLAT_DAMPING
            return self._step(here, B, g, damping, enough)
        if is_new:
            # The best that can be reached if outputs are coupled.
            self._n_least = n_used
        self._is_stale = n_used > self._n_least + 4 + len(B) // 8
        # The parabola decreases by 2 g.s - s.Hs, and Hs = g - left.
        promise = float(np.vdot(step, g + left))
        return loss.reduced(step), promise

    def _solved(
        self,
        here: Point,
        B: np.ndarray,
        g: np.ndarray,
        damping: float,
        enough: float,
        x: np.ndarray,
        r: np.ndarray,
    ) -> tuple[int, bool]:
        """Write a step ``x``, 0 before, and what it leaves ``r`` of the slope ``g``.

        Return the number of iterations, and whether a direction has no curvature.
        """
        is_reduced = self._objective.loss.ignores_common_part
        return _solve(
            *(B, here.second, g, damping, self._inverse, is_reduced, enough, x, r)
        )

    def _inverted(self, here: Point, B: np.ndarray, damping: float) -> np.ndarray:
        """Return the inverse (T, b, b) of each output's second derivatives."""
        out = np.empty((len(here.F), len(B), len(B)))
        # One output at a time, as the products take as much room as the functions.
        for H, curvature in zip(out, here.curvatures, strict=True):
            H[:] = _inverse_of_products(B * np.sqrt(curvature), damping)
        return out


class RowNewton(Newton):
    """The same for a loss whose second derivatives couple the rows.

    They are not formed: each iteration asks the loss for their product with a vector.
    The inverse that preconditions them is that of their diagonal, which is near where
    rows of a group are around their mean.
    """

    def _solved(
        self,
        here: Point,
        B: np.ndarray,
        g: np.ndarray,
        damping: float,
        enough: float,
        x: np.ndarray,
        r: np.ndarray,
    ) -> tuple[int, bool]:
        wanted = max(0.01 * enough, 1e-4 * float(np.vdot(r, r)))
        p = z = self._preconditioned(r)
        most = 2 * g.size + 10
        for n in range(1, most + 1):
            energy = np.vdot(r, z)
            Hp = projected(self._objective.bent(here, combined(p, B)), B) + damping * p
            bend = np.vdot(p, Hp)
            if bend <= 1e-12 * np.vdot(p, p):
                if n == 1:
                    x += g
                    r -= g
                return most, True
            x += energy / bend * p
            r -= energy / bend * Hp
            if np.vdot(r, r) <= wanted:
                break
            z = self._preconditioned(r)
            p = z + np.vdot(r, z) / energy * p
        return n, False

    def _preconditioned(self, r: np.ndarray) -> np.ndarray:
        """Return the inverse times r; functions after it are orthonormal."""
        n, z = self._inverse.shape[1], r.copy()
        z[:, :n] = np.einsum("tij,tj->ti", self._inverse, r[:, :n])
        return z


def newton_of(objective: Objective) -> Newton:
    """Return the method for an objective."""
    return (RowNewton if objective.loss.couples_rows else Newton)(objective)


def _inverse_of_products(Z: np.ndarray, damping: float) -> np.ndarray:
    """Return the inverse of ``Z @ Z.T`` plus a damping, by half of each matrix."""
    H = dsyrk(1.0, Z.T, trans=1)
    diagonal = np.arange(len(H))
    # Without any curvature, add a little of the metric.
    H[diagonal, diagonal] += damping + 1e-10 * max(1.0, H.trace())
    factor, n_failed = dpotrf(H, clean=0)
    if n_failed:
        upper = np.triu(H)
        return np.asarray(np.linalg.inv(upper + np.triu(H, 1).T))
    upper = np.triu(dpotri(factor, overwrite_c=1)[0])
    return np.asarray(upper + np.triu(upper, 1).T)


# -- compiled ----------------------------------------------------------------------
#
# Functions ``B`` (b, l + tail), coefficients of them (T, b), values ``V`` (T, l +
# tail); ``second`` is that of a `Point`.


@compiled
def combined(x: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return ``x @ B``; BLAS is faster with a vector than with a one-row matrix."""
    if x.shape[0] > 1:
        return np.dot(x, B)
    return np.dot(x[0], B).reshape(1, B.shape[1])


@compiled
def projected(V: np.ndarray, B: np.ndarray) -> np.ndarray:
    """Return ``V @ B.T``."""
    if V.shape[0] > 1:
        return np.dot(V, B.T)
    return np.dot(B, V[0]).reshape(1, B.shape[0])


@compiled(fastmath=REORDER, no_cpython_wrapper=True)
def _bend(V: np.ndarray, second: np.ndarray) -> None:
    """Multiply by the second derivatives, in place; on the tail they are 1."""
    n_targets, n_rows = second.shape[1:]
    if second.shape[0] == 1:
        for t in range(n_targets):
            for i in range(n_rows):
                V[t, i] *= second[0, t, i]
        return
    shared = np.zeros(n_rows)
    for t in range(n_targets):
        for i in range(n_rows):
            shared[i] += second[1, t, i] * V[t, i]
    for t in range(n_targets):
        for i in range(n_rows):
            V[t, i] = second[0, t, i] * V[t, i] - second[1, t, i] * shared[i]


@compiled(fastmath=REORDER, no_cpython_wrapper=True)
def _inner(x: np.ndarray, y: np.ndarray) -> float:
    total = 0.0
    for t in range(x.shape[0]):
        for j in range(x.shape[1]):
            total += x[t, j] * y[t, j]
    return total


@compiled(no_cpython_wrapper=True)
def _add(x: np.ndarray, factor: float, y: np.ndarray) -> None:
    """Set ``x += factor * y``."""
    for t in range(x.shape[0]):
        for j in range(x.shape[1]):
            x[t, j] += factor * y[t, j]


@compiled(no_cpython_wrapper=True)
def _precondition(
    inverse: np.ndarray, is_reduced: bool, r: np.ndarray, z: np.ndarray
) -> None:
    """Write the inverses (T, n, n) times ``r``; functions after n are orthonormal.

    If ``is_reduced``, the mean over the outputs is subtracted. A common part of all
    outputs has no curvature but the ridge's: once it were in, it would take many
    iterations to get it out again.
    """
    n_targets, size = r.shape[0], inverse.shape[1]
    for t in range(n_targets):
        for j in range(size, r.shape[1]):
            z[t, j] = r[t, j]
        if size:
            np.dot(inverse[t], r[t, :size], z[t, :size])
    if is_reduced:
        for j in range(r.shape[1]):
            total = 0.0
            for t in range(n_targets):
                total += z[t, j]
            for t in range(n_targets):
                z[t, j] -= total / n_targets


@compiled
def _solve(
    B: np.ndarray,
    second: np.ndarray,
    g: np.ndarray,
    damping: float,
    inverse: np.ndarray,
    is_reduced: bool,
    enough: float,
    x: np.ndarray,
    r: np.ndarray,
) -> tuple[int, bool]:
    """Solve ``x (B H B.T + damping) = g`` approximately by conjugate gradients.

    H are the second derivatives. Far from the minimum a rough solution is enough; near
    it, the residual must be below ``enough``, so that Newton's method needs no further
    step. Writes the solution ``x``, which is 0 before, and its residual ``r``, which is
    ``g`` before; returns the number of iterations, and whether a direction without
    curvature was met, along which there is no solution.
    """
    wanted = max(0.01 * enough, 1e-4 * _inner(r, r))
    p, z = np.empty_like(r), np.empty_like(r)
    _precondition(inverse, is_reduced, r, p)
    energy = _inner(r, p)
    most, n = 2 * g.size + 10, 0
    while n < most:
        n += 1
        V = combined(p, B)
        _bend(V, second)
        Hp = projected(V, B)
        _add(Hp, damping, p)
        bend = _inner(p, Hp)
        if bend <= 1e-12 * _inner(p, p):
            if n == 1:
                # No step was taken yet: return the gradient.
                _add(x, 1.0, g)
                _add(r, -1.0, g)
            return most, True
        _add(x, energy / bend, p)
        _add(r, -energy / bend, Hp)
        if _inner(r, r) <= wanted:
            break
        _precondition(inverse, is_reduced, r, z)
        before, energy = energy, _inner(r, z)
        for t in range(p.shape[0]):
            for j in range(p.shape[1]):
                p[t, j] = z[t, j] + (energy / before) * p[t, j]
    return n, False
