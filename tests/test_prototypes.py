"""Prototypes: equal to the literal algorithms, nested, a reference of classifiers."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import reference
from naming import named
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

from pursuit import (
    CKNNClassifier,
    CondensedNeighbors,
    DropNeighbors,
    EditedNeighbors,
    HKNNClassifier,
    PrototypePursuit,
    load,
)
from pursuit._limits import Limits
from pursuit.neighbors import prototypes
from pursuit.neighbors.condensing import condensed, drop3, edited
from pursuit.neighbors.prototypes import Contest, pursue_prototypes

SELECTORS = [
    PrototypePursuit(),
    PrototypePursuit(20, n_neighbors=3, n_candidates=None),
    CondensedNeighbors(),
    CondensedNeighbors(random_state=0),
    EditedNeighbors(),
    DropNeighbors(),
]


def three_classes(n=45, d=3, seed=0):
    """Overlapping classes of different sizes."""
    rng = np.random.default_rng(seed)
    codes = np.sort(np.arange(n) % 5 % 3)
    centers = 1.5 * rng.standard_normal((3, d))
    return centers[codes] + rng.standard_normal((n, d)), codes


def contest(X, codes, K=4, penalty=0.5, unit=6.0, n_candidates=None, sets=None):
    sets = np.arange(len(X)) if sets is None else sets
    return Contest(X, codes, sets, K, penalty, unit, n_candidates)


def pursued(some, size, seed=0, n_threads=1):
    rng = np.random.RandomState(seed)
    return pursue_prototypes(some, size, rng, Limits(1 << 30, n_threads))


# -- scikit-learn's own checks -----------------------------------------------------


@pytest.mark.filterwarnings("ignore:.* keeps no row of the classes")
@parametrize_with_checks(SELECTORS)
def test_scikit_learn(estimator, check):
    check(estimator)


# -- the same rows as the literal algorithms ---------------------------------------


@pytest.mark.parametrize("d, K", [(1, 2), (3, 1), (3, 5), (12, 2), (12, 40)])
def test_chooses_what_the_literal_algorithm_does(d, K):
    X, codes = three_classes(30, d)
    sets = np.arange(len(X))
    path = pursued(contest(X, codes, K), 10)
    rows, losses = reference.prototypes(X, codes, sets, 10, K, 0.5, 6.0)
    assert_array_equal(path.rows, rows)
    assert_allclose(path.losses[3:], losses, rtol=1e-9)


def test_equal_rows_do_not_judge_each_other():
    X, codes = three_classes(20)
    X, codes = np.repeat(X, 2, axis=0), np.repeat(codes, 2)
    sets = np.repeat(np.arange(20), 2)
    path = pursued(contest(X, codes, sets=sets), 9)
    rows, _ = reference.prototypes(X, codes, sets, 9, 4, 0.5, 6.0)
    assert_array_equal(path.rows, rows)
    assert_array_equal(path.rows % 2, 0)


@pytest.mark.parametrize("seed", range(3))
def test_rules_keep_what_the_literal_ones_keep(seed):
    X, codes = three_classes(120, 2, seed)
    order = np.random.default_rng(seed).permutation(len(X))
    assert_array_equal(condensed(X, codes, order), reference.condensed(X, codes, order))
    assert_array_equal(edited(X, codes, 3), reference.edited(X, codes, 3))
    assert_array_equal(drop3(X, codes, 3), reference.drop3(X, codes, 3))


def test_condensed_rows_classify_the_training_rows():
    X, codes = three_classes(200)
    kept = CondensedNeighbors().fit(X, codes).support_
    assert len(kept) < len(X)
    assert KNeighborsClassifier(1).fit(X[kept], codes[kept]).score(X, codes) == 1.0


# -- the path ----------------------------------------------------------------------


def test_smaller_sets_are_the_beginnings_of_larger_ones():
    X, codes = three_classes(100)
    large = PrototypePursuit(30).fit(X, codes)
    small = PrototypePursuit(12).fit(X, codes)
    assert_array_equal(small.support_, large.support_[:12])
    cut = large.truncate(12)
    assert_array_equal(cut.support_, small.support_)
    assert_array_equal(cut.support_vectors_, X[small.support_])
    assert (cut.n_support_, cut.path_.stop_reason) == (12, "truncated")
    assert (large.n_support_, large.path_.stop_reason) == (30, "max_support")
    assert_array_equal(cut.path_.losses, large.path_.losses[:12])
    assert sorted(set(codes[large.support_[:3]])) == [0, 1, 2]
    with pytest.raises(ValueError, match="size=2 is not on the path.* 3 "):
        large.truncate(2)
    with pytest.raises(ValueError, match="size=31 is not on the path"):
        large.truncate(31)


def test_mistakes_are_those_of_the_classifier_on_left_out_rows():
    X, codes = three_classes(60)
    path = pursued(contest(X, codes, 5, 0.7), 20)
    wrong = []
    for i in range(len(X)):
        kept = [j for j in path.rows if j != i]
        if len(set(codes[kept])) == 3:
            others = np.arange(len(X)) != i
            kept = np.searchsorted(np.flatnonzero(others), np.sort(kept))
            model = HKNNClassifier(5, 0.7, reference=kept, loo_samples=0)
            model.fit(X[others], codes[others])
            wrong.append(model.predict(X[i : i + 1])[0] != codes[i])
        else:
            wrong.append(True)
    assert path.mistakes[-1] == pytest.approx(np.mean(wrong))


def test_all_rows_may_be_chosen():
    X, codes = three_classes(30)
    X = np.vstack([X, X[:5]])
    codes = np.append(codes, codes[:5])
    chosen = PrototypePursuit(1.0).fit(X, codes)
    assert chosen.path_.stop_reason == "exhausted"
    assert_array_equal(np.sort(chosen.support_), np.arange(30))


def test_share_and_number_of_rows():
    X, codes = three_classes(100)
    assert PrototypePursuit(0.25).fit(X, codes).n_support_ == 25
    assert PrototypePursuit(0.001).fit(X, codes).n_support_ == 3


def test_threads_change_nothing():
    X, codes = three_classes(700, 4)
    one = pursued(contest(X, codes, n_candidates=20), 20)
    two = pursued(contest(X, codes, n_candidates=20), 20, n_threads=2)
    assert_array_equal(one.rows, two.rows)
    assert_array_equal(one.losses, two.losses)


def test_subsample_holds_every_class():
    X, codes = three_classes(300)
    codes = np.where(np.arange(300) == 7, 3, codes)
    chosen = PrototypePursuit(20, subsample=30).fit(X, codes)
    assert chosen.n_support_ == 20
    assert set(codes[chosen.support_]) == {0, 1, 2, 3}
    assert_array_equal(X[chosen.support_], chosen.support_vectors_)
    again = PrototypePursuit(20, subsample=30).fit(X, codes)
    assert_array_equal(chosen.support_, again.support_)


def test_an_interrupt_keeps_the_rows_so_far(monkeypatch):
    X, codes = three_classes(100)
    whole = PrototypePursuit(30).fit(X, codes)
    best = prototypes._State.best

    def interrupted(state, rows):
        if len(state.rows) == 12:
            raise KeyboardInterrupt
        return best(state, rows)

    monkeypatch.setattr(prototypes._State, "best", interrupted)
    with pytest.warns(UserWarning, match="interrupted after 12 prototypes"):
        part = PrototypePursuit(30).fit(X, codes)
    assert_array_equal(part.support_, whole.support_[:12])
    assert part.path_.stop_reason == "interrupted"


# -- as a reference ----------------------------------------------------------------


@pytest.mark.parametrize("selector", SELECTORS, ids=named)
@pytest.mark.parametrize("kind", [HKNNClassifier, CKNNClassifier])
def test_a_classifier_keeps_the_chosen_rows(kind, selector):
    X, codes = three_classes(150, 2)
    labels = np.array(["a", "b", "c"])[codes]
    model = kind(reference=selector).fit(X, labels)
    rows = clone(selector).fit(X, labels).support_
    assert_array_equal(model.reference_, np.sort(rows))
    assert not hasattr(selector, "support_")
    fitted = kind(reference=clone(selector).fit(X, labels)).fit(X, labels)
    assert_array_equal(fitted.predict(X), model.predict(X))


def test_a_selector_of_other_rows_is_refused():
    X, codes = three_classes(60)
    chosen = PrototypePursuit(9).fit(X, codes)
    with pytest.raises(ValueError, match="was fitted to other rows"):
        HKNNClassifier(reference=chosen).fit(X[::-1], codes[::-1])


def test_parameters_of_the_selector_are_searched():
    X, codes = three_classes(90)
    grid = {"reference__max_support": [6, 30]}
    search = GridSearchCV(HKNNClassifier(reference=PrototypePursuit()), grid, cv=2)
    assert len(search.fit(X, codes).best_estimator_.reference_) in (6, 30)


def test_prototypes_are_better_than_random_rows(digits):
    X, y, Xt, yt = digits
    chosen = PrototypePursuit(30).fit(X, y)
    error = 1 - HKNNClassifier(reference=chosen).fit(X, y).score(Xt, yt)
    others = []
    for seed in range(5):
        rng = np.random.default_rng(seed)
        rows = np.concatenate(
            [rng.choice(np.flatnonzero(y == c), 3, replace=False) for c in range(10)]
        )
        others.append(1 - HKNNClassifier(reference=rows).fit(X, y).score(Xt, yt))
    assert error < np.min(others)


# -- inputs ------------------------------------------------------------------------


def test_frames_pickles_and_names():
    X, codes = three_classes(60)
    plain = PrototypePursuit(9).fit(X, codes)
    for frame in (pd.DataFrame(X, columns=list("abc")), pl.DataFrame(X, list("abc"))):
        chosen = PrototypePursuit(9).fit(frame, codes)
        assert_array_equal(chosen.support_, plain.support_)
        assert list(chosen.feature_names_in_) == ["a", "b", "c"]
    copied = pickle.loads(pickle.dumps(plain))
    assert_array_equal(copied.support_, plain.support_)
    assert "PrototypePursuit" in plain._repr_html_()
    assert "9 steps" in repr(plain.path_)


@pytest.mark.parametrize("selector", SELECTORS, ids=named)
def test_files_hold_the_chosen_rows(selector, tmp_path):
    X, codes = three_classes(60)
    chosen = clone(selector).set_params(**few(selector)).fit(X, codes)
    chosen.save(tmp_path / "rows.pursuit")
    loaded = load(tmp_path / "rows.pursuit")
    assert_array_equal(loaded.support_, chosen.support_)
    assert_array_equal(loaded.support_vectors_, chosen.support_vectors_)
    assert_array_equal(loaded.classes_, chosen.classes_)
    assert loaded.n_support_ == chosen.n_support_
    if hasattr(chosen, "path_"):
        assert repr(loaded.path_) == repr(chosen.path_)
        assert_array_equal(loaded.truncate(5).support_, chosen.support_[:5])


def few(selector):
    """Parameters that choose at least five rows."""
    return {"max_support": 12} if hasattr(selector, "max_support") else {}


@pytest.mark.parametrize("selector", SELECTORS, ids=named)
def test_one_class_is_refused(selector):
    X, _ = three_classes(10)
    with pytest.raises(ValueError, match="y holds one class only"):
        clone(selector).fit(X, np.zeros(10))


@pytest.mark.parametrize("selector", SELECTORS, ids=named)
def test_weights_are_refused(selector):
    X, codes = three_classes(20)
    with pytest.raises(TypeError, match="does not support sample_weight"):
        clone(selector).fit(X, codes, sample_weight=np.ones(20))


def test_two_rows_and_equal_rows():
    chosen = PrototypePursuit().fit([[0.0], [1.0]], [0, 1])
    assert_array_equal(chosen.support_, [0, 1])
    X = np.ones((6, 2))
    chosen = PrototypePursuit(6).fit(X, [0, 1, 0, 1, 0, 1])
    assert_array_equal(chosen.support_, [0, 1])
    for rule in SELECTORS[2:4]:
        clone(rule).fit(X, [0, 1, 0, 1, 0, 1])


def test_rules_tell_of_classes_that_they_leave_out():
    X, codes = three_classes(60)
    lonely = np.where(np.arange(60) == 7, "rare", np.array(list("abc"))[codes])
    for rule in (EditedNeighbors(), DropNeighbors()):
        with pytest.warns(UserWarning, match=r"keeps no row of the classes \['rare'\]"):
            rule.fit(X, lonely)
        with pytest.warns(UserWarning, match=r"classes \[0\]"):
            rule.fit(np.ones((6, 2)), [0, 1, 0, 1, 0, 1])


@pytest.mark.parametrize(
    "parameters, message",
    [
        ({"max_support": 0}, "max_support=0 must be"),
        ({"max_support": 1.5}, "max_support=1.5 must be"),
        ({"n_neighbors": 0}, "n_neighbors=0 must be"),
        ({"penalty": 0.0}, "penalty=0.0 must be"),
        ({"n_candidates": 0}, "n_candidates=0 must be"),
        ({"subsample": "all"}, "subsample='all' must be"),
        ({"n_jobs": 0}, "n_jobs=0 must be"),
        ({"verbose": "yes"}, "verbose='yes' must be"),
    ],
)
def test_wrong_parameters(parameters, message):
    X, codes = three_classes(20)
    with pytest.raises(ValueError, match=message):
        PrototypePursuit(**parameters).fit(X, codes)
    if "n_neighbors" in parameters:
        for rule in (EditedNeighbors, DropNeighbors):
            with pytest.raises(ValueError, match=message):
                rule(**parameters).fit(X, codes)
