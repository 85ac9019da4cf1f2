"""The candidates of a pursuit under any loss, with their squared norms.

Letters as in :mod:`.loss_pursuit`.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ._loss_loops import leave_out
from .gains import centered_squares

# An atom is far from zero if its squared norm around its mean is below this share of
# the whole. Its mean must not leak into that norm, by rounding, nor into correlations
# with the gradient, by a constant that is the best one only up to a tolerance.
_FAR = 1e-8


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

    def leave_out(self, P: np.ndarray) -> None:
        """Subtract directions with correlations ``P`` from the squared norms."""
        leave_out(P, self.norms, self.e)
