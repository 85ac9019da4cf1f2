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
    Logistic,
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
    Squared: (_loops.SQUARED, ()),
    Absolute: (_loops.ABSOLUTE, ("smoothing",)),
    Huber: (_loops.HUBER, ("delta",)),
    Quantile: (_loops.QUANTILE, ("quantile", "smoothing")),
    Poisson: (_loops.POISSON, ()),
    Softmax: (_loops.SOFTMAX, ()),
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
        # One loop for each sort of loss: what is not needed is not compiled.
        look = _loops.look_at_predictions
        if self.kind < _loops.SQUARED:
            look = _loops.look_at_margins
        elif self.kind == _loops.SOFTMAX:
            look = _loops.look_at_outputs
        look(self.kind, self.parameters, Y, F, weight, losses, descent, second)
        return losses, second


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
    return Compiled(kind, parameters, 1 + (type(loss) is Softmax))
