"""Errors that a user of the command line can put right, and names in them."""

from __future__ import annotations

__all__ = ["CommandError", "TableError", "UsageError", "shown"]

# Letters of a cell or a name in a message.
SHOWN = 40


class CommandError(Exception):
    """A problem that the user can fix; shown as one line, without a traceback."""


class UsageError(CommandError):
    """Arguments that the command cannot work with."""


class TableError(CommandError):
    """A file that is not the table it should be; says where, and what to do."""


def shown(text: str) -> str:
    """Return a cell or a name in quotation marks, in one line, shortened if long."""
    line = " ".join(text.split())
    return repr(line if len(line) <= SHOWN else line[: SHOWN - 3] + "...")
