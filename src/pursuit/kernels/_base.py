"""Base class of kernels, lazy kernel matrices, and combinations of kernels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from pursuit._parameters import is_number, positive_number

from .widths import RULES, width

_ALL = slice(None)
# Size of the square blocks whose diagonals make up `diag`.
_DIAGONAL_BLOCK = 32

# The function of weights W, (m,) or (n, m), that returns the gradients with respect to
# x of Σ_i W[i] k(x, y_i) at the n rows x, each with its own row of W, (n, d).
Gradient = Callable[[np.ndarray], np.ndarray]


class Kernel(BaseEstimator):
    """A similarity k(x, z) between points.

    Attributes
    ----------
    symmetric : bool
        Whether k(x, z) = k(z, x).
    accepts_sparse : bool
        Whether X and Y may be sparse.
    metric : str
        Distance whose median defines ``gamma="median"``.
    takes_squares : bool
        Whether coordinates are squared or multiplied, so that values of 1e155
        overflow.
    has_gradients : bool
        Whether `gradients` is defined.
    """

    symmetric: bool = True
    accepts_sparse: bool = True
    metric: str = "sqeuclidean"
    takes_squares: bool = True
    has_gradients: bool = False
    # Let the kernel, not NumPy, evaluate ``number * kernel`` for NumPy's numbers.
    __array_ufunc__ = None

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the matrix of k(x, z), of shape (n, m); Y defaults to X."""
        return self.between(X, Y).block()

    def __repr__(self, N_CHAR_MAX: int = 700) -> str:
        # Large arrays, such as a metric, are shortened.
        with np.printoptions(threshold=10, edgeitems=2, precision=4):
            return str(super().__repr__(N_CHAR_MAX))

    def diag(self, X: Any) -> np.ndarray:
        """Return k(x, x) for the rows of X, of shape (n,)."""
        self._check()
        return self._diagonal(as_points(X))

    def block(self, X: Any, Y: Any, out: np.ndarray) -> np.ndarray:
        """Write k(X, Y) into `out` (float64 or float32), and return it."""
        return self.between(X, Y).block(out=out)

    def between(self, X: Any, Y: Any = None) -> Between:
        """Return k(X, Y) as a lazy matrix, whose blocks are computed on demand."""
        self._check()
        X = as_points(X)
        return self._between(X, X if Y is None or Y is X else as_points(Y))

    def at(self, Y: Any) -> Callable[[Any], np.ndarray]:
        """Return the function of X that gives k(X, Y), and keeps what it needs of Y.

        Predictions of few rows are faster by it.
        """
        self._check()
        return partial(self.__call__, Y=as_points(Y))

    def gradients(self, X: Any, Y: Any, coef: Any) -> Iterator[np.ndarray]:
        """Yield the gradients of f_t(x) = Σ_i coef[i, t] k(x, y_i) at the rows of X.

        The kernel's values are computed once for all t and need memory for (n, m)
        numbers: pass X in blocks of rows. Where the kernel has a kink, the pair adds 0.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        Y : array or sparse matrix of shape (m, d)
        coef : array of shape (m, T)

        Yields
        ------
        ndarray of shape (n, d)
            One for each column of ``coef``.
        """
        self._check()
        if not self.has_gradients:
            raise NotImplementedError(
                f"{self} has no gradients: take a kernel with has_gradients, such as "
                "Gaussian(), or one made of such kernels."
            )
        X, Y, coef = as_points(X), as_points(Y), np.asarray(coef, dtype=np.float64)
        if coef.ndim != 2 or len(coef) != Y.shape[0]:
            raise ValueError(
                f"coef has shape {coef.shape}: expected {Y.shape[0]} rows, one for "
                "each row of Y, and one column for each function."
            )
        gradient = self._gradient(X, Y)
        return (gradient(column) for column in coef.T)

    def bind(self, X: Any, sample_weight: Any = None) -> Kernel:
        """Return a new kernel with numeric gammas, computed from X.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        sample_weight : array of shape (n,), optional
            A row of weight 2 counts as two equal rows, one of weight 0 as none.
        """
        bound = type(self)(
            **{
                name: self._bound(name, value, X, sample_weight)
                for name, value in self.get_params(deep=False).items()
            }
        )
        bound._check()
        return bound

    def with_gamma(self, gamma: float | str) -> Self:
        """Return the kernel with another width."""
        return type(self)(**{**self.get_params(deep=False), "gamma": gamma})

    def _bound(self, name: str, value: Any, X: Any, sample_weight: Any) -> Any:
        if isinstance(value, Kernel):
            return value.bind(X, sample_weight)
        if name == "gamma" and isinstance(value, str) and value in RULES:
            return width(value, as_points(X), sample_weight, self.metric)
        return value

    def _between(self, X: Any, Y: Any) -> Between:
        return Between(self, X, Y)

    def values(self, X: Any, Y: Any) -> np.ndarray:
        """Return a new array of k(x, z); X and Y are float64 arrays or CSR."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define values(X, Y)."
        )

    def _gradient(self, X: Any, Y: Any) -> Gradient:
        """Return the gradients as a function of weights; see `Gradient`."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define _gradient(X, Y)."
        )

    def _diagonal(self, X: Any) -> np.ndarray:
        starts = range(0, X.shape[0], _DIAGONAL_BLOCK)
        blocks = (X[a : a + _DIAGONAL_BLOCK] for a in starts)
        return np.concatenate([np.diagonal(self.values(B, B)) for B in blocks])

    def _check(self) -> None:
        """Raise a ValueError if a parameter is invalid."""
        if hasattr(self, "gamma"):
            self._check_gamma(self.gamma)

    def _check_gamma(self, gamma: Any) -> None:
        if isinstance(gamma, str) and gamma in RULES:
            raise ValueError(
                f"{self} has gamma={gamma!r}, which is computed from data: call "
                "bind(X) and use the kernel it returns, or pass a number."
            )
        positive_number("gamma", gamma, RULES)

    def __add__(self, other: Any) -> Kernel:
        other = Constant(other) if is_number(other) else other
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return Sum(Constant(other), self) if is_number(other) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if is_number(other):
            return Scaled(self, other)
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__


@dataclass(frozen=True, eq=False)
class KernelOn:
    """The functions k(·, z) on fixed points z.

    What the points alone determine is computed once.

    Attributes
    ----------
    kernel : Kernel
        Bound kernel, with numeric gammas.
    points : array or CSR of shape (m, d)
    """

    kernel: Kernel
    points: Any

    def __len__(self) -> int:
        return int(self.points.shape[0])

    def __call__(self, X: Any) -> np.ndarray:
        """Return k(x, z) for the rows of X, float64 or CSR, of shape (n, m)."""
        return self._evaluate(X)

    @cached_property
    def _evaluate(self) -> Callable[[Any], np.ndarray]:
        return self.kernel.at(self.points)

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "points": self.points}


class Between:
    """The matrix k(X, Y), whose blocks are computed on demand.

    Attributes
    ----------
    shape : tuple of int
        (n, m).
    """

    def __init__(self, kernel: Kernel, X: Any, Y: Any) -> None:
        self.kernel = kernel
        self.X = X
        self.Y = Y
        self.shape = X.shape[0], Y.shape[0]

    def block(
        self, rows: Any = _ALL, columns: Any = _ALL, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the block of the given rows and columns.

        Parameters
        ----------
        rows, columns : slice or array of int
        out : ndarray of float64 or float32, optional
            Where to write the block.
        """
        K = self._values(rows, columns)
        if out is None:
            return K
        check_out(out, K.shape)
        out[...] = K
        return out

    def _values(self, rows: Any, columns: Any) -> np.ndarray:
        return self.kernel.values(self.X[rows], self.Y[columns])


class _Combination(Kernel):
    """A kernel made of kernels; it is symmetric, for example, if all of them are."""

    def _combine(self, values: list[np.ndarray]) -> np.ndarray:
        """Combine the values of the operands, which may be overwritten."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define _combine(values)."
        )

    def _operands(self) -> list[Kernel]:
        values = self.get_params(deep=False).values()
        return [value for value in values if isinstance(value, Kernel)]

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return all(kernel.symmetric for kernel in self._operands())

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        return all(kernel.accepts_sparse for kernel in self._operands())

    @property
    def takes_squares(self) -> bool:  # type: ignore[override]
        return any(kernel.takes_squares for kernel in self._operands())

    @property
    def has_gradients(self) -> bool:  # type: ignore[override]
        return all(kernel.has_gradients for kernel in self._operands())

    def _between(self, X: Any, Y: Any) -> Between:
        return _CombinedBetween(self, X, Y)

    def _gradient(self, X: Any, Y: Any) -> Gradient:
        operands = self._operands()
        for kernel in operands:
            kernel._check()
        return self._combine_gradients([k._gradient(X, Y) for k in operands], X, Y)

    def _combine_gradients(self, gradients: list[Gradient], X: Any, Y: Any) -> Gradient:
        """Return the gradient of the combination from those of the operands."""
        raise NotImplementedError(
            f"{type(self).__name__} does not define _combine_gradients."
        )

    def _diagonal(self, X: Any) -> np.ndarray:
        return self._combine([kernel.diag(X) for kernel in self._operands()])


class _CombinedBetween(Between):
    """The matrix of a combination, made of one matrix for each operand."""

    kernel: _Combination

    def __init__(self, kernel: _Combination, X: Any, Y: Any) -> None:
        super().__init__(kernel, X, Y)
        self.parts = [operand.between(X, Y) for operand in kernel._operands()]

    def _values(self, rows: Any, columns: Any) -> np.ndarray:
        return self.kernel._combine([part.block(rows, columns) for part in self.parts])


class Sum(_Combination):
    """k(x, z) = first(x, z) + second(x, z)."""

    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.first = first
        self.second = second

    def _combine(self, values: list[np.ndarray]) -> np.ndarray:
        first, second = values
        first += second
        return first

    def _combine_gradients(self, gradients: list[Gradient], X: Any, Y: Any) -> Gradient:
        first, second = gradients
        return lambda W: first(W) + second(W)


class Product(_Combination):
    """k(x, z) = first(x, z) * second(x, z)."""

    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.first = first
        self.second = second

    def _combine(self, values: list[np.ndarray]) -> np.ndarray:
        first, second = values
        first *= second
        return first

    def _combine_gradients(self, gradients: list[Gradient], X: Any, Y: Any) -> Gradient:
        first, second = gradients
        K, L = self.first(X, Y), self.second(X, Y)
        return lambda W: first(W * L) + second(W * K)


class Scaled(_Combination):
    """k(x, z) = factor * kernel(x, z), with a positive factor."""

    def __init__(self, kernel: Kernel, factor: float = 1.0) -> None:
        self.kernel = kernel
        self.factor = factor

    def _combine(self, values: list[np.ndarray]) -> np.ndarray:
        values[0] *= self.factor
        return values[0]

    def _combine_gradients(self, gradients: list[Gradient], X: Any, Y: Any) -> Gradient:
        return lambda W: float(self.factor) * gradients[0](W)

    def _check(self) -> None:
        positive_number("Scaled.factor", self.factor)


class Constant(Kernel):
    """k(x, z) = value, a positive constant; made by ``kernel + number``."""

    takes_squares = False
    has_gradients = True

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def _gradient(self, X: Any, Y: Any) -> Gradient:
        return lambda W: np.zeros(X.shape)

    def values(self, X: Any, Y: Any) -> np.ndarray:
        """Return k(x, z) for the rows of X and Y, (n, m)."""
        return np.full((X.shape[0], Y.shape[0]), float(self.value))

    def _check(self) -> None:
        positive_number("Constant.value", self.value)


def as_points(X: Any) -> Any:
    """Return X as a CSR matrix or an array, as float64 if it holds numbers."""
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(
            f"Expected one point per row, got an array of shape {X.shape}."
        )
    return X.astype(np.float64, copy=False) if X.dtype.kind in "biuf" else X


def as_dense(X: Any) -> np.ndarray:
    """Return X, an array or a sparse matrix, as an array."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def check_out(out: np.ndarray, shape: tuple[int, ...]) -> None:
    """Raise a ValueError unless `out` can hold a block of this shape."""
    if out.shape != shape or out.dtype not in (np.float64, np.float32):
        raise ValueError(
            f"out must be a float64 or float32 array of shape {shape}, got one of "
            f"{out.dtype} and shape {out.shape}."
        )
