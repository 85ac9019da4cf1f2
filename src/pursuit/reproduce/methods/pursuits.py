"""Pursuits as the thesis ran them: the constant is one more atom to choose from.

The estimators add a constant that is always present. In the thesis it takes its turn:
in trials its tables came out so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit import KMPClassifier
from pursuit.dictionaries import Constant, OneKernel
from pursuit.kernels import Gaussian


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
    model = KMPClassifier(
        dictionary=OneKernel(Gaussian(gamma)) + Constant(),
        max_support=n_steps,
        selection=None,
        fit_intercept=False,
        **{"alpha": 0.0, **settings},
    )
    return model.fit(X, y)
