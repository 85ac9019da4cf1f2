"""Which training rows are left out together."""

from __future__ import annotations

import numpy as np

from pursuit._rows import distinct_rows, left_out_together

# At most so many different rows, each repeated so often on average, are categories.
_FEW_ROWS, _MANY_TIMES = 50, 5


def rows_left_out_together(
    X: np.ndarray, y: np.ndarray, reference: np.ndarray
) -> np.ndarray:
    """Return for each training row (n,) the set with which it is left out.

    Equal rows form a set: otherwise a row would be left out while rows equal to it
    remain as neighbors. If the data are categories, new points equal training rows
    anyway, and each row is left out alone, as it is if all reference points are equal.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,) or (n, T)
        Class codes or target values.
    reference : ndarray of int
        Rows of the reference points.
    """
    alone, weight = np.arange(len(X)), np.ones(len(X))
    first, sets = distinct_rows(X, weight)
    n = len(first)
    are_few = n <= _FEW_ROWS and len(X) >= _MANY_TIMES * n
    if n == len(X) or are_few or np.ptp(sets[reference]) == 0:
        return alone
    target = distinct_rows(y.reshape(len(y), -1), weight)[1]
    together = left_out_together(sets, target, weight)
    return alone if together is None else together
