r"""The pursuit under any loss (Fig. 9.4): follow the gradient, then re-optimize.

Letters as in :mod:`.pursuit`. The residual is replaced by minus half the gradient of
the loss, which for squared loss is the residual. A step chooses an atom, either by its
correlation with the gradient ("back-fitting" and "basic", as in the papers) or by the
decrease that the loss's parabola at the current fit predicts after all coefficients
are re-optimized ("pre-fitting"). Then the coefficients are optimized by
:class:`pursuit.engine.backfitting.Newton`.

*The metric* is that of the parabola (see :mod:`.metric`). Correlations and squared
norms in it would have to be recomputed at each step, in a pass for as many vectors as
there are chosen atoms. Therefore the metric is kept while the model grows by a quarter;
the gradient is always current. For squared loss the metric never changes, and the
choice is that of Fig. 9.3.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import numpy as np

from pursuit.path import RefittedPath

from ._loss_loops import solve_triangle
from .atoms import Atoms
from .backfitting import Newton, Objective
from .candidates import Candidates
from .gains import NOISE, first_largest, write_gains
from .metric import Basis, enlarged, is_renewal_due, orthonormal, parabola
from .problem import Problem, Steps

# Initial capacity in steps. It doubles when needed, because work grows with it and few
# pursuits reach their limit.
_FIRST_ROOM = 32

# Number of directions whose correlations with all atoms are requested at a time.
_AT_ONCE = 64

# Relative difference between the recurrence's squared norm and the exact one above
# which the choice is repeated with the exact value.
_DRIFT = 1e-6


class LossPursuit(Steps):
    """One pursuit in progress under any loss; see :class:`.Pursuit`.

    ``basis`` holds the constant, if there is one, and the chosen atoms; ``F`` (T, l +
    tail) the values of the model.
    """

    def __init__(self, atoms: Atoms, problem: Problem):
        super().__init__(atoms, problem)
        n_targets, n_rows = problem.Y.shape
        self._objective = Objective(problem.loss, problem.Y, problem.weight)
        self._newton = Newton(self._objective)
        self.F = np.zeros((n_targets, n_rows))
        self.basis = Basis(n_rows)
        self.coefs: list[np.ndarray] = []
        self._coef = np.zeros((n_targets, 0))
        self._reserve(min(_FIRST_ROOM, problem.max_steps))
        self._open = problem.candidates.copy()
        self._candidates: Candidates | None = None
        self._pending: tuple[int, float] | None = None
        self._n_valued = 0
        self._begin()

    def _reserve(self, n_steps: int) -> None:
        """Allocate room for ``n_steps``; with a ridge, each has a row on the tail."""
        size = n_steps + self._offset
        width = self.atoms.n_rows + (n_steps if self.problem.alpha > 0 else 0)
        self.basis.reserve(size, width)
        self.F = enlarged(self.F, len(self.F), width)
        self._coef = enlarged(self._coef, len(self.F), size)

    @property
    def needs_norms(self) -> bool:
        """Whether weighted squared norms of all atoms are needed at the start."""
        # Pre-fitting compares atoms in the parabola's metric, not by the weights.
        return not self._is_prefitting

    @property
    def _is_prefitting(self) -> bool:
        return self.problem.method == "pre-fitting"

    # -- the start -----------------------------------------------------------------

    def _begin(self) -> None:
        problem, objective, basis = self.problem, self._objective, self.basis
        if problem.fit_intercept:
            objective.rows(basis.C)[0] = objective.rows(basis.Q)[0] = 1.0
            basis.tri[0, 0] = 1.0
            self._coef[:, 0] = problem.loss.start(problem.Y, problem.weight)
            objective.rows(self.F)[:] = self._coef[:, :1]
        self._scale = objective.value(self.F)
        self._renew_metric()
        if problem.loss.is_convex:
            # Other losses may have their best constant where all rows are given up.
            self._improve(basis.Q[: self._offset], basis.tri)
            self._renew_metric()
        self._scale = objective.value(self.F)
        self._start_energy = self._energy()
        self._record(0)
        if self._is_flat():
            self.stop_reason = "exact"

    def _is_flat(self) -> bool:
        """Return whether the gradient is zero on all rows."""
        problem, objective = self.problem, self._objective
        at_zero = objective.at(np.zeros_like(self.F)).descent
        size = np.abs(at_zero).max(initial=0.0)
        here = objective.at(self.F)
        is_small = np.abs(here.descent).max(initial=0.0) <= 1e-14 * size
        return bool(is_small or here.losses @ problem.weight == 0.0)

    @property
    def _slope(self) -> np.ndarray:
        """Minus half the gradient on the rows, (T, l)."""
        return self._objective.rows(self._objective.at(self.F).descent)

    def _energy(self) -> float:
        """Return the squared length of the gradient, in the dual of the metric."""
        g = self._slope
        metric = self._choice_metric
        fitted = metric > 0
        return float((g[:, fitted] ** 2 / metric[fitted]).sum())

    # -- the metric ----------------------------------------------------------------

    def _renew_metric(self) -> bool:
        """Compute the parabola at the current fit; return whether it has changed."""
        objective = self._objective
        rows = parabola(
            objective.loss, objective.Y, objective.rows(self.F), self.problem.weight
        )
        self._renewed_at = self.n_steps
        has_changed = self.basis.renew(rows, self._basis_size)
        if has_changed:
            self._newton.forget()
        return has_changed

    @property
    def _choice_metric(self) -> np.ndarray:
        """The metric in which atoms are compared: the parabola, or the weights."""
        if self._is_prefitting:
            return self.basis.metric[: self.atoms.n_rows]
        return self.problem.weight

    def _known_directions(self) -> np.ndarray:
        """Return the directions to subtract from norms, orthonormal in the metric."""
        if self._is_prefitting:
            return self._objective.rows(self.basis.Q[: self._basis_size])
        weight = self.problem.weight
        return np.full((self._offset, len(weight)), 1.0 / np.sqrt(weight.sum()))

    # -- one round -----------------------------------------------------------------

    @property
    def work(self) -> float:
        """Approximate number of operations of a proposal: a few matrix products."""
        return 10.0 * self.F.size * self._basis_size

    def propose(self) -> np.ndarray:
        """Complete the last step; return the vectors needed for the next."""
        self._complete()
        if self.stop_reason is not None:
            return np.zeros((0, self.atoms.n_rows))
        directions = self._known_directions()
        asked = directions[self._n_seen : self._n_seen + _AT_ONCE]
        self._n_asked = len(asked)
        is_last = self._n_seen + self._n_asked == len(directions)
        slope = self._slope
        return np.concatenate(
            [asked * self._choice_metric, slope[: is_last * len(slope)]]
        )

    def _complete(self) -> None:
        """Take the pending step, and renew the metric if it is due."""
        if self._pending is not None:
            self._step(*self._pending)
            self._pending = None
        is_due = self._is_prefitting and is_renewal_due(self.n_steps, self._renewed_at)
        if self.n_steps == self.problem.max_steps:
            self.stop_reason = self.stop_reason or "max_support"
        elif is_due and self._renew_metric():
            self._candidates = None
        if self._candidates is None and self.stop_reason is None:
            self._n_seen = 0
            self._begin_candidates()

    def _begin_candidates(self) -> None:
        if self._is_prefitting:
            squares = self.atoms.squared_norms(self._choice_metric[None])[0]
            self._set_candidates(squares)

    def _set_candidates(self, squares: np.ndarray) -> None:
        every = np.arange(self.atoms.n_atoms)
        self._candidates = Candidates(every, squares, self.problem.alpha)

    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Add the correlations; choose the next atom once they are complete."""
        if self.stop_reason is not None:
            return
        if norms is not None:
            self._set_candidates(norms)
        assert self._candidates is not None
        self._leave_out(self._candidates, correlations[: self._n_asked])
        self._n_seen += self._n_asked
        slopes = correlations[self._n_asked :]
        if len(slopes):
            self._choose(self._candidates, slopes)

    def _leave_out(self, among: Candidates, P: np.ndarray) -> None:
        """Subtract the next known directions, with correlations ``P``, from norms."""
        if self._offset and self._n_seen == 0:
            # The constant comes first.
            deviations = partial(self.atoms.deviations, weight=self._choice_metric)
            among.leave_out_constant(P[0], self._open[among.atoms], deviations)
            P = P[1:]
        among.leave_out(P)

    # -- choosing ------------------------------------------------------------------

    def _choose(self, among: Candidates, c: np.ndarray) -> None:
        """Choose by the candidates' correlations ``c`` (T, n) with the gradient."""
        self._subtract_shifts(among, c)
        self._subtract_ridge(among, c)
        is_open, tol = self._open[among.atoms], self.problem.tol
        floor = NOISE**2 * self._start_energy
        while self.stop_reason is None and self._pending is None:
            gain = np.empty(len(among.e))
            write_gains(
                *(c, among.e, among.norms, among.squares, among.e, is_open),
                *(tol, floor, gain),
            )
            j = int(first_largest(gain))
            if j < 0:
                self.stop_reason = self._why_none()
            else:
                self._try(among, j, float(gain[j]))

    def _subtract_shifts(self, among: Candidates, c: np.ndarray) -> None:
        """Subtract what the means of atoms far from zero contribute.

        It is 0 at the best constant, which is found up to a tolerance only.
        """
        if among.shifts.any():
            constant = self._known_directions()[0]
            c -= (self._slope @ constant)[:, None] * among.shifts

    def _subtract_ridge(self, among: Candidates, c: np.ndarray) -> None:
        """Subtract the ridge's slope, as a chosen atom may be chosen again."""
        if self.problem.alpha > 0 and not self.problem.is_orthogonal:
            total = np.zeros((len(c), self.atoms.n_atoms))
            coef = self._coef[:, self._offset : self._basis_size]
            np.add.at(total.T, self.chosen[: self.n_steps], coef.T)
            c -= self.problem.alpha * total[:, among.atoms]

    def _why_none(self) -> str:
        is_exact = self.errors[self.n_steps, 0] <= 1e-24 * self.errors[0, 0]
        return "exact" if is_exact else "exhausted"

    def _try(self, among: Candidates, j: int, gain: float) -> None:
        """Choose candidate ``j`` next, unless it turns out to be in the span."""
        problem, b, k = self.problem, self._basis_size, int(among.atoms[j])
        self._fetch(k)
        if problem.is_orthogonal:
            squared, whole = self.basis.append(b)
            if among.is_far[j]:
                # Its mean does not count: only what is outside the first direction.
                whole = float((self.basis.tri[self._offset : b + 1, b] ** 2).sum())
            is_outside = squared > problem.tol * whole
            drift = abs(squared - among.e[j]) if self._is_prefitting else 0.0
            if not is_outside or drift > _DRIFT * among.e[j]:
                # The recurrence is imprecise near the span: use the exact value.
                among.e[j] = squared if is_outside else 0.0
                return
            self._open[k] = False
        self._pending = k, gain

    def _fetch(self, k: int) -> None:
        """Write atom ``k``, with its ridge on the tail, after the chosen ones."""
        b, n_rows = self._basis_size, self.atoms.n_rows
        if b == len(self.basis.C):
            self._reserve(min(2 * self.n_steps, self.problem.max_steps))
        function = self.basis.C[b]
        function[:n_rows] = self.atoms.values(np.array([k]))[0]
        function[n_rows:] = 0.0
        if self.problem.alpha > 0:
            row = self.n_steps
            if not self.problem.is_orthogonal:  # an atom may be chosen again
                row = [*self.chosen[:row], k].index(k)
            function[n_rows + row] = np.sqrt(self.problem.alpha)

    # -- stepping ------------------------------------------------------------------

    def _step(self, k: int, gain: float) -> None:
        """Add atom ``k``, and optimize the coefficients."""
        basis, n, b = self.basis, self.n_steps, self._basis_size + 1
        if self.problem.is_orthogonal and (n + 1) % self.problem.backfit_every == 0:
            self._improve(basis.Q[:b], basis.tri)
        else:
            # The constant is always optimized: only the other coefficients wait.
            places = [0] * self._offset + [b - 1]
            self._newton.forget()
            self._improve(*orthonormal(basis.C[places], basis.metric), places)
            self._newton.forget()
        self.chosen[n], self.gains[n] = k, gain
        # Only a step that is recorded as a whole counts: an interrupt may come.
        self._record(n + 1)
        self.n_steps = n + 1

    def _improve(
        self, B: np.ndarray, R: np.ndarray, places: list[int] | None = None
    ) -> None:
        """Minimize the objective over the functions ``B``, ``C[places] = R.T @ B``.

        If ``R`` is larger, its leading rows and columns are used.
        """
        if not len(B):
            return
        self.F, theta = self._newton.refit(self.F, B, self._scale)
        columns = slice(0, len(B)) if places is None else places
        solve_triangle(R, theta)
        self._coef[:, columns] += theta

    def _record(self, n: int) -> None:
        """Record the model of ``n`` steps."""
        problem = self.problem
        losses = self._objective.at(self.F).losses
        self.errors[n] = losses @ problem.weight, losses @ problem.held_out
        self.coefs.append(self._coef[:, : self._offset + n].copy())

    def held_out_values(self) -> Iterator[np.ndarray]:
        """Yield the values (T, n) on the held-out rows if a step was taken.

        A round takes one step at most.
        """
        if self._n_valued <= self.n_steps:
            self._n_valued = self.n_steps + 1
            yield self.F[:, self._held_out]

    # -- the result ----------------------------------------------------------------

    def path(self) -> RefittedPath:
        """Return a copy of the path so far."""
        n = self.n_steps
        return RefittedPath(
            atoms=self.chosen[:n].copy(),
            coefs=tuple(self.coefs[: n + 1]),
            errors=self.errors[: n + 1, 0] / self.problem.weight.sum(),
            gains=self.gains[:n].copy(),
            has_intercept=self.problem.fit_intercept,
            stop_reason=self.stop_reason or "unfinished",
        )

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
