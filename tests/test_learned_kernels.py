"""Learned kernels: what is chosen, from which rows, and what does not matter to it."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons
from sklearn.feature_selection import SelectFromModel
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import (
    CrossValidation,
    FixedSize,
    KMPClassifier,
    KMPRegressor,
    LearnedMetric,
)
from pursuit.dictionaries import ManyWidths, OneKernel
from pursuit.estimators.kmp import planning
from pursuit.estimators.kmp.planning import make_plan
from pursuit.fitting import further, learning, rounds, search
from pursuit.fitting.curves import Curve
from pursuit.gradients import average_products, column_scales, root_of
from pursuit.inspection import ImportancesDisplay
from pursuit.kernels import Gaussian, InMetric, Laplacian, Matern
from pursuit.metrics import Best, Diagonal, Full, Given


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def table(rng):
    """Two of six features matter, in units of their own."""
    X = rng.normal(size=(150, 6))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.05 * rng.normal(size=150)
    return X * [1.0, 30.0, 1e-3, 1e4, 1.0, 7.0] + [0, 5, 0, 0, 100, 0], y


def plan_of(model, X, y):
    """Return the plan of a regressor's fit."""
    settings = model._settings()
    X, y = model._validated(X, y)
    Y = y[None]
    weight = np.ones(len(y))
    loss = model._bound_loss(settings, Y, weight, is_joint=False)
    sample = model._sample(settings, X, Y, weight, loss)
    return make_plan(settings, sample, loss, None, None, True)


# -- what does not matter ------------------------------------------------------------


@pytest.mark.parametrize("as_sparse", [False, True])
def test_units_of_columns_do_not_matter(table, as_sparse):
    X, y = table
    units = np.array([1e-3, 7.0, 1e5, 3.0, 1 / 3, 1e3])
    first, second = X, X * units
    if as_sparse:
        first, second = sp.csr_array(first), sp.csr_array(second)
    model = KMPRegressor().fit(first, y)
    scaled = KMPRegressor().fit(second, y)
    np.testing.assert_array_equal(scaled.support_, model.support_)
    np.testing.assert_allclose(scaled.predict(second), model.predict(first), rtol=1e-6)
    np.testing.assert_allclose(
        scaled.feature_importances_, model.feature_importances_, atol=1e-8
    )
    np.testing.assert_allclose(
        scaled.metric_
        * (units**2 if model.metric_.ndim == 1 else np.outer(units, units)),
        model.metric_,
        rtol=1e-6,
    )


def test_a_standard_scaler_neither_helps_nor_harms(table):
    X, y = table
    model = KMPRegressor().fit(X, y)
    piped = make_pipeline(StandardScaler(), KMPRegressor()).fit(X, y)
    # The folds may differ, since contents do; the quality does not.
    new = np.random.default_rng(1).normal(size=(300, 6))
    target = np.sin(2 * new[:, 0]) + new[:, 1] ** 2
    rows = new * [1.0, 30.0, 1e-3, 1e4, 1.0, 7.0] + [0, 5, 0, 0, 100, 0]
    assert model.score(rows, target) > 0.95
    assert piped.score(rows, target) > 0.95


def test_a_noise_column_of_large_scale_is_ignored(rng):
    X, y = make_moons(300, noise=0.15, random_state=0)
    X = np.column_stack([X, 1000 * rng.normal(size=300)])
    model = KMPClassifier().fit(X[:200], y[:200])
    assert model.score(X[200:], y[200:]) > 0.93
    assert model.feature_importances_[2] < 0.05


def test_a_rotation_does_not_matter_to_the_full_metric(rng):
    X = rng.normal(size=(120, 4))
    # White data stay white: the columns' own scales are 1 before and after.
    X -= X.mean(axis=0)
    X = X @ np.linalg.inv(np.linalg.cholesky(X.T @ X / len(X))).T
    y = np.sin(2 * X @ [0.8, 0.6, 0, 0]) + 0.05 * rng.normal(size=120)
    Q, _ = np.linalg.qr(rng.normal(size=(4, 4)))
    splits = [*KFold(4, shuffle=True, random_state=0).split(X)]
    model = KMPRegressor("rbf", metric="full", selection=CrossValidation(splits))
    first, second = clone(model).fit(X, y), clone(model).fit(X @ Q, y)
    np.testing.assert_array_equal(second.support_, first.support_)
    np.testing.assert_allclose(second.predict(X @ Q), first.predict(X), rtol=1e-5)
    np.testing.assert_allclose(second.metric_, Q.T @ first.metric_ @ Q, atol=1e-6)


def test_neither_order_nor_repetition_matters(table, rng):
    X, y = table
    order = rng.permutation(len(y))
    model, shuffled = KMPRegressor().fit(X, y), KMPRegressor().fit(X[order], y[order])
    np.testing.assert_allclose(shuffled.predict(X), model.predict(X), rtol=1e-6)
    weight = np.ones(len(y))
    weight[:30] = 3
    repeated = np.concatenate([np.arange(len(y)), np.arange(30), np.arange(30)])
    heavy = KMPRegressor().fit(X, y, sample_weight=weight)
    many = KMPRegressor().fit(X[repeated], y[repeated])
    np.testing.assert_allclose(many.predict(X), heavy.predict(X), rtol=1e-6)


def test_sparse_and_dense_rows_give_the_same_model(rng):
    X = rng.normal(size=(120, 8)) * (rng.random((120, 8)) < 0.4)
    y = X[:, 0] - X[:, 1] * X[:, 2]
    dense, sparse = KMPRegressor().fit(X, y), KMPRegressor().fit(sp.csr_array(X), y)
    np.testing.assert_array_equal(sparse.support_, dense.support_)
    np.testing.assert_allclose(
        sparse.predict(sp.csr_array(X)), dense.predict(X), rtol=1e-7
    )


# -- the same as by hand -------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
@pytest.mark.parametrize("is_full", [False, True])
def test_a_given_metric_is_a_transformation(table, rng, kernel, is_full):
    X, y = table
    X = StandardScaler().fit_transform(X)
    A = rng.normal(size=(6, 6)) if is_full else rng.random(6)
    metric = A @ A.T if is_full else A**2
    values, vectors = np.linalg.eigh(metric) if is_full else (None, None)
    by_hand = X @ (vectors * np.sqrt(values)) @ vectors.T if is_full else X * A
    splits = [*KFold(4, shuffle=True, random_state=0).split(X)]
    how = {"selection": CrossValidation(splits), "max_support": 20}
    given = KMPRegressor(kernel, metric=metric, **how).fit(X, y)
    plain = KMPRegressor(kernel, **how).fit(by_hand, y)
    np.testing.assert_array_equal(given.support_, plain.support_)
    np.testing.assert_allclose(given.predict(X), plain.predict(by_hand), rtol=1e-6)
    np.testing.assert_allclose(given.metric_, metric, atol=1e-12)
    same = KMPRegressor(kernel, metric=Given(metric), **how).fit(X, y)
    np.testing.assert_array_equal(same.predict(X), given.predict(X))


def test_a_named_kernel_is_fitted_as_before(table):
    X, y = table
    X = StandardScaler().fit_transform(X)
    named = KMPRegressor("rbf", max_support=20).fit(X, y)
    without = KMPRegressor("rbf", metric=None, max_support=20).fit(X, y)
    dictionary = KMPRegressor(dictionary=OneKernel("rbf"), max_support=20).fit(X, y)
    for other in (without, dictionary):
        np.testing.assert_array_equal(other.support_, named.support_)
        np.testing.assert_array_equal(other.predict(X), named.predict(X))
    assert named.metric_ is None
    assert len(named.search_) > 3
    assert "round" not in named.search_[0]


def test_the_choice_of_a_named_kernel_is_that_of_earlier_releases():
    X, y = load_iris(return_X_y=True)
    model = KMPClassifier("rbf").fit(X, y)
    assert model.n_support_ == 44
    assert model.support_[:9].tolist() == [40, 71, 114, 105, 85, 60, 50, 110, 100]
    assert model.gamma_ == pytest.approx(0.7181328545780972, rel=1e-10)
    assert model.alpha_ == pytest.approx(0.01, rel=1e-10)


def test_a_width_without_a_kernel_means_a_gaussian_as_before(table):
    X, y = table
    X = StandardScaler().fit_transform(X)
    model = KMPRegressor(gamma=0.1, alpha=0.1, max_support=9).fit(X, y)
    named = KMPRegressor("rbf", gamma=0.1, alpha=0.1, max_support=9).fit(X, y)
    np.testing.assert_array_equal(model.predict(X), named.predict(X))


def test_the_kernel_and_the_metric_give_the_values_of_the_model(table):
    X, y = table
    model = KMPRegressor().fit(X, y)
    K = model.kernel_(X, model.support_vectors_)
    np.testing.assert_allclose(
        K @ model.dual_coef_[0] + model.intercept_, model.predict(X), rtol=1e-9
    )
    assert isinstance(model.kernel_, InMetric)
    assert model.gamma_ == model.kernel_.gamma


# -- an honest choice ----------------------------------------------------------------


def test_rows_that_judge_a_metric_never_shaped_it(table):
    X, y = table
    model = KMPRegressor("rbf", metric="full", selection=FixedSize(), max_support=10)
    plan = plan_of(model, X, y)
    fold = plan.folds.parts[1] > 0
    changed = np.where(fold, y + 10 * np.random.default_rng(5).normal(size=len(y)), y)
    factors = []
    for target in (y, changed):
        # The folds must not move with the targets.
        template = plan_of(model, X, target).template
        part = learning._part_to_learn(plan)[0]
        part = learning.replace(part, template=template)
        arena = rounds.Arena(part, plan.learning)
        none = [None] * len(plan.folds)
        bench = rounds._Bench(arena, 0, none)
        r = arena._judged(bench, 0, None, -1, arena.alphas[4], None)
        factors.append(arena.next_factors(r, "full"))
    np.testing.assert_array_equal(factors[0][1], factors[1][1])
    assert not np.allclose(factors[0][0], factors[1][0])


@pytest.mark.parametrize("selection", ["cv", "validation"])
def test_no_row_is_learned_from_and_held_out_on_large_data(rng, monkeypatch, selection):
    monkeypatch.setattr(learning, "LEARNING_ROWS", 60)
    monkeypatch.setattr(learning, "LEARNING_ATOMS", 30)
    X = rng.normal(size=(200, 3))
    y = X[:, 0] ** 2
    model = KMPRegressor(selection=selection)
    plan = plan_of(model, X, y)
    part, is_shared = learning._part_to_learn(plan)
    assert is_shared
    larger = learning._larger_arena(plan)
    assert larger is not None
    learned = learning.learn(plan)
    first, seen = (
        {tuple(row) for row in rows} for rows in (part.sample.X, larger.plan.sample.X)
    )
    assert len(first) == 60
    assert len(seen) == 160
    assert first < seen
    (judging,) = larger.plan.folds.parts
    judges = larger.plan.sample.X[judging > 0]
    assert len(judges) == 40
    assert not any(tuple(row) in first for row in judges)
    (held,) = learned.folds.parts
    assert 0 < np.count_nonzero(held > 0) <= 40
    assert not any(tuple(row) in seen for row in X[held > 0])
    assert model.fit(X, y).score(X, y) > 0.9


@pytest.fixture
def few_rows_to_learn_from(monkeypatch):
    monkeypatch.setattr(learning, "LEARNING_ROWS", 60)
    monkeypatch.setattr(learning, "LEARNING_ATOMS", 30)


@pytest.fixture
def many_rows(rng):
    X = rng.normal(size=(400, 4))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2


def test_the_best_rounds_are_repeated_on_more_rows(few_rows_to_learn_from, many_rows):
    model = KMPRegressor(metric="diagonal").fit(*many_rows)
    tried = [trial for trial in model.search_ if "round" in trial]
    first = [trial for trial in tried if "n_rows" not in trial]
    again = tried[len(first) :]
    assert {trial["n_rows"] for trial in again} == {320}
    # The metric of the best family and shape goes on from where it was.
    start, *others = again
    assert start["round"] > 0
    at = (start["kernel"], start["metric"], start["round"])
    assert at in [(trial["kernel"], trial["metric"], trial["round"]) for trial in first]
    assert others
    assert {trial["metric"] for trial in others} <= {None, "diagonal"}
    assert model.feature_importances_[:2].sum() > 0.95


def test_large_data_compare_the_smallest_ridge_that_is_possible(many_rows, monkeypatch):
    first = plan_of(KMPRegressor(), *many_rows).learning.alphas
    monkeypatch.setattr(planning, "CV_ROWS", 300)
    monkeypatch.setattr(planning, "LEAST_RIDGE", 1e-7)
    # At 400 rows that is 4e-5 of what 1 stands for.
    alphas = plan_of(KMPRegressor(), *many_rows).learning.alphas
    np.testing.assert_allclose(alphas[0] / alphas[-1], 4e-6)
    assert alphas[1:] == first[2:]


def test_half_as_many_more_rows_are_not_worth_another_look(rng, few_rows_to_learn_from):
    X = rng.normal(size=(140, 3))
    model = KMPRegressor().fit(X, X[:, 0] ** 2)
    assert not any("n_rows" in trial for trial in model.search_)


def test_an_interrupt_on_more_rows_leaves_the_first_rounds(
    few_rows_to_learn_from, many_rows, monkeypatch
):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(further, "_round", interrupted)
    with pytest.warns(UserWarning, match="search for a kernel was interrupted"):
        model = KMPRegressor().fit(*many_rows)
    assert model.stop_reason_.startswith("interrupted")
    assert model.score(*many_rows) > 0.8


@pytest.fixture
def three_classes(few_rows_to_learn_from, many_rows, monkeypatch):
    monkeypatch.setattr(search, "ROWS_TO_NARROW", 150)
    monkeypatch.setattr(search, "ATOMS_TO_NARROW", 40)
    X, y = many_rows
    return X, np.digitize(y, [0.0, 1.5])


def test_many_rows_compare_two_of_the_kernels_of_several_classes(three_classes):
    X, classes = three_classes
    model = KMPClassifier(max_support=40).fit(X, classes)
    tried = [trial for trial in model.search_ if "round" not in trial]
    first = [trial for trial in tried if "n_rows" in trial]
    last = tried[len(first) :]
    assert {trial["n_rows"] for trial in first} == {150 + 80}
    assert len({trial["gamma"] for trial in first}) > 2
    assert len({trial["gamma"] for trial in last}) == len(last) == 2

    def error(trial):
        return min(trial["errors"])

    best = min(first, key=error)
    assert (best["gamma"], best["alpha"]) in [(t["gamma"], t["alpha"]) for t in last]
    assert model.gamma_ == min(last, key=error)["gamma"]
    assert model.score(X, classes) > 0.85


@pytest.mark.parametrize("n_searches", [1, 2])
def test_an_interrupt_while_kernels_are_ruled_out(
    three_classes, monkeypatch, n_searches
):
    compare, calls = search.compare, []

    def interrupted(*arguments):
        calls.append(1)
        trials = compare(*arguments)
        if len(calls) == 1:
            yield next(trials)
            if n_searches > 1:
                yield from trials
                return
        raise KeyboardInterrupt

    monkeypatch.setattr(search, "compare", interrupted)
    with pytest.warns(UserWarning, match="search was interrupted"):
        model = KMPClassifier(max_support=40).fit(*three_classes)
    assert len(calls) == n_searches
    assert model.stop_reason_.startswith("interrupted")
    assert model.score(*three_classes) > 0.6


def round_of(losses, size):
    curve = Curve(np.array([1.0]), np.array([0.0]))
    return rounds.Round(
        0, None, [], 0, 1.0, size, curve, losses, np.ones(len(losses)), [], None
    )


def test_a_gain_within_the_noise_does_not_pay_for_a_larger_model(rng):
    noise = rng.normal(size=400)
    best, small = round_of(1 + noise, 200), round_of(1.02 + noise[::-1], 20)
    assert best.error < small.error
    assert learning.chosen([best, small]) is small
    # A gain of the same size on every row is none of chance.
    clear = round_of(1.02 + noise, 20)
    assert learning.chosen([best, clear]) is best


def test_of_models_alike_in_size_the_better_one_is_chosen(rng):
    noise = rng.normal(size=400)
    first, second = round_of(1 + noise, 21), round_of(0.99 + noise[::-1], 20)
    assert learning.chosen([first, second]) is min(
        (first, second), key=lambda r: r.error
    )


def test_heavy_tails_do_not_make_a_fragile_model(rng):
    X = rng.standard_t(1.5, size=(400, 4))
    y = np.tanh(X[:, 0]) + np.tanh(X[:, 1]) + 0.1 * rng.normal(size=400)
    model = KMPRegressor().fit(X[:200], y[:200])
    far = rng.standard_t(1.5, size=(5000, 4)) * 3
    values = model.predict(far)
    middle = (y.max() + y.min()) / 2
    assert np.abs(values - middle).max() < 2 * np.ptp(y)
    assert model.score(X[200:], y[200:]) > 0.8


# -- data of every kind --------------------------------------------------------------


def test_constant_columns_have_no_weight(table):
    X, y = table
    X = np.column_stack([X, np.full(len(y), 3.5), np.zeros(len(y))])
    model = KMPRegressor().fit(X, y)
    assert np.all(model.feature_importances_[-2:] == 0)
    moved = X.copy()
    moved[:, -2:] = 99.0
    np.testing.assert_allclose(model.predict(moved), model.predict(X))


def test_binary_columns_and_one_hot_categories(rng):
    letters = rng.integers(0, 4, size=(200, 3))
    X = np.eye(4)[letters].reshape(200, 12)
    y = (letters[:, 0] == letters[:, 1]).astype(int)
    model = KMPClassifier().fit(X[:150], y[:150])
    assert model.score(X[150:], y[150:]) > 0.9
    assert model.feature_importances_[:8].sum() > 0.9


def test_more_features_than_rows(rng):
    X = rng.normal(size=(60, 200))
    y = 3 * X[:, 3]
    model = KMPRegressor(metric=Diagonal(), kernel="rbf").fit(X, y)
    assert model.feature_importances_.argmax() == 3
    assert model.metric_.shape == (200,)


def test_the_full_metric_is_left_out_above_some_features(rng, monkeypatch):
    X = rng.normal(size=(40, 5))
    y = X[:, 0]
    shapes = {r["metric"] for r in KMPRegressor().fit(X, y).search_ if "round" in r}
    assert shapes == {None, "diagonal", "full"}
    monkeypatch.setattr("pursuit.estimators.kmp.planning.FULL_FEATURES", 4)
    shapes = {r["metric"] for r in KMPRegressor().fit(X, y).search_ if "round" in r}
    assert shapes == {None, "diagonal"}


def test_several_outputs_share_a_metric(rng):
    X = rng.normal(size=(150, 5)) * [1, 10, 100, 1, 1]
    Y = np.column_stack([np.sin(2 * X[:, 0]), np.cos(X[:, 1] / 5)])
    model = KMPRegressor().fit(X, Y)
    assert model.score(X, Y) > 0.95
    assert model.feature_importances_[:2].sum() > 0.8


@pytest.mark.parametrize("multiclass", ["shared", "ovr"])
def test_several_classes(multiclass):
    X, y = load_iris(return_X_y=True)
    model = KMPClassifier(multiclass=multiclass).fit(X[::2] * [1, 9, 1, 99], y[::2])
    assert model.score(X[1::2] * [1, 9, 1, 99], y[1::2]) > 0.93


@pytest.mark.parametrize("loss", ["logistic", "squared-hinge"])
def test_other_losses_use_the_kernel_that_the_squared_loss_learned(loss):
    X, y = make_moons(150, noise=0.2, random_state=0)
    X = X * [1.0, 1000.0]
    model = KMPClassifier(loss=loss, max_support=15).fit(X, y)
    squared = KMPClassifier(max_support=15).fit(X, y)
    assert model.gamma_ == pytest.approx(squared.gamma_)
    np.testing.assert_allclose(model.metric_, squared.metric_)
    assert model.score(X, y) > 0.9


def test_regression_losses(table):
    X, y = table
    model = KMPRegressor(loss="absolute", max_support=20).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
def test_few_rows(n, rng):
    X, y = rng.normal(size=(n, 3)), rng.normal(size=n)
    model = KMPRegressor().fit(X, y)
    assert np.isfinite(model.predict(X)).all()
    if n > 2:
        labels = np.arange(n) % 2
        assert KMPClassifier().fit(X, labels).predict(X).shape == (n,)


def test_huge_and_tiny_units(table):
    X, y = table
    X = StandardScaler().fit_transform(X)
    model = KMPRegressor(max_support=20).fit(X, y)
    for unit in (2.0**500, 2.0**-500):
        scaled = KMPRegressor(max_support=20).fit(X * unit, y)
        np.testing.assert_allclose(scaled.predict(X * unit), model.predict(X))


@pytest.mark.parametrize("selection", ["validation", "loo", "bound", None])
def test_every_selection_takes_a_learned_kernel(table, selection):
    X, y = table
    model = KMPRegressor(selection=selection, max_support=15).fit(X, y)
    assert model.n_support_ <= 15
    assert isinstance(model.kernel_, InMetric)
    assert np.isfinite(model.predict(X)).all()


def test_groups_stay_together(table):
    from sklearn.model_selection import GroupKFold

    X, y = table
    groups = np.arange(len(y)) // 10
    model = KMPRegressor(selection=CrossValidation(GroupKFold(3)), max_support=15)
    assert model.fit(X, y, groups=groups).score(X, y) > 0.8


# -- parameters and attributes -------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "shape"),
    [
        ({"metric": "diagonal"}, (6,)),
        ({"metric": "full"}, (6, 6)),
        ({"kernel": "rbf", "metric": "diagonal"}, (6,)),
        ({"kernel": "laplacian", "metric": Full(n_rounds=1)}, (6, 6)),
        ({"kernel": Matern(0.5, gamma="cv"), "metric": Diagonal(2)}, (6,)),
        ({"kernel": "poly", "metric": "diagonal"}, (6,)),
    ],
)
def test_a_metric_of_the_wanted_shape_is_learned(table, how, shape):
    X, y = table
    model = KMPRegressor(**how, max_support=15).fit(X, y)
    assert model.metric_.shape == shape
    rounds = [r for r in model.search_ if "round" in r]
    assert max(r["round"] for r in rounds) >= 1


def test_a_metric_without_a_kernel_compares_families_only(table):
    X, y = table
    model = KMPRegressor(metric=None, max_support=15).fit(X, y)
    assert [r["kernel"] for r in model.search_[:2]] == ["Gaussian", "Laplacian"]
    assert model.metric_ is None
    given = KMPRegressor(metric=np.ones(6), max_support=15).fit(X, y)
    np.testing.assert_allclose(given.predict(X), model.predict(X), rtol=1e-6)


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"metric": "diagonl"}, "metric='diagonl' is not known"),
        ({"metric": -np.ones(6)}, "negative"),
        ({"metric": np.ones((6, 5))}, "shape"),
        ({"metric": np.ones(5)}, "6 columns"),
        ({"metric": [[1.0, 2.0], [0.0, 1.0]]}, "symmetric"),
        ({"metric": Diagonal(0)}, "n_rounds=0"),
        ({"metric": "full", "gamma": 0.3}, "gamma='cv'"),
        ({"kernel": Gaussian(0.3), "metric": "full"}, "gamma='cv'"),
        ({"kernel": lambda X, Y: X @ Y.T, "metric": "full"}, "gradients"),
        ({"dictionary": ManyWidths(), "metric": "full"}, "leave metric at 'auto'"),
        ({"kernel": "precomputed", "metric": "full"}, "precomputed"),
        ({"kernel": "precomputed", "metric": np.ones(6)}, "precomputed"),
    ],
)
def test_errors_say_what_to_do(table, how, words):
    X, y = table
    if how.get("kernel") == "precomputed":
        X = X @ X.T
    with pytest.raises(ValueError, match=words):
        KMPRegressor(**how).fit(X, y)


def test_a_grid_search_reaches_into_the_metric(table):
    X, y = table
    model = KMPRegressor("rbf", metric="diagonal", max_support=10)
    search = GridSearchCV(model, {"metric__n_rounds": [1, 2]}, cv=2).fit(X, y)
    assert search.best_params_["metric__n_rounds"] in (1, 2)
    assert clone(KMPRegressor(metric=Best(3))).metric.n_rounds == 3


def test_importances_sum_to_one_and_select_features(table):
    X, y = table
    model = KMPRegressor().fit(X, y)
    assert model.feature_importances_.sum() == pytest.approx(1)
    assert set(np.argsort(-model.feature_importances_)[:2]) == {0, 1}
    chosen = SelectFromModel(model, prefit=True, threshold=0.1).get_support()
    assert chosen.tolist() == [True, True, False, False, False, False]


def test_importances_of_functions_without_gradients(table):
    X, y = table
    model = KMPRegressor(dictionary=ManyWidths(), max_support=5).fit(X, y)
    assert not hasattr(model, "feature_importances_")
    assert not hasattr(model, "kernel_")
    with pytest.raises(AttributeError, match="gradients"):
        model.feature_importances_  # noqa: B018


def test_an_interrupt_keeps_the_best_kernel_so_far(table, monkeypatch):
    X, y = table
    judged, calls = rounds.Arena._judged, []

    def interrupted(*arguments):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return judged(*arguments)

    monkeypatch.setattr(rounds.Arena, "_judged", interrupted)
    with pytest.warns(UserWarning, match="search for a kernel was interrupted"):
        model = KMPRegressor().fit(X, y)
    assert model.stop_reason_.startswith("interrupted")
    assert model.score(X, y) > 0.5


# -- the transformer -----------------------------------------------------------------


def test_a_learned_metric_helps_neighbors(rng):
    X = rng.normal(size=(300, 10)) * 10.0 ** rng.integers(-3, 4, size=10)
    y = (X[:, 2] / X[:, 2].std() > X[:, 5] / X[:, 5].std()).astype(int)
    plain = make_pipeline(StandardScaler(), KNeighborsClassifier())
    learned = make_pipeline(LearnedMetric(), KNeighborsClassifier())
    before, after = (cross_val_score(m, X, y, cv=3).mean() for m in (plain, learned))
    assert after > before + 0.05


def test_the_transformer_maps_to_the_metric_of_its_model(table):
    X, y = table
    learned = LearnedMetric("full").fit(X, y)
    Z = learned.transform(X)
    assert Z.shape == X.shape
    squared = np.square(Z[:1] - Z[1:]).sum(axis=1)
    D = X[:1] - X[1:]
    np.testing.assert_allclose(squared, np.sum(D @ learned.metric_ * D, axis=1))
    ratio = learned.metric_ / learned.model_.metric_
    np.testing.assert_allclose(ratio, ratio[0, 0])
    assert learned.get_feature_names_out()[0] == "learnedmetric0"


def test_the_transformer_keeps_the_largest_directions(table):
    X, y = table
    learned = LearnedMetric("full", n_components=2).fit(X, y)
    assert learned.transform(X).shape == (len(y), 2)
    whole = LearnedMetric("full").fit(X, y)
    values = np.linalg.eigvalsh(whole.model_.metric_)[::-1]
    kept = np.linalg.eigvalsh(learned.metric_)[::-1]
    np.testing.assert_allclose(kept[1] / kept[0], values[1] / values[0], rtol=1e-6)
    diagonal = LearnedMetric("diagonal", n_components=2).fit(X, y)
    assert np.count_nonzero(diagonal.factor_.any(axis=1)) == 2
    with pytest.raises(ValueError, match="n_components=7"):
        LearnedMetric(n_components=7).fit(X, y)


def test_the_transformer_and_frames(table):
    pd = pytest.importorskip("pandas")
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcdef"))
    learned = LearnedMetric("diagonal").set_output(transform="pandas").fit(frame, y)
    assert list(learned.transform(frame).columns) == list("abcdef")


def test_the_task_of_the_transformer(table):
    X, y = table
    rounded = np.rint(y)
    assert isinstance(LearnedMetric().fit(X, rounded).model_, KMPClassifier)
    regression = LearnedMetric(task="regression").fit(X, rounded)
    assert isinstance(regression.model_, KMPRegressor)
    with pytest.raises(ValueError, match="task='both'"):
        LearnedMetric(task="both").fit(X, y)


@parametrize_with_checks(
    [
        LearnedMetric(max_support=10, n_rounds=2),
        LearnedMetric("full", n_components=1, max_support=10, n_rounds=1),
    ]
)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- pictures ------------------------------------------------------------------------


def test_importances_are_drawn_with_the_names_of_frames(table):
    pytest.importorskip("matplotlib").use("Agg")
    pd = pytest.importorskip("pandas")
    X, y = table
    frame = pd.DataFrame(X, columns=list("abcdef"))
    model = KMPRegressor("rbf", metric="diagonal", max_support=15).fit(frame, y)
    display = ImportancesDisplay.from_estimator(model, n_features=3)
    names = [label.get_text() for label in display.ax_.get_yticklabels()]
    # The largest is at the top.
    assert names[-1] == "abcdef"[model.feature_importances_.argmax()]
    widths = [bar.get_width() for bar in display.bars_]
    np.testing.assert_allclose(widths, np.sort(model.feature_importances_)[-3:])
    piped = make_pipeline(StandardScaler(), KMPRegressor("rbf", max_support=5))
    display = ImportancesDisplay.from_estimator(piped.fit(frame, y))
    assert len(display.bars_) == 6
    assert list(display.feature_names) == list("abcdef")
    plain = ImportancesDisplay.from_estimator(
        KMPRegressor("rbf", max_support=5).fit(X, y)
    )
    assert list(plain.feature_names) == [f"x{j}" for j in range(6)]
    with pytest.raises(ValueError, match="2 feature_names"):
        ImportancesDisplay.from_estimator(model, feature_names=["a", "b"])


# -- parts ---------------------------------------------------------------------------


def test_scales_are_those_of_weighted_rows(rng):
    X = rng.normal(size=(50, 3)) * [1, 1e200, 1e-200]
    weight = rng.integers(0, 4, size=50).astype(float)
    repeated = np.repeat(X, weight.astype(int), axis=0)
    expected = 1 / (repeated / [1, 1e200, 1e-200]).std(axis=0) / [1, 1e200, 1e-200]
    np.testing.assert_allclose(column_scales(X, weight), expected)
    sparse = column_scales(sp.csr_array(X), weight)
    np.testing.assert_allclose(sparse, expected)
    assert np.all(column_scales(np.full((5, 2), [3.0, 0.0]), np.ones(5)) == 0)


def test_average_products_are_the_mean_of_outer_products(rng):
    X, points = rng.normal(size=(20, 3)), rng.normal(size=(4, 3))
    coef, weight = rng.normal(size=(4, 2)), rng.integers(0, 3, size=20).astype(float)
    for kernel in (Gaussian(0.3), Laplacian(0.3)):
        gradients = [*kernel.gradients(X, points, coef)]
        expected = sum(
            w * np.outer(g[i], g[i]) for g in gradients for i, w in enumerate(weight)
        )
        expected /= weight.sum()
        full = average_products(kernel, X, points, coef, weight, is_full=True)
        diagonal = average_products(kernel, X, points, coef, weight, is_full=False)
        np.testing.assert_allclose(full, expected)
        np.testing.assert_allclose(diagonal, np.diagonal(expected))


def test_the_root_of_products_is_a_factor_of_the_metric(rng):
    G = rng.normal(size=(3, 5))
    G = G @ G.T
    A = root_of(G)
    np.testing.assert_allclose(A @ A.T, G / np.linalg.eigvalsh(G)[-1])
    np.testing.assert_allclose(root_of(np.array([4.0, 1.0])), [1.0, 0.5])
    np.testing.assert_array_equal(root_of(np.zeros(2)), np.ones(2))
    np.testing.assert_array_equal(root_of(np.zeros((2, 2))), np.eye(2))
