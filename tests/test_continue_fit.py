"""Fits that go on: the steps are those that the fit would have taken."""

import pickle
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal, assert_equal

import pursuit
from pursuit import KMPClassifier, KMPRegressor
from pursuit.dictionaries import ManyWidths
from pursuit.methods import Redrawn
from pursuit.path import SeparatePaths

KNOWN = {"gamma": 0.1, "alpha": 1e-3, "selection": None}

CASES = {
    "regressor": (KMPRegressor, KNOWN),
    "basic": (KMPRegressor, {**KNOWN, "method": "basic"}),
    "absolute": (KMPRegressor, {**KNOWN, "loss": "absolute"}),
    "widths": (KMPRegressor, {**KNOWN, "gamma": "cv", "dictionary": ManyWidths()}),
    "shared": (KMPClassifier, KNOWN),
    "ovr": (KMPClassifier, {**KNOWN, "multiclass": "ovr"}),
    "margin": (KMPClassifier, {**KNOWN, "loss": "margin"}),
    "logistic": (KMPClassifier, {**KNOWN, "loss": "logistic"}),
    "redrawn": (
        KMPRegressor,
        {**KNOWN, "n_candidates": Redrawn(9), "random_state": 3},
    ),
}


@pytest.fixture(params=CASES)
def case(request, regression, iris):
    kind, how = CASES[request.param]
    return partial(kind, **how), *(regression if kind is KMPRegressor else iris)


def test_steps_are_those_of_a_longer_fit(case):
    make, X, y = case
    wanted = make(max_support=30).fit(X, y)
    model = make(max_support=10).fit(X, y)
    before = model.path_
    assert model.set_params(max_support=30).continue_fit(X, y) is model
    assert len(before) == 10
    assert len(model.path_) == len(wanted.path_) == 30
    assert_array_equal(model.support_, wanted.support_)
    assert_array_equal(model.dual_coef_, wanted.dual_coef_)
    assert_array_equal(model.path_.errors, wanted.path_.errors)
    assert_array_equal(model.predict(X), wanted.predict(X))
    assert model.stop_reason_ == wanted.stop_reason_
    if not isinstance(model.path_, SeparatePaths) and "loss" not in make.keywords:
        assert_allclose(model.path_.errors[:11], before.errors)


@pytest.mark.parametrize("selection", ["cv", "validation", "loo"])
@pytest.mark.parametrize("kernel", ["rbf", "auto"])
def test_the_size_is_chosen_as_in_a_fit(regression, selection, kernel):
    X, y = regression
    model = KMPRegressor(kernel, max_support=6, selection=selection).fit(X, y)
    before = pickle.loads(pickle.dumps(model))
    model.set_params(max_support=40).continue_fit(X, y)
    assert len(model.path_) > len(before.path_)
    assert_array_equal(model.path_.support[:6], before.path_.support)
    assert (model.alpha_, model.gamma_) == (before.alpha_, before.gamma_)
    assert_array_equal(model.kernel_(X[:9]), before.kernel_(X[:9]))
    assert model.held_out_error_ < before.held_out_error_
    assert_equal(model.search_[: len(before.search_)], before.search_)
    assert model.score(X, y) > before.score(X, y)


@pytest.mark.parametrize("selection", [None, "cv"])
def test_a_fit_goes_on_after_an_interrupt(regression, selection, monkeypatch):
    X, y = regression
    how = {"gamma": 0.1, "alpha": 1e-3, "selection": selection, "max_support": 40}
    wanted = KMPRegressor("rbf", **how).fit(X, y)
    stopped = wanted.truncate(3)
    stopped.stop_reason_ = "interrupted: stopped by the user"
    stopped.continue_fit(X, y)
    assert_array_equal(stopped.path_.support, wanted.path_.support)
    assert_array_equal(stopped.dual_coef_, wanted.dual_coef_)
    assert stopped.stop_reason_ == wanted.stop_reason_


@pytest.mark.filterwarnings("ignore:max_time was too short")
def test_a_fit_goes_on_after_its_time(regression):
    X, y = regression
    model = KMPRegressor(max_time=1e-6).fit(X, y)
    assert model.stop_reason_.startswith("time")
    kernel = model.kernel_
    model.set_params(max_time=None).continue_fit(X, y)
    assert not model.stop_reason_.startswith("time")
    assert model.n_support_ > 5
    assert_array_equal(kernel(X), model.kernel_(X))


def test_a_model_from_a_file_goes_on(regression, tmp_path):
    X, y = regression
    short = KMPRegressor(max_support=10, selection=None, max_time="1 h").fit(X, y)
    short.save(tmp_path / "m")
    model = pursuit.load(tmp_path / "m")
    assert model.max_time == "1 h"
    model.set_params(max_support=30).continue_fit(X, y)
    assert_array_equal(model.path_.support[:10], short.path_.support)
    assert len(model.path_) == 30


def test_rows_may_come_in_another_order(regression, rng):
    X, y = regression
    order = rng.permutation(len(X))
    model = KMPRegressor(max_support=10, **KNOWN).fit(X, y)
    model.set_params(max_support=20).continue_fit(X[order], y[order])
    wanted = KMPRegressor(max_support=20, **KNOWN).fit(X, y)
    assert_allclose(model.support_vectors_, wanted.support_vectors_)
    assert_allclose(model.predict(X), wanted.predict(X))


# -- what is refused ---------------------------------------------------------------


@pytest.fixture
def model(regression):
    return KMPRegressor(max_support=10, **KNOWN).fit(*regression)


def refused(model, data, match):
    before = dict(vars(model))
    with pytest.raises(ValueError, match=match):
        model.continue_fit(*data)
    assert vars(model) == before


def test_other_data_are_refused(model, regression):
    X, y = regression
    model.set_params(max_support=20)
    point = model.support_[3]
    without = np.arange(len(X)) != point
    refused(model, (X[without], y[without]), "does not hold all points of the model")
    refused(model, (X, 2 * y), "y, sample_weight or the rows are others")
    refused(model, (X, y, np.arange(len(X)) + 1.0), "sample_weight or the rows")
    refused(model, (X[:, :3], y), "3 features")
    refused(model, (np.where(X[0, 0] == X, np.nan, X), y), "NaN")


def test_there_must_be_steps_to_take(model, regression):
    refused(model, regression, r"has 10 steps, and max_support allows 10: .*=20\)")
    with pytest.raises(ValueError, match="not fitted"):
        KMPRegressor().continue_fit(*regression)


def test_other_widths_are_refused(model, regression):
    model.set_params(gamma=0.7, max_support=20)
    refused(model, regression, r"other widths than the model's gamma_=0\.1")


def test_candidates_must_be_the_same(regression):
    how = {**KNOWN, "max_support": 10}
    drawn = KMPRegressor(n_candidates=20, **how).fit(*regression)
    refused(drawn.set_params(max_support=15), regression, "candidates now")
    drawn = KMPRegressor(n_candidates=Redrawn(9), **how).fit(*regression)
    refused(drawn.set_params(max_support=15), regression, "unless random_state is a")


def test_batches_are_refused(regression):
    X, y = regression
    model = KMPRegressor(max_support=10, **KNOWN).fit_batches(lambda: [(X, y)])
    refused(model, regression, "fitted by batches: call fit_batches again")
