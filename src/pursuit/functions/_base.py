"""Base class of collections of functions, and their evaluation in blocks."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np

from pursuit._deadline import check
from pursuit._limits import amount
from pursuit._rows import row_digests
from pursuit.engine.atoms import Atoms, ComputedAtoms, Evaluate, StoredAtoms
from pursuit.engine.image import image_size

# Functions in a recomputed block: enough for matrix products to be efficient.
_LEAST_BLOCK = 16
# Values in a block that is evaluated and then stored: 16 MiB of float64.
_STORED_BLOCK = 1 << 21
# Evaluating a block needs about this many block-sized float64 arrays at once.
_SCRATCH = 2
# Functions whose values tell the size of all.
_SOME = 32
# If the mean diagonal of a kernel is below this share of the root mean square of its
# values, its size is that of the values. For positive semidefinite kernels the mean
# diagonal is never smaller.
_HOLLOW = 1e-3


class Functions(ABC):
    """A finite, ordered collection of functions of x.

    Attributes
    ----------
    rows : ndarray of int of shape (M,)
        Training row on which each function is centered, -1 for none.
    gamma : float or None
        Value of gamma that all functions share, if they do.
    """

    gamma: float | None = None

    @property
    @abstractmethod
    def rows(self) -> np.ndarray:
        """The training row on which each function is centered, -1 for none."""

    @abstractmethod
    def __getitem__(self, index: Any) -> Functions:
        """Return the collection of some of the functions, with only what these need."""

    @abstractmethod
    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) of the functions at the rows of X."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """A short description of each function."""

    @property
    def is_centered(self) -> np.ndarray:
        """Whether each function is centered on a point."""
        return np.zeros(len(self), dtype=bool)

    @property
    def centers(self) -> Any:
        """The centers of the functions that have one."""
        return np.empty((0, 0))

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        shown = ", ".join(self.names[:3]) + (", …" if len(self) > 3 else "")
        return f"<{len(self)} functions: {shown}>"

    def scale(self, X: Any, weight: np.ndarray) -> float:
        """Return a typical squared size of a function, as unit of the ridge.

        By default the median, over some functions, of their weighted mean squares.
        """
        return median_square(self[spread(len(self))](X), weight)

    def held_bytes(self, n_rows: int) -> int:
        """Return the bytes that :meth:`evaluator` holds besides the blocks."""
        return 0

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return a function that evaluates some of them on X, one function per row."""

        def evaluate(index: Any, out: np.ndarray | None = None) -> np.ndarray:
            block = self[index](X).T
            if out is None:
                return np.ascontiguousarray(block, dtype=dtype)
            out[...] = block
            return out

        return evaluate

    def on(
        self, X: Any, memory: int, dtype: Any = np.float64, n_images: int = 1
    ) -> Atoms:
        """Return the functions as atoms on the rows of X.

        Their values are stored if they fit the memory, else recomputed in blocks.
        Images of the atoms get the rest of the memory, or else half of it.

        Parameters
        ----------
        X : array or CSR of shape (n, d)
        memory : int
            Bytes that the atoms may use.
        dtype : float64 or float32
            Type of the stored values; sums are always float64.
        n_images : int
            Number of images of the atoms that may be requested.
        """
        n_rows, n_atoms = X.shape[0], len(self)
        memory -= self._checked_hold(n_rows, memory)
        evaluate = self.evaluator(X, dtype)
        left = memory - n_atoms * n_rows * np.dtype(dtype).itemsize
        if left >= 0:
            stored = np.empty((n_atoms, n_rows), dtype)
            step = max(_LEAST_BLOCK, _STORED_BLOCK // max(1, n_rows))
            for part in slices(n_atoms, step):
                check()
                evaluate(part, stored[part])
            size = image_size(n_rows, n_atoms, left // n_images)
            return StoredAtoms(stored, size)
        size = image_size(n_rows, n_atoms, memory // (2 * n_images))
        memory -= n_images * n_atoms * size
        block = max(_LEAST_BLOCK, int(memory // (8 * _SCRATCH * n_rows)))
        block = min(block, n_atoms)
        return ComputedAtoms(n_atoms, n_rows, evaluate, block, size, dtype)

    def _checked_hold(self, n_rows: int, memory: int) -> int:
        held = self.held_bytes(n_rows)
        if held and held > memory:
            raise ValueError(
                f"The functions that are not kernels take {amount(held)} on "
                f"{n_rows} rows, more than max_memory leaves them "
                f"({amount(max(memory, 0))}): raise max_memory, or use fewer "
                "functions."
            )
        return held


def spread(n: int) -> np.ndarray:
    """Return the indices of some of n functions, evenly spread."""
    return np.unique(np.linspace(0, n - 1, _SOME).astype(int))[:n]


def drawn(points: Any, n_rows: int) -> np.ndarray:
    """Return the indices of points, some if they are many, whatever their order."""
    n = max(_SOME, _STORED_BLOCK // max(1, n_rows))
    if n >= points.shape[0]:
        return np.arange(points.shape[0])
    return np.argsort(row_digests(points, np.arange(points.shape[0]), 0))[:n]


def median_square(values: np.ndarray, weight: np.ndarray) -> float:
    """Return the median, over functions (n, M), of their weighted mean squares."""
    with np.errstate(over="ignore", under="ignore"):
        squares = (weight / weight.sum()) @ np.square(values)
    return float(np.median(squares))


def is_hollow(K: np.ndarray) -> bool:
    """Return whether the diagonal of a kernel matrix is (nearly) 0, but not the rest.

    So it is for the negative distance, whose functions are as large as X.
    """
    largest = np.abs(K).max(initial=0.0)
    if not 0 < largest < np.inf:
        return False
    K = K / largest
    size = np.sqrt(np.square(K).mean())
    return bool(np.abs(np.diagonal(K)).mean() < _HOLLOW * size)


def slices(n: int, step: int) -> Iterator[slice]:
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def room_for(index: Any, n: int, n_rows: int, dtype: Any) -> np.ndarray:
    return np.empty((len(np.arange(n)[index]), n_rows), dtype)
