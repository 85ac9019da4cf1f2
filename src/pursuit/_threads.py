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

# More threads than any machine has: no limit but that of BLAS.
NO_LIMIT = 1 << 30

_lock = Lock()
# The numbers of threads that BLAS is held to now, one for each who holds it.
_held: list[int] = []
# What the first of them found: the number of threads allowed, and each library's own.
_found: list[tuple[int, list[int]]] = []


@cache
def _pools() -> ThreadpoolController:
    return ThreadpoolController()


def allowed_threads() -> int:
    """Return what BLAS and Numba are limited to, limits of this module not counted."""
    if found := _found[:1]:
        return found[0][0]
    limits = [pool.num_threads for pool in _pools().lib_controllers]
    return min([get_num_threads(), *limits])


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread; the last to leave restores what the first found."""
    with _shared_held_to(1), _own_held_to(1, "blas"):
        yield


@contextmanager
def limited(n_threads: int) -> Iterator[None]:
    """Hold BLAS and OpenMP to so many threads at most.

    Threads may enter and leave in any order: BLAS has the smallest number that anyone
    asks for, and what it had before as soon as nobody does.
    """
    with _shared_held_to(n_threads), _own_held_to(n_threads, "blas", "openmp"):
        yield


def _is_shared(pool: Any) -> bool:
    """Return whether one number of threads holds for the whole process.

    OpenMP, and BLAS on top of it, keep one for each thread: plain nesting suits them.
    """
    layer = getattr(pool, "threading_layer", None)
    return bool(pool.user_api == "blas" and layer != "openmp")


@contextmanager
def _shared_held_to(n_threads: int) -> Iterator[None]:
    pools = [pool for pool in _pools().lib_controllers if _is_shared(pool)]
    with _lock:
        if not _held:
            _found[:] = [(allowed_threads(), [pool.num_threads for pool in pools])]
        _held.append(n_threads)
        _set_shared(pools)
    try:
        yield
    finally:
        with _lock:
            _held.remove(n_threads)
            _set_shared(pools)
            if not _held:
                _found.clear()


def _set_shared(pools: Sequence[Any]) -> None:
    """Give each library the smallest number asked for, none more than its own."""
    for pool, own in zip(pools, _found[0][1], strict=True):
        # Newer threadpoolctl ignores all threads but the first to set a number, until
        # that one is done; here they agree under a lock, and any may be the last.
        free = getattr(pool, "clear_controlling_thread", lambda force: None)
        free(force=True)
        pool.set_num_threads(min([own, *_held]))
        free(force=True)


@contextmanager
def _own_held_to(n_threads: int, *apis: str) -> Iterator[None]:
    pools = [
        (pool, pool.num_threads)
        for pool in _pools().lib_controllers
        if pool.user_api in apis and not _is_shared(pool)
    ]
    for pool, own in pools:
        pool.set_num_threads(min(own, n_threads))
    try:
        yield
    finally:
        for pool, own in pools:
            pool.set_num_threads(own)


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
