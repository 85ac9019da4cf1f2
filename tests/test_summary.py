"""What a fitted model says of itself."""

import re

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import make_moons

from pursuit import CrossValidation, KMPClassifier, KMPRegressor
from pursuit.dictionaries import ManyWidths
from pursuit.kernels import InMetric

FAST = {"gamma": 0.5, "alpha": 1e-3, "max_support": 12}


@pytest.fixture(scope="module")
def sine():
    rng = np.random.default_rng(0)
    X = rng.uniform(-3, 3, size=(80, 2))
    frame = pd.DataFrame(X, columns=["time", "noise"])
    return frame, np.sin(X[:, 0]) + 0.1 * rng.normal(size=80)


@pytest.mark.parametrize(
    "selection, words",
    [
        ("cv", "over 10 folds within 1 % of the lowest"),
        (CrossValidation(3, tolerance=0), "over 3 folds at the lowest"),
        (CrossValidation(3, tolerance="1se"), "within one standard error"),
        (CrossValidation(3, scoring="r2"), "its score over 3 folds.*of the best"),
        ("validation", "on the held-out part"),
        ("loo", "by leave-one-out"),
        ("bound", "where the generalization bound is lowest"),
        (None, "12 of 12 steps: all, because selection=None"),
    ],
    ids=str,
)
def test_the_reason_of_the_size_stands_beside_that_of_the_path(sine, selection, words):
    model = KMPRegressor(selection=selection, **FAST).fit(*sine)
    assert re.search(words, model.size_reason_)
    assert model.size_reason_.startswith(f"{model.n_support_} of {len(model.path_)} ")
    assert model.stop_reason_.split(":")[0] in ("max_support", "patience")


def test_the_error_is_that_of_the_chosen_size_in_the_search(sine):
    model = KMPRegressor(**FAST, selection=CrossValidation(3)).fit(*sine)
    (trial,) = model.search_
    n = model.n_support_
    assert model.held_out_error_ == trial["errors"][n]
    assert model.held_out_standard_error_ == trial["standard_errors"][n]
    assert model.held_out_error_ < 0.2 * trial["errors"][0]


def test_several_paths_add_up_their_errors():
    X, _ = make_moons(90, noise=0.1, random_state=0)
    y = np.digitize(X[:, 0], [-0.2, 0.9])
    how = {**FAST, "selection": CrossValidation(3)}
    model = KMPClassifier(multiclass="ovr", **how).fit(X, y)
    errors = [
        KMPRegressor(**how).fit(X, np.where(y == k, 1.0, -1.0)).held_out_error_
        for k in range(3)
    ]
    assert model.held_out_error_ == pytest.approx(sum(errors), rel=0.3)


def test_a_part_that_is_held_out_has_no_standard_error(sine):
    model = KMPRegressor(**FAST, selection="validation").fit(*sine)
    assert model.held_out_error_ > 0
    assert model.held_out_standard_error_ is None


def test_nothing_is_known_of_a_size_that_was_set(sine):
    model = KMPRegressor(**FAST, selection=None).fit(*sine)
    assert model.held_out_error_ is None
    assert "held-out" not in str(model.summary())
    cut = KMPRegressor(**FAST).fit(*sine).truncate(2)
    assert cut.held_out_error_ is None
    assert cut.size_reason_ == "2 steps: set by truncate"


def test_a_fixed_size_has_the_error_of_the_search(sine):
    how = {**FAST, "gamma": "cv", "kernel": "rbf", "selection": None}
    model = KMPRegressor(**how).fit(*sine)
    best = min(model.search_, key=lambda trial: trial["errors"][-1])
    assert model.held_out_error_ == best["errors"][-1]


def test_the_summary_tells_what_users_ask_first(sine):
    X, y = sine
    model = KMPRegressor(max_support=12, random_state=0).fit(X, y)
    text = str(model.summary())
    assert text.startswith(f"KMPRegressor of {model.n_support_} points\n")
    assert f"{model.held_out_error_:.3g} ± " in text
    assert model.size_reason_ in text
    assert model.stop_reason_ in text
    assert "time " in text.split("features")[1].splitlines()[0]
    assert "80 rows × 2 columns" in text
    assert (" metric" in text) == isinstance(model.kernel_, InMetric)
    assert repr(model.summary()) == text


def test_scores_are_shown_as_users_know_them(sine):
    model = KMPRegressor(**FAST, selection=CrossValidation(3, scoring="r2")).fit(*sine)
    assert model.held_out_error_ < -0.5
    assert f"held-out score  {-model.held_out_error_:.3g}" in str(model.summary())


def test_models_of_other_functions_have_a_summary(sine):
    X, y = sine
    model = KMPRegressor(dictionary=ManyWidths(), max_support=5).fit(X, y)
    assert type(model.atoms_).__name__ in str(model.summary())
    empty = KMPRegressor(**FAST).fit(X, np.ones(80))
    assert "of 0 points" in str(empty.summary())


def test_notebooks_show_the_summary_of_fitted_models(sine):
    model = KMPRegressor(**FAST)
    assert "<caption" not in model._repr_html_()
    model.fit(sine[0].rename(columns={"time": "<b>time"}), sine[1])
    shown = model._repr_html_()
    assert "<caption" in shown
    assert "&lt;b&gt;time" in shown
    assert "<caption" in model._repr_mimebundle_()["text/html"]
    assert "<caption" not in clone(model)._repr_html_()
