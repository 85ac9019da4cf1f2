"""A trip over partitions as tasks: visits, and tallies merged by trees.

The order in which tallies are merged depends on the number of partitions only, so that
sums are the same to the last bit wherever they are made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from uuid import uuid4

from pursuit.trips import Trip

from .tasks import merged, visited

# Trees of a trip at most. A tally that is complete is brought home, where no worker
# can lose it: what is lost with a worker is less than a tree for each of its threads.
_MOST_TREES = 32
# Tallies that one task merges.
_AT_ONCE = 4


@dataclass(frozen=True)
class TripGraph:
    """Tasks of a trip.

    Attributes
    ----------
    tasks : dict
        In the form of Dask's graphs.
    visits : str
        First part of the keys of the visits.
    trees : list of keys
        Tallies of consecutive partitions.
    """

    tasks: dict[Any, Any]
    visits: str
    trees: list[Any]

    @classmethod
    def of(cls, trip: Trip[Any], parts: Sequence[tuple[Any, ...]]) -> TripGraph:
        """Return the tasks that visit partitions, given by the keys of X, y, weights.

        Parameters
        ----------
        trip : Trip
        parts : sequence of (X, y, weight)
            Keys, or None.
        """
        # A new name each time: results of a trip before are never taken for these.
        name, token = f"pursuit-{trip.name}", uuid4().hex
        tasks: dict[Any, Any] = {f"{name}-trip-{token}": trip}
        visits = [(f"{name}-{token}", i) for i in range(len(parts))]
        for i, part in enumerate(parts):
            tasks[visits[i]] = (visited, f"{name}-trip-{token}", i, *part)
        n, n_trees = len(parts), min(len(parts), _MOST_TREES)
        bounds = [i * n // n_trees for i in range(n_trees + 1)]
        trees = [
            _tree(tasks, f"{name}-merge-{token}", start, visits[start:stop])
            for start, stop in pairwise(bounds)
        ]
        return cls(tasks, f"{name}-{token}", trees)

    def chained(self) -> Any:
        """Add the tasks that merge the trees, one after the other; return the key."""
        last = self.trees[0]
        for i, tree in enumerate(self.trees[1:]):
            key = (f"{self.visits}-chain", i)
            self.tasks[key] = (merged, [last, tree])
            last = key
        return last


def _tree(tasks: dict[Any, Any], name: str, start: int, keys: list[Any]) -> Any:
    """Add the tasks that merge some tallies; return the key of the last."""
    level = 0
    while len(keys) > 1:
        few = [keys[i : i + _AT_ONCE] for i in range(0, len(keys), _AT_ONCE)]
        keys = [(name, start, level, i) for i in range(len(few))]
        tasks |= {key: (merged, some) for key, some in zip(keys, few, strict=True)}
        level += 1
    return keys[0]
