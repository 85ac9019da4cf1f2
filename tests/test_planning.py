"""What a fit decides before it starts: candidates, ridges, scales of weights."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from pursuit import KMPRegressor
from pursuit.estimators.kmp import settings
from pursuit.methods import Redrawn


@pytest.fixture
def data():
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    return X[:, :5], y


# -- candidates --------------------------------------------------------------------


def candidates(X, Y, **how):
    """The rows that are chosen for one of many targets."""
    how = {"gamma": 1.0, "alpha": 0.1, "selection": None, "max_support": 20} | how
    chosen = [KMPRegressor(**how).fit(X, y).support_ for y in Y]
    return np.unique(np.concatenate(chosen))


def test_of_many_rows_some_are_candidates_by_default(data, monkeypatch, rng):
    X, _ = data
    Y = rng.standard_normal((20, 300))
    monkeypatch.setattr(settings, "AUTO_CANDIDATES", 50)
    some = candidates(X, Y)
    assert len(some) == 50
    np.testing.assert_array_equal(some, candidates(X, Y))
    order = rng.permutation(300)
    again = candidates(X[order], Y[:, order])
    np.testing.assert_array_equal(some, np.sort(order[again]))
    assert len(candidates(X, Y, n_candidates=None)) > 100
    assert len(candidates(X, Y, n_candidates=Redrawn())) > 100
    # Two for each step, and no more values than may be.
    assert 50 < len(candidates(X, Y, max_support=40)) <= 80
    monkeypatch.setattr(settings, "AUTO_VALUES", 45 * 300)
    assert len(candidates(X, Y)) == 45


# -- ridges ------------------------------------------------------------------------


def ridges(model):
    return sorted({row["alpha"] for row in model.search_})


def test_ridges_grow_with_more_than_a_hundred_thousand_rows(data):
    X, y = data
    noise = y + 10 * np.random.default_rng(0).standard_normal(len(y))
    assert ridges(KMPRegressor(kernel="rbf", max_support=5).fit(X, noise)) == [
        *(1e-4, 1e-3, 1e-2, 1e-1, 1.0)
    ]
    model = KMPRegressor(kernel="rbf", max_support=5).fit(
        X, noise, np.full(300, 1e6 / 300)
    )
    np.testing.assert_allclose(ridges(model), [1e-3, 1e-2, 1e-1, 1.0, 10.0])


def test_ridges_of_other_losses_are_tried_outward_while_they_are_better(data):
    X, y = data
    for power in (1e-3, 1.0):
        model = KMPRegressor(loss="huber", max_support=10, gamma=power).fit(X, y)
        tried = {row["alpha"]: row["errors"].min() for row in model.search_}
        alphas = sorted(tried)
        np.testing.assert_allclose(np.diff(np.log10(alphas)), 1.0)
        at = alphas.index(model.alpha_)
        # Nothing beyond the next ridges was tried.
        assert 3 <= len(alphas) <= 5
        assert at + 2 >= len(alphas) or tried[alphas[at + 1]] <= tried[alphas[2]]
        assert min(tried, key=tried.get) == model.alpha_


def test_smaller_ridges_are_tried_while_they_are_better():
    X, y = make_friedman1(200, noise=0.0, random_state=0)
    model = KMPRegressor(kernel="rbf").fit(X, y)
    tried = np.log10(ridges(model))
    np.testing.assert_allclose(np.diff(tried), 1.0)
    assert -8.01 < tried[0] < -4.5
    given = KMPRegressor(kernel="rbf", alpha=1e-4).fit(X, y)
    lowest = [min(np.min(row["errors"]) for row in m.search_) for m in (model, given)]
    assert lowest[0] < 0.9 * lowest[1]
    # The last one tried was no better, unless it is the smallest that may be.
    assert model.alpha_ > ridges(model)[0] or tried[0] < -7.5


@pytest.mark.parametrize("factor", [1 / 300, 1e-6, 1e-100])
def test_small_weights_mean_their_ratios_only(data, factor):
    X, y = data
    weight = np.random.default_rng(0).integers(1, 4, len(y)) / 3.0
    model = KMPRegressor(kernel="rbf", max_support=20).fit(X, y, weight)
    other = KMPRegressor(kernel="rbf", max_support=20).fit(X, y, factor * weight)
    np.testing.assert_array_equal(other.support_, model.support_)
    np.testing.assert_allclose(other.predict(X), model.predict(X), rtol=1e-6)


def test_small_weights_of_repeated_rows_mean_their_ratios_only():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.standard_normal((6, 2)), 40, axis=0)
    y = X[:, 0] + 0.5 * rng.standard_normal(240)
    models = [
        KMPRegressor(kernel="rbf").fit(X, y, np.full(240, w))
        for w in (1.0, 1 / 40, 1e-6)
    ]
    # Six rows of 40 copies each: with 1 / 40 every row weighs 1.
    np.testing.assert_array_equal(models[1].support_, models[2].support_)
    np.testing.assert_allclose(models[1].predict(X), models[2].predict(X), rtol=1e-6)
