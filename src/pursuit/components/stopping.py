"""When the choice of points stops, and what users are told about it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pursuit.bounds.subspaces import compression_penalty

from .deflation import View

REASONS = {
    "interrupted": "interrupted: stopped by the user",
    "truncated": "truncated: the first points of a longer choice",
    "exhausted": "exhausted: none of the other rows to choose from lies outside the "
    "span of the chosen ones by more than tol",
    "share": "share: as much is captured as was asked for",
    "bound": "bound: no larger subspace can have a lower bound",
    "max_support": "max_support: as many points as were asked for",
}

# A rule is asked before each step, with the number of steps taken; it returns None or
# a reason to stop.
Stop = Callable[[View, int], str | None]


def until_share(share: float, center: bool) -> Stop:
    """Return a rule that stops when a share of the variance is captured.

    It is the variance about the mean, as far as the span holds this, or with
    ``center=False`` the trace.
    """
    inside, n_seen = 0.0, 0

    def stop(view: View, n_steps: int) -> str | None:
        nonlocal inside, n_seen
        if center:
            # The squared length of the mean, of which each step adds a coordinate.
            means = view.factor[n_seen:].mean(axis=1)
            inside, n_seen = inside + len(view.diagonal) * (means @ means), view.n_steps
        total = view.diagonal.sum() - inside
        return "share" if view.residual.sum() <= (1 - share) * total else None

    return stop


def until_bound(n_samples: int, sup: float, delta: float) -> Stop:
    """Return a rule that stops when no larger subspace can have a lower bound.

    The term that the bound adds to the residual grows with the size, and the residual
    is not negative: once that term reaches the lowest bound so far, this is the
    minimum.
    """
    lowest = np.inf

    def stop(view: View, n_steps: int) -> str | None:
        nonlocal lowest
        if n_steps == 0:
            return None
        penalty = compression_penalty(n_samples, n_steps, sup=sup, delta=delta)
        n_outside = max(1, len(view.residual) - n_steps)
        lowest = min(lowest, view.residual.sum() / n_outside + penalty)
        return "bound" if penalty >= lowest else None

    return stop


def never(view: View, n_steps: int) -> None:
    """Stop only when nothing is left."""
