"""Files that are written whole, or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

__all__ = ["whole_file", "write_whole"]


def write_whole(path: str | os.PathLike[str], content: bytes | memoryview) -> None:
    """Write a file at once: after a crash there is the old file, or the new one.

    A file that is replaced keeps its permissions.
    """
    with whole_file(path) as file:
        file.write(content)


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a file that takes its place when all of it is written.

    A file that is replaced keeps its permissions. Errors name the file that was asked
    for, not the one beside it that is written.
    """
    target = Path(path).expanduser()
    if target.is_dir():
        raise IsADirectoryError(f"{target} is a folder: give the path of a file in it.")
    # A link stays a link: what it points to is replaced.
    target = Path(os.path.realpath(target))
    if target.exists() and not target.is_file():  # such as /dev/null, or a pipe
        with open(target, "wb") as file:
            yield file
        return
    if not target.parent.is_dir():
        raise FileNotFoundError(
            f"There is no folder {target.parent} for the file {target.name}: make it "
            "first."
        )
    beside = target.with_name(f".{target.name[:50]}.{secrets.token_hex(4)}.tmp")
    try:
        file = open(beside, "xb")  # noqa: SIM115  (its errors are another file's)
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            beside.chmod(target.stat().st_mode & 0o777)
        os.replace(beside, target)
    except BaseException as error:
        beside.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename == str(beside):
            raise type(error)(error.errno, error.strerror, str(path)) from None
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, where the system can."""
    if not hasattr(os, "O_DIRECTORY"):
        return
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass  # Some network folders cannot.
    finally:
        os.close(descriptor)
