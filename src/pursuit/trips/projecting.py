"""A trip that sums up coordinates of rows in the span of chosen points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.linalg import solve_triangular

from pursuit.batches import Block
from pursuit.engine.gram import add_products
from pursuit.engine.moments import rows_at_once
from pursuit.kernels._base import KernelOn

from .blocks import points_of
from .visits import Tally, Trip


@dataclass(eq=False)
class Projected(Tally):
    """Sums over the rows so far.

    Attributes
    ----------
    total : ndarray of shape (N,)
        Sums of the coordinates.
    products : ndarray of shape (N, N)
        Sums of their products, in the upper triangle.
    trace, sup : float
        Sum, and largest, of ``k(x, x)``.
    """

    n_rows: int
    total: np.ndarray
    products: np.ndarray
    trace: float = 0.0
    sup: float = 0.0

    def merged(self, other: Projected) -> Projected:
        """Return the sums over the rows of both."""
        return Projected(
            n_rows=self.n_rows + other.n_rows,
            total=self.total + other.total,
            products=self.products + other.products,
            trace=self.trace + other.trace,
            sup=max(self.sup, other.sup),
        )


@dataclass(frozen=True, eq=False)
class Project(Trip[Projected]):
    """Project rows on the span of points.

    Attributes
    ----------
    values : KernelOn
        The kernel on the points.
    triangle : ndarray of shape (N, N)
        Lower triangular: ``triangle @ triangle.T`` is the kernel of the points.
    """

    values: KernelOn
    triangle: np.ndarray
    name: ClassVar[str] = "products"

    def begin(self) -> Projected:
        """Return the tally of no rows."""
        n = len(self.triangle)
        return Projected(0, np.zeros(n), np.zeros((n, n)))

    def visit(self, tally: Projected, block: Block) -> None:
        """Add a block."""
        if not len(block):
            return
        X = points_of(block, self.values.points.shape[1])
        squares = np.asarray(self.values.kernel.diag(X), dtype=np.float64)
        if squares.min() < 0:
            raise ValueError(
                f"{block.where}: the kernel has k(x, x) down to {squares.min():g}; it "
                "must be positive semi-definite."
            )
        step = rows_at_once(*self.values.points.shape)
        for start in range(0, len(block), step):
            K = self.values(X[start : start + step])
            Z = solve_triangular(self.triangle, K.T, lower=True)
            tally.total += Z.sum(axis=1)
            add_products(tally.products, 1.0, np.ascontiguousarray(Z))
        tally.trace += float(squares.sum())
        tally.sup = max(tally.sup, float(squares.max()))
        tally.n_rows += len(block)
