"""How sizes are chosen: components, the words for them, and what they choose."""

import numpy as np
import pytest
from naming import named
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pursuit import KMPClassifier, KMPRegressor
from pursuit.estimators.kmp import planning
from pursuit.fitting import sizes
from pursuit.methods import BackFitting, Basic, PreFitting, Redrawn, as_method
from pursuit.selection import (
    CrossValidation,
    FixedSize,
    LeaveOneOut,
    MinimalBound,
    Validation,
    as_selection,
)

FIXED = {"gamma": 0.1, "alpha": 1e-3}
SELECTIONS = {
    "cv": CrossValidation,
    "validation": Validation,
    "loo": LeaveOneOut,
    "bound": MinimalBound,
    None: FixedSize,
}
METHODS = {"pre-fitting": PreFitting, "back-fitting": BackFitting, "basic": Basic}
COMPONENTS = [
    CrossValidation(KFold(3), tolerance="1se", scoring="r2"),
    Validation(0.3, patience=7, tolerance=0.0, scoring="r2"),
    LeaveOneOut(9, tolerance=0.2, n_folds=3),
    MinimalBound("vc", alpha=0.5, delta=0.1, patience=3, n_folds=4, scoring="r2"),
    FixedSize(4, scoring="r2"),
    PreFitting(3, tol=1e-6),
    BackFitting(2, tol=1e-8),
    Basic(),
    Redrawn(0.25),
]


def assert_same(ours, theirs, X):
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.dual_coef_, theirs.dual_coef_)
    np.testing.assert_array_equal(ours.path_.errors, theirs.path_.errors)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(X))
    assert ours.selection_ == theirs.selection_
    assert ours.stop_reason_ == theirs.stop_reason_


# -- components --------------------------------------------------------------------


@pytest.mark.parametrize("component", COMPONENTS, ids=named)
def test_components_are_cloned_and_shown(component):
    twin = clone(component)
    assert twin is not component
    assert repr(twin) == repr(component)
    parameters = component.get_params()
    assert type(component)(**parameters).get_params() == parameters
    for name, value in parameters.items():
        # Parameters are only stored.
        assert getattr(component, name) is value
        assert f"{name}=" in repr(component)


@pytest.mark.parametrize("make", [KMPRegressor, KMPClassifier])
@pytest.mark.parametrize("component", COMPONENTS, ids=named)
def test_parameters_of_components_are_parameters_of_the_model(make, component):
    place = {Redrawn: "n_candidates"}.get(type(component), "selection")
    place = "method" if type(component) in METHODS.values() else place
    model = make(**{place: component})
    for name, value in component.get_params().items():
        assert model.get_params()[f"{place}__{name}"] is value
    twin = clone(model)
    assert getattr(twin, place) is not component
    assert repr(getattr(twin, place)) == repr(component)
    for name in component.get_params(deep=False):
        twin.set_params(**{f"{place}__{name}": 0.125})
        assert getattr(getattr(twin, place), name) == 0.125
        assert getattr(component, name) != 0.125


@pytest.mark.parametrize("word", SELECTIONS)
@pytest.mark.parametrize("make", [KMPRegressor, KMPClassifier])
@pytest.mark.parametrize("how", [FIXED, {"max_support": 12}], ids=["fixed", "search"])
def test_words_are_selections_with_their_defaults(word, make, how, diabetes):
    X, y = diabetes[0][:150], diabetes[1][:150]
    y = y > 0 if make is KMPClassifier else y
    by_word = make(selection=word, **how).fit(X, y)
    assert_same(make(selection=SELECTIONS[word](), **how).fit(X, y), by_word, X)
    assert by_word.selection_ == word
    assert type(as_selection(word)) is SELECTIONS[word]


@pytest.mark.parametrize("word", METHODS)
def test_words_are_methods_with_their_defaults(word, regression):
    X, y = regression
    how = {**FIXED, "max_support": 15}
    by_word = KMPRegressor(method=word, **how).fit(X, y)
    assert_same(KMPRegressor(method=METHODS[word](), **how).fit(X, y), by_word, X)
    assert type(as_method(word)) is METHODS[word]


def test_a_count_is_redrawn_as_its_share(regression):
    X, y = regression
    how = {**FIXED, "selection": None, "max_support": 15, "random_state": 0}
    count = KMPRegressor(n_candidates=Redrawn(9), **how).fit(X, y)
    assert_same(KMPRegressor(n_candidates=Redrawn(0.1), **how).fit(X, y), count, X)
    # There are no more than all.
    most = KMPRegressor(n_candidates=Redrawn(10**6), **how).fit(X, y)
    every = KMPRegressor(n_candidates=Redrawn(1.0), **how).fit(X, y)
    assert_same(most, every, X)


def test_a_large_share_that_must_lie_outside_the_span_ends_a_path(regression):
    X, y = regression
    how = {"gamma": 0.01, "alpha": 0.0, "selection": None, "max_support": 60}
    short = KMPRegressor(method=PreFitting(tol=0.5), **how).fit(X, y)
    assert 0 < len(short.path_) < len(KMPRegressor(**how).fit(X, y).path_)
    assert short.stop_reason_.startswith("exhausted")


def test_components_of_a_model_stay_as_they_are(regression):
    for component in (CrossValidation(3), Validation(0.3), LeaveOneOut(4)):
        before = repr(component)
        model = KMPRegressor(kernel="rbf", selection=component, max_support=6).fit(
            *regression
        )
        assert model.selection is component
        assert repr(component) == before
        assert set(vars(component)) == set(component.get_params(deep=False))


def test_components_can_be_searched(regression):
    X, y = regression
    model = KMPRegressor(
        selection=CrossValidation(3), method=PreFitting(), max_support=12, **FIXED
    )
    grid = {"selection__tolerance": [0.0, 0.5], "method__refit_every": [1, 4]}
    found = GridSearchCV(model, grid, cv=3, error_score="raise").fit(X, y)
    assert found.best_params_.keys() == grid.keys()
    assert len(np.unique(found.cv_results_["mean_test_score"])) > 1
    best = found.best_estimator_
    assert best.selection.tolerance == found.best_params_["selection__tolerance"]
    # The model that was given has the parameters that it had.
    assert (model.selection.tolerance, model.method.refit_every) == ("auto", 1)
    rules = {"kmpregressor__selection": ["loo", Validation(0.3), FixedSize()]}
    pipeline = make_pipeline(StandardScaler(), model)
    found = GridSearchCV(pipeline, rules, cv=3, error_score="raise").fit(X, y)
    assert found.best_score_ > 0.3


@pytest.mark.parametrize("word", SELECTIONS)
def test_parameters_of_words_are_those_of_their_objects(word):
    name, *_ = SELECTIONS[word]().get_params()
    model = KMPRegressor(kernel="rbf", selection=word).set_params(
        **{f"selection__{name}": 0.125}
    )
    assert type(model.selection) is SELECTIONS[word]
    assert getattr(model.selection, name) == 0.125
    with pytest.raises(ValueError, match="Invalid parameter 'nothing'"):
        KMPRegressor(kernel="rbf", selection=word).set_params(selection__nothing=1)
    with pytest.raises(ValueError, match="selection='nothing' is not known"):
        KMPRegressor(kernel="rbf", selection="nothing").set_params(selection__n_folds=1)


# -- what they choose --------------------------------------------------------------


def test_a_fraction_is_held_out(regression):
    X, y = regression
    how = {**FIXED, "max_support": 10}
    for fraction in (0.1, 0.3, 0.5):
        model = KMPRegressor(selection=Validation(fraction), **how).fit(X, y)
        # Functions stand on fitted rows only.
        everything = KMPRegressor(
            kernel="rbf", selection=Validation(fraction), max_support=90
        )
        everything.set_params(**FIXED).fit(X, y)
        assert model.n_support_ <= 10
        assert len(everything.path_) <= 90 - round(90 * fraction)


def test_a_patience_ends_leave_one_out(diabetes):
    X, y = diabetes
    paths = [
        KMPRegressor(selection=LeaveOneOut(n), **FIXED).fit(X, y).path_
        for n in (1, 5, 20, None)
    ]
    lengths = [len(path) for path in paths]
    assert lengths == sorted(lengths)
    assert lengths[0] < lengths[-1]
    by_word = KMPRegressor(selection="loo", **FIXED).fit(X, y)
    assert len(by_word.path_) == lengths[1]


def test_leave_one_out_errors_are_those_of_fits_without_each_row(regression):
    """With fixed functions, as the closed form has it."""
    X, y = regression[0][:40], regression[1][:40]
    seen, errors_of = [], sizes.leave_one_out_errors

    def errors(pursuit, counts):
        seen[:] = errors_of(pursuit, counts)
        return np.array(seen)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sizes, "leave_one_out_errors", errors)
        how = {"gamma": 0.1, "alpha": 0.1, "max_support": 6}
        model = KMPRegressor(selection=LeaveOneOut(50), **how).fit(X, y)
    for size in (0, 1, 3, 6):
        # The ridge is on the functions only, not on the constant.
        G = np.column_stack([np.ones(40), model.truncate(size).atoms_(X)])
        ridge = 0.1 * np.diag([0.0, *np.ones(size)])
        gaps = []
        for row in range(40):
            rest = np.arange(40) != row
            A = G[rest].T @ G[rest] + ridge
            gaps.append(y[row] - G[row] @ np.linalg.solve(A, G[rest].T @ y[rest]))
        assert seen[size] == pytest.approx(np.mean(np.square(gaps)), rel=1e-6)


def test_one_part_replaces_folds_on_many_rows(monkeypatch):
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    monkeypatch.setattr(planning, "CV_ROWS", 250)
    how = {"max_support": 15, **FIXED}
    rule = CrossValidation(5, tolerance=0.2, scoring="neg_mean_absolute_error")
    model = KMPRegressor(selection=rule, **how).fit(X, y)
    part = Validation(tolerance=0.2, scoring="neg_mean_absolute_error")
    assert_same(model, KMPRegressor(selection=part, **how).fit(X, y), X)
    assert model.selection_ == "validation"
    given = CrossValidation(KFold(5, shuffle=True, random_state=0))
    assert KMPRegressor(selection=given, **how).fit(X, y).selection_ == "cv"
    few = KMPRegressor(selection=rule, **how).fit(X[:250], y[:250])
    assert few.selection_ == "cv"


# -- categories --------------------------------------------------------------------


def categories(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n_rows, 2)).astype(float)
    return X, (rng.random(n_rows) < 0.2 + 0.3 * X[:, 0]).astype(float)


def table(n_rows, seed):
    """Twelve by ten categories with a mean of their own each, one-hot."""
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 12, n_rows), rng.integers(0, 10, n_rows)
    X = np.column_stack([a[:, None] == np.arange(12), b[:, None] == np.arange(10)])
    means = np.random.default_rng(7).normal(size=(12, 10))
    return X.astype(float), means[a, b] + 0.3 * rng.normal(size=n_rows)


@pytest.mark.parametrize("selection", ["cv", "validation"])
@pytest.mark.parametrize("unit", [None, 1e-3, 20.0])
def test_many_categories_are_learned(selection, unit):
    X, y = table(1500, 0)
    X_new, y_new = table(1000, 1)
    weight = None if unit is None else np.full(1500, unit)
    model = KMPRegressor(kernel="rbf", selection=selection).fit(X, y, weight)
    assert model.score(X_new, y_new) > 0.85
    model = KMPClassifier(kernel="rbf", selection=selection).fit(X, y > 0, weight)
    assert model.score(X_new, y_new > 0) > 0.85


def test_weights_below_one_mean_their_ratios():
    X, y = categories(300)
    target = X[:, 0] * X[:, 1] + np.random.default_rng(0).normal(size=300)
    for model, t in (
        (KMPRegressor(kernel="rbf"), target),
        (KMPClassifier(kernel="rbf"), y),
    ):
        wanted = model.fit(X, t).predict(X)
        for unit in (0.3, 1 / 300):
            found = model.fit(X, t, np.full(300, unit)).predict(X)
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("unit", [9.0, 50.0, 1e4])
def test_large_weights_are_not_taken_for_categories(unit):
    X, y = make_friedman1(80, noise=2.0, random_state=0)
    X_new, y_new = make_friedman1(1000, noise=0.0, random_state=1)
    wanted = KMPRegressor(kernel="rbf").fit(3 * X, y).score(3 * X_new, y_new)
    found = (
        KMPRegressor(kernel="rbf")
        .fit(3 * X, y, np.full(80, unit))
        .score(3 * X_new, y_new)
    )
    assert found > wanted - 0.05


def test_categories_get_a_model_of_their_own_size():
    """Nine kinds of rows with probabilities of their own: all of them matter."""
    X, y = categories(600)
    model = KMPClassifier(kernel="rbf", loss="logistic").fit(X, y)
    assert model.n_support_ >= 2
    expected = 0.2 + 0.3 * X[:, 0]
    assert np.abs(model.predict_proba(X)[:, 1] - expected).mean() < 0.08
