r"""The greedy loop of sparse KPCA and KCCA: choose a point by a criterion, deflate.

Letters: ``l`` rows, ``K`` their kernel matrix, ``K_n`` the deflated matrix after ``n``
steps. A step chooses the row ``i`` with the largest criterion and sets
``K_{n+1} = K_n - u u' / u_i`` with ``u = K_n e_i``.

No matrix is rewritten. :class:`View` stores the rows ``g = u / sqrt(u_i)`` of a partial
Cholesky factor ``G`` (n, l), so that ``K_n = K - G'G``. The criteria need only sums
over columns of ``K_n``, which are updated by recurrences such as

.. math:: \sum_j K_{n+1}[j, i]^2 = \sum_j K_n[j, i]^2 - 2 g_i q_i + g_i^2 |g|^2,
    \qquad q = K_n g.

Each needs one product with ``K``, a pass. The winner's criterion is computed from its
column before it is chosen: if the recurrence has lost precision, the choice is
repeated.
"""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np

from pursuit.engine.atoms import Atoms
from pursuit.engine.gains import first_largest

# Relative difference between the recurrence's criterion and the exact one above which
# the choice is repeated with the exact value.
DRIFT = 1e-6

# Rounding error of a residual of 0, as a share of k(x, x); the lower limit of `tol`.
_ROUNDING = 1e-13
# How far rounding may push a residual below 0, as a share of the largest k(x, x).
_NEGATIVE = 1e-6
# A column whose residual is below the second share of k(x, x) is noise if it takes
# more out of a row than the row has left, by more than the first share of the largest
# k(x, x) and more than rounding. This is the third number over the column's share of
# k(x, x), times what the row has left; beyond the fourth share it does harm anyway.
_EXCESS, _FAINT, _ERROR, _HARM = 1e-13, 1e-4, 16 * np.finfo(np.float64).eps, 1e-10


class View:
    """One kernel on the rows, deflated step by step.

    Parameters
    ----------
    atoms : Atoms
        Columns of the kernel matrix, one for each row.
    diagonal : ndarray of shape (l,)
        ``k(x, x)``.
    max_steps : int
    tol : float
        A row whose residual is below this share of ``k(x, x)`` counts as in the span.
    label : str
        What errors call the kernel.

    Attributes
    ----------
    residual : ndarray of shape (l,)
        Diagonal of ``K_n``.
    """

    def __init__(
        self,
        atoms: Atoms,
        diagonal: np.ndarray,
        max_steps: int,
        tol: float,
        label: str,
    ) -> None:
        self.atoms, self._label = atoms, label
        self.diagonal, self.residual = diagonal, diagonal.copy()
        self._least = max(tol, _ROUNDING) * diagonal
        self._largest = float(diagonal.max())
        self._factor = np.empty((max_steps, atoms.n_rows))
        self.n_steps = 0
        self._is_taken = np.zeros(atoms.n_rows, dtype=bool)

    @property
    def factor(self) -> np.ndarray:
        """The partial Cholesky factor ``G`` (n, l)."""
        return self._factor[: self.n_steps]

    @property
    def is_open(self) -> np.ndarray:
        """Whether each row lies outside the span."""
        return (self.residual > self._least) & ~self._is_taken

    def squares(self) -> np.ndarray:
        """Return the sums of squares of the columns of ``K``, in one pass.

        By the Cauchy-Schwarz inequality they are at most ``K_ii trace(K)``; otherwise a
        ValueError is raised.
        """
        sums = self.atoms.squared_norms(np.ones((1, self.atoms.n_rows)))[0]
        most = self.diagonal * self.diagonal.sum()
        if not np.all(sums <= (1 + _NEGATIVE) * most + _NEGATIVE * most.max()):
            raise self._not_positive("values are larger than the diagonal allows")
        return sums

    def columns(self, index: np.ndarray) -> np.ndarray:
        """Return some columns (b, l) of ``K_n``."""
        U = self.atoms.values(index)
        if self.n_steps:
            at = np.ascontiguousarray(self.factor[:, index].T)
            U = U - self.atoms.pool.matmul(at, self.factor)
        return U

    def products(self, V: np.ndarray) -> np.ndarray:
        """Return ``K_n v`` for vectors (m, l), in one pass."""
        P = self.atoms.correlate(V)
        if self.n_steps:
            inside = V @ self.factor.T
            P -= self.atoms.pool.matmul(inside, self.factor)
        return P

    def is_noise(self, i: int, u: np.ndarray) -> bool:
        """Return whether column ``u`` of row ``i`` is only round-off.

        A criterion that does not require a large residual may choose one row close to
        the span after the other, each of which multiplies the errors of the earlier.
        """
        if u[i] > _FAINT * self.diagonal[i]:
            return False
        rounding = _ERROR * (self.diagonal[i] / u[i]) * self.residual
        allowed = np.clip(rounding, _EXCESS * self._largest, _HARM * self._largest)
        return bool(np.any(u * (u / u[i]) - self.residual > allowed))

    def close(self, index: np.ndarray | int) -> None:
        """Mark rows as inside the span."""
        self._is_taken[index] = True

    def deflate(self, i: int, g: np.ndarray) -> None:
        """Deflate by the direction ``g`` of row ``i``.

        Raise a ValueError if the diagonal becomes negative.
        """
        self._factor[self.n_steps] = g
        self.n_steps += 1
        self.residual -= g**2
        self._is_taken[i] = True
        lowest = self.residual.min()
        if not lowest >= -_NEGATIVE * self._largest:
            raise self._not_positive(
                f"after {self.n_steps} steps a row has the squared residual {lowest:g}"
            )

    def _not_positive(self, why: str) -> ValueError:
        return ValueError(
            f"{self._label} is not positive semi-definite on these rows: {why}. Choose "
            "a kernel that is, such as 'rbf', 'laplacian', 'poly' or 'linear'; to a "
            "precomputed matrix, add minus its lowest eigenvalue on the diagonal."
        )


class GreedyChoice(ABC):
    """The steps of a criterion."""

    def __init__(self, max_steps: int) -> None:
        self._atoms = np.full(max_steps, -1)
        self._gains = np.zeros(max_steps)
        self.n_steps = 0

    @property
    def atoms(self) -> np.ndarray:
        """The rows chosen so far."""
        return self._atoms[: self.n_steps]

    @property
    def gains(self) -> np.ndarray:
        """The criterion of each chosen row."""
        return self._gains[: self.n_steps]

    def _record(self, i: int, gain: float) -> None:
        self._atoms[self.n_steps] = i
        self._gains[self.n_steps] = gain
        self.n_steps += 1

    @abstractmethod
    def step(self) -> bool:
        """Take one step; return False if no candidate is left."""


class DrawnChoice(GreedyChoice):
    """Choose the best of some random candidates, drawn anew at each step.

    The best of 59 random candidates is, with 95 % certainty, one of the best 5 % of
    all. There is no pass over the kernels: each step evaluates the columns it draws.
    Subclasses define the criterion by `_scored`.

    Parameters
    ----------
    views : tuple of View
        Kernels on the same rows; all are deflated at the chosen row.
    max_steps : int
    n_drawn : int
        Number of candidates per step.
    rng : numpy.random.Generator
    """

    def __init__(
        self,
        views: tuple[View, ...],
        max_steps: int,
        n_drawn: int,
        rng: np.random.Generator,
    ) -> None:
        super().__init__(max_steps)
        self.views = views
        self._n_drawn, self._rng = n_drawn, rng

    def step(self) -> bool:
        """Take one step; return False if no candidate is left."""
        while True:
            is_open = np.logical_and.reduce([view.is_open for view in self.views])
            left = np.flatnonzero(is_open)
            if not len(left):
                return False
            n = min(self._n_drawn, len(left))
            drawn = np.sort(self._rng.choice(left, n, replace=False))
            U = [view.columns(drawn) for view in self.views]
            # Exact, where the updated residuals may have drifted.
            for view, u in zip(self.views, U, strict=True):
                view.residual[drawn] = u[np.arange(n), drawn]
            scores = self._scored(drawn, U)
            best = first_largest(scores)
            # Rows that are closed in one of the views are not drawn again.
            if best < 0:
                self.views[0].close(drawn)
            elif not self._took(drawn[best], [u[best] for u in U], scores[best]):
                self.views[0].close(drawn[best])
            else:
                return True

    @abstractmethod
    def _scored(self, drawn: np.ndarray, U: list[np.ndarray]) -> np.ndarray:
        """Return the scores of candidates, 0 for those that add nothing.

        ``U`` are their columns (n_drawn, l) of the deflated kernels, one array for each
        view.
        """

    def _gain(self, score: float) -> float:
        """Return the criterion to record for the score of a chosen row."""
        return score

    def _took(self, i: int, U: list[np.ndarray], score: float) -> bool:
        """Choose a row, unless its columns are only noise."""
        pairs = list(zip(self.views, U, strict=True))
        if any(view.is_noise(i, u) for view, u in pairs):
            return False
        for view, u in pairs:
            view.deflate(i, u / np.sqrt(u[i]))
        self._record(i, self._gain(score))
        return True
