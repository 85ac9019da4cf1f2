"""Rows that a function gives."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

from .arrays import ArrayRows
from .blocks import Block, Rows, RowsError

__all__ = ["CalledRows"]


class CalledRows(Rows):
    """Rows that a function gives, block by block.

    Parameters
    ----------
    function : callable
        Called without arguments once for each trip over the rows. It returns an
        iterator, or is a generator function, of blocks: ``X``, ``(X, y)``,
        ``(X, y, weight)`` or `Block`. They must be the same each time. X is what
        `ArrayRows` takes, and fits into memory.
    feature_names : sequence of str, optional
        Names of the columns of X.

    Examples
    --------
    >>> import numpy as np
    >>> from pursuit.batches import CalledRows
    >>> def days():
    ...     for day in range(3):
    ...         X = np.random.default_rng(day).normal(size=(100, 2))
    ...         yield X, X.sum(axis=1)
    >>> [len(block) for block in CalledRows(days).blocks()]
    [100, 100, 100]
    """

    def __init__(
        self,
        function: Callable[[], Iterable[Any]],
        *,
        feature_names: Sequence[str] | None = None,
    ) -> None:
        if not callable(function):
            raise TypeError(
                f"function={function!r} is not callable: pass a function that returns "
                "a new iterator at each call."
            )
        self.function = function
        self.feature_names = None if feature_names is None else tuple(feature_names)

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the same blocks in the same order at each call.

        Parameters
        ----------
        start : int, default=0
            Blocks to skip; the function makes them all the same.
        """
        return islice(self._checked(is_raw=False), start, None)

    def raw_blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the blocks as `blocks` does, but with missing features, as NaN.

        Parameters
        ----------
        start : int, default=0
            Blocks to skip.
        """
        return islice(self._checked(is_raw=True), start, None)

    def _checked(self, is_raw: bool) -> Iterator[Block]:
        first: Block | None = None
        names: tuple[str, ...] | None = None
        for number, item in self._items():
            X, y, weight, where = _parts(item, f"block {number}")
            if len(getattr(X, "shape", ())) == 2 and X.shape[0] == 0:
                continue
            block, columns = _block(X, y, weight, where, is_raw)
            if first is None:
                first, names = block, columns
                self._check_names(block)
            _check_like(first, block)
            if columns != names:
                raise RowsError(
                    f"{where} has the columns {columns}, but {first.where} has {names}."
                )
            yield block
        if first is None:
            raise RowsError("The function gave no rows.")

    def _check_names(self, block: Block) -> None:
        names = self.feature_names
        if names is not None and len(names) != block.X.shape[1]:
            raise RowsError(
                f"{block.where} has {block.X.shape[1]} columns, but there are "
                f"{len(names)} feature_names."
            )

    def _items(self) -> Iterator[tuple[int, Any]]:
        number = 1
        try:
            for item in self.function():
                yield number, item
                number += 1
        except (MemoryError, RowsError):
            raise
        except Exception as error:
            name = getattr(self.function, "__name__", type(self.function).__name__)
            raise RowsError(
                f"block {number}: {name} raised {type(error).__name__}: {error}"
            ) from error


def _block(
    X: Any, y: Any, weight: Any, where: str, is_raw: bool
) -> tuple[Block, tuple[str, ...] | None]:
    """Return a block of what the function gave, and the names of a frame's columns."""
    try:
        rows = ArrayRows(X, y, weight, rows_at_once=max(_n_rows(X), 1))
        block = next(rows.raw_blocks() if is_raw else rows.blocks())
    except (TypeError, ValueError) as error:
        raise RowsError(f"{where}: {error}") from error
    return replace(block, where=where), rows.feature_names


def _n_rows(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _parts(item: Any, place: str) -> tuple[Any, Any, Any, str]:
    if isinstance(item, Block):
        where = place if item.where == "rows" else f"{place}, {item.where}"
        return item.X, item.y, item.weight, where
    if not isinstance(item, tuple):
        return item, None, None, place
    if 1 <= len(item) <= 3:
        X, y, weight = (*item, None, None)[:3]
        return X, y, weight, place
    raise RowsError(
        f"{place}: the function gave a tuple of {len(item)} parts: (X, y) or "
        "(X, y, weight) is required."
    )


def _check_like(first: Block, block: Block) -> None:
    """Raise a `RowsError` unless a block is like the first one."""
    if block.X.shape[1] != first.X.shape[1]:
        raise RowsError(
            f"{block.where} has {block.X.shape[1]} columns, but {first.where} has "
            f"{first.X.shape[1]}."
        )
    for name in ("y", "weight"):
        one, other = getattr(first, name), getattr(block, name)
        if (one is None) != (other is None):
            has = "no" if other is None else "a"
            raise RowsError(f"{block.where} has {has} {name}, unlike {first.where}.")
        if one is not None and one.shape[1:] != other.shape[1:]:
            raise RowsError(
                f"{block.where} has a {name} of shape {other.shape}, but {first.where} "
                f"one of {one.shape}."
            )
