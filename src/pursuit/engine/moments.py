r"""The pursuit on more rows than fit the memory, in a single pass over them.

Letters as in :mod:`.pursuit`. With few candidates and many rows, steps only need the
inner products of atoms and targets, on the fitted and on the held-out rows, which are
summed over blocks of rows. The held-out error of coefficients :math:`\beta` is then a
quadratic form,

.. math::

    \lVert r - A_h \beta \rVert^2 = \lVert r \rVert^2 - 2 \beta^\top A_h r
    + \beta^\top (A_h A_h^\top) \beta .
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular

from pursuit._deadline import check
from pursuit._progress import Progress

from .atoms import Atoms
from .gram import add_wide_products, mirrored
from .gram_pursuit import GramPursuit
from .problem import Problem

# Values in a block of rows (32 MiB of float64), and its minimum number of rows.
_VALUES, _LEAST_ROWS = 1 << 22, 64

# Returns the values (M, n) of all atoms on given rows.
EvaluateRows = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True, eq=False)
class Products:
    """Weighted inner products of M atoms, T targets and the constant.

    Attributes
    ----------
    atoms : ndarray of shape (M, M)
        Products of all pairs of atoms.
    with_targets : ndarray of shape (T, M)
        Products of targets and atoms.
    with_constant : ndarray of shape (M,)
        Products of atoms and the constant.
    targets : ndarray of shape (T,)
        Product of each target with itself.
    sums : ndarray of shape (T,)
        Product of each target with the constant.
    total : float
        Product of the constant with itself, the sum of the weights.
    """

    atoms: np.ndarray
    with_targets: np.ndarray
    with_constant: np.ndarray
    targets: np.ndarray
    sums: np.ndarray
    total: float

    def of_targets(self, which: slice) -> Products:
        """Return the products of some targets."""
        return replace(
            self,
            with_targets=self.with_targets[which],
            targets=self.targets[which],
            sums=self.sums[which],
        )

    def minus(self, means: np.ndarray) -> Products:
        """Return the products of the targets minus a number (T,) for each."""
        squares = self.targets - means * (2.0 * self.sums - means * self.total)
        return replace(
            self,
            with_targets=self.with_targets - np.outer(means, self.with_constant),
            targets=np.maximum(squares, 0.0),
            sums=self.sums - means * self.total,
        )


@dataclass(eq=False)
class Sums:
    """Inner products as they are summed up over blocks of rows.

    Attributes
    ----------
    atoms : ndarray of shape (M, M)
        Products of the atoms, in the upper triangle.
    with_sides : ndarray of shape (T + 1, M)
        Products of targets, and of the constant, with the atoms.
    targets, sums : ndarray of shape (T,)
    total : float
        As in :class:`Products`.
    """

    atoms: np.ndarray
    with_sides: np.ndarray
    targets: np.ndarray
    sums: np.ndarray
    total: float = 0.0

    @classmethod
    def empty(cls, n_atoms: int, n_targets: int) -> Sums:
        """Return the sums over no rows."""
        return cls(
            np.zeros((n_atoms, n_atoms)),
            np.zeros((n_targets + 1, n_atoms)),
            np.zeros(n_targets),
            np.zeros(n_targets),
        )

    def add(self, values: np.ndarray, Y: np.ndarray, w: np.ndarray) -> None:
        """Add rows of weights ``w`` (n,), targets Y (T, n) and atoms (M, n)."""
        root = np.sqrt(w)
        values = np.multiply(values, root, dtype=np.float64)
        sides = np.concatenate([Y * root, root[None]])
        self.with_sides += sides @ values.T
        add_wide_products(self.atoms, values)
        self.targets += Y**2 @ w
        self.sums += Y @ w
        self.total += float(w.sum())

    def __add__(self, other: Sums) -> Sums:
        return Sums(
            self.atoms + other.atoms,
            self.with_sides + other.with_sides,
            self.targets + other.targets,
            self.sums + other.sums,
            self.total + other.total,
        )

    def products(self) -> Products:
        """Return the products; the matrix of the atoms is completed in place."""
        sides = self.with_sides
        return Products(
            mirrored(self.atoms),
            sides[:-1],
            sides[-1],
            self.targets,
            self.sums,
            self.total,
        )


def rows_at_once(n_atoms: int, n_features: int) -> int:
    """Return the number of rows in a block whose atoms are evaluated."""
    return max(_LEAST_ROWS, _VALUES // max(n_atoms, n_features))


def products(
    evaluate: EvaluateRows,
    n_atoms: int,
    n_at_once: int,
    Y: np.ndarray,
    w: np.ndarray,
    show: Callable[[int], None] = lambda _: None,
) -> Products:
    """Return inner products under the weights ``w``, computed in blocks of rows.

    Parameters
    ----------
    evaluate : callable
        Returns the values (M, n) of the atoms on given rows.
    n_atoms : int
    n_at_once : int
        Number of rows in a block.
    Y : ndarray of shape (T, l)
        Targets.
    w : ndarray of shape (l,)
    show : callable, optional
        Called with the number of rows done after each block.
    """
    sums, used = Sums.empty(n_atoms, len(Y)), np.flatnonzero(w)
    for start in range(0, len(used), n_at_once):
        check()
        rows = used[start : start + n_at_once]
        sums.add(evaluate(rows), Y[:, rows], w[rows])
        show(start + len(rows))
    return sums.products()


class Moments:
    """Inner products on the fitted and held-out rows, for several pursuits.

    Parameters
    ----------
    fitted, held_out : Products
        Of the same atoms; if there is a constant, of targets minus their means over
        the fitted rows.
    """

    def __init__(self, fitted: Products, held_out: Products) -> None:
        self._fitted, self._held_out = fitted, held_out
        self._none = np.empty((0, len(fitted.atoms)))

    @classmethod
    def on_rows(
        cls,
        evaluate: EvaluateRows,
        n_atoms: int,
        n_features: int,
        problems: list[Problem],
        verbose: int | bool = 0,
    ) -> Moments:
        """Return the inner products for problems that differ only in their targets.

        Parameters
        ----------
        evaluate : callable
            Returns the values (M, n) of all atoms on given rows.
        n_atoms : int
        n_features : int
            Number of features of a row.
        problems : list of Problem
        verbose : int or bool
            Whether to show a progress bar.
        """
        first = problems[0]
        Y = np.concatenate([p.Y for p in problems])
        if first.fit_intercept:
            Y = Y - np.concatenate([p.means for p in problems])[:, None]
        sizes = n_atoms, rows_at_once(n_atoms, n_features)
        n_fitted, n_held_out = (
            int(np.count_nonzero(w)) for w in (first.weight, first.held_out)
        )
        with Progress(n_fitted + n_held_out, "products", verbose, unit="row") as bar:
            fitted = products(evaluate, *sizes, Y, first.weight, bar.show)
            held_out = products(
                evaluate, *sizes, Y, first.held_out, lambda n: bar.show(n_fitted + n)
            )
        return cls(fitted, held_out)

    def under(self, _: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the products of atoms, with nothing to subtract."""
        return self._fitted.atoms, self._none

    def of_targets(self, which: slice) -> tuple[Products, Products]:
        """Return products on the fitted and on the held-out rows for some targets."""
        return self._fitted.of_targets(which), self._held_out.of_targets(which)

    @staticmethod
    def n_bytes(n_atoms: int, n_rows: int, n_features: int, n_targets: int) -> int:
        """Return the bytes needed, including temporary blocks."""
        block = 4 * max(_VALUES, _LEAST_ROWS * max(n_atoms, n_features))
        return 8 * (2 * n_atoms**2 + block + (n_targets + 1) * n_rows)


class MomentPursuit(GramPursuit):
    """One pursuit in progress, by inner products summed over the rows.

    Parameters
    ----------
    atoms : Atoms
    problem : Problem
        As for :class:`.GramPursuit`.
    moments : Moments
    which : slice
        Position of the problem's targets among those of the moments.
    """

    def __init__(
        self, atoms: Atoms, problem: Problem, moments: Moments, which: slice
    ) -> None:
        # The held-out error comes from inner products, not from values on rows.
        super().__init__(atoms, problem, moments, rows=np.arange(0))
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

    @property
    def needs_norms(self) -> bool:
        """Whether squared norms of all atoms are needed: the moments have them."""
        return False

    def propose(self) -> np.ndarray:
        """Take some steps; no correlations are requested."""
        before = self.n_steps
        nothing = super().propose()
        if self.n_steps > before and self._elsewhere.total > 0:
            try:
                self._write_errors(before + 1, self.n_steps)
            except BaseException:
                # Undo steps whose held-out errors are unknown.
                self.n_steps = before
                raise
        return nothing

    def held_out_values(self) -> Iterator[np.ndarray]:
        """Raise an error: values on single rows are not known."""
        raise NotImplementedError("Moments are sums over rows, not values on them.")

    def _write_errors(self, first: int, last: int) -> None:
        """Write the held-out errors of sizes ``first`` to ``last``."""
        b, start = self._basis_size, first - 1 + self._offset
        # Contribution of each new direction to the coefficients.
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
