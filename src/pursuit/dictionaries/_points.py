"""Points on which functions are centered."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from pursuit._parameters import whole_number
from pursuit._rows import row_digests
from pursuit.kernels.widths import in_units
from pursuit.sample import Sample


def points_of(centers: Any, n_centers: Any, sample: Sample) -> dict[str, Any]:
    """Return the points as arguments for a collection of centered functions.

    Parameters
    ----------
    centers : None, "random", "kmeans" or array of shape (n, d)
        All training points, a random sample, means of clusters, or the given points.
    n_centers : int or None
        Number of points for "random" and "kmeans".
    """
    if not isinstance(centers, str):
        if n_centers is not None:
            raise ValueError(
                f"n_centers={n_centers!r} is for centers='random' and 'kmeans'; got "
                f"centers={'None' if centers is None else 'an array'}."
            )
        if centers is None:
            return at_rows(sample, sample.rows)
        return _given(centers, sample)
    if centers not in ("random", "kmeans"):
        raise ValueError(
            f"centers={centers!r} must be None, 'random', 'kmeans' or an array."
        )
    n = min(whole_number("n_centers", n_centers, 1), len(sample.rows))
    if centers == "random":
        # Draw by content, so that neither the order of rows nor repeated rows matter.
        order = np.argsort(row_digests(sample.X, sample.rows, sample.seed))
        return at_rows(sample, np.sort(sample.rows[order[:n]]))
    return {"points": _means(n, sample), "numbers": np.arange(n), "on_rows": False}


def at_rows(sample: Sample, rows: np.ndarray) -> dict[str, Any]:
    """Return some training rows as points, without a copy if these are all rows."""
    every = len(rows) == sample.X.shape[0]
    points = sample.X if every else sample.X[rows]
    return {"points": points, "numbers": rows, "on_rows": True}


def _given(centers: Any, sample: Sample) -> dict[str, Any]:
    n_features = sample.X.shape[1]
    try:
        points: Any = centers.tocsr() if sp.issparse(centers) else np.asarray(centers)
        points = points.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(
            f"centers must be numbers, an array of shape (n, {n_features})."
        ) from None
    if points.ndim != 2 or points.shape[1] != n_features or not points.shape[0]:
        raise ValueError(
            f"centers must be an array of shape (n, {n_features}) with n ≥ 1, as X has "
            f"{n_features} features; got shape {points.shape}."
        )
    if not np.isfinite(points.data if sp.issparse(points) else points).all():
        raise ValueError("centers must be finite numbers; got NaN or inf among them.")
    if sp.issparse(sample.X) and not sp.issparse(points):
        points = sp.csr_array(points)
    elif sp.issparse(points) and not sp.issparse(sample.X):
        points = points.toarray()
    numbers = np.arange(points.shape[0])
    return {"points": points, "numbers": numbers, "on_rows": False}


def _means(n: int, sample: Sample) -> np.ndarray:
    """Return the means of ``n`` clusters, which depend on the rows' content only."""
    from sklearn.cluster import KMeans  # slow to import, and rarely used

    used = np.flatnonzero(sample.weight > 0)
    digests = row_digests(sample.X, used, sample.seed)
    _, first, group = np.unique(digests, return_index=True, return_inverse=True)
    weight = np.bincount(group, weights=sample.weight[used])
    model = KMeans(min(n, len(first)), n_init=3, random_state=sample.seed)
    # In units of the data, squares neither overflow nor underflow.
    points, unit = in_units(sample.X[used[first]])
    means = unit * model.fit(points, sample_weight=weight).cluster_centers_
    return sp.csr_array(means) if sp.issparse(sample.X) else means
