"""One Ctrl-C ends a fit with the model so far; two in a row end the calling code."""

from __future__ import annotations

import time

# Maximum seconds between two interrupts that belong together.
_TOGETHER = 2.0

_latest = [-_TOGETHER]


def is_repeated() -> bool:
    """Record an interrupt, and return whether another one came shortly before."""
    now = time.monotonic()
    before, _latest[0] = _latest[0], now
    return now - before < _TOGETHER
