"""How much memory and how many threads a computation may use."""

from __future__ import annotations

import ctypes
import os
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from math import ceil
from numbers import Real
from typing import Any

from ._parameters import thread_count
from ._threads import NO_LIMIT, allowed_threads, deal

# -- memory ------------------------------------------------------------------------

_SHIFTS = {"": 0, "k": 10, "m": 20, "g": 30, "t": 40}


def budget(max_memory: Any) -> int:
    """Return the bytes that a fit may use.

    Parameters
    ----------
    max_memory : None, number of bytes, or text such as "1 GiB"
        ``None`` is half of the memory that is free now (1 GiB if that is unknown).
    """
    if max_memory is None:
        return _half_of_free()
    amount: Any = _parsed(max_memory) if isinstance(max_memory, str) else max_memory
    # Compared as it is: whole numbers may be larger than any float.
    is_number = isinstance(amount, Real) and amount is not True
    if is_number and amount >= 1:
        return int(amount) if amount < 2**62 else 2**62
    raise ValueError(
        f"max_memory={max_memory!r} is not an amount of memory: give a positive "
        "number of bytes, a text such as '1 GiB', or None."
    )


def _parsed(text: str) -> float | None:
    match = re.fullmatch(r"\s*(\d+\.?\d*|\.\d+)\s*([kmgt]?)i?b?\s*", text.lower())
    return float(match[1]) * (1 << _SHIFTS[match[2]]) if match else None


def _half_of_free() -> int:
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 30
    return max(int(free) // 2, 1 << 28)


def amount(n_bytes: float) -> str:
    """Return a number of bytes as a text that `budget` reads, rounded up."""
    for letter, shift in reversed(_SHIFTS.items()):
        if letter and n_bytes >= 1 << shift:
            return f"{ceil(10 * n_bytes / (1 << shift)) / 10:g} {letter.upper()}iB"
    return f"{ceil(n_bytes)} B"


def return_freed_memory() -> None:
    """Return freed memory to the system if the C library (glibc) keeps it.

    Arrays of a few MiB come from its heap, which otherwise only grows, so that a fit
    within its budget would seem to use more.
    """
    trim = getattr(_c_library(), "malloc_trim", None)
    if trim is not None:
        trim(0)


@cache
def _c_library() -> Any:
    try:
        return ctypes.CDLL(None)
    except (OSError, TypeError):  # no access to the process's symbols
        return None


# -- memory and threads ------------------------------------------------------------


@dataclass(frozen=True)
class Limits:
    """What a computation may use.

    Attributes
    ----------
    memory : int
        Bytes for its arrays.
    n_threads : int
        Maximum number of threads.
    """

    memory: int
    n_threads: int

    @classmethod
    def of(cls, max_memory: Any, n_jobs: Any) -> Limits:
        """Return the limits that parameters of estimators mean.

        ``n_jobs=None`` is as many threads as BLAS may use when the work is done, which
        may be in another process than now.
        """
        return cls(budget(max_memory), thread_count(n_jobs, default=NO_LIMIT))

    @property
    def usable_threads(self) -> int:
        """The number of threads, at most as many as BLAS may use now."""
        return min(self.n_threads, allowed_threads())

    def deal(self, work: Callable[[Iterable[Any]], None], items: Sequence[Any]) -> None:
        """Call ``work`` in each usable thread with its share of the items."""
        deal(work, items, min(self.usable_threads, len(items)))
