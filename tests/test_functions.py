"""Laws of the collections of functions, over a list of them."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.gaussian_process.kernels import RBF
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.preprocessing import SplineTransformer

from pursuit.engine.atoms import StoredAtoms
from pursuit.functions import (
    Columns,
    KernelFunctions,
    Monomials,
    OrientedGaussianFunctions,
    Outputs,
    VariedGaussians,
    join,
)
from pursuit.kernels import (
    FunctionKernel,
    Gaussian,
    Laplacian,
    Linear,
    Polynomial,
    as_kernel,
)

RNG = np.random.default_rng(0)
X = RNG.standard_normal((60, 3))
ROWS = np.array([4, 9, 11, 30, 58])
NAMES = ("age", "height", "weight")
FRAMES = np.linalg.qr(RNG.standard_normal((5, 3, 3)))[0][:, :, :2]
SPLINES = SplineTransformer(4).fit(X)


def twice(A):
    return 2.0 * A[:, 0]


def skewed(A, B):
    return np.tanh(A @ np.triu(np.ones((3, 3))) @ B.T)


def kernels(kernel=None):
    return KernelFunctions(X[ROWS], ROWS, True, kernel or Gaussian(0.5))


VARIED = VariedGaussians(
    X[ROWS], ROWS, True, np.array([0.1, 1.0, 3.0, 10.0, 0.6]), np.arange(5)
)
# Three widths on each of two points.
PLACE = np.repeat([1, 0], 3)
SHARED = VariedGaussians(
    X[[9, 4]], np.array([9, 4])[PLACE], True, np.tile([0.2, 1.0, 5.0], 2), PLACE
)
ORIENTED = OrientedGaussianFunctions(
    X[ROWS], ROWS, True, 0.7, FRAMES, RNG.random((5, 2))
)
MONOMIALS = Monomials(((), (0,), (1, 2), (2, 2)), NAMES)
OUTPUTS = Outputs(
    SPLINES.transform, "splines", tuple("abcdefghijklmnopqr"), np.arange(18), 18
)
CENTERS = KernelFunctions(RNG.standard_normal((4, 3)), np.arange(4), False, Linear())

COLLECTIONS = {
    "kernel": kernels(),
    "all rows": KernelFunctions(X, np.arange(60), True, Gaussian(0.5)),
    "centers": CENTERS,
    "asymmetric": kernels(FunctionKernel(skewed)),
    "varied": VARIED,
    "shared points": SHARED,
    "oriented": ORIENTED,
    "monomials": MONOMIALS,
    "outputs": OUTPUTS,
    "one output": Outputs(twice, "twice", ("twice",), np.arange(1), 1),
    "columns": Columns(np.array([2, 0, 1]), 3, False),
    "joined": join([MONOMIALS, kernels(), VARIED, OUTPUTS, CENTERS]),
    "joined twice": join([join([kernels(), MONOMIALS]), join([ORIENTED, VARIED])]),
}


@pytest.fixture(params=COLLECTIONS.values(), ids=COLLECTIONS.keys())
def functions(request):
    return request.param


def some(functions):
    """Indices in no order, across all parts."""
    n = len(functions)
    return np.random.default_rng(1).permutation(n)[: max(1, 2 * n // 3)]


def test_shapes_agree(functions):
    n = len(functions)
    assert functions(X).shape == (60, n)
    assert len(functions.names) == len(functions.rows) == n
    assert len(set(functions.names)) == n
    assert repr(functions).startswith(f"<{n} functions: ")


def test_a_part_has_the_values_names_and_rows_of_the_whole(functions):
    whole, index = functions(X), some(functions)
    part = functions[index]
    np.testing.assert_allclose(part(X), whole[:, index], rtol=1e-13)
    assert part.names == [functions.names[i] for i in index]
    np.testing.assert_array_equal(part.rows, functions.rows[index])
    again = part[[0, -1]]
    np.testing.assert_allclose(again(X), whole[:, index[[0, -1]]], rtol=1e-13)


def test_no_functions_have_no_values(functions):
    none = functions[:0]
    assert len(none) == len(none.names) == 0
    assert none(X).shape == (60, 0)
    assert none.on(X, 1 << 20).values(slice(None)).shape == (0, 60)


@pytest.mark.parametrize("kernel", [laplacian_kernel, RBF(), "cosine", "laplacian"])
def test_kernels_are_not_asked_about_no_points(kernel):
    """Those of scikit-learn raise an error, as does any function that averages."""
    kernel = as_kernel(kernel, gamma=1.0)
    none = KernelFunctions(X[:0], np.arange(0), True, kernel)
    assert none(X).shape == (60, 0)
    assert none.on(X, 1 << 20).n_atoms == 0


def test_maps_are_not_asked_for_no_outputs():
    def refuse(A):
        raise AssertionError("asked")

    none = Outputs(refuse, "mine", (), np.arange(0), 3)
    assert none(X).shape == (60, 0)


def test_blocks_are_the_values(functions):
    if isinstance(functions, Columns):
        pytest.skip("columns are stored in any case")
    whole = functions(X).T
    for dtype, rtol in (("float64", 1e-13), ("float32", 1e-6)):
        evaluate = functions.evaluator(X, dtype)
        for index in (slice(None), slice(0, 2), some(functions), np.array([0])):
            block = evaluate(index)
            assert block.dtype == dtype
            np.testing.assert_allclose(block, whole[index], rtol=rtol, atol=1e-30)
            out = np.empty_like(block)
            evaluate(index, out)
            np.testing.assert_array_equal(out, block)


def test_stored_or_in_blocks_they_correlate_alike(functions):
    V = np.random.default_rng(2).standard_normal((3, 60))
    expected = V @ functions(X)
    held = functions.held_bytes(60)
    for memory in (1 << 30, held + 1):
        atoms = functions.on(X, memory)
        np.testing.assert_allclose(atoms.correlate(V), expected, rtol=1e-9, atol=1e-9)
        index = some(functions)
        np.testing.assert_allclose(
            atoms.values(index), functions(X)[:, index].T, rtol=1e-12
        )
        is_stored = isinstance(atoms, StoredAtoms)
        assert is_stored == (memory > 1 << 20 or isinstance(functions, Columns))


def test_centers_are_those_of_the_centered_ones(functions):
    centers = functions.centers
    is_centered = np.array([" at " in name for name in functions.names])
    np.testing.assert_array_equal(functions.is_centered, is_centered)
    assert len(centers) == is_centered.sum()
    order = some(functions)
    if is_centered.any():
        place = np.cumsum(is_centered) - 1
        expected = centers[place[order[is_centered[order]]]]
        np.testing.assert_array_equal(functions[order].centers, expected)


def test_pickled_parts_are_small(functions):
    again = pickle.loads(pickle.dumps(functions[some(functions)]))
    np.testing.assert_array_equal(again(X), functions[some(functions)](X))
    large = KernelFunctions(X, np.arange(60), True, Gaussian(0.5))
    assert len(pickle.dumps(large[[3]])) < len(pickle.dumps(large)) / 2


@pytest.mark.parametrize("name", ["kernel", "all rows", "varied", "monomials"])
def test_sparse_points_are_the_same_points(name):
    dense = COLLECTIONS[name]
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    if name == "monomials":
        functions = dense
    else:
        points = thin[dense.numbers]
        functions = replace(dense, points=sparse.csr_array(points))
        dense = replace(dense, points=points)
    np.testing.assert_allclose(
        functions(sparse.csr_array(thin)), dense(thin), atol=1e-12
    )


# -- formulas ----------------------------------------------------------------------


def test_formulas():
    delta = X[:, None] - X[ROWS]
    squared = np.square(delta).sum(axis=2)
    np.testing.assert_allclose(kernels()(X), np.exp(-0.5 * squared), rtol=1e-12)
    np.testing.assert_allclose(VARIED(X), np.exp(-VARIED.gammas * squared), rtol=1e-11)
    monomials = np.column_stack([np.ones(60), X[:, 0], X[:, 1] * X[:, 2], X[:, 2] ** 2])
    np.testing.assert_allclose(MONOMIALS(X), monomials)
    np.testing.assert_array_equal(OUTPUTS(X), SPLINES.transform(X))
    np.testing.assert_array_equal(COLLECTIONS["columns"](X), X[:, [2, 0, 1]])
    np.testing.assert_allclose(COLLECTIONS["asymmetric"](X), skewed(X, X[ROWS]))


def test_an_oriented_gaussian_is_that_of_its_covariance():
    values = ORIENTED(X)
    for i, row in enumerate(ROWS):
        V, sigma2 = FRAMES[i], 0.5 / 0.7
        C = sigma2 * np.eye(3) + V @ np.diag(ORIENTED.variances[i]) @ V.T
        delta = X - X[row]
        expected = np.exp(-0.5 * np.einsum("ni,ni->n", delta @ np.linalg.inv(C), delta))
        np.testing.assert_allclose(values[:, i], expected, rtol=1e-10)


@pytest.mark.parametrize("unit", [1.0, 1e6, 1e-120, 1e120])
def test_oriented_gaussians_far_out_and_in_any_unit(unit):
    """Along a direction that is much longer than the others are wide."""
    u = np.linalg.qr(RNG.standard_normal((3, 3)))[0]
    steps = np.array([0.0, 1.0, -3e3, 2e4])
    points = unit * (steps[:, None] * u[:, 0] + 0.1 * u[:, 1] + 5e3 * u[:, 2])
    variance = 1e8  # of the unit, squared
    functions = OrientedGaussianFunctions(
        points[:1],
        np.arange(1),
        True,
        1.0 / unit / unit,
        u[None, :, :1],
        np.array([[variance * unit * unit]]),
    )
    across = unit * 0.5 * u[:, 1]
    expected = np.exp(-0.25 - 0.5 * steps**2 / (variance + 0.5))
    np.testing.assert_allclose(functions(points + across)[:, 0], expected, rtol=1e-6)


def test_names():
    assert kernels().names[1] == "rbf(γ=0.5) at row 9"
    assert CENTERS.names[0] == "linear at center 0"
    assert MONOMIALS.names == [
        "constant",
        "feature age",
        "feature height × weight",
        "feature weight^2",
    ]
    assert VARIED.names[2] == "rbf(γ=3) at row 11"
    assert kernels(FunctionKernel(skewed)).names[0] == "skewed at row 4"
    assert (
        kernels(Gaussian(0.5) + 2.0).names[0]
        == "sum(rbf(γ=0.5), constant(value=2)) at row 4"
    )


# -- what can go wrong -------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "message"),
    [
        (lambda A: A[:5, 0], "shape"),
        (lambda A: np.full(len(A), np.nan), "NaN or inf"),
        (lambda A: ["a"] * len(A), "not numbers"),
        (lambda A: np.ones((len(A), 2, 2)), "shape"),
        (lambda A: np.ones((len(A), 2)), "2 columns"),
    ],
)
def test_maps_that_return_nonsense(result, message):
    with pytest.raises(ValueError, match=f"mine returned.*{message}"):
        Outputs(result, "mine", ("mine",), np.arange(1), 1)(X)


def test_maps_that_do_not_fit_the_memory():
    with pytest.raises(ValueError, match="max_memory"):
        OUTPUTS.on(X, 100)


def test_no_function_has_size_zero_or_infinity(functions):
    assert 0 < functions.scale(X, np.ones(60)) < np.inf


@pytest.mark.parametrize("unit", [1.0, 1e-6, 1e9])
def test_the_size_of_a_kernel_whose_diagonal_is_zero_is_that_of_its_values(unit):
    weight = RNG.random(60)
    K = -cdist(unit * X, unit * X)
    kernel = FunctionKernel(lambda A, B: -cdist(A, B))
    functions = KernelFunctions(unit * X, np.arange(60), True, kernel)
    columns = Columns(np.arange(60), 60, True)
    size = np.median(weight @ K**2) / weight.sum()
    assert columns.scale(K, weight) == pytest.approx(size)
    found = functions.scale(unit * X, weight)
    assert found == pytest.approx(size)


def test_that_size_does_not_depend_on_the_order_of_many_rows(monkeypatch):
    monkeypatch.setattr("pursuit.functions._base._STORED_BLOCK", 60)
    kernel = FunctionKernel(lambda A, B: -cdist(A, B))
    weight, order = RNG.random(60), RNG.permutation(60)
    sizes = [
        KernelFunctions(Z, np.arange(60), True, kernel).scale(Z, w)
        for Z, w in ((X, weight), (X[order], weight[order]))
    ]
    assert sizes[0] == pytest.approx(sizes[1])
    size = np.median(weight @ cdist(X, X) ** 2) / weight.sum()
    assert sizes[0] == pytest.approx(size, rel=0.3)


@pytest.mark.parametrize("width", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("kernel", [Gaussian, Linear, Polynomial, Laplacian])
def test_the_size_of_other_kernels_is_that_of_their_diagonal(kernel, width):
    far = np.vstack([X, 1e6 * X[:1]])
    parameters = {} if kernel is Linear else {"gamma": width}
    functions = KernelFunctions(far, np.arange(61), True, kernel(**parameters))
    weight, K = RNG.random(61), kernel(**parameters)(far)
    size = (weight @ np.diagonal(K) / weight.sum()) ** 2
    assert functions.scale(far, weight) == pytest.approx(size)
    assert Columns(np.arange(61), 61, True).scale(K, weight) == pytest.approx(size)
