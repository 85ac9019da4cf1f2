"""Average outer products of the gradients of kernel expansions.

A feature, or a direction, along which a fitted function changes much matters to the
targets: the products are both a metric for the next fit and importances for users.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg, sparse

from pursuit.kernels import Kernel

# Values of gradients, and of kernels, that are in memory at once.
_AT_ONCE = 1 << 22

# Least share of the largest weight of a metric: others are below the rounding of sums.
_LEAST_WEIGHT = 1e-12

# A column that deviates from its mean by less than this share of its largest value is
# constant; the inverse of its deviation is at most the largest finite number.
_CONSTANT, _LARGEST = 1e-10, 1e300


def average_products(
    kernel: Kernel,
    X: Any,
    points: Any,
    coef: np.ndarray,
    weight: np.ndarray,
    is_full: bool,
) -> np.ndarray:
    """Return the weighted mean of ∇f ∇fᵀ over rows, summed over outputs.

    Parameters
    ----------
    kernel : Kernel
    X : array or CSR of shape (l, d)
    points : array or CSR of shape (m, d)
        Points of the expansion ``f(x) = k(x, points) @ coef``.
    coef : ndarray of shape (m, T)
    weight : ndarray of shape (l,)
        Weights of the rows; those of weight 0 are left out.
    is_full : bool
        Whether to return the matrix (d, d), or its diagonal (d,).
    """
    d = X.shape[1]
    products = np.zeros((d, d) if is_full else d)
    if not len(coef):
        return products
    rows = np.flatnonzero(weight)
    n_at_once = max(1, _AT_ONCE // max(d, len(coef)))
    for start in range(0, len(rows), n_at_once):
        some = rows[start : start + n_at_once]
        root = np.sqrt(weight[some] / weight.sum())[:, None]
        for gradients in kernel.gradients(X[some], points, coef):
            gradients *= root
            if is_full:
                products += gradients.T @ gradients
            else:
                products += np.einsum("ij,ij->j", gradients, gradients)
    return products


def root_of(products: np.ndarray) -> np.ndarray:
    """Return the factor of the metric that these products are, up to its scale."""
    if products.ndim == 1:
        largest = products.max(initial=0.0)
        if not 0 < largest < np.inf:
            return np.ones(len(products))
        return np.sqrt(np.maximum(products / largest, _LEAST_WEIGHT))
    largest = products.diagonal().max(initial=0.0)
    if not 0 < largest < np.inf:
        return np.eye(len(products))
    values, vectors = linalg.eigh(products / largest)
    values = np.sqrt(np.maximum(values / values[-1], _LEAST_WEIGHT))
    return np.asarray((vectors * values) @ vectors.T)


def importances(
    kernel: Kernel,
    X: Any,
    points: Any,
    coef: np.ndarray,
    weight: np.ndarray,
    groups: np.ndarray | None = None,
) -> np.ndarray:
    """Return the share of each column in how much an expansion varies, (d,).

    That is the mean squared derivative along the column times its variance. They sum up
    to 1, or are all 0 if the expansion is constant. Parameters are those of
    :func:`average_products` and :func:`column_scales`.
    """
    scales = column_scales(X, weight, groups)
    with np.errstate(divide="ignore"):
        deviations = np.where(scales > 0, 1.0 / scales, 0.0)
    squares = average_products(kernel, X, points, coef, weight, is_full=False)
    with np.errstate(over="ignore", invalid="ignore"):
        roots = np.sqrt(squares) * deviations
    largest = roots.max(initial=0.0)
    if not 0 < largest < np.inf:
        return np.zeros(len(roots))
    shares = np.square(roots / largest)
    return np.asarray(shares / shares.sum())


def column_scales(
    X: Any, weight: np.ndarray, groups: np.ndarray | None = None
) -> np.ndarray:
    """Return 1 over the weighted standard deviation of each column, 0 for constants.

    Parameters
    ----------
    X : array or CSR of shape (l, d)
    weight : ndarray of shape (l,)
    groups : ndarray of int of shape (l,), optional
        Groups of rows around whose means the columns are taken.
    """
    used = np.flatnonzero(weight > 0)
    share = weight[used] / weight[used].sum()
    largest = _largest(X, used)
    # In units of the largest value, squares neither overflow nor underflow.
    unit = np.where(largest > 0, largest, 1.0)
    if sparse.issparse(X):
        Z = sparse.csr_array(X[used])
        Z = Z @ sparse.diags_array(1.0 / unit)
        variance = share @ Z.multiply(Z)
        if groups is None:
            variance -= (share @ Z) ** 2
        else:
            averages, totals = _averages(groups[used], share)
            means = averages @ Z
            variance -= totals @ means.multiply(means)
    else:
        Z = X[used] / unit
        if groups is None:
            Z -= share @ Z
        else:
            Z -= (_averages(groups[used], share)[0] @ Z)[groups[used]]
        variance = share @ (Z * Z)
    deviation = np.sqrt(np.maximum(variance, 0.0))
    is_constant = deviation <= _CONSTANT
    scale = np.where(is_constant, 1.0, deviation)
    with np.errstate(over="ignore"):
        return np.where(is_constant, 0.0, np.minimum(1.0 / scale / unit, _LARGEST))


def _averages(
    groups: np.ndarray, share: np.ndarray
) -> tuple[sparse.csr_array, np.ndarray]:
    """Return what averages rows in each group, (G, n), and the shares of the groups."""
    totals = np.bincount(groups, weights=share)
    parts = share / totals[groups]
    places = groups, np.arange(len(groups))
    return sparse.csr_array((parts, places), shape=(len(totals), len(groups))), totals


def _largest(X: Any, rows: np.ndarray) -> np.ndarray:
    largest = abs(X[rows]).max(axis=0)
    return np.ravel(largest.toarray() if sparse.issparse(largest) else largest)
