"""One Ctrl-C ends a fit with the model so far; two in a row end the calling code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

from ._deadline import Interrupted, told_to_stop

__all__ = ["Interrupted", "single_interrupts"]

# Maximum seconds between two interrupts that belong together.
_TOGETHER = 2.0

_latest = [-_TOGETHER]


def _is_repeated() -> bool:
    """Record an interrupt, and return whether another one came shortly before."""
    now = time.monotonic()
    before, _latest[0] = _latest[0], now
    return now - before < _TOGETHER


@contextmanager
def single_interrupts() -> Iterator[None]:
    """Turn a single Ctrl-C into `Interrupted`; let a repeated one pass.

    The fit that runs is told to end soon.

    An interrupt that comes while a compiled function unpacks its arguments ends in a
    SystemError, or in a chain of them.
    """
    try:
        yield
    except Interrupted:
        raise
    except (KeyboardInterrupt, SystemError) as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__ or cause.__context__
        if not isinstance(cause, KeyboardInterrupt):
            raise
        if _is_repeated():
            raise KeyboardInterrupt from None
        told_to_stop()
        raise Interrupted from None
