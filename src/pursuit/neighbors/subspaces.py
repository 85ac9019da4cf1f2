"""Local hyperplanes and convex hulls of neighborhoods, and the distances to them.

The K nearest points ``N_1 … N_K`` of a class represent the class near a point ``x``:

- by their hyperplane, with weight decay λ on the vector from their mean N̄ (eq. 11.5),
  ``d² = min_a |x - N̄ - V a|² + λ |a|²``, where the columns of V are ``N_k - N̄``;
- by their convex hull, ``d² = min_b |x - Σ b_k N_k|²``, ``b >= 0``, ``Σ b_k = 1``.

Both are also ``min bᵀ(H + λI) b - λ/K`` over weights that sum to one, where H is the
Gram matrix of ``N_k - x``. So ``d² = 1 / (1ᵀ(H + λI)⁻¹1) - λ/K`` for the hyperplane,
and one factor gives every smaller K at once (:func:`.gram_path`).

`Hyperplanes` and `Hulls` are for many points and classes, in threads; the functions are
for one neighborhood.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit._parameters import number_from_zero

from ._hulls import hull_bounds, hull_distances, hull_paths
from ._hyperplane_paths import (
    component_distances,
    hyperplane_paths,
    path,
    tangent_paths,
)
from ._hyperplanes import (
    hyperplane_bounds,
    hyperplane_distances,
    orthogonal_distances,
)
from .neighborhoods import Neighborhoods
from .queries import Query, Tangents, no_tangents

__all__ = [
    "Hulls",
    "Hyperplanes",
    "class_variance",
    "gram_path",
    "hull_distance",
    "hyperplane_distance",
]

# Relative precision of the bounds that `predict` uses; well above the round-off of
# single precision.
PRECISION = 2e-3
# Range of the penalty, as a share of the class variance, where conjugate gradients are
# fast, their lower bound is strong, and single precision suffices.
_SMALLEST_PENALTY, _LARGEST_PENALTY = 1e-4, 1e9


@dataclass(frozen=True)
class Hyperplanes:
    """Hyperplanes through the neighbors.

    Parameters
    ----------
    penalty : float
        Weight decay λ; 0 for the plain hyperplane.
    n_components : float, default=0
        Principal directions to keep: a count, a share of the variance below 1, or 0
        for all.
    """

    penalty: float
    n_components: float = 0.0

    @property
    def has_paths(self) -> bool:
        """Whether one computation serves all numbers of neighbors."""
        return self.n_components == 0

    def with_penalty(self, penalty: float) -> Hyperplanes:
        """Return the same with another penalty."""
        return replace(self, penalty=penalty)

    def distances(self, query: Query, wanted: np.ndarray) -> np.ndarray:
        """Return the squared distances (n, C) in float64, infinite if not wanted."""
        if self.n_components > 0:
            squared = self._of_components(query, np.array([self.penalty]))
            return np.where(wanted, squared[..., 0], np.inf)
        out, T = query.empty(), query.tangents
        settings = T.vectors, self.penalty
        if self.penalty > 0:
            query.run(hyperplane_distances, wanted, T.spot, out, settings=settings)
            wanted = out < 0
        if np.any(wanted):
            query.run(orthogonal_distances, wanted, T.spot, out, settings=settings)
        return out

    def bounds(self, query: Query, unit: float) -> np.ndarray | None:
        """Return bounds (n, C, 2), in units², tight enough to find the smallest.

        None if exact distances are faster.
        """
        penalty = self.penalty / unit / unit  # a square might overflow
        if self.n_components > 0 or not (
            _SMALLEST_PENALTY <= penalty <= _LARGEST_PENALTY
        ):
            return None
        out, T = query.empty(2), query.tangents
        query.run(
            hyperplane_bounds,
            query.order,
            T.spot,
            out,
            settings=(T.vectors, penalty, unit, PRECISION),
        )
        return out

    def paths(
        self, query: Query, penalties: np.ndarray, numbers: np.ndarray
    ) -> np.ndarray:
        """Return the squared distances (n, C, L, len(numbers)).

        They are for L penalties and some numbers of neighbors, all from one factor
        unless components are left out.
        """
        if not self.has_paths:
            return self._one_by_one(query, penalties, numbers)
        out, T = query.empty(len(penalties), query.hoods.index.shape[2]), query.tangents
        if T.vectors.shape[1] > 0:
            query.run(tangent_paths, T.spot, out, settings=(T.vectors, penalties))
        else:
            query.run(hyperplane_paths, out, settings=(penalties,))
        return out[..., numbers - 1]

    def _one_by_one(
        self, query: Query, penalties: np.ndarray, numbers: np.ndarray
    ) -> np.ndarray:
        each = [replace(query, hoods=query.hoods.first(k)) for k in numbers.tolist()]
        return np.stack([self._of_components(some, penalties) for some in each], -1)

    def _of_components(self, query: Query, penalties: np.ndarray) -> np.ndarray:
        """Return the squared distances (n, C, L) along the principal directions."""
        out, T = query.empty(len(penalties)), query.tangents
        settings = T.vectors, penalties, self.n_components
        query.run(component_distances, T.spot, out, settings=settings)
        return out


@dataclass(frozen=True)
class Hulls:
    """Convex hulls of the neighbors; the methods are those of `Hyperplanes`."""

    has_paths = True

    def with_penalty(self, penalty: float) -> Hulls:
        """Return the same: hulls have no penalty."""
        return self

    def distances(self, query: Query, wanted: np.ndarray) -> np.ndarray:
        """Return the squared distances (n, C) in float64, infinite if not wanted."""
        out = query.empty()
        query.run(hull_distances, wanted, out, settings=())
        return out

    def bounds(self, query: Query, unit: float) -> np.ndarray | None:
        """Return bounds (n, C, 2), in units²."""
        out = query.empty(2)
        query.run(hull_bounds, query.order, out, settings=(unit, PRECISION))
        return out

    def paths(
        self, query: Query, penalties: np.ndarray, numbers: np.ndarray
    ) -> np.ndarray:
        """Return the squared distances (n, C, 1, len(numbers)) for some K."""
        out = query.empty(1, query.hoods.index.shape[2])
        query.run(hull_paths, out, settings=())
        return out[..., numbers - 1]


def class_variance(X: np.ndarray, codes: np.ndarray, n_classes: int) -> float:
    """Return the mean over classes of the summed variances of the features."""
    sums = [X[codes == c].var(axis=0, dtype=np.float64).sum() for c in range(n_classes)]
    return float(np.mean(sums))


# -- one neighborhood ----------------------------------------------------------------


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
    query = _single_query(x, neighbors, tangents)
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
    query = _single_query(x, neighbors)
    return float(np.sqrt(Hulls().distances(query, np.ones((1, 1), dtype=bool))[0, 0]))


def _single_query(x: Any, neighbors: Any, tangents: Any = None) -> Query:
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
