r"""Minimize a loss over the coefficients of a few functions by a damped Newton method.

The objective is :math:`\sum_i w_i L(y_i, f_i) + \sum_j f_{l+j}^2`: the rows after the
first ``l``, the *tail*, represent the ridge (see :mod:`.pursuit`). Derivatives are
halved throughout, so that for squared loss the negative gradient is the residue and
the curvature is the weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.losses import Loss
from pursuit.losses.compiled import compiled

from ._loss_loops import moved, projected, solve

# At the end the gradient, in coordinates orthonormal in the curvature's metric, is
# below this share of the root of the objective, which is then within about the square
# of this share of the minimum. Models that are compared must converge as far as the
# final one, because stopping early regularizes.
GRADIENT_TOLERANCE = 1e-6

_MOST_STEPS = 100
# Damping relative to the metric: first value, value that counts as none, maximum.
_FIRST_DAMPING, _NO_DAMPING, _MOST_DAMPING = 1e-3, 1e-6, 1e12
# Minimum share of the decrease predicted by the parabola that a step must achieve.
_LEAST_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class Point:
    """An objective and its derivatives at one point.

    Attributes
    ----------
    F : ndarray of shape (T, l + tail)
        The point; it is never overwritten.
    losses : ndarray of shape (l,)
        Unweighted loss of each row.
    value : float
        The objective.
    descent : ndarray of shape (T, l + tail)
        Minus half the gradient.
    second : ndarray of shape (1 or 2, T, l)
        Half the second derivatives on the rows: a diagonal, minus the products of the
        second array's values in two outputs if the loss couples these.
    """

    F: np.ndarray
    losses: np.ndarray
    value: float
    descent: np.ndarray
    second: np.ndarray

    @property
    def curvatures(self) -> np.ndarray:
        """Half the second derivatives in each output by itself, including the tail."""
        out = np.ones_like(self.F)
        first, *others = self.second
        out[:, : first.shape[1]] = first - sum(u * u for u in others)
        return out


class Objective:
    """A loss on weighted rows, and the ridge on the tail.

    Parameters
    ----------
    loss : Loss
    Y : ndarray of shape (T, l)
    weight : ndarray of shape (l,)
    """

    def __init__(self, loss: Loss, Y: np.ndarray, weight: np.ndarray):
        self.loss = loss
        # Read-only arrays would trigger another compilation of the loops.
        self.Y, self.weight = (np.require(A, float, ["C", "W"]) for A in (Y, weight))
        self._compiled = compiled(loss, len(Y))
        self._last: Point | None = None

    def rows(self, F: np.ndarray) -> np.ndarray:
        """Return the part of ``F`` (T, l + tail) on the rows."""
        return F[:, : len(self.weight)]

    def at(self, F: np.ndarray) -> Point:
        """Return objective and derivatives at ``F``; the last result is cached."""
        if self._last is None or self._last.F is not F:
            self._last = self._point(F)
        return self._last

    def value(self, F: np.ndarray) -> float:
        """Return the objective at ``F`` (T, l + tail)."""
        return self.at(F).value

    def _point(self, F: np.ndarray) -> Point:
        descent = -F
        if self._compiled is None:
            losses, second = self._look(F, descent)
        else:
            losses, second = self._compiled.look(self.Y, F, self.weight, descent)
        tail = descent[:, len(self.weight) :]
        value = float(losses @ self.weight) + float(np.vdot(tail, tail))
        return Point(F, losses, value, descent, second)

    def _look(
        self, F: np.ndarray, descent: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Write descent and return losses and curvatures for a loss not compiled."""
        loss, half, f = self.loss, 0.5 * self.weight, self.rows(F)
        losses = loss.value(self.Y, f)
        np.multiply(loss.gradient(self.Y, f), -half, out=self.rows(descent))
        h = loss.curvature(self.Y, f) if loss.is_convex else loss.weights(self.Y, f)
        second = [half * np.maximum(h, 0.0)]
        u = loss.coupling(self.Y, f) if loss.is_convex else None
        if u is not None:
            second = [second[0] + half * u * u, np.sqrt(half) * u]
        return losses.sum(axis=0) if losses.ndim == 2 else losses, np.array(second)


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
        `GRADIENT_TOLERANCE`.

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
        g, damping = projected(here.descent, B), 0.0
        enough = GRADIENT_TOLERANCE**2 * scale
        for _ in range(_MOST_STEPS):
            if np.vdot(g, g) <= enough or damping > _MOST_DAMPING:
                break
            step, promise = self._step(here, B, g, damping, enough)
            there = self._objective.at(moved(here.F, step, B))
            fall = here.value - there.value
            # NaN compares as False, so such a step is rejected.
            if fall >= _LEAST_SHARE * promise:
                theta += step
                here, g = there, projected(there.descent, B)
                if fall > 0.7 * promise:
                    damping = damping / 10 if damping > _NO_DAMPING else 0.0
            elif promise <= 1e-15 * abs(here.value):
                break  # the remaining gain is round-off
            else:
                damping = max(10 * damping, _FIRST_DAMPING)
        return here.F, theta

    def _step(
        self, here: Point, B: np.ndarray, g: np.ndarray, damping: float, enough: float
    ) -> tuple[np.ndarray, float]:
        """Return a step, and the decrease of the damped parabola along it."""
        is_new = self._is_stale or damping != self._damped_by
        if is_new:
            self._inverse, self._damped_by = self._inverted(here, B, damping), damping
        step, left, n_used = solve(B, here.second, g, damping, self._inverse, enough)
        if is_new:
            # The best that can be reached if outputs are coupled.
            self._n_least = n_used
        self._is_stale = n_used > self._n_least + 4 + len(B) // 8
        # The parabola decreases by 2 g.s - s.Hs, and Hs = g - left.
        promise = float(np.vdot(step, g + left))
        return self._objective.loss.reduced(step), promise

    def _inverted(self, here: Point, B: np.ndarray, damping: float) -> np.ndarray:
        """Return the inverse (T, b, b) of each output's second derivatives."""
        H = (here.curvatures[:, None] * B) @ B.T
        # Without any curvature, add a little of the metric.
        trace = H.trace(axis1=1, axis2=2)[:, None]
        diagonal = np.arange(len(B))
        H[:, diagonal, diagonal] += damping + 1e-10 * np.maximum(1.0, trace)
        return np.linalg.inv(H)
