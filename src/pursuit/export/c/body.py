"""What a writer of C hands to the header: code, tables, and what they cost."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

from .preparing import Operations

__all__ = ["STACK_BASE", "Body"]

# Bytes of stack for saved registers, counters and return addresses of the calls.
STACK_BASE = 120


@dataclass(frozen=True)
class Body:
    """The functions of a model in C, without the header around them.

    Attributes
    ----------
    element : str
        Type of a number of a row and of a value, such as "float".
    includes : tuple of str
        Headers of C.
    macros : tuple of (str, str)
        Names without the prefix, and their values.
    notes : tuple of str
        Lines for the comment at the top.
    columns : tuple of str
        What the comment says of each column of a row; empty for nothing.
    tables : str
        Constant arrays.
    code : str
        Functions.
    table_bytes : int
        Bytes of all constant arrays, those inside functions included.
    parts : Counter
        How often the code has each of its parts.
    stack_bytes : int
        Estimate for the deepest call.
    operations : Operations
        Work for one row.
    """

    element: str
    includes: tuple[str, ...]
    macros: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]
    columns: tuple[str, ...]
    tables: str
    code: str
    table_bytes: int
    parts: Counter[str]
    stack_bytes: int
    operations: Operations = field(default_factory=Operations)
