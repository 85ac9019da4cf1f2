"""The plan of a fit, with all names and defaults resolved."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from pursuit.bounds.paths import BoundRule
from pursuit.engine.atoms import Atoms
from pursuit.engine.gram import Gram, OwnGrams, SharedGram
from pursuit.engine.gram_pursuit import LEAST_RIDGE, GramPursuit
from pursuit.engine.loss_pursuit import LossPursuit
from pursuit.engine.moments import MomentPursuit, Moments
from pursuit.engine.problem import Judge, Problem, Steps
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.random_pursuit import RandomLossPursuit, RandomPursuit
from pursuit.functions import Functions
from pursuit.losses import Loss
from pursuit.path import Path

from .selection import Sites
from .stopping import Patience

# Memory not accounted for (temporary vectors and copies, code), and the share of a
# small budget that may be planned with.
_UNCOUNTED, _COUNTED_SHARE = 32 << 20, 0.7

# Minimum number of atoms in a recomputed block.
_LEAST_BLOCK = 64

# Computing all inner products of atoms pays if there are this many steps per atom in
# all pursuits together; computing them for each fold, if it takes so many by itself.
_STEPS_AN_ATOM = 0.25

# From this many rows on, and up to this many atoms per step, summing all inner products
# is faster than keeping directions on the rows.
_MANY_ROWS, _MOMENTS_A_STEP = 20_000, 6


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
        Ridges to compare, in order.
    sites : Sites
        Sets of equal rows on which the atoms are centered.
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

    def pursuit(
        self, atoms: Atoms, problem: Problem, gram: Gram | None = None
    ) -> Steps:
        """Return a pursuit of the planned kind."""
        if gram is not None:
            return GramPursuit(atoms, problem, gram)
        if self.n_redrawn is None:
            kind = Pursuit if problem.is_least_squares else LossPursuit
            return kind(atoms, problem)
        rng = np.random.default_rng(self.seed)
        drawing = RandomPursuit if problem.is_least_squares else RandomLossPursuit
        return drawing(atoms, problem, self.n_redrawn, rng)

    def without_targets(self, dictionary: Functions, weight: np.ndarray) -> Functions:
        """Return the dictionary, relearned without the targets of rows of weight 0."""
        if self.relearn is None:
            return dictionary
        return self.relearn(weight)[list(self.dictionaries).index(dictionary)]

    def path_of(self, pursuit: Steps) -> Path:
        """Return a pursuit's path so far, with labeled atoms."""
        path = pursuit.path()
        return replace(path, atoms=self.labels[path.atoms])

    def moment_pursuits(
        self, dictionary: Functions, X: Any, problems: list[Problem]
    ) -> list[Steps] | None:
        """Return pursuits by moments of the rows if these are faster, else None.

        They are with few functions, and many rows or little memory.
        """
        problem, n_atoms, n_rows = problems[0], len(self.labels), X.shape[0]
        n_steps, n_targets = problem.max_steps, sum(len(p.Y) for p in problems)
        if n_atoms > _MOMENTS_A_STEP * n_steps or not self._goes_by_products(problem):
            return None
        # Judges need values on rows, and "loo" needs the directions on rows.
        if problem.judge is not None or self.selection == "loo":
            return None
        stored = n_atoms * n_rows * np.dtype(self.dtype).itemsize
        size = n_rows, n_atoms, n_steps
        states = [Pursuit.state_bytes(*size, len(p.Y)) for p in problems]
        if n_rows < _MANY_ROWS and stored + sum(states) <= self._counted_memory:
            return None
        needed = Moments.n_bytes(n_atoms, n_rows, X.shape[1], n_targets)
        held = dictionary.held_bytes(n_rows)
        needed += sum(GramPursuit.state_bytes(*size, len(p.Y), 0) for p in problems)
        if needed + held > self._counted_memory:
            return None
        # The atoms themselves are needed only for norms, and for the bounds of a model.
        room = min(self._counted_memory - needed, held + 2 * _LEAST_BLOCK * 8 * n_rows)
        atoms = dictionary.on(X, room, self.dtype)
        if not self._has_digits(atoms, problem.weight, problem.alpha):
            return None

        def evaluate(rows: np.ndarray) -> np.ndarray:
            return dictionary.evaluator(X[rows], self.dtype)(slice(0, n_atoms))

        found = Moments(evaluate, n_atoms, X.shape[1], problems, self.verbose)
        ends = np.cumsum([0, *(len(p.Y) for p in problems)])
        return [
            MomentPursuit(atoms, p, found, slice(i, j))
            for p, (i, j) in zip(problems, pairwise(ends), strict=True)
        ]

    def bind(
        self, dictionary: Functions, X: Any, problems: Sequence[Problem]
    ) -> tuple[Atoms, int]:
        """Return the atoms, and the number of pursuits that fit into the memory."""
        n_rows, n_atoms = len(problems[0].weight), len(self.labels)
        kind = Pursuit if problems[0].is_least_squares else LossPursuit
        size = max(p.max_steps for p in problems), len(problems[0].Y)
        # Redrawn candidates are not kept.
        one = kind.state_bytes(n_rows, self.n_redrawn or n_atoms, *size)
        needed = one * len(problems)
        least = _LEAST_BLOCK * 8 * n_rows
        memory = self._counted_memory
        if needed + least > memory:
            wanted = (needed + least) / _COUNTED_SHARE
            raise ValueError(
                f"max_memory allows {self.memory / 2**20:.0f} MiB, but a pursuit of "
                f"{problems[0].max_steps} steps on {n_rows} rows, among {n_atoms} "
                f"functions, needs {wanted / 2**20:.0f} MiB besides the kernel: raise "
                "max_memory, or lower max_support, n_candidates or the number of "
                "functions."
            )
        # Redrawn candidates are evaluated when drawn, and not stored.
        room = memory - needed if self.n_redrawn is None else least
        # One shared image of the atoms, and one that each pursuit may need.
        atoms = dictionary.on(X, room, self.dtype, 1 + len(problems))
        if not atoms.is_stored:
            return atoms, len(problems)
        image = n_atoms * atoms.image_size
        left = memory - atoms.stored.nbytes - image
        return atoms, max(len(problems), left // (one + image))

    def gram(
        self, atoms: Atoms, problem: Problem, weights: list[np.ndarray], n_pursuits: int
    ) -> Gram | None:
        """Return the inner products of the atoms if pursuits are faster by them.

        Parameters
        ----------
        atoms : Atoms
        problem : Problem
            The problem of all pursuits, except for weights and ridges.
        weights : list of ndarrays
            Weights of the pursuits.
        n_pursuits : int
            Number of pursuits at a time.
        """
        n_atoms, n_steps = atoms.n_atoms, problem.max_steps
        if n_pursuits * n_steps < _STEPS_AN_ATOM * n_atoms:
            return None
        if not (atoms.is_stored and self._goes_by_products(problem)):
            return None
        if not self._has_digits(atoms, np.max(weights, axis=0), min(self.alphas)):
            return None
        n_held_out = int((problem.held_out > 0).sum())
        n_held_out += max(int((w < problem.weight).sum()) for w in weights)
        size = atoms.n_rows, n_atoms, n_steps, len(problem.Y), n_held_out
        room = self._counted_memory - atoms.stored.nbytes
        room -= n_pursuits * GramPursuit.state_bytes(*size)
        takes_many = len(weights) > 1 and n_steps >= _STEPS_AN_ATOM * n_atoms
        for kind in (OwnGrams, SharedGram) if takes_many else (SharedGram,):
            if kind.n_bytes(n_atoms, weights) <= room:
                return kind(atoms.stored, weights)
        return None

    def _goes_by_products(self, problem: Problem) -> bool:
        """Return whether the problem can be solved by inner products of the atoms."""
        is_drawn = self.n_redrawn is not None
        return problem.is_least_squares and problem.is_orthogonal and not is_drawn

    def _has_digits(self, atoms: Atoms, weight: np.ndarray, alpha: float) -> bool:
        """Return whether inner products are precise enough with this ridge."""
        largest = atoms.squared_norms(weight[None]).max()
        return bool(0 < LEAST_RIDGE * largest <= alpha < np.inf)

    @property
    def _counted_memory(self) -> int:
        """The bytes that may be allocated."""
        share = int(_COUNTED_SHARE * self.memory)
        return max(share, int(0.95 * self.memory) - _UNCOUNTED)
