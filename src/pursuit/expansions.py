"""The fitted function f(x) = sum_j coef_j k(x, center_j) + intercept."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .kernels import Kernel

# Values of the kernel held at a time when predicting: 32 MiB of float64.
_BLOCK = 1 << 22


@dataclass(frozen=True, eq=False)
class Expansion:
    """A weighted sum of kernels on centers, plus a constant.

    Attributes
    ----------
    kernel : Kernel or None
        ``None`` where the inputs are kernel values already.
    centers : array or CSR of shape (n_centers, n_features)
    coef : ndarray of shape (n_outputs, n_centers)
    intercept : ndarray of shape (n_outputs,)
    """

    kernel: Kernel | None
    centers: Any
    coef: np.ndarray
    intercept: np.ndarray

    def __call__(self, X: Any) -> np.ndarray:
        """Return f at the rows of X, shape (n, n_outputs), in blocks of rows."""
        n = X.shape[0]
        out = np.tile(self.intercept, (n, 1))
        if self.coef.shape[1]:
            for rows, K in kernel_blocks(self.kernel, X, self.centers):
                out[rows] += K @ self.coef.T
        return out


def kernel_blocks(
    kernel: Kernel | None, X: Any, centers: Any
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield k(X, centers) some rows at a time."""
    n = X.shape[0]
    if kernel is None:
        yield slice(0, n), X
        return
    step = max(1, _BLOCK // max(1, centers.shape[0]))
    for start in range(0, n, step):
        rows = slice(start, min(start + step, n))
        yield rows, kernel(X[rows], centers)
