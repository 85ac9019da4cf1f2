r"""The criterion-driven loop: choose a point, deflate, go on (sparse KPCA and KCCA).

Letters: ``l`` rows, ``K`` their kernel matrix, ``K_n`` what deflation left of it after
``n`` steps.  A step chooses the row ``i`` of the largest criterion and sets
``K_{n+1} = K_n - u u' / u_i`` with ``u = K_n e_i``.

No matrix is rewritten.  :class:`View` keeps the rows ``g = u / sqrt(u_i)`` of a partial
Cholesky factor ``G`` (n, l), so that ``K_n = K - G'G``, and the criteria need sums over
columns of ``K_n`` only, which follow the steps by recurrences such as

.. math:: \sum_j K_{n+1}[j, i]^2 = \sum_j K_n[j, i]^2 - 2 g_i q_i + g_i^2 |g|^2,
    \qquad q = K_n g.

Each needs one product with ``K``, a pass.  The winner's criterion is computed from its
column before it is taken: where the recurrence has lost digits, the choice is repeated.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pursuit._interrupts import is_repeated, plain_interrupts
from pursuit._threads import one_blas_thread
from pursuit.engine.atoms import Atoms

# Relative difference between the recurrence's criterion and the exact one that calls
# for choosing anew with the exact value.
DRIFT = 1e-6

# What rounding leaves of a residual of 0, as a share of k(x, x): no tol is below it.
_ROUNDING = 1e-13
# What a residual may fall below zero by rounding, as a share of the largest k(x, x).
_NEGATIVE = 1e-6
# A column may take this much more out of a row than the row has left; above, it is
# noise where the residual of its own row is a share below the second of k(x, x).
_EXCESS, _FAINT = 1e-13, 1e-4


class View:
    """One kernel on the rows, deflated step by step.

    Parameters
    ----------
    atoms : Atoms
        The kernel's columns, one for each row.
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
        The diagonal of ``K_n``.
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
        """``G`` (n, l)."""
        return self._factor[: self.n_steps]

    @property
    def is_open(self) -> np.ndarray:
        """Which rows lie outside the span."""
        return (self.residual > self._least) & ~self._is_taken

    def squares(self) -> np.ndarray:
        """Return the sums of squares of the columns of ``K``, in one pass.

        By the inequality of Cauchy and Schwarz they are at most ``K_ii trace(K)``: a
        ValueError says where not.
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
        """Return ``K_n v`` for vectors (m, l): one pass."""
        P = self.atoms.correlate(V)
        if self.n_steps:
            inside = V @ self.factor.T
            P -= self.atoms.pool.matmul(inside, self.factor)
        return P

    def is_noise(self, i: int, u: np.ndarray) -> bool:
        """Return whether column ``u`` of row ``i`` is what rounding left of it.

        A criterion that does not ask for a large residual may choose rows close to the
        span one after the other, each of which multiplies the errors of the earlier.
        """
        if u[i] > _FAINT * self.diagonal[i]:
            return False
        excess = (u * (u / u[i]) - self.residual).max()
        return bool(excess > _EXCESS * self._largest)

    def close(self, index: np.ndarray | int) -> None:
        """Count rows as inside the span."""
        self._is_taken[index] = True

    def deflate(self, i: int, g: np.ndarray) -> None:
        """Take the direction ``g``, that of row ``i``, out.

        A ValueError says where the diagonal becomes negative.
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


class Steps:
    """The steps taken by a criterion."""

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
        """The criterion with which each won."""
        return self._gains[: self.n_steps]

    def _record(self, i: int, gain: float) -> None:
        self._atoms[self.n_steps] = i
        self._gains[self.n_steps] = gain
        self.n_steps += 1

    def step(self) -> bool:
        """Take one step; return False where no candidate is left."""
        raise NotImplementedError


def run(
    choice: Steps,
    max_steps: int,
    stop: Callable[[], str | None] = lambda: None,
) -> str:
    """Take steps until they are enough; return why they ended.

    ``stop`` is asked before each step and answers None or a reason.  An interrupt
    (Ctrl-C) ends the loop with the steps taken so far, a second one within two seconds
    passes through.
    """
    try:
        with one_blas_thread(), plain_interrupts():
            while choice.n_steps < max_steps:
                if (reason := stop()) is not None:
                    return reason
                if not choice.step():
                    return "exhausted"
    except KeyboardInterrupt:
        if is_repeated():
            raise
        return "interrupted"
    return "max_support"
