"""Tables of leave-one-out errors are those of fits without the row."""

import numpy as np
import pytest
from naming import named
from searches import Shuffled
from sklearn.base import clone
from sklearn.neighbors import kneighbors_graph

from pursuit import CKNNClassifier, HKNNClassifier
from pursuit.neighbors import ImageTangents
from pursuit.neighbors.leave_one_out import Mistakes, temperature

CLASSIFIERS = [HKNNClassifier, CKNNClassifier]


@pytest.mark.parametrize(
    "tangents", [None, ImageTangents((8, 8))], ids=["", "tangents"]
)
def test_table_is_leave_one_out(tangents, digits):
    X, y = digits[0][:60], digits[1][:60]
    model = HKNNClassifier("auto", "auto", tangents=tangents).fit(X, y)
    table = model.loo_table_
    assert table.errors.shape == (len(table.penalties), len(table.n_neighbors))
    assert table.n_samples == 60
    for j, k in [(0, 2), (3, 4), (6, 0)]:
        wrong = 0
        for i in range(60):
            rest = np.arange(60) != i
            one = HKNNClassifier(
                int(table.n_neighbors[k]),
                float(table.penalties[j]),
                tangents=tangents,
                loo_samples=0,
            )
            wrong += one.fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i]
        assert table.errors[j, k] == pytest.approx(wrong / 60)
    chosen = table.errors[
        np.flatnonzero(table.penalties == model.penalty_)[0],
        np.flatnonzero(table.n_neighbors == model.n_neighbors_)[0],
    ]
    assert chosen == table.errors.min()


def made_up(n_samples, **missed):
    """Mistakes of a few settings, "penalty_number": the points that it misses."""
    numbers, penalties = np.array([1, 5, 10, 15, 30]), np.array([0.0, 0.1, 1.0, 10.0])
    is_wrong = np.ones((n_samples, len(penalties), len(numbers)), dtype=bool)
    for place, points in missed.items():
        j, k = map(int, place.removeprefix("at").split("_"))
        is_wrong[:, j, k] = np.isin(np.arange(n_samples), points)
    return Mistakes(numbers, penalties, is_wrong)


@pytest.mark.parametrize(
    "missed, chosen",
    [
        # Two fewer, of other points, are chance; four fewer of the same are not.
        ({"at1_3": [0, 1, 2, 3, 4], "at0_1": [0, 5, 6]}, (1, 3)),
        ({"at1_3": [0, 1, 2, 3, 4], "at0_1": [0]}, (0, 1)),
        # Of equally good ones the nearest to the usual setting counts.
        ({"at1_3": range(9), "at0_0": [], "at2_2": [], "at3_3": []}, (2, 2)),
        ({"at1_3": range(9), "at3_3": [], "at2_4": []}, (2, 4)),
        ({"at1_3": [0], "at0_0": [1], "at1_2": [2]}, (1, 3)),
        ({}, (1, 3)),
    ],
)
def test_the_usual_setting_stays_unless_another_is_clearly_better(missed, chosen):
    assert made_up(50, **missed).choice(15, 0.1) == chosen


def test_the_usual_setting_is_the_nearest_there_is():
    assert made_up(50).choice(100, 0.12) == (1, 4)
    assert made_up(50).choice(1, 0.0) == (0, 0)


def test_table_does_not_shrink_with_the_memory(digits):
    X, y = digits[0][:80], digits[1][:80]
    wanted = HKNNClassifier("auto", "auto").fit(X, y)
    for memory in (1, "20 kB"):
        found = HKNNClassifier("auto", "auto", max_memory=memory).fit(X, y)
        assert found.loo_table_.n_samples == 80
        np.testing.assert_array_equal(found.loo_table_.errors, wanted.loo_table_.errors)
        assert found.temperature_ == pytest.approx(wanted.temperature_)


def test_table_with_few_components(digits):
    X, y = digits[0][:60], digits[1][:60]
    table = HKNNClassifier("auto", "auto", n_components=2).fit(X, y).loo_table_
    assert 1 < len(table.n_neighbors) < 12
    place = table.n_neighbors.tolist().index(5)
    for j in (0, 4, 7):
        wrong = 0
        for i in range(60):
            rest = np.arange(60) != i
            one = HKNNClassifier(
                5, float(table.penalties[j]), n_components=2, loo_samples=0
            )
            wrong += one.fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i]
        assert table.errors[j, place] == pytest.approx(wrong / 60)


def test_table_of_hulls(digits):
    X, y = digits[0][:60], digits[1][:60]
    table = CKNNClassifier("auto").fit(X, y).loo_table_
    for k in (0, 4):
        wrong = 0
        for i in range(60):
            rest = np.arange(60) != i
            one = CKNNClassifier(k + 1, loo_samples=0).fit(X[rest], y[rest])
            wrong += one.predict(X[i : i + 1])[0] != y[i]
        assert table.errors[0, k] == pytest.approx(wrong / 60)


def test_left_out_points_outside_the_reference(digits):
    """Leave-one-out with a reduced set: others are simply new points."""
    X, y, *_ = digits
    rows = np.arange(0, 300, 3)
    model = HKNNClassifier("auto", 0.3, reference=rows).fit(X, y)
    others = np.setdiff1d(np.arange(300), rows)
    wrong = 0
    k = 4
    one = HKNNClassifier(k, 0.3, loo_samples=0)
    wrong += (one.fit(X[rows], y[rows]).predict(X[others]) != y[others]).sum()
    for i in rows:
        rest = rows[rows != i]
        wrong += one.fit(X[rest], y[rest]).predict(X[i : i + 1])[0] != y[i]
    assert model.loo_table_.errors[0, k - 1] == pytest.approx(wrong / 300)


def test_one_parameter_alone_by_leave_one_out(digits):
    X, y, *_ = digits
    model = HKNNClassifier(7, "auto").fit(X, y)
    assert model.n_neighbors_ == 7
    assert model.loo_table_.errors.shape[1] == 1
    model = HKNNClassifier("auto", 0.5).fit(X, y)
    assert model.penalty_ == 0.5
    assert model.loo_table_.errors.shape[0] == 1
    assert HKNNClassifier().fit(X, y).loo_table_ is None


def test_subsample_is_drawn_by_random_state(digits):
    X, y, *_ = digits
    models = [
        HKNNClassifier("auto", loo_samples=60, random_state=s).fit(X, y)
        for s in (1, 1, 2)
    ]
    assert all(m.loo_table_.n_samples == 60 for m in models)
    assert models[0].temperature_ == models[1].temperature_
    assert models[0].temperature_ != models[2].temperature_


def test_temperature_is_the_likeliest(rng):
    codes = rng.integers(3, size=400)
    score = rng.uniform(size=(400, 3)) + 0.5
    score[np.arange(400), codes] -= 0.3

    def surprise(t):
        gaps = score - score[np.arange(400), codes][:, None]
        return np.log(np.exp(-gaps / t).sum(axis=1)).sum()

    t = temperature(score, codes)
    assert surprise(t) < min(surprise(0.5 * t), surprise(2 * t))
    # All right: some temperature above zero nevertheless.
    score[np.arange(400), codes] = 0.0
    t = temperature(score, codes)
    assert 0.05 < t < 0.5
    assert temperature(1000 * score, codes) == pytest.approx(1000 * t, rel=1e-3)
    assert temperature(np.full((3, 2), np.inf), np.zeros(3, int)) == 1.0
    # Nobody knows the own class: the typical score, in its units.
    alone = np.array([[np.inf, 2.0], [4.0, np.inf]])
    assert temperature(alone, np.arange(2)) == 3.0
    assert temperature(1e6 * alone, np.arange(2)) == 3e6


# -- rows that are there more than once --------------------------------------------

REPEATS = {
    "doubled": np.tile(np.arange(60), 2),
    "drawn": np.random.default_rng(0).integers(0, 60, 60),
    "one often": np.concatenate([np.arange(60), np.zeros(40, dtype=int)]),
    "some oversampled": np.concatenate([np.arange(60), *[np.arange(10)] * 5]),
}
CHOOSING = [
    HKNNClassifier("auto", 0.3),
    HKNNClassifier("auto", 0.0, search=Shuffled()),
    HKNNClassifier("auto", 0.3, n_components=2),
    HKNNClassifier("auto", 0.3, reference=np.arange(45), max_memory="40 KiB"),
    CKNNClassifier("auto"),
]


@pytest.mark.parametrize("repeat", REPEATS)
@pytest.mark.parametrize("model", CHOOSING, ids=named)
def test_equal_rows_are_left_out_together(model, repeat, digits):
    X, y, *_ = digits
    rows = REPEATS[repeat]
    X, y = X[rows], y[rows]
    fitted = clone(model).fit(X, y)
    place = 2
    k = int(fitted.loo_table_.n_neighbors[place])
    one = clone(model).set_params(n_neighbors=k, loo_samples=0, reference=None)
    wrong = {}
    for row in np.unique(rows):
        rest = fitted.reference_[rows[fitted.reference_] != row]
        x = X[rows == row][:1]
        wrong[row] = one.fit(X[rest], y[rest]).predict(x)[0] != y[rows == row][0]
    mean = np.mean([wrong[row] for row in rows])
    assert fitted.loo_table_.errors[0, place] == pytest.approx(mean)


@pytest.mark.parametrize("repeat", REPEATS)
def test_equal_rows_are_left_out_of_graphs(repeat, digits):
    X, y, *_ = digits
    X, y = X[REPEATS[repeat]], y[REPEATS[repeat]]
    graph = kneighbors_graph(X, len(X) - 1, mode="distance", include_self=False)
    model = HKNNClassifier("auto", 0.3)
    wanted = clone(model).fit(X, y)
    found = clone(model).fit(X, y, graph=graph)
    np.testing.assert_allclose(found.loo_table_.errors, wanted.loo_table_.errors)
    assert found.temperature_ == pytest.approx(wanted.temperature_)


@pytest.mark.parametrize(
    "one, two",
    [
        (HKNNClassifier("auto", 0.3), HKNNClassifier("auto", 0.6)),
        (HKNNClassifier("auto", 0.02), HKNNClassifier("auto", 0.04)),
        (CKNNClassifier("auto"), CKNNClassifier("auto")),
    ],
    ids=named,
)
def test_doubling_the_rows_doubles_the_neighbors(one, two, digits):
    """Two copies share a weight, which halves its penalty; hulls stay as they are."""
    X, y, Xt, yt = digits
    one = clone(one).fit(X, y)
    two = clone(two).fit(np.r_[X, X], np.r_[y, y])
    n = len(one.loo_table_.n_neighbors) // 2
    np.testing.assert_allclose(
        two.loo_table_.errors[0, 1 : 2 * n : 2], one.loo_table_.errors[0, :n], atol=0.01
    )
    # The default, which stays in doubt, does not double.
    one.set_params(n_neighbors=6).fit(X, y)
    two.set_params(n_neighbors=12).fit(np.r_[X, X], np.r_[y, y])
    # The one point more that it counts is among twice as many.
    assert two.temperature_ == pytest.approx(one.temperature_, rel=0.15)
    assert two.score(Xt, yt) == pytest.approx(one.score(Xt, yt), abs=0.01)


def test_a_few_categories_meet_again():
    """Titanic: rows of a kind are not copies, and one is left out at a time."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (400, 3)).astype(float)
    y = (X.sum(axis=1) > 1).astype(int)
    model = HKNNClassifier("auto").fit(X, y)
    assert model.loo_table_.errors.min() == 0.0


@pytest.mark.parametrize("make", CLASSIFIERS)
def test_many_categories_meet_again(make):
    """A hundred kinds of rows: those of both classes show that they are no copies."""
    rng = np.random.default_rng(0)
    X = rng.integers(0, 10, (1000, 2)).astype(float)
    y = (X.sum(axis=1) % 2).astype(int) ^ (rng.random(1000) < 0.1)
    assert make("auto").fit(X, y).loo_table_.errors.min() < 0.15


@pytest.mark.parametrize("make", CLASSIFIERS)
@pytest.mark.parametrize("n", [2, 4, 9])
def test_rows_that_are_all_equal(make, n):
    model = make("auto").fit(np.ones((n, 2)), np.arange(n) % 2)
    assert np.isfinite(model.predict_proba(np.ones((1, 2)))).all()
