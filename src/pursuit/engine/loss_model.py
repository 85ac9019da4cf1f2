"""The model of a pursuit under any loss: its functions, coefficients and values.

Letters as in :mod:`.loss_pursuit`.
"""

from __future__ import annotations

import numpy as np

from .backfitting import newton_of
from .metric import Basis, enlarged, orthonormal, parabola, solve_triangle
from .objective import Objective
from .problem import Problem

# Initial capacity in steps. It doubles when needed, because work grows with it and few
# pursuits reach their limit.
_FIRST_ROOM = 32


class LossModel:
    """A sum of chosen atoms, and of a constant if there is one, fitted under a loss.

    Parameters
    ----------
    problem : Problem

    Attributes
    ----------
    atoms : list of int
        The chosen atoms.
    basis : Basis
        The constant, if there is one, and the chosen atoms.
    coef : ndarray of shape (T, room)
        Coefficients of these functions.
    F : ndarray of shape (T, l + tail)
        Values of the model.
    """

    def __init__(self, problem: Problem):
        n_targets, n_rows = problem.Y.shape
        self._problem, self._offset = problem, int(problem.fit_intercept)
        self._objective = Objective(problem.loss, problem.Y, problem.weight)
        self._newton = newton_of(self._objective)
        self.atoms: list[int] = []
        self.basis = Basis(n_rows)
        self.coef = np.zeros((n_targets, 0))
        self.F = np.zeros((n_targets, n_rows))
        self._reserve(min(_FIRST_ROOM, problem.max_steps))
        self._begin()

    def _reserve(self, n_steps: int) -> None:
        """Allocate room for ``n_steps``; with a ridge, each has a row on the tail."""
        size, width = n_steps + self._offset, self._problem.Y.shape[1]
        width += n_steps if self._problem.alpha > 0 else 0
        self.basis.reserve(size, width)
        self.F = enlarged(self.F, len(self.F), width)
        self.coef = enlarged(self.coef, len(self.F), size)

    def _begin(self) -> None:
        """Fit the constant."""
        problem, objective, basis = self._problem, self._objective, self.basis
        if problem.fit_intercept:
            objective.rows(basis.C)[0] = objective.rows(basis.Q)[0] = 1.0
            basis.tri[0, 0] = 1.0
            self.coef[:, 0] = problem.loss.start(problem.Y, problem.weight)
            objective.rows(self.F)[:] = self.coef[:, :1]
        self._scale = objective.value(self.F)
        self.renew_metric()
        if problem.loss.is_convex:
            # Other losses may have their best constant where all rows are given up.
            self._refit(basis.Q[: self._offset], basis.tri)
            self.renew_metric()
        self._scale = objective.value(self.F)

    @property
    def size(self) -> int:
        """The number of functions: the chosen atoms, and the constant."""
        return self._offset + len(self.atoms)

    @property
    def slope(self) -> np.ndarray:
        """Minus half the gradient on the rows, (T, l)."""
        return self._objective.rows(self._objective.at(self.F).descent)

    @property
    def errors(self) -> tuple[float, float]:
        """The loss, summed over the fitted and the held-out rows."""
        losses = self._objective.at(self.F).losses
        return losses @ self._problem.weight, losses @ self._problem.held_out

    @property
    def is_flat(self) -> bool:
        """Whether the gradient is zero on all rows, or the loss itself."""
        at_zero = self._objective.at(np.zeros_like(self.F)).descent
        size = np.abs(at_zero).max(initial=0.0)
        here = np.abs(self._objective.at(self.F).descent).max(initial=0.0)
        return bool(here <= 1e-14 * size or self.errors[0] == 0.0)

    def renew_metric(self, n_new: int = 0) -> bool:
        """Compute the parabola at the current fit; return whether it has changed.

        The last ``n_new`` functions are not orthonormal yet.
        """
        objective = self._objective
        rows = parabola(
            objective.loss, objective.Y, objective.rows(self.F), self._problem.weight
        )
        has_changed = self.basis.renew(rows, self.size, n_new)
        if has_changed:
            self._newton.forget()
        return has_changed

    # -- one step ------------------------------------------------------------------

    def place(self, k: int, values: np.ndarray) -> None:
        """Write atom ``k`` with these values, and its ridge, after the chosen ones."""
        problem, b = self._problem, self.size
        if b == len(self.basis.C):
            self._reserve(min(2 * len(self.atoms), problem.max_steps))
        n_rows, function = len(values), self.basis.C[b]
        function[:n_rows], function[n_rows:] = values, 0.0
        if problem.alpha > 0:
            # An atom that is chosen again has one row on the tail.
            row = [*self.atoms, k].index(k)
            function[n_rows + row] = np.sqrt(problem.alpha)

    def add(self, k: int) -> None:
        """Add atom ``k``, which was placed last, and optimize the coefficients.

        All of them are optimized every ``refit_every`` steps, otherwise those of the
        atom and the constant.
        """
        problem, basis, b = self._problem, self.basis, self.size + 1
        n = len(self.atoms) + 1
        if problem.is_orthogonal and n % problem.refit_every == 0:
            self._refit(basis.Q[:b], basis.tri)
        else:
            places = [0] * self._offset + [b - 1]
            self._newton.forget()
            self._refit(*orthonormal(basis.C[places], basis.metric), places)
            self._newton.forget()
        self.atoms.append(k)

    def extend(self, atoms: list[int], values: np.ndarray) -> None:
        """Add several atoms with these values, and optimize all coefficients."""
        for k, row in zip(atoms, values, strict=True):
            self.place(k, row)
            self.atoms.append(k)
        self.renew_metric(len(atoms))
        self._refit(self.basis.Q[: self.size], self.basis.tri)

    def _refit(
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
        self.coef[:, columns] += theta
