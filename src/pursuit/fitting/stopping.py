"""Stopping rules.

A rule holds its parameters only; ``start()`` returns a function with the state of one
run, which is called with each new error and returns ``None`` or the reason to stop.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Patience:
    """Stop when the error has not decreased for some steps.

    Parameters
    ----------
    steps : int
        Number of steps to wait.
    share : float
        Additional steps to wait, as a share of the size of the best model so far:
        large models improve in small steps.
    """

    steps: int = 5
    share: float = 0.0

    def start(self) -> Callable[[float], str | None]:
        """Return a function with the state of one run."""
        best, at, now = np.inf, 0, -1

        def show(error: float) -> str | None:
            nonlocal best, at, now
            now += 1
            if error < best:
                best, at = error, now
            return "patience" if now - at >= self.steps + self.share * at else None

        return show

    def length(self, errors: np.ndarray) -> int:
        """Return the number of errors that a run would see before it stops."""
        show = self.start()
        for n, error in enumerate(errors):
            if show(float(error)):
                return n + 1
        return len(errors)


# How far cross-validated paths continue beyond their best size so far.
CV_PATIENCE = Patience(steps=30, share=1.0)
