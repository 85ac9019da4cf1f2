"""Exact explanations against sums over all subsets, and against scikit-learn's."""

import sys
from itertools import combinations
from math import factorial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.inspection import partial_dependence as sklearn_dependence
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pursuit import HKNNClassifier, KMPClassifier, KMPRanker, KMPRegressor
from pursuit.dictionaries import Features, ManyWidths, OneKernel, Union
from pursuit.explain import (
    base_value,
    partial_dependence,
    reasons,
    shapley,
    shapley_interactions,
)
from pursuit.export import UnsupportedError
from pursuit.kernels import Gaussian, InMetric, Laplacian, Linear

FIXED = {"alpha": 1e-3, "selection": None, "max_support": 8}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    return X, np.sin(2 * X[:, 0]) * X[:, 1] + 0.5 * X[:, 2]


METRIC = np.array([1.0, 0.3, 0.0, 2.0])
MODELS = {
    "gaussian": KMPRegressor("rbf", gamma=0.3, **FIXED),
    "laplacian": KMPRegressor("laplacian", gamma=0.4, **FIXED),
    "linear": KMPRegressor("linear", **FIXED),
    "diagonal": KMPRegressor("rbf", metric="diagonal", **FIXED),
    "given": KMPRegressor(InMetric(Gaussian(0.4), METRIC), **FIXED),
    "matrix": KMPRegressor(InMetric(Laplacian(0.4), np.diag(METRIC)), **FIXED),
    "sum": KMPRegressor(0.5 * Gaussian(0.3) + Laplacian(0.2) + 1.0, **FIXED),
    "product": KMPRegressor(
        InMetric(Gaussian(0.3), [1, 1, 0, 0]) * InMetric(Laplacian(0.2), [0, 0, 1, 1]),
        **FIXED,
    ),
    "widths": KMPRegressor(dictionary=ManyWidths(), **FIXED),
    "features": KMPRegressor(
        dictionary=Union(Features(degree=2), OneKernel("rbf", gamma=0.4)), **FIXED
    ),
    "ranker": KMPRanker("rbf", gamma=0.3, **FIXED),
}


def by_subsets(predict, x, background, d):
    """Return Shapley values and interactions by their definition."""

    def value(S):
        rows = background.copy()
        rows[:, list(S)] = x[list(S)]
        return predict(rows).mean(axis=0)

    game = {S: value(S) for k in range(d + 1) for S in combinations(range(d), k)}

    def at(*features):
        return game[tuple(sorted(features))]

    single = np.zeros((d, *np.shape(at())))
    pairs = np.zeros((d, *single.shape))
    for S in game:
        for j in set(range(d)) - set(S):
            weight = factorial(len(S)) * factorial(d - len(S) - 1) / factorial(d)
            single[j] += weight * (at(*S, j) - at(*S))
            for k in set(range(d)) - {*S, j}:
                share = factorial(len(S)) * factorial(d - len(S) - 2)
                both = at(*S, j, k) - at(*S, j) - at(*S, k) + at(*S)
                pairs[j, k] += share / factorial(d - 1) * both / 2
    for j in range(d):
        pairs[j, j] = single[j] - pairs[j].sum(axis=0)
    return single, pairs


@pytest.mark.parametrize("name", MODELS)
def test_values_are_those_of_all_subsets(data, name):
    X, y = data
    model = MODELS[name].fit(X, y)
    rows, background = X[:3], X[50:57]
    values = shapley(model, rows, background)
    pairs = shapley_interactions(model, rows, background)
    scale = max(1.0, np.abs(model.predict(X)).max())
    for x, value, pair in zip(rows, values, pairs, strict=True):
        expected, expected_pairs = by_subsets(model.predict, x, background, 4)
        np.testing.assert_allclose(value, expected, rtol=0, atol=1e-10 * scale)
        np.testing.assert_allclose(pair, expected_pairs, rtol=0, atol=1e-10 * scale)
    total = values.sum(axis=1) + base_value(model, background)
    np.testing.assert_allclose(total, model.predict(rows), atol=1e-10 * scale)


def test_ten_features_of_a_learned_model():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(150, 10))
    y = np.sin(X[:, 0]) * X[:, 1] + X[:, 2]
    model = KMPRegressor(metric="diagonal", max_support=12).fit(X, y)
    values = shapley(model, X[:1], X[20:24])
    expected, _ = by_subsets(model.predict, X[0], X[20:24], 10)
    np.testing.assert_allclose(values[0], expected, rtol=0, atol=1e-10)


@settings(max_examples=20, deadline=None)
@given(d=st.integers(1, 40), seed=st.integers(0, 2**16), b=st.integers(1, 130))
def test_values_add_up(d, seed, b):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, d)) * 10.0 ** rng.integers(-3, 4)
    y = X @ rng.normal(size=d)
    kernel = Gaussian("median") if seed % 2 else Laplacian("median")
    model = KMPRegressor(kernel, alpha=1e-2, selection=None, max_support=6).fit(X, y)
    background = X[rng.integers(0, 40, b)]
    for usual in (None, background):
        values = shapley(model, X[:5], usual)
        total = values.sum(axis=1) + base_value(model, usual)
        scale = np.abs(model.dual_coef_).sum() + np.abs(model.intercept_).max()
        np.testing.assert_allclose(
            total, model.predict(X[:5]), rtol=0, atol=1e-10 * scale
        )


def test_order_and_repetition_of_the_background_do_not_matter(data):
    X, y = data
    model = MODELS["gaussian"].fit(X, y)
    values = shapley(model, X[:4], X[:70])
    for other in (X[69::-1], np.repeat(X[:70], 2, axis=0)):
        np.testing.assert_allclose(shapley(model, X[:4], other), values, atol=1e-12)
    order = np.array([3, 1, 0, 2])
    np.testing.assert_array_equal(shapley(model, X[order], X[:70]), values[order])


def test_features_without_weight_have_no_value(data):
    X, y = data
    model = MODELS["given"].fit(X, y)
    assert np.all(shapley(model, X, X[:30])[:, 2] == 0.0)
    pairs = shapley_interactions(model, X[:9], X[:30])
    assert np.all(pairs[:, 2] == 0.0)
    np.testing.assert_array_equal(pairs, pairs.transpose(0, 2, 1))


def test_models_without_points(data):
    X, y = data
    model = MODELS["gaussian"].fit(X, y).truncate(0)
    assert not shapley(model, X[:3], X).any()
    assert not shapley_interactions(model, X[:3]).any()
    assert base_value(model) == pytest.approx(y.mean())
    average = partial_dependence(model, X, 0).average
    np.testing.assert_allclose(average, y.mean())


def test_several_classes_and_outputs(data):
    X, y = data
    labels = np.digitize(y, [-0.3, 0.5])
    for loss in ("squared", "logistic"):
        model = KMPClassifier("rbf", gamma=0.3, loss=loss, **FIXED).fit(X, labels)
        values = shapley(model, X[:6], X[:40])
        assert values.shape == (6, 4, 3)
        total = values.sum(axis=1) + base_value(model, X[:40])
        np.testing.assert_allclose(total, model.decision_function(X[:6]), atol=1e-10)
        assert shapley_interactions(model, X[:2], X[:5]).shape == (2, 4, 4, 3)
    two = KMPClassifier("rbf", gamma=0.3, **FIXED).fit(X, y > 0)
    total = shapley(two, X, X[:9]).sum(axis=1) + base_value(two, X[:9])
    np.testing.assert_allclose(total, two.decision_function(X), atol=1e-10)


def test_pipelines_frames_and_sparse_rows(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=list("abcd"))
    pipeline = make_pipeline(StandardScaler(), KMPRegressor("rbf", gamma=0.3, **FIXED))
    pipeline.fit(frame, y)
    values = shapley(pipeline, frame[:5], frame[:30])
    total = values.sum(axis=1) + base_value(pipeline, frame[:30])
    np.testing.assert_allclose(total, pipeline.predict(frame[:5]), atol=1e-10)
    model = MODELS["gaussian"].fit(sp.csr_array(X), y)
    dense = MODELS["gaussian"].fit(X, y)
    np.testing.assert_allclose(
        shapley(model, sp.csr_array(X[:5]), sp.csr_array(X[:9])),
        shapley(dense, X[:5], X[:9]),
        atol=1e-9,
    )


@pytest.mark.parametrize("name", ["gaussian", "laplacian", "linear", "sum", "widths"])
@pytest.mark.parametrize("features", [[1], [0, 3]])
def test_dependence_is_that_of_scikit_learn(data, name, features):
    X, y = data
    model = MODELS[name].fit(X, y)
    how = {"kind": "both", "grid_resolution": 6}
    ours = partial_dependence(model, X, features, **how)
    theirs = sklearn_dependence(model, X, features, method="brute", **how)
    np.testing.assert_allclose(ours.average, theirs.average, atol=1e-10)
    np.testing.assert_allclose(ours.individual, theirs.individual, atol=1e-10)
    for one, other in zip(ours.grid_values, theirs.grid_values, strict=True):
        np.testing.assert_allclose(one, other)


def test_dependence_by_name_and_given_values(data):
    pandas = pytest.importorskip("pandas")
    X, y = data
    frame = pandas.DataFrame(X, columns=list("abcd"))
    model = KMPRegressor("rbf", gamma=0.3, **FIXED).fit(frame, y)
    result = partial_dependence(model, frame, "b", custom_values=[[0.0, 1.0]])
    assert "individual" not in result
    rows = frame.assign(b=1.0)
    assert result.average[0, 1] == pytest.approx(model.predict(rows).mean())
    few = frame.assign(b=(frame["b"] > 0).astype(float))
    assert len(partial_dependence(model, few, 1).grid_values[0]) == 2


def test_reasons_are_the_largest_contributions(data):
    X, y = data
    model = MODELS["gaussian"].fit(X, y)
    why = reasons(model, X[:5], n_points=2)
    parts = model.atoms_(X[:5]) * model.dual_coef_[0]
    np.testing.assert_array_equal(why.raising[:, 0], parts.argmax(axis=1))
    np.testing.assert_array_equal(why.lowering[:, 0], parts.argmin(axis=1))
    np.testing.assert_allclose(why.lowered[:, 0], parts.min(axis=1))
    np.testing.assert_allclose(why.values, model.predict(X[:5]))
    shares = np.abs(parts) / np.abs(parts).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(
        why.raised_shares[:, 0], shares.max(1, where=parts > 0, initial=0)
    )
    all_of_them = reasons(model, X[:5], n_points=20)
    both = all_of_them.raised.sum(axis=1) + all_of_them.lowered.sum(axis=1)
    np.testing.assert_allclose(both + model.intercept_[0], why.values)
    assert (all_of_them.raising == -1).any()
    assert f"by point {why.raising[0, 0]}" in str(why)
    nothing = reasons(model.truncate(0), X[:2])
    assert np.all(nothing.raising == -1)
    assert np.all(nothing.raised_shares == 0)


def test_what_cannot_be_explained(data):
    X, y = data
    model = MODELS["gaussian"].fit(X, y)
    for kernel in (InMetric(Gaussian(0.3), np.ones((4, 2))), "poly", "cosine"):
        other = KMPRegressor(kernel, **FIXED).fit(X, y)
        with pytest.raises(UnsupportedError, match="metric='diagonal'"):
            shapley(other, X[:2])
    with pytest.raises(TypeError, match="HKNNClassifier is no sum of functions"):
        shapley(HKNNClassifier().fit(X, y > 0), X)
    matrix = KMPRegressor("precomputed", **FIXED).fit(Linear()(X), y)
    with pytest.raises(ValueError, match="no features to explain"):
        shapley(matrix, Linear()(X))
    with pytest.raises(ValueError, match="X has 2 features"):
        shapley(model, X[:, :2])
    with pytest.raises(ValueError, match="minimum of 1 is required"):
        shapley(model, X, X[:0])
    with pytest.raises(ValueError, match="contains NaN"):
        shapley(model, X * np.nan)
    with pytest.raises(ValueError, match="names 3 features"):
        partial_dependence(model, X, [0, 1, 2])
    with pytest.raises(ValueError, match="no feature 'age'"):
        partial_dependence(model, X, "age")
    with pytest.raises(ValueError, match="features=9"):
        partial_dependence(model, X, 9)
    with pytest.raises(ValueError, match="names one feature twice"):
        partial_dependence(model, X, [1, 1])
    with pytest.raises(ValueError, match="percentiles"):
        partial_dependence(model, X, 1, percentiles=(0.9, 0.1))
    with pytest.raises(ValueError, match="custom_values has 1"):
        partial_dependence(model, X, [0, 1], custom_values=[[1.0]])
    labels = np.digitize(y, [-0.3, 0.5])
    several = KMPClassifier("rbf", gamma=0.3, **FIXED).fit(X, labels)
    with pytest.raises(ValueError, match="output=0"):
        reasons(several, X)
    with pytest.raises(ValueError, match="output"):
        reasons(several, X, output=3)
    with pytest.raises(ValueError, match="n_points"):
        reasons(model, X, n_points=0)


def test_no_thread_adds_to_the_rows_of_another(data, monkeypatch):
    """The parts of a model add to the same values, so that a row has one thread."""
    X, y = data
    kernel = sum((Gaussian(0.1 * k) for k in range(2, 12)), Gaussian(0.1))
    model = KMPRegressor(kernel, **FIXED).fit(X, y)

    def values(n_threads):
        name = "pursuit.explain.values.usable_threads"
        monkeypatch.setattr(name, lambda: n_threads)
        return shapley_interactions(model, X[:7], X[50:57])

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(20):
            np.testing.assert_allclose(values(4), values(1), rtol=0, atol=1e-12)
    finally:
        sys.setswitchinterval(interval)
