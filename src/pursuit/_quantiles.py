"""Quantiles of weighted values."""

from __future__ import annotations

import numpy as np


def lower_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Return the least value below or at which lies at least this share of the weight.

    A value of weight 2 counts as two equal values, one of weight 0 as none.
    """
    order = np.argsort(values, kind="stable")
    order = order[weights[order] > 0]
    cumulated = np.cumsum(weights[order])
    # Allow for rounding in the cumulated weights.
    wanted = share * cumulated[-1] * (1.0 - 1e-12)
    return float(values[order[np.searchsorted(cumulated, wanted)]])
