"""Run several pursuits together; those over the same atoms share each pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from pursuit._deadline import check, reason_to_stop
from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._limits import return_freed_memory
from pursuit._threads import one_blas_thread

from ._loops import SMALLEST
from .atoms import Atoms
from .problem import Steps

# Why pursuits end before their time.
CUT_OFF = ("interrupted", "callback", "time")

# Number of operations of each, from which on pursuits propose in threads.
_MUCH_WORK = 1e6

_VALUES = (
    "The functions of the dictionary (kernels on training points, columns, features …) "
    "have values"
)
_SCALE = (
    "scale the features, for instance with StandardScaler, or the matrix that was "
    "computed beforehand."
)


def run(
    pursuits: Sequence[Steps],
    watch: Callable[[Sequence[Steps]], None] | None = None,
) -> None:
    """Run pursuits to their ends; those over the same atoms share each pass.

    An interrupt (Ctrl-C) or the end of a time ends them: the steps taken so far are
    kept, and ``stop_reason`` is one of `CUT_OFF`. A second interrupt within two seconds
    is meant for the calling code, such as a grid search, and is raised.

    Parameters
    ----------
    pursuits : sequence of Steps
    watch : callable, optional
        Called after every round; may set a pursuit's ``stop_reason``.
    """
    return_freed_memory()
    try:
        with one_blas_thread(), single_interrupts():
            _run(pursuits, watch or (lambda _: None))
    except Interrupted:
        for p in pursuits:
            p.stop_reason = p.stop_reason or reason_to_stop()


def _run(pursuits: Sequence[Steps], watch: Callable[[Sequence[Steps]], None]) -> None:
    teams = _by_atoms([p for p in pursuits if p.stop_reason is None])
    norms = [_initial_norms(team[0].atoms, team) for team in teams]
    while teams:
        wanted = _proposals([p for team in teams for p in team])
        for team, known in zip(teams, norms, strict=True):
            _advance(team, [next(wanted) for _ in team], known)
        watch(pursuits)
        check()
        teams = [[p for p in team if p.stop_reason is None] for team in teams]
        teams = [team for team in teams if team]
        # Only the first round needs them.
        norms = [{} for _ in teams]


def _proposals(pursuits: Sequence[Steps]) -> Iterator[np.ndarray]:
    """Return the vectors whose correlations each of the pursuits needs."""
    # For little work, switching threads costs more than it saves.
    is_much = sum(p.work for p in pursuits) > _MUCH_WORK * len(pursuits)
    propose_each = pursuits[0].atoms.pool.each if is_much else map
    return iter(list(propose_each(lambda p: p.propose(), pursuits)))


def _by_atoms(pursuits: Sequence[Steps]) -> list[list[Steps]]:
    """Return the pursuits over the same atoms as lists."""
    teams: dict[int, list[Steps]] = {}
    for p in pursuits:
        teams.setdefault(id(p.atoms), []).append(p)
    return list(teams.values())


def _advance(
    team: Sequence[Steps], wanted: Sequence[np.ndarray], norms: dict[int, np.ndarray]
) -> None:
    """Take pursuits over the same atoms a round further, with one pass."""
    vectors = np.concatenate(wanted)
    answers = team[0].atoms.correlate(vectors) if len(vectors) else vectors
    start = 0
    for p, some in zip(team, wanted, strict=True):
        known = norms.get(p.problem.weighting) if p.needs_norms else None
        p.advance(answers[start : start + len(some)], known)
        start += len(some)


def _initial_norms(atoms: Atoms, pursuits: Sequence[Steps]) -> dict[int, np.ndarray]:
    """Return the squared norms of all atoms under each weighting, by its key.

    The image of the atoms is made in the same pass.
    """
    pursuits = [p for p in pursuits if p.needs_norms]
    weights = {p.problem.weighting: p.problem.weight for p in pursuits}
    if not weights:
        return {}
    for p in pursuits:
        if not np.array_equal(p.problem.weight, weights[p.problem.weighting]):
            raise ValueError(f"Two weights have the key {p.problem.weighting}.")
    needs_image = any(p.needs_image for p in pursuits)
    norms = atoms.squared_norms(np.array(list(weights.values())), needs_image)
    if not np.isfinite(norms).all():
        raise ValueError(f"{_VALUES} too large to be squared, beyond 1e150: {_SCALE}")
    if norms.max() < SMALLEST and atoms.values(np.arange(min(atoms.n_atoms, 8))).any():
        raise ValueError(f"{_VALUES} too small to be squared, below 1e-145: {_SCALE}")
    return dict(zip(weights, norms, strict=True))
