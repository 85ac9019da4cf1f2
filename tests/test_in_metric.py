"""Kernels in another metric: the kernel of points that were mapped by hand."""

import pickle
import re
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

from pursuit.kernels import (
    FunctionKernel,
    Gaussian,
    InMetric,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    factor_of,
    median_gamma,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 5)) * (RNG.random((50, 5)) < 0.7)
Y = RNG.normal(size=(13, 5)) * (RNG.random((13, 5)) < 0.7)
WEIGHTS = RNG.integers(0, 4, size=50).astype(float)
VECTOR = np.array([0.5, 2.0, 0.0, 1.0, 0.25])
MATRIX = RNG.normal(size=(5, 3))

each_factor = pytest.mark.parametrize(
    "factor", [VECTOR, MATRIX], ids=["vector", "matrix"]
)
each_kernel = pytest.mark.parametrize(
    "kernel",
    [
        Gaussian(0.3),
        Laplacian("median"),
        Matern(0.5),
        Polynomial(2),
        Gaussian() + 2.0 * Linear(),
    ],
    ids=repr,
)


def by_hand(A, factor):
    return A * factor if factor.ndim == 1 else A @ factor


@each_factor
@each_kernel
def test_equals_the_kernel_of_mapped_points(kernel, factor):
    k, plain = InMetric(kernel, factor).bind(X), kernel.bind(by_hand(X, factor))
    A, B = by_hand(X, factor), by_hand(Y, factor)
    np.testing.assert_array_equal(k.mapped(X), A)
    np.testing.assert_array_equal(k(X, Y), plain(A, B))
    np.testing.assert_array_equal(k(X), plain(A))
    np.testing.assert_array_equal(k(X), k(X).T)
    np.testing.assert_array_equal(k.diag(X), plain.diag(A))
    np.testing.assert_array_equal(k.at(Y)(X[:3]), plain.at(B)(A[:3]))
    out = np.empty((50, 13), np.float32)
    assert k.block(X, Y, out) is out
    np.testing.assert_allclose(out, plain(A, B), rtol=1e-6, atol=1e-14)


@each_factor
@each_kernel
def test_sparse_points_give_the_same(kernel, factor):
    k = InMetric(kernel, factor).bind(X)
    A, B = sparse.csr_array(X), sparse.csr_array(Y)
    data = A.data.copy()
    np.testing.assert_allclose(k.bind(A)(A, B), k(X, Y), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(k.at(B)(A), k(X, Y), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(k.diag(A), k.diag(X), rtol=1e-12)
    assert sparse.issparse(k.mapped(A)) == (factor.ndim == 1)
    np.testing.assert_array_equal(A.data, data)


@each_factor
def test_rules_see_the_mapped_points(factor):
    bound = InMetric(Gaussian("median"), factor).bind(X, WEIGHTS)
    assert bound.gamma == median_gamma(by_hand(X, factor), WEIGHTS)
    assert bound.with_gamma(0.7).gamma == bound.with_gamma(0.7).kernel.gamma == 0.7
    assert bound.with_gamma(0.7).factor is bound.factor


def test_points_are_mapped_once(monkeypatch):
    mapped, calls = InMetric.mapped, []

    def counted(self, A):
        calls.append(A)
        return mapped(self, A)

    monkeypatch.setattr(InMetric, "mapped", counted)
    k = InMetric(Gaussian(1.0), MATRIX)
    values = k.between(X, Y)
    values.block(slice(0, 7))
    values.block(slice(7, 20))
    assert len(calls) == 2
    k.between(X).block()
    assert len(calls) == 3
    evaluate = k.at(Y)
    evaluate(X[:1])
    evaluate(X[1:2])
    assert len(calls) == 6


def test_facts_are_those_of_the_kernel():
    k = InMetric(Laplacian(2.0), VECTOR)
    assert (k.metric, k.gamma, k.symmetric) == ("manhattan", 2.0, True)
    assert k.accepts_sparse
    assert not k.takes_squares
    assert InMetric(Gaussian(2.0), VECTOR).takes_squares
    assert not hasattr(InMetric(Linear(), VECTOR), "gamma")
    dense = FunctionKernel(lambda A, B: A @ B.T, accepts_sparse=False)
    assert not InMetric(dense, VECTOR).accepts_sparse
    assert not InMetric(dense, VECTOR).symmetric
    # A matrix makes points dense.
    assert InMetric(dense, MATRIX).accepts_sparse
    np.testing.assert_allclose(
        InMetric(dense, MATRIX)(sparse.csr_array(X)), X @ MATRIX @ MATRIX.T @ X.T
    )


@each_factor
def test_combinations_clones_and_pickles(factor):
    k = InMetric(Gaussian(), factor)
    both = (2.0 * k * Linear() + 1.0).bind(X)
    plain = Gaussian().bind(by_hand(X, factor))
    expected = 2.0 * plain(by_hand(X, factor), by_hand(Y, factor)) * (X @ Y.T) + 1.0
    for copy in both, clone(both), pickle.loads(pickle.dumps(both)):
        np.testing.assert_allclose(copy(X, Y), expected, rtol=1e-12, atol=1e-14)
    assert clone(k).set_params(kernel__gamma=0.5).gamma == 0.5
    assert k.gamma == "median"
    assert isinstance(k, Kernel)


@pytest.mark.parametrize("shape", [(500,), (300, 300)])
def test_large_factors_are_printed_short(shape):
    k = InMetric(Gaussian(0.5), RNG.random(shape))
    assert len(repr(k)) < 300
    assert len(repr(2.0 * k + 1.0)) < 500
    assert "Gaussian(gamma=0.5)" in repr(k)


@each_factor
def test_a_wrong_number_of_columns(factor):
    k = InMetric(Gaussian(1.0), factor)
    for use in k, k.bind, k.diag, k.at, k.at(Y), k.mapped, lambda A: k(X, A):
        for A in X[:, :4], sparse.csr_array(X[:, :4]):
            with pytest.raises(ValueError, match=r"4 columns.* 5\b"):
                use(A)


@pytest.mark.parametrize(
    "factor, words",
    [
        (3.0, "factor has shape"),
        (np.ones((2, 2, 2)), "factor has shape"),
        ([1.0, np.nan, 1.0, 1.0, 1.0], "factor holds NaN or inf"),
        ("median", "factor must be an array of numbers"),
    ],
)
def test_invalid_factors(factor, words):
    k = InMetric(Gaussian(1.0), factor)
    for use in k, k.bind, k.at, k.diag:
        with pytest.raises(ValueError, match=words):
            use(X)


def test_words_must_be_bound_first():
    with pytest.raises(ValueError, match=r"call bind\(X\)"):
        InMetric(Gaussian("median"), VECTOR)(X)


# Factors of metrics


def test_factor_of_weights():
    np.testing.assert_array_equal(factor_of([4, 0, 2.25]), [2.0, 0.0, 1.5])


@pytest.mark.parametrize("scale", [1e-290, 1.0, 1e300])
def test_factor_of_a_matrix(scale):
    M = MATRIX @ MATRIX.T * scale
    A = factor_of(M)
    np.testing.assert_allclose(A, A.T, atol=1e-14 * np.abs(A).max())
    np.testing.assert_allclose(A @ A, M, rtol=1e-10, atol=1e-12 * scale)


def test_a_metric_gives_its_distances():
    M = MATRIX @ MATRIX.T
    D = [[(x - y) @ M @ (x - y) for y in Y] for x in X]
    K = InMetric(Gaussian(0.1), factor_of(M))(X, Y)
    np.testing.assert_allclose(K, np.exp(-0.1 * np.array(D)), rtol=1e-10)


def test_rounding_is_tolerated():
    M = (MATRIX @ MATRIX.T).astype(np.float32)
    M[0, 1] *= 1 + 1e-7
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(factor_of(M) @ factor_of(M), M, atol=1e-5)
        np.testing.assert_array_equal(factor_of(np.zeros((3, 3))), np.zeros((3, 3)))


@pytest.mark.parametrize(
    "metric, words",
    [
        ([1.0, -0.5, 2.0], r"metric[1] = -0.5 is negative"),
        ([1.0, np.nan], "NaN or inf"),
        ([[1.0, np.inf], [np.inf, 1.0]], "NaN or inf"),
        ([[1.0, 2.0], [0.0, 1.0]], "not a symmetric matrix: pass (M + M.T) / 2"),
        ([[1.0, 2.0], [2.0, 1.0]], "the negative eigenvalue -1,"),
        ([[-1.0, 0.0], [0.0, 0.0]], "the negative eigenvalue -1,"),
        (np.ones((2, 3)), "shape (2, 3)"),
        (2.0, "shape ()"),
        (np.ones((2, 2, 2)), "shape (2, 2, 2)"),
        (["a", "b"], "array of numbers"),
    ],
)
def test_what_is_no_metric(metric, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        factor_of(metric)
