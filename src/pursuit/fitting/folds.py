"""Folds that depend on the contents of the rows only, and problems without them.

Equal rows stay together unless they are categories (see
:func:`pursuit._rows.are_categories`), which are dealt to the folds one by one.
Held-out rows are rows of weight zero (see :mod:`pursuit.engine.pursuit`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit._rows import STRIDE, are_categories, digests_of_sets, mixed, row_digests
from pursuit.engine.problem import Problem
from pursuit.losses import Loss


@dataclass(frozen=True, eq=False)
class Folds:
    """Parts of the rows, each held out once.

    Attributes
    ----------
    parts : sequence of ndarray of shape (l,)
        What each fold holds out: 1 (or True) on held-out rows, 0 on fitted rows, in
        between if some copies of a row are held out, and -1 on rows of neither part.
    weights : sequence of ndarray of shape (l,)
        Weights of the rows that each fold fits.
    open_atoms : sequence of ndarray of bool of shape (M,)
        Atoms that each fold may choose: those not centered on held-out rows.
    are_random : bool
        Whether the parts are random, so that some of them stand for all.
    """

    parts: Sequence[np.ndarray]
    weights: Sequence[np.ndarray]
    open_atoms: Sequence[np.ndarray]
    are_random: bool

    @classmethod
    def of(
        cls,
        parts: Sequence[np.ndarray],
        weight: np.ndarray,
        sets: np.ndarray,
        atom_sets: np.ndarray,
        are_random: bool,
    ) -> Folds:
        """Return the folds that hold out these parts of weighted rows.

        ``sets`` (l,) and ``atom_sets`` (M,) are the sets of equal rows to which rows
        belong, and on which atoms are centered, -1 for none.
        """
        weights = [np.where(p < 0, 0.0, weight * (1.0 - p)) for p in parts]
        atoms = [_open_atoms(w, sets, atom_sets) for w in weights]
        return cls(parts, weights, atoms, are_random)

    def __len__(self) -> int:
        return len(self.parts)

    @property
    def keyed_weights(self) -> dict[int, np.ndarray]:
        """The weights by the key that :meth:`hold_out` gives them."""
        return dict(enumerate(self.weights, start=1))

    def hold_out(self, problem: Problem) -> Iterator[Problem]:
        """Yield the problem without each of the parts, and without their atoms."""
        for f, part in enumerate(self.parts):
            yield replace(
                problem,
                weight=self.weights[f],
                weighting=f + 1,
                held_out=problem.weight * np.maximum(part, 0.0),
                candidates=problem.candidates & self.open_atoms[f],
                loss=_apart(problem, part),
            )


def _apart(problem: Problem, part: np.ndarray) -> Loss:
    """Return the loss that does not compare held-out rows with others."""
    if problem.groups is None:
        return problem.loss
    weight = np.where(part < 0, 0.0, problem.weight)
    return problem.loss.within(2 * problem.groups + (part > 0), problem.Y[0], weight)


def _open_atoms(
    weight: np.ndarray, sets: np.ndarray, atom_sets: np.ndarray
) -> np.ndarray:
    """Return which atoms are centered on a row that is fitted, or on none."""
    is_present = np.zeros(sets.max(initial=-1) + 2, dtype=bool)
    is_present[sets[weight > 0]] = True
    is_present[-1] = True  # index -1: atoms that are not on rows
    return is_present[atom_sets]


# -- which rows are held out -------------------------------------------------------


def make_folds(
    X: Any,
    y: np.ndarray,
    weight: np.ndarray,
    n_folds: int,
    seed: int,
    is_class: bool,
    together: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Return the folds: boolean masks, or shares of each row's weight to hold out.

    A row's fold depends on its content, not on its position. Equal rows share a fold
    (otherwise the model would be tested on points it was fitted to) unless they are
    categories, and neither the order of the rows nor repeating a row instead of giving
    it weight two changes anything. Folds are balanced in ``y``.

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
    together : ndarray of int of shape (l,), optional
        Sets of rows that share a fold, such as groups to rank, instead of equal rows.
    """
    rows = _Rows(X, y, weight, seed, is_class, together)
    if rows.are_copies(n_folds):
        folds = rows.deal(np.full(n_folds, 1.0 / n_folds))
        return [fold for fold in folds if fold.any()]
    group, level = rows.groups()
    n_folds = min(n_folds, len(level))
    if is_class:
        place, _, start = _places(level)
        fold_of_group = _parts(start, n_folds)[start + place]
    else:
        fold_of_group = np.empty(len(level), dtype=np.int64)
        order = np.argsort(level, kind="stable")
        fold_of_group[order] = _shuffled_rounds(len(level), n_folds, seed)
    fold = np.full(len(weight), -1)
    fold[rows.used] = fold_of_group[group]
    return [fold == f for f in range(n_folds)]


def hold_out(
    X: Any,
    y: np.ndarray,
    weight: np.ndarray,
    share: float,
    seed: int,
    is_class: bool,
    together: np.ndarray | None = None,
) -> np.ndarray | None:
    """Return a fold of about a share of the rows; see :func:`make_folds`.

    Every class, and every range of targets, is represented. ``None`` if there is only
    one distinct row.
    """
    rows = _Rows(X, y, weight, seed, is_class, together)
    if rows.are_copies(round(1.0 / share)):
        part = rows.deal(np.array([share, 1.0 - share]))[0]
        return part if part.any() else None
    group, level = rows.groups()
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
    is_held[rows.used] = is_held_group[group]
    return is_held


def enough_folds(
    folds: Sequence[np.ndarray], sets: np.ndarray, enough: int
) -> list[np.ndarray]:
    """Return as many of the first folds as hold out enough different rows.

    ``sets`` is the set of equal rows that each row belongs to, -1 for none.
    """
    n_held_out = [len(np.unique(sets[(fold > 0) & (sets >= 0)])) for fold in folds]
    n_before = np.cumsum([0, *n_held_out])[:-1]
    return [f for f, n in zip(folds, n_before, strict=True) if n < enough]


class _Rows:
    """Rows of positive weight, and what must stay together among them.

    Attributes
    ----------
    used : ndarray of int
        The rows.
    are_categories : bool
        Whether many rows differ in their targets only.
    have_equal_targets : bool
        Whether, if so, the targets are categories too.
    """

    def __init__(
        self,
        X: Any,
        y: np.ndarray,
        weight: np.ndarray,
        seed: int,
        is_class: bool,
        together: np.ndarray | None = None,
    ):
        self.used = np.flatnonzero(weight > 0)
        self._y, self._weight = y[self.used], weight[self.used]
        self._seed, self._is_class, self._n_rows = seed, is_class, len(weight)
        self._is_indexed = X is None
        self._digest = row_digests(X, self.used, seed)
        if together is not None:
            sets = together[self.used]
            self._digest = digests_of_sets(self._digest, sets)[sets]
        distinct, self._set = np.unique(self._digest, return_inverse=True)
        self._n_sets, self._are_given = len(distinct), together is not None
        self.are_categories, self.have_equal_targets = (
            (False, False)
            if self._are_given
            else are_categories(self._set, self._y, self._weight)
        )

    def are_copies(self, n_folds: int) -> bool:
        """Return whether even rows of equal targets are dealt one by one.

        If there are no more distinct rows than folds, and each is repeated many times,
        rows are dealt one by one: otherwise only unknown rows would be tested.
        """
        if self.are_categories:
            return self.have_equal_targets
        is_open = not self._is_indexed and not self._are_given
        are_few = 1 < self._n_sets <= n_folds and is_open
        return bool(are_few and self._weight.sum() >= n_folds * self._n_sets)

    def _ranks(self) -> np.ndarray:
        """Return the rank of each row's target in its set, whatever its unit."""
        if self._is_class:
            return _class_order(self._set, self._y.astype(np.int64), self._weight)
        return _ranks(self._set, self._y)

    def groups(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what stays together, as groups, and the class or target of each.

        Groups are in a pseudo-random order that depends on their contents.
        """
        digest = self._digest
        if self.are_categories:
            digest = mixed(digest ^ mixed(self._ranks() * STRIDE))
        _, first, group = np.unique(digest, return_index=True, return_inverse=True)
        if self._is_class:
            level = np.full(len(first), np.inf)
            np.minimum.at(level, group, self._y)
            return group, level
        total = np.bincount(group, weights=self._weight)
        return group, np.bincount(group, weights=self._weight * self._y) / total

    def deal(self, shares: np.ndarray) -> list[np.ndarray]:
        """Return folds of these shares of all copies, dealt one by one.

        A row of weight 3 is three copies. Each fold is returned as the share of each
        row's weight that it holds out.
        """
        # Use the leading half of the digests, which is robust to rounding.
        keys = np.stack([self._digest >> np.uint64(32), self._ranks()])
        contents, content = np.unique(keys, axis=1, return_inverse=True)
        content = content.ravel()
        copies = np.bincount(content, weights=self._weight)
        dealt = np.array(
            [
                _dealt(n, shares, np.random.default_rng([self._seed, *map(int, key)]))
                for n, key in zip(copies, contents.T, strict=True)
            ]
        )
        folds = [np.zeros(self._n_rows) for _ in shares]
        for fold, held in zip(folds, (dealt / copies[:, None]).T, strict=True):
            fold[self.used] = held[content]
        return folds


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


def _dealt(n: float, shares: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return how many of ``n`` copies (possibly fractional) go to each fold."""
    whole = int(n)
    counts = rng.multinomial(whole, shares).astype(float)
    counts[rng.choice(len(shares), p=shares)] += n - whole
    return counts


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
