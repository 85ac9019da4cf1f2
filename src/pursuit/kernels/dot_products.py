"""Kernels that are functions of the product x·z."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from pursuit._parameters import finite_number, whole_number

from ._base import Gradient, Kernel, as_dense


class DotProduct(Kernel):
    """A function of the product x·z."""

    def profile(self, G: np.ndarray) -> None:
        """Replace the products G by the values of the kernel, in place."""
        raise NotImplementedError(f"{type(self).__name__} does not define profile(G).")

    def slope(self, G: np.ndarray) -> None:
        """Replace the products G by the derivatives of the kernel there, in place."""
        raise NotImplementedError(f"{type(self).__name__} does not define slope(G).")

    @property
    def has_gradients(self) -> bool:  # type: ignore[override]
        """Whether the kernel defines ``slope``."""
        return type(self).slope is not DotProduct.slope

    def values(self, X: Any, Y: Any) -> np.ndarray:
        """Return k(x, z) for the rows of X and Y, (n, m)."""
        G = safe_sparse_dot(X, Y.T, dense_output=True)
        self.profile(G)
        return G

    def _gradient(self, X: Any, Y: Any) -> Gradient:
        S = safe_sparse_dot(X, Y.T, dense_output=True)
        self.slope(S)
        return lambda W: np.asarray((S * W) @ Y)

    def _diagonal(self, X: Any) -> np.ndarray:
        G = row_norms(X, squared=True)
        self.profile(G)
        return G


class Linear(DotProduct):
    """k(x, z) = x·z."""

    def profile(self, G: np.ndarray) -> None:
        """Leave the products unchanged."""

    def slope(self, G: np.ndarray) -> None:
        """Replace products G by the derivatives of the kernel, in place."""
        G[...] = 1.0


class Cosine(Linear):
    """k(x, z) = x·z / (‖x‖ ‖z‖), and 0 if x or z is 0."""

    def values(self, X: Any, Y: Any) -> np.ndarray:
        """Return k(x, z) for the rows of X and Y, (n, m)."""
        return super().values(_normalized(X), _normalized(Y))

    def _gradient(self, X: Any, Y: Any) -> Gradient:
        x, z = as_dense(_normalized(X)), _normalized(Y)
        K, norms = super().values(x, z), row_norms(X)
        # The similarity to 0 is 0, on whatever side.
        scale = np.divide(1.0, norms, out=np.zeros(len(norms)), where=norms > 0)

        def gradient(W: np.ndarray) -> np.ndarray:
            W = np.broadcast_to(W, K.shape)
            along = np.einsum("ij,ij->i", W, K)[:, np.newaxis]
            return np.asarray(scale[:, np.newaxis] * (W @ z - along * x))

        return gradient

    def _diagonal(self, X: Any) -> np.ndarray:
        return super()._diagonal(_normalized(X))


def _normalized(X: Any) -> Any:
    from sklearn.preprocessing import normalize  # slow to import

    return normalize(X)


class Polynomial(DotProduct):
    """k(x, z) = (gamma x·z + coef0)^degree.

    Parameters
    ----------
    degree : positive int
    gamma : positive float or {"median", "scale", "auto"}
        Factor of the product; rules as in `Gaussian`. In the KMP estimators it may also
        be "cv".
    coef0 : float
        Constant term.
    """

    def __init__(
        self, degree: int = 3, gamma: float | str = "scale", coef0: float = 0.0
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def profile(self, G: np.ndarray) -> None:
        """Replace products G by the values of the kernel, in place."""
        self._raise_to(G, self.degree)

    def slope(self, G: np.ndarray) -> None:
        """Replace products G by the derivatives of the kernel, in place."""
        self._raise_to(G, self.degree - 1)
        G *= self.degree * float(self.gamma)

    def _raise_to(self, G: np.ndarray, power: int) -> None:
        """Replace G by (gamma G + coef0)^power, in place."""
        with np.errstate(over="ignore", invalid="ignore"):
            G *= float(self.gamma)
            G += self.coef0
            # For small whole powers, multiplication is many times faster than np.power.
            base = G.copy()
            G[...] = base if power else 1.0
            for _ in range(power - 1):
                G *= base
        if G.size and not max(G.max(), -G.min()) < np.inf:
            raise ValueError(
                f"{self} overflows on these points: scale them down, or choose a "
                "smaller gamma, coef0 or degree."
            )

    def _check(self) -> None:
        super()._check()
        finite_number("coef0", self.coef0)
        whole_number("degree", self.degree, 1)


class Sigmoid(DotProduct):
    """k(x, z) = tanh(gamma x·z + coef0), with parameters as in `Polynomial`."""

    def __init__(self, gamma: float | str = "scale", coef0: float = 0.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def profile(self, G: np.ndarray) -> None:
        """Replace products G by the values of the kernel, in place."""
        with np.errstate(over="ignore"):
            G *= float(self.gamma)
        G += self.coef0
        np.tanh(G, out=G)

    def slope(self, G: np.ndarray) -> None:
        """Replace products G by the derivatives of the kernel, in place."""
        self.profile(G)
        np.square(G, out=G)
        np.subtract(1.0, G, out=G)
        G *= float(self.gamma)

    def _check(self) -> None:
        super()._check()
        finite_number("coef0", self.coef0)
