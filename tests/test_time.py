"""Fits with a time budget: the same if it does not bind, else a model in that time."""

import time
from functools import partial

import numpy as np
import pytest

from pursuit import KMPClassifier, KMPRegressor, _threads, batches
from pursuit._deadline import (
    GRACE,
    Deadline,
    Interrupted,
    check,
    reason_to_stop,
    seconds_of,
    told_to_stop,
)
from pursuit.dictionaries import ManyWidths
from pursuit.estimators.kmp import settings
from pursuit.fitting import procedure, timing
from pursuit.sample import Sample


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        (None, None),
        (3, 3.0),
        (np.float32(0.5), 0.5),
        ("30 s", 30.0),
        ("30", 30.0),
        ("500ms", 0.5),
        ("2 min", 120.0),
        ("1 minute", 60.0),
        (" 1.5 Hours ", 5400.0),
        ("2h", 7200.0),
    ],
)
def test_times(text, seconds):
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    "wrong", [0, -1, np.inf, np.nan, True, "soon", "3 days", "0 s", "", "-1 s", [1]]
)
def test_no_times(wrong, regression):
    with pytest.raises(ValueError, match=r"max_time=.* is not a time: give"):
        seconds_of(wrong)
    with pytest.raises(ValueError, match="max_time="):
        KMPRegressor(max_time=wrong).fit(*regression)


class Clock:
    """A clock that goes on by a step each time it is read."""

    def __init__(self, step=0.0):
        self.now, self.step = 0.0, step

    def __call__(self):
        self.now += self.step
        return self.now


def test_a_deadline():
    clock = Clock()
    deadline = Deadline(10.0, clock)
    with deadline.active():
        check()
        with deadline.part(0.5):
            clock.now = 4.9
            check()
            clock.now = 5.0
            with pytest.raises(Interrupted):
                check()
        assert deadline.reason == reason_to_stop() == "time"
        # Between the parts nobody could make something of an interrupt.
        clock.now = 11.0
        check()
        assert deadline.is_over
        deadline.allow_overtime()
        assert deadline.left == pytest.approx(GRACE)
    with Deadline(clock=clock).active():
        clock.now = 1e9
        check()
    check()


def test_who_asks_to_stop_gets_what_is_ready_soon():
    clock = Clock()
    deadline = Deadline(clock=clock)
    assert not deadline.is_bound
    with deadline.active(), deadline.part(1.0):
        told_to_stop()
        assert deadline.is_bound
        check()
        clock.now = 1.01 * GRACE
        with pytest.raises(Interrupted):
            check()
    assert deadline.reason == "interrupted"


def test_it_is_asked_now_and_then():
    clock, asked = Clock(), []
    deadline = Deadline(clock=clock)

    def ask():
        asked.append(clock.now)
        return clock.now > 5.0

    deadline.ask = ask

    def wait():
        while True:
            clock.now += 0.01
            check()

    with deadline.active(), deadline.part(1.0), pytest.raises(Interrupted):
        wait()
    assert deadline.reason == "callback"
    assert len(asked) == pytest.approx(5.0 / 0.25, rel=0.1)


def deal(work, items):
    _threads.deal(lambda share: [work(item) for item in share], items, 2)


def each(work, items):
    pool = _threads.Pool()
    pool.n_threads = 2
    pool.each(work, items)


@pytest.mark.parametrize("share_out", [deal, each])
@pytest.mark.parametrize("wrong", [0, 1])
def test_threads_begin_nothing_after_an_error(share_out, wrong):
    done = []

    def work(i):
        done.append(i)
        if i == wrong:
            raise KeyboardInterrupt
        time.sleep(0.01)

    with pytest.raises(KeyboardInterrupt):
        share_out(work, list(range(200)))
    assert len(done) < 50


# -- a budget that does not bind ---------------------------------------------------

CASES = {
    "default": (KMPRegressor, {"max_support": 20}),
    "named": (KMPRegressor, {"kernel": "rbf", "max_support": 20}),
    "validation": (KMPRegressor, {"selection": "validation"}),
    "several": (KMPRegressor, {"dictionary": ManyWidths(), "max_support": 10}),
    "classes": (KMPClassifier, {"max_support": 10}),
    "logistic": (KMPClassifier, {"kernel": "rbf", "loss": "logistic"}),
}


@pytest.fixture(params=CASES)
def case(request, regression, iris):
    kind, how = CASES[request.param]
    X, y = regression if kind is KMPRegressor else iris
    return partial(kind, random_state=0, **how), X, y


def assert_same(model, other):
    np.testing.assert_array_equal(model.support_, other.support_)
    np.testing.assert_array_equal(model.dual_coef_, other.dual_coef_)
    np.testing.assert_array_equal(model.intercept_, other.intercept_)
    np.testing.assert_array_equal(model.path_.errors, other.path_.errors)
    assert model.stop_reason_ == other.stop_reason_
    assert len(model.search_) == len(other.search_)
    for one, another in zip(model.search_, other.search_, strict=True):
        np.testing.assert_equal(one, another)


def test_plenty_of_time_changes_nothing(case):
    make, X, y = case
    assert_same(make(max_time="2 h").fit(X, y), make().fit(X, y))


# -- a budget that binds -----------------------------------------------------------


@pytest.fixture
def ticking(monkeypatch):
    """Lets fits read a clock that goes on by a millisecond whenever it is read."""
    monkeypatch.setattr(settings, "Deadline", partial(Deadline, clock=Clock(1e-3)))


@pytest.mark.filterwarnings("ignore:max_time was too short")
@pytest.mark.usefixtures("ticking")
@pytest.mark.parametrize("budget", [0.001, 0.03, 0.15, 0.5])
def test_there_is_a_model_whenever_time_is_up(case, budget):
    make, X, y = case
    model = make(max_time=budget).fit(X, y)
    assert len(model.path_) >= 1
    assert np.isfinite(model.score(X, y))
    assert len(model.path_.errors) == len(model.path_) + 1
    if budget < 0.1:
        assert model.stop_reason_.startswith("time")
        assert "time: max_time was over" in str(model.summary())


@pytest.mark.filterwarnings("ignore:max_time was too short")
@pytest.mark.usefixtures("ticking")
def test_threads_of_a_search_know_the_end(regression):
    X, y = regression
    model = KMPRegressor("rbf", max_time=0.1, n_jobs=2).fit(X, y)
    assert model.stop_reason_.startswith("time")
    assert len(model.search_) < len(KMPRegressor("rbf").fit(X, y).search_)


@pytest.mark.usefixtures("ticking")
def test_a_model_far_from_done_is_warned_of(regression):
    X, y = regression
    with pytest.warns(UserWarning, match=r"too short for this fit: .*no widths"):
        KMPRegressor("rbf", max_time=0.003).fit(X, y)


@pytest.mark.filterwarnings("ignore:max_time was too short")
def test_a_budget_in_seconds():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 8))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.3 * rng.standard_normal(6000)
    start = time.monotonic()
    model = KMPRegressor(max_time=4).fit(X, y)
    # Machines may be busy.
    assert time.monotonic() - start < 15.0
    assert model.score(X, y) > 0.3


@pytest.mark.filterwarnings("ignore:max_time was too short")
def test_few_rows_if_there_is_no_time_to_look_at_all(monkeypatch, rng):
    monkeypatch.setattr(timing, "_QUICK_ROWS", 100)
    monkeypatch.setattr(timing, "_LOOKS", 1e5)
    X = rng.standard_normal((5000, 3))
    y = np.where(X[:, 0] > 0, "b", "c").astype(object)
    y[:5] = "a"
    model = KMPClassifier("rbf", max_time=5.0).fit(X, y)
    assert model.stop_reason_.startswith("time")
    # Numbers of the rows are those of all rows.
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.support_.max() > 1000
    assert list(model.classes_) == ["a", "b", "c"]
    assert model._n_rows == 5000


def test_classes_keep_some_of_their_rows(rng):
    codes = np.repeat([0, 1], [2990, 10])
    X = rng.standard_normal((3000, 2))
    Y = np.where(codes > 0, 1.0, -1.0)[None]
    sample = Sample.of(X, Y, classes=np.array([0, 1]), codes=codes)
    few = sample.lowest(100, 20)
    assert 100 <= few.n_distinct <= 130
    used = few.weight > 0
    assert used[codes == 1].all()
    np.testing.assert_array_equal(used, few.sets >= 0)
    np.testing.assert_array_equal(np.sort(few.priority[used]), range(few.n_distinct))
    assert used[few.rows].all()


@pytest.mark.filterwarnings("ignore:max_time was too short")
@pytest.mark.parametrize("cost", [1.0, 30.0, 1e9])
def test_a_part_of_the_rows_if_all_take_too_long(cost, monkeypatch, rng):
    monkeypatch.setattr(procedure, "set_up_seconds", lambda plan: cost)
    X = rng.standard_normal((3000, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.standard_normal(3000)
    how = {"gamma": 1.0, "alpha": 1e-3, "selection": "validation"}
    model = KMPRegressor("rbf", max_time=3.0, random_state=0, **how).fit(X, y)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])
    assert model.score(X, y) > 0.5


def test_batches_take_no_time(regression):
    X, y = regression
    with pytest.raises(ValueError, match="max_time='1 s' is for fit"):
        KMPRegressor(max_time="1 s").fit_batches(batches.rows_of(lambda: [(X, y)]))
