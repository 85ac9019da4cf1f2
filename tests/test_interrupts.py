"""An interrupt of a fit leaves a model, wherever it comes; two of them end all."""

import time

import numpy as np
import pytest
from sklearn.metrics.pairwise import rbf_kernel

from pursuit import KMPRegressor, _interrupts
from pursuit.engine import gram_pursuit, running
from pursuit.fitting import engines, procedure


def test_an_interrupt_leaves_a_model_and_a_warning(regression):
    X, y = regression
    calls = []

    def kernel(A, B):
        calls.append(len(A))
        if len(calls) > 12:
            raise KeyboardInterrupt
        return rbf_kernel(A, B, gamma=0.1)

    how = {"selection": None, "alpha": 1e-3, "max_support": 60}
    model = KMPRegressor(kernel, redraw_candidates=True, n_candidates=5, **how)
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
    "steps": (gram_pursuit, "take_steps"),
    "norms": (running, "_initial_norms"),
    "products": (engines, "_gram"),
}


@pytest.mark.parametrize("place", PLACES)
def test_an_interrupt_at_any_moment_of_a_search_leaves_a_model(
    regression, monkeypatch, place
):
    X, y = regression
    model = KMPRegressor(max_support=20)
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

    take_steps = gram_pursuit.take_steps
    monkeypatch.setattr(gram_pursuit, "take_steps", steps)
    monkeypatch.setattr(gram_pursuit, "_ROUND", 4)
    with pytest.warns(UserWarning, match="search was interrupted"):
        model = KMPRegressor(max_support=50).fit(*regression)
    assert 0 < model.n_support_ <= 12
    assert len(model.search_) == 1
    assert model.stop_reason_.startswith("interrupted")


def test_an_interrupt_between_search_and_model(regression, monkeypatch):
    wanted = KMPRegressor(max_support=20).fit(*regression)
    monkeypatch.setattr(procedure, "run", Interrupting(procedure.run, at=1))
    with pytest.warns(UserWarning, match="interrupted after its search"):
        model = KMPRegressor(max_support=20).fit(*regression)
    np.testing.assert_array_equal(model.support_, wanted.support_)


def test_two_interrupts_end_a_search(regression, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(_interrupts, "_latest", [time.monotonic()])
    monkeypatch.setattr(gram_pursuit, "take_steps", interrupted)
    with pytest.raises(KeyboardInterrupt):
        KMPRegressor(max_support=20).fit(*regression)


def test_interrupts_of_compiled_functions_are_interrupts():
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
        with pytest.raises(KeyboardInterrupt), _interrupts.plain_interrupts():
            compiled()
    with pytest.raises(SystemError), _interrupts.plain_interrupts():
        raise SystemError
