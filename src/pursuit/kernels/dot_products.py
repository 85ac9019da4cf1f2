"""Kernels that are functions of the product x·z."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from pursuit._parameters import finite_number, whole_number

from ._base import Kernel


class DotProduct(Kernel):
    """A function of the product x·z."""

    def _profile(self, G: np.ndarray) -> None:
        """Replace the products G by the values of the kernel, in place."""
        raise NotImplementedError(f"{type(self).__name__} does not define _profile(G).")

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        G = safe_sparse_dot(X, Y.T, dense_output=True)
        self._profile(G)
        return G

    def _diagonal(self, X: Any) -> np.ndarray:
        G = row_norms(X, squared=True)
        self._profile(G)
        return G


class Linear(DotProduct):
    """k(x, z) = x·z."""

    def _profile(self, G: np.ndarray) -> None:
        """Leave the products unchanged."""


class Cosine(Linear):
    """k(x, z) = x·z / (‖x‖ ‖z‖), and 0 if x or z is 0."""

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return super()._matrix(_normalized(X), _normalized(Y))

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

    def _profile(self, G: np.ndarray) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            G *= float(self.gamma)
            G += self.coef0
            # For small whole powers, multiplication is many times faster than np.power.
            base = G.copy()
            for _ in range(self.degree - 1):
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

    def _profile(self, G: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            G *= float(self.gamma)
        G += self.coef0
        np.tanh(G, out=G)

    def _check(self) -> None:
        super()._check()
        finite_number("coef0", self.coef0)
