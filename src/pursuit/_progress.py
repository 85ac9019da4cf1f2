"""Progress bar for long fits: tqdm if it is installed, else a plain line."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any


class Progress:
    """Progress bar with some figures.

    Parameters
    ----------
    total : int or None
        ``None`` if unknown.
    label : str
    verbose : int or bool
        0 shows nothing.
    unit : str
        Name of the items counted.
    """

    def __init__(self, total: int | None, label: str, verbose: int | bool, unit: str):
        self._total, self._label = total, label
        self._unit = unit
        self._shown = 0
        # Where the clock starts: what was done before does not count for the rate.
        self._start: tuple[float, int] | None = None
        self._bar: Any = None
        self._plain = False
        if verbose:
            try:
                from tqdm.auto import tqdm
            except ImportError:
                self._plain = True
            else:
                self._bar = tqdm(total=total, desc=label, unit=unit)

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.close()
        elif self._plain:
            sys.stderr.write("\n")

    def show(self, done: int, **figures: float) -> None:
        """Move the bar to ``done``, and show the figures beside it."""
        if self._bar is not None:
            self._bar.update(done - self._shown)
            self._bar.set_postfix({k: f"{v:.4g}" for k, v in figures.items()})
        elif self._plain:
            text = ", ".join(f"{k} {v:.4g}" for k, v in figures.items())
            of = "" if self._total is None else f"/{self._total}"
            rate = self._rate(done)
            sys.stderr.write(f"\r{self._label}: {done}{of}{rate} {text}")
            sys.stderr.flush()
        self._shown = done

    def _rate(self, done: int) -> str:
        now = time.monotonic()
        if self._start is None:
            self._start = now, done
        seconds = now - self._start[0]
        if seconds <= 0 or done == self._start[1]:
            return ""
        return f" {self._unit}s, {(done - self._start[1]) / seconds:.3g}/s"
