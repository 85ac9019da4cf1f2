"""The choice among candidates in a pursuit under any loss.

Letters as in :mod:`.loss_pursuit`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from pursuit._compiling import compiled

from .atoms import Atoms
from .gains import NOISE, centered_squares, first_largest, write_gains
from .loss_model import LossModel
from .problem import Problem

# An atom is far from zero if its squared norm around its mean is below this share of
# the whole. Its mean must not leak into that norm, by rounding, nor into correlations
# with the gradient, by a constant that is the best one only up to a tolerance.
_FAR = 1e-8

# Share of a squared norm below which the rest outside the span is round-off.
_IN_SPAN = 1e-14

# Relative difference between the recurrence's squared norm and the exact one above
# which the choice is repeated with the exact value.
_DRIFT = 1e-6


class Candidates:
    """Atoms that may be chosen next, with their squared norms.

    Parameters
    ----------
    atoms : ndarray of int
    squares : ndarray
        Squared norms of the atoms in the metric of the choice.
    alpha : float
        The ridge.

    Attributes
    ----------
    atoms, squares : ndarray
    n_left_out : int
        Number of directions that were subtracted from the squared norms.
    is_far : ndarray of bool
        Whether each atom is far from zero; none is if there is no constant.
    norms : ndarray
        Squared norms, around the mean for atoms far from zero.
    e : ndarray
        Squared norms of the parts outside the known directions, plus the ridge; 0 for
        an atom that lies in the span.
    shifts : ndarray
        Correlations of atoms far from zero with the constant, 0 for the others.
    """

    def __init__(self, atoms: np.ndarray, squares: np.ndarray, alpha: float):
        self.atoms, self.squares = atoms, squares
        self.n_left_out = 0
        self.norms, self.e = squares, squares + alpha
        self.is_far = np.zeros(len(atoms), dtype=bool)
        self.shifts = np.zeros(len(atoms))
        self._alpha = alpha

    def leave_out_constant(
        self,
        p: np.ndarray,
        is_open: np.ndarray,
        deviations: Callable[[np.ndarray], np.ndarray],
    ) -> None:
        """Subtract the constant, with correlations ``p``, from the squared norms.

        Parameters
        ----------
        p : ndarray
        is_open : ndarray of bool
            Whether each candidate may still be chosen.
        deviations : callable
            Returns the squared norms of some atoms around their means, computed from
            their values.
        """
        centered = centered_squares(
            self.squares, p, is_open, lambda few: deviations(self.atoms[few]), _FAR
        )
        self.is_far = is_far = centered <= _FAR * self.squares
        # A constant adds nothing, whatever the ridge.
        outside = np.where(centered > 0, centered + self._alpha, 0.0)
        self.e = np.where(is_far, outside, self.e - p * p)
        self.norms = np.where(is_far, centered, self.squares)
        self.shifts = np.where(is_far, p, 0.0)
        self.n_left_out += 1

    def leave_out(self, P: np.ndarray) -> None:
        """Subtract directions with correlations ``P`` from the squared norms."""
        _leave_out(P, self.norms, self.e)
        self.n_left_out += len(P)


class Chooser:
    """Chooses the next atom of a model, by its gain in a metric.

    The metric is that of the loss's parabola for pre-fitting, else the weights.

    Parameters
    ----------
    atoms : Atoms
    problem : Problem
    model : LossModel

    Attributes
    ----------
    is_open : ndarray of bool of shape (M,)
        Whether each atom may still be chosen.
    """

    def __init__(self, atoms: Atoms, problem: Problem, model: LossModel):
        self._atoms, self._problem, self._model = atoms, problem, model
        self._offset = int(problem.fit_intercept)
        self.is_open = problem.candidates.copy()
        self._floor = NOISE**2 * self._energy()

    @property
    def metric(self) -> np.ndarray:
        """Weights of the rows, in which atoms are compared."""
        if self._problem.by_norm:
            return self._problem.weight
        return self._model.basis.metric[: self._atoms.n_rows]

    @property
    def directions(self) -> np.ndarray:
        """The directions to subtract from norms, orthonormal in the metric."""
        if self._problem.by_norm:
            weight = self._problem.weight
            return np.full((self._offset, len(weight)), 1.0 / np.sqrt(weight.sum()))
        return self._model.basis.Q[: self._model.size, : self._atoms.n_rows]

    def _energy(self) -> float:
        """Return the squared length of the gradient, in the dual of the metric."""
        g, metric = self._model.slope, self.metric
        fitted = metric > 0
        return float((g[:, fitted] ** 2 / metric[fitted]).sum())

    def candidates(
        self, squares: np.ndarray, atoms: np.ndarray | None = None
    ) -> Candidates:
        """Return all atoms, or some, as candidates of these squared norms."""
        if atoms is None:
            atoms = np.arange(self._atoms.n_atoms)
        return Candidates(atoms, squares, self._problem.alpha)

    def leave_out(self, among: Candidates, P: np.ndarray) -> None:
        """Subtract the next directions, with correlations ``P``, from the norms."""
        if self._offset and among.n_left_out == 0:
            # The constant comes first.
            deviations = partial(self._atoms.deviations, weight=self.metric)
            among.leave_out_constant(P[0], self.is_open[among.atoms], deviations)
            P = P[1:]
        among.leave_out(P)

    def choose(self, among: Candidates, c: np.ndarray) -> tuple[int, float] | None:
        """Choose by the candidates' correlations ``c`` (T, n) with the gradient.

        Returns the atom, which is placed in the model, and its gain; None if no
        candidate adds anything.
        """
        self._subtract_shifts(among, c)
        self._subtract_ridge(among, c)
        is_open, gains = self.is_open[among.atoms], np.empty(len(among.e))
        while True:
            write_gains(
                *(c, among.e, among.norms, among.squares, among.e, is_open),
                *(self._problem.tol, self._floor, gains),
            )
            j = int(first_largest(gains))
            if j < 0:
                return None
            if self._is_placed(among, j):
                return int(among.atoms[j]), float(gains[j])

    def _subtract_shifts(self, among: Candidates, c: np.ndarray) -> None:
        """Subtract what the means of atoms far from zero contribute.

        It is 0 at the best constant, which is found up to a tolerance only.
        """
        if among.shifts.any():
            c -= (self._model.slope @ self.directions[0])[:, None] * among.shifts

    def _subtract_ridge(self, among: Candidates, c: np.ndarray) -> None:
        """Subtract the ridge's slope, as a chosen atom may be chosen again."""
        model, alpha = self._model, self._problem.alpha
        if alpha > 0 and not self._problem.is_orthogonal:
            total = np.zeros((len(c), self._atoms.n_atoms))
            coef = model.coef[:, self._offset : model.size]
            np.add.at(total.T, np.array(model.atoms, dtype=int), coef.T)
            c -= alpha * total[:, among.atoms]

    def _is_placed(self, among: Candidates, j: int) -> bool:
        """Place candidate ``j`` in the model; return whether it is outside the span."""
        problem, model, k = self._problem, self._model, int(among.atoms[j])
        model.place(k, self._atoms.values(np.array([k]))[0])
        if not problem.is_orthogonal:
            return True
        b = model.size
        squared, whole = model.basis.append(b)
        if among.is_far[j]:
            # Its mean does not count: only what is outside the first direction.
            whole = float((model.basis.tri[self._offset : b + 1, b] ** 2).sum())
        is_outside = squared > problem.tol * whole
        drift = 0.0 if problem.by_norm else abs(squared - among.e[j])
        if not is_outside or drift > _DRIFT * among.e[j]:
            # The recurrence is imprecise near the span: use the exact value.
            among.e[j] = squared if is_outside else 0.0
            return False
        self.is_open[k] = False
        return True


@compiled
def _leave_out(P: np.ndarray, norms: np.ndarray, e: np.ndarray) -> None:
    """Subtract directions of correlations ``P`` from the squared norms ``e``.

    Round-off that is left of an atom in their span is set to 0.
    """
    for j in range(P.shape[0]):
        for k in range(e.shape[0]):
            left = e[k] - P[j, k] * P[j, k]
            e[k] = left if left > _IN_SPAN * norms[k] else 0.0
