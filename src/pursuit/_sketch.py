"""Short images of all atoms, by which a pursuit foresees whom it will choose from.

Letters as in :mod:`pursuit.pursuit`.
"""

from __future__ import annotations

import numpy as np

from ._loops import fold, foresee_step, take_out

# Numbers an atom's image has at the most; and one for how many rows.
_LONGEST, _ROWS_EACH = 256, 8


def sketch_size(n_rows: int) -> int:
    """Return how many numbers stand for an atom of so many rows."""
    return min(_LONGEST, max(16, n_rows // _ROWS_EACH))


class Sketch:
    r"""Images of the atoms' parts outside the span.

    Row i goes with a random sign to group ``i % size`` (a count sketch, Charikar et
    al. 2002), so an inner product of images is that of the atoms up to about
    :math:`1 / \sqrt{\mathrm{size}}` of their lengths.  Too coarse to choose by, but
    enough to tell which few candidates may win the next steps, at a small part of the
    cost of a pass.

    Parameters
    ----------
    weight : ndarray of shape (n_rows + tail,)
    n_rows, n_atoms : int
    """

    def __init__(self, weight: np.ndarray, n_rows: int, n_atoms: int):
        # Guesses do not change the result: any signs will do, the same each time.
        signs = np.random.default_rng(0).choice([-1.0, 1.0], len(weight))
        self._factor = signs * np.sqrt(weight)
        self._n_rows = n_rows
        self._Z = np.zeros((n_atoms, sketch_size(n_rows)), dtype=np.float32)

    def add(self, part: slice, A: np.ndarray) -> None:
        """Take the atoms ``part``, the rows of ``A``."""
        fold(A, self._factor[: self._n_rows], self._Z[part])

    def take_out(self, P: np.ndarray, Q: np.ndarray) -> None:
        """Take directions ``Q`` with correlations ``P`` out of all atoms."""
        images = np.zeros((len(Q), self._Z.shape[1]), dtype=np.float32)
        if len(Q):
            fold(Q, self._factor, images)
            take_out(self._Z, P, images)

    def foresee(
        self,
        c: np.ndarray,
        e: np.ndarray,
        norms: np.ndarray,
        gain: np.ndarray,
        is_known: np.ndarray,
        is_orthogonal: bool,
        by_norm: bool,
        n_ahead: int,
        n_each: int,
    ) -> np.ndarray:
        """Return the candidates that may well win one of the next steps.

        A pursuit of ``n_ahead`` steps over all atoms, inner products taken from the
        images; of each step the ``n_each`` best that are not known already.  ``c``,
        ``e``, ``gain`` and ``is_known`` are overwritten.
        """
        found: list[np.ndarray] = []
        shape = (n_ahead, self._Z.shape[1])
        z, p = np.zeros(shape, np.float32), np.zeros((n_ahead, len(e)), np.float32)
        for n in range(n_ahead):
            top = _largest(np.where(is_known, 0.0, gain), n_each)
            is_known[top] = True
            found.append(top)
            k = int(np.argmax(gain))
            if n + 1 == n_ahead or not gain[k] > 0.0:
                break
            foresee_step(self._Z, k, n, z, p, c, e, norms, gain, is_orthogonal, by_norm)
        return np.concatenate(found)


def _largest(gain: np.ndarray, n: int) -> np.ndarray:
    """Return the indices of the ``n`` largest values above 0, or of all there are."""
    if n < len(gain):
        top = np.argpartition(gain, -n)[-n:]
        return top[gain[top] > 0.0]
    return np.flatnonzero(gain > 0.0)
