"""Nadaraya-Watson regression and the kernel centroid classifier."""

import pickle

import numpy as np
import polars as pl
import pytest
from naming import named
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from scipy.special import softmax
from sklearn.base import clone
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.neighbors import NearestCentroid
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import KernelCentroidClassifier, NadarayaWatson, ParzenWindows
from pursuit.densities.smoothing import Smoother
from pursuit.kernels import Gaussian, Matern


@parametrize_with_checks(
    [
        NadarayaWatson(),
        NadarayaWatson(gamma=2.0),
        NadarayaWatson(Matern(1.5, 2.0)),
        KernelCentroidClassifier(),
        KernelCentroidClassifier("linear"),
        NadarayaWatson("laplacian"),
        KernelCentroidClassifier("laplacian"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- Nadaraya-Watson ---------------------------------------------------------------


@pytest.mark.parametrize("function", [rbf_kernel, laplacian_kernel])
def test_weighted_mean(diabetes, function):
    X, y = diabetes
    Y = np.column_stack([y, y**2])
    weight = np.arange(len(y)) % 3
    K = function(X[:50], X) * weight
    expected = K @ Y / K.sum(axis=1, keepdims=True)
    model = NadarayaWatson(function).fit(X, Y, weight)
    assert_allclose(model.predict(X[:50]), expected, rtol=1e-10)
    single = NadarayaWatson(function).fit(X, y, weight)
    assert_allclose(single.predict(X[:50]), expected[:, 0], rtol=1e-10)


def test_leave_one_out_chooses_the_width(sinc):
    X, y = sinc
    model = NadarayaWatson().fit(X, y)
    for row in model.search_[::4]:
        K = rbf_kernel(X, gamma=row["gamma"])
        np.fill_diagonal(K, 0.0)
        total = K.sum(axis=1)
        used = total > 0
        errors = (y - K @ y / np.where(used, total, 1)) ** 2
        if used.all():
            assert row["mse"] == pytest.approx(errors.mean(), rel=1e-8)
    best = min(model.search_, key=lambda row: row["mse"])
    assert model.gamma_ == model.kernel_.gamma == best["gamma"]
    assert model.score(X, np.sinc(X[:, 0] / np.pi)) > 0.95


@pytest.mark.parametrize("make", [NadarayaWatson, KernelCentroidClassifier])
@pytest.mark.parametrize(
    "kernel, expected",
    [("rbf", 2.0), (Matern(1.5, 3.0), 3.0), ("cosine", None), (rbf_kernel, None)],
    ids=["name", "object", "without", "function"],
)
def test_the_gamma_in_use_is_told(make, kernel, expected):
    X = np.random.default_rng(0).uniform(size=(20, 2))
    assert make(kernel, gamma=2.0).fit(X, X[:, 0] > 0.5).gamma_ == expected


@pytest.mark.parametrize("scale", [1e-200, 1e-100, 1e200])
def test_units_of_the_targets(sinc, scale):
    X, y = sinc
    plain, scaled = NadarayaWatson().fit(X, y), NadarayaWatson().fit(X, scale * y)
    assert scaled.kernel_.gamma == plain.kernel_.gamma
    assert_allclose(scaled.predict(X), scale * plain.predict(X), rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_units_of_the_points(sinc, scale):
    X, y = sinc
    expected = NadarayaWatson().fit(X, y).predict(X)
    assert_allclose(
        NadarayaWatson().fit(scale * X, y).predict(scale * X), expected, rtol=1e-8
    )


def softmax_means(kernel, gamma, Z, X, y, without_own=False):
    """The ratio by logarithms, which do not underflow."""
    D = cdist(Z, X, "cityblock" if kernel == "laplacian" else "sqeuclidean")
    if without_own:
        np.fill_diagonal(D, np.inf)
    return softmax(-gamma * D, axis=1) @ y


@pytest.mark.parametrize("kernel, far", [("rbf", 27.0), ("laplacian", 800.0)])
def test_the_ratio_is_exact_where_kernel_values_underflow(kernel, far, rng):
    X, y = 0.02 * rng.normal(size=(30, 2)), rng.normal(size=30)
    Z = np.array([[0.9 * far, 0.0], [far, 0.0], [-far, 3.0], [far, -far], [0.0, 9e3]])
    expected = softmax_means(kernel, 1.0, Z, X, y)
    for data, points in [(X, Z), (sparse.csr_array(X), sparse.csr_array(Z))]:
        found = NadarayaWatson(kernel, gamma=1.0).fit(data, y).predict(points)
        assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("far", [1e9, -1e15])
def test_the_ratio_where_distances_round(kernel, far):
    """The difference of two squared distances is 2 far (x - z) + x² - z²."""
    X = np.array([[0.0], [3.0 / abs(far) if kernel == "rbf" else 1.5]])
    odds = np.exp(np.sign(far) * (6.0 if kernel == "rbf" else 1.5))
    model = NadarayaWatson(kernel, gamma=1.0).fit(X, [0.0, 10.0])
    assert_allclose(model.predict([[far]]), 10.0 * odds / (1.0 + odds), rtol=1e-9)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian", Matern(1.5, 1.0)], ids=named)
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 1, 0]])
def test_equal_rows_far_away_share_by_their_weights(kernel, order):
    X, y = np.array([[0.3], [0.3], [-90.0]])[order], np.array([0.0, 10.0, 5.0])[order]
    weight = np.array([1.0, 3.0, 9.0])[order]
    model = NadarayaWatson(kernel, gamma=1.0).fit(X, y, weight)
    assert_allclose(model.predict([[4e3], [1e7]]), 7.5, rtol=1e-12)


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_left_out_where_kernel_values_underflow(kernel, rng):
    X = np.vstack([rng.uniform(size=(20, 1)), [[60.0], [-300.0]]])
    y = rng.normal(size=22)
    for row in NadarayaWatson(kernel).fit(X, y).search_:
        F = softmax_means(kernel, row["gamma"], X, X, y, without_own=True)
        assert row["mse"] == pytest.approx(np.mean((F - y) ** 2), rel=1e-6)


# -- data that repeat --------------------------------------------------------------


def left_out_errors(model, X, y, weight=None):
    """The mean squared errors of fits without each row, for each gamma compared."""
    weight = np.ones(len(y)) if weight is None else weight
    errors = []
    for row in model.search_[::3]:
        F = np.empty(len(y))
        for i in range(len(y)):
            rest = np.arange(len(y)) != i
            fixed = NadarayaWatson(gamma=row["gamma"])
            fixed.fit(X[rest], y[rest], weight[rest])
            F[i] = fixed.predict(X[i : i + 1])[0]
        errors.append(np.average((F - y) ** 2, weights=weight))
    return errors


def one_hot(rng, n_rows):
    """Two columns of categories, and a target that depends on both, with noise."""
    codes = rng.integers(0, 3, (n_rows, 2))
    y = np.array([0.0, 2.0, -1.0])[codes[:, 0]] * (codes[:, 1] + 1)
    return np.hstack([np.eye(3)[c] for c in codes.T]), y + 0.5 * rng.normal(size=n_rows)


@pytest.mark.parametrize("target", [np.array, np.round], ids=["numbers", "counts"])
def test_rows_of_categories_are_left_out_one_by_one(target, rng):
    X, y = one_hot(rng, 80)
    y = target(y)
    model = NadarayaWatson().fit(X, y)
    found = [row["mse"] for row in model.search_[::3]]
    assert_allclose(found, left_out_errors(model, X, y), rtol=1e-9)
    X_new, y_new = one_hot(rng, 500)
    assert model.score(X_new, y_new) > 0.9
    both = NadarayaWatson().fit(X, np.column_stack([y, -y]))
    assert both.gamma_ == model.gamma_


def test_categories_with_weights(rng):
    X, y = one_hot(rng, 80)
    for target in (y, np.round(y)):
        weight = rng.integers(0, 4, 80)
        weighted = NadarayaWatson().fit(X, target, weight)
        repeated = NadarayaWatson()
        repeated.fit(np.repeat(X, weight, axis=0), np.repeat(target, weight))
        found, expected = (
            [row["mse"] for row in model.search_] for model in (weighted, repeated)
        )
        assert_allclose(found, expected, rtol=1e-9)


def test_large_weights_are_no_copies(sinc, rng):
    X, y = sinc[0][:60], sinc[1][:60]
    weight = rng.uniform(1.0, 100.0, 60)
    model = NadarayaWatson().fit(X, y, weight)
    found = [row["mse"] for row in model.search_[::3]]
    assert_allclose(found, left_out_errors(model, X, y, weight), rtol=1e-6)


def test_equal_rows_are_predicted_once(rng, monkeypatch):
    asked = []

    def spy(self, *given):
        asked.append(len(self.values))
        return means_of_others(self, *given)

    means_of_others = Smoother.means_of_others
    monkeypatch.setattr(Smoother, "means_of_others", spy)
    X = np.repeat(rng.normal(size=(20, 2)), 30, axis=0)
    NadarayaWatson().fit(X, X[:, 0])
    assert set(asked) == {20}


@pytest.mark.parametrize("model", [NadarayaWatson(), KernelCentroidClassifier()])
def test_memory_is_asked_at_the_call(model, rng):
    X = rng.normal(size=(50, 2))
    y = (X[:, 0] > 0).astype(int)
    model = clone(model).fit(X, y)
    expected = model.predict(X)
    model.set_params(max_memory=5000, gamma=7.0, kernel="linear")
    assert_allclose(model.predict(X), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="max_memory='foo'"):
        model.set_params(max_memory="foo").predict(X)


# -- limits and bad parameters -----------------------------------------------------


def test_far_away_the_nearest_row_answers():
    model = NadarayaWatson(gamma=1.0).fit([[0.0], [1.0], [3.0]], [1.0, 2.0, 7.0])
    assert_array_equal(model.predict([[1e3], [-1e3]]), [7.0, 1.0])
    weighted = clone(model).fit([[0.0], [1.0], [3.0]], [1.0, 2.0, 7.0], [1, 1, 0])
    assert_array_equal(weighted.predict([[1e3]]), [2.0])


@pytest.mark.parametrize(
    "kernel, gamma, error",
    [
        ("linear", 1.0, "has negative values"),
        ("rbf", -1.0, "gamma=-1.0 must be a positive finite number"),
        ("rbf", "wide", "gamma='wide' must be .* or 'loo' or 'median'"),
        ("box", 1.0, "kernel='box' is unknown"),
        ("precomputed", 1.0, "kernel='precomputed' stands for a matrix"),
        (3, 1.0, "kernel=3 must be a name, a Kernel object"),
    ],
)
def test_bad_parameters(kernel, gamma, error):
    X = [[-1.0], [1.0]]
    with pytest.raises(ValueError, match=error):
        NadarayaWatson(kernel, gamma=gamma).fit(X, [0.0, 1.0]).predict(X)


@pytest.mark.parametrize(
    "model", [NadarayaWatson(), KernelCentroidClassifier()], ids=named
)
def test_sparse_frames_pickles_and_memory(model, iris):
    X, y = iris
    expected = clone(model).fit(X, y).predict(X)
    for other in (sparse.csr_array(X), sparse.csc_matrix(X)):
        assert_allclose(clone(model).fit(other, y).predict(other), expected, atol=1e-6)
    frame = pl.DataFrame(X, list("abcd"))
    assert_allclose(clone(model).fit(frame, y).predict(frame), expected, rtol=1e-9)
    little = clone(model).set_params(max_memory="8 KiB").fit(X, y)
    assert_allclose(little.predict(X), expected, rtol=1e-10)
    again = pickle.loads(pickle.dumps(little))
    assert_array_equal(again.predict(X), little.predict(X))


# -- the kernel centroid -----------------------------------------------------------


def test_linear_is_the_nearest_centroid(iris):
    X, y = iris
    model = KernelCentroidClassifier("linear").fit(X, y)
    theirs = NearestCentroid().fit(X, y)
    assert_array_equal(model.predict(X), theirs.predict(X))
    D = ((X[:, None] - theirs.centroids_) ** 2).sum(axis=2)
    assert_allclose(model.distances(X), D, atol=1e-9)
    assert_allclose(model.decision_function(X), -D, atol=1e-9)


def test_gaussian_compares_parzen_windows(iris):
    """d² = constant - 2 p up to the height of the Gaussian, as §5.3.4 remarks."""
    X, y = iris
    sigma = 0.5
    model = KernelCentroidClassifier(Gaussian(1 / (2 * sigma**2))).fit(X, y)
    D = model.distances(X)
    for c in range(3):
        p = np.exp(ParzenWindows(sigma).fit(X[y == c]).score_samples(X))
        rest = D[:, c] + 2 * p * (2 * np.pi * sigma**2) ** 2
        assert_allclose(rest, rest[0], atol=1e-10)


def test_weights_and_two_classes(breast_cancer):
    X, y = breast_cancer
    weight = np.arange(len(y)) % 3
    weighted = KernelCentroidClassifier(gamma=0.05).fit(X, y, weight)
    repeated = KernelCentroidClassifier(gamma=0.05)
    repeated.fit(np.repeat(X, weight, axis=0), np.repeat(y, weight))
    assert_allclose(weighted.distances(X), repeated.distances(X), rtol=1e-9)
    decision = weighted.decision_function(X)
    assert_array_equal(weighted.predict(X), (decision > 0).astype(int))
    assert weighted.score(X, y) > 0.9
