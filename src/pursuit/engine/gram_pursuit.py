r"""The pursuit by inner products, for many pursuits over one small dictionary.

Letters as in :mod:`.pursuit`. Folds, ridges and outputs are pursuits over the same
atoms. Once all inner products :math:`G = A W A^\top` are known, a step no longer needs
the atoms: with ``P[j] = A q_j``, the correlations with the direction that atom ``k``
adds are

.. math::

    p = \Bigl(G_k - \sum_j P_{jk} P_j\Bigr) / \sqrt{e_k},

which costs as many operations per candidate as there are steps, not rows. Rows that a
fold holds out are subtracted from ``G_k`` in the same way, as if their unit vectors
were directions; the directions' values on them are updated at each step.

*Precision.* A squared norm outside the span is known up to round-off of the total
squared norm, whereas :class:`.Pursuit` knows it up to round-off of itself. A ridge
keeps it above ``alpha``; if that is at least :data:`LEAST_RIDGE` of the largest
squared norm, gains are correct to six digits or more. Trials that only rank widths and
ridges may use ridges down to :data:`LEAST_TRIAL_RIDGE`: in tests their held-out errors
were correct to 1 % or better.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Protocol

import numpy as np
from scipy.linalg import solve_triangular

from pursuit._compiling import REORDER, compiled
from pursuit.path import Path

from ._loops import reduce_residual, subtract
from .atoms import Atoms
from .gains import Scores, first_largest, update
from .problem import Problem, Steps

LEAST_RIDGE, LEAST_TRIAL_RIDGE = 1e-9, 1e-11

# Number of steps per round.
_ROUND = 16


class Weighted(Protocol):
    """Inner products of all atoms, under some weights."""

    def under(self, weighting: int) -> tuple[np.ndarray, np.ndarray]:
        """Return ``G`` (M, M) and ``D`` (r, M); the products are ``G - D.T @ D``."""


class GramPursuit(Steps):
    """One pursuit in progress, by inner products.

    Its errors on the fitted rows include the ridge's part, those of its path do not.

    Parameters
    ----------
    atoms : Atoms
        Stored atoms, if rows are carried along.
    problem : Problem
        Least-squares problem with a ridge, in which all coefficients are optimized at
        each step.
    gram : Weighted
        Inner products, for the problem's weights among others.
    rows : ndarray of int, optional
        Rows on which values are carried along, for the errors on them; by default
        those held out.
    """

    def __init__(
        self,
        atoms: Atoms,
        problem: Problem,
        gram: Weighted,
        rows: np.ndarray | None = None,
    ):
        super().__init__(atoms, problem)
        n_targets, size = len(problem.Y), problem.max_steps + self._offset
        self._G, self._D = gram.under(problem.weighting)
        self._rows = self._held_out if rows is None else rows
        # Any matrix will do where no row of it is read.
        self._A = self._D
        if len(self._rows):
            assert atoms.stored is not None
            self._A = atoms.stored
        # Correlations of the directions with the atoms, and their values on the rows.
        self._S = np.empty((size, atoms.n_atoms + len(self._rows)))
        self._P, self._Q = self._S[:, : atoms.n_atoms], self._S[:, atoms.n_atoms :]
        self._v = problem.held_out[self._rows]
        self._roots = np.zeros(size)
        self._loads = np.zeros((size, n_targets))
        # Room for coefficients.
        self._h = np.empty(max(size, len(self._D)))
        self._scores: Scores | None = None
        self._begin_residual()

    def _begin_residual(self) -> None:
        problem, rows = self.problem, self._rows
        first, root = np.zeros((len(problem.Y), 1)), np.sqrt(problem.weight.sum())
        if problem.fit_intercept:
            first = problem.means[:, None]
            self._loads[0], self._roots[0] = root * first[:, 0], root
            self._Q[0] = 1.0 / root
        residual = problem.Y - first
        self._R = residual[:, rows]
        self.errors[0] = (
            (residual**2 @ problem.weight).sum(),
            (self._R**2 @ self._v).sum(),
        )
        # Sum up the values: targets minus residual would leak the targets by rounding.
        self._values = np.repeat(first, len(rows), axis=1)
        self._n_valued = 0
        constant = np.full((self._offset, self.atoms.n_rows), 1.0 / root)
        self._wanted = np.concatenate([residual, constant]) * problem.weight
        if problem.is_constant(self.errors[0, 0]):
            self.stop_reason = "exact"

    @property
    def work(self) -> float:
        """Approximate number of operations of a proposal."""
        return _ROUND * self.atoms.n_atoms * (len(self._D) + self._basis_size)

    def propose(self) -> np.ndarray:
        """Take some steps; correlations are requested only at the start."""
        wanted, self._wanted = self._wanted, self._wanted[:0]
        if self._scores is not None:
            self.go(self.n_steps + _ROUND)
        return wanted

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Start the pursuit, or check whether it has ended."""
        if self._scores is None:
            assert norms is not None
            deviations = partial(self.atoms.deviations, weight=self.problem.weight)
            squared_y = float(self.errors[0, 0])
            self._scores = Scores(
                self.problem, correlations, norms, squared_y, deviations
            )
            self._P[: self._offset] = correlations[len(self._R) :]
        if self.n_steps == self.problem.max_steps:
            self.stop_reason = "max_support"
        elif self._scores.best() < 0:
            self.stop_reason = "exhausted"

    def go(self, stop: int) -> None:
        """Take the steps up to ``stop``; the pursuit must have started."""
        problem, n, scores = self.problem, self.n_steps, self._scores
        assert scores is not None
        self.n_steps = _take_steps(
            *(n, min(stop, problem.max_steps), self._offset),
            *(self._G, self._D, self._A, self._rows, self._v),
            *(problem.alpha, problem.by_norm, scores.tol, scores.floor),
            *(scores.c, scores.e, scores.norms, scores.is_open, scores.gain),
            *(self._S, self._R, self._roots, self._loads, self._h),
            *(self.chosen, self.gains, self.errors),
        )

    def turn(self, correlations: np.ndarray) -> None:
        """Continue with residuals of these correlations (T, M) with the atoms."""
        assert self._scores is not None
        self._scores.c[:] = correlations
        nothing = np.zeros(self.atoms.n_atoms), np.zeros(len(correlations))
        self._scores.move(*nothing)

    def held_out_values(self) -> Iterator[np.ndarray]:
        """Yield the values (T, n) on the held-out rows after each new step."""
        while self._n_valued <= self.n_steps:
            if self._n_valued > 0:
                b = self._n_valued + self._offset - 1
                self._values += self._loads[b][:, None] * self._Q[b]
            self._n_valued += 1
            yield self._values

    def path(self) -> Path:
        """Return a copy of the path so far."""
        triangle = self._triangle()
        errors = self._data_errors(triangle)
        return self._orthogonal_path(triangle, self._loads[: len(triangle)], errors)

    def _triangle(self) -> np.ndarray:
        """Return the triangle that expresses the atoms in the directions."""
        n, b = self.n_steps, self._basis_size
        triangle = np.diag(self._roots[:b])
        upper = np.triu(self._P[:b, self.chosen[:n]], 1 - self._offset)
        triangle[:, self._offset :] += upper
        return triangle

    def _data_errors(self, triangle: np.ndarray) -> np.ndarray:
        """Return the errors on the data, without the ridge's part."""
        n, first = self.n_steps, self._offset
        inverse = solve_triangular(triangle, np.eye(len(triangle)))[first:]
        ridge = np.zeros(n + 1)
        for load in self._loads[: len(triangle)].T:
            # Column b holds the coefficients after direction b was added.
            coefs = np.cumsum(inverse * load, axis=1)[:, first:]
            ridge[1:] += (coefs**2).sum(axis=0)
        return self.errors[: n + 1, 0] - self.problem.alpha * ridge

    @staticmethod
    def state_bytes(
        n_rows: int, n_atoms: int, n_steps: int, n_targets: int, n_held_out: int
    ) -> int:
        """Return approximately the bytes of one pursuit besides the inner products."""
        directions = (n_steps + 1) * (n_atoms + n_held_out + n_targets)
        candidates = (2 * n_targets + 6) * n_atoms
        return 8 * (directions + candidates + 3 * n_targets * n_rows)


@compiled(fastmath=REORDER)
def _take_steps(
    n: int,
    stop: int,
    offset: int,
    G: np.ndarray,
    D: np.ndarray,
    A: np.ndarray,
    rows: np.ndarray,
    v: np.ndarray,
    alpha: float,
    by_norm: bool,
    tol: float,
    floor: float,
    c: np.ndarray,
    e: np.ndarray,
    norms: np.ndarray,
    is_open: np.ndarray,
    gain: np.ndarray,
    S: np.ndarray,
    R: np.ndarray,
    roots: np.ndarray,
    loads: np.ndarray,
    h: np.ndarray,
    chosen: np.ndarray,
    gains: np.ndarray,
    errors: np.ndarray,
) -> int:
    """Go from step ``n`` to ``stop``, or until no candidate is left; return where.

    The inner products of the atoms are ``G - D.T @ D``. ``A`` holds the atoms, ``rows``
    are those that are held out, of weights ``v``. The candidates ``c``, ``e``,
    ``norms``, ``is_open``, ``gain`` are those of `Scores`. Of the directions so far,
    ``S`` holds the correlations with the atoms and then the values on the held-out
    rows, ``roots`` the norms, ``loads`` the coefficients; ``R`` are the residuals on
    the held-out rows. ``h`` is room for coefficients. ``chosen``, ``gains`` and
    ``errors`` are the record.
    """
    n_atoms = e.shape[0]
    while n < stop:
        k = first_largest(gain)
        if k < 0:
            break
        b = n + offset
        s, load = S[b], loads[b]
        p, q = s[:n_atoms], s[n_atoms:]
        for i in range(n_atoms):
            p[i] = G[k, i]
        for i in range(q.shape[0]):
            q[i] = A[k, rows[i]]
        for j in range(D.shape[0]):
            h[j] = D[j, k]
        subtract(p, D, h)
        for j in range(b):
            h[j] = S[j, k]
        subtract(s, S[:b], h)
        is_open[k] = False
        squared = p[k] + alpha
        if squared <= tol * norms[k]:
            gain[k] = 0.0
            continue
        root = np.sqrt(squared)
        for i in range(s.shape[0]):
            s[i] /= root
        explained = 0.0
        for t in range(c.shape[0]):
            load[t] = c[t, k] / root
            explained += load[t] * load[t]
        chosen[n], gains[n], roots[b] = k, gain[k], root
        update(c, e, norms, p, load, 0.0, by_norm, tol, floor, is_open, gain)
        errors[n + 1, 0] = errors[n, 0] - explained
        errors[n + 1, 1] = reduce_residual(R, q, load, v, v)[0]
        n += 1
    return n
