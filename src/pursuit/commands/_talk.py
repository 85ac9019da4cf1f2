"""What commands say, and where."""

from __future__ import annotations

import shlex
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pursuit._progress import Progress
from pursuit._user_errors import shown

from ._translations import in_command_words

__all__ = [
    "bar",
    "counted",
    "in_shell",
    "lines",
    "note",
    "percent",
    "plain",
    "quoted",
    "size",
    "told_warnings",
    "written",
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
            note(in_command_words(text), quiet=quiet)


def counted(n: int, noun: str, plural: str | None = None) -> str:
    """Return a number with its noun."""
    return f"{n} {noun}" if n == 1 else f"{n} {plural or noun + 's'}"


def quoted(names: Sequence[object]) -> str:
    """Return names in quotation marks."""
    return ", ".join(shown(str(name)) for name in names)


def plain(name: str) -> str:
    """Return a name without quotation marks, in one line, shortened if long."""
    return shown(name)[1:-1]


def in_shell(names: Sequence[str]) -> str:
    """Return names as one types them after an option."""
    return " ".join(shlex.quote(" ".join(name.split())) for name in names)


def percent(share: float) -> str:
    """Return a share in percent, with three digits."""
    return f"{100 * share:.3g} %"


def size(n_bytes: int) -> str:
    """Return a number of bytes."""
    return f"{n_bytes} bytes" if n_bytes < 10_000 else f"{n_bytes / 1000:.0f} kB"


def written(path: Path, what: str, *, is_new: bool) -> tuple[str, str]:
    """Return a line about a file that was written, and whether it replaced one."""
    return "written", f"{path} ({what}{'' if is_new else '; replaced the old file'})"
