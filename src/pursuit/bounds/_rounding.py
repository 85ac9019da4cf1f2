"""Weights in few bits: what a classifier's description costs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# More bits than this are those of a double.
MOST_BITS = 52
# How many numbers of bits are tried at a time.
_AT_ONCE = 8


def rounded(weights: np.ndarray, bits: int) -> np.ndarray:
    r"""Return weights on :math:`2^p` equal levels, up to a common positive factor.

    The levels are the middles of :math:`2^p` equal parts of ``[-s, s]``, ``s`` the
    largest magnitude; the answer is in units of ``s``, which no decision by sign or by
    the largest output depends on, so nothing but ``p`` bits a weight need be sent.
    """
    largest = np.abs(weights).max(initial=0.0)
    if largest == 0.0:
        return np.zeros_like(weights)
    n_levels = 2.0**bits
    level = np.floor((weights / largest + 1.0) * (n_levels / 2))
    return (np.clip(level, 0, n_levels - 1) + 0.5) * (2 / n_levels) - 1.0


def fewest_bits(
    are_kept: Callable[[np.ndarray], np.ndarray], weights: np.ndarray
) -> int:
    """Return the fewest bits with which the rounded weights do what they should.

    ``are_kept`` is given several roundings of the weights, stacked, and answers True
    or False for each.
    """
    for start in range(1, MOST_BITS + 1, _AT_ONCE):
        tried = np.arange(start, min(start + _AT_ONCE, MOST_BITS + 1))
        kept = are_kept(np.stack([rounded(weights, int(bits)) for bits in tried]))
        if kept.any():
            return int(tried[np.argmax(kept)])
    return 64
