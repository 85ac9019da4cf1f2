"""Trips over rows: what is done with each block, and how blocks are visited.

What a trip brings back is a *tally*. Tallies of different blocks are merged in any
order, so that blocks may be visited one after the other or on many machines.
"""

from __future__ import annotations

import signal
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import scipy.sparse as sp

from pursuit._progress import Progress
from pursuit.batches import Block, Rows

from .blocks import stacked
from .checkpoint import Checkpoint, CheckpointError

# Blocks with fewer rows than this are joined before they are visited.
_LEAST_ROWS = 4096


class Tally(ABC):
    """What a trip has found on the rows so far.

    Attributes
    ----------
    n_rows : int
        Number of rows visited, of any weight.
    """

    n_rows: int

    @abstractmethod
    def merged(self, other: Self) -> Self:
        """Return what was found on the rows of both; neither changes."""


T = TypeVar("T", bound=Tally)


class Trip(ABC, Generic[T]):
    """What is done with each block of rows. Trips can be pickled.

    Attributes
    ----------
    name : str
        What the progress bar, and a cluster's dashboard, call it.
    """

    name: ClassVar[str]

    @abstractmethod
    def begin(self) -> T:
        """Return the tally of no rows."""

    @abstractmethod
    def visit(self, tally: T, block: Block) -> None:
        """Add a block to a tally; an invalid block raises and changes nothing."""


class Visits(ABC):
    """Rows that can be visited again and again, wherever they are.

    A subclass needs `total`: ``trip.visit(tally, block)`` for each block, on tallies
    that begin as ``trip.begin()``, and ``tally.merged(other)`` until one is left.

    Attributes
    ----------
    feature_names : tuple of str, or None
        Names of the columns of X.
    """

    feature_names: tuple[str, ...] | None = None

    @abstractmethod
    def total(self, trip: Trip[T]) -> T:
        """Return what a trip over all rows brings back."""


class LocalVisits(Visits):
    """Visits to the blocks of a source, one after the other.

    Parameters
    ----------
    rows : Rows
    verbose : int or bool
        Whether to show progress bars.
    checkpoint : Checkpoint, optional
        Where tallies are kept, so that a killed run can go on.
    """

    def __init__(
        self,
        rows: Rows,
        verbose: int | bool = 0,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        self._rows, self._verbose, self._checkpoint = rows, verbose, checkpoint
        self.feature_names = rows.feature_names
        self._n_rows = rows.n_rows
        self._n_trips = 0

    def total(self, trip: Trip[T]) -> T:
        """Return what a trip over all rows brings back."""
        self._n_trips += 1
        key = f"{self._n_trips} {trip.name}"
        tally, n_blocks, is_complete = trip.begin(), 0, False
        if self._checkpoint is not None:
            tally, n_blocks, is_complete = self._checkpoint.resumed(key, tally)
        if not is_complete:
            n_blocks = self._go(trip, key, tally, n_blocks)
            if self._checkpoint is not None:
                self._checkpoint.save(key, tally, n_blocks, is_complete=True)
        self._n_rows = tally.n_rows
        return tally

    def _go(self, trip: Trip[T], key: str, tally: T, n_blocks: int) -> int:
        """Visit all blocks but the first ones; return how many there are."""
        kept = self._checkpoint
        bar = Progress(self._n_rows, trip.name, self._verbose, unit="row")
        is_whole = True
        with bar as progress, held_interrupts() as is_interrupted:
            progress.show(tally.n_rows)
            try:
                for n_joined, block in joined(self._rows.blocks(n_blocks)):
                    is_whole = False
                    trip.visit(tally, block)
                    is_whole, n_blocks = True, n_blocks + n_joined
                    progress.show(tally.n_rows)
                    if is_interrupted():
                        raise KeyboardInterrupt
                    if kept is not None and kept.is_due:
                        kept.save(key, tally, n_blocks)
            except (Exception, KeyboardInterrupt) as error:
                # What a visit left half done is not worth keeping.
                can_keep = is_whole and not isinstance(error, CheckpointError)
                if kept is not None and can_keep:
                    kept.save(key, tally, n_blocks)
                error.add_note(self._advice(trip, n_blocks))
                raise
        return n_blocks

    def _advice(self, trip: Trip[T], n_blocks: int) -> str:
        """Return where a trip has ended too early, and what to do."""
        if self._checkpoint is None:
            advice = (
                "Nothing of the fit is kept: with checkpoint='fit.npz', another call "
                "would go on from here."
            )
        else:
            advice = f"The same call goes on from {self._checkpoint}."
        return (
            f"This was on the trip {trip.name!r} over the rows, after {n_blocks} "
            f"blocks. {advice}"
        )


@contextmanager
def held_interrupts() -> Iterator[Any]:
    """Hold Ctrl-C back, and yield a function that tells whether it was pressed.

    A block is visited as a whole: half of one would spoil the tally. Pressed a second
    time, it interrupts at once.
    """
    pressed: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.getsignal(signal.SIGINT)
    if not callable(before):
        yield lambda: False
        return

    def hold(number: int, frame: Any) -> None:
        pressed.append(number)
        if len(pressed) > 1:
            before(number, frame)

    signal.signal(signal.SIGINT, hold)
    try:
        yield lambda: bool(pressed)
    finally:
        signal.signal(signal.SIGINT, before)
    if pressed:
        raise KeyboardInterrupt


def joined(blocks: Iterator[Block]) -> Iterator[tuple[int, Block]]:
    """Yield blocks of enough rows, and how many blocks each was made of."""
    small: list[Block] = []
    for block in blocks:
        small.append(block)
        if sum(map(len, small)) >= _LEAST_ROWS:
            yield len(small), _one(small)
            small = []
    if small:
        yield len(small), _one(small)


def _one(blocks: list[Block]) -> Block:
    """Return several blocks as one; those that do not fit each other stay apart."""
    first = blocks[0]
    if len(blocks) == 1:
        return first
    if len({_kind(block) for block in blocks}) > 1:
        odd = next(b for b in blocks if _kind(b) != _kind(first))
        raise ValueError(
            f"{odd.where}: this block has {_described(odd)}, but {first.where} has "
            f"{_described(first)}: all blocks must have the same columns."
        )
    return Block(
        stacked([block.X for block in blocks]),
        None if first.y is None else np.concatenate([b.y for b in blocks]),
        None if first.weight is None else np.concatenate([b.weight for b in blocks]),
        f"{first.where} to {blocks[-1].where}",
    )


def _kind(block: Block) -> tuple[Any, ...]:
    y = None if block.y is None else block.y.shape[1:]
    return block.X.shape[1:], sp.issparse(block.X), y, block.weight is None


def _described(block: Block) -> str:
    targets = "no targets" if block.y is None else f"y of shape {block.y.shape}"
    weights = "no weights" if block.weight is None else "weights"
    return f"X of shape {block.X.shape}, {targets} and {weights}"
