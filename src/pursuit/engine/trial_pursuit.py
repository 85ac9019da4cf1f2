"""The pursuit under any loss that ranks widths, ridges and sizes.

Letters as in :mod:`.loss_pursuit`. A search compares dozens of paths, to know how low
the held-out loss gets along each. Where :class:`.LossPursuit` minimizes the loss and
passes over all atoms at every step, this pursuit does so whenever the model has grown
by a quarter. In between it goes on as if the loss were a parabola of equal curvature on
all rows: then the inner products of the atoms, which all folds and ridges share, give
the next atoms (see :mod:`.gram_pursuit`). Models in between have coefficients of zero
for the latest atoms.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from pursuit.losses import Squared
from pursuit.path import RefittedPath

from .atoms import Atoms
from .gram_pursuit import GramPursuit, Weighted
from .loss_model import LossModel
from .metric import next_renewal, parabola
from .problem import Problem, Steps


def least_squares(problem: Problem) -> Problem:
    """Return the problem of least squares that is the loss's parabola at the constant.

    All rows have the mean of their curvatures.
    """
    loss, Y, weight = problem.loss, problem.Y, problem.weight
    F = np.zeros_like(Y)
    if problem.fit_intercept:
        F += loss.start(Y, weight)[:, None]
    curvature = parabola(loss, Y, F, weight).sum() / weight.sum()
    return replace(
        problem,
        Y=-0.5 / curvature * loss.gradient(Y, F),
        loss=Squared(),
        alpha=problem.alpha / curvature,
        held_out=np.zeros_like(weight),
    )


class TrialPursuit(Steps):
    """A pursuit in progress under any loss that is minimized now and then.

    Parameters
    ----------
    atoms : Atoms
    problem : Problem
        Problem with a ridge, in which all coefficients are optimized.
    gram : Weighted
        Inner products, for the problem's weights among others.
    """

    def __init__(self, atoms: Atoms, problem: Problem, gram: Weighted):
        super().__init__(atoms, problem)
        self.model = LossModel(problem)
        guide = least_squares(problem)
        self._guide = GramPursuit(atoms, guide, gram)
        self._curvature = problem.alpha / guide.alpha
        self._is_begun = False
        # Sizes at which the loss was minimized; coefficients and held-out values there.
        self._sizes: list[int] = []
        self._coefs: list[np.ndarray] = []
        self._values: list[np.ndarray] = []
        self._n_valued = 0
        self._record_size(0)
        self.chosen, self.gains = self._guide.chosen, self._guide.gains
        if self.model.is_flat:
            self.stop_reason = "exact"

    @property
    def work(self) -> float:
        """Approximate number of operations of a proposal: a few matrix products."""
        return self._guide.work + 10.0 * self.model.F.size * self._basis_size

    # -- one round -----------------------------------------------------------------

    def propose(self) -> np.ndarray:
        """Take some steps; return the vectors needed for the next."""
        if not self._is_begun:
            return self._guide.propose()
        self._guide.go(next_renewal(self.n_steps))
        if self._guide.n_steps > self.n_steps:
            self._follow(self._guide.n_steps)
        return self._weighted_residuals()

    def _follow(self, n: int) -> None:
        """Take the steps up to ``n`` that the guide has taken."""
        before = self.n_steps
        new = self.chosen[before:n]
        self.model.extend(new.tolist(), self.atoms.values(new))
        self.errors[before + 1 : n] = self.errors[before]
        self._record_size(n)
        self.n_steps = n

    def _weighted_residuals(self) -> np.ndarray:
        """Return the residuals (T, l) of the parabola at the current fit."""
        slope, weight = self.model.slope, self.problem.weight
        if self.problem.fit_intercept:
            # The constant is the best one only up to a tolerance; atoms may be far
            # from zero.
            slope = slope - slope.sum(axis=1)[:, None] * weight / weight.sum()
        return slope / self._curvature

    def _record_size(self, n: int) -> None:
        self.errors[n] = self.model.errors
        self._sizes.append(n)
        self._coefs.append(self.model.coef[:, : self._offset + n].copy())
        self._values.append(self.model.F[:, self._held_out])

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Start the pursuit, or continue with the gradient of the loss."""
        if self.stop_reason is not None:
            return
        if self._is_begun:
            self._guide.turn(correlations)
        self._is_begun = True
        self._guide.advance(correlations, norms)
        self.stop_reason = self._guide.stop_reason

    # -- the result ----------------------------------------------------------------

    def _last_minimum(self, n: int) -> int:
        """Return the position of the largest size up to ``n`` that was optimized."""
        return int(np.searchsorted(self._sizes, n, side="right")) - 1

    def held_out_values(self) -> Iterator[np.ndarray]:
        """Yield the values (T, n) on the held-out rows after each new step."""
        while self._n_valued <= self.n_steps:
            values = self._values[self._last_minimum(self._n_valued)]
            self._n_valued += 1
            yield values

    def path(self) -> RefittedPath:
        """Return a copy of the path so far."""
        return self.later_path()()

    def later_path(self) -> Callable[[], RefittedPath]:
        """Return a function that repeats the coefficients between two minima."""
        bare, offset = self._refitted_path(()), self._offset
        sizes = range(self.n_steps + 1)
        known = [self._coefs[self._last_minimum(size)] for size in sizes]

        def path() -> RefittedPath:
            coefs = (_widened(c, offset + n) for n, c in zip(sizes, known, strict=True))
            return replace(bare, coefs=tuple(coefs))

        return path


def _widened(coefs: np.ndarray, width: int) -> np.ndarray:
    """Return coefficients (T, width), zero for the latest atoms."""
    return np.pad(coefs, ((0, 0), (0, width - coefs.shape[1])))
