"""One Ctrl-C ends a fit with the model so far; two in a row end the calling code."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager

# Maximum seconds between two interrupts that belong together.
_TOGETHER = 2.0

_latest = [-_TOGETHER]


def is_repeated() -> bool:
    """Record an interrupt, and return whether another one came shortly before."""
    now = time.monotonic()
    before, _latest[0] = _latest[0], now
    return now - before < _TOGETHER


@contextmanager
def plain_interrupts() -> Iterator[None]:
    """Raise KeyboardInterrupt for what a compiled function makes of one.

    An interrupt that comes while its arguments are unpacked ends in a SystemError, or
    in a chain of them.
    """
    try:
        yield
    except SystemError as error:
        cause: BaseException | None = error
        while isinstance(cause, SystemError):
            cause = cause.__cause__ or cause.__context__
        if isinstance(cause, KeyboardInterrupt):
            raise KeyboardInterrupt from None
        raise
