"""Rows that the memory does not hold: read again, block by block, whenever needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from pursuit.tables import Field, Notation, Reader, Rows, Source

__all__ = ["Rest"]


@dataclass(frozen=True, eq=False)
class Rest:
    """The rows of a table that were not drawn.

    Those with the smallest digests were, so that a row tells whether it was.

    Attributes
    ----------
    source : Source
    fields : tuple of Field
        Columns that are read.
    target : str
        Rows without this one do not count.
    notation : Notation
    seed : int
        Seed of the digests.
    """

    source: Source
    fields: tuple[Field, ...]
    target: str
    notation: Notation
    seed: int

    def blocks(self, drawn: Rows) -> Iterator[Rows]:
        """Yield the rows that are not among those drawn, in the order of the file."""
        names = [field.name for field in self.fields]
        digests = drawn.digests(names, self.seed)
        largest = digests.max()
        # Of rows that equal the last one drawn, some may have been drawn, too.
        n_equal = int((digests == largest).sum())
        reader = Reader(self.source.path, self.fields, self.notation)
        for block in self.source.blocks(names):
            rows = reader(block)
            rows = rows[rows.is_known(self.target)]
            digests = rows.digests(names, self.seed)
            is_rest, equal = digests > largest, np.flatnonzero(digests == largest)
            is_rest[equal[n_equal:]] = True
            n_equal -= min(n_equal, len(equal))
            if is_rest.any():
                yield rows[is_rest]
