"""A small image of all atoms, by which pursuits foresee their steps.

Letters as in :mod:`.pursuit`.
"""

from __future__ import annotations

import numpy as np

from ._foresight_loops import fold, quantise, round_to, scan

# An image of fewer numbers an atom tells nothing.
_SHORTEST = 16

# What makes an image useless: see `Image.blur`.  Of one shorter than the atoms, times
# its length.
_BLUR, _FOLDED_BLUR = 1e-3, 100.0

# The largest whole numbers that stand for values of a vector: sums of 2048 products
# with numbers of 8 bits fit 32 bits.
_LARGEST = 8191


def image_size(n_rows: int, n_atoms: int, memory: int) -> int:
    """Return how many numbers, each of one byte, may stand for an atom; 0 for none."""
    size = min(n_rows, memory // max(1, n_atoms))
    return size if size >= min(_SHORTEST, n_rows) else 0


class Image:
    r"""The atoms rounded to whole numbers of 8 bits, each with a scale of its own.

    An inner product with the image is that with the atom up to
    :math:`\epsilon_k \lVert v \rVert` with :math:`\epsilon_k \le \sqrt{l} \max_i
    |A_{ki}| / 254`, and as a rule up to :math:`\sqrt{l}` times less, since roundings
    cancel out; and it is read in an eighth of the time.  Too coarse to choose by, but
    it tells which few candidates may win the next steps.

    Where the image must be shorter than the atoms, row i goes with a random sign to
    place ``i % size`` (a count sketch, Charikar et al. 2002); inner products are then
    right to about :math:`1 / \sqrt{\mathrm{size}}` of the lengths.

    Parameters
    ----------
    n_atoms, n_rows : int
    size : int
        Numbers an atom, as :func:`image_size` says.
    """

    def __init__(self, n_atoms: int, n_rows: int, size: int):
        self.n_rows, self._is_whole = n_rows, size == n_rows
        # Guesses do not change the result: any signs will do, the same each time.
        self._signs = np.random.default_rng(0).choice([-1.0, 1.0], n_rows)
        self._Z = np.zeros((n_atoms, size), dtype=np.int8)
        self._scale = np.zeros(n_atoms)

    @property
    def blur(self) -> float:
        """Of atoms that lose all but this share of a squared norm it tells nothing."""
        return _BLUR if self._is_whole else max(_BLUR, _FOLDED_BLUR / self._Z.shape[1])

    def add(self, part: slice, A: np.ndarray) -> None:
        """Take the atoms ``part``, the rows of ``A``."""
        quantise(self._folded(A), self._Z[part], self._scale[part])

    def _folded(self, A: np.ndarray) -> np.ndarray:
        if self._is_whole:
            return A
        folded = np.zeros((len(A), self._Z.shape[1]))
        fold(A, self._signs, folded)
        return folded

    def rounded(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """Return a vector as whole numbers, and their unit."""
        v = self._folded(v[None])[0]
        whole = np.empty(len(v), dtype=np.int16)
        return whole, round_to(v, _LARGEST, whole)

    def correlate(
        self, part: slice, v: np.ndarray, unit: float, out: np.ndarray
    ) -> None:
        """Write the inner products of the atoms ``part`` with a rounded vector."""
        scan(self._Z[part], v, self._scale[part], unit, out[part])
