"""Quantiles of weighted values."""

from __future__ import annotations

import numpy as np


def lower_quantile(values: np.ndarray, weights: np.ndarray, share: float) -> float:
    """Return the least value that has at least this share of the weight up to it.

    A value of weight 2 counts as two equal values, one of weight 0 as none.
    """
    order = np.argsort(values, kind="stable")
    order = order[weights[order] > 0]
    cumulated = np.cumsum(weights[order])
    # A share of the weight up to rounding is that share.
    wanted = share * cumulated[-1] * (1.0 - 1e-12)
    return float(values[order[np.searchsorted(cumulated, wanted)]])
