"""Adapted widths against a search by hand, and what may be learned from."""

from dataclasses import replace

import numpy as np
import pytest
import reference

from pursuit import KMPClassifier, KMPRegressor
from pursuit._rows import row_digests
from pursuit.dictionaries import AdaptiveGaussian, Sample
from pursuit.dictionaries._width_search import _is_drawn
from pursuit.fitting.folds import hold_out
from pursuit.kernels.widths import median_gamma, quantile_gamma
from pursuit.selection import CrossValidation

FAST = {"alpha": 1e-3, "selection": None, "max_support": 8}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 2))
    y = (np.sin(2 * X[:, 0]) + X[:, 1] > 0).astype(int) + (X[:, 1] > 1)
    return X, y


def sample_of(X, labels=None, Y=None, weight=None, fit_intercept=True):
    classes = codes = None
    if labels is not None:
        classes, codes = np.unique(labels, return_inverse=True)
    if Y is None:
        Y = np.where(labels == classes[:, None], 1.0, -1.0)
    return Sample.of(
        X,
        Y,
        weight,
        classes=classes,
        codes=codes,
        feature_names=("a", "b"),
        fit_intercept=fit_intercept,
        memory=1 << 20,
        seed=3,
    )


def grid_of(X, weight=None):
    return median_gamma(X, weight) * np.geomspace(0.01, 10.0, 4000)


def assert_widths(found, expected, atol=6e-3):
    """To the precision of the search and of the grid."""
    np.testing.assert_allclose(np.log(found), np.log(expected), atol=atol)


@pytest.mark.parametrize("strategy", ["global", "local"])
def test_aligned_widths_are_the_best_of_a_fine_grid(data, strategy):
    X, labels = data
    weight = np.random.default_rng(1).integers(1, 4, len(X)).astype(float)
    sample = sample_of(X, labels, weight=weight)
    (functions,) = AdaptiveGaussian(strategy).learn(sample)
    reach = 1.0 / quantile_gamma(0.1, X, weight) if strategy == "local" else np.inf
    for i, gamma in enumerate(functions.gammas):
        near = np.square(X - X[i]).sum(axis=1) <= reach
        near[i] = False
        signs = np.where(labels == labels[i], 1.0, -1.0)[near]
        if len(set(signs)) < 2:
            assert gamma == median_gamma(X, weight)
            continue
        expected = reference.adapted_width(
            X[i], X[near], weight[near], signs, grid_of(X, weight)
        )
        assert_widths(gamma, expected)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("is_class", [True, False])
def test_scaled_widths_leave_the_least_error(data, fit_intercept, is_class):
    X, labels = data
    Y = None if is_class else np.stack([np.sin(2 * X[:, 0]) + 1, X[:, 1] ** 2])
    sample = sample_of(X, labels if is_class else None, Y, fit_intercept=fit_intercept)
    (functions,) = AdaptiveGaussian("global", criterion="scaled").learn(sample)
    for i in range(0, 80, 5):
        others = np.arange(80) != i
        expected = reference.scaled_width(
            X[i],
            X[others],
            np.ones(79),
            sample.Y.T[others],
            grid_of(X)[::8],
            fit_intercept,
        )
        assert_widths(functions.gammas[i], expected, atol=0.013)


@pytest.mark.parametrize("average", ["mean", "median"])
def test_stochastic_widths_average_those_of_random_subsets(data, average):
    X, labels = data
    share, n_subsets = 0.3, 7
    adaptive = AdaptiveGaussian(n_subsets=n_subsets, subset_size=share, average=average)
    (functions,) = adaptive.learn(sample_of(X, labels))
    digests = row_digests(X, np.arange(80), 3)
    limit = np.uint64(share * 2.0**64)
    for i in range(0, 80, 7):
        found = []
        for b in range(n_subsets):
            drawn = [_is_drawn(digests[i], h, b, limit) for h in digests]
            drawn[i] = False
            signs = np.where(labels == labels[i], 1.0, -1.0)[drawn]
            if len(set(signs)) == 2:
                w = np.ones(len(signs))
                width = reference.adapted_width(X[i], X[drawn], w, signs, grid_of(X))
                found.append(width)
        expected = getattr(np, average)(found)
        assert_widths(functions.gammas[i], expected)


def test_subsets_are_of_the_size_asked_for_and_independent():
    digests = row_digests(None, np.arange(400), 0)
    limit = np.uint64(0.2 * 2.0**64)
    drawn = np.array(
        [
            [[_is_drawn(here, there, b, limit) for there in digests] for b in range(5)]
            for here in digests[:20]
        ]
    )
    assert abs(drawn.mean() - 0.2) < 0.01
    pairs = drawn.reshape(100, 400).astype(float)
    correlations = np.corrcoef(pairs)[np.triu_indices(100, 1)]
    assert np.abs(correlations).mean() < 0.06  # 0.04 for independent draws of 400


def test_the_seed_matters_for_random_subsets_only(data):
    X, y = data

    def fitted(strategy, seed):
        dictionary = AdaptiveGaussian(strategy, n_subsets=3)
        model = KMPClassifier(dictionary=dictionary, random_state=seed, **FAST)
        return model.fit(X, y).decision_function(X)

    np.testing.assert_array_equal(fitted("stochastic", 0), fitted("stochastic", 0))
    assert np.abs(fitted("stochastic", 0) - fitted("stochastic", 1)).max() > 1e-6
    np.testing.assert_array_equal(fitted("global", 0), fitted("global", 1))


def test_a_minimum_at_a_bound_stays_there():
    # Classes that take turns: the narrower, the better.
    X = np.arange(40.0)[:, None]
    labels = np.arange(40) % 2
    (functions,) = AdaptiveGaussian("global").learn(sample_of(X, labels))
    assert np.allclose(functions.gammas, 10.0 * median_gamma(X))


@pytest.mark.parametrize("low", [1e-3, 1e-20, 1e-200, 1e-320])
def test_wide_ranges_hold_the_same_best_widths(data, low):
    X, labels = data
    narrow, wide = (
        AdaptiveGaussian("global", gamma_range=ends).learn(sample_of(X, labels))[0]
        for ends in ((1e-2, 10.0), (low, 10.0))
    )
    is_inside = narrow.gammas > 1.1e-2 * median_gamma(X)
    assert_widths(wide.gammas[is_inside], narrow.gammas[is_inside], atol=0.02)
    assert np.all(np.isfinite(wide.gammas))


@pytest.mark.parametrize("unit", [1e-140, 1e150])
def test_ranges_end_where_numbers_do(data, unit):
    X, labels = data
    dictionary = AdaptiveGaussian("global", gamma_range=(1e-300, 1e300))
    (functions,) = dictionary.learn(sample_of(unit * X, labels))
    assert np.all((functions.gammas > 0) & np.isfinite(functions.gammas))


# -- held-out rows -----------------------------------------------------------------


def test_folds_do_not_see_the_targets_that_they_are_tested_on(data):
    """The held-out curve is that of fits to the other rows alone."""
    X, _ = data
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    dictionary = AdaptiveGaussian("global", gamma_range=(0.1, 4.0))
    fold = [(np.arange(50), np.arange(50, 80)), (np.arange(20, 80), np.arange(20))]
    how = {"alpha": 1e-3, "max_support": 10, "selection": CrossValidation(fold)}
    model = KMPRegressor(dictionary=dictionary, **how)
    errors = model.fit(X, y).search_[0]["errors"]
    expected = np.zeros(10)
    for train, test in fold:
        alone = KMPRegressor(dictionary=dictionary, **{**FAST, "max_support": 10})
        stages = alone.fit(X[train], y[train]).staged_predict(X[test])
        expected += [np.square(p - y[test]).sum() / 50 for p in stages]
    n = len(errors) - 1
    np.testing.assert_allclose(errors[1:], expected[:n], rtol=1e-5)


def test_the_part_held_out_is_not_seen_either(data):
    X, _ = data
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    dictionary = AdaptiveGaussian("global")
    how = {"alpha": 1e-3, "selection": "validation", "max_support": 10}
    model = KMPRegressor(dictionary=dictionary, **how).fit(X, y)
    # Other targets on the rows that were held out would not change the path.
    held = hold_out(X, y, np.ones(80), 0.2, 0, False)
    alone = KMPRegressor(dictionary=dictionary, **{**FAST, "max_support": 10})
    alone.fit(X[~held], y[~held])
    n = min(len(model.path_), len(alone.path_))
    np.testing.assert_allclose(
        model.truncate(n).predict(X), alone.truncate(n).predict(X), rtol=1e-6
    )


@pytest.mark.parametrize("strategy", ["stochastic", "local", "global"])
def test_rows_of_weight_zero_are_not_seen(data, strategy):
    X, _ = data
    y, outlier = np.sin(2 * X[:, 0]), [[50.0, 50.0]]
    dictionary, weight = AdaptiveGaussian(strategy), np.append(np.ones(80), 0)
    model = KMPRegressor(dictionary=dictionary, **FAST).fit(X, y)
    again = KMPRegressor(dictionary=dictionary, **FAST)
    again.fit(np.vstack([X, outlier]), np.append(y, 0), weight)
    np.testing.assert_array_equal(again.support_, model.support_)
    np.testing.assert_allclose(again.predict(X), model.predict(X), rtol=1e-6)


@pytest.mark.parametrize("radius", [None, 2.0])
def test_rounding_does_not_decide_which_points_are_near(radius, rng):
    """On a grid many points are exactly as far from each other as the radius."""
    X = rng.integers(0, 9, size=(120, 2)).astype(float)
    y = (np.sin(X[:, 0]) + 0.3 * X[:, 1] + rng.normal(size=120) > 1).astype(int)
    dictionary = AdaptiveGaussian("local", radius=radius)
    (functions,) = dictionary.learn(sample_of(X, y))
    for shift in (0.1, -0.3, 1 / 3, 7.7):
        (shifted,) = dictionary.learn(sample_of(X + shift, y))
        np.testing.assert_allclose(shifted.gammas, functions.gammas, rtol=1e-6)


def test_long_searches_show_how_far_they_are(data, capsys):
    X, labels = data
    sample = sample_of(X, labels)
    AdaptiveGaussian("global").learn(sample)
    assert "widths" not in capsys.readouterr().err
    AdaptiveGaussian("global").learn(replace(sample, verbose=1))
    assert "80/80" in capsys.readouterr().err


def test_folds_learn_once_for_all_ridges(data, monkeypatch):
    X, _ = data
    n_learned = []
    learn = AdaptiveGaussian.learn

    def counted(self, sample):
        n_learned.append(1)
        return learn(self, sample)

    monkeypatch.setattr(AdaptiveGaussian, "learn", counted)
    how = {"selection": CrossValidation(3), "max_support": 5}
    model = KMPRegressor(dictionary=AdaptiveGaussian("global"), **how)
    model.fit(X, np.sin(X[:, 0]))
    assert len(n_learned) == 4


def test_memory_is_bounded(data):
    X, labels = data
    sample = sample_of(X, labels)
    tiny = replace(sample, memory=1)
    (a,), (b,) = (AdaptiveGaussian("global").learn(s) for s in (sample, tiny))
    np.testing.assert_allclose(a.gammas, b.gammas, rtol=1e-12)
