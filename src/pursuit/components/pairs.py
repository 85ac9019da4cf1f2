"""Pairs of subspaces of two views, chosen by sparse KCCA."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit.kernels import Kernel

from .choosing import Choosing, diagonal, triangle_of
from .correlation import DrawnCorrelation, LargestCorrelation
from .deflation import GreedyChoice
from .subspaces import SubspacePath, coordinate_blocks, mean_products


@dataclass(frozen=True, eq=False, repr=False)
class PairedPath:
    """Nested pairs of subspaces of two views of the same rows.

    Attributes
    ----------
    first, second : SubspacePath
        Subspaces of the two views, spanned by the same rows.
    cross : ndarray of shape (n_steps, n_steps)
        Mean products of the coordinates of the two views.
    """

    first: SubspacePath
    second: SubspacePath
    cross: np.ndarray

    def __len__(self) -> int:
        return len(self.first)

    def __repr__(self) -> str:
        return (
            f"PairedPath({len(self)} steps, stopped: {self.stop_reason}):"
            f"\n  first {self.first!r}\n  second {self.second!r}"
        )

    @property
    def atoms(self) -> np.ndarray:
        """The training row chosen at each step."""
        return self.first.atoms

    @property
    def gains(self) -> np.ndarray:
        """The criterion of each chosen row."""
        return self.first.gains

    @property
    def stop_reason(self) -> str:
        """Why the path ends."""
        return self.first.stop_reason

    def cross_covariance(self, center: bool) -> np.ndarray:
        """Return the covariance of the two views' coordinates, or mean products."""
        if not center:
            return self.cross
        return self.cross - np.outer(self.first.means, self.second.means)

    def truncate(self, size: int) -> PairedPath:
        """Return the path of the first ``size`` steps."""
        return PairedPath(
            self.first.truncate(size),
            self.second.truncate(size),
            self.cross[:size, :size],
        )


def choose_pairs(
    how: Choosing,
    kernels: tuple[Kernel | None, ...],
    X: Any,
    Y: Any,
    center: bool,
    by_covariance: bool,
) -> PairedPath:
    """Return the subspaces of pairs chosen greedily by correlation or covariance."""
    data = (X, Y)
    first, second = (
        how.view(k, how.points(k, Z), 2, name)
        for k, Z, name in zip(kernels, data, ("kernel", "kernel_y"), strict=True)
    )
    choice: GreedyChoice
    if how.n_drawn is None:
        choice = LargestCorrelation(first, second, how.max_steps, center, by_covariance)
    else:
        rng = np.random.default_rng(how.seed)
        choice = DrawnCorrelation(
            first, second, how.max_steps, center, by_covariance, how.n_drawn, rng
        )
    reason = how.run(choice, lambda: None, first)
    triangles = [triangle_of(view, choice.atoms) for view in (first, second)]
    rows, gains = how.rows(choice.atoms), choice.gains.copy()
    return _paired_path(kernels, data, rows, gains, triangles, reason)


def _paired_path(
    kernels: tuple[Kernel | None, ...],
    data: tuple[Any, Any],
    rows: np.ndarray,
    gains: np.ndarray,
    triangles: list[np.ndarray],
    reason: str,
) -> PairedPath:
    """Return the subspaces of the chosen rows in the two views, over all rows."""
    blocks = [
        coordinate_blocks(k, Z, rows, triangle)
        for k, Z, triangle in zip(kernels, data, triangles, strict=True)
    ]
    n, total, products = mean_products(zip(*blocks, strict=True))
    total, products, k = total / n, products / n, len(rows)
    parts = (slice(0, k), slice(k, None))
    paths = []
    for part, kernel, Z, triangle in zip(parts, kernels, data, triangles, strict=True):
        diag = diagonal(kernel, Z)
        paths.append(
            SubspacePath(
                atoms=rows,
                gains=gains,
                triangle=triangle,
                means=total[part],
                moments=products[part, part],
                total=float(diag.mean()),
                sup=float(diag.max()),
                n_samples=n,
                stop_reason=reason,
            )
        )
    return PairedPath(paths[0], paths[1], products[:k, k:])
