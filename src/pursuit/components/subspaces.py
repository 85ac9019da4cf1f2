"""Nested subspaces spanned by chosen points, and coordinates in them.

The images of the chosen points are orthonormalized in order of choice (Gram-Schmidt,
which on kernel values is the Cholesky factorization). The first ``n`` coordinates of a
point are its projection on the span of the first ``n`` points, which is Nyström's map
up to a rotation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh, solve_triangular

from pursuit.bounds import BoundCurve, kpca_compression
from pursuit.expansions import kernel_blocks, value_blocks
from pursuit.functions import Columns
from pursuit.kernels import Kernel
from pursuit.kernels._base import KernelOn

# Kernel values in a block of a projection: 32 MiB of float64.
_BLOCK = 1 << 22
# Share of the mean of ``k(x, x)`` that is rounding.
_ROUNDING = 1e-14


@dataclass(frozen=True, eq=False, repr=False)
class SubspacePath:
    """Nested subspaces of feature space, each spanned by one more training point.

    A path is immutable. ``len(path)`` is the number of points.

    Attributes
    ----------
    atoms : ndarray of shape (n_steps,)
        Training row chosen at each step.
    gains : ndarray of shape (n_steps,)
        Criterion of the chosen row.
    triangle : ndarray of shape (n_steps, n_steps)
        Lower triangular: ``triangle @ triangle.T`` is the kernel of the chosen points.
    means : ndarray of shape (n_steps,)
        Means of the coordinates over the training rows.
    moments : ndarray of shape (n_steps, n_steps)
        Mean products of the coordinates.
    total : float
        Mean of ``k(x, x)``.
    sup : float
        Largest ``k(x, x)``.
    n_samples : int
        Number of training rows.
    stop_reason : str
    """

    atoms: np.ndarray
    gains: np.ndarray
    triangle: np.ndarray
    means: np.ndarray
    moments: np.ndarray
    total: float
    sup: float
    n_samples: int
    stop_reason: str

    def __len__(self) -> int:
        return len(self.atoms)

    def __repr__(self) -> str:
        first, last = self.residuals[[0, -1]]
        return (
            f"SubspacePath({len(self)} steps, mean residual {first:.3g} -> {last:.3g}, "
            f"stopped: {self.stop_reason})"
        )

    @property
    def residuals(self) -> np.ndarray:
        """The mean of ``|phi(x) - P phi(x)|**2`` over the rows, at sizes 0, 1, ..."""
        captured = np.concatenate([[0.0], np.diagonal(self.moments).cumsum()])
        return np.maximum(self.total - captured, 0.0)

    def coordinates(self, K: np.ndarray) -> np.ndarray:
        """Return coordinates (n, n_steps) from kernel values with the chosen points."""
        return _coordinates(self.triangle, K)

    def mean_weights(self, center: bool) -> np.ndarray:
        """Return the weights of the chosen images in the mean image, or zeros."""
        means = self.means if center else np.zeros(len(self))
        return solve_triangular(self.triangle.T, means)

    def covariance(self, center: bool) -> np.ndarray:
        """Return the covariance of the coordinates, or their mean products."""
        if not center:
            return self.moments
        return self.moments - np.outer(self.means, self.means)

    def variance(self, center: bool) -> float:
        """Return the mean squared distance of images from their mean, or from 0.

        Of the mean only the part inside the span counts: all of it would take the
        kernel of all pairs of rows. Infinite if all images are equal, up to rounding:
        nothing is a share of it.
        """
        left = self.total - float(self.means @ self.means) if center else self.total
        return left if left > _ROUNDING * self.total else np.inf

    def principal_directions(self, center: bool) -> tuple[np.ndarray, np.ndarray]:
        """Return variances in decreasing order, and their directions as columns."""
        values, V = eigh(self.covariance(center))
        values, V = np.maximum(values[::-1], 0.0), V[:, ::-1]
        largest = np.abs(V).argmax(axis=0)
        return values, V * np.where(V[largest, np.arange(len(values))] < 0, -1.0, 1.0)

    def bound(
        self,
        kind: str = "compression",
        *,
        delta: float = 0.05,
        sup: float | None = None,
    ) -> BoundCurve:
        """Return a bound on the expected residual at sizes 0, 1, ...

        Theorem 2 of Hussain and Shawe-Taylor: each value is the lowest of all terms
        up to its size. The ``terms`` of the curve are those before the minimum is
        taken, as their Figure 1 shows them.

        Parameters
        ----------
        kind : {"compression"}
            The bound, whose terms are :func:`pursuit.bounds.kpca_compression`.
        delta : float
            Probability with which the bound may fail.
        sup : float, optional
            Largest possible ``k(x, x)``. By default the largest among the training
            rows, which is exact for kernels with a constant ``k(x, x)``, such as the
            Gaussian, and otherwise only an estimate.
        """
        if kind != "compression":
            raise ValueError(
                f"kind={kind!r} is not known for subspaces: use 'compression', or the "
                "functions of pursuit.bounds."
            )
        sup = self.sup if sup is None else sup
        terms = [
            kpca_compression(self.n_samples, t, r, sup=sup, delta=delta)
            for t, r in enumerate(self._outside_residuals())
        ]
        return BoundCurve.lowest_so_far(kind, terms, sup)

    def _outside_residuals(self) -> np.ndarray:
        """Return the mean residuals over the rows that are not chosen."""
        n_outside = np.maximum(self.n_samples - np.arange(len(self) + 1), 1)
        return self.residuals * (self.n_samples / n_outside)

    def truncate(self, size: int) -> SubspacePath:
        """Return the path of the first ``size`` steps."""
        if not 0 <= size <= len(self):
            raise ValueError(
                f"size={size!r} is not on the path, which has sizes 0 to {len(self)}."
            )
        return replace(
            self,
            stop_reason="truncated" if size < len(self) else self.stop_reason,
            atoms=self.atoms[:size],
            gains=self.gains[:size],
            triangle=self.triangle[:size, :size],
            means=self.means[:size],
            moments=self.moments[:size, :size],
        )


@dataclass(frozen=True, eq=False)
class Projection:
    """Directions in the span of chosen points, and the center of the coordinates.

    Attributes
    ----------
    values : KernelOn or None
        Kernel on the chosen points; None if users pass kernel values.
    weights : ndarray of shape (n_directions, n_points)
        Weights of the chosen points' images in the directions.
    offset : ndarray of shape (n_directions,)
        Coordinates of the center.
    """

    values: KernelOn | None
    weights: np.ndarray
    offset: np.ndarray

    def __call__(self, X: Any) -> np.ndarray:
        """Return the coordinates (n, n_directions) of rows, in blocks."""
        out = np.empty((X.shape[0], len(self.weights)))
        for rows, K in self.blocks(X):
            np.matmul(K, self.weights.T, out=out[rows])
            out[rows] -= self.offset
        return out

    def blocks(self, X: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield slices of rows, and their kernel values with the chosen points."""
        if self.values is None:
            yield slice(0, X.shape[0]), X
            return
        step = max(1, _BLOCK // max(1, len(self.values)))
        for start in range(0, X.shape[0], step):
            rows = slice(start, start + step)
            yield rows, self.values(X[rows])


def _coordinates(triangle: np.ndarray, K: np.ndarray) -> np.ndarray:
    return solve_triangular(triangle, K.T, lower=True).T


def coordinate_blocks(
    kernel: Kernel | None, X: Any, rows: np.ndarray, triangle: np.ndarray
) -> Iterator[np.ndarray]:
    """Yield the coordinates of all rows in the span of some of them, in blocks.

    If ``kernel`` is None, X is the kernel matrix.
    """
    if not len(rows):
        # Some kernels reject an empty set of points.
        yield np.empty((X.shape[0], 0))
        return
    if kernel is None:
        blocks = value_blocks(Columns(rows, X.shape[1], on_rows=True), X)
    else:
        blocks = kernel_blocks(kernel, X, X[rows])
    for _, K in blocks:
        yield _coordinates(triangle, K)


def mean_products(blocks: Iterable[tuple[np.ndarray, ...]]) -> tuple[Any, ...]:
    """Return ``n, sum(Z), Z'Z`` summed over blocks of rows.

    Each block is a tuple of coordinates ``(Z,)`` or ``(Z, W)``; for two, the sums of
    both and all their products, as for the columns of one wide array.
    """
    n, total, products = 0, np.zeros(0), np.zeros((0, 0))
    for block in blocks:
        Z = np.concatenate(block, axis=1) if len(block) > 1 else block[0]
        if not n:
            total, products = np.zeros(Z.shape[1]), np.zeros((Z.shape[1],) * 2)
        n += len(Z)
        total += Z.sum(axis=0)
        products += Z.T @ Z
    return n, total, products
