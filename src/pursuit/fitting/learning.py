"""Learn the kernel: its family, its metric, its width, and the ridge to begin with.

A *round* chooses width, ridge and size for one family in a given metric, by held-out
rows. Its models then give the next metric: the average outer product of their
gradients, which is large along the directions in which the targets change. Each fold
learns from its own model on its own rows, so that rows that judge a metric never shaped
it. Chains of rounds, one for each family and shape of the metric, go on as long as they
gain. The smallest model within the noise of the best round wins; its rounds are then
repeated on all rows. On large data the best rounds are repeated on more rows before,
and one of these wins (see :mod:`.further`).

All of this takes the squared loss, few candidates and, on large data, some of the rows.
The plan that it returns leaves ridge and size to the usual search, with all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._progress import Progress
from pursuit._threads import limited
from pursuit.functions import Functions, KernelFunctions
from pursuit.kernels.metric import composed
from pursuit.sample import Sample

from .folds import Folds, make_folds
from .further import arena_of_more, further
from .parts import enough_atoms, enough_rows
from .plan import Learning, Plan
from .rounds import CLEAR_GAIN, HELD_OUT_TO_LEARN, Arena, Round, at_octave, in_metric
from .timing import share_to_learn, tell_of_interrupt

# Enough to learn from: rows, functions and folds.
LEARNING_ROWS, LEARNING_ATOMS, N_FOLDS = 2_000, 500, 5
# On at most this many times as many rows, all of them are used.
_FEW_MORE = 1.25

# Maximum number of rows held out to choose ridge and size, where some rows are learned
# from, and their share of all.
HELD_OUT_OF_MANY, _HELD_SHARE = 2_000, 0.2

# Share of the time that is left in which the best rounds are repeated on all rows.
_REPEATING = 0.5

# A chain ends if it is so many times worse than others after as many rounds, and is not
# begun for a family that starts so many times worse than another.
_BEHIND, _FAR_BEHIND = 1.25, 2.0

# The full metric is left to those who ask for it above this many features.
FULL_FEATURES = 300


def learn(plan: Plan) -> Plan:
    """Return the plan with a learned kernel; the plan itself if nothing is learned."""
    if plan.learning is None or not len(plan.folds):
        return plan
    part, is_shared = _part_to_learn(plan)
    arena = Arena(part, plan.learning)
    # Hundreds of short pursuits: threads would wait for each other most of the time.
    with limited(1):
        with plan.deadline.part(share_to_learn(plan)):
            rounds, is_cut_short = _rounds(arena, _worthwhile(arena, plan.learning))
            if not rounds:
                # The kernel to begin with serves.
                return replace(plan, learning=None, is_cut_short=True)
            more: list[Round] = []
            larger = _larger_arena(plan) if is_shared else None
            if larger is not None and not is_cut_short:
                eligible = _eligible(rounds, plan.learning)
                again = further(larger, plan.learning, arena, eligible)
                more, is_cut_short = _rounds(larger, again, is_first=False)
        if larger is not None and more:
            learned, is_plain = _with_kernel(plan, larger, chosen(more)), False
        else:
            learned, is_plain = _with_best(plan, arena, rounds, is_shared)
    tried = [r.as_trial() for r in (*rounds, *more)]
    return replace(learned, tried=tried, is_cut_short=is_cut_short or is_plain)


def _with_best(
    plan: Plan, arena: Arena, rounds: Sequence[Round], is_shared: bool
) -> tuple[Plan, bool]:
    """Return the plan with the kernel of the best round.

    If there is no time to repeat its metric on all rows, that is the best of the rounds
    before any metric was learned; the second value says whether it is so.
    """
    assert plan.learning is not None
    try:
        best = chosen(_eligible(rounds, plan.learning))
        with single_interrupts(), plan.deadline.part(_REPEATING):
            best = replace(best, factor=arena.factor_on_all(best))
            return _with_kernel(plan, arena, best, is_shared), False
    except Interrupted:
        first = chosen([r for r in rounds if r.before is None])
        return _with_kernel(plan, arena, first, is_shared), True


# -- chains and the choice among their rounds --------------------------------------


def _rounds(
    arena: Arena, worthwhile: Iterator[Round], is_first: bool = True
) -> tuple[list[Round], bool]:
    """Return all rounds that were worth trying, and whether they were cut short.

    Something must have been compared if the user stops the first of them.
    """
    rounds: list[Round] = []
    with Progress(None, "kernel", arena.engines.verbose, unit="round") as progress:
        try:
            with single_interrupts():
                for r in worthwhile:
                    rounds.append(r)
                    progress.show(len(rounds), error=min(r.error for r in rounds))
        except Interrupted:
            deadline = arena.plan.deadline
            is_early = is_first and not rounds
            if is_early and deadline.reason in (None, "interrupted"):
                raise KeyboardInterrupt from None
            tell_of_interrupt(
                deadline,
                "The search for a kernel was interrupted; the best of those compared "
                "so far is used.",
            )
            return rounds, True
    return rounds, False


def _worthwhile(arena: Arena, learning: Learning) -> Iterator[Round]:
    """Yield the first round of each family, then those of chains while they gain."""
    none: list[np.ndarray | None] = [None for _ in arena.all]
    starts = []
    for family in range(len(learning.families)):
        starts.append(arena.round(family, None, none, None))
        yield starts[-1]
    # The lowest error so far after each number of rounds, and fewer.
    lowest = [min(r.error for r in starts)] * (1 + learning.n_rounds)
    for family, shape in learning.chains:
        r = starts[family]
        if not r.size or (r.error > _FAR_BEHIND * lowest[0] and learning.may_stay):
            continue
        for n in range(1, 1 + learning.n_rounds):
            new = arena.round(family, shape, arena.next_factors(r, shape), r)
            yield new
            lowest[n:] = np.minimum(lowest[n:], new.error)
            gains = new.error <= (1.0 - CLEAR_GAIN) * r.error
            if not gains or new.error > _BEHIND * lowest[n] or not new.size:
                break
            r = new


def _eligible(rounds: Sequence[Round], learning: Learning) -> Sequence[Round]:
    """Return the rounds that may be chosen: those in a learned metric, if asked for."""
    if learning.may_stay:
        return rounds
    return [r for r in rounds if r.shape is not None] or rounds


def chosen(rounds: Sequence[Round]) -> Round:
    """Return the round with the smallest model within the noise of the best.

    Noise is one standard error of the difference between the losses of the same rows;
    sizes are compared by octaves, and equal ones by the error. So neither the draw of
    the folds nor a fragile model decides for a gain that is none.
    """
    best = min(rounds, key=lambda r: r.error)
    close = [r for r in rounds if _is_close(r, best)]
    return min(close, key=lambda r: (round(np.log2(max(r.size, 1))), r.error))


def _is_close(r: Round, best: Round) -> bool:
    share = r.weight / r.weight.sum()
    difference = r.losses - best.losses
    mean = difference @ share
    spread = np.sqrt(np.square(difference - mean) @ share)
    # Weights are numbers of rows; if they are small, only their ratios are meant.
    n_rows = r.weight.sum() / min(1.0, float(r.weight.mean()))
    return bool(mean <= spread / np.sqrt(n_rows))


# -- what is learned from, and what becomes of it ----------------------------------


def _part_to_learn(plan: Plan) -> tuple[Plan, bool]:
    """Return the plan to learn on, and whether all folds share what it learns.

    Folds of all rows learn metrics of their own. Where a part of the rows is enough, or
    the model itself leaves a part out, folds are made anew among the rows to learn
    from, and none of these is ever held out later.
    """
    sample = plan.sample
    is_large = sample.n_distinct > _FEW_MORE * LEARNING_ROWS
    if not plan.holds_out_of_model and not (is_large and plan.folds.are_random):
        parts = plan.folds.parts
        rows = np.arange(len(sample))
        if is_large:
            rows = enough_rows(plan, parts, LEARNING_ROWS, HELD_OUT_TO_LEARN)
        return plan.some(rows, enough_atoms(plan, rows, LEARNING_ATOMS), parts), False
    is_open = _is_open(plan)
    rows = np.flatnonzero(is_open & (sample.priority < _priority_of(sample, is_open)))
    part = plan.some(rows, enough_atoms(plan, rows, LEARNING_ATOMS), [])
    few = part.sample
    data = few.contents, few.balance, few.multiplicity
    parts = make_folds(*data, N_FOLDS, few.seed, few.is_class, few.together)
    return part.holding_out(parts), True


def _is_open(plan: Plan) -> np.ndarray:
    """Return which rows may be learned from, if none are left to be held out later."""
    weight = plan.folds.weights[0] if plan.holds_out_of_model else plan.sample.weight
    return weight > 0


def _priority_of(sample: Sample, is_open: np.ndarray) -> int:
    """Return the priority below which there are enough distinct rows to learn from."""
    priorities = np.unique(sample.priority[is_open])
    few = int(_FEW_MORE * LEARNING_ROWS)
    if len(priorities) <= few:
        return int(priorities[-1]) + 1
    return int(priorities[LEARNING_ROWS])


def _larger_arena(plan: Plan) -> Arena | None:
    """Return an arena of more rows, without those to be held out later."""
    assert plan.learning is not None
    sample, is_open = plan.sample, _is_open(plan)
    below = _priority_of(sample, is_open)
    if not plan.holds_out_of_model:
        is_open &= sample.priority < sample.n_distinct - _n_held_out(sample)
    return arena_of_more(plan, plan.learning, below, is_open)


def _with_kernel(plan: Plan, arena: Arena, best: Round, is_shared: bool = True) -> Plan:
    """Return the plan with the kernel of a round, for ridge and size to be chosen."""
    kernels = _kernels_to_compare(plan, best)
    collections = partial(_collections, plan, arena, kernels)
    pairs = [(i, _ridges(plan, kernel)) for i, kernel in enumerate(kernels)]
    grid = replace(
        plan.grid,
        dictionaries=collections(best.factor),
        alphas=sorted({alpha for _, alphas in pairs for alpha in alphas}),
        clear=CLEAR_GAIN,
        pairs=pairs,
    )
    if is_shared:
        return replace(_holding_out_others(plan, arena), grid=grid)
    of_folds = dict(zip(_keys(plan.folds), best.factors, strict=True))

    def relearn(weight: np.ndarray) -> list[Functions]:
        return collections(of_folds[weight.tobytes()])

    return replace(plan, grid=replace(grid, relearn=relearn))


@dataclass(frozen=True)
class _Candidate:
    """A kernel among which the loss of the model chooses.

    Attributes
    ----------
    family, octave : int
    alphas : tuple of float
        Ridges for the squared loss.
    is_learned : bool
        Whether it has the learned metric, or that to begin with.
    """

    family: int
    octave: int
    alphas: tuple[float, ...]
    is_learned: bool = True


def _kernels_to_compare(plan: Plan, best: Round) -> list[_Candidate]:
    """Return the kernels that the loss of the model chooses from.

    Under the squared loss that is the one learned by it. A loss that asks for a margin
    only, not for particular values, is content with wider kernels, and maybe with the
    metric to begin with.
    """
    assert plan.learning is not None
    alphas = plan.learning.alphas
    at = alphas.index(best.alpha)
    if not plan.template.loss.is_squared_distance or plan.template.loss.has_closed_form:
        # More rows and functions need smaller ridges.
        lower = 2 if best.n_rows is None else 1
        near = tuple(alphas[max(0, at - lower) : at + 2])
        return [_Candidate(best.family, best.octave, near)]
    beside = tuple(alphas[max(0, at - 1) :: 2][:2])
    wide, narrow = (_Candidate(best.family, best.octave + o, beside) for o in (-2, 0))
    kernels = [
        wide,
        _Candidate(best.family, best.octave - 1, (best.alpha,)),
        narrow,
    ]
    if best.before is not None:
        kernels += [_Candidate(0, o, tuple(alphas[2:5:2]), False) for o in (-3, -1)]
    return kernels


def _ridges(plan: Plan, kernel: _Candidate) -> list[float]:
    """Return the ridges to compare for a kernel: the one given, if one is."""
    assert plan.learning is not None
    if len(plan.grid.alphas) == 1:
        return list(plan.grid.alphas)
    return [plan.learning.ridge_of_loss * alpha for alpha in kernel.alphas]


def _collections(
    plan: Plan,
    arena: Arena,
    kernels: Sequence[_Candidate],
    factor: np.ndarray | None,
) -> list[Functions]:
    """Return the plan's functions with each of the kernels."""
    assert plan.learning is not None
    functions = plan.grid.dictionaries[0]
    assert isinstance(functions, KernelFunctions)
    collections: list[Functions] = []
    for candidate in kernels:
        own = factor if candidate.is_learned else None
        kernel = at_octave(arena.kernel(candidate.family, own), candidate.octave)
        kernel = in_metric(kernel, composed(plan.learning.factor, own))
        collections.append(replace(functions, kernel=kernel))
    return collections


def _keys(folds: Folds) -> list[bytes]:
    return [weight.tobytes() for weight in folds.weights]


def _holding_out_others(plan: Plan, arena: Arena) -> Plan:
    """Return the plan that holds out one part of the rows that nothing learned from.

    A part that the model leaves out is such a part already.
    """
    if plan.holds_out_of_model:
        return plan
    sample = plan.sample
    learned_from = arena.plan.sample.priority.max()
    first = max(learned_from + 1, sample.n_distinct - _n_held_out(sample))
    return plan.holding_out([sample.from_priority(first).astype(np.float64)])


def _n_held_out(sample: Sample) -> int:
    return min(HELD_OUT_OF_MANY, int(_HELD_SHARE * sample.n_distinct))
