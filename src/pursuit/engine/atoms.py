"""Atoms on the training rows, as an operator: stored, or recomputed in blocks.

A pursuit needs three things from its dictionary: some columns, the correlations of all
atoms with a few vectors, and squared norms. Atoms are the *rows* of ``A`` (M, l), so
that one atom is contiguous in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import pairwise
from typing import Any

import numpy as np

from pursuit._threads import allowed_threads

from ._loops import product, products, squares
from .image import Image

# From this many vectors on, BLAS is faster than the compiled loop (in float64).
_MANY = 32

# From this size in bytes on, an image is read in several threads.
_MANY_BYTES = 3_000_000

# Pieces of work for each thread: several, because a core may be busy otherwise.
_PIECES = 4


class Atoms:
    """M atoms on l rows, given by a function that returns any block of them.

    Parameters
    ----------
    n_atoms, n_rows : int
    evaluate : callable
        ``evaluate(index)`` returns the atoms ``index`` (array or slice) on all rows,
        one atom per row.
    block : int
        Number of atoms evaluated at a time.
    stored : ndarray of shape (n_atoms, n_rows), optional
        All atoms, if they fit the memory.
    image_size : int, optional
        Numbers per atom in their image, if one is requested (see :func:`.image_size`);
        by default the number of rows.
    write : callable, optional
        ``write(index, out)`` is ``evaluate`` into an existing array, so that a pass
        needs only one block.
    dtype : float64 or float32
        Type of the array that ``write`` fills.
    """

    def __init__(
        self,
        n_atoms: int,
        n_rows: int,
        evaluate: Callable[[np.ndarray | slice], np.ndarray],
        block: int,
        stored: np.ndarray | None = None,
        image_size: int | None = None,
        write: Callable[[slice, np.ndarray], Any] | None = None,
        dtype: Any = np.float64,
    ):
        self._write, self._dtype = write, dtype
        self.n_atoms, self.n_rows = n_atoms, n_rows
        self.image_size = n_rows if image_size is None else image_size
        self.image: Image | None = None
        self._evaluate, self._block, self._stored = evaluate, block, stored
        self.n_passes = 0
        self.n_threads = allowed_threads()
        self._threads = ThreadPoolExecutor(max(1, self.n_threads - 1), "pursuit")
        self._is_sharing = False

    @property
    def is_stored(self) -> bool:
        """Whether the whole matrix is stored in memory."""
        return self._stored is not None

    @property
    def stored(self) -> np.ndarray:
        """The whole matrix, if it is stored."""
        assert self._stored is not None
        return self._stored

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return the atoms ``index`` on all rows, one atom per row, in float64."""
        stored = self._stored
        block = self._evaluate(index) if stored is None else stored[index]
        return np.asarray(block, dtype=np.float64)

    def rows_of(self, index: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return a matrix that contains the atoms ``index``, and their rows in it."""
        if self._stored is not None:
            return self._stored, index
        return self.columns(index), np.arange(len(index))

    def correlate(self, V: np.ndarray) -> np.ndarray:
        """Return ``V @ A.T`` (m, M) for vectors ``V`` (m, l).

        This takes one pass over the atoms. Sums are float64 for any storage type.
        """
        m = len(V)
        n_padded = 1 if m == 1 else -(-m // 2) * 2
        padded = np.zeros((n_padded, self.n_rows))
        padded[:m] = V
        out = np.empty((n_padded, self.n_atoms))
        for part, A in self._blocks():
            self._products(A, padded, out[:, part])
        self.n_passes += 1
        return out[:m]

    def squared_norms(self, W: np.ndarray, needs_image: bool = False) -> np.ndarray:
        """Return ``sum_i W[j, i] A[k, i]**2`` (m, M) for weightings ``W`` (m, l).

        An image that is needed and does not exist yet is made in the same pass.
        """
        out = np.empty((len(W), self.n_atoms))
        image = None
        if needs_image and self.image is None and self.image_size:
            image = Image(self.n_atoms, self.n_rows, self.image_size)
        for part, A in self._blocks():

            def work(piece: slice, part: slice = part, A: np.ndarray = A) -> None:
                place = slice(part.start + piece.start, part.start + piece.stop)
                for w, row in zip(W, out, strict=True):
                    squares(A[piece], w, row[place])
                if image is not None:
                    image.add(place, A[piece])

            self._by_threads(A, work)
        self.image = image or self.image
        return out

    def image_of_rests(self, P: np.ndarray, Q: np.ndarray, used: np.ndarray) -> Image:
        """Return an image of ``(A - P.T @ Q) * used``.

        ``Q`` and ``used`` may have more columns than there are rows; atoms are 0 there.
        """
        is_whole = self.image_size == self.n_rows
        size = len(used) if is_whole else self.image_size
        image = Image(self.n_atoms, len(used), size)
        for part, A in self._blocks():

            def work(piece: slice, part: slice = part, A: np.ndarray = A) -> None:
                for start in range(piece.start, piece.stop, _MANY):
                    some = slice(start, min(start + _MANY, piece.stop))
                    place = slice(part.start + some.start, part.start + some.stop)
                    rests = -P[:, place].T @ Q
                    rests[:, : self.n_rows] += A[some]
                    rests *= used
                    image.add(place, rests)

            self._by_threads(A, work)
        return image

    def scan(self, image: Image, v: np.ndarray) -> np.ndarray:
        """Return approximate inner products (M,) of the imaged atoms with a vector."""
        rounded, unit = image.rounded(v[: image.n_rows])
        out = np.empty(self.n_atoms)

        def work(part: slice) -> None:
            image.correlate(part, rounded, unit, out)

        n_parts = min(self.n_threads, 1 + self.n_atoms * len(rounded) // _MANY_BYTES)
        if n_parts == 1:
            work(slice(0, self.n_atoms))
            return out
        bounds = [i * self.n_atoms // n_parts for i in range(n_parts + 1)]
        self.each(work, [slice(i, j) for i, j in pairwise(bounds)])
        return out

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield all atoms in blocks; each block is valid only until the next."""
        if self._stored is not None:
            yield slice(0, self.n_atoms), self._stored
            return
        room = np.empty((self._block if self._write else 0, self.n_rows), self._dtype)
        for start in range(0, self.n_atoms, self._block):
            part = slice(start, min(start + self._block, self.n_atoms))
            if self._write is None:
                yield part, self._evaluate(part)
            else:
                A = room[: part.stop - part.start]
                self._write(part, A)
                yield part, A

    def _products(self, A: np.ndarray, V: np.ndarray, out: np.ndarray) -> None:
        def work(part: slice) -> None:
            if len(V) == 1:
                product(A[part], V[0], out[0, part])
            elif len(V) >= _MANY and A.dtype == np.float64:
                out[:, part] = V @ A[part].T
            else:
                products(A[part], V, out[:, part])

        self._by_threads(A, work)

    def _by_threads(self, A: np.ndarray, work: Callable[[slice], None]) -> None:
        """Call ``work`` on slices of the atoms, in as many threads as BLAS may use."""
        n_pieces = _PIECES * self.n_threads if self.n_threads > 1 else 1
        n_parts = min(n_pieces, 1 + A.size // 100_000)
        bounds = np.linspace(0, len(A), n_parts + 1).astype(int)
        self.each(work, [slice(i, j) for i, j in pairwise(bounds)])

    def each(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``work(item)`` for each item, computed in this and the other threads.

        Nested calls, from within an item, run in the calling thread.
        """
        if len(items) == 1 or self.n_threads == 1 or self._is_sharing:
            return [work(item) for item in items]
        results: list[Any] = [None] * len(items)
        left = enumerate(items)

        def share() -> None:
            for i, item in left:
                results[i] = work(item)

        self._is_sharing = True
        n_others = min(self.n_threads, len(items)) - 1
        others = [self._threads.submit(share) for _ in range(n_others)]
        try:
            share()
        finally:
            wait(others)
            self._is_sharing = False
        for other in others:
            other.result()
        return results

    def matmul(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return ``left @ right``, with the columns divided among the threads."""
        out = np.empty((left.shape[0], right.shape[1]))
        n_parts = min(self.n_threads, 1 + left.size * right.shape[1] // 1_000_000)
        bounds = np.linspace(0, right.shape[1], n_parts + 1).astype(int)

        def work(part: slice) -> None:
            out[:, part] = left @ right[:, part]

        self.each(work, [slice(i, j) for i, j in pairwise(bounds)])
        return out
