"""What time allows: how much of it each stage gets, and the part of the data that fits.

Nothing here is used unless the fit has a deadline. The cost of a model on all rows is
estimated from the values and inner products of the functions on a few of them.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from pursuit._deadline import Deadline
from pursuit._rows import exact_digests
from pursuit._warnings import warn
from pursuit.sample import Sample
from pursuit.selection import Validation

from .folds import Folds
from .parts import enough_atoms
from .plan import Plan

# Rows and functions on which costs are measured, and how often.
_MEASURED_ROWS, _MEASURED_ATOMS, _REPEATS = 128, 512, 3

# Shares of the time that is left: at least, and at most, for what comes after the
# kernel is learned, and at most for a search and for setting up a model.
_LEAST_LATER, _MOST_LATER, _SEARCH, _SET_UP = 0.3, 0.7, 0.5, 0.6

# A search on some rows sets up about so many models like the final one.
_MODELS_OF_A_SEARCH = 6.0

# So many rows are always looked at; how many looks at a row there are before a fit, the
# share of the time for them, and the rows by which it is measured how long they take.
_QUICK_ROWS, _LOOKS, _LOOKING, _LOOKED_AT_ROWS = 2_000, 8.0, 0.15, 1_000
_LEAST_OF_A_CLASS, _LEAST_OF_A_PART = 200, 30
# How many looks the plan takes for each before it, and the share of the time for them.
_LOOKS_OF_PLAN, _PLANNING = 1.2, 0.3

# A part of the data has at least so many rows and functions, and so many rows for each
# function as long as these are not all.
_FEWEST_ROWS, _FEWEST_ATOMS, _ROWS_PER_ATOM = 500, 100, 20


def tell_of_interrupt(deadline: Deadline, message: str) -> None:
    """Warn of what a Ctrl-C has cut short, unless it was told before."""
    if deadline.reason in (None, "interrupted") and not deadline.was_told:
        deadline.was_told = True
        warn(message)


def set_up_seconds(plan: Plan) -> float:
    """Return about how long values and inner products take on all rows."""
    dictionary = plan.grid.dictionaries[0]
    n_rows, n_atoms = len(plan.sample), len(dictionary)
    rows = np.unique(np.linspace(0, n_rows - 1, _MEASURED_ROWS).astype(int))
    n_some = min(n_atoms, _MEASURED_ATOMS)
    evaluate = dictionary.evaluator(plan.sample.X[rows], plan.engines.dtype)
    values, A = _timed(lambda: evaluate(slice(0, n_some)))
    products, _ = _timed(lambda: A @ A.T)
    more = n_atoms / n_some
    return (values * more + 0.5 * products * more**2) * n_rows / len(rows)


def _timed(work: Callable[[], np.ndarray]) -> tuple[float, np.ndarray]:
    """Return the seconds that some work takes on average, and its result.

    The first time does not count: it may compile. The end of the fit's time does not
    cut it off.
    """
    with Deadline().active():
        result = work()
        start = time.perf_counter()
        for _ in range(_REPEATS):
            work()
    return (time.perf_counter() - start) / _REPEATS, result


def share_to_learn(plan: Plan) -> float:
    """Return the share of the time in which a kernel may be learned."""
    if not plan.deadline.is_bound:
        return 1.0
    later = set_up_seconds(plan) / _SET_UP
    share = later / max(plan.deadline.left, 1e-9)
    return 1.0 - min(max(share, _LEAST_LATER), _MOST_LATER)


def share_to_search(plan: Plan) -> float:
    """Return the share of the time in which ridge and size may be searched for."""
    return _SEARCH if plan.deadline.is_bound else 1.0


def part_in_time(plan: Plan) -> Plan:
    """Return the plan to search on: a smaller one if time is short."""
    if not plan.deadline.is_bound or plan.grid.relearn is not None:
        return plan
    seconds = _SEARCH * plan.deadline.left / _MODELS_OF_A_SEARCH
    return shrunk(plan, seconds / set_up_seconds(plan))


def shrunk(plan: Plan, share: float) -> Plan:
    """Return a part of the plan that costs about this share of the whole."""
    if share >= 1.0:
        return plan
    n_rows, n_atoms = plan.sample.n_distinct, len(plan.grid.labels)
    # Inner products cost as much as the rows times the squared number of functions.
    cost = share * n_rows * n_atoms**2
    enough = int((cost / _ROWS_PER_ATOM) ** (1.0 / 3.0))
    m = min(n_atoms, max(_FEWEST_ATOMS, enough))
    n = min(n_rows, max(_FEWEST_ROWS, int(cost / m**2)))
    if n == n_rows and m == n_atoms:
        return plan
    plan.deadline.cut_short()
    rows = np.arange(len(plan.sample))
    if n < n_rows:
        rows = np.flatnonzero(plan.sample.lowest(n, _LEAST_OF_A_PART).weight)
    atoms = enough_atoms(plan, rows, m)
    return plan.some(rows, atoms, plan.folds.parts)


def rows_in_time(
    deadline: Deadline, X: Any, weight: np.ndarray, codes: np.ndarray | None
) -> np.ndarray:
    """Return the weights of rows, 0 for those that there is no time even to look at.

    Rows are told apart, drawn and dealt to folds by their contents, which takes several
    looks at each. Of every class, and of all rows, some are kept at equal distances in
    a random order.

    Parameters
    ----------
    deadline : Deadline
    X : array or CSR of shape (l, d)
    weight : ndarray of shape (l,)
    codes : ndarray of int of shape (l,) or None
        Class of each row.
    """
    used = np.flatnonzero(weight > 0)
    if not deadline.is_bound or len(used) <= _QUICK_ROWS:
        return weight
    some = used[:: max(1, len(used) // _LOOKED_AT_ROWS)]
    seconds, _ = _timed(lambda: exact_digests(X, some))
    share = _LOOKING * deadline.left * len(some) / (_LOOKS * seconds * len(used))
    n = max(_QUICK_ROWS, int(share * len(used)))
    if n >= len(used):
        return weight
    deadline.cut_short()
    order = np.random.default_rng(0).permutation(used)
    kept = np.zeros(len(weight), dtype=bool)
    kept[order[:n]] = True
    for code in range(0 if codes is None else int(codes.max()) + 1):
        assert codes is not None
        kept[order[codes[order] == code][:_LEAST_OF_A_CLASS]] = True
    return np.where(kept, weight, 0.0)


def sample_in_time(deadline: Deadline, sample: Sample) -> Sample:
    """Return the sample, of fewer rows if looking at them took much of the time.

    The plan of a fit looks at them about as often as was done before.
    """
    seconds = _LOOKS_OF_PLAN * deadline.spent
    allowed = _PLANNING * deadline.left
    if seconds <= allowed:
        return sample
    n = max(_QUICK_ROWS, int(sample.n_distinct * allowed / seconds))
    if n >= sample.n_distinct:
        return sample
    deadline.cut_short()
    return sample.lowest(n, _LEAST_OF_A_CLASS)


def without_unused(plan: Plan) -> Plan:
    """Return the plan without the rows of weight 0, if time left some of them out."""
    is_used = plan.sample.weight > 0
    if not plan.deadline.reason or plan.grid.relearn is not None or is_used.all():
        return plan
    atoms = np.arange(len(plan.grid.labels))
    return plan.some(np.flatnonzero(is_used), atoms, plan.folds.parts)


def holding_out_once(plan: Plan) -> Plan:
    """Return the plan whose size one held-out part chooses, along the final path.

    So it is where no time was left for the folds.
    """
    rule = plan.selection
    folds = plan.folds
    return replace(
        plan,
        selection=Validation(tolerance=rule.tolerance, scoring=rule.scoring),
        folds=Folds(
            folds.parts[:1], folds.weights[:1], folds.open_atoms[:1], folds.are_random
        ),
    )
