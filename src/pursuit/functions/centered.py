"""Functions that are centred on points: kernels, and Gaussians shaped one by one."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from pursuit._distances import paired_rows, squared_distances
from pursuit._exponential import exponentials
from pursuit._threads import allowed_threads, deal
from pursuit.functions._base import Evaluate, Functions, room_for, slices
from pursuit.kernels import Kernel

# Values held at a time where a piece is small enough for the cache: 2 MiB of float64.
_PIECE = 1 << 18


@dataclass(frozen=True, eq=False, repr=False)
class Centered(Functions):
    """Functions of which each has a point.

    Attributes
    ----------
    points : array or CSR of shape (M, d)
    numbers : ndarray of int of shape (M,)
        Of the points, among the training rows or among centers that were given.
    on_rows : bool
        Which of the two.
    """

    points: Any
    numbers: np.ndarray
    on_rows: bool

    @property
    def rows(self) -> np.ndarray:
        """The training row on which each one is centred, -1 for none."""
        return self.numbers if self.on_rows else np.full(len(self.numbers), -1)

    @property
    def is_centered(self) -> np.ndarray:
        """True: each of them has a point."""
        return np.ones(len(self), dtype=bool)

    @property
    def centers(self) -> Any:
        """The points."""
        return self.points

    def __getitem__(self, index: Any) -> Centered:
        return replace(self, **{name: getattr(self, name)[index] for name in self._own})

    # The fields that have an entry a function.
    _own: ClassVar[tuple[str, ...]] = ("points", "numbers")

    @property
    def names(self) -> list[str]:
        """What each of them is, in words."""
        place = "row" if self.on_rows else "center"
        titles = zip(self._titles(), self.numbers, strict=True)
        return [f"{title} at {place} {number}" for title, number in titles]

    @abstractmethod
    def _titles(self) -> Sequence[str]:
        """Return what each is, but for its place."""


@dataclass(frozen=True, eq=False, repr=False)
class KernelFunctions(Centered):
    """k(., z) for some points z.

    Attributes
    ----------
    kernel : Kernel
        Bound: its widths are numbers.
    """

    kernel: Kernel

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """The kernel's width."""
        return getattr(self.kernel, "gamma", None)

    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) at the rows of X."""
        return self.kernel(X, self.points)

    def scale(self, X: Any, weight: np.ndarray) -> float:
        """Return the squared mean of k(x, x)."""
        diagonal = np.abs(self.kernel.diag(X))
        return float(weight @ diagonal / weight.sum()) ** 2

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return what evaluates any of them on the rows of X, one a row."""
        # The same object tells the kernel that norms are the same.
        points = X if self._is_all_of(X) else self.points
        n_rows, n_atoms = X.shape[0], len(self)
        if not self.kernel.symmetric:
            between = self.kernel.between(X, points)

            def transposed(index: Any, out: np.ndarray | None = None) -> np.ndarray:
                block = between.block(columns=index).T
                if out is None:
                    return np.ascontiguousarray(block, dtype=dtype)
                out[...] = block
                return out

            return transposed
        values = self.kernel.between(points, X)

        def evaluate(index: Any, out: np.ndarray | None = None) -> np.ndarray:
            if out is None:
                out = room_for(index, n_atoms, n_rows, dtype)
            return values.block(rows=index, out=out)

        return evaluate

    def _is_all_of(self, X: Any) -> bool:
        """Return whether the points are all the rows of X, in order."""
        every = np.arange(X.shape[0])
        return self.on_rows and np.array_equal(self.numbers, every)

    def _titles(self) -> Sequence[str]:
        return [_title(self.kernel)] * len(self)


@dataclass(frozen=True, eq=False, repr=False)
class VariedGaussians(Centered):
    """exp(-gamma_i ‖x - z_i‖²): Gaussians of which each has its own width.

    Attributes
    ----------
    gammas : ndarray of shape (M,)
    """

    gammas: np.ndarray
    _own: ClassVar[tuple[str, ...]] = ("points", "numbers", "gammas")

    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) at the rows of X."""
        return self.evaluator(X, np.float64)(slice(None)).T

    def scale(self, X: Any, weight: np.ndarray) -> float:
        """Return 1, the size at the center."""
        return 1.0

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return what evaluates any of them on the rows of X, one a row."""
        left, right = paired_rows(self.points, X)

        def exponent(some: np.ndarray, D: np.ndarray) -> None:
            squared_distances(left[some], right, D)
            D *= self.gammas[some, None]

        return _gaussians(exponent, len(self), X.shape[0], dtype)

    def _titles(self) -> Sequence[str]:
        return [f"rbf(γ={gamma:.3g})" for gamma in self.gammas]


@dataclass(frozen=True, eq=False, repr=False)
class OrientedGaussianFunctions(Centered):
    """exp(-½ δᵀ C_i⁻¹ δ), δ = x - z_i: Gaussians stretched along directions.

    ``C_i = σ²I + Σ_j (λ_ij - σ²) v_ij v_ijᵀ`` with σ² = 1/(2 gamma), so that
    ``½ δᵀ C_i⁻¹ δ = gamma (‖δ - V_i V_iᵀ δ‖² + Σ_j (σ²/λ_ij) (v_ijᵀ δ)²)``.

    Attributes
    ----------
    width : float
        gamma, across the directions.
    directions : ndarray of shape (M, d, k)
        Orthonormal, for each function.
    variances : ndarray of shape (M, k)
        λ_ij - σ², along them.
    """

    width: float
    directions: np.ndarray
    variances: np.ndarray
    _own: ClassVar[tuple[str, ...]] = ("points", "numbers", "directions", "variances")

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """The width across the directions."""
        return self.width

    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) at the rows of X."""
        return self.evaluator(X, np.float64)(slice(None)).T

    def scale(self, X: Any, weight: np.ndarray) -> float:
        """Return 1, the size at the center."""
        return 1.0

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return what evaluates any of them on the rows of X, one a row."""
        sigma2 = 0.5 / self.width
        shrunk = sigma2 / (self.variances + sigma2)

        def exponent(some: np.ndarray, D: np.ndarray) -> None:
            with np.errstate(over="ignore"):
                for q, i in zip(D, some, strict=True):
                    delta, V = X - self.points[i], self.directions[i]
                    along = delta @ V
                    # What is across, rather than ‖δ‖² less what is along: no digits
                    # are lost far out.
                    delta -= along @ V.T
                    np.einsum("nd,nd->n", delta, delta, out=q)
                    q += np.square(along) @ shrunk[i]
                D *= self.width

        return _gaussians(exponent, len(self), X.shape[0], dtype)

    def _titles(self) -> Sequence[str]:
        return [f"oriented rbf(γ={self.width:.3g})"] * len(self)


def _gaussians(
    exponent: Callable[[np.ndarray, np.ndarray], None],
    n_atoms: int,
    n_rows: int,
    dtype: Any,
) -> Evaluate:
    """Return an evaluator of exp(-e), given what writes the exponents e of some."""
    n_threads = allowed_threads()
    step = max(1, _PIECE // max(1, n_rows))

    def evaluate(index: Any, out: np.ndarray | None = None) -> np.ndarray:
        if out is None:
            out = room_for(index, n_atoms, n_rows, dtype)
        wanted = np.arange(n_atoms)[index]

        def work(parts: Sequence[slice]) -> None:
            for part in parts:
                D = np.empty((len(wanted[part]), n_rows))
                exponent(wanted[part], D)
                exponentials(D, -1.0)
                if out.dtype == np.float32:
                    D[np.finfo(np.float32).tiny > D] = 0.0
                out[part] = D

        parts = list(slices(len(wanted), step))
        deal(work, parts, min(n_threads, len(parts)))
        return out

    return evaluate


def _title(kernel: Kernel) -> str:
    """Return a kernel in a few words, such as "rbf(γ=0.5)"."""
    name = type(kernel).__name__
    if name == "FunctionKernel":
        return str(kernel._name())
    short = {"Gaussian": "rbf", "gamma": "γ"}
    inside = ", ".join(
        f"{short.get(key, key)}={value:.3g}"
        if isinstance(value, float)
        else _title(value)
        if isinstance(value, Kernel)
        else f"{short.get(key, key)}={value}"
        for key, value in kernel.get_params(deep=False).items()
    )
    return f"{short.get(name, name.lower())}({inside})" if inside else name.lower()
