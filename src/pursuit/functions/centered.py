"""Functions centered on points, such as kernels."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from pursuit.engine.atoms import Evaluate
from pursuit.kernels import Kernel
from pursuit.kernels._base import KernelOn

from ._base import Functions, drawn, is_hollow, median_square, room_for, spread


@dataclass(frozen=True, eq=False, repr=False)
class Centered(Functions):
    """Functions that are each centered on a point.

    Attributes
    ----------
    points : array or CSR of shape (M, d)
    numbers : ndarray of int of shape (M,)
        Index of each point, among the training rows or among given centers.
    on_rows : bool
        Whether the points are training rows.
    """

    points: Any
    numbers: np.ndarray
    on_rows: bool

    @property
    def rows(self) -> np.ndarray:
        """The training row on which each function is centered, -1 for none."""
        return self.numbers if self.on_rows else np.full(len(self.numbers), -1)

    @property
    def is_centered(self) -> np.ndarray:
        """True for each function."""
        return np.ones(len(self), dtype=bool)

    @property
    def centers(self) -> Any:
        """The points on which the functions are centered."""
        return self.points

    def __getitem__(self, index: Any) -> Centered:
        return replace(self, **{name: getattr(self, name)[index] for name in self._own})

    # Fields with one entry per function.
    _own: ClassVar[tuple[str, ...]] = ("points", "numbers")

    @property
    def names(self) -> list[str]:
        """A short description of each function."""
        place = "row" if self.on_rows else "center"
        titles = zip(self._titles(), self.numbers, strict=True)
        return [f"{title} at {place} {number}" for title, number in titles]

    @abstractmethod
    def _titles(self) -> Sequence[str]:
        """Return a description of each function without its point."""


@dataclass(frozen=True, eq=False, repr=False)
class KernelFunctions(Centered):
    """Functions k(., z) of a kernel on some points z.

    Attributes
    ----------
    kernel : Kernel
        Bound kernel, with numeric gammas.
    """

    kernel: Kernel

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """The kernel's gamma."""
        return getattr(self.kernel, "gamma", None)

    def __call__(self, X: Any) -> np.ndarray:
        """Return the values (n, M) of the functions at the rows of X."""
        if not len(self):
            # Many kernels, all of scikit-learn's among them, refuse to see no points.
            return np.empty((X.shape[0], 0))
        return self._on_points(X)

    @cached_property
    def _on_points(self) -> KernelOn:
        return KernelOn(self.kernel, self.points)

    def scale(self, X: Any, weight: np.ndarray) -> float:
        """Return the squared mean of k(x, x).

        If that is 0, as for the negative distance, it is the median, over functions,
        of their weighted mean squares.
        """
        some = self[spread(len(self))]
        if is_hollow(some(some.points)):
            return median_square(self[drawn(self.points, X.shape[0])](X), weight)
        diagonal = np.abs(self.kernel.diag(X))
        with np.errstate(over="ignore"):
            return float(np.square(weight @ diagonal / weight.sum()))

    def evaluator(self, X: Any, dtype: Any) -> Evaluate:
        """Return a function that evaluates some of them on X, one function per row."""
        # Pass the same object, so that the kernel shares the norms.
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
        if not self.on_rows or not np.array_equal(self.numbers, np.arange(X.shape[0])):
            return False
        # X may be a part of the training rows.
        if sp.issparse(X):
            return (self.points != X).nnz == 0
        return np.array_equal(self.points, X)

    def _titles(self) -> Sequence[str]:
        return [_title(self.kernel)] * len(self)


def _title(kernel: Kernel) -> str:
    """Return a short description of a kernel, such as "rbf(γ=0.5)"."""
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
        if not isinstance(value, np.ndarray)
    )
    return f"{short.get(name, name.lower())}({inside})" if inside else name.lower()
