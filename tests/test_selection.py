"""Folds that follow from content, held-out curves, and the sizes they choose."""

from dataclasses import replace

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_friedman1
from sklearn.metrics.pairwise import rbf_kernel

from pursuit import KMPClassifier, KMPRegressor
from pursuit.engine.atoms import StoredAtoms
from pursuit.engine.loss_pursuit import LossPursuit
from pursuit.engine.problem import METHODS, Problem
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.running import run
from pursuit.fitting.curves import (
    Curve,
    Folds,
    SearchInterrupted,
    shared_curves,
)
from pursuit.fitting.folds import hold_out, make_folds
from pursuit.fitting.held_out import Sites
from pursuit.fitting.stopping import CV_PATIENCE

# -- folds -------------------------------------------------------------------------


def test_errors_that_tie_are_not_told_apart_by_rounding():
    rounded = np.array([1.0, 0.5 + 1e-12, 0.4, 0.5, 0.5 - 1e-12])
    assert Curve(rounded[[0, 1, 3, 4]], np.zeros(4)).best() == 1


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
    model = KMPRegressor(selection=selection).fit(X, y, weight)
    assert model.score(X_new, y_new) > 0.85
    model = KMPClassifier(selection=selection).fit(X, y > 0, weight)
    assert model.score(X_new, y_new > 0) > 0.85


def test_weights_below_one_mean_their_ratios():
    X, y = categories(300)
    target = X[:, 0] * X[:, 1] + np.random.default_rng(0).normal(size=300)
    for model, t in ((KMPRegressor(), target), (KMPClassifier(), y)):
        wanted = model.fit(X, t).predict(X)
        for unit in (0.3, 1 / 300):
            found = model.fit(X, t, np.full(300, unit)).predict(X)
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


@pytest.mark.parametrize("unit", [9.0, 50.0, 1e4])
def test_large_weights_are_not_taken_for_categories(unit):
    X, y = make_friedman1(80, noise=2.0, random_state=0)
    X_new, y_new = make_friedman1(1000, noise=0.0, random_state=1)
    wanted = KMPRegressor().fit(3 * X, y).score(3 * X_new, y_new)
    found = KMPRegressor().fit(3 * X, y, np.full(80, unit)).score(3 * X_new, y_new)
    assert found > wanted - 0.05


def test_all_widths_are_tried_where_none_of_the_first_is_any_good():
    """The median is far too wide for a wave of many periods."""
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 5, (300, 1))
    y = np.sin(20 * X[:, 0]) + 0.1 * rng.normal(size=300)
    model = KMPRegressor().fit(X, y)
    assert model.score(X, y) > 0.9
    model = KMPClassifier(loss="logistic", max_support=60).fit(X, y > 0)
    assert model.score(X, y > 0) > 0.85
    noise = KMPRegressor().fit(X, rng.normal(size=300))
    tried = {row["gamma"] for row in noise.search_}
    assert max(tried) / min(tried) == pytest.approx(256 * 64)


def test_categories_get_a_model_of_their_own_size():
    """Nine kinds of rows with probabilities of their own: all of them matter."""
    X, y = categories(600)
    model = KMPClassifier(loss="logistic").fit(X, y)
    assert model.n_support_ >= 2
    expected = 0.2 + 0.3 * X[:, 0]
    assert np.abs(model.predict_proba(X)[:, 1] - expected).mean() < 0.08


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


# -- curves ------------------------------------------------------------------------


def curve(mean, error=0.0):
    return Curve(np.array(mean, float), np.full(len(mean), float(error)))


def test_the_size_of_the_lowest_error():
    assert curve([5, 3, 2, 2.5]).best() == 2
    assert curve([5, 3, 2, 2]).best() == 2
    assert curve([1, 3, 2]).best() == 0
    assert curve([5, 3, 2, 2.5]).lowest == 2


def test_the_smallest_size_within_a_share():
    mean = [5, 2.3, 2.1, 2.0, 2.2]
    found = [curve(mean).best(t) for t in (0.0, 0.04, 0.05, 0.2, 10)]
    assert found == [3, 3, 2, 1, 0]


def test_the_smallest_size_within_one_standard_error():
    mean = [5, 2.3, 2.1, 2.0, 2.2]
    found = [curve(mean, error).best("1se") for error in (0.0, 0.05, 0.1, 0.3, 9)]
    assert found == [3, 3, 2, 1, 0]


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=20),
    st.sampled_from([0.0, 0.1, 1.0, "1se"]),
    st.floats(0, 10),
)
def test_law_a_tolerance_makes_no_larger_model(mean, tolerance, error):
    c = curve(mean, error)
    assert 0 <= c.best(tolerance) <= c.best() < len(mean)


# -- held-out curves ---------------------------------------------------------------


def kernel_problem(rng, method="pre-fitting", n=60, n_targets=1, **how):
    X = rng.uniform(-3, 3, (n, 1))
    D = rbf_kernel(X, gamma=1.0)
    Y = np.sin(2 * X.T) + 0.1 * rng.standard_normal((n_targets, n))
    problem = Problem(
        Y=Y,
        weight=np.ones(n),
        held_out=np.zeros(n),
        candidates=np.ones(n, bool),
        method=method,
        max_steps=12,
        **how,
    )
    return X, D, problem, StoredAtoms(D)


class Bench:
    """A workbench on which pursuits are made by a given function."""

    def __init__(self, atoms, n_at_once, make):
        self.atoms, self.n_at_once = atoms, n_at_once
        self.pursuit = lambda problem: make(atoms, problem)


def curves_of(atoms, problems, folds, alphas, n_at_once=100, make=Pursuit):
    rows = np.arange(atoms.n_rows)
    bench = Bench(atoms, n_at_once, make)
    folds = Folds.of(folds, problems[0].weight, Sites(rows, rows))
    return shared_curves(bench, problems, folds, alphas)


@pytest.mark.parametrize("method", METHODS)
def test_curves_are_those_of_fits_without_the_fold(rng, method):
    X, D, problem, atoms = kernel_problem(rng, method, n_targets=2)
    Y, folds = problem.Y.T, folds_of(X, problem.Y[0], n_folds=4)
    alphas = [1e-2, 0.5]
    found = curves_of(atoms, [problem], folds, alphas)
    assert [len(row) for row in found] == [1, 1]
    for alpha, (found_curve,) in zip(alphas, found, strict=True):
        errors = np.zeros((4, 13))
        for f, fold in enumerate(folds):
            rest = np.flatnonzero(~fold)
            _, models = reference.pursue(
                method,
                D[np.ix_(rest, rest)],
                Y[rest],
                12,
                alpha=alpha,
                fit_intercept=True,
            )
            gap = Y[fold] - Y[rest].mean(axis=0)
            errors[f, 0] = (gap**2).sum() / fold.sum()
            for n, model in enumerate(models, start=1):
                K = D[np.ix_(fold, rest[model.atoms])]
                gap = Y[fold] - K @ model.coef - model.intercept
                errors[f, n] = (gap**2).sum() / fold.sum()
        share = np.array([fold.mean() for fold in folds])
        np.testing.assert_allclose(found_curve.mean, share @ errors, rtol=1e-6)
        spread = np.sqrt(share @ (errors - share @ errors) ** 2 / 3)
        np.testing.assert_allclose(found_curve.standard_error, spread, rtol=1e-5)


def test_memory_changes_only_how_many_run_at_once(rng):
    X, _, problem, atoms = kernel_problem(rng, n_targets=3)
    problems = [replace(problem, Y=problem.Y[t : t + 1]) for t in range(3)]
    folds = folds_of(X, problem.Y[0], n_folds=3)
    alphas = [1e-2, 1e-1]
    whole = curves_of(atoms, problems, folds, alphas)
    assert np.shape([[c.lowest for c in row] for row in whole]) == (2, 3)
    for n_at_once in (1, 2, 4, 7):
        some = curves_of(atoms, problems, folds, alphas, n_at_once)
        for row, other in zip(whole, some, strict=True):
            for ours, theirs in zip(row, other, strict=True):
                np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-9)


def test_pursuits_are_let_go_of_when_their_batch_has_ended(rng):
    X, _, problem, atoms = kernel_problem(rng)
    made = []

    def make(atoms, problem):
        made.append(Pursuit(atoms, problem))
        return made[-1]

    folds = folds_of(X, problem.Y[0], n_folds=4)
    curves_of(atoms, [problem], folds, [0.1, 0.2], n_at_once=2, make=make)
    assert len(made) == 8
    assert not any(hasattr(p, "Q") or hasattr(p, "atoms") for p in made)


def test_curves_end_when_there_is_no_hope(rng):
    """Noise only: the error rises from the start, and patience ends the paths."""
    X = rng.standard_normal((150, 5))
    D = rbf_kernel(X, gamma=1.0)
    problem = Problem(
        Y=rng.standard_normal((1, 150)),
        weight=np.ones(150),
        held_out=np.zeros(150),
        candidates=np.ones(150, bool),
        max_steps=100,
    )
    atoms = StoredAtoms(D)
    folds = folds_of(X, problem.Y[0])
    ((found,),) = curves_of(atoms, [problem], folds, [0.0])
    assert len(found.mean) < 90
    assert len(found.mean) == CV_PATIENCE.length(found.mean)


def test_an_interrupt_is_told(rng, monkeypatch):
    X, _, problem, atoms = kernel_problem(rng)

    def correlate(V):
        raise KeyboardInterrupt

    monkeypatch.setattr(atoms, "correlate", correlate)
    with pytest.raises(SearchInterrupted):
        curves_of(atoms, [problem], folds_of(X, problem.Y[0]), [0.1])


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", [Pursuit, LossPursuit])
def test_mistakes_are_those_of_the_held_out_predictions(
    rng, n_classes, fit_intercept, kind
):
    X = rng.normal(size=(60, 2))
    codes = rng.integers(n_classes, size=60)
    Y = np.where(codes == np.arange(n_classes)[:, None], 1.0, -1.0)
    Y = Y[1:] if n_classes == 2 else Y
    A = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    fold = np.arange(60) % 3 == 0
    problem = Problem(
        Y=Y,
        weight=np.where(fold, 0.0, 1.0),
        held_out=np.where(fold, 1.0 + np.arange(60) % 2, 0.0),
        candidates=~fold,
        alpha=0.1,
        fit_intercept=fit_intercept,
        max_steps=9,
        judge=reference.mistakes(Y),
    )
    atoms = StoredAtoms(A)
    pursuit = kind(atoms, problem)
    run(atoms, [pursuit])
    path = pursuit.path()
    for size, share in enumerate(pursuit.judged):
        support, coef, intercept = path.coefficients(size)
        values = coef @ A[support][:, fold] + intercept[:, None]
        found = values[0] > 0 if n_classes == 2 else values.argmax(axis=0)
        wrong = found != codes[fold]
        assert share == pytest.approx(np.average(wrong, weights=problem.held_out[fold]))


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
