"""Atoms on the training rows, as an operator: stored, or recomputed in blocks.

A pursuit needs three things from its dictionary: the values of some atoms, the
correlations of all atoms with a few vectors, and squared norms. Atoms are the *rows* of
``A`` (M, l), so that one atom is contiguous in memory.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np

from pursuit._deadline import check
from pursuit._threads import Pool

from ._loops import add_products, product, squares
from .image import Image

# From this many vectors on, BLAS is faster than the compiled loop (in float64).
_MANY = 32

# Number of atoms whose values are looked at together.
_LOOKED_AT = 64

# From this size in bytes on, an image is read in several threads.
_MANY_BYTES = 3_000_000

# From this many values on, a pass is done in several threads, and in several pieces for
# each thread, because a core may be busy otherwise.
_MANY_VALUES, _PIECES = 100_000, 4


class Evaluate(Protocol):
    """A function that evaluates atoms on all rows."""

    def __call__(self, index: Any, out: np.ndarray | None = None) -> np.ndarray:
        """Return the atoms ``index``, one per row, written into ``out`` if given."""


class Atoms(ABC):
    """M atoms on l rows.

    Parameters
    ----------
    n_atoms, n_rows : int
    image_size : int or None
        Numbers per atom in their image, if one is requested (see :func:`.image_size`);
        by default the number of rows.

    Attributes
    ----------
    image : Image or None
    n_passes : int
        Number of passes over all atoms.
    pool : Pool
        Threads that share the work.
    """

    def __init__(self, n_atoms: int, n_rows: int, image_size: int | None):
        self.n_atoms, self.n_rows = n_atoms, n_rows
        self.image_size = n_rows if image_size is None else image_size
        self.image: Image | None = None
        self.n_passes = 0
        self.pool = Pool()

    @property
    def stored(self) -> np.ndarray | None:
        """The matrix (M, l) of all atoms if it is in memory, else None."""
        return None

    @abstractmethod
    def values(self, index: np.ndarray) -> np.ndarray:
        """Return the atoms ``index`` on all rows, one atom per row, in float64."""

    @abstractmethod
    def change(self, change: Callable[[np.ndarray], None]) -> None:
        """Change the values of all atoms in place, by a function of some of them."""

    @abstractmethod
    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield all atoms in blocks; each block is valid only until the next."""

    def correlate(self, V: np.ndarray) -> np.ndarray:
        """Return ``V @ A.T`` (m, M) for vectors ``V`` (m, l).

        This takes one pass over the atoms. Sums are float64 for any storage type.
        """
        m = len(V)
        n_padded = 1 if m == 1 else -(-m // 2) * 2
        padded = np.zeros((n_padded, self.n_rows))
        padded[:m] = V
        out = np.zeros((n_padded, self.n_atoms))
        for part, A in self._blocks():
            self._add_products(A, padded, out, part.start)
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

    def deviations(self, index: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return the squared norms of some atoms around their weighted means.

        They are computed from the values, because the squared norm of an atom far from
        zero minus that of its mean is round-off.
        """
        out = np.empty(len(index))
        for start in range(0, len(index), _LOOKED_AT):
            some = slice(start, start + _LOOKED_AT)
            A = self.values(index[some])
            # Twice, because a mean of large values is rounded.
            for _ in range(2):
                A -= (A @ weight / weight.sum())[:, None]
            out[some] = (A * A) @ weight
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

        n_parts = 1 + self.n_atoms * len(rounded) // _MANY_BYTES
        self.pool.split(work, self.n_atoms, min(self.pool.n_threads, n_parts))
        return out

    def _add_products(
        self, A: np.ndarray, V: np.ndarray, out: np.ndarray, first: int
    ) -> None:
        """Add ``V @ A.T`` to the columns of ``out`` from ``first`` on."""

        def work(piece: slice) -> None:
            place = slice(first + piece.start, first + piece.stop)
            if len(V) == 1:
                product(A[piece], V[0], out[0, place])
            elif len(V) >= _MANY and A.dtype == np.float64:
                out[:, place] = V @ A[piece].T
            else:
                add_products(A[piece], V, out, place.start)

        self._by_threads(A, work)

    def _by_threads(self, A: np.ndarray, work: Callable[[slice], None]) -> None:
        """Call ``work`` on slices of the atoms, in as many threads as BLAS may use."""
        n_threads = self.pool.n_threads
        n_pieces = _PIECES * n_threads if n_threads > 1 else 1
        self.pool.split(work, len(A), min(n_pieces, 1 + A.size // _MANY_VALUES))


class StoredAtoms(Atoms):
    """Atoms stored in memory.

    Parameters
    ----------
    A : ndarray of shape (n_atoms, n_rows)
    image_size : int, optional
        As in :class:`Atoms`.
    """

    def __init__(self, A: np.ndarray, image_size: int | None = None):
        super().__init__(A.shape[0], A.shape[1], image_size)
        self.A = A

    @property
    def stored(self) -> np.ndarray:
        """The matrix (M, l) of all atoms."""
        return self.A

    def values(self, index: np.ndarray) -> np.ndarray:
        """Return the atoms ``index`` on all rows, one atom per row, in float64."""
        return np.asarray(self.A[index], dtype=np.float64)

    def change(self, change: Callable[[np.ndarray], None]) -> None:
        """Change the values of all atoms in place, by a function of some of them."""
        change(self.A)

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        yield slice(0, self.n_atoms), self.A


class ComputedAtoms(Atoms):
    """Atoms computed again in each pass, one block at a time.

    Parameters
    ----------
    n_atoms, n_rows : int
    evaluate : Evaluate
    block : int
        Number of atoms evaluated at a time.
    image_size : int, optional
        As in :class:`Atoms`.
    dtype : float64 or float32
        Type of a block.
    """

    def __init__(
        self,
        n_atoms: int,
        n_rows: int,
        evaluate: Evaluate,
        block: int,
        image_size: int | None = None,
        dtype: Any = np.float64,
    ):
        super().__init__(n_atoms, n_rows, image_size)
        self._evaluate, self._block, self._dtype = evaluate, block, dtype

    def values(self, index: np.ndarray) -> np.ndarray:
        """Return the atoms ``index`` on all rows, one atom per row, in float64."""
        return np.asarray(self._evaluate(index), dtype=np.float64)

    def change(self, change: Callable[[np.ndarray], None]) -> None:
        """Change the values of atoms from here on, whenever they are computed."""
        evaluate = self._evaluate

        def changed(index: Any, out: np.ndarray | None = None) -> np.ndarray:
            values = evaluate(index, out)
            change(values)
            return values

        self._evaluate = changed

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        room = np.empty((self._block, self.n_rows), self._dtype)
        for start in range(0, self.n_atoms, self._block):
            check()
            part = slice(start, min(start + self._block, self.n_atoms))
            yield part, self._evaluate(part, room[: part.stop - part.start])
