"""Kernel-weighted means of targets, and distances to class means in feature space.

Letters: X (l, n) training points, Y (l, T) targets, Z (m, n) queries, w (l,) weights.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit.kernels import Kernel
from pursuit.kernels.distances import paired_rows, squared_distances

from .gaussians import row_blocks


def weighted_means(
    kernel: Kernel,
    X: Any,
    Y: np.ndarray,
    w: np.ndarray,
    Z: Any,
    memory: int,
    sets: tuple[np.ndarray, np.ndarray] | None = None,
) -> np.ndarray:
    """Return Σ_i w_i k(z, x_i) y_i / Σ_i w_i k(z, x_i) at the rows of Z, (m, T).

    If all kernel values are 0, as for a narrow Gaussian far from the data, the result
    is the target of the nearest point of positive weight, which is the limit.

    Parameters
    ----------
    kernel : Kernel
        Non-negative kernel.
    sets : pair of ndarrays of int, optional
        Set numbers of the rows of Z and of X; rows with the same number are left out.
    """
    out = np.empty((Z.shape[0], Y.shape[1]))
    for here in row_blocks(Z.shape[0], X.shape[0], memory):
        K = kernel(Z[here], X)
        if K.min() < 0:
            raise ValueError(
                f"kernel={kernel!r} has negative values (down to {K.min():g}); a "
                "weighted mean needs one that is nowhere negative, such as Gaussian()."
            )
        K *= w
        is_out = None if sets is None else sets[0][here, None] == sets[1]
        if is_out is not None:
            K[is_out] = 0.0
        total = K.sum(axis=1)
        lost = np.flatnonzero(total == 0)
        total[lost] = 1.0
        out[here] = (K @ Y) / total[:, None]
        if len(lost):
            excluded = (w == 0) if is_out is None else is_out[lost] | (w == 0)
            out[here][lost] = Y[_nearest(Z[here][lost], X, excluded)]
    return out


def _nearest(Z: Any, X: Any, excluded: np.ndarray) -> np.ndarray:
    left, right = paired_rows(Z, X)
    D = squared_distances(left, right, np.empty((Z.shape[0], X.shape[0])))
    return np.where(excluded, np.inf, D).argmin(axis=1)


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
