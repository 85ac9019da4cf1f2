"""Which rows are held out, told by their contents.

A row is held out if its digest is at most the limit of its class. Whoever has a table
and the limits knows which rows the fit has seen, wherever they stand in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

__all__ = ["Split", "fingerprint"]

# Key of the limit for all rows, where there are no classes.
ALL = ""


@dataclass(frozen=True)
class Split:
    """Limits of the digests of rows that are held out.

    Attributes
    ----------
    seed : int
        Seed of the digests.
    limits : dict from str to int
        Largest digest that is held out, for each class; without classes, for "".
    """

    seed: int
    limits: dict[str, int]

    @classmethod
    def of(
        cls, seed: int, digests: np.ndarray, share: float, classes: np.ndarray | None
    ) -> Split:
        """Return limits that hold out a share of the rows, of each class.

        Equal digests stay together. One row at least stays.
        """
        keys = _keys(digests, classes)
        limits: dict[str, int] = {}
        for key in np.unique(keys):
            ordered = np.sort(digests[keys == key])
            n = min(round(share * len(ordered)), len(ordered) - 1)
            last = int(ordered[n - 1]) if n > 0 else -1
            # If all rows up to the largest digest would go, those that equal it stay.
            limits[str(key)] = last - 1 if last == int(ordered[-1]) else last
        return cls(seed, limits)

    def holds_out(self, digests: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
        """Return whether each row is held out; rows of unknown classes are."""
        keys = _keys(digests, classes)
        is_out = np.ones(len(digests), dtype=bool)
        for key, limit in self.limits.items():
            is_key = keys == key
            below = digests[is_key] <= np.uint64(max(limit, 0))
            is_out[is_key] = below if limit >= 0 else False
        return is_out

    @classmethod
    def of_dict(cls, told: dict[str, Any]) -> Split:
        """Return the split that JSON tells, as `dataclasses.asdict` makes it."""
        limits = {str(key): int(limit) for key, limit in told["limits"].items()}
        if any(not -2 <= limit < 2**64 for limit in limits.values()):
            raise ValueError("A limit is not a digest.")
        return cls(int(told["seed"]), limits)


def fingerprint(digests: np.ndarray) -> str:
    """Return a text that tells sets of rows apart, whatever their order."""
    return blake2b(np.sort(digests).tobytes(), digest_size=8).hexdigest()


def _keys(digests: np.ndarray, classes: np.ndarray | None) -> np.ndarray:
    if classes is None:
        return np.full(len(digests), ALL)
    return np.asarray(classes).astype(str)
