r"""Coefficients that minimise a loss: a damped Newton method on a few functions.

The objective is :math:`\sum_i w_i L(y_i, f_i) + \sum_j f_{l+j}^2`: the rows after the
first ``l``, the *tail*, carry the ridge (see :mod:`pursuit.pursuit`).  Derivatives are
halved throughout, so that for squared loss the gradient is the residue and the
curvature is the weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .losses import Loss

Linear = Callable[[np.ndarray], np.ndarray]

# The gradient, in coordinates orthonormal in the curvature's metric, is below this
# share of the objective's root at the end: the objective is then within about its
# square (relative) of the minimum.  Models that are compared must get as near as the
# final one: to stop early is to regularise.
GRADIENT_TOLERANCE = 1e-6

_MOST_STEPS = 100
# Damping relative to the metric: where it begins, and where it counts as none.
_FIRST_DAMPING, _NO_DAMPING, _MOST_DAMPING = 1e-3, 1e-6, 1e12
# A step must bring this share of the decrease that the parabola promises.
_LEAST_SHARE = 1e-4


@dataclass(frozen=True, eq=False)
class Objective:
    """A loss on weighted rows, and the ridge on the tail.

    Attributes
    ----------
    loss : Loss
    Y : ndarray of shape (T, l)
    weight : ndarray of shape (l,)
    """

    loss: Loss
    Y: np.ndarray
    weight: np.ndarray

    def rows(self, F: np.ndarray) -> np.ndarray:
        """Return the part of ``F`` (T, l + tail) on the rows."""
        return F[:, : len(self.weight)]

    def tail(self, F: np.ndarray) -> np.ndarray:
        """Return the part of ``F`` on the tail."""
        return F[:, len(self.weight) :]

    def value(self, F: np.ndarray) -> float:
        """Return the objective at ``F`` (T, l + tail)."""
        tail = self.tail(F)
        return self.loss_sum(F, self.weight) + float((tail * tail).sum())

    def loss_sum(self, F: np.ndarray, weight: np.ndarray) -> float:
        """Return the loss summed over the rows, under any weights."""
        return float(np.sum(self.loss.value(self.Y, self.rows(F)) @ weight))

    def descent(self, F: np.ndarray) -> np.ndarray:
        """Return minus half the gradient, at every row and on the tail."""
        out = np.empty_like(F)
        slope = self.loss.gradient(self.Y, self.rows(F))
        np.multiply(slope, -0.5 * self.weight, out=self.rows(out))
        np.negative(self.tail(F), out=self.tail(out))
        return out

    def curvatures(self, F: np.ndarray) -> np.ndarray:
        """Return half the second derivatives in each output by itself."""
        out = np.ones_like(F)
        loss, f = self.loss, self.rows(F)
        h = loss.curvature(self.Y, f) if loss.is_convex else loss.weights(self.Y, f)
        np.multiply(np.maximum(h, 0.0), 0.5 * self.weight, out=self.rows(out))
        return out

    def curvature(self, F: np.ndarray) -> Linear:
        """Return the function that multiplies by half the second derivatives."""
        second = self.loss.second(self.Y, self.rows(F))
        half = 0.5 * self.weight

        def times(V: np.ndarray) -> np.ndarray:
            out = np.empty_like(V)
            np.multiply(second(self.rows(V)), half, out=self.rows(out))
            self.tail(out)[:] = self.tail(V)
            return out

        return times


class Newton:
    """A damped Newton method that is called again and again with one function more.

    Its linear systems are solved by conjugate gradients, preconditioned by the
    inverse of each output's own second derivatives.  To make it takes the time of some
    b / 2 iterations for b functions: it is kept, and renewed when the iterations have
    become many.

    Parameters
    ----------
    objective : Objective
    """

    def __init__(self, objective: Objective):
        self._objective = objective
        self._inverse = np.zeros((0, 0, 0))
        self._damped_by = 0.0
        self._is_stale = True

    def forget(self) -> None:
        """Take note that the functions are others than before."""
        self._is_stale = True

    def refit(
        self, F: np.ndarray, B: np.ndarray, scale: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return the loads ``theta`` (T, b) that minimise the objective at F + theta B.

        The objective never rises, convex or not; of a convex loss the minimum is
        reached to `GRADIENT_TOLERANCE`.

        Parameters
        ----------
        F : ndarray of shape (T, l + tail)
            Where to begin.
        B : ndarray of shape (b, l + tail)
            Functions, orthonormal in a metric near the curvature.
        scale : float
            What the objective is to be compared with: that of the constant model.

        Returns
        -------
        F : ndarray
            The new values.
        theta : ndarray of shape (T, b)
        """
        objective = self._objective
        theta = np.zeros((len(F), len(B)))
        value, damping = objective.value(F), 0.0
        g = objective.descent(F) @ B.T
        for _ in range(_MOST_STEPS):
            enough = GRADIENT_TOLERANCE**2 * scale
            if float((g * g).sum()) <= enough or damping > _MOST_DAMPING:
                break
            step, promise = self._step(F, B, g, damping, enough)
            F_new = F + step @ B
            fall = value - objective.value(F_new)
            # NaN compares as False: such a step is not taken.
            if fall >= _LEAST_SHARE * promise:
                theta += step
                F, value = F_new, value - fall
                if fall > 0.7 * promise:
                    damping = damping / 10 if damping > _NO_DAMPING else 0.0
                g = objective.descent(F) @ B.T
            elif promise <= 1e-15 * abs(value):
                break  # what is left to gain is round-off
            else:
                damping = max(10 * damping, _FIRST_DAMPING)
        return F, theta

    def _step(
        self,
        F: np.ndarray,
        B: np.ndarray,
        g: np.ndarray,
        damping: float,
        enough: float,
    ) -> tuple[np.ndarray, float]:
        """Return a step, and by how much the damped parabola falls along it."""
        if self._is_stale or damping != self._damped_by:
            self._inverse, self._damped_by = self._inverted(F, B, damping), damping
        curvature = self._objective.curvature(F)

        def times(V: np.ndarray) -> np.ndarray:
            return curvature(V @ B) @ B.T + damping * V

        step, left, n_used = conjugate_gradients(times, self._precondition, g, enough)
        self._is_stale = n_used > 4 + len(B) // 8
        # The parabola falls by 2 g.s - s.Hs, and Hs = g - left.
        promise = float((step * (g + left)).sum())
        return self._objective.loss.reduced(step), promise

    def _inverted(self, F: np.ndarray, B: np.ndarray, damping: float) -> np.ndarray:
        """Return the inverse (T, b, b) of each output's second derivatives."""
        H = (self._objective.curvatures(F)[:, None] * B) @ B.T
        # Where there is no curvature at all, a little of the metric's own.
        trace = H.trace(axis1=1, axis2=2)[:, None]
        diagonal = np.arange(len(B))
        H[:, diagonal, diagonal] += damping + 1e-10 * np.maximum(1.0, trace)
        return np.linalg.inv(H)

    def _precondition(self, R: np.ndarray) -> np.ndarray:
        """Return the inverse times ``R``; later functions are orthonormal."""
        size = self._inverse.shape[1]
        out = R.copy()
        out[:, :size] = np.matmul(self._inverse, R[:, :size, None])[:, :, 0]
        return out


def conjugate_gradients(
    times: Linear, precondition: Linear, g: np.ndarray, enough: float
) -> tuple[np.ndarray, np.ndarray, int]:
    """Solve ``times(x) = g`` for a positive semi-definite matrix, not exactly.

    Far from the minimum a rough answer does; near it, one whose residue is below
    ``enough``, so that Newton's method needs no further step to get there.

    Returns
    -------
    x, left : ndarray
        The answer, and what is left of ``g``.
    n_used : int
        The number of iterations.
    """
    x, r = np.zeros_like(g), g.copy()
    wanted = max(0.01 * enough, 1e-4 * float((r * r).sum()))
    p = z = precondition(r)
    energy = float((r * z).sum())
    most, n = 2 * g.size + 10, 0
    while n < most:
        n += 1
        Hp = times(p)
        bend = float((p * Hp).sum())
        if bend <= 1e-12 * float((p * p).sum()):
            # Flat along p: without any step yet, take the gradient's.
            return (x, r, most) if x.any() else (g, np.zeros_like(g), most)
        x, r = x + (energy / bend) * p, r - (energy / bend) * Hp
        if float((r * r).sum()) <= wanted:
            break
        z = precondition(r)
        before, energy = energy, float((r * z).sum())
        p = z + (energy / before) * p
    return x, r, n
