"""Choose points greedily: settings, memory, when to stop, and what is chosen."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from pursuit._interrupts import Interrupted, single_interrupts
from pursuit._limits import amount
from pursuit._progress import Progress
from pursuit._threads import one_blas_thread
from pursuit._warnings import warn
from pursuit.bounds.subspaces import compression_penalty
from pursuit.functions import Columns, Functions, KernelFunctions
from pursuit.kernels import Kernel

from .correlation import DrawnCorrelation, LargestCorrelation
from .deflation import GreedyChoice, View
from .pairs import PairedPath
from .subspaces import SubspacePath, coordinate_blocks, mean_products
from .variance import LOOKS_EACH, MOST, DrawnVariance, LargestVariance

# Number of vectors (of all rows) that a deflation holds besides the factor.
_VECTORS = (LOOKS_EACH + 6) * MOST
# Share of the memory that may be planned with; the rest is for temporary arrays.
_COUNTED_SHARE = 0.8
_LEAST_BLOCK = 64
# Range of kernel values in which sums of squares neither overflow nor underflow.
_SMALLEST, _LARGEST = 1e-130, 1e130

REASONS = {
    "interrupted": "interrupted: stopped by the user",
    "truncated": "truncated: the first points of a longer choice",
    "exhausted": "exhausted: none of the other rows to choose from lies outside the "
    "span of the chosen ones by more than tol",
    "share": "share: as much is captured as was asked for",
    "bound": "bound: no larger subspace can have a lower bound",
    "max_support": "max_support: as many points as were asked for",
}


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
        if kernel is None:
            return X[np.ix_(self.sample, self.sample)]
        return X[self.sample]

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
        """Take steps until a rule stops them; return why they ended.

        ``stop`` is called before each step and returns None or a reason. A first
        interrupt (Ctrl-C) ends the loop with the steps taken so far and a warning.
        """
        total = view.residual.sum()

        def show() -> None:
            progress.show(choice.n_steps, captured=1 - view.residual.sum() / total)

        with Progress(self.max_steps, "choosing", self.verbose, "point") as progress:
            reason = self._steps(choice, stop, show)
            show()
        if choice.n_steps == len(view.residual):
            return "exhausted"
        if reason == "interrupted":
            warn(
                f"The fit was interrupted after {choice.n_steps} points; the model is "
                "the one found so far."
            )
        return reason

    def _steps(
        self,
        choice: GreedyChoice,
        stop: Callable[[], str | None],
        show: Callable[[], None],
    ) -> str:
        try:
            with one_blas_thread(), single_interrupts():
                while choice.n_steps < self.max_steps:
                    show()
                    if (reason := stop()) is not None:
                        return reason
                    if not choice.step():
                        return "exhausted"
        except Interrupted:
            # Without a step there is no model.
            if not choice.n_steps:
                raise
            return "interrupted"
        return "max_support"


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


# -- when to stop --------------------------------------------------------------------

# A rule is asked before each step, with the number of steps taken; it returns None or
# a reason to stop.
Stop = Callable[[View, int], str | None]


def until_share(share: float, center: bool) -> Stop:
    """Return a rule that stops when a share of the variance is captured.

    It is the variance about the mean, as far as the span holds this, or with
    ``center=False`` the trace.
    """
    inside, n_seen = 0.0, 0

    def stop(view: View, n_steps: int) -> str | None:
        nonlocal inside, n_seen
        if center:
            # The squared length of the mean, of which each step adds a coordinate.
            means = view.factor[n_seen:].mean(axis=1)
            inside, n_seen = inside + len(view.diagonal) * (means @ means), view.n_steps
        total = view.diagonal.sum() - inside
        return "share" if view.residual.sum() <= (1 - share) * total else None

    return stop


def until_bound(n_samples: int, sup: float, delta: float) -> Stop:
    """Return a rule that stops when no larger subspace can have a lower bound.

    The term that the bound adds to the residual grows with the size, and the residual
    is not negative: once that term reaches the lowest bound so far, this is the
    minimum.
    """
    lowest = np.inf

    def stop(view: View, n_steps: int) -> str | None:
        nonlocal lowest
        if n_steps == 0:
            return None
        penalty = compression_penalty(n_samples, n_steps, sup=sup, delta=delta)
        n_outside = max(1, len(view.residual) - n_steps)
        lowest = min(lowest, view.residual.sum() / n_outside + penalty)
        return "bound" if penalty >= lowest else None

    return stop


def never(view: View, n_steps: int) -> None:
    """Stop only when nothing is left."""


# -- what is chosen ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class ChosenPoints:
    """Points that were chosen, before anything is known of other rows.

    Attributes
    ----------
    atoms : ndarray of int of shape (n_steps,)
        Positions among the rows from which they were chosen.
    gains : ndarray of shape (n_steps,)
    triangle : ndarray of shape (n_steps, n_steps)
    stop_reason : str
        As in :class:`SubspacePath`.
    factor : ndarray of shape (n_steps, l)
        Coordinates of the rows from which they were chosen.
    """

    atoms: np.ndarray
    gains: np.ndarray
    triangle: np.ndarray
    stop_reason: str
    factor: np.ndarray

    def path(
        self,
        rows: np.ndarray,
        n: int,
        total: np.ndarray,
        products: np.ndarray,
        trace: float,
        sup: float,
    ) -> SubspacePath:
        """Return the path that these points make on ``n`` rows.

        ``rows`` are the numbers of the points; the others are sums over the rows: of
        their coordinates, of the products of these, and of ``k(x, x)``, whose largest
        is ``sup``.
        """
        return SubspacePath(
            atoms=rows,
            gains=self.gains,
            triangle=self.triangle,
            means=total / n,
            moments=products / n,
            total=trace / n,
            sup=sup,
            n_samples=n,
            stop_reason=self.stop_reason,
        )


def choose_among(
    how: Choosing, kernel: Kernel | None, points: Any, stop: Stop
) -> ChosenPoints:
    """Return points of a sample, chosen greedily by captured variance."""
    view = how.view(kernel, points)
    choice: GreedyChoice
    if how.n_drawn is None:
        choice = LargestVariance(view, how.max_steps)
    else:
        rng = np.random.default_rng(how.seed)
        choice = DrawnVariance(view, how.max_steps, how.n_drawn, rng)
    reason = how.run(choice, lambda: stop(view, choice.n_steps), view)
    # An interrupt may have come between the steps of the factor and the choice.
    factor = view.factor[: choice.n_steps]
    triangle = _triangle(view, choice.atoms)
    return ChosenPoints(choice.atoms, choice.gains.copy(), triangle, reason, factor)


def choose_points(
    how: Choosing, kernel: Kernel | None, X: Any, stop: Stop
) -> SubspacePath:
    """Return the subspaces of points chosen greedily by captured variance."""
    chosen = choose_among(how, kernel, how.points(kernel, X), stop)
    rows = how.rows(chosen.atoms)
    if how.sample is None:
        blocks = iter([(chosen.factor.T,)])
    else:
        triangle = chosen.triangle
        blocks = ((Z,) for Z in coordinate_blocks(kernel, X, rows, triangle))
    n, total, products = mean_products(blocks)
    diag = diagonal(kernel, X)
    return chosen.path(rows, n, total, products, float(diag.sum()), float(diag.max()))


def choose_pairs(
    how: Choosing,
    kernels: tuple[Kernel | None, ...],
    X: Any,
    Y: Any,
    center: bool,
    by_covariance: bool,
) -> PairedPath:
    """Return the subspaces of pairs chosen greedily by correlation or covariance."""
    data = (X, Y)
    first, second = (
        how.view(k, how.points(k, Z), 2, name)
        for k, Z, name in zip(kernels, data, ("kernel", "kernel_y"), strict=True)
    )
    choice: GreedyChoice
    if how.n_drawn is None:
        choice = LargestCorrelation(first, second, how.max_steps, center, by_covariance)
    else:
        rng = np.random.default_rng(how.seed)
        choice = DrawnCorrelation(
            first, second, how.max_steps, center, by_covariance, how.n_drawn, rng
        )
    reason = how.run(choice, lambda: None, first)
    triangles = [_triangle(view, choice.atoms) for view in (first, second)]
    rows, gains = how.rows(choice.atoms), choice.gains.copy()
    return _paired_path(kernels, data, rows, gains, triangles, reason)


def _paired_path(
    kernels: tuple[Kernel | None, ...],
    data: tuple[Any, Any],
    rows: np.ndarray,
    gains: np.ndarray,
    triangles: list[np.ndarray],
    reason: str,
) -> PairedPath:
    """Return the subspaces of the chosen rows in the two views, over all rows."""
    blocks = [
        coordinate_blocks(k, Z, rows, triangle)
        for k, Z, triangle in zip(kernels, data, triangles, strict=True)
    ]
    n, total, products = mean_products(zip(*blocks, strict=True))
    total, products, k = total / n, products / n, len(rows)
    parts = (slice(0, k), slice(k, None))
    paths = []
    for part, kernel, Z, triangle in zip(parts, kernels, data, triangles, strict=True):
        diag = diagonal(kernel, Z)
        paths.append(
            SubspacePath(
                atoms=rows,
                gains=gains,
                triangle=triangle,
                means=total[part],
                moments=products[part, part],
                total=float(diag.mean()),
                sup=float(diag.max()),
                n_samples=n,
                stop_reason=reason,
            )
        )
    return PairedPath(paths[0], paths[1], products[:k, k:])


def _triangle(view: View, chosen: np.ndarray) -> np.ndarray:
    """Return the Cholesky factor of the chosen points' kernel matrix."""
    return np.tril(view.factor[: len(chosen), chosen].T)
