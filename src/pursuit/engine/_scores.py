"""Scores of the candidates: correlations, squared norms and gains.

Letters as in :mod:`.pursuit`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._loops import update
from .problem import Problem
from .ties import first_largest

# A correlation below this share of |atom| |y| is round-off.
NOISE = 4e-16

# Share of its squared norm below which a centered atom's, by subtraction, is round-off
# and must be computed from its values; and below which even those show a constant.
_CENTERED, _CONSTANT = 1e-14, 1e-30


def centered_squares(
    squares: np.ndarray,
    p: np.ndarray,
    is_open: np.ndarray,
    deviations: Callable[[np.ndarray], np.ndarray],
    share: float = _CENTERED,
) -> np.ndarray:
    """Return the squared norms of atoms around their means, 0 for constant ones.

    Parameters
    ----------
    squares : ndarray
        Squared norms of the atoms.
    p : ndarray
        Their correlations with the constant of norm 1.
    is_open : ndarray of bool
        Whether each atom may be chosen: the others are not looked at.
    deviations : callable
        Returns the squared norms of some atoms around their means, computed from their
        values.
    share : float
        Share of a squared norm below which the rest is computed in that way.
    """
    rest = squares - p**2
    lost = np.flatnonzero((rest <= share * squares) & is_open)
    rest[lost] = deviations(lost)
    return np.where(rest > _CONSTANT * squares, rest, 0.0)


class Scores:
    """Scores of all atoms in a pursuit under squared loss.

    Attributes
    ----------
    c : ndarray of shape (T, M)
        Correlations with the residuals.
    e : ndarray of shape (M,)
        Squared norms outside the span, including the ridge.
    norms : ndarray of shape (M,)
        The same at the start, of centered atoms if there is a constant.
    is_open : ndarray of bool of shape (M,)
        Whether each atom may still be chosen.
    gain : ndarray of shape (M,)
        Gain of each atom; 0 if it cannot be chosen or adds nothing.
    floor : float
        Squared correlation, in units of ``norms``, below which it is round-off.
    """

    def __init__(
        self,
        problem: Problem,
        correlations: np.ndarray,
        squares: np.ndarray,
        squared_y: float,
        deviations: Callable[[np.ndarray], np.ndarray],
    ):
        """Initialize the scores.

        Parameters
        ----------
        problem : Problem
        correlations : ndarray of shape (T + 0 or 1, M)
            Correlations with the residuals, and with the constant if there is one.
        squares : ndarray of shape (M,)
            Squared norms of the atoms.
        squared_y : float
            Squared norm of the residuals.
        deviations : callable
            Returns the squared norms of some atoms around their means, computed from
            their values.
        """
        self._problem = problem
        n_targets, n_atoms = len(problem.Y), len(squares)
        self.c = np.ascontiguousarray(correlations[:n_targets])
        self.is_open = problem.candidates.copy()
        if problem.fit_intercept:
            squares = centered_squares(
                squares, correlations[-1], self.is_open, deviations
            )
            # Constant functions add nothing to the intercept.
            self.is_open &= squares > 0
        self.norms = np.where(self.is_open, squares, 0.0) + problem.alpha
        self.e = self.norms.copy()
        self.is_open &= self.norms > 0
        self.gain = np.zeros(n_atoms)
        self.floor = NOISE**2 * squared_y
        self.move(np.zeros(n_atoms), np.zeros(n_targets))

    @property
    def tol(self) -> float:
        """The minimum share of a squared norm that must be outside the span."""
        return self._problem.tol if self._problem.is_orthogonal else 0.0

    def best(self) -> int:
        """Return the candidate of the largest gain, -1 if there is none."""
        return int(first_largest(self.gain))

    def move(self, p: np.ndarray, a: np.ndarray) -> None:
        """Update the scores by a direction with correlations ``p`` and loads ``a``."""
        problem = self._problem
        update(
            self.c,
            self.e,
            self.norms,
            p,
            a,
            problem.is_orthogonal,
            problem.by_norm,
            self.tol,
            self.floor,
            self.is_open,
            self.gain,
        )
