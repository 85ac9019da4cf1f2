"""Python threads for functions that release the GIL.

These are used instead of Numba's, whose default pool terminates the process when it is
entered from two threads at once, as ``joblib`` may do. Meanwhile BLAS is limited to
one thread, because its own threads would wait in busy loops and occupy the processors.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from itertools import pairwise
from threading import Event, Lock
from typing import Any

import numpy as np
from numba import get_num_threads
from threadpoolctl import ThreadpoolController

from ._deadline import check

# More threads than any machine has: no limit but that of BLAS.
NO_LIMIT = 1 << 30

_lock = Lock()
# Limits that callers have set, one for each active context.
_limits: list[int] = []
# Current limits on the threads of BLAS, one for each active context.
_held: list[int] = []
# State before the first context: allowed threads, and the limit of each library.
_original: list[tuple[int, list[int]]] = []


@cache
def _pools() -> ThreadpoolController:
    import scipy.linalg  # noqa: F401 -- a controller knows what is loaded only

    return ThreadpoolController()


def allowed_threads() -> int:
    """Return the thread limit of BLAS and Numba, without the limits of this module."""
    if state := _original[:1]:
        return state[0][0]
    limits = [pool.num_threads for pool in _pools().lib_controllers]
    return min([get_num_threads(), *limits])


def usable_threads() -> int:
    """Return how many threads may work now: those allowed, within callers' limits."""
    return min([allowed_threads(), *_limits])


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """Limit BLAS to one thread; the last context to exit restores the old limit."""
    with _shared_held_to(1), _own_held_to(1, "blas"):
        yield


@contextmanager
def limited(n_threads: int) -> Iterator[None]:
    """Limit BLAS and OpenMP to at most ``n_threads`` threads.

    Threads may enter and exit in any order: the smallest of the active limits applies,
    and the original one is restored when none is left.
    """
    _limits.append(n_threads)
    try:
        with _shared_held_to(n_threads), _own_held_to(n_threads, "blas", "openmp"):
            yield
    finally:
        _limits.remove(n_threads)


def _is_shared(pool: Any) -> bool:
    """Return whether the library has one thread limit for the whole process.

    OpenMP, and BLAS built on it, have one for each thread, where plain nesting works.
    """
    layer = getattr(pool, "threading_layer", None)
    return bool(pool.user_api == "blas" and layer != "openmp")


@contextmanager
def _shared_held_to(n_threads: int) -> Iterator[None]:
    pools = [pool for pool in _pools().lib_controllers if _is_shared(pool)]
    with _lock:
        if not _held:
            _original[:] = [(allowed_threads(), [pool.num_threads for pool in pools])]
        _held.append(n_threads)
        _set_shared(pools)
    try:
        yield
    finally:
        with _lock:
            _held.remove(n_threads)
            _set_shared(pools)
            if not _held:
                _original.clear()


def _set_shared(pools: Sequence[Any]) -> None:
    """Set each library to the smallest active limit, at most its original one."""
    for pool, limit in zip(pools, _original[0][1], strict=True):
        # Newer versions of threadpoolctl ignore all threads but the first to set a
        # limit until that one exits. Here a lock protects the limits, and any thread
        # may be the last.
        free = getattr(pool, "clear_controlling_thread", lambda force: None)
        free(force=True)
        pool.set_num_threads(min([limit, *_held]))
        free(force=True)


@contextmanager
def _own_held_to(n_threads: int, *apis: str) -> Iterator[None]:
    pools = [
        (pool, pool.num_threads)
        for pool in _pools().lib_controllers
        if pool.user_api in apis and not _is_shared(pool)
    ]
    for pool, limit in pools:
        pool.set_num_threads(min(limit, n_threads))
    try:
        yield
    finally:
        for pool, limit in pools:
            pool.set_num_threads(limit)


def deal(
    work: Callable[[Iterable[Any]], None], items: Sequence[Any], n_threads: int
) -> None:
    """Call ``work`` in each thread, including this one, with its share of the items.

    After an error, or an interrupt, no thread begins another item.
    """
    if n_threads <= 1:
        work(_checked(items))
        return
    is_over = Event()

    def until_over(share: Iterable[Any]) -> Iterator[Any]:
        for item in share:
            if is_over.is_set():
                return
            yield item

    def work_on(share: Sequence[Any]) -> None:
        try:
            work(until_over(share))
        except BaseException:
            is_over.set()
            raise

    first, *shares = [items[i::n_threads] for i in range(n_threads)]
    # A new pool for each call, because a lasting one would not survive a fork.
    with one_blas_thread(), ThreadPoolExecutor(len(shares)) as pool:
        try:
            done = pool.map(work_on, shares)
            work(until_over(_checked(first)))
            list(done)
        except BaseException:
            is_over.set()
            raise


def _checked(items: Sequence[Any]) -> Iterator[Any]:
    """Yield the items as long as there is time."""
    for item in items:
        check()
        yield item


class Pool:
    """Threads that share work with the one that calls, for as long as the pool lives.

    Attributes
    ----------
    n_threads : int
        How many work at most, the calling one among them.
    """

    def __init__(self) -> None:
        self.n_threads = usable_threads()
        self._others = ThreadPoolExecutor(max(1, self.n_threads - 1), "pursuit")
        self._is_sharing = False

    def each(self, work: Callable[[Any], Any], items: Sequence[Any]) -> list[Any]:
        """Return ``work`` of each item.

        Work that comes to the pool again, within an item, is done in its own thread.
        """
        if len(items) == 1 or self.n_threads == 1 or self._is_sharing:
            return [work(item) for item in _checked(items)]
        results: list[Any] = [None] * len(items)
        left = enumerate(items)

        def share() -> None:
            try:
                for i, item in left:
                    check()
                    results[i] = work(item)
            except BaseException:
                deque(left, maxlen=0)  # nobody begins another item
                raise

        self._is_sharing = True
        n_others = min(self.n_threads, len(items)) - 1
        others = [self._others.submit(share) for _ in range(n_others)]
        try:
            share()
            wait(others)
        except BaseException:
            deque(left, maxlen=0)
            wait(others)
            raise
        finally:
            self._is_sharing = False
        for other in others:
            other.result()
        return results

    def split(self, work: Callable[[slice], Any], length: int, n_parts: int) -> None:
        """Do ``work`` on a number of slices that together are ``range(length)``."""
        bounds = [i * length // n_parts for i in range(n_parts + 1)]
        self.each(work, [slice(i, j) for i, j in pairwise(bounds)])

    def matmul(self, left: np.ndarray, right: np.ndarray) -> np.ndarray:
        """Return ``left @ right``, the columns dealt to the threads."""
        out = np.empty((left.shape[0], right.shape[1]))

        def work(part: slice) -> None:
            out[:, part] = left @ right[:, part]

        n_parts = 1 + left.size * right.shape[1] // 1_000_000
        self.split(work, right.shape[1], min(self.n_threads, n_parts))
        return out
