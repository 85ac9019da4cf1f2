"""Sparse kernel CCA: the choice of pairs, the correlations, the model."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naming import named
from reference import paired_deflation
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.cross_decomposition import CCA
from sklearn.linear_model import LinearRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import scale
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import SparseKernelCCA, bounds, datasets
from pursuit.kernels import Gaussian


@pytest.fixture(scope="module")
def views():
    """Two curved views of a common angle, with noise."""
    rng = np.random.default_rng(5)
    angle = rng.uniform(0, 5, 160)
    X = np.c_[np.cos(angle), np.sin(angle), rng.standard_normal(160)]
    Y = np.c_[angle**2 / 10, rng.standard_normal(160)]
    X += 0.05 * rng.standard_normal(X.shape)
    for view in (X, Y):
        view.setflags(write=False)
    return X, Y


@parametrize_with_checks(
    [
        SparseKernelCCA(),
        SparseKernelCCA(kernel="linear", subsample=0.9, n_candidates=59),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("criterion", ["correlation", "covariance"])
@pytest.mark.parametrize("center", [True, False])
@pytest.mark.parametrize("gammas", [(0.5, 0.5), (2.0, 0.3), (0.1, 4.0)])
def test_choice_is_the_literal_one(views, gammas, center, criterion):
    X, Y = views
    kernels = [Gaussian(gamma) for gamma in gammas]
    model = SparseKernelCCA(
        1,
        kernel=kernels[0],
        kernel_y=kernels[1],
        center=center,
        max_support=25,
        criterion=criterion,
    ).fit(X, Y)
    chosen, scores = paired_deflation(
        kernels[0](X), kernels[1](Y), 25, center, criterion == "covariance"
    )
    assert model.support_.tolist() == chosen
    np.testing.assert_allclose(model.path_.gains, scores, atol=1e-7)
    drawn = clone(model).set_params(n_candidates=1000).fit(X, Y)
    assert drawn.support_.tolist() == chosen
    np.testing.assert_allclose(drawn.path_.gains, scores, atol=1e-7)


@pytest.mark.parametrize("center", [True, False])
def test_correlations_are_what_is_maximized(views, center):
    X, Y = views
    model = SparseKernelCCA(5, center=center, alpha=0.0, max_support=20).fit(X, Y)
    T, U = model.transform(X, Y)
    if center:
        T, U = T - T.mean(axis=0), U - U.mean(axis=0)
    lengths = np.linalg.norm(T, axis=0) * np.linalg.norm(U, axis=0)
    np.testing.assert_allclose(model.correlations_, (T * U).sum(axis=0) / lengths)
    np.testing.assert_array_equal(model.correlations(X, Y), model.correlations_)
    assert model.score(X, Y) == pytest.approx(model.correlations_.mean())
    assert np.all(np.diff(model.correlations_) < 1e-9)


def test_recomputed_blocks_change_nothing(rng):
    X = rng.standard_normal((500, 3))
    Y = X[:, :2] + 0.5 * rng.standard_normal((500, 2))
    stored, blocks = (
        SparseKernelCCA(max_support=15, max_memory=memory).fit(X, Y)
        for memory in (None, "6 MiB")
    )
    assert stored.support_.tolist() == blocks.support_.tolist()
    for ours, theirs in zip(
        stored.transform(X, Y), blocks.transform(X, Y), strict=True
    ):
        np.testing.assert_allclose(ours, theirs, atol=1e-7)
    with pytest.raises(ValueError, match="max_memory allows 1 MiB"):
        SparseKernelCCA(max_support=15, max_memory="1 MiB").fit(X, Y)


def test_whole_views_give_plain_correlations(rng):
    """Linear kernels, all dimensions, no ridge: scikit-learn's CCA."""
    X = rng.standard_normal((200, 4)) + 3.0
    Y = X[:, :3] @ rng.standard_normal((3, 3)) + rng.standard_normal((200, 3))
    model = SparseKernelCCA(
        3, kernel="linear", alpha=0.0, max_support=10, center=True
    ).fit(X, Y)
    plain = CCA(3, scale=False, max_iter=5000, tol=1e-12).fit(X, Y)
    T, U = plain.transform(X, Y)
    expected = [np.corrcoef(t, u)[0, 1] for t, u in zip(T.T, U.T, strict=True)]
    # The views have 3 dimensions: points are independent in both.
    assert model.n_support_ == 3
    assert model.correlations_[0] <= expected[0] + 1e-9
    both = SparseKernelCCA(3, kernel="linear", alpha=0.0).fit(X[:, :3], Y)
    T, U = CCA(3, scale=False, max_iter=5000, tol=1e-12).fit_transform(X[:, :3], Y)
    expected = [np.corrcoef(t, u)[0, 1] for t, u in zip(T.T, U.T, strict=True)]
    np.testing.assert_allclose(both.correlations_, expected, atol=1e-6)


def test_held_out_correlation(views):
    X, Y = views
    model = SparseKernelCCA(1, max_support=40).fit(X[:100], Y[:100])
    assert model.score(X[100:], Y[100:]) > 0.9
    linear = CCA(1).fit(X[:100], Y[:100]).transform(X[100:], Y[100:])
    plain = np.corrcoef(linear[0][:, 0], linear[1][:, 0])[0, 1]
    assert model.score(X[100:], Y[100:]) > plain + 0.02


def test_variates(views):
    X, Y = views
    model = SparseKernelCCA(3, max_support=30).fit(X, Y)
    T, U = model.transform(X, Y)
    for scores in (T, U):
        np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-9)
        np.testing.assert_allclose(scores.var(axis=0), 1, rtol=1e-9)
    np.testing.assert_allclose((T * U).mean(axis=0), model.correlations_, rtol=1e-9)
    np.testing.assert_array_equal(T, model.transform(X))
    np.testing.assert_array_equal(model.correlations(X, Y), model.correlations_)
    assert model.score(X, Y) == model.correlations_.mean()
    np.testing.assert_array_equal(clone(model).fit_transform(X, Y), T)


def test_ridge_lowers_the_training_correlation(views):
    found = [
        SparseKernelCCA(2, alpha=alpha).fit(*views).correlations_[0]
        for alpha in (1e-6, 1e-3, 1.0)
    ]
    assert found[0] > found[1] > found[2]


def test_truncate(views):
    X, Y = views
    long, short = (SparseKernelCCA(2, max_support=n).fit(X, Y) for n in (30, 12))
    cut = long.truncate(12)
    assert cut.stop_reason_.startswith("truncated")
    np.testing.assert_allclose(cut.transform(X), short.transform(X), atol=1e-7)
    assert (cut.n_support_, long.n_support_) == (12, 30)
    whole = long.truncate()
    assert whole.stop_reason_ == long.stop_reason_
    np.testing.assert_array_equal(whole.transform(X), long.transform(X))
    again = cut.truncate(5)
    np.testing.assert_array_equal(again.transform(X), long.truncate(5).transform(X))
    with pytest.raises(ValueError, match="does not know the training rows"):
        cut.bound(1.0)
    with pytest.raises(ValueError, match="n=0 must be a whole number from 1 to 30"):
        long.truncate(0)


def test_bound(views):
    X, Y = views
    model = SparseKernelCCA(2, max_support=5).fit(X, Y)
    T, U = model.transform(X, Y)
    outside = np.setdiff1d(np.arange(160), model.support_)
    for component in (0, 1):
        t = int((np.abs(T - U)[outside, component] > 0.4).sum())
        expected = bounds.cca(160, 5, t, dimension=11, delta=0.1)
        assert model.bound(0.4, component, delta=0.1) == expected
    assert model.bound(1e-9).is_vacuous
    with pytest.raises(ValueError, match="alpha=0 must be a positive"):
        model.bound(0)
    for component in (-1, 2, 0.5):
        with pytest.raises(ValueError, match="whole number from 0 to 1"):
            model.bound(0.4, component)


# -- kinds of input ----------------------------------------------------------------


def test_precomputed(views):
    X, Y = views
    K_x, K_y = Gaussian(0.5)(X), Gaussian(0.7)(Y)
    direct = SparseKernelCCA(2, gamma=0.5, gamma_y=0.7, max_support=20)
    direct.fit(X[:100], Y[:100])
    model = SparseKernelCCA(2, kernel="precomputed", max_support=20)
    model.fit(K_x[:100, :100], K_y[:100, :100])
    assert model.support_.tolist() == direct.support_.tolist()
    expected = direct.transform(X, Y)
    for columns in (slice(0, 100), model.support_):
        found = model.transform(K_x[:, columns], K_y[:, columns])
        np.testing.assert_allclose(found, expected, atol=1e-8)
    mixed = SparseKernelCCA(
        2, kernel="precomputed", kernel_y="rbf", gamma_y=0.7, max_support=20
    ).fit(K_x[:100, :100], Y[:100])
    np.testing.assert_allclose(mixed.transform(K_x[:, :100]), expected[0], atol=1e-8)
    assert model.truncate(3).transform(K_x[:, :100]).shape == (160, 2)


def test_sparse_and_frames(views):
    X, Y = views
    model = SparseKernelCCA(2, gamma=0.5, max_support=20).fit(X, Y)
    same = clone(model).fit(sparse.csr_array(X), sparse.csr_array(Y))
    np.testing.assert_allclose(
        same.transform(sparse.csr_array(X)), model.transform(X), atol=1e-7
    )
    frames = pd.DataFrame(X, columns=list("abc")), pd.DataFrame(Y, columns=list("uv"))
    framed = clone(model).set_output(transform="pandas").fit(*frames)
    assert framed.transform(frames[0]).columns.tolist() == [
        "sparsekernelcca0",
        "sparsekernelcca1",
    ]


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_both_views_are_frames_where_one_is(views, frame):
    X, Y = views
    model = SparseKernelCCA(2, gamma=0.5, max_support=20)
    expected = model.fit(X, Y).transform(X, Y)
    word = frame.__module__.partition(".")[0]
    framed = clone(clone(model).set_output(transform=word)).fit(X, Y)
    for scores, wanted, prefix in zip(
        framed.transform(X, Y), expected, ["", "_y"], strict=True
    ):
        assert isinstance(scores, frame)
        assert list(scores.columns) == [f"sparsekernelcca{prefix}{i}" for i in (0, 1)]
        np.testing.assert_array_equal(scores.to_numpy(), wanted)
    with config_context(transform_output=word):
        assert all(isinstance(scores, frame) for scores in model.transform(X, Y))
    np.testing.assert_array_equal(framed.correlations(X, Y), model.correlations(X, Y))
    assert framed.score(X, Y) == model.score(X, Y)


def test_rows_of_frames_keep_their_names(views):
    X, Y = views
    index = [f"row {i}" for i in range(len(X))]
    frames = pd.DataFrame(X, index), pd.DataFrame(Y, index)
    model = SparseKernelCCA(2, max_support=20).set_output(transform="pandas")
    for scores in model.fit(*frames).transform(*frames):
        assert scores.index.tolist() == index


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_names_of_the_second_view(views, frame):
    X, Y = views
    named = frame(dict(zip("uv", Y.T, strict=True)))
    model = SparseKernelCCA(2, max_support=20).fit(X, named)
    model.transform(X, named)
    for wrong in (named[["v", "u"]], frame({"u": Y[:, 0], "w": Y[:, 1]})):
        with pytest.raises(ValueError, match="(?s)^In y, .* names should match those"):
            model.transform(X, wrong)
        with pytest.raises(ValueError, match="(?s)^In y, .* names should match those"):
            model.score(X, wrong)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        model.transform(X, Y)


def test_pipelines_and_searches(views):
    X, Y = views
    model = make_pipeline(SparseKernelCCA(2, max_support=30), LinearRegression())
    assert model.fit(X, Y[:, 0]).score(X, Y[:, 0]) > 0.8
    search = GridSearchCV(
        SparseKernelCCA(1, max_support=30), {"alpha": [1e-3, 10.0]}, cv=3
    ).fit(X, Y)
    assert search.best_params_ == {"alpha": 1e-3}
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.transform(X), search.transform(X))


@pytest.mark.parametrize(
    "how, words",
    [
        ({"n_components": 0}, "n_components=0 must be"),
        ({"max_support": 1.5}, "max_support=1.5 must be"),
        ({"alpha": -1.0}, "alpha=-1.0 must be"),
        ({"center": 1}, "center=1 must be True or False"),
        ({"criterion": "best"}, "criterion='best' is not known"),
        ({"kernel": "unknown"}, "^kernel='unknown' is unknown"),
        ({"kernel": "unknown", "kernel_y": "rbf"}, "^kernel='unknown' is unknown"),
        ({"kernel_y": "unknown"}, "^kernel_y='unknown' is unknown"),
        ({"kernel_y": 3}, "^kernel_y=3 must be a name"),
        ({"gamma": -1.0}, "^gamma=-1.0 must be"),
        ({"gamma_y": 0.0}, "^gamma_y=0.0 must be.* or None or 'same'"),
        ({"kernel": "sigmoid"}, "^kernel(_y)?=Sigmoid.* is not positive semi-definite"),
        (
            {"kernel_y": "sigmoid"},
            "^kernel_y=Sigmoid.* is not positive semi-definite.* such as 'rbf'",
        ),
        ({"gamma_y": -1}, "^gamma_y=-1 must be"),
        ({"gamma_y": "wide"}, "^gamma_y='wide' must be"),
    ],
)
def test_what_is_wrong(views, how, words):
    with pytest.raises(ValueError, match=words):
        SparseKernelCCA(**how).fit(*views)


def test_views_that_do_not_do(views):
    X, Y = views
    with pytest.raises(ValueError, match="second view"):
        SparseKernelCCA().fit(X, None)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        SparseKernelCCA().fit(X, Y[:10])
    for ones in (np.ones_like(Y), sparse.csr_array(np.ones_like(Y))):
        with pytest.raises(ValueError, match="nothing to choose: y is constant"):
            SparseKernelCCA(gamma=1.0).fit(X, ones)
    for kernel in ("laplacian", "cosine"):
        with pytest.raises(ValueError, match="nothing to choose: X is constant"):
            SparseKernelCCA(kernel=kernel).fit(np.ones_like(X), Y)
    for name, view in (("gamma", "X"), ("gamma_y", "y")):
        words = f"kernel of {view} is constant, as {name}=1e-300 is far too small"
        with pytest.raises(ValueError, match=words):
            SparseKernelCCA(**{name: 1e-300}).fit(X, Y)
    model = SparseKernelCCA(max_support=5).fit(X, Y)
    for method in (model.score, model.correlations):
        with pytest.raises(ValueError, match="need two rows at least"):
            method(X[:1], Y[:1])
    with pytest.raises(ValueError, match="y has 3 columns, but the second view had 2"):
        model.transform(X, X)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.transform(X, Y[:7])


CRITERIA = [
    {},
    {"criterion": "covariance"},
    {"center": False},
    {"n_candidates": 1},
    {"n_candidates": 5, "criterion": "covariance"},
]


@pytest.mark.parametrize("how", CRITERIA, ids=named)
@pytest.mark.parametrize("tol", [0.0, 1e-10])
def test_rounding_is_not_taken_for_a_kernel_that_is_not_definite(rng, how, tol):
    """Correlation cares not how little is left of a row, down to noise."""
    for n in (20, 60, 150):
        X = rng.standard_normal((n, 1))
        Y = X**2 + 0.1 * rng.standard_normal((n, 1))
        model = SparseKernelCCA(1, tol=tol, **how).fit(X, Y)
        for path, view in ((model.path_.first, X), (model.path_.second, Y)):
            K = Gaussian("median").bind(view)(view[model.support_])
            np.testing.assert_allclose(path.triangle @ path.triangle.T, K, atol=1e-6)


def test_variates_have_variance(rng):
    """Five points span four directions about their mean: a fifth would be noise."""
    X, Y = rng.standard_normal((5, 3)), rng.standard_normal((5, 2))
    model = SparseKernelCCA(5).fit(X, Y)
    assert (model.n_support_, model.n_components_) == (5, 4)
    T, U = model.transform(*(rng.standard_normal((50, view)) for view in (3, 2)))
    assert max(np.abs(T).max(), np.abs(U).max()) < 100


@pytest.mark.slow
@pytest.mark.skipif("mfeat" not in datasets.available(), reason="needs mfeat's data")
def test_mfeat_beyond_lines():
    """Held out, a tenth of the rows give more than dense linear correlations."""
    views = datasets.load("mfeat").views
    order = np.random.default_rng(0).permutation(2000)
    X, Y = (scale(views[name])[order] for name in ("fou", "kar"))
    model = SparseKernelCCA(5, max_support=100).fit(X[:1000], Y[:1000])
    T, U = CCA(5, max_iter=2000).fit(X[:1000], Y[:1000]).transform(X[1000:], Y[1000:])
    plain = [np.corrcoef(t, u)[0, 1] for t, u in zip(T.T, U.T, strict=True)]
    assert model.score(X[1000:], Y[1000:]) > np.mean(plain) + 0.02
