"""Distances of a point to the local subspaces of one neighborhood."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit._parameters import number_from_zero

from ._hyperplane_paths import path
from .subspaces import Hulls, Hyperplanes, Neighborhoods, Query, Tangents, no_tangents

__all__ = ["gram_path", "hull_distance", "hyperplane_distance"]


def hyperplane_distance(
    x: Any,
    neighbors: Any,
    penalty: float = 0.0,
    n_components: float | None = None,
    tangents: Any = None,
) -> float:
    """Return the distance of a point to the hyperplane of its neighbors.

    Parameters
    ----------
    x : array-like of shape (d,)
        The point.
    neighbors : array-like of shape (K, d)
        Points that span the hyperplane.
    penalty : float, default=0.0
        Weight decay λ; 0 is the plain hyperplane, and the distance approaches that of
        the mean as λ grows.
    n_components : float or None, default=None
        Principal directions to keep: a count, or a share of the variance below 1; None
        or 0 keeps all.
    tangents : array-like of shape (m, d), optional
        Further directions of the hyperplane.

    Returns
    -------
    distance : float
        Square root of the penalized squared distance.

    Notes
    -----
    The cost is O(K² d). Neighbors may coincide or be linearly dependent.

    References
    ----------
    .. [1] P. Vincent and Y. Bengio, "K-Local Hyperplane and Convex Distance Nearest
       Neighbor Algorithms", NIPS 14, 2001.

    Examples
    --------
    >>> from pursuit.neighbors import hyperplane_distance
    >>> hyperplane_distance([0.0, 2.0], [[1.0, 0.0], [3.0, 0.0]])
    2.0
    """
    query = _one(x, neighbors, tangents)
    components = 0.0 if n_components is None else n_components
    shape = Hyperplanes(
        number_from_zero("penalty", penalty),
        number_from_zero("n_components", components),
    )
    return float(np.sqrt(shape.distances(query, np.ones((1, 1), dtype=bool))[0, 0]))


def hull_distance(x: Any, neighbors: Any) -> float:
    """Return the distance of a point to the convex hull of its neighbors.

    Parameters
    ----------
    x : array-like of shape (d,)
        The point.
    neighbors : array-like of shape (K, d)
        Points that span the hull.

    Returns
    -------
    distance : float
        Distance to the hull; 0, up to round-off, if the point lies in it.

    Notes
    -----
    The cost is O(K d) for each point that enters the active set, commonly fewer than K.

    Examples
    --------
    >>> from pursuit.neighbors import hull_distance
    >>> hull_distance([0.0, 2.0], [[1.0, 2.0], [3.0, 0.0]])
    1.0
    """
    query = _one(x, neighbors)
    return float(np.sqrt(Hulls().distances(query, np.ones((1, 1), dtype=bool))[0, 0]))


def _one(x: Any, neighbors: Any, tangents: Any = None) -> Query:
    points = np.ascontiguousarray(neighbors, dtype=np.float64)
    x = np.ascontiguousarray(x, dtype=np.float64)
    if points.ndim != 2 or len(points) == 0 or x.shape != points.shape[1:]:
        raise ValueError(
            f"neighbors has shape {points.shape} and x {x.shape}: expected (K, d) with "
            "K of at least 1, and (d,)."
        )
    _check_finite("x", x)
    _check_finite("neighbors", points)
    index = np.arange(len(points))[None, None]
    count = np.full((1, 1), len(points))
    hoods = Neighborhoods(index, count, np.zeros((1, 1)), np.ones((1, 1)))
    T = no_tangents(hoods, points.shape[1])
    if tangents is not None:
        T = Tangents(_checked_tangents(tangents, len(x))[None], T.spot)
    return Query(points, x[None], hoods, T, 1)


def _checked_tangents(tangents: Any, d: int) -> np.ndarray:
    T = np.array(tangents, dtype=np.float64, ndmin=2, order="C")
    if T.ndim != 2 or T.shape[1] != d:
        raise ValueError(f"tangents has shape {T.shape}: expected (m, d) = (any, {d}).")
    _check_finite("tangents", T)
    return T


def _check_finite(name: str, array: np.ndarray) -> None:
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds NaN or infinity: expected finite numbers.")


def gram_path(H: Any, penalty: float = 0.0) -> np.ndarray:
    """Return the squared hyperplane distances for the first 1, 2, … K neighbors.

    ``d²_k = 1 / (1ᵀ(H_k + λI)⁻¹1) - λ/k``, where H_k is the leading block of H. All
    come from one Cholesky factor ``L`` and ``u = L⁻¹1``: ``1 / Σ_{j<=k} u_j² - λ/k``.

    Parameters
    ----------
    H : array-like of shape (K, K)
        Gram matrix of the differences N_k - x.
    penalty : float, default=0.0
        Weight decay λ.

    Returns
    -------
    squared : ndarray of shape (K,)
        Squared distances.

    Notes
    -----
    The cost is O(K³). A Gram matrix holds squares: small distances lose precision in
    the subtraction, and without a penalty a neighbor within about 1e-7 of the plane of
    the nearer ones counts as lying on it. If that matters, use
    :func:`hyperplane_distance`.
    """
    H = np.array(H, dtype=np.float64, order="C")
    if H.ndim != 2 or H.shape[0] != H.shape[1]:
        raise ValueError(f"H has shape {H.shape}: expected a square matrix.")
    _check_finite("H", H)
    penalty = number_from_zero("penalty", penalty)
    out = np.empty(len(H))
    path(H, len(H), penalty, np.empty(len(H)), out)
    return out
