"""Rows whose features a fitted transformer makes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from joblib import hash as content_hash
from sklearn.utils.validation import check_is_fitted

from ._packages import pandas
from .blocks import Block, Rows, RowsError, Span, checked_block

__all__ = ["TransformedRows"]


class TransformedRows(Rows):
    """Rows of another source with their features transformed.

    Parameters
    ----------
    rows : Rows
        Where the rows come from.
    transformer : object
        A fitted transformer, which gives one row for each row.
    """

    def __init__(self, rows: Rows, transformer: Any) -> None:
        if not hasattr(transformer, "transform"):
            raise ValueError(
                f"transformer={transformer!r} has no method transform: pass a fitted "
                "transformer of scikit-learn, or a pipeline of transformers."
            )
        check_is_fitted(transformer)
        self.rows, self.transformer = rows, transformer
        self.feature_names = _names_out(transformer, rows.feature_names)
        self.n_rows = rows.n_rows

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the same blocks in the same order at each call.

        Parameters
        ----------
        start : int, default=0
            Blocks to skip, as the source does.
        """
        return map(self._checked, self.raw_blocks(start))

    def raw_blocks(self, start: int = 0) -> Iterator[Block]:
        """Yield the blocks as `blocks` does, but with missing features, as NaN.

        Parameters
        ----------
        start : int, default=0
            Blocks to skip, as the source does.
        """
        return map(self._transformed, self.rows.raw_blocks(start))

    def fingerprint(self) -> str:
        """Return a text that differs for other rows, or for another transformer."""
        try:
            transformer = content_hash(self.transformer)
        except Exception:  # what cannot be pickled, such as a function without a name
            transformer = repr(self.transformer)
        return self._printed((self.rows.fingerprint(), transformer))

    def _transformed(self, block: Block) -> Block:
        try:
            X = _numbers(self.transformer.transform(self._input(block.X)))
        except (MemoryError, RowsError):
            raise
        except Exception as error:
            raise RowsError(
                f"{block.where}: {type(self.transformer).__name__} cannot transform "
                f"these rows: {error}"
            ) from error
        if X.ndim != 2 or X.shape[0] != len(block):
            raise RowsError(
                f"{block.where}: {type(self.transformer).__name__} made an array of "
                f"shape {X.shape} of {len(block)} rows: a transformer must give one "
                "row for each."
            )
        return replace(block, X=X)

    def _checked(self, block: Block) -> Block:
        spans = (Span(block.where, 1, len(block)),)
        checked_block(block.X, None, None, spans, self.feature_names)
        return block

    def _input(self, X: Any) -> Any:
        """Return the features as the transformer knows them: with names, or without."""
        names = self.rows.feature_names
        if hasattr(X, "iloc") or names is None or sp.issparse(X):
            return X
        if not hasattr(self.transformer, "feature_names_in_"):
            return X
        return pandas().DataFrame(X, columns=list(names), copy=False)


def _numbers(X: Any) -> Any:
    if hasattr(X, "to_numpy"):
        return X.to_numpy(dtype=np.float64)
    if sp.issparse(X):
        return X.tocsr().astype(np.float64, copy=False)
    return np.ascontiguousarray(X, dtype=np.float64)


def _names_out(
    transformer: Any, names: tuple[str, ...] | None
) -> tuple[str, ...] | None:
    """Return the names of what the transformer makes, if it can tell them."""
    try:
        return tuple(map(str, transformer.get_feature_names_out(names)))
    except (AttributeError, TypeError, ValueError):
        return None
