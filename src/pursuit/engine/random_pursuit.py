"""Pursuits that draw new random candidates at each step (the 59-trick)."""

from __future__ import annotations

import numpy as np

from ._loops import inner
from .atoms import Atoms
from .directions import DirectionSteps
from .gains import NOISE, centered_squares, first_largest, write_gains
from .loss_pursuit import LossPursuit
from .problem import Problem


def _drawn(is_left: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
    """Return ``n`` of the atoms that are left, or all, in order."""
    left = np.flatnonzero(is_left)
    return np.sort(rng.choice(left, min(n, len(left)), replace=False))


class RandomPursuit(DirectionSteps):
    """A pursuit under squared loss with a few new random candidates at each step.

    The best of 59 random candidates is, with 95 % certainty, one of the best 5 % of
    all (§9.4.1). There is no pass over the dictionary: each step evaluates only the
    atoms it draws.
    """

    def __init__(
        self,
        atoms: Atoms,
        problem: Problem,
        n_candidates: int,
        rng: np.random.Generator,
    ):
        super().__init__(atoms, problem)
        self._n_candidates, self._rng = n_candidates, rng
        self._left = problem.candidates.copy()
        # Atoms that add nothing to the present model.
        self._is_idle = np.zeros(len(self._left), dtype=bool)

    @property
    def needs_norms(self) -> bool:
        """Whether squared norms of all atoms are needed: those drawn suffice."""
        return False

    @property
    def work(self) -> float:
        """Approximate number of operations of a proposal: nothing is proposed."""
        return 0.0

    def propose(self) -> np.ndarray:
        """Return no vectors: only the atoms drawn are needed."""
        return np.zeros((0, self.atoms.n_rows))

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Take one step."""
        problem = self.problem
        if self.n_steps == problem.max_steps:
            self.stop_reason = "max_support"
            return
        drawn = _drawn(self._left & ~self._is_idle, self._n_candidates, self._rng)
        if not len(drawn):
            self.stop_reason = self._why_none()
            return
        best = self._best_of(drawn)
        if best is None:
            # Do not draw these again before the next step.
            self._is_idle[drawn] = True
            return
        self._take(*best)
        self._is_idle[:] = False

    def _take(
        self, k: int, u: np.ndarray, h: np.ndarray, squared: float, gain: float
    ) -> None:
        """Append atom ``k`` with direction ``u``, whose squared norm is ``squared``."""
        problem, b = self.problem, self._basis_size
        a = self._correlation(u, k) / squared
        root = 1.0
        if problem.is_orthogonal:
            root = np.sqrt(squared)
            u, a = u / root, a * root
            if problem.alpha > 0:
                u[self.atoms.n_rows + self.n_steps] = np.sqrt(problem.alpha) / root
            self._left[k] = False
        self.Q[b] = u
        self.tri[: len(h), b] = h
        self.tri[b, b] = root
        self._record(k, u, a, gain)
        self.n_steps += 1

    def _correlation(self, u: np.ndarray, k: int) -> np.ndarray:
        """Return the direction's correlation with the (penalized) residual."""
        c = inner(self.R, u, self._w)
        if self.problem.is_orthogonal or not self.problem.alpha:
            return c
        again = self.chosen[: self.n_steps] == k
        first = self._offset
        loads = self.loads[first : first + self.n_steps][again]
        return c - self.problem.alpha * loads.sum(axis=0)

    def _best_of(
        self, drawn: np.ndarray
    ) -> tuple[int, np.ndarray, np.ndarray, float, float] | None:
        """Return the best atom drawn: index, direction, h, squared norm, gain."""
        problem = self.problem
        U = np.zeros((len(drawn), self.Q.shape[1]))
        U[:, : self.atoms.n_rows] = self.atoms.values(drawn)
        norms = self._centered_squares(drawn, U) + problem.alpha
        U, h = self._orthogonalize(U)
        U, more = self._orthogonalize(U)
        h += more
        squared = np.einsum("ij,ij,j->i", U, U, self._w) + problem.alpha
        C = [self._correlation(u, int(k)) for u, k in zip(U, drawn, strict=True)]
        gains, by = np.empty(len(drawn)), norms if problem.by_norm else squared
        write_gains(
            *(np.array(C).T.copy(), squared, norms, norms, by, norms > 0),
            *(problem.tol, NOISE**2 * self._squared_y, gains),
        )
        i = int(first_largest(gains))
        if i < 0:
            return None
        return int(drawn[i]), U[i], h[i], float(squared[i]), float(gains[i])

    def _centered_squares(self, drawn: np.ndarray, U: np.ndarray) -> np.ndarray:
        """Return the atoms' squared norms, around the mean if there is a constant."""
        squares = np.einsum("ij,ij,j->i", U, U, self._w)
        if not self.problem.fit_intercept:
            return squares
        p = (U * self._w) @ self.Q[0]
        weight, every = self.problem.weight, np.ones(len(drawn), dtype=bool)
        return centered_squares(
            squares, p, every, lambda few: self.atoms.deviations(drawn[few], weight)
        )

    def _orthogonalize(self, U: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Project the span out of the rows of ``U``; return also the coefficients."""
        is_orthogonal = self.problem.is_orthogonal
        Q = self.Q[: self._basis_size if is_orthogonal else self._offset]
        taken = (U * self._w) @ Q.T
        return U - taken @ Q, taken


class RandomLossPursuit(LossPursuit):
    """A pursuit under any loss with a few new random candidates at each step."""

    def __init__(
        self,
        atoms: Atoms,
        problem: Problem,
        n_candidates: int,
        rng: np.random.Generator,
    ) -> None:
        self._n_candidates, self._rng = n_candidates, rng
        # Atoms that add nothing to the present model.
        self._is_idle = np.zeros(len(problem.candidates), dtype=bool)
        super().__init__(atoms, problem)

    @property
    def needs_norms(self) -> bool:
        """Whether squared norms of all atoms are needed: those drawn suffice."""
        return False

    def propose(self) -> np.ndarray:
        """Complete the last step; no vectors are needed."""
        before = self.n_steps
        self._complete()
        if self.n_steps > before:
            self._is_idle[:] = False
        return np.zeros((0, self.atoms.n_rows))

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Choose the best of some random candidates."""
        if self.stop_reason is not None:
            return
        chooser = self._chooser
        is_left = chooser.is_open & ~self._is_idle
        drawn = _drawn(is_left, self._n_candidates, self._rng)
        if not len(drawn):
            self.stop_reason = self._why_none()
            return
        A, metric = self.atoms.values(drawn), chooser.metric
        among = chooser.candidates((A * A) @ metric, drawn)
        chooser.leave_out(among, (chooser.directions * metric) @ A.T)
        self._next = chooser.choose(among, self.model.slope @ A.T)
        if self._next is None:
            # Do not draw these again before the next step.
            self._is_idle[drawn] = True
