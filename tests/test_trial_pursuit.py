"""Trials under any loss: a minimum now and then, and least squares in between."""

import itertools

import numpy as np
import pytest
from given_matrices import assert_values_of_every_size, atoms_of
from naming import named
from test_engine_memory import assert_estimated
from test_loss_pursuit import CONVEX, LOSSES, SMOOTH, data

from pursuit import KMPClassifier, KMPRegressor
from pursuit.engine.gram import SharedGram
from pursuit.engine.gram_pursuit import GramPursuit
from pursuit.engine.loss_model import LossModel
from pursuit.engine.loss_pursuit import LossPursuit
from pursuit.engine.metric import is_renewal_due
from pursuit.engine.problem import Problem
from pursuit.engine.running import run
from pursuit.engine.trial_pursuit import TrialPursuit, least_squares
from pursuit.fitting.engines import Workbench
from pursuit.losses import Hinge, Logistic, Softmax, Squared


def problem_of(loss, D, Y, weight, **how):
    how = {"alpha": 0.05, "max_steps": 20, **how}
    return Problem(
        Y=np.ascontiguousarray(Y.T),
        weight=weight,
        held_out=how.pop("held_out", np.where(weight == 0, 1.0, 0.0)),
        candidates=np.ones(D.shape[1], dtype=bool),
        loss=loss,
        **how,
    )


def trial_of(loss, D, Y, weight, **how):
    problem = problem_of(loss, D, Y, weight, **how)
    atoms = atoms_of(D)
    pursuit = TrialPursuit(atoms, problem, SharedGram(atoms.A, {0: weight}))
    run([pursuit])
    return pursuit


def minima(n_steps):
    """The sizes at which the loss is minimized."""
    found = [0]
    for n in range(1, n_steps + 1):
        if is_renewal_due(n, found[-1]) or n == n_steps:
            found.append(n)
    return found


def reference(loss, D, Y, weight, problem):
    """The same, each step in its plainest form: atoms and the model at each minimum."""
    # Without a constant all rows have the same curvature at first.
    half = 0.5 * loss.weights(Y.T, np.zeros_like(Y.T)).mean()
    chosen, models = [], []
    sizes = minima(problem.max_steps)
    F = np.zeros_like(Y.T)
    for start, stop in itertools.pairwise(sizes):
        R = -0.5 * loss.gradient(Y.T, F) / half
        base = list(chosen)
        for _ in range(start, stop):
            chosen.append(
                best_addition(D, R, weight, problem.alpha / half, chosen, base)
            )
        model = LossModel(problem)
        model.extend(chosen, D[:, chosen].T)
        F = model.F[:, : len(D)].copy()
        models.append(model)
    return chosen, sizes[1:], models


def best_addition(D, R, weight, alpha, chosen, base):
    """The atom after which the ridge regression of R, on new atoms, errs least."""
    falls = []
    for k in range(D.shape[1]):
        if k in chosen:
            falls.append(-np.inf)
            continue
        index = [*chosen, k]
        B = D[:, index]
        G = (B.T * weight) @ B + alpha * np.eye(len(index))
        # At a minimum, the ridge balances the correlations of its atoms.
        c = (B.T * weight) @ R.T
        c[: len(base)] = 0.0
        falls.append(float((c * np.linalg.solve(G, c)).sum()))
    return int(np.argmax(falls))


@pytest.mark.parametrize("loss", [Logistic(), Softmax(), Squared()], ids=named)
def test_choices_are_those_of_least_squares_between_minima(loss):
    D, Y, weight = data(loss)
    how = {"fit_intercept": False, "alpha": 0.1, "max_steps": 12}
    trial = trial_of(loss, D, Y, weight, **how)
    chosen, sizes, models = reference(loss, D, Y, weight, trial.problem)
    assert trial.chosen.tolist() == chosen
    for n, model in zip(sizes, models, strict=True):
        _, coef, _ = trial.path().coefficients(n)
        np.testing.assert_allclose(coef, model.coef[:, :n], rtol=1e-3, atol=5e-4)


@pytest.mark.parametrize("loss", CONVEX, ids=named)
@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting"])
def test_models_are_minima_or_keep_the_last_one(loss, method):
    D, Y, weight = data(loss)
    trial = trial_of(loss, D, Y, weight, method=method)
    path = trial.path()
    assert trial.n_steps == len(path) == 20
    values = []
    for n in range(21):
        support, coef, b = path.coefficients(n)
        F = (D[:, support] @ coef.T + b).T
        values.append(np.sum(loss.value(Y.T, F) @ weight) + 0.05 * (coef**2).sum())
        if n not in minima(20):
            assert np.all(coef[:, -1] == 0)
            assert values[n] == pytest.approx(values[n - 1], rel=1e-12)
            continue
        exact = LossModel(trial.problem)
        if n:
            exact.extend(support.tolist(), D[:, support].T)
        assert values[n] <= exact._objective.value(exact.F) + 1e-8 * values[0]
    assert np.all(np.diff(values) <= 1e-9 * values[0])


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_errors_and_values_are_those_of_the_path(loss, fit_intercept):
    D, Y, weight = data(loss)
    weight[::4] = 0.0
    held_out = np.where(weight == 0, 2.0, 0.0)
    how = {"held_out": held_out, "fit_intercept": fit_intercept}
    trial = trial_of(loss, D, Y, weight, **how)
    path = trial.path()
    for n in range(trial.n_steps + 1):
        support, coef, b = path.coefficients(n)
        F = (D[:, support] @ coef.T + b).T
        for j, w in enumerate((weight, held_out)):
            value = np.sum(loss.value(Y.T, F) @ w)
            assert trial.errors[n, j] == pytest.approx(value, rel=1e-7, abs=1e-9)
    atoms = atoms_of(D)
    gram = SharedGram(atoms.A, {0: weight})
    assert_values_of_every_size(TrialPursuit(atoms, trial.problem, gram), D)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting"])
def test_squared_loss_is_least_squares_itself(fit_intercept, method):
    D, Y, weight = data(Squared())
    how = {"fit_intercept": fit_intercept, "method": method}
    trial = trial_of(Squared(), D, np.column_stack([Y, Y**2]), weight, **how)
    atoms = atoms_of(D)
    gram = SharedGram(atoms.A, {0: weight})
    wanted = GramPursuit(atoms, trial.problem, gram)
    run([wanted])
    assert trial.chosen.tolist() == wanted.chosen.tolist()
    for n in minima(20):
        found, expected = trial.path().coefficients(n), wanted.path().coefficients(n)
        for a, b in zip(found, expected, strict=True):
            np.testing.assert_allclose(a, b, atol=1e-4)


@pytest.mark.parametrize("n_targets", [1, 5])
def test_memory_is_that_of_both_of_its_parts(n_targets):
    rng = np.random.default_rng(0)
    D = rng.normal(size=(600, 1200))
    codes = rng.integers(max(2, n_targets), size=600)
    Y = np.where(codes[:, None] == np.arange(n_targets), 1.0, -1.0)
    loss = Softmax() if n_targets > 1 else Logistic()
    held_out = np.where(np.arange(600) < 60, 1.0, 0.0)
    how = {"held_out": held_out, "alpha": 1.0, "max_steps": 60}
    problem = problem_of(loss, D, Y, 1.0 - held_out, **how)
    atoms = atoms_of(D)
    gram = SharedGram(atoms.A, {0: problem.weight})
    estimate = GramPursuit.state_bytes(600, 1200, 60, n_targets, 60)
    estimate += LossPursuit.state_bytes(600, 1200, 60, n_targets)
    assert_estimated(estimate, atoms, lambda: TrialPursuit(atoms, problem, gram))


@pytest.mark.parametrize("loss", SMOOTH, ids=named)
def test_the_parabola_at_the_constant(loss):
    """Its gradient at the constant is that of the loss, up to the unit."""
    D, Y, weight = data(loss)
    problem = problem_of(loss, D, Y, weight)
    squares = least_squares(problem)
    F = loss.start(Y.T, weight)[:, None] + np.zeros_like(Y.T)
    unit = problem.alpha / squares.alpha
    np.testing.assert_allclose(unit * 2 * squares.Y, -loss.gradient(Y.T, F))
    mean = 0.5 * (loss.weights(Y.T, F).mean(axis=0) @ weight) / weight.sum()
    assert unit == pytest.approx(mean)
    assert squares.is_least_squares


def test_paths_are_close_to_those_of_every_step():
    """The atoms differ, and the losses on fitted and held-out rows a little."""
    for loss in (Logistic(), Softmax()):
        D, Y, weight = data(loss, n=200)
        weight[::4] = 0.0
        trial = trial_of(loss, D, Y, weight)
        atoms = atoms_of(D)
        exact = LossPursuit(atoms, trial.problem)
        run([exact])
        for n in (0, 10, 13, 17, 20):
            np.testing.assert_allclose(trial.errors[n], exact.errors[n], rtol=0.1)


def test_all_candidates_and_none():
    D, Y, weight = data(Logistic(), n=30)
    D = np.hstack([D[:, :9], D[:, :9], np.ones((30, 1))])
    trial = trial_of(Logistic(), D, Y, weight, tol=1e-6, alpha=1e-7, max_steps=19)
    assert trial.stop_reason == "exhausted"
    assert trial.n_steps == 9
    assert trial.errors[9, 0] < trial.errors[8, 0]
    flat = trial_of(Squared(), D, np.ones((30, 1)), weight)
    assert (flat.n_steps, flat.stop_reason) == (0, "exact")


def test_functions_far_from_zero_are_followed_as_centered_ones():
    D, Y, weight = data(Logistic())
    D = np.round(D * 2**20) / 2**20
    near, far = (
        trial_of(Logistic(), D + shift, Y, weight, alpha=0.5, max_steps=8)
        for shift in (0.0, 2.0**10)
    )
    assert near.chosen.tolist() == far.chosen.tolist()
    np.testing.assert_allclose(far.errors, near.errors, rtol=1e-4)


@pytest.mark.parametrize("loss", ["logistic", Hinge()])
@pytest.mark.parametrize("multiclass", ["shared", "ovr"])
def test_searches_use_it_and_models_do_not(rng, monkeypatch, loss, multiclass):
    X = rng.normal(size=(90, 2))
    y = np.digitize(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=90), [-0.4, 0.4])
    made = []
    original = Workbench.pursuit

    def pursuit(self, problem):
        steps = original(self, problem)
        made.append((type(steps), problem.weighting))
        return steps

    monkeypatch.setattr(Workbench, "pursuit", pursuit)
    how = {"gamma": 0.5, "max_support": 15, "multiclass": multiclass}
    KMPClassifier(loss=loss, **how).fit(X, y)
    assert {kind for kind, fold in made if fold > 0} == {TrialPursuit}
    assert {kind for kind, fold in made if fold == 0} == {LossPursuit}


@pytest.mark.parametrize(
    "how", [{"method": "basic"}, {"alpha": 0.0}, {"n_candidates": 20}], ids=str
)
def test_searches_without_inner_products_still_work(rng, how):
    X = rng.normal(size=(80, 2))
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    how = {"gamma": 0.5, "max_support": 10, **how}
    model = KMPRegressor(loss="huber", **how).fit(X, y)
    assert model.score(X, y) > 0.5
