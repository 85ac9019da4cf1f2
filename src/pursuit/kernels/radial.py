"""Kernels that are functions of the Euclidean distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from ._base import Between, Gradient, Kernel, as_dense, as_points
from .distances import FixedPoints, Rows, paired_rows, squared_distances
from .exponential import exponentials
from .tiles import TiledBetween, is_one_tile

# Distance, in units of the width, below which the kernel exp(-r) counts as at its kink.
_KINK = 1e-7


class Radial(Kernel):
    """A function of the squared distance ‖x - z‖², with k(x, x) = 1 exactly.

    ``k(X)`` is exactly symmetric; the value is exactly 1 at identical points, and 0 if
    the distance overflows. Distances cost one matrix product, O(n m d). Dense points
    are copied once and centered at their mean.
    """

    def profile(self, D: np.ndarray) -> None:
        """Replace the squared distances D by the values of the kernel, in place."""
        raise NotImplementedError(f"{type(self).__name__} does not define profile(D).")

    def slope(self, D: np.ndarray) -> None:
        """Replace the squared distances D by the derivatives of the kernel there."""
        raise NotImplementedError(f"{type(self).__name__} does not define slope(D).")

    @property
    def has_gradients(self) -> bool:  # type: ignore[override]
        """Whether the kernel defines ``slope``."""
        return type(self).slope is not Radial.slope

    def _gradient(self, X: Any, Y: Any) -> Gradient:
        left, right = paired_rows(X, Y)
        S = squared_distances(left, right, np.empty((len(left), len(right))))
        self.slope(S)
        S *= 2.0
        # About the common center, where the difference below loses no digits.
        x, z = as_dense(left.points), right.points

        def gradient(W: np.ndarray) -> np.ndarray:
            V = S * W
            return np.asarray(V.sum(axis=1, keepdims=True) * x - V @ z)

        return gradient

    def _between(self, X: Any, Y: Any) -> Between:
        return RadialBetween(self, X, Y)

    def at(self, Y: Any) -> Callable[[Any], np.ndarray]:
        """Return the function of X that gives k(X, Y), and keeps the norms of Y."""
        whole = super().at(Y)
        Y = as_points(Y)
        if sparse.issparse(Y):
            return whole
        points = FixedPoints.of(Y)

        def evaluate(X: Any) -> np.ndarray:
            if sparse.issparse(X) or not is_one_tile(X.shape[0], len(points)):
                return whole(X)
            # One tile: no threads.
            D = points.squared_distances(X)
            self.profile(D)
            return D

        return evaluate

    def _diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0])


class RadialBetween(TiledBetween):
    """The matrix k(X, Y) of a `Radial` kernel; stores the norms of the points."""

    kernel: Radial

    def __init__(self, kernel: Radial, X: Any, Y: Any) -> None:
        super().__init__(kernel, X, Y, *paired_rows(X, Y))

    def _tile(self, x: Rows, z: Rows, buffer: np.ndarray) -> np.ndarray:
        D = squared_distances(x, z, buffer.reshape(len(x), len(z)))
        self.kernel.profile(D)
        return D


class Gaussian(Radial):
    """k(x, z) = exp(-gamma ‖x - z‖²).

    Parameters
    ----------
    gamma : positive float or {"median", "scale", "auto"}
        Inverse squared width; larger is narrower. `bind` replaces the rules by
        numbers: 1 / median of ‖x - z‖² over pairs of different points,
        1 / (d * variance of X), or 1 / d.
    """

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def profile(self, D: np.ndarray) -> None:
        """Replace squared distances D by the values of the kernel, in place."""
        exponentials(D, -float(self.gamma))

    def slope(self, D: np.ndarray) -> None:
        """Replace squared distances D by the derivatives of the kernel, in place."""
        self.profile(D)
        D *= -float(self.gamma)


class Matern(Radial):
    """Matérn kernel of smoothness nu, a function of r = sqrt(gamma) ‖x - z‖.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        exp(-r), (1 + t) exp(-t) with t = √3 r, (1 + t + t²/3) exp(-t) with t = √5 r.
    gamma : positive float or {"median", "scale", "auto"}
        Inverse squared width, 1 / length_scale²; rules as in `Gaussian`.
    """

    def __init__(self, nu: float = 1.5, gamma: float | str = "median") -> None:
        self.nu = nu
        self.gamma = gamma

    def profile(self, D: np.ndarray) -> None:
        """Replace squared distances D by the values of the kernel, in place."""
        t = self._exponential(D)
        if self.nu > 0.5:
            D *= 1.0 + t + (t * t / 3.0 if self.nu == 2.5 else 0.0)

    def slope(self, D: np.ndarray) -> None:
        """Replace squared distances D by the derivatives of the kernel, in place."""
        t = self._exponential(D)
        D *= -self.nu * float(self.gamma)
        if self.nu == 2.5:
            D *= (1.0 + t) / 3.0
        if self.nu == 0.5:
            # At the kink, and so near it that the direction is rounding, 0.
            D /= np.where(t > _KINK, t, np.inf)

    def _exponential(self, D: np.ndarray) -> np.ndarray:
        """Replace D by exp(-t), and return t."""
        with np.errstate(over="ignore"):
            D *= 2.0 * self.nu * float(self.gamma)
        # Beyond 1e4 the exponential is 0, and inf * 0 would be NaN.
        t = np.sqrt(np.minimum(D, 1e8, out=D))
        D[...] = t
        exponentials(D, -1.0)
        return t

    def _check(self) -> None:
        super()._check()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu={self.nu!r} must be 0.5, 1.5 or 2.5.")


class InverseMultiquadric(Radial):
    """k(x, z) = 1 / sqrt(1 + gamma ‖x - z‖²), with `gamma` as in `Gaussian`."""

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def profile(self, D: np.ndarray) -> None:
        """Replace squared distances D by the values of the kernel, in place."""
        with np.errstate(over="ignore"):
            D *= float(self.gamma)
        D += 1.0
        np.sqrt(D, out=D)
        np.reciprocal(D, out=D)

    def slope(self, D: np.ndarray) -> None:
        """Replace squared distances D by the derivatives of the kernel, in place."""
        self.profile(D)
        D **= 3
        D *= -0.5 * float(self.gamma)
