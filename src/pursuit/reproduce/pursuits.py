"""Pursuits as the thesis ran them: the constant is one more atom to choose from.

The estimators add a constant that is always present. In the thesis it takes its turn:
in trials its tables came out so. A kernel matrix can say that: a row of next to no
weight stands for a point whose kernel with all others is 1.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit import KMPClassifier
from pursuit.kernels import Gaussian

# The row counts for nothing, but its atom can be chosen.
NO_WEIGHT = 1e-9


def fit_pursuit(
    X: np.ndarray, y: np.ndarray, gamma: float, n_steps: int, **settings: Any
) -> KMPClassifier:
    """Return the whole path of a pursuit over Gaussians on the rows and a constant.

    Parameters
    ----------
    X : ndarray of shape (l, d)
        Training points.
    y : ndarray of shape (l,)
        Two classes.
    gamma : float
        Of the kernel exp(-gamma d^2).
    n_steps : int
        Atoms at most.
    **settings
        For `KMPClassifier`.
    """
    n_rows = len(X)
    K = np.zeros((n_rows + 1, n_rows + 1))
    K[:n_rows, :n_rows] = Gaussian(gamma)(X)
    K[:n_rows, n_rows] = 1.0
    model = KMPClassifier(
        "precomputed",
        max_support=n_steps,
        selection=None,
        fit_intercept=False,
        **{"alpha": 0.0, **settings},
    )
    weight = np.append(np.ones(n_rows), NO_WEIGHT)
    return model.fit(K, np.append(y, y[0]), sample_weight=weight)


def kernel_of(X_new: np.ndarray, X: np.ndarray, gamma: float) -> np.ndarray:
    """Return what `fit_pursuit`'s models take in the place of new points."""
    return np.column_stack([Gaussian(gamma)(X_new, X), np.ones(len(X_new))])
