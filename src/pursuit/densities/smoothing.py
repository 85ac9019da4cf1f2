"""Kernel-weighted means of targets, and distances to class means in feature space.

Letters: X (l, n) training points, Y (l, T) targets, Z (m, n) queries, w (l,) weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from pursuit.kernels import Kernel
from pursuit.kernels.distances import paired_rows, squared_distances

from .gaussians import (
    EPS,
    exponent_distances,
    is_exponential,
    normalized,
    row_blocks,
)

# Sum of exponentials below which some of them, rounded to 0, may be missed.
_LOST = 1e-280
# Largest rounding error of an exponent at which distances are subtracted.
_ERROR = 1e-9


def weighted_means(
    kernel: Kernel, X: Any, Y: np.ndarray, w: np.ndarray, Z: Any, memory: int
) -> np.ndarray:
    """Return Σ_i w_i k(z, x_i) y_i / Σ_i w_i k(z, x_i) at the rows of Z, (m, T).

    If all kernel values are 0, as for a narrow Gaussian far from the data, the result
    is the limit: the ratio is well defined for exponentials; for other kernels it is
    the mean of the nearest points of positive weight.

    Parameters
    ----------
    kernel : Kernel
        Non-negative kernel.
    """
    return _means(kernel, X, Y, w, Z, memory)[0]


def means_of_others(
    kernel: Kernel,
    X: Any,
    Y: np.ndarray,
    w: np.ndarray,
    rows: np.ndarray,
    memory: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weighted mean at some rows of X without each of them, (m, T).

    The second array (m,) is Σ_i w_i k(z, x_i), in units of the largest weight.
    """
    return _means(kernel, X, Y, w, X[rows], memory, rows)


def _means(
    kernel: Kernel,
    X: Any,
    Y: np.ndarray,
    w: np.ndarray,
    Z: Any,
    memory: int,
    own: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted means and masses, each without the row ``own`` of X if given."""
    out, masses = np.empty((Z.shape[0], Y.shape[1])), np.empty(Z.shape[0])
    w = w / w.max()
    for here in row_blocks(Z.shape[0], X.shape[0], memory):
        K = kernel(Z[here], X)
        if K.min() < 0:
            raise ValueError(
                f"kernel={kernel!r} has negative values (down to {K.min():g}); a "
                "weighted mean needs one that is nowhere negative, such as Gaussian()."
            )
        K *= w
        left_out = None if own is None else own[here]
        if left_out is not None:
            K[np.arange(len(K)), left_out] = 0.0
        masses[here] = total = K.sum(axis=1)
        is_lost = total <= (_LOST if is_exponential(kernel) else 0.0)
        out[here] = (K @ Y) / np.where(is_lost, 1.0, total)[:, None]
        lost = np.flatnonzero(is_lost)
        # Smaller blocks, since limits take several arrays.
        for part in row_blocks(len(lost), 4 * X.shape[0], memory):
            some = lost[part]
            without = None if left_out is None else left_out[some]
            out[here][some] = _limit_shares(kernel, X, w, Z[here][some], without) @ Y
    return out, masses


def _limit_shares(
    kernel: Kernel, X: Any, w: np.ndarray, Z: Any, own: np.ndarray | None
) -> np.ndarray:
    """Return the shares of the rows of X where kernel values underflow, (m, l)."""
    with np.errstate(divide="ignore"):
        logs = np.tile(np.log(w), (Z.shape[0], 1))
    if own is not None:
        logs[np.arange(len(logs)), own] = -np.inf
    D = exponent_distances(kernel, Z, X)
    if D is None:
        left, right = paired_rows(Z, X)
        D = squared_distances(left, right, np.empty(logs.shape))
        D[np.isneginf(logs)] = np.inf
        nearest = D.min(axis=1, keepdims=True)
        logs[nearest * (1.0 + 64.0 * EPS) < D] = -np.inf  # up to rounding
        return normalized(logs)
    D[np.isneginf(logs)] = np.inf
    _make_relative(D, kernel, X, Z)
    with np.errstate(over="ignore"):
        logs -= float(kernel.gamma) * D
    return normalized(logs)


def _make_relative(D: np.ndarray, kernel: Kernel, X: Any, Z: Any) -> None:
    """Subtract the smallest distance of each row of D, in place.

    Very far from the data the rounding of distances would exceed their differences;
    these are then computed directly.
    """
    nearest, least = D.argmin(axis=1), D.min(axis=1)
    with np.errstate(over="ignore", invalid="ignore"):
        D -= least[:, None]
        is_rough = 16.0 * EPS * float(kernel.gamma) * least > _ERROR
    D[np.isnan(D)] = 0.0  # inf - inf: no distance is smaller
    if sparse.issparse(X) or sparse.issparse(Z):
        return  # the difference of two sparse rows may be dense
    for i in np.flatnonzero(is_rough & np.isfinite(least)):
        x = X[nearest[i]]
        some = np.isfinite(D[i])
        D[i, some] = _farther(kernel, X[some] - x, Z[i] - x)
        D[i] -= D[i].min()


def _farther(kernel: Kernel, step: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Return how much farther z is from the rows of ``step`` than from the origin."""
    if kernel.metric == "manhattan":
        size = np.abs(step)
        return (size - 2.0 * np.clip(step * np.sign(z), 0.0, np.abs(z))).sum(axis=1)
    return (step * (step - 2.0 * z)).sum(axis=1)


def class_mean_products(
    kernel: Kernel, X: Any, shares: np.ndarray, memory: int
) -> np.ndarray:
    """Return ⟨c, c⟩ of the class means in feature space, (C,).

    Parameters
    ----------
    shares : ndarray of shape (l, C)
        Weight of each row in each mean; columns sum to 1.
    """
    total = np.zeros(shares.shape[1])
    for here in row_blocks(X.shape[0], X.shape[0], memory):
        total += (shares[here] * (kernel(X[here], X) @ shares)).sum(axis=0)
    return total


def squared_distances_to_means(
    kernel: Kernel,
    X: Any,
    shares: np.ndarray,
    mean_products: np.ndarray,
    Z: Any,
    memory: int,
) -> np.ndarray:
    """Return ‖φ(z) - c‖² for each class mean c, (m, C) (thesis §5.3.4)."""
    out = np.empty((Z.shape[0], shares.shape[1]))
    for here in row_blocks(Z.shape[0], X.shape[0], memory):
        out[here] = mean_products - 2.0 * (kernel(Z[here], X) @ shares)
        out[here] += kernel.diag(Z[here])[:, None]
    return out
