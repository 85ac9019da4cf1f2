"""Held-out curves: when paths stop, what they score, and which size is best."""

import gc
import weakref
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import reference
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics.pairwise import rbf_kernel

from pursuit._interrupts import Interrupted
from pursuit.engine.atoms import StoredAtoms
from pursuit.engine.gram import OwnGrams
from pursuit.engine.gram_pursuit import GramPursuit
from pursuit.engine.loss_pursuit import LossPursuit
from pursuit.engine.problem import METHODS, Problem
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.random_pursuit import RandomLossPursuit, RandomPursuit
from pursuit.engine.running import run
from pursuit.fitting.curves import (
    CV_PATIENCE,
    Curve,
    Patience,
    Watched,
    separate_curves,
    shared_curves,
)
from pursuit.fitting.folds import Folds, make_folds
from pursuit.losses import Logistic

# -- patience ----------------------------------------------------------------------


def test_stops_after_some_steps_without_a_fall():
    errors = np.array([5, 4, 4.5, 3, 3, 3.1, 3.0, 0.0])
    lengths = [Patience(3).length(errors[:n]) for n in range(1, 9)]
    assert lengths == [1, 2, 3, 4, 5, 6, 7, 7]


def test_equal_errors_are_no_fall():
    assert Patience(2).length(np.ones(10)) == 3


def test_an_error_that_keeps_falling_is_seen_to_its_end():
    assert Patience(1).length(np.arange(10, 0, -1)) == 10


def test_a_share_waits_longer_for_larger_models():
    errors = np.concatenate([np.arange(20, 0, -1), np.full(100, 2)])
    best = 19
    assert Patience(5).length(errors) == best + 5 + 1
    assert Patience(5, share=1.0).length(errors) == best + 5 + best + 1


def test_paths_do_not_share_their_memory():
    rule = Patience(1)
    rising, falling = np.array([1.0, 2.0, 0.0]), np.array([3.0, 2.0, 1.0])
    assert [rule.length(e) for e in (rising, falling, rising)] == [2, 3, 2]


def stops_at(errors, steps, share):
    """Return after how many errors a path stops that is watched step by step."""
    for n in range(len(errors)):
        best = int(np.argmin(errors[: n + 1]))
        if n - best >= steps + share * best:
            return n + 1
    return len(errors)


@given(
    st.lists(st.floats(0, 100), min_size=1, max_size=40),
    st.integers(1, 8),
    st.sampled_from([0.0, 0.5, 1.0]),
)
def test_law_length_is_where_a_path_stops(errors, steps, share):
    length = Patience(steps, share).length(np.array(errors))
    assert length == stops_at(errors, steps, share)


@given(st.lists(st.floats(0, 100), min_size=1, max_size=40), st.integers(1, 8))
def test_law_what_comes_later_changes_nothing(errors, steps):
    rule = Patience(steps)
    n = rule.length(np.array(errors))
    assert rule.length(np.array(errors + [0.0] * 5)) == n or n == len(errors)


def test_nan_is_no_fall():
    assert Patience(2).length(np.array([1.0, np.nan, np.nan, np.nan])) == 3


def test_a_rule_is_a_value():
    assert Patience(5) == Patience(5, 0.0)
    with pytest.raises(AttributeError):
        Patience(5).steps = 6


# -- curves ------------------------------------------------------------------------


def test_errors_that_tie_are_not_told_apart_by_rounding():
    rounded = np.array([1.0, 0.5 + 1e-12, 0.4, 0.5, 0.5 - 1e-12])
    assert Curve(rounded[[0, 1, 3, 4]], np.zeros(4)).best() == 1


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


def folds_of(problem, n_folds=5, X=None):
    """Return folds of different rows, each with a function on it."""
    rows = np.arange(len(problem.weight))
    parts = make_folds(X, problem.Y[0], problem.weight, n_folds, 0, False)
    return Folds.of(parts, problem.weight, rows, rows, are_random=True)


def with_alphas(problems, alphas):
    return [replace(p, alpha=alpha) for alpha in alphas for p in problems]


def curves_of(atoms, problems, folds, n_at_once=100, make=Pursuit, score=None):
    bench = Bench(atoms, n_at_once, make)
    return shared_curves(bench, problems, folds, score=score)


@pytest.mark.parametrize("method", METHODS)
def test_curves_are_those_of_fits_without_the_fold(rng, method):
    X, D, problem, atoms = kernel_problem(rng, method, n_targets=2)
    Y, folds = problem.Y.T, folds_of(problem, 4, X)
    alphas = [1e-2, 0.5]
    found = curves_of(atoms, with_alphas([problem], alphas), folds)
    for alpha, found_curve in zip(alphas, found, strict=True):
        errors = np.zeros((4, 13))
        for f, fold in enumerate(folds.parts):
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
        share = np.array([fold.mean() for fold in folds.parts])
        np.testing.assert_allclose(found_curve.mean, share @ errors, rtol=1e-6)
        spread = np.sqrt(share @ (errors - share @ errors) ** 2 / 3)
        np.testing.assert_allclose(found_curve.standard_error, spread, rtol=1e-5)


def test_memory_changes_only_how_many_run_at_once(rng):
    X, _, problem, atoms = kernel_problem(rng, n_targets=3)
    problems = [replace(problem, Y=problem.Y[t : t + 1]) for t in range(3)]
    folds = folds_of(problem, 3, X)
    problems = with_alphas(problems, [1e-2, 1e-1])
    whole = curves_of(atoms, problems, folds)
    assert len(whole) == 6
    for n_at_once in (1, 2, 4, 7):
        some = curves_of(atoms, problems, folds, n_at_once)
        for ours, theirs in zip(whole, some, strict=True):
            np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-9)


@pytest.mark.parametrize("n_at_once", [1, 2, 4, 8])
@pytest.mark.parametrize("kind", ["shared", "separate"])
def test_pursuits_are_let_go_of_when_their_batch_has_ended(rng, n_at_once, kind):
    X, _, problem, atoms = kernel_problem(rng)
    made, most = [], [0]

    def make(atoms, problem):
        gc.collect()
        made.append(weakref.ref(pursuit := Pursuit(atoms, problem)))
        most[0] = max(most[0], sum(p() is not None for p in made))
        return pursuit

    folds = folds_of(problem, 4, X)
    problems = with_alphas([problem], [0.1, 0.2])
    bench = Bench(atoms, n_at_once, make)
    if kind == "shared":
        shared_curves(bench, problems, folds)
    else:
        separate_curves(lambda *_: bench, problems, folds)
    gc.collect()
    assert len(made) == 8
    assert not any(p() for p in made)
    assert most[0] <= n_at_once


def test_separate_curves_are_the_same_where_patience_does_not_end_them(rng):
    X, _, problem, atoms = kernel_problem(rng)
    folds = folds_of(problem, 4, X)
    problems = with_alphas([problem], [0.1, 0.2])
    shared = curves_of(atoms, problems, folds)
    bench = Bench(atoms, 3, Pursuit)
    separate = separate_curves(lambda *_: bench, problems, folds)
    for ours, theirs in zip(shared, separate, strict=True):
        np.testing.assert_allclose(ours.mean, theirs.mean, rtol=1e-9)


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
    (found,) = curves_of(atoms, [problem], folds_of(problem, X=X))
    assert len(found.mean) < 90
    assert len(found.mean) == CV_PATIENCE.length(found.mean)


# -- interrupts --------------------------------------------------------------------


def interrupt_pass(monkeypatch, atoms, number):
    """Interrupt a pass over the atoms, by its number."""
    correlate, n_passes = atoms.correlate, [0]

    def count(V):
        n_passes[0] += 1
        if n_passes[0] == number:
            raise KeyboardInterrupt
        return correlate(V)

    monkeypatch.setattr(atoms, "correlate", count)


@pytest.mark.parametrize("kind", ["shared", "separate"])
def test_an_interrupt_at_once_leaves_nothing(rng, monkeypatch, kind):
    _, _, problem, atoms = kernel_problem(rng)
    interrupt_pass(monkeypatch, atoms, 1)
    bench, folds = Bench(atoms, 100, Pursuit), folds_of(problem)
    curves = shared_curves if kind == "shared" else separate_curves
    source = bench if kind == "shared" else lambda *_: bench
    with pytest.raises(Interrupted) as stop:
        curves(source, [problem], folds)
    assert stop.value.partial == []


def test_an_interrupt_leaves_the_curves_that_were_begun(rng, monkeypatch):
    _, _, problem, atoms = kernel_problem(rng, alpha=0.1)
    folds = folds_of(problem, 4)
    step_by_step = partial(Pursuit, speculate=False)
    (whole,) = curves_of(atoms, [problem], folds, make=step_by_step)
    interrupt_pass(monkeypatch, atoms, 4)
    with pytest.raises(Interrupted) as stop:
        curves_of(atoms, [problem], folds, make=step_by_step)
    (part,) = stop.value.partial
    assert 1 < len(part.mean) < len(whole.mean)
    np.testing.assert_allclose(part.mean, whole.mean[: len(part.mean)])


def test_an_interrupt_leaves_the_curves_before_it(rng, monkeypatch):
    _, _, problem, atoms = kernel_problem(rng)
    folds, problems = folds_of(problem, 4), with_alphas([problem], [0.1, 0.2, 0.3])
    whole = curves_of(atoms, problems, folds, 4)
    passes = []
    monkeypatch.setattr(
        atoms, "correlate", lambda V, f=atoms.correlate: passes.append(1) or f(V)
    )
    curves_of(atoms, problems[:1], folds, 4)
    monkeypatch.undo()
    # The first pass of the second problem.
    interrupt_pass(monkeypatch, atoms, len(passes) + 1)
    with pytest.raises(Interrupted) as stop:
        curves_of(atoms, problems, folds, 4)
    (first,) = stop.value.partial
    np.testing.assert_array_equal(first.mean, whole[0].mean)


def test_two_interrupts_in_a_row_end_the_calling_code(rng, monkeypatch):
    _, _, problem, atoms = kernel_problem(rng)

    def correlate(V):
        raise KeyboardInterrupt

    monkeypatch.setattr(atoms, "correlate", correlate)
    with pytest.raises(Interrupted):
        curves_of(atoms, [problem], folds_of(problem))
    with pytest.raises(KeyboardInterrupt) as stop:
        curves_of(atoms, [problem], folds_of(problem))
    assert not isinstance(stop.value, Interrupted)


# -- scores ------------------------------------------------------------------------


def kernel_classes(rng, n_classes, **how):
    """Return the values of kernels on 60 rows, classes, and a problem of a fold."""
    X = rng.normal(size=(60, 2))
    codes = rng.integers(n_classes, size=60)
    Y = np.where(codes == np.arange(n_classes)[:, None], 1.0, -1.0)
    Y = Y[1:] if n_classes == 2 else Y
    fold = np.arange(60) % 3 == 0
    problem = Problem(
        Y=Y,
        weight=np.where(fold, 0.0, 1.0),
        held_out=np.where(fold, 1.0 + np.arange(60) % 2, 0.0),
        candidates=~fold,
        alpha=0.1,
        max_steps=9,
        **how,
    )
    return rbf_kernel(X, gamma=1.0), codes, problem


def by_products(atoms, problem):
    return GramPursuit(atoms, problem, OwnGrams(atoms.stored, {0: problem.weight}))


def drawing(kind):
    return lambda atoms, problem: kind(atoms, problem, 7, np.random.default_rng(0))


ENGINES = {
    "passes": Pursuit,
    "loss": LossPursuit,
    "products": by_products,
    "random": drawing(RandomPursuit),
    "random loss": drawing(RandomLossPursuit),
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("kind", ENGINES)
def test_scores_are_those_of_the_held_out_predictions(
    rng, n_classes, fit_intercept, kind
):
    A, codes, problem = kernel_classes(rng, n_classes, fit_intercept=fit_intercept)
    atoms, fold = StoredAtoms(A), problem.held_out > 0
    watched = Watched(ENGINES[kind](atoms, problem), reference.mistakes(problem.Y))
    run([watched.pursuit], lambda _: watched.look())
    path, record = watched.pursuit.path(), watched.record()
    assert len(record.errors) == len(path) + 1 == record.n_steps + 1
    assert record.total == problem.held_out.sum()
    for size, share in enumerate(record.errors):
        support, coef, intercept = path.coefficients(size)
        values = coef @ A[support][:, fold] + intercept[:, None]
        found = values[0] > 0 if n_classes == 2 else values.argmax(axis=0)
        wrong = found != codes[fold]
        assert share == pytest.approx(np.average(wrong, weights=problem.held_out[fold]))


@pytest.mark.parametrize("loss", [None, Logistic()], ids=["squared", "logistic"])
@pytest.mark.parametrize("method", METHODS)
def test_values_that_are_scored_are_those_of_the_model(rng, method, loss):
    how = {} if loss is None else {"loss": loss}
    A, _, problem = kernel_classes(rng, 2, method=method, **how)
    atoms, fold = StoredAtoms(A), problem.held_out > 0
    seen = []

    def score(rows, values, weight):
        np.testing.assert_array_equal(rows, np.flatnonzero(fold))
        np.testing.assert_array_equal(weight, problem.held_out[fold])
        seen.append(values.copy())
        return float(len(seen))

    kind = Pursuit if loss is None else LossPursuit
    watched = Watched(kind(atoms, problem), score)
    run([watched.pursuit], lambda _: watched.look())
    watched.look()
    path = watched.pursuit.path()
    np.testing.assert_array_equal(watched.errors, np.arange(1.0, len(path) + 2))
    for size, values in enumerate(seen):
        support, coef, intercept = path.coefficients(size)
        wanted = coef @ A[support][:, fold] + intercept[:, None]
        np.testing.assert_allclose(values, wanted, atol=1e-8)


def test_steps_that_were_taken_back_are_not_scored(rng):
    A, _, problem = kernel_classes(rng, 2)
    atoms = StoredAtoms(A)
    watched = Watched(Pursuit(atoms, problem), reference.mistakes(problem.Y))
    run([watched.pursuit], lambda _: watched.look())
    whole = watched.errors
    watched.pursuit.take_back(3, "callback")
    np.testing.assert_array_equal(watched.errors, whole[:4])


@pytest.mark.parametrize("n_scored", [0, 1, 7])
def test_a_score_that_was_cut_off_does_not_shift_the_others(rng, n_scored):
    A, _, problem = kernel_classes(rng, 2)
    atoms, score, n_calls = StoredAtoms(A), reference.mistakes(problem.Y), [0]

    def interrupted(*case):
        n_calls[0] += 1
        if n_calls[0] == n_scored + 1:
            raise KeyboardInterrupt
        return score(*case)

    whole, cut_off = (Watched(Pursuit(atoms, problem), s) for s in (score, interrupted))
    for watched in (whole, cut_off):
        run([watched.pursuit], lambda _, w=watched: w.look())
    record = cut_off.record()
    np.testing.assert_array_equal(record.errors, whole.errors[:n_scored])


def test_curves_of_scores_are_their_means_over_folds(rng):
    _, D, problem, atoms = kernel_problem(rng, alpha=0.1)
    folds = folds_of(problem, 4)

    def score(rows, values, weight):
        return float(np.abs(problem.Y[:, rows] - values).max())

    (found,) = curves_of(atoms, [problem], folds, score=score)
    errors, shares = [], []
    for part in folds.hold_out(problem):
        pursuit = Pursuit(atoms, part)
        run([pursuit])
        path, rows = pursuit.path(), np.flatnonzero(part.held_out)
        models = [path.coefficients(size) for size in range(len(found.mean))]
        gaps = [
            problem.Y[0, rows] - (coef @ D[support][:, rows] + intercept[:, None])
            for support, coef, intercept in models
        ]
        errors.append([np.abs(gap).max() for gap in gaps])
        shares.append(len(rows) / 60)
    np.testing.assert_allclose(found.mean, np.array(shares) @ errors, rtol=1e-8)
