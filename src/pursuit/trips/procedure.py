"""From sums of inner products to paths, and a size on each.

A pursuit by inner products only needs the sums of the targets and of their squares: two
rows that have these stand for all rows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit.engine.atoms import Atoms
from pursuit.engine.gram_pursuit import LEAST_RIDGE
from pursuit.engine.moments import MomentPursuit, Moments, Products
from pursuit.engine.problem import Problem, Steps
from pursuit.engine.running import run
from pursuit.fitting.curves import Curve, HeldOutError, Patience
from pursuit.path import OrthogonalPath

from .summing import Summed


@dataclass(frozen=True, eq=False)
class Choices:
    """How to pursue.

    Attributes
    ----------
    method : str
    alpha : float
    fit_intercept : bool
    max_steps : int
    tol : float
    patience : Patience
        When a path ends, if held-out rows choose the size.
    tolerance : float or "1se"
        By which share of the error a smaller model may be worse.
    outputs_of_paths : list of slice
        The outputs that each path fits.
    """

    method: str
    alpha: float
    fit_intercept: bool
    max_steps: int
    tol: float
    patience: Patience
    tolerance: float | str
    outputs_of_paths: list[slice]


@dataclass(frozen=True, eq=False)
class Pursued:
    """Paths, a size on each, and what held-out rows say of them."""

    paths: list[OrthogonalPath]
    sizes: list[int]
    held_out: HeldOutError | None


def least_alpha(summed: Summed) -> float:
    """Return the smallest ridge with which sums of products keep enough digits."""
    squares = summed.fitted.atoms.diagonal()
    return LEAST_RIDGE * float(squares.max(initial=0.0))


def pursue(summed: Summed, shift: np.ndarray, choices: Choices) -> Pursued:
    """Return the paths that the sums of inner products determine.

    Parameters
    ----------
    summed : Summed
    shift : ndarray of shape (T,)
        Numbers that were subtracted from the targets.
    choices : Choices
    """
    fitted = summed.fitted.products()
    held_out = _nothing(fitted)
    if summed.held_out is not None:
        held_out = summed.held_out.products()
    problem = _problem(fitted, choices)
    if choices.fit_intercept:
        means = problem.means
        fitted, held_out = fitted.minus(means), held_out.minus(means)
    atoms, moments = _SummedAtoms(fitted), Moments(fitted, held_out)
    places = choices.outputs_of_paths
    problems = [replace(problem, Y=problem.Y[place]) for place in places]
    steps = [
        MomentPursuit(atoms, p, moments, place)
        for p, place in zip(problems, places, strict=True)
    ]
    chooses = held_out.total > 0

    def watch(pursuits: Sequence[Steps]) -> None:
        for p in pursuits:
            errors = p.errors[: p.n_steps + 1, 1]
            if p.stop_reason is None and choices.patience.length(errors) < len(errors):
                p.stop_reason = "patience"

    run(steps, watch if chooses else None)
    if any(p.stop_reason == "interrupted" for p in steps):
        raise KeyboardInterrupt
    paths = [
        _shifted(_ended(p), shift[place])
        for p, place in zip(steps, places, strict=True)
    ]
    if not chooses:
        return Pursued(paths, [len(path) for path in paths], None)
    curves = [_curve(p, held_out.total, choices.patience) for p in steps]
    sizes = [curve.best(choices.tolerance) for curve in curves]
    ends = [len(curve.mean) - 1 for curve in curves]
    paths = [
        path if n == len(path) else replace(path.truncate(n), stop_reason="patience")
        for path, n in zip(paths, ends, strict=True)
    ]
    return Pursued(paths, sizes, HeldOutError.of(curves, sizes, has_folds=False))


def _curve(p: Steps, total: float, patience: Patience) -> Curve:
    errors = p.errors[: p.n_steps + 1, 1] / total
    seen = patience.length(errors)
    return Curve(errors[:seen], np.zeros(seen))


def _ended(p: Steps) -> OrthogonalPath:
    path = p.path()
    assert isinstance(path, OrthogonalPath)
    n_candidates = np.count_nonzero(p.problem.candidates)
    if path.stop_reason == "max_support" and len(path) == n_candidates:
        return replace(path, stop_reason="complete")
    return path


def _shifted(path: OrthogonalPath, shift: np.ndarray) -> OrthogonalPath:
    """Return the path for targets that are larger by a number (T,)."""
    if not path.has_intercept:
        return path
    loads = path.loads.copy()
    loads[0] += path.triangle[0, 0] * shift
    assert path.means is not None
    return replace(path, loads=loads, means=path.means + shift)


def _problem(fitted: Products, choices: Choices) -> Problem:
    """Return the problem of two rows with the sums of all."""
    mean = fitted.sums / fitted.total
    spread = np.sqrt(np.maximum(fitted.targets / fitted.total - mean**2, 0.0))
    n_atoms = len(fitted.atoms)
    return Problem(
        Y=np.stack([mean - spread, mean + spread], axis=1),
        weight=np.full(2, 0.5 * fitted.total),
        held_out=np.zeros(2),
        candidates=np.ones(n_atoms, dtype=bool),
        method=choices.method,
        alpha=choices.alpha,
        fit_intercept=choices.fit_intercept,
        max_steps=min(choices.max_steps, n_atoms),
        tol=choices.tol,
    )


def _nothing(products: Products) -> Products:
    """Return the products on no rows; those of atoms are not looked at."""
    zeros = {
        name: np.zeros_like(getattr(products, name))
        for name in ("with_targets", "with_constant", "targets", "sums")
    }
    return replace(products, total=0.0, **zeros)


class _SummedAtoms(Atoms):
    """Atoms of which only the inner products are known."""

    def __init__(self, products: Products) -> None:
        super().__init__(len(products.atoms), 2, None)

    def values(self, index: np.ndarray) -> np.ndarray:
        raise NotImplementedError("Sums over rows do not tell values on them.")

    def change(self, change: Callable[[np.ndarray], None]) -> None:
        raise NotImplementedError("Sums over rows do not tell values on them.")

    def _blocks(self) -> Iterator[tuple[slice, np.ndarray]]:
        raise NotImplementedError("Sums over rows do not tell values on them.")

    def deviations(self, index: np.ndarray, weight: Any) -> np.ndarray:
        """Return 0: what is lost in the sums counts as constant."""
        return np.zeros(len(index))
