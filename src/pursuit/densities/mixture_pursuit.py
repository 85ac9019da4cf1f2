"""Pursuit of a mixture: which Gaussians of a dictionary, and with which weights.

A step adds the Gaussian g, with the share a, that raises

    Σ_i c_i log((1 - a) p(x_i) + a g(x_i))

most; EM then refits the weights of all that were chosen. A row has no say about a
Gaussian that stands on it, and none at all once that is chosen.

Letters: M candidates, m judges, N Gaussians.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._limits import Limits
from pursuit._progress import Progress

from ._sparse_loops import best_candidate
from .oriented_mixtures import log_mixture

# EM ends when a mean log-density rises by less than this, or after so many rounds.
_GAIN, _ROUNDS = 1e-7, 300
# A candidate that gains less than this, for each unit of weight, ends the path.
_LEAST = 1e-9


@dataclass(frozen=True, eq=False, repr=False)
class MixturePath:
    """The nested mixtures of one pursuit. ``len(path)`` is the number of Gaussians.

    Attributes
    ----------
    rows : ndarray of int of shape (n_steps,)
        Training row on which the Gaussian of each step stands.
    n_neighbors : ndarray of int of shape (n_steps,)
        Number of neighbors that shaped it.
    weights : tuple of ndarray
        At sizes 1, 2, ...: the weights of the Gaussians, which sum to 1.
    scores : ndarray of shape (n_steps,)
        Mean log-density of the rows that judge, at each size.
    held_out : ndarray of shape (n_steps,) or None
        Mean log-density of held-out rows at each size, if folds chose it.
    stop_reason : str
        "max_support", "no gain", "exhausted", "interrupted", or "truncated" for a
        part of a path.
    """

    rows: np.ndarray
    n_neighbors: np.ndarray
    weights: tuple[np.ndarray, ...]
    scores: np.ndarray
    held_out: np.ndarray | None
    stop_reason: str

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self)} steps, mean log-density "
            f"{self.scores[0]:.3g} -> {self.scores[-1]:.3g}, stopped: "
            f"{self.stop_reason})"
        )

    def truncate(self, size: int) -> MixturePath:
        """Return the path of the first ``size`` steps."""
        if not 1 <= size <= len(self):
            raise ValueError(
                f"size={size!r} is not on the path, which has the whole sizes 1 to "
                f"{len(self)}."
            )
        return replace(
            self,
            rows=self.rows[:size],
            n_neighbors=self.n_neighbors[:size],
            weights=self.weights[:size],
            scores=self.scores[:size],
            held_out=None if self.held_out is None else self.held_out[:size],
            stop_reason="truncated" if size < len(self) else self.stop_reason,
        )


@dataclass(frozen=True, eq=False)
class Dictionary:
    """Candidates, and what the judges say of them.

    Attributes
    ----------
    rows : ndarray of int of shape (M,)
        Point on which each candidate stands.
    n_neighbors : ndarray of int of shape (M,)
    own : ndarray of int of shape (M,)
        Place of that point among the judges, -1 if it is none.
    logs : ndarray of shape (M, m)
        Log-densities of the judges, each left out of the neighborhoods; what a
        judge says about a Gaussian on itself does not count.
    counts : ndarray of shape (m,)
        Weights of the judges.
    """

    rows: np.ndarray
    n_neighbors: np.ndarray
    own: np.ndarray
    logs: np.ndarray
    counts: np.ndarray


def pursue_mixture(
    data: Dictionary, size: int, limits: Limits, bar: Progress | None = None
) -> MixturePath:
    """Return the path of at most ``size`` Gaussians.

    A Ctrl-C raises `Interrupted` with those found so far, if there are some.
    """
    growing = _Growing(data)
    try:
        with single_interrupts():
            return growing.path(growing.grow(size, limits, bar))
    except Interrupted:
        raise Interrupted(
            growing.path("interrupted") if growing.scores else None
        ) from None


class _Growing:
    """A mixture to which Gaussians are added, and what the judges say of it."""

    def __init__(self, data: Dictionary) -> None:
        self._data = data
        self._counts = data.counts.astype(np.float64)
        self._is_left = np.ones(len(data.rows), dtype=bool)
        self._log_p = np.empty(0)
        self.chosen: list[int] = []
        self.weights: list[np.ndarray] = []
        self.scores: list[float] = []

    def grow(self, size: int, limits: Limits, bar: Progress | None) -> str:
        """Add Gaussians up to a size; return why no more were added."""
        while len(self.chosen) < size:
            if self.is_exhausted:
                return "exhausted"
            j, share = self.best(limits)
            if j < 0:
                return "no gain"
            self.add(j, share)
            if bar is not None:
                bar.show(len(self.chosen), score=self.scores[-1])
        return "max_support"

    def path(self, reason: str) -> MixturePath:
        """Return the path of all complete steps."""
        n = len(self.scores)
        chosen = self.chosen[:n]
        return MixturePath(
            self._data.rows[chosen],
            self._data.n_neighbors[chosen],
            tuple(self.weights[:n]),
            np.array(self.scores),
            None,
            reason,
        )

    @property
    def is_exhausted(self) -> bool:
        """Whether there are no candidates or no judges any more."""
        return not self._is_left.any() or not self._counts.any()

    def best(self, limits: Limits) -> tuple[int, float]:
        """Return the candidate to add and its share; -1 if none gains."""
        if not self.chosen:
            return _first(self._data), 1.0
        start = 1.0 / (len(self.chosen) + 1.0)
        return _best(
            self._data, self._log_p, self._counts, self._is_left, start, limits
        )

    def add(self, j: int, share: float) -> None:
        """Add a candidate, and refit all weights."""
        data = self._data
        self.chosen.append(j)
        self._is_left[data.rows == data.rows[j]] = False
        if data.own[j] >= 0:
            self._counts[data.own[j]] = 0.0
        w = (1.0 - share) * self.weights[-1] if self.weights else np.empty(0)
        logs = data.logs[self.chosen]
        self.weights.append(refitted(logs, self._counts, np.append(w, share)))
        self._log_p = log_mixture(logs, self.weights[-1])
        self.scores.append(mean_log(self._log_p, self._counts))


def _first(data: Dictionary) -> int:
    """Return the candidate under which the other judges are likeliest."""
    is_own = np.zeros(len(data.counts), dtype=bool)
    means = np.empty(len(data.rows))
    for j, (logs, own) in enumerate(zip(data.logs, data.own, strict=True)):
        is_own[own] = own >= 0
        means[j] = mean_log(logs, np.where(is_own, 0.0, data.counts))
        is_own[own] = False
    return int(means.argmax())


def mean_log(logs: np.ndarray, counts: np.ndarray) -> float:
    """Return the mean of the logs that count, -inf if none does."""
    used = counts > 0
    if not used.any():
        return -np.inf
    return float(counts[used] @ logs[used] / counts[used].sum())


def _best(
    data: Dictionary,
    log_p: np.ndarray,
    counts: np.ndarray,
    is_left: np.ndarray,
    start: float,
    limits: Limits,
) -> tuple[int, float]:
    """Return the candidate that gains most and its share; -1 if none gains."""
    n_parts = max(1, min(limits.usable_threads, len(data.rows)))
    edges = np.linspace(0, len(data.rows), n_parts + 1).astype(int)
    found: dict[int, tuple[int, float, float]] = {}

    def work(parts: Iterable[int]) -> None:
        for part in parts:
            here = slice(edges[part], edges[part + 1])
            found[part] = best_candidate(
                data.logs[here], data.own[here], log_p, counts, is_left[here], start
            )

    limits.deal(work, range(n_parts))
    part = max(range(n_parts), key=lambda part: (found[part][2], -part))
    j, share, gain = found[part]
    if j < 0 or not gain > _LEAST * counts.sum():
        return -1, 0.0
    return int(edges[part]) + j, share


def refitted(logs: np.ndarray, counts: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the weights (N,) after EM, from log-densities (N, m) of the judges."""
    used = counts > 0
    if len(weights) == 1 or not used.any():
        return weights / weights.sum()
    logs, counts = logs[:, used], counts[used] / counts[used].sum()
    top = logs.max(axis=0)
    top[np.isneginf(top)] = 0.0
    parts = np.exp(logs - top)
    score = -np.inf
    tiny = np.finfo(np.float64).tiny
    for _ in range(_ROUNDS):
        p = np.maximum(weights @ parts, tiny)
        before, score = score, float(counts @ np.log(p))
        if score - before < _GAIN:
            break
        weights = weights * (parts @ (counts / p))
        weights = weights / weights.sum()
    return weights
