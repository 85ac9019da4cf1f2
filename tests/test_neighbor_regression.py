"""Regression by local reconstruction."""

import pickle

import numpy as np
import pytest
from naming import named
from sklearn.datasets import make_friedman1
from sklearn.neighbors import KNeighborsRegressor, NearestNeighbors
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import HKNNRegressor


@pytest.fixture(scope="module")
def friedman():
    """(X, y, Xt, yt): 300 and 200 rows, 5 columns."""
    X, y = make_friedman1(500, n_features=5, noise=0.5, random_state=0)
    return X[:300], y[:300], X[300:], y[300:]


@parametrize_with_checks([HKNNRegressor(), HKNNRegressor(5, "scale", n_jobs=1)])
def test_scikit_learn(estimator, check):
    check(estimator)


def literal(x, N, values, penalty):
    """Weights from the bordered system of the constrained least squares."""
    K = len(N)
    P = N - x
    A = np.block(
        [[P @ P.T + penalty * np.eye(K), np.ones((K, 1))], [np.ones((1, K)), 0]]
    )
    weights = np.linalg.solve(A, np.append(np.zeros(K), 1.0))[:K]
    return weights @ values


@pytest.mark.parametrize("penalty", [1e-3, 0.1, 10.0])
def test_predictions_are_those_of_the_definition(penalty, friedman):
    X, y, Xt, _ = friedman
    model = HKNNRegressor(8, penalty).fit(X, y)
    near = NearestNeighbors(n_neighbors=8).fit(X).kneighbors(Xt, return_distance=False)
    wanted = [literal(x, X[i], y[i], penalty) for x, i in zip(Xt, near, strict=True)]
    np.testing.assert_allclose(model.predict(Xt), wanted, rtol=1e-8)


def test_limits(friedman):
    X, y, Xt, _ = friedman
    wanted = KNeighborsRegressor(7).fit(X, y).predict(Xt)
    found = HKNNRegressor(7, 1e9).fit(X, y).predict(Xt)
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    # Without a penalty a linear function is reproduced, and so are training points.
    f = X @ np.arange(5.0) + 2
    model = HKNNRegressor(12, 0.0).fit(X, f)
    np.testing.assert_allclose(model.predict(Xt), Xt @ np.arange(5.0) + 2, atol=1e-5)
    np.testing.assert_allclose(model.predict(X), f, atol=1e-5)


def test_equal_points_are_averaged():
    X = np.repeat([[0.0], [1.0]], 3, axis=0)
    y = [1.0, 2.0, 3.0, 7.0, 8.0, 9.0]
    model = HKNNRegressor(3, 0.0).fit(X, y)
    np.testing.assert_allclose(model.predict([[0.0], [1.0]]), [2.0, 8.0])


def test_table_is_leave_one_out(friedman):
    X, y = friedman[0][:60], friedman[1][:60]
    model = HKNNRegressor().fit(X, y)
    table = model.loo_table_
    for j, k in [(0, 9), (3, 4), (6, 0)]:
        one = HKNNRegressor(int(table.n_neighbors[k]), float(table.penalties[j]))
        squared = 0.0
        for i in range(60):
            rest = np.arange(60) != i
            squared += (one.fit(X[rest], y[rest]).predict(X[i : i + 1])[0] - y[i]) ** 2
        assert table.errors[j, k] == pytest.approx(squared / 60 / y.var())
    j, k = np.unravel_index(table.errors.argmin(), table.errors.shape)
    assert model.n_neighbors_ == table.n_neighbors[k]
    assert model.penalty_ == table.penalties[j]


@pytest.mark.parametrize(
    "rows",
    [
        np.tile(np.arange(60), 2),
        np.random.default_rng(0).integers(0, 60, 60),
        np.concatenate([np.arange(60), np.zeros(40, dtype=int)]),
    ],
    ids=["doubled", "drawn", "one often"],
)
def test_equal_rows_are_left_out_together(rows, friedman):
    X, y = friedman[0][rows], friedman[1][rows]
    model = HKNNRegressor("auto", 0.1).fit(X, y)
    k = 7
    missed = np.empty(len(rows))
    for row in np.unique(rows):
        same = rows == row
        one = HKNNRegressor(k, 0.1).fit(X[~same], y[~same])
        missed[same] = y[same] - one.predict(X[same])
    wanted = (missed**2).mean() / y.var()
    assert model.loo_table_.errors[0, k - 1] == pytest.approx(wanted)


@pytest.mark.parametrize("penalty", [0.01, 0.1, 1.0])
def test_doubling_the_rows_doubles_the_neighbors(penalty, friedman):
    """Two copies share a weight, which halves its penalty."""
    X, y, *_ = friedman
    one = HKNNRegressor("auto", penalty).fit(X, y)
    two = HKNNRegressor("auto", 2 * penalty).fit(np.r_[X, X], np.r_[y, y])
    np.testing.assert_allclose(
        two.loo_table_.errors[0, 1::2], one.loo_table_.errors[0, :40], rtol=1e-6
    )


@pytest.mark.parametrize("model", [HKNNRegressor(), HKNNRegressor(15)], ids=named)
def test_repeated_rows_spoil_no_choice(model, friedman):
    X, y, Xt, yt = friedman
    wanted = model.fit(X, y).score(Xt, yt)
    assert model.fit(np.r_[X, X], np.r_[y, y]).score(Xt, yt) > wanted - 0.05


@pytest.mark.parametrize("n_copies", [1, 3])
def test_categories_meet_again(n_copies):
    """Rows that differ in their targets only are no copies, but repeated ones are."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (2000, 2)).astype(float)
    y = X.sum(axis=1) % 2 + 0.3 * rng.normal(size=2000)
    Xt, yt = X[1000:], y[1000:]
    X, y = np.repeat(X[:1000], n_copies, axis=0), np.repeat(y[:1000], n_copies)
    assert HKNNRegressor().fit(X, y).score(Xt, yt) > 0.65


def test_better_than_neighbors_alone(friedman):
    X, y, Xt, yt = friedman
    best = max(
        KNeighborsRegressor(k, weights="distance").fit(X, y).score(Xt, yt)
        for k in (3, 5, 8, 12, 20)
    )
    score = HKNNRegressor().fit(X, y).score(Xt, yt)
    assert 1 - score < 0.8 * (1 - best)


def test_several_outputs_blocks_and_pickle(friedman):
    X, y, Xt, _ = friedman
    Y = np.column_stack([y, y**2])
    model = HKNNRegressor(9, 0.1, max_memory=1, n_jobs=2).fit(X, Y)
    found = pickle.loads(pickle.dumps(model)).predict(Xt)
    for t in range(2):
        wanted = HKNNRegressor(9, 0.1).fit(X, Y[:, t]).predict(Xt)
        np.testing.assert_allclose(found[:, t], wanted)
    narrow = HKNNRegressor(9, 0.1).fit(X.astype(np.float32), y)
    np.testing.assert_allclose(narrow.predict(Xt), found[:, 0], rtol=1e-3)


@pytest.mark.parametrize(
    "how, message",
    [
        ({"n_neighbors": 0}, "n_neighbors=0"),
        ({"penalty": "cv"}, "penalty='cv' must be a finite number .* or 'auto'"),
        ({"penalty": -1}, "penalty=-1 must be a finite number"),
        ({"loo_samples": 0}, "loo_samples=0"),
        ({"search": 3}, "search=3 must have the methods"),
        ({"search": NearestNeighbors}, "is a class: give an instance"),
        ({"n_jobs": 0}, "n_jobs=0 must be a whole number"),
    ],
)
def test_bad_parameters(how, message, friedman):
    with pytest.raises(ValueError, match=message):
        HKNNRegressor(**how).fit(*friedman[:2])


def test_large_and_small_numbers(friedman):
    X, y, Xt, _ = friedman
    wanted = HKNNRegressor().fit(X, y)
    for scale in (1e-300, 1e200, 1e305):
        model = HKNNRegressor().fit(X, scale * y)
        assert model.penalty_ == wanted.penalty_
        np.testing.assert_allclose(model.predict(Xt) / scale, wanted.predict(Xt))
    for scale in (1e-130, 1e140):
        model = HKNNRegressor().fit(scale * X, y)
        np.testing.assert_allclose(model.predict(scale * Xt), wanted.predict(Xt))
    with pytest.raises(ValueError, match="squares overflow: scale it down"):
        HKNNRegressor().fit(1e160 * X, y)
    with pytest.raises(ValueError, match="squares overflow: scale it down"):
        wanted.predict(1e160 * Xt)
    with pytest.raises(ValueError, match="underflows: scale it up"):
        HKNNRegressor().fit(1e-160 * X, y)


def test_outputs_count_alike_whatever_their_units(friedman):
    X, y, *_ = friedman
    noise = np.random.default_rng(0).standard_normal(len(y))
    tables = [
        HKNNRegressor().fit(X, np.column_stack([y, unit * noise])).loo_table_.errors
        for unit in (1.0, 1e6, 1e-6)
    ]
    np.testing.assert_allclose(tables[1], tables[0])
    np.testing.assert_allclose(tables[2], tables[0])
    each = [HKNNRegressor().fit(X, t).loo_table_.errors for t in (y, noise)]
    np.testing.assert_allclose(tables[0], np.mean(each, axis=0))
    # A constant output has no say.
    constant = HKNNRegressor().fit(X, np.column_stack([y, np.full(len(y), 0.1)]))
    np.testing.assert_allclose(2 * constant.loo_table_.errors, each[0])


def test_the_model_keeps_its_own_points(friedman):
    X, y, Xt, _ = friedman
    X, y = X.copy(), y.copy()
    model = HKNNRegressor(5, 0.1).fit(X, y)
    wanted = model.predict(Xt)
    X *= 7
    y *= 7
    np.testing.assert_array_equal(model.predict(Xt), wanted)
