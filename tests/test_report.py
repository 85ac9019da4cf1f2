"""Reports: the file, what it holds, and the page in a browser."""

import base64
import itertools
import json
import os
import re
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import cached_property
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, OneHotEncoder, StandardScaler

from pursuit import (
    HKNNClassifier,
    KMPClassifier,
    KMPRanker,
    KMPRegressor,
    ParzenWindows,
    report,
)
from pursuit.dictionaries import Features, OneKernel
from pursuit.export import UnsupportedError
from pursuit.kernels import Gaussian, InMetric
from pursuit.report import contents, facts
from pursuit.report.stages import ALL_UP_TO, last_step, shown_sizes

FAST = {"kernel": Gaussian(gamma=0.3), "alpha": 1e-3, "max_support": 12}
HOSTILE = """</script><script>alert(1)</script>&amp;'"\u2028🦉"""
N = 120


@dataclass
class Case:
    """A fitted model with rows to report on, and what else is passed."""

    model: object
    X: object
    y: object
    more: dict = field(default_factory=dict)

    @cached_property
    def report(self):
        return report.Report(self.model, self.X, self.y, **self.more)


def plain_data(n_classes=0, n_outputs=1):
    rng = np.random.default_rng(3)
    X = rng.normal(size=(2 * N, 4))
    f = np.sin(X[:, 0]) + X[:, 1] * (X[:, 2] > 0)
    if n_classes:
        return X, np.digitize(f, np.quantile(f, np.linspace(0, 1, n_classes + 1)[1:-1]))
    return X, f if n_outputs == 1 else np.column_stack([f, 100 * X[:, 3] + f])


def halves(X, y):
    return X[:N], y[:N], X[N:], y[N:]


def plain_case(model, more=None, n_classes=0, n_outputs=1, target=None):
    X, y = plain_data(n_classes, n_outputs)
    y = y if target is None else target(y)
    X_train, y_train, X_test, y_test = halves(X, y)
    more = {} if more is None else more
    if more.get("X_train") == "given":
        more = {"X_train": X_train, "y_train": y_train}
    return Case(model.fit(X_train, y_train), X_test, y_test, more)


def frame_data():
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 80, 2 * N).astype(float),
            HOSTILE: np.exp(rng.normal(3.0, 0.6, 2 * N)),
            "city": rng.choice(["Oslo", "Rome", HOSTILE], 2 * N),
            "left out": rng.normal(size=2 * N),
        }
    )
    f = frame["age"] / 20 + 2.0 * (frame["city"] == "Rome") + np.log(frame[HOSTILE])
    frame.loc[::11, "age"] = np.nan
    frame.loc[::13, "city"] = np.nan
    labels = np.where(f > f.median(), HOSTILE, "low")
    return frame, pd.Series(labels, name=HOSTILE)


def frame_case():
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    words = make_pipeline(
        SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
    )
    prepare = ColumnTransformer(
        [("numbers", numbers, ["age", HOSTILE]), ("words", words, ["city"])]
    )
    model = Pipeline(
        [("prepare", prepare), ("kmp", KMPClassifier(**FAST, loss="logistic"))]
    )
    X, y = frame_data()
    X_train, y_train, X_test, y_test = halves(X, y)
    more = {"title": HOSTILE, "X_train": X_train, "y_train": y_train}
    return Case(model.fit(X_train, y_train), X_test, y_test, more)


def scaled_case():
    X, y = plain_data()
    X_train, y_train, X_test, y_test = halves(X * [1, 1e3, 1, 1], y)
    model = make_pipeline(StandardScaler(), KMPRegressor(**FAST))
    return Case(model.fit(X_train, y_train), X_test, y_test, {"rows": 15})


def empty_case():
    X, y = plain_data()
    model = KMPRegressor(**FAST).fit(X[:N], y[:N]).truncate(0)
    return Case(model, X[N:], y[N:])


def classifier(**more):
    return KMPClassifier(**{**FAST, **more})


def regressor(**more):
    return KMPRegressor(**{**FAST, **more})


KERNEL = InMetric(Gaussian(gamma=0.2), factor=np.diag([1.0, 0.5, 2.0, 0.1])[:, :3])
MAKERS = {
    "two classes": lambda: plain_case(classifier(loss="logistic"), n_classes=2),
    "classes by margins": lambda: plain_case(classifier(loss="margin"), n_classes=3),
    "probabilities of several classes": lambda: plain_case(
        classifier(loss="logistic"), n_classes=4
    ),
    "a size for each class": lambda: plain_case(
        classifier(multiclass="ovr", selection="loo"), n_classes=3
    ),
    "true and false": lambda: plain_case(
        classifier(), n_classes=2, target=lambda y: y == 1
    ),
    "number": lambda: plain_case(regressor(kernel=KERNEL), {"X_train": "given"}),
    "numbers": lambda: plain_case(regressor(), n_outputs=2),
    "counts": lambda: plain_case(
        regressor(loss="poisson", selection=None, max_support=5),
        target=lambda y: np.floor(np.exp(y)),
    ),
    "functions of several kinds": lambda: plain_case(
        KMPRegressor(
            dictionary=Features(degree=2) + OneKernel(Gaussian(gamma=0.3)),
            alpha=1e-3,
            max_support=12,
        )
    ),
    "no rows": lambda: plain_case(
        classifier(loss="logistic"), {"rows": 0}, n_classes=2
    ),
    "pipeline of numbers": scaled_case,
    "words and missing values": frame_case,
    "empty": empty_case,
}


@pytest.fixture(scope="module")
def cases():
    """Cases by name, fitted when they are first asked for."""
    made = {}

    def case(name):
        if name not in made:
            made[name] = MAKERS[name]()
        return made[name]

    return case


each_case = pytest.mark.parametrize("name", MAKERS)


def prepared(case):
    model = case.model
    return model[:-1].transform(case.X) if isinstance(model, Pipeline) else case.X


def expected_outputs(case, steps):
    """Return what Python says at a size: decision values, or predictions."""
    model = last_step(case.model)
    model = model if steps is None else model.truncate(steps)
    decide = getattr(model, "decision_function", model.predict)
    return decide(prepared(case)).reshape(len(case.X), -1)


# -- the file ------------------------------------------------------------------------


class Page(HTMLParser):
    """Collects the elements of a page, and what is in its scripts and styles."""

    VOID = ("meta", "input", "link", "img", "br")

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open:
            self.texts.setdefault(self.open[-1], []).append(data)

    def held(self):
        return json.loads(self.texts["script"][0])


def array_of(tree):
    data = np.frombuffer(base64.b64decode(tree["base64"]), dtype=tree["dtype"])
    return data.reshape(tree["shape"])


@each_case
def test_a_file_is_one_whole_small_page(name, cases, tmp_path):
    case = cases(name)
    path = report.write(case.model, tmp_path / "r.html", case.X, case.y, **case.more)
    assert path == tmp_path / "r.html"
    assert os.listdir(tmp_path) == ["r.html"]
    text = path.read_text("utf-8")
    assert len(text.encode()) < 300_000
    page = Page(text)
    assert page.open == []
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert not [attrs for _, attrs in page.elements if {"src", "srcset"} & attrs.keys()]
    links = [attrs["href"] for _, attrs in page.elements if "href" in attrs]
    ids = {attrs.get("id") for _, attrs in page.elements}
    assert links
    assert all(link[0] == "#" and link[1:] in ids for link in links)
    # The only address is the name of SVG's elements.
    addresses = set(re.findall(r"https?://[^\s\"'<\\]+", text))
    assert addresses == {"http://www.w3.org/2000/svg"}
    assert page.held()["task"] in ("classes", "numbers")


@each_case
def test_each_size_of_a_page_is_the_truncated_model(name, cases):
    case = cases(name)
    held = case.report.contents
    formula, order = held["formula"], held["order"]
    Z = formula.prepared(formula.coded(case.X))
    parts = [group(Z) for group in formula.groups]
    functions = np.column_stack(parts) if parts else np.empty((len(Z), 0))
    in_order = np.empty_like(functions)
    in_order[:, order] = functions
    is_exponential = formula.answer.link == "exp"
    for stage in held["stages"]:
        coef = stage["coef"]
        f = in_order[:, : coef.shape[1]] @ coef.T + stage["intercept"]
        values = np.exp(f) if is_exponential else f
        np.testing.assert_allclose(
            values, expected_outputs(case, stage["steps"]), rtol=1e-9, atol=1e-9
        )
    chosen = held["stages"][held["chosen"]]
    assert chosen["points"] == last_step(case.model).n_support_


@each_case
def test_errors_of_all_sizes_are_those_of_the_scores(name, cases):
    case = cases(name)
    held = case.report.contents
    model, Z = last_step(case.model), prepared(case)
    if held["task"] == "classes":
        scores = [model.truncate(0).score(Z, case.y), *model.staged_score(Z, case.y)]
        errors = 1.0 - np.array(scores)
    else:
        models = [model.truncate(n) for n in range(len(model.path_) + 1)]
        y = np.asarray(case.y).reshape(len(Z), -1)
        gaps = [y - m.predict(Z).reshape(y.shape) for m in models]
        errors = [
            np.sqrt(np.mean(r**2))
            if y.shape[1] == 1
            else np.mean(np.mean(r**2, axis=0) / y.var(axis=0))
            for r in gaps
        ]
    assert held["curve"]["sizes"] == list(range(len(model.path_) + 1))
    np.testing.assert_allclose(held["curve"]["errors"], errors, rtol=1e-9, atol=1e-12)
    chosen = held["stages"][held["chosen"]]
    if chosen["steps"] is not None:
        assert chosen["error"] == held["curve"]["errors"][chosen["steps"]]


def test_figures_are_those_of_scikit_learn(cases):
    from sklearn import metrics

    case = cases("two classes")
    model = case.model
    held = case.report.contents
    stage = held["stages"][held["chosen"]]
    P, predicted = model.predict_proba(case.X), model.predict(case.X)
    figures = {name: value for name, value, _ in stage["figures"]}
    assert figures == pytest.approx(
        {
            "Error rate": 1.0 - metrics.accuracy_score(case.y, predicted),
            "Mean recall of the classes": metrics.balanced_accuracy_score(
                case.y, predicted
            ),
            "Log loss": metrics.log_loss(case.y, P),
            "Area under the ROC": metrics.roc_auc_score(case.y, P[:, 1]),
        }
    )
    counts = metrics.confusion_matrix(case.y, predicted)
    assert {(a, b): n for a, b, n in stage["confusions"]} == {
        (a, b): counts[a, b] for a in (0, 1) for b in (0, 1) if counts[a, b]
    }
    assert sum(n for _, _, n in stage["calibration"]) == N
    for stated, found, _ in stage["calibration"]:
        inside = np.floor(P[:, 1] * 10) == np.floor(stated * 10)
        assert P[inside, 1].mean() == pytest.approx(stated)
        assert np.mean(case.y[inside] == 1) == pytest.approx(found)


def test_figures_of_numbers_are_those_of_scikit_learn(cases):
    from sklearn import metrics

    case = cases("numbers")
    held = case.report.contents
    predicted = case.model.predict(case.X)
    (_, rmse, _), (_, mae, _), (_, r2, _) = held["stages"][held["chosen"]]["figures"]
    raw = {"multioutput": "raw_values"}
    assert rmse == pytest.approx(
        metrics.root_mean_squared_error(case.y, predicted, **raw)
    )
    assert mae == pytest.approx(metrics.mean_absolute_error(case.y, predicted, **raw))
    assert r2 == pytest.approx(metrics.r2_score(case.y, predicted, **raw))


def test_hostile_names_stay_words(cases):
    case = cases("words and missing values")
    page = Page(case.report.html)
    held = page.held()
    assert [column["name"] for column in held["columns"]][1] == HOSTILE
    assert held["outputs"] == {"target": HOSTILE, "names": sorted([HOSTILE, "low"])}
    assert held["title"] == HOSTILE
    assert HOSTILE in "".join(page.texts["h1"])


def test_columns_say_what_they_hold(cases):
    case = cases("words and missing values")
    age, _, city, left_out = case.report.contents["columns"]
    assert (age["words"], age["missing"]) == (None, case.X["age"].isna().sum())
    assert (age["low"], age["high"]) == (case.X["age"].min(), case.X["age"].max())
    assert age["takesMissing"]
    assert age["isWhole"]
    assert sorted(city["words"]) == sorted(["Oslo", "Rome", HOSTILE])
    assert city["counts"] == [np.sum(case.X["city"] == word) for word in city["words"]]
    assert city["takesOthers"]
    assert city["takesMissing"]
    assert not left_out["isUsed"]
    plain = cases("number").report.contents["columns"]
    assert not any(column["takesMissing"] for column in plain)


def test_columns_and_targets_can_be_named(cases):
    case = cases("number")
    names = ["a", "b", "c", "d"]
    more = {"feature_names": names, "target_names": "price", **case.more}
    held = report.Report(case.model, case.X, case.y, **more).contents
    assert [column["name"] for column in held["columns"]] == names
    assert held["points"]["names"] == names
    assert held["outputs"] == {"target": "price", "names": ["price"]}
    frame = pd.DataFrame(cases("numbers").y, columns=["u", "v"])
    held = report.Report(cases("numbers").model, cases("numbers").X, frame).contents
    assert held["outputs"]["names"] == ["u", "v"]


def test_importances_of_encoded_columns_are_summed(cases):
    case = cases("words and missing values")
    own = last_step(case.model).feature_importances_
    expected = [own[0], own[1], own[2:].sum(), 0.0]
    assert case.report.contents["shares"] == pytest.approx(expected)
    plain = cases("number")
    shares = plain.report.contents["shares"]
    assert shares == pytest.approx(plain.model.feature_importances_.tolist())
    assert cases("functions of several kinds").report.contents["shares"] is None


def test_points_have_the_columns_and_targets_of_training_rows(cases):
    case = cases("words and missing values")
    held = case.report.contents
    points, train = held["points"], case.more
    model = last_step(case.model)
    rows = [int(label.removeprefix("row ")) for label in points["labels"]]
    assert rows == model.path_.support.tolist()
    some = train["X_train"].iloc[rows]
    np.testing.assert_allclose(points["values"][:, 0], some["age"], rtol=1e-6)
    labels = model.classes_[points["targets"][:, 0].astype(int)]
    np.testing.assert_array_equal(labels, train["y_train"].iloc[rows])


def test_points_of_unknown_rows_are_as_the_model_sees_them(cases):
    points = cases("pipeline of numbers").report.contents["points"]
    model = cases("pipeline of numbers").model
    assert points["kind"] == "prepared"
    assert points["targets"] is None
    centers = model[-1].truncate(len(model[-1].path_)).support_vectors_
    np.testing.assert_allclose(points["values"], centers, rtol=1e-6)


def test_training_rows_may_come_in_another_order(cases):
    case = cases("words and missing values")
    order = np.random.default_rng(1).permutation(N)
    X, y = case.more["X_train"].iloc[order], case.more["y_train"].iloc[order]
    held = report.Report(case.model, case.X, case.y, X_train=X, y_train=y).contents
    expected = case.report.contents["points"]
    np.testing.assert_array_equal(held["points"]["values"], expected["values"])
    np.testing.assert_array_equal(held["points"]["targets"], expected["targets"])


def test_other_training_rows_are_refused(cases):
    case = cases("number")
    with pytest.raises(ValueError, match="X_train does not hold"):
        report.Report(case.model, case.X, case.y, X_train=case.X, y_train=case.y)


def test_rows_that_the_fit_has_seen_are_noticed(cases):
    case = cases("number")
    X, y = case.more["X_train"], case.more["y_train"]
    with pytest.warns(UserWarning, match="has probably seen"):
        held = report.Report(case.model, X, y).contents
    assert held["isDoubtful"]
    held = report.Report(case.model, X, y, is_held_out=False).contents
    assert not held["isDoubtful"]
    assert held["points"]["targets"] is not None


def test_rows_are_limited(cases):
    case = cases("pipeline of numbers")
    held = case.report.contents["rows"]
    assert held["X"].shape == (15, 4)
    assert held["n"] == N
    np.testing.assert_array_equal(held["X"], case.X[held["numbers"]])
    again = report.Report(case.model, case.X, case.y, rows=15)
    assert again.contents["rows"]["numbers"] == held["numbers"]
    other = report.Report(case.model, case.X, case.y, rows=15, random_state=1)
    assert other.contents["rows"]["numbers"] != held["numbers"]


def test_wide_data_stay_small():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 200))
    y = X[:, 0] + np.sin(X[:, 1])
    model = KMPRegressor(Gaussian(gamma=1e-3), alpha=1e-3, max_support=50)
    made = report.Report(model.fit(X[:200], y[:200]), X[200:], y[200:])
    assert len(made.contents["rows"]["numbers"]) == 46
    assert len(made.html) < 500_000


def test_long_paths_are_cut_but_never_before_the_model(cases, monkeypatch):
    monkeypatch.setattr(contents, "POINT_BYTES", 0)
    case = cases("two classes")
    chosen, length = len(case.model.truncate().path_), len(case.model.path_)
    assert chosen < length
    held = report.Report(case.model, case.X, case.y).contents
    assert held["path"] == {"steps": length, "shown": chosen}
    assert held["chosen"] == len(held["stages"]) - 1
    assert held["curve"]["sizes"][-1] == length


def test_sizes_are_all_small_ones_and_then_spaced():
    assert shown_sizes(5, [3]) == [0, 1, 2, 3, 4, 5]
    sizes = shown_sizes(1000, [777])
    assert sizes[: ALL_UP_TO + 1] == list(range(ALL_UP_TO + 1))
    assert sizes[-1] == 1000
    assert 777 in sizes
    assert len(sizes) < 60
    assert shown_sizes(0, [0]) == [0]
    # Many outputs have many coefficients at each size: fewer sizes.
    few = shown_sizes(1000, [5], n_outputs=10)
    assert few[: ALL_UP_TO + 1] == list(range(ALL_UP_TO + 1))
    assert few[ALL_UP_TO:] == [20, 40, 80, 160, 320, 640, 1000]


def test_frames_of_polars_searches_and_sparse_rows_have_reports(cases):
    case = cases("words and missing values")
    polars = report.Report(case.model, pl.from_pandas(case.X), case.y.to_numpy())
    np.testing.assert_array_equal(
        polars.contents["rows"]["X"], case.report.contents["rows"]["X"]
    )
    X, y = plain_data(n_classes=2)
    search = GridSearchCV(classifier(max_support=3), {"alpha": [1e-3, 1e-2]}, cv=2)
    search.fit(X[:N], y[:N])
    held = report.Report(search, X[N:], y[N:]).contents
    assert held["estimator"] == "KMPClassifier"
    dense = report.Report(search.best_estimator_, X[N:], y[N:]).contents
    thin = report.Report(search.best_estimator_, sparse.csr_array(X[N:]), y[N:])
    np.testing.assert_array_equal(thin.contents["rows"]["X"], dense["rows"]["X"])
    assert thin.contents["curve"] == dense["curve"]


def test_pipelines_within_pipelines_have_reports():
    X, y = plain_data(n_classes=2)
    model = classifier(max_support=3)
    flat = make_pipeline(StandardScaler(), MinMaxScaler(), model).fit(X[:N], y[:N])
    inner = make_pipeline(MinMaxScaler(), model)
    search = GridSearchCV(make_pipeline(inner), {"pipeline__memory": [None]}, cv=2)
    nested = (
        make_pipeline(StandardScaler(), inner),
        make_pipeline(StandardScaler(), search),
        Pipeline([("minmaxscaler", StandardScaler()), ("model", inner)]),
    )
    expected = report.Report(flat, X[N:], y[N:]).contents
    for each in nested:
        held = report.Report(each.fit(X[:N], y[:N]), X[N:], y[N:]).contents
        assert held["curve"] == expected["curve"]
        assert held["shares"] == expected["shares"]
        values = each.decision_function(X[N:])[held["rows"]["numbers"]]
        np.testing.assert_array_equal(held["rows"]["values"][:, 0], values)


def test_recipe_makes_the_same_estimator(cases):
    case = cases("words and missing values")
    code = facts.recipe(case.model, has_training=True)
    names = {}
    lines = code.splitlines()
    end = lines.index("model.fit(X_train, y_train)")
    exec("\n".join(lines[:end]), names)
    assert repr(names["model"]) == repr(case.model)
    assert lines[-1].endswith("X, y, X_train=X_train, y_train=y_train)")


def test_settings_say_what_was_set(cases):
    held = cases("two classes").report.contents["facts"]
    changed = {name for name, _, is_default in held["parameters"] if not is_default}
    assert changed == {"kernel", "alpha", "max_support", "loss"}
    fitted = {name: value for name, value, _ in held["fitted"]}
    assert fitted["kernel_"] == "Gaussian(gamma=0.3)"
    assert fitted["stop_reason_"] == cases("two classes").model.stop_reason_
    (trial,) = held["search"]
    assert trial["error"] > 0


@pytest.mark.parametrize(
    "model, message",
    [
        (HKNNClassifier(), "KMPClassifier and KMPRegressor have one"),
        (ParzenWindows(), "no report of ParzenWindows"),
        (
            KMPRanker(),
            "no report of KMPRanker: its page would judge rows",
        ),
        (make_pipeline(StandardScaler(), HKNNClassifier()), "of HKNNClassifier"),
        (classifier(kernel=lambda A, B: A @ B.T), "cannot be exported"),
    ],
)
def test_models_that_cannot_run_in_a_page_are_refused(model, message, tmp_path):
    X, y = plain_data(n_classes=2)
    if isinstance(model, KMPClassifier):
        model.fit(X[:N], y[:N])
    with pytest.raises(UnsupportedError, match=message):
        report.write(model, tmp_path / "r.html", X[N:], y[N:])
    assert not os.listdir(tmp_path)


def test_models_that_are_not_fitted_are_refused():
    X, y = plain_data()
    with pytest.raises(NotFittedError):
        report.Report(KMPRegressor(), X, y)


def test_bad_input_is_refused(cases, tmp_path):
    case = cases("two classes")

    def made(X=case.X, y=case.y, **more):
        return report.Report(case.model, X, y, **more)

    with pytest.raises(ValueError, match="rows=-1"):
        made(rows=-1)
    with pytest.raises(ValueError, match="is_held_out='yes'"):
        made(is_held_out="yes")
    with pytest.raises(ValueError, match="y_train is for the rows of X_train"):
        made(y_train=case.y)
    with pytest.raises(ValueError, match="feature_names has 2 names, but the model 4"):
        made(feature_names=["a", "b"])
    with pytest.raises(ValueError, match="X_train has 120 rows, but y_train 119"):
        made(X_train=case.X, y_train=case.y[1:])
    with pytest.raises(ValueError, match="X has 120 rows, but y has 119"):
        made(y=case.y[1:])
    with pytest.raises(ValueError, match="y holds '7', which is not a class"):
        made(y=np.where(case.y == 0, 7, case.y))
    with pytest.raises(ValueError, match="X has no rows"):
        made(X=case.X[:0], y=case.y[:0])
    with pytest.raises(ValueError, match="3 columns|shape"):
        made(X=case.X[:, :3])
    with pytest.raises(OSError):
        made().save(tmp_path / "no" / "folder.html")
    numbers = cases("numbers")
    with pytest.raises(ValueError, match="target_names has 3 names, but y 2"):
        report.Report(numbers.model, numbers.X, numbers.y, target_names=list("abc"))


def test_colors_have_contrast():
    css = (Path(report.__file__).parent / "report.css").read_text("utf-8")

    def luminance(color):
        parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        parts = [
            p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts
        ]
        return np.dot(parts, [0.2126, 0.7152, 0.0722])

    themes = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[:2]
    assert len(themes) == 2
    for theme in themes:
        color = dict(re.findall(r"--(\w+): (#[0-9a-f]{6});", theme))
        for text in ("ink", "muted", "accent", "second", "bad"):
            for ground in ("page", "card"):
                a, b = sorted([luminance(color[text]), luminance(color[ground])])
                assert (b + 0.05) / (a + 0.05) > 4.5, (text, ground)


# -- the page in a browser -------------------------------------------------------------


@pytest.fixture(scope="module")
def browser():
    """Return a Chromium that runs without a screen."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed"
    )
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next(filter(None, map(shutil.which, names)), None)
    # As root, Chromium starts only without its sandbox.
    args = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    with api.sync_playwright() as engine:
        try:
            started = engine.chromium.launch(executable_path=found, args=args)
        except api.Error as error:
            pytest.skip(f"no Chromium can be started: {str(error).splitlines()[0]}")
        yield started
        started.close()


@pytest.fixture
def show(browser, tmp_path):
    """Return a function that opens a report from disk; it fails on any complaint."""
    complaints, pages = [], []

    def opened(made, **how):
        path = made if isinstance(made, Path) else made.save(tmp_path / "report.html")
        page = browser.new_page(**how)
        pages.append(page)
        page.on("console", lambda message: complaints.append(message.text))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: complaints.append(dialog.message))
        page.on("request", lambda request: complaints.append(request.url))
        page.goto(path.as_uri())
        assert complaints == [path.as_uri()]  # the file itself is the only request
        complaints.clear()
        if isinstance(made, report.Report):
            page.wait_for_selector("body[data-ready]", timeout=10_000)
        return page

    yield opened
    assert complaints == []
    for page in pages:
        page.close()


def values_of_answer(page):
    return json.loads(page.get_attribute("#answer", "data-values"))


@each_case
def test_page_computes_what_python_says_at_every_size(name, cases, show):
    case = cases(name)
    made = case.report
    page = show(made)
    rows = made.contents["rows"]["numbers"]
    is_exponential = made.contents["formula"].answer.link == "exp"
    at_sizes = page.evaluate(
        """() => pursuitReport.sizes.map((steps, place) => {
            pursuitReport.moveTo(place);
            return [steps, pursuitReport.rows.map((row) => pursuitReport.outputs(row))];
        })"""
    )
    assert len(at_sizes) == len(made.contents["stages"])
    for steps, outputs in at_sizes:
        if rows:
            outputs = np.exp(outputs) if is_exponential else np.array(outputs)
            expected = expected_outputs(case, steps)[rows]
            np.testing.assert_allclose(outputs, expected, rtol=1e-9, atol=1e-9)
    assert float(page.get_attribute("#footer", "data-difference")) < 1e-9


def test_slider_and_keys_change_the_model(cases, show):
    case = cases("two classes")
    made = case.report
    page = show(made)
    stages = made.contents["stages"]
    chosen = made.contents["chosen"]
    row = made.contents["rows"]["numbers"][4]
    page.select_option("#start", "5")
    page.focus("#slider")
    page.keyboard.press("Home")
    seen = []
    for place, stage in enumerate(stages):
        assert page.get_attribute("#size-text", "data-points") == str(stage["points"])
        error = float(page.get_attribute("#size-text", "data-error"))
        assert error == pytest.approx(stage["error"])
        expected = case.model.truncate(stage["steps"]).predict_proba(case.X[[row]])[0]
        assert values_of_answer(page) == pytest.approx(expected, abs=1e-9)
        assert page.is_visible("#back") == (place != chosen)
        assert f"{stage['points']} support point" in page.get_attribute(
            "#slider", "aria-valuetext"
        )
        seen.append(page.inner_text("#figures"))
        page.keyboard.press("ArrowRight")
    assert len(set(seen)) == len(stages)
    page.click("#back")
    points = page.get_attribute("#size-text", "data-points")
    assert points == str(stages[chosen]["points"])
    assert page.evaluate("document.activeElement.id") == "slider"


def test_a_click_into_the_curve_moves_the_slider(cases, show):
    page = show(cases("number").report)
    box = page.locator("#curve svg").bounding_box()
    page.mouse.click(box["x"] + box["width"] - 16, box["y"] + 100)
    assert page.input_value("#slider") == page.get_attribute("#slider", "max")
    page.mouse.click(box["x"] + 2, box["y"] + 100)
    assert page.input_value("#slider") == "0"


def test_what_if_answers_as_predict_for_numbers(cases, show):
    case = cases("number")
    page = show(case.report)
    row = np.array([0.25, -1.5, 2.0, 0.125])
    for j, value in enumerate(row):
        page.fill(f"#field-{j}", str(value))
    (answer,) = values_of_answer(page)
    assert answer == pytest.approx(case.model.predict(row[None])[0], abs=1e-9)
    assert "Prediction: " in page.inner_text("#spoken")
    # Nearest points first, with the kernel's own values.
    kernel = case.model.kernel_(row[None], case.model.support_vectors_)[0]
    cells = page.locator("#nearest tbody tr td:nth-child(2)").all_inner_texts()
    shown = [float(cell.replace("−", "-")) for cell in cells]
    assert shown == pytest.approx(np.sort(kernel)[::-1][: len(shown)], rel=1e-2)
    labels = page.locator("#nearest tbody th").all_inner_texts()
    nearest = case.model.support_[np.argsort(-kernel, kind="stable")][: len(labels)]
    assert labels == [f"row {i}" for i in nearest]
    page.fill("#field-1", "")
    assert page.get_attribute("#answer", "data-values") is None
    assert page.get_attribute("#field-1", "aria-invalid") == "true"
    assert "needs a number" in page.inner_text("#hint-1")
    assert not page.is_visible("#is-far")
    page.fill("#field-1", "50")
    assert "outside" in page.inner_text("#hint-1")
    assert values_of_answer(page) == pytest.approx(case.model.intercept_)
    assert page.is_visible("#is-far")


def test_what_if_answers_as_predict_for_words_and_missing_values(cases, show):
    case = cases("words and missing values")
    page = show(case.report)
    frame = case.X.iloc[[0, 0, 0]].copy()
    frame["age"] = [33.0, np.nan, 61.0]
    frame[HOSTILE] = [12.5, 30.25, 1000.0]
    frame["city"] = ["Rome", HOSTILE, np.nan]
    expected = case.model.predict_proba(frame)
    for (_, row), probabilities in zip(frame.iterrows(), expected, strict=True):
        page.fill("#field-0", "" if np.isnan(row["age"]) else str(row["age"]))
        page.fill("#field-1", str(row[HOSTILE]))
        if pd.isna(row["city"]):
            page.select_option("#field-2", "")
        else:
            page.select_option("#field-2", label=row["city"])
        assert values_of_answer(page) == pytest.approx(probabilities, abs=1e-9)
        label = case.model.classes_[probabilities.argmax()]
        assert page.inner_text("#answer .result").split() == label.split()
    assert page.locator("#field-3").count() == 0  # a column that the model does not use


def test_what_if_starts_from_rows_of_the_page(cases, show):
    case = cases("numbers")
    made = case.report
    page = show(made)
    for k in (1, 7):
        page.select_option("#start", str(k))
        row = made.contents["rows"]["numbers"][k - 1]
        expected = case.model.predict(case.X[[row]])[0]
        assert values_of_answer(page) == pytest.approx(expected, abs=1e-9)
        assert "True: " in page.inner_text("#answer")
    page.fill("#field-0", "0.5")
    assert "True: " not in page.inner_text("#answer")


def test_dependence_is_the_mean_of_predictions(cases, show):
    case = cases("words and missing values")
    made = case.report
    page = show(made)
    page.select_option("#column", label="city")
    page.select_option("#dependence-output", "1")
    page.click("#dependence summary")
    page.wait_for_selector("#dependence tbody tr")
    lines = page.locator("#dependence tbody tr").all_inner_texts()
    shares = [float(line.split("\t")[-1].split()[0]) / 100 for line in lines]
    # The page draws 40 of its rows; all are shuffled the same way each time.
    numbers = page.evaluate("pursuitReport.curveRows")
    rows = case.X.iloc[[made.contents["rows"]["numbers"][i] for i in numbers]]
    assert len(rows) == 40
    words = [*made.contents["columns"][2]["words"], np.nan]
    expected = [
        case.model.predict_proba(rows.assign(city=word))[:, 1].mean() for word in words
    ]
    assert shares == pytest.approx(expected, abs=1e-3)


def test_importance_by_shuffling_follows_the_slider(cases, show):
    case = cases("number")
    page = show(case.report)
    assert page.locator("#importance-bars tbody tr").count() == 4
    names = page.locator("#importance-bars tbody th").all_inner_texts()
    assert set(names[:3]) <= {"x0", "x1", "x2"}  # the last column has no influence
    page.focus("#slider")
    page.keyboard.press("Home")
    rises = page.locator("#importance-bars td.number").all_inner_texts()
    assert set(rises) == {"0"}  # a constant depends on nothing
    page.check("input[value=gradients]")
    shares = page.locator("#importance-bars td.number").all_inner_texts()
    values = sorted(100 * case.model.feature_importances_, reverse=True)
    assert [float(s.split()[0]) for s in shares] == pytest.approx(values, rel=1e-2)


def test_errors_are_drawn_for_the_size_of_the_slider(cases, show):
    case = cases("two classes")
    page = show(case.report)
    page.focus("#slider")
    for key, model in (
        ("End", case.model.truncate(12)),
        ("Home", case.model.truncate(0)),
    ):
        page.keyboard.press(key)
        counts = page.locator("#confusions .count").all_inner_texts()
        predicted = model.predict(case.X)
        expected = [
            np.sum((case.y == a) & (predicted == b)) for a in (0, 1) for b in (0, 1)
        ]
        assert [int(count) for count in counts] == expected
    numbers = cases("numbers")
    made = numbers.report
    page = show(made)
    page.select_option("#errors-output", "1")
    assert page.input_value("#dependence-output") == "1"
    page.click("#errors figure:first-child summary")
    first = page.locator("#errors figure:first-child tbody tr").first.inner_text()
    row = made.contents["rows"]["numbers"][0]
    predicted = numbers.model.predict(numbers.X[[row]])[0, 1]
    number, true, value, _ = (float(v.replace("−", "-")) for v in first.split("\t"))
    assert number == row
    assert true == pytest.approx(numbers.y[row, 1], rel=1e-3)
    assert value == pytest.approx(predicted, rel=1e-3)


@pytest.mark.parametrize("width, scheme", [(320, "light"), (1280, "dark")])
def test_page_fits_the_screen(width, scheme, cases, show):
    viewport = {"width": width, "height": 800}
    case = cases("words and missing values")
    page = show(case.report, viewport=viewport, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    brightness = sum(map(int, re.findall(r"\d+", ground)[:3])) / 3
    assert (brightness > 128) == (scheme == "light")
    page.emulate_media(media="print")
    assert not page.is_visible("#slider")
    assert page.is_visible("#curve svg")


def test_all_controls_have_names_and_can_be_reached_by_keys(cases, show):
    page = show(cases("words and missing values").report)
    nameless = page.evaluate(
        """() => [...document.querySelectorAll("input, select, button, [role=img]")]
            .filter((e) => !(e.labels?.length || e.textContent.trim()
                             || e.getAttribute("aria-label")))
            .map((e) => e.outerHTML)"""
    )
    assert nameless == []
    headings = page.evaluate(
        "[...document.querySelectorAll('h1, h2, h3')].map((e) => +e.tagName[1])"
    )
    assert headings.count(1) == 1
    assert all(b - a <= 1 for a, b in itertools.pairwise(headings))
    assert page.evaluate(
        "new Set([...document.querySelectorAll('[id]')].map(e => e.id)).size"
    ) == (page.locator("[id]").count())
    reached = set()
    for _ in range(60):
        page.keyboard.press("Tab")
        reached.add(page.evaluate("document.activeElement.id"))
    assert {"slider", "column", "start", "field-0", "field-1", "field-2"} <= reached
    page.focus("#slider")
    page.keyboard.press("ArrowLeft")
    style = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert style == "solid"


def test_a_notebook_shows_the_page_in_a_frame(cases, show, tmp_path):
    case = cases("words and missing values")
    path = tmp_path / "notebook.html"
    inside = case.report._repr_html_()
    path.write_text(f"<!DOCTYPE html><body><h1>Notebook</h1>{inside}", encoding="utf-8")
    page = show(path)
    frame = page.frames[1]
    frame.wait_for_selector("body[data-ready]", timeout=10_000)
    frame.focus("#slider")
    frame.press("#slider", "Home")
    assert frame.get_attribute("#size-text", "data-points") == "0"
    assert (
        page.evaluate("getComputedStyle(document.querySelector('h1')).fontSize")
        == "32px"
    )


# -- dates -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def dated():
    """A model of a date, a moment and a number, and its report."""
    rng = np.random.default_rng(0)
    first = np.datetime64("2023-11-20").astype(int)
    X = np.column_stack(
        [
            first + rng.integers(0, 400, 80),
            first + rng.uniform(0, 400, 80),
            rng.normal(size=80),
        ]
    )
    y = np.sin((X[:, 0] - first) / 60) + X[:, 2]
    model = make_pipeline(StandardScaler(), KMPRegressor(**FAST)).fit(X, y)
    names = {"feature_names": ["sold", "seen", "size"], "X_train": X, "y_train": y}
    made = report.Report(
        model, X, y, is_held_out=False, date_columns=["sold", "seen"], **names
    )
    return Case(model, X, y), made


def test_dates_are_named(dated, cases):
    _, made = dated
    assert [each["isDate"] for each in made.contents["columns"]] == [True, True, False]
    assert made.contents["columns"][1]["typical"] in made.contents["rows"]["X"][:, 1]
    case = cases("number")
    with pytest.raises(ValueError, match="date_columns: 'other' is not a column of nu"):
        report.Report(case.model, case.X, case.y, date_columns=["other"])


def test_dates_are_shown_as_dates(dated, show):
    case, made = dated
    page = show(made)
    assert page.get_attribute("#field-0", "type") == "date"
    assert page.get_attribute("#field-1", "type") == "datetime-local"
    assert page.get_attribute("#field-2", "type") == "number"
    typical = made.contents["columns"][0]["typical"]
    assert page.input_value("#field-0") == str(np.datetime64(int(typical), "D"))
    assert re.fullmatch(
        r"202\d-\d\d-\d\d to 202\d-\d\d-\d\d", page.inner_text("#hint-0")
    )
    day, moment, size = page.locator("#data-table tbody tr").all_inner_texts()
    assert re.search(r"dates\s+202\d-\d\d-\d\d to 202.*, median 202\d-\d\d-\d\d", day)
    assert re.search(r"dates\s+202\d-\d\d-\d\d \d\d:\d\d to", moment)
    assert "202" not in size
    page.fill("#field-0", "2024-02-29")
    page.fill("#field-1", "2024-03-01T18:00")
    page.fill("#field-2", "0.5")
    days = [np.datetime64(d).astype(int) for d in ("2024-02-29", "2024-03-01")]
    row = np.array([[days[0], days[1] + 0.75, 0.5]])
    assert values_of_answer(page) == pytest.approx(case.model.predict(row), abs=1e-9)
    assert "2024-" in page.inner_text("#nearest")
    page.fill("#field-0", "")
    assert page.inner_text("#hint-0").startswith("needs a date")
    page.fill("#field-0", "2019-01-01")
    assert page.inner_text("#hint-0").startswith("outside 2023-11-")


def test_dates_have_ticks_of_the_calendar(dated, show):
    page = show(dated[1])
    names = page.locator("#column option").all_inner_texts()
    page.select_option("#column", str(names.index("sold")))
    texts = page.locator("#dependence-chart .axes .middle").all_text_contents()
    ticks = [text for text in texts if text.startswith("20")]
    assert len(ticks) >= 3
    assert all(text.endswith("-01") for text in ticks)


@pytest.mark.parametrize(
    "low, high, count, expected",
    [
        ("2024-02-27", "2024-03-02", 5, ["2024-02-27", "2024-02-28", "2024-02-29"]),
        ("2024-01-10", "2024-12-20", 4, ["2024-04-01", "2024-07-01", "2024-10-01"]),
        ("2001-05-05", "2029-05-05", 3, ["2010-01-01", "2020-01-01"]),
        ("1960-03-01", "1969-12-31", 9, ["1962-01-01", "1964-01-01", "1966-01-01"]),
    ],
)
def test_ticks(low, high, count, expected, tmp_path):
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    folder = Path(report.__file__).parent / "scripts"
    code = "\n".join(
        (folder / name).read_text("utf-8") for name in ("charts.js", "dates.js")
    )
    ends = ", ".join(f"daysOf('{day}')" for day in (low, high))
    code += f"\nconsole.log(dateTicks({ends}, {count}).map((d) => dateText(d)).join())"
    (tmp_path / "ticks.js").write_text(code, encoding="utf-8")
    done = subprocess.run(
        [node, tmp_path / "ticks.js"], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip().split(",")[: len(expected)] == expected
