"""What the models of the folds tell: intervals, sets, calibrated probabilities."""

import copy
import pickle
import re
from itertools import pairwise

import numpy as np
import pytest
from scipy import sparse
from scipy.stats import norm
from sklearn.datasets import load_iris, make_blobs
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import BayesianRidge
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_score

import pursuit
from pursuit import CrossValidation, KMPClassifier, KMPRegressor, kernels
from pursuit.batches import rows_of
from pursuit.calibration import Isotonic, Temperature
from pursuit.estimators.kmp import batch_planning
from pursuit.fitting import held_out
from pursuit.losses import Quantile

GIVEN = {"kernel": kernels.Gaussian(gamma=0.5), "alpha": 0.01}
METHODS = ("plus", "minmax", "base")


def made(n=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    noise = 0.1 + 0.5 * (X[:, 1] > 0)
    return X, np.sin(2.0 * X[:, 0]) + noise * rng.normal(size=n)


@pytest.fixture(scope="module")
def numbers():
    return made()


@pytest.fixture(scope="module")
def classes():
    return make_blobs(150, centers=3, cluster_std=2.5, random_state=0)


@pytest.fixture(scope="module")
def model(numbers):
    return KMPRegressor(**GIVEN, selection="cv").fit(*numbers)


def coverage(y, intervals):
    low, high = np.moveaxis(intervals, -2, 0)
    return np.mean((low <= y[:, None]) & (y[:, None] <= high), axis=0)


# -- models of the folds -----------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "huber", Quantile([0.1, 0.9])])
@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting"])
def test_they_are_fits_without_the_fold(numbers, loss, method):
    """Each is the model that a fit to the other rows gives, at every size."""
    X, y = numbers
    folds = list(KFold(4).split(X))
    how = {**GIVEN, "loss": loss, "method": method, "fit_intercept": True}
    model = KMPRegressor(**how, selection=CrossValidation(folds)).fit(X, y)
    bound = model.loss_
    for (train, test), fold in zip(folds, model._folds, strict=True):
        n = min(7, *fold.longest)
        alone = KMPRegressor(
            **{**how, "loss": bound}, selection=None, max_support=n
        ).fit(X[train], y[train])
        mine = fold.at([n])
        expected = alone.predict(X).reshape(len(X), -1)
        # Trials under losses without a closed form minimize less often.
        exactly = {"abs": 1e-9} if loss == "squared" else {"abs": 0.15}
        assert mine.expansion(X) == pytest.approx(expected, **exactly)
        assert mine.values == pytest.approx(mine.expansion(X[test]), abs=1e-9)
        assert np.array_equal(mine.Y[:, 0], y[test])
        assert np.array_equal(mine.weight, np.ones(len(test)))


def test_learned_kernels_are_those_of_the_folds(numbers):
    X, y = numbers
    model = KMPRegressor().fit(X, y)
    # Each fold has its own metric, which its rows never shaped.
    metrics = [fold.functions.kernel.matrix for fold in model._folds]
    assert len(metrics) == 5
    assert all(np.any(a != b) for a, b in pairwise(metrics))


def test_a_held_out_part_has_the_model_itself(numbers):
    X, y = numbers
    model = KMPRegressor(**GIVEN, selection="validation").fit(X, y)
    (fold,) = model._folds
    assert fold.at(model._sizes).expansion(X).ravel() == pytest.approx(model.predict(X))
    assert len(fold.Y) < len(y) / 2


def test_long_paths_keep_fewer_sizes(numbers, monkeypatch):
    X, y = numbers
    whole = KMPRegressor(**GIVEN).fit(X, y)
    monkeypatch.setattr(held_out, "_PATH_BYTES", 20_000)
    model = KMPRegressor(**GIVEN).fit(X, y)
    longest = model._largest_known
    assert 0 < longest < whole._largest_known
    kept = model.truncate(longest).predict_interval(X)
    assert kept[1] == pytest.approx(whole.truncate(longest).predict_interval(X)[1])
    with pytest.raises(ValueError, match="No model of this size is known"):
        model.truncate(longest + 1).predict_interval(X)


def test_of_many_rows_some_tell(numbers, monkeypatch):
    """They do not depend on the order of the rows, and all folds have as many."""
    X, y = numbers
    monkeypatch.setattr(held_out, "_VALUE_BYTES", 0)
    monkeypatch.setattr(held_out, "_LEAST_ROWS", 50)
    model = KMPRegressor(**GIVEN).fit(X, y)
    assert [len(fold.Y) for fold in model._folds] == [5] * 10
    order = np.random.default_rng(3).permutation(len(y))
    again = KMPRegressor(**GIVEN).fit(X[order], y[order])
    expected = model.predict_interval(X)[1]
    assert again.predict_interval(X)[1] == pytest.approx(expected, abs=1e-9)
    assert coverage(y, expected)[0] > 0.8


# -- standard deviations -----------------------------------------------------------


def test_variances_are_those_of_the_bayesian_linear_model(numbers):
    """s² (1 + g' (G'G + alpha I)⁻¹ g), with a constant that has no prior."""
    X, y = numbers
    model = KMPRegressor(**GIVEN, selection=None, max_support=9).fit(X, y)
    new = made(20, seed=1)[0]
    _, std = model.predict(new, return_std=True)

    def design(X):
        return np.column_stack([np.ones(len(X)), model.atoms_(X)])

    G, g = design(X), design(new)
    ridge = np.diag([0.0] + [model.alpha_] * 9)
    inverse = np.linalg.inv(G.T @ G + ridge)
    h = np.einsum("ij,jk,ik->i", g, inverse, g)
    free = len(X) - np.trace(G @ inverse @ G.T)
    s2 = np.sum((y - model.predict(X)) ** 2) / free
    assert std == pytest.approx(np.sqrt(s2 * (1 + h)), rel=1e-9)


def test_without_a_constant_it_is_scikit_learns_bayesian_ridge(numbers):
    X, y = numbers
    model = KMPRegressor(
        **GIVEN, selection=None, max_support=9, fit_intercept=False
    ).fit(X, y)
    s2 = 0.2
    theirs = BayesianRidge(
        fit_intercept=False, alpha_init=1 / s2, lambda_init=0.01 / s2, max_iter=1
    )
    G = model.atoms_(X)
    theirs.fit(G, y)
    # One step has changed both precisions: put them back.
    theirs.alpha_, theirs.sigma_ = (
        1 / s2,
        s2 * np.linalg.inv(G.T @ G + 0.01 * np.eye(9)),
    )
    _, expected = theirs.predict(model.atoms_(X[:5]), return_std=True)
    h = model._leverage(9)(X[:5])
    assert np.sqrt(s2 * (1 + h)) == pytest.approx(expected)


def test_deviations_know_held_out_errors(numbers, model):
    X, y = numbers
    new, targets = made(4000, seed=2)
    predicted, std = model.predict(new, return_std=True)
    assert np.array_equal(predicted, model.predict(new))
    assert np.mean(std) == pytest.approx(np.std(targets - predicted), rel=0.15)
    Y = np.column_stack([y, 3.0 - 2.0 * y])
    _, both = KMPRegressor(**GIVEN).fit(X, Y).predict(X, return_std=True)
    assert both.shape == (120, 2)
    assert both[:, 1] == pytest.approx(2.0 * both[:, 0])


@pytest.mark.parametrize("how", [{"loss": "huber"}, {"method": "basic"}])
def test_deviations_need_the_squared_loss(numbers, how):
    model = KMPRegressor(**GIVEN, **how, max_support=5).fit(*numbers)
    with pytest.raises(ValueError, match=r"return_std=True.*predict_interval"):
        model.predict(numbers[0], return_std=True)


# -- intervals ---------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_coverage_is_near_the_promise(method):
    found = []
    for seed in range(30):
        X, y = made(60, seed)
        model = KMPRegressor(**GIVEN, max_support=8, random_state=seed).fit(X, y)
        new, targets = made(500, seed + 1000)
        found.append(
            coverage(targets, model.predict_interval(new, [0.6, 0.9], method=method)[1])
        )
    found = np.mean(found, axis=0)
    # Of 30 draws of 60 rows each, with three standard errors.
    error = 3 * np.sqrt(np.array([0.24, 0.09]) * (1 / 60 + 1 / 500) / 30)
    if method == "base":
        error += 0.02  # It promises nothing.
    assert np.all(found > [0.6, 0.9] - error)
    if method == "plus":
        assert np.all(found < [0.6, 0.9] + error + 0.03)


@pytest.mark.parametrize("method", METHODS)
def test_intervals_grow_with_the_coverage(numbers, model, method):
    X, _ = numbers
    y, intervals = model.predict_interval(X, [0.2, 0.5, 0.8, 0.95], method=method)
    assert y.shape == (120,)
    assert intervals.shape == (120, 2, 4)
    assert np.all(np.diff(intervals[:, 0], axis=1) <= 0)
    assert np.all(np.diff(intervals[:, 1], axis=1) >= 0)
    if method == "plus":
        wider = model.predict_interval(X, 0.8, method="minmax")[1][..., 0]
        assert np.all(wider[:, 0] <= intervals[:, 0, 2] + 1e-12)
        assert np.all(wider[:, 1] >= intervals[:, 1, 2] - 1e-12)


def test_the_order_of_the_rows_does_not_matter(numbers):
    X, y = numbers
    order = np.random.default_rng(3).permutation(len(y))
    some = X[:10]
    first, second = (
        KMPRegressor(**GIVEN).fit(A, b).predict_interval(some)[1]
        for A, b in ((X, y), (X[order], y[order]))
    )
    assert first == pytest.approx(second, abs=1e-9)


def test_a_weight_of_two_is_the_row_twice(numbers):
    X, y = numbers
    counts = np.random.default_rng(4).integers(1, 3, len(y))
    twice = np.repeat(np.arange(len(y)), counts)
    first = KMPRegressor(**GIVEN).fit(X, y, sample_weight=counts)
    second = KMPRegressor(**GIVEN).fit(X[twice], y[twice])
    expected = second.predict_interval(X, [0.5, 0.9])[1]
    assert first.predict_interval(X, [0.5, 0.9])[1] == pytest.approx(expected)


def test_ratios_of_weights_are_no_counts(numbers):
    """Rows of weight 0.001 each are as many as they are, without a warning."""
    X, y = numbers
    how = {**GIVEN, "alpha": 1e-5, "max_support": 10}
    model = KMPRegressor(**how).fit(X, y, sample_weight=np.full(120, 1e-3))
    _, intervals = model.predict_interval(X)
    assert coverage(y, intervals)[0] == pytest.approx(0.95, abs=0.05)


def test_each_row_may_be_a_fold(numbers):
    """That is jackknife+."""
    X, y = numbers
    X, y = X[:40], y[:40]
    model = KMPRegressor(
        **GIVEN, max_support=6, selection=CrossValidation(LeaveOneOut())
    ).fit(X, y)
    assert len(model._folds) == 40
    new, targets = made(2000, seed=7)
    _, intervals = model.predict_interval(new, 0.8)
    assert coverage(targets, intervals)[0] == pytest.approx(0.8, abs=0.12)


def test_every_size_has_intervals(numbers, model):
    X, _ = numbers
    stages = list(model.staged_predict_interval(X, [0.5, 0.9]))
    assert len(stages) == model._largest_known >= model.n_support_
    for n in (1, model.n_support_, len(stages)):
        cut = model.truncate(n)
        for mine, stage in zip(
            cut.predict_interval(X, [0.5, 0.9]), stages[n - 1], strict=True
        ):
            assert mine == pytest.approx(stage)
        assert len(list(cut.staged_predict_interval(X))) == n


@pytest.mark.parametrize("probability", [None, "isotonic"])
def test_every_size_has_sets(probability):
    X, y = load_iris(return_X_y=True)
    model = KMPClassifier("rbf", max_support=8, probability=probability).fit(X, y)
    stages = list(model.staged_predict_set(X, [0.5, 0.9]))
    assert len(stages) == model._largest_known >= model.n_support_
    for n in (1, model.n_support_, len(stages)):
        cut = model.truncate(n)
        for mine, stage in zip(
            cut.predict_set(X, [0.5, 0.9]), stages[n - 1], strict=True
        ):
            np.testing.assert_array_equal(mine, stage)
        assert len(list(cut.staged_predict_set(X))) == n


def test_quantiles_get_both_ends_moved(numbers):
    X, y = numbers
    model = KMPRegressor(loss=Quantile([0.05, 0.95]), **GIVEN).fit(X, y)
    new, targets = made(3000, seed=5)
    predicted, intervals = model.predict_interval(new, 0.9)
    assert predicted.shape == (3000, 2)
    assert coverage(targets, intervals)[0] == pytest.approx(0.9, abs=0.06)
    width = np.diff(intervals[..., 0], axis=1)[:, 0]
    is_noisy = new[:, 1] > 0
    assert width[is_noisy].mean() > 1.3 * width[~is_noisy].mean()
    # As far from the quantiles below as above, for a model without folds to disagree.
    _, base = model.predict_interval(new, 0.9, method="base")
    below = predicted.min(axis=1) - base[:, 0, 0]
    above = base[:, 1, 0] - predicted.max(axis=1)
    assert below == pytest.approx(above)
    assert np.ptp(below) < 1e-9


def test_several_quantiles_are_those_of_one_target(numbers):
    X, y = numbers
    levels = [0.1, 0.5, 0.9]
    model = KMPRegressor(loss=Quantile(levels), **GIVEN, max_support=12).fit(X, y)
    shares = np.mean(y[:, None] < model.predict(X), axis=0)
    assert shares == pytest.approx(levels, abs=0.06)
    assert 0 < model.score(X, y) < 1
    scores = list(model.staged_score(X, y))
    assert scores[model.n_support_ - 1] == pytest.approx(model.score(X, y))
    assert cross_val_score(model, X, y, cv=3).shape == (3,)
    with pytest.raises(ValueError, match="takes one target, y has 2"):
        KMPRegressor(loss=Quantile(levels)).fit(X, np.column_stack([y, y]))


def test_scores_of_one_prediction_do_not_judge_several_quantiles(numbers):
    X, y = numbers
    model = KMPRegressor(loss=Quantile([0.1, 0.9]), **{**GIVEN, "max_support": 5})
    for scoring in ("r2", "neg_mean_squared_error"):
        model.set_params(selection=CrossValidation(scoring=scoring))
        with pytest.raises(ValueError, match=f"scoring='{scoring}' judges one"):
            model.fit(X, y)

    def coverage_of_both(model, X, y):
        low, high = model.predict(X).T
        return -abs(np.mean((low <= y) & (y <= high)) - 0.8)

    model.set_params(selection=CrossValidation(scoring=coverage_of_both))
    assert model.fit(X, y).predict(X).shape == (120, 2)


@pytest.mark.parametrize("levels", [[], [0.9, 0.1], [0.1, 0.1], [0.0, 0.5], ["a"], "a"])
def test_quantiles_must_rise(numbers, levels):
    with pytest.raises(ValueError, match=re.escape(f"quantile={levels!r}")):
        KMPRegressor(loss=Quantile(levels)).fit(*numbers)


def test_several_targets_are_covered_each(numbers):
    X, y = numbers
    Y = np.column_stack([y, 5.0 + 10.0 * y])
    predicted, intervals = KMPRegressor(**GIVEN).fit(X, Y).predict_interval(X)
    assert predicted.shape == (120, 2)
    assert intervals.shape == (120, 2, 2, 1)
    assert intervals[:, 1] == pytest.approx(5.0 + 10.0 * intervals[:, 0])


@pytest.mark.parametrize(
    "how",
    [
        {"loss": "poisson"},
        {"selection": "loo"},
        {"selection": CrossValidation(scoring="r2")},
        {"method": "basic"},
        {"dtype": "float32"},
        {"kernel": "laplacian", "gamma": 0.2},
        {"kernel": "linear"},
    ],
)
def test_other_fits_have_intervals_too(numbers, how):
    X, y = numbers
    y = np.round(np.exp(y))
    model = KMPRegressor(**{"kernel": "rbf", "max_support": 10, **how}).fit(X, y)
    _, intervals = model.predict_interval(X)
    assert coverage(y, intervals)[0] > 0.85


def test_csr_rows_and_kernel_matrices_give_the_same(numbers):
    X, y = numbers
    expected = KMPRegressor(**GIVEN).fit(X, y).predict_interval(X)[1]
    S = sparse.csr_matrix(X)
    assert KMPRegressor(**GIVEN).fit(S, y).predict_interval(S)[1] == pytest.approx(
        expected
    )
    K = GIVEN["kernel"](X, X)
    given = KMPRegressor("precomputed", alpha=0.01).fit(K, y).predict_interval(K)[1]
    assert given == pytest.approx(expected)


def test_continued_fits_and_pickles_keep_them(numbers):
    X, y = numbers
    model = KMPRegressor(**GIVEN, max_support=4).fit(X, y)
    model.set_params(max_support=12).continue_fit(X, y)
    whole = KMPRegressor(**GIVEN, max_support=12).fit(X, y)
    expected = whole.predict_interval(X)[1]
    assert model.predict_interval(X)[1] == pytest.approx(expected)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_interval(X)[1], model.predict_interval(X)[1])
    small = model.truncate(folds=False)
    assert len(pickle.dumps(small)) < len(pickle.dumps(model.truncate())) / 3


def test_pickles_hold_half_of_a_triangle(numbers):
    X, y = numbers
    path = KMPRegressor(**GIVEN, selection=None, max_support=60).fit(X, y).path_
    written = pickle.dumps(path)
    assert len(written) < 0.7 * path.triangle.nbytes
    assert np.array_equal(pickle.loads(written).triangle, path.triangle)
    # Pickles of earlier versions have all of it.
    old = copy.copy(path)
    old.__setstate__(path.__dict__)
    assert np.array_equal(old.triangle, path.triangle)


def test_too_few_rows_have_infinite_intervals():
    X, y = made(8)
    model = KMPRegressor(**GIVEN, max_support=3).fit(X, y)
    with pytest.warns(UserWarning, match="coverage=0.9 needs 9 held-out rows"):
        _, intervals = model.predict_interval(X, [0.5, 0.9])
    assert np.all(np.isinf(intervals[..., 1]))
    assert np.all(np.isfinite(intervals[..., 0]))


def test_a_constant_target_has_no_width(numbers):
    X, y = numbers
    model = KMPRegressor(**GIVEN).fit(X, 0.0 * y + 3.0)
    assert np.all(model.predict_interval(X)[1] == 3.0)


# -- sets and probabilities --------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "logistic", "margin", "hinge"])
def test_sets_hold_their_share(classes, loss):
    X, y = classes
    model = KMPClassifier(loss=loss, kernel="rbf", gamma=0.1, max_support=10).fit(X, y)
    new, labels = make_blobs(4000, centers=3, cluster_std=2.5, random_state=0)
    predicted, sets = model.predict_set(new, [0.7, 0.9])
    assert np.array_equal(predicted, model.predict(new))
    assert sets.shape == (4000, 3, 2)
    assert sets.dtype == bool
    assert np.all(sets[..., 0] <= sets[..., 1])
    share = sets[np.arange(4000), labels].mean(axis=0)
    assert share == pytest.approx([0.7, 0.9], abs=0.07)


def test_sets_of_two_classes(classes):
    X, y = classes
    X, y = X[y < 2], np.array(["no", "yes"])[y[y < 2]]
    model = KMPClassifier("rbf").fit(X, y)
    _, sets = model.predict_set(X, 0.9)
    assert sets.shape == (len(y), 2, 1)
    codes = (y == "yes").astype(int)
    assert sets[np.arange(len(y)), codes, 0].mean() > 0.85


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "margin"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_probabilities_are_calibrated(classes, kind, loss, n_classes):
    """They are near the true ones, of three normal distributions."""
    X, y = classes
    X, y = X[y < n_classes], y[y < n_classes]
    model = KMPClassifier(
        "rbf", gamma=0.1, loss=loss, max_support=10, probability=kind
    ).fit(X, y)
    P = model.predict_proba(X)
    assert P.shape == (len(y), n_classes)
    assert P.sum(axis=1) == pytest.approx(1.0)
    assert np.all((P > 0) & (P < 1))
    # Steps have equal probabilities, of which the value decides.
    codes = np.searchsorted(model.classes_, model.predict(X))
    assert np.array_equal(P[np.arange(len(y)), codes], P.max(axis=1))
    assert np.log(P) == pytest.approx(model.predict_log_proba(X))
    centers = [X[y == c].mean(axis=0) for c in range(n_classes)]
    true = np.column_stack([norm.pdf(X, m, 2.5).prod(axis=1) for m in centers])
    true /= true.sum(axis=1, keepdims=True)
    assert np.abs(P - true).mean() < 0.13
    # Better than the shares of the classes.
    share = np.bincount(y) / len(y)
    log_loss = -np.log(P[np.arange(len(y)), y]).mean()
    assert log_loss < -0.72 * np.sum(share * np.log(share))


def test_temperatures_do_not_change_the_classes(classes):
    X, y = classes
    plain = KMPClassifier("rbf", max_support=10).fit(X, y)
    model = KMPClassifier("rbf", max_support=10, probability="temperature").fit(X, y)
    assert np.array_equal(model.decision_function(X), plain.decision_function(X))
    assert np.array_equal(model.predict(X), plain.predict(X))
    # The class is that of the values also where no value tells anything.
    assert Temperature(0.0)(np.array([[1.0], [-1.0]])) == pytest.approx(0.5)


def test_isotonic_probabilities_rise_with_the_value():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(400, 1))
    codes = (rng.random(400) < norm.cdf(values[:, 0])).astype(int)
    calibration = Isotonic.of(values, codes, np.ones(400))
    grid = np.linspace(-9, 9, 101)[:, None]
    P = calibration(grid)[:, 1]
    assert np.all(np.diff(P) >= 0)
    assert 0 < P[0] < 0.1
    assert 0.9 < P[-1] < 1
    assert np.abs(P - norm.cdf(grid[:, 0])).mean() < 0.05


@pytest.mark.parametrize("n_classes", [2, 3])
def test_rows_that_were_all_right_leave_a_doubt(n_classes):
    """Laplace: of n rows none was of another class; the next is, with 1 / (n + 2)."""
    codes = np.arange(30) % n_classes
    values = np.where(codes[:, None] == np.arange(n_classes), 5.0, -5.0)
    if n_classes == 2:
        values = values[:, 1:]
    P = Temperature.of(values, codes, np.ones(30))(values)
    assert P[np.arange(30), codes] == pytest.approx(31 / 32, rel=1e-3)


def test_probabilities_of_all_sizes(classes):
    X, y = classes
    model = KMPClassifier("rbf", max_support=9, probability="temperature").fit(X, y)
    stages = list(model.staged_predict_proba(X))
    assert len(stages) == len(model.path_)
    for n in (1, 4, model.n_support_):
        assert model.truncate(n).predict_proba(X) == pytest.approx(stages[n - 1])
        without = model.truncate(n, folds=False)
        for again in (without, without.truncate(), without.truncate(n)):
            assert again.predict_proba(X) == pytest.approx(stages[n - 1])
        with pytest.raises(NotFittedError, match="without held-out rows"):
            without.truncate(0).predict_proba(X)


def test_without_held_out_rows_there_are_none(classes):
    X, y = classes
    model = KMPClassifier(**GIVEN, selection=None, probability="temperature")
    with pytest.raises(ValueError, match="probability='temperature' needs rows"):
        model.fit(X, y)
    with pytest.raises(ValueError, match="choose one of None, 'temperature'"):
        KMPClassifier(probability=True).fit(X, y)
    with pytest.raises(ValueError, match="probability='isotonic' needs the models"):
        KMPClassifier(**GIVEN, probability="isotonic").fit_batches(rows_of(X, y))


def test_probabilities_asked_for_later_need_another_fit(classes):
    X, y = classes
    model = KMPClassifier("rbf", max_support=5).fit(X, y)
    model.set_params(probability="temperature")
    with pytest.raises(ValueError, match="fit it again"):
        model.predict_proba(X)


# -- files and errors --------------------------------------------------------------


@pytest.mark.parametrize("kind", ["temperature", "isotonic"])
@pytest.mark.parametrize("multiclass", ["shared", "ovr"])
def test_files_keep_what_the_folds_tell(classes, tmp_path, kind, multiclass):
    X, y = classes
    model = KMPClassifier(
        "rbf", max_support=6, probability=kind, multiclass=multiclass
    ).fit(X, y)
    model.save(tmp_path / "model.pursuit")
    again = pursuit.load(tmp_path / "model.pursuit")
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert np.array_equal(again.predict_set(X)[1], model.predict_set(X)[1])
    stages = zip(
        again.staged_predict_proba(X), model.staged_predict_proba(X), strict=True
    )
    assert all(np.array_equal(a, b) for a, b in stages)


@pytest.mark.parametrize("how", [{}, {"loss": Quantile([0.1, 0.9])}])
def test_files_of_regressors_keep_intervals(numbers, model, tmp_path, how):
    X, y = numbers
    model = KMPRegressor(**GIVEN, **how, max_support=6).fit(X, y)
    model.save(tmp_path / "model.pursuit")
    again = pursuit.load(tmp_path / "model.pursuit")
    assert np.array_equal(again.predict_interval(X)[1], model.predict_interval(X)[1])
    assert np.array_equal(again.predict(X), model.predict(X))
    model.truncate(folds=False).save(tmp_path / "small.pursuit")
    small = pursuit.load(tmp_path / "small.pursuit")
    with pytest.raises(ValueError, match="folds=True"):
        small.predict_interval(X)


@pytest.mark.parametrize("wrong", [0, 1, -0.1, 90, "a", None, np.nan, [], [[0.5]]])
def test_coverage_is_a_share(numbers, model, wrong):
    with pytest.raises(ValueError, match="coverage="):
        model.predict_interval(numbers[0], wrong)


def test_errors_name_what_to_do(numbers, model):
    X, y = numbers
    with pytest.raises(ValueError, match="method='x' is not known"):
        model.predict_interval(X, method="x")
    bare = KMPRegressor(**GIVEN, selection=None, max_support=5).fit(X, y)
    with pytest.raises(ValueError, match="fit with selection='cv'"):
        bare.predict_interval(X)
    for ask in (
        lambda: KMPRegressor().predict_interval(X),
        lambda: KMPRegressor().predict(X, return_std=True),
        lambda: KMPClassifier().predict_set(X),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()
    with pytest.raises(ValueError, match="one target"):
        KMPRegressor(**GIVEN, selection=None, max_support=5).fit(
            X, np.column_stack([y, y])
        ).predict(X, return_std=True)


def test_fits_by_blocks_keep_no_folds(monkeypatch):
    X, y = made(600)
    in_memory = KMPRegressor(**GIVEN).fit_batches(rows_of(X, y))
    assert in_memory.predict_interval(X)[1].shape == (600, 2, 1)
    monkeypatch.setattr("pursuit.trips.visits._LEAST_ROWS", 100)
    monkeypatch.setattr(batch_planning, "PART_ROWS", 200)
    model = KMPRegressor(**GIVEN, n_candidates=50).fit_batches(rows_of(X, y))
    with pytest.raises(ValueError, match="not by batches"):
        model.predict_interval(X)
    predicted, std = model.predict(X, return_std=True)
    assert np.array_equal(predicted, model.predict(X))
    assert np.mean(std) == pytest.approx(np.std(y - predicted), rel=0.1)
