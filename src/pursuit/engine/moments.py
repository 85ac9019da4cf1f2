r"""The pursuit on more rows than fit the memory: one trip over them, then none.

Letters as in :mod:`.pursuit`.  Where candidates are few and rows many, all that
steps need are inner products of atoms and targets, on the fitted rows and on those held
out; blocks of rows add up to them.  The held-out error of coefficients :math:`\beta` is
then a quadratic form,

.. math::

    \lVert r - A_h \beta \rVert^2 = \lVert r \rVert^2 - 2 \beta^\top A_h r
    + \beta^\top (A_h A_h^\top) \beta .
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from pursuit._progress import Progress

from .atoms import Atoms
from .gram import add_products, mirrored
from .gram_pursuit import GramPursuit
from .problem import Problem

# Values in a block of rows: 32 MiB of float64; and rows of it at the least.
_VALUES, _LEAST_ROWS = 1 << 22, 64

Evaluate = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Products:
    """Weighted inner products of M atoms, T targets and the constant.

    Attributes
    ----------
    atoms : ndarray of shape (M, M)
        Of the atoms with each other.
    with_targets : ndarray of shape (T, M)
    with_constant : ndarray of shape (M,)
    targets : ndarray of shape (T,)
        Of each target with itself.
    sums : ndarray of shape (T,)
        Of each target with the constant.
    total : float
        Of the constant with itself: the sum of the weights.
    """

    atoms: np.ndarray
    with_targets: np.ndarray
    with_constant: np.ndarray
    targets: np.ndarray
    sums: np.ndarray
    total: float

    def of_targets(self, which: slice) -> Products:
        """Return those of some targets."""
        return replace(
            self,
            with_targets=self.with_targets[which],
            targets=self.targets[which],
            sums=self.sums[which],
        )


def products(
    evaluate: Evaluate,
    n_atoms: int,
    n_at_once: int,
    Y: np.ndarray,
    w: np.ndarray,
    show: Callable[[int], None] = lambda _: None,
) -> Products:
    """Return inner products under the weights ``w``, block after block of rows.

    Parameters
    ----------
    evaluate : callable
        Returns the values (M, n) of the atoms on given rows.
    n_atoms : int
    n_at_once : int
        Rows in a block.
    Y : ndarray of shape (T, l)
        The targets.
    w : ndarray of shape (l,)
    show : callable, optional
        Is told how many rows are done, block after block.
    """
    G = np.zeros((n_atoms, n_atoms))
    sides = np.concatenate([Y, np.ones((1, len(w)))])
    with_sides = np.zeros((len(sides), n_atoms))
    used = np.flatnonzero(w)
    for start in range(0, len(used), n_at_once):
        rows = used[start : start + n_at_once]
        root = np.sqrt(w[rows])
        values = np.multiply(evaluate(rows), root, dtype=np.float64)
        with_sides += (sides[:, rows] * root) @ values.T
        add_products(G, 1.0, values)
        show(start + len(rows))
    return Products(
        mirrored(G), with_sides[:-1], with_sides[-1], Y**2 @ w, Y @ w, float(w.sum())
    )


class Moments:
    """All that pursuits need to know of the rows.

    Parameters
    ----------
    evaluate : callable
        Returns the values (M, n) of all atoms on given rows.
    n_atoms : int
    n_features : int
        Of a row.
    problems : list of Problem
        Alike but for their targets.
    verbose : int or bool
        Whether to show how far it is.
    """

    def __init__(
        self,
        evaluate: Evaluate,
        n_atoms: int,
        n_features: int,
        problems: list[Problem],
        verbose: int | bool = 0,
    ):
        first = problems[0]
        Y = np.concatenate([p.Y for p in problems])
        if first.fit_intercept:
            Y = Y - np.concatenate([p.means for p in problems])[:, None]
        n_at_once = max(_LEAST_ROWS, _VALUES // max(n_atoms, n_features))
        sizes = n_atoms, n_at_once
        n_fitted, n_held_out = (
            int(np.count_nonzero(w)) for w in (first.weight, first.held_out)
        )
        with Progress(n_fitted + n_held_out, "products", verbose, unit="row") as bar:
            self._fitted = products(evaluate, *sizes, Y, first.weight, bar.show)
            self._held_out = products(
                evaluate, *sizes, Y, first.held_out, lambda n: bar.show(n_fitted + n)
            )
        self._none = np.empty((0, n_atoms))

    def under(self, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the products of atoms, and that nothing is to be taken out of them."""
        return self._fitted.atoms, self._none

    def of_targets(self, which: slice) -> tuple[Products, Products]:
        """Return products on the fitted and on the held-out rows for some targets."""
        return self._fitted.of_targets(which), self._held_out.of_targets(which)

    @staticmethod
    def n_bytes(n_atoms: int, n_rows: int, n_features: int, n_targets: int) -> int:
        """Return the bytes it takes, blocks that live for a moment among them."""
        block = 4 * max(_VALUES, _LEAST_ROWS * max(n_atoms, n_features))
        return 8 * (2 * n_atoms**2 + block + 3 * (n_targets + 1) * n_rows)


class MomentPursuit(GramPursuit):
    """One pursuit in progress, by inner products that were summed over the rows.

    Parameters
    ----------
    atoms : Atoms
    problem : Problem
        As for :class:`.GramPursuit`, without a judge.
    moments : Moments
    which : slice
        The problem's targets among those of the moments.
    """

    needs_norms = False

    def __init__(
        self, atoms: Atoms, problem: Problem, moments: Moments, which: slice
    ) -> None:
        # Held-out rows are followed by their products, not one by one.
        fitted_only = replace(problem, held_out=np.zeros(len(problem.weight)))
        super().__init__(atoms, fitted_only, moments)
        self.problem = problem
        self._fitted, self._elsewhere = moments.of_targets(which)
        self.errors[0, 1] = self._elsewhere.targets.sum()
        self._coefs = np.zeros((problem.max_steps + self._offset, len(problem.Y)))
        self._begin()

    def _begin(self) -> None:
        fitted = self._fitted
        constant = fitted.with_constant[None] / np.sqrt(fitted.total)
        first = np.concatenate([fitted.with_targets, constant[: self._offset]])
        self._wanted = self._wanted[:0]
        if self.stop_reason is None:
            self.advance(first, fitted.atoms.diagonal().copy())

    def propose(self) -> np.ndarray:
        """Take some steps; nothing is wanted of the atoms."""
        before = self.n_steps
        nothing = super().propose()
        if self.n_steps > before and self._elsewhere.total > 0:
            try:
                self._judge_sizes(before + 1, self.n_steps)
            except BaseException:
                # Sizes that were not judged are as if not reached.
                self.n_steps = before
                raise
        return nothing

    def _judge_sizes(self, first: int, last: int) -> None:
        """Write the held-out errors of the sizes from ``first`` to ``last``."""
        b, start = self._basis_size, first - 1 + self._offset
        # What each new direction adds to the coefficients.
        steps = solve_triangular(self._triangle(), np.eye(b)[:, start:])
        chosen, held = self.chosen[: self.n_steps], self._elsewhere
        H = held.atoms[np.ix_(chosen, chosen)]
        for t in range(len(held.targets)):
            added = np.cumsum(steps * self._loads[start:b, t], axis=1)
            coefs = self._coefs[:b, t][:, None] + added
            self._coefs[:b, t] = coefs[:, -1]
            beta = coefs[self._offset :]
            error = held.targets[t] - 2.0 * held.with_targets[t, chosen] @ beta
            error += (beta * (H @ beta)).sum(axis=0)
            if self._offset:
                constant = coefs[0]
                error += constant * (held.total * constant - 2.0 * held.sums[t])
                error += 2.0 * constant * (held.with_constant[chosen] @ beta)
            self.errors[first : last + 1, 1] += error
