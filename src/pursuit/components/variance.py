"""Choose points by captured variance, for sparse kernel PCA."""

from __future__ import annotations

import numpy as np

from pursuit.engine.gains import first_largest

from ._loops import choose_among, deflate_pool
from .deflation import DRIFT, DrawnChoice, GreedyChoice, View

# A pooled column whose residual has fallen below this share of its first value has
# lost precision, and is fetched again.
_STALE = 1e-2

# The sums of the recurrence have errors of about 1e-16 of their first values, and of
# products that cancel, while they fall with the square of the trace: below this share
# of it they are recomputed.
_WORN = 1e-2

# Minimum and maximum number of columns fetched per pass, and number of columns examined
# for each of them to predict the next winners.
_FEWEST, MOST, LOOKS_EACH = 4, 32, 8

# Weight of the latest round in the average number of steps per round.
_LATEST = 0.3


class LargestVariance(GreedyChoice):
    r"""Choose points by the Rayleigh quotient :math:`\sum_j K_n[j,i]^2 / K_n[i,i]`.

    It is the decrease of the trace of ``K_n``. As in :mod:`.engine.pursuit`, a pass
    serves several steps: the next winners are predicted by running the loop among the
    current best candidates, whose columns give all inner products among them, and the
    products of the predicted columns are computed in one pass. The choice is made over
    all candidates.
    """

    def __init__(self, view: View, max_steps: int) -> None:
        super().__init__(max_steps)
        self.view = view
        self._sums = view.squares()
        self._left = view.residual.sum()
        self._pool = _Pool(view)
        self._steps_a_round = float(_FEWEST)
        self._latest = 0

    def step(self) -> bool:
        """Take one step; return False if no candidate is left."""
        self._renew_if_worn()
        while True:
            scores = self._scores()
            i = first_largest(scores)
            if i < 0:
                return False
            slot = self._pool.find(i)
            if slot < 0:
                self._fetch(i, scores)
            elif self._holds(i, slot, scores[i]):
                if self.view.is_noise(i, self._pool.U[slot]):
                    self.view.close(i)
                    continue
                self._take(i, slot, scores[i])
                return True

    def _renew_if_worn(self) -> None:
        """Recompute all sums if little is left of their first values."""
        left = self.view.residual.sum()
        if not 0 < left < _WORN * self._left:
            return
        self._left = left
        for start in range(0, len(self._sums), MOST):
            index = np.arange(start, min(start + MOST, len(self._sums)))
            U = self.view.columns(index)
            self._sums[index] = np.einsum("ij,ij->i", U, U)
            self.view.residual[index] = U[np.arange(len(U)), index]

    def _scores(self) -> np.ndarray:
        view = self.view
        usable = view.is_open & (self._sums > 0)
        scores = np.zeros(len(self._sums))
        np.divide(self._sums, view.residual, out=scores, where=usable)
        return scores

    def _holds(self, i: int, slot: int, score: float) -> bool:
        """Return whether the column confirms the score; correct it if not."""
        u = self._pool.U[slot]
        self._sums[i], self.view.residual[i] = u @ u, u[i]
        if not u[i] > 0:
            return False
        return bool(abs(self._sums[i] / u[i] - score) <= DRIFT * score)

    def _take(self, i: int, slot: int, score: float) -> None:
        view, pool = self.view, self._pool
        root = np.sqrt(view.residual[i])
        g, q = pool.U[slot] / root, pool.P[slot] / root
        squared = g @ g
        self._sums -= 2 * g * q - g**2 * squared
        pool.drop(slot)
        pool.deflate(g, q, squared)
        view.deflate(i, g)
        pool.drop_stale()
        self._record(i, score)

    # -- foreseeing ----------------------------------------------------------------

    def _fetch(self, best: int, scores: np.ndarray) -> None:
        taken = self.n_steps - self._latest
        self._latest = self.n_steps
        self._steps_a_round += _LATEST * (taken - self._steps_a_round)
        m = int(np.clip(2 * np.ceil(0.75 * self._steps_a_round), _FEWEST, MOST))
        self._pool.trim(MOST - m, scores)
        looks, U = self._looks(best, scores, m)
        among = np.concatenate([looks, self._pool.index])
        U_all = np.concatenate([U, self._pool.U])
        picks = self._foresee(among, U_all, m + len(self._pool.index))
        picks = picks[picks < len(looks)][:m]
        # Include the best of all, so that the round takes at least one step.
        picks = np.concatenate([[0], picks[picks != 0][: m - 1]])
        self._pool.add(looks[picks], U[picks])

    def _looks(
        self, best: int, scores: np.ndarray, m: int
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return rows of high score, best first, and their columns."""
        scores = scores.copy()
        scores[self._pool.index] = 0.0
        n = min(LOOKS_EACH * m, int(np.count_nonzero(scores)))
        looks = np.argpartition(-scores, n - 1)[:n]
        looks = np.concatenate([[best], np.sort(looks[looks != best])])
        return looks, self.view.columns(looks)

    def _foresee(self, among: np.ndarray, U: np.ndarray, n_picks: int) -> np.ndarray:
        """Return which of the columns the loop would choose among these."""
        A = self.view.atoms.pool.matmul(U, np.ascontiguousarray(U.T))
        n = len(among)
        least, is_open = _STALE * self.view.residual[among], np.ones(n, dtype=bool)
        picks, scratch = np.empty(min(n_picks, n), dtype=np.int64), np.empty((2, n))
        n_chosen = choose_among(A, U[:, among], least, is_open, picks, *scratch)
        return picks[:n_chosen]


class _Pool:
    """Columns ``U`` (b, l) of ``K_n`` with their products ``P = U K_n``.

    The index of a dropped column is -1 until the next trim removes it.
    """

    def __init__(self, view: View) -> None:
        self._view = view
        self.index = np.zeros(0, dtype=int)
        self.U = np.zeros((0, view.atoms.n_rows))
        self.P = np.zeros((0, view.atoms.n_rows))
        self._at_first = np.zeros(0)

    def find(self, i: int) -> int:
        """Return the position of the column of row ``i``, -1 if absent."""
        places = np.flatnonzero(self.index == i)
        return int(places[0]) if len(places) else -1

    def add(self, index: np.ndarray, U: np.ndarray) -> None:
        """Add some columns, with their products computed in one pass."""
        self.index = np.concatenate([self.index, index])
        self.U = np.concatenate([self.U, U])
        self.P = np.concatenate([self.P, self._view.products(U)])
        residual = U[np.arange(len(U)), index]
        self._at_first = np.concatenate([self._at_first, residual])

    def deflate(self, g: np.ndarray, q: np.ndarray, squared: float) -> None:
        """Deflate all columns by ``g``, with ``q = K_n g``."""
        along = g[self.index]
        across = q[self.index] - along * squared
        deflate_pool(self.U, self.P, self.index, along, across, g, q)

    def drop(self, slot: int) -> None:
        """Drop one column."""
        self.index[slot] = -1

    def drop_stale(self) -> None:
        """Drop columns that are in the span or have lost precision."""
        left = self._view.residual[self.index]
        is_open = self._view.is_open[self.index]
        self.index[~is_open | (left <= _STALE * self._at_first)] = -1

    def trim(self, n: int, scores: np.ndarray) -> None:
        """Keep the ``n`` columns with the highest scores."""
        order = np.argsort(-np.where(self.index >= 0, scores[self.index], -1.0))
        kept = np.sort(order[: min(n, np.count_nonzero(self.index >= 0))])
        self.index, self._at_first = self.index[kept], self._at_first[kept]
        self.U, self.P = self.U[kept], self.P[kept]


class DrawnVariance(DrawnChoice):
    """Choose as :class:`LargestVariance`, among a few random candidates per step."""

    def __init__(
        self, view: View, max_steps: int, n_drawn: int, rng: np.random.Generator
    ) -> None:
        super().__init__((view,), max_steps, n_drawn, rng)

    def _scored(self, drawn: np.ndarray, U: list[np.ndarray]) -> np.ndarray:
        (view,), (u,) = self.views, U
        scores = np.zeros(len(drawn))
        sums = np.einsum("ij,ij->i", u, u)
        np.divide(sums, view.residual[drawn], out=scores, where=view.is_open[drawn])
        return scores
