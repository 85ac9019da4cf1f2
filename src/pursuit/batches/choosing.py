"""From what users have to a source of rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .arrays import ArrayRows
from .blocks import Rows

__all__ = ["rows_of"]


def rows_of(
    data: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    target: str | Sequence[str] | None = None,
    features: Sequence[str] | None = None,
    weight: str | None = None,
) -> Rows:
    """Return the source that reads some data."""
    if isinstance(data, Rows):
        return data
    return ArrayRows(data, y, sample_weight)
