"""Peak memory of a function that runs in a process of its own."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from joblib.externals.loky import ProcessPoolExecutor

STATUS = Path("/proc/self/status")


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a module-level function returns in a new process.

    The process is started and not forked: it holds nothing of this one. It may be
    started from a worker of joblib, from which `multiprocessing` starts none.
    """
    with ProcessPoolExecutor(1) as pool:
        return pool.submit(function, *arguments).result()


def peak() -> int | None:
    """Return the maximum bytes that this process has held, None if unknown."""
    if STATUS.is_file():
        # Not from getrusage: a new process begins with the maximum of its parent there.
        lines = STATUS.read_text(encoding="ascii").splitlines()
        found = [line.split()[1] for line in lines if line.startswith("VmHWM:")]
        return 1024 * int(found[0]) if found else None
    try:
        import resource
    except ImportError:
        return None
    unit = 1 if sys.platform == "darwin" else 1024
    return unit * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
