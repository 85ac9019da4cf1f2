"""The record of a pursuit under squared loss, by directions on the rows.

Letters as in :mod:`.pursuit`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from pursuit.path import OrthogonalPath

from ._loops import inner, reduce_residual
from .atoms import Atoms
from .problem import Problem, Steps


class DirectionSteps(Steps):
    """The steps of a pursuit under squared loss, each with its direction.

    Subclasses choose the atoms. After any number of steps ``n``, ``Q[:b]`` (``b = n``
    plus the constant) holds the orthonormal directions as functions on all rows,
    ``loads[:b]`` their coefficients, ``tri[:b, :b]`` the triangle with
    ``atoms = tri.T @ Q``, and ``R`` the residuals. In a plain pursuit ("basic") the
    directions are the centered atoms themselves.
    """

    def __init__(self, atoms: Atoms, problem: Problem):
        super().__init__(atoms, problem)
        n_targets, n_rows = problem.Y.shape
        n_max = problem.max_steps
        tail = n_max if problem.alpha > 0 and problem.is_orthogonal else 0
        size = n_max + self._offset
        self._w = np.concatenate([problem.weight, np.ones(tail)])
        self.Q = np.zeros((size, n_rows + tail))
        self.R = np.zeros((n_targets, n_rows + tail))
        self.R[:, :n_rows] = problem.Y
        self.loads = np.zeros((size, n_targets))
        self.tri = np.zeros((size, size))
        self._begin_residual()

    def _begin_residual(self) -> None:
        problem = self.problem
        constant, load = np.zeros_like(self.R[0]), np.zeros(len(self.R))
        if problem.fit_intercept:
            root = np.sqrt(problem.weight.sum())
            constant[: self.atoms.n_rows] = 1.0 / root
            load = inner(self.R, constant, self._w)
            self.Q[0], self.loads[0], self.tri[0, 0] = constant, load, root
        self.errors[0] = reduce_residual(
            self.R, constant, load, problem.weight, problem.held_out
        )
        self._squared_y = self.errors[0, 0]
        self._values = np.zeros((len(self.R), len(self._held_out)))
        self._n_valued = 0
        if problem.is_constant(self._squared_y):
            self.stop_reason = "exact"

    def _record(self, k: int, u: np.ndarray, a: np.ndarray, gain: float) -> None:
        """Record that atom ``k``, chosen next, changes the model by ``a`` times ``u``.

        The caller counts the step once all of it is done.
        """
        problem, n = self.problem, self.n_steps
        self.loads[self._basis_size] = a
        self.errors[n + 1] = reduce_residual(
            self.R, u, a, problem.weight, problem.held_out
        )
        self.chosen[n] = k
        self.gains[n] = gain

    def held_out_values(self) -> Iterator[np.ndarray]:
        """Yield the values (T, n) on the held-out rows after each new step.

        The values are summed up: targets minus residual would leak the targets by
        rounding.
        """
        while self._n_valued <= self.n_steps:
            b = self._n_valued + self._offset - 1
            if b >= 0:
                self._values += self.loads[b][:, None] * self.Q[b, self._held_out]
            self._n_valued += 1
            yield self._values

    def _why_none(self) -> str:
        """Return why no candidate can be chosen."""
        if self.errors[self.n_steps, 0] <= 1e-24 * self._squared_y:
            return "exact"
        return "exhausted"

    def path(self) -> OrthogonalPath:
        """Return a copy of the path so far."""
        n, b = self.n_steps, self._basis_size
        triangle = self.tri[:b, :b].copy()
        return self._orthogonal_path(triangle, self.loads[:b], self.errors[: n + 1, 0])
