r"""The pursuit under any loss (Fig. 9.4): follow the gradient, then re-optimize.

Letters as in :mod:`.pursuit`. The residual is replaced by minus half the gradient of
the loss, which for squared loss is the residual. A step chooses an atom, either by its
correlation with the gradient ("back-fitting" and "basic", as in the papers) or by the
decrease that the loss's parabola at the current fit predicts after all coefficients
are re-optimized ("pre-fitting"). Then the coefficients are optimized by
:class:`pursuit.engine.backfitting.Newton`. The parts are the model
(:mod:`.loss_model`), which is refitted, and the chooser (:mod:`.candidates`).

*The metric* is that of the parabola (see :mod:`.metric`). Correlations and squared
norms in it would have to be recomputed at each step, in a pass for as many vectors as
there are chosen atoms. Therefore the metric is kept while the model grows by a quarter;
the gradient is always current. For squared loss the metric never changes, and the
choice is that of Fig. 9.3.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pursuit.path import RefittedPath

from .atoms import Atoms
from .candidates import Candidates, Chooser
from .loss_model import LossModel
from .metric import is_renewal_due
from .problem import Problem, Steps

# Number of directions whose correlations with all atoms are requested at a time.
_AT_ONCE = 64


class LossPursuit(Steps):
    """One pursuit in progress under any loss; see :class:`.Pursuit`.

    Attributes
    ----------
    model : LossModel
    """

    def __init__(self, atoms: Atoms, problem: Problem):
        super().__init__(atoms, problem)
        self.model = LossModel(problem)
        self._chooser = Chooser(atoms, problem, self.model)
        self._candidates: Candidates | None = None
        # The next atom and its gain: chosen, but not added to the model yet.
        self._next: tuple[int, float] | None = None
        self._n_asked, self._renewed_at, self._n_valued = 0, 0, 0
        self._coefs: list[np.ndarray] = []
        self._record_size(0)
        if self.model.is_flat:
            self.stop_reason = "exact"

    @property
    def needs_norms(self) -> bool:
        """Whether weighted squared norms of all atoms are needed at the start."""
        # Pre-fitting compares atoms in the parabola's metric, not by the weights.
        return self.problem.by_norm

    @property
    def work(self) -> float:
        """Approximate number of operations of a proposal: a few matrix products."""
        return 10.0 * self.model.F.size * self._basis_size

    # -- one round -----------------------------------------------------------------

    def propose(self) -> np.ndarray:
        """Complete the last step; return the vectors needed for the next."""
        self._complete()
        if self.stop_reason is not None:
            return np.zeros((0, self.atoms.n_rows))
        if self._candidates is None and not self.needs_norms:
            squares = self.atoms.squared_norms(self._chooser.metric[None])[0]
            self._candidates = self._chooser.candidates(squares)
        directions, slope = self._chooser.directions, self.model.slope
        start = self._candidates.n_left_out if self._candidates else 0
        asked = directions[start : start + _AT_ONCE]
        self._n_asked = len(asked)
        is_last = start + len(asked) == len(directions)
        return np.concatenate(
            [asked * self._chooser.metric, slope[: is_last * len(slope)]]
        )

    def _complete(self) -> None:
        """Take the step that was chosen, and renew the metric if it is due."""
        if self._next is not None:
            self._step(*self._next)
            self._next = None
        if self.n_steps == self.problem.max_steps:
            self.stop_reason = self.stop_reason or "max_support"
        elif not self.problem.by_norm and is_renewal_due(
            self.n_steps, self._renewed_at
        ):
            self._renewed_at = self.n_steps
            if self.model.renew_metric():
                self._candidates = None

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Add the correlations; choose the next atom once they are complete."""
        if self.stop_reason is not None:
            return
        if norms is not None:
            self._candidates = self._chooser.candidates(norms)
        assert self._candidates is not None
        self._chooser.leave_out(self._candidates, correlations[: self._n_asked])
        slopes = correlations[self._n_asked :]
        if len(slopes):
            self._next = self._chooser.choose(self._candidates, slopes)
            if self._next is None:
                self.stop_reason = self._why_none()

    def _why_none(self) -> str:
        """Return why no candidate can be chosen."""
        is_exact = self.errors[self.n_steps, 0] <= 1e-24 * self.errors[0, 0]
        return "exact" if is_exact else "exhausted"

    def _step(self, k: int, gain: float) -> None:
        """Add atom ``k``."""
        n = self.n_steps
        self.model.add(k)
        self.chosen[n], self.gains[n] = k, gain
        # Only a step that is recorded as a whole counts: an interrupt may come.
        self._record_size(n + 1)
        self.n_steps = n + 1

    def _record_size(self, n: int) -> None:
        """Record the model of ``n`` steps."""
        self.errors[n] = self.model.errors
        self._coefs.append(self.model.coef[:, : self._offset + n].copy())

    # -- the result ----------------------------------------------------------------

    def held_out_values(self) -> Iterator[np.ndarray]:
        """Yield the values (T, n) on the held-out rows if a step was taken.

        A round takes one step at most.
        """
        if self._n_valued <= self.n_steps:
            self._n_valued = self.n_steps + 1
            yield self.model.F[:, self._held_out]

    def path(self) -> RefittedPath:
        """Return a copy of the path so far."""
        return self._refitted_path(self._coefs[: self.n_steps + 1])

    @staticmethod
    def state_bytes(n_rows: int, n_atoms: int, n_steps: int, n_targets: int = 1) -> int:
        """Return approximately the bytes of one pursuit besides the atoms."""
        width = n_rows + n_steps
        # Renewing the metric takes two more copies of the directions.
        directions = (n_steps + 1) * (4 * width + n_steps)
        # Coefficients, and the second derivatives of each output with their inverses.
        coefs = n_targets * n_steps * n_steps * 5 // 2
        candidates = (2 * _AT_ONCE + 2 * n_targets + 6) * n_atoms
        values = (2 * _AT_ONCE + 16 * n_targets) * width
        return 8 * (directions + coefs + candidates + values)
