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
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.gaussian_process.kernels import Kernel as ProcessKernel
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from ._distances import absolute_distances
from ._exponential import exponentials
from ._kernel import Between, Constant, Kernel, Product, Scaled, Sum, as_points
from ._radial import Radial
from ._widths import median_gamma, scale_gamma

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

# Rows on which a foreign function is tried before anything is computed with it.
_TRIAL_ROWS = 20


class Gaussian(Radial):
    """k(x, z) = exp(-gamma ‖x - z‖²).

    Parameters
    ----------
    gamma : positive float or {"median", "scale", "auto"}
        A word is replaced by a number in `bind`: 1 / median of ‖x - z‖² over pairs
        of different points, 1 / (d * variance of X), or 1 / d.
    """

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _profile(self, D: np.ndarray) -> None:
        exponentials(D, -float(self.gamma))


class Matern(Radial):
    """Matérn's kernel of smoothness nu, at r = sqrt(gamma) ‖x - z‖.

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
    """k(x, z) = 1 / sqrt(1 + gamma ‖x - z‖²), with `gamma` as in `Gaussian`."""

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _profile(self, D: np.ndarray) -> None:
        with np.errstate(over="ignore"):
            D *= float(self.gamma)
        D += 1.0
        np.sqrt(D, out=D)
        np.reciprocal(D, out=D)


class Laplacian(Kernel):
    """k(x, z) = exp(-gamma ‖x - z‖₁).

    Parameters
    ----------
    gamma : positive float or {"median", "scale", "auto"}
        As in `Gaussian`, except that "median" is 1 / median of ‖x - z‖₁.
    """

    metric = "manhattan"
    takes_squares = False

    def __init__(self, gamma: float | str = "median") -> None:
        self.gamma = gamma

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        D = absolute_distances(X, Y)
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
    """k(x, z) = x·z / (‖x‖ ‖z‖), and 0 if x or z is 0."""

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        return super()._matrix(normalize(X), normalize(Y))

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
        with np.errstate(over="ignore", invalid="ignore"):
            G *= float(self.gamma)
            G += self.coef0
            # Products of small whole powers are many times faster than np.power.
            base = G.copy()
            for _ in range(self.degree - 1):
                G *= base
        if G.size and not max(G.max(), -G.min()) < np.inf:
            raise ValueError(
                f"{self} overflows on these points: scale them down, or choose a "
                "smaller gamma, coef0 or degree."
            )

    def _check(self) -> None:
        super()._check()
        self._check_number("coef0")
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
        with np.errstate(over="ignore"):
            G *= float(self.gamma)
        G += self.coef0
        np.tanh(G, out=G)

    def _check(self) -> None:
        super()._check()
        self._check_number("coef0")


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
        Whether k(x, z) = k(z, x) is promised; `bind` then tries it on a few rows.
    accepts_sparse : bool
        Whether sparse points may be passed to it.
    """

    # Nothing is known of a function.
    takes_squares = False

    def __init__(
        self,
        function: Callable[[Any, Any], Any],
        symmetric: bool = False,
        accepts_sparse: bool = True,
    ) -> None:
        self.function = function
        self.symmetric = symmetric
        self.accepts_sparse = accepts_sparse

    def bind(self, X: Any, sample_weight: Any = None) -> Kernel:
        """Return a new kernel, after a trial of the function on a few rows of X."""
        K = self(as_points(X)[:_TRIAL_ROWS])
        if self.symmetric and not np.allclose(K, K.T):
            raise ValueError(
                f"The kernel {self._name()} returned a matrix that is not symmetric, "
                "although symmetric=True was passed with it."
            )
        return super().bind(X, sample_weight)

    def _matrix(self, X: Any, Y: Any) -> np.ndarray:
        if not self.accepts_sparse and (sparse.issparse(X) or sparse.issparse(Y)):
            raise ValueError(
                f"The kernel {self._name()} does not take sparse points: pass "
                "X.toarray(), or a kernel that does, such as 'rbf'."
            )
        K = self._as_floats(self.function(X, Y))
        expected = X.shape[0], Y.shape[0]
        if K.shape != expected:
            raise ValueError(
                f"The kernel {self._name()} returned an array of shape {K.shape}, "
                f"expected {expected}: a row for each row of X, a column for each "
                "row of Y."
            )
        if not np.isfinite(K).all():
            raise ValueError(f"The kernel {self._name()} returned NaN or inf.")
        return K

    def _as_floats(self, K: Any) -> np.ndarray:
        """Return a copy, because sums and products write into what they get."""
        try:
            return np.array(K, dtype=np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"The kernel {self._name()} returned {type(K).__name__} values that "
                "are not numbers."
            ) from None

    def _name(self) -> str:
        return getattr(self.function, "__name__", repr(self.function))


NAMED: dict[str, type[Kernel]] = {
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
        takes_sparse = not isinstance(kernel, ProcessKernel)
        return FunctionKernel(kernel, symmetric=False, accepts_sparse=takes_sparse)
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
    if name not in NAMED:
        known = ", ".join(map(repr, NAMED))
        raise ValueError(
            f"kernel={name!r} is unknown; the names are {known}. A Kernel object or a "
            "function k(X, Y) will do too."
        )
    names = NAMED[name]().get_params()
    return NAMED[name](**{key: given[key] for key in names})
