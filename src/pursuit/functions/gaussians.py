"""Gaussians shaped one by one: in their widths, or along directions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pursuit._threads import allowed_threads, deal
from pursuit.engine.atoms import Evaluate
from pursuit.kernels.distances import Rows, paired_rows, squared_distances

from ._base import room_for, slices
from ._gaussian_loops import write_oriented, write_varied
from .centered import Centered

# Points and rows of a tile: its distances stay in the cache.
_TILE = 256
# Fewer are done before another thread has begun.
_TILES_A_THREAD = 4


class _Gaussians(Centered):
    """Gaussians of height 1, of which a kind says how it evaluates them."""

    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) at the rows of X."""
        return self.evaluator(X, np.float64)(slice(None)).T

    def scale(self, X: Any, weight: np.ndarray) -> float:
        """Return 1, the size at the center."""
        return 1.0


@dataclass(frozen=True, eq=False, repr=False)
class VariedGaussians(_Gaussians):
    """exp(-gamma_i ‖x - z_i‖²): Gaussians of which each has its own width.

    Several may stand on one point: they share its distances.

    Attributes
    ----------
    points : array or CSR of shape (P, d)
    gammas : ndarray of shape (M,)
    place : ndarray of int of shape (M,)
        Which of the points is each one's.
    """

    gammas: np.ndarray
    place: np.ndarray

    @property
    def centers(self) -> Any:
        """The points, one a function."""
        return self.points[self.place]

    def __getitem__(self, index: Any) -> VariedGaussians:
        used, place = np.unique(self.place[index], return_inverse=True)
        return replace(
            self,
            points=self.points[used],
            numbers=self.numbers[index],
            gammas=self.gammas[index],
            place=place,
        )

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return what evaluates any of them on the rows of X, one a row."""
        left, right = paired_rows(self.points, X)
        floor, n_threads = _floor(dtype), allowed_threads()

        def evaluate(index: Any, out: np.ndarray | None = None) -> np.ndarray:
            if out is None:
                out = room_for(index, len(self), len(right), dtype)
            place, gammas = self.place[index], self.gammas[index]
            # By their points, so that those on one point come together.
            order = np.argsort(place, kind="stable")
            points, local = np.unique(place[order], return_inverse=True)

            def work(tiles: Sequence[tuple[slice, slice]]) -> None:
                for here, there in tiles:
                    x, z = right[there], left[points[here]]
                    D = squared_distances(z, x, np.empty((len(z), len(x))))
                    first, last = np.searchsorted(local, (here.start, here.stop))
                    some = order[first:last]
                    at = local[first:last] - here.start
                    write_varied(D, at, gammas[some], floor, out, some, there.start)

            tiles = [
                (here, there)
                for here in slices(len(points), _TILE)
                for there in slices(len(right), _TILE)
            ]
            deal(work, tiles, min(n_threads, len(tiles) // _TILES_A_THREAD))
            return out

        return evaluate

    def _titles(self) -> Sequence[str]:
        return [f"rbf(γ={gamma:.3g})" for gamma in self.gammas]


@dataclass(frozen=True, eq=False, repr=False)
class OrientedGaussianFunctions(_Gaussians):
    """exp(-½ δᵀ C_i⁻¹ δ), δ = x - z_i: Gaussians stretched along directions.

    ``C_i = σ²I + Σ_j (λ_ij - σ²) v_ij v_ijᵀ`` with σ² = 1/(2 gamma), so that
    ``½ δᵀ C_i⁻¹ δ = gamma (‖δ‖² - Σ_j (1 - σ²/λ_ij) (v_ijᵀ δ)²)``.

    Attributes
    ----------
    width : float
        gamma, across the directions.
    directions : ndarray of shape (M, d, k)
        Orthonormal, for each function.
    variances : ndarray of shape (M, k)
        λ_ij - σ², along them.
    """

    width: float
    directions: np.ndarray
    variances: np.ndarray
    _own: ClassVar[tuple[str, ...]] = ("points", "numbers", "directions", "variances")

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """The width across the directions."""
        return self.width

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return what evaluates any of them on the rows of X, one a row."""
        left, right = paired_rows(self.points, X)
        floor, n_threads = _floor(dtype), allowed_threads()
        step = max(1, _TILE // max(1, self.directions.shape[2]))

        def evaluate(index: Any, out: np.ndarray | None = None) -> np.ndarray:
            if out is None:
                out = room_for(index, len(self), len(right), dtype)
            wanted = np.arange(len(self))[index]

            def work(parts: Sequence[slice]) -> None:
                for part in parts:
                    self._write(wanted[part], left, right, floor, out[part])

            parts = list(slices(len(wanted), step))
            deal(work, parts, min(n_threads, len(parts)))
            return out

        return evaluate

    def _write(
        self, some: np.ndarray, left: Rows, right: Rows, floor: float, out: np.ndarray
    ) -> None:
        """Write the values of some of them, tile by tile."""
        z, V, variances = left[some], self.directions[some], self.variances[some]
        m, d, r = V.shape
        sigma2 = 0.5 / self.width
        shrunk = sigma2 / (variances + sigma2)
        turned = np.ascontiguousarray(V.transpose(0, 2, 1))
        with np.errstate(over="ignore", invalid="ignore"):
            offsets = np.einsum("mrd,md->mr", turned, z.points)
            for part in slices(len(right), _TILE):
                x = right[part]
                D = squared_distances(z, x, np.empty((m, len(x))))
                along = (turned.reshape(m * r, d) @ x.points.T).reshape(m, r, len(x))
                write_oriented(
                    D,
                    along,
                    offsets,
                    shrunk,
                    self.width,
                    z.points,
                    z.norms,
                    V,
                    x.points,
                    x.norms,
                    floor,
                    out[:, part],
                )

    def _titles(self) -> Sequence[str]:
        return [f"oriented rbf(γ={self.width:.3g})"] * len(self)


def _floor(dtype: Any) -> float:
    """Return below what a value counts as 0: single precision has no smaller ones."""
    return float(np.finfo(np.float32).tiny) if np.dtype(dtype) == np.float32 else 0.0
