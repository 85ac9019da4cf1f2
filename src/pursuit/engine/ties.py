"""Which of several candidates that are equally good is chosen."""

from numba import njit

# Scores closer than this (relative) are a tie, and the lowest index wins it: equal
# atoms may get scores that differ in the last digits, depending on where the blocks
# of a matrix product fell.
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
