"""Where atoms come from.

A dictionary is a description; ``bind`` makes the working object that a pursuit reads
(:class:`pursuit._atoms.Atoms`), stored where it fits the memory, otherwise recomputed
block by block at each pass, with the same result.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ._atoms import Atoms
from .kernels import Kernel

# Atoms in a block that is recomputed: enough for matrix products to be efficient.
_LEAST_BLOCK = 16
# Kernel evaluation needs about this many block-sized float64 arrays at once.
_SCRATCH = 2


class OneKernel:
    """The atoms k(., z) for some training points z.

    Parameters
    ----------
    kernel : Kernel
        Bound: its widths are numbers.
    """

    def __init__(self, kernel: Kernel):
        self.kernel = kernel

    def bind(
        self, X: Any, centers: np.ndarray, memory: int, dtype: Any = np.float64
    ) -> Atoms:
        """Return the atoms centred on rows ``centers`` of X, as functions on all rows.

        Parameters
        ----------
        X : array or CSR of shape (l, d)
        centers : ndarray of int
        memory : int
            Bytes that the atoms may take.
        dtype : float64 or float32
            Of the stored values; sums are float64 in any case.
        """
        n_rows, n_atoms = X.shape[0], len(centers)
        all_rows = n_atoms == n_rows and bool(np.all(centers == np.arange(n_rows)))
        points = X if all_rows else X[centers]
        evaluate = self._evaluator(X, None if all_rows else points, dtype)
        size = n_atoms * n_rows * np.dtype(dtype).itemsize
        if size <= memory:
            stored = np.empty((n_atoms, n_rows), dtype)
            step = max(_LEAST_BLOCK, (1 << 23) // max(1, n_rows))
            for start in range(0, n_atoms, step):
                part = slice(start, min(start + step, n_atoms))
                evaluate(part, stored[part])
            return Atoms(n_atoms, n_rows, evaluate, n_atoms, stored)
        block = max(_LEAST_BLOCK, int(memory // (8 * _SCRATCH * n_rows)))
        return Atoms(n_atoms, n_rows, evaluate, min(block, n_atoms))

    def _evaluator(self, X: Any, points: Any, dtype: Any) -> Any:
        """Return the function that evaluates atoms on all rows, one atom a row."""
        points = X if points is None else points
        n_rows, n_atoms = X.shape[0], points.shape[0]
        if self.kernel.symmetric:
            values = self.kernel.between(points, X)

            def evaluate(index: np.ndarray | slice, out: Any = None) -> np.ndarray:
                if out is None:
                    n = len(np.arange(n_atoms)[index])
                    out = np.empty((n, n_rows), dtype)
                return values.block(rows=index, out=out)

        else:
            values = self.kernel.between(X, points)

            def evaluate(index: np.ndarray | slice, out: Any = None) -> np.ndarray:
                block = values.block(columns=index).T
                if out is None:
                    return np.ascontiguousarray(block, dtype=dtype)
                out[...] = block
                return out

        return evaluate


class Precomputed:
    """The atoms are the columns of the kernel matrix given as X."""

    kernel = None

    def bind(
        self, X: np.ndarray, centers: np.ndarray, memory: int, dtype: Any = np.float64
    ) -> Atoms:
        """Return the columns ``centers`` of X; ``memory`` bounds no copy but this."""
        stored = np.ascontiguousarray(X[:, centers].T, dtype=dtype)
        return Atoms(len(centers), X.shape[0], lambda i: stored[i], 1, stored)
