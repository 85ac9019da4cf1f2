"""Kernel matrices computed tile by tile, in threads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from pursuit._threads import deal, usable_threads

from ._base import Between, Kernel, check_out

_ALL = slice(None)
# Rows and columns of a tile: small enough to stay in the cache until the kernel's
# function is applied, large enough for the matrix product to run at full speed.
TILE = 256
# With fewer tiles per thread, starting another thread does not pay.
TILES_A_THREAD = 4

Tile = tuple[slice, slice]


class TiledBetween(Between):
    """The symmetric kernel's matrix k(X, Y) of which a tile is computed at a time.

    Blocks are computed in as many threads as were allowed when the object was created.
    Each thread computes whole tiles, so that one thread of BLAS is enough.

    Attributes
    ----------
    left, right : sequences
        Points as `_tile` takes them, indexed as arrays of rows; one object if Y is X.
    """

    def __init__(self, kernel: Kernel, X: Any, Y: Any, left: Any, right: Any) -> None:
        super().__init__(kernel, X, Y)
        self.left, self.right = left, right
        self.n_threads = usable_threads()

    def _tile(self, x: Any, z: Any, buffer: np.ndarray) -> np.ndarray:
        """Return k(x, z) in the memory of ``buffer``, which has just that size."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define _tile(x, z, buffer)."
        )

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

        def work(tiles: Iterable[Tile]) -> None:
            buffer = np.empty(min(TILE * TILE, out.size))
            for here, there in tiles:
                self._write(left, right, here, there, buffer, out)

        tiles = _tiles(len(left), len(right), symmetric)
        deal(work, tiles, min(self.n_threads, len(tiles) // TILES_A_THREAD))
        return out

    def _write(
        self,
        left: Any,
        right: Any,
        here: slice,
        there: slice,
        buffer: np.ndarray,
        out: np.ndarray,
    ) -> None:
        """Compute one tile and, if the matrix is symmetric, its mirror image."""
        is_diagonal = left is right and here == there
        x = left[here]
        z = x if is_diagonal else right[there]
        D = self._tile(x, z, buffer[: len(x) * len(z)])
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


def is_one_tile(n: int, m: int) -> bool:
    """Return whether an (n, m) matrix needs no second tile."""
    return n * m <= TILE * TILE
