"""The gain of each candidate, and the choice of the largest.

Letters as in :mod:`.pursuit`: ``c`` (T, M) correlations of the atoms with the
residuals, ``e`` (M,) squared norms of their parts outside the span, ``norms`` (M,) the
same at the start, ``p`` (M,) correlations with one direction ``q``.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pursuit._compiling import REORDER, compiled

from .problem import Problem

# Gains closer than this (relative) are a tie, which the lowest index wins: gains of
# equal atoms may differ in the last digits, depending on the blocks of a matrix
# product.
TIE = 1e-10

# A correlation below this share of |atom| |y| is round-off.
NOISE = 4e-16

# Share of its squared norm below which a centered atom's, by subtraction, is round-off
# and must be computed from its values; and below which even those show a constant.
_CENTERED, _CONSTANT = 1e-14, 1e-30


# -- the rule, compiled ------------------------------------------------------------


@compiled(no_cpython_wrapper=True)
def gain(
    total: float,
    e: float,
    norm: float,
    whole: float,
    by: float,
    tol: float,
    floor: float,
) -> float:
    """Return the gain of one candidate, 0 if it adds nothing.

    Parameters
    ----------
    total : float
        Squared correlation with the residual, summed over the targets.
    e : float
        Squared norm outside the span.
    norm : float
        The same at the start. If less than a share ``tol`` is left, the atom is in the
        span.
    whole : float
        Squared norm of the whole atom. Squared correlations below ``floor`` times this
        are round-off.
    by : float
        What the squared correlation is divided by: ``e`` for pre-fitting, ``norm`` for
        back-fitting and plain pursuits.
    tol, floor : float
    """
    if e > tol * norm and total > floor * whole:
        return total / by
    return 0.0


@compiled(fastmath=REORDER)
def update(
    c: np.ndarray,
    e: np.ndarray,
    norms: np.ndarray,
    p: np.ndarray,
    a: np.ndarray,
    least_left: float,
    by_norm: bool,
    tol: float,
    floor: float,
    is_open: np.ndarray,
    gains: np.ndarray,
) -> None:
    """Update ``c``, ``e`` and ``gains`` by a direction with correlations ``p``.

    ``c -= a p`` and ``e -= p**2``, but at least a share ``least_left`` of ``e`` is
    left: 1 keeps ``e``. The outer loop runs over targets, so that candidates fill the
    vector registers.
    """
    n_targets, n_atoms = c.shape
    for k in range(n_atoms):
        gains[k] = 0.0
        e[k] = max(e[k] - p[k] * p[k], least_left * e[k])
    for t in range(n_targets):
        row, load = c[t], a[t]
        for k in range(n_atoms):
            x = row[k] - load * p[k]
            row[k] = x
            gains[k] += x * x
    for k in range(n_atoms):
        norm = norms[k]
        by = norm if by_norm else e[k]
        value = gain(gains[k], e[k], norm, norm, by, tol, floor)
        gains[k] = value if is_open[k] else 0.0


@compiled
def write_gains(
    c: np.ndarray,
    e: np.ndarray,
    norms: np.ndarray,
    wholes: np.ndarray,
    by: np.ndarray,
    is_open: np.ndarray,
    tol: float,
    floor: float,
    gains: np.ndarray,
) -> None:
    """Write the ``gains`` of candidates, 0 for those that cannot be chosen."""
    for k in range(e.shape[0]):
        total = 0.0
        for t in range(c.shape[0]):
            total += c[t, k] * c[t, k]
        value = gain(total, e[k], norms[k], wholes[k], by[k], tol, floor)
        gains[k] = value if is_open[k] else 0.0


@compiled
def first_largest(gains: np.ndarray) -> int:
    """Return the lowest index whose value ties with the largest, -1 if none is > 0."""
    top = 0.0
    for k in range(gains.shape[0]):
        if gains[k] > top:
            top = gains[k]
    if top == 0.0:
        return -1
    top *= 1.0 - TIE
    for k in range(gains.shape[0]):
        if gains[k] >= top:
            return k
    return -1


# -- of all atoms, under squared loss ----------------------------------------------


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
    """Correlations, squared norms and gains of all atoms, under squared loss.

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
        Returns the squared norms of some atoms around their means, computed from their
        values.

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
    tol : float
        Minimum share of a squared norm that must be outside the span.
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
        self.tol = problem.tol if problem.is_orthogonal else 0.0
        self.floor = NOISE**2 * squared_y
        self._by_norm = problem.by_norm
        # In a plain pursuit the directions are the atoms themselves, whole.
        self._least_left = 0.0 if problem.is_orthogonal else 1.0
        self.move(np.zeros(n_atoms), np.zeros(n_targets))

    def best(self) -> int:
        """Return the candidate of the largest gain, -1 if there is none."""
        return int(first_largest(self.gain))

    def move(self, p: np.ndarray, a: np.ndarray) -> None:
        """Update the scores by a direction with correlations ``p`` and loads ``a``."""
        update(
            *(self.c, self.e, self.norms, p, a, self._least_left, self._by_norm),
            *(self.tol, self.floor, self.is_open, self.gain),
        )
