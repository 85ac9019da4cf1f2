"""Hold rows out of a problem, and read the errors on them off a pursuit.

Held-out rows are rows of weight zero (see :mod:`.engine.pursuit`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from pursuit.engine.directions import DirectionSteps
from pursuit.engine.problem import Problem, Steps


@dataclass(frozen=True, eq=False)
class Sites:
    """Sets of equal rows, on which atoms are centered.

    Attributes
    ----------
    of_rows : ndarray of int of shape (l,)
        Set of each row, -1 for rows of weight 0.
    of_atoms : ndarray of int of shape (M,)
        Set on which each atom is centered, -1 for atoms that are not on rows.
    """

    of_rows: np.ndarray
    of_atoms: np.ndarray

    def open_atoms(self, weight: np.ndarray) -> np.ndarray:
        """Return which atoms may be chosen if only some rows have weight.

        An atom stays open if it is centered on a row that is fitted, or on none.
        """
        present = np.zeros(self.of_rows.max(initial=-1) + 2, dtype=bool)
        present[self.of_rows[weight > 0]] = True
        present[-1] = True  # index -1: atoms that are not on rows
        return present[self.of_atoms]


def without(
    problem: Problem, fold: np.ndarray, weight: np.ndarray, sites: Sites
) -> Problem:
    """Return the problem with the rows of one fold held out, and their atoms closed.

    ``fold`` is 1 (or True) on held-out rows, 0 on fitted rows, in between if some
    copies of a row are held out, and -1 on rows of neither part; ``weight`` is
    :func:`left_of` the fold.
    """
    return replace(
        problem,
        weight=weight,
        held_out=problem.weight * np.maximum(fold, 0.0),
        candidates=problem.candidates & sites.open_atoms(weight),
    )


def left_of(fold: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weights of the rows that are fitted when a fold is held out."""
    return np.where(fold < 0, 0.0, weight * (1.0 - fold))


def held_out_errors(p: Steps) -> np.ndarray:
    """Return the mean held-out error at sizes 0, 1, ..., by the loss or the judge."""
    if p.problem.judge is not None:
        return p.judged[: p.n_steps + 1]
    return p.errors[: p.n_steps + 1, 1] / p.problem.held_out.sum()


def leave_one_out_errors(pursuit: DirectionSteps, copies: np.ndarray) -> np.ndarray:
    """Return the mean squared leave-one-out error at sizes 0, 1, ... (PRESS).

    The closed form is ``R / (1 - h)``, where ``h`` is the diagonal of the hat matrix,
    which grows by ``q**2`` at each step. It ignores that the atoms were selected with
    the left-out point, so it can stop a path, but not compare widths. A row of three
    ``copies`` (l,) stands for three rows, of which one is left out; a row of less than
    one is left out whole.
    """
    problem = pursuit.problem
    fitted = problem.weight > 0
    w = problem.weight[fitted]
    share = w / np.maximum(copies[fitted], 1.0)
    first = int(problem.fit_intercept)
    n_rows = len(problem.weight)
    R = problem.Y[:, fitted].copy()
    h = np.zeros(fitted.sum())
    errors = []
    for b in range(pursuit.n_steps + 1):
        start, stop = (0, first) if b == 0 else (b + first - 1, b + first)
        Q = pursuit.Q[start:stop, :n_rows][:, fitted]
        R -= pursuit.loads[start:stop].T @ Q
        h += share * (Q**2).sum(axis=0)
        left = np.maximum(1.0 - h, 1e-12)
        errors.append(float((w * (R / left) ** 2).sum() / w.sum()))
    return np.array(errors)
