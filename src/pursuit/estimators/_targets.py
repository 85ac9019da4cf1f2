"""What is asked of targets that are numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

# Targets that vary, but by less than this, have squares that underflow.
_SMALLEST_SPREAD = 1e-140


def check_target_scale(Y: np.ndarray, weight: np.ndarray, is_centred: bool) -> None:
    """Raise a ValueError unless sums of squares of the targets are numbers.

    Parameters
    ----------
    Y : ndarray of shape (n, T)
        Of rows that count.
    weight : ndarray
    is_centred : bool
        Whether a constant is fitted, so that only differences matter.
    """
    largest = float(np.abs(Y).max())
    # Correlations with functions of size 1 are squared too.
    if largest > np.sqrt(np.finfo(np.float64).max / 16) / max(1.0, weight.sum()):
        raise ValueError(
            f"y holds values up to {largest:.3g}, whose squares overflow: scale it "
            "down, for instance with TransformedTargetRegressor and StandardScaler."
        )
    spread = float(np.ptp(Y, axis=0).max()) if is_centred else largest
    if 0 < spread < _SMALLEST_SPREAD:
        raise ValueError(
            f"y varies by {spread:.3g} at most, whose square underflows: scale it up, "
            "for instance with TransformedTargetRegressor and StandardScaler."
        )


def n_targets(y: Any) -> int:
    """Return how many columns y has, as far as can be told before it is checked."""
    first = y[0] if isinstance(y, list | tuple) and len(y) else 0.0
    shape: Any = getattr(y, "shape", (1, *np.shape(first)))
    return int(shape[1]) if len(shape) > 1 else 1
