"""What decides between candidates: correlations, squared norms and gains.

Letters as in :mod:`.pursuit`.
"""

from __future__ import annotations

import numpy as np

from ._loops import update
from .problem import Problem
from .ties import first_largest

# A correlation below this share of |atom| |y| is round-off.
NOISE = 4e-16

# What is left of a constant atom after centring is round-off.
_CENTRED = 1e-14


class Scores:
    """Every atom's standing in a pursuit under squared loss.

    Attributes
    ----------
    c : ndarray of shape (T, M)
        Correlations with the residues.
    e : ndarray of shape (M,)
        Squared norms outside the span, the ridge counted.
    norms : ndarray of shape (M,)
        The same at the start, of centred atoms where there is a constant.
    is_open : ndarray of bool of shape (M,)
        Which may still be chosen.
    gain : ndarray of shape (M,)
        0 for all that may not, or add nothing.
    floor : float
        What squared correlations, in units of ``norms``, are round-off.
    """

    def __init__(
        self,
        problem: Problem,
        correlations: np.ndarray,
        squares: np.ndarray,
        squared_y: float,
    ):
        """Begin.

        Parameters
        ----------
        problem : Problem
        correlations : ndarray of shape (T + 0 or 1, M)
            With the residues, and with the constant where there is one.
        squares : ndarray of shape (M,)
            Squared norms of the atoms.
        squared_y : float
            The residues' squared norm.
        """
        self._problem = problem
        n_targets, n_atoms = len(problem.Y), len(squares)
        self.c = np.ascontiguousarray(correlations[:n_targets])
        self.norms = squares + problem.alpha
        if problem.fit_intercept:
            centred = squares - correlations[-1] ** 2
            centred[centred <= _CENTRED * squares] = 0.0
            self.norms = centred + problem.alpha
        self.e = self.norms.copy()
        self.is_open = problem.candidates & (self.norms > 0)
        self.gain = np.zeros(n_atoms)
        self.floor = NOISE**2 * squared_y
        self.move(np.zeros(n_atoms), np.zeros(n_targets))

    @property
    def tol(self) -> float:
        """The share of a squared norm that must be left outside the span."""
        return self._problem.tol if self._problem.is_orthogonal else 0.0

    def best(self) -> int:
        """Return the candidate of the largest gain, -1 if there is none."""
        return int(first_largest(self.gain))

    def move(self, p: np.ndarray, a: np.ndarray) -> None:
        """Go past a direction that has correlations ``p`` and the loads ``a``."""
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
