"""Gradients of sums of kernels, against differences of their values."""

import re

import numpy as np
import pytest
from scipy import sparse

from pursuit.kernels import (
    Constant,
    Cosine,
    DotProduct,
    FunctionKernel,
    Gaussian,
    InMetric,
    InverseMultiquadric,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Radial,
    Sigmoid,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 4)) * (RNG.random((30, 4)) < 0.7)
Y = RNG.normal(size=(11, 4)) * (RNG.random((11, 4)) < 0.7)
COEF = RNG.normal(size=(11, 3))
# No step of the differences may cross a kink, at equal coordinates of two points.
X[X == 0.0] = 0.2

VECTOR = np.array([0.5, 2.0, 0.0, 1.0])
MATRIX = RNG.normal(size=(4, 2))

KERNELS = [
    Gaussian(0.7),
    Matern(0.5, 0.4),
    Matern(1.5, 0.4),
    Matern(2.5, 0.4),
    InverseMultiquadric(2.0),
    Laplacian(0.3),
    Linear(),
    Polynomial(1, 0.5, 1.0),
    Polynomial(3, 0.5, 1.0),
    Sigmoid(0.3, -0.5),
    Cosine(),
    Constant(2.0),
    Gaussian(0.5) + 2.0 * Linear(),
    Gaussian(0.1) * Polynomial(2, 0.5, 0.3) + 1,
    3.0 * (Laplacian(0.2) * Matern(2.5, 0.3) * Linear()),
    InMetric(Gaussian(0.3), VECTOR),
    InMetric(Gaussian(0.3), MATRIX),
    InMetric(Laplacian(0.3), VECTOR),
    InMetric(Laplacian(0.3), MATRIX),
    InMetric(Matern(0.5, 0.3) * Linear() + 1.0, MATRIX),
    2.0 * InMetric(Cosine(), VECTOR) * Gaussian(0.2),
]
each_kernel = pytest.mark.parametrize(
    "kernel", KERNELS, ids=lambda k: re.sub(r"\s+", "", repr(k))
)


def differences(kernel, step=1e-5):
    """Central differences, of shape (3, 30, 4)."""
    found = np.empty((3, *X.shape))
    for j, e in enumerate(np.eye(4) * step):
        found[:, :, j] = ((kernel(X + e, Y) - kernel(X - e, Y)) @ COEF).T / (2 * step)
    return found


@each_kernel
def test_equal_finite_differences(kernel):
    assert kernel.has_gradients
    found = np.array(list(kernel.gradients(X, Y, COEF)))
    assert found.shape == (3, 30, 4)
    np.testing.assert_allclose(found, differences(kernel), rtol=1e-6, atol=1e-7)


@each_kernel
def test_sparse_points_give_the_same(kernel):
    expected = np.array(list(kernel.gradients(X, Y, COEF)))
    for csr in sparse.csr_array, sparse.csr_matrix:
        for A, B in [(csr(X), csr(Y)), (X, csr(Y)), (csr(X), Y)]:
            for found, exact in zip(
                kernel.gradients(A, B, COEF), expected, strict=True
            ):
                assert type(found) is np.ndarray
                np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-12)


@each_kernel
def test_blocks_of_rows_give_the_same(kernel):
    whole = np.array(list(kernel.gradients(X, Y, COEF)))
    parts = [list(kernel.gradients(X[rows], Y, COEF)) for rows in (slice(7, 19), [3])]
    np.testing.assert_allclose(parts[0], whole[:, 7:19], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(parts[1], whole[:, 3:4], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kernel", [Matern(0.5, 0.4), Laplacian(0.3)], ids=repr)
def test_a_point_adds_nothing_at_its_own_kink(kernel):
    coef = RNG.normal(size=(30, 2))
    for t, found in enumerate(kernel.gradients(X, X, coef)):
        for i in 0, 17:
            others = np.arange(30) != i
            (exact,) = kernel.gradients(X[[i]], X[others], coef[others, t : t + 1])
            np.testing.assert_allclose(found[[i]], exact, rtol=1e-10, atol=1e-12)


def test_a_laplacian_adds_nothing_along_equal_coordinates():
    (found,) = Laplacian(0.5).gradients([[0.0, 1.0]], [[0.0, 3.0]], [[2.0]])
    np.testing.assert_allclose(found, [[0.0, np.exp(-1.0)]])


def test_similarity_to_the_origin_is_flat():
    (found,) = Cosine().gradients(np.zeros((1, 2)), np.eye(2), np.ones((2, 1)))
    np.testing.assert_array_equal(found, [[0.0, 0.0]])


@pytest.mark.parametrize("kernel", KERNELS[:6], ids=repr)
@pytest.mark.parametrize("scale", [1e-200, 1e60, 1e150])
def test_extreme_scales_are_never_nan(kernel, scale):
    for found in kernel.gradients(X * scale, Y * scale, COEF):
        assert np.isfinite(found).all()


def test_a_common_offset_costs_no_digits():
    exact = np.array(list(Gaussian(0.5).gradients(X, Y, COEF)))
    A, B = X + 2.0**20, Y + 2.0**20
    found = list(Gaussian(0.5).gradients(A, B, COEF))
    np.testing.assert_allclose(found, exact, atol=1e-8)


class _HalfRadial(Radial):
    def profile(self, D):
        np.exp(-D, out=D)


class _HalfProduct(DotProduct):
    def profile(self, G):
        G += 1.0


@pytest.mark.parametrize(
    "kernel", [FunctionKernel(lambda A, B: A @ B.T), _HalfRadial(), _HalfProduct()]
)
def test_kernels_without_gradients_say_so(kernel):
    for k in kernel, kernel + Linear(), 2.0 * kernel, InMetric(kernel, VECTOR):
        assert not k.has_gradients
        with pytest.raises(NotImplementedError, match=r"has no gradients.*Gaussian\("):
            k.gradients(X, Y, COEF)


def test_words_must_be_bound_first():
    for k in Gaussian(), 2.0 * Gaussian() + 1.0, InMetric(1.0 + Gaussian(), VECTOR):
        with pytest.raises(ValueError, match=r"call bind\(X\)"):
            k.gradients(X, Y, COEF)


@pytest.mark.parametrize("coef", [COEF[:, 0], COEF[:5], COEF.T])
def test_coefficients_must_fit_the_points(coef):
    with pytest.raises(ValueError, match="expected 11 rows"):
        Gaussian(1.0).gradients(X, Y, coef)
