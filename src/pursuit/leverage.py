"""How much the data leave open of the value of a fitted function at x.

The coefficients of a ridge regression are the mean of a Bayesian linear model with the
noise variance s² and the prior variance s²/alpha. Its value at x has the variance

    s² h(x),   h(x) = g(x)ᵀ (GᵀWG + alpha I)⁻¹ g(x) = ‖R⁻ᵀ g(x)‖²,

where g(x) are the values of the functions (and 1 for the constant, which has no ridge),
G those on the weighted training rows, and R the triangle that a path keeps anyhow. A
new target at x has the variance s² (1 + h(x)).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from .expansions import value_blocks
from .functions import Functions
from .path import OrthogonalPath


@dataclass(frozen=True, eq=False)
class Leverage:
    """The variance of a fitted value, relative to that of the noise; O(n²) a row.

    Attributes
    ----------
    functions : Functions
        The functions of the model, in order of choice.
    triangle : ndarray of shape (b, b)
        Upper triangular R, with the constant first if there is one.
    has_intercept : bool
    """

    functions: Functions
    triangle: np.ndarray
    has_intercept: bool

    @classmethod
    def at(cls, path: OrthogonalPath, size: int, functions: Functions) -> Leverage:
        """Return the leverage of the model of a size.

        Every step of the path must have optimized all coefficients; ``functions`` are
        those of the model.
        """
        b = size + int(path.has_intercept)
        return cls(functions, path.triangle[:b, :b], path.has_intercept)

    def degrees_of_freedom(self, alpha: float) -> float:
        """Return the trace of the matrix that maps targets to fitted values."""
        b = len(self.triangle)
        inverse = solve_triangular(self.triangle, np.eye(b)) if b else np.zeros((0, 0))
        return b - alpha * float(np.square(inverse[int(self.has_intercept) :]).sum())

    def __call__(self, X: Any) -> np.ndarray:
        """Return h at the rows of X, shape (n,), in blocks of rows."""
        return np.concatenate(
            [self.of_values(G) for _, G in value_blocks(self.functions, X)]
        )

    def of_values(self, values: np.ndarray) -> np.ndarray:
        """Return h where the functions have the values (n, n_functions)."""
        if self.has_intercept:
            values = np.column_stack([np.ones(len(values)), values])
        if not values.shape[1]:
            return np.zeros(len(values))
        directions = solve_triangular(self.triangle, values.T, trans="T")
        return np.asarray(np.einsum("ij,ij->j", directions, directions))
