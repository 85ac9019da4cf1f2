"""Laws of what every estimator asks of its parameters and its data."""

import re

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from pursuit import (
    CKNNClassifier,
    DensityClassifier,
    HKNNClassifier,
    HKNNRegressor,
    KernelCentroidClassifier,
    ManifoldParzen,
    NadarayaWatson,
    ParzenWindows,
    SparseKernelCCA,
    SparseKernelPCA,
)
from pursuit._parameters import check_scale
from pursuit.kernels import Gaussian, Laplacian, Matern

# -- the scale of the data ---------------------------------------------------------

SQUARING = [
    HKNNClassifier(3),
    CKNNClassifier(3),
    HKNNRegressor(3),
    NadarayaWatson(),
    NadarayaWatson(Matern()),
    NadarayaWatson(Gaussian() + Laplacian()),
    KernelCentroidClassifier(),
    KernelCentroidClassifier("cosine"),
    KernelCentroidClassifier("linear"),
    SparseKernelPCA(2),
    SparseKernelPCA(2, kernel="cosine"),
    SparseKernelCCA(2, max_support=5),
]
# Those of the L1 norm, and those that choose units of their own.
FREE = [
    NadarayaWatson("laplacian"),
    KernelCentroidClassifier("laplacian"),
    SparseKernelPCA(2, kernel="laplacian"),
    DensityClassifier(ParzenWindows(), param_grid=None),
    DensityClassifier(ManifoldParzen(8, 2), param_grid=None),
]


def answers(model, X):
    return (model.transform if hasattr(model, "transform") else model.predict)(X)


@pytest.mark.parametrize("model", SQUARING, ids=str)
def test_squares_that_are_no_numbers_are_refused(model, iris):
    X, y = iris
    for scale in (1e155, 1e200, 1e300):
        with pytest.raises(ValueError, match="^X holds .* overflow: scale it down"):
            model.fit(scale * X, y)
        with pytest.raises(ValueError, match="^X holds .* overflow: scale it down"):
            answers(model.fit(X, y), scale * X)
    for scale in (1e-155, 1e-200, 1e-300):
        with pytest.raises(ValueError, match="^X varies .* underflows: scale it up"):
            model.fit(scale * X, y)
        # One point after the other may well be small.
        assert np.isfinite(answers(model.fit(X, y), scale * X[:3])).all()


@pytest.mark.parametrize("model", FREE, ids=str)
@pytest.mark.parametrize("scale", [1e-200, 1e-155, 1e155, 1e200])
def test_no_scale_is_too_much_where_nothing_is_squared(model, scale, iris):
    X, y = iris
    expected = answers(model.fit(X, y), X)
    assert_allclose(answers(model.fit(scale * X, y), scale * X), expected, atol=1e-6)


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_second_view_has_a_scale_too(scale, iris):
    X, _ = iris
    with pytest.raises(ValueError, match=r"^y (holds|varies) .* scale it (up|down)"):
        SparseKernelCCA(2).fit(X, scale * X)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_scales_of_any_matrix(kind):
    for good in (
        np.zeros((3, 2)),
        np.full((3, 2), 1e-200),
        np.eye(2),
        1e150 * np.eye(2),
    ):
        check_scale(kind(good))
    with pytest.raises(ValueError, match=re.escape("Z holds values up to 2e+160")):
        check_scale(kind([[1.0, 0.0], [-2e160, 0.0]]), "Z")
    with pytest.raises(ValueError, match="Z varies by 3e-160 at most"):
        check_scale(kind([[1e-160, 0.0], [-2e-160, 0.0]]), "Z")
