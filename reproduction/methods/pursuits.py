"""Pursuits as in the thesis, with the constant as one more candidate.

The estimators add a constant that is always present. In the thesis it must be chosen
like any other atom: its tables were reproduced only in this way.
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
        Labels of two classes.
    gamma : float
        Inverse squared width of the kernel exp(-gamma d^2); larger is narrower.
    n_steps : int
        Maximum number of atoms.
    **settings
        Further parameters of `KMPClassifier`.
    """
    model = KMPClassifier(
        dictionary=OneKernel(Gaussian(gamma)) + Constant(),
        max_support=n_steps,
        selection=None,
        fit_intercept=False,
        **{"alpha": 0.0, **settings},
    )
    return model.fit(X, y)
