"""The end of a fit: never, after some time, or soon after someone asked to stop.

Whoever works in pieces calls `check` between two of them. Where time is up, this raises
`Interrupted`, as a Ctrl-C does, and the same code turns it into a smaller result.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Any

from ._parameters import is_number

# Seconds that a fit may still take after somebody asked it to stop.
GRACE = 0.5

# Seconds between two questions whether to stop.
_ASK_EVERY = 0.25

_UNITS = {"ms": 1e-3, "s": 1.0, "min": 60.0, "h": 3600.0}
_LONG = {"second": "s", "sec": "s", "minute": "min", "hour": "h"}


def seconds_of(max_time: Any) -> float | None:
    """Return the seconds that ``max_time`` means, None for no limit.

    Parameters
    ----------
    max_time : None, number of seconds, or text such as "30 s", "2 min", "1.5 h"
    """
    if max_time is None:
        return None
    seconds: Any = _parsed(max_time) if isinstance(max_time, str) else max_time
    if is_number(seconds) and 0 < seconds < inf:
        return float(seconds)
    raise ValueError(
        f"max_time={max_time!r} is not a time: give a positive number of seconds, a "
        "text such as '30 s', '2 min' or '1.5 h', or None for no limit."
    )


def _parsed(text: str) -> float | None:
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([a-z]*)\s*", text.lower())
    if not match:
        return None
    word = match[2].removesuffix("s") or match[2] or "s"
    unit = _UNITS.get(match[2]) or _UNITS.get(_LONG.get(word, word))
    return None if unit is None else float(match[1]) * unit


class Interrupted(KeyboardInterrupt):
    """A single Ctrl-C, or the end of a time, to be turned into a smaller result.

    Parameters
    ----------
    partial : Any
        What was complete when it came.
    """

    def __init__(self, partial: Any = None) -> None:
        super().__init__()
        self.partial = partial


class Deadline:
    """When a fit has to end, and why.

    Parameters
    ----------
    seconds : float, optional
        Time from now; None for no limit.
    clock : callable, optional
        Returns the seconds since some moment.

    Attributes
    ----------
    reason : {"time", "interrupted", "callback"} or None
        What cut something short; None as long as nothing was.
    was_told : bool
        Whether the user was warned of an interrupt.
    ask : callable or None
        Returns whether to stop; asked now and then.
    """

    def __init__(
        self,
        seconds: float | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._clock = clock
        self._start = clock()
        self._end = inf if seconds is None else self._start + seconds
        self._limit = inf
        self._n_parts = 0
        self._next_question = self._start
        self.reason: str | None = None
        self.was_told = False
        self.ask: Callable[[], bool] | None = None

    @property
    def is_bound(self) -> bool:
        """Whether there is an end."""
        return self._end < inf

    @property
    def left(self) -> float:
        """The seconds that are left."""
        return max(0.0, self._end - self._clock())

    @property
    def spent(self) -> float:
        """The seconds since the start."""
        return self._clock() - self._start

    @property
    def is_over(self) -> bool:
        """Whether no time is left."""
        return self._clock() >= self._end

    def stop_soon(self, reason: str) -> None:
        """Let the fit end as soon as it has a model, for a reason."""
        self.reason = reason
        self._end = min(self._end, self._clock() + GRACE)

    def cut_short(self) -> None:
        """Record that time was too short for something."""
        self.reason = self.reason or "time"

    def allow_overtime(self) -> None:
        """Leave some time for what must be done even if time is up."""
        self._end = max(self._end, self._clock() + GRACE)

    def check(self) -> None:
        """Raise `Interrupted` if the time of this part of the fit is over.

        Between the parts nothing is raised: nobody could make a smaller result of it.
        """
        if not self._n_parts:
            return
        if self.ask is not None:
            self._question()
        end = min(self._end, self._limit)
        if end < inf and self._clock() >= end:
            self.cut_short()
            raise Interrupted

    def _question(self) -> None:
        assert self.ask is not None
        now = self._clock()
        if now < self._next_question:
            return
        self._next_question = now + _ASK_EVERY
        if self.ask():
            self.ask = None
            self.stop_soon("callback")
            raise Interrupted

    @contextmanager
    def part(self, share: float) -> Iterator[None]:
        """Let a part of the fit take a share of the time that is left.

        The caller turns `Interrupted` into a smaller result.
        """
        before = self._limit
        self._n_parts += 1
        if self.is_bound:
            self._limit = min(before, self._clock() + share * self.left)
        try:
            yield
        finally:
            self._n_parts -= 1
            self._limit = before

    @contextmanager
    def active(self) -> Iterator[None]:
        """Let `check` mean this deadline, in this thread."""
        token = _active.set(self)
        try:
            yield
        finally:
            _active.reset(token)


_active: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


def check() -> None:
    """Raise `Interrupted` if the time of the fit that runs in this thread is over."""
    deadline = _active.get()
    if deadline is not None:
        deadline.check()


def reason_to_stop() -> str:
    """Return why what runs in this thread was cut short."""
    deadline = _active.get()
    return (deadline and deadline.reason) or "interrupted"


def told_to_stop() -> None:
    """Let the fit that runs in this thread end soon: Ctrl-C was pressed."""
    deadline = _active.get()
    if deadline is not None:
        deadline.stop_soon("interrupted")
