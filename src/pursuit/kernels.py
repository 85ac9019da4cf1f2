"""Kernels: similarities k(x, z) between points, and how their widths come from data.

A kernel is its parameters and nothing else. ``k(X, Y)`` is the matrix of k(x, z) for
the rows x of X and z of Y, ``k.diag(X)`` the values k(x, x). Kernels add and multiply,
with each other and with positive numbers. A width that is a word, as in
``Gaussian(gamma="median")``, becomes a number through ``k.bind(X)``, which returns a
new kernel.

A new kernel derives from `Kernel` and needs one method, ``_matrix(X, Y)``, called with
valid arrays; a function of the Euclidean distance derives from `Radial`, one of the
product x·z from `DotProduct`, and these need ``_profile``. A width is called ``gamma``.

Letters: n rows of X, m rows of Y, d features.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.metrics.pairwise import manhattan_distances
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from ._fastkernels import (
    Rows,
    distance_blocks,
    exponentials,
    median_gamma,
    paired_rows,
    scale_gamma,
)

__all__ = [
    "Between",
    "Constant",
    "Cosine",
    "DotProduct",
    "FunctionKernel",
    "Gaussian",
    "InverseMultiquadric",
    "Kernel",
    "Laplacian",
    "Linear",
    "Matern",
    "Polynomial",
    "Product",
    "Radial",
    "Scaled",
    "Sigmoid",
    "Sum",
    "as_kernel",
    "median_gamma",
    "scale_gamma",
]

_WIDTH_RULES = ("median", "scale", "auto")
_ALL = slice(None)
# Rows of the small square blocks whose diagonals make up `diag`.
_DIAGONAL_BLOCK = 32
# Rows on which a foreign function is tried before anything is computed with it.
_TRIAL_ROWS = 20


class Kernel(BaseEstimator):
    """A similarity k(x, z) between points.

    Attributes
    ----------
    symmetric : bool
        Whether k(x, z) = k(z, x).
    accepts_sparse : bool
        Whether X and Y may be sparse.
    metric : str
        The distance whose median makes the width ``"median"``.
    """

    symmetric: bool = True
    accepts_sparse: bool = True
    metric: str = "sqeuclidean"
    # NumPy's numbers shall leave ``number * kernel`` to the kernel.
    __array_ufunc__ = None

    def __call__(self, X: Any, Y: Any = None) -> np.ndarray:
        """Return the matrix of k(x, z), of shape (n, m); Y is X if not given."""
        self._check()
        X = _as_points(X)
        return self._matrix(X, X if Y is None else _as_points(Y))

    def diag(self, X: Any) -> np.ndarray:
        """Return k(x, x) for the rows of X, of shape (n,)."""
        self._check()
        return self._diagonal(_as_points(X))

    def block(self, X: Any, Y: Any, out: np.ndarray) -> np.ndarray:
        """Write k(X, Y) into `out`, of float64 or float32, and return it."""
        return self.between(X, Y).block(out=out)

    def between(self, X: Any, Y: Any = None) -> Between:
        """Return k(X, Y) as a matrix of which blocks are computed on demand."""
        X = _as_points(X)
        return Between(self, X, X if Y is None else _as_points(Y))

    def bind(self, X: Any, sample_weight: Any = None) -> Kernel:
        """Return a new kernel whose widths are numbers, computed from X.

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

    def _bound(self, name: str, value: Any, X: Any, sample_weight: Any) -> Any:
        if isinstance(value, Kernel):
            return value.bind(X, sample_weight)
        if name == "gamma" and isinstance(value, str):
            return _width_from(value, X, sample_weight, self.metric)
        return value

    @abstractmethod
    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        """Return a new array of k(x, z); X and Y are float64 arrays or CSR."""

    def _diagonal(self, X: Any) -> np.ndarray:
        starts = range(0, X.shape[0], _DIAGONAL_BLOCK)
        blocks = (X[a : a + _DIAGONAL_BLOCK] for a in starts)
        return np.concatenate([np.diagonal(self._matrix(B, B)) for B in blocks])

    def _check(self) -> None:
        """Raise a ValueError that says which parameter is invalid, and why."""
        if hasattr(self, "gamma"):
            _check_gamma(self, self.gamma)

    def __add__(self, other: Any) -> Kernel:
        other = Constant(other) if _is_real(other) else other
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: Any) -> Kernel:
        return Sum(Constant(other), self) if _is_real(other) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if _is_real(other):
            return Scaled(self, other)
        return Product(self, other) if isinstance(other, Kernel) else NotImplemented

    __rmul__ = __mul__


class Between:
    """The matrix k(X, Y), of which blocks are computed on demand.

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
        K = self.kernel(self.X[rows], self.Y[columns])
        if out is None:
            return K
        _check_out(out, K.shape)
        out[...] = K
        return out


class _Combination(Kernel):
    """A kernel made of kernels: it is what all of them are."""

    def _operands(self) -> list[Kernel]:
        values = self.get_params(deep=False).values()
        return [value for value in values if isinstance(value, Kernel)]

    @property
    def symmetric(self) -> bool:  # type: ignore[override]
        return all(kernel.symmetric for kernel in self._operands())

    @property
    def accepts_sparse(self) -> bool:  # type: ignore[override]
        return all(kernel.accepts_sparse for kernel in self._operands())


class Sum(_Combination):
    """k(x, z) = first(x, z) + second(x, z)."""

    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.first = first
        self.second = second

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        K = self.first(X, Y)
        K += self.second(X, Y)
        return K

    def _diagonal(self, X: Any) -> np.ndarray:
        return self.first.diag(X) + self.second.diag(X)


class Product(_Combination):
    """k(x, z) = first(x, z) * second(x, z)."""

    def __init__(self, first: Kernel, second: Kernel) -> None:
        self.first = first
        self.second = second

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        K = self.first(X, Y)
        K *= self.second(X, Y)
        return K

    def _diagonal(self, X: Any) -> np.ndarray:
        return self.first.diag(X) * self.second.diag(X)


class Scaled(_Combination):
    """k(x, z) = factor * kernel(x, z), with a positive factor."""

    def __init__(self, kernel: Kernel, factor: float = 1.0) -> None:
        self.kernel = kernel
        self.factor = factor

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        K = self.kernel(X, Y)
        K *= self.factor
        return K

    def _diagonal(self, X: Any) -> np.ndarray:
        return self.factor * self.kernel.diag(X)

    def _check(self) -> None:
        _check_number(self, "factor", positive=True)


class Constant(Kernel):
    """k(x, z) = value, a positive number: what ``kernel + number`` adds."""

    def __init__(self, value: float = 1.0) -> None:
        self.value = value

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return np.full((X.shape[0], Y.shape[0]), float(self.value))

    def _check(self) -> None:
        _check_number(self, "value", positive=True)


class Radial(Kernel):
    """A function of the squared distance |x - z|², with k(x, x) = 1 exactly.

    ``k(X)`` is exactly symmetric; identical points have similarity exactly 1, and
    points whose distance overflows have 0. Distances cost one matrix product,
    O(n m d). Dense points are copied once, moved to their mean.
    """

    @abstractmethod
    def _profile(self, D: np.ndarray) -> None:
        """Replace the squared distances D by the values of the kernel, in place."""

    def between(self, X: Any, Y: Any = None) -> RadialBetween:
        """Return k(X, Y) as a matrix of which blocks are computed on demand."""
        self._check()
        Y = None if Y is None or Y is X else _as_points(Y)
        return RadialBetween(self, *paired_rows(_as_points(X), Y))

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return self.between(X, Y).block()

    def _diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0])


class RadialBetween(Between):
    """The matrix k(X, Y) of a `Radial` kernel; keeps the norms of the points."""

    kernel: Radial

    def __init__(self, kernel: Radial, left: Rows, right: Rows) -> None:
        self.kernel = kernel
        self.left = left
        self.right = right
        self.shape = len(left), len(right)

    def block(
        self, rows: Any = _ALL, columns: Any = _ALL, out: np.ndarray | None = None
    ) -> np.ndarray:
        """Return the block of the given rows and columns.

        Parameters
        ----------
        rows, columns : slice or array of int
            Equal slices (or the same array) of one set of points make an exactly
            symmetric block, at half the cost.
        out : ndarray of float64 or float32, optional
            Where to write the block; fastest if C-contiguous float64.
        """
        left = self.left[rows]
        symmetric = self.left is self.right and _same_index(rows, columns)
        right = left if symmetric else self.right[columns]
        shape = len(left), len(right)
        out = np.empty(shape) if out is None else out
        _check_out(out, shape)
        for D in distance_blocks(left, right, out):
            self.kernel._profile(D)
        return out


class Gaussian(Radial):
    """k(x, z) = exp(-gamma |x - z|²).

    Parameters
    ----------
    gamma : positive float or {"median", "scale", "auto"}
        A word is replaced by a number in `bind`: 1 / median of |x - z|² over pairs
        of different points, 1 / (d * variance of X), or 1 / d.
    """

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _profile(self, D: np.ndarray) -> None:
        exponentials(D, -float(self.gamma))


class Matern(Radial):
    """Matérn's kernel of smoothness nu, at r = sqrt(gamma) |x - z|.

    Parameters
    ----------
    nu : {0.5, 1.5, 2.5}
        exp(-r), (1 + t) exp(-t) with t = √3 r, (1 + t + t²/3) exp(-t) with t = √5 r.
    gamma : positive float or {"median", "scale", "auto"}
        As in `Gaussian`; 1 / length_scale².
    """

    def __init__(self, nu: float = 1.5, gamma: float | str = "median") -> None:
        self.nu = nu
        self.gamma = gamma

    def _profile(self, D: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            D *= 2.0 * self.nu * float(self.gamma)
        # Beyond 1e4 the exponential is 0, and inf * 0 would be NaN.
        t = np.sqrt(np.minimum(D, 1e8, out=D))
        D[...] = t
        exponentials(D, -1.0)
        if self.nu > 0.5:
            D *= 1.0 + t + (t * t / 3.0 if self.nu == 2.5 else 0.0)

    def _check(self) -> None:
        super()._check()
        if self.nu not in (0.5, 1.5, 2.5):
            raise ValueError(f"nu must be 0.5, 1.5 or 2.5, got {self.nu!r} in {self}.")


class InverseMultiquadric(Radial):
    """k(x, z) = 1 / sqrt(1 + gamma |x - z|²), with `gamma` as in `Gaussian`."""

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _profile(self, D: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            D *= float(self.gamma)
        D += 1.0
        np.sqrt(D, out=D)
        np.reciprocal(D, out=D)


class Laplacian(Kernel):
    """k(x, z) = exp(-gamma |x - z|₁).

    Parameters
    ----------
    gamma : positive float or {"median", "scale", "auto"}
        As in `Gaussian`, except that "median" is 1 / median of |x - z|₁.
    """

    metric = "manhattan"

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        D = manhattan_distances(X, Y)
        exponentials(D, -float(self.gamma))
        return D

    def _diagonal(self, X: Any) -> np.ndarray:
        return np.ones(X.shape[0])


class DotProduct(Kernel):
    """A function of the product x·z."""

    @abstractmethod
    def _profile(self, G: np.ndarray) -> None:
        """Replace the products G by the values of the kernel, in place."""

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        G = safe_sparse_dot(X, Y.T, dense_output=True)
        self._profile(G)
        return G

    def _diagonal(self, X: Any) -> np.ndarray:
        G = row_norms(X, squared=True)
        self._profile(G)
        return G


class Linear(DotProduct):
    """k(x, z) = x·z."""

    def _profile(self, G: np.ndarray) -> None:
        """Leave the products as they are."""


class Cosine(Linear):
    """k(x, z) = x·z / (|x| |z|), and 0 if x or z is 0."""

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        unit_X = normalize(X)
        return super()._matrix(unit_X, unit_X if Y is X else normalize(Y))

    def _diagonal(self, X: Any) -> np.ndarray:
        return super()._diagonal(normalize(X))


class Polynomial(DotProduct):
    """k(x, z) = (gamma x·z + coef0)^degree.

    Parameters
    ----------
    degree : positive int
    gamma : positive float or {"median", "scale", "auto"}
        As in `Gaussian`.
    coef0 : float
    """

    def __init__(
        self, degree: int = 3, gamma: float | str = "scale", coef0: float = 0.0
    ) -> None:
        self.degree = degree
        self.gamma = gamma
        self.coef0 = coef0

    def _profile(self, G: np.ndarray) -> None:
        G *= float(self.gamma)
        G += self.coef0
        # Products of small whole powers are many times faster than np.power.
        base = G.copy()
        for _ in range(self.degree - 1):
            G *= base

    def _check(self) -> None:
        super()._check()
        _check_number(self, "coef0")
        if not isinstance(self.degree, int | np.integer) or self.degree < 1:
            raise ValueError(
                f"degree must be a positive integer, got {self.degree!r} in {self}."
            )


class Sigmoid(DotProduct):
    """k(x, z) = tanh(gamma x·z + coef0), with parameters as in `Polynomial`."""

    def __init__(self, gamma: float | str = "scale", coef0: float = 0.0) -> None:
        self.gamma = gamma
        self.coef0 = coef0

    def _profile(self, G: np.ndarray) -> None:
        G *= float(self.gamma)
        G += self.coef0
        np.tanh(G, out=G)

    def _check(self) -> None:
        super()._check()
        _check_number(self, "coef0")


class FunctionKernel(Kernel):
    """Any function of two sets of points that returns their matrix.

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` returns an array of shape (n, m): a function of yours, one
        of ``sklearn.metrics.pairwise``, or a kernel of
        ``sklearn.gaussian_process.kernels``. Of the latter, ``WhiteKernel``
        contributes 0, since both arguments are always given.
    symmetric : bool
        What the function promises; `bind` tries it on a few rows.
    accepts_sparse : bool
        Whether sparse points may be passed to it.
    """

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        symmetric: bool = True,
        accepts_sparse: bool = False,
    ) -> None:
        self.function = function
        self.symmetric = symmetric
        self.accepts_sparse = accepts_sparse

    def bind(self, X: Any, sample_weight: Any = None) -> Kernel:
        """Return a new kernel, after a trial of the function on a few rows of X."""
        K = self(_as_points(X)[:_TRIAL_ROWS])
        if self.symmetric and not np.allclose(K, K.T):
            raise ValueError(
                f"The kernel {self._name()} returned a matrix that is not symmetric; "
                "if that is meant, pass FunctionKernel(function, symmetric=False)."
            )
        return super().bind(X, sample_weight)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        K = np.asarray(self.function(X, Y))
        expected = X.shape[0], Y.shape[0]
        if K.shape != expected:
            raise ValueError(
                f"The kernel {self._name()} returned an array of shape {K.shape}, "
                f"expected {expected}: a row for each row of X, a column for each "
                "row of Y."
            )
        if not np.isfinite(K).all():
            raise ValueError(f"The kernel {self._name()} returned NaN or inf.")
        # A copy, because sums and products write into what they get.
        return K.astype(np.float64)

    def _name(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


_NAMED: dict[str, type[Kernel]] = {
    "cosine": Cosine,
    "gaussian": Gaussian,
    "laplacian": Laplacian,
    "linear": Linear,
    "poly": Polynomial,
    "polynomial": Polynomial,
    "rbf": Gaussian,
    "sigmoid": Sigmoid,
}


def as_kernel(
    kernel: Any, gamma: float | str = "median", degree: int = 3, coef0: float = 0.0
) -> Kernel:
    """Return the `Kernel` that `kernel` stands for.

    Parameters
    ----------
    kernel : str, Kernel or callable
        One of "cosine", "gaussian", "laplacian", "linear", "poly", "polynomial",
        "rbf", "sigmoid"; a `Kernel`, returned as it is; or what `FunctionKernel`
        takes.
    gamma, degree, coef0
        Parameters of a kernel given by name; those it does not have are ignored.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return _named(kernel, gamma=gamma, degree=degree, coef0=coef0)
    if callable(kernel) and not isinstance(kernel, type):
        # Nothing is known of a function: it may be asymmetric, and take sparse X.
        return FunctionKernel(kernel, symmetric=False, accepts_sparse=True)
    raise TypeError(
        "kernel must be a name, a Kernel object such as Gaussian(), or a function "
        f"k(X, Y); got {kernel!r}."
    )


def _named(name: str, **given: Any) -> Kernel:
    if name == "precomputed":
        raise ValueError(
            "kernel='precomputed' stands for a matrix rather than a function of two "
            "points and cannot be used here; pass a name, a Kernel or a callable."
        )
    if name not in _NAMED:
        known = ", ".join(map(repr, _NAMED))
        raise ValueError(f"kernel={name!r} is unknown; the names are {known}.")
    names = _NAMED[name]().get_params()
    return _NAMED[name](**{key: given[key] for key in names})


def _width_from(rule: str, X: Any, sample_weight: Any, metric: str) -> float:
    X = _as_points(X)
    if rule == "median":
        return median_gamma(X, sample_weight, metric)
    if rule == "scale":
        return scale_gamma(X, sample_weight)
    if rule == "auto":
        return 1.0 / X.shape[1]
    raise ValueError(_invalid_gamma(rule))


def _as_points(X: Any) -> Any:
    """Return X as a CSR matrix or an array, of float64 if it holds numbers."""
    X = X.tocsr() if sparse.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"Expected a point a row, got an array of shape {X.shape}.")
    return X.astype(np.float64, copy=False) if X.dtype.kind in "biuf" else X


def _same_index(rows: Any, columns: Any) -> bool:
    slices = isinstance(rows, slice) and isinstance(columns, slice)
    return rows is columns or (slices and rows == columns)


def _check_out(out: np.ndarray, shape: tuple[int, ...]) -> None:
    if out.shape != shape or out.dtype not in (np.float64, np.float32):
        raise ValueError(
            f"out must be a float64 or float32 array of shape {shape}, got one of "
            f"{out.dtype} and shape {out.shape}."
        )


def _is_real(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def _check_number(kernel: Kernel, name: str, positive: bool = False) -> None:
    value = getattr(kernel, name)
    if not (_is_real(value) and np.isfinite(value) and (value > 0 or not positive)):
        kind = "positive finite" if positive else "finite"
        raise ValueError(f"{name} must be a {kind} number, got {value!r} in {kernel}.")


def _check_gamma(kernel: Kernel, gamma: Any) -> None:
    if isinstance(gamma, str) and gamma in _WIDTH_RULES:
        raise ValueError(
            f"{kernel} has gamma={gamma!r}, which is computed from data: call bind(X) "
            "and use the kernel it returns, or pass a number."
        )
    if not (_is_real(gamma) and np.isfinite(gamma) and gamma > 0):
        raise ValueError(_invalid_gamma(gamma))


def _invalid_gamma(gamma: Any) -> str:
    words = ", ".join(map(repr, _WIDTH_RULES))
    return f"gamma must be a positive finite number or one of {words}; got {gamma!r}."
