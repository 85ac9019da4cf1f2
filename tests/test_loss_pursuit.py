"""The pursuit under any loss against Fig. 9.4, and the laws it keeps."""

import numpy as np
import pytest
import reference
from given_matrices import assert_values_of_every_size, atoms_of
from naming import named
from scipy.optimize import linprog, minimize
from sklearn.exceptions import ConvergenceWarning

from pursuit.engine.backfitting import GRADIENT_TOLERANCE, Newton
from pursuit.engine.loss_pursuit import LossPursuit
from pursuit.engine.metric import GROWTH, LEAST_CURVATURE, orthonormal
from pursuit.engine.objective import Objective
from pursuit.engine.problem import METHODS, Problem
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.random_pursuit import RandomLossPursuit
from pursuit.engine.running import run
from pursuit.functions import KernelFunctions
from pursuit.kernels import Gaussian
from pursuit.losses import (
    Absolute,
    Doom2,
    Exponential,
    Hinge,
    Huber,
    JointMargin,
    Logistic,
    Loss,
    Poisson,
    Quantile,
    Softmax,
    Squared,
    SquaredHinge,
    SquaredTanh,
)

LOSSES = [
    Squared(),
    SquaredTanh(),
    Exponential(),
    Logistic(),
    Softmax(),
    Doom2(),
    Hinge(),
    SquaredHinge(),
    Absolute(0.05),
    Huber(0.5),
    Quantile(0.8, 0.05),
    Poisson(),
]
CONVEX = [loss for loss in LOSSES if loss.is_convex]
# Smooth enough for a general optimizer to serve as an oracle.
SMOOTH = [Logistic(), Softmax(), Exponential(), Poisson(), SquaredHinge(), Huber(0.5)]


def data(loss, n=60, seed=0, width=0.4):
    """A Gaussian dictionary (l, M), targets (l, T) fit for the loss, weights."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    D = np.exp(-width * ((X[:, None] - X) ** 2).sum(axis=2))
    f = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=n)
    if isinstance(loss, (Softmax, JointMargin)):
        codes = np.digitize(f, [-0.6, 0.6])
        Y = np.where(codes[:, None] == np.arange(3), 1.0, -1.0)
    elif isinstance(loss, Poisson):
        Y = rng.poisson(np.exp(np.clip(f, -3, 2))).astype(float)[:, None]
    elif loss.fits_classes and not loss.fits_numbers:
        Y = np.sign(f)[:, None]
    else:
        Y = f[:, None]
    return D, Y, rng.integers(1, 3, n).astype(float)


def pursuit_of(loss, D, Y, weight=None, block=None, **how):
    n_rows, n_atoms = D.shape
    how = {"held_out": np.zeros(n_rows), "max_steps": 10, **how}
    problem = Problem(
        Y=np.ascontiguousarray(Y.T),
        weight=np.ones(n_rows) if weight is None else weight,
        candidates=how.pop("candidates", np.ones(n_atoms, dtype=bool)),
        loss=loss,
        **how,
    )
    atoms = atoms_of(D, block)
    pursuit = LossPursuit(atoms, problem)
    run([pursuit])
    return pursuit


def objective(pursuit, D, Y, weight, n):
    """The penalized loss of the path's model of size n, from its coefficients."""
    support, coef, b = pursuit.path().coefficients(n)
    F = (D[:, support] @ coef.T + b).T
    problem = pursuit.problem
    value = np.sum(problem.loss.value(Y.T, F) @ weight)
    return value + problem.alpha * (coef**2).sum()


# -- against the pseudo-code -------------------------------------------------------


@pytest.mark.parametrize("loss", SMOOTH, ids=named)
@pytest.mark.parametrize("alpha", [0.01, 1.0])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("p", [1, 3, None])
def test_choice_by_gradient_is_figure_9_4(loss, alpha, fit_intercept, p):
    D, Y, weight = data(loss)
    how = {"alpha": alpha, "fit_intercept": fit_intercept}
    wanted = reference.any_loss(D, Y, 7, loss, p=p, weight=weight, **how)
    # Without back-fits the literal figure chooses each atom once; so do its first
    # steps here, where no atom is worth choosing again.
    method = "basic" if p is None else "back-fitting"
    found = pursuit_of(
        loss, D, Y, weight, method=method, max_steps=7, refit_every=p or 1, **how
    ).path()
    for n, (chosen, coef, b) in enumerate(wanted, start=1):
        if p is None and len(set(found.atoms[:n])) < n:
            assert n > 2
            break
        support, own, intercept = found.coefficients(n)
        assert support.tolist() == chosen
        np.testing.assert_allclose(own.T, coef, rtol=1e-3, atol=2e-4)
        np.testing.assert_allclose(intercept, loss.reduced(b), rtol=1e-3, atol=2e-4)


def renewals(n_steps):
    found, at = {0}, 0
    for n in range(1, n_steps):
        if n - at >= max(1.0, GROWTH * at):
            found, at = found | {n}, n
    return found


@pytest.mark.parametrize("loss", SMOOTH, ids=named)
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_pre_fitting_is_the_best_on_the_parabola(loss, fit_intercept):
    D, Y, weight = data(loss)
    how = {"alpha": 0.05, "fit_intercept": fit_intercept}
    wanted = reference.parabolas(
        D,
        Y,
        9,
        loss,
        renewals(9),
        weight=weight,
        least=LEAST_CURVATURE,
        **how,
    )
    found = pursuit_of(loss, D, Y, weight, max_steps=9, **how).path()
    for n, (chosen, coef, b) in enumerate(wanted, start=1):
        support, own, intercept = found.coefficients(n)
        assert support.tolist() == chosen
        np.testing.assert_allclose(own.T, coef, rtol=1e-3, atol=5e-4)
        np.testing.assert_allclose(intercept, loss.reduced(b), rtol=1e-3, atol=5e-4)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.0, 0.1])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_squared_loss_is_the_pursuit_of_least_squares(method, alpha, fit_intercept):
    D, Y, weight = data(Squared())
    Y = np.column_stack([Y, Y**2])
    weight[::7] = 0.0
    how = {"method": method, "alpha": alpha, "fit_intercept": fit_intercept}
    found = pursuit_of(
        Squared(), D, Y, weight, held_out=1.0 * (weight == 0), max_steps=20, **how
    )
    atoms = atoms_of(D)
    wanted = Pursuit(atoms, found.problem)
    run([wanted])
    assert found.path().atoms.tolist() == wanted.path().atoms.tolist()
    np.testing.assert_allclose(found.errors, wanted.errors, rtol=1e-10)
    np.testing.assert_allclose(found.gains, wanted.gains, rtol=1e-8)
    for size in (0, 5, 20):
        for a, b in zip(
            found.path().coefficients(size),
            wanted.path().coefficients(size),
            strict=True,
        ):
            np.testing.assert_allclose(a, b, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("method", METHODS)
def test_blocks_choose_the_same(loss, method):
    D, Y, weight = data(loss)
    stored = pursuit_of(loss, D, Y, weight, method=method, alpha=0.01, max_steps=20)
    blocked = pursuit_of(
        loss, D, Y, weight, block=16, method=method, alpha=0.01, max_steps=20
    )
    np.testing.assert_array_equal(stored.chosen, blocked.chosen)
    np.testing.assert_allclose(stored.errors, blocked.errors, rtol=1e-7)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("method", METHODS)
def test_losses_that_are_not_compiled_choose_the_same(loss, method):
    D, Y, weight = data(loss)
    own = type("Own", (type(loss),), {})(**loss.get_params())
    how = {"method": method, "alpha": 0.01, "max_steps": 12}
    compiled = pursuit_of(loss, D, Y, weight, **how)
    found = pursuit_of(own, D, Y, weight, **how)
    np.testing.assert_array_equal(found.chosen, compiled.chosen)
    np.testing.assert_allclose(found.errors, compiled.errors, rtol=1e-7)


def test_many_directions_are_asked_for_in_turns(rng, monkeypatch):
    """More chosen atoms than are correlated at a time, and still the same choice."""
    X = rng.normal(size=(160, 3))
    D = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    Y = np.sign(X[:, :1] + 0.3 * rng.normal(size=(160, 1)))
    how = {"alpha": 1e-3, "max_steps": 110}
    in_turns = pursuit_of(Logistic(), D, Y, **how)
    assert in_turns.n_steps == 110
    monkeypatch.setattr("pursuit.engine.loss_pursuit._AT_ONCE", 1000)
    at_once = pursuit_of(Logistic(), D, Y, **how)
    assert at_once.atoms.n_passes < in_turns.atoms.n_passes
    np.testing.assert_array_equal(in_turns.chosen, at_once.chosen)
    np.testing.assert_allclose(in_turns.errors, at_once.errors, rtol=1e-9)


# -- laws --------------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("p", [1, 4])
@pytest.mark.parametrize("alpha", [0.0, 0.02])
def test_law_the_objective_never_rises(loss, method, p, alpha):
    D, Y, weight = data(loss, seed=1)
    pursuit = pursuit_of(
        loss,
        D,
        Y,
        weight,
        method=method,
        alpha=alpha,
        refit_every=p,
        max_steps=15,
    )
    values = [objective(pursuit, D, Y, weight, n) for n in range(pursuit.n_steps + 1)]
    assert np.all(np.diff(values) <= 1e-9 * values[0])
    assert values[-1] < 0.9 * values[0]


@pytest.mark.parametrize("loss", CONVEX, ids=named)
@pytest.mark.parametrize("method", ["pre-fitting", "back-fitting"])
def test_law_the_gradient_vanishes_on_the_chosen_atoms(loss, method):
    D, Y, weight = data(loss, seed=2)
    how = {"method": method, "alpha": 0.05, "max_steps": 12}
    pursuit = pursuit_of(loss, D, Y, weight, **how)
    support, coef, b = pursuit.path().coefficients(12)
    F = (D[:, support] @ coef.T + b).T
    slope = -0.5 * weight * loss.gradient(Y.T, F)
    on_atoms = slope @ D[:, support] - 0.05 * coef
    whole = np.sqrt(weight @ D[:, support] ** 2)
    limit = 30 * GRADIENT_TOLERANCE * np.sqrt(objective(pursuit, D, Y, weight, 0))
    # In the parabola's metric; the weights' differs by a factor.
    assert np.all(np.abs(on_atoms) <= limit * whole * 10)
    assert np.all(np.abs(slope.sum(axis=1)) <= limit * np.sqrt(weight.sum()) * 10)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_law_the_path_reproduces_every_step(loss):
    D, Y, weight = data(loss, seed=3)
    weight[::5] = 0.0
    held_out = np.where(weight == 0, 2.0, 0.0)
    pursuit = pursuit_of(loss, D, Y, weight, held_out=held_out, alpha=0.01)
    path = pursuit.path()
    stages = [None, *path.staged_values(D[:, path.support])]
    for n in range(len(path) + 1):
        support, coef, b = path.coefficients(n)
        F = (D[:, support] @ coef.T + b).T
        for j, w in enumerate((weight, held_out)):
            value = np.sum(loss.value(Y.T, F) @ w)
            assert pursuit.errors[n, j] == pytest.approx(value, rel=1e-7)
        if n:
            np.testing.assert_allclose(stages[n], F.T, atol=1e-8)
            short = path.truncate(n)
            np.testing.assert_allclose(short.coefficients(n)[1], coef)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("method", METHODS)
def test_law_a_weight_of_two_is_the_row_twice(loss, method):
    D, Y, weight = data(loss, seed=4)
    times = weight.astype(int)
    how = {"method": method, "alpha": 0.01, "max_steps": 8}
    weighted = pursuit_of(loss, D, Y, weight, **how)
    repeated = pursuit_of(
        loss, np.repeat(D, times, axis=0), np.repeat(Y, times, 0), **how
    )
    np.testing.assert_array_equal(weighted.chosen, repeated.chosen)
    np.testing.assert_allclose(weighted.errors, repeated.errors, rtol=1e-6)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_law_rows_of_weight_zero_are_not_fitted(loss):
    D, Y, weight = data(loss, seed=5)
    kept = np.arange(len(D)) % 4 > 0
    how = {"alpha": 0.01, "max_steps": 8}
    absent = pursuit_of(loss, D[kept], Y[kept], weight[kept], **how)
    zero = pursuit_of(loss, D, Y, np.where(kept, weight, 0.0), **how)
    np.testing.assert_array_equal(absent.chosen, zero.chosen)
    np.testing.assert_allclose(absent.errors[:, 0], zero.errors[:, 0], rtol=1e-6)


def test_law_stopping_later_changes_nothing_before():
    D, Y, weight = data(Logistic())
    short = pursuit_of(Logistic(), D, Y, weight, alpha=0.01, max_steps=6)
    long = pursuit_of(Logistic(), D, Y, weight, alpha=0.01, max_steps=14)
    np.testing.assert_array_equal(short.chosen, long.chosen[:6])
    np.testing.assert_allclose(short.errors, long.errors[:7], rtol=1e-9)


def test_pursuits_of_several_losses_share_their_passes():
    D, Y, weight = data(Logistic())
    problems = [
        pursuit_of(loss, D, Y, weight, alpha=0.01, method=method).problem
        for loss in (Logistic(), Hinge(), Exponential())
        for method in METHODS
    ]
    atoms = atoms_of(D)
    pursuits = [LossPursuit(atoms, problem) for problem in problems]
    pursuits.append(Pursuit(atoms, problems[0]))
    run(pursuits)
    assert atoms.n_passes <= 12
    for p, problem in zip(pursuits, problems, strict=False):
        alone = LossPursuit(atoms, problem)
        run([alone])
        np.testing.assert_array_equal(p.chosen, alone.chosen)


# -- hard cases --------------------------------------------------------------------


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("method", METHODS)
def test_equal_and_collinear_atoms_do_no_harm(loss, method):
    D, Y, weight = data(loss, n=30)
    D = np.hstack([D, D, -3 * D[:, :5], np.zeros((30, 2)), np.ones((30, 1))])
    pursuit = pursuit_of(loss, D, Y, weight, method=method, max_steps=35, alpha=0.0)
    assert np.all(np.isfinite(pursuit.errors))
    if method != "basic":
        chosen = pursuit.chosen[: pursuit.n_steps]
        assert len(np.unique(chosen)) == len(chosen)
        rank = np.linalg.matrix_rank(np.column_stack([np.ones(30), D]), tol=1e-12)
        assert pursuit.n_steps <= rank - 1


@pytest.mark.parametrize("loss", [Logistic(), Exponential(), Hinge(), SquaredHinge()])
def test_separable_classes_without_a_ridge_end(loss):
    D, Y, _ = data(loss, n=40, width=5.0)
    pursuit = pursuit_of(loss, D, Y, max_steps=40)
    assert np.all(np.isfinite(pursuit.errors))
    assert pursuit.errors[pursuit.n_steps, 0] < 1e-3 * pursuit.errors[0, 0]


@pytest.mark.parametrize("loss", [Squared(), Absolute(0.1), Huber(0.1), Poisson()])
def test_a_constant_target_needs_no_atom(loss):
    D, _, weight = data(loss)
    pursuit = pursuit_of(loss, D, np.full((60, 1), 3.0), weight)
    assert pursuit.stop_reason == "exact"
    assert pursuit.n_steps == 0


def test_no_steps_and_no_candidates():
    D, Y, weight = data(Logistic())
    assert pursuit_of(Logistic(), D, Y, weight, max_steps=0).stop_reason is not None
    none = pursuit_of(Logistic(), D, Y, weight, candidates=np.zeros(60, dtype=bool))
    assert (none.n_steps, none.stop_reason) == (0, "exhausted")


@pytest.mark.parametrize("scale", [1e-8, 1e8])
def test_targets_of_any_scale(scale):
    D, Y, weight = data(Huber())
    for loss in (Absolute(), Huber(), Quantile(0.7)):
        bound = loss.bind(Y.T, weight)
        scaled = loss.bind(scale * Y.T, weight)
        one = pursuit_of(bound, D, Y, weight, max_steps=6)
        other = pursuit_of(scaled, D, scale * Y, weight, max_steps=6)
        assert one.n_steps == 6
        np.testing.assert_array_equal(one.chosen, other.chosen)


def far_from_zero(loss, shift):
    """A constant and columns of unit variation around ``shift``, exact there too."""
    _, Y, weight = data(loss)
    rng = np.random.default_rng(8)
    D = rng.normal(size=(60, 20))
    D[:, :3] += 0.5 * Y[:, :1]
    D = np.round(D * 2**20) / 2**20
    return np.column_stack([np.zeros(60), D]) + shift, Y, weight


@pytest.mark.parametrize("loss", CONVEX, ids=named)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("p", [1, 3])
def test_functions_far_from_zero_are_fitted_as_centered_ones(loss, method, p):
    """Squared norms of unit variation around 1e8 drown in rounding by subtraction."""
    how = {"method": method, "refit_every": p, "alpha": 0.1, "max_steps": 8}
    near, far = (
        pursuit_of(loss, *far_from_zero(loss, shift), **how) for shift in (0.0, 2.0**26)
    )
    assert near.chosen.tolist() == far.chosen.tolist()
    assert far.n_steps == 8
    np.testing.assert_allclose(far.errors, near.errors, rtol=1e-5)
    np.testing.assert_allclose(far.gains, near.gains, rtol=1e-4)
    np.testing.assert_allclose(far.model.F[:, :60], near.model.F[:, :60], atol=2e-3)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_functions_far_from_zero_are_drawn_too(method, alpha):
    chosen = []
    for shift in (0.0, 2.0**26):
        D, Y, weight = far_from_zero(Logistic(), shift)
        how = {"method": method, "alpha": alpha, "max_steps": 8}
        greedy = pursuit_of(Logistic(), D, Y, weight, **how)
        atoms = atoms_of(D)
        drawn = RandomLossPursuit(atoms, greedy.problem, 9, np.random.default_rng(0))
        run([drawn])
        chosen.append(drawn.chosen.tolist())
        assert 0 not in drawn.chosen
    assert chosen[0] == chosen[1]


@pytest.mark.parametrize("alpha", [0.0, 0.1])
def test_only_constants_far_from_zero_add_nothing(alpha):
    _, Y, weight = data(Logistic())
    D = np.full((60, 5), 1e8) * np.arange(1, 6)
    for method in METHODS:
        pursuit = pursuit_of(Logistic(), D, Y, weight, method=method, alpha=alpha)
        assert (pursuit.n_steps, pursuit.stop_reason) == (0, "exhausted")


def test_the_least_atom_of_a_tie_wins():
    D, Y, weight = data(Logistic())
    twice = np.hstack([D, D])
    for method in METHODS:
        pursuit = pursuit_of(Logistic(), twice, Y, weight, method=method)
        assert pursuit.n_steps == 10
        assert pursuit.chosen.max() < 60


@pytest.mark.parametrize("method", METHODS)
def test_redrawing_all_candidates_is_the_greedy_choice(method):
    D, Y, weight = data(Logistic())
    greedy = pursuit_of(Logistic(), D, Y, weight, method=method, alpha=0.01)
    atoms = atoms_of(D)
    drawn = RandomLossPursuit(atoms, greedy.problem, 60, np.random.default_rng(0))
    run([drawn])
    np.testing.assert_array_equal(drawn.chosen, greedy.chosen)
    np.testing.assert_allclose(drawn.errors, greedy.errors, rtol=1e-9)
    few = RandomLossPursuit(atoms, greedy.problem, 5, np.random.default_rng(0))
    run([few])
    assert few.n_steps == greedy.n_steps


@pytest.mark.parametrize("kind", [LossPursuit, RandomLossPursuit], ids=named)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", [Softmax(), Logistic(), Squared()], ids=named)
def test_held_out_values_are_those_of_every_size(loss, method, kind):
    D, Y, weight = data(loss)
    weight[:20] = 0.0
    problem = Problem(
        Y=np.ascontiguousarray(Y.T),
        weight=weight,
        held_out=np.where(weight == 0, 1.0, 0.0),
        candidates=np.ones(60, dtype=bool),
        loss=loss,
        alpha=0.1,
        method=method,
        max_steps=10,
    )
    drawn = (7, np.random.default_rng(0)) if kind is RandomLossPursuit else ()
    assert_values_of_every_size(kind(atoms_of(D), problem, *drawn), D)


def test_float32_storage(rng):
    X = rng.normal(size=(80, 2))
    Y = np.sign(X[:, :1] + 0.3 * rng.normal(size=(80, 1))).T
    problem = Problem(
        Y=Y,
        weight=np.ones(80),
        held_out=np.zeros(80),
        candidates=np.ones(80, dtype=bool),
        loss=Logistic(),
        alpha=0.1,
        max_steps=10,
    )
    found = []
    for dtype in ("float64", "float32"):
        atoms = KernelFunctions(X, np.arange(80), True, Gaussian(0.5)).on(
            X, 1 << 30, dtype
        )
        found.append(LossPursuit(atoms, problem))
        run([found[-1]])
    np.testing.assert_array_equal(found[0].chosen, found[1].chosen)
    np.testing.assert_allclose(found[0].errors, found[1].errors, rtol=1e-5)


# -- the back-fit ------------------------------------------------------------------


@pytest.mark.parametrize("loss", CONVEX, ids=named)
@pytest.mark.parametrize("alpha", [0.01, 1.0])
def test_newton_finds_the_optimum_of_scipy(loss, alpha):
    """On the same columns, from the same start, by a quasi-Newton method of scipy."""
    D, Y, weight = data(loss, seed=6)
    pursuit = pursuit_of(loss, D, Y, weight, alpha=alpha, max_steps=8)
    support, coef, b = pursuit.path().coefficients(8)
    B = np.column_stack([np.ones(60), D[:, support]])
    T = Y.shape[1]

    def value(x):
        c = x.reshape(9, T)
        F = (B @ c).T
        slope = weight * loss.gradient(Y.T, F)
        penalty = np.vstack([np.zeros(T), c[1:]])
        return (
            np.sum(loss.value(Y.T, F) @ weight) + alpha * (c[1:] ** 2).sum(),
            (B.T @ slope.T + 2 * alpha * penalty).ravel(),
        )

    x = np.zeros(9 * T)
    for _ in range(20):
        options = {"maxiter": 20000, "maxfun": 100000, "ftol": 1e-15, "gtol": 1e-10}
        x = minimize(value, x, jac=True, method="L-BFGS-B", options=options).x
    own = value(np.vstack([b, coef.T]).ravel())[0]
    assert own <= value(x)[0] * (1 + 1e-8)


@pytest.mark.parametrize(
    ("loss", "above", "below"),
    [
        (Absolute(1e-3), 1.0, 1.0),
        (Absolute(1e-5), 1.0, 1.0),
        (Quantile(0.9, 1e-5), 0.9, 0.1),
        (Hinge(1e-4), 1.0, 0.0),
    ],
    ids=lambda value: named(value) if isinstance(value, Loss) else None,
)
def test_newton_finds_the_optimum_of_losses_with_sharp_corners(loss, above, below):
    """At every size, by a linear program for the loss whose corner is not rounded."""
    D, Y, weight = data(loss, n=200, seed=7)
    path = pursuit_of(loss, D, Y, weight, alpha=0.0, max_steps=12).path()
    y, is_class = Y[:, 0], loss.fits_classes
    for size in range(1, 13):
        support, coef, b = path.coefficients(size)
        B = np.column_stack([np.ones(200), D[:, support]])
        # y - f, or 1 - y f, is the difference of two numbers that are not negative.
        sides = np.hstack(
            [B * y[:, None] if is_class else B, np.eye(200), -np.eye(200)]
        )
        program = linprog(
            np.concatenate([np.zeros(size + 1), above * weight, below * weight]),
            A_eq=sides,
            b_eq=np.ones(200) if is_class else y,
            bounds=[(None, None)] * (size + 1) + [(0, None)] * 400,
        )
        f = D[:, support] @ coef[0] + b
        own = loss.value(y[None], f[None])[0] @ weight
        # Rounding changes the loss of a row by at most half of the smoothing.
        assert abs(own - program.fun) <= 0.51 * loss.smoothing * weight.sum()


def test_a_minimum_that_is_not_reached_is_told_once(monkeypatch):
    monkeypatch.setattr("pursuit.engine.backfitting._MOST_STEPS", 2)
    D, Y, weight = data(Absolute(1e-3))
    with pytest.warns(
        ConvergenceWarning, match="did not minimize the loss Abs"
    ) as told:
        pursuit_of(Absolute(1e-3), D, Y, weight, alpha=0.01)
    assert len(told) == 1


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_newton_never_raises_the_objective_from_any_start(loss, rng):
    D, Y, weight = data(loss)
    target = Objective(loss, Y.T.copy(), weight)
    B, _ = orthonormal(D[:, :6].T.copy(), weight)
    for size in (0.0, 1.0, 30.0):
        F = size * rng.normal(size=Y.T.shape)
        before = target.value(F)
        after, theta = Newton(target).refit(F, B, before)
        assert target.value(after) <= before
        np.testing.assert_allclose(after, F + theta @ B, atol=1e-8 * (1 + size))


def test_orthonormal_of_nearly_dependent_functions(rng):
    C = rng.normal(size=(4, 50))
    C[3] = C[2] + 1e-7 * rng.normal(size=50)
    metric = rng.uniform(0.1, 2.0, 50)
    Q, R = orthonormal(C, metric)
    np.testing.assert_allclose((Q * metric) @ Q.T, np.eye(4), atol=1e-12)
    np.testing.assert_allclose(R.T @ Q, C, atol=1e-12)
    assert np.all(np.tril(R, -1) == 0)


def test_orthonormal_in_one_metric_made_so_in_another(rng):
    """Of functions far from dependent, and of those that the new metric makes so."""
    Q, _ = orthonormal(rng.normal(size=(20, 60)), np.ones(60))
    for spread in (1.0, 12.0):
        metric = np.exp(spread * rng.normal(size=60))
        found, R = orthonormal(Q, metric)
        np.testing.assert_allclose((found * metric) @ found.T, np.eye(20), atol=1e-10)
        np.testing.assert_allclose(R.T @ found, Q, atol=1e-8)
