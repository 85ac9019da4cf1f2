"""Made data, of known density where there is one; public in `pursuit.datasets`."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from pursuit._parameters import (
    number_from_zero,
    positive_number,
    random_numbers,
    whole_between,
    whole_number,
)

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
    whole_number("n_samples", n_samples, 1)
    number_from_zero("noise", noise)
    rng = random_numbers(random_state)
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
    positive_number("noise", noise)
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


# Ripley's mixture: two Gaussians a class, all of one variance.
_RIPLEY_MEANS = np.array([[[-0.7, 0.3], [0.3, 0.3]], [[-0.3, 0.7], [0.4, 0.7]]])
_RIPLEY_VARIANCE = 0.03


def make_ripley(
    n_samples: int = 250, *, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return points of Ripley's mixture of two classes in the plane.

    Each class is an equal mixture of two Gaussians of variance 0.03: class 0 around
    (-0.7, 0.3) and (0.3, 0.3), class 1 around (-0.3, 0.7) and (0.4, 0.7). The published
    draw is ``load("ripley")``.

    Parameters
    ----------
    n_samples : int, default=250
        How many points; each class has half of them, class 1 the odd one.
    random_state : int, RandomState instance or None, default=None
        The source of chance.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Classes, 0 and 1, sorted.

    References
    ----------
    B. D. Ripley, "Neural networks and related methods for classification", Journal of
    the Royal Statistical Society B 56, 409-456, 1994.
    """
    whole_number("n_samples", n_samples, 1)
    rng = random_numbers(random_state)
    y = (np.arange(n_samples) >= n_samples // 2).astype(np.int64)
    means = _RIPLEY_MEANS[y, rng.randint(2, size=n_samples)]
    noise = np.sqrt(_RIPLEY_VARIANCE) * rng.standard_normal((n_samples, 2))
    return means + noise, y


def ripley_log_density(X: Any) -> np.ndarray:
    """Return the log-density of each class of `make_ripley`.

    Parameters
    ----------
    X : array-like of shape (n_samples, 2)
        Points.

    Returns
    -------
    log_density : ndarray of shape (n_samples, 2)
        Natural logarithms, one column for each class.
    """
    X = np.asarray(X, dtype=np.float64)
    D = euclidean_distances(X, _RIPLEY_MEANS.reshape(4, 2), squared=True)
    logs = -D / (2.0 * _RIPLEY_VARIANCE) - np.log(4.0 * np.pi * _RIPLEY_VARIANCE)
    return np.logaddexp.reduce(logs.reshape(len(X), 2, 2), axis=2)


def ripley_bayes_error(n_nodes: int = 801) -> float:
    """Return the lowest error that a classifier can have on `make_ripley`.

    Half the integral of the smaller of the two densities, by the trapezoidal rule on a
    square that leaves out less than 1e-6 of the mass: 8.93 %. (On the published test
    points the best rule makes 8.0 % errors, which is often given for it.)

    Parameters
    ----------
    n_nodes : int, default=801
        Nodes on each side of the square.
    """
    whole_number("n_nodes", n_nodes, 2)
    side = np.linspace(-1.7, 1.7, n_nodes)
    grid = np.stack(np.meshgrid(side, side + 0.5), axis=-1).reshape(-1, 2)
    smaller = np.exp(ripley_log_density(grid).min(axis=1))
    return float(0.5 * smaller.sum() * (side[1] - side[0]) ** 2)


def make_strong_dimensions(
    n_samples: int = 1000,
    n_features: int = 450,
    *,
    n_strong: int = 50,
    decay: float = 1.35,
    strength: float = 10.0,
    random_state: Any = None,
) -> np.ndarray:
    """Return Gaussian points of which some dimensions are far stronger than the rest.

    The toy data of Hussain and Shawe-Taylor's Figure 1: 450 standard normal dimensions,
    "considerably larger" variances in 50 of them. By how much the text does not say;
    here the variance of the t-th strong one is `strength` (`n_strong` / t) ^ `decay`,
    so that the weakest has `strength` times the variance of noise.

    Parameters
    ----------
    n_samples, n_features : int, default=1000, 450
        The shape.
    n_strong : int, default=50
        How many dimensions are strong; they come first.
    decay : float, default=1.35
        How fast the strong variances fall; 0 makes them equal.
    strength : float, default=10.0
        Variance of the weakest of the strong dimensions.
    random_state : int, RandomState instance or None, default=None
        The source of chance.

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
        Points.

    References
    ----------
    Z. Hussain and J. Shawe-Taylor, "Theory of matching pursuit", NIPS 21, 2008.
    """
    whole_number("n_samples", n_samples, 1)
    whole_number("n_features", n_features, 1)
    whole_between("n_strong", n_strong, 0, n_features, "the number of features")
    number_from_zero("decay", decay)
    number_from_zero("strength", strength)
    rng = random_numbers(random_state)
    variances = np.ones(n_features)
    t = np.arange(1, n_strong + 1)
    variances[:n_strong] = strength * (n_strong / t) ** decay
    return np.sqrt(variances) * rng.standard_normal((n_samples, n_features))


def make_interlocked(
    n_samples: int = 60, *, noise: float = 0.1, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes in the plane, half rings that reach into each other.

    For a figure such as 9.6 of the thesis, whose points are not published.

    Parameters
    ----------
    n_samples : int, default=60
        How many points; each class has half of them, class 1 the odd one.
    noise : float, default=0.1
        Standard deviation of a point's distance from its ring.
    random_state : int, RandomState instance or None, default=None
        The source of chance.

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
        Points.
    y : ndarray of shape (n_samples,)
        Classes, 0 and 1, sorted.
    """
    whole_number("n_samples", n_samples, 1)
    number_from_zero("noise", noise)
    rng = random_numbers(random_state)
    y = (np.arange(n_samples) >= n_samples // 2).astype(np.int64)
    t = np.pi * rng.uniform(size=n_samples) + np.pi * y
    ring = np.column_stack([np.cos(t) + y, np.sin(t) + 0.5 * y])
    return ring + noise * rng.standard_normal((n_samples, 2)), y


def make_far_cluster(
    n_upper: int = 40, n_lower: int = 30, n_far: int = 30, *, random_state: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Return two classes that a line divides, and a far cluster of one of them.

    For a figure such as 9.7 of the thesis, whose points are not published: least
    squares turn the line towards the cluster.

    Parameters
    ----------
    n_upper, n_lower, n_far : int, default=40, 30, 30
        Points of class 1 above the line, of class 0 below it, and of class 0 far away
        on the lower right.
    random_state : int, RandomState instance or None, default=None
        The source of chance.

    Returns
    -------
    X : ndarray of shape (n_upper + n_lower + n_far, 2)
        Points.
    y : ndarray of shape (n_upper + n_lower + n_far,)
        Classes, 0 and 1.
    """
    for name, n in [("n_upper", n_upper), ("n_lower", n_lower), ("n_far", n_far)]:
        whole_number(name, n, 0)
    rng = random_numbers(random_state)
    upper = rng.uniform((-2.5, 0.2), (2.5, 1.5), size=(n_upper, 2))
    lower = rng.uniform((-2.5, -1.5), (2.5, -0.2), size=(n_lower, 2))
    far = rng.normal((9.0, -6.0), 0.6, size=(n_far, 2))
    y = np.repeat([1, 0, 0], [n_upper, n_lower, n_far])
    return np.concatenate([upper, lower, far]), y
