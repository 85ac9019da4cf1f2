r"""The pursuit under a squared distance to a set, by least squares to its points.

Letters as in :mod:`.gram_pursuit`. A loss may be the squared distance of the outputs to
all outputs that are good enough, such as those that separate a class from the others by
a margin. It lies below the squared distance to the outputs :math:`t` that are nearest
now, which are targets for least squares: each fit to them lowers the loss, and then
they are renewed. Inner products and directions do not depend on the targets. So a
pursuit goes on with fixed targets while the model grows by a quarter; then it renews
them several times, with all coefficients, in accelerated steps (Nesterov).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
from scipy.linalg import solve_triangular

from pursuit.path import RefittedPath

from .atoms import Atoms
from .gram_pursuit import GramPursuit, Weighted
from .metric import enlarged, next_renewal
from .objective import Objective
from .problem import Problem

# How often targets are renewed at a time.
RENEWALS = 8

# Initial capacity in steps; it doubles when needed.
_FIRST_ROOM = 32


class RenewedPursuit(GramPursuit):
    """One pursuit in progress, to targets that follow the model.

    Parameters
    ----------
    atoms : Atoms
    problem : Problem
        Problem with a ridge, in which all coefficients are optimized, under a loss that
        is a squared distance.
    gram : Weighted
        Inner products, for the problem's weights among others.
    """

    def __init__(self, atoms: Atoms, problem: Problem, gram: Weighted):
        super().__init__(atoms, problem, gram)
        self._used = np.flatnonzero(problem.weight)
        self._weight = problem.weight[self._used]
        self._is_unweighted = bool((self._weight == 1.0).all())
        self._fitted = self._objective(self._used)
        self._elsewhere = self._objective(self._rows)
        # Values of the directions, and of the model, on the fitted rows; and those of
        # the model on the rows held out.
        self._B = np.zeros((0, len(self._used)))
        self._reserve(min(_FIRST_ROOM, problem.max_steps))
        self._F = self._loads[: self._offset].T @ self._B[: self._offset]
        self._H = self._values.copy()
        self._loads_at: list[np.ndarray] = []
        self._record(0)

    def _objective(self, rows: np.ndarray) -> Objective:
        Y = np.ascontiguousarray(self.problem.Y[:, rows])
        return Objective(self.problem.loss, Y, np.ones(len(rows)))

    def _reserve(self, n_steps: int) -> None:
        size = n_steps + self._offset
        self._B = enlarged(self._B, size, len(self._used))
        if self._offset:
            self._B[0] = 1.0 / self._roots[0]

    # -- one round -----------------------------------------------------------------

    def propose(self) -> np.ndarray:
        """Take the steps until targets are due; return the new ones."""
        if self._scores is None:
            wanted, self._wanted = self._wanted, self._wanted[:0]
            return wanted
        try:
            return self._go_on()
        except BaseException:
            # Only steps that are recorded as a whole count: an interrupt may come.
            self.n_steps = len(self._loads_at) - 1
            raise

    def _go_on(self) -> np.ndarray:
        """Take steps, and return the targets that follow from them."""
        before = self.n_steps
        self.go(next_renewal(before))
        if self.n_steps == before:
            return self._wanted
        self._follow(before)
        targets = np.zeros((len(self._F), self.atoms.n_rows))
        targets[:, self._used] = self._renew() * self._weight
        return targets

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Start the pursuit, or continue with the correlations of new targets."""
        if self._scores is not None and len(correlations):
            b = self._basis_size
            self.turn(correlations - self._loads[:b].T @ self._P[:b])
        super().advance(correlations, norms)

    def _follow(self, before: int) -> None:
        """Add the latest directions to the values, and record each size."""
        if self._basis_size > len(self._B):
            room = max(2 * len(self._B), self.n_steps)
            self._reserve(min(room, self.problem.max_steps))
        new = self.chosen[before : self.n_steps]
        first = before + self._offset
        V = self.atoms.values(new)[:, self._used]
        V -= self._P[:first, new].T @ self._B[:first]
        for i, k in enumerate(new):
            b = first + i
            rest = V[i] - self._P[first:b, k] @ self._B[first:b]
            self._B[b] = rest / self._roots[b]
            load = self._loads[b][:, None]
            self._F = self._F + load * self._B[b]
            self._H = self._H + load * self._Q[b]
            self._record(before + i + 1)

    def _renew(self) -> np.ndarray:
        """Move the model to new targets, several times; return the last of these."""
        b = self._basis_size
        B = self._B[:b]
        # A copy would be as large as all else.
        weighted = B if self._is_unweighted else B * self._weight
        here, last, speed = self._F, self._F, 1.0
        for _ in range(RENEWALS):
            targets = here + self._fitted.at(here).descent
            loads = targets @ weighted.T
            new = loads @ B
            faster = 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * speed * speed))
            here = new + (speed - 1.0) / faster * (new - last)
            last, speed = new, faster
        self._loads[:b], self._F = loads.T, last
        self._H = loads @ self._Q[:b]
        self._record(self.n_steps)
        return targets

    def _record(self, n: int) -> None:
        """Record the model of ``n`` steps."""
        fitted = self._fitted.at(self._F).losses @ self._weight
        self.errors[n] = fitted, self._elsewhere.at(self._H).losses @ self._v
        self._loads_at[n:] = [self._loads[: n + self._offset].copy()]

    # -- the result ----------------------------------------------------------------

    def held_out_values(self) -> Iterator[np.ndarray]:
        """Yield the values (T, n) on the held-out rows after each new step."""
        while self._n_valued <= self.n_steps:
            loads = self._loads_at[self._n_valued]
            self._n_valued += 1
            yield loads.T @ self._Q[: len(loads)]

    def path(self) -> RefittedPath:
        """Return a copy of the path so far."""
        return self.later_path()()

    def later_path(self) -> Callable[[], RefittedPath]:
        """Return a function that solves for the coefficients of all sizes."""
        bare, triangle = self._refitted_path(()), self._triangle()
        loads_at = self._loads_at[: self.n_steps + 1]

        def path() -> RefittedPath:
            coefs = (_solved(triangle, loads).T for loads in loads_at)
            return replace(bare, coefs=tuple(map(np.ascontiguousarray, coefs)))

        return path

    @staticmethod
    def state_bytes(
        n_rows: int, n_atoms: int, n_steps: int, n_targets: int, n_held_out: int
    ) -> int:
        """Return approximately the bytes of one pursuit besides the inner products."""
        size = n_rows, n_atoms, n_steps, n_targets, n_held_out
        values = 2 * n_steps * n_rows + 8 * n_targets * n_rows
        return GramPursuit.state_bytes(*size) + 8 * (values + n_targets * n_steps**2)


def _solved(triangle: np.ndarray, loads: np.ndarray) -> np.ndarray:
    size = len(loads)
    if not size:
        return loads
    return np.asarray(solve_triangular(triangle[:size, :size], loads))
