"""Run several pursuits over one dictionary, sharing each pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._limits import return_freed_memory
from pursuit._threads import one_blas_thread

from ._loops import SMALLEST
from .atoms import Atoms
from .problem import Steps

# Number of operations from which on pursuits propose in threads.
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
    atoms: Atoms,
    pursuits: Sequence[Steps],
    watch: Callable[[Sequence[Steps]], None] | None = None,
) -> None:
    """Run pursuits over one dictionary to their ends, sharing each pass.

    An interrupt (Ctrl-C) ends them: the steps taken so far are kept, and
    ``stop_reason`` is "interrupted". A second one within two seconds is meant for the
    calling code, such as a grid search, and is raised.

    Parameters
    ----------
    atoms : Atoms
    pursuits : sequence of Steps
    watch : callable, optional
        Called after every round; may set a pursuit's ``stop_reason``.
    """
    return_freed_memory()
    try:
        with one_blas_thread(), single_interrupts():
            _run(atoms, pursuits, watch or (lambda _: None))
    except Interrupted:
        for p in pursuits:
            p.stop_reason = p.stop_reason or "interrupted"


def _run(
    atoms: Atoms,
    pursuits: Sequence[Steps],
    watch: Callable[[Sequence[Steps]], None],
) -> None:
    active = [p for p in pursuits if p.stop_reason is None]
    norms = _initial_norms(atoms, active)
    while active:
        # For little work, switching threads costs more than it saves.
        propose_each = atoms.pool.each if active[0].work > _MUCH_WORK else map
        wanted = list(propose_each(lambda p: p.propose(), active))
        vectors = np.concatenate(wanted)
        answers = atoms.correlate(vectors) if len(vectors) else vectors
        start = 0
        for p, some in zip(active, wanted, strict=True):
            known = norms.get(p.problem.weighting) if p.needs_norms else None
            p.advance(answers[start : start + len(some)], known)
            start += len(some)
        # Only the first round needs them.
        norms = {}
        watch(pursuits)
        active = [p for p in active if p.stop_reason is None]


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
