"""Rows told apart by their contents, wherever they stand and however often."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
import scipy.sparse as sp

# Rows that are turned into bytes at a time.
_AT_ONCE = 256


def distinct_rows(X: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each set of equal rows, and the set of every row.

    Rows of weight 0 are as if absent: they belong to set -1.  Equal rows make equal
    atoms, of which a ridge would otherwise choose several to share a coefficient.
    """
    used = np.flatnonzero(weight > 0)
    if X is None:
        first, group = np.arange(len(used)), np.arange(len(used))
    else:
        _, first, group = np.unique(
            row_digests(X, used, 0), return_index=True, return_inverse=True
        )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    set_of_row = np.full(len(weight), -1)
    set_of_row[used] = rank[group]
    return used[first[order]], set_of_row


def _row_bytes(X: np.ndarray, rows: np.ndarray) -> Iterator[bytes]:
    for start in range(0, len(rows), _AT_ONCE):
        # Adding zero makes -0.0 the same bytes as 0.0.
        block = X[rows[start : start + _AT_ONCE]] + 0.0
        contents, width = block.tobytes(), block.itemsize * block.shape[1]
        for i in range(len(block)):
            yield contents[i * width : (i + 1) * width]


def row_digests(X: Any, rows: np.ndarray, seed: int) -> np.ndarray:
    """Return a number for each of the rows that follows from its contents and a seed.

    Equal rows have equal numbers; otherwise they are as good as random.  Without X,
    rows are told apart by their index.
    """
    key = int(seed).to_bytes(8, "little")
    contents: Iterable[bytes]
    if X is None:
        contents = [int(i).to_bytes(8, "little") for i in rows]
    elif sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
        X.eliminate_zeros()
        ends = X.indptr
        contents = [
            X.indices[ends[i] : ends[i + 1]].tobytes()
            + X.data[ends[i] : ends[i + 1]].tobytes()
            for i in rows
        ]
    else:
        contents = _row_bytes(X, rows)
    digests = [blake2b(c, digest_size=8, key=key).digest() for c in contents]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)
