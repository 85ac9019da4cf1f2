"""Models that never saw some rows, and what these rows say of them.

The folds of a search leave one such model each, of every size; a model that holds out a
part of its own rows is one itself. From their errors on the rows that they never saw
come intervals, prediction sets and calibrated probabilities, without another fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from pursuit.expansions import Expansion, values_of
from pursuit.functions import Functions
from pursuit.leverage import Leverage
from pursuit.path import OrthogonalPath, Path, RefittedPath, SeparatePaths, join

from .plan import Plan
from .trials import Trial

# Bytes that the paths of all folds may keep; the largest sizes go first.
_PATH_BYTES = 256 << 20
# Bytes of function values on the rows that were never seen, of all folds. If there are
# more, only some of the rows are kept: of all folds together at least so many.
_VALUE_BYTES = 16 << 20
_LEAST_ROWS = 1000


@dataclass(frozen=True, eq=False)
class FoldModel:
    """A model of one size that never saw some rows.

    Attributes
    ----------
    expansion : Expansion
    leverage : Leverage or None
        None where the steps did not optimize all coefficients under squared loss.
    own : ndarray of shape (n, n_functions)
        Values of its functions on these rows.
    Y : ndarray of shape (n, T)
        The targets of these rows, as fitted.
    weight : ndarray of shape (n,)
        How many rows each of them stands for.
    """

    expansion: Expansion
    leverage: Leverage | None
    own: np.ndarray
    Y: np.ndarray
    weight: np.ndarray

    @cached_property
    def values(self) -> np.ndarray:
        """Its values on these rows, (n, T)."""
        return self.own @ self.expansion.coef.T + self.expansion.intercept

    @cached_property
    def leverages(self) -> np.ndarray:
        """Its leverages there, (n,); zeros if it has none."""
        if self.leverage is None:
            return np.zeros(len(self.own))
        return self.leverage.of_values(self.own)


@dataclass(frozen=True, eq=False)
class FoldPath:
    """The models of all sizes that never saw some rows.

    Attributes
    ----------
    path : Path or SeparatePaths
    functions : Functions
        Those of ``path.support``.
    values : ndarray of shape (n, n_functions)
        Their values on the rows that were never seen.
    Y : ndarray of shape (n, T)
        The targets of these rows, as fitted.
    weight : ndarray of shape (n,)
        How many rows each of them stands for.
    longest : tuple of int
        The largest size known of each path. A path may be shorter if there was nothing
        more to add: its last model then serves.
    is_optimal : bool
        Whether each step optimized all coefficients.
    """

    path: Path | SeparatePaths
    functions: Functions
    values: np.ndarray
    Y: np.ndarray
    weight: np.ndarray
    longest: tuple[int, ...]
    is_optimal: bool

    def knows(self, sizes: Sequence[int]) -> bool:
        """Return whether the models of these sizes, one for each path, are known."""
        return all(n <= m for n, m in zip(sizes, self.longest, strict=True))

    def at(self, sizes: Sequence[int]) -> FoldModel:
        """Return the model of these sizes, one for each path."""
        sizes = self._within(sizes)
        support, coef, intercept = self.path.coefficients(sizes)
        places = self._places(support)
        functions, leverage = self.functions[places], None
        if self.is_optimal and isinstance(self.path, OrthogonalPath):
            leverage = Leverage.at(self.path, sizes[0], functions)
        return FoldModel(
            expansion=Expansion(functions, coef, intercept),
            leverage=leverage,
            own=self.values[:, places],
            Y=self.Y,
            weight=self.weight,
        )

    def truncate(self, sizes: Sequence[int]) -> FoldPath:
        """Return the models up to these sizes, with only what they need."""
        path = self.path.truncate(self._within(sizes))
        places = self._places(path.support)
        return replace(
            self,
            path=path,
            functions=self.functions[places],
            values=self.values[:, places],
            longest=tuple(map(min, sizes, self.longest)),
        )

    def _within(self, sizes: Sequence[int]) -> list[int]:
        return [min(n, len(p)) for n, p in zip(sizes, self.path.paths, strict=True)]

    def _places(self, support: np.ndarray) -> np.ndarray:
        place = {int(atom): j for j, atom in enumerate(self.path.support)}
        return np.array([place[int(atom)] for atom in support], dtype=np.intp)


def known_at(folds: Sequence[FoldPath], sizes: Sequence[int]) -> bool:
    """Return whether there are folds, and all know the models of these sizes."""
    return bool(folds) and all(fold.knows(sizes) for fold in folds)


# -- from a fit ----------------------------------------------------------------------


def folds_of_trial(plan: Plan, trial: Trial) -> list[FoldPath]:
    """Return what a trial has left of its folds, on the plan that it was made for."""
    made = zip(*(curve.paths for curve in trial.curves), strict=True)
    longest = [len(curve.mean) - 1 for curve in trial.curves]
    return [
        fold_of_paths(
            plan,
            f,
            plan.grid.without_targets(trial.width, weight),
            [path() for path in paths],
            longest,
        )
        for f, (weight, paths) in enumerate(zip(plan.folds.weights, made, strict=False))
    ]


def fold_of_paths(
    plan: Plan,
    fold: int,
    dictionary: Functions,
    paths: Sequence[Path],
    longest: Sequence[int],
) -> FoldPath:
    """Return the models on the paths of a fold.

    Parameters
    ----------
    plan : Plan
    fold : int
        Which part of the rows they never saw.
    dictionary : Functions
        From which its pursuits chose.
    paths : sequence of Path
        Of atoms as the dictionary numbers them.
    longest : sequence of int
        The largest size of each path that counts.
    """
    sample, folds, problem = plan.sample, plan.folds, plan.template
    kept = _affordable(paths, longest, len(folds))
    path = join([p.truncate(min(n, len(p))) for p, n in zip(paths, kept, strict=True)])
    functions = dictionary[path.support]
    held_out = sample.counts * np.maximum(folds.parts[fold], 0.0) * (sample.weight > 0)
    rows = np.flatnonzero(held_out)
    most = max(_LEAST_ROWS, _VALUE_BYTES // (8 * max(1, len(functions))))
    most = max(1, most // len(folds))
    first = np.argsort(sample.priority[rows], kind="stable")[:most]
    rows = rows[np.sort(first)]
    values = np.empty((len(rows), 0))
    if len(functions):
        values = values_of(functions, sample.X[rows])
    return FoldPath(
        path=path,
        functions=functions,
        values=values,
        Y=sample.Y[:, rows].T,
        weight=held_out[rows],
        longest=tuple(kept),
        is_optimal=problem.is_orthogonal and problem.loss.has_closed_form,
    )


def _affordable(
    paths: Sequence[Path], longest: Sequence[int], n_folds: int
) -> list[int]:
    """Return the largest sizes that may be kept, of one fold of several."""
    numbers = _PATH_BYTES / 8 / n_folds / len(paths)
    kept = []
    for path, n in zip(paths, longest, strict=True):
        # A triangle, or the coefficients at all sizes.
        squares = 0.5 * path.n_outputs if isinstance(path, RefittedPath) else 1.0
        kept.append(min(n, int(np.sqrt(numbers / squares))))
    return kept
