"""Searches for width and ridge; among many rows they use some, models use all."""

from types import SimpleNamespace

import numpy as np
import pytest
from naming import named
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit

from pursuit import KMPClassifier, KMPRegressor
from pursuit._interrupts import Interrupted
from pursuit.dictionaries import Features, ManyWidths, OneKernel
from pursuit.estimators.kmp import planning
from pursuit.fitting import engines, parts, procedure, search
from pursuit.kernels import Polynomial, Sigmoid
from pursuit.selection import (
    CrossValidation,
    FixedSize,
    LeaveOneOut,
    MinimalBound,
    Validation,
)


@pytest.fixture
def data():
    X, y = make_friedman1(300, noise=1.0, random_state=0)
    return X[:, :5], y


@pytest.fixture(autouse=True)
def enough(monkeypatch):
    """Let few be enough."""
    monkeypatch.setattr(search, "ENOUGH_ATOMS", 60)
    monkeypatch.setattr(search, "ENOUGH_ROWS", 200)
    monkeypatch.setattr(search, "HELD_OUT_TO_RANK", 50)
    monkeypatch.setattr(parts, "_LEAST_OF_A_PART", 5)


@pytest.fixture
def seen(monkeypatch):
    """The plan of a fit, and its part that the search uses."""
    plans = SimpleNamespace()
    part_to_search = search.part_to_search

    def part(plan):
        plans.whole, plans.part = plan, part_to_search(plan)
        return plans.part

    monkeypatch.setattr(search, "part_to_search", part)
    return plans


# -- what is looked at -------------------------------------------------------------


def part_of(seen):
    """Return the plan of the part, its problem, and its middle dictionary."""
    plan = seen.part
    return plan, plan.template, plan.grid.dictionaries[0]


def test_some_functions_rows_and_folds_are_looked_at(data, seen):
    X, y = data
    KMPRegressor(kernel="rbf", max_support=20).fit(X, y)
    plan, problem, dictionary = part_of(seen)
    assert len(plan.grid.labels) == len(dictionary) == 60
    assert plan.sample.X.shape == (200, 5)
    assert problem.Y.shape == (1, 200)
    assert problem.candidates.shape == (60,)
    # Ten folds of 30 rows, of which some are not looked at.
    assert len(seen.whole.folds) == 10
    assert len(plan.folds) == 2
    assert all(part.shape == (200,) and part.any() for part in plan.folds.parts)
    # Functions stand on rows that are looked at: all may be chosen.
    assert np.isin(plan.grid.atom_sets, plan.sample.sets).all()
    np.testing.assert_array_equal(X[plan.grid.labels], dictionary.centers)
    some = {tuple(row) for row in plan.sample.X}
    assert all(tuple(center) in some for center in dictionary.centers)
    # The rows are those of the whole, with their targets.
    rows = [np.flatnonzero((row == X).all(axis=1))[0] for row in plan.sample.X]
    np.testing.assert_array_equal(plan.sample.Y[0], y[rows])
    np.testing.assert_array_equal(problem.Y, plan.sample.Y)


def test_there_are_two_functions_a_step_at_least(data, seen):
    KMPRegressor(kernel="rbf", max_support=50).fit(*data)
    assert len(seen.part.grid.labels) == 100


def test_few_data_are_looked_at_whole(data, seen):
    X, y = data
    weight = np.ones(300)
    weight[50:] = 0
    KMPRegressor(kernel="rbf", max_support=20).fit(X, y, weight)
    assert seen.part is seen.whole
    KMPRegressor(kernel="rbf", max_support=20).fit(X[:50], y[:50])
    assert seen.part is seen.whole


def test_nothing_to_compare_is_not_searched(data, seen):
    KMPRegressor(max_support=20, gamma=0.1, alpha=0.1).fit(*data)
    assert seen.part is seen.whole


@pytest.mark.parametrize(
    "folds", [KFold(5), ShuffleSplit(3, random_state=0), GroupKFold(5)], ids=named
)
@pytest.mark.parametrize("rule", [CrossValidation, FixedSize])
def test_folds_that_were_given_are_kept(data, seen, folds, rule):
    groups = np.arange(300) // 10 if isinstance(folds, GroupKFold) else None
    KMPRegressor(kernel="rbf", max_support=20, selection=rule(folds)).fit(
        *data, groups=groups
    )
    assert len(seen.part.grid.labels) == 60
    assert seen.part.sample.X.shape == (300, 5)
    np.testing.assert_array_equal(seen.part.folds.parts, seen.whole.folds.parts)


def test_the_only_held_out_part_is_kept(data, seen):
    KMPRegressor(kernel="rbf", max_support=20, selection="validation").fit(*data)
    (fold,) = seen.part.folds.parts
    assert fold.shape == (200,)
    assert 20 < fold.sum() < 60


@pytest.mark.parametrize("selection", ["cv", "validation"])
@pytest.mark.parametrize("kind", [KMPClassifier, KMPRegressor])
def test_held_out_rows_are_some_of_those_looked_at(data, seen, kind, selection):
    X, y = data
    y = y > np.median(y) if kind is KMPClassifier else y
    kind(kernel="rbf", max_support=20, selection=selection).fit(X, y)
    folds = seen.part.folds
    for fold, is_open in zip(folds.parts, folds.open_atoms, strict=True):
        assert 0.3 < fold.mean() / (0.1 if selection == "cv" else 0.2) < 2
        assert is_open.shape == (60,)
        assert 0.6 < is_open.mean() < 1


def test_small_classes_and_small_held_out_parts_are_kept(data, seen):
    X, y = data
    rare = y > np.sort(y)[-21]
    KMPClassifier(kernel="rbf", max_support=20, selection="validation").fit(X, rare)
    (fold,), Y = seen.part.folds.parts, seen.part.sample.Y[0]
    assert np.count_nonzero(Y[fold] > 0) == 4
    assert np.count_nonzero(Y[~fold] > 0) >= 12
    KMPRegressor(kernel="rbf", max_support=20, selection=Validation(0.02)).fit(X, y)
    assert np.count_nonzero(seen.part.folds.parts[0]) == 6


@pytest.mark.parametrize("rule", [CrossValidation, Validation])
def test_scores_are_of_the_rows_that_are_looked_at(data, rule):
    X, y = data
    scored, plain = (
        KMPRegressor(
            kernel="rbf", max_support=20, selection=rule(tolerance=0.0, scoring=scoring)
        )
        for scoring in ("neg_mean_squared_error", None)
    )
    scored.fit(X, y)
    plain.fit(X, y)
    assert len(scored.search_) == len(plain.search_)
    for ours, theirs in zip(scored.search_, plain.search_, strict=True):
        np.testing.assert_allclose(ours["errors"], theirs["errors"], rtol=1e-6)


def test_no_copy_is_made_of_data_that_are_looked_at_whole(data, seen):
    X, y = data
    K = X @ X.T
    selection = CrossValidation(KFold(5))
    KMPRegressor("precomputed", max_support=20, selection=selection).fit(K, y)
    assert seen.part is not seen.whole
    assert np.shares_memory(seen.part.sample.X, K)


def test_functions_that_stand_on_no_row_are_kept(data, seen):
    KMPRegressor(dictionary=OneKernel() + Features(), max_support=20).fit(*data)
    assert len(seen.part.grid.labels) == 60 + 5
    rows = seen.part.grid.dictionaries[0].rows
    assert np.count_nonzero(rows < 0) == 5


def test_several_functions_a_row(data, seen):
    KMPRegressor(dictionary=ManyWidths(multiples=(0.5, 2.0)), max_support=20).fit(*data)
    assert len(seen.part.grid.labels) == 60
    assert len(np.unique(seen.part.grid.dictionaries[0].rows)) == 30


# -- what comes of it --------------------------------------------------------------


def test_sizes_are_chosen_with_all_functions_and_folds(data):
    X, y = data
    model = KMPRegressor(kernel="rbf", max_support=20).fit(X, y)
    gamma, alpha = model.gamma_, model.alpha_
    best = min(model.search_[:-1], key=lambda row: row["errors"].min())
    assert (best["gamma"], best["alpha"]) == (gamma, alpha)
    alone = KMPRegressor(max_support=20, gamma=gamma, alpha=alpha).fit(X, y)
    np.testing.assert_array_equal(model.support_, alone.support_)
    np.testing.assert_allclose(
        model.search_[-1]["errors"], alone.search_[0]["errors"], rtol=1e-9
    )


def test_as_many_folds_choose_the_size_as_hold_out_enough_rows(data, monkeypatch):
    X, y = data
    how = {"max_support": 20, "gamma": 0.3, "alpha": 0.1}
    every = KMPRegressor(**how).fit(X, y)
    monkeypatch.setattr(planning, "HELD_OUT_TO_SIZE", 100)
    some = KMPRegressor(**how).fit(X, y)
    assert len(np.unique(every.search_[0]["errors"] - some.search_[0]["errors"])) > 1
    # Four of ten folds hold out 120 rows.
    monkeypatch.setattr(planning, "HELD_OUT_TO_SIZE", 120)
    again = KMPRegressor(**how).fit(X, y)
    np.testing.assert_array_equal(again.search_[0]["errors"], some.search_[0]["errors"])
    given = KFold(10)
    monkeypatch.undo()
    whole = KMPRegressor(selection=CrossValidation(given), **how).fit(X, y)
    monkeypatch.setattr(planning, "HELD_OUT_TO_SIZE", 100)
    still = KMPRegressor(selection=CrossValidation(given), **how).fit(X, y)
    np.testing.assert_array_equal(
        whole.search_[0]["errors"], still.search_[0]["errors"]
    )


def test_weights_count_as_repeated_rows_where_folds_are_left_out(data, monkeypatch):
    X, y = data
    monkeypatch.setattr(planning, "HELD_OUT_TO_SIZE", 100)
    once = KMPRegressor(kernel="rbf", max_support=20).fit(X, y, np.full(300, 2.0))
    twice = KMPRegressor(kernel="rbf", max_support=20).fit(
        np.tile(X, (2, 1)), np.tile(y, 2)
    )
    assert (once.gamma_, once.alpha_) == (twice.gamma_, twice.alpha_)
    np.testing.assert_allclose(
        once.search_[-1]["errors"], twice.search_[-1]["errors"], rtol=1e-6
    )


@pytest.mark.parametrize("multiclass", ["shared", "ovr"])
def test_inner_products_that_chose_the_size_serve_the_model(
    data, monkeypatch, multiclass
):
    X, y = data
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    model = KMPClassifier(kernel="rbf", max_support=20, multiclass=multiclass)
    kinds, run = [], procedure.run

    def run_final(pursuits, watch):
        kinds.append(type(pursuits[0]))
        run(pursuits, watch)

    monkeypatch.setattr(procedure, "run", run_final)
    values = model.fit(X, labels).decision_function(X)
    monkeypatch.setattr(engines.Workbench, "suits_model", lambda *_: False)
    again = model.fit(X, labels).decision_function(X)
    assert kinds == [engines.GramPursuit, engines.Pursuit]
    np.testing.assert_allclose(again, values, rtol=1e-6)


@pytest.mark.parametrize("selection", ["validation", "loo", "bound", None])
def test_other_rules_choose_as_if_width_and_ridge_had_been_given(data, selection):
    X, y = data
    model = KMPRegressor(kernel="rbf", max_support=20, selection=selection).fit(X, y)
    gamma, alpha = model.gamma_, model.alpha_
    alone = KMPRegressor(
        max_support=20, selection=selection, gamma=gamma, alpha=alpha
    ).fit(X, y)
    np.testing.assert_array_equal(model.support_, alone.support_)


@pytest.mark.parametrize("selection", ["cv", "validation"])
def test_neither_order_nor_copies_matter(data, selection, rng):
    X, y = data
    order = rng.permutation(300)
    copies = np.concatenate([order, order[:40], order[:40]])
    weight = np.ones(300)
    weight[order[:40]] = 3
    how = {"kernel": "rbf", "max_support": 20, "selection": selection}
    model = KMPRegressor(**how).fit(X, y, weight)
    again = KMPRegressor(**how).fit(X[copies], y[copies])
    assert (model.gamma_, model.alpha_) == (again.gamma_, again.alpha_)
    np.testing.assert_allclose(model.predict(X), again.predict(X), rtol=1e-6)


def test_sparse_and_precomputed_data_are_searched_alike(data):
    X, y = data
    X = np.where(X > 0.5, X, 0.0)
    how = {"max_support": 20, "gamma": 0.3}
    dense = KMPRegressor(**how).fit(X, y)
    thin = KMPRegressor(**how).fit(sparse.csr_array(X), y)
    assert dense.alpha_ == thin.alpha_
    np.testing.assert_array_equal(dense.support_, thin.support_)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(axis=2))
    given = KMPRegressor("precomputed", max_support=20).fit(K, y)
    assert len(given.search_) > 5
    assert given.score(K, y) > 0.6


def test_every_class_has_its_own_size(data):
    X, y = data
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    model = KMPClassifier(kernel="rbf", max_support=20, multiclass="ovr").fit(X, labels)
    sizes = np.count_nonzero(model.dual_coef_, axis=1)
    assert len(np.unique(sizes)) > 1
    alone = clone(model).set_params(gamma=model.gamma_, alpha=model.alpha_)
    alone.fit(X, labels)
    np.testing.assert_array_equal(np.count_nonzero(alone.dual_coef_, axis=1), sizes)
    assert model.score(X, labels) > 0.6


def test_an_interrupted_choice_of_the_size(data, monkeypatch):
    shared_curves = search.shared_curves

    def interrupted(bench, problems, folds, *how, **more):
        # Only the choice of the size uses all folds.
        if len(folds) == 10:
            raise Interrupted([])
        return shared_curves(bench, problems, folds, *how, **more)

    monkeypatch.setattr(search, "shared_curves", interrupted)
    with pytest.warns(UserWarning, match="choice of a size was interrupted"):
        model = KMPRegressor(kernel="rbf", max_support=20).fit(*data)
    assert model.n_support_ > 0
    tried = [(row["gamma"], row["alpha"]) for row in model.search_]
    assert len(tried) == len(set(tried))
    assert model.stop_reason_.startswith("interrupted")


# -- which widths and ridges are tried ---------------------------------------------


def test_all_widths_are_tried_where_none_of_the_first_is_any_good():
    """The median is far too wide for a wave of many periods."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (300, 1))
    y = np.sin(20 * X[:, 0]) + 0.1 * rng.normal(size=300)
    model = KMPRegressor(kernel="rbf").fit(X, y)
    assert model.score(X, y) > 0.9
    model = KMPClassifier(kernel="rbf", loss="logistic", max_support=60).fit(X, y > 0)
    assert model.score(X, y > 0) > 0.85
    noise = KMPRegressor(kernel="rbf").fit(X, rng.normal(size=300))
    tried = {row["gamma"] for row in noise.search_}
    assert max(tried) / min(tried) == pytest.approx(256 * 64)


@pytest.mark.parametrize(
    "kernel", [Polynomial(2, "cv", 1.0), Sigmoid("cv", 0.5)], ids=named
)
def test_widths_of_a_kernel_object_are_searched(data, kernel):
    X, y = data
    model = KMPRegressor(kernel, max_support=20).fit(X, y)
    widths = sorted({row["gamma"] for row in model.search_})
    assert len(widths) > 2
    assert model.gamma_ in widths
    # The object stays as it is; the functions have the best width, all else as given.
    assert kernel.gamma == "cv"
    assert model.atoms_.kernel.gamma == model.gamma_
    kept = {**kernel.get_params(), "gamma": model.gamma_}
    assert model.atoms_.kernel.get_params() == kept
    given = clone(kernel).set_params(gamma=model.gamma_)
    alone = KMPRegressor(given, alpha=model.alpha_, max_support=20).fit(X, y)
    np.testing.assert_array_equal(model.support_, alone.support_)
    np.testing.assert_allclose(model.predict(X), alone.predict(X), rtol=1e-6)


def test_a_kernel_object_is_searched_as_its_name(data):
    X, y = data
    named = KMPRegressor("poly", max_support=10).fit(X, y)
    model = KMPRegressor(Polynomial(gamma="cv"), max_support=10).fit(X, y)
    assert model.gamma_ == named.gamma_
    np.testing.assert_array_equal(model.predict(X), named.predict(X))


@pytest.mark.parametrize(
    "selection",
    [FixedSize(3), LeaveOneOut(n_folds=3), MinimalBound(n_folds=3), CrossValidation(3)],
    ids=named,
)
def test_folds_of_every_rule_compare_widths(data, seen, selection):
    KMPRegressor(kernel="rbf", max_support=20, selection=selection).fit(*data)
    assert len(seen.whole.folds) == 3


@pytest.mark.parametrize(
    "rule", [CrossValidation, Validation, MinimalBound, FixedSize], ids=named
)
def test_scores_of_every_rule_compare_widths(data, rule):
    X, y = data
    scored = KMPRegressor(
        kernel="rbf", max_support=10, selection=rule(scoring="neg_mean_absolute_error")
    )
    gaps = [np.abs(y - np.median(y)).mean(), np.abs(y - y.mean()).mean()]
    first = scored.fit(X, y).search_[0]["errors"][0]
    # The error of the constant, on some rows.
    assert 0.8 * min(gaps) < first < 1.2 * max(gaps)
