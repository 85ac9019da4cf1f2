"""Kernels in another metric: points are mapped by a factor, then compared.

With a factor A and the metric M = A Aᵀ, the squared distance becomes

    (x - z) M (x - z)ᵀ = |x A - z A|².
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from scipy import linalg, sparse

from ._base import Between, Gradient, Kernel, as_points

# Share of the largest value that counts as rounding: a metric may be the result of a
# sum over rows in single precision.
_ROUNDING = 1e-6


class InMetric(Kernel):
    """k(x, z) = kernel(x A, z A).

    The kernel's width, symmetry and other facts are those of ``kernel``; rules for
    ``gamma`` see the mapped points.

    Parameters
    ----------
    kernel : Kernel
    factor : array of shape (d,) or (d, r)
        A: a vector scales each column, a matrix maps points of d features to r. The
        metric is A Aᵀ; :func:`factor_of` returns A for a given metric.
    """

    def __init__(self, kernel: Kernel, factor: Any) -> None:
        self.kernel = kernel
        self.factor = factor

    @property
    def matrix(self) -> np.ndarray:
        """The metric A Aᵀ; for a vector A, its diagonal."""
        A = np.asarray(self.factor, dtype=np.float64)
        return np.asarray(A**2 if A.ndim == 1 else A @ A.T)

    @property
    def gamma(self) -> Any:
        """Width of the kernel, if it has one."""
        return self.kernel.gamma

    @property
    def metric(self) -> str:  # type: ignore[override]
        """Distance whose median defines the kernel's width."""
        return self.kernel.metric

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        """Whether k(x, z) = k(z, x)."""
        return self.kernel.symmetric

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        """Whether X and Y may be sparse; a matrix makes them dense."""
        return self.kernel.accepts_sparse or np.ndim(self.factor) == 2

    @property
    def takes_squares(self) -> bool:  # type: ignore[override]
        """Whether coordinates are squared or multiplied."""
        return self.kernel.takes_squares

    @property
    def has_gradients(self) -> bool:  # type: ignore[override]
        """Whether `gradients` is defined."""
        return self.kernel.has_gradients

    def mapped(self, X: Any) -> Any:
        """Return X A, of shape (n, d) or (n, r); sparse if X is and A is a vector."""
        return mapped(X, self.factor)

    def at(self, Y: Any) -> Callable[[Any], np.ndarray]:
        """Return the function of X that gives k(X, Y), and keeps Y mapped."""
        self._check()
        evaluate = self.kernel.at(self.mapped(Y))
        return lambda X: evaluate(self.mapped(X))

    def bind(self, X: Any, sample_weight: Any = None) -> InMetric:
        """Return a new kernel with numeric gammas, computed from the mapped X."""
        self._check_factor()
        kernel = self.kernel.bind(self.mapped(X), sample_weight)
        return type(self)(kernel, self.factor)

    def with_gamma(self, gamma: float | str) -> Self:
        """Return the kernel with another width, in the same metric."""
        return type(self)(self.kernel.with_gamma(gamma), self.factor)

    def _between(self, X: Any, Y: Any) -> Between:
        # One object for one set of points, which marks a symmetric matrix.
        left = self.mapped(X)
        return self.kernel.between(left, left if Y is X else self.mapped(Y))

    def values(self, X: Any, Y: Any) -> np.ndarray:
        """Return k(x, z) for the rows of X and Y, (n, m)."""
        return self._between(X, Y).block()

    def _gradient(self, X: Any, Y: Any) -> Gradient:
        inner = self.kernel._gradient(self.mapped(X), self.mapped(Y))
        A = np.asarray(self.factor, dtype=np.float64)
        return lambda W: inner(W) * A if A.ndim == 1 else inner(W) @ A.T

    def _diagonal(self, X: Any) -> np.ndarray:
        return self.kernel.diag(self.mapped(X))

    def _check(self) -> None:
        self.kernel._check()
        self._check_factor()

    def _check_factor(self) -> None:
        A = _numbers("factor", self.factor)
        if A.ndim not in (1, 2):
            raise ValueError(
                f"factor has shape {A.shape}: pass a vector, one number for each "
                "column, or a matrix with one row for each column of X."
            )


def mapped(X: Any, factor: Any) -> Any:
    """Return X A for a factor A, X itself for None.

    The result is sparse if X is and A is a vector.
    """
    if factor is None:
        return X
    X, A = as_points(X), np.asarray(factor, dtype=np.float64)
    if X.shape[1] != len(A):
        raise ValueError(
            f"X has {X.shape[1]} columns, but the metric of this kernel was made for "
            f"{len(A)}."
        )
    if A.ndim == 2:
        return X @ A
    return _scaled_columns(X, A) if sparse.issparse(X) else X * A


def composed(first: np.ndarray | None, second: np.ndarray | None) -> np.ndarray | None:
    """Return the factor that maps as the first and then the second, None for none."""
    if first is None or second is None:
        return second if first is None else first
    if second.ndim == 1:
        return first * second
    return first[:, None] * second if first.ndim == 1 else first @ second


def factor_of(metric: Any) -> np.ndarray:
    """Return A with A Aᵀ = metric, the ``factor`` of `InMetric`.

    Parameters
    ----------
    metric : array of shape (d,) or (d, d)
        Weights of the columns' squared differences, or a symmetric, positive
        semi-definite matrix.

    Returns
    -------
    ndarray of the same shape
        Square roots of the weights, or the symmetric square root of the matrix.
    """
    M = _numbers("metric", metric)
    if M.ndim == 1:
        return _root_of_weights(M)
    if M.ndim == 2 and M.shape[0] == M.shape[1]:
        return _root_of_matrix(M)
    raise ValueError(
        f"metric has shape {M.shape}: pass a vector of weights, one for each column, "
        "or a square matrix."
    )


def _root_of_weights(weights: np.ndarray) -> np.ndarray:
    if (weights < 0).any():
        i = int(np.argmin(weights))
        raise ValueError(
            f"metric[{i}] = {weights[i]:g} is negative: weights must be 0 or larger."
        )
    return np.sqrt(weights)


def _root_of_matrix(M: np.ndarray) -> np.ndarray:
    largest = np.abs(M).max(initial=0.0)
    if (np.abs(M - M.T) > _ROUNDING * largest).any():
        raise ValueError(
            "metric is not a symmetric matrix: pass (M + M.T) / 2, or, if you have A "
            "with metric A Aᵀ, InMetric(kernel, A)."
        )
    if largest == 0.0:
        return np.zeros_like(M)
    # In units of the largest entry, so that no product overflows.
    values, vectors = linalg.eigh((M / largest + M.T / largest) / 2.0)
    if values[0] < -_ROUNDING * values[-1]:
        raise ValueError(
            f"metric has the negative eigenvalue {values[0] * largest:g}, so that some "
            "squared distances would be negative: pass a positive semi-definite "
            "matrix, such as A @ A.T."
        )
    roots = np.sqrt(np.maximum(values, 0.0)) * np.sqrt(largest)
    return np.asarray((vectors * roots) @ vectors.T)


def _numbers(name: str, array: Any) -> np.ndarray:
    """Return an array of finite float64, or say that it is none."""
    try:
        array = np.asarray(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an array of numbers.") from None
    if not np.isfinite(array).all():
        raise ValueError(f"{name} holds NaN or inf: replace them by finite numbers.")
    return array


def _scaled_columns(X: Any, scales: np.ndarray) -> Any:
    """Return a new sparse matrix with its columns multiplied."""
    scaled = X.copy()
    scaled.data *= scales[scaled.indices]
    return scaled
