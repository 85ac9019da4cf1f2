"""How loops are compiled, and one line that says so when it takes a moment."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

__all__ = ["REORDER", "compiled"]

# Reordering sums lets LLVM use vector registers; NaN and infinity are preserved.
REORDER = {"reassoc", "contract", "nsz"}

# What saves some of the compilation: no checks of divisors, no entry for C.
_LEAN = {"error_model": "numpy", "no_cfunc_wrapper": True}

# Seconds of compilation after which the user is told why the call takes so long.
_LONG = 1.0

_NOTICE = (
    "pursuit compiles its loops: first calls take some seconds longer. Later ones find "
    "them in numba's cache."
)


def compiled(function: Callable | None = None, **options: Any) -> Any:
    """Compile a loop on its first call; later processes find it in numba's cache.

    A loop costs 0.1 to 0.5 s of compilation for each combination of its arguments'
    types (float32 or float64, contiguous or not, read-only or not). Scalar loops
    compile fast; array expressions, assignments of arrays to slices, and NumPy's
    functions take long. Divisors must not be zero: that is not looked for.

    Parameters
    ----------
    function : callable
    **options
        Options of :func:`numba.njit`, such as ``fastmath=REORDER``.
    """
    how = {"cache": True, "nogil": True, **_LEAN, **options}
    decorate = njit(**how)
    return decorate if function is None else decorate(function)


class _Notice(event.Listener):
    """Logs one line in a process once loops of this package have taken long.

    Numba announces a compilation only for a function that its cache does not have.
    """

    def __init__(self) -> None:
        self._depth, self._start, self._total = 0, 0.0, 0.0
        self._is_ours = self._is_told = False

    def on_start(self, started: Any) -> None:
        """Start the clock, or tell the user."""
        if self._depth == 0:
            self._start = time.perf_counter()
            module = started.data["dispatcher"].py_func.__module__
            self._is_ours = (module or "").startswith("pursuit.")
            if self._is_ours and self._total > _LONG and not self._is_told:
                self._is_told = True
                logging.getLogger("pursuit").warning(_NOTICE)
        self._depth += 1

    def on_end(self, ended: Any) -> None:
        """Stop the clock."""
        self._depth -= 1
        if self._depth == 0 and self._is_ours:
            self._total += time.perf_counter() - self._start


event.register("numba:compile", _Notice())
