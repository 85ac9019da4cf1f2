"""Distances to fixed points and kernel values with them, prepared for many calls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ._base import Kernel
from .distances import Rows, paired_rows, squared_distances
from .radial import TILE, Radial


@dataclass(frozen=True, eq=False)
class FixedPoints:
    """Dense points to which squared distances are computed.

    Attributes
    ----------
    center : ndarray of shape (d,)
        Origin about which distances are computed.
    rows : Rows
        The points about the center, with their squared norms.
    """

    center: np.ndarray
    rows: Rows

    @classmethod
    def of(cls, points: np.ndarray) -> FixedPoints:
        """Prepare the points, (m, d)."""
        # The origin, seen from the center, is minus the center.
        origin, rows = paired_rows(np.zeros((1, points.shape[1])), points)
        return cls(-origin.points[0], rows)

    def squared_distances(self, X: np.ndarray) -> np.ndarray:
        """Return |x - z|² for the rows x of X, as `paired_rows` would, (n, m)."""
        with np.errstate(over="ignore"):
            points = X - self.center
            norms = np.einsum("ij,ij->i", points, points)
        D = np.empty((len(points), len(self.rows)))
        return squared_distances(Rows(points, norms), self.rows, D)


@dataclass(frozen=True, eq=False)
class KernelOn:
    """The functions k(·, z) on fixed points z.

    Values are those of ``kernel(X, points)``. If they are few, as at one row, what the
    points alone determine is not computed again.

    Attributes
    ----------
    kernel : Kernel
        Bound kernel, with numeric gammas.
    points : array or CSR of shape (m, d)
    """

    kernel: Kernel
    points: Any

    def __len__(self) -> int:
        return int(self.points.shape[0])

    def __call__(self, X: Any) -> np.ndarray:
        """Return k(x, z) for the rows of X, float64 or CSR, of shape (n, m)."""
        is_small = X.shape[0] * len(self) <= TILE * TILE
        if not is_small or sparse.issparse(X) or self._fixed is None:
            return self.kernel(X, self.points)
        D = self._fixed.squared_distances(X)
        self.kernel._profile(D)
        return D

    @cached_property
    def _fixed(self) -> FixedPoints | None:
        """The points prepared for distances, None for kernels without them."""
        if not isinstance(self.kernel, Radial) or sparse.issparse(self.points):
            return None
        return FixedPoints.of(self.points)

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "points": self.points}
