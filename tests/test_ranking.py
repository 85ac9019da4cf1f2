"""Ranking: losses of groups, scores of rankings, and the estimator."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
import reference
from naming import named
from scipy import sparse
from scipy.optimize import minimize
from sklearn import config_context
from sklearn.metrics import make_scorer, ndcg_score, roc_auc_score
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    cross_val_score,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import pursuit
from pursuit import CrossValidation, KMPRanker, KMPRegressor, Validation, losses
from pursuit.engine.groups import centered
from pursuit.fitting.folds import hold_out, make_folds
from pursuit.gradients import column_scales
from pursuit.inspection import PathDisplay
from pursuit.losses import PairwiseLogistic, PairwiseSquaredHinge, PlackettLuce
from pursuit.ranking import ndcg, pairwise_accuracy
from pursuit.sample import Sample

FAST = {"kernel": "rbf", "gamma": 0.5, "alpha": 1e-2, "max_support": 12}
LOSSES = [PairwiseLogistic(), PairwiseSquaredHinge(), PlackettLuce()]
NAMES = list(losses.RANKING)


# -- scikit-learn's own checks ---------------------------------------------------------


@parametrize_with_checks(
    [
        KMPRanker(max_support=10),
        KMPRanker("rbf", gamma="median", max_support=20),
        *(
            KMPRanker("rbf", loss=loss, gamma="median", alpha=1e-2, max_support=8)
            for loss in NAMES[1:]
        ),
        KMPRanker(gamma="median", alpha=1e-2, max_support=9, selection="validation"),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- data ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def queries():
    """Rows of 30 groups in any order, each with a number of its own in its grades."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(240, 2))
    groups = rng.permutation(np.arange(240) % 30)
    own = rng.integers(0, 9, size=30)
    y = own[groups] + np.digitize(np.sin(2 * X[:, 0]) + X[:, 1], [-1, 0, 1])
    return X, y.astype(float), groups


def case(rng, n=40, n_groups=5, n_grades=4):
    groups = rng.integers(0, n_groups, n)
    y = rng.integers(0, n_grades, n).astype(float)
    weight = rng.uniform(0.2, 2.0, n)
    return groups, y, rng.normal(size=n), weight


# -- losses ----------------------------------------------------------------------------


def of_difference(loss):
    return {
        "PairwiseLogistic": lambda d: np.log1p(np.exp(-d)),
        "PairwiseSquaredHinge": lambda d: max(0.0, 1.0 - d) ** 2,
    }[type(loss).__name__]


def literal(loss, y, f, groups, weight):
    if isinstance(loss, PlackettLuce):
        return reference.lists_loss(y, f, groups, weight)
    return reference.pairs_loss(of_difference(loss), y, f, groups, weight)


def total(loss, y, f, weight):
    return float(loss.value(y[None], f[None])[0] @ weight)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("n_grades", [2, 4, 1000])
def test_losses_are_those_of_all_pairs(loss, n_grades, rng):
    for scale in (0.1, 1.0, 5.0):
        groups, y, f, weight = case(rng, n_grades=n_grades)
        bound = loss.within(groups, y, weight)
        wanted = literal(loss, y, scale * f, groups, weight)
        assert total(bound, y, scale * f, weight) == pytest.approx(wanted, rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("n_grades", [2, 1000])
def test_derivatives_are_those_of_the_loss(loss, n_grades, rng):
    groups, y, f, weight = case(rng, n_grades=n_grades)
    bound, n, step = loss.within(groups, y, weight), len(y), 1e-5
    slope = weight * bound.gradient(y[None], f[None])[0]
    bend = weight * bound.curvature(y[None], f[None])[0]
    v = rng.normal(size=n)
    bent = weight * bound.bent(y[None], f[None], v[None])[0]
    numbers, second = np.empty(n), np.empty((n, n))
    for i, e in enumerate(step * np.eye(n)):
        high, low = total(bound, y, f + e, weight), total(bound, y, f - e, weight)
        numbers[i] = (high - low) / (2 * step)
        above, below = (bound.gradient(y[None], (f + s)[None])[0] for s in (e, -e))
        second[i] = weight * (above - below) / (2 * step)
    np.testing.assert_allclose(slope, numbers, atol=1e-7)
    np.testing.assert_allclose(bend, np.diag(second), atol=1e-6)
    np.testing.assert_allclose(bent, second @ v, atol=1e-5)
    assert np.abs(second).max() > 0.1


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_a_number_for_each_group_changes_nothing(loss, rng):
    groups, y, f, weight = case(rng)
    bound, own = loss.within(groups, y, weight), rng.normal(size=5)[groups]
    assert total(bound, y, f + own, weight) == pytest.approx(total(bound, y, f, weight))
    shifted = loss.within(groups, y + own, weight)
    assert total(shifted, y, f, weight) == pytest.approx(total(bound, y, f, weight))


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_weights_are_numbers_of_rows(loss, rng):
    groups, y, f, _ = case(rng)
    weight = rng.integers(0, 3, len(y)).astype(float)
    copies = np.repeat(np.arange(len(y)), weight.astype(int))
    ones = np.ones(len(copies))
    twice = loss.within(groups[copies], y[copies], ones)
    wanted = total(twice, y[copies], f[copies], ones)
    bound = loss.within(groups, y, weight)
    assert total(bound, y, f, weight) == pytest.approx(wanted)
    slopes = twice.gradient(y[None, copies], f[None, copies])[0]
    found = bound.gradient(y[None], f[None])[0][copies]
    np.testing.assert_allclose(found, slopes, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_far_scores_stay_finite(loss, rng):
    groups, y, f, weight = case(rng)
    weight[:7] = weight[groups == 2] = 0.0
    bound = loss.within(groups, y, weight)
    for scale in (1e2, 1e4, 1e8):
        far = scale * f[None]
        for values in (
            bound.value(y[None], far),
            bound.gradient(y[None], far),
            bound.curvature(y[None], far),
            bound.bent(y[None], far, f[None]),
        ):
            assert np.isfinite(values).all()
        assert np.all(bound.curvature(y[None], far) >= -1e-9)


def test_squares_around_the_means_are_those_of_all_pairs(rng):
    groups, y, f, weight = case(rng)
    rest = centered((y - f)[None], groups, weight)[0]
    wanted = 0.0
    for i in range(len(y)):
        for j in range(i):
            if groups[i] == groups[j]:
                share = weight[i] * weight[j] / weight[groups == groups[i]].sum()
                wanted += share * ((y[i] - y[j]) - (f[i] - f[j])) ** 2
    assert weight @ rest**2 == pytest.approx(wanted)


def test_what_is_constant_in_each_group_becomes_zero(rng):
    groups, _, _, weight = case(rng)
    values = 1e6 * rng.normal(size=5)[groups]
    assert not centered(values[None], groups, weight).any()
    for dtype in (np.float64, np.float32):
        assert not centered(values[None].astype(dtype), groups, weight).any()


def test_wrong_losses_are_named(queries):
    X, y, groups = queries
    for loss, words in (
        ("hinge", "did you mean|not a loss for ranking"),
        (losses.Logistic(), "not a loss for ranking"),
        (losses.Huber(), "subclass of pursuit.losses.GroupLoss"),
    ):
        with pytest.raises(ValueError, match=words):
            KMPRanker(**FAST, loss=loss).fit(X, y, groups=groups)


# -- scores ----------------------------------------------------------------------------


@pytest.mark.parametrize("k", [None, 1, 3, 50])
def test_ndcg_is_that_of_scikit_learn(k, rng):
    groups, y, f, _ = case(rng, n=120)
    f = np.round(f, 1)  # with ties
    each = [
        ndcg_score([y[groups == g]], [f[groups == g]], k=k) for g in np.unique(groups)
    ]
    assert ndcg(y, f, groups, k=k) == pytest.approx(np.mean(each))


def test_pairwise_accuracy_is_that_of_all_pairs(rng):
    for n_grades, digits in ((2, 0), (5, 1), (100, 8)):
        groups, y, f, _ = case(rng, n=80, n_grades=n_grades)
        f = np.round(f, digits)
        wanted = reference.pairwise_accuracy(y, f, groups)
        assert pairwise_accuracy(y, f, groups) == pytest.approx(wanted)
    y = np.arange(80) % 2
    assert pairwise_accuracy(y, f) == pytest.approx(roc_auc_score(y, f))


def test_groups_of_one_grade_do_not_count():
    y, f, groups = [3, 3, 1, 0], [1, 2, 0, 5], list("aabb")
    assert ndcg(y, f, groups) == pytest.approx(1 / np.log2(3))
    assert pairwise_accuracy(y, f, groups) == 0.0
    assert ndcg([2, 2], [0, 1]) == pairwise_accuracy([2, 2], [0, 1]) == 1.0


def test_labels_of_groups_are_numbers_or_words_in_any_order(rng):
    groups, y, f, _ = case(rng)
    order = rng.permutation(40)
    words = np.array(list("qwert"))[groups]
    mixed = np.array([7, "b", (1, 2), 0.5, "z"], dtype=object)[groups]
    for score in (ndcg, pairwise_accuracy):
        wanted = score(y, f, groups)
        for labels in (words, mixed, list(words), pd.Series(words), groups / 7):
            assert score(y, f, labels) == pytest.approx(wanted)
        assert score(y[order], f[order], groups[order]) == pytest.approx(wanted)


def test_wrong_scores_are_named():
    y, f = [1.0, 0.0, 2.0], [1.0, 2.0, 3.0]
    for call, words in (
        (lambda: ndcg(y, f[:2]), r"y has the shape \(3,\), scores \(2,\)"),
        (lambda: pairwise_accuracy(1.0, 2.0), r"y has the shape \(\)"),
        (lambda: pairwise_accuracy([], []), "one row or more"),
        (lambda: ndcg(["good", "bad", "bad"], f), "y holds what are no numbers"),
        (lambda: ndcg([-1, 0, 1], f), "grades of 0 or more, the lowest is -1"),
        (lambda: ndcg(y, f, k=0), "k=0 must be a whole number"),
        (lambda: ndcg(y, [1, np.nan, 2]), "scores holds NaN"),
        (lambda: pairwise_accuracy(y, f, [1, 2]), "groups has the shape"),
        (lambda: pairwise_accuracy(y, f, [1, 2, np.nan]), "groups has NaN"),
        (lambda: pairwise_accuracy(y, f, ["a", None, "b"]), "groups has None"),
        (lambda: ndcg(y, f, np.array([1, 2, "NaT"], "M8[D]")), "groups has NaT"),
        (lambda: ndcg(y, f, pd.Series(["a", None, "b"], dtype="string")), "groups has"),
    ):
        with pytest.raises(ValueError, match=words):
            call()


# -- the pursuit -----------------------------------------------------------------------


def rbf(X, Y):
    return np.exp(-0.5 * np.square(X[:, None] - Y).sum(axis=2))


@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting", "basic"])
def test_squares_choose_as_the_figures_on_all_pairs(queries, method, rng):
    X, y, groups = (part[:90] for part in queries)
    weight = rng.uniform(0.3, 2.0, 90)
    model = KMPRanker(**{**FAST, "alpha": 0.0}, method=method, selection=None)
    model.fit(X, y, groups=groups, sample_weight=weight)
    D, targets = reference.pair_rows(rbf(X, X), y, groups, weight)
    figure = getattr(reference, method.replace("-", "_"))
    steps = figure(D, targets, len(model.path_))
    chosen = list(dict.fromkeys(steps.chosen))
    assert model.support_.tolist() == chosen
    if method != "basic":
        wanted = steps.coefficients[-1][:, 0]
        np.testing.assert_allclose(model.dual_coef_[0], wanted, rtol=1e-5)
    error = np.sum(steps.residues[-1] ** 2) / weight.sum()
    assert model.path_.errors[-1] == pytest.approx(error, rel=1e-6)
    assert model.intercept_.tolist() == [0.0]


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("has_groups", [True, False])
def test_coefficients_minimize_the_loss(queries, loss, has_groups):
    X, y, groups = (part[:40] for part in queries)
    groups = groups if has_groups else np.zeros(40, dtype=int)
    model = KMPRanker(**{**FAST, "max_support": 6, "alpha": 0.1}, selection=None)
    model.set_params(loss=loss).fit(X, y, groups=groups)
    K, ones = rbf(X, X[model.support_]), np.ones(40)

    def objective(beta):
        return literal(loss, y, K @ beta, groups, ones) + 0.1 * beta @ beta

    best = minimize(objective, np.zeros(6), method="BFGS", tol=1e-7)
    found = model.dual_coef_[0]
    assert objective(found) <= best.fun * (1 + 1e-6)
    np.testing.assert_allclose(found, best.x, rtol=1e-2, atol=1e-3)
    wanted = literal(loss, y, K @ found, groups, ones) / 40
    assert model.path_.errors[-1] == pytest.approx(wanted)


@pytest.mark.parametrize("loss", NAMES)
def test_the_training_error_falls_along_the_path(queries, loss):
    X, y, groups = queries
    model = KMPRanker(**FAST, loss=loss, selection=None).fit(X, y, groups=groups)
    assert np.all(np.diff(model.path_.errors) < 1e-12)
    assert model.score(X, y, groups) > 0.99


@pytest.mark.parametrize("loss", NAMES)
def test_what_a_group_has_in_common_does_not_matter(queries, loss):
    X, y, groups = queries
    own = np.random.default_rng(1).normal(size=30)[groups]
    models = [
        KMPRanker(**FAST, loss=loss).fit(X, grades, groups=groups)
        for grades in (y, y + 50 * own)
    ]
    first, second = (model.predict(X) for model in models)
    np.testing.assert_allclose(first, second, rtol=1e-5, atol=1e-7)


def test_one_group_under_squares_is_regression(queries):
    X, y, _ = queries
    ranker, regressor = (
        kind(**FAST, selection=None).fit(X, y) for kind in (KMPRanker, KMPRegressor)
    )
    np.testing.assert_array_equal(ranker.predict(X), regressor.predict(X))


@pytest.mark.parametrize("loss", NAMES)
def test_rows_in_any_order_give_the_same_model(queries, loss):
    X, y, groups = queries
    order = np.random.default_rng(0).permutation(len(y))
    words = np.array([f"query {g * 7 % 31}" for g in groups])
    how = {**FAST, "gamma": "cv", "alpha": "cv", "loss": loss}
    model = KMPRanker(**how).fit(X, y, groups=groups)
    other = KMPRanker(**how).fit(X[order], y[order], groups=words[order])
    assert model.n_support_ == other.n_support_
    np.testing.assert_allclose(model.predict(X), other.predict(X), rtol=1e-5)


@pytest.mark.parametrize("loss", NAMES)
@pytest.mark.parametrize("has_groups", [True, False])
def test_weights_are_rows_of_a_fit(queries, loss, has_groups):
    X, y, groups = queries
    groups = groups if has_groups else None
    weight = np.random.default_rng(0).integers(0, 3, len(y))
    copies = np.repeat(np.arange(len(y)), weight)
    some = None if groups is None else groups[copies]
    weighted = KMPRanker(**FAST, loss=loss)
    weighted.fit(X, y, groups=groups, sample_weight=weight)
    repeated = KMPRanker(**FAST, loss=loss).fit(X[copies], y[copies], groups=some)
    assert weighted.n_support_ == repeated.n_support_
    difference = weighted.predict(X) - repeated.predict(X)
    assert np.ptp(difference) < 1e-3 * np.ptp(weighted.predict(X))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_little_memory_gives_the_same_model(queries, loss, monkeypatch):
    X, y, groups = queries
    how = {**FAST, "loss": loss, "selection": None}
    stored = KMPRanker(**how).fit(X, y, groups=groups)
    from pursuit.engine.atoms import ComputedAtoms
    from pursuit.functions import _base

    def on(self, X, memory, dtype=np.float64, n_images=1):
        evaluate = self.evaluator(X, dtype)
        return ComputedAtoms(len(self), X.shape[0], evaluate, 32, X.shape[0], dtype)

    monkeypatch.setattr(_base.Functions, "on", on)
    computed = KMPRanker(**how).fit(X, y, groups=groups)
    np.testing.assert_array_equal(stored.support_, computed.support_)
    np.testing.assert_allclose(stored.predict(X), computed.predict(X), rtol=1e-6)


def test_a_kernel_is_learned_within_groups():
    """A column that is constant in groups says nothing of their order."""
    rng = np.random.default_rng(0)
    groups = np.repeat(np.arange(40), 10)
    X = np.column_stack([groups, rng.normal(size=(400, 3))])
    y = np.digitize(np.sin(2 * X[:, 1]), [-0.5, 0.5]) + groups % 7
    model = KMPRanker(max_support=20, random_state=0).fit(X, y, groups=groups)
    assert model.feature_importances_[0] < 1e-12
    assert model.feature_importances_[1] > 0.9
    sparse_rows = column_scales(sparse.csr_array(X), np.ones(400), groups)
    scales = column_scales(X, np.ones(400), groups)
    np.testing.assert_allclose(sparse_rows[1:], scales[1:])
    assert scales[0] == sparse_rows[0] == 0.0
    assert model.score(X, y, groups) > 0.97
    regressor = KMPRegressor(max_support=20, random_state=0).fit(X, y)
    wrong = pairwise_accuracy(y, regressor.predict(X), groups)
    assert pairwise_accuracy(y, model.predict(X), groups) > max(0.9, wrong)


# -- what is held out ------------------------------------------------------------------


def whole(parts, groups):
    """Whether each part holds all rows of a group or none."""
    return all(
        len({*part[groups == g].tolist()}) == 1 for part in parts for g in set(groups)
    )


def test_folds_hold_out_whole_groups(queries):
    X, y, groups = queries
    ones = np.ones(len(y))
    folds = make_folds(X, y, ones, 5, 0, False, groups)
    assert whole(folds, groups)
    assert np.sum(folds, axis=0).tolist() == [1] * len(y)
    assert max(fold.sum() for fold in folds) <= 1.3 * min(fold.sum() for fold in folds)
    assert whole([hold_out(X, y, ones, 0.2, 0, False, groups)], groups)
    assert not whole(make_folds(X, y, ones, 5, 0, False), groups)
    few = make_folds(X, y, ones, 10, 0, False, groups % 3)
    assert len(few) == 3


def test_parts_of_large_data_are_whole_groups(queries):
    X, y, groups = queries
    sample = Sample.of(X, y[None], groups=groups, fit_intercept=False)
    n_in = np.bincount(groups)
    for n in (40, 100):
        part = sample.lowest(n, 0)
        left = np.bincount(groups[part.weight > 0], minlength=30)
        assert left.sum() == n
        assert np.sum((left > 0) & (left < n_in)) <= 1
    held = sample.from_priority(150)
    assert whole([held], groups)
    assert 50 < held.sum() <= 90
    np.testing.assert_allclose(
        np.bincount(groups, weights=sample.Y[0]), np.zeros(30), atol=1e-9
    )


@pytest.mark.parametrize("loss", ["squared", "plackett-luce"])
def test_searches_on_parts_go_by_whole_groups(queries, loss, monkeypatch):
    """With small limits, kernel, ridge and size are chosen on parts of the rows."""
    from pursuit.fitting import learning, search

    X, y, groups = queries
    monkeypatch.setattr(learning, "LEARNING_ROWS", 80)
    monkeypatch.setattr(search, "ENOUGH_ROWS", 100)
    for selection in ("cv", "validation", None):
        how = {"loss": loss, "selection": selection, "random_state": 0}
        model = KMPRanker(max_support=10, **how).fit(X, y, groups=groups)
        assert model.score(X, y, groups) > 0.95
        # Groups that are larger than a part.
        for n in (1, 2):
            model.fit(X, y, groups=groups % n)
            assert model.score(X, y, groups % n) > 0.8


def test_held_out_rows_are_not_compared_with_others(queries):
    """The held-out error is that of the groups left out, by models without them."""
    X, y, groups = queries
    splits = list(GroupKFold(3).split(X, y, groups))
    for name in NAMES[1:]:
        model = KMPRanker(**FAST, loss=name, selection=CrossValidation(splits))
        model.fit(X, y, groups=groups)
        n, errors = model.n_support_, []
        for fit, test in splits:
            how = {**FAST, "max_support": n, "loss": name, "selection": None}
            fold = KMPRanker(**how).fit(X[fit], y[fit], groups=groups[fit])
            bound = fold.loss_.within(groups[test], y[test], np.ones(len(test)))
            f = fold.predict(X[test])
            errors.append(total(bound, y[test], f, np.ones(len(test))))
        # The search minimizes the loss now and then only.
        assert model.held_out_error_ == pytest.approx(sum(errors) / 240, rel=0.05)


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_scores_of_rankings_choose(queries, loss):
    X, y, groups = queries

    def first(y, scores, groups):
        return ndcg(y, scores, groups, k=1)

    for scoring in ("ndcg", "pairwise-accuracy", first):
        for kind in (CrossValidation(3, scoring=scoring), Validation(scoring=scoring)):
            model = KMPRanker(**FAST, loss=loss, selection=kind)
            model.fit(X, y, groups=groups)
            assert 0.5 < -model.held_out_error_ <= 1.0
            assert model.n_support_ > 0
    with pytest.raises(ValueError, match="'r2' is not a score of rankings"):
        KMPRanker(**FAST, selection=CrossValidation(3, scoring="r2")).fit(X, y)
    lost = CrossValidation(3, scoring=lambda y, scores, groups: np.nan)
    with pytest.raises(ValueError, match="scoring gave nan on held-out rows"):
        KMPRanker(**FAST, selection=lost).fit(X, y, groups=groups)


def test_folds_that_divide_groups_are_refused(queries):
    X, y, groups = queries
    model = KMPRanker(**FAST, selection=CrossValidation(KFold(3)))
    with pytest.raises(ValueError, match="divides groups"):
        model.fit(X, y, groups=groups)
    assert model.fit(X, y).n_support_ > 0


def test_wrong_data_are_named(queries):
    X, y, groups = queries
    model = KMPRanker(**FAST)
    for grades, labels, words in (
        (y, groups[:-1], re.escape("groups has the shape (239,)")),
        (y, np.full(8, 30), "Sizes of groups"),
        (y, np.where(groups == 3, np.nan, groups), "groups has NaN"),
        (y, np.arange(240), "No group has rows of two different grades"),
        (groups.astype(float), groups, "n_groups=30"),
        (np.where(y > 3, np.nan, y), groups, "NaN"),
        (np.array(["good"] * 240), groups, "not numbers"),
    ):
        with pytest.raises(ValueError, match=words):
            model.fit(X, grades, groups=labels)
    for selection in ("loo", "bound"):
        with pytest.raises(ValueError, match="here rows are compared"):
            KMPRanker(**FAST, selection=selection).fit(X, y, groups=groups)


# -- the estimator ---------------------------------------------------------------------


@pytest.fixture(scope="module")
def model(queries):
    X, y, groups = queries
    return KMPRanker(**FAST, loss="logistic").fit(X, y, groups=groups)


def test_stages_are_models_of_all_sizes(queries, model):
    X, y, groups = queries
    stages = list(model.staged_predict(X))
    scores = list(model.staged_score(X, y, groups))
    pairs = list(model.staged_score(X, y, groups, scoring="pairwise-accuracy"))
    assert len(stages) == len(scores) == len(model.path_)
    for n in (1, 5, len(stages)):
        cut = model.truncate(n)
        np.testing.assert_allclose(cut.predict(X), stages[n - 1], atol=1e-9)
        assert cut.score(X, y, groups) == pytest.approx(scores[n - 1])
        wanted = pairwise_accuracy(y, stages[n - 1], groups)
        assert pairs[n - 1] == pytest.approx(wanted)
    display = PathDisplay.from_estimator(model, X, y, groups=groups)
    np.testing.assert_allclose(display.scores, scores)
    assert display.score_name == "NDCG"


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_fits_go_on(queries, loss):
    X, y, groups = queries
    how = {**FAST, "loss": loss, "selection": None}
    short = KMPRanker(**{**how, "max_support": 4}).fit(X, y, groups=groups)
    short.set_params(max_support=12).continue_fit(X, y, groups=groups)
    whole = KMPRanker(**how).fit(X, y, groups=groups)
    np.testing.assert_array_equal(short.support_, whole.support_)
    np.testing.assert_allclose(short.predict(X), whole.predict(X), rtol=1e-6)


def test_saved_and_copied_models_predict_the_same(queries, model, tmp_path):
    X, y, groups = queries
    pursuit.save(model, tmp_path / "ranker.pursuit")
    saved = pursuit.load(tmp_path / "ranker.pursuit")
    for other in (saved, pickle.loads(pickle.dumps(model))):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
        assert other.score(X, y, groups) == model.score(X, y, groups)
        assert other.loss_.get_params() == model.loss_.get_params()
    assert "KMPRanker of" in str(model.summary())
    assert not hasattr(model, "fit_batches")
    assert not hasattr(model, "bound")


def test_kernel_matrices_and_sparse_rows(queries):
    X, y, groups = queries
    how = {"alpha": 1e-2, "max_support": 12, "selection": CrossValidation(3)}
    points = KMPRanker(**{**FAST, **how}).fit(X, y, groups=groups)
    K = rbf(X, X)
    matrix = KMPRanker("precomputed", **how, random_state=0).fit(K, y, groups=groups)
    assert matrix.score(K, y, groups) > 0.95
    rows = KMPRanker(**{**FAST, **how}).fit(sparse.csr_array(X), y, groups=groups)
    np.testing.assert_allclose(rows.predict(X), points.predict(X), rtol=1e-6)


def test_searches_route_groups(queries):
    X, y, groups = queries
    with config_context(enable_metadata_routing=True):
        ranker = KMPRanker(**FAST).set_fit_request(groups=True)
        ranker.set_score_request(groups=True)
        search = GridSearchCV(ranker, {"gamma": [1e-4, 0.5]}, cv=GroupKFold(3))
        search.fit(X, y, groups=groups)
        assert search.best_params_ == {"gamma": 0.5}
        scorer = make_scorer(pairwise_accuracy).set_score_request(groups=True)
        steps = make_pipeline(StandardScaler(), ranker)
        scores = cross_val_score(
            steps, X, y, scoring=scorer, cv=GroupKFold(3), params={"groups": groups}
        )
        assert scores.min() > 0.9
