"""Ties between equally good candidates."""

from numba import njit

# Scores closer than this (relative) are a tie, which the lowest index wins: scores of
# equal atoms may differ in the last digits, depending on the blocks of a matrix
# product.
TIE = 1e-10


@njit(cache=True, nogil=True)
def first_largest(gain):
    """Return the lowest index whose value ties with the largest, -1 if none is > 0."""
    top = 0.0
    for k in range(gain.shape[0]):
        if gain[k] > top:
            top = gain[k]
    if top == 0.0:
        return -1
    top *= 1.0 - TIE
    for k in range(gain.shape[0]):
        if gain[k] >= top:
            return k
    return -1
