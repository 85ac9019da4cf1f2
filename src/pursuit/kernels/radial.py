"""Kernels that are functions of the Euclidean distance, computed tile by tile."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy import sparse

from pursuit._threads import deal, usable_threads

from ._base import Between, Kernel, as_points, check_out
from .distances import FixedPoints, Rows, paired_rows, squared_distances
from .exponential import exponentials

_ALL = slice(None)
# Rows and columns of a tile: small enough to stay in the cache until the kernel's
# function is applied, large enough for the matrix product to run at full speed.
TILE = 256
# With fewer tiles per thread, starting another thread does not pay.
TILES_A_THREAD = 4

Tile = tuple[slice, slice]


class Radial(Kernel):
    """A function of the squared distance ‖x - z‖², with k(x, x) = 1 exactly.

    ``k(X)`` is exactly symmetric; the value is exactly 1 at identical points, and 0 if
    the distance overflows. Distances cost one matrix product, O(n m d). Dense points
    are copied once and centered at their mean.
    """

    def _profile(self, D: np.ndarray) -> None:
        """Replace the squared distances D by the values of the kernel, in place."""
        raise NotImplementedError(f"{type(self).__name__} does not define _profile(D).")

    def _between(self, X: Any, Y: Any) -> Between:
        return RadialBetween(self, X, Y)

    def at(self, Y: Any) -> Callable[[Any], np.ndarray]:
        """Return the function of X that gives k(X, Y), and keeps the norms of Y."""
        whole = super().at(Y)
        Y = as_points(Y)
        if sparse.issparse(Y):
            return whole
        points = FixedPoints.of(Y)

        def evaluate(X: Any) -> np.ndarray:
            if sparse.issparse(X) or X.shape[0] * len(points) > TILE * TILE:
                return whole(X)
            # One tile: no threads.
            D = points.squared_distances(X)
            self._profile(D)
            return D

        return evaluate

    def _diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0])


class RadialBetween(Between):
    """The matrix k(X, Y) of a `Radial` kernel; stores the norms of the points.

    Blocks are computed in as many threads as were allowed when the object was created.
    Each thread computes whole tiles, so that one thread of BLAS is enough.
    """

    kernel: Radial

    def __init__(self, kernel: Radial, X: Any, Y: Any) -> None:
        super().__init__(kernel, X, Y)
        self.left, self.right = paired_rows(X, Y)
        self.n_threads = usable_threads()

    def block(
        self, rows: Any = _ALL, columns: Any = _ALL, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the block of the given rows and columns.

        Parameters
        ----------
        rows, columns : slice or array of int
            Equal slices (or the same array) of one set of points give an exactly
            symmetric block at half the cost.
        out : ndarray of float64 or float32, optional
            Where to write the block; in float32, subnormal values become 0.
        """
        left = self.left[rows]
        symmetric = self.left is self.right and _same_index(rows, columns)
        right = left if symmetric else self.right[columns]
        out = np.empty((len(left), len(right))) if out is None else out
        check_out(out, (len(left), len(right)))

        def work(tiles: Sequence[Tile]) -> None:
            buffer = np.empty(min(TILE * TILE, out.size))
            for here, there in tiles:
                self._write(left, right, here, there, buffer, out)

        tiles = _tiles(len(left), len(right), symmetric)
        deal(work, tiles, min(self.n_threads, len(tiles) // TILES_A_THREAD))
        return out

    def _write(
        self,
        left: Rows,
        right: Rows,
        here: slice,
        there: slice,
        buffer: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Compute one tile and, if the matrix is symmetric, its mirror image."""
        is_diagonal = left is right and here == there
        x = left[here]
        z = x if is_diagonal else right[there]
        D = buffer[: len(x) * len(z)].reshape(len(x), len(z))
        self.kernel._profile(squared_distances(x, z, D))
        if out.dtype == np.float32:
            D[np.finfo(np.float32).tiny > D] = 0.0
        out[here, there] = D
        if left is right and not is_diagonal:
            out[there, here] = D.T


def _tiles(n: int, m: int, symmetric: bool) -> list[Tile]:
    """Return tiles of one size that cover an (n, m) matrix, or its upper triangle."""
    height = max(1, min(n, TILE * TILE // max(1, min(m, TILE))))
    width = TILE * TILE // height
    rows = [slice(a, min(a + height, n)) for a in range(0, n, height)]
    columns = [slice(a, min(a + width, m)) for a in range(0, m, width)]
    tiles = [(here, there) for here in rows for there in columns]
    return [t for t in tiles if not symmetric or t[0].start <= t[1].start]


def _same_index(rows: Any, columns: Any) -> bool:
    slices = isinstance(rows, slice) and isinstance(columns, slice)
    return rows is columns or (slices and rows == columns)


class Gaussian(Radial):
    """k(x, z) = exp(-gamma ‖x - z‖²).

    Parameters
    ----------
    gamma : positive float or {"median", "scale", "auto"}
        Inverse squared width; larger is narrower. `bind` replaces the rules by
        numbers: 1 / median of ‖x - z‖² over pairs of different points,
        1 / (d * variance of X), or 1 / d.
    """

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _profile(self, D: np.ndarray) -> None:
        exponentials(D, -float(self.gamma))


class Matern(Radial):
    """Matérn kernel of smoothness nu, a function of r = sqrt(gamma) ‖x - z‖.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        exp(-r), (1 + t) exp(-t) with t = √3 r, (1 + t + t²/3) exp(-t) with t = √5 r.
    gamma : positive float or {"median", "scale", "auto"}
        Inverse squared width, 1 / length_scale²; rules as in `Gaussian`.
    """

    def __init__(self, nu: float = 1.5, gamma: float | str = "median") -> None:
        self.nu = nu
        self.gamma = gamma

    def _profile(self, D: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            D *= 2.0 * self.nu * float(self.gamma)
        # Beyond 1e4 the exponential is 0, and inf * 0 would be NaN.
        t = np.sqrt(np.minimum(D, 1e8, out=D))
        D[...] = t
        exponentials(D, -1.0)
        if self.nu > 0.5:
            D *= 1.0 + t + (t * t / 3.0 if self.nu == 2.5 else 0.0)

    def _check(self) -> None:
        super()._check()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu={self.nu!r} must be 0.5, 1.5 or 2.5.")


class InverseMultiquadric(Radial):
    """k(x, z) = 1 / sqrt(1 + gamma ‖x - z‖²), with `gamma` as in `Gaussian`."""

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _profile(self, D: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            D *= float(self.gamma)
        D += 1.0
        np.sqrt(D, out=D)
        np.reciprocal(D, out=D)
