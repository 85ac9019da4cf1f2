"""Pursuits by moments of the rows: the choices and errors of those that keep rows."""

from dataclasses import replace

import numpy as np
import pytest
import reference
from given_matrices import (
    DICTIONARIES,
    assert_same_path,
    atoms_of,
    diabetes_kernel,
    matrices,
    problem_of,
    weights,
)
from scipy import sparse
from sklearn.datasets import make_friedman1
from sklearn.kernel_approximation import RBFSampler

from pursuit import KMPClassifier, KMPRegressor, _interrupts
from pursuit.dictionaries import Transformed
from pursuit.engine import moments
from pursuit.engine.moments import MomentPursuit, Moments, products
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.running import run
from pursuit.fitting import engines
from pursuit.methods import Redrawn
from pursuit.selection import FixedSize, MinimalBound, Validation

METHODS = ("pre-fitting", "back-fitting")


def moments_of(D, problems):
    return Moments.on_rows(lambda rows: D[rows].T, D.shape[1], D.shape[1], problems)


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(moments, "_VALUES", 1000)
    monkeypatch.setattr(moments, "_LEAST_ROWS", 7)


def moment_pursuit(D, Y, N, **how):
    problem = problem_of(D, Y, N, **how)
    found = moments_of(D, [problem])
    pursuit = MomentPursuit(atoms_of(D), problem, found, slice(None))
    run([pursuit])
    return pursuit


def held_out_problem(D, Y, rng, **how):
    """A problem of which a quarter of the rows is held out, and some are neither."""
    part = rng.choice(4, len(D), p=[0.6, 0.15, 0.2, 0.05])
    problem = problem_of(D, Y, 30, alpha=1e-2, weight=weights(len(D)), **how)
    return replace(
        problem,
        weight=np.where(part < 2, problem.weight, 0.0),
        held_out=np.where(part == 2, problem.weight, 0.0),
    )


# -- inner products ----------------------------------------------------------------


def test_blocks_of_rows_add_up(rng):
    A, Y = rng.standard_normal((20, 330)), rng.standard_normal((2, 330))
    w = rng.integers(0, 3, 330).astype(float)
    found = products(lambda rows: A[:, rows], 20, 31, Y, w)
    np.testing.assert_allclose(found.atoms, (A * w) @ A.T, atol=1e-10)
    np.testing.assert_array_equal(found.atoms, found.atoms.T)
    np.testing.assert_allclose(found.with_targets, (Y * w) @ A.T, atol=1e-10)
    np.testing.assert_allclose(found.with_constant, A @ w, atol=1e-10)
    np.testing.assert_allclose(found.targets, (Y**2) @ w)
    np.testing.assert_allclose(found.sums, Y @ w, atol=1e-10)
    assert found.total == w.sum()
    none = products(lambda rows: A[:, rows], 20, 31, Y, np.zeros(330))
    assert none.total == 0
    assert not none.atoms.any()


# -- agreement ---------------------------------------------------------------------


@pytest.mark.parametrize("is_weighted", [False, True], ids=["", "weighted"])
@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "constant"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("make", DICTIONARIES, ids=lambda f: f.__name__)
def test_it_selects_what_the_pseudo_code_selects(
    make, method, fit_intercept, is_weighted
):
    D, Y = matrices(make)
    alpha = 1e-6 * (D**2).sum(axis=0).max()
    how = {"method": method, "alpha": alpha, "fit_intercept": fit_intercept}
    if is_weighted:
        how["weight"] = weights(len(D))
    expected = reference.pursue(D=D, Y=Y, N=10, **how)
    assert_same_path(moment_pursuit(D, Y, 10, **how).path(), expected, D, Y)


@pytest.mark.parametrize("fit_intercept", [False, True], ids=["", "constant"])
@pytest.mark.parametrize("method", METHODS)
def test_held_out_errors_are_those_of_the_rows(rng, method, fit_intercept):
    D, Y = matrices(diabetes_kernel)
    Y = np.hstack([Y, 1e3 + np.sin(5 * Y)])
    problem = held_out_problem(D, Y, rng, method=method, fit_intercept=fit_intercept)
    atoms = atoms_of(D)
    found = moments_of(D, [problem])
    ours, theirs = (
        MomentPursuit(atoms, problem, found, slice(None)),
        Pursuit(atoms, problem),
    )
    run([ours])
    run([theirs])
    np.testing.assert_array_equal(ours.chosen, theirs.chosen)
    np.testing.assert_allclose(ours.errors[:, 1], theirs.errors[:, 1], rtol=1e-7)
    np.testing.assert_allclose(ours.path().errors, theirs.path().errors, rtol=1e-6)


def test_problems_of_one_target_each(rng):
    D, Y = matrices(diabetes_kernel)
    both = held_out_problem(D, np.hstack([Y, np.cos(3 * Y)]), rng, fit_intercept=True)
    problems = [replace(both, Y=both.Y[t : t + 1]) for t in range(2)]
    found = moments_of(D, problems)
    atoms = atoms_of(D)
    for t, problem in enumerate(problems):
        ours = MomentPursuit(atoms, problem, found, slice(t, t + 1))
        theirs = Pursuit(atoms, problem)
        run([ours])
        run([theirs])
        np.testing.assert_array_equal(ours.chosen, theirs.chosen)
        np.testing.assert_allclose(ours.errors[:, 1], theirs.errors[:, 1], rtol=1e-7)


def test_values_on_rows_are_not_known():
    D, Y = matrices(diabetes_kernel)
    found = moment_pursuit(D, Y, 5, alpha=1.0)
    with pytest.raises(NotImplementedError, match="sums over rows"):
        found.held_out_values()


def test_a_constant_target_ends_it_at_once():
    D, Y = matrices(diabetes_kernel)
    found = moment_pursuit(D, np.full_like(Y, 3.0), 5, alpha=1.0, fit_intercept=True)
    assert found.stop_reason == "exact"
    assert found.path().coefficients(0)[2] == 3.0


# -- in estimators -----------------------------------------------------------------


@pytest.fixture
def used(monkeypatch):
    """How many of the pursuits went by moments."""
    made = []
    init = MomentPursuit.__init__

    def noted(self, *given):
        made.append(1)
        init(self, *given)

    monkeypatch.setattr(MomentPursuit, "__init__", noted)
    return made


FEW = {"n_candidates": 120, "max_support": 40, "random_state": 0}


@pytest.fixture
def data():
    X, y = make_friedman1(2000, noise=1.0, random_state=0)
    return np.where(X > 0.1, X, 0.0), y


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("selection", ["validation", "bound", None])
def test_little_memory_changes_nothing(data, used, selection, method):
    X, y = data
    how = dict(FEW, selection=selection, gamma=0.3, alpha=0.01, method=method)
    wanted = KMPRegressor(**how).fit(X, y)
    assert not used
    found = KMPRegressor(max_memory="1.8 MB", **how).fit(X, y)
    assert len(used) == 1
    np.testing.assert_array_equal(found.support_, wanted.support_)
    np.testing.assert_allclose(found.predict(X), wanted.predict(X), rtol=1e-6)
    assert found.stop_reason_ == wanted.stop_reason_
    thin = KMPRegressor(max_memory="1.8 MB", **how).fit(sparse.csr_array(X), y)
    assert len(used) == 2
    np.testing.assert_array_equal(thin.support_, wanted.support_)


@pytest.mark.parametrize("multiclass", ["shared", "ovr"])
def test_classes(data, used, multiclass):
    X, y = data
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    how = dict(FEW, selection="validation", gamma=0.3, alpha=0.01)
    wanted = KMPClassifier(multiclass=multiclass, **how).fit(X, labels)
    found = KMPClassifier(multiclass=multiclass, max_memory="2.5 MB", **how)
    found.fit(X, labels)
    assert len(used) == (1 if multiclass == "shared" else 3)
    np.testing.assert_array_equal(found.support_, wanted.support_)
    np.testing.assert_allclose(found.dual_coef_, wanted.dual_coef_, atol=1e-6)


@pytest.mark.parametrize(
    "how",
    [
        {"alpha": 0.0},
        {"alpha": 1e-9},
        {"selection": "loo"},
        {"method": "basic"},
        {"loss": "huber", "max_memory": "9 MB"},
        {"n_candidates": Redrawn(20), "max_memory": "9 MB"},
        {"selection": Validation(scoring="neg_mean_absolute_error")},
        {"max_support": 19},
    ],
    ids=lambda how: next(iter(how)),
)
def test_what_needs_the_rows_has_them(data, used, how):
    X, y = data
    usual = dict(FEW, selection="validation", gamma=0.3, alpha=0.01, max_memory="5 MB")
    KMPRegressor(**usual | how).fit(X, y)
    assert not used
    KMPRegressor(**usual).fit(X, y)
    assert used


def test_blocks_of_rows_are_not_taken_for_the_points(monkeypatch, rng, used):
    # The first 40 rows are the candidates, and blocks have 40 rows.
    X = rng.standard_normal((40, 2))[np.r_[:40, rng.integers(0, 40, 360)]]
    y = np.sin(3 * X[:, 0])
    how = {"gamma": 2.0, "alpha": 1e-2, "selection": None, "max_support": 10}
    for kind in (np.asarray, sparse.csr_array):
        monkeypatch.setattr(engines, "_MANY_ROWS", 10_000)
        wanted = KMPRegressor(**how).fit(kind(X), y)
        monkeypatch.setattr(engines, "_MANY_ROWS", 100)
        monkeypatch.setattr(moments, "_VALUES", 40 * 40)
        before = len(used)
        found = KMPRegressor(**how).fit(kind(X), y)
        assert len(used) == before + 1
        np.testing.assert_array_equal(found.support_, wanted.support_)


def test_maps_are_held_whole(data, monkeypatch, used):
    X, y = data
    monkeypatch.setattr(engines, "_MANY_ROWS", 100)
    maps = Transformed(RBFSampler(n_components=150, random_state=0))
    how = {"alpha": 1e-2, "selection": "validation", "max_support": 50}
    found = KMPRegressor(dictionary=maps, **how).fit(X, y)
    assert used
    monkeypatch.setattr(engines, "_MANY_ROWS", 10_000)
    wanted = KMPRegressor(dictionary=maps, **how).fit(X, y)
    np.testing.assert_array_equal(found.support_, wanted.support_)


def test_sizes_without_a_held_out_error_do_not_count(data, monkeypatch, used):
    X, y = data
    write, ended = MomentPursuit._write_errors, []

    def interrupted(self, first, last):
        if first > 16:
            ended.append(first)
            raise KeyboardInterrupt
        write(self, first, last)

    monkeypatch.setattr(engines, "_MANY_ROWS", 100)
    monkeypatch.setattr(_interrupts, "_latest", [-10.0])
    monkeypatch.setattr(MomentPursuit, "_write_errors", interrupted)
    how = dict(FEW, selection="validation", gamma=0.3, alpha=0.01)
    with pytest.warns(UserWarning, match="interrupted"):
        model = KMPRegressor(**how).fit(X, y)
    assert ended == [17]
    assert len(model.path_) == 16


@pytest.mark.parametrize("kind", [FixedSize, MinimalBound])
def test_a_score_that_no_row_needs_does_not_keep_the_rows(data, used, kind):
    X, y = data
    how = dict(FEW, gamma=0.3, alpha=0.01, max_memory="5 MB")
    KMPRegressor(**how, selection=kind(scoring="r2")).fit(X, y)
    assert used
