"""What commands say, and where."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pursuit._progress import Progress

__all__ = [
    "bar",
    "counted",
    "lines",
    "note",
    "percent",
    "quoted",
    "size",
    "told_warnings",
]


def lines(entries: Sequence[tuple[str, str]]) -> str:
    """Return labelled lines; a label is shown once."""
    width = max(len(label) for label, _ in entries)
    shown = []
    before = None
    for label, text in entries:
        shown.append(f"{'' if label == before else label:<{width}}  {text}".rstrip())
        before = label
    return "\n".join(shown)


def note(text: str, *, quiet: bool = False) -> None:
    """Say something that is not the result."""
    if not quiet:
        print(f"pursuit: {text}", file=sys.stderr, flush=True)


@contextmanager
def bar(
    total: int | None, label: str, *, quiet: bool, unit: str
) -> Iterator[Callable[[int], None]]:
    """Show a progress bar if somebody watches; yield what moves it on by a number."""
    done = 0
    with Progress(total, label, is_watched(quiet), unit) as progress:

        def advance(n: int) -> None:
            nonlocal done
            done += n
            progress.show(done)

        yield advance


def is_watched(quiet: bool) -> bool:
    """Return whether somebody sees the standard error as it is written."""
    return sys.stderr.isatty() and not quiet


@contextmanager
def told_warnings(*, quiet: bool) -> Iterator[None]:
    """Turn warnings into notes of one line, each once."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        # The preparation knows names, and gets arrays.
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        yield  # what warned before an error is its own affair
        for text in dict.fromkeys(str(w.message) for w in caught):
            note(one_line(text), quiet=quiet)


def one_line(text: object) -> str:
    """Return a message without line breaks."""
    return " ".join(str(text).split())


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{n} {noun}" if n == 1 else f"{n} {plural or noun + 's'}"


def quoted(names: Sequence[object]) -> str:
    """Return names in quotation marks."""
    return ", ".join(repr(str(name)) for name in names)


def percent(share: float) -> str:
    """Return a share in percent, with three digits."""
    return f"{100 * share:.3g} %"


def size(n_bytes: int) -> str:
    """Return a number of bytes."""
    return f"{n_bytes} bytes" if n_bytes < 10_000 else f"{n_bytes / 1000:.0f} kB"
