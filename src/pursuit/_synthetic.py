"""Synthetic data of known density; public in `pursuit.datasets`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.utils import check_random_state

# The spiral's curve: 0.04 t (sin t, cos t), t uniform from 3 to 15.
_SCALE, _FIRST, _LAST = 0.04, 3.0, 15.0
# Nodes of the quadrature for each standard deviation of the noise along the curve.
_NODES = 5
_LENGTH = 5.0
# Distances held at a time, in numbers.
_HELD = 1 << 22


def make_spiral(
    n_samples: int = 300, *, noise: float = 0.01, random_state: Any = None
) -> np.ndarray:
    """Return points around a spiral in the plane (thesis §13.4.1).

    x = 0.04 t sin t + e, y = 0.04 t cos t + e', with t uniform from 3 to 15 and normal
    e, e'.

    Parameters
    ----------
    n_samples : int, default=300
        How many points.
    noise : float, default=0.01
        Standard deviation of e and e'.
    random_state : int, RandomState instance or None, default=None
        The source of chance.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    """
    rng = check_random_state(random_state)
    t = rng.uniform(_FIRST, _LAST, n_samples)
    return _curve(t) + noise * rng.standard_normal((n_samples, 2))


def spiral_log_density(X: Any, *, noise: float = 0.01) -> np.ndarray:
    """Return the true log-density of `make_spiral`, by quadrature along the curve.

    Minus its mean over many points is an estimate of the entropy, below which no
    density can bring the average negative log-likelihood: about -1.79 nats at the
    default noise.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Points.
    noise : float, default=0.01
        As in `make_spiral`.

    Returns
    -------
    log_density : ndarray of shape (n_samples,)
        Natural logarithms.
    """
    X = np.asarray(X, dtype=np.float64)
    n_nodes = int(np.ceil(_NODES * _LENGTH / noise)) + 1
    t = np.linspace(_FIRST, _LAST, n_nodes)
    # The trapezoidal rule, in logarithms.
    log_steps = np.full(n_nodes, -np.log(n_nodes - 1))
    log_steps[[0, -1]] -= np.log(2.0)
    log_steps -= np.log(2.0 * np.pi * noise**2)
    height = max(1, _HELD // n_nodes)
    parts = []
    for a in range(0, len(X), height):
        D = euclidean_distances(X[a : a + height], _curve(t), squared=True)
        logs = log_steps - D / (2.0 * noise**2)
        top = logs.max(axis=1, keepdims=True)
        parts.append(top[:, 0] + np.log(np.exp(logs - top).sum(axis=1)))
    return np.concatenate(parts)


def _curve(t: np.ndarray) -> np.ndarray:
    return _SCALE * t[:, None] * np.column_stack([np.sin(t), np.cos(t)])
