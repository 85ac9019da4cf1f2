"""Errors that a user of the command line can put right."""

from __future__ import annotations

__all__ = ["CommandError", "TableError", "UsageError"]


class CommandError(Exception):
    """A problem that the user can fix; shown as one line, without a traceback."""


class UsageError(CommandError):
    """Arguments that the command cannot work with."""


class TableError(CommandError):
    """A file that is not the table it should be; says where, and what to do."""
