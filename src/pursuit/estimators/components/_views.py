"""The two views of SparseKernelCCA: kernels, variates, names of the second view."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from pursuit._ranges import check_squares
from pursuit.components.pairs import PairedPath
from pursuit.components.subspaces import Projection
from pursuit.estimators._validation import check_kind
from pursuit.kernels import Kernel
from pursuit.kernels._base import KernelOn

from ._settings import check_square_or_support

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
    projection : Projection
        Variates in the span of the chosen points.
    support : ndarray of shape (n_support,)
        Training rows of these points.
    n_features : int
        Number of columns of the view at fit.
    """

    name: str
    projection: Projection
    support: np.ndarray
    n_features: int

    @property
    def kernel(self) -> Kernel | None:
        """The kernel of the view; None if it is precomputed."""
        values = self.projection.values
        return None if values is None else values.kernel

    def scores(self, Z: Any) -> np.ndarray:
        """Return the variates (n, n_components) of rows of this view."""
        kernel = self.kernel
        if kernel is None:
            Z = check_square_or_support(Z, self.n_features, self.support, self.name)
        elif kernel.takes_squares:
            check_squares(Z, self.name)
        return self.projection(Z)


def fitted_views(
    path: PairedPath,
    kernels: tuple[Kernel | None, Kernel | None],
    points: tuple[Any, Any],
    n_features: tuple[int, int],
    weights: tuple[np.ndarray, ...],
    offsets: tuple[np.ndarray, ...],
) -> tuple[FittedView, FittedView]:
    """Return the two views of a model; arguments hold one entry for each view."""
    on_points = [
        None if kernel is None else KernelOn(kernel, Z)
        for kernel, Z in zip(kernels, points, strict=True)
    ]
    first, second = (
        FittedView(name, Projection(values, w, offset), path.atoms, n)
        for name, values, w, offset, n in zip(
            NAMES, on_points, weights, offsets, n_features, strict=True
        )
    )
    return first, second


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


def second_view(y: Any, accept_sparse: Any) -> Any:
    """Return the second view as a validated matrix; a single column may be 1-d."""
    check_kind(y, "y")
    Y = check_array(
        y,
        accept_sparse=accept_sparse,
        dtype=np.float64,
        ensure_2d=False,
        input_name="y",
    )
    return Y.reshape(-1, 1) if Y.ndim == 1 else Y
