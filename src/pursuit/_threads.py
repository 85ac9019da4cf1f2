"""Threads of our own, around functions that release the GIL.

Plain Python threads rather than Numba's, because Numba's default pool ends the
process when it is entered from two threads at once, as ``joblib`` may do. BLAS is
held to one thread meanwhile: its own would wait for work in busy loops and take the
processors away.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

from numba import get_num_threads
from threadpoolctl import ThreadpoolController

_lock = Lock()
# For each who holds BLAS to one thread, the first first: the limit, and the number of
# threads allowed before.
_held: list[tuple[Any, int]] = []


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def allowed_threads() -> int:
    """Return what BLAS and Numba are limited to, `one_blas_thread` not counted."""
    if held := _held[:1]:
        return held[0][1]
    limits = [pool.num_threads for pool in _pools().lib_controllers]
    return min([get_num_threads(), *limits])


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; the last to leave restores what the first found."""
    with _lock:
        n_threads = allowed_threads()
        limit = _pools().select(user_api="blas").limit(limits=1)
        _held.append((limit, n_threads))
    try:
        yield
    finally:
        with _lock:
            limit, _ = _held.pop()
            if not _held:
                limit.restore_original_limits()


def deal(
    work: Callable[[Sequence[Any]], None], items: Sequence[Any], n_threads: int
) -> None:
    """Call ``work`` once a thread, this one included, with its share of the items."""
    if n_threads <= 1:
        work(items)
        return
    own, *shares = [items[i::n_threads] for i in range(n_threads)]
    # A pool a call: a lasting one would not survive a fork.
    with one_blas_thread(), ThreadPoolExecutor(len(shares)) as pool:
        done = pool.map(work, shares)
        work(own)
        list(done)
