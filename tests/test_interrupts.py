"""An interrupt of a fit leaves a model, wherever it comes; two of them end all."""

import time

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from pursuit import KMPRegressor, _interrupts
from pursuit.engine import gram_pursuit, running
from pursuit.fitting import engines, procedure
from pursuit.methods import Redrawn


def test_an_interrupt_leaves_a_model_and_a_warning(regression):
    X, y = regression
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(calls) > 12:
            raise KeyboardInterrupt
        return rbf_kernel(A, B, gamma=0.1)

    how = {"selection": None, "alpha": 1e-3, "max_support": 60}
    model = KMPRegressor(kernel, n_candidates=Redrawn(5), **how)
    with pytest.warns(UserWarning, match="interrupted after [1-9]"):
        model.fit(X, y)
    assert model.stop_reason_.startswith("interrupted")
    calls.clear()
    assert 1 <= model.n_support_ < 60
    assert np.all(np.isfinite(model.predict(X)))


def test_an_interrupt_before_the_first_step_is_an_ordinary_one(regression, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("pursuit.engine.running._initial_norms", interrupted)
    model = KMPRegressor(selection=None, gamma=0.1, alpha=1e-3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(*regression)
    assert not hasattr(model, "dual_coef_")


class Interrupting:
    """Calls a function, and interrupts at one of the calls."""

    def __init__(self, function, at):
        self.function, self.at, self.n_calls = function, at, 0

    def __call__(self, *args, **how):
        self.n_calls += 1
        if self.n_calls == self.at:
            raise KeyboardInterrupt
        return self.function(*args, **how)


# Where a fit with a search may be: inside pursuits, and between them.
PLACES = {
    "steps": (gram_pursuit, "_take_steps"),
    "norms": (running, "_initial_norms"),
    "products": (engines, "_gram"),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupt_at_any_moment_of_a_search_leaves_a_model(
    regression, monkeypatch, place
):
    X, y = regression
    model = KMPRegressor(kernel="rbf", max_support=20)
    module, name = PLACES[place]
    whole = Interrupting(getattr(module, name), at=0)
    monkeypatch.setattr(module, name, whole)
    model.fit(X, y)
    # The first call is before any step; steps are taken in threads too, hence twice.
    first = 1 + 2 * 10 if place == "steps" else 2
    assert whole.n_calls > first
    for at in np.unique(np.linspace(first, whole.n_calls, 5).astype(int)):
        monkeypatch.setattr(module, name, Interrupting(whole.function, at))
        monkeypatch.setattr(_interrupts, "_latest", [-np.inf])
        with pytest.warns(UserWarning, match="interrupted"):
            model.fit(X, y)
        assert model.n_support_ > 0
        assert np.isfinite(model.predict(X)).all()


def test_an_interrupt_of_the_first_trial_leaves_its_curves(regression, monkeypatch):
    def steps(*args):
        n = take_steps(*args)
        if n >= 12:
            raise KeyboardInterrupt
        return n

    take_steps = gram_pursuit._take_steps
    monkeypatch.setattr(gram_pursuit, "_take_steps", steps)
    monkeypatch.setattr(gram_pursuit, "_ROUND", 4)
    with pytest.warns(UserWarning, match="search was interrupted"):
        model = KMPRegressor(kernel="rbf", max_support=50).fit(*regression)
    assert 0 < model.n_support_ <= 12
    assert len(model.search_) == 1
    assert model.stop_reason_.startswith("interrupted")


def test_an_interrupt_between_search_and_model(regression, monkeypatch):
    wanted = KMPRegressor(kernel="rbf", max_support=20).fit(*regression)
    monkeypatch.setattr(procedure, "run", Interrupting(procedure.run, at=1))
    with pytest.warns(UserWarning, match="interrupted after its search"):
        model = KMPRegressor(kernel="rbf", max_support=20).fit(*regression)
    np.testing.assert_array_equal(model.support_, wanted.support_)


def test_two_interrupts_end_a_search(regression, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_interrupts, "_latest", [time.monotonic()])
    monkeypatch.setattr(gram_pursuit, "_take_steps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        KMPRegressor(kernel="rbf", max_support=20).fit(*regression)


def test_interrupts_of_compiled_functions_are_interrupts(monkeypatch):
    def unpack():
        try:
            raise KeyboardInterrupt
        except KeyboardInterrupt as error:
            raise SystemError("returned a result with an exception set") from error

    def call():
        try:
            unpack()
        except SystemError as error:
            raise SystemError("returned a result with an exception set") from error

    for compiled in (unpack, call):
        with pytest.raises(_interrupts.Interrupted), _interrupts.single_interrupts():
            compiled()
        monkeypatch.setattr(_interrupts, "_latest", [-np.inf])
    with pytest.raises(SystemError), _interrupts.single_interrupts():
        raise SystemError
    with pytest.raises(SystemError), _interrupts.single_interrupts():
        raise SystemError from ValueError()


def test_a_single_interrupt_may_be_turned_into_a_smaller_result():
    with (
        pytest.raises(_interrupts.Interrupted) as stop,
        _interrupts.single_interrupts(),
    ):
        raise KeyboardInterrupt
    assert stop.value.partial is None
    # Code that knows nothing of it ends as by Ctrl-C.
    assert isinstance(stop.value, KeyboardInterrupt)


def test_what_was_complete_comes_with_the_interrupt():
    """It passes, and is not counted again."""
    for _ in range(2):
        with (
            pytest.raises(_interrupts.Interrupted) as stop,
            _interrupts.single_interrupts(),
        ):
            raise _interrupts.Interrupted(["curve"])
        assert stop.value.partial == ["curve"]


def test_a_repeated_interrupt_passes():
    with pytest.raises(_interrupts.Interrupted), _interrupts.single_interrupts():
        raise KeyboardInterrupt
    with pytest.raises(KeyboardInterrupt) as stop, _interrupts.single_interrupts():
        raise KeyboardInterrupt
    assert not isinstance(stop.value, _interrupts.Interrupted)


def test_interrupts_that_are_far_apart_are_single_ones(monkeypatch):
    for _ in range(2):
        with pytest.raises(_interrupts.Interrupted), _interrupts.single_interrupts():
            raise KeyboardInterrupt
        monkeypatch.setattr(_interrupts, "_latest", [time.monotonic() - 3.0])


def test_other_errors_pass():
    with pytest.raises(ValueError, match="other"), _interrupts.single_interrupts():
        raise ValueError("other")


def test_an_interrupt_before_the_first_trial_ends_the_fit(regression, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(engines, "_gram", interrupted)
    model = KMPRegressor(kernel="rbf", max_support=20)
    with pytest.raises(KeyboardInterrupt) as stop:
        model.fit(*regression)
    assert not isinstance(stop.value, _interrupts.Interrupted)
    assert not hasattr(model, "dual_coef_")
