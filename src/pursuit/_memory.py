"""How much memory a fit may use, and what its parts need."""

from __future__ import annotations

import os
import re
from typing import Any

_UNITS = {"": 1, "k": 10, "m": 20, "g": 30, "t": 40}


def budget(max_memory: Any) -> int:
    """Return the bytes that a fit may use.

    Parameters
    ----------
    max_memory : None, number of bytes, or text such as "1 GiB"
        ``None`` is half of the memory that is free now (1 GiB where the machine
        does not tell).
    """
    if max_memory is None:
        return _half_of_free()
    is_number = isinstance(max_memory, (int, float)) and max_memory is not True
    if isinstance(max_memory, str):
        found = re.fullmatch(r"\s*([\d.]+)\s*([kmgt]?)i?b?\s*", max_memory.lower())
        try:
            if found:
                shift = _UNITS[found[2]] if found[2] else 0
                return int(float(found[1]) * (1 << shift))
        except ValueError:
            pass
    elif is_number and max_memory > 0:
        return int(min(max_memory, 1 << 62))
    raise ValueError(
        f"max_memory={max_memory!r} is not an amount of memory: give a positive "
        "number of bytes, a text such as '1 GiB', or None."
    )


def _half_of_free() -> int:
    try:
        free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 30
    return max(int(free) // 2, 1 << 28)
