"""The problem that a pursuit solves, and the steps of a pursuit in progress.

The path is the frozen record of these steps.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from pursuit.losses import Loss, Squared
from pursuit.path import OrthogonalPath, Path, RefittedPath

from .atoms import Atoms

# Targets that differ from a constant by less than this share count as constant.
_CONSTANT = 1e-14

METHODS = ("pre-fitting", "back-fitting", "basic")


@dataclass(frozen=True, eq=False)
class Problem:
    """The problem that one pursuit solves.

    Attributes
    ----------
    Y : ndarray of shape (T, l)
        Targets, one per row.
    weight : ndarray of shape (l,)
        Sample weights; rows of weight 0 are not fitted.
    held_out : ndarray of shape (l,)
        Weights under which the held-out error is recorded.
    candidates : ndarray of bool of shape (M,)
        Atoms that may be chosen.
    method : {"pre-fitting", "back-fitting", "basic"}
    alpha : float
        Ridge on the coefficients.
    fit_intercept : bool
        Whether an unpenalized constant is always present.
    max_steps : int
    tol : float
        An atom whose squared norm outside the span is below ``tol`` times its
        squared norm counts as dependent and is skipped.
    loss : Loss
    refit_every : int
        Number of steps from one optimization of all coefficients to the next.
    weighting : int
        Key of ``weight``: problems with the same key have the same weights, so that
        their pursuits share norms and inner products.
    groups : ndarray of int of shape (l,) or None
        Groups of rows within which values are compared, in ranking.
    """

    Y: np.ndarray
    weight: np.ndarray
    held_out: np.ndarray
    candidates: np.ndarray
    method: str = "pre-fitting"
    alpha: float = 0.0
    fit_intercept: bool = True
    max_steps: int = 100
    tol: float = 1e-14
    loss: Loss = field(default_factory=Squared)
    refit_every: int = 1
    weighting: int = 0
    groups: np.ndarray | None = None

    @property
    def is_orthogonal(self) -> bool:
        """Whether all coefficients are optimized at each step."""
        return self.method != "basic"

    @property
    def by_norm(self) -> bool:
        """Whether gains are relative to the whole squared norm of the atom."""
        return self.method != "pre-fitting"

    @property
    def is_least_squares(self) -> bool:
        """Whether :class:`.Pursuit` can solve the problem."""
        return self.loss.has_closed_form and (
            self.refit_every == 1 or not self.is_orthogonal
        )

    @property
    def centered_groups(self) -> np.ndarray | None:
        """The groups in each of which atoms count around their means only.

        None if there are none, or only one: there the constant does the same.
        """
        return None if self.fit_intercept else self.groups

    @property
    def means(self) -> np.ndarray:
        """The weighted means of the targets, exact for constant targets."""
        first = self.Y[:, np.argmax(self.weight > 0)]
        rest = (self.Y - first[:, None]) @ self.weight
        return first + rest / self.weight.sum()

    def is_constant(self, squared: float) -> bool:
        """Whether the squared residual of the constant model is only round-off."""
        whole = float(((self.Y**2) @ self.weight).sum())
        return squared <= _CONSTANT**2 * whole


class Steps(ABC):
    """The steps of a pursuit in progress.

    Attributes
    ----------
    n_steps : int
    chosen : ndarray of shape (max_steps,)
        Atom chosen at each step.
    gains : ndarray of shape (max_steps,)
        Score of that atom.
    errors : ndarray of shape (max_steps + 1, 2)
        Loss at sizes 0, 1, ..., summed over the fitted and the held-out rows.
    stop_reason : str or None
    """

    def __init__(self, atoms: Atoms, problem: Problem) -> None:
        self.atoms, self.problem = atoms, problem
        n_max = problem.max_steps
        self.n_steps = 0
        self.chosen = np.full(n_max, -1)
        self.gains = np.zeros(n_max)
        self.errors = np.zeros((n_max + 1, 2))
        self.stop_reason: str | None = None
        self._offset = int(problem.fit_intercept)
        self._held_out = np.flatnonzero(problem.held_out)

    @property
    def needs_norms(self) -> bool:
        """Whether weighted squared norms of all atoms are needed at the start."""
        return True

    @property
    def needs_image(self) -> bool:
        """Whether an image of the atoms is needed, made in the same pass."""
        return False

    @property
    def _basis_size(self) -> int:
        return self.n_steps + self._offset

    @property
    @abstractmethod
    def work(self) -> float:
        """Approximate number of operations of a proposal."""

    @abstractmethod
    def propose(self) -> np.ndarray:
        """Return the vectors (m, l) whose correlations with all atoms are needed."""

    @abstractmethod
    def advance(
        self, correlations: np.ndarray, norms: np.ndarray | None = None
    ) -> None:
        """Continue with these correlations, and at the start with squared norms."""

    @abstractmethod
    def path(self) -> Path:
        """Return a copy of the path so far."""

    def later_path(self) -> Callable[[], Path]:
        """Return a function that returns the path so far, without holding the rows.

        Of the many paths that are compared, few are ever asked for: where a path takes
        long to make, it is made then.
        """
        path = self.path()
        return lambda: path

    def _orthogonal_path(
        self, triangle: np.ndarray, loads: np.ndarray, errors: np.ndarray
    ) -> OrthogonalPath:
        """Return the path so far of a pursuit under squared loss.

        ``errors`` are those of the fitted rows at sizes 0, 1, ..., summed.
        """
        problem, n = self.problem, self.n_steps
        return OrthogonalPath(
            atoms=self.chosen[:n].copy(),
            triangle=triangle,
            loads=loads.copy(),
            errors=errors / problem.weight.sum(),
            gains=self.gains[:n].copy(),
            has_intercept=problem.fit_intercept,
            stop_reason=self.stop_reason or "unfinished",
            means=problem.means if problem.fit_intercept else None,
        )

    def _refitted_path(self, coefs: Iterable[np.ndarray]) -> RefittedPath:
        """Return the path so far, of models with coefficients of their own.

        ``coefs`` are those of sizes 0, 1, ..., each (T, size) after the constants.
        """
        n = self.n_steps
        return RefittedPath(
            atoms=self.chosen[:n].copy(),
            coefs=tuple(coefs),
            errors=self.errors[: n + 1, 0] / self.problem.weight.sum(),
            gains=self.gains[:n].copy(),
            has_intercept=self.problem.fit_intercept,
            stop_reason=self.stop_reason or "unfinished",
        )

    def take_back(self, n_steps: int, reason: str) -> None:
        """Undo the steps after ``n_steps``, and end the pursuit for a reason."""
        self.n_steps = min(self.n_steps, n_steps)
        self.stop_reason = reason

    @abstractmethod
    def held_out_values(self) -> Iterator[np.ndarray]:
        """Yield the values (T, n) on the held-out rows after each new step.

        Sizes 0, 1, ... are yielded once each, over all calls; call it after each
        round. An array is valid until the next one.
        """
