"""How much of the weight of equal rows is left out with each of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit._rows import distinct_rows, left_out_together


def removed_weight(X: Any, Y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return how much of the weight of its set is left out with each row, (l,).

    Sets are the rows of equal features. They are left out together, unless the features
    are categories: then rows of equal targets are left out together, or one at a time
    if the targets are categories too.
    """
    _, sets = distinct_rows(X, weight)
    if len(sets) == sets.max() + 1:
        return weight  # no row repeats
    target = np.unique(Y, axis=0, return_inverse=True)[1].ravel()
    together = left_out_together(sets, target, weight)
    if together is None:
        return np.minimum(weight, 1.0)
    return np.bincount(together, weight)[together]
