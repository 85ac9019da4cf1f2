"""Laws of the losses, and what their parameters mean."""

import numpy as np
import pytest
from naming import named
from sklearn.base import clone
from sklearn.metrics import log_loss, mean_pinball_loss, mean_poisson_deviance

from pursuit import losses
from pursuit.engine.objective import Objective
from pursuit.losses import (
    Absolute,
    Doom2,
    Exponential,
    Hinge,
    Huber,
    JointMargin,
    Logistic,
    Loss,
    Margin,
    MarginLoss,
    Poisson,
    Quantile,
    Softmax,
    Squared,
    SquaredHinge,
    SquaredTanh,
    as_loss,
    check_loss,
)

LOSSES = [
    Squared(),
    SquaredTanh(),
    SquaredTanh(target=0.3),
    Exponential(),
    Logistic(),
    Softmax(),
    Doom2(),
    Hinge(),
    Hinge(smoothing=1.5),
    SquaredHinge(),
    Margin(),
    JointMargin(),
    Absolute(smoothing=0.2),
    Huber(delta=0.4),
    Quantile(0.9, smoothing=0.1),
    Quantile(0.25, smoothing=0.3),
    Poisson(),
]
ONES = np.ones(5)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_laws(loss):
    check_loss(loss)
    check_loss(loss, seed=1)


def as_a_users_own(loss):
    """The same loss, of a class that has no compiled form."""
    return type("Own", (type(loss),), {})(**loss.get_params())


@pytest.mark.parametrize("loss", LOSSES, ids=named)
@pytest.mark.parametrize("scale", [1.0, 40.0, 1e3])
def test_compiled_forms_are_those_of_numpy(loss, scale, rng):
    codes = rng.integers(3, size=50)
    Y = np.where(codes == np.arange(3)[:, None], 1.0, -1.0)
    if not loss.fits_classes:
        Y = np.abs(rng.normal(size=(3, 50)))
        Y[:, :5] = 0.0
    F = np.round(scale * rng.normal(size=(3, 54)), 2)
    weight = rng.uniform(0.0, 2.0, 50)
    found = Objective(loss, Y, weight).at(F)
    wanted = Objective(as_a_users_own(loss), Y, weight).at(F)
    for name in ("losses", "value", "descent", "second"):
        own, numpys = getattr(found, name), getattr(wanted, name)
        # Slopes of tanh lose digits far out.
        size = max(1.0, np.abs(numpys).max())
        np.testing.assert_allclose(own, numpys, rtol=1e-11, atol=1e-15 * size)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_only_the_squared_loss_itself_has_a_closed_form(loss):
    assert loss.has_closed_form == isinstance(loss, Squared)
    assert not as_a_users_own(loss).has_closed_form


def test_compiled_forms_know_the_parameters_of_each_output(rng):
    Y, F = rng.normal(size=(2, 20)), rng.normal(size=(2, 20))
    width = np.array([[0.1], [2.0]])
    for loss in (Absolute(width), Huber(width), Quantile(0.3, width)):
        found = Objective(loss, Y, np.ones(20)).at(F).descent
        np.testing.assert_allclose(found, -0.5 * loss.gradient(Y, F), rtol=1e-12)


@pytest.mark.parametrize("loss", [x for x in LOSSES if x.is_convex], ids=named)
def test_curvature_of_the_weights_parabola_is_not_below_zero_and_never_nan(loss):
    y = np.array([[1.0, 1.0, -1.0, -1.0, 1.0]])
    y = np.abs(y) if isinstance(loss, Poisson) else y
    f = np.array([[0.0, 1e3, 1e3, -1e3, 1e-300]])
    for found in (loss.value(y, f), loss.gradient(y, f), loss.curvature(y, f)):
        assert np.all(np.isfinite(found))
    assert np.all(loss.weights(y, f) >= 0)


@pytest.mark.parametrize(
    "loss", [Absolute(0.2), Huber(0.4), Quantile(0.8, 0.2), Hinge(0.5)], ids=named
)
def test_parabolas_of_losses_with_straight_parts_lie_above_and_touch(loss):
    y = np.ones((1, 81))
    there = np.linspace(-4, 6, 81)[None]
    for at in np.linspace(-3, 5, 17):
        f = np.full_like(y, at)
        step = there - f
        parabola = (
            loss.value(y, f)
            + loss.gradient(y, f) * step
            + loss.weights(y, f) * step**2 / 2
        )
        assert np.all(parabola >= loss.value(y, there) - 1e-12)


def test_formulas_of_the_papers():
    m = np.linspace(-2, 3, 11)[None]
    y = np.ones_like(m)
    for loss, wanted in [
        (Squared(), (1 - m) ** 2),
        (SquaredTanh(), (0.65 - np.tanh(m)) ** 2),
        (Exponential(), np.exp(-m)),
        (Logistic(), np.log2(1 + np.exp(-2 * m))),
        (Doom2(), 1 - np.tanh(m)),
        (SquaredHinge(), np.maximum(0, 1 - m) ** 2),
    ]:
        np.testing.assert_allclose(loss.value(y, m), wanted, rtol=1e-12)
        np.testing.assert_allclose(loss.value(-y, -m), wanted, rtol=1e-12)
    np.testing.assert_allclose(Hinge(1e-9).value(y, m), np.maximum(0, 1 - m), atol=1e-9)


def test_two_classes_of_softmax_are_logistic(rng):
    f = rng.normal(size=(1, 20))
    y = np.where(rng.random((1, 20)) < 0.5, -1.0, 1.0)
    both, targets = np.concatenate([-f, f]), np.concatenate([-y, y])
    np.testing.assert_allclose(
        Softmax().value(targets, both), Logistic().value(y, f)[0], rtol=1e-12
    )
    np.testing.assert_allclose(
        Softmax().probabilities(both), Logistic().probabilities(f), rtol=1e-12
    )


@pytest.mark.parametrize(
    "loss, n_outputs", [(Logistic(), 1), (Logistic(), 3), (Softmax(), 3)], ids=named
)
def test_logarithms_of_probabilities(loss, n_outputs, rng):
    f = rng.normal(size=(n_outputs, 30))
    logs = loss.log_probabilities(f)
    np.testing.assert_allclose(logs, np.log(loss.probabilities(f)), rtol=1e-12)
    far = loss.log_probabilities(1e4 * f)
    assert np.all(np.isfinite(far))
    assert far.min() < -1e3


def test_logistic_is_log_loss_in_bits(rng):
    f = rng.normal(size=(1, 30))
    y = np.where(rng.random(30) < 0.5, -1.0, 1.0)
    P = Logistic().probabilities(f)
    bits = log_loss(y, P.T) / np.log(2)
    assert Logistic().value(y[None], f).mean() == pytest.approx(bits)


def test_quantile_and_poisson_are_scikit_learns(rng):
    y, f = rng.normal(size=(1, 40)), rng.normal(size=(1, 40))
    wanted = mean_pinball_loss(y[0], f[0], alpha=0.8)
    found = Quantile(0.8, 1e-9).value(y, f).mean()
    assert found == pytest.approx(wanted, abs=1e-8)
    counts = rng.poisson(3, size=(1, 40)).astype(float)
    deviance = mean_poisson_deviance(counts[0], np.exp(f[0]))
    assert 2 * Poisson().value(counts, f).mean() == pytest.approx(deviance)
    np.testing.assert_allclose(Poisson().mean(f), np.exp(f))


@pytest.mark.parametrize(
    ("loss", "wanted"),
    [
        (Squared(), 20.2),
        (Absolute(), 0.0),
        (Huber(), 0.0),
        (Quantile(0.8), 1.0),
        (Poisson(), np.log(20.2)),
    ],
    ids=named,
)
def test_starts(loss, wanted):
    y = np.array([[0.0, 0.0, 0.0, 1.0, 100.0]])
    assert loss.start(y, ONES) == pytest.approx([wanted])
    twice = np.repeat(y, 2, axis=1)
    assert loss.start(twice, np.tile([2.0, 0.0], 5)) == pytest.approx([wanted])


@pytest.mark.parametrize("name", ["absolute", "huber", "quantile"])
def test_widths_follow_the_units_of_the_targets(name, rng):
    y, f = rng.normal(size=(2, 50)), rng.normal(size=(2, 50))
    weight = rng.integers(0, 3, 50).astype(float)
    loss = as_loss(name, False)
    one, thousand = loss.bind(y, weight), loss.bind(1000 * y, weight)
    ratio = 1000.0**2 if name == "huber" else 1000.0
    np.testing.assert_allclose(
        thousand.value(1000 * y, 1000 * f), ratio * one.value(y, f), rtol=1e-9
    )
    repeated = np.repeat(y, weight.astype(int), axis=1)
    again = loss.bind(repeated, np.ones(repeated.shape[1]))
    np.testing.assert_allclose(again.value(y, f), one.value(y, f), rtol=1e-12)


@pytest.mark.parametrize("y", [np.full((1, 5), 7.0), np.array([[3.0, 3, 3, 3, 4]])])
def test_widths_are_positive_for_equal_targets(y):
    for loss in (Absolute(), Huber(), Quantile(0.9)):
        bound = loss.bind(y, ONES)
        width = bound.delta if isinstance(bound, Huber) else bound.smoothing
        assert np.all(width > 0)


@pytest.mark.parametrize("loss", LOSSES, ids=named)
def test_losses_are_components(loss):
    again = clone(loss)
    assert again.get_params() == loss.get_params()
    assert repr(again) == repr(loss)


def test_names():
    classes, numbers = losses.names(True), losses.names(False)
    assert set(classes) & set(numbers) == {"squared"}
    assert {"squared-tanh", "exponential", "logistic", "doom2", "hinge"} < set(classes)
    assert {"absolute", "huber", "quantile", "poisson"} < set(numbers)
    for name in classes:
        assert as_loss(name, True).fits_classes


@pytest.mark.parametrize(
    ("loss", "is_class", "message"),
    [
        (
            "logstic",
            True,
            "loss='logstic' is not a loss for classification.*'logistic'",
        ),
        ("logistic", False, "not a loss for regression.*'quantile'"),
        ("huber", True, "not a loss for classification"),
        (3, True, "loss=3 is not"),
        (Logistic, True, "instance of a subclass of pursuit.losses.MarginLoss"),
        (Quantile(1.0), False, r"quantile=1.0; it must be a number between 0 and 1"),
        (Quantile(0.5, np.True_), False, "smoothing=.*True_?; it must be a positive"),
        (Quantile(0.5, -1), False, r"smoothing=-1; it must be a positive finite"),
        (Huber(np.inf), False, r"Huber has delta=inf"),
        (Hinge(None), True, r"Hinge has smoothing=None"),
        (SquaredTanh(1.2), True, r"SquaredTanh has target=1.2"),
        (SquaredTanh(True), True, r"SquaredTanh has target=True"),
    ],
)
def test_bad_losses(loss, is_class, message):
    with pytest.raises(ValueError, match=message):
        as_loss(loss, is_class)


def test_bad_targets():
    with pytest.raises(ValueError, match=r"targets of 0 or more; the lowest is -2"):
        Poisson().check_targets(np.array([[1.0, -2.0]]))
    with pytest.raises(ValueError, match=r"targets of -1 and \+1"):
        Logistic().check_targets(np.array([[0.0, 1.0]]))


# -- losses of one's own -----------------------------------------------------------


class Fourth(Loss):
    def value(self, y, f):
        return (y - f) ** 4

    def gradient(self, y, f):
        return -4 * (y - f) ** 3


class Savage(MarginLoss):
    is_convex = False

    def of_margin(self, m):
        return 1 / (1 + np.exp(2 * m)) ** 2

    def slope(self, m):
        p = 1 / (1 + np.exp(2 * m))
        return -4 * p**2 * (1 - p)


@pytest.mark.parametrize("loss", [Fourth(), Savage()], ids=named)
def test_value_and_gradient_are_enough(loss):
    check_loss(loss)


def broken(**methods):
    return type("Broken", (Fourth,), methods)()


@pytest.mark.parametrize(
    ("loss", "law"),
    [
        (broken(gradient=lambda self, y, f: 4 * (y - f) ** 3), "not the derivative of"),
        (broken(curvature=lambda self, y, f: np.ones_like(f)), "curvature.*not the"),
        (broken(value=lambda self, y, f: np.sum((y - f) ** 4)), "shape of f"),
        (broken(weights=lambda self, y, f: -np.ones_like(f)), "weights.*negative"),
        (broken(weights=lambda self, y, f: 0.0 * f), "weights.*0 nearly everywhere"),
        (broken(start=lambda self, y, w: 0.0 * y), "start.*a number for each"),
        (broken(coupling=lambda self, y, f: f[0]), "coupling.*must have the shape"),
        (broken(coupling=lambda self, y, f: 1 + 0 * f), "derivative in two outputs"),
        (broken(ignores_common_part=True), "adding 1 to all outputs changes"),
        (
            type(
                "Hill",
                (Savage,),
                {"is_convex": True},
            )(),
            "lies above a chord",
        ),
    ],
)
def test_the_checker_names_the_law_that_is_broken(loss, law):
    with pytest.raises(AssertionError, match=law):
        check_loss(loss)


def test_what_is_missing_is_named():
    with pytest.raises(NotImplementedError, match="does not define value"):
        check_loss(Loss())
    with pytest.raises(NotImplementedError, match="does not define of_margin"):
        check_loss(MarginLoss())
