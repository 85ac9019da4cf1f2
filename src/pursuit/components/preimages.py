r"""Pre-images: points whose images are close to a point of feature space.

A point of the span is :math:`\sum_i \gamma_i \phi(x_i)`. For a kernel with constant
``k(x, x)`` the nearest image is where :math:`f(x) = \sum_i \gamma_i k(x, x_i)` is
largest. For the Gaussian kernel a stationary point of ``f`` satisfies

.. math:: x = \frac{\sum_i \gamma_i k(x, x_i) x_i}{\sum_i \gamma_i k(x, x_i)},

which is iterated from the chosen point where ``f`` is largest. With weights of both
signs the iteration may overshoot: a step that does not increase ``f`` is halved.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import safe_sparse_dot

from pursuit.kernels import Gaussian, Kernel, Linear

_MOST_STEPS = 200
_MOST_HALVINGS = 20
_CONVERGED = 1e-9


def has_preimages(kernel: Kernel | None) -> bool:
    """Return whether pre-images are available: for Gaussian and linear kernels."""
    return type(kernel) in (Gaussian, Linear)


def preimages(kernel: Kernel, points: Any, weights: np.ndarray) -> np.ndarray:
    """Return the pre-images of ``weights @ phi(points)``.

    Parameters
    ----------
    kernel : Gaussian or Linear
        Kernel; pre-images of the linear one are exact, ``weights @ points``.
    points : array or CSR of shape (n_support, n_features)
    weights : ndarray of shape (n, n_support)

    Returns
    -------
    X : ndarray of shape (n, n_features)
        Local maxima of ``f``, no smaller than its values at the points.
    """
    if type(kernel) is Linear:
        return np.asarray(safe_sparse_dot(weights, points, dense_output=True))
    best = (weights @ kernel(points)).argmax(axis=1)
    X = points[best]
    X = np.array(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)
    f = _values(kernel, points, weights, X)[0]
    going = np.arange(len(X))
    for _ in range(_MOST_STEPS):
        if not len(going):
            break
        moved, f[going], is_moving = _step(
            kernel, points, weights[going], X[going], f[going]
        )
        X[going] = moved
        going = going[is_moving]
    return X


def _values(
    kernel: Kernel, points: Any, weights: np.ndarray, X: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return ``f(x)`` and its terms, one row for each row of X."""
    terms = weights * kernel(X, points)
    return terms.sum(axis=1), terms


def _step(
    kernel: Kernel, points: Any, weights: np.ndarray, X: np.ndarray, f: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the next points, their values, and which of them still move."""
    terms = _values(kernel, points, weights, X)[1]
    is_defined = f > 0
    by = np.where(is_defined, f, 1.0)[:, None]
    target = np.asarray(safe_sparse_dot(terms / by, points, dense_output=True))
    direction = np.where(is_defined[:, None], target - X, 0.0)
    X, f = X.copy(), f.copy()
    size = np.sqrt((direction**2).sum(axis=1))
    scale = np.sqrt((X**2).sum(axis=1)) + size
    # A move counts relative to the kernel's width, however far from the origin.
    scale = np.minimum(scale, 1.0 / np.sqrt(kernel.gamma))
    left = np.flatnonzero(size > _CONVERGED * scale)
    is_moving = np.zeros(len(X), dtype=bool)
    for _ in range(_MOST_HALVINGS):
        if not len(left):
            break
        trial = X[left] + direction[left]
        value = _values(kernel, points, weights[left], trial)[0]
        is_better = value > f[left]
        taken = left[is_better]
        X[taken], f[taken], is_moving[taken] = trial[is_better], value[is_better], True
        left = left[~is_better]
        direction[left] /= 2
    return X, f, is_moving
