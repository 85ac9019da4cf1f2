r"""The objective of a pursuit under any loss, and its derivatives.

The objective is :math:`\sum_i w_i L(y_i, f_i) + \sum_j f_{l+j}^2`: the rows after the
first ``l``, the *tail*, represent the ridge (see :mod:`.pursuit`). Derivatives are
halved throughout, so that for squared loss the negative gradient is the residual and
the curvature is the weight.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pursuit.losses import Loss
from pursuit.losses.compiled import compiled


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

    def bent(self, here: Point, V: np.ndarray) -> np.ndarray:
        """Return half the second derivatives at a point times changes V of F."""
        out = np.array(V)
        bent = self.loss.bent(self.Y, self.rows(here.F), self.rows(V))
        np.multiply(bent, 0.5 * self.weight, out=self.rows(out))
        return out

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
