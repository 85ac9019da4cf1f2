"""How much memory and how many threads a computation may use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ._memory import budget
from ._parameters import thread_count
from ._threads import NO_LIMIT, allowed_threads, deal


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

    def deal(self, work: Callable[[Sequence[Any]], None], items: Sequence[Any]) -> None:
        """Call ``work`` in each usable thread with its share of the items."""
        deal(work, items, min(self.usable_threads, len(items)))
