"""The estimators under every loss, as users meet them."""

import copy
import pickle
import warnings
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    accuracy_score,
    log_loss,
    make_scorer,
    mean_absolute_error,
    mean_squared_error,
)
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import KMPClassifier, KMPRegressor, datasets, losses
from pursuit.estimators.kmp.scoring import QUICK_CLASS_SCORERS, QUICK_NUMBER_SCORERS
from pursuit.kernels import median_gamma
from pursuit.losses import Hinge, Huber, Logistic, Loss, MarginLoss, Quantile, Softmax
from pursuit.methods import BackFitting, PreFitting, Redrawn
from pursuit.selection import CrossValidation, LeaveOneOut, Validation

FIXED = {"gamma": 0.3, "alpha": 0.05}
FAST = {**FIXED, "selection": None, "max_support": 10}
FOR_CLASSES = [name for name in losses.names(True) if name != "squared"]
FOR_NUMBERS = [name for name in losses.names(False) if name != "squared"]

# -- scikit-learn's own checks -----------------------------------------------------

CHECKED = {"gamma": "median", "alpha": 1e-2, "max_support": 8, "selection": None}


@parametrize_with_checks(
    [
        *(KMPClassifier(loss=name, **CHECKED) for name in FOR_CLASSES),
        *(KMPRegressor(loss=name, **CHECKED) for name in FOR_NUMBERS),
        KMPClassifier(loss="logistic", **{**CHECKED, "selection": CrossValidation(3)}),
        KMPClassifier(loss="logistic", multiclass="ovr", **CHECKED),
        # The flat parts of the hinge need a ridge: coefficients are optimized up to
        # gradients of 1e-6, and the check asks for equal values up to 1e-7.
        KMPClassifier(loss="hinge", method="basic", **{**CHECKED, "alpha": 0.1}),
        KMPRegressor(
            loss="huber", method="back-fitting", **{**CHECKED, "selection": "cv"}
        ),
        KMPRegressor(loss=Quantile(0.7), method=PreFitting(3), **CHECKED),
        KMPRegressor(method=PreFitting(4), **CHECKED),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- data --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def moons():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 2))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=120) > 0, "yes", "no")
    return X, y


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    codes = np.repeat([0, 1, 2], [45, 30, 20])
    X = rng.standard_normal((95, 2)) + np.array([[0, 0], [2, 0], [0, 2]])[codes]
    return X, np.array(["ash", "elm", "oak"])[codes]


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(150, 1))
    return X, np.sin(X[:, 0]) + 0.2 * rng.normal(size=150)


# -- probabilities -----------------------------------------------------------------


@pytest.mark.parametrize("multiclass", ["shared", "ovr"])
@pytest.mark.parametrize("case", ["moons", "blobs"])
def test_probabilities(case, multiclass, request):
    X, y = request.getfixturevalue(case)
    model = KMPClassifier(loss="logistic", multiclass=multiclass, **FAST).fit(X, y)
    wide = np.vstack([X, 100 * X, np.zeros((1, 2))])
    P = model.predict_proba(wide)
    assert P.shape == (len(wide), len(model.classes_))
    assert np.all(P >= 0)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(wide), model.classes_[P.argmax(axis=1)])
    np.testing.assert_allclose(
        model.predict_log_proba(wide), np.log(P), rtol=1e-12, atol=1e-300
    )
    *_, last = model.staged_predict_proba(wide)
    np.testing.assert_allclose(last, P, atol=1e-10)
    for stage, labels in zip(
        model.staged_predict_proba(X), model.staged_predict(X), strict=True
    ):
        np.testing.assert_array_equal(labels, model.classes_[stage.argmax(axis=1)])


def test_two_classes_are_a_logistic_regression_on_the_chosen_points(moons):
    X, y = moons
    model = KMPClassifier(loss="logistic", **FAST).fit(X, y)
    K = rbf_kernel(X, model.support_vectors_, gamma=0.3)
    # scikit-learn: C * sum of natural log-loss of 2f + |2 coef|^2 / 2.
    C = 1 / (np.log(2) * 0.05) * 2
    other = LogisticRegression(C=C, tol=1e-10, max_iter=10_000).fit(K, y)
    np.testing.assert_allclose(
        model.predict_proba(X), other.predict_proba(K), atol=1e-4
    )


def test_three_classes_share_one_softmax(blobs):
    X, y = blobs
    model = KMPClassifier(loss="logistic", **FAST).fit(X, y)
    assert model.dual_coef_.shape == (3, 10)
    K = rbf_kernel(X, model.support_vectors_, gamma=0.3)
    # scikit-learn: C * sum of natural log-loss + |coef|^2 / 2.
    other = LogisticRegression(C=1 / (2 * 0.05 * np.log(2)), tol=1e-9, max_iter=10_000)
    other.fit(K, y)
    np.testing.assert_allclose(
        model.predict_proba(X), other.predict_proba(K), atol=1e-3
    )


def test_softmax_of_two_classes_is_logistic(moons, blobs):
    X, y = moons
    model = KMPClassifier(loss=Softmax(), **FAST).fit(X, y)
    other = KMPClassifier(loss="logistic", **FAST).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))
    X, y = blobs
    model = KMPClassifier(loss=Softmax(), **FAST).fit(X, y)
    other = KMPClassifier(loss="logistic", **FAST).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), other.predict_proba(X))


def test_softmax_cannot_be_fitted_class_by_class(moons, blobs):
    model = KMPClassifier(loss=Softmax(), multiclass="ovr", **FAST)
    assert model.fit(*moons).score(*moons) > 0.8  # one model for two classes
    with pytest.raises(ValueError, match=r"loss=Softmax\(\) is about all classes"):
        model.fit(*blobs)


def with_function(model, coef, intercept):
    """Return a fitted model whose function has other coefficients."""
    model = copy.copy(model)
    model._expansion = replace(model._expansion, coef=coef, intercept=intercept)
    return model


@pytest.mark.parametrize("shift", [0.0, 40.0, -500.0])
def test_predictions_agree_where_probabilities_round_to_the_same(blobs, shift):
    """As where several models of "ovr" claim a point, or none does, by far."""
    X, y = blobs
    model = KMPClassifier(loss="logistic", multiclass="ovr", **FAST).fit(X, y)
    model = with_function(model, model.dual_coef_, model.intercept_ + shift)
    values, P = model.decision_function(X), model.predict_proba(X)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert (P[:, 0] == P[:, 1]).all() == (shift > 0)
    best = values.argmax(axis=1)
    np.testing.assert_array_equal(model.predict(X), model.classes_[best])
    np.testing.assert_array_equal(P[np.arange(len(X)), best], P.max(axis=1))


def test_tiny_values_of_two_classes_decide_too(moons):
    X, y = moons
    fitted = KMPClassifier(loss="logistic", **FAST).fit(X, y)
    for value in (1e-20, -1e-20, 0.0):
        model = with_function(fitted, 0.0 * fitted.dual_coef_, np.array([value]))
        expected = model.classes_[int(value > 0)]
        assert set(model.predict(X)) == {expected}


@pytest.mark.parametrize("loss", [*FOR_CLASSES, "squared", Hinge(0.3)])
def test_other_losses_have_none_and_say_what_has(loss, moons):
    X, y = moons
    model = KMPClassifier(loss=loss, **FAST)
    if loss == "logistic":
        assert hasattr(model, "predict_proba")
        return
    for name in ("predict_proba", "predict_log_proba", "staged_predict_proba"):
        assert not hasattr(model, name)
    with pytest.raises(AttributeError, match="'temperature'.*loss='logistic'"):
        model.fit(X, y).predict_proba(X)
    with pytest.raises(AttributeError, match="has no probabilities"):
        KMPClassifier.predict_proba(model, X)
    calibrated = CalibratedClassifierCV(model, cv=3).fit(X, y)
    assert calibrated.predict_proba(X).shape == (120, 2)


# -- regression --------------------------------------------------------------------


@pytest.mark.parametrize("q", [0.1, 0.5, 0.9])
def test_quantiles_have_their_share_below(numbers, q):
    X, y = numbers
    model = KMPRegressor(loss=Quantile(q), **{**FAST, "alpha": 1e-4}).fit(X, y)
    # With a free constant, up to the points that are met exactly.
    assert np.mean(y < model.predict(X)) == pytest.approx(q, abs=0.08)


def test_robust_losses_are_not_drawn_to_outliers(numbers):
    X, y = numbers
    spoiled = y.copy()
    spoiled[::10] += 30.0
    clean = np.sin(X[:, 0])
    error = {
        loss: np.sqrt(
            np.mean(
                (KMPRegressor(loss=loss, **FAST).fit(X, spoiled).predict(X) - clean)
                ** 2
            )
        )
        for loss in ("squared", "huber", "absolute")
    }
    assert error["huber"] < 0.3 * error["squared"]
    assert error["absolute"] < 0.1 * error["squared"]


def test_poisson_predicts_means(numbers, rng):
    X, y = numbers
    counts = rng.poisson(np.exp(1 + y))
    model = KMPRegressor(loss="poisson", **FAST).fit(X, counts)
    predicted = model.predict(X)
    assert np.all(predicted > 0)
    # The constant is free: the means agree.
    assert predicted.mean() == pytest.approx(counts.mean(), rel=1e-4)
    *_, last = model.staged_predict(X)
    np.testing.assert_allclose(last, predicted)
    with pytest.raises(ValueError, match="targets of 0 or more"):
        model.fit(X, y)
    assert model.fit(X, counts, sample_weight=np.ones(150)).n_support_ == 10


def test_several_outputs(numbers):
    X, y = numbers
    Y = np.column_stack([y, y**2])
    model = KMPRegressor(loss="huber", **{**FAST, "alpha": 1e-6}).fit(X, Y)
    assert model.predict(X).shape == (150, 2)
    assert model.score(X, Y) > 0.7


# -- the far cluster (Fig. 9.7) ----------------------------------------------------


def far_cluster():
    """Two classes that a line parts, and more of one class far behind that line."""
    rng = np.random.default_rng(0)
    left = rng.normal([-1.0, 0.0], 0.35, size=(40, 2))
    right = rng.normal([0.6, 0.0], 0.35, size=(40, 2))
    far = rng.normal([10.0, -5.0], 0.3, size=(60, 2))
    X = np.vstack([left, right, far])
    return X, np.repeat([-1, 1, 1], [40, 40, 60])


def test_a_far_cluster_draws_least_squares_but_not_tanh():
    X, y = far_cluster()
    how = {"kernel": "linear", "selection": None, "max_support": 2, "alpha": 1e-6}
    wrong = {
        loss: np.sum(KMPClassifier(loss=loss, **how).fit(X, y).predict(X) != y)
        for loss in ("squared", "squared-tanh", "logistic", "hinge")
    }
    assert wrong["squared"] >= 10
    assert wrong["squared-tanh"] <= 2
    assert wrong["logistic"] <= 2
    assert wrong["hinge"] <= 2


# -- what a loss is part of --------------------------------------------------------


@pytest.mark.parametrize("loss", FOR_CLASSES)
@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting", "basic"])
def test_every_loss_learns_classes(loss, method, blobs):
    X, y = blobs
    model = KMPClassifier(loss=loss, method=method, **FAST).fit(X, y)
    assert model.score(X, y) > 0.7
    assert len(model.path_) == 10
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(
        again.decision_function(X), model.decision_function(X)
    )
    np.testing.assert_array_equal(
        clone(model).fit(X, y).decision_function(X), model.decision_function(X)
    )
    np.testing.assert_allclose(
        model.truncate(4).decision_function(X),
        list(model.staged_decision_function(X))[3],
        atol=1e-8,
    )


@pytest.mark.parametrize("loss", FOR_NUMBERS)
@pytest.mark.parametrize("selection", ["cv", "validation", None])
def test_every_loss_learns_numbers(loss, selection, numbers):
    X, y = numbers
    y = y + 2 if loss == "poisson" else y
    how = {**FIXED, "selection": selection, "max_support": 12}
    model = KMPRegressor(loss=loss, **how).fit(X, y)
    assert model.score(X, y) > 0.75


@pytest.mark.parametrize("is_given", [False, True], ids=["function", "matrix"])
def test_units_do_not_matter_to_kernels_whose_diagonal_is_zero(numbers, is_given):
    """The ridges are in units of the functions' size, not of k(x, x) = 0."""
    X, y = numbers

    def fitted(unit):
        Z = -unit * cdist(X, X) if is_given else unit * X
        kernel = "precomputed" if is_given else lambda A, B: -cdist(A, B)
        how = {"max_support": 10, "selection": CrossValidation(3)}
        model = KMPRegressor(kernel=kernel, loss="huber", **how)
        return model.fit(Z, y).predict(Z)

    # A power of two changes no digit of X, and so no fold.
    np.testing.assert_allclose(fitted(2.0**-20), fitted(1.0), rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", [PreFitting, BackFitting])
@pytest.mark.parametrize("every", [1, 2, 5])
def test_refit_every(every, kind, numbers):
    X, y = numbers
    model = KMPRegressor(method=kind(refit_every=every), **FAST).fit(X, y)
    often = KMPRegressor(method=kind.word, **FAST).fit(X, y)
    if every == 1:
        np.testing.assert_array_equal(model.support_, often.support_)
    elif kind is PreFitting:
        assert model.path_.errors[9] >= often.path_.errors[9] * (1 - 1e-9)
    # The ridge may raise the loss a little; the penalized loss never rises.
    assert np.all(np.diff(model.path_.errors[::every]) <= 1e-3)


def test_class_weight_and_sample_weight(blobs):
    X, y = blobs
    how = {"loss": "logistic", **FAST}
    weight = np.where(y == "oak", 3.0, 1.0)
    a = KMPClassifier(**how).fit(X, y, sample_weight=weight)
    b = KMPClassifier(class_weight={"oak": 3.0, "ash": 1.0, "elm": 1.0}, **how)
    np.testing.assert_allclose(
        a.predict_proba(X), b.fit(X, y).predict_proba(X), atol=1e-6
    )
    rare = KMPClassifier(class_weight="balanced", **how).fit(X, y)
    plain = KMPClassifier(**how).fit(X, y)
    assert np.sum(rare.predict(X) == "oak") > np.sum(plain.predict(X) == "oak")


def test_losses_parameters_can_be_searched(numbers):
    X, y = numbers
    model = make_pipeline(StandardScaler(), KMPRegressor(loss=Huber(), **FAST))
    grid = GridSearchCV(
        model,
        {"kmpregressor__loss__delta": [0.05, 0.5], "kmpregressor__max_support": [4, 8]},
        error_score="raise",
        cv=3,
    ).fit(X, y)
    assert grid.best_params_["kmpregressor__max_support"] == 8
    losses_tried = GridSearchCV(
        KMPRegressor(**FAST), {"loss": ["huber", Quantile(0.4)]}, cv=3
    ).fit(X, y)
    assert losses_tried.best_score_ > 0.7


class Fourth(Loss):
    def value(self, y, f):
        return (y - f) ** 4

    def gradient(self, y, f):
        return -4 * (y - f) ** 3


class Savage(MarginLoss):
    is_convex = False

    def of_margin(self, m):
        return 1 / (1 + np.exp(2 * m)) ** 2

    def slope(self, m):
        p = 1 / (1 + np.exp(2 * m))
        return -4 * p**2 * (1 - p)


def test_losses_of_ones_own(numbers, blobs):
    X, y = numbers
    assert KMPRegressor(loss=Fourth(), **FAST).fit(X, y).score(X, y) > 0.7
    X, y = blobs
    model = KMPClassifier(loss=Savage(), **FAST).fit(X, y)
    assert model.score(X, y) > 0.75
    assert not hasattr(model, "predict_proba")


class Kinked(Loss):
    """The absolute value as it is: no curvature but at one point."""

    def value(self, y, f):
        return np.abs(y - f)

    def gradient(self, y, f):
        return np.sign(f - y)


@pytest.mark.parametrize(
    ("methods", "message"),
    [
        ({}, "loss=Kinked.*no curvature.*smooth it"),
        ({"value": lambda self, y, f: np.abs(y - f).sum()}, r"value.*of shape \(\)"),
        ({"value": lambda self, y, f: y + np.nan}, "value.*is NaN or infinite"),
        ({"gradient": lambda self, y, f: y + np.nan}, "gradient.*is NaN or infinite"),
        ({"gradient": lambda self, y, f: y[0]}, "gradient.*of shape"),
    ],
)
def test_losses_that_cannot_be_fitted(numbers, methods, message):
    loss = type("Kinked", (Kinked,), methods)()
    with pytest.raises(ValueError, match=message):
        KMPRegressor(loss=loss, **FAST).fit(*numbers)


def test_the_default_search_compares_by_the_loss(blobs):
    X, y = blobs
    selection = CrossValidation(3)
    model = KMPClassifier(
        kernel="rbf", loss="logistic", max_support=8, selection=selection
    )
    model.fit(X, y)
    assert len(model.search_) > 3
    assert all(trial["errors"][0] < 3 for trial in model.search_)
    assert model.score(X, y) > 0.75


# -- scoring -----------------------------------------------------------------------


def test_scoring_chooses_the_size(numbers):
    X, y = numbers

    def scored(scoring):
        selection = CrossValidation(tolerance=0.0, scoring=scoring)
        return KMPRegressor(selection=selection, max_support=20, **FIXED).fit(X, y)

    model = scored("neg_mean_absolute_error")
    assert np.all(model.search_[0]["errors"] > 0)
    same = scored(make_scorer(mean_absolute_error, greater_is_better=False))
    assert same.n_support_ == model.n_support_
    squares, plain = scored("neg_mean_squared_error"), scored(None)
    assert squares.n_support_ == plain.n_support_
    np.testing.assert_allclose(
        squares.search_[0]["errors"], plain.search_[0]["errors"], rtol=1e-8
    )


@pytest.mark.parametrize("scoring", ["accuracy", "roc_auc", "neg_log_loss"])
@pytest.mark.parametrize("rule", [CrossValidation, Validation])
@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_scores_of_classifiers(scoring, rule, loss, moons):
    X, y = moons
    how = {**FIXED, "max_support": 12, "selection": rule(scoring=scoring)}
    model = KMPClassifier(loss=loss, **how)
    if scoring == "neg_log_loss" and loss == "squared":
        with pytest.raises(AttributeError, match="predict_proba.*loss='logistic'"):
            model.fit(X, y)
        return
    assert model.fit(X, y).score(X, y) > 0.7
    assert 1 <= model.n_support_ <= 12


QUICK_SCORERS = {**QUICK_CLASS_SCORERS, **QUICK_NUMBER_SCORERS}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", QUICK_SCORERS)
def test_quick_scores_are_those_of_scikit_learn(name, weighted, rng):
    y, found = rng.integers(0, 3, (2, 40, 2)).astype(float)
    if name == "accuracy":
        y, found = y[:, 0], found[:, 0]
    how = {"sample_weight": rng.uniform(0.1, 2, 40)} if weighted else {}
    model = SimpleNamespace(predict=lambda X: found)
    wanted = {
        "accuracy": accuracy_score,
        "neg_mean_squared_error": lambda *a, **k: -mean_squared_error(*a, **k),
        "neg_mean_absolute_error": lambda *a, **k: -mean_absolute_error(*a, **k),
    }[name](y, found, **how)
    assert QUICK_SCORERS[name](model, None, y, **how) == pytest.approx(wanted)


def test_scores_that_do_not_suit_are_as_scikit_learn_has_them(numbers, moons):
    with pytest.raises(ValueError, match="continuous"):
        KMPRegressor(selection=CrossValidation(scoring="accuracy"), **FIXED).fit(
            *numbers
        )
    X, y = moons
    selection = CrossValidation(scoring="neg_mean_squared_error")
    how = {**FIXED, "selection": selection, "max_support": 12}
    assert KMPClassifier(**how).fit(X, y == y[0]).n_support_ > 0
    with pytest.raises(ValueError):
        KMPClassifier(**how).fit(X, np.where(y == y[0], "one", "other"))


def test_an_interrupt_while_a_step_is_judged_leaves_a_whole_path(moons):
    calls = []

    def scorer(model, X, y):
        calls.append(len(X))
        if len(calls) == 5:
            raise KeyboardInterrupt
        return model.score(X, y)

    how = {"gamma": 0.3, "alpha": 0.01, "selection": Validation(scoring=scorer)}
    model = KMPClassifier(loss="logistic", **how)
    with pytest.warns(UserWarning, match="interrupted after"):
        model.fit(*moons)
    assert model.truncate(len(model.path_)).n_support_ == len(model.path_) > 0


def test_a_constant_model_scores_as_chance(moons):
    """What it predicts must not betray the targets by rounding."""
    X, y = moons
    for loss in ("squared", "logistic"):
        selection = CrossValidation(scoring="roc_auc")
        model = KMPClassifier(loss=loss, selection=selection, **FIXED).fit(X, y)
        assert model.search_[0]["errors"][0] == pytest.approx(-0.5)


def test_scores_of_three_classes_and_with_weights(blobs):
    X, y = blobs
    selection = CrossValidation(scoring="balanced_accuracy")
    how = {**FIXED, "max_support": 12, "selection": selection}
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = KMPClassifier(**how).fit(X, y, sample_weight=weight)
    assert model.score(X, y) > 0.7
    with pytest.raises(ValueError, match="multiclass='shared'"):
        KMPClassifier(multiclass="ovr", **how).fit(X, y)


def test_a_score_that_is_not_finite(numbers):
    X, y = numbers
    for rule in (CrossValidation, Validation):
        selection = rule(scoring=lambda model, X, y: np.nan)
        with pytest.raises(ValueError, match="scoring gave nan on held-out rows"):
            KMPRegressor(selection=selection, **FIXED).fit(X, y)


def test_scored_models_in_cross_validation(moons):
    X, y = moons
    selection = CrossValidation(scoring="neg_log_loss")
    model = KMPClassifier(loss="logistic", selection=selection, **FIXED)
    scores = cross_val_score(model, X, y, cv=3, error_score="raise")
    assert scores.mean() > 0.7


# -- bad input ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "how", "message"),
    [
        (KMPClassifier, {"loss": "log"}, "loss='log' is not a loss for classification"),
        (KMPRegressor, {"loss": "logistic"}, "not a loss for regression"),
        (KMPRegressor, {"loss": Quantile(2)}, "quantile=2"),
        (KMPRegressor, {"method": PreFitting(0)}, "refit_every=0 must be"),
        (KMPRegressor, {"method": PreFitting(1.5)}, "refit_every=1.5 must be"),
        (KMPRegressor, {"method": BackFitting(True)}, "refit_every=True must be"),
        (KMPRegressor, {"loss": "huber", "selection": "loo"}, "needs loss='squared'"),
    ],
)
def test_bad_parameters(make, how, message, numbers, moons):
    X, y = numbers if make is KMPRegressor else moons
    with pytest.raises(ValueError, match=message):
        make(**{**FIXED, **how}).fit(X, y)


@pytest.mark.parametrize("rule", [CrossValidation, Validation])
@pytest.mark.parametrize(
    "scoring, message",
    [
        ("none such", "scoring='none such' is not a score"),
        (3, "scoring=3 is not a score"),
        (lambda *_: "high", "scoring gave 'high'"),
    ],
)
def test_bad_scores(rule, scoring, message, numbers):
    with pytest.raises(ValueError, match=message):
        KMPRegressor(selection=rule(scoring=scoring), **FIXED).fit(*numbers)


def test_leave_one_out_errors_are_not_scored():
    with pytest.raises(TypeError, match="scoring"):
        LeaveOneOut(scoring="r2")


@pytest.mark.parametrize("loss", FOR_CLASSES)
def test_two_points_of_two_classes(loss):
    X = np.array([[0.0], [1.0]])
    model = KMPClassifier(loss=loss, **FAST).fit(X, [0, 1])
    assert model.predict(X).tolist() == [0, 1]


@pytest.mark.parametrize("loss", FOR_NUMBERS)
def test_constant_targets(loss):
    X = np.arange(6.0)[:, None]
    model = KMPRegressor(loss=loss, **FAST).fit(X, np.full(6, 3.0))
    np.testing.assert_allclose(model.predict(X), 3.0, rtol=1e-6)


@pytest.mark.parametrize("loss", ["logistic", "hinge"])
def test_a_small_memory_gives_the_same_model(loss, rng):
    X = rng.normal(size=(1500, 3))
    y = X[:, 0] + X[:, 1] * X[:, 2] > 0
    how = {"loss": loss, "gamma": 0.3, "alpha": 0.1, "max_support": 8}
    plenty = KMPClassifier(selection=None, **how).fit(X, y)
    little = KMPClassifier(selection=None, max_memory="24 MiB", **how).fit(X, y)
    np.testing.assert_array_equal(plenty.support_, little.support_)
    with pytest.raises(ValueError, match="max_memory allows"):
        KMPClassifier(selection=None, max_memory="1 MiB", **how).fit(X, y)


def test_redrawn_candidates(moons):
    X, y = moons
    model = KMPClassifier(kernel="rbf", loss="logistic", n_candidates=Redrawn(9))
    model.set_params(**FAST, random_state=0).fit(X, y)
    assert model.n_support_ == 10
    assert log_loss(y, model.predict_proba(X)) < 0.6


def test_logistic_objects_are_the_name(moons):
    X, y = moons
    a = KMPClassifier(loss=Logistic(), **FAST).fit(X, y)
    b = KMPClassifier(loss="logistic", **FAST).fit(X, y)
    np.testing.assert_array_equal(a.predict_proba(X), b.predict_proba(X))


# -- published claims --------------------------------------------------------------


def splits(name, n_splits):
    if name not in datasets.available():
        pytest.skip(f"data set {name} not found: set PURSUIT_DATA")
    data = datasets.load(name)
    for train, test in data["splits"][:n_splits]:
        X = StandardScaler().fit(data["data"][train]).transform(data["data"])
        y = data["target"]
        yield X[train], y[train], X[test], y[test]


def kernel_logistic_regression(X, y):
    """On all points, width and penalty by cross-validation."""
    widths = [
        w * median_gamma(X) for w in (1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
    ]
    cs = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0]
    model = make_pipeline(
        Nystroem(n_components=len(y), random_state=0),
        LogisticRegression(max_iter=10_000),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # fewer components in the folds
        return GridSearchCV(
            model,
            {"nystroem__gamma": widths, "logisticregression__C": cs},
            scoring="neg_log_loss",
            cv=StratifiedKFold(5, shuffle=True, random_state=0),
        ).fit(X, y)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "n_splits", "most"),
    [("ripley", 1, 1.07), ("waveform", 4, 1.03), ("heart", 8, 1.03)],
)
def test_a_fifth_of_the_points_is_as_likely_as_all_of_them(name, n_splits, most):
    """Within 3 % of the test log-loss, over splits: one of heart's is off by 10 %.

    Ripley has one split only.
    """
    found = []
    for X, y, X_test, y_test in splits(name, n_splits):
        some = KMPClassifier(kernel="rbf", loss="logistic", max_support=0.2).fit(X, y)
        assert some.n_support_ <= 0.2 * len(y) + 1
        models = (some, kernel_logistic_regression(X, y))
        found.append([log_loss(y_test, m.predict_proba(X_test)) for m in models])
    ours, theirs = np.mean(found, axis=0)
    assert ours <= most * theirs


def test_errors_of_a_scorer_are_its_own(moons):
    def scorer(model, X, y):
        return np.nosuchname

    with pytest.raises(AttributeError, match="^module 'numpy' has no attribute"):
        KMPClassifier(kernel="rbf", selection=CrossValidation(scoring=scorer)).fit(
            *moons
        )
