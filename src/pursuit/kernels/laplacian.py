"""The Laplacian kernel."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from pursuit._compiling import REORDER, compiled

from ._base import Between, Gradient, Kernel, as_dense, as_points
from .distances import (
    absolute_distances,
    absolute_sums,
    absolute_sums_to,
    check_columns,
    columns_of,
)
from .exponential import exponentials
from .tiles import TiledBetween, is_one_tile


class Laplacian(Kernel):
    """k(x, z) = exp(-gamma ‖x - z‖₁).

    ``k(X)`` is exactly symmetric; the value is exactly 1 at identical points, and 0 if
    the distance overflows. Distances cost a loop over all pairs, O(n m d).

    Parameters
    ----------
    gamma : positive float or {"median", "scale", "auto"}
        Inverse width; larger is narrower. Rules as in `Gaussian`, except that "median"
        is 1 / median of ‖x - z‖₁.
    """

    metric = "manhattan"
    takes_squares = False
    has_gradients = True

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def at(self, Y: Any) -> Callable[[Any], np.ndarray]:
        """Return the function of X that gives k(X, Y), and keeps the columns of Y."""
        whole = super().at(Y)
        Y = as_points(Y)
        if sparse.issparse(Y):
            return whole
        columns, n_points = columns_of(Y), len(Y)

        def evaluate(X: Any) -> np.ndarray:
            n = X.shape[0]
            if sparse.issparse(X) or n > n_points or not is_one_tile(n, n_points):
                return whole(X)
            check_columns(X, Y)
            K = absolute_sums_to(columns, X, np.empty((n, n_points)))
            exponentials(K, -float(self.gamma))
            return K

        return evaluate

    def _between(self, X: Any, Y: Any) -> Between:
        if sparse.issparse(X) or sparse.issparse(Y):
            return Between(self, X, Y)
        return LaplacianBetween(self, X, Y)

    def values(self, X: Any, Y: Any) -> np.ndarray:
        """Return k(x, z) for the rows of X and Y, (n, m)."""
        D = absolute_distances(X, Y)
        exponentials(D, -float(self.gamma))
        return D

    def _gradient(self, X: Any, Y: Any) -> Gradient:
        K = self.values(X, Y)
        K *= -float(self.gamma)
        # Copies, so that one compiled loop serves arrays of any kind.
        x, z = (np.array(as_dense(A), order="C") for A in (X, Y))

        def gradient(W: np.ndarray) -> np.ndarray:
            out = np.zeros(x.shape)
            _add_signs(x, z, K * W, out)
            return out

        return gradient

    def _diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0])


class LaplacianBetween(TiledBetween):
    """The matrix k(X, Y) of a `Laplacian` kernel on dense points."""

    kernel: Laplacian

    def __init__(self, kernel: Laplacian, X: np.ndarray, Y: np.ndarray) -> None:
        check_columns(X, Y)
        super().__init__(kernel, X, Y, X, Y)

    def _tile(self, x: np.ndarray, z: np.ndarray, buffer: np.ndarray) -> np.ndarray:
        D = absolute_sums(x, z, buffer)
        exponentials(buffer.reshape(1, -1), -float(self.kernel.gamma))
        return D


@compiled(fastmath=REORDER)
def _add_signs(X: np.ndarray, Z: np.ndarray, W: np.ndarray, out: np.ndarray) -> None:
    """Add Σ_i W[r, i] sign(x_r - z_i) to the rows of ``out``; sign(0) = 0."""
    for r in range(X.shape[0]):
        for i in range(Z.shape[0]):
            w = W[r, i]
            for j in range(X.shape[1]):
                x, z = X[r, j], Z[i, j]
                out[r, j] += w if x > z else (-w if x < z else 0.0)
