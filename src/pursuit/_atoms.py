"""Atoms bound to rows: the operator that a pursuit reads, stored or recomputed.

A pursuit asks three things of its dictionary, and only these: some columns, the
correlations of every atom with a few vectors, and squared norms.  Atoms are kept as
the *rows* of ``A`` (M, l), so that one atom is contiguous in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_info

from ._loops import product, products, squares

# From this many vectors on, BLAS is faster than the compiled loop.
_MANY = 32


def _blas_threads() -> int:
    """Return how many threads BLAS may use now, as limited by the user."""
    pools = [p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"]
    return max(pools, default=1)


class Atoms:
    """M atoms on l rows, given by a function that returns any block of them.

    Parameters
    ----------
    n_atoms, n_rows : int
    evaluate : callable
        ``evaluate(index)`` returns the atoms ``index`` (array or slice) on all rows,
        one atom a row.
    block : int
        How many atoms are evaluated at a time.
    stored : ndarray of shape (n_atoms, n_rows), optional
        All of them, where they fit the memory.
    """

    def __init__(
        self,
        n_atoms: int,
        n_rows: int,
        evaluate: Callable[[np.ndarray | slice], np.ndarray],
        block: int,
        stored: np.ndarray | None = None,
    ):
        self.n_atoms, self.n_rows = n_atoms, n_rows
        self._evaluate, self._block, self._stored = evaluate, block, stored
        self._n_threads = _blas_threads()
        self.n_passes = 0

    @property
    def is_stored(self) -> bool:
        """Whether the whole matrix is kept in memory."""
        return self._stored is not None

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return the atoms ``index`` on all rows, one atom a row, in float64."""
        if self._stored is not None:
            return self._stored[index].astype(np.float64)
        return np.asarray(self._evaluate(index), dtype=np.float64)

    def correlate(self, V: np.ndarray) -> np.ndarray:
        """Return ``V @ A.T`` (m, M) for vectors ``V`` (m, l): one pass over the atoms.

        Sums are float64 whatever the storage.
        """
        m = len(V)
        n_padded = m if m == 1 or m >= _MANY else -(-m // 4) * 4
        padded = np.zeros((n_padded, self.n_rows))
        padded[:m] = V
        out = np.empty((n_padded, self.n_atoms))
        for part, A in self._blocks():
            self._products(A, padded, out[:, part])
        self.n_passes += 1
        return out[:m]

    def squared_norms(self, W: np.ndarray) -> np.ndarray:
        """Return ``sum_i W[j, i] A[k, i]**2`` (m, M) for weightings ``W`` (m, l)."""
        out = np.empty((len(W), self.n_atoms))
        for part, A in self._blocks():
            for w, row in zip(W, out[:, part], strict=True):
                squares(A, w, row)
        return out

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        if self._stored is not None:
            yield slice(0, self.n_atoms), self._stored
            return
        for start in range(0, self.n_atoms, self._block):
            part = slice(start, min(start + self._block, self.n_atoms))
            yield part, self._evaluate(part)

    def _products(self, A: np.ndarray, V: np.ndarray, out: np.ndarray) -> None:
        if len(V) >= _MANY:
            _wide_products(A, V, out)
        elif len(V) == 1:
            self._by_threads(A, lambda part: product(A[part], V[0], out[0, part]))
        else:
            self._by_threads(A, lambda part: products(A[part], V, out[:, part]))

    def _by_threads(self, A: np.ndarray, work: Callable[[slice], None]) -> None:
        """Do ``work`` on slices of the atoms, in as many threads as BLAS may use."""
        n_threads = min(self._n_threads, 1 + A.size // 100_000)
        if n_threads == 1:
            work(slice(0, len(A)))
            return
        bounds = np.linspace(0, len(A), n_threads + 1).astype(int)
        parts = [slice(i, j) for i, j in zip(bounds[:-1], bounds[1:], strict=True)]
        with ThreadPoolExecutor(n_threads) as pool:
            list(pool.map(work, parts))


def _wide_products(A: np.ndarray, V: np.ndarray, out: np.ndarray) -> None:
    """Write ``V @ A.T`` through BLAS, widening float32 a cache-sized block at a time."""
    if A.dtype == np.float64:
        np.matmul(V, A.T, out=out)
        return
    step = max(32, (1 << 20) // A.shape[1])
    for start in range(0, len(A), step):
        block = A[start : start + step].astype(np.float64)
        out[:, start : start + step] = V @ block.T
