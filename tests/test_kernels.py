"""Laws of kernels, over a list of instances: a new kernel joins `KERNELS`."""

import pickle
import re

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import sparse
from sklearn.base import clone
from sklearn.gaussian_process import kernels as gp
from sklearn.metrics import pairwise
from threadpoolctl import threadpool_info, threadpool_limits

from pursuit.kernels import (
    Constant,
    Cosine,
    DotProduct,
    FunctionKernel,
    Gaussian,
    InMetric,
    InverseMultiquadric,
    Kernel,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    Product,
    Radial,
    Scaled,
    Sigmoid,
    Sum,
    as_kernel,
    distances,
    median_gamma,
    scale_gamma,
    tiles,
    widths,
)
from pursuit.kernels._base import _Combination
from pursuit.kernels.exponential import exponentials


def frozen(array):
    array.setflags(write=False)
    return array


RNG = np.random.default_rng(0)
X = frozen(np.round(RNG.normal(size=(60, 4)), 2) * (RNG.random((60, 4)) < 0.7))
Y = frozen(RNG.normal(size=(23, 4)) * (RNG.random((23, 4)) < 0.7))
WEIGHTS = frozen(RNG.integers(0, 4, size=60).astype(float))


def one_sided(A, B):
    return A @ np.triu(np.ones((A.shape[1], A.shape[1]))) @ B.T


KERNELS = [
    Gaussian(0.7),
    Gaussian("median"),
    Gaussian("scale"),
    Laplacian(0.3),
    Laplacian("median"),
    Matern(0.5, 0.4),
    Matern(1.5, "median"),
    Matern(2.5, "auto"),
    InverseMultiquadric(2.0),
    Linear(),
    Polynomial(3, "scale", 1.0),
    Polynomial(1, 0.5),
    Sigmoid(0.1, -0.5),
    Cosine(),
    Constant(2.0),
    Gaussian() + 2.0 * Linear(),
    Gaussian(0.1) * Polynomial(2) + 1,
    InMetric(Gaussian(), np.array([0.5, 2.0, 0.0, 1.0])),
    InMetric(Matern(0.5, 0.3) + Linear(), [[1.0, 0.5], [0, 1], [-1, 0], [0.3, 0.2]]),
    FunctionKernel(pairwise.rbf_kernel, symmetric=True),
    FunctionKernel(
        gp.RBF(0.8) + gp.WhiteKernel(), symmetric=True, accepts_sparse=False
    ),
    FunctionKernel(one_sided, accepts_sparse=False),
]
RADIAL = [
    Gaussian(0.7),
    Matern(1.5, 0.5),
    Matern(2.5, 0.5),
    InverseMultiquadric(1.0),
    Laplacian(0.7),
]


def title(kernel):
    """Without addresses, so that all processes of a run call a test the same."""
    return re.sub(r"<function (\w+) at \w+>|\s+", r"\1", repr(kernel))


each_kernel = pytest.mark.parametrize("kernel", KERNELS, ids=title)
each_radial = pytest.mark.parametrize("kernel", RADIAL, ids=title)


def wide(A):
    """CSC with 64-bit indices, as scikit-learn's checks have it."""
    A = sparse.csc_array(A)
    A.indices, A.indptr = A.indices.astype(np.int64), A.indptr.astype(np.int64)
    return A


each_csr = pytest.mark.parametrize("csr", [sparse.csr_matrix, sparse.csr_array, wide])


@each_kernel
def test_symmetric_where_it_says_so(kernel):
    k = kernel.bind(X)
    assert k.symmetric == np.allclose(k(X), k(X).T)
    np.testing.assert_allclose(k(X, X), k(X), rtol=1e-13, atol=1e-15)
    if k.symmetric:
        np.testing.assert_allclose(k(X, Y), k(Y, X).T, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize(
    "kernel", [k for k in KERNELS if "gamma" in k.get_params(deep=False)], ids=title
)
def test_another_width_leaves_the_rest_as_it_is(kernel):
    given = kernel.get_params()
    assert kernel.with_gamma(0.25).get_params() == {**given, "gamma": 0.25}
    assert kernel.get_params() == given


@each_kernel
def test_diag_is_the_diagonal(kernel):
    k = kernel.bind(X)
    np.testing.assert_allclose(k.diag(X), np.diagonal(k(X)), rtol=1e-12, atol=1e-15)


@each_kernel
def test_rows_do_not_depend_on_other_rows(kernel):
    k = kernel.bind(X)
    some = np.array([7, 3, 3, 41])
    np.testing.assert_allclose(k(X[some], Y), k(X, Y)[some], rtol=1e-13, atol=1e-15)


@each_kernel
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_blocks_are_blocks_of_the_matrix(kernel, dtype):
    k = kernel.bind(X)
    tolerance = {"rtol": 1e-13 if dtype is np.float64 else 1e-6, "atol": 1e-14}
    rows, columns = slice(5, 40), np.array([4, 2, 20])
    out = np.empty((35, 3), dtype)
    assert k.between(X, Y).block(rows, columns, out) is out
    np.testing.assert_allclose(out, k(X, Y)[rows][:, columns], **tolerance)
    out = np.empty((60, 23), dtype, order="F")
    assert k.block(X, Y, out) is out
    np.testing.assert_allclose(out, k(X, Y), **tolerance)
    assert k.between(X).shape == (60, 60)
    assert k.between(X, Y).shape == (60, 23)
    out = np.empty((35, 35), dtype)
    k.between(X).block(rows, rows, out)
    np.testing.assert_allclose(out, k(X)[rows, rows], **tolerance)


@each_kernel
def test_bind_returns_a_new_kernel(kernel):
    before = repr(kernel.get_params())
    k = kernel.bind(X, WEIGHTS)
    assert k is not kernel
    assert repr(kernel.get_params()) == before
    assert not any(isinstance(v, str) for v in k.get_params().values())
    np.testing.assert_array_equal(k.bind(Y)(X, Y), k(X, Y))


@each_kernel
def test_clones_and_pickles(kernel):
    K = kernel.bind(X)(X, Y)
    for copy in clone(kernel), pickle.loads(pickle.dumps(kernel)):
        assert copy is not kernel
        np.testing.assert_array_equal(copy.bind(X)(X, Y), K)


@each_csr
@each_kernel
def test_dense_equals_sparse(kernel, csr):
    if not kernel.accepts_sparse:
        pytest.skip("accepts dense points only")
    k, bound_sparse = kernel.bind(X, WEIGHTS), kernel.bind(csr(X), WEIGHTS)
    expected = k(X, Y)
    for A, B in [(csr(X), csr(Y)), (X, csr(Y)), (csr(X), Y)]:
        K = bound_sparse(A, B)
        assert isinstance(K, np.ndarray)
        np.testing.assert_allclose(K, expected, rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(k(csr(X)), k(X), rtol=1e-11, atol=1e-14)
    np.testing.assert_allclose(k.diag(csr(X)), k.diag(X), rtol=1e-12)


@each_kernel
def test_does_not_write_into_its_arguments(kernel):
    A, B = X.copy(), Y.copy()
    k = kernel.bind(A)
    k(A), k(A, B), k.diag(A)
    np.testing.assert_array_equal(A, X)
    np.testing.assert_array_equal(B, Y)


@pytest.mark.parametrize(
    "kernel, oracle",
    [
        (Gaussian(0.7), lambda A, B: pairwise.rbf_kernel(A, B, gamma=0.7)),
        (Laplacian(0.7), lambda A, B: pairwise.laplacian_kernel(A, B, gamma=0.7)),
        (Linear(), pairwise.linear_kernel),
        (Cosine(), pairwise.cosine_similarity),
        (
            Polynomial(4, 0.3, 2.0),
            lambda A, B: pairwise.polynomial_kernel(A, B, 4, gamma=0.3, coef0=2.0),
        ),
        (
            Sigmoid(0.3, 2.0),
            lambda A, B: pairwise.sigmoid_kernel(A, B, gamma=0.3, coef0=2.0),
        ),
        (Matern(0.5, 0.25), gp.Matern(2.0, nu=0.5)),
        (Matern(1.5, 0.25), gp.Matern(2.0, nu=1.5)),
        (Matern(2.5, 0.25), gp.Matern(2.0, nu=2.5)),
        (
            InverseMultiquadric(0.7),
            lambda A, B: (1 + 0.7 * pairwise.euclidean_distances(A, B) ** 2) ** -0.5,
        ),
    ],
)
def test_equals_scikit_learn(kernel, oracle):
    np.testing.assert_allclose(kernel(X, Y), oracle(X, Y), rtol=1e-11)


def test_operators_make_sums_and_products():
    a, b = Gaussian(0.5), Linear()
    np.testing.assert_allclose((a + b)(X, Y), a(X, Y) + b(X, Y))
    np.testing.assert_allclose((a * b)(X, Y), a(X, Y) * b(X, Y))
    for scaled in 3 * a, a * 3.0, np.float64(3) * a:
        assert isinstance(scaled, Scaled)
        np.testing.assert_allclose(scaled(X, Y), 3 * a(X, Y))
    for moved in 3 + a, a + 3.0, np.float64(3) + a:
        assert isinstance(moved, Sum)
        np.testing.assert_allclose(moved(X, Y), 3 + a(X, Y))
    with pytest.raises(TypeError):
        a + "linear"
    with pytest.raises(TypeError):
        a * [1.0]


def test_nested_parameters_are_reached():
    k = Product(Sum(Gaussian(), Linear()), Scaled(Polynomial(), 2.0))
    k.set_params(first__first__gamma=0.25, second__kernel__degree=2)
    assert k.first.first.gamma == 0.25
    assert clone(k).get_params()["second__kernel__degree"] == 2
    bound = k.bind(X)
    assert bound.first.first.gamma == 0.25
    assert bound.second.kernel.gamma == scale_gamma(X)
    k = FunctionKernel(gp.RBF(2.0)).set_params(function__length_scale=3.0)
    np.testing.assert_allclose(k(X, Y), gp.RBF(3.0)(X, Y))


def test_combinations_have_the_facts_of_their_operands():
    plain = FunctionKernel(one_sided, symmetric=False, accepts_sparse=False)
    assert not (Gaussian() + plain).symmetric
    assert not (2 * (plain * Gaussian())).accepts_sparse
    assert (Gaussian() + Linear()).symmetric
    assert (Gaussian() + Linear()).accepts_sparse


# Kernels of a distance: what must hold exactly


@each_radial
@pytest.mark.parametrize("csr", [np.asarray, sparse.csr_array])
def test_identical_points_have_similarity_one(kernel, csr):
    A = csr(np.repeat(RNG.normal(size=(40, 30)), 3, axis=0))
    K = kernel(A, A.copy())
    np.testing.assert_array_equal(K[np.arange(120), np.arange(120)], 1.0)
    np.testing.assert_allclose(K[::3, ::3], K[1::3, 2::3], rtol=1e-13)


@each_radial
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_matrix_of_one_set_is_exactly_symmetric(kernel, dtype, monkeypatch):
    monkeypatch.setattr(tiles, "TILE", 64)
    A = RNG.normal(size=(200, 7))
    K = kernel.between(A).block(out=np.empty((200, 200), dtype))
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)
    tolerance = 1e-12 if dtype is np.float64 else 1e-6
    np.testing.assert_allclose(K, kernel(A, A.copy()), rtol=tolerance)


def test_a_common_offset_costs_no_digits():
    A = RNG.integers(-50, 50, size=(30, 3)) / 16
    np.testing.assert_allclose(Gaussian(1.0)(A + 2.0**24), Gaussian(1.0)(A), rtol=1e-12)


def test_near_points_keep_their_digits():
    A = RNG.normal(size=(20, 10))
    B = A + 1e-7 * RNG.normal(size=A.shape)
    exact = np.exp(-1e13 * ((A - B) ** 2).sum(axis=1))
    np.testing.assert_allclose(np.diagonal(Gaussian(1e13)(A, B)), exact, rtol=1e-6)


@each_radial
@pytest.mark.parametrize("scale", [1e-200, 1e150, 1e200, 1e308])
@pytest.mark.parametrize("csr", [np.asarray, sparse.csr_array])
def test_extreme_scales_are_never_nan(kernel, scale, csr):
    A = csr(np.clip(X, -1, 1) * scale)
    K = kernel(A)
    assert np.isfinite(K).all()
    np.testing.assert_array_equal(np.diagonal(K), 1.0)
    far = kernel(csr(np.eye(4) * scale))[0, 1]
    assert far == 1.0 if scale < 1 else far < 1e-100
    bound = clone(kernel).set_params(gamma="median").bind(A)
    assert np.isfinite(bound(A)).all()


@pytest.mark.parametrize("shape", [(301, 301), (700, 3), (3, 700), (1, 1)])
@pytest.mark.parametrize(
    "kernel, oracle",
    [
        (Gaussian(0.5), pairwise.rbf_kernel),
        (Laplacian(0.5), pairwise.laplacian_kernel),
    ],
)
def test_tiles_and_threads_change_nothing(kernel, oracle, shape, monkeypatch):
    A, B = RNG.normal(size=(shape[0], 5)), RNG.normal(size=(shape[1], 5))
    K = oracle(A, B, gamma=0.5)
    monkeypatch.setattr(tiles, "TILE", 16)
    values = (2.0 * kernel).between(A, B)
    for values.parts[0].n_threads in 1, 3:
        np.testing.assert_allclose(values.block(), 2.0 * K, rtol=1e-12)


def test_threads_are_counted_once(monkeypatch):
    with threadpool_limits(1):
        assert Gaussian(0.5).between(X).n_threads == 1
    monkeypatch.setattr(tiles, "usable_threads", lambda: 2)
    monkeypatch.setattr(tiles, "TILE", 16)
    values = Gaussian(0.5).between(X)
    with threadpool_limits(1):
        np.testing.assert_allclose(values.block(), Gaussian(0.5)(X), rtol=1e-13)
    assert values.n_threads == 2


def test_blocks_leave_the_limits_of_blas_alone(monkeypatch):
    monkeypatch.setattr(tiles, "TILE", 16)
    values = Gaussian(0.5).between(X)
    values.n_threads = 2
    with threadpool_limits(2):
        before = [pool["num_threads"] for pool in threadpool_info()]
        # Threads that enter and leave in any order.
        Parallel(3, prefer="threads")([delayed(values.block)() for _ in range(20)])
        assert [pool["num_threads"] for pool in threadpool_info()] == before


def absolute(A, B):
    return np.abs(A[:, np.newaxis] - B).sum(axis=2)


@pytest.mark.parametrize("d", [0, 1, 3, 4, 5, 8, 31])
@pytest.mark.parametrize("n, m", [(1, 1), (1, 600), (2, 1100), (7, 33), (1100, 3)])
def test_absolute_distances(n, m, d):
    A, B = RNG.normal(size=(n, d)), RNG.normal(size=(m, d))
    D = distances.absolute_distances(A, B)
    np.testing.assert_allclose(D, absolute(A, B), rtol=1e-13)
    np.testing.assert_array_equal(D, distances.absolute_distances(B, A).T)
    for i in range(min(n, 7)):
        # A row alone takes another loop, and has the same value to the last bit.
        np.testing.assert_array_equal(D[[i]], distances.absolute_distances(A[[i]], B))


@pytest.mark.parametrize("d", [1, 6])
def test_absolute_distances_take_arrays_of_any_kind(d):
    A, B = RNG.normal(size=(60, 2 * d)), RNG.normal(size=(2 * d, 23))
    A, B = frozen(A)[:, ::2], B.T[:, d:]
    expected = np.exp(-0.3 * absolute(A, B))
    for P, Q in (A, B), (np.asfortranarray(A), B.tolist()):
        np.testing.assert_allclose(Laplacian(0.3)(P, Q), expected, rtol=1e-13)
    for n in 1, 5, 60:
        K = Laplacian(0.3).at(B)(A[:n])
        np.testing.assert_allclose(K, expected[:n], rtol=1e-13)


def test_absolute_distances_that_overflow_are_infinite():
    A = np.array([[1e308, -1e308, 0.0], [-1e308, 1e308, 0.0]])
    np.testing.assert_array_equal(
        distances.absolute_distances(A), [[0.0, np.inf], [np.inf, 0.0]]
    )


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Laplacian(1.0)])
def test_points_must_have_the_same_columns(kernel):
    for n in 3, 60:
        few = X[:n, :3]
        for P, Q in (few, Y), (Y, few):
            for use in kernel, lambda P, Q: kernel.at(Q)(P):
                with pytest.raises(ValueError):
                    use(P, Q)


def test_exponential_agrees_with_extended_precision():
    t = np.concatenate([-np.logspace(-20, np.log10(707.9), 20000), [0.0]])
    D = -t[np.newaxis]
    exponentials(D, -1.0)
    exact = np.exp(t.astype(np.longdouble))
    assert float(np.max(np.abs(D[0] - exact) / exact)) < 5e-16
    D = np.array([[0.0, 710.0, 1e300, np.inf, np.nan]])
    exponentials(D, -1.0)
    np.testing.assert_array_equal(D, [[1.0, 0.0, 0.0, 0.0, np.nan]])


def test_float32_holds_no_subnormal_numbers():
    out = np.empty((1, 60), np.float32)
    Gaussian(1.0).block(np.zeros((1, 1)), np.linspace(5, 12, 60)[:, np.newaxis], out)
    assert (out[out > 0] >= np.finfo(np.float32).tiny).all()
    assert out[0, -1] == 0.0


@each_kernel
def test_no_points_give_an_empty_matrix(kernel):
    if isinstance(kernel, (FunctionKernel, Cosine)):
        pytest.skip("rests on a function that rejects an empty set")
    k = kernel.bind(X)
    assert k(X[:0], Y).shape == (0, 23)


# Widths from data


def brute_median_gamma(A, weights, metric):
    order = 2 if metric == "sqeuclidean" else 1
    pairs = []
    for i in range(len(A)):
        for j in range(i):
            distance = (np.abs(A[i] - A[j]) ** order).sum()
            if distance > 0:
                pairs += [distance] * int(weights[i] * weights[j])
    return 1 / np.sort(pairs)[(len(pairs) - 1) // 2]


RULES = [
    median_gamma,
    lambda A, w=None: median_gamma(A, w, "manhattan"),
    scale_gamma,
]
each_rule = pytest.mark.parametrize("rule", RULES, ids=["median", "L1", "scale"])


@pytest.mark.parametrize("metric", ["sqeuclidean", "manhattan"])
def test_median_is_the_median(metric):
    expected = brute_median_gamma(X, WEIGHTS, metric)
    np.testing.assert_allclose(median_gamma(X, WEIGHTS, metric), expected, rtol=1e-12)


@each_rule
@pytest.mark.parametrize("sampled", [25, 2000])
def test_weights_are_repetitions_in_any_order(rule, sampled, monkeypatch):
    monkeypatch.setattr(widths, "SAMPLED_ROWS", sampled)
    repeated = np.repeat(X, WEIGHTS.astype(int), axis=0)
    order = RNG.permutation(len(X))
    gamma = rule(X, WEIGHTS)
    exact = 1e-15 if rule is scale_gamma else 0
    for other in [
        rule(repeated),
        rule(RNG.permutation(repeated)),
        rule(X[order], WEIGHTS[order]),
        rule(X[WEIGHTS > 0], 8.0 * WEIGHTS[WEIGHTS > 0]),
    ]:
        np.testing.assert_allclose(other, gamma, rtol=exact)
    for csr in sparse.csr_matrix, sparse.csr_array:
        np.testing.assert_allclose(rule(csr(X), WEIGHTS), gamma, rtol=1e-12)


@each_rule
def test_widths_follow_the_units_of_the_data(rule):
    power = 1 if rule is RULES[1] else 2
    for unit in 2.0**-100, 2.0**400:
        np.testing.assert_allclose(rule(X * unit) * unit**power, rule(X), rtol=1e-12)


@each_rule
@pytest.mark.parametrize("A", [np.ones((5, 3)), np.zeros((5, 3)), np.ones((1, 3))])
def test_equal_points_have_width_one(rule, A):
    assert rule(A) == 1.0
    assert rule(sparse.csr_array(A)) == 1.0


def test_words_mean_what_they_say():
    assert Gaussian("median").bind(X).gamma == median_gamma(X)
    assert Laplacian("median").bind(X).gamma == median_gamma(X, metric="manhattan")
    np.testing.assert_allclose(Gaussian("scale").bind(X).gamma, 1 / (4 * X.var()))
    assert Sigmoid("auto").bind(X).gamma == 0.25


# Names and errors


@pytest.mark.parametrize(
    "name, kernel",
    [
        ("rbf", Gaussian(0.5)),
        ("gaussian", Gaussian(0.5)),
        ("laplacian", Laplacian(0.5)),
        ("poly", Polynomial(gamma=0.5)),
        ("polynomial", Polynomial(gamma=0.5)),
        ("sigmoid", Sigmoid(gamma=0.5)),
        ("linear", Linear()),
        ("cosine", Cosine()),
    ],
)
def test_names(name, kernel):
    named = as_kernel(name, gamma=0.5)
    assert type(named) is type(kernel)
    assert named.get_params() == kernel.get_params()


def test_kernels_and_functions_are_kernels():
    k = Gaussian()
    assert as_kernel(k) is k
    for function in gp.RBF(), pairwise.rbf_kernel, lambda A, B: A @ B.T:
        np.testing.assert_array_equal(as_kernel(function)(X, Y), function(X, Y))


@pytest.mark.parametrize(
    "kernel, error, words",
    [
        ("rbv", ValueError, "'rbv' is unknown.*'rbf'"),
        ("precomputed", ValueError, "precomputed"),
        (Gaussian, TypeError, r"Gaussian\(\)"),
        (3, TypeError, "name, a Kernel"),
    ],
)
def test_what_is_no_kernel(kernel, error, words):
    with pytest.raises(error, match=words):
        as_kernel(kernel)


INVALID = [
    (Gaussian(-1.0), "gamma=-1.0 must be a positive finite number or 'median'"),
    (Gaussian(0), "gamma=0 must be"),
    (Gaussian(np.inf), "gamma=inf must be"),
    (Gaussian(None), "gamma=None must be"),
    (Gaussian(True), "gamma=True must be"),
    (Laplacian("mean"), "gamma='mean' must be"),
    (Polynomial(2.5, 1.0), "degree=2.5 must be a whole number of at least 1"),
    (Polynomial(0, 1.0), "degree=0 must be"),
    (Polynomial(True, 1.0), "degree=True must be"),
    (Polynomial(2, 1.0, np.nan), "coef0=nan must be a finite number"),
    (Sigmoid(1.0, "0"), "coef0='0' must be"),
    (Matern(1.0, 1.0), "nu=1.0 must be 0.5, 1.5 or 2.5"),
    (-2.0 * Linear(), "Scaled.factor=-2.0 must be a positive finite number"),
    (Linear() + 0.0, "Constant.value=0.0 must be a positive"),
    (
        FunctionKernel(lambda A, B: sparse.csr_array(A @ B.T)),
        "returned a sparse matrix.*toarray",
    ),
    (FunctionKernel(lambda A, B: A), r"shape \(60, 4\), expected \(60, 60\)"),
    (FunctionKernel(lambda A, B: np.full((len(A), len(B)), np.nan)), "NaN or inf"),
]


@pytest.mark.parametrize(
    "base, method",
    [
        (Kernel, "values(X, Y)"),
        (Radial, "profile(D)"),
        (DotProduct, "profile(G)"),
        (_Combination, "_combine(values)"),
    ],
)
def test_a_kernel_without_its_method_is_told_so(base, method):
    half = type("Half", (base,), {})()
    says = re.escape(f"Half does not define {method}.")
    with pytest.raises(NotImplementedError, match=says):
        half(X)


@pytest.mark.parametrize("kernel, words", INVALID)
def test_invalid_parameters_raise_when_used(kernel, words):
    with pytest.raises(ValueError, match=words):
        kernel(X)
    with pytest.raises(ValueError, match=words.replace("60", "20")):
        kernel.bind(X)


@each_kernel
def test_words_must_be_bound_first(kernel):
    if any(isinstance(v, str) for v in kernel.get_params().values()):
        for use in kernel, kernel.diag:
            with pytest.raises(ValueError, match=r"call bind\(X\)"):
                use(X)


def test_a_broken_promise_of_symmetry():
    with pytest.raises(ValueError, match="one_sided.*not symmetric"):
        FunctionKernel(one_sided, symmetric=True).bind(X)


def test_functions_promise_nothing():
    k = as_kernel(one_sided).bind(X)
    assert not k.symmetric
    assert k.accepts_sparse


@pytest.mark.parametrize(
    "kernel",
    [Polynomial(3, 1.0, 1e300), Polynomial(2, 1e300, 1.0), Polynomial(300, 1e3)],
    ids=title,
)
def test_powers_that_overflow(kernel):
    with pytest.raises(ValueError, match="overflows on these points: scale them down"):
        kernel(X, Y)
    with pytest.raises(ValueError, match="overflows on these points: scale them down"):
        (kernel + Linear()).diag(X)


@pytest.mark.parametrize(
    "kernel", [Sigmoid(1e308, 0.0), Sigmoid(1.0, 1e300)], ids=title
)
def test_a_sigmoid_that_is_steep(kernel):
    assert (np.abs(kernel(X, 5 * Y)) <= 1.0).all()


@pytest.mark.parametrize("kernel", [Gaussian(1.0), Linear()])
@pytest.mark.parametrize("out", [np.empty((60, 60)), np.empty((60, 23), np.int64)])
def test_wrong_out(kernel, out):
    with pytest.raises(ValueError, match=r"out must be .* shape \(60, 23\)"):
        kernel.block(X, Y, out)


def test_points_are_rows():
    with pytest.raises(ValueError, match="one point per row"):
        Gaussian(1.0)(np.ones(3))


def test_every_kernel_is_in_the_list():
    def subclasses(cls):
        for c in cls.__subclasses__():
            yield c
            yield from subclasses(c)

    public = {
        c
        for c in subclasses(Kernel)
        if c.__module__.startswith("pursuit.") and not c.__name__.startswith("_")
    }
    listed = {type(value) for k in KERNELS for value in k.get_params().values()}
    listed |= {type(k) for k in KERNELS}
    assert {c.__name__ for c in public - listed} <= {"Radial", "DotProduct"}
