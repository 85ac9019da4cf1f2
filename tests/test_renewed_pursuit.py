"""The pursuit to targets that are renewed, and the margin loss that it is for."""

import numpy as np
import pytest
from given_matrices import assert_values_of_every_size, atoms_of
from reference import to_nearest
from sklearn.datasets import load_iris, load_wine
from sklearn.preprocessing import scale
from test_loss_pursuit import data

from pursuit import CrossValidation, KMPClassifier
from pursuit.engine.gram import SharedGram
from pursuit.engine.loss_pursuit import LossPursuit
from pursuit.engine.metric import is_renewal_due
from pursuit.engine.problem import Problem
from pursuit.engine.renewed_pursuit import RENEWALS, RenewedPursuit
from pursuit.engine.running import run
from pursuit.fitting.engines import Engines
from pursuit.kernels import Gaussian
from pursuit.losses import JointMargin, Margin, Squared, SquaredHinge

LOSS = JointMargin()


def problem_of(D, Y, weight, **how):
    how = {"alpha": 0.05, "max_steps": 12, **how}
    return Problem(
        Y=np.ascontiguousarray(Y.T),
        weight=weight,
        held_out=how.pop("held_out", np.zeros(len(D))),
        candidates=np.ones(D.shape[1], dtype=bool),
        loss=how.pop("loss", LOSS),
        **how,
    )


def pursuit_of(D, Y, weight, **how):
    problem, atoms = problem_of(D, Y, weight, **how), atoms_of(D)
    return RenewedPursuit(atoms, problem, SharedGram(atoms.A, {0: weight}))


def renewals(n_steps):
    """The sizes at which targets are renewed."""
    found = [0]
    for n in range(1, n_steps + 1):
        if is_renewal_due(n, found[-1]) or n == n_steps:
            found.append(n)
    return found[1:]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_it_chooses_and_fits_as_the_plain_algorithm(fit_intercept, alpha):
    D, Y, weight = data(LOSS, n=40)
    how = {"alpha": alpha, "fit_intercept": fit_intercept}
    pursuit = pursuit_of(D, Y, weight, **how)
    run([pursuit])

    def nearest(F):
        return F - 0.5 * LOSS.gradient(Y.T, F.T).T

    chosen, models = to_nearest(
        *(D, Y, 12, nearest, renewals(12), RENEWALS), weight=weight, **how
    )
    path = pursuit.path()
    assert path.atoms.tolist() == chosen
    for n, (coef, b) in enumerate(models, start=1):
        _, ours, ours_b = path.coefficients(n)
        np.testing.assert_allclose(ours, coef.T, rtol=1e-6, atol=1e-8)
        np.testing.assert_allclose(ours_b, b, rtol=1e-6, atol=1e-8)


def test_errors_and_values_are_those_of_the_path():
    D, Y, weight = data(LOSS)
    weight[::4] = 0.0
    held_out = np.where(weight == 0, 1.5, 0.0)
    pursuit = pursuit_of(D, Y, weight, held_out=held_out, max_steps=20)
    assert_values_of_every_size(pursuit, D)
    path = pursuit.path()
    for n in range(21):
        support, coef, b = path.coefficients(n)
        losses = LOSS.value(Y.T, (D[:, support] @ coef.T + b).T)
        np.testing.assert_allclose(path.errors[n], losses @ weight / weight.sum())
        np.testing.assert_allclose(pursuit.errors[n, 1], losses @ held_out)


def test_renewals_lower_the_objective():
    D, Y, weight = data(LOSS)
    pursuit = pursuit_of(D, Y, weight, max_steps=20)
    run([pursuit])
    path, values = pursuit.path(), []
    for n in renewals(20):
        _, coef, _ = path.coefficients(n)
        values.append(path.errors[n] * weight.sum() + 0.05 * (coef**2).sum())
    assert np.all(np.diff(values) < 0)


def test_it_comes_near_the_exact_pursuit():
    D, Y, weight = data(LOSS)
    pursuit = pursuit_of(D, Y, weight, max_steps=20)
    exact = LossPursuit(atoms_of(D), pursuit.problem)
    run([pursuit])
    run([exact])
    assert pursuit.path().errors[-1] < 1.1 * exact.path().errors[-1]


def test_one_output_is_the_squared_hinge():
    assert isinstance(LOSS.bind(np.ones((1, 3)), np.ones(3)), SquaredHinge)
    assert isinstance(Margin().jointly(), JointMargin)
    y, f = np.array([[1.0, -1.0, 1.0]]), np.array([[0.3, 0.4, 2.0]])
    np.testing.assert_array_equal(Margin().value(y, f), SquaredHinge().value(y, f))
    # Outputs of -g and g are apart by twice g.
    joint = LOSS.value(np.vstack([-y, y]), np.vstack([-f, f]))
    np.testing.assert_allclose(joint, 2 * SquaredHinge().value(y, f)[0])


def test_the_nearest_outputs_separate_the_class_and_no_others_are_nearer():
    rng = np.random.default_rng(0)
    codes, f = rng.integers(0, 5, 200), 2 * rng.normal(size=(5, 200))
    y = np.where(np.arange(5)[:, None] == codes, 1.0, -1.0)
    nearest = f - 0.5 * LOSS.gradient(y, f)
    own = nearest[codes, np.arange(200)]
    others = np.where(y > 0, -np.inf, nearest).max(axis=0)
    assert np.all(own - others >= 2 - 1e-12)
    distance = np.square(f - nearest).sum(axis=0)
    np.testing.assert_allclose(distance, LOSS.value(y, f))
    for _ in range(50):
        t = nearest + 0.1 * rng.normal(size=f.shape)
        gap = t[codes, np.arange(200)] - np.where(y > 0, -np.inf, t).max(axis=0)
        t += y * np.maximum(0, 2 - gap) / 2
        assert np.all(np.square(f - t).sum(axis=0) >= distance - 1e-9)


def test_several_classes_with_a_learned_kernel_are_fitted_under_the_margin_loss():
    X, y = load_wine(return_X_y=True)
    model = KMPClassifier(max_support=20).fit(X[::2], y[::2])
    assert isinstance(model.loss_, JointMargin)
    assert model.score(X[1::2], y[1::2]) > 0.93
    Z = scale(X[::4])
    assert isinstance(KMPClassifier("rbf").fit(Z, y[::4]).loss_, Squared)
    two = KMPClassifier().fit(X[::4], y[::4] > 0)
    assert isinstance(two.loss_, Squared)


@pytest.mark.parametrize(
    "how",
    [
        {"selection": "loo"},
        {"selection": "bound"},
        {"method": "basic"},
        {"alpha": 0},
        {"multiclass": "ovr"},
    ],
)
def test_where_its_pursuit_does_not_suit_the_loss_is_the_squared_one(how):
    X, y = load_iris(return_X_y=True)
    model = KMPClassifier(**how, max_support=5).fit(X[::3], y[::3])
    assert isinstance(model.loss_, Squared)


@pytest.mark.parametrize("selection", ["cv", "validation", None])
def test_a_named_kernel_takes_the_margin_loss_too(selection):
    X, y = load_iris(return_X_y=True)
    model = KMPClassifier("rbf", loss="margin", max_support=10, selection=selection)
    assert model.fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9


def test_scores_may_judge_it():
    X, y = load_iris(return_X_y=True)
    by_accuracy = CrossValidation(3, scoring="accuracy")
    model = KMPClassifier(selection=by_accuracy, max_support=10).fit(X, y)
    assert isinstance(model.loss_, JointMargin)
    assert model.score(X, y) > 0.9


def test_final_models_go_by_inner_products():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    D, Y, weight = data(LOSS, n=50)
    from pursuit.functions import KernelFunctions

    rows = np.arange(50)
    functions = KernelFunctions(
        points=X, numbers=rows, on_rows=True, kernel=Gaussian(0.5)
    )
    problem = problem_of(D, Y, weight, max_steps=3)
    (pursuit,) = Engines(memory=1 << 28).final_pursuits(
        functions, X, [problem], needs_directions=False, needs_values=False
    )
    assert type(pursuit) is RenewedPursuit


@pytest.mark.parametrize("n_recorded", [7, 12, 20])
def test_an_interrupt_between_steps_and_their_record_leaves_a_model(
    n_recorded, monkeypatch
):
    X, y = load_wine(return_X_y=True)
    X, record = scale(X), RenewedPursuit._record

    def interrupted(self, n):
        if n == n_recorded:
            monkeypatch.setattr(RenewedPursuit, "_record", record)
            raise KeyboardInterrupt
        record(self, n)

    monkeypatch.setattr(RenewedPursuit, "_record", interrupted)
    model = KMPClassifier(
        "rbf", gamma=0.1, alpha=1e-2, loss="margin", selection=None, max_support=30
    )
    with pytest.warns(UserWarning, match="interrupted"):
        model.fit(X, y)
    assert model.stop_reason_.startswith("interrupted")
    assert 0 < len(model.path_) < n_recorded
    assert len(model.path_.errors) == len(model.path_) + 1
    whole = KMPClassifier(**{**model.get_params(), "max_support": len(model.path_)})
    np.testing.assert_array_equal(model.path_.support, whole.fit(X, y).path_.support)
    assert model.score(X, y) > 0.8
