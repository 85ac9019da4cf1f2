"""Sparse kernel PCA: the choice, the subspaces, the transformer."""

import pickle
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from naming import named
from reference import deflation, nystroem_residue, trace_minimization
from scipy import sparse
from sklearn.base import clone
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import normalize, scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import SparseKernelPCA, _interrupts, bounds, datasets
from pursuit.components import variance
from pursuit.components.deflation import View
from pursuit.kernels import (
    Gaussian,
    Laplacian,
    Linear,
    Matern,
    Polynomial,
    as_kernel,
    median_gamma,
)

KERNELS = [
    Gaussian(0.5),
    Gaussian(0.02),
    Gaussian(5.0),
    Laplacian(0.3),
    Matern(1.5, 0.4),
    Polynomial(degree=2, gamma=0.2, coef0=1.0),
    Linear() + 0.5,
]


@pytest.fixture(scope="module", name="X")
def points():
    X = np.random.default_rng(3).standard_normal((150, 4))
    X.setflags(write=False)
    return X


def exact(n, kernel, **how):
    return SparseKernelPCA(n, kernel=kernel, center=False, subsample=None, **how)


@parametrize_with_checks(
    [
        SparseKernelPCA(),
        SparseKernelPCA("bound"),
        SparseKernelPCA(0.9, kernel="linear"),
        SparseKernelPCA(kernel="laplacian"),
        SparseKernelPCA(10, n_candidates=59, subsample=0.8),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


# -- the choice --------------------------------------------------------------------


@pytest.mark.parametrize("kernel", KERNELS, ids=named)
def test_choice_is_the_literal_one(X, kernel):
    # In the last dimension that is left, all rows tie.
    n = {"Polynomial": 14, "Sum": 4}.get(type(kernel).__name__, 40)
    model = exact(n, kernel).fit(X)
    chosen, traces = deflation(kernel(X), n)
    assert model.support_.tolist() == chosen
    np.testing.assert_allclose(
        model.path_.residuals * len(X), traces, atol=1e-8 * traces[0]
    )
    np.testing.assert_allclose(
        model.path_.gains, -np.diff(traces), atol=1e-8 * traces[0]
    )


@pytest.mark.parametrize("n, d", [(58, 2), (65, 2), (69, 1), (176, 2), (135, 1)])
def test_choice_is_exact_where_little_is_left(rng, n, d):
    """By the criterion in long double, while 1e-8 of the trace is left."""
    X = rng.standard_normal((n, d))
    model = SparseKernelPCA(60).fit(X)
    K = Gaussian(model.gamma_)(X).astype(np.longdouble)
    whole, share = np.trace(K), 1.0
    for i in model.support_:
        share = np.trace(K) / whole
        if share < 1e-8:
            break
        is_open = np.diag(K) > 1e-10
        scores = (K[:, is_open] ** 2).sum(axis=0) / np.diag(K)[is_open]
        assert (K[:, i] ** 2).sum() / K[i, i] >= (1 - 1e-5) * scores.max()
        K = K - np.outer(K[:, i], K[:, i]) / K[i, i]
    assert share < 1e-6


@pytest.mark.parametrize("seed", [3, 29])
def test_steps_end_where_columns_are_only_noise(seed):
    """A smooth kernel in one dimension: its rank is a few dozen, up to rounding."""
    X = np.random.default_rng(seed).standard_normal((135, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = SparseKernelPCA(60).fit(X)
    assert 10 < len(model.support_) < 60
    assert model.path_.residuals[-1] < 1e-7


def test_rounding_of_a_row_close_to_the_span_is_not_noise():
    """In a plane, what is left of all rows is on one line, and any row takes it all."""
    was_rounded = False
    for seed in range(50):
        rng = np.random.default_rng(seed)
        X = np.r_[[[1.0, 0.0], [1.0, rng.uniform(1e-3, 5e-3)]], rng.normal(size=(9, 2))]
        K = X @ X.T
        view = View(SimpleNamespace(n_rows=11), np.diag(K).copy(), 2, 1e-10, "kernel")
        g = K[0] / np.sqrt(K[0, 0])
        view.deflate(0, g)
        u = K[1] - g[1] * g
        excess = u * (u / u[1]) - view.residual
        was_rounded = was_rounded or excess.max() > 1e-13 * K.max()
        assert not view.is_noise(1, u)
        # Larger errors than those of rounding are noise.
        assert view.is_noise(1, u + 1e-9 * (np.arange(11) != 1) * np.sign(u))
    assert was_rounded


@pytest.mark.parametrize("kernel", KERNELS[:5], ids=named)
def test_each_step_leaves_the_smallest_trace(X, kernel):
    """Theorem 1 of the paper, step by step: the quotient is the drop of the trace."""
    few = X[:40]
    assert exact(6, kernel).fit(few).support_.tolist() == trace_minimization(
        kernel(few), 6
    )


def test_what_theorem_1_does_not_say():
    """Steps are best one by one: neither the best set, nor best for |K - K~|."""
    is_beaten = is_other = False
    for seed in range(20):
        X = np.random.default_rng(seed).standard_normal((12, 2))
        K = Gaussian(0.5)(X)
        chosen = exact(2, Gaussian(0.5)).fit(X).support_
        traces = [
            np.trace(nystroem_residue(K, [i, j])) for i in range(12) for j in range(i)
        ]
        greedy = np.trace(nystroem_residue(K, list(chosen)))
        assert greedy >= min(traces) - 1e-12
        is_beaten |= greedy > 1.001 * min(traces)
        norms = [np.linalg.norm(nystroem_residue(K, [i])) for i in range(12)]
        is_other |= int(np.argmin(norms)) != chosen[0]
    assert is_beaten
    assert is_other


def test_fewer_passes_than_steps(monkeypatch):
    seen = []
    monkeypatch.setattr(
        variance._Pool, "add", spied(variance._Pool.add, lambda *a: seen.append(a[1]))
    )
    exact(60, Gaussian(0.5)).fit(np.random.default_rng(0).standard_normal((400, 4)))
    assert 0 < len(seen) < 30


def spied(method, look):
    def call(*args):
        look(*args)
        return method(*args)

    return call


def test_recomputed_blocks_change_nothing(rng):
    X = rng.standard_normal((600, 3))
    stored = exact(25, Gaussian(1.0)).fit(X)
    blocks = exact(25, Gaussian(1.0), max_memory="4 MiB").fit(X)
    assert stored.support_.tolist() == blocks.support_.tolist()
    np.testing.assert_allclose(stored.transform(X), blocks.transform(X), atol=1e-9)


def test_memory_that_cannot_do(X):
    with pytest.raises(ValueError, match="max_memory allows 100 KiB.*max_support"):
        exact(25, Gaussian(1.0), max_memory="100 kB").fit(X)


def test_equal_rows_do_no_harm(X):
    twice = np.concatenate([X[:50], X[:50]])
    model = exact(None, Gaussian(1.0)).fit(twice)
    assert len(np.unique(twice[model.support_], axis=0)) == model.n_support_ <= 50
    assert model.stop_reason_.startswith("exhausted")


def test_more_steps_begin_with_the_same(X):
    long, short = (exact(n, Gaussian(0.5)).fit(X) for n in (30, 10))
    assert long.support_[:10].tolist() == short.support_.tolist()
    cut = long.truncate(10)
    assert cut.stop_reason_.startswith("truncated")
    for whole in (long.truncate(30), long.truncate()):
        assert whole.stop_reason_ == long.stop_reason_
        np.testing.assert_array_equal(whole.transform(X), long.transform(X))
    np.testing.assert_allclose(cut.transform(X), short.transform(X), atol=1e-9)
    assert (cut.n_support_, cut.n_components_, long.n_support_) == (10, 10, 30)
    with pytest.raises(ValueError, match="n=31 must be a whole number from 1 to 30"):
        long.truncate(31)


def test_permuted_rows_give_the_same_subspace(X, rng):
    order = rng.permutation(len(X))
    one, other = (exact(15, Gaussian(0.5)).fit(Z) for Z in (X, X[order]))
    assert order[other.support_].tolist() == one.support_.tolist()


# -- samples and drawn candidates --------------------------------------------------


def test_drawing_all_candidates_is_the_exact_choice(X):
    drawn = exact(20, Gaussian(0.5), n_candidates=1000).fit(X)
    assert drawn.support_.tolist() == exact(20, Gaussian(0.5)).fit(X).support_.tolist()


def test_drawn_candidates_come_close(rng):
    X = rng.standard_normal((800, 3))
    residuals = {
        n: exact(40, Gaussian(0.3), n_candidates=n, random_state=0)
        .fit(X)
        .path_.residuals[-1]
        for n in (1, 59, None)
    }
    assert residuals[None] < residuals[59] < residuals[1]
    assert residuals[59] < 1.25 * residuals[None]


def test_samples(rng):
    X = rng.standard_normal((2000, 3))
    model = SparseKernelPCA(30, subsample=300, random_state=0).fit(X)
    again = SparseKernelPCA(30, subsample=300, random_state=0).fit(X[::-1])
    np.testing.assert_array_equal(model.support_vectors_, again.support_vectors_)
    other = SparseKernelPCA(30, subsample=300, random_state=1).fit(X)
    assert set(other.support_) != set(model.support_)
    whole = SparseKernelPCA(30).fit(X)
    # All rows count in what is measured, the sample only in what is chosen.
    assert whole.path_.residuals[-1] < model.path_.residuals[-1]
    assert model.path_.residuals[-1] < 1.2 * whole.path_.residuals[-1]
    assert model.reconstruction_error(X).mean() == pytest.approx(
        model.path_.residuals[-1]
    )


def test_copies_are_drawn_one_by_one():
    X = np.repeat(np.arange(10.0), 60)[:, None]
    model = SparseKernelPCA(10, subsample=100, gamma=1.0).fit(X)
    assert len(np.unique(X[model.support_])) > 5


# -- the subspaces -----------------------------------------------------------------


def test_exhausted_it_is_kernel_pca(X):
    few = X[:60]
    model = SparseKernelPCA(None, gamma=0.5, tol=0.0).fit(few)
    pca = KernelPCA(kernel="rbf", gamma=0.5).fit(few)
    new = X[60:]
    ours, theirs = model.transform(new), pca.transform(new)
    n = 15
    signs = np.sign((ours[:, :n] * theirs[:, :n]).sum(axis=0))
    np.testing.assert_allclose(ours[:, :n] * signs, theirs[:, :n], atol=1e-7)
    np.testing.assert_allclose(
        59 * model.explained_variance_[:n], pca.eigenvalues_[:n], rtol=1e-8
    )
    assert model.path_.residuals[-1] < 1e-10


@pytest.mark.parametrize("how", [{}, {"n_candidates": 1}, {"n_candidates": 7}])
@pytest.mark.parametrize("tol", [0.0, 1e-10])
def test_rounding_is_not_taken_for_a_kernel_that_is_not_definite(rng, how, tol):
    """On a line most rows are in the span of a few; in any order, the rest is noise."""
    X = rng.standard_normal((150, 1))
    for seed in range(3):
        model = SparseKernelPCA(None, tol=tol, random_state=seed, **how).fit(X)
        assert model.stop_reason_.startswith("exhausted")
        assert model.path_.residuals[-1] < 1e-6


def test_all_rows_are_no_wish(X):
    """Asked for more than there is, or for all."""
    for n_components in (None, 1000):
        model = SparseKernelPCA(n_components, kernel="laplacian").fit(X)
        assert model.n_support_ == 150
        assert model.stop_reason_.startswith("exhausted")


def test_rank_is_found(X):
    model = SparseKernelPCA(None, kernel="linear").fit(X)
    assert model.n_support_ == X.shape[1]
    assert model.stop_reason_.startswith("exhausted")


def test_transform_is_nystroems_map(X):
    model = SparseKernelPCA(20, gamma=0.5, center=False).fit(X[:100])
    basis = X[model.support_]
    theirs = Nystroem(gamma=0.5, n_components=20).fit(basis).transform(X)
    ours = model.transform(X)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=1e-9)


@pytest.mark.parametrize("center", [True, False])
def test_components_are_orthonormal_and_ordered(X, center):
    model = SparseKernelPCA(12, gamma=0.5, center=center).fit(X)
    T = model.transform(X)
    C = T.T @ T / (len(X) - int(center))
    np.testing.assert_allclose(C, np.diag(model.explained_variance_), atol=1e-9)
    assert np.all(np.diff(model.explained_variance_) <= 0)
    K = Gaussian(0.5)(X[model.support_])
    A = model.components_
    np.testing.assert_allclose(A @ K @ A.T, np.eye(12), atol=1e-8)
    if center:
        np.testing.assert_allclose(T.mean(axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_explained_shares_are_those_of_the_images(X, kernel, center):
    model = SparseKernelPCA(3, kernel=kernel, max_support=4, center=center).fit(X)
    K = as_kernel(kernel, model.gamma_)(X)
    some = K[:, model.support_]
    P = some @ np.linalg.inv(K[np.ix_(model.support_, model.support_)]) @ some.T
    # ‖φ(x) - m‖², where m is the mean of the projected images.
    squares = np.diag(K) - 2 * P.mean(axis=1) + P.mean() if center else np.diag(K)
    T = model.transform(X)
    shares = (T**2).mean(axis=0) / squares.mean()
    np.testing.assert_allclose(model.explained_variance_ratio_, shares, rtol=1e-8)
    every = SparseKernelPCA(None, kernel=kernel, max_support=4, center=center).fit(X)
    lost = every.path_.residuals[-1] / squares.mean()
    assert every.explained_variance_ratio_.sum() == pytest.approx(1 - lost)
    cut = every.truncate(2)
    again = SparseKernelPCA(2, kernel=kernel, center=center).fit(X)
    np.testing.assert_allclose(
        cut.explained_variance_ratio_, again.explained_variance_ratio_
    )


def test_explained_shares_are_those_of_pca(X):
    ours = SparseKernelPCA(X.shape[1], kernel="linear").fit(X)
    theirs = PCA().fit(X)
    np.testing.assert_allclose(
        ours.explained_variance_ratio_, theirs.explained_variance_ratio_
    )
    full = SparseKernelPCA(None, gamma=0.5, tol=0.0).fit(X[:60])
    values = KernelPCA(kernel="rbf", gamma=0.5).fit(X[:60]).eigenvalues_
    np.testing.assert_allclose(
        full.explained_variance_ratio_[:15], values[:15] / values.sum(), rtol=1e-7
    )


def test_equal_rows_explain_nothing():
    model = SparseKernelPCA(2, gamma=1.0).fit(np.ones((5, 2)))
    assert model.explained_variance_ratio_.tolist() == [0.0]


def test_more_points_than_components(X):
    plain = SparseKernelPCA(5, gamma=0.5).fit(X)
    rich = SparseKernelPCA(5, gamma=0.5, max_support=60).fit(X)
    full = KernelPCA(5, kernel="rbf", gamma=0.5).fit(X)
    assert (rich.n_components_, rich.n_support_) == (5, 60)
    best = full.eigenvalues_.sum() / (len(X) - 1)
    captured = [m.explained_variance_.sum() for m in (plain, rich)]
    assert captured[0] < captured[1] < best * (1 + 1e-9)
    assert captured[1] > 0.98 * best


@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("max_support", [None, 25])
def test_reconstruction_error(X, center, max_support):
    """By the coordinates of the images in an explicit feature space."""
    F = np.column_stack([X, X**2, np.ones(len(X))])
    model = SparseKernelPCA(
        5, kernel="linear", center=center, max_support=max_support
    ).fit(F[:100])
    B = F[model.support_].T @ model.components_.T
    mean = np.zeros(F.shape[1])
    if center:
        P = B @ B.T if max_support is None else _projection(F[model.support_])
        mean = P @ F[:100].mean(axis=0)
    centered = F - mean
    expected = ((centered - centered @ B @ B.T) ** 2).sum(axis=1)
    found = model.reconstruction_error(F)
    np.testing.assert_allclose(found, expected, atol=1e-8)


def _projection(rows):
    Q = np.linalg.svd(rows, full_matrices=False)
    V = Q[2][Q[1] > 1e-8 * Q[1][0]]
    return V.T @ V


# -- how many ----------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_share(X, share):
    model = SparseKernelPCA(share, gamma=0.5, center=False).fit(X)
    captured = 1 - model.path_.residuals / model.path_.residuals[0]
    assert captured[-2] < share <= captured[-1]
    assert model.stop_reason_.startswith("share")


@pytest.mark.parametrize("center", [True, False])
def test_share_is_that_of_the_components(X, center):
    """About a mean that is most of k(x, x), much less is left to capture."""
    model = SparseKernelPCA(0.9, gamma=0.02, center=center).fit(X)
    assert model.explained_variance_ratio_.sum() == pytest.approx(0.9, abs=0.05)
    assert model.explained_variance_ratio_.sum() >= 0.9 - 1e-9
    one_less = model.truncate(model.n_support_ - 1)
    assert one_less.explained_variance_ratio_.sum() < 0.9


def test_shares_of_other_types(X):
    n = SparseKernelPCA(0.5).fit(X).n_components_
    assert SparseKernelPCA(np.float32(0.5)).fit(X).n_components_ == n < 150


@pytest.mark.parametrize("gamma", [0.05, 0.5])
def test_bound_is_the_minimum(X, gamma):
    chosen = SparseKernelPCA("bound", gamma=gamma).fit(X)
    whole = SparseKernelPCA(None, gamma=gamma, tol=0.0).fit(X)
    curve = whole.path_.bound()
    assert chosen.n_support_ == 1 + np.argmin(curve.terms[1:])
    np.testing.assert_array_equal(curve, np.minimum.accumulate(curve.terms))
    residuals = whole.path_._outside_residuals()
    for t in (0, 3, 20):
        assert curve.terms[t] == bounds.kpca_compression(len(X), t, residuals[t])


def toy(seed):
    """1000 × 450, 50 strong dimensions, on the unit sphere (spec §5)."""
    X = np.random.default_rng(seed).standard_normal((1000, 450))
    X[:, :50] *= 100 * np.arange(1, 51) ** (-1.35 / 2)
    return normalize(X)


@pytest.mark.parametrize("seed", range(2))
def test_the_toy_of_figure_1(seed):
    model = SparseKernelPCA("bound", kernel="linear", center=False).fit(toy(seed))
    assert 44 <= model.n_components_ <= 52
    assert not model.path_.bound().is_vacuous


@pytest.mark.skipif("boston" not in datasets.available(), reason="needs Boston's data")
def test_boston_of_figure_1():
    X = scale(datasets.load("boston").data)
    gamma = median_gamma(X) / 0.3
    model = SparseKernelPCA("bound", gamma=gamma, center=False).fit(X)
    assert model.n_components_ == 44


def test_bounds_of_other_kinds(X):
    path = SparseKernelPCA(5).fit(X).path_
    with pytest.raises(ValueError, match="kind='vc' is not known for subspaces"):
        path.bound("vc")
    with pytest.raises(ValueError, match="size=6 is not on the path"):
        path.truncate(6)


# -- pre-images --------------------------------------------------------------------


def test_preimages_of_the_chosen_points(X):
    model = SparseKernelPCA(30, gamma=0.5).fit(X)
    points = X[model.support_]
    found = model.inverse_transform(model.transform(points))
    np.testing.assert_allclose(found, points, atol=1e-5)


def test_preimages_are_local_maxima(X):
    model = SparseKernelPCA(8, gamma=0.5).fit(X)
    T = model.transform(X[:20])
    weights = T @ model.components_ + model.path_.mean_weights(model.center)
    found = model.inverse_transform(T)

    def f(Z):
        return np.einsum("ij,ij->i", weights, Gaussian(0.5)(Z, model.support_vectors_))

    top = f(found)
    at_points = (weights @ Gaussian(0.5)(model.support_vectors_)).max(axis=1)
    assert np.all(top >= at_points - 1e-12)
    for step in np.vstack([np.eye(4), -np.eye(4)]):
        assert np.all(f(found + 1e-4 * step) <= top + 1e-9)


def test_preimages_denoise(rng):
    angle = rng.uniform(0, 2 * np.pi, 400)
    circle = np.c_[np.cos(angle), np.sin(angle)]
    noisy = circle + 0.15 * rng.standard_normal(circle.shape)
    model = SparseKernelPCA(4, gamma=0.5, max_support=40).fit(noisy)
    found = model.inverse_transform(model.transform(noisy))
    distance = [np.abs(np.linalg.norm(Z, axis=1) - 1).mean() for Z in (noisy, found)]
    assert distance[1] < 0.6 * distance[0]


def test_preimages_of_the_linear_kernel(X):
    model = SparseKernelPCA(None, kernel="linear").fit(X)
    np.testing.assert_allclose(
        model.inverse_transform(model.transform(X)), X, atol=1e-8
    )


@pytest.mark.parametrize("kernel", ["poly", "laplacian", "precomputed"])
def test_kernels_without_preimages(X, kernel):
    data = X @ X.T if kernel == "precomputed" else X
    model = SparseKernelPCA(3, kernel=kernel).fit(data)
    with pytest.raises(ValueError, match="has no pre-images here"):
        model.inverse_transform(np.zeros((2, 3)))


# -- kinds of input ----------------------------------------------------------------


def test_sparse_input(rng):
    X = sparse.random(120, 30, density=0.2, random_state=0, format="csr")
    how = {"gamma": 0.3, "random_state": 0}
    dense = SparseKernelPCA(10, **how).fit(X.toarray())
    model = SparseKernelPCA(10, **how).fit(X)
    assert model.support_.tolist() == dense.support_.tolist()
    assert sparse.issparse(model.support_vectors_)
    np.testing.assert_allclose(model.transform(X), dense.transform(X.toarray()))
    T = model.transform(X)
    np.testing.assert_allclose(
        model.inverse_transform(T), dense.inverse_transform(T), atol=1e-6
    )
    sampled = SparseKernelPCA(10, subsample=60, **how).fit(X)
    assert sampled.n_support_ == 10


@pytest.mark.parametrize("subsample", [None, 60])
def test_precomputed(X, subsample):
    how = {"center": True, "subsample": subsample, "random_state": 0}
    K = Gaussian(0.5)(X)
    model = SparseKernelPCA(10, kernel="precomputed", **how).fit(K[:100, :100])
    if subsample is None:
        direct = SparseKernelPCA(10, gamma=0.5, **how).fit(X[:100])
        assert model.support_.tolist() == direct.support_.tolist()
        np.testing.assert_allclose(model.transform(K[:, :100]), direct.transform(X))
    T = model.transform(K[:, :100])
    np.testing.assert_allclose(T, model.transform(K[:, model.support_]))
    with pytest.raises(ValueError, match="pass it as diagonal"):
        model.reconstruction_error(K[:, :100])
    with pytest.raises(ValueError, match="diagonal has the shape"):
        model.reconstruction_error(K[:, :100], np.ones(3))
    errors = model.reconstruction_error(K[:100, :100], np.ones(100))
    assert errors.mean() == pytest.approx(model.path_.residuals[-1])
    assert model.truncate(4).transform(K[:, :100]).shape == (150, 4)


def test_callable_kernel(X):
    model = SparseKernelPCA(10, kernel=lambda A, B: (A @ B.T + 1) ** 2).fit(X)
    named = SparseKernelPCA(10, kernel=Polynomial(2, gamma=1.0, coef0=1.0)).fit(X)
    assert model.support_.tolist() == named.support_.tolist()


def test_named_polynomials_have_the_defaults_of_kernel_pca(X):
    named = SparseKernelPCA(10, kernel="poly", gamma=0.1).fit(X)
    written = SparseKernelPCA(10, kernel=Polynomial(3, gamma=0.1, coef0=1.0)).fit(X)
    np.testing.assert_array_equal(named.transform(X), written.transform(X))


def test_a_later_change_of_parameters_does_not_change_the_model(X):
    model = SparseKernelPCA(10).fit(X)
    expected = model.transform(X)
    model.set_params(kernel="linear", gamma=3.0, max_memory=1)
    np.testing.assert_array_equal(model.transform(X), expected)
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.transform(X), expected)


def test_frames_pipelines_and_searches(breast_cancer):
    data, y = breast_cancer
    frame = pd.DataFrame(data, columns=[f"c{i}" for i in range(30)])
    model = SparseKernelPCA(4).set_output(transform="pandas").fit(frame)
    assert model.transform(frame).columns.tolist() == [
        f"sparsekernelpca{i}" for i in range(4)
    ]
    assert model.get_feature_names_out().tolist() == list(model.transform(frame))
    search = GridSearchCV(
        make_pipeline(SparseKernelPCA(), LogisticRegression()),
        {"sparsekernelpca__n_components": [2, 20]},
        cv=3,
    ).fit(frame, y)
    assert search.best_params_ == {"sparsekernelpca__n_components": 20}
    assert search.best_score_ > 0.93


def test_pickled_and_cloned(X):
    model = SparseKernelPCA(6).fit(X)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(model.transform(X), again.transform(X))
    np.testing.assert_array_equal(model.transform(X), clone(model).fit(X).transform(X))


def test_gamma_none_is_kernel_pcas(X):
    assert SparseKernelPCA(3, gamma=None).fit(X).gamma_ == 1 / 4


def test_interrupt(X, monkeypatch):
    def step(self):
        if self.n_steps == 7:
            raise KeyboardInterrupt
        return original(self)

    original = variance.LargestVariance.step
    monkeypatch.setattr(variance.LargestVariance, "step", step)
    with pytest.warns(UserWarning, match="interrupted after 7 points"):
        model = SparseKernelPCA(20).fit(X)
    assert model.n_support_ == 7
    assert model.stop_reason_.startswith("interrupted")
    assert model.transform(X).shape == (150, 7)


@pytest.mark.parametrize("n_steps, is_second", [(0, False), (7, True)])
def test_interrupt_without_a_step_or_twice(X, n_steps, is_second, monkeypatch):
    def step(self):
        if self.n_steps == n_steps:
            if is_second:
                _interrupts._is_repeated()
            raise KeyboardInterrupt
        return original(self)

    original = variance.LargestVariance.step
    monkeypatch.setattr(_interrupts, "_latest", [-9.0])
    monkeypatch.setattr(variance.LargestVariance, "step", step)
    with pytest.raises(KeyboardInterrupt):
        SparseKernelPCA(20).fit(X)


def test_progress(X, capsys):
    SparseKernelPCA(5, verbose=1).fit(X)
    assert "captured" in capsys.readouterr().err


# -- what is wrong -----------------------------------------------------------------


def indefinite(A, B):
    return -(A @ B.T) + 20.0


@pytest.mark.parametrize(
    "how, words",
    [
        ({"n_components": 0}, "n_components=0 must be"),
        ({"n_components": 1.5}, "n_components=1.5 must be"),
        ({"n_components": "many"}, "n_components='many' must be"),
        ({"n_components": True}, "n_components=True must be"),
        ({"max_support": 0}, "max_support=0 must be"),
        ({"kernel": "unknown"}, "kernel='unknown' is unknown"),
        ({"kernel": lambda A, B: A @ (B + 1.0).T}, "not symmetric"),
        ({"kernel": indefinite}, "^kernel=.* is not positive semi-definite"),
        ({"kernel": "sigmoid"}, "^kernel=Sigmoid.* is not positive.* such as 'rbf'"),
        ({"gamma": 0}, "^gamma=0 must be .* or None or 'median'"),
        ({"kernel": lambda A, B: -(A @ B.T)}, "must be positive semi-definite"),
        ({"kernel": lambda A, B: 0.0 * (A @ B.T)}, "not zero on all rows"),
        ({"kernel": 3}, "kernel=3 must be a name"),
        ({"gamma": -1.0}, "^gamma=-1.0 must be"),
        ({"gamma": "cv"}, "^gamma='cv' must be"),
        ({"center": "yes"}, "center='yes' must be True or False"),
        ({"subsample": 0}, "subsample=0 must be"),
        ({"subsample": 2.0}, "subsample=2.0 must be"),
        ({"n_candidates": 0}, "n_candidates=0 must be"),
        ({"tol": -1.0}, "tol=-1.0 must be"),
        ({"max_memory": "much"}, "max_memory='much'"),
        ({"n_components": "bound", "delta": 2.0}, "delta=2.0 must be"),
        ({"delta": "small"}, "delta='small' must be"),
        ({"verbose": "much"}, "verbose='much' must be"),
    ],
    ids=named,
)
def test_what_is_wrong(X, how, words):
    with pytest.raises(ValueError, match=words):
        SparseKernelPCA(**{"n_components": 20, **how}).fit(X)


@pytest.mark.parametrize("scale", [1e-160, 1e-80, 1e80, 1e160])
@pytest.mark.parametrize("n_candidates", [None, 10])
def test_values_whose_squares_are_out_of_range(X, scale, n_candidates):
    model = SparseKernelPCA(3, kernel="linear", n_candidates=n_candidates)
    words = "k.x, x. (up to|from 0 to 0)|squares overflow|square underflows"
    with pytest.raises(ValueError, match=words):
        model.fit(scale * X)
    np.testing.assert_array_equal(
        model.fit(scale**0.25 * X).support_, model.fit(X).support_
    )


def test_huge_values_off_the_diagonal():
    K = np.eye(30)
    K[25, 28] = K[28, 25] = 1e200
    words = "^kernel='precomputed' is not positive semi-definite.*eigenvalue"
    with pytest.raises(ValueError, match=words):
        SparseKernelPCA(10, kernel="precomputed").fit(K)


def test_what_is_wrong_later(X):
    model = SparseKernelPCA(3).fit(X)
    with pytest.raises(ValueError, match="X has 2 columns, but there are 3"):
        model.inverse_transform(np.zeros((4, 2)))
    with pytest.raises(ValueError, match="needs a square matrix"):
        SparseKernelPCA(3, kernel="precomputed").fit(X)
    K = SparseKernelPCA(3, kernel="precomputed").fit(X @ X.T)
    with pytest.raises(ValueError, match="150 features|7 features"):
        K.transform(np.zeros((2, 7)))
