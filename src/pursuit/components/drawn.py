"""Choose among a few random candidates per step, by any criterion."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from pursuit.engine.gains import first_largest

from .deflation import GreedyChoice, View


class DrawnChoice(GreedyChoice):
    """Choose the best of some random candidates, drawn anew at each step.

    The best of 59 random candidates is, with 95 % certainty, one of the best 5 % of
    all. There is no pass over the kernels: each step evaluates the columns it draws.
    Subclasses define the criterion by `_scored`.

    Parameters
    ----------
    views : tuple of View
        Kernels on the same rows; all are deflated at the chosen row.
    max_steps : int
    n_drawn : int
        Number of candidates per step.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        views: tuple[View, ...],
        max_steps: int,
        n_drawn: int,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(max_steps)
        self.views = views
        self._n_drawn, self._rng = n_drawn, rng

    def step(self) -> bool:
        """Take one step; return False if no candidate is left."""
        while True:
            is_open = np.logical_and.reduce([view.is_open for view in self.views])
            left = np.flatnonzero(is_open)
            if not len(left):
                return False
            n = min(self._n_drawn, len(left))
            drawn = np.sort(self._rng.choice(left, n, replace=False))
            U = [view.columns(drawn) for view in self.views]
            # Exact, where the updated residuals may have drifted.
            for view, u in zip(self.views, U, strict=True):
                view.residual[drawn] = u[np.arange(n), drawn]
            scores = self._scored(drawn, U)
            best = first_largest(scores)
            # Rows that are closed in one of the views are not drawn again.
            if best < 0:
                self.views[0].close(drawn)
            elif not self._took(drawn[best], [u[best] for u in U], scores[best]):
                self.views[0].close(drawn[best])
            else:
                return True

    @abstractmethod
    def _scored(self, drawn: np.ndarray, U: list[np.ndarray]) -> np.ndarray:
        """Return the scores of candidates, 0 for those that add nothing.

        ``U`` are their columns (n_drawn, l) of the deflated kernels, one array for each
        view.
        """

    def _gain(self, score: float) -> float:
        """Return the criterion to record for the score of a chosen row."""
        return score

    def _took(self, i: int, U: list[np.ndarray], score: float) -> bool:
        """Choose a row, unless its columns are only noise."""
        pairs = list(zip(self.views, U, strict=True))
        if any(view.is_noise(i, u) for view, u in pairs):
            return False
        for view, u in pairs:
            view.deflate(i, u / np.sqrt(u[i]))
        self._record(i, self._gain(score))
        return True
