"""Fits block by block: the same model however the rows are divided and ordered."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.datasets import make_moons

import pursuit.estimators.kmp.batch_planning as batch_planning
from pursuit import KMPClassifier, KMPRegressor
from pursuit.batches import ArrayRows, Block, Rows
from pursuit.dictionaries import ManyWidths
from pursuit.kernels import Gaussian
from pursuit.methods import Redrawn
from pursuit.selection import CrossValidation

N = 900


@pytest.fixture(autouse=True)
def small_part(monkeypatch):
    """Let little data be fitted as large data are, block by block."""
    monkeypatch.setattr("pursuit.trips.visits._LEAST_ROWS", 100)
    monkeypatch.setattr(batch_planning, "PART_ROWS", 200)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=N)


@pytest.fixture(scope="module")
def classes(numbers):
    X, y = numbers
    return X, np.array(["low", "middle", "high"])[np.digitize(y, [0.0, 0.8])]


FIXED = {"kernel": "rbf", "gamma": 0.5, "alpha": 1e-3, "n_candidates": 60}
SIZED = FIXED | {"max_support": 12, "random_state": 0}


def assert_same(one, other):
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_array_equal(one.support_vectors_, other.support_vectors_)
    scale = np.abs(one.dual_coef_).max()
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, atol=1e-8 * scale)
    np.testing.assert_allclose(one.intercept_, other.intercept_, atol=1e-8)
    assert one.alpha_ == pytest.approx(other.alpha_)
    assert len(one.path_) == len(other.path_)


def cut(X, y, ends, weight=None):
    """Return the rows as a callable that gives blocks, some of them empty."""

    def blocks():
        edges = [0, *sorted(ends), len(y)]
        for i, j in pairwise(edges):
            yield (X[i:j], y[i:j]) if weight is None else (X[i:j], y[i:j], weight[i:j])

    return blocks


# -- the same model ----------------------------------------------------------------


@pytest.mark.parametrize("selection", [None, "cv", "validation"])
def test_order_and_division_do_not_matter(numbers, selection):
    X, y = numbers
    model = KMPRegressor(**SIZED, selection=selection)
    one = clone(model).fit_batches(ArrayRows(X, y, rows_at_once=N))
    order = np.random.default_rng(1).permutation(N)
    for size in (1, 64, 500):
        rows = ArrayRows(X[order], y[order], rows_at_once=size)
        assert_same(one, clone(model).fit_batches(rows))
    assert one.n_support_ == 12 if selection is None else one.n_support_ <= 12
    assert one.score(X, y) > 0.7


@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    ends=st.lists(st.integers(0, N), max_size=12),
    seed=st.integers(0, 2**16),
    zeros=st.integers(0, 200),
)
def test_any_division_of_weighted_rows(numbers, ends, seed, zeros):
    X, y = numbers
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 4, N).astype(float)
    weight[rng.permutation(N)[:zeros]] = 0.0
    whole = KMPRegressor(**SIZED).fit_batches(ArrayRows(X, y, weight))
    divided = KMPRegressor(**SIZED).fit_batches(cut(X, y, ends, weight))
    assert_same(whole, divided)
    repeated = np.repeat(rng.permutation(N), 1)
    rows = np.concatenate([np.repeat(i, int(weight[i])) for i in repeated])
    assert_same(whole, KMPRegressor(**SIZED).fit_batches(ArrayRows(X[rows], y[rows])))


def test_what_is_given_equals_a_fit_in_memory(numbers):
    X, y = numbers
    model = KMPRegressor(**SIZED, selection=None)
    whole = clone(model).fit(X, y)
    streamed = clone(model).fit_batches(ArrayRows(X, y, rows_at_once=100))
    np.testing.assert_array_equal(whole.support_vectors_, streamed.support_vectors_)
    np.testing.assert_allclose(whole.dual_coef_, streamed.dual_coef_, rtol=1e-8)
    np.testing.assert_allclose(whole.path_.errors, streamed.path_.errors, rtol=1e-8)
    np.testing.assert_allclose(whole.predict(X), streamed.predict(X), rtol=1e-8)


def test_few_rows_are_fitted_as_in_memory(numbers):
    X, y = (a[:150] for a in numbers)
    order = np.random.default_rng(0).permutation(150)
    for model in (KMPRegressor(max_support=8), KMPRegressor(**SIZED, loss="huber")):
        whole = clone(model).fit(X, y)
        rows = ArrayRows(X[order], y[order], rows_at_once=7)
        streamed = clone(model).fit_batches(rows)
        np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-6)
        assert streamed.n_support_ == whole.n_support_
        assert streamed._n_rows == 150


def test_learned_kernels(numbers):
    X, y = numbers
    one = KMPRegressor(max_support=15).fit_batches(ArrayRows(X, y))
    order = np.random.default_rng(2).permutation(N)
    rows = ArrayRows(X[order], y[order], rows_at_once=33)
    assert_same(one, KMPRegressor(max_support=15).fit_batches(rows))
    assert one.metric_ is not None
    assert one.search_
    assert one.feature_importances_[2] < 0.1
    assert one.held_out_error_ < 0.1
    assert one.score(X, y) > 0.9
    # Units of columns do not matter.
    units = np.array([1000.0, 1e-3, 7.0])
    scaled = KMPRegressor(max_support=15).fit_batches(ArrayRows(X * units, y))
    np.testing.assert_allclose(scaled.predict(X * units), one.predict(X), rtol=1e-5)


def test_several_outputs(numbers):
    X, y = numbers
    Y = np.column_stack([y, -2 * y + X[:, 2]])
    model = KMPRegressor(**SIZED, selection=None)
    streamed = clone(model).fit_batches(ArrayRows(X, Y, rows_at_once=90))
    whole = clone(model).fit(X, Y)
    np.testing.assert_allclose(streamed.predict(X), whole.predict(X), rtol=1e-7)
    assert streamed.score_batches(ArrayRows(X, Y)) == pytest.approx(whole.score(X, Y))


@pytest.mark.parametrize("multiclass", ["shared", "ovr"])
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_several_classes(classes, multiclass, loss):
    X, y = classes
    # One class is in the last block only.
    order = np.argsort(y == "middle", kind="stable")
    model = KMPClassifier(**SIZED, loss=loss, multiclass=multiclass)
    one = clone(model).fit_batches(ArrayRows(X, y))
    other = clone(model).fit_batches(ArrayRows(X[order], y[order], rows_at_once=60))
    assert_same(one, other)
    np.testing.assert_array_equal(one.classes_, ["high", "low", "middle"])
    assert one.score(X, y) > 0.7
    assert one.score_batches(ArrayRows(X, y)) == pytest.approx(one.score(X, y))
    if loss == "logistic":
        P = np.concatenate(
            list(one.predict_batches(ArrayRows(X), method="predict_proba"))
        )
        np.testing.assert_allclose(P, one.predict_proba(X))


def test_blocks_of_weight_zero_only(numbers):
    X, y = numbers
    for targets in (y, np.column_stack([y, -y])):
        weight = np.r_[np.zeros(300), np.ones(600)]
        rows = ArrayRows(X, targets, weight, rows_at_once=100)
        model = KMPRegressor(**SIZED).fit_batches(rows)
        rest = KMPRegressor(**SIZED).fit_batches(ArrayRows(X[300:], targets[300:]))
        assert_same(model, rest)


def test_rare_classes_are_in_the_part():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = np.where(X[:, 0] > 2.9, 1, 0)
    assert 0 < y.sum() < 12
    model = KMPClassifier(**FIXED, max_support=10, class_weight="balanced")
    model.fit_batches(ArrayRows(X, y, rows_at_once=100))
    assert set(model.predict(X)) == {0, 1}


@pytest.mark.parametrize("task", ["two", "several", "huber", "poisson"])
def test_coefficients_minimize_the_loss_on_all_fitted_rows(numbers, classes, task):
    X, y = numbers
    if task in ("two", "several"):
        y = y > 0.5 if task == "two" else classes[1]
        model = KMPClassifier(**SIZED, loss="logistic", selection=None)
    elif task == "huber":
        model = KMPRegressor(**SIZED, loss="huber", selection=None)
    else:
        y = np.random.default_rng(0).poisson(np.exp(np.clip(y, -2, 2)))
        model = KMPRegressor(**SIZED, loss="poisson", selection=None)
    model.fit_batches(ArrayRows(X, y, rows_at_once=128))
    K = model.atoms_(X)
    Y = model._encoded(y)

    def slope(loss):
        F = (K @ model.dual_coef_.T + model.intercept_).T
        g = loss.gradient(Y, F)
        return g @ K + 2 * model.alpha_ * model.dual_coef_, g.sum(axis=1)

    by_points, by_constant = slope(model.loss_)
    # In units of the gradient of a model without points.
    start = np.repeat(model.loss_.start(Y, np.ones(N))[:, None], N, axis=1)
    scale = np.abs(model.loss_.gradient(Y, start) @ K).max()
    assert np.abs(by_points).max() < 1e-6 * scale
    assert np.abs(by_constant).max() < 1e-6 * scale
    assert len(model.path_) == 12
    assert model.truncate(5).n_support_ == 5


def test_sparse_rows_are_as_dense_ones(numbers):
    X, y = numbers
    X = np.where(np.abs(X) < 0.5, 0.0, X)
    model = KMPRegressor(**SIZED, selection=None)
    dense = clone(model).fit_batches(ArrayRows(X, y, rows_at_once=100))
    sparse = clone(model).fit_batches(ArrayRows(sp.csr_array(X), y, rows_at_once=333))
    np.testing.assert_allclose(dense.predict(X), sparse.predict(X), rtol=1e-8)


def test_dictionaries(numbers):
    X, y = numbers
    model = KMPRegressor(dictionary=ManyWidths(), max_support=8, alpha=1e-3)
    one = clone(model).fit_batches(ArrayRows(X, y))
    order = np.random.default_rng(5).permutation(N)
    rows = ArrayRows(X[order], y[order], rows_at_once=50)
    assert_same(one, clone(model).fit_batches(rows))
    assert one.score(X, y) > 0.5


def test_kernel_objects_and_functions(numbers):
    X, y = numbers
    more = {"max_support": 8, "alpha": 1e-3, "n_candidates": 40}
    one = KMPRegressor(Gaussian(gamma=0.5), **more).fit_batches(ArrayRows(X, y))
    named = KMPRegressor("rbf", gamma=0.5, **more).fit_batches(ArrayRows(X, y))
    assert_same(one, named)


def test_frames_give_names(numbers):
    pandas = pytest.importorskip("pandas")
    X, y = numbers
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    model = KMPRegressor(**SIZED).fit_batches(ArrayRows(frame, y))
    np.testing.assert_array_equal(model.feature_names_in_, ["a", "b", "c"])
    assert model.predict(frame).shape == (N,)
    found = np.concatenate(list(model.predict_batches(ArrayRows(frame))))
    np.testing.assert_allclose(found, model.predict(frame))
    assert model.score_batches(ArrayRows(frame, y)) == model.score(frame, y)
    with pytest.raises(ValueError, match="columns of the rows are c, b, a"):
        list(model.predict_batches(ArrayRows(frame[["c", "b", "a"]])))
    model.fit_batches(ArrayRows(X, y))
    assert not hasattr(model, "feature_names_in_")


def test_models_are_as_others(numbers, tmp_path):
    import pickle

    import pursuit

    X, y = numbers
    model = KMPRegressor(**SIZED).fit_batches(ArrayRows(X, y))
    assert "rows × 3 columns" in str(model.summary())
    assert f"{N} rows" in str(model.summary())
    model.save(tmp_path / "model.pursuit")
    loaded = pursuit.load(tmp_path / "model.pursuit")
    for other in (loaded, pickle.loads(pickle.dumps(model)), model.truncate()):
        np.testing.assert_array_equal(other.predict(X), model.predict(X))
    stages = list(model.staged_predict(X[:5]))
    np.testing.assert_allclose(stages[model.n_support_ - 1], model.predict(X[:5]))
    with pytest.raises(ValueError, match="fitted by batches"):
        model.bound(X, y)
    model.fit(X, y)
    assert model.bound(X, y) is not None


def test_predictions_block_by_block(numbers):
    X, y = numbers
    model = KMPRegressor(**SIZED).fit_batches(ArrayRows(X, y))
    found = list(model.predict_batches(ArrayRows(X, rows_at_once=400)))
    assert [len(block) for block in found] == [400, 400, 100]
    np.testing.assert_allclose(np.concatenate(found), model.predict(X))
    assert model.score_batches(ArrayRows(X, y)) == pytest.approx(model.score(X, y))
    with pytest.raises(ValueError, match="2 columns"):
        list(model.predict_batches(ArrayRows(X[:, :2])))


def test_searches_are_the_same_without_a_seed(numbers):
    X, y = numbers
    model = KMPRegressor("rbf", n_candidates=50, max_support=8)
    one = clone(model).fit_batches(ArrayRows(X, y))
    assert_same(one, clone(model).fit_batches(ArrayRows(X[::-1], y[::-1])))
    assert one.gamma_ is not None


def test_auto_is_the_squared_loss(classes):
    X, y = classes
    model = KMPClassifier(max_support=6, metric="diagonal", kernel="rbf")
    assert type(model.fit(X, y).loss_).__name__ == "JointMargin"
    model.fit_batches(ArrayRows(X, y))
    assert type(model.loss_).__name__ == "Squared"
    margin = clone(model).set_params(loss="margin").fit_batches(ArrayRows(X, y))
    assert type(margin.loss_).__name__ == "JointMargin"
    assert margin.score(X, y) > 0.7


def test_checkpoints_know_the_state_of_random_numbers(numbers, tmp_path):
    X, y = numbers
    seeds = [np.random.RandomState(seed) for seed in (0, 0, 1)]
    one, same, other = (KMPRegressor(**SIZED | {"random_state": s}) for s in seeds)
    one.fit_batches(ArrayRows(X, y), checkpoint=tmp_path / "fit.npz")
    same.fit_batches(ArrayRows(X, y), checkpoint=tmp_path / "fit.npz")
    assert_same(one, same)
    with pytest.raises(ValueError, match="other parameters"):
        other.fit_batches(ArrayRows(X, y), checkpoint=tmp_path / "fit.npz")


# -- what cannot be ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"method": "basic"}, "pre-fitting"),
        ({"selection": "loo"}, "validation"),
        ({"selection": "bound"}, "validation"),
        ({"n_candidates": Redrawn(20)}, "give a number"),
        ({"n_candidates": None}, "give a number"),
        ({"kernel": "precomputed"}, "give points"),
        ({"selection": CrossValidation(scoring="r2")}, "scoring='r2'"),
        ({"selection": CrossValidation([([0], [1])])}, "number of folds"),
        ({"n_candidates": 5000, "max_memory": "1 MiB"}, "max_memory"),
    ],
)
def test_what_needs_all_rows_is_refused(numbers, parameters, words):
    X, y = numbers
    with pytest.raises(ValueError, match=words):
        KMPRegressor(max_support=5, **parameters).fit_batches(ArrayRows(X, y))


def test_a_tiny_ridge_is_told(numbers):
    X, y = numbers
    model = KMPRegressor("rbf", gamma=0.5, alpha=0.0, max_support=5)
    with pytest.warns(UserWarning, match="alpha=0 is smaller.*is used instead"):
        model.fit_batches(ArrayRows(X, y))
    assert model.alpha_ > 0


def _spoiled(numbers, change):
    X, y = (a.copy() for a in numbers)

    def blocks():
        for i in range(0, N, 300):
            block = Block(X[i : i + 300], y[i : i + 300], None, f"file-{i}, all rows")
            yield change(block) if i == 600 else block

    class Raw(Rows):
        def blocks(self, start=0):
            yield from blocks()

    return Raw()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda b: Block(b.X * np.nan, b.y, None, b.where), "column 0"),
        (
            lambda b: Block(b.X, b.y * np.inf, None, b.where),
            "target: the value is -?inf",
        ),
        (lambda b: Block(b.X[:, :2], b.y, None, b.where), "2 columns"),
        (lambda b: Block(b.X, b.y[:-1], None, b.where), "y 299"),
        (lambda b: Block(b.X, None, None, b.where), "no targets"),
        (lambda b: Block(b.X, b.y, np.full(300, -1.0), b.where), "the weight is -1"),
        (lambda b: Block(b.X, np.column_stack([b.y] * 2), None, b.where), "2 columns"),
    ],
)
def test_wrong_blocks_are_named(numbers, change, words, monkeypatch):
    monkeypatch.setattr("pursuit.trips.visits._LEAST_ROWS", 1)
    with pytest.raises(ValueError, match=rf"file-600, all rows.*{words}"):
        KMPRegressor(**SIZED).fit_batches(_spoiled(numbers, change))


def test_targets_of_the_other_kind(numbers, classes):
    X, y = numbers
    with pytest.raises(ValueError, match="KMPRegressor"):
        KMPClassifier().fit_batches(ArrayRows(X, y))
    with pytest.raises(ValueError, match="KMPClassifier"):
        KMPRegressor().fit_batches(ArrayRows(X, classes[1]))
    with pytest.raises(ValueError, match="class"):
        KMPClassifier().fit_batches(ArrayRows(X, np.zeros(N, dtype=int)))
    with pytest.raises(ValueError, match="no rows of positive weight"):
        KMPRegressor().fit_batches(ArrayRows(X, y, np.zeros(N)))


def test_a_failed_fit_keeps_the_model(numbers):
    X, y = numbers
    model = KMPRegressor(**SIZED).fit_batches(ArrayRows(X, y))
    before = model.predict(X)

    def blocks():
        yield X[:, :2], y
        raise OSError("the disk was pulled out")

    with pytest.raises(ValueError, match="pulled out"):
        model.fit_batches(blocks)
    np.testing.assert_array_equal(model.predict(X), before)


def test_constant_targets_and_columns():
    X, _ = make_moons(600, random_state=0)
    X = np.column_stack([X, np.ones(600)])
    model = KMPRegressor(**SIZED).fit_batches(ArrayRows(X, np.full(600, 3.5)))
    np.testing.assert_allclose(model.predict(X[:5]), 3.5)


# -- rows of any kind, in any blocks -----------------------------------------------

ANY_ROWS = settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
DIVISION = {
    "ends": st.lists(st.integers(0, 2 * N), max_size=12),
    "seed": st.integers(0, 2**16),
}
MANY = {
    "logistic": KMPClassifier(**SIZED, loss="logistic"),
    "several": KMPClassifier(**SIZED),
    "balanced": KMPClassifier(**SIZED, class_weight="balanced", multiclass="ovr"),
    "learned": KMPClassifier(max_support=8, metric="diagonal", kernel="rbf"),
    "outputs": KMPRegressor(**SIZED),
    "widths": KMPRegressor(dictionary=ManyWidths(), max_support=6, alpha=1e-3),
    "metric": KMPRegressor(
        *("rbf",), gamma=0.5, metric=[1.0, 0.5, 0.1], alpha=1e-3, max_support=8
    ),
    "validation": KMPRegressor(**SIZED, selection="validation"),
    "sparse": KMPRegressor(**SIZED),
}


@pytest.mark.parametrize("task", MANY)
@ANY_ROWS
@given(**DIVISION)
def test_neither_order_nor_blocks_nor_rows_of_weight_zero_matter(
    numbers, classes, task, ends, seed
):
    """Rows in another order and division, with others of weight 0 and far values."""
    X, y = numbers
    if task == "logistic":
        y = y > 0.5
    elif task in ("several", "balanced", "learned"):
        y = classes[1]
    elif task == "outputs":
        y = np.column_stack([y, X[:, 2] - y])
    rng = np.random.default_rng(seed)
    # Each row twice, with half of the weight each, or once with weight 0.
    weight = rng.choice([0.5, 1.0], N)
    X_all, y_all = np.concatenate([X, X]), np.concatenate([y, y])
    far = weight == 1.0
    X_all[N:][far] *= 100.0
    w_all = np.concatenate([weight, np.where(far, 0.0, 0.5)])
    order = rng.permutation(2 * N)
    as_given = sp.csr_array if task == "sparse" else np.asarray
    divided = cut(as_given(X_all[order]), y_all[order], ends, w_all[order])
    model = MANY[task]
    one = clone(model).fit_batches(ArrayRows(as_given(X), y))
    other = clone(model).fit_batches(divided)
    np.testing.assert_array_equal(
        *(sp.csr_array(m.support_vectors_).toarray() for m in (one, other))
    )
    scale = np.abs(one.dual_coef_).max()
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, atol=1e-8 * scale)
    np.testing.assert_allclose(one.alpha_, other.alpha_)
    assert one.held_out_error_ is None or one.held_out_error_ == pytest.approx(
        other.held_out_error_, rel=1e-4
    )
