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

from .held_out import Sites
from .stopping import CV_PATIENCE, Patience


@dataclass(frozen=True, eq=False)
class Plan:
    """The resolved settings of a fit.

    Attributes
    ----------
    dictionaries : sequence of Functions
        One for each width that may be compared, from wide to narrow.
    relearn : callable or None
        Makes the dictionaries again from the rows of positive weight, given the
        weights; None if the functions do not depend on the targets.
    first_widths : sequence of int
        Indices of the widths that are compared first.
    alphas : sequence of float
        The ridges to compare, in order.
    least_alpha : float
        How low a search may go where the lowest of them is the best.
    sites : Sites
        Sets of equal rows on which the atoms are centered.
    copies : ndarray of shape (l,)
        How many rows each row stands for: its weight without that of its class.
    labels : ndarray of int
        Label of each atom on a path: its training row if all these differ, else its
        position in the dictionary.
    turns : ndarray of int of shape (l,)
        Random priority of each row, used when only a subsample is needed; equal rows
        share one, -1 for rows of weight 0.
    folds : list of arrays
        Held-out rows of each fold, as in :func:`.without`; a single fold for one
        held-out part.
    has_own_folds : bool
        Whether these are random parts, which are interchangeable.
    selection : {"cv", "validation", "loo", "bound", None}
    tolerance : float or "1se"
        As in :meth:`.Curve.best`.
    patience : Patience
        When "validation", "loo" and "bound" stop.
    bound : BoundRule
        Bound that "bound" minimizes.
    loss : Loss
    score : callable or None
        Score of held-out rows, used instead of the loss.
    method, backfit_every, fit_intercept, tol
        As in :class:`.Problem`.
    max_steps : int
    is_class : bool
        Whether the targets encode classes.
    is_shared : bool
        Whether all outputs share one support.
    n_redrawn : int or None
        Number of candidates drawn anew at each step.
    seed : int
        Seed of these draws.
    memory : int
        Bytes that the fit may use.
    dtype : float64 or float32
        Type of stored kernel values.
    n_jobs : int or None
    verbose : int or bool
    """

    dictionaries: Sequence[Functions]
    relearn: Callable[[np.ndarray], list[Functions]] | None
    first_widths: Sequence[int]
    alphas: Sequence[float]
    least_alpha: float
    sites: Sites
    copies: np.ndarray
    labels: np.ndarray
    turns: np.ndarray
    folds: list[np.ndarray]
    has_own_folds: bool
    selection: str | None
    tolerance: float | str
    patience: Patience
    bound: BoundRule
    loss: Loss
    score: Judge | None
    method: str
    backfit_every: int
    fit_intercept: bool
    tol: float
    max_steps: int
    is_class: bool
    is_shared: bool
    n_redrawn: int | None
    seed: int
    memory: int
    dtype: Any
    n_jobs: int | None
    verbose: int | bool

    @property
    def patience_of_search(self) -> Patience:
        """When the paths that are compared stop.

        A model of all steps is compared by paths of all steps, and a held-out part
        chooses the size by these paths.
        """
        if self.selection is None:
            return Patience(steps=self.max_steps + 1)
        return self.patience if self.selection == "validation" else CV_PATIENCE

    @property
    def has_choice(self) -> bool:
        """Whether there are widths or ridges to compare."""
        return len(self.dictionaries) * len(self.alphas) > 1

    def problems(self, Y: np.ndarray, weight: np.ndarray) -> list[Problem]:
        """Return one problem for all targets ``Y`` (T, l), or one for each."""
        parts = [Y] if self.is_shared else [Y[t : t + 1] for t in range(len(Y))]
        return [
            Problem(
                Y=part,
                weight=weight,
                held_out=np.zeros(len(weight)),
                candidates=np.ones(len(self.labels), dtype=bool),
                method=self.method,
                alpha=self.alphas[0],
                fit_intercept=self.fit_intercept,
                max_steps=self.max_steps,
                tol=self.tol,
                loss=self.loss,
                backfit_every=self.backfit_every,
                judge=self.score,
            )
            for part in parts
        ]

    def without_targets(self, dictionary: Functions, weight: np.ndarray) -> Functions:
        """Return the dictionary, relearned without the targets of rows of weight 0."""
        if self.relearn is None:
            return dictionary
        return self.relearn(weight)[list(self.dictionaries).index(dictionary)]

    def path_of(self, pursuit: Steps) -> Path:
        """Return a pursuit's path so far, with labeled atoms."""
        path = pursuit.path()
        return replace(path, atoms=self.labels[path.atoms])
