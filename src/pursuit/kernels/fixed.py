"""Kernel values with fixed points, prepared once for many calls."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from ._base import Kernel
from .distances import Rows, _center, _rows, squared_distances
from .radial import TILE, Radial


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
        if not is_small or sparse.issparse(X) or self._centered is None:
            return self.kernel(X, self.points)
        center, right = self._centered
        left = _rows(X - center)
        D = squared_distances(left, right, np.empty((len(left), len(right))))
        self.kernel._profile(D)
        return D

    @cached_property
    def _centered(self) -> tuple[np.ndarray, Rows] | None:
        """The origin of distances, and the points about it; None without distances."""
        if not isinstance(self.kernel, Radial) or sparse.issparse(self.points):
            return None
        center = _center(self.points)
        return center, _rows(self.points - center)

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "points": self.points}
