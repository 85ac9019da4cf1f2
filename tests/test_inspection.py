"""Pictures of paths, and the scores that they show."""

import builtins

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_iris
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from pursuit import HKNNClassifier, KMPClassifier, KMPRegressor
from pursuit.inspection import PathDisplay

plt = pytest.importorskip("matplotlib.pyplot")


@pytest.fixture(autouse=True)
def close_figures():
    plt.switch_backend("agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def flowers():
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), KMPClassifier(kernel="rbf", max_support=12))
    return X, y, model.fit(X, y)


@pytest.fixture(scope="module")
def patients():
    X, y = load_diabetes(return_X_y=True)
    return X, y, KMPRegressor(kernel="rbf", max_support=10).fit(X, y)


# -- scores ------------------------------------------------------------------------


@pytest.mark.parametrize("scoring", [None, "neg_mean_absolute_error"])
def test_staged_scores_are_those_of_the_truncated_models(patients, scoring):
    X, y, model = patients
    weight = np.linspace(0.1, 1.0, len(y))
    scores = list(model.staged_score(X, y, weight, scoring=scoring))
    assert len(scores) == len(model.path_)
    for n, score in enumerate(scores, start=1):
        small = model.truncate(n)
        if scoring is None:
            expected = small.score(X, y, weight)
        else:
            expected = -np.average(np.abs(y - small.predict(X)), weights=weight)
        assert score == pytest.approx(expected)


def test_staged_scores_of_probabilities_and_of_one_versus_rest():
    X, y = load_iris(return_X_y=True)
    how = {"max_support": 5, "gamma": 0.2, "alpha": 0.1, "selection": None}
    model = KMPClassifier(loss="logistic", **how).fit(X, y)
    losses = list(model.staged_score(X, y, scoring="neg_log_loss"))
    assert losses == sorted(losses)
    separate = KMPClassifier(multiclass="ovr", **how).fit(X, y)
    scores = list(separate.staged_score(X, y))
    assert scores[2] == pytest.approx(separate.truncate(3).score(X, y))
    assert PathDisplay.from_estimator(separate, X, y).chosen is None


def test_a_score_that_does_not_exist(patients):
    X, y, model = patients
    with pytest.raises(ValueError, match="scoring"):
        list(model.staged_score(X, y, scoring="beauty"))


# -- pictures ----------------------------------------------------------------------


def test_scores_of_a_pipeline(flowers):
    X, y, pipeline = flowers
    display = PathDisplay.from_estimator(pipeline, X, y, name="iris", color="C3")
    model = pipeline[-1]
    np.testing.assert_array_equal(display.sizes, np.arange(1, len(model.path_) + 1))
    assert display.scores[model.n_support_ - 1] == pytest.approx(pipeline.score(X, y))
    np.testing.assert_array_equal(display.line_.get_ydata(), display.scores)
    assert display.line_.get_color() == "C3"
    assert display.ax_.get_ylabel() == "Accuracy"
    assert display.ax_.get_legend().get_texts()[0].get_text() == "iris"
    assert display.chosen_.get_xdata()[0] == model.n_support_
    assert display.band_ is None


def test_errors_are_negated_scores(patients):
    X, y, model = patients
    _, ax = plt.subplots()
    display = PathDisplay.from_estimator(
        model, X, y, scoring="neg_mean_squared_error", negate_score=True, ax=ax
    )
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    np.testing.assert_allclose(display.scores, model.path_.errors[1:], rtol=1e-6)
    assert ax.get_ylabel() == "Mean squared error"
    assert PathDisplay.from_estimator(model, X, y).ax_.get_ylabel() == "R²"
    named = PathDisplay.from_estimator(model, X, y, score_name="share explained")
    assert named.ax_.get_ylabel() == "share explained"


def test_held_out_errors_of_the_chosen_width_and_ridge(flowers):
    *_, pipeline = flowers
    model = pipeline[-1]
    display = PathDisplay.from_search(pipeline)
    assert display.sizes[0] == 0
    limit = 1.01 * np.min(display.scores)
    assert np.argmax(display.scores <= limit) == model.n_support_
    assert len(display.spread) == len(display.scores)
    assert display.band_ is not None
    assert display.ax_.get_ylabel() == "Held-out loss"


@pytest.mark.parametrize("selection", [None, "loo", "validation"])
@pytest.mark.parametrize("alpha", [0.1, "cv"])
def test_no_held_out_errors_that_chose_the_size(patients, selection, alpha):
    X, y, _ = patients
    model = KMPRegressor(gamma=1.0, alpha=alpha, selection=selection, max_support=3)
    with pytest.raises(ValueError, match="from_estimator"):
        PathDisplay.from_search(model.fit(X, y))


@pytest.mark.parametrize("draw", ["from_search", "from_estimator"])
def test_models_without_a_path_are_told_which_have_one(draw, patients):
    X, y, _ = patients
    model = HKNNClassifier(3, 0.1).fit(X, y > np.median(y))
    rows = () if draw == "from_search" else (X, y)
    with pytest.raises(TypeError, match="HKNNClassifier has no path.*KMPClassifier"):
        getattr(PathDisplay, draw)(model, *rows)


def test_steps_of_a_pursuit_that_chooses_points_again(patients):
    X, y, _ = patients
    model = KMPRegressor(method="basic", gamma=1.0, alpha=0.0, max_support=30)
    model = make_pipeline(model.set_params(selection=None)).fit(X, y)
    assert model[-1].n_support_ < 30
    assert PathDisplay.from_estimator(model, X, y).chosen == 30


def test_models_without_a_path(flowers):
    X, y, _ = flowers
    with pytest.raises(TypeError, match="KNeighborsClassifier has no path"):
        PathDisplay.from_estimator(KNeighborsClassifier().fit(X, y), X, y)


def test_without_matplotlib(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("matplotlib"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pursuit\[plot\]"):
        PathDisplay(sizes=[1, 2], scores=[0.5, 0.6]).plot()
