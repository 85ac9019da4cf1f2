"""Predict the next steps of a pursuit.

Letters as in :mod:`.pursuit`.
"""

from __future__ import annotations

import numpy as np

from ._foresight_loops import foresee, largest, look_at
from ._scores import Scores
from .atoms import Atoms
from .image import Image
from .problem import Problem
from .ties import first_largest

# Maximum number of steps foreseen, and number of candidates examined for each.
MOST, LOOKS = 32, 8


class Foresight:
    """Correlations after steps that are not taken yet.

    Correlations with a foreseen direction come from the image of the atoms. They
    narrow the next step down to a few candidates, and only for these is everything
    computed exactly.

    Parameters
    ----------
    atoms : Atoms
    image : Image or None
        Image of the atoms, or of their parts outside the span; needed from the second
        step on.
    problem : Problem
    scores : Scores
        Current scores; they are not changed.
    w : ndarray
        Weights of the directions' values, those of the rows first.
    """

    def __init__(
        self,
        atoms: Atoms,
        image: Image | None,
        problem: Problem,
        scores: Scores,
        w: np.ndarray,
    ):
        self._atoms, self._image, self._problem = atoms, image, problem
        self._scores, self._w = scores, w
        # In a plain pursuit, `p` does not predict the ridge's effect on a chosen atom.
        self._c0 = scores.c.copy()
        self._c, self._e = scores.c.copy(), scores.e.copy()
        self._gain = scores.gain.copy()
        self._loads = np.empty((MOST, len(scores.c)))
        # Directions times weights.
        self._V = np.empty((MOST, len(w)))
        self._n = 0

    @property
    def vectors(self) -> np.ndarray:
        """The foreseen directions on the rows, times the weights."""
        return self._V[: self._n, : self._atoms.n_rows]

    def best(self) -> int:
        """Return the candidate that will be chosen next, -1 if none."""
        if self._n == 0:
            return int(first_largest(self._gain))
        if self._image is None:
            return -1
        self._move(self._image)
        top = largest(self._gain, LOOKS)
        return self._look_at(top) if len(top) else -1

    def choose(self, k: int, direction: np.ndarray, length: float) -> None:
        """Assume that atom ``k`` is chosen.

        It adds ``direction``, of squared norm 1, and has the correlation ``length``
        with it; in a plain pursuit ``length`` is its squared norm.
        """
        problem, n = self._problem, self._n
        np.multiply(direction, self._w, out=self._V[n])
        self._loads[n] = self._c[:, k] / length
        if problem.is_orthogonal:
            self._gain[k] = 0.0
        else:
            for c in (self._c0, self._c):
                c[:, k] -= problem.alpha * self._loads[n]
        self._n += 1

    def _move(self, image: Image) -> None:
        """Update the predicted scores after the latest choice."""
        problem, n = self._problem, self._n - 1
        p = self._atoms.scan(image, self._V[n])
        foresee(
            self._c,
            self._e,
            self._scores.norms,
            p,
            self._loads[n],
            self._gain,
            problem.is_orthogonal,
            problem.by_norm,
        )

    def _look_at(self, top: np.ndarray) -> int:
        """Compute the scores of some candidates exactly; return the best."""
        problem, scores, n = self._problem, self._scores, self._n
        A, rows = self._atoms.rows_of(top)
        best = look_at(
            A,
            rows,
            top,
            self.vectors,
            self._loads[:n],
            self._c0,
            scores.e,
            scores.norms,
            problem.is_orthogonal,
            problem.by_norm,
            scores.tol,
            scores.floor,
            self._c,
            self._e,
            self._gain,
        )
        return int(best)
