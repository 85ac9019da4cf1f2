"""The plan of a fit: its data and all settings, with names and defaults resolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol, Self

import numpy as np

from pursuit._deadline import Deadline
from pursuit.engine.problem import Problem, Steps
from pursuit.functions import Functions
from pursuit.kernels import Kernel
from pursuit.path import Path
from pursuit.sample import Sample
from pursuit.selection import Selection

from .curves import CV_PATIENCE, LEARNING_PATIENCE, Patience
from .engines import Engines
from .folds import Folds
from .trials import Trial

# Widths, by their index, and the ridges to compare at each.
Pairs = list[tuple[int, list[float]]]


class Score(Protocol):
    """The score of held-out rows, used instead of the loss; lower is better."""

    def __call__(
        self, rows: np.ndarray, values: np.ndarray, weight: np.ndarray
    ) -> float:
        """Return the score of the model with values (T, n) on these rows."""

    def some(self, rows: np.ndarray) -> Self:
        """Return the score of a part of the rows, which are numbered anew."""


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
    alphas : sequence of float
        The ridges, in order.
    least_alpha : float
        How low a search may go where the lowest of them is the best.
    rows : ndarray of int of shape (M,)
        Row of the sample on which each function is centered, -1 for none.
    atom_sets : ndarray of int of shape (M,)
        Set of equal rows on which each function is centered, -1 for none.
    labels : ndarray of int of shape (M,)
        Label of each function on a path: its training row if all these differ, else
        its position in the dictionary.
    clear : float
        By which share of the error a smaller ridge must be better to be chosen.
    pairs : list of (int, list of float) or None
        Dictionaries, by their index, with the ridges to compare, if these are known
        beforehand; None to search from the middle outward.
    """

    dictionaries: Sequence[Functions]
    relearn: Callable[[np.ndarray], list[Functions]] | None
    alphas: Sequence[float]
    least_alpha: float
    rows: np.ndarray
    atom_sets: np.ndarray
    labels: np.ndarray
    clear: float = 0.0
    pairs: Pairs | None = None

    @property
    def has_choice(self) -> bool:
        """Whether there is anything to compare."""
        return len(self.dictionaries) * len(self.alphas) > 1

    @property
    def middle_alpha(self) -> float:
        """The ridge with which a search begins."""
        return self.alphas[len(self.alphas) // 2]

    def without_targets(self, width: int, weight: np.ndarray) -> Functions:
        """Return a dictionary, learned without the targets of rows of weight 0."""
        if self.relearn is None:
            return self.dictionaries[width]
        return self.relearn(weight)[width]

    def some(self, atoms: np.ndarray, rows: np.ndarray) -> Grid:
        """Return the grid with some of the functions, for some rows of the sample."""
        at = self.rows[atoms]
        place = np.full(max(rows.max(initial=-1), at.max(initial=-1)) + 2, -1)
        place[rows] = np.arange(len(rows))
        return replace(
            self,
            rows=place[at],  # the last place, -1, is for none
            dictionaries=[d[atoms] for d in self.dictionaries],
            atom_sets=self.atom_sets[atoms],
            labels=self.labels[atoms],
        )


def middle_widths(n: int) -> range:
    """Return the indices of the three of ``n`` widths with which a search begins."""
    middle = (n - 1) // 2
    return range(max(0, middle - 1), min(n, middle + 2))


@dataclass(frozen=True, eq=False)
class Learning:
    """What of the kernel is learned.

    Attributes
    ----------
    families : sequence of Kernel
        Kernels to compare, whose widths are chosen.
    factor : ndarray of shape (d,) or (d, r), or None
        Metric to begin with, as the ``factor`` of :class:`.InMetric`.
    chains : sequence of (int, str)
        Families, by their index, and shapes of the metrics to learn for them.
    may_stay : bool
        Whether the metric to begin with is compared with the learned ones.
    n_rounds : int
        Maximum number of rounds of a chain.
    alphas : list of float
        Ridges to compare, for the squared loss.
    ridge_of_loss : float
        How many times larger the ridges of the model's loss are.
    """

    families: Sequence[Kernel]
    factor: np.ndarray | None
    chains: Sequence[tuple[int, str]]
    may_stay: bool
    n_rounds: int
    alphas: list[float]
    ridge_of_loss: float


@dataclass(frozen=True, eq=False)
class Plan:
    """The data and the resolved settings of a fit.

    Attributes
    ----------
    sample : Sample
    grid : Grid
        Widths and ridges.
    template : Problem
        The problem of all outputs on all rows, without a ridge: :meth:`problems` adds
        it.
    folds : Folds
        Rows to hold out; a single fold for one held-out part.
    selection : Selection
        How the size is chosen.
    score : Score or None
        Score of held-out rows, used instead of the loss.
    engines : Engines
    is_shared : bool
        Whether all outputs share one support.
    learning : Learning or None
        What of the kernel is to be learned first.
    tried : sequence of Trial
        What was compared before the search.
    is_cut_short : bool
        Whether that was interrupted, or its time was over.
    deadline : Deadline
        When the fit has to end.
    least_steps : int
        Length that the final path may have even if a search finds it too long.
    """

    sample: Sample
    grid: Grid
    template: Problem
    folds: Folds
    selection: Selection
    score: Score | None
    engines: Engines
    is_shared: bool
    learning: Learning | None = None
    tried: Sequence[Trial] = ()
    is_cut_short: bool = False
    deadline: Deadline = field(default_factory=Deadline)
    least_steps: int = 0

    @property
    def has_search(self) -> bool:
        """Whether a kernel is learned, or held-out rows are compared, first."""
        has_choice = self.grid.has_choice or self.learning is not None
        return len(self.folds) > 0 and (self.selection.word == "cv" or has_choice)

    @property
    def chooses_size_on_path(self) -> bool:
        """Whether the errors along the final path choose the size."""
        return self.selection.word in ("loo", "bound") or self.holds_out_of_model

    @property
    def holds_out_of_model(self) -> bool:
        """Whether the final model leaves out the held-out part."""
        return self.selection.word == "validation" and len(self.folds) > 0

    @property
    def patience(self) -> Patience:
        """When the final path stops, if errors along it choose the size."""
        n = self.selection.patience
        return CV_PATIENCE if n is None else Patience(int(n))

    @property
    def patience_of_search(self) -> Patience:
        """When the paths that are compared stop.

        A model of all steps is compared by paths of all steps, and a held-out part
        chooses the size by these paths.
        """
        if self.selection.word is None:
            return Patience(steps=self.template.max_steps + 1)
        if self.selection.word == "validation":
            return self.patience
        return CV_PATIENCE if self.learning is None else LEARNING_PATIENCE

    def problems(self, alpha: float, max_steps: int | None = None) -> list[Problem]:
        """Return the problem of all outputs, or one for each, with this ridge."""
        p = self.template
        whole = replace(p, alpha=alpha, max_steps=max_steps or p.max_steps)
        if self.is_shared:
            return [whole]
        return [replace(whole, Y=p.Y[t : t + 1]) for t in range(len(p.Y))]

    def path_of(self, pursuit: Steps) -> Path:
        """Return a pursuit's path so far, with labeled atoms."""
        path = pursuit.path()
        return replace(path, atoms=self.grid.labels[path.atoms])

    def holding_out(self, parts: Sequence[np.ndarray], are_random: bool = True) -> Plan:
        """Return the plan with folds that hold out these parts."""
        weight, sets = self.sample.weight, self.sample.sets
        folds = Folds.of(parts, weight, sets, self.grid.atom_sets, are_random)
        return replace(self, folds=folds)

    def some(
        self, rows: np.ndarray, atoms: np.ndarray, parts: Sequence[np.ndarray]
    ) -> Plan:
        """Return the plan for some rows, atoms and folds."""
        sample, grid = self.sample.some(rows), self.grid.some(atoms, rows)
        part = replace(
            self,
            sample=sample,
            grid=grid,
            template=replace(
                self.template,
                Y=sample.Y,
                weight=sample.weight,
                held_out=self.template.held_out[rows],
                candidates=self.template.candidates[atoms],
                groups=sample.groups,
                loss=sample.bound(self.template.loss),
            ),
            score=None if self.score is None else self.score.some(rows),
        )
        return part.holding_out([p[rows] for p in parts], self.folds.are_random)
