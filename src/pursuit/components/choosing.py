"""Settings and run of the choice of points, and the subspaces of sparse KPCA."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit._memory import amount
from pursuit._progress import Progress
from pursuit._warnings import warn
from pursuit.functions import Columns, Functions, KernelFunctions
from pursuit.kernels import Kernel

from .deflation import GreedyChoice, View, run
from .stopping import Stop
from .subspaces import SubspacePath, coordinate_blocks, mean_products
from .variance import LOOKS_EACH, MOST, DrawnVariance, LargestVariance

# Number of vectors (of all rows) that a deflation holds besides the factor.
_VECTORS = (LOOKS_EACH + 6) * MOST
# Share of the memory that may be planned with; the rest is for temporary arrays.
_COUNTED_SHARE = 0.8
_LEAST_BLOCK = 64
# Range of kernel values in which sums of squares neither overflow nor underflow.
_SMALLEST, _LARGEST = 1e-130, 1e130


@dataclass(frozen=True, eq=False)
class Choosing:
    """Settings of the choice of points.

    Attributes
    ----------
    max_steps : int
    sample : ndarray of int, optional
        Rows on which the choice is made; by default all.
    n_drawn : int, optional
        Number of candidates drawn anew at each step; by default all rows of the
        sample.
    tol : float
    memory : int
        Bytes that the fit may use.
    seed : int
    verbose : int or bool
    """

    max_steps: int
    sample: np.ndarray | None
    n_drawn: int | None
    tol: float
    memory: int
    seed: int
    verbose: int | bool

    def points(self, kernel: Kernel | None, X: Any) -> Any:
        """Return the rows of the sample; for a kernel matrix, its square block."""
        if self.sample is None:
            return X
        return (
            X[self.sample]
            if kernel is not None
            else X[np.ix_(self.sample, self.sample)]
        )

    def rows(self, chosen: np.ndarray) -> np.ndarray:
        """Return the indices, among all rows, of chosen rows of the sample."""
        return chosen.copy() if self.sample is None else self.sample[chosen]

    def view(
        self,
        kernel: Kernel | None,
        points: Any,
        n_views: int = 1,
        name: str = "kernel",
    ) -> View:
        """Return a new deflation of a kernel on the sample.

        ``name`` is the parameter that errors name.
        """
        n_rows = points.shape[0]
        state = 8 * n_rows * (self.max_steps + _VECTORS)
        least = 8 * n_rows * _LEAST_BLOCK
        room = int(_COUNTED_SHARE * self.memory / n_views) - state
        if room < least:
            needed = n_views * (state + least) / _COUNTED_SHARE
            raise ValueError(
                f"max_memory allows {amount(self.memory)}, but choosing "
                f"{self.max_steps} points among {n_rows} rows needs {amount(needed)} "
                "besides the kernel: raise max_memory, or lower max_support or "
                "subsample."
            )
        # Drawn candidates are evaluated when drawn, and not stored.
        room = room if self.n_drawn is None else least
        squares = diagonal(kernel, points)
        atoms = _functions(kernel, points).on(points, room)
        label = f"{name}={kernel or 'precomputed'!r}"
        return View(atoms, squares, self.max_steps, self.tol, label)

    def run(
        self, choice: GreedyChoice, stop: Callable[[], str | None], view: View
    ) -> str:
        """Take all steps, with a progress bar; return why they ended."""
        total = view.residual.sum()
        with Progress(self.max_steps, "choosing", self.verbose, "point") as progress:

            def watched() -> str | None:
                left = view.residual.sum() / total
                progress.show(choice.n_steps, captured=1 - left)
                return stop()

            reason = run(choice, self.max_steps, watched)
            progress.show(choice.n_steps, captured=1 - view.residual.sum() / total)
        if choice.n_steps == len(view.residual):
            return "exhausted"
        if reason == "interrupted":
            if not choice.n_steps:
                raise KeyboardInterrupt
            warn(
                f"The fit was interrupted after {choice.n_steps} points; the model is "
                "the one found so far."
            )
        return reason


def _functions(kernel: Kernel | None, points: Any) -> Functions:
    """Return the kernel on all points."""
    every = np.arange(points.shape[0])
    if kernel is None:
        return Columns(every, len(every), on_rows=True)
    return KernelFunctions(points, every, True, kernel)


def diagonal(kernel: Kernel | None, X: Any) -> np.ndarray:
    """Return ``k(x, x)`` of the rows, or raise a ValueError if it is invalid."""
    values = np.diagonal(X) if kernel is None else kernel.diag(X)
    values = np.asarray(values, dtype=np.float64)
    if values.min() < 0 or not values.max() > 0:
        raise ValueError(
            f"The kernel has k(x, x) from {values.min():g} to {values.max():g}; it "
            "must be positive semi-definite and not zero on all rows."
        )
    if not _SMALLEST < values.max() < _LARGEST:
        raise ValueError(
            f"The kernel has k(x, x) up to {values.max():g}, whose square is out of "
            "the range of numbers: scale X."
        )
    return values


def choose_points(
    how: Choosing, kernel: Kernel | None, X: Any, stop: Stop
) -> SubspacePath:
    """Return the subspaces of points chosen greedily by captured variance."""
    view = how.view(kernel, how.points(kernel, X))
    choice: GreedyChoice
    if how.n_drawn is None:
        choice = LargestVariance(view, how.max_steps)
    else:
        rng = np.random.default_rng(how.seed)
        choice = DrawnVariance(view, how.max_steps, how.n_drawn, rng)
    reason = how.run(choice, lambda: stop(view, choice.n_steps), view)
    rows, triangle = how.rows(choice.atoms), triangle_of(view, choice.atoms)
    if how.sample is None:
        # An interrupt may have come between the steps of the factor and the choice.
        blocks = iter([(view.factor[: choice.n_steps].T,)])
    else:
        blocks = ((Z,) for Z in coordinate_blocks(kernel, X, rows, triangle))
    n, total, products = mean_products(blocks)
    diag = diagonal(kernel, X)
    return SubspacePath(
        atoms=rows,
        gains=choice.gains.copy(),
        triangle=triangle,
        means=total / n,
        moments=products / n,
        total=float(diag.mean()),
        sup=float(diag.max()),
        n_samples=n,
        stop_reason=reason,
    )


def triangle_of(view: View, chosen: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of the chosen points' kernel matrix."""
    return np.tril(view.factor[: len(chosen), chosen].T)
