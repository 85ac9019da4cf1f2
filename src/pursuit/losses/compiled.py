"""Compiled forms of the built-in losses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from . import _loops
from ._base import Loss
from .classes import (
    Doom2,
    Exponential,
    Hinge,
    JointMargin,
    Logistic,
    Margin,
    Softmax,
    SquaredHinge,
    SquaredTanh,
)
from .regression import Absolute, Huber, Poisson, Quantile, Squared

# Kind of each loss, and its parameters in order.
_FORMS: dict[type[Loss], tuple[int, tuple[str, ...]]] = {
    Logistic: (_loops.LOGISTIC, ()),
    Exponential: (_loops.EXPONENTIAL, ()),
    SquaredTanh: (_loops.SQUARED_TANH, ("target",)),
    Doom2: (_loops.DOOM2, ()),
    Hinge: (_loops.HINGE, ("smoothing",)),
    SquaredHinge: (_loops.SQUARED_HINGE, ()),
    Margin: (_loops.SQUARED_HINGE, ()),
    Squared: (_loops.SQUARED, ()),
    Absolute: (_loops.ABSOLUTE, ("smoothing",)),
    Huber: (_loops.HUBER, ("delta",)),
    Quantile: (_loops.QUANTILE, ("quantile", "smoothing")),
    Poisson: (_loops.POISSON, ()),
    Softmax: (_loops.SOFTMAX, ()),
    JointMargin: (_loops.JOINT_MARGIN, ("gap",)),
}


@dataclass(frozen=True, eq=False)
class Compiled:
    """A loss in the form that the compiled loops use.

    Attributes
    ----------
    kind : int
    parameters : ndarray of shape (T, 2)
        Parameters for each output.
    n_second : int
        Number of arrays for the second derivatives.
    """

    kind: int
    parameters: np.ndarray
    n_second: int

    def look(
        self, Y: np.ndarray, F: np.ndarray, weight: np.ndarray, descent: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Write the ``descent``; return losses and second derivatives at ``F``."""
        losses, second = np.zeros(Y.shape[1]), np.empty((self.n_second, *Y.shape))
        out = Y, weight, losses, descent, second
        # One loop for each sort of loss: what is not needed is not compiled.
        if self.kind == _loops.LOGISTIC:
            _look_at_logits(F[:, : Y.shape[1]], *out)
        elif self.kind == _loops.SOFTMAX:
            _look_at_shares(F[:, : Y.shape[1]], *out)
        elif self.kind == _loops.JOINT_MARGIN:
            _loops.look_at_gaps(self.parameters[0, 0], F, *out)
        elif self.kind < _loops.SQUARED:
            _loops.look_at_margins(self.kind, self.parameters, F, *out)
        else:
            _loops.look_at_predictions(self.kind, self.parameters, F, *out)
        return losses, second


# NumPy computes several exponentials at a time, a compiled loop one by one. A point
# beyond all numbers has no loss, and is rejected.


def _look_at_logits(F: np.ndarray, Y: np.ndarray, *out: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        m = Y * F
        e = np.exp(-2.0 * np.abs(m))
        _loops.look_at_logits(m, e, np.log1p(e), Y, *out)


def _look_at_shares(
    F: np.ndarray,
    Y: np.ndarray,
    weight: np.ndarray,
    losses: np.ndarray,
    *out: np.ndarray,
) -> None:
    with np.errstate(all="ignore"):
        below = F - np.maximum.reduce(F)
        e = np.exp(below)
        total = np.add.reduce(e)
        np.log(total, out=losses)
        _loops.look_at_shares(below, e, total, Y, weight, losses, *out)


def compiled(loss: Loss, n_targets: int) -> Compiled | None:
    """Return the compiled form of a loss; None for a user's own loss."""
    # Subclasses may override anything.
    if type(loss) not in _FORMS:
        return None
    kind, names = _FORMS[type(loss)]
    parameters = np.zeros((n_targets, 2))
    for j, name in enumerate(names):
        # `bind` sets an array, with one number for each output.
        parameters[:, j] = np.ravel(getattr(loss, name))
    return Compiled(kind, parameters, 1 + loss.is_coupled)
