"""The training data of a fit, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass, replace
from importlib import import_module
from typing import Any

import numpy as np

from ._ranges import SMALLEST_WEIGHT
from ._rows import digests_of_sets, distinct_rows, row_digests
from .engine.groups import centered
from .losses import Loss

# Added to the seed of the folds, which is smaller, to get another seed for priorities.
PRIORITIES = 1 << 32


@dataclass(frozen=True)
class Framer:
    """Turn arrays into frames with the original column names, in the same library.

    Attributes
    ----------
    library : {"pandas", "polars"}
    names : tuple of str
        Names of all columns.
    """

    library: str
    names: tuple[str, ...]

    def __call__(self, X: np.ndarray) -> Any:
        """Return the frame whose columns are those of X (n, d)."""
        library: Any = import_module(self.library)
        if self.library == "pandas":
            return library.DataFrame(X, columns=list(self.names))
        return library.DataFrame(np.asarray(X), schema=list(self.names), orient="row")


def framer(X: Any, names: Any) -> Framer | None:
    """Return the `Framer` for arrays made from X; None if X is no frame.

    ``names`` are the column names that scikit-learn found, None if there are none.
    """
    library = type(X).__module__.partition(".")[0]
    if names is None or library not in ("pandas", "polars"):
        return None
    return Framer(library, tuple(map(str, names)))


@dataclass(frozen=True, eq=False)
class Sample:
    """The data of a fit, and what a dictionary may use to learn from them.

    Attributes
    ----------
    X : array or CSR of shape (l, d)
    contents : array or CSR of shape (l, d), or None
        What tells rows apart, and draws depend on: X, or X in units of its columns'
        own; None if rows differ by their index only.
    Y : ndarray of shape (T, l)
        Targets. Classes are coded as -1 and +1, in one row for two classes, else in
        one row for each class.
    weight : ndarray of shape (l,)
        Weights; rows of weight 0 are ignored.
    counts : ndarray of shape (l,)
        How many rows each row stands for: its weight without that of its class.
    classes : ndarray or None
        Class labels, sorted; None in regression.
    codes : ndarray of int of shape (l,) or None
        Index of the class of each row; None in regression.
    sets : ndarray of int of shape (l,)
        Set of equal rows to which each row belongs, -1 for rows of weight 0.
    priority : ndarray of int of shape (l,)
        Random priority of each row: a part of the data are the rows of the lowest
        priorities. Equal rows share one; -1 for rows of weight 0.
    rows : ndarray of int
        Rows on which functions may be centered: one of each set of equal rows.
    seen : ndarray of shape (l,)
        The weights, but 0 on held-out rows, whose targets must not be used.
    groups : ndarray of int of shape (l,) or None
        Group of each row, in ranking; targets are then centered in each group unless
        there is only one.
    feature_names : tuple of str
    is_kernel : bool
        Whether X is a kernel matrix, whose rows differ by their index only.
    fit_intercept : bool
        Whether the model has a constant besides the dictionary.
    memory : int
        Bytes that learning may use.
    seed : int
        Seed of all random choices.
    verbose : int or bool
        Whether to show a progress bar during long computations.
    framer : Framer or None
        Turns arrays back into frames of the kind that X was; None if X was no frame.
    """

    X: Any
    contents: Any
    Y: np.ndarray
    weight: np.ndarray
    counts: np.ndarray
    classes: np.ndarray | None
    codes: np.ndarray | None
    sets: np.ndarray
    priority: np.ndarray
    rows: np.ndarray
    seen: np.ndarray
    feature_names: tuple[str, ...]
    groups: np.ndarray | None = None
    is_kernel: bool = False
    fit_intercept: bool = True
    memory: int = 1 << 30
    seed: int = 0
    verbose: int | bool = 0
    framer: Framer | None = None

    @classmethod
    def of(
        cls,
        X: Any,
        Y: np.ndarray,
        weight: np.ndarray | None = None,
        *,
        counts: np.ndarray | None = None,
        classes: np.ndarray | None = None,
        codes: np.ndarray | None = None,
        groups: np.ndarray | None = None,
        feature_names: tuple[str, ...] | None = None,
        is_kernel: bool = False,
        contents: Any = None,
        seed: int = 0,
        **how: Any,
    ) -> Sample:
        """Return the sample of these data; every distinct row may be a center.

        ``how`` are further attributes.
        """
        weight = np.ones(X.shape[0]) if weight is None else weight
        if weight.max() < SMALLEST_WEIGHT:
            raise ValueError(
                f"sample_weight has values up to {weight.max():.3g} only, whose "
                "products underflow: scale them up."
            )
        if contents is None and not is_kernel:
            contents = X
        rows, sets = distinct_rows(contents, weight)
        # Unlike the digests of the folds: otherwise one fold would hold out all rows of
        # the lowest priorities.
        order = np.argsort(_draw_order(contents, rows, seed + PRIORITIES, groups))
        rank = np.full(len(rows) + 1, -1, dtype=np.int64)
        rank[order] = np.arange(len(rows))
        return cls(
            X=X,
            contents=contents,
            Y=Y,
            weight=weight,
            counts=weight if counts is None else counts,
            classes=classes,
            codes=codes,
            sets=sets,
            priority=rank[sets],
            rows=rows,
            seen=weight,
            groups=groups,
            feature_names=feature_names or tuple(f"x{j}" for j in range(X.shape[1])),
            is_kernel=is_kernel,
            seed=seed,
            **how,
        )._centered()

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def is_class(self) -> bool:
        """Whether the targets encode classes."""
        return self.codes is not None

    @property
    def labels(self) -> np.ndarray | None:
        """The class of each row; None in regression."""
        return None if self.classes is None else self.classes[self.codes]

    @property
    def balance(self) -> np.ndarray:
        """What folds are balanced in: class codes, or the mean of the targets.

        In ranking, the sizes of the groups.
        """
        groups = self.centered_groups
        if groups is not None:
            return np.bincount(groups, weights=self.counts)[groups]
        if self.codes is not None:
            return self.codes.astype(np.float64)
        return np.ascontiguousarray(self.Y.T).mean(axis=1)

    @property
    def centered_groups(self) -> np.ndarray | None:
        """The groups in each of which targets count around their means only.

        None if there are none, or only one: there the constant of the model does the
        same.
        """
        return None if self.fit_intercept else self.groups

    @property
    def together(self) -> np.ndarray | None:
        """What folds keep whole in ranking: groups, or equal rows if there is one."""
        if self.groups is None:
            return None
        used = self.groups[self.weight > 0]
        return self.sets if np.all(used == used[0]) else self.groups

    def bound(self, loss: Loss) -> Loss:
        """Return a loss that knows the groups of the rows, if there are any."""
        if self.groups is None:
            return loss
        return loss.within(self.groups, self.Y[0], self.weight)

    @property
    def unit(self) -> float:
        """The weight of one row.

        Weights are numbers of rows; if they are small, only their ratios are meant.
        """
        return _unit(self.weight)

    @property
    def multiplicity(self) -> np.ndarray:
        """How many rows each row stands for, (l,): weights of classes do not count."""
        counts = np.where(self.weight > 0, self.counts, 0.0)
        return counts / _unit(counts)

    @property
    def n_distinct(self) -> int:
        """The number of distinct rows of positive weight."""
        return int(self.priority.max()) + 1

    def from_priority(self, first: int) -> np.ndarray:
        """Return which rows have this priority or a higher one, (l,).

        In ranking, those of groups of which all rows have, if there is one.
        """
        groups = self.centered_groups
        if groups is None:
            return self.priority >= first
        low = groups[(self.priority >= 0) & (self.priority < first)]
        is_whole = (self.priority >= 0) & ~np.isin(groups, low)
        return is_whole if is_whole.any() else self.priority >= first

    def lowest(self, n: int, n_of_class: int) -> Sample:
        """Return the sample in which all but the rows of low priority have weight 0.

        These are ``n`` distinct rows, and at least ``n_of_class`` of each class if it
        has so many.
        """
        is_kept = (self.priority >= 0) & (self.priority < n)
        for code in range(0 if self.classes is None else len(self.classes)):
            members = np.flatnonzero((self.codes == code) & (self.priority >= 0))
            order = np.argsort(self.priority[members], kind="stable")
            is_kept[members[order[:n_of_class]]] = True
        _, rank = np.unique(self.priority[is_kept], return_inverse=True)
        priority = np.full(len(self), -1, dtype=self.priority.dtype)
        priority[is_kept] = rank
        weight = np.where(is_kept, self.weight, 0.0)
        return replace(
            self,
            weight=weight,
            seen=weight,
            sets=np.where(is_kept, self.sets, -1),
            priority=priority,
            rows=self.rows[is_kept[self.rows]],
        )._centered()

    def some(self, rows: np.ndarray) -> Sample:
        """Return some of the rows, in order; sets and priorities keep their numbers."""
        if len(rows) == len(self):
            return self
        place = np.full(len(self), -1)
        place[rows] = np.arange(len(rows))
        centers = place[self.rows]
        return replace(
            self,
            X=self.X[rows],
            contents=None if self.contents is None else self.contents[rows],
            Y=self.Y[:, rows],
            weight=self.weight[rows],
            counts=self.counts[rows],
            codes=None if self.codes is None else self.codes[rows],
            sets=self.sets[rows],
            priority=self.priority[rows],
            rows=centers[centers >= 0],
            seen=self.seen[rows],
            groups=None if self.groups is None else self.groups[rows],
        )._centered()

    def _centered(self) -> Sample:
        """Return the sample with targets around their means in each group."""
        groups = self.centered_groups
        if groups is None:
            return self
        return replace(self, Y=centered(self.Y, groups, self.weight))


def _draw_order(
    contents: Any, rows: np.ndarray, seed: int, groups: np.ndarray | None
) -> np.ndarray:
    """Return numbers in whose order rows are drawn: groups follow one another."""
    digests = row_digests(contents, rows, seed)
    if groups is None:
        return digests
    of_row = groups[rows]
    order = np.lexsort((digests, digests_of_sets(digests, of_row)[of_row]))
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return place


def _unit(weight: np.ndarray) -> float:
    return min(1.0, float(weight[weight > 0].mean()))
