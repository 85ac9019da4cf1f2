"""The classifiers by local hyperplanes and hulls, as users meet them."""

import pickle
import re
import threading
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naming import named
from reference import hull_by_programme, hyperplane_by_least_squares
from scipy import sparse
from scipy.ndimage import gaussian_filter
from sklearn.base import BaseEstimator, clone
from sklearn.datasets import load_digits, make_blobs
from sklearn.ensemble import BaggingClassifier, BaggingRegressor
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsTransformer,
    NearestCentroid,
    NearestNeighbors,
    kneighbors_graph,
)
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter
from threadpoolctl import threadpool_info, threadpool_limits

from pursuit import (
    CKNNClassifier,
    HKNNClassifier,
    HKNNRegressor,
    KMPClassifier,
    datasets,
)
from pursuit._threads import limited
from pursuit.neighbors import ImageTangents
from pursuit.neighbors.leave_one_out import temperature

CLASSIFIERS = [HKNNClassifier, CKNNClassifier]
SETTINGS = [
    HKNNClassifier(),
    HKNNClassifier(4, 0.0),
    HKNNClassifier(6, 1e-7),
    HKNNClassifier(6, 0.5, n_components=2),
    HKNNClassifier(6, 0.0, n_components=0.8),
    HKNNClassifier(3, tangents=ImageTangents((8, 8))),
    HKNNClassifier(3, 0.0, tangents=ImageTangents((8, 8))),
    HKNNClassifier(7, 1e-4, search=NearestNeighbors(algorithm="kd_tree")),
    CKNNClassifier(),
    CKNNClassifier(40),
]


@pytest.fixture(scope="module")
def digits():
    """(X, y, Xt, yt): 300 and 120 images of 8 x 8 pixels in [0, 1]."""
    X, y = load_digits(return_X_y=True)
    # Grey values are whole numbers: a little noise, lest neighbors be equally far.
    X = X / 16 + 1e-3 * np.random.default_rng(0).standard_normal(X.shape)
    arrays = X[:300], y[:300], X[300:420], y[300:420]
    for array in arrays:
        array.setflags(write=False)
    return arrays


@pytest.fixture(scope="module")
def blobs():
    """Two classes of the plane that overlap: hulls and planes tie at zero."""
    return make_blobs(120, centers=2, cluster_std=3.0, random_state=0)


# -- scikit-learn's own checks -----------------------------------------------------

VARIANTS = [
    HKNNClassifier(),
    HKNNClassifier("auto", "auto"),
    HKNNClassifier(3, 0.0, loo_samples=0),
    HKNNClassifier(8, 0.1, n_components=2, n_jobs=1),
    HKNNClassifier(5, search=NearestNeighbors(algorithm="brute")),
    CKNNClassifier(),
    CKNNClassifier("auto", max_memory="100 kB"),
]


@parametrize_with_checks(VARIANTS)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- against the literal algorithm --------------------------------------------------


def literal(model, X, y, Xt):
    """Distances, class by class and point by point, from the text of chapter 11."""
    tangents = getattr(model, "tangents", None)
    out = np.empty((len(Xt), len(model.classes_)))
    for i, x in enumerate(Xt):
        for c, label in enumerate(model.classes_):
            points = X[y == label]
            near = np.argsort(((points - x) ** 2).sum(axis=1))[: model.n_neighbors_]
            if isinstance(model, CKNNClassifier):
                out[i, c] = hull_by_programme(x, points[near])
            else:
                extra = None if tangents is None else tangents(points[near[:1]])[0]
                out[i, c] = hyperplane_by_least_squares(
                    x, points[near], model.penalty_, model.n_components, extra
                )
    return out


@pytest.mark.parametrize("model", SETTINGS, ids=named)
def test_distances_are_those_of_the_definition(model, digits):
    X, y, Xt, _ = digits
    model = clone(model).set_params(loo_samples=0).fit(X, y)
    wanted = literal(model, X, y, Xt[:12])
    np.testing.assert_allclose(model.distances(Xt[:12]), wanted, atol=1e-8)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("model", SETTINGS, ids=named)
def test_predict_takes_the_nearest(model, dtype, digits):
    """Bounds decide as the distances do, also when these are close."""
    X, y, Xt, yt = (array.astype(dtype) for array in digits)
    y, yt = y.astype(int), yt.astype(int)
    model = clone(model).fit(X, y)
    middle = (Xt[:, None] + X[None, :4]).reshape(-1, 64) / 2
    for points in (Xt, middle.astype(dtype)):
        values = model.decision_function(points)
        np.testing.assert_array_equal(
            model.predict(points), model.classes_[values.argmax(axis=1)]
        )
        proba = model.predict_proba(points)
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        log_proba = model.predict_log_proba(points)
        np.testing.assert_allclose(np.exp(log_proba), proba, rtol=1e-9)
        agree = proba.argmax(axis=1) == values.argmax(axis=1)
        # Probabilities may be equal where the values are not.
        assert np.all(agree | (np.ptp(np.sort(proba, axis=1)[:, -2:], axis=1) < 1e-6))
    assert model.score(Xt, yt) > 0.85


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("shift", [1e-3, 1e-5, 1e-7, 1e-9])
def test_predict_where_classes_nearly_coincide(make, shift, rng):
    """Differences below single precision are left to the exact distances."""
    X = rng.standard_normal((60, 12))
    X = np.concatenate([X, X + shift * rng.standard_normal((60, 12))])
    y = np.repeat([0, 1], 60)
    weights = rng.dirichlet(np.ones(4), size=100)
    points = np.einsum("ik,ikj->ij", weights, X[rng.integers(120, size=(100, 4))])
    points = np.concatenate([points, X + 0.1 * shift])
    model = make(20, loo_samples=0).fit(X, y)
    found = model.predict(points)
    np.testing.assert_array_equal(found, model.decision_function(points) > 0)


@pytest.mark.parametrize("model", [HKNNClassifier(), HKNNClassifier(15, 1e-4 * 1.0001)])
@pytest.mark.parametrize("length", [1e2, 1e4, 1e5, 1e8])
def test_predict_far_from_the_data(model, length, rng):
    """Single precision has no digits left for the bounds."""
    X = rng.standard_normal((200, 10)) / np.sqrt(10)
    y = rng.integers(4, size=200)
    points = rng.standard_normal((400, 10))
    points *= length / np.linalg.norm(points, axis=1)[:, None]
    for one in (model, clone(model).set_params(search=Squared()), CKNNClassifier()):
        one.set_params(loo_samples=0).fit(X, y)
        wanted = one.decision_function(points).argmax(axis=1)
        np.testing.assert_array_equal(one.predict(points), wanted)


class Squared:
    """A search that returns squared distances, in other units, as some indexes do."""

    def fit(self, X):
        self.search = NearestNeighbors().fit(X)

    def kneighbors(self, X, n_neighbors):
        distance, found = self.search.kneighbors(X, n_neighbors)
        return 1e-30 * distance**2, found


def test_float32_is_kept_and_close(digits):
    X, y, Xt, _ = digits
    for make in CLASSIFIERS:
        model = make(loo_samples=0)
        wide = model.fit(X, y).distances(Xt)
        narrow = clone(model).fit(X.astype(np.float32), y)
        assert narrow._points.dtype == np.float32
        found = narrow.distances(Xt.astype(np.float32))
        assert found.dtype == np.float64
        np.testing.assert_allclose(found, wide, atol=1e-5)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_one_neighbor_is_nearest_neighbor(make, digits):
    X, y, Xt, _ = digits
    wanted = KNeighborsClassifier(1).fit(X, y)
    model = make(1).fit(X, y)
    np.testing.assert_array_equal(model.predict(Xt), wanted.predict(Xt))
    nearest = wanted.kneighbors(Xt)[0][:, 0]
    np.testing.assert_allclose(model.distances(Xt).min(axis=1), nearest, atol=1e-8)


def test_infinite_penalty_is_distance_to_the_centroid(digits):
    X, y, Xt, _ = digits
    model = HKNNClassifier(400, 1e9).fit(X, y)
    wanted = NearestCentroid().fit(X, y)
    np.testing.assert_array_equal(model.predict(Xt), wanted.predict(Xt))
    centroids = wanted.centroids_
    d = np.linalg.norm(Xt[:, None] - centroids, axis=2)
    np.testing.assert_allclose(model.distances(Xt), d, atol=1e-6)


def test_penalty_shrinks_towards_the_plane(digits):
    """The distance grows with the penalty and with fewer directions."""
    X, y, Xt, _ = digits
    penalties = [0.0, 1e-6, 1e-3, 0.1, 1.0, 100.0]
    d = [HKNNClassifier(8, p, loo_samples=0).fit(X, y).distances(Xt) for p in penalties]
    assert np.all(np.diff(d, axis=0) >= -1e-9)
    d = [
        HKNNClassifier(8, 0.1, n_components=m, loo_samples=0).fit(X, y).distances(Xt)
        for m in (7, 5, 3, 1)
    ]
    assert np.all(np.diff(d, axis=0) >= -1e-9)
    np.testing.assert_allclose(
        d[0], HKNNClassifier(8, 0.1, loo_samples=0).fit(X, y).distances(Xt)
    )


def test_hull_is_no_nearer_than_the_plane(digits):
    X, y, Xt, _ = digits
    plane = HKNNClassifier(8, 0.0, loo_samples=0).fit(X, y).distances(Xt)
    hull = CKNNClassifier(8, loo_samples=0).fit(X, y).distances(Xt)
    assert np.all(hull >= plane - 1e-9)


@pytest.mark.parametrize("scale", [1e-30, 1e-6, 1e6, 1e30])
@pytest.mark.parametrize("make", CLASSIFIERS)
def test_scale_and_offset_do_not_matter(make, scale, digits):
    X, y, Xt, _ = digits
    wanted = make().fit(X, y)
    model = make().fit(scale * X, y)
    np.testing.assert_array_equal(model.predict(scale * Xt), wanted.predict(Xt))
    np.testing.assert_allclose(
        model.distances(scale * Xt) / scale, wanted.distances(Xt), rtol=1e-6, atol=1e-8
    )
    np.testing.assert_allclose(
        model.predict_proba(scale * Xt), wanted.predict_proba(Xt), atol=1e-4
    )


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_a_common_offset_does_not_matter(make, rng):
    X, y = rng.standard_normal((300, 30)), rng.integers(2, size=300)
    points = rng.standard_normal((100, 30))
    offset = 2.0**26
    X, points = (X + offset) - offset, (points + offset) - offset
    wanted = make(5).fit(X, y).distances(points)
    found = make(5).fit(X + offset, y).distances(points + offset)
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_numbers_whose_squares_are_none(make, digits):
    X, y, Xt, _ = digits
    for scale in (1e-130, 1e140):
        found = make().fit(scale * X, y).predict(scale * Xt)
        np.testing.assert_array_equal(found, make().fit(X, y).predict(Xt))
    with pytest.raises(ValueError, match="squares overflow: scale it down"):
        make().fit(1e160 * X, y)
    with pytest.raises(ValueError, match="squares overflow: scale it down"):
        make().fit(X, y).predict(1e160 * Xt)
    with pytest.raises(ValueError, match="underflows: scale it up"):
        make().fit(1e-160 * X, y)


# -- small classes, ties ------------------------------------------------------------


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_classes_smaller_than_k(make, digits):
    X, y, Xt, _ = digits
    rows = np.r_[np.flatnonzero(y == 0)[:1], np.flatnonzero(y == 1)[:3], 50:200]
    rows = np.unique(rows[(y[rows] > 1) | (rows < 50)])
    model = make(15).fit(X[rows], y[rows])
    assert set(model.predict(Xt)) <= set(y)
    alone = X[rows][y[rows] == 0]
    if len(alone) == 1:
        np.testing.assert_allclose(
            model.distances(Xt)[:, 0], np.linalg.norm(Xt - alone, axis=1), atol=1e-8
        )


@pytest.mark.parametrize("model", [HKNNClassifier(9, 0.0), CKNNClassifier(30)])
def test_ties_go_to_the_nearest_point(model, blobs):
    X, y = blobs
    model.fit(X, y)
    d = model.distances(X)
    tied = np.all(d < 1e-9, axis=1)
    assert tied.sum() > 10
    nearest = KNeighborsClassifier(1).fit(X, y)
    assert np.all((model.predict(X) == nearest.predict(X))[tied])
    values = model.decision_function(X)
    np.testing.assert_array_equal(model.predict(X), model.classes_[(values > 0) * 1])


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_full_ties_go_to_the_first_class(make):
    X = np.repeat([[0.0, 0.0], [1.0, 1.0]], 4, axis=0)
    y = ["b", "a"] * 4
    model = make(2, loo_samples=0).fit(X, y)
    assert model.predict(X).tolist() == ["a"] * 8


# -- leave-one-out -------------------------------------------------------------------


@pytest.mark.parametrize(
    "tangents", [None, ImageTangents((8, 8))], ids=["", "tangents"]
)
def test_table_is_leave_one_out(tangents, digits):
    X, y = digits[0][:60], digits[1][:60]
    model = HKNNClassifier("auto", "auto", tangents=tangents).fit(X, y)
    table = model.loo_table_
    assert table.errors.shape == (len(table.penalties), len(table.n_neighbors))
    assert table.n_samples == 60
    for j, k in [(0, 2), (3, 4), (6, 0)]:
        wrong = 0
        for i in range(60):
            rest = np.arange(60) != i
            one = HKNNClassifier(
                int(table.n_neighbors[k]),
                float(table.penalties[j]),
                tangents=tangents,
                loo_samples=0,
            )
            wrong += one.fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i]
        assert table.errors[j, k] == pytest.approx(wrong / 60)
    best = table.errors.min()
    chosen = table.errors[
        np.flatnonzero(table.penalties == model.penalty_)[0],
        np.flatnonzero(table.n_neighbors == model.n_neighbors_)[0],
    ]
    assert chosen == best


def test_table_does_not_shrink_with_the_memory(digits):
    X, y = digits[0][:80], digits[1][:80]
    wanted = HKNNClassifier("auto", "auto").fit(X, y)
    for memory in (1, "20 kB"):
        found = HKNNClassifier("auto", "auto", max_memory=memory).fit(X, y)
        assert found.loo_table_.n_samples == 80
        np.testing.assert_array_equal(found.loo_table_.errors, wanted.loo_table_.errors)
        assert found.temperature_ == pytest.approx(wanted.temperature_)


def test_table_with_few_components(digits):
    X, y = digits[0][:60], digits[1][:60]
    table = HKNNClassifier("auto", "auto", n_components=2).fit(X, y).loo_table_
    assert 1 < len(table.n_neighbors) < 12
    place = table.n_neighbors.tolist().index(5)
    for j in (0, 4, 7):
        wrong = 0
        for i in range(60):
            rest = np.arange(60) != i
            one = HKNNClassifier(
                5, float(table.penalties[j]), n_components=2, loo_samples=0
            )
            wrong += one.fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i]
        assert table.errors[j, place] == pytest.approx(wrong / 60)


def test_table_of_hulls(digits):
    X, y = digits[0][:60], digits[1][:60]
    table = CKNNClassifier("auto").fit(X, y).loo_table_
    for k in (0, 4):
        wrong = 0
        for i in range(60):
            rest = np.arange(60) != i
            one = CKNNClassifier(k + 1, loo_samples=0).fit(X[rest], y[rest])
            wrong += one.predict(X[i : i + 1])[0] != y[i]
        assert table.errors[0, k] == pytest.approx(wrong / 60)


def test_one_parameter_alone_by_leave_one_out(digits):
    X, y, *_ = digits
    model = HKNNClassifier(7, "auto").fit(X, y)
    assert model.n_neighbors_ == 7
    assert model.loo_table_.errors.shape[1] == 1
    model = HKNNClassifier("auto", 0.5).fit(X, y)
    assert model.penalty_ == 0.5
    assert model.loo_table_.errors.shape[0] == 1
    assert HKNNClassifier().fit(X, y).loo_table_ is None


def test_default_penalty_is_a_share_of_the_class_variance(digits):
    X, y, *_ = digits
    variance = np.mean([X[y == c].var(axis=0).sum() for c in range(10)])
    assert HKNNClassifier().fit(X, y).penalty_ == pytest.approx(0.1 * variance)


def test_subsample_is_drawn_by_random_state(digits):
    X, y, *_ = digits
    models = [
        HKNNClassifier("auto", loo_samples=60, random_state=s).fit(X, y)
        for s in (1, 1, 2)
    ]
    assert all(m.loo_table_.n_samples == 60 for m in models)
    assert models[0].temperature_ == models[1].temperature_
    assert models[0].temperature_ != models[2].temperature_


def test_temperature_is_the_likeliest(rng):
    codes = rng.integers(3, size=400)
    score = rng.uniform(size=(400, 3)) + 0.5
    score[np.arange(400), codes] -= 0.3

    def surprise(t):
        gaps = score - score[np.arange(400), codes][:, None]
        return np.log(np.exp(-gaps / t).sum(axis=1)).sum()

    t = temperature(score, codes)
    assert surprise(t) < min(surprise(0.5 * t), surprise(2 * t))
    # All right: some temperature above zero nevertheless.
    score[np.arange(400), codes] = 0.0
    t = temperature(score, codes)
    assert 0.05 < t < 0.5
    assert temperature(1000 * score, codes) == pytest.approx(1000 * t, rel=1e-3)
    assert temperature(np.full((3, 2), np.inf), np.zeros(3, int)) == 1.0
    # Nobody knows the own class: the typical score, in its units.
    alone = np.array([[np.inf, 2.0], [4.0, np.inf]])
    assert temperature(alone, np.arange(2)) == 3.0
    assert temperature(1e6 * alone, np.arange(2)) == 3e6


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_probabilities_that_round_to_0_have_logarithms(make):
    X, y = make_blobs(60, centers=[[0, 0], [1e4, 0], [0, 1e4]], random_state=0)
    model = make(3).fit(X, y)
    model.temperature_ = 1.0
    log_proba = model.predict_log_proba(X)
    far = model.predict_proba(X) == 0
    assert far.sum() == 2 * len(X)
    np.testing.assert_allclose(log_proba[far], -model.distances(X)[far], rtol=1e-3)
    assert np.all(log_proba[~far] == 0)


def test_probabilities_can_be_absent(digits):
    X, y, Xt, _ = digits
    model = HKNNClassifier(loo_samples=0).fit(X, y)
    assert not hasattr(model, "predict_proba")
    assert not hasattr(model, "predict_log_proba")
    assert model.temperature_ is None
    model.predict(Xt)
    # What counts is the fit, not what is set afterwards.
    assert not hasattr(model.set_params(loo_samples=20), "predict_proba")
    model.fit(X, y).set_params(loo_samples=0)
    np.testing.assert_allclose(model.predict_proba(Xt).sum(axis=1), 1.0)


# -- reference points, search, graph, tangents ---------------------------------------


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_reference_points(make, digits):
    X, y, Xt, yt = digits
    rows = np.arange(0, 300, 2)
    wanted = make(5).fit(X[rows], y[rows])
    mask = np.zeros(300, dtype=bool)
    mask[rows] = True
    for given in (rows, rows.tolist(), rows[::-1], mask):
        model = make(5, reference=given).fit(X, y)
        np.testing.assert_array_equal(model.reference_, rows)
        np.testing.assert_allclose(model.distances(Xt), wanted.distances(Xt))
    svc = SVC(C=10).fit(X, y)
    for given in (svc, SVC(C=10)):
        model = make(5, reference=given).fit(X, y)
        np.testing.assert_array_equal(model.reference_, np.sort(svc.support_))
        assert model.score(Xt, yt) > 0.85
    kmp = KMPClassifier(max_support=150, selection=None, gamma=0.05, alpha=1e-3)
    model = make(5, reference=kmp).fit(X, y)
    assert len(model.reference_) == 150
    assert model.score(Xt, yt) > 0.8
    assert clone(model).fit(X, y).reference_.tolist() == model.reference_.tolist()


class Supported(BaseEstimator):
    """A model that keeps the rows it is told to keep."""

    def __init__(self, rows):
        self.rows = rows

    def fit(self, X, y):
        self.support_ = np.array(self.rows)
        return self


@pytest.mark.parametrize(
    "rows, message",
    [
        ([], "has no support points"),
        (np.zeros(300, dtype=bool), "has no support points"),
        ([-1, 3, 4], "its support_ must index the X"),
        ([1.5, 3.0], "its support_ must index the X"),
        ([3, 300], "its support_ must index the X"),
        ([True, False], "its support_ must index the X"),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_support_that_is_no_rows(rows, message, digits):
    X, y, *_ = digits
    for model in (Supported(rows), Supported(rows).fit(X, y)):
        with pytest.raises(ValueError, match=message):
            HKNNClassifier(reference=model).fit(X, y)


def test_support_as_a_mask(digits):
    X, y, *_ = digits
    model = HKNNClassifier(reference=Supported(np.arange(300) < 150)).fit(X, y)
    np.testing.assert_array_equal(model.reference_, np.arange(150))


def test_left_out_points_outside_the_reference(digits):
    """Leave-one-out with a reduced set: others are simply new points."""
    X, y, *_ = digits
    rows = np.arange(0, 300, 3)
    model = HKNNClassifier("auto", 0.3, reference=rows).fit(X, y)
    others = np.setdiff1d(np.arange(300), rows)
    wrong = 0
    k = 4
    one = HKNNClassifier(k, 0.3, loo_samples=0)
    wrong += (one.fit(X[rows], y[rows]).predict(X[others]) != y[others]).sum()
    for i in rows:
        rest = rows[rows != i]
        wrong += one.fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i]
    assert model.loo_table_.errors[0, k - 1] == pytest.approx(wrong / 300)


class Shuffled:
    """A search that is no estimator and returns its neighbors in no order."""

    def fit(self, X):
        self.X = X
        return self

    def kneighbors(self, X, n_neighbors):
        d = np.linalg.norm(X[:, None] - self.X, axis=2)
        found = np.argsort(d, axis=1)[:, :n_neighbors][:, ::-1]
        return np.take_along_axis(d, found, axis=1), found


# -- rows that are there more than once --------------------------------------------

REPEATS = {
    "doubled": np.tile(np.arange(60), 2),
    "drawn": np.random.default_rng(0).integers(0, 60, 60),
    "one often": np.concatenate([np.arange(60), np.zeros(40, dtype=int)]),
    "some oversampled": np.concatenate([np.arange(60), *[np.arange(10)] * 5]),
}
CHOOSING = [
    HKNNClassifier("auto", 0.3),
    HKNNClassifier("auto", 0.0, search=Shuffled()),
    HKNNClassifier("auto", 0.3, n_components=2),
    HKNNClassifier("auto", 0.3, reference=np.arange(45), max_memory="40 KiB"),
    CKNNClassifier("auto"),
]


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("model", CHOOSING, ids=named)
def test_equal_rows_are_left_out_together(model, repeat, digits):
    X, y, *_ = digits
    rows = REPEATS[repeat]
    X, y = X[rows], y[rows]
    fitted = clone(model).fit(X, y)
    place = 2
    k = int(fitted.loo_table_.n_neighbors[place])
    one = clone(model).set_params(n_neighbors=k, loo_samples=0, reference=None)
    wrong = {}
    for row in np.unique(rows):
        rest = fitted.reference_[rows[fitted.reference_] != row]
        x = X[rows == row][:1]
        wrong[row] = one.fit(X[rest], y[rest]).predict(x)[0] != y[rows == row][0]
    mean = np.mean([wrong[row] for row in rows])
    assert fitted.loo_table_.errors[0, place] == pytest.approx(mean)


@pytest.mark.parametrize("repeat", REPEATS)
def test_equal_rows_are_left_out_of_graphs(repeat, digits):
    X, y, *_ = digits
    X, y = X[REPEATS[repeat]], y[REPEATS[repeat]]
    graph = kneighbors_graph(X, len(X) - 1, mode="distance", include_self=False)
    model = HKNNClassifier("auto", 0.3)
    wanted = clone(model).fit(X, y)
    found = clone(model).fit(X, y, graph=graph)
    np.testing.assert_allclose(found.loo_table_.errors, wanted.loo_table_.errors)
    assert found.temperature_ == pytest.approx(wanted.temperature_)


@pytest.mark.parametrize(
    "one, two",
    [
        (HKNNClassifier("auto", 0.3), HKNNClassifier("auto", 0.6)),
        (HKNNClassifier("auto", 0.02), HKNNClassifier("auto", 0.04)),
        (CKNNClassifier("auto"), CKNNClassifier("auto")),
    ],
    ids=named,
)
def test_doubling_the_rows_doubles_the_neighbors(one, two, digits):
    """Two copies share a weight, which halves its penalty; hulls stay as they are."""
    X, y, Xt, yt = digits
    one = clone(one).fit(X, y)
    two = clone(two).fit(np.r_[X, X], np.r_[y, y])
    n = len(one.loo_table_.n_neighbors) // 2
    np.testing.assert_allclose(
        two.loo_table_.errors[0, 1 : 2 * n : 2], one.loo_table_.errors[0, :n], atol=0.01
    )
    assert two.n_neighbors_ in (2 * one.n_neighbors_ - 1, 2 * one.n_neighbors_)
    # The one point more that it counts is among twice as many.
    assert two.temperature_ == pytest.approx(one.temperature_, rel=0.15)
    assert two.score(Xt, yt) == pytest.approx(one.score(Xt, yt), abs=0.01)


def test_a_few_categories_meet_again():
    """Titanic: rows of a kind are not copies, and one is left out at a time."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 3)).astype(float)
    y = (X.sum(axis=1) > 1).astype(int)
    model = HKNNClassifier("auto").fit(X, y)
    assert model.loo_table_.errors.min() == 0.0


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("n", [2, 4, 9])
def test_rows_that_are_all_equal(make, n):
    model = make("auto").fit(np.ones((n, 2)), np.arange(n) % 2)
    assert np.isfinite(model.predict_proba(np.ones((1, 2)))).all()


class Wrong(BaseEstimator):
    def __init__(self, d, i):
        self.d, self.i = d, i

    def fit(self, X):
        return self

    def kneighbors(self, X, n_neighbors):
        return np.full((len(X), n_neighbors), self.d), np.full(self.i, -1)


class Answering(BaseEstimator):
    """Answers with nothing, or with one number for all indices."""

    def __init__(self, index):
        self.index = index

    def fit(self, X):
        return self

    def kneighbors(self, X, n_neighbors):
        if self.index is None:
            return None
        shape = len(X), n_neighbors
        return np.ones(shape), np.full(shape, self.index)


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize(
    "search", [Shuffled(), NearestNeighbors(algorithm="ball_tree")]
)
def test_any_search(make, search, digits):
    X, y, Xt, _ = digits
    wanted = make().fit(X, y)
    model = make(search=search).fit(X, y)
    np.testing.assert_allclose(model.distances(Xt), wanted.distances(Xt), atol=1e-7)
    np.testing.assert_array_equal(model.predict(Xt), wanted.predict(Xt))


class Padded:
    """A search that finds all but the last ``lost`` and pads, as some indexes do."""

    def __init__(self, lost, distance):
        self.lost, self.distance = lost, distance

    def fit(self, X):
        self.search = NearestNeighbors().fit(X)

    def kneighbors(self, X, n_neighbors):
        distance, found = self.search.kneighbors(X, n_neighbors)
        distance[:, n_neighbors - self.lost :] = self.distance
        found[:, n_neighbors - self.lost :] = -1
        return distance, found


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("distance", [np.inf, -1.0, 3e38])
def test_searches_that_find_fewer(make, distance, digits):
    X, y, Xt, _ = digits
    model = make(6, search=Padded(2, distance)).fit(X, y)
    wanted = make(4, loo_samples=0)
    if make is HKNNClassifier:
        wanted.set_params(penalty=model.penalty_)
    wanted.fit(X, y)
    np.testing.assert_allclose(model.distances(Xt), wanted.distances(Xt), atol=1e-9)
    with pytest.raises(ValueError, match="found no neighbor at all for some points"):
        make(6, search=Padded(6, distance), loo_samples=0).fit(X, y).predict(Xt)


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda d: np.ones_like(d), "looks like mode='connectivity'"),
        (lambda d: -d, "negative, infinite or NaN"),
        (lambda d: np.where(d > np.median(d), np.nan, d), "negative, infinite or NaN"),
        (lambda d: np.where(d > np.median(d), np.inf, d), "negative, infinite or NaN"),
    ],
    ids=["connectivity", "negative", "nan", "inf"],
)
def test_graphs_that_hold_no_distances(change, message, digits):
    X, y, *_ = digits
    graph = kneighbors_graph(X, 20, mode="distance")
    model = HKNNClassifier(5).fit(X, y, graph=graph)
    graph.data = change(graph.data)
    with pytest.raises(ValueError, match=message):
        model.predict(X, graph=graph)
    with pytest.raises(ValueError, match=message):
        HKNNClassifier(5).fit(X, y, graph=graph)


@pytest.mark.parametrize("n_neighbors", [5, "auto"])
def test_fit_with_an_empty_graph(n_neighbors, digits):
    X, y, *_ = digits
    for graph in (sparse.csr_array((300, 300)), sparse.eye_array(300, format="csr")):
        with pytest.raises(ValueError, match="rows without any reference point"):
            HKNNClassifier(n_neighbors).fit(X, y, graph=graph)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_precomputed_graph(make, digits):
    X, y, Xt, _ = digits
    wanted = make(6).fit(X, y)
    everyone = KNeighborsTransformer(n_neighbors=299).fit(X)
    model = make(6).fit(X, y, graph=everyone.transform(X))
    assert model.temperature_ == pytest.approx(wanted.temperature_)
    graph = everyone.transform(Xt)
    np.testing.assert_allclose(model.distances(Xt, graph=graph), wanted.distances(Xt))
    np.testing.assert_array_equal(model.predict(Xt, graph=graph), wanted.predict(Xt))
    np.testing.assert_allclose(
        model.predict_proba(Xt, graph=graph), wanted.predict_proba(Xt), atol=1e-6
    )
    # A short graph: classes that it does not show are infinitely far.
    short = NearestNeighbors().fit(X).kneighbors_graph(Xt, 4, mode="distance")
    d = model.distances(Xt, graph=short)
    shown = np.array([np.isin(np.arange(10), y[short[i].indices]) for i in range(120)])
    np.testing.assert_array_equal(np.isfinite(d), shown)
    assert np.all(model.predict_proba(Xt, graph=short)[~shown] == 0)
    log_proba = model.predict_log_proba(Xt, graph=short)
    np.testing.assert_array_equal(np.isfinite(log_proba), shown)
    values = model.decision_function(Xt, graph=short)
    np.testing.assert_array_equal(
        model.predict(Xt, graph=short), model.classes_[values.argmax(axis=1)]
    )


def test_tangents_as_array_are_those_of_the_function(digits):
    X, y, Xt, _ = digits
    tangents = ImageTangents((8, 8), kinds=["horizontal shift", "rotation"])
    by_function = HKNNClassifier(3, tangents=tangents).fit(X, y)
    by_array = HKNNClassifier(3, tangents=tangents(X), reference=np.arange(300))
    by_array.fit(X, y)
    np.testing.assert_allclose(by_array.distances(Xt), by_function.distances(Xt))
    without = HKNNClassifier(3).fit(X, y).distances(Xt)
    assert np.all(by_function.distances(Xt) <= without + 1e-12)


def test_tangents_forgive_what_they_describe(digits):
    """An image that moved a little along a tangent stays at distance zero."""
    X, y, *_ = digits
    tangents = ImageTangents((8, 8), kinds=["vertical shift"])
    model = HKNNClassifier(1, 0.0, tangents=tangents, loo_samples=0).fit(X, y)
    moved = X[:20] + 0.01 * tangents(X[:20])[:, 0]
    own = model.distances(moved)[np.arange(20), y[:20]]
    np.testing.assert_allclose(own, 0, atol=1e-9)


@pytest.mark.parametrize("kind", ImageTangents.kinds_known)
def test_image_tangents_are_derivatives(kind):
    """Of a smooth image, against moving the image itself."""
    grid = (np.arange(32) - 15.5) / 16
    y, x = np.meshgrid(grid, grid, indexing="ij")

    def image(x, y):
        return np.exp(-2 * ((x - 0.1) ** 2 + 2 * (y + 0.2) ** 2))

    e = 1e-5
    a, b = {
        "horizontal shift": (1, 0),
        "vertical shift": (0, 1),
        "rotation": (y, -x),
        "scaling": (x, y),
        "stretching": (x, -y),
        "diagonal stretching": (y, x),
        "thickening": (0, 0),
    }[kind]
    # Coordinates are in half-widths of 16 pixels, tangents move by pixels.
    wanted = (image(x + e * a, y + e * b) - image(x, y)) / e / 16
    if kind == "thickening":
        right = (image(x + e, y) - image(x, y)) / e / 16
        down = (image(x, y + e) - image(x, y)) / e / 16
        wanted = np.hypot(right, down)
    tangents = ImageTangents((32, 32), kinds=[kind], pixels=1.0)
    found = tangents(image(x, y).reshape(1, -1)).reshape(32, 32)
    np.testing.assert_allclose(found[2:-2, 2:-2], wanted[2:-2, 2:-2], atol=3e-3)


def test_a_disc_turns_into_itself():
    """Also in an image that is wider than high."""
    y, x = np.mgrid[:12, :24]
    disc = np.exp(-((y - 5.5) ** 2 + (x - 11.5) ** 2) / 8).reshape(1, -1)
    turned, shifted = ImageTangents((12, 24), ["rotation", "horizontal shift"])(disc)[0]
    assert np.abs(turned).max() < 0.05 * np.abs(shifted).max()


def test_image_tangents_are_linear_in_the_grey_values(digits):
    X = digits[0][:5]
    tangents = ImageTangents((8, 8))
    np.testing.assert_allclose(tangents(255 * X), 255 * tangents(X), rtol=1e-9)


# -- life among other estimators ------------------------------------------------------


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_frames_search_and_pickle(make, digits):
    X, y, Xt, _ = digits
    model = make(5).fit(X, y)
    wanted = model.predict(Xt)
    columns = [f"p{i}" for i in range(64)]
    for frame in (pd.DataFrame, lambda a, columns: pl.DataFrame(a, schema=columns)):
        framed = make(5).fit(frame(X, columns=columns), y)
        assert framed.feature_names_in_.tolist() == columns
        np.testing.assert_array_equal(
            framed.predict(frame(Xt, columns=columns)), wanted
        )
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(Xt), wanted)
    grid = GridSearchCV(
        make(), {"n_neighbors": [1, 5], "reference": [None, SVC()]}, cv=3
    )
    assert grid.fit(X, y).best_score_ > 0.85


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_threads_and_blocks_do_not_matter(make, digits):
    X, y, Xt, _ = digits
    wanted = make(5).fit(X, y)
    for how in ({"n_jobs": 1}, {"n_jobs": 3}, {"max_memory": 1}):
        model = make(5, **how).fit(X, y)
        np.testing.assert_allclose(model.distances(Xt), wanted.distances(Xt), atol=1e-9)
        np.testing.assert_array_equal(model.predict(Xt), wanted.predict(Xt))


def blas_threads():
    """The numbers of threads that the BLAS libraries have."""
    return {p["num_threads"] for p in threadpool_info() if p["user_api"] == "blas"}


def test_thread_limits_may_overlap():
    """The first to enter leaves first; the last restores what was there."""
    has_entered, may_leave = threading.Event(), threading.Event()

    def other():
        with limited(2):
            has_entered.set()
            may_leave.wait(30)

    with threadpool_limits(3, user_api="blas"):
        thread = threading.Thread(target=other)
        with limited(1):
            thread.start()
            assert has_entered.wait(30)
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        may_leave.set()
        thread.join()
        assert blas_threads() == {3}


SEEN = []


class Recording(NearestNeighbors):
    """A search that notes the threads it is given."""

    def kneighbors(self, X, n_neighbors):
        SEEN.append(blas_threads())
        return super().kneighbors(X, n_neighbors)


@pytest.mark.parametrize("make", [*CLASSIFIERS, HKNNRegressor])
def test_n_jobs_holds_every_search(make, digits):
    X, y, Xt, _ = digits
    SEEN.clear()
    with threadpool_limits(3, user_api="blas"):
        model = make("auto", search=Recording(), loo_samples=20, n_jobs=2).fit(X, y)
        assert SEEN
        model.predict(Xt)
        assert blas_threads() == {3}
    assert all(seen == {2} for seen in SEEN)


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_the_model_keeps_its_own_points(make, digits):
    X, y, Xt, _ = digits
    mine = X.copy()
    model = make(5).fit(mine, y)
    wanted = model.distances(Xt)
    mine *= 7
    np.testing.assert_array_equal(model.distances(Xt), wanted)


def test_memory_stays_within_the_budget(rng):
    X = rng.standard_normal((3000, 20)).astype(np.float32)
    y = rng.integers(30, size=3000)
    model = HKNNClassifier(20, 1.0, max_memory="4 MiB", loo_samples=50, n_jobs=1)
    model.fit(X, y).predict(X[:50])
    peaks = []
    for call in (model.predict, model.distances):
        tracemalloc.start()
        call(X)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    # Beside the block: the result (3000 x 30 distances, twice) and X in its type.
    assert peaks[0] < 5 << 20
    assert peaks[1] < (5 << 20) + 2 * 3000 * 30 * 8


def test_progress_is_shown(digits, capsys):
    X, y, Xt, _ = digits
    HKNNClassifier(verbose=1).fit(X, y).predict(Xt)
    assert "neighbors" in capsys.readouterr().err


# -- bad input -------------------------------------------------------------------------

RELEASE = {"n_neighbors": 5, "loo_samples": 20}


@pytest.mark.parametrize(
    "how, message",
    [
        ({"n_neighbors": 0}, "n_neighbors=0 must be a whole number of at least 1"),
        ({"n_neighbors": 2.5}, "n_neighbors=2.5 must be a whole number"),
        ({"n_neighbors": "cv"}, "n_neighbors='cv' must be a whole number"),
        ({"n_neighbors": True}, "n_neighbors=True"),
        ({"penalty": -1.0}, "penalty=-1.0 must be a finite number of at least 0"),
        ({"penalty": np.inf}, "penalty=inf"),
        ({"penalty": "small"}, "penalty='small' must be a finite number .*or 'auto'"),
        ({"n_components": 0}, "n_components=0 must be a whole number of at least 1"),
        ({"n_components": 1.5}, "n_components=1.5"),
        ({"loo_samples": -1}, "loo_samples=-1"),
        ({"loo_samples": 0, "penalty": "auto"}, "loo_samples=0 leaves no points"),
        ({"max_memory": "much"}, "max_memory='much'"),
        ({"search": "brute"}, "search='brute' must have the methods"),
        ({"search": NearestNeighbors}, r"a class: give an instance, NearestN.*\(...\)"),
        ({"search": Wrong(1.0, (3, 3))}, "returned distances of shape"),
        ({"search": Answering(None)}, "returned NoneType from kneighbors; expected a"),
        ({"search": Answering(0.5)}, "returned indices that are not whole numbers"),
        ({"search": Answering(np.nan)}, "returned indices that are not whole numbers"),
        ({"n_jobs": "2"}, "n_jobs='2' must be a whole number of threads"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number of threads"),
        ({"reference": [0, 500]}, "must hold indices of training rows"),
        ({"reference": [0.5]}, "must hold indices of training rows"),
        (
            {"reference": np.ones(299, dtype=bool)},
            "^reference=<mask of shape .299,.> must hold .* a mask of all 300 rows",
        ),
        ({"reference": []}, "must hold indices of training rows"),
        ({"reference": [0, 1]}, "of 2 training rows, holds no point of .*: add rows"),
        ({"reference": KNeighborsClassifier()}, "has no support_ after its fit"),
        ({"tangents": np.zeros((3, 2, 64))}, "tangents has shape"),
        ({"tangents": np.full((300, 1, 64), np.nan)}, "tangents holds NaN"),
        ({"tangents": lambda X: X[:, None] * np.nan}, "tangents holds NaN"),
        ({"tangents": lambda X: X}, "returned shape"),
        ({"tangents": ImageTangents((8, 8), pixels="3")}, "pixels='3' must be a fin"),
        (
            {"tangents": ImageTangents((8, 8), pixels=np.nan)},
            "pixels=nan must be a fin",
        ),
        ({"tangents": ImageTangents((3, 3))}, "shape=.* must be at least"),
        ({"tangents": ImageTangents(5)}, "must be .height, width."),
        ({"tangents": ImageTangents((8, 8), kinds=["up"])}, "kinds=.* must name"),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0][:60],
)
def test_bad_parameters(how, message, digits):
    X, y, *_ = digits
    with pytest.raises(ValueError, match=message):
        HKNNClassifier(**{**RELEASE, **how}).fit(X, y)


def test_other_bad_input(digits):
    X, y, Xt, _ = digits
    with pytest.raises(ValueError, match=r"one class only, 0\.0; a classifier"):
        HKNNClassifier().fit(X, np.zeros(300))
    with pytest.raises(ValueError, match="squares overflow"):
        HKNNClassifier().fit(1e200 * X, y)
    other = SVC().fit(X[150:], y[150:])
    with pytest.raises(ValueError, match="was fitted to other rows"):
        HKNNClassifier(reference=other).fit(X, y)
    model = HKNNClassifier(reference=np.arange(150)).fit(X, y)
    graph = kneighbors_graph(X, 3, mode="distance")
    with pytest.raises(
        ValueError, match=re.escape("sparse matrix of shape (120, 300)")
    ):
        model.predict(Xt, graph=graph)
    with pytest.raises(ValueError, match="graph must be a sparse matrix"):
        model.predict(Xt, graph=np.zeros((120, 300)))
    graph = kneighbors_graph(X, 1, mode="distance")[:120]
    with pytest.raises(ValueError, match="rows without any reference point"):
        model.predict(Xt, graph=graph)


@pytest.mark.parametrize("make", [*CLASSIFIERS, HKNNRegressor])
def test_weights_are_refused_in_the_name_of_the_class(make, digits):
    X, y, *_ = digits
    told = rf"^{make.__name__}\.fit\(\) does not support sample_weight; .*KMP.* do"
    with pytest.raises(TypeError, match=told):
        make(3).fit(X, y, sample_weight=np.ones(300))
    # What scikit-learn reads off the signature is as without the refusal.
    assert not has_fit_parameter(make(), "sample_weight")
    requested = get_routing_for_object(make()).fit.requests
    assert set(requested) == ({"graph"} if make in CLASSIFIERS else set())
    bagged = BaggingClassifier if make in CLASSIFIERS else BaggingRegressor
    bagged(make(3), n_estimators=2).fit(X, y)


# -- published claims on real data -----------------------------------------------------


def usps():
    if "usps" not in datasets.available():
        pytest.skip("usps.npz is not in the data folder")
    return datasets.load("usps")


def smoothed(X):
    """Gaussian filter, standard deviation 0.75 pixel, -1 outside."""
    images = X.reshape(-1, 16, 16)
    sd = (0.0, 0.75, 0.75)
    return gaussian_filter(images, sd, mode="constant", cval=-1.0).reshape(len(X), -1)


@pytest.mark.slow
@pytest.mark.parametrize(
    "model, errors",
    [
        (HKNNClassifier(15, 30.0, loo_samples=0), 79),
        (CKNNClassifier(20, loo_samples=0), 80),
        (HKNNClassifier(15, 30.0, tangents=ImageTangents((16, 16)), loo_samples=0), 66),
    ],
    ids=["HKNN 3.93 %", "CKNN 3.98 %", "tangents"],
)
def test_usps_of_table_11_1(model, errors):
    data = usps()
    model.fit(smoothed(data.data_train), data.target_train)
    wrong = model.predict(smoothed(data.data_test)) != data.target_test
    assert abs(wrong.sum() - errors) <= 1


def mnist():
    if "mnist" not in datasets.available():
        pytest.skip("mnist.npz is not in the data folder")
    data = datasets.load("mnist")
    return (
        data.data_train / 255,
        data.target_train,
        data.data_test / 255,
        data.target_test,
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "model, errors",
    [
        (HKNNClassifier(65, 10.0, loo_samples=0), 126),
        (CKNNClassifier(70, loo_samples=0), 146),
    ],
    ids=["HKNN 1.26 %", "CKNN 1.46 %"],
)
def test_mnist_of_table_11_1(model, errors):
    X, y, Xt, yt = mnist()
    wrong = model.fit(X, y).predict(Xt) != yt
    assert abs(wrong.sum() - errors) <= 1


@pytest.mark.slow
def test_support_vectors_as_reference_set():
    """Table 11.2's effect on USPS: an SVM's support vectors serve as well as all."""
    data = usps()
    X, Xt = smoothed(data.data_train), smoothed(data.data_test)
    reference = SVC(C=100, gamma=1 / 64)
    model = HKNNClassifier(15, 30.0, reference=reference, loo_samples=0)
    model.fit(X, data.target_train)
    wrong = (model.predict(Xt) != data.target_test).sum()
    assert len(model.reference_) < 0.4 * len(X)
    assert wrong <= 100
