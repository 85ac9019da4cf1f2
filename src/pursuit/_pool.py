"""What a pursuit remembers between passes so as to need fewer of them.

:class:`Pool` holds guessed atoms with their correlations, :class:`Looks` the inner
products among which the guesses are made.  Letters as in :mod:`pursuit.pursuit`.
"""

from __future__ import annotations

import numpy as np

from ._atoms import Atoms
from ._loops import subtract

# Guesses a round, at the most, and candidates among which they are made.
MOST, LOOKS = 32, 128


class Pool:
    """Guessed directions whose correlations with all atoms are known.

    Entries are left as they were when fetched; the directions chosen since are taken
    out of an entry only when its turn comes.  ``P`` keeps the correlations of the
    latest directions, as far back as the oldest entry needs.
    """

    def __init__(self, shape: tuple[int, int], n_atoms: int, is_orthogonal: bool):
        size = 2 * MOST
        self._is_orthogonal = is_orthogonal
        self._atom = np.full(size, -1)
        self._born = np.zeros(size, dtype=np.int64)
        self._slot: dict[int, int] = {}
        self._new = np.zeros(0, dtype=np.int64)
        self.U = np.zeros((size, shape[1]))
        self.G = np.zeros((size, n_atoms))
        self.h = np.zeros((size, shape[0]))
        self.squared = np.zeros(size)
        self._P = np.zeros((3 * MOST if is_orthogonal else 0, n_atoms))
        self._n_kept = 0

    def find(self, k: int) -> int:
        """Return the slot of atom ``k``, or -1."""
        return self._slot.get(int(k), -1)

    def atoms(self) -> np.ndarray:
        """Return the pooled atoms, in the order of their slots."""
        return self._atom[self._atom >= 0]

    def drop(self, k: int) -> None:
        """Forget atom ``k``."""
        self._atom[self._slot.pop(int(k))] = -1

    def tidy(self, gain: np.ndarray, size: int) -> None:
        """Forget what is too old or not wanted any more, and leave room for a round."""
        for k in self.atoms():
            age = size - self._born[self._slot[int(k)]]
            if gain[k] == 0.0 or (self._is_orthogonal and age > MOST):
                self.drop(k)
        pooled = self.atoms()
        excess = len(pooled) - (len(self._atom) - MOST)
        if excess > 0:
            for k in pooled[np.argsort(gain[pooled], kind="stable")[:excess]]:
                self.drop(k)
        if self._n_kept + 2 * MOST > len(self._P) and self._is_orthogonal:
            n_drop = self._n_kept - min(self._n_kept, MOST)
            self._P[: self._n_kept - n_drop] = self._P[n_drop : self._n_kept]
            self._n_kept -= n_drop

    def add(
        self,
        index: np.ndarray,
        U: np.ndarray,
        h: np.ndarray,
        squared: np.ndarray,
        size: int,
    ) -> None:
        """Put fetched atoms into free slots; their correlations follow."""
        slots = np.flatnonzero(self._atom < 0)[: len(index)]
        self._atom[slots] = index
        self._born[slots] = size
        self._slot.update(zip(index.tolist(), slots.tolist(), strict=True))
        self.U[slots], self.h[slots], self.squared[slots] = U, h, squared
        self._new = slots

    def complete(self, correlations: np.ndarray) -> None:
        """Take the correlations of the atoms added last."""
        self.G[self._new] = correlations

    def products(self, index: np.ndarray, size: int) -> np.ndarray:
        """Return inner products of the pooled directions, up to date, with atoms.

        No work on the rows: they follow from the known correlations.
        """
        slots = np.flatnonzero(self._atom >= 0)
        out = self.G[np.ix_(slots, index)]
        if self._is_orthogonal:
            P = self._P[: self._n_kept]
            position = np.arange(size - self._n_kept, size)
            removed = P[:, self._atom[slots]].T
            removed *= position >= self._born[slots, None]
            out -= removed @ P[:, index]
        return out

    def new_correlations(self) -> np.ndarray:
        """Return room for the correlations of the next direction."""
        return self._P[self._n_kept]

    def keep(self) -> None:
        """Keep what was written where :meth:`new_correlations` said."""
        self._n_kept += 1

    def bring_up_to_date(
        self, slot: int, k: int, Q: np.ndarray, u: np.ndarray, p: np.ndarray, size: int
    ) -> np.ndarray:
        """Write entry ``slot`` less the directions since, and return its triangle."""
        since = int(size - self._born[slot])
        u[:] = self.U[slot]
        p[:] = self.G[slot]
        h = self.h[slot, :size].copy()
        if since:
            P = self._P[self._n_kept - since : self._n_kept]
            recent = np.ascontiguousarray(P[:, k])
            subtract(u, Q[size - since : size], recent)
            subtract(p, P, recent)
            h[size - since :] = recent
        return h


class Looks:
    """Inner products of the candidates among which guesses are made.

    From round to round most candidates stay the same, and so do the products of
    whole atoms: only those of newcomers are computed, in the places of those that
    are not looked at any more.
    """

    def __init__(self, atoms: Atoms, weight: np.ndarray, size: int):
        self._atoms, self._weight = atoms, weight
        self._index = np.full(size, -1)
        self._D = np.zeros((size, atoms.n_rows))
        self._gram = np.zeros((size, size))

    def products(self, index: np.ndarray) -> np.ndarray:
        """Return the weighted inner products of the atoms ``index``."""
        size = len(index)
        self._index[size:] = -1
        held, D, gram = self._index[:size], self._D[:size], self._gram[:size, :size]
        fresh = index[~np.isin(index, held)]
        places = np.flatnonzero(~np.isin(held, index))[: len(fresh)]
        new = self._atoms.columns(fresh)
        held[places], D[places] = fresh, new
        new *= self._weight
        cross = self._atoms.matmul(new, D.T)
        gram[places] = cross
        gram[:, places] = cross.T
        order = np.argsort(held)
        place = order[np.searchsorted(held, index, sorter=order)]
        return gram[np.ix_(place, place)]
