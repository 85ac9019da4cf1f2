"""Points in blocks, with their neighborhoods among the reference points."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from pursuit._limits import Limits
from pursuit._progress import Progress

from .subspaces import Neighborhoods, Query, Tangents, no_tangents, reconstruct

# Number of points searched at a time: enough for efficient matrix products.
_MOST_ROWS = 4096

# ``find(rows, K)`` returns the neighborhoods of some rows of the points.
Find = Callable[[slice, int], Neighborhoods]


@dataclass(frozen=True)
class QueryBlocks:
    """Reference points, and how points get their neighborhoods among them in blocks.

    Attributes
    ----------
    R : ndarray of shape (l, d)
        Reference points.
    n_classes : int
    tangents_of : callable or None
        Maps rows of R to their directions of invariance (n, m, d).
    limits : Limits
        Memory of a block, and threads.
    verbose : int or bool
    """

    R: np.ndarray
    n_classes: int
    tangents_of: Callable[[np.ndarray], np.ndarray] | None
    limits: Limits
    verbose: int | bool = 0

    def of(
        self, X: np.ndarray, find: Find, n_neighbors: int, more: int = 0
    ) -> Iterator[tuple[slice, Query]]:
        """Yield rows of X with their neighborhoods, as many as the memory allows.

        ``more`` is the number of bytes that the caller needs for each row.
        """
        step = self._rows(n_neighbors, more)
        n_threads = self.limits.n_threads
        with Progress(len(X), "neighbors", self.verbose, "point") as progress:
            for start in range(0, len(X), step):
                rows = slice(start, min(start + step, len(X)))
                hoods = find(rows, n_neighbors)
                # A copy, because compiled loops need writable arrays.
                block = np.array(X[rows], order="C")
                tangents = self._tangents(hoods)
                yield rows, Query(self.R, block, hoods, tangents, n_threads)
                progress.show(rows.stop)

    def reconstructed(
        self,
        X: np.ndarray,
        find: Find,
        values: np.ndarray,
        penalties: np.ndarray,
        numbers: np.ndarray,
    ) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield rows of X with their values (n, T, L, len(numbers)), in blocks.

        They are rebuilt from the values (l, T) of the neighbors, which are of one
        class; see :func:`.reconstruct`.
        """
        most = int(numbers[-1])
        more = 3 * 8 * values.shape[1] * len(penalties) * most
        for rows, query in self.of(X, find, most, more):
            yield rows, reconstruct(query, values, penalties, numbers)

    def _rows(self, n_neighbors: int, more: int) -> int:
        d, size = self.R.shape[1], self.R.itemsize
        # Indices, and those of points that bounds do not decide; the results of the
        # search for one class; distances, bounds, counts and masks; copies of the
        # points for the loops, the search, the undecided ones and their differences.
        numbers = (2 * self.n_classes + 6) * n_neighbors + 18 * self.n_classes
        each = 8 * numbers + 4 * d * size + more
        most = n_neighbors
        if self.tangents_of is not None:
            one = self.tangents_of(np.zeros(1, dtype=np.intp))
            each += 3 * self.n_classes * one[0].size * 8
            most += one.shape[1]
        workspace = 8 * self.limits.n_threads * (2 * most * d + 4 * most**2)
        return int(np.clip((self.limits.memory - workspace) // each, 1, _MOST_ROWS))

    def _tangents(self, hoods: Neighborhoods) -> Tangents:
        if self.tangents_of is None:
            return no_tangents(hoods, self.R.shape[1])
        rows, spot = np.unique(hoods.index[:, :, 0], return_inverse=True)
        vectors = np.array(self.tangents_of(rows), dtype=self.R.dtype, order="C")
        return Tangents(vectors, spot.reshape(hoods.count.shape))
