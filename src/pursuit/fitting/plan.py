"""What a fit was asked to do, with every name and default resolved."""

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
from .stopping import Patience


@dataclass(frozen=True, eq=False)
class Plan:
    """What a fit was asked to do.

    Attributes
    ----------
    dictionaries : sequence of Functions
        One for each width that may be compared, from wide to narrow.
    relearn : callable or None
        Where the functions depend on the targets: makes the dictionaries from the
        rows of positive weight, given the weights.
    first_widths : sequence of int
        Which of them are compared first.
    alphas : sequence of float
        The ridges to compare, in order.
    least_alpha : float
        How low a search may go where the lowest of them is the best.
    sites : Sites
        Where the atoms are centred.
    labels : ndarray of int
        The number by which a path knows each atom: its training row, where each has
        a row of its own, or else its place in the dictionary.
    turns : ndarray of int of shape (l,)
        When each row's turn is, where only some serve: as good as random, equal rows
        at once, -1 for rows that are as if absent.
    folds : list of arrays
        Where each fold holds rows out, as in :func:`.without`; one
        only for a single held-out part.
    has_own_folds : bool
        Whether these are random parts, any of which is as good as another.
    selection : {"cv", "validation", "loo", "bound", None}
    tolerance : float or "1se"
        As in :meth:`.Curve.best`.
    patience : Patience
        When "validation", "loo" and "bound" give up.
    bound : BoundRule
        What "bound" lowers.
    loss : Loss
    score : callable or None
        Judges held-out rows instead of the loss.
    method, backfit_every, fit_intercept, tol
        As in :class:`.Problem`.
    max_steps : int
    is_class : bool
        Whether the targets stand for classes.
    is_shared : bool
        One support for all outputs, or one for each.
    n_redrawn : int or None
        Candidates drawn anew at each step.
    seed : int
        Of these draws.
    memory : int
        Bytes that the fit may use.
    dtype : float64 or float32
        Of stored kernel values.
    n_jobs : int or None
    verbose : int or bool
    """

    dictionaries: Sequence[Functions]
    relearn: Callable[[np.ndarray], list[Functions]] | None
    first_widths: Sequence[int]
    alphas: Sequence[float]
    least_alpha: float
    sites: Sites
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
        """Return a dictionary as it is without the targets of rows of weight zero."""
        if self.relearn is None:
            return dictionary
        return self.relearn(weight)[list(self.dictionaries).index(dictionary)]

    def path_of(self, pursuit: Steps) -> Path:
        """Return a pursuit's path so far, its atoms by their labels."""
        path = pursuit.path()
        return replace(path, atoms=self.labels[path.atoms])
