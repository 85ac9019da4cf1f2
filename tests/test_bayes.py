"""Classifiers and outlier detectors from densities."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from naming import named
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax
from sklearn.base import BaseEstimator, clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer, load_iris, load_wine, make_moons
from sklearn.metrics import log_loss
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
)
from sklearn.neighbors import KernelDensity
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import (
    DensityClassifier,
    DensityOutlierDetector,
    LocalGaussianDensity,
    ManifoldParzen,
    ParzenWindows,
    datasets,
)
from pursuit.densities.posteriors import (
    ancll,
    best_temperature,
    error_rate,
    log_posteriors,
)


@pytest.fixture(scope="module")
def moons():
    X, y = make_moons(120, noise=0.2, random_state=0)
    y = np.array(["day", "night"])[y]
    return X, y


@parametrize_with_checks(
    [
        DensityClassifier(ParzenWindows(0.7)),
        DensityClassifier(ManifoldParzen(8), temperature="auto"),
        DensityClassifier(ParzenWindows(), tune_by="error"),
        DensityClassifier(KernelDensity(leaf_size=10_000), temperature="auto"),
        DensityOutlierDetector(ParzenWindows()),
        DensityOutlierDetector(ManifoldParzen()),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- Bayes' rule -------------------------------------------------------------------


def test_posteriors_are_bayes_rule(moons):
    X, y = moons
    model = DensityClassifier(ManifoldParzen(6, 1, 0.2), priors=[0.9, 0.1]).fit(X, y)
    logs = np.column_stack(
        [
            ManifoldParzen(6, 1, 0.2).fit(X[y == c]).score_samples(X)
            for c in model.classes_
        ]
    )
    expected = softmax(logs + np.log([0.9, 0.1]), axis=1)
    assert_allclose(model.predict_proba(X), expected, rtol=1e-9)
    assert_allclose(np.exp(model.predict_log_proba(X)), expected, rtol=1e-9)
    assert_array_equal(model.predict(X), model.classes_[expected.argmax(axis=1)])
    warm = DensityClassifier(ManifoldParzen(6, 1, 0.2), temperature=3.0).fit(X, y)
    share = np.mean(y == "day")
    expected = softmax(logs / 3 + np.log([share, 1 - share]), axis=1)
    assert_allclose(warm.predict_proba(X), expected, rtol=1e-9)


@pytest.mark.parametrize(
    "density",
    [
        KernelDensity(bandwidth=0.3, leaf_size=10_000),
        GaussianMixture(2, random_state=0),
        LocalGaussianDensity(),
        ManifoldParzen(),
        ParzenWindows(),
    ],
    ids=lambda d: type(d).__name__,
)
def test_any_density_will_do(moons, density):
    X, y = moons
    model = DensityClassifier(density, temperature="auto").fit(X, y)
    new, labels = make_moons(300, noise=0.2, random_state=1)
    assert np.mean(model.predict(new) == model.classes_[labels]) > 0.9
    assert 0.2 < model.temperature_ < 10
    assert len(model.densities_) == 2
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict_proba(new), model.predict_proba(new))


@pytest.mark.parametrize("make_frame", [pd.DataFrame, pl.DataFrame], ids=named)
def test_a_pipeline_may_name_columns(moons, make_frame):
    X, y = moons
    scaled = ColumnTransformer([("scaled", StandardScaler(), ["a", "b"])])
    density = make_pipeline(scaled, ParzenWindows(0.3))
    frame = make_frame({"c": X[:, 0] * 1e3, "a": X[:, 0], "b": X[:, 1]})
    model = DensityClassifier(density, temperature="auto").fit(frame, y)
    plain = make_pipeline(StandardScaler(), ParzenWindows(0.3))
    expected = DensityClassifier(plain, temperature="auto").fit(X, y)
    # Folds go by the contents of rows, so that the temperatures differ.
    for other in (model, expected):
        other.temperature_ = 1.0
    assert_allclose(model.predict_proba(frame), expected.predict_proba(X), rtol=1e-8)
    again = pickle.loads(pickle.dumps(model))
    assert_array_equal(again.predict(frame), model.predict(frame))
    detector = DensityOutlierDetector(density).fit(frame)
    new = make_frame({"c": [0.0, 0.0], "a": [9.0, X[:, 0].mean()], "b": [9.0, 0.25]})
    assert_array_equal(detector.predict(new), [-1, 1])


def test_far_from_everything_the_priors_stand():
    model = DensityClassifier(KernelDensity(kernel="tophat", bandwidth=1.0))
    model.fit([[0.0], [0.1], [5.0]], [0, 0, 1])
    assert_allclose(model.predict_proba([[1e6]]), [[2 / 3, 1 / 3]])


def test_posterior_functions():
    logs = np.array([[0.0, -2.0], [-np.inf, -np.inf], [-5.0, -1.0]])
    priors = np.log([0.5, 0.5])
    posterior = log_posteriors(logs, priors)
    assert_allclose(np.exp(posterior).sum(axis=1), 1.0)
    codes, weight = np.array([0, 1, 0]), np.array([1.0, 1.0, 2.0])
    assert error_rate(posterior, codes, weight) == pytest.approx(3 / 4)
    by_hand = np.log1p(np.exp(-2)) + np.log(2) + 2 * np.log1p(np.exp(4))
    assert ancll(posterior, codes, weight) == pytest.approx(by_hand / 4)


def test_probabilities_of_huge_logits_sum_to_one():
    model = DensityClassifier(ParzenWindows(1e-6)).fit([[-1.0, 0], [1, 0]], [0, 1])
    found = model.predict_proba([[0, 1e3], [0, 100.0], [0, 1.0], [0, 1e300]])
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
    logs = np.array([[-1e17, -1e17], [-1e17, -np.inf]])
    found = np.exp(log_posteriors(logs, np.log([0.5, 0.5])))
    assert_array_equal(found, [[0.5, 0.5], [1.0, 0.0]])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_what_is_no_log_density(bad):
    with pytest.raises(ValueError, match="NaN or \\+inf"):
        log_posteriors(np.array([[0.0, bad]]), np.log([0.5, 0.5]))


def test_best_temperature_is_a_minimum(rng):
    logs = 40 * rng.standard_normal((400, 3))
    codes = (logs / 8 + rng.gumbel(size=logs.shape)).argmax(axis=1)
    priors, weight = np.log(np.full(3, 1 / 3)), np.ones(400)
    found = best_temperature(logs, priors, codes, weight, 400)
    assert found == pytest.approx(8, rel=0.3)
    others = np.where(np.arange(3) == codes[:, None], -np.inf, logs).max(axis=1)
    typical = np.median(np.abs(logs[np.arange(400), codes] - others))
    at = [
        400 * ancll(log_posteriors(logs, priors, t * found), codes, weight)
        + typical / (t * found)
        for t in (0.98, 1, 1.02)
    ]
    assert at[1] == min(at)
    for scaled in (2 * weight, weight / 400):
        again = best_temperature(logs, priors, codes, scaled, 400)
        assert again == pytest.approx(found, rel=1e-6)
    rows = np.repeat(np.arange(400), 2)
    repeated = best_temperature(logs[rows], priors, codes[rows], np.ones(800), 400)
    assert repeated == pytest.approx(found, rel=1e-6)


def test_temperature_of_rows_that_are_all_right():
    logs = np.array([[0.0, -5.0], [-9.0, -1.0], [0.0, -2.0]])
    priors, codes, weight = np.log([0.5, 0.5]), np.array([0, 1, 0]), np.ones(3)
    found = best_temperature(logs, priors, codes, weight, 3)
    assert 1 < found < 10
    scaled = best_temperature(1000 * logs, priors, codes, weight, 3)
    assert scaled == pytest.approx(1000 * found, rel=1e-3)
    for nothing in (np.zeros((3, 2)), np.where(logs < -1, -np.inf, logs)):
        assert best_temperature(nothing, priors, codes, weight, 3) == 1.0


@pytest.mark.parametrize("load", [load_wine, load_iris, load_breast_cancer])
@pytest.mark.parametrize("density", [ManifoldParzen(), ParzenWindows()], ids=named)
@pytest.mark.parametrize("half", [0, 1])
def test_temperature_does_no_harm_to_new_rows(load, density, half):
    X, y = load(return_X_y=True)
    is_new = np.arange(len(y)) % 2 == half
    X = StandardScaler().fit(X[~is_new]).transform(X)
    loss = {}
    for temperature in (None, "auto"):
        model = DensityClassifier(density, temperature=temperature)
        model.fit(X[~is_new], y[~is_new])
        loss[temperature] = log_loss(y[is_new], model.predict_proba(X[is_new]))
    assert loss["auto"] < 1.25 * loss[None] + 0.02


def test_of_settings_that_tie_the_widest_is_taken():
    X = np.array([[0.0], [0.1], [0.2], [9.0], [9.1], [9.2]])
    grid = {"bandwidth": [0.05, 0.2, 0.1]}
    model = DensityClassifier(ParzenWindows(), param_grid=grid)
    model.fit(X, [0, 0, 0, 1, 1, 1])
    assert [row["ancll"] for row in model.search_] == [0.0] * 3
    assert model.best_params_ == {"bandwidth": 0.2}


# -- tuning ------------------------------------------------------------------------


def test_temperature_uses_exact_leave_one_out(moons):
    X, y = moons
    density = ManifoldParzen(6, None, 0.05)
    model = DensityClassifier(density, temperature="auto").fit(X, y)
    logs = np.empty((len(X), 2))
    for i in range(len(X)):
        rest = np.arange(len(X)) != i
        for c, label in enumerate(model.classes_):
            part = clone(density).fit(X[rest & (y == label)])
            logs[i, c] = part.score_samples(X[i : i + 1])[0]
    codes, weight = (y == "night").astype(int), np.ones(len(y))
    priors = np.log(model.class_prior_)
    expected = best_temperature(logs, priors, codes, weight, len(y))
    assert model.temperature_ == pytest.approx(expected, rel=1e-6)
    (row,) = model.search_
    posterior = log_posteriors(logs, priors, expected)
    assert row["ancll"] == pytest.approx(ancll(posterior, codes, weight), rel=1e-6)
    for other in (0.3, 3.0):
        posterior = log_posteriors(logs, priors, other)
        assert row["ancll"] < ancll(posterior, codes, weight)


def test_tuned_by_error_or_ancll_never_by_likelihood(moons):
    X, y = moons
    grid = {"bandwidth": [0.01, 0.1, 0.3, 1.0]}
    by = {
        how: DensityClassifier(ManifoldParzen(6), param_grid=grid, tune_by=how).fit(
            X, y
        )
        for how in ("ancll", "error")
    }
    for how, model in by.items():
        assert [row["params"] for row in model.search_] == [
            {"bandwidth": b} for b in grid["bandwidth"]
        ]
        best = min(model.search_, key=lambda row, how=how: row[how])
        assert (
            next(r for r in model.search_ if r["params"] == model.best_params_)[how]
            == best[how]
        )
        assert all(
            d.bandwidth_ == model.best_params_["bandwidth"] for d in model.densities_
        )


def test_auto_parameters_are_shared_and_tuned_by_the_classifier(moons):
    X, y = moons
    model = DensityClassifier(ManifoldParzen()).fit(X, y)
    assert set(model.best_params_) == {"bandwidth", "n_neighbors"}
    assert len({d.bandwidth_ for d in model.densities_}) == 1
    assert all(d.search_ == [] for d in model.densities_)
    alone = DensityClassifier(ManifoldParzen(), param_grid=None).fit(X, y)
    assert alone.best_params_ == {}
    assert len({d.bandwidth_ for d in alone.densities_}) == 2


def test_grid_search(moons):
    X, y = moons
    grid = GridSearchCV(
        DensityClassifier(ParzenWindows(0.3)),
        {"density__bandwidth": [0.01, 0.2, 30.0]},
        scoring="neg_log_loss",
        cv=3,
    ).fit(pd.DataFrame(X, columns=["a", "b"]), y)
    assert grid.best_params_ == {"density__bandwidth": 0.2}


def test_single_row_classes_and_weights(moons):
    X, y = moons
    X, y = np.vstack([X, [[9.0, 9.0]]]), np.append(y, "noon")
    model = DensityClassifier(ManifoldParzen(), temperature="auto").fit(X, y)
    assert model.predict([[9.0, 9.0]])[0] == "noon"
    weight = np.where(y == "noon", 0.0, 1.0)
    without = DensityClassifier(ManifoldParzen(6, None, 0.2)).fit(X, y, weight)
    assert without.classes_.tolist() == ["day", "night"]


class NoWeights(BaseEstimator):
    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def score_samples(self, X):
        return -((X - self.mean_) ** 2).sum(axis=1)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"priors": [1.0]}, "2 finite numbers"),
        ({"priors": [1, 1]}, "sum to 1"),
        ({"priors": [np.nan, 1]}, "priors=.*2 finite numbers"),
        ({"priors": ["a", "b"]}, "priors=.*2 finite numbers"),
        ({"priors": {"day": 1.0}}, "priors=.*2 finite numbers"),
        ({"param_grid": []}, "has no settings"),
        ({"temperature": 0}, "temperature=0 must be .* or 'auto' or None"),
        ({"temperature": "warm"}, "temperature='warm'"),
        ({"tune_by": "luck"}, "tune_by='luck'"),
        ({"param_grid": "all"}, "param_grid='all'"),
        ({"cv": 1}, "cv=1 must be a whole number of at least 2"),
        (
            {"cv": "five"},
            "cv='five' must be a number of folds, a scikit-learn",
        ),
        ({"cv": ShuffleSplit(3)}, "cv=ShuffleSplit.* must test every row exactly once"),
        ({"cv": GroupKFold(2)}, "cv=GroupKFold.* needs groups: give the splits"),
        ({"cv": []}, r"cv=\[\] holds no split .*: pass a list.\.$"),
    ],
)
def test_bad_parameters(moons, given, message):
    with pytest.raises(ValueError, match=message):
        DensityClassifier(ParzenWindows(1.0), **given).fit(*moons)


def test_given_folds_leave_rows_out(moons):
    X, y = moons
    density = KernelDensity(bandwidth=0.3)
    splitter = StratifiedKFold(3, shuffle=True, random_state=0)
    splits = list(splitter.split(X, y))
    first, second = np.unique(y)
    ratio = np.empty(len(y))
    for train, test in splits:
        logs = []
        for label in (first, second):
            # Rows of the other class are not among those fitted anyway.
            mine = train[y[train] == label]
            parts = (
                density.fit(X[mine]),
                KernelDensity(bandwidth=0.3).fit(X[y == label]),
            )
            is_own = y[test] == label
            held_out, others = (part.score_samples(X[test]) for part in parts)
            share = np.log(np.mean(y == label))
            logs.append(np.where(is_own, held_out, others) + share)
        ratio[test] = logs[0] - logs[1]
    margin = np.where(y == first, ratio, -ratio)
    expected = np.logaddexp(0.0, -margin).mean()
    grid = {"bandwidth": [0.3, 0.6]}
    for cv in (splitter, splits, iter(splits)):
        model = DensityClassifier(KernelDensity(), param_grid=grid, cv=cv).fit(X, y)
        assert model.search_[0]["ancll"] == pytest.approx(expected)
    outer = list(KFold(4).split(X))
    detector = DensityOutlierDetector(density, false_alarm_rate=0.2, cv=outer).fit(X)
    scores = np.empty(len(X))
    for train, test in outer:
        part = KernelDensity(bandwidth=0.3).fit(X[train])
        scores[test] = part.score_samples(X[test])
    at = int(np.ceil(0.2 * len(X) - 1e-9)) - 1
    assert detector.offset_ == pytest.approx(np.sort(scores)[at])


@pytest.mark.parametrize("make", [DensityClassifier, DensityOutlierDetector])
@pytest.mark.parametrize("density", [3, ParzenWindows])
def test_what_is_no_density(moons, make, density):
    with pytest.raises(TypeError, match="must be an estimator with fit"):
        make(density).fit(*moons)


@pytest.mark.parametrize("rate", [0, 1.0, "few"])
def test_bad_false_alarm_rates(moons, rate):
    with pytest.raises(ValueError, match="false_alarm_rate="):
        DensityOutlierDetector(ParzenWindows(1.0), false_alarm_rate=rate).fit(*moons)


def test_weights_need_a_density_that_takes_them(moons):
    X, y = moons
    DensityClassifier(NoWeights()).fit(X, y, np.full(len(y), 2.0))
    with pytest.raises(ValueError, match="NoWeights.fit takes none"):
        DensityClassifier(NoWeights()).fit(X, y, np.arange(1, len(y) + 1))


class Moody(NoWeights):
    """Log-densities that are NaN for some settings."""

    def __init__(self, mood=0.0):
        self.mood = mood

    def score_samples(self, X):
        return super().score_samples(X) + self.mood


@pytest.mark.parametrize("tune_by", ["ancll", "error"])
def test_settings_without_numbers_rank_last(moons, tune_by):
    grid = {"mood": [np.nan, 0.0, np.inf]}
    model = DensityClassifier(Moody(), param_grid=grid, tune_by=tune_by).fit(*moons)
    assert model.best_params_ == {"mood": 0.0}
    with pytest.raises(ValueError, match="with every setting"):
        DensityClassifier(Moody(np.nan), temperature="auto").fit(*moons)


# -- outliers ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "density", [ParzenWindows(0.5), ParzenWindows(), ManifoldParzen()], ids=named
)
def test_outliers_among_the_training_rows(density):
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((300, 10)), 6 * rng.standard_normal((15, 10))])
    model = DensityOutlierDetector(density)
    labels = model.fit_predict(X)
    left_out = model.density_.loo_score_samples()
    assert_array_equal(labels, np.where(left_out < model.offset_, -1, 1))
    assert (labels[300:] == -1).mean() > 0.8
    new = DensityOutlierDetector(density).fit(X[:-1])
    assert new.predict(X[-1:]) == labels[-1]


@pytest.mark.parametrize("bandwidth", [0.1, 0.5])
def test_scores_jump_at_the_training_rows(moons, bandwidth):
    X, _ = moons
    model = DensityOutlierDetector(ParzenWindows(bandwidth)).fit(X)
    beside = np.nextafter(X, np.inf)
    assert_allclose(
        model.score_samples(beside), model.density_.score_samples(X), rtol=1e-6
    )
    assert np.all(model.score_samples(X) < model.score_samples(beside))


def test_training_rows_by_their_own_kernels_are_no_outliers():
    """Which is why those there once are left out; what was there twice is not."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.standard_normal((300, 10)), 6 * rng.standard_normal((3, 10))])
    weight = np.append(np.ones(300), [0.0, 2.0, 1.0])
    model = DensityOutlierDetector(ParzenWindows(0.5)).fit(X, sample_weight=weight)
    own = model.density_.score_samples(X[weight > 0])
    assert (own > model.offset_).all()
    assert model.predict(X[300:]).tolist() == [-1, 1, -1]
    assert model.fit_predict(X, sample_weight=weight)[300:].tolist() == [-1, 1, -1]


# -- outliers: new rows ------------------------------------------------------------


@pytest.mark.parametrize(
    "density",
    [ManifoldParzen(), KernelDensity(bandwidth=0.7, leaf_size=10_000)],
    ids=named,
)
def test_false_alarms_among_new_rows(density):
    rng = np.random.default_rng(0)
    X, new = rng.standard_normal((400, 6)), rng.standard_normal((2000, 6))
    model = DensityOutlierDetector(density, false_alarm_rate=0.1).fit(X)
    assert np.mean(model.predict(new) == -1) == pytest.approx(0.1, abs=0.04)
    assert (model.predict(new + 8) == -1).all()
    assert_allclose(
        model.decision_function(new), model.score_samples(new) - model.offset_
    )
    # A threshold at the training rows' own densities would reject far more.
    own = np.quantile(model.density_.score_samples(X), 0.1)
    assert np.mean(model.score_samples(new) < own) > 0.15


# -- published figures -------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.skipif(
    "usps" not in datasets.available(), reason="no usps.npz in PURSUIT_DATA"
)
def test_tables_13_3_and_13_4():
    """USPS: test errors 5.08 and 4.08 %, ANCLL; temperature makes them honest."""
    usps = datasets.load("usps", smooth=True)
    X, y = usps.data_train, usps.target_train
    new, labels = usps.data_test, usps.target_test
    settings = {
        "Parzen 0.8": ParzenWindows(0.8),
        "Parzen 1.0": ParzenWindows(1.0),
        "11, 0.1": ManifoldParzen(11, None, 0.1**0.5),
        "17, 0.75": ManifoldParzen(17, None, 0.75**0.5),
    }
    found = {}
    for name, density in settings.items():
        for how, train in (("train", slice(6291)), ("all", slice(None))):
            plain = DensityClassifier(density).fit(X[train], y[train])
            found[name, how, "valid"] = losses(plain, X[6291:], y[6291:])
            found[name, how, "test"] = losses(plain, new, labels)
        warm = DensityClassifier(density, temperature="auto").fit(X, y)
        found[name, "warm", "test"] = (*losses(warm, new, labels), warm.temperature_)
    assert found["11, 0.1", "train", "valid"][0] == pytest.approx(0.009, abs=1e-4)
    assert found["Parzen 0.8", "train", "valid"][0] == pytest.approx(0.018, abs=1e-3)
    assert found["17, 0.75", "train", "valid"][1] == pytest.approx(0.0658, abs=5e-4)
    assert found["Parzen 1.0", "train", "valid"][1] == pytest.approx(0.1022, abs=5e-4)
    assert found["Parzen 0.8", "train", "test"][0] == pytest.approx(0.0508, abs=5e-4)
    assert found["11, 0.1", "train", "test"][0] == pytest.approx(0.0408, abs=5e-4)
    assert found["17, 0.75", "train", "test"][1] == pytest.approx(0.3481, abs=5e-4)
    assert found["Parzen 1.0", "train", "test"][1] == pytest.approx(0.3503, abs=5e-4)
    for name in settings:
        plain, warm = found[name, "all", "test"], found[name, "warm", "test"]
        assert warm[0] == pytest.approx(plain[0], abs=1e-3)
        assert warm[1] < plain[1]
    assert found["11, 0.1", "all", "test"][1] > 2.0
    assert found["11, 0.1", "warm", "test"][1] < 0.35


def losses(model, X, y):
    log_proba = model.predict_log_proba(X)
    codes = np.searchsorted(model.classes_, y)
    weight = np.ones(len(y))
    return error_rate(log_proba, codes, weight), ancll(log_proba, codes, weight)


def test_a_subclass_may_score_in_its_own_way(rng):
    class Shifted(ParzenWindows):
        def score_samples(self, X):
            return super().score_samples(X) - 5.0

    X = rng.normal(size=(40, 2))
    plain = DensityOutlierDetector(ParzenWindows(0.5)).fit(X)
    shifted = DensityOutlierDetector(Shifted(0.5)).fit(X)
    new = rng.normal(size=(5, 2))
    assert_allclose(shifted.score_samples(new), plain.score_samples(new) - 5.0)
