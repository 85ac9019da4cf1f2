"""Greedy choice of the rows by which local hyperplanes tell the classes apart.

Every training row judges. Let d²_c(x) be the squared distance (eq. 11.5) of a judge x
to the hyperplane of its K nearest prototypes of class c; those equal to x are left out.
With ``m = (d²_y - d²_o) / (d²_y + d²_o)``, where y is its class and o the nearest other
one, its loss is

    log(1 + exp(10 m)) + d²_y / (4 v),

v being the variance within classes: the prototypes must tell it from the other classes,
and stay near it. Each step adds the candidate with which the sum over all judges is
lowest. So the sets of prototypes are nested, and one path holds those of every size.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._limits import Limits
from pursuit._progress import Progress
from pursuit._rows import distinct_rows
from pursuit._warnings import warn
from pursuit.kernels.distances import Rows, paired_rows, squared_distances

from . import _prototype_loops as loops

__all__ = ["Contest", "PrototypePath", "pursue_prototypes"]

# How steeply the loss rises with the relative margin.
SLOPE = 10.0
# The residue counts in units of so many variances within classes.
SPREAD = 4.0
# Judges whose gains are added up at a time, whatever the number of threads.
_JUDGES = 256


@dataclass(frozen=True, eq=False, repr=False)
class PrototypePath:
    """The nested sets of prototypes of one pursuit.

    ``len(path)`` is the number of prototypes.

    Attributes
    ----------
    rows : ndarray of int of shape (n_steps,)
        Training row chosen at each step; the first ones are one of each class.
    losses : ndarray of shape (n_steps,)
        Mean loss of the judges after each step.
    mistakes : ndarray of shape (n_steps,)
        Share of the judges that another class is nearer to.
    n_classes : int
    stop_reason : str
        "max_support", "exhausted", "interrupted", or "truncated" for a part of a path.
    """

    rows: np.ndarray
    losses: np.ndarray
    mistakes: np.ndarray
    n_classes: int
    stop_reason: str

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)} steps, {self.mistakes[-1]:.3g} of the "
            f"rows misjudged, stopped: {self.stop_reason})"
        )

    def of_rows(self, rows: np.ndarray) -> PrototypePath:
        """Return the path with its rows as indices of others, of which it had some."""
        return replace(self, rows=rows[self.rows])

    def truncate(self, size: int) -> PrototypePath:
        """Return the path of the first ``size`` steps, at least one of each class."""
        if not self.n_classes <= size <= len(self):
            raise ValueError(
                f"size={size!r} is not on the path, which has the whole sizes "
                f"{self.n_classes} (one row of each class) to {len(self)}."
            )
        return replace(
            self,
            rows=self.rows[:size],
            losses=self.losses[:size],
            mistakes=self.mistakes[:size],
            stop_reason="truncated" if size < len(self) else self.stop_reason,
        )


@dataclass(frozen=True)
class Contest:
    """What a pursuit of prototypes needs.

    Attributes
    ----------
    X : ndarray of shape (l, d)
        Rows, which are judges and candidates.
    codes : ndarray of int of shape (l,)
        Classes; all of 0 to C - 1 occur.
    sets : ndarray of int of shape (l,)
        Rows of one set do not judge each other.
    n_neighbors : int
        K.
    penalty : float
        λ.
    unit : float
        Squared distance that costs as much as a loss of 1.
    n_candidates : int or None
        How many are drawn at each step; None takes all.
    """

    X: np.ndarray
    codes: np.ndarray
    sets: np.ndarray
    n_neighbors: int
    penalty: float
    unit: float
    n_candidates: int | None

    @property
    def n_classes(self) -> int:
        """The number of classes, C."""
        return int(self.codes.max()) + 1


def pursue_prototypes(
    contest: Contest,
    size: int,
    rng: np.random.RandomState,
    limits: Limits,
    verbose: int | bool = 0,
) -> PrototypePath:
    """Return the path of at most ``size`` prototypes.

    One Ctrl-C ends it with those found so far and a warning.

    With l rows, C classes, K neighbors and P candidates, the state takes O(l (C K + P)
    + N²) numbers, and a step O(l (P d + C K³ + P K²)) operations, less as soon as most
    candidates are no neighbors of most judges.
    """
    state = _State(contest, size, limits)
    for row in _central_rows(contest):
        state.add(row)
    with Progress(size, "prototypes", verbose, "row") as bar:
        reason = _grow(state, contest, size, rng, bar)
    # A step that was interrupted is not complete.
    n = len(state.mistakes)
    if reason == "interrupted":
        warn(
            f"The fit was interrupted after {n} prototypes; the selector has those "
            "found so far."
        )
    return PrototypePath(
        np.array(state.rows[:n]),
        np.array(state.losses[:n]),
        np.array(state.mistakes),
        contest.n_classes,
        reason,
    )


def _grow(
    state: _State,
    contest: Contest,
    size: int,
    rng: np.random.RandomState,
    bar: Progress,
) -> str:
    """Add prototypes up to a size; return why no more were added."""
    left = np.setdiff1d(_candidates(contest), state.rows)
    try:
        with single_interrupts():
            while len(state.rows) < size and len(left):
                row = state.best(_drawn(left, contest.n_candidates, rng))
                state.add(row)
                left = left[left != row]
                bar.show(len(state.rows), mistakes=state.mistakes[-1])
    except Interrupted:
        return "interrupted"
    return "max_support" if len(left) else "exhausted"


def _candidates(contest: Contest) -> np.ndarray:
    """Return the first of each set of equal rows of one class, in order."""
    sets = distinct_rows(contest.X, np.ones(len(contest.X)))[1]
    pairs = sets * contest.n_classes + contest.codes
    return np.sort(np.unique(pairs, return_index=True)[1])


def _central_rows(contest: Contest) -> list[int]:
    """Return the row nearest to the mean of each class."""
    central = []
    for c in range(contest.n_classes):
        rows = np.flatnonzero(contest.codes == c)
        gaps = contest.X[rows] - contest.X[rows].mean(axis=0)
        central.append(int(rows[np.einsum("ij,ij->i", gaps, gaps).argmin()]))
    return central


def _drawn(
    left: np.ndarray, n_candidates: int | None, rng: np.random.RandomState
) -> np.ndarray:
    if n_candidates is None or n_candidates >= len(left):
        return left
    return np.sort(rng.choice(left, n_candidates, replace=False))


class _State:
    """The prototypes so far, and what each judge knows of them."""

    def __init__(self, contest: Contest, size: int, limits: Limits) -> None:
        self._contest, self._limits = contest, limits
        self._points: Rows = paired_rows(contest.X, contest.X)[0]
        shape = len(contest.X), contest.n_classes, contest.n_neighbors
        self._index = np.zeros(shape, dtype=np.int32)
        self._near = np.zeros(shape)
        self._count = np.zeros(shape[:2], dtype=np.int32)
        self._squared = np.full(shape[:2], np.inf)
        # Squared distances between prototypes.
        self._between = np.zeros((size, size))
        self.rows: list[int] = []
        self.losses: list[float] = []
        self.mistakes: list[float] = []

    def best(self, rows: np.ndarray) -> int:
        """Return the candidate that lowers the loss most, the first of equal ones."""
        contest = self._contest
        order = np.argsort(contest.codes[rows], kind="stable")
        sorted_rows = rows[order]
        starts = np.searchsorted(
            contest.codes[sorted_rows], np.arange(contest.n_classes + 1)
        )
        D = self._distances(sorted_rows)
        E = np.ascontiguousarray(D[self.rows])
        blocks = [slice(a, min(a + _JUDGES, len(D))) for a in range(0, len(D), _JUDGES)]
        gains = np.zeros((len(blocks), len(rows)))

        def work(numbers: Iterable[int]) -> None:
            for b in numbers:
                here = blocks[b]
                loops.add_gains(
                    contest.codes[here],
                    contest.sets[here],
                    self._index[here],
                    self._near[here],
                    self._count[here],
                    self._squared[here],
                    self._between,
                    D[here],
                    E,
                    starts,
                    contest.sets[sorted_rows],
                    contest.penalty,
                    SLOPE,
                    contest.unit,
                    gains[b],
                )

        self._limits.deal(work, range(len(blocks)))
        total = np.empty(len(rows))
        total[order] = gains.sum(axis=0)
        return int(rows[total.argmin()])

    def add(self, row: int) -> None:
        """Make a row a prototype."""
        contest, place = self._contest, len(self.rows)
        d = self._distances(np.array([row]))[:, 0].copy()
        self.rows.append(row)
        self._between[place, : place + 1] = d[self.rows]
        self._between[: place + 1, place] = d[self.rows]
        loops.insert(
            place,
            contest.codes[row],
            contest.sets == contest.sets[row],
            d,
            self._index,
            self._near,
            self._count,
            self._squared,
            self._between,
            contest.penalty,
        )
        loss, is_wrong = np.empty(len(d)), np.empty(len(d), dtype=bool)
        loops.losses(contest.codes, self._squared, SLOPE, contest.unit, loss, is_wrong)
        self.losses.append(float(loss.mean()))
        self.mistakes.append(float(is_wrong.mean()))

    def _distances(self, rows: np.ndarray) -> np.ndarray:
        """Return the squared distances of all judges to some rows."""
        D = np.empty((len(self._points), len(rows)))
        return squared_distances(self._points, self._points[rows], D)
