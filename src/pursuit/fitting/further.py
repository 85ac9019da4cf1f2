"""Learn further on more rows, where data are large.

The rows that kernels are compared on first tell which ones are hopeless. They tell
neither which of the others is best, nor how wide it should be and how well its metric
can be learned with many times as many rows and points. So the best round of each family
and shape is repeated on more rows, with more functions and longer paths. One part of
the rows judges, which no metric has seen. Rounds of the best one follow while they
gain.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from .parts import enough_atoms
from .plan import Learning, Plan
from .rounds import CLEAR_GAIN, Arena, Round

# At most so many rows, functions and steps; the share of the rows that judges.
MORE_ROWS, MORE_ATOMS, MORE_STEPS, _HELD_SHARE = 8_000, 1_000, 400, 0.25

# More rows are worth it if they are this many times those learned from before.
_WORTHWHILE = 2.0

# Kernels that are compared again: how many at most, and by which share of the lowest
# error they may be worse.
_MOST, _WITHIN = 3, 0.1

# Maximum number of further rounds.
_MORE_ROUNDS = 3


def arena_of_more(
    plan: Plan, learning: Learning, below: int, is_open: np.ndarray
) -> Arena | None:
    """Return an arena of more rows, None if there are not many more.

    Parameters
    ----------
    plan : Plan
    learning : Learning
    below : int
        The open rows of lower priority were learned from before.
    is_open : ndarray of bool of shape (l,)
        Whether each row may be learned from.
    """
    priority = plan.sample.priority
    priorities = np.unique(priority[is_open])
    n = min(MORE_ROWS, len(priorities))
    if n < _WORTHWHILE * np.count_nonzero(priorities < below):
        return None
    rows = np.flatnonzero(is_open & (priority <= priorities[n - 1]))
    part = plan.some(rows, enough_atoms(plan, rows, MORE_ATOMS), [])
    judging = part.sample.from_priority(priorities[n - int(_HELD_SHARE * n)])
    part = part.holding_out([judging.astype(np.float64)])
    return Arena(part, learning, MORE_STEPS)


def further(
    arena: Arena, learning: Learning, before: Arena, rounds: Sequence[Round]
) -> Iterator[Round]:
    """Yield the best rounds again, on more rows, and further ones while they gain."""
    starts = []
    for r in _best_of_each(rounds):
        again = _round(arena, r.shape, [before.factor_on_all(r)], r)
        starts.append(replace(again, before=r.before))
        yield starts[-1]
    best = min(starts, key=lambda r: r.error)
    shapes = [best.shape] if best.shape else _shapes(learning, best.family)
    for shape in shapes:
        r = best
        for _ in range(min(_MORE_ROUNDS, learning.n_rounds)):
            if not r.size:
                break
            new = _round(arena, shape, arena.next_factors(r, shape), r)
            yield new
            if new.error > (1.0 - CLEAR_GAIN) * r.error:
                break
            r = new


def _round(
    arena: Arena, shape: str | None, factors: list[np.ndarray | None], start: Round
) -> Round:
    """Return a round whose width and ridge are looked for from those of another."""
    r = arena.round(start.family, shape, factors, start)
    # The only fold has most rows: its metric serves the model.
    return replace(r, factor=factors[0], n_rows=len(arena.plan.sample))


def _shapes(learning: Learning, family: int) -> list[str]:
    return [shape for i, shape in learning.chains if i == family]


def _best_of_each(rounds: Sequence[Round]) -> list[Round]:
    """Return the best round of each family and shape, if it is not far behind."""
    best: dict[tuple[int, str | None], Round] = {}
    for r in sorted(rounds, key=lambda r: r.error):
        best.setdefault((r.family, r.shape), r)
    limit = (1.0 + _WITHIN) * min(r.error for r in rounds)
    return [r for r in best.values() if r.error <= limit][:_MOST]
