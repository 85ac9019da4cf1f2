"""Equal rows: which they are, whether they are categories, what is left out together.

Rows are told apart by their contents, whatever their order and number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from numba.extending import register_jitable

from ._deadline import check

# Number of rows converted to bytes at a time.
_AT_ONCE = 256

# What the generator SplitMix64 adds to its state, to number the draws from one digest.
STRIDE = np.uint64(0x9E3779B97F4A7C15)

# Share of the weight in rows of equal features but different targets from which on
# features are categories.
_MIXED = 0.2

# Precision of rounded values: at least the range of the column over this power of two.
_BITS = 14


def distinct_rows(X: Any, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the first row of each set of equal rows, and the set of every row.

    Rows of weight 0 are ignored: they belong to set -1. Equal rows make equal atoms,
    and with a ridge a pursuit would choose several of these to share a coefficient.
    """
    used = np.flatnonzero(weight > 0)
    if X is None:
        first, group = np.arange(len(used)), np.arange(len(used))
    else:
        _, first, group = np.unique(
            exact_digests(X, used), return_index=True, return_inverse=True
        )
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    set_of_row = np.full(len(weight), -1)
    set_of_row[used] = rank[group]
    return used[first[order]], set_of_row


def are_categories(
    sets: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> tuple[bool, bool]:
    """Return whether the features are categories, and whether the targets are too.

    Rows of equal features, targets and all, may be one row that was repeated. But if
    many of them differ in their targets, the features are categories, which new data
    will have again: such rows may be held out one by one. If the targets are categories
    too (classes, counts), even rows that are equal in both may.

    Parameters
    ----------
    sets : ndarray of int of shape (n,)
        Set of equal rows to which each row belongs.
    y : ndarray of shape (n,)
        Class codes or target values.
    weight : ndarray of shape (n,)
        Positive weights.
    """
    targets, target = np.unique(y, return_inverse=True)
    pairs = np.unique(sets * len(targets) + target)
    is_mixed = (np.bincount(pairs // len(targets)) > 1)[sets]
    is_much = weight[is_mixed].sum() >= _MIXED * weight.sum()
    # A single set cannot be told from others.
    features_are = bool(is_much and sets.max() > 0)
    return features_are, features_are and 2 * len(targets) <= len(pairs)


def left_out_together(
    sets: np.ndarray, y: np.ndarray, weight: np.ndarray
) -> np.ndarray | None:
    """Return the set of rows with which each row is left out.

    These are the equal rows or, if the features are categories, the rows of equal
    targets among them. None if each row is left out alone. Parameters are those of
    :func:`are_categories`.
    """
    features_are, targets_are = are_categories(sets, y, weight)
    if not features_are:
        return sets
    if targets_are:
        return None
    targets, target = np.unique(y, return_inverse=True)
    return np.unique(sets * len(targets) + target, return_inverse=True)[1]


def row_digests(X: Any, rows: np.ndarray, seed: int) -> np.ndarray:
    """Return a pseudo-random number per row that depends on its contents and a seed.

    Equal rows have equal numbers. The leading half depends on rounded values, so that
    rounding on another machine, or in another number type, changes few of them.
    Without X, rows are identified by their index.
    """
    if X is None:
        key = int(seed).to_bytes(8, "little")
        return _digests((int(i).to_bytes(8, "little") for i in rows), key)
    return completed(rough_digests(X, rows, seed, _units(X, rows)), X, rows, seed)


def rough_digests(X: Any, rows: np.ndarray, seed: int, units: np.ndarray) -> np.ndarray:
    """Return the digests of rounded rows: :func:`row_digests` has their leading half.

    ``units`` are those to which the columns are rounded, of :func:`units_of`.
    """
    return _digests(_contents(X, rows, units), int(seed).to_bytes(8, "little"))


def completed(rough: np.ndarray, X: Any, rows: np.ndarray, seed: int) -> np.ndarray:
    """Return the digests of rows, given those of the rounded rows."""
    exact = _digests(_contents(X, rows, None), int(seed).to_bytes(8, "little"))
    return joined_halves(rough, exact)


def joined_halves(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Return numbers with the leading halves of two numbers, uint64."""
    half = np.uint64(32)
    return (first >> half << half) | (second >> half)


def digests_of_sets(digests: np.ndarray, sets: np.ndarray) -> np.ndarray:
    """Return a pseudo-random number for each set of rows, by their distinct contents.

    The leading half depends on the leading halves of the digests only.

    Parameters
    ----------
    digests : ndarray of uint64 of shape (n,)
        Of each row.
    sets : ndarray of int of shape (n,)
        Number of the set of each row.
    """
    order = np.lexsort((digests, sets))
    digests, sets = digests[order], sets[order]
    is_new = np.ones(len(sets), dtype=bool)
    is_new[1:] = (digests[1:] != digests[:-1]) | (sets[1:] != sets[:-1])
    rough, exact = np.zeros((2, sets.max(initial=-1) + 1), dtype=np.uint64)
    np.add.at(rough, sets[is_new], mixed(digests[is_new] >> np.uint64(32)))
    np.add.at(exact, sets[is_new], mixed(digests[is_new]))
    return joined_halves(rough, exact)


def exact_digests(X: Any, rows: np.ndarray) -> np.ndarray:
    """Return a number for each of the rows, equal where all of their values are."""
    return _digests(_contents(X, rows, None))


def content_numbers(X: Any, units: np.ndarray) -> np.ndarray:
    """Return a pseudo-random number per row, equal for rows that round to the same.

    Quick to compute, unlike digests, and the same for dense and sparse rows: a sum over
    the entries that do not round to 0.
    """
    numbers = np.zeros(X.shape[0], dtype=np.uint64)
    if sp.issparse(X):
        X = sp.csr_array(X)
        values = np.rint(X.data / units[X.indices])
        parts = _entry_numbers(values, mixed((X.indices + 1).astype(np.uint64)))
        rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        np.add.at(numbers, rows, parts)
        return mixed(numbers)
    for j, unit in enumerate(units):
        place = mixed(np.array([j + 1], dtype=np.uint64))
        numbers += _entry_numbers(np.rint(X[:, j] / unit), place)
    return mixed(numbers)


def _entry_numbers(values: np.ndarray, place: np.ndarray) -> np.ndarray:
    parts = mixed(np.ascontiguousarray(values).view(np.uint64) ^ place)
    return np.where(values == 0, np.uint64(0), parts)


def target_numbers(Y: np.ndarray) -> np.ndarray:
    """Return a pseudo-random number per column of targets (T, n), equal for equals."""
    numbers = np.zeros(Y.shape[1], dtype=np.uint64)
    for values in Y:
        # Adding 0 makes one zero of both.
        numbers = mixed(numbers * STRIDE ^ (values + 0.0).view(np.uint64))
    return numbers


@register_jitable
def mixed(z: Any) -> Any:
    """Return pseudo-random numbers that depend on ``z`` only, uint64.

    The finalizer of SplitMix64; ``z`` is an array, or a number in compiled loops.
    """
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


def _digests(contents: Iterable[bytes], key: bytes = b"") -> np.ndarray:
    digests = [blake2b(c, digest_size=8, key=key).digest() for c in contents]
    return np.frombuffer(b"".join(digests), dtype=np.uint64)


def _units(X: Any, rows: np.ndarray) -> np.ndarray:
    """Return the unit, a power of two, to which each column is rounded."""
    low, high = np.full((2, X.shape[1]), np.inf) * [[1.0], [-1.0]]
    for start in range(0, len(rows), _AT_ONCE):
        block = X[rows[start : start + _AT_ONCE]]
        low, high = (
            np.minimum(low, _flat(block.min(0))),
            np.maximum(high, _flat(block.max(0))),
        )
    return units_of(low, high)


def units_of(low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return the unit, a power of two, to which columns of these ranges are rounded."""
    # Halve first: the range may overflow.
    _, exponent = np.frexp(0.5 * high - 0.5 * low)
    return np.ldexp(1.0, np.maximum(exponent + 1 - _BITS, -1000))


def _flat(row: Any) -> np.ndarray:
    return np.ravel(row.toarray() if sp.issparse(row) else row)


def _contents(X: Any, rows: np.ndarray, units: np.ndarray | None) -> Iterator[bytes]:
    """Yield bytes for each row that are equal for equal rows, dense or sparse.

    They hold the positions and values of all non-zero entries, with values rounded to
    ``units`` if given.
    """
    if sp.issparse(X):
        X = sp.csr_array(X, copy=True)
        X.sum_duplicates()
    for start in range(0, len(rows), _AT_ONCE):
        check()
        ends, places, values = _entries(X[rows[start : start + _AT_ONCE]])
        if units is not None:
            values = np.rint(values / units[places])
        places, zeros = places.astype(np.int64), values == 0
        n_zeros = np.concatenate([[0], np.cumsum(zeros)])[ends]
        place_bytes, value_bytes = places.tobytes(), values.tobytes()
        size = values.itemsize
        for k, (i, j) in enumerate(pairwise(ends.tolist())):
            if n_zeros[k] == n_zeros[k + 1]:
                yield place_bytes[8 * i : 8 * j] + value_bytes[size * i : size * j]
            else:
                kept = np.flatnonzero(~zeros[i:j]) + i
                yield places[kept].tobytes() + values[kept].tobytes()


def _entries(block: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the ends of rows, and the positions and values of their entries."""
    if sp.issparse(block):
        return block.indptr, block.indices, block.data
    n, d = block.shape
    return np.arange(0, n * d + 1, d), np.tile(np.arange(d), n), np.ravel(block)
