"""Where neighbors are looked for: among reference points, by any search, in a graph."""

import re

import numpy as np
import pytest
from scipy import sparse
from searches import Answering, Padded, Shuffled, Wrong
from sklearn.base import BaseEstimator, clone
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsTransformer,
    NearestNeighbors,
    kneighbors_graph,
)
from sklearn.svm import SVC

from pursuit import CKNNClassifier, HKNNClassifier, KMPClassifier

CLASSIFIERS = [HKNNClassifier, CKNNClassifier]


# -- reference points --------------------------------------------------------------


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


# -- searches ----------------------------------------------------------------------


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


# -- graphs ------------------------------------------------------------------------


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


# -- bad input ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "how, message",
    [
        ({"search": "brute"}, "search='brute' must have the methods"),
        ({"search": NearestNeighbors}, r"a class: give an instance, NearestN.*\(...\)"),
        ({"search": Wrong(1.0, (3, 3))}, "returned distances of shape"),
        ({"search": Answering(None)}, "returned NoneType from kneighbors; expected a"),
        ({"search": Answering(0.5)}, "returned indices that are not whole numbers"),
        ({"search": Answering(np.nan)}, "returned indices that are not whole numbers"),
        ({"reference": [0, 500]}, "must hold indices of training rows"),
        ({"reference": [0.5]}, "must hold indices of training rows"),
        (
            {"reference": np.ones(299, dtype=bool)},
            "^reference=<mask of shape .299,.> must hold .* a mask of all 300 rows",
        ),
        ({"reference": []}, "must hold indices of training rows"),
        ({"reference": [0, 1]}, "of 2 training rows, holds no point of .*: add rows"),
        ({"reference": KNeighborsClassifier()}, "has no support_ after its fit"),
    ],
    ids=lambda value: repr(value).partition(" at 0x")[0][:60],
)
def test_bad_searches_and_reference_points(how, message, digits):
    X, y, *_ = digits
    with pytest.raises(ValueError, match=message):
        HKNNClassifier(5, loo_samples=20, **how).fit(X, y)


def test_models_and_graphs_of_other_rows(digits):
    X, y, Xt, _ = digits
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
