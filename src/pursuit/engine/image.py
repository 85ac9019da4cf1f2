"""A compact image of all atoms, from which pursuits predict their next steps.

Letters as in :mod:`.pursuit`.
"""

from __future__ import annotations

import numpy as np

from pursuit._compiling import REORDER, compiled

from ._loops import SMALLEST

# Minimum number of numbers per atom for an image to be useful.
_SHORTEST = 16

# Values of `Image.blur`, the second divided by the length of an image that is shorter
# than the atoms.
_BLUR, _SHORT_BLUR = 1e-3, 100.0

# Largest integer for the values of a vector: sums of 2048 products with 8-bit integers
# fit 32 bits.
_LARGEST = 8191

# Number of products of integers up to 127 and 8191 whose sum fits 32 bits.
_SUMMANDS = 2048


def image_size(n_rows: int, n_atoms: int, memory: int) -> int:
    """Return the length, in bytes, of the image of an atom; 0 for no image."""
    size = min(n_rows, memory // max(1, n_atoms))
    return size if size >= min(_SHORTEST, n_rows) else 0


class Image:
    r"""The atoms rounded to 8-bit integers, each with its own scale.

    An inner product with the image differs from that with the atom by at most
    :math:`\epsilon_k \lVert v \rVert` with :math:`\epsilon_k \le \sqrt{l} \max_i
    |A_{ki}| / 254`, and typically by :math:`\sqrt{l}` times less, because rounding
    errors cancel. It is read in an eighth of the time. This is too coarse for the
    choice itself, but narrows the next steps down to a few candidates.

    If the image must be shorter than the atoms, row i is added with a random sign to
    position ``i % size`` (a count sketch, Charikar et al. 2002); inner products are
    then accurate to about :math:`1 / \sqrt{\mathrm{size}}` of the lengths.

    Parameters
    ----------
    n_atoms, n_rows : int
    size : int
        Numbers per atom, from :func:`image_size`.
    """

    def __init__(self, n_atoms: int, n_rows: int, size: int):
        self.n_rows, self._is_whole = n_rows, size == n_rows
        # The image does not affect the result, so any fixed signs will do.
        self._signs = np.random.default_rng(0).choice([-1.0, 1.0], n_rows)
        self._Z = np.zeros((n_atoms, size), dtype=np.int8)
        self._scale = np.zeros(n_atoms)

    @property
    def blur(self) -> float:
        """Share of an atom's squared norm below which its image is only noise."""
        return _BLUR if self._is_whole else max(_BLUR, _SHORT_BLUR / self._Z.shape[1])

    def add(self, part: slice, A: np.ndarray) -> None:
        """Add the atoms ``part``, which are the rows of ``A``."""
        _quantize(self._shortened(A), self._Z[part], self._scale[part])

    def _shortened(self, A: np.ndarray) -> np.ndarray:
        """Return the atoms in as many numbers as the image has."""
        if self._is_whole:
            return A
        short = np.zeros((len(A), self._Z.shape[1]))
        _fold(A, self._signs, short)
        return short

    def rounded(self, v: np.ndarray) -> tuple[np.ndarray, float]:
        """Return a vector as integers, and their unit."""
        v = self._shortened(v[None])[0]
        whole = np.empty(len(v), dtype=np.int16)
        return whole, _round_to(v, _LARGEST, whole)

    def correlate(
        self, part: slice, v: np.ndarray, unit: float, out: np.ndarray
    ) -> None:
        """Write the inner products of the atoms ``part`` with a rounded vector."""
        _scan(self._Z[part], v, self._scale[part], unit, out[part])


# -- compiled ----------------------------------------------------------------------


@compiled(fastmath=REORDER)
def _fold(A: np.ndarray, signs: np.ndarray, Z: np.ndarray) -> None:
    """Add column i of ``A``, times ``signs[i]``, to column ``i % size`` of ``Z``."""
    size = Z.shape[1]
    for k in range(A.shape[0]):
        for i0 in range(0, A.shape[1], size):
            for i in range(min(size, A.shape[1] - i0)):
                Z[k, i] += A[k, i0 + i] * signs[i0 + i]


@compiled(fastmath=REORDER | {"nnan"})
def _quantize(A: np.ndarray, Z: np.ndarray, scale: np.ndarray) -> None:
    """Write the rows of ``A`` as 8-bit integers ``Z`` times ``scale``.

    Rows that are nearly zero or not finite get the scale 0.
    """
    for k in range(A.shape[0]):
        top = 0.0
        for i in range(A.shape[1]):
            top = max(top, abs(np.float64(A[k, i])))
        if not SMALLEST < top < np.inf:
            scale[k] = 0.0
            continue
        scale[k] = top / 127.0
        factor = 127.0 / top
        for i in range(A.shape[1]):
            Z[k, i] = np.int8(np.int32(np.rint(A[k, i] * factor)))


@compiled(fastmath=REORDER | {"nnan"})
def _round_to(v: np.ndarray, largest: int, out: np.ndarray) -> float:
    """Write ``v`` as integers up to ``largest``; return their unit, or 0."""
    top = 0.0
    for i in range(v.shape[0]):
        top = max(top, abs(v[i]))
    unit = top / largest
    if not 0.0 < unit < np.inf:
        for i in range(v.shape[0]):
            out[i] = 0
        return 0.0
    for i in range(v.shape[0]):
        out[i] = np.int16(np.int32(np.rint(v[i] / unit)))
    return unit


@compiled
def _scan(
    Z: np.ndarray, v: np.ndarray, scale: np.ndarray, unit: float, out: np.ndarray
) -> None:
    """Write ``scale * unit * (Z @ v)`` for integers ``Z``, ``v``.

    Products of 8 and 16 bits are summed in 32 bits for as long as they fit: vector
    registers process 16 at a time.
    """
    for k in range(Z.shape[0]):
        total = 0.0
        for i0 in range(0, Z.shape[1], _SUMMANDS):
            z, x = Z[k, i0 : i0 + _SUMMANDS], v[i0 : i0 + _SUMMANDS]
            part = np.int32(0)
            for i in range(z.shape[0]):
                part = np.int32(part + np.int32(z[i]) * np.int32(x[i]))
            total += part
        out[k] = scale[k] * (unit * total)
