"""The Laplacian kernel."""

from __future__ import annotations

from typing import Any

import numpy as np

from ._base import Kernel
from .distances import absolute_distances
from .exponential import exponentials


class Laplacian(Kernel):
    """k(x, z) = exp(-gamma ‖x - z‖₁).

    Parameters
    ----------
    gamma : positive float or {"median", "scale", "auto"}
        Inverse width; larger is narrower. Rules as in `Gaussian`, except that "median"
        is 1 / median of ‖x - z‖₁.
    """

    metric = "manhattan"
    takes_squares = False

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        D = absolute_distances(X, Y)
        exponentials(D, -float(self.gamma))
        return D

    def _diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0])
