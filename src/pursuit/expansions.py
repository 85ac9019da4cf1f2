"""Fitted functions f(x) = sum_j coef_j g_j(x) + intercept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .functions import Functions, KernelFunctions
from .kernels import Kernel

# Values of the functions in a block of a prediction: 32 MiB of float64.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Expansion:
    """A weighted sum of functions, plus a constant.

    Attributes
    ----------
    functions : Functions
    coef : ndarray of shape (n_outputs, n_functions)
    intercept : ndarray of shape (n_outputs,)
    """

    functions: Functions
    coef: np.ndarray
    intercept: np.ndarray

    def __call__(self, X: Any) -> np.ndarray:
        """Return f at the rows of X, shape (n, n_outputs), in blocks of rows."""
        out = np.empty((X.shape[0], len(self.intercept)))
        out[:] = self.intercept
        if self.coef.shape[1]:
            for rows, G in value_blocks(self.functions, X):
                out[rows] += G @ self.coef.T
        return out


def values_of(functions: Functions, X: Any) -> np.ndarray:
    """Return the functions' values (n, M) at the rows of X, computed in blocks."""
    return np.concatenate([G for _, G in value_blocks(functions, X)])


def value_blocks(functions: Functions, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the functions' values in blocks of rows of X."""
    n = X.shape[0]
    step = max(1, _BLOCK // max(1, len(functions)))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        yield rows, functions(X[rows])


def kernel_blocks(
    kernel: Kernel | None, X: Any, centers: Any
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield k(X, centers) in blocks of rows; X itself if the kernel is precomputed."""
    if kernel is None:
        yield slice(0, X.shape[0]), X
        return
    numbers = np.arange(centers.shape[0])
    yield from value_blocks(KernelFunctions(centers, numbers, False, kernel), X)
