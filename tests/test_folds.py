"""Folds that follow from content, and parts held out."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pursuit import KMPClassifier
from pursuit.engine.problem import Problem
from pursuit.estimators.kmp import planning
from pursuit.fitting.folds import Folds, enough_folds, hold_out, make_folds

# -- folds -------------------------------------------------------------------------


def folds_of(X, y, weight=None, n_folds=5, seed=0, is_class=False):
    weight = np.ones(len(y)) if weight is None else weight
    return make_folds(X, y, weight, n_folds, seed, is_class)


def labels(folds):
    """The fold of each row, -1 for none; fails if a row is in two."""
    folds = np.array(folds)
    assert np.all(folds.sum(axis=0) <= 1 + 1e-12)
    return np.where(folds.any(axis=0), folds.argmax(axis=0), -1)


@pytest.fixture
def rows(rng):
    """Points of which some come again, with their targets and classes."""
    again = rng.integers(0, 60, 100)
    X, y = rng.standard_normal((60, 3)), rng.standard_normal(60)
    return X[again], y[again], rng.integers(0, 3, 60).astype(float)[again]


@pytest.mark.parametrize("is_class", [False, True])
def test_every_row_is_held_out_once(rows, is_class):
    X, y, codes = rows
    folds = folds_of(X, codes if is_class else y, is_class=is_class)
    assert len(folds) == 5
    assert np.array_equal(np.sum(folds, axis=0), np.ones(100))
    assert all(fold.any() for fold in folds)


@pytest.mark.parametrize("is_class", [False, True])
def test_equal_rows_share_a_fold(rows, is_class):
    X, y, codes = rows
    label = labels(folds_of(X, codes if is_class else y, is_class=is_class))
    _, group = np.unique(X, axis=0, return_inverse=True)
    for g in np.unique(group):
        assert len(np.unique(label[group == g])) == 1


def test_negative_zero_is_zero():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [2.0, 3.0], [4.0, 5.0]])
    label = labels(folds_of(X, np.array([1.0, 1.0, 2.0, 3.0]), n_folds=2))
    assert label[0] == label[1]


@pytest.mark.parametrize("is_class", [False, True])
def test_the_order_of_rows_does_not_matter(rows, rng, is_class):
    X, y, codes = rows
    y = codes if is_class else y
    order = rng.permutation(100)
    whole = labels(folds_of(X, y, is_class=is_class))
    again = labels(folds_of(X[order], y[order], is_class=is_class))
    np.testing.assert_array_equal(again, whole[order])


@pytest.mark.parametrize("is_class", [False, True])
def test_a_weight_of_two_is_the_row_twice(rng, is_class):
    X, y = rng.standard_normal((40, 2)), rng.standard_normal(40)
    y = (y > 0).astype(float) if is_class else y
    times = rng.integers(0, 4, 40)
    weighted = labels(folds_of(X, y, times.astype(float), is_class=is_class))
    repeated = labels(
        folds_of(np.repeat(X, times, 0), np.repeat(y, times), is_class=is_class)
    )
    np.testing.assert_array_equal(repeated, np.repeat(weighted, times))
    assert np.all(weighted[times == 0] == -1)


def test_sparse_rows_have_the_folds_of_dense_ones(rng):
    X = rng.standard_normal((50, 6)) * (rng.random((50, 6)) < 0.4)
    y = rng.standard_normal(50)
    messy = sparse.coo_array(X).tocsr()
    messy.data[:3] = 0.0
    X = messy.toarray()
    wanted = labels(folds_of(sparse.csr_array(X), y))
    for form in (messy, sparse.csr_matrix(X), X):
        np.testing.assert_array_equal(labels(folds_of(form, y)), wanted)
    assert np.any(messy.data == 0), "the argument was changed"


@pytest.mark.parametrize("is_class", [False, True])
def test_rounding_does_not_deal_the_rows_anew(rows, is_class, rng):
    """Neither another machine's last digits nor another type change folds (but few)."""
    X, y, codes = rows
    y = codes if is_class else y
    X = 1e5 + X
    how = {"is_class": is_class}
    ends = [
        lambda Z: labels(folds_of(Z, y, **how)),
        lambda Z: hold_out(Z, y, np.ones(len(y)), 0.3, 0, is_class),
    ]
    first = X[:1].repeat(len(X), 0)
    for end in ends:
        wanted = end(X)
        np.testing.assert_array_equal(end(first + (X - first) * (1.0 + 1e-13)), wanted)
        assert np.mean(end((X - 1e5).astype(np.float32)) == end(X - 1e5)) > 0.9


@pytest.mark.parametrize("sizes", [[2, 2], [1, 1, 1, 1], [3, 2, 1], [5, 4], [1, 7]])
@pytest.mark.parametrize("n_folds", [2, 3, 4, 10])
def test_folds_of_small_classes_are_as_even_as_can_be(sizes, n_folds, rng):
    codes = np.repeat(np.arange(len(sizes)), sizes).astype(float)
    X = rng.standard_normal((len(codes), 2))
    folds = folds_of(X, codes, n_folds=n_folds, is_class=True)
    assert len(folds) == min(n_folds, len(codes))
    assert np.ptp([fold.sum() for fold in folds]) <= 1


def test_few_rows_move_when_one_comes(rng):
    X, codes = rng.standard_normal((300, 3)), rng.integers(0, 3, 300).astype(float)
    wanted = labels(folds_of(X, codes, is_class=True))
    fewer = labels(folds_of(X[1:], codes[1:], is_class=True))
    assert np.mean(fewer == wanted[1:]) > 0.9


def test_names_of_classes_do_not_matter(rng):
    X, codes = rng.standard_normal((103, 2)), np.repeat([0.0, 1.0, 2.0], [60, 31, 12])
    wanted = labels(folds_of(X, codes, is_class=True))
    for other in ([2.0, 1.0, 0.0], [1.0, 2.0, 0.0]):
        codes_too = np.array(other)[codes.astype(int)]
        again = labels(folds_of(X, codes_too, is_class=True))
        np.testing.assert_array_equal(again, wanted)


def test_classes_are_balanced(rng):
    X, codes = rng.standard_normal((103, 2)), np.repeat([0.0, 1.0, 2.0], [60, 31, 12])
    for fold in folds_of(X, codes, is_class=True):
        counts = np.bincount(codes[fold].astype(int), minlength=3)
        assert np.all(np.abs(counts - np.array([60, 31, 12]) / 5) <= 1)


def test_targets_are_balanced(rng):
    X, y = rng.standard_normal((100, 2)), rng.exponential(size=100)
    fifths = np.argsort(np.argsort(y)) // 20
    for fold in folds_of(X, y):
        counts = np.bincount(fifths[fold], minlength=5)
        assert np.all(np.abs(counts - 4) <= 1)


def test_seeds_differ(rows):
    X, y, _ = rows
    label = [labels(folds_of(X, y, seed=s)) for s in (0, 1, 2**31 - 1)]
    np.testing.assert_array_equal(label[0], labels(folds_of(X, y, seed=0)))
    assert np.mean(label[0] == label[1]) < 0.5
    assert np.mean(label[0] == label[2]) < 0.5


def categories(n_rows=120, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 3, (n_rows, 2)).astype(float)
    return X, (rng.random(n_rows) < 0.2 + 0.3 * X[:, 0]).astype(float)


def test_copies_of_few_categories_are_dealt_one_by_one():
    X, y = categories()
    folds = np.array(make_folds(X, y, np.ones(120), 5, 0, True))
    np.testing.assert_allclose(folds.sum(axis=0), 1.0)
    held = folds.sum(axis=1)
    assert np.all(np.abs(held - 24) < 15)
    np.testing.assert_allclose(held, np.round(held), atol=1e-9)
    # Not in equal parts: what is held out differs from the rest by chance.
    assert np.ptp(folds, axis=0).max() > 0.1
    order = np.random.default_rng(1).permutation(120)
    again = np.array(make_folds(X[order], y[order], np.ones(120), 5, 0, True))
    np.testing.assert_allclose(again, folds[:, order])


def test_copies_are_weights():
    X, y = categories()
    rows, weight = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    weight = weight + 0.5
    copies = np.repeat(np.arange(len(rows)), 2)
    halves = np.tile(weight[:, None] / 2, 2).ravel()
    found = make_folds(rows[:, :2], rows[:, 2], weight, 5, 0, True)
    parted = make_folds(rows[copies, :2], rows[copies, 2], halves, 5, 0, True)
    np.testing.assert_allclose(np.array(found)[:, copies], parted)


def test_names_of_classes_and_units_of_targets_do_not_matter_to_copies():
    X, y = categories()
    dealt = [make_folds(X, c, np.ones(120), 5, 0, True) for c in (y, 1 - y)]
    np.testing.assert_array_equal(*dealt)
    three = (y + np.random.default_rng(0).integers(0, 2, 120)).astype(int)
    other = np.array([2, 0, 1])[three]
    dealt = [make_folds(X, c, np.ones(120), 5, 0, True) for c in (three, other)]
    np.testing.assert_array_equal(*dealt)
    target = np.random.default_rng(1).standard_normal(120).round(1)
    first, *others = (
        make_folds(X, t, np.ones(120), 5, 0, False)
        for t in (target, 10 * target + 7, target * (1 + 1e-15), np.float32(target))
    )
    for dealt in others:
        np.testing.assert_array_equal(dealt, first)


@pytest.mark.parametrize("n_rows", [8, 40, 400])
@pytest.mark.parametrize("is_class", [False, True])
def test_all_other_data_keep_equal_rows_together(n_rows, is_class):
    """A row may have been repeated, or have a large weight, many times over."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, 2))
    y = (X[:, 0] > 0).astype(float) if is_class else X[:, 0]
    masks = make_folds(X, y, np.ones(n_rows), 5, 0, is_class)
    again = make_folds(
        np.repeat(X, 20, axis=0), np.repeat(y, 20), np.ones(20 * n_rows), 5, 0, is_class
    )
    heavy = make_folds(X, y, np.full(n_rows, 50.0), 5, 0, is_class)
    for mask, other, same in zip(masks, again, heavy, strict=True):
        assert mask.dtype == bool
        np.testing.assert_array_equal(np.repeat(mask, 20), other)
        np.testing.assert_array_equal(mask, same)
    indexed = make_folds(None, y, np.full(n_rows, 50.0), 5, 0, is_class)
    assert all(mask.dtype == bool for mask in indexed)


def test_equal_rows_of_other_targets_are_rows_of_their_own():
    """120 kinds of rows, 10 of each: nearly every one is in all folds' fits."""
    X = np.repeat(np.arange(120.0)[:, None], 10, axis=0)
    y = np.random.default_rng(0).standard_normal(1200)
    folds = make_folds(X, y, np.full(1200, 7.0), 10, 0, False)
    np.testing.assert_array_equal(np.sum(folds, axis=0), 1)
    assert all(abs(fold.sum() - 120) <= 1 for fold in folds)
    kinds = [len(np.unique(X[~fold])) for fold in folds]
    assert min(kinds) == 120
    # A row that was repeated stays whole.
    rows = np.repeat(np.arange(1200), 2)
    again = make_folds(X[rows], y[rows], np.ones(2400), 10, 0, False)
    np.testing.assert_array_equal(np.array(folds)[:, rows], again)


@pytest.mark.parametrize("is_class", [False, True])
def test_a_part_of_each_category_is_held_out(is_class):
    X = np.repeat(np.arange(12.0)[:, None], 25, axis=0)
    y = np.random.default_rng(0).standard_normal(300)
    y = (y > 0).astype(float) if is_class else y
    part = hold_out(X, y, np.ones(300), 0.2, 0, is_class)
    assert abs(part.sum() - 60) < 20
    held = part.reshape(12, 25).sum(axis=1)
    assert np.all(held < 25)
    assert np.count_nonzero(held) >= 10
    order = np.random.default_rng(1).permutation(300)
    again = hold_out(X[order], y[order], np.ones(300), 0.2, 0, is_class)
    np.testing.assert_allclose(again, part[order])


def test_no_more_folds_than_distinct_rows():
    X = np.repeat([[0.0], [1.0], [2.0]], 4, axis=0)
    assert len(folds_of(X, X[:, 0])) == 3
    assert len(folds_of(X[:4], X[:4, 0])) == 1


def test_rows_without_content_are_told_apart_by_their_place():
    folds = folds_of(None, np.zeros(20), n_folds=4)
    assert [int(f.sum()) for f in folds] == [5, 5, 5, 5]


@given(st.integers(0, 10**6), st.integers(2, 40), st.integers(2, 10), st.booleans())
def test_law_folds_are_a_partition_of_the_rows_in_use(seed, n, n_folds, is_class):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 4, (n, 2)).astype(float)
    y = rng.integers(0, 3, n).astype(float)
    weight = rng.integers(0, 3, n).astype(float)
    weight[0] = 1
    folds = folds_of(X, y, weight, n_folds, seed, is_class)
    label = labels(folds)
    np.testing.assert_array_equal(label >= 0, weight > 0)
    assert all(fold.any() for fold in folds)


# -- the part held out -------------------------------------------------------------


@pytest.mark.parametrize("n", [2, 3, 7, 40, 120, 260, 1001])
@pytest.mark.parametrize("share", [0.05, 0.2, 0.5, 0.9])
@pytest.mark.parametrize("is_class", [True, False])
def test_every_class_and_range_has_its_share_held_out(n, share, is_class, rng):
    X = rng.normal(size=(n, 2))
    y = (
        np.sort(rng.integers(3, size=n)).astype(float)
        if is_class
        else rng.normal(size=n)
    )
    held = hold_out(X, y, np.ones(n), share, 0, is_class)
    assert held.sum() == min(max(1, round(share * n)), n - 1)
    order = np.argsort(y, kind="stable")
    for part in np.array_split(order, 3):
        assert abs(held[part].sum() - share * len(part)) <= 3
    other = rng.permutation(n)
    np.testing.assert_array_equal(
        hold_out(X[other], y[other], np.ones(n), share, 0, is_class), held[other]
    )


def test_equal_rows_are_held_out_together():
    X = np.repeat(np.arange(20.0), 3)[:, None]
    held = hold_out(X, np.zeros(60), np.ones(60), 0.3, 0, True).reshape(20, 3)
    assert np.all(held == held[:, :1])
    assert held[:, 0].sum() == 6
    assert hold_out(X[:3], np.zeros(3), np.ones(3), 0.3, 0, True) is None


# -- problems without the held-out rows --------------------------------------------


def test_problems_without_each_part():
    """Copies are held out in part, and some rows belong to neither side."""
    weight = np.array([1.0, 2.0, 3.0, 4.0, 0.0, 1.0])
    sets = np.array([0, 1, 1, 2, -1, 3])
    atom_sets = np.array([0, 1, 2, 3, -1])
    parts = [
        np.array([True, False, False, True, False, False]),
        np.array([0.0, 0.5, 1.0, -1.0, 0.0, 1.0]),
    ]
    folds = Folds.of(parts, weight, sets, atom_sets, are_random=False)
    problem = Problem(
        Y=np.zeros((1, 6)),
        weight=weight,
        held_out=np.zeros(6),
        candidates=np.array([True, True, True, True, False]),
    )
    first, second = folds.hold_out(problem)
    assert len(folds) == 2
    np.testing.assert_array_equal(first.weight, [0, 2, 3, 0, 0, 1])
    np.testing.assert_array_equal(first.held_out, [1, 0, 0, 4, 0, 0])
    np.testing.assert_array_equal(first.candidates, [0, 1, 0, 1, 0])
    np.testing.assert_array_equal(second.weight, [1, 1, 0, 0, 0, 0])
    np.testing.assert_array_equal(second.held_out, [0, 1, 3, 0, 0, 1])
    # Half of a copy is left: its function may be chosen.
    np.testing.assert_array_equal(second.candidates, [1, 1, 0, 0, 0])
    # Keys tell weights apart, from those of all rows too.
    assert sorted(folds.keyed_weights) == [first.weighting, second.weighting]
    assert problem.weighting not in folds.keyed_weights
    for p in (first, second):
        np.testing.assert_array_equal(folds.keyed_weights[p.weighting], p.weight)


def test_functions_on_no_row_are_always_open():
    parts = [np.array([True, True])]
    folds = Folds.of(parts, np.ones(2), np.array([0, 1]), np.array([-1, 0]), True)
    np.testing.assert_array_equal(folds.open_atoms[0], [True, False])


def test_as_many_folds_as_hold_out_enough_different_rows():
    sets = np.array([0, 0, 0, 1, 2, 3, 4, -1])
    folds = [sets == 0, np.isin(sets, [1, 2]), np.isin(sets, [3, 4]), sets == -1]
    assert [len(enough_folds(folds, sets, n)) for n in (1, 2, 3, 4, 5, 6)] == [
        *(1, 2, 2, 3, 3, 4)
    ]
    shares = [0.5 * fold for fold in folds]
    assert len(enough_folds(shares, sets, 3)) == 2


@pytest.mark.parametrize("class_weight", ["balanced", {0: 1, 1: 6}, {0: 4, 1: 4}])
def test_weights_of_classes_do_not_change_the_folds(class_weight, monkeypatch):
    X, y = np.repeat(np.arange(40.0), 4)[:, None], np.tile([0, 0, 0, 1], 40)
    seen = []
    monkeypatch.setattr(planning, "enough_folds", lambda f, *_: seen.append(f) or f)
    how = {"gamma": 1.0, "alpha": 0.1, "max_support": 3}
    for weight in (None, class_weight):
        KMPClassifier(**how, class_weight=weight).fit(X, y)
    np.testing.assert_array_equal(*seen)
