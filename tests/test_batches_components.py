"""Sparse kernel PCA block by block: what `fit` finds, however rows are divided."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from pursuit import SparseKernelPCA
from pursuit.batches import ArrayRows
from pursuit.kernels import Gaussian, InMetric, Laplacian, Polynomial
from pursuit.trips import Visits

N = 700


@pytest.fixture(scope="module")
def X():  # noqa: N802
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 4)) * [1.0, 2.0, 0.5, 0.0]


def assert_same(one, other, rtol=1e-8):
    np.testing.assert_array_equal(one.support_vectors_, other.support_vectors_)
    assert one.gamma_ is other.gamma_ or one.gamma_ == pytest.approx(other.gamma_)
    for name in ("explained_variance_", "explained_variance_ratio_"):
        np.testing.assert_allclose(
            getattr(one, name), getattr(other, name), rtol, 1e-14
        )
    scale = np.abs(one.components_).max()
    np.testing.assert_allclose(one.components_, other.components_, atol=rtol * scale)
    np.testing.assert_allclose(one.path_.residuals, other.path_.residuals, atol=rtol)
    assert one.path_.n_samples == other.path_.n_samples
    assert one.stop_reason_ == other.stop_reason_


def cut(X, ends):
    """Return a callable that gives blocks of these rows, some of them empty."""
    edges = [0, *sorted(ends), len(X)]
    return lambda: (X[i:j] for i, j in pairwise(edges))


@pytest.mark.parametrize("subsample", [200, 0.5, "auto"])
@pytest.mark.parametrize("center", [True, False])
def test_is_the_fit_in_memory(X, subsample, center):
    model = SparseKernelPCA(8, subsample=subsample, center=center, random_state=3)
    whole = clone(model).fit(X)
    order = np.random.default_rng(1).permutation(N)
    for size in (1, 64, N):
        rows = ArrayRows(X[order], rows_at_once=size)
        assert_same(whole, clone(model).fit_batches(rows))


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": Laplacian()},
        {"kernel": Gaussian(gamma=0.2), "max_support": 20},
        {"kernel": "poly", "gamma": 0.1},
        {"kernel": Polynomial(degree=2, coef0=1.0, gamma=0.3), "n_components": 0.9},
        {"kernel": "linear", "n_components": 2},
        {"n_components": None, "max_support": 9},
        {"kernel": InMetric(Gaussian(gamma=0.5), [1.0, 0.1, 1.0, 0.0])},
        {"n_components": "bound"},
        {"kernel": "linear", "n_components": "bound"},
        {"n_components": 0.8, "center": False},
    ],
)
def test_kernels_and_rules(X, parameters):
    model = SparseKernelPCA(**{"n_components": 6, "subsample": 300} | parameters)
    whole, other = clone(model).fit(X), clone(model).fit_batches(ArrayRows(X[::-1]))
    assert_same(whole, other, rtol=1e-7)
    np.testing.assert_allclose(other.transform(X), whole.transform(X), atol=1e-6)
    assert 0 < other.n_support_ < 300


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    ends=st.lists(st.integers(0, N), max_size=12),
    seed=st.integers(0, 2**16),
    digits=st.integers(0, 3),
)
def test_any_division_of_repeated_rows(X, ends, seed, digits):
    X = np.round(X, digits)
    model = SparseKernelPCA(5, subsample=60, random_state=seed)
    order = np.random.default_rng(seed).permutation(N)
    whole = clone(model).fit_batches(ArrayRows(X))
    assert_same(whole, clone(model).fit_batches(cut(X[order], ends)))


def test_rows_that_come_more_often_are_drawn_more_often():
    X = np.array([[0.0], [1.0], [2.0]])[np.repeat([0, 1, 2], [8000, 1900, 100])]
    model = SparseKernelPCA(3, gamma=1.0, subsample=500).fit_batches(ArrayRows(X))
    whole = SparseKernelPCA(3, gamma=1.0, subsample=None).fit(X)
    np.testing.assert_array_equal(model.support_vectors_, whole.support_vectors_)
    np.testing.assert_allclose(
        model.explained_variance_, whole.explained_variance_, atol=1e-14
    )


def test_sparse_rows_are_as_dense_ones(X):
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = SparseKernelPCA(6, subsample=100)
    dense = clone(model).fit_batches(ArrayRows(X, rows_at_once=90))
    sparse = clone(model).fit_batches(ArrayRows(sp.csr_array(X), rows_at_once=31))
    np.testing.assert_array_equal(
        sparse.support_vectors_.toarray(), dense.support_vectors_
    )
    np.testing.assert_allclose(
        sparse.explained_variance_, dense.explained_variance_, rtol=1e-9
    )


def test_transforms_block_by_block(X):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd"))
    # Targets of a source are ignored.
    model = SparseKernelPCA(4).fit_batches(ArrayRows(frame, X[:, 0]))
    np.testing.assert_array_equal(model.feature_names_in_, list("abcd"))
    blocks = list(model.transform_batches(ArrayRows(frame, rows_at_once=300)))
    assert [len(block) for block in blocks] == [300, 300, 100]
    np.testing.assert_allclose(np.concatenate(blocks), model.transform(frame))
    with pytest.raises(ValueError, match="columns of the rows are d, c, b, a"):
        list(model.transform_batches(ArrayRows(frame[list("dcba")])))
    with pytest.raises(ValueError, match="2 columns"):
        list(model.transform_batches(ArrayRows(X[:, :2])))


def test_visits_of_any_kind(X):
    class Scattered(Visits):
        """Visits that merge tallies of single blocks, the last ones first."""

        def total(self, trip):
            tally = trip.begin()
            for block in reversed(list(ArrayRows(X, rows_at_once=77).blocks())):
                other = trip.begin()
                trip.visit(other, block)
                tally = other.merged(tally)
            return tally

    model = SparseKernelPCA(6, subsample=200)
    assert_same(clone(model).fit(X), clone(model).fit_batches(Scattered()))


def test_goes_on_from_its_checkpoint(X, tmp_path, monkeypatch):
    monkeypatch.setattr("pursuit.trips.visits._LEAST_ROWS", 1)
    n_left = [0]

    class Failing(ArrayRows):
        def blocks(self, start=0):
            for block in super().blocks(start):
                if n_left[0] == 0:
                    raise OSError("the disk was pulled out")
                n_left[0] -= 1
                yield block

    rows, file = Failing(X, rows_at_once=100), tmp_path / "fit.npz"
    model, n_failed = SparseKernelPCA(6, subsample=200), 0
    while not hasattr(model, "components_"):
        n_left[0] = 4
        try:
            model.fit_batches(rows, checkpoint=file)
        except OSError:
            n_failed += 1
    assert n_failed == 5
    assert_same(clone(model).fit(X), model)
    with pytest.raises(ValueError, match="other parameters"):
        SparseKernelPCA(7).fit_batches(rows, checkpoint=file)


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"kernel": "precomputed"}, "give points"),
        ({"subsample": None}, "subsample=None"),
        ({"subsample": -1}, "subsample"),
        ({"n_components": -1}, "n_components"),
        ({"center": "no"}, "center"),
        ({"kernel": "nothing"}, "kernel"),
        ({"max_memory": "1 KiB"}, "max_memory"),
    ],
)
def test_what_cannot_be(X, parameters, words):
    with pytest.raises(ValueError, match=words):
        SparseKernelPCA(**parameters).fit_batches(ArrayRows(X))


def test_what_rows_cannot_be(X):
    with pytest.raises(ValueError, match="rows 1 to 700: these rows have weights"):
        SparseKernelPCA(3).fit_batches(ArrayRows(X, None, np.ones(N)))
    with pytest.raises(ValueError, match="squares overflow"):
        SparseKernelPCA(3).fit_batches(ArrayRows(1e200 * X))
    broken = X.copy()
    broken[-1, 2] = np.nan
    with pytest.raises(ValueError, match="row 700, column 2"):
        SparseKernelPCA(3).fit_batches(ArrayRows(broken, rows_at_once=100))


def test_models_are_as_others(X, tmp_path):
    import pickle

    import pursuit

    model = SparseKernelPCA(6, subsample=200).fit_batches(ArrayRows(X))
    model.save(tmp_path / "model.pursuit")
    loaded = pursuit.load(tmp_path / "model.pursuit")
    for other in (loaded, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.transform(X), model.transform(X))
    assert model.truncate(3).transform(X).shape == (N, 3)
    error = model.reconstruction_error(X).mean()
    assert error == pytest.approx(model.path_.residuals[-1], rel=1e-6)
