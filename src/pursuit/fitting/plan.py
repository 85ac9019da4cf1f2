"""The plan of a fit, with all names and defaults resolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit.bounds.paths import BoundRule
from pursuit.engine.problem import Judge, Problem, Steps
from pursuit.functions import Functions
from pursuit.losses import Loss
from pursuit.path import Path

from .engines import Engines
from .held_out import Sites
from .resources import Drawing, Resources
from .stopping import CV_PATIENCE, Patience


@dataclass(frozen=True, eq=False)
class Grid:
    """Widths and ridges to compare.

    Attributes
    ----------
    dictionaries : sequence of Functions
        One for each width, from wide to narrow.
    relearn : callable or None
        Makes the dictionaries again from the rows of positive weight, given the
        weights; None if the functions do not depend on the targets.
    first : sequence of int
        Indices of the widths that are compared first.
    alphas : sequence of float
        The ridges, in order.
    least_alpha : float
        How low a search may go where the lowest of them is the best.
    """

    dictionaries: Sequence[Functions]
    relearn: Callable[[np.ndarray], list[Functions]] | None
    first: Sequence[int]
    alphas: Sequence[float]
    least_alpha: float

    @property
    def has_choice(self) -> bool:
        """Whether there is anything to compare."""
        return len(self.dictionaries) * len(self.alphas) > 1

    @property
    def middle_alpha(self) -> float:
        """The ridge with which widths are compared first."""
        return self.alphas[len(self.alphas) // 2]

    def place(self, dictionary: Functions) -> int:
        """Return the index of a width."""
        return list(self.dictionaries).index(dictionary)

    def beside(self, dictionary: Functions) -> Sequence[Functions]:
        """Return a width with its neighbors."""
        at = self.place(dictionary)
        return self.dictionaries[max(0, at - 1) : at + 2]

    def without_targets(self, dictionary: Functions, weight: np.ndarray) -> Functions:
        """Return the dictionary, relearned without the targets of rows of weight 0."""
        if self.relearn is None:
            return dictionary
        return self.relearn(weight)[self.place(dictionary)]

    def some(self, atoms: np.ndarray) -> Grid:
        """Return the grid with some of the functions only."""
        return replace(self, dictionaries=[d[atoms] for d in self.dictionaries])


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of the data, and the atoms on them.

    Attributes
    ----------
    sites : Sites
        Sets of equal rows on which the atoms are centered.
    copies : ndarray of shape (l,)
        How many rows each row stands for: its weight without that of its class.
    turns : ndarray of int of shape (l,)
        Random priority of each row, used when only a subsample is needed; equal rows
        share one, -1 for rows of weight 0.
    labels : ndarray of int
        Label of each atom on a path: its training row if all these differ, else its
        position in the dictionary.
    """

    sites: Sites
    copies: np.ndarray
    turns: np.ndarray
    labels: np.ndarray

    def some(self, rows: np.ndarray, atoms: np.ndarray) -> Rows:
        """Return some of the rows, with some of the atoms."""
        return Rows(
            sites=Sites(self.sites.of_rows[rows], self.sites.of_atoms[atoms]),
            copies=self.copies[rows],
            turns=self.turns[rows],
            labels=self.labels[atoms],
        )

    def path_of(self, pursuit: Steps) -> Path:
        """Return a pursuit's path so far, with labeled atoms."""
        path = pursuit.path()
        return replace(path, atoms=self.labels[path.atoms])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Rows to hold out, and how they are judged.

    Attributes
    ----------
    folds : list of arrays
        Held-out rows of each fold, as in :func:`.without`; a single fold for one
        held-out part.
    is_random : bool
        Whether these are random parts, which are interchangeable.
    score : callable or None
        Score of held-out rows, used instead of the loss.
    """

    folds: list[np.ndarray]
    is_random: bool
    score: Judge | None

    def some(self, rows: np.ndarray) -> HeldOut:
        """Return what is held out of some rows."""
        score = None if self.score is None else _score_of(self.score, rows)
        folds = [fold[rows] for fold in self.folds]
        return replace(self, folds=folds, score=score)


def _score_of(score: Judge, rows: np.ndarray) -> Judge:
    """Return the score of some rows, addressed by their positions among them."""
    return lambda places, values, weight: score(rows[places], values, weight)


@dataclass(frozen=True, eq=False)
class SizeRule:
    """How the size is chosen.

    Attributes
    ----------
    selection : {"cv", "validation", "loo", "bound", None}
    tolerance : float or "1se"
        As in :meth:`.Curve.best`.
    patience : Patience
        When "validation", "loo" and "bound" stop.
    bound : BoundRule
        Bound that "bound" minimizes.
    """

    selection: str | None
    tolerance: float | str
    patience: Patience
    bound: BoundRule

    def patience_of_search(self, max_steps: int) -> Patience:
        """Return when the paths that are compared stop.

        A model of all steps is compared by paths of all steps, and a held-out part
        chooses the size by these paths.
        """
        if self.selection is None:
            return Patience(steps=max_steps + 1)
        return self.patience if self.selection == "validation" else CV_PATIENCE


@dataclass(frozen=True, eq=False)
class StepRule:
    """How a pursuit steps: as in :class:`.Problem`."""

    method: str
    loss: Loss
    backfit_every: int
    fit_intercept: bool
    tol: float
    max_steps: int


@dataclass(frozen=True, eq=False)
class Plan:
    """The resolved settings of a fit.

    Attributes
    ----------
    grid : Grid
        Widths and ridges.
    rows : Rows
    held_out : HeldOut
    size : SizeRule
    steps : StepRule
    drawing : Drawing or None
        Candidates drawn anew at each step, if there are such.
    resources : Resources
    is_class : bool
        Whether the targets encode classes.
    is_shared : bool
        Whether all outputs share one support.
    """

    grid: Grid
    rows: Rows
    held_out: HeldOut
    size: SizeRule
    steps: StepRule
    drawing: Drawing | None
    resources: Resources
    is_class: bool
    is_shared: bool

    @property
    def engines(self) -> Engines:
        """The choice of engines."""
        return Engines(self.resources, self.drawing)

    @property
    def patience_of_search(self) -> Patience:
        """When the paths that are compared stop."""
        return self.size.patience_of_search(self.steps.max_steps)

    def problems(self, Y: np.ndarray, weight: np.ndarray) -> list[Problem]:
        """Return one problem for all targets ``Y`` (T, l), or one for each."""
        parts = [Y] if self.is_shared else [Y[t : t + 1] for t in range(len(Y))]
        shared: dict[str, Any] = {
            "weight": weight,
            "held_out": np.zeros(len(weight)),
            "candidates": np.ones(len(self.rows.labels), dtype=bool),
            "alpha": self.grid.alphas[0],
            "judge": self.held_out.score,
            **vars(self.steps),
        }
        return [Problem(Y=part, **shared) for part in parts]
