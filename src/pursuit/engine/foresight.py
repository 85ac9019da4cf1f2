"""Predict the next steps of a pursuit.

Letters as in :mod:`.pursuit`.
"""

from __future__ import annotations

import numpy as np

from pursuit._compiling import compiled

from .atoms import Atoms
from .gains import Scores, first_largest, update, write_gains
from .image import Image
from .problem import Problem

# Maximum number of steps foreseen, and number of candidates examined for each.
MOST, LOOKS = 32, 8

# Minimum share of a squared norm that a foreseen step leaves: the image is too coarse
# to show that almost nothing is left.
_LEAST_LEFT = 0.1


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
        self._gain, self._is_open = scores.gain.copy(), scores.gain > 0.0
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
        return self._best_of(top) if len(top) else -1

    def choose(self, k: int, direction: np.ndarray, length: float) -> None:
        """Assume that atom ``k`` is chosen.

        It adds ``direction``, of squared norm 1, and has the correlation ``length``
        with it; in a plain pursuit ``length`` is its squared norm.
        """
        problem, n = self._problem, self._n
        np.multiply(direction, self._w, out=self._V[n])
        self._loads[n] = self._c[:, k] / length
        if problem.is_orthogonal:
            self._is_open[k] = False
        else:
            for c in (self._c0, self._c):
                c[:, k] -= problem.alpha * self._loads[n]
        self._n += 1

    def _move(self, image: Image) -> None:
        """Update the predicted scores after the latest choice."""
        problem, n = self._problem, self._n - 1
        p = self._atoms.scan(image, self._V[n])
        least_left = _LEAST_LEFT if problem.is_orthogonal else 1.0
        update(
            *(self._c, self._e, self._scores.norms, p, self._loads[n], least_left),
            *(problem.by_norm, 0.0, 0.0, self._is_open, self._gain),
        )

    def _best_of(self, top: np.ndarray) -> int:
        """Compute the scores of some candidates exactly; return the best."""
        problem, scores, n = self._problem, self._scores, self._n
        P = self.vectors @ self._atoms.values(top).T
        c = self._c0.take(top, axis=1)
        c -= self._loads[:n].T @ P
        e, norms = scores.e[top], scores.norms[top]
        if problem.is_orthogonal:
            e -= np.einsum("ij,ij->j", P, P)
        gains, is_open = np.empty(len(top)), np.ones(len(top), dtype=bool)
        by = norms if problem.by_norm else e
        write_gains(*(c, e, norms, norms, by, is_open, scores.tol, scores.floor, gains))
        self._c[:, top], self._e[top], self._gain[top] = c, e, gains
        self._is_open[top] = gains > 0.0
        best = first_largest(gains)
        return int(top[best]) if best >= 0 else -1


def largest(gain: np.ndarray, n: int) -> np.ndarray:
    """Return the sorted indices of the up to ``n`` largest positive values."""
    index = np.empty(n, dtype=np.int64)
    size = _write_largest(gain, index)
    return np.sort(index[:size])


@compiled
def _write_largest(gain: np.ndarray, index: np.ndarray) -> int:
    """Write the indices of the largest positive values; return how many there are."""
    n, size = index.shape[0], 0
    for k in range(gain.shape[0]):
        x = gain[k]
        if not x > 0.0 or (size == n and x <= gain[index[n - 1]]):
            continue
        size = min(size + 1, n)
        i = size - 1
        while i > 0 and gain[index[i - 1]] < x:
            index[i] = index[i - 1]
            i -= 1
        index[i] = k
    return size
