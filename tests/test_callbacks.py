"""Callbacks of scikit-learn see every step, and may stop a fit."""

from functools import partial

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from pursuit import KMPClassifier, KMPRegressor, _deadline
from pursuit.path import SeparatePaths

FAST = {"gamma": 0.1, "alpha": 1e-3, "selection": None, "max_support": 12}


@pytest.fixture(params=["regressor", "classifier", "ovr"])
def case(request, regression, iris):
    """An estimator class with some parameters, and data for it."""
    if request.param == "regressor":
        return KMPRegressor, *regression
    multiclass = "ovr" if request.param == "ovr" else "shared"
    return partial(KMPClassifier, multiclass=multiclass), *iris


class Recorder:
    """Scores the model after each step."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.sizes, self.scores, self.events = [], [], []

    def setup(self, estimator, context):
        self.events.append("setup")

    def teardown(self, estimator, context):
        self.events.append("teardown")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        if context.task_name != "step":
            self.events.append("end")
            return False
        self.sizes.append(fitted_estimator.n_support_)
        self.scores.append(fitted_estimator.score(self.X, self.y))
        return False


@pytest.fixture
def callbacks():
    return pytest.importorskip("sklearn.callback", reason="scikit-learn 1.9")


@pytest.mark.usefixtures("callbacks")
def test_a_callback_sees_every_step(regression):
    X, y = regression
    recorder = Recorder(X, y)
    model = KMPRegressor(**FAST).set_callbacks(recorder).fit(X, y)
    assert recorder.sizes == list(range(1, 13))
    wanted = [model.truncate(n).score(X, y) for n in range(1, 13)]
    np.testing.assert_allclose(recorder.scores, wanted)
    assert recorder.events == ["setup", "end", "teardown"]


@pytest.mark.usefixtures("callbacks")
@pytest.mark.parametrize("selection", [None, "cv"])
def test_a_callback_may_stop(case, selection):
    make, X, y = case
    recorder = Recorder(X, y)
    model = make(**{**FAST, "selection": selection}).set_callbacks(recorder)
    stages = []

    def stop(estimator, context, *, fitted_estimator=None):
        if context.task_name == "step":
            stages.append(fitted_estimator.n_iter_)
        return len(stages) == 4

    recorder.on_fit_task_end = stop
    model.fit(X, y)
    assert stages == [1, 2, 3, 4]
    assert model.n_iter_ == len(model.path_) == 4
    assert model.stop_reason_.startswith("callback")
    if not isinstance(model.path_, SeparatePaths):
        n = 4 if selection is None else model.n_support_
        assert model.n_support_ == n <= 4
        np.testing.assert_array_equal(
            model.support_, make(**FAST).fit(X, y).support_[:n]
        )


def test_scikit_learns_monitor_scores_every_step(regression, callbacks):
    X, y = regression
    monitor = callbacks.ScoringMonitor(scoring="r2")
    KMPRegressor(**FAST).set_callbacks(monitor).fit(X, y)
    rows = monitor.get_logs(select="most_recent").data
    scores = [row["r2"] for row in rows if row["task_name"] == "step"]
    assert len(scores) == 12
    assert scores[-1] > scores[0]


def test_monitors_do_not_weigh_classes(callbacks):
    X, y = make_friedman1(80, noise=3.0, random_state=0)
    y = np.where(y > np.quantile(y, 0.7), "p", "n")
    monitor = callbacks.ScoringMonitor(scoring="accuracy")
    model = KMPClassifier(class_weight={"p": 10.0, "n": 1.0}, **FAST)
    model.set_callbacks(monitor).fit(X, y)
    rows = monitor.get_logs(select="most_recent").data
    scores = [row["accuracy"] for row in rows if row["task_name"] == "step"]
    np.testing.assert_allclose(scores, list(model.staged_score(X, y)))


class StopsAfter:
    """Asks to stop from a moment on, as a clock does; counts how often it was asked."""

    def __init__(self, n):
        self.n, self.tasks = n, []

    def setup(self, estimator, context):
        pass

    def teardown(self, estimator, context):
        pass

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.tasks.append(context.task_name)
        return len(self.tasks) >= self.n


@pytest.mark.usefixtures("callbacks")
@pytest.mark.parametrize("kernel", ["auto", "rbf"])
def test_a_callback_may_stop_the_search(diabetes, kernel, monkeypatch):
    X, y = diabetes
    monkeypatch.setattr(_deadline, "_ASK_EVERY", 0.0)
    callback = StopsAfter(8)
    model = KMPRegressor(kernel).set_callbacks(callback).fit(X, y)
    assert callback.tasks[:8] == ["moment"] * 8
    # It was asked no more until there was a model.
    assert callback.tasks[8] == "search"
    assert set(callback.tasks[9:-1]) == {"step"}
    assert model.stop_reason_.startswith("callback")
    assert model.n_support_ > 1
    assert model.score(X, y) > 0.3


@pytest.mark.usefixtures("callbacks")
def test_a_callback_that_never_stops_changes_nothing(regression, monkeypatch):
    X, y = regression
    monkeypatch.setattr(_deadline, "_ASK_EVERY", 0.0)
    callback = StopsAfter(np.inf)
    model = KMPRegressor().set_callbacks(callback).fit(X, y)
    assert callback.tasks.count("moment") > 10
    wanted = KMPRegressor().fit(X, y)
    np.testing.assert_array_equal(model.dual_coef_, wanted.dual_coef_)


def test_progress_bars_and_monitors_see_the_search(regression, callbacks):
    X, y = regression
    pytest.importorskip("rich")
    monitors = callbacks.ScoringMonitor(scoring="r2"), callbacks.ProgressBar()
    model = KMPRegressor(max_support=5).set_callbacks(*monitors).fit(X, y)
    rows = monitors[0].get_logs(select="most_recent").data
    assert sum(row["task_name"] == "step" for row in rows) == len(model.path_)
