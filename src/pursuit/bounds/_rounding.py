"""Round the weights of a classifier to few bits, to shorten its description."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

# Largest number of bits, that of a double.
MOST_BITS = 52
# How many numbers of bits are tested at a time.
_AT_ONCE = 8


def rounded(weights: np.ndarray, bits: int) -> np.ndarray:
    r"""Return weights on :math:`2^p` equal levels, up to a common positive factor.

    The levels are the midpoints of :math:`2^p` equal parts of ``[-s, s]``, where ``s``
    is the largest magnitude. The result is in units of ``s``: decisions by sign or by
    the largest output do not depend on it, so that ``p`` bits per weight suffice.
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
    """Return the fewest bits at which the rounded weights are acceptable.

    ``are_kept`` takes a stack of rounded weights and returns True or False for each.
    """
    for start in range(1, MOST_BITS + 1, _AT_ONCE):
        tried = np.arange(start, min(start + _AT_ONCE, MOST_BITS + 1))
        kept = are_kept(np.stack([rounded(weights, int(bits)) for bits in tried]))
        if kept.any():
            return int(tried[np.argmax(kept)])
    return 64
