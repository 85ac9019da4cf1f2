"""Choose the engine of pursuits by the memory and the time it takes.

Pursuit         passes over the atoms: one pursuit, or several that share each pass
GramPursuit     inner products of all atoms: many pursuits over the same atoms
MomentPursuit   inner products summed over the rows: few atoms on many rows
LossPursuit     passes over the atoms, under any loss but the squared one
TrialPursuit    the same with inner products, for paths that are only compared
RenewedPursuit  inner products, under a squared distance to a set of outputs
Random…         a few candidates drawn at each step, no passes
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from pursuit._limits import amount
from pursuit.engine.atoms import Atoms
from pursuit.engine.gram import Gram, OwnGrams, SharedGram
from pursuit.engine.gram_pursuit import LEAST_RIDGE, LEAST_TRIAL_RIDGE, GramPursuit
from pursuit.engine.groups import center_rows
from pursuit.engine.loss_pursuit import LossPursuit
from pursuit.engine.moments import MomentPursuit, Moments
from pursuit.engine.problem import Problem, Steps
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.random_pursuit import RandomLossPursuit, RandomPursuit
from pursuit.engine.renewed_pursuit import RenewedPursuit
from pursuit.engine.trial_pursuit import TrialPursuit, least_squares
from pursuit.functions import Functions

# Memory that is not counted (vectors in flight, short-lived copies, code), and the
# share of a small budget that is.
_UNCOUNTED, _COUNTED_SHARE = 32 << 20, 0.7

# Fewest atoms in a block that is recomputed.
_LEAST_BLOCK = 64

# Inner products of all atoms pay from this many steps per atom on; a matrix for each
# fold pays where the fold itself takes so many.
_STEPS_PER_ATOM = 0.25

# Copies of the values of drawn candidates that a step holds at once.
DRAWN_COPIES = 4

# On this many rows, with at most this many atoms per step, summing up all inner
# products takes less time than keeping directions on the rows.
_MANY_ROWS, _MOMENTS_PER_STEP = 20_000, 6


@dataclass(frozen=True, eq=False)
class Workbench:
    """A dictionary's atoms on the rows, and the engine of the pursuits over them.

    Attributes
    ----------
    engines : Engines
        What the pursuits may use together.
    atoms : Atoms
    n_at_once : int
        How many pursuits the memory allows beside the atoms.
    gram : Gram or None
        Inner products of the atoms, where pursuits go by them.
    """

    engines: Engines
    atoms: Atoms
    n_at_once: int
    gram: Gram | None = None

    def pursuit(self, problem: Problem) -> Steps:
        """Return a new pursuit."""
        if self.gram is not None:
            engine = by_products(problem)
            assert engine is not None
            return engine(self.atoms, problem, self.gram)
        n_drawn = self.engines.n_drawn
        if n_drawn is None:
            kind = Pursuit if problem.is_least_squares else LossPursuit
            return kind(self.atoms, problem)
        random = RandomPursuit if problem.is_least_squares else RandomLossPursuit
        rng = np.random.default_rng(self.engines.seed)
        return random(self.atoms, problem, n_drawn, rng)

    def with_products(
        self, problem: Problem, weights: Mapping[int, np.ndarray], n_pursuits: int
    ) -> Workbench:
        """Return a workbench with inner products of the atoms, if these pay.

        Parameters
        ----------
        problem : Problem
            Of the longest pursuit, with the smallest ridge of all; otherwise they
            differ in their weights only.
        weights : mapping from int to ndarray of shape (l,)
            The weights of the pursuits, by their key.
        n_pursuits : int
            How many pursuits there will be.
        """
        n_pursuits = min(self.n_at_once, n_pursuits)
        return replace(self, gram=_gram(self, problem, weights, n_pursuits))

    def suits_model(self, problem: Problem) -> bool:
        """Return whether its inner products are precise enough for a final model."""
        if self.gram is None or not problem.is_least_squares:
            return False
        return _keeps_digits(self.atoms, problem.weight, problem.alpha)


@dataclass(frozen=True)
class Engines:
    """What pursuits may use; it chooses the engine that runs them.

    Attributes
    ----------
    memory : int
        Bytes that a fit may use.
    dtype : float64 or float32
        Type of stored kernel values.
    n_jobs : int or None
        Number of widths compared at a time.
    verbose : int or bool
        Whether to show progress bars.
    n_drawn : int or None
        Number of candidates that each step draws anew; None if all may be chosen.
    seed : int
        Seed of these draws.
    """

    memory: int
    dtype: Any = np.float64
    n_jobs: int | None = None
    verbose: int | bool = 0
    n_drawn: int | None = None
    seed: int = 0

    def shared_by(self, n: int) -> Engines:
        """Return the share of each of ``n`` that run at once."""
        return replace(self, memory=self.memory // n)

    def workbench(
        self, dictionary: Functions, X: Any, problems: Sequence[Problem]
    ) -> Workbench:
        """Return a workbench for these problems, or more of their kind.

        Raises
        ------
        ValueError
            If the memory does not suffice.
        """
        n_rows, n_atoms = len(problems[0].weight), len(dictionary)
        kind = Pursuit if problems[0].is_least_squares else LossPursuit
        size = max(p.max_steps for p in problems), len(problems[0].Y)
        # Redrawn candidates leave nothing behind.
        n_kept = n_atoms if self.n_drawn is None else self.n_drawn
        one = kind.state_bytes(n_rows, n_kept, *size)
        if self.n_drawn is not None:
            one += DRAWN_COPIES * 8 * n_kept * n_rows
        needed = one * len(problems)
        least = _LEAST_BLOCK * 8 * n_rows
        memory = _counted(self.memory)
        if needed + least > memory:
            wanted = (needed + least) / _COUNTED_SHARE
            raise ValueError(
                f"max_memory allows {amount(self.memory)}, but a pursuit of "
                f"{problems[0].max_steps} steps on {n_rows} rows, among {n_atoms} "
                f"functions, needs {amount(wanted)} besides the kernel: raise "
                "max_memory, or lower max_support, n_candidates or the number of "
                "functions."
            )
        room = memory - needed
        if self.n_drawn is not None:
            # They are evaluated as they are drawn: no values to store.
            room = min(room, dictionary.held_bytes(n_rows) + least)
        # One image of the atoms for all, and one that each pursuit may need.
        atoms = dictionary.on(X, room, self.dtype, 1 + len(problems))
        _compare_within_groups(atoms, problems[0])
        n_at_once = len(problems)
        if atoms.stored is not None:
            image = n_atoms * atoms.image_size
            left = memory - atoms.stored.nbytes - image
            n_at_once = max(n_at_once, left // (one + image))
        return Workbench(self, atoms, n_at_once)

    def final_pursuits(
        self,
        dictionary: Functions,
        X: Any,
        problems: list[Problem],
        needs_directions: bool,
        needs_values: bool,
    ) -> list[Steps]:
        """Return the pursuits of the final model, one for each problem.

        Parameters
        ----------
        dictionary : Functions
        X : array or CSR of shape (l, d)
        problems : list of Problem
        needs_directions : bool
            Whether the pursuits must keep their directions on the rows, from which
            leave-one-out errors are read.
        needs_values : bool
            Whether they must know their values on held-out rows, which are scored.
        """
        if not needs_directions and not needs_values:
            pursuits = self._moment_pursuits(dictionary, X, problems)
            if pursuits is not None:
                return pursuits
        bench = self.workbench(dictionary, X, problems)
        # One pursuit is as fast without inner products.
        is_exact = _is_least_squares(problems[0]) and not needs_directions
        pays = len(problems) > 1 or not problems[0].is_least_squares
        if pays and is_exact:
            weights = {problems[0].weighting: problems[0].weight}
            bench = bench.with_products(problems[0], weights, len(problems))
        return [bench.pursuit(problem) for problem in problems]

    def _moment_pursuits(
        self, dictionary: Functions, X: Any, problems: list[Problem]
    ) -> list[Steps] | None:
        """Return pursuits by moments if atoms are few, and rows many or room short."""
        problem, n_atoms, n_rows = problems[0], len(dictionary), X.shape[0]
        if self.n_drawn is not None or not _suits_moments(problem, n_atoms):
            return None
        if problem.centered_groups is not None:
            # Blocks of rows cut through groups.
            return None
        memory, dtype = _counted(self.memory), self.dtype
        size = n_rows, n_atoms, problem.max_steps
        stored = n_atoms * n_rows * np.dtype(dtype).itemsize
        states = [Pursuit.state_bytes(*size, len(p.Y)) for p in problems]
        if n_rows < _MANY_ROWS and stored + sum(states) <= memory:
            return None
        n_targets = sum(len(p.Y) for p in problems)
        needed = Moments.n_bytes(n_atoms, n_rows, X.shape[1], n_targets)
        needed += sum(GramPursuit.state_bytes(*size, len(p.Y), 0) for p in problems)
        held = dictionary.held_bytes(n_rows)
        if needed + held > memory:
            return None
        # The engine asks for norms of the atoms only; bounds ask for the chosen ones.
        room = min(memory - needed, held + 2 * _LEAST_BLOCK * 8 * n_rows)
        atoms = dictionary.on(X, room, dtype)
        if not _keeps_digits(atoms, problem.weight, problem.alpha):
            return None

        def evaluate(rows: np.ndarray) -> np.ndarray:
            return dictionary.evaluator(X[rows], dtype)(slice(0, n_atoms))

        moments = Moments.on_rows(evaluate, n_atoms, X.shape[1], problems, self.verbose)
        ends = np.cumsum([0, *(len(p.Y) for p in problems)])
        return [
            MomentPursuit(atoms, p, moments, slice(i, j))
            for p, (i, j) in zip(problems, pairwise(ends), strict=True)
        ]


def by_products(
    problem: Problem,
) -> type[GramPursuit] | type[TrialPursuit] | None:
    """Return the engine that goes by inner products under a loss, None for none."""
    if problem.is_least_squares:
        return GramPursuit
    if problem.loss.is_squared_distance:
        return RenewedPursuit
    # Least squares is no guide to losses that give outliers little influence.
    return None if problem.loss.fits_numbers else TrialPursuit


def _is_least_squares(problem: Problem) -> bool:
    """Return whether inner products are all that steps need, with renewed targets."""
    return problem.is_least_squares or problem.loss.is_squared_distance


def _suits_moments(problem: Problem, n_atoms: int) -> bool:
    are_few = n_atoms <= _MOMENTS_PER_STEP * problem.max_steps
    return are_few and _has_normal_equations(problem)


def _compare_within_groups(atoms: Atoms, problem: Problem) -> None:
    """Take from atoms what rows of a group have in common, where it does not count.

    Folds keep groups whole, so that all of them share these atoms.
    """
    groups = problem.centered_groups
    if groups is not None:
        weight = problem.weight + problem.held_out
        atoms.change(partial(center_rows, groups=groups, weight=weight))


# -- inner products of the atoms ---------------------------------------------------


def _gram(
    bench: Workbench,
    problem: Problem,
    weights: Mapping[int, np.ndarray],
    n_pursuits: int,
) -> Gram | None:
    engine = by_products(problem)
    if bench.engines.n_drawn is not None or problem.refit_every > 1 or engine is None:
        return None
    atoms, room = bench.atoms, _counted(bench.engines.memory)
    n_atoms, n_steps = atoms.n_atoms, problem.max_steps
    is_much = n_pursuits * n_steps >= _STEPS_PER_ATOM * n_atoms
    if not is_much and engine is not RenewedPursuit:
        return None
    if not problem.is_least_squares:
        # There is a model under the loss besides.
        model = LossPursuit.state_bytes(atoms.n_rows, n_atoms, n_steps, len(problem.Y))
        room -= n_pursuits * model
        problem = least_squares(problem)
    if not _has_normal_equations(problem):
        return None
    if (A := atoms.stored) is None:
        return None
    # Several weights are those of folds, whose pursuits only rank.
    least = LEAST_TRIAL_RIDGE if len(weights) > 1 else LEAST_RIDGE
    each = list(weights.values())
    if not _keeps_digits(atoms, np.max(each, axis=0), problem.alpha, least):
        return None
    n_held_out = int((problem.held_out > 0).sum())
    n_held_out += max(int((w < problem.weight).sum()) for w in each)
    size = atoms.n_rows, n_atoms, n_steps, len(problem.Y), n_held_out
    room -= A.nbytes
    room -= n_pursuits * GramPursuit.state_bytes(*size)
    takes_many = len(weights) > 1 and n_steps >= _STEPS_PER_ATOM * n_atoms
    for kind in (OwnGrams, SharedGram) if takes_many else (SharedGram,):
        if kind.n_bytes(n_atoms, each) <= room:
            return kind(A, weights)
    return None


def _has_normal_equations(problem: Problem) -> bool:
    return problem.is_least_squares and problem.is_orthogonal


def _keeps_digits(
    atoms: Atoms, weight: np.ndarray, alpha: float, least: float = LEAST_RIDGE
) -> bool:
    """Return whether a ridge is large enough to go by inner products."""
    largest = atoms.squared_norms(weight[None]).max()
    return bool(0 < least * largest <= alpha < np.inf)


def _counted(memory: int) -> int:
    """Return the part of a budget that may be planned with, in bytes."""
    share = int(_COUNTED_SHARE * memory)
    return max(share, int(0.95 * memory) - _UNCOUNTED)
