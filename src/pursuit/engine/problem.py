"""The problem that a pursuit solves, and the record of its steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from pursuit.losses import Loss, Squared
from pursuit.path import OrthogonalPath, Path

from .atoms import Atoms

# Targets that differ from a constant by less than this share count as constant.
_CONSTANT = 1e-14

# Attributes that a released pursuit keeps.
_RECORDED = ("problem", "n_steps", "chosen", "gains", "errors", "judged", "stop_reason")

METHODS = ("pre-fitting", "back-fitting", "basic")

# Scores values (T, n) on the held-out rows, given these rows and their weights; lower
# is better.
Judge = Callable[[np.ndarray, np.ndarray, np.ndarray], float]


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
    backfit_every : int
        Number of steps from one optimization of all coefficients to the next.
    judge : callable, optional
        Error of the held-out rows, used instead of the loss.
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
    backfit_every: int = 1
    judge: Judge | None = None

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
            self.backfit_every == 1 or not self.is_orthogonal
        )

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
    judged : ndarray of shape (max_steps + 1,)
        Error of the held-out rows by the problem's judge.
    stop_reason : str or None
    """

    def __init__(self, atoms: Atoms, problem: Problem) -> None:
        self.atoms, self.problem = atoms, problem
        n_max = problem.max_steps
        self.n_steps = 0
        self.chosen = np.full(n_max, -1)
        self.gains = np.zeros(n_max)
        self.errors = np.zeros((n_max + 1, 2))
        self.judged = np.zeros(n_max + 1)
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

    def take_back(self, n_steps: int) -> None:
        """Undo the steps after ``n_steps``, and end the pursuit."""
        self.n_steps = min(self.n_steps, n_steps)

    def release(self) -> None:
        """Free everything but the record, after the pursuit has ended."""
        self.__dict__ = {name: self.__dict__[name] for name in _RECORDED}

    def _judge(self, size: int, values: np.ndarray) -> None:
        """Record the judge's error of ``values`` (T, n) on the held-out rows."""
        if self.problem.judge is not None and len(self._held_out):
            rows = self._held_out
            self.judged[size] = self.problem.judge(
                rows, values, self.problem.held_out[rows]
            )
