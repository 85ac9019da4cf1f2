"""Folds that depend on the contents of the rows only."""

from __future__ import annotations

from typing import Any

import numpy as np

from pursuit._rows import row_digests

# Maximum number of different rows per fold for inputs that are a few categories.
FEW_SETS = 10


def make_folds(
    X: Any, y: np.ndarray, weight: np.ndarray, n_folds: int, seed: int, is_class: bool
) -> list[np.ndarray]:
    """Return the held-out rows of each fold, as boolean masks.

    A row's fold depends on its content, not on its position. Equal rows share a fold
    (otherwise the model would be tested on points it was fitted to), and neither the
    order of the rows nor repeating a row instead of giving it weight two changes
    anything. Folds are balanced in ``y``.

    Parameters
    ----------
    X : array or CSR, or None if rows differ by their index only
    y : ndarray of shape (l,)
        Class codes or target values.
    weight : ndarray of shape (l,)
        Rows of weight 0 belong to no fold.
    n_folds : int
        Maximum number of folds; there are fewer if there are fewer distinct rows.
    seed : int
    is_class : bool
    """
    used, group, level = _groups(X, y, weight, seed, is_class)
    n_folds = min(n_folds, len(level))
    if is_class:
        place, _, start = _places(level)
        fold_of_group = _parts(start, n_folds)[start + place]
    else:
        fold_of_group = np.empty(len(level), dtype=np.int64)
        order = np.argsort(level, kind="stable")
        fold_of_group[order] = _shuffled_rounds(len(level), n_folds, seed)
    fold = np.full(len(weight), -1)
    fold[used] = fold_of_group[group]
    return [fold == f for f in range(n_folds)]


def deal_repeated(
    X: Any, y: np.ndarray, weight: np.ndarray, n_folds: int, seed: int, is_class: bool
) -> list[np.ndarray] | None:
    """Return folds for data that are a few different rows, each repeated many times.

    If the inputs are a few categories, new data will contain the same rows again, and
    holding out all copies of one would test something else. So the copies of a row (a
    row of weight 3 is three copies) are distributed over the folds; each fold is
    returned as the share of each row's weight that it holds out. ``None`` for all other
    data, where copies are likely artificial and stay together (:func:`make_folds`).
    """
    used = np.flatnonzero(weight > 0)
    digests = row_digests(X, used, seed)
    n_sets = len(np.unique(digests))
    total = weight[used].sum()
    if X is None or n_sets > FEW_SETS * n_folds or total < n_folds * n_sets:
        return None
    _, of_set = np.unique(digests, return_inverse=True)
    if is_class:
        level = _class_order(of_set, y[used].astype(np.int64), weight[used])
    else:
        level = _ranks(of_set, y[used])
    # Use the leading half of the digests, which is robust to rounding.
    contents, content = np.unique(
        np.stack([digests >> np.uint64(32), level]), axis=1, return_inverse=True
    )
    content = content.ravel()
    copies = np.bincount(content, weights=weight[used])
    shares = np.array(
        [
            _dealt(n, n_folds, np.random.default_rng([seed, *map(int, key)])) / n
            for n, key in zip(copies, contents.T, strict=True)
        ]
    )
    folds = [np.zeros(len(weight)) for _ in range(n_folds)]
    for fold, share in zip(folds, shares.T, strict=True):
        fold[used] = share[content]
    return [fold for fold in folds if fold.any()]


def _class_order(sets: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the place of each row's class, which does not depend on its name.

    Classes are ordered by their weights in the first set, then in the second …
    """
    table = np.zeros((sets.max() + 1, codes.max() + 1))
    np.add.at(table, (sets, codes), weight)
    place = np.empty(len(table.T), dtype=np.uint64)
    place[np.lexsort(-table[::-1])] = np.arange(len(place))
    return place[codes]


def _ranks(sets: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the rank of each row's target among the different ones of its set."""
    order = np.lexsort((y, sets))
    is_other = np.diff(sets[order], prepend=-1) > 0
    is_larger = np.diff(y[order], prepend=np.nan) > 0
    count = np.cumsum(is_other | is_larger)
    # Count from the first row of each set.
    first = np.maximum.accumulate(np.where(is_other, count, 0))
    ranks = np.empty(len(y), dtype=np.uint64)
    ranks[order] = count - first
    return ranks


def _dealt(n: float, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return how many of ``n`` copies (possibly fractional) go to each fold."""
    whole = int(n)
    counts = rng.multinomial(whole, np.full(n_folds, 1.0 / n_folds)).astype(float)
    counts[rng.integers(n_folds)] += n - whole
    return counts


def hold_out(
    X: Any, y: np.ndarray, weight: np.ndarray, share: float, seed: int, is_class: bool
) -> np.ndarray | None:
    """Return a mask of about a share of the rows to hold out; see :func:`make_folds`.

    Every class, and every range of targets, is represented. ``None`` if there is only
    one distinct row.
    """
    used, group, level = _groups(X, y, weight, seed, is_class)
    n = len(level)
    if n < 2:
        return None
    n_held = min(max(1, round(share * n)), n - 1)
    first = np.random.default_rng(seed).random()
    if is_class:
        place, size, start = _places(level)
        before, after = start * n_held / n + first, (start + size) * n_held / n + first
        is_held_group = place < np.floor(after) - np.floor(before)
    else:
        # Take rows at equal distances in the order of their targets.
        order = np.argsort(level, kind="stable")
        is_held_group = np.zeros(n, dtype=bool)
        places = ((np.arange(n_held) + first) * n / n_held).astype(int)
        is_held_group[order[places]] = True
    is_held = np.zeros(len(weight), dtype=bool)
    is_held[used] = is_held_group[group]
    return is_held


def enough_folds(
    folds: list[np.ndarray], sets: np.ndarray, enough: int
) -> list[np.ndarray]:
    """Return as many of the first folds as hold out enough different rows.

    ``sets`` is the set of equal rows that each row belongs to, -1 for none.
    """
    n_held_out = [len(np.unique(sets[(fold > 0) & (sets >= 0)])) for fold in folds]
    n_before = np.cumsum([0, *n_held_out])[:-1]
    return [f for f, n in zip(folds, n_before, strict=True) if n < enough]


def _groups(
    X: Any, y: np.ndarray, weight: np.ndarray, seed: int, is_class: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows in use, their sets of equal rows, and class or target of each.

    Sets are in the (pseudo-random) order of their digests.
    """
    used = np.flatnonzero(weight > 0)
    digests = row_digests(X, used, seed)
    _, first, group = np.unique(digests, return_index=True, return_inverse=True)
    if is_class:
        level = np.full(len(first), np.inf)
        np.minimum.at(level, group, y[used])
        return used, group, level
    total = np.bincount(group, weights=weight[used])
    return used, group, np.bincount(group, weights=weight[used] * y[used]) / total


def _places(level: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return each set's index in its class, the class's size, and where it starts.

    Classes are in the order of their first sets, so that labels do not matter.
    """
    _, first, code, counts = np.unique(
        level, return_index=True, return_inverse=True, return_counts=True
    )
    by_class = np.argsort(code, kind="stable")
    place = np.empty(len(level), dtype=np.int64)
    place[by_class] = np.arange(len(level)) - np.repeat(
        np.cumsum(counts) - counts, counts
    )
    order = np.argsort(first)
    start = np.empty(len(counts), dtype=np.int64)
    start[order] = np.cumsum(counts[order]) - counts[order]
    return place, counts[code], start[code]


def _parts(start: np.ndarray, n_folds: int) -> np.ndarray:
    """Return the folds of sets sorted by class, which begin at ``start``.

    Each fold gets as many of each class as by dealing in turn, but contiguous ones, so
    that one more set moves few others.
    """
    turn = np.arange(len(start)) % n_folds
    return turn[np.lexsort((turn, np.sort(start)))]


def _shuffled_rounds(n: int, n_folds: int, seed: int) -> np.ndarray:
    """Return 0 ... n_folds - 1 repeatedly, each time in another random order."""
    rng = np.random.default_rng(seed)
    rounds = rng.random((-(-n // n_folds), n_folds)).argsort(axis=1)
    return rounds.ravel()[:n]
