"""Kernels given by name or as functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from pursuit._parameters import did_you_mean, is_word, positive_number
from pursuit._ranges import check_scale

from ._base import Kernel, as_points
from .dot_products import Cosine, Linear, Polynomial, Sigmoid
from .laplacian import Laplacian
from .metric import InMetric
from .radial import Gaussian
from .widths import RULES

# Number of rows on which a user's function is tested first.
TRIAL_ROWS = 20


class FunctionKernel(Kernel):
    """Kernel from any function of two sets of points that returns a matrix.

    Parameters
    ----------
    function : callable
        ``function(X, Y)`` returns an array of shape (n, m): your own function, one of
        ``sklearn.metrics.pairwise``, or a kernel of
        ``sklearn.gaussian_process.kernels``. ``WhiteKernel`` contributes 0, since both
        arguments are always given.
    symmetric : bool
        Whether k(x, z) = k(z, x); if True, `bind` checks it on a few rows.
    accepts_sparse : bool
        Whether the function accepts sparse points.
    """

    # Unknown for a user's function.
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
        """Return a new kernel, after testing the function on a few rows of X."""
        K = self(as_points(X)[:TRIAL_ROWS])
        if self.symmetric and not np.allclose(K, K.T):
            raise ValueError(
                f"The kernel {self._name()} returned a matrix that is not symmetric, "
                "although symmetric=True was passed with it."
            )
        return super().bind(X, sample_weight)

    def values(self, X: Any, Y: Any) -> np.ndarray:
        """Return k(x, z) for the rows of X and Y, (n, m)."""
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
        """Return a float64 copy, because sums and products overwrite their operands."""
        if sparse.issparse(K):
            raise ValueError(
                f"The kernel {self._name()} returned a sparse matrix: let it return an "
                "array, as K.toarray() is."
            )
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


def as_kernel(kernel: Any, gamma: float | str = "median") -> Kernel:
    """Return the `Kernel` that `kernel` stands for.

    Parameters
    ----------
    kernel : str, Kernel or callable
        One of "cosine", "gaussian", "laplacian", "linear", "poly", "polynomial",
        "rbf", "sigmoid"; a `Kernel`, returned unchanged; or a callable as in
        `FunctionKernel`.
    gamma : float or str
        Width of a kernel given by name; ignored if it has none. Its other parameters
        have their defaults: for others, pass an object such as
        ``Polynomial(degree=2, coef0=1)``.
    """
    if isinstance(kernel, Kernel):
        return kernel
    if isinstance(kernel, str):
        return _named(kernel, gamma)
    if callable(kernel) and not isinstance(kernel, type):
        from sklearn.gaussian_process.kernels import Kernel as ProcessKernel

        # A user's function may be asymmetric, and may accept sparse X.
        takes_sparse = not isinstance(kernel, ProcessKernel)
        return FunctionKernel(kernel, symmetric=False, accepts_sparse=takes_sparse)
    raise TypeError(
        "kernel must be a name, a Kernel object such as Gaussian(), or a function "
        f"k(X, Y); got {kernel!r}."
    )


def _named(name: str, gamma: float | str) -> Kernel:
    _check_known(name, "kernel", ())
    kernel = NAMED[name]()
    return kernel.with_gamma(gamma) if hasattr(kernel, "gamma") else kernel


def _check_known(name: str, parameter: str, others: tuple[str, ...]) -> None:
    """Raise a ValueError unless a kernel, or what ``others`` name, has this name."""
    known = (*NAMED, *others)
    if name in known:
        return
    if is_precomputed(name):
        raise ValueError(
            f"{parameter}='precomputed' stands for a matrix rather than a function of "
            "two points and cannot be used here; pass a name, a Kernel or a callable."
        )
    listed = ", ".join(map(repr, known))
    raise ValueError(
        f"{parameter}={name!r} is unknown; the names are {listed}. A Kernel object or "
        f"a function k(X, Y) will do too.{did_you_mean(name, known)}"
    )


# -- parameters of estimators and dictionaries -------------------------------------


def is_precomputed(kernel: Any) -> bool:
    """Return whether `kernel` says that X holds the values of a kernel."""
    return is_word(kernel, "precomputed")


def check_given(
    kernel: Any,
    gamma: Any,
    *,
    names: tuple[str, ...] = (),
    words: tuple[str | None, ...] = (),
    suffix: str = "",
) -> None:
    """Raise a ValueError that says which parameter is wrong.

    Parameters
    ----------
    kernel, gamma
        As the user gave them.
    names, words : tuple of str, of words also None
        What `kernel` and `gamma` may be besides what kernels know.
    suffix : str
        How the names of `kernel` and `gamma` end, as in ``kernel_y``.
    """
    if isinstance(kernel, str):
        _check_known(kernel, f"kernel{suffix}", names)
        if kernel in NAMED and hasattr(NAMED[kernel](), "gamma"):
            positive_number(f"gamma{suffix}", gamma, (*words, *RULES))
    elif not callable(kernel) or isinstance(kernel, type):
        raise ValueError(
            f"kernel{suffix}={kernel!r} must be a name, a Kernel object such as "
            "Gaussian(), or a function k(X, Y)."
        )


def bound_to(kernel: Kernel, X: Any, weight: Any = None, name: str = "X") -> Kernel:
    """Return the kernel with its width a number, or say that X has no fit scale.

    ``name`` says what X is, for the error.
    """
    if kernel.takes_squares:
        seen = kernel.mapped(X) if isinstance(kernel, InMetric) else X
        check_scale(seen, name)
    return kernel.bind(X, weight)
