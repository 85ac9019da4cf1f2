"""Gaussians with individual widths, or stretched along directions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pursuit._threads import allowed_threads, deal
from pursuit.engine.atoms import Evaluate
from pursuit.kernels.distances import Rows, paired_rows, squared_distances

from ._base import room_for, slices
from ._gaussian_loops import write_oriented, write_varied
from .centered import Centered

# Points and rows of a tile, whose distances stay in the cache.
_TILE = 256
# With fewer tiles per thread, starting another thread does not pay.
_TILES_A_THREAD = 4


class _Gaussians(Centered):
    """Base class of Gaussians of height 1; subclasses evaluate them."""

    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) of the functions at the rows of X."""
        return self.evaluator(X, np.float64)(slice(None)).T

    def scale(self, X: Any, weight: np.ndarray) -> float:
        """Return 1, the value at the center."""
        return 1.0


@dataclass(frozen=True, eq=False, repr=False)
class VariedGaussians(_Gaussians):
    """Gaussians exp(-gamma_i ‖x - z_i‖²), each with its own gamma.

    Several may be centered on one point, and share its distances.

    Attributes
    ----------
    points : array or CSR of shape (P, d)
    gammas : ndarray of shape (M,)
    place : ndarray of int of shape (M,)
        Index of the point of each function.
    """

    gammas: np.ndarray
    place: np.ndarray

    @property
    def centers(self) -> Any:
        """The points, one per function."""
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
        """Return a function that evaluates some of them on X, one function per row."""
        left, right = paired_rows(self.points, X)
        floor, n_threads = _floor(dtype), allowed_threads()

        def evaluate(index: Any, out: np.ndarray | None = None) -> np.ndarray:
            if out is None:
                out = room_for(index, len(self), len(right), dtype)
            place, gammas = self.place[index], self.gammas[index]
            # Sort by point, so that functions on one point are adjacent.
            order = np.argsort(place, kind="stable")
            points, local = np.unique(place[order], return_inverse=True)

            def work(tiles: Iterable[tuple[slice, slice]]) -> None:
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
    """Gaussians exp(-½ δᵀ C_i⁻¹ δ), δ = x - z_i, stretched along directions.

    ``C_i = σ²I + Σ_j (λ_ij - σ²) v_ij v_ijᵀ`` with σ² = 1/(2 gamma), so that
    ``½ δᵀ C_i⁻¹ δ = gamma (‖δ‖² - Σ_j (1 - σ²/λ_ij) (v_ijᵀ δ)²)``.

    Attributes
    ----------
    width : float
        Value of gamma across the directions.
    directions : ndarray of shape (M, d, k)
        Orthonormal directions of each function.
    variances : ndarray of shape (M, k)
        λ_ij - σ² along the directions.
    """

    width: float
    directions: np.ndarray
    variances: np.ndarray
    _own: ClassVar[tuple[str, ...]] = ("points", "numbers", "directions", "variances")

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """The value of gamma across the directions."""
        return self.width

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return a function that evaluates some of them on X, one function per row."""
        left, right = paired_rows(self.points, X)
        floor, n_threads = _floor(dtype), allowed_threads()
        step = max(1, _TILE // max(1, self.directions.shape[2]))

        def evaluate(index: Any, out: np.ndarray | None = None) -> np.ndarray:
            if out is None:
                out = room_for(index, len(self), len(right), dtype)
            wanted = np.arange(len(self))[index]

            def work(parts: Iterable[slice]) -> None:
                for part in parts:
                    self._write(wanted[part], left, right, floor, out[part])

            parts = list(slices(len(wanted), step))
            deal(work, parts, min(n_threads, len(parts)))
            return out

        return evaluate

    def _write(
        self, some: np.ndarray, left: Rows, right: Rows, floor: float, out: np.ndarray
    ) -> None:
        """Write the values of some functions, tile by tile."""
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
    """Return the value below which results become 0, to avoid subnormal float32."""
    return float(np.finfo(np.float32).tiny) if np.dtype(dtype) == np.float32 else 0.0
