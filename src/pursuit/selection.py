"""How large the model is: held-out errors along pursuits, and the size they choose.

Held-out rows are rows of weight zero (see :mod:`pursuit.pursuit`): every fold and
every ridge of one dictionary is a pursuit over the same atoms, and all of them share
each pass.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ._atoms import Atoms
from ._rows import row_digests
from .problem import Problem, Steps
from .pursuit import Pursuit
from .running import run
from .stopping import Patience

# Up to so many different rows a fold, inputs may be a few categories.
FEW_SETS = 10
# Cross-validated paths go on this much longer than their best size so far.
CV_PATIENCE = Patience(steps=30, share=1.0)


@dataclass(frozen=True, eq=False)
class Curve:
    """Held-out error at sizes 0, 1, ...: its mean and standard error over folds.

    For classes also ``mistakes``, the share of held-out rows that are misclassified.
    """

    mean: np.ndarray
    standard_error: np.ndarray
    mistakes: np.ndarray | None = None

    def best(self, tolerance: float | str = 0.0) -> int:
        """Return the size of the lowest error, or the smallest one near it.

        Parameters
        ----------
        tolerance : float or "1se"
            The smallest size whose error is within this share of the lowest, or
            within one standard error of it.  For classes, unless 0, smaller still:
            of the sizes up to that one, the first with the fewest mistakes.
        """
        size = self.smallest(self.limit(tolerance))
        if tolerance == 0.0 or self.mistakes is None:
            return size
        # Equal counts may differ by the rounding of their weights.
        up_to = self.mistakes[: size + 1]
        return int(np.argmax(up_to <= up_to.min() + 1e-9))

    def limit(self, tolerance: float | str) -> float:
        """Return the error up to which a smaller size would do."""
        if tolerance == "1se":
            return self.lowest + float(self.standard_error[self.mean.argmin()])
        # Scores, with their signs turned, are negative.
        return self.lowest + abs(self.lowest) * float(tolerance)

    def smallest(self, limit: float) -> int:
        """Return the smallest size with an error within the limit."""
        return int(np.argmax(self.mean <= limit))

    @property
    def lowest(self) -> float:
        """The lowest error."""
        return float(self.mean.min())


# -- folds -------------------------------------------------------------------------


def make_folds(
    X: Any, y: np.ndarray, weight: np.ndarray, n_folds: int, seed: int, is_class: bool
) -> list[np.ndarray]:
    """Return the held-out rows of each fold, as boolean masks.

    A row's fold follows from its content, not from where it stands: equal rows share
    a fold (else the model would be tested on points it was fitted to), and neither
    the order of the rows nor writing a row twice instead of giving it weight two
    changes anything.  Folds are balanced in ``y``.

    Parameters
    ----------
    X : array or CSR; or None, when rows are told apart by their index only
    y : ndarray of shape (l,)
        Class codes or target values.
    weight : ndarray of shape (l,)
        Rows of weight 0 belong to no fold.
    n_folds : int
        At the most; fewer where there are fewer distinct rows.
    seed : int
    is_class : bool
    """
    used, group, order = _groups(X, y, weight, seed, is_class)
    n_groups = len(order)
    n_folds = min(n_folds, n_groups)
    fold_of_group = np.empty(n_groups, dtype=np.int64)
    fold_of_group[order] = np.arange(n_groups) % n_folds
    if not is_class:
        fold_of_group[order] = _shuffled_rounds(n_groups, n_folds, seed)
    fold = np.full(len(weight), -1)
    fold[used] = fold_of_group[group]
    return [fold == f for f in range(n_folds)]


def deal_repeated(
    X: Any, y: np.ndarray, weight: np.ndarray, n_folds: int, seed: int
) -> list[np.ndarray] | None:
    """Return folds of data that are a few different rows, each there many times.

    Where inputs are a few categories, whoever predicts will meet the same rows again:
    to hold out all of one would ask for something else.  So each copy (of a row of
    weight 3 there are three) goes to a fold of its own; what is returned says which
    share of each row's weight a fold holds out.  ``None`` for all other data, where
    equal rows stay together (:func:`make_folds`): copies are then most likely made.
    """
    used = np.flatnonzero(weight > 0)
    digests = row_digests(X, used, seed)
    n_sets = len(np.unique(digests))
    total = weight[used].sum()
    if X is None or n_sets > FEW_SETS * n_folds or total < n_folds * n_sets:
        return None
    bits = np.asarray(y[used] + 0.0, dtype=np.float64).view(np.uint64)
    contents, content = np.unique(
        np.stack([digests, bits]), axis=1, return_inverse=True
    )
    content = content.ravel()
    copies = np.bincount(content, weights=weight[used])
    shares = np.array(
        [
            _dealt(n, n_folds, np.random.default_rng([seed, *map(int, key)])) / n
            for n, key in zip(copies, contents.T, strict=True)
        ]
    )
    folds = [np.zeros(len(weight)) for _ in range(n_folds)]
    for fold, share in zip(folds, shares.T, strict=True):
        fold[used] = share[content]
    return [fold for fold in folds if fold.any()]


def _dealt(n: float, n_folds: int, rng: np.random.Generator) -> np.ndarray:
    """Return how many of ``n`` copies (and a part of one) go to each fold."""
    whole = int(n)
    counts = rng.multinomial(whole, np.full(n_folds, 1.0 / n_folds)).astype(float)
    counts[rng.integers(n_folds)] += n - whole
    return counts


def hold_out(
    X: Any, y: np.ndarray, weight: np.ndarray, share: float, seed: int, is_class: bool
) -> np.ndarray | None:
    """Return which rows are held out, about a share of them, as :func:`make_folds`.

    At equal distances among the rows sorted by ``y``, so that every class and every
    range of targets has its share; ``None`` where there is but one distinct row.
    """
    used, group, order = _groups(X, y, weight, seed, is_class)
    n = len(order)
    if n < 2:
        return None
    n_held = min(max(1, round(share * n)), n - 1)
    start = np.random.default_rng(seed).random()
    is_held_group = np.zeros(n, dtype=bool)
    is_held_group[order[((np.arange(n_held) + start) * n / n_held).astype(int)]] = True
    is_held = np.zeros(len(weight), dtype=bool)
    is_held[used] = is_held_group[group]
    return is_held


def _groups(
    X: Any, y: np.ndarray, weight: np.ndarray, seed: int, is_class: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the rows in use, their sets of equal rows, and these sets sorted by y."""
    used = np.flatnonzero(weight > 0)
    digests = row_digests(X, used, seed)
    _, first, group = np.unique(digests, return_index=True, return_inverse=True)
    n_groups = len(first)
    total = np.bincount(group, weights=weight[used])
    level = np.bincount(group, weights=weight[used] * y[used]) / total
    if is_class:
        level = np.full(n_groups, np.inf)
        np.minimum.at(level, group, y[used])
    # Groups are in the order of their digests, so the stable sort deals the rows of
    # one class (or of neighbouring targets) in an order that is as good as random.
    return used, group, np.argsort(level, kind="stable")


def _shuffled_rounds(n: int, n_folds: int, seed: int) -> np.ndarray:
    """Return 0 ... n_folds - 1 again and again, each time in another order."""
    rng = np.random.default_rng(seed)
    rounds = rng.random((-(-n // n_folds), n_folds)).argsort(axis=1)
    return rounds.ravel()[:n]


@dataclass(frozen=True, eq=False)
class Sites:
    """Where atoms are centred: sets of equal rows.

    Attributes
    ----------
    of_rows : ndarray of int of shape (l,)
        The set of each row, -1 for rows that are as if absent.
    of_atoms : ndarray of int of shape (M,)
        The set on which each atom is centred, -1 for atoms that are not on rows.
    """

    of_rows: np.ndarray
    of_atoms: np.ndarray

    def open_atoms(self, weight: np.ndarray) -> np.ndarray:
        """Return which atoms may be chosen where only some rows have weight.

        An atom stays open if it is also centred on a row that is fitted, or on none.
        """
        present = np.zeros(self.of_rows.max(initial=-1) + 2, dtype=bool)
        present[self.of_rows[weight > 0]] = True
        present[-1] = True  # the place of -1
        return present[self.of_atoms]


# -- curves ------------------------------------------------------------------------


def held_out_curves(
    atoms: Atoms,
    problems: Sequence[Problem],
    folds: Sequence[np.ndarray],
    sites: Sites,
    alphas: Sequence[float],
    make: Callable[[Atoms, Problem], Steps],
    n_at_once: int,
    is_scored: bool = False,
) -> list[list[Curve]]:
    """Return the held-out curves, for each ridge one for each problem.

    All the pursuits that the memory allows run at once and share their passes.

    Parameters
    ----------
    atoms : Atoms
    problems : sequence of Problem
        On all rows; each fold gives its rows weight 0 and does not choose them.
    folds : sequence of ndarray of shape (l,)
        As in :func:`without`.
    sites : Sites
    alphas : sequence of float
    make : callable
        Makes a pursuit from atoms and a problem.
    n_at_once : int
        How many pursuits the memory allows at a time.
    is_scored : bool
        Whether the problems' judges say what the error is, instead of the loss.
    """
    # One array for each fold's weights: pursuits that share it share its norms.
    weights = [left_of(fold, problems[0].weight) for fold in folds]
    tasks = [(alpha, problem) for alpha in alphas for problem in problems]
    n_tasks = max(1, n_at_once // max(1, len(folds)))
    curves: list[Curve] = []
    for start in range(0, len(tasks), n_tasks):
        groups = [
            [
                make(atoms, without(replace(problem, alpha=alpha), fold, w, sites))
                for fold, w in zip(folds, weights, strict=True)
            ]
            for alpha, problem in tasks[start : start + n_tasks]
        ]

        def look(_: Sequence[Steps], groups: list[list[Steps]] = groups) -> None:
            for group in groups:
                _stop_when_hopeless(group, is_scored)

        for batch in _batches([p for group in groups for p in group], n_at_once):
            run(atoms, batch, look)
        curves += [_curve(group, is_scored) for group in groups]
        if any(p.stop_reason == "interrupted" for group in groups for p in group):
            raise SearchInterrupted
    n = len(problems)
    return [curves[i : i + n] for i in range(0, len(curves), n)]


def separate_curves(
    bind: Callable[[np.ndarray], tuple[Atoms, int]],
    problems: Sequence[Problem],
    folds: Sequence[np.ndarray],
    sites: Sites,
    alphas: Sequence[float],
    make: Callable[[Atoms, Problem], Steps],
    is_scored: bool = False,
) -> list[list[Curve]]:
    """Return the curves of :func:`held_out_curves` where each fold has its own atoms.

    ``bind(weight)`` makes the atoms from the rows of positive weight, and says how many
    pursuits the memory allows.  One fold after the other: no fold knows when the others
    stopped getting better, so each goes to its end.
    """
    tasks = [(alpha, problem) for alpha in alphas for problem in problems]
    groups: list[list[Steps]] = [[] for _ in tasks]
    for fold in folds:
        weight = left_of(fold, problems[0].weight)
        atoms, n_at_once = bind(weight)
        pursuits = [
            make(atoms, without(replace(problem, alpha=alpha), fold, weight, sites))
            for alpha, problem in tasks
        ]
        for batch in _batches(pursuits, n_at_once):
            run(atoms, batch)
        if any(p.stop_reason == "interrupted" for p in pursuits):
            raise SearchInterrupted
        for group, p in zip(groups, pursuits, strict=True):
            p.release()
            group.append(p)
    curves = [_curve(group, is_scored) for group in groups]
    n = len(problems)
    return [curves[i : i + n] for i in range(0, len(curves), n)]


class SearchInterrupted(Exception):  # noqa: N818 -- not an error
    """The user stopped the search; what was compared before still counts."""


def _batches(pursuits: list[Steps], n_at_once: int) -> list[list[Steps]]:
    size = max(1, n_at_once)
    return [pursuits[i : i + size] for i in range(0, len(pursuits), size)]


def without(
    problem: Problem, fold: np.ndarray, weight: np.ndarray, sites: Sites
) -> Problem:
    """Return the problem with the rows of one fold held out, and their atoms closed.

    ``fold`` is 1 (or True) on rows that are held out, 0 on those that are fitted, in
    between for copies of both kinds, -1 on rows of neither part; ``weight`` is
    :func:`left_of` the fold.
    """
    return replace(
        problem,
        weight=weight,
        held_out=problem.weight * np.maximum(fold, 0.0),
        candidates=problem.candidates & sites.open_atoms(weight),
    )


def left_of(fold: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the weights of the rows that are fitted where a fold is held out."""
    return np.where(fold < 0, 0.0, weight * (1.0 - fold))


def held_out_errors(p: Steps, is_scored: bool) -> np.ndarray:
    """Return the mean held-out error at sizes 0, 1, ...: the loss, or the judge's."""
    if is_scored:
        return p.judged[: p.n_steps + 1]
    return p.errors[: p.n_steps + 1, 1] / p.problem.held_out.sum()


def _group_errors(group: list[Steps], length: int, is_scored: bool) -> np.ndarray:
    """Return the held-out errors (n_folds, length) of several pursuits.

    A pursuit that found nothing more to add keeps its last error.
    """
    return np.array([_padded(held_out_errors(p, is_scored), length) for p in group])


def _padded(errors: np.ndarray, length: int) -> np.ndarray:
    """Return the first ``length`` errors, the last one again where there are fewer."""
    return np.pad(errors[:length], (0, max(0, length - len(errors))), mode="edge")


def _fold_weights(group: list[Steps]) -> np.ndarray:
    totals = np.array([p.problem.held_out.sum() for p in group])
    return totals / totals.sum()


def _is_spent(p: Steps) -> bool:
    return p.stop_reason in ("exact", "exhausted")


def _stop_when_hopeless(group: list[Steps], is_scored: bool) -> None:
    going = [p for p in group if not _is_spent(p)]
    if not going or all(p.stop_reason for p in going):
        return
    length = min(p.n_steps for p in going) + 1
    mean = _fold_weights(group) @ _group_errors(group, length, is_scored)
    if CV_PATIENCE.length(mean) < length:
        for p in going:
            p.stop_reason = p.stop_reason or "patience"


def _curve(group: list[Steps], is_scored: bool) -> Curve:
    going = [p for p in group if not _is_spent(p)]
    length = min((p.n_steps for p in going), default=max(p.n_steps for p in group)) + 1
    errors = _group_errors(group, length, is_scored)
    shares = _fold_weights(group)
    mean = shares @ errors
    scale = np.max(np.abs(errors - mean), initial=1e-300)
    spread = scale * np.sqrt(shares @ ((errors - mean) / scale) ** 2)
    seen = CV_PATIENCE.length(mean)
    mistakes = None
    if group[0].problem.judge is not None and not is_scored:
        wrong = [_padded(p.judged[: p.n_steps + 1], seen) for p in group]
        mistakes = shares @ np.array(wrong)
    return Curve(mean[:seen], spread[:seen] / np.sqrt(max(1, len(group) - 1)), mistakes)


# -- leave-one-out -----------------------------------------------------------------


def leave_one_out_errors(pursuit: Pursuit) -> np.ndarray:
    """Return the mean squared leave-one-out error at sizes 0, 1, ... (PRESS).

    In closed form: with ``h`` the hat matrix's diagonal, which grows by ``q**2`` a
    step, the left-out residue is ``R / (1 - h)``.  It does not know that the atoms
    were selected with the point that is left out, so it serves to stop one path, not
    to compare widths.  A row of weight 3 stands for three rows, of which one is left
    out; a weight below 1 is left out whole.
    """
    problem = pursuit.problem
    fitted = problem.weight > 0
    w = problem.weight[fitted]
    share = np.minimum(w, 1.0)
    first = int(problem.fit_intercept)
    n_rows = len(problem.weight)
    R = problem.Y[:, fitted].copy()
    h = np.zeros(fitted.sum())
    errors = []
    for b in range(pursuit.n_steps + 1):
        start, stop = (0, first) if b == 0 else (b + first - 1, b + first)
        Q = pursuit.Q[start:stop, :n_rows][:, fitted]
        R -= pursuit.loads[start:stop].T @ Q
        h += share * (Q**2).sum(axis=0)
        left = np.maximum(1.0 - h, 1e-12)
        errors.append(float((w * (R / left) ** 2).sum() / w.sum()))
    return np.array(errors)
