"""Choose pairs of points by correlation or covariance, for sparse kernel CCA."""

from __future__ import annotations

import numpy as np

from pursuit.engine.atoms import Atoms
from pursuit.engine.gains import first_largest

from .deflation import DRIFT, DrawnChoice, GreedyChoice, View

# A column whose sum of squares falls below this share of its first value is rounding.
_ROUNDING = 1e-14
# Least positive score: 0 is for closed candidates.
_LEAST = float(np.finfo(np.float64).tiny)


class LargestCorrelation(GreedyChoice):
    r"""Choose pairs by the correlation of their two columns.

    .. math:: \frac{\sum_j X_n[j,i] Y_n[j,i]}
        {\sqrt{\sum_j X_n[j,i]^2 \sum_j Y_n[j,i]^2}}

    with the kernels ``X`` and ``Y`` of two views of the same rows, both deflated at the
    chosen index; the columns are centered first if ``center`` is true. For covariance,
    the denominator is that of unit directions in feature space,
    :math:`\sqrt{X_n[i,i] Y_n[i,i]}`.
    """

    def __init__(
        self,
        first: View,
        second: View,
        max_steps: int,
        center: bool,
        by_covariance: bool = False,
    ) -> None:
        super().__init__(max_steps)
        self.views, self._center = (first, second), center
        self._by_covariance = by_covariance
        ones = np.ones((1, first.atoms.n_rows))
        self._squares = [v.squares() for v in self.views]
        self._means = [v.atoms.correlate(ones)[0] / ones.size for v in self.views]
        self._floors = [_ROUNDING * s for s in self._squares]
        self._cross = _cross_products(first.atoms, second.atoms)

    def step(self) -> bool:
        """Take one step; return False if no candidate is left."""
        while True:
            scores = self._scores()
            i = first_largest(scores)
            if i < 0:
                return False
            U = [view.columns(np.array([i]))[0] for view in self.views]
            if not self._holds(i, U, scores[i]):
                continue
            noisy = [v for v, u in zip(self.views, U, strict=True) if v.is_noise(i, u)]
            if not noisy:
                self._take(i, U, scores[i] - _offset(self._by_covariance))
                return True
            noisy[0].close(i)

    def _scores(self) -> np.ndarray:
        n = self.views[0].atoms.n_rows if self._center else 0
        a, b = (
            s - n * mean**2 for s, mean in zip(self._squares, self._means, strict=True)
        )
        cross = self._cross - n * self._means[0] * self._means[1]
        usable = (a > self._floors[0]) & (b > self._floors[1])
        for view in self.views:
            usable &= view.is_open
        if self._by_covariance:
            a, b = (view.residual for view in self.views)
        norms = np.sqrt(np.where(usable, a, 1.0)) * np.sqrt(np.where(usable, b, 1.0))
        return _scores(cross, norms, usable, self._by_covariance)

    def _holds(self, i: int, U: list[np.ndarray], score: float) -> bool:
        """Return whether the columns confirm the score; correct it if not."""
        for k, (view, u) in enumerate(zip(self.views, U, strict=True)):
            self._squares[k][i], self._means[k][i] = u @ u, u.mean()
            view.residual[i] = u[i]
        self._cross[i] = U[0] @ U[1]
        return abs(self._scores()[i] - score) <= DRIFT * score

    def _take(self, i: int, U: list[np.ndarray], score: float) -> None:
        first, second = self.views
        g, h = (u / np.sqrt(v.residual[i]) for u, v in zip(U, self.views, strict=True))
        both = np.array([g, h])
        xg, xh = first.products(both)
        yg, yh = second.products(both)
        self._squares[0] -= 2 * g * xg - g**2 * (g @ g)
        self._squares[1] -= 2 * h * yh - h**2 * (h @ h)
        self._cross -= h * xh + g * yg - g * h * (g @ h)
        self._means[0] -= g * g.mean()
        self._means[1] -= h * h.mean()
        first.deflate(i, g)
        second.deflate(i, h)
        self._record(i, score)


def _cross_products(first: Atoms, second: Atoms) -> np.ndarray:
    """Return the inner products of the columns of two views, computed in blocks."""
    out = np.empty(first.n_atoms)
    step = max(1, (1 << 21) // max(1, first.n_rows))
    for start in range(0, first.n_atoms, step):
        index = np.arange(start, min(start + step, first.n_atoms))
        out[index] = np.einsum("ij,ij->i", first.values(index), second.values(index))
    return out


class DrawnCorrelation(DrawnChoice):
    """Choose as :class:`LargestCorrelation`, among a few random candidates per step."""

    def __init__(
        self,
        first: View,
        second: View,
        max_steps: int,
        center: bool,
        by_covariance: bool,
        n_drawn: int,
        rng: np.random.Generator,
    ) -> None:
        super().__init__((first, second), max_steps, n_drawn, rng)
        self._center, self._by_covariance = center, by_covariance

    def _scored(self, drawn: np.ndarray, U: list[np.ndarray]) -> np.ndarray:
        usable = np.ones(len(drawn), dtype=bool)
        for view in self.views:
            usable &= view.is_open[drawn]
        if self._center:
            U = [u - u.mean(axis=1, keepdims=True) for u in U]
        norms = np.prod([np.linalg.norm(u, axis=1) for u in U], axis=0)
        usable &= norms > 0
        if self._by_covariance:
            left = np.prod([view.residual[drawn] for view in self.views], axis=0)
            norms = np.sqrt(np.where(usable, left, 1.0))
        cross = np.einsum("ij,ij->i", *U)
        return _scores(cross, norms, usable, self._by_covariance)

    def _gain(self, score: float) -> float:
        return score - _offset(self._by_covariance)


def _scores(
    cross: np.ndarray, norms: np.ndarray, usable: np.ndarray, by_covariance: bool
) -> np.ndarray:
    """Return positive scores, and 0 for closed candidates.

    Scores are correlations plus 1, or positive covariances.
    """
    scores = np.zeros(len(cross))
    np.divide(cross, norms, out=scores, where=usable)
    least = 0.0 if by_covariance else _LEAST
    scores = np.maximum(scores + _offset(by_covariance), least)
    return np.where(usable, scores, 0.0)


def _offset(by_covariance: bool) -> float:
    return 0.0 if by_covariance else 1.0
