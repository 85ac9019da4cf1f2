"""What workers do: visit a partition, merge tallies, call a method of a model.

Tasks are pure: they change nothing that they are given, so that they may run again
elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any

import numpy as np
from distributed import get_worker

from pursuit._threads import NO_LIMIT, limited
from pursuit.batches import ArrayRows, Block, RowsError
from pursuit.trips import Tally, Trip

__all__ = ["Refusal", "applied", "merged", "visited"]


@dataclass(frozen=True)
class Refusal:
    """Why a partition cannot be used, in place of its tally.

    It travels as a value, not as an exception: workers then log no tracebacks of what
    is an error in the data.
    """

    message: str


def visited(
    trip: Trip[Any], number: int, X: Any, y: Any, weight: Any
) -> Tally | Refusal:
    """Return the tally of a partition."""
    tally = trip.begin()
    with _shared_processors():
        try:
            for block in _blocks(number, X, y, weight):
                trip.visit(tally, block)
        except ValueError as error:
            return Refusal(str(error))
    return tally


def merged(tallies: list[Any]) -> Tally | Refusal:
    """Return the tally of all, merged in their order."""
    refusals = [tally for tally in tallies if isinstance(tally, Refusal)]
    if refusals:
        return refusals[0]
    try:
        return reduce(lambda one, other: one.merged(other), tallies)
    except ValueError as error:
        return Refusal(str(error))


def applied(
    rows: Any, model: Any, method: str, number: int, empty: np.ndarray
) -> np.ndarray:
    """Return what a method of a model gives for the rows of a partition."""
    if not rows.shape[0]:
        return empty
    with _shared_processors():
        try:
            result = np.asarray(getattr(model, method)(rows))
        except ValueError as error:
            raise RowsError(f"partition {number}: {error}") from None
    return result.astype(empty.dtype, copy=False)


def _blocks(number: int, X: Any, y: Any, weight: Any) -> Iterator[Block]:
    """Yield the rows of a partition in blocks; errors name partition and row."""
    place = f"partition {number}"
    for name, values in (("y", y), ("sample_weight", weight)):
        if values is not None and len(values) != X.shape[0]:
            raise RowsError(
                f"{place}: X has {X.shape[0]} rows, {name} has {len(values)}: X and "
                f"{name} must be divided alike by rows."
            )
    if not X.shape[0]:
        return
    try:
        for block in ArrayRows(X, y, weight).blocks():
            yield replace(block, where=f"{place}, {block.where}")
    except ValueError as error:
        raise RowsError(f"{place}, {error}") from None


@contextmanager
def _shared_processors() -> Iterator[None]:
    """Limit BLAS to one thread where several tasks run side by side.

    A worker of one thread has the threads that its environment gives to BLAS: one, if
    a nanny started it.
    """
    try:
        n_side_by_side = get_worker().state.nthreads
    except ValueError:
        n_side_by_side = 2  # Dask's own threads
    with limited(1 if n_side_by_side > 1 else NO_LIMIT):
        yield
