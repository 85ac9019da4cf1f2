"""The two views of SparseKernelCCA: kernels, variates, names of the second view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from pursuit._parameters import check_squares, is_word
from pursuit.expansions import kernel_blocks
from pursuit.kernels import Kernel
from pursuit.kernels.given import is_precomputed

from ._components import (
    bound_kernel,
    check_square_or_support,
)
from ._inputs import check_kind

# Names of the views in error messages.
NAMES = ("X", "y")
# Rows that tell whether a view is constant, and how far values of it may differ.
_TRIAL_ROWS, _FLAT = 100, 1e-12


class SecondView(TransformerMixin, BaseEstimator):
    """Feature names and output frames of the second view.

    scikit-learn handles these for the first argument of an estimator's methods; here
    the second view is the first argument.
    """

    def __init__(self, n_components: int) -> None:
        self.n_components = n_components

    def check_names(self, y: Any, *, reset: bool) -> None:
        """Store the column names of a frame, or compare them with those stored."""
        try:
            validate_data(self, y, reset=reset, skip_check_array=True, ensure_2d=False)
        except ValueError as error:
            raise ValueError(f"In y, the second view: {error}") from error

    def transform(self, X: Any, scores: np.ndarray) -> Any:
        """Return the variates of this view in the format of ``set_output``."""
        return scores

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the variates."""
        names = [f"sparsekernelcca_y{i}" for i in range(self.n_components)]
        return np.array(names, dtype=object)


@dataclass(frozen=True, eq=False)
class FittedView:
    """One view of a fitted model.

    Attributes
    ----------
    name : {"X", "y"}
    kernel : Kernel or None
        None if precomputed.
    points : array or CSR of shape (n_support, n_features)
        Chosen points.
    support : ndarray of shape (n_support,)
        Training rows of these points.
    n_features : int
        Number of columns of the view at fit.
    weights : ndarray of shape (n_components, n_support)
        Weights of the chosen points' images in the variates.
    offset : ndarray of shape (n_components,)
        Means of the variates before centering.
    """

    name: str
    kernel: Kernel | None
    points: Any
    support: np.ndarray
    n_features: int
    weights: np.ndarray
    offset: np.ndarray

    def scores(self, Z: Any) -> np.ndarray:
        """Return the variates (n, n_components) of rows of this view."""
        if self.kernel is None:
            Z = check_square_or_support(Z, self.n_features, self.support, self.name)
        elif self.kernel.takes_squares:
            check_squares(Z, self.name)
        out = np.empty((Z.shape[0], len(self.weights)))
        for rows, K in kernel_blocks(self.kernel, Z, self.points):
            np.matmul(K, self.weights.T, out=out[rows])
            out[rows] -= self.offset
        return out


def kernel_parameters(estimator: Any) -> tuple[Any, Any]:
    """Return the kernel parameters of the two views."""
    kernel, other = estimator.kernel, estimator.kernel_y
    return kernel, kernel if other is None else other


def bound_kernels(estimator: Any, X: Any, Y: Any) -> tuple[Kernel | None, ...]:
    """Return the kernels of the two views, with numeric gammas."""
    gamma, other = estimator.gamma, estimator.gamma_y
    gammas = gamma, gamma if is_word(other, "same") else other
    return tuple(
        bound_kernel(kernel, gamma, estimator.degree, estimator.coef0, Z, name)
        for kernel, gamma, Z, name in zip(
            kernel_parameters(estimator), gammas, (X, Y), NAMES, strict=True
        )
    )


def why_empty(kernels: tuple[Kernel | None, ...], X: Any, Y: Any) -> str:
    """Return why no pair has a correlation: a view or a kernel that is constant."""
    for kernel, Z, name in zip(kernels, (X, Y), NAMES, strict=True):
        some = np.unique(np.linspace(0, Z.shape[0] - 1, _TRIAL_ROWS).astype(int))
        rows = Z[some].toarray() if sparse.issparse(Z) else Z[some]
        K = rows if kernel is None else kernel(rows)
        if np.ptp(K) > _FLAT * np.abs(K).max():
            continue
        gamma = getattr(kernel, "gamma", None)
        if gamma is None or not np.ptp(rows, axis=0).any():
            return f"{name} is constant, or its kernel is on these rows."
        suffix = "" if name == "X" else "_y"
        return (
            f"the kernel of {name} is constant, as gamma{suffix}={gamma:g} is far too "
            "small for these rows. Give a larger one, or 'median'."
        )
    return "no column of one kernel correlates with one of the other."


def accepted(estimator: Any, view: int) -> Any:
    """Return the sparse format that a view may have."""
    return False if is_precomputed(kernel_parameters(estimator)[view]) else "csr"


def second_view(estimator: Any, y: Any) -> Any:
    """Return the second view as a validated matrix; a single column may be 1-d."""
    check_kind(y, "y")
    Y = check_array(
        y,
        accept_sparse=accepted(estimator, 1),
        dtype=np.float64,
        ensure_2d=False,
        input_name="y",
    )
    return Y.reshape(-1, 1) if Y.ndim == 1 else Y
