"""Tables and figures of chapters 11 and 13, on few and small images."""

import numpy as np
import pytest
from matplotlib.figure import Figure
from sklearn.datasets import load_digits
from sklearn.multiclass import OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.utils import Bunch

from pursuit import CKNNClassifier, HKNNClassifier, datasets
from reproduction import reporting, running
from reproduction.experiments import (
    density_classifiers,
    digit_densities,
    local_neighbors,
    neighbor_figures,
    reduced_neighbors,
    spirals,
)
from reproduction.methods import machines, neighbor_choices
from reproduction.protocols import digit_images

TINY = (150, 60, 60)


def digits(name, seed=0, smooth=False):
    """Scikit-learn's digits in the scale of USPS or MNIST."""
    X, y = load_digits(return_X_y=True)
    rows = np.random.default_rng(seed).permutation(len(y))[:500]
    X = (X[rows] / 8 - 1 if name == "usps" else X[rows] * 15.9).astype(np.float64)
    y = y[rows]
    return Bunch(
        data_train=X[:400],
        target_train=y[:400],
        data_test=X[400:],
        target_test=y[400:],
    )


@pytest.fixture
def small(monkeypatch):
    """Small images and small parts in the place of USPS and MNIST."""
    monkeypatch.setattr(datasets, "load", digits)
    for module in (
        digit_images,
        local_neighbors,
        reduced_neighbors,
        neighbor_figures,
        density_classifiers,
    ):
        monkeypatch.setattr(module, "QUICK_SIZES", {"usps": TINY, "mnist": TINY})
    monkeypatch.setattr(digit_densities, "QUICK_SIZES", (20, 10, 10))
    monkeypatch.setattr(neighbor_choices, "MOST", 70)
    monkeypatch.setattr(reduced_neighbors, "MOST", 12)


@pytest.fixture
def other_test_rows(small, monkeypatch):
    """Afterwards, the training rows are the same and the test rows are not."""

    def change():
        def changed(name, **options):
            found = digits(name)
            rng = np.random.default_rng(1)
            found.data_test = rng.permuted(found.data_test, axis=0)
            found.target_test = rng.permutation(found.target_test)
            return found

        monkeypatch.setattr(datasets, "load", changed)

    return change


def two_sets(rng):
    X, y = load_digits(return_X_y=True)
    rows = rng.permutation(len(y))
    # Noise, so that no two points are equally near.
    X, y = (X[rows] + rng.normal(scale=0.01, size=X.shape)) / 16, y[rows]
    return (X[:200], y[:200]), (X[200:260], y[200:260])


# Machines


@pytest.mark.parametrize("all_rows", [8000, 50], ids=["at once", "by chunks"])
def test_machines_are_those_of_libsvm(rng, monkeypatch, all_rows):
    monkeypatch.setattr(machines, "ALL_ROWS", all_rows)
    monkeypatch.setattr(machines, "FIRST_ROWS", 30)
    monkeypatch.setattr(machines, "MORE_ROWS", 20)
    (X, y), (Z, _) = two_sets(rng)
    ours = machines.fit(X, y, 2.0, 10.0)
    theirs = OneVsRestClassifier(SVC(C=10.0, gamma=1 / 4.0, tol=1e-5)).fit(X, y)
    values = theirs.decision_function(Z)
    np.testing.assert_allclose(ours.decision_function(Z), values, atol=5e-3)
    np.testing.assert_array_equal(ours.predict(Z), theirs.predict(Z))
    support = np.unique(np.concatenate([m.support_ for m in theirs.estimators_]))
    assert len(np.setxor1d(ours.support, support)) <= 0.05 * len(support)
    if all_rows == 50:
        assert len(ours.support) < len(X)


def test_chunks_leave_no_row_inside_the_margin(rng, monkeypatch):
    monkeypatch.setattr(machines, "ALL_ROWS", 0)
    monkeypatch.setattr(machines, "FIRST_ROWS", 20)
    monkeypatch.setattr(machines, "MORE_ROWS", 15)
    (X, y), _ = two_sets(rng)
    ours = machines.fit(X, y, 2.0, 1e4)  # a hard margin
    sign = np.where(y[:, None] == ours.classes, 1.0, -1.0)
    assert (sign * ours.decision_function(X)).min() > 1 - 5e-3


def test_columns_beyond_the_memory_are_forgotten(rng, monkeypatch):
    (X, y), (Z, _) = two_sets(rng)
    before = machines.fit(X, y, 2.0, 10.0).decision_function(Z)
    monkeypatch.setattr(machines, "KEPT", 0)
    columns = machines.Columns(X, 2.0)
    after = machines.fit(X, y, 2.0, 10.0, columns)
    np.testing.assert_allclose(after.decision_function(Z), before, atol=1e-6)


def test_choice_of_a_machine_prefers_few_mistakes_then_simple_ones(rng):
    train, valid = two_sets(rng)
    found = machines.choose(train, valid, [0.05, 2.0, 3.0], [1.0, 10.0])
    assert len(found) == 6
    keys = [(t["errors"], t["C"], -t["sigma"]) for t in found]
    assert keys == sorted(keys)
    best = machines.fit(*train, found[0]["sigma"], found[0]["C"])
    assert (best.predict(valid[0]) != valid[1]).sum() == found[0]["errors"]


# Mistakes and choices


def test_mistakes_of_every_number_of_neighbors(rng):
    train, queries = two_sets(rng)
    wrong = neighbor_choices.neighbor_mistakes(train, queries, 7)
    for K in range(1, 8):
        model = KNeighborsClassifier(K, algorithm="brute").fit(*train)
        assert wrong[K - 1] == (model.predict(queries[0]) != queries[1]).sum()


@pytest.mark.parametrize("penalty", [0.0, 1.0, 30.0])
def test_mistakes_of_every_hyperplane(rng, penalty):
    train, queries = two_sets(rng)
    table = neighbor_choices.hyperplane_mistakes(train, queries, (0.0, penalty), 9)
    for K in (1, 4, 9):
        model = HKNNClassifier(K, penalty, loo_samples=0).fit(*train)
        wrong = (model.predict(queries[0]) != queries[1]).mean()
        assert table.errors[1, K - 1] == pytest.approx(wrong)


def test_mistakes_of_every_hull(rng):
    train, queries = two_sets(rng)
    table = neighbor_choices.hull_mistakes(train, queries, 9)
    for K in (1, 4, 9):
        model = CKNNClassifier(K, loo_samples=0).fit(*train)
        wrong = (model.predict(queries[0]) != queries[1]).mean()
        assert table.errors[0, K - 1] == pytest.approx(wrong)


GRIDS = {
    "KNN": {},
    "SVM": {"sigmas": [1.0, 8.0], "Cs": [1.0, 100.0], "n_rows": 100},
    "HKNN": {"penalties": [0.0, 30.0]},
    "CKNN": {},
}


@pytest.mark.parametrize("method", GRIDS)
def test_test_rows_choose_nothing_in_table_11_1(other_test_rows, method):
    published = local_neighbors.PUBLISHED["usps"][method][0]
    arguments = ("usps", TINY, method, published, GRIDS[method])
    first = local_neighbors.measure(*arguments)
    other_test_rows()
    second = local_neighbors.measure(*arguments)
    assert first["test_errors"] != second["test_errors"]
    for key in ("chosen", "validation_table", "published_validation_errors"):
        assert first[key] == second[key]


@pytest.mark.parametrize("model", ["SVM", "Parzen", "MParzen", "KNN"])
def test_test_rows_choose_nothing_in_tables_13_3_and_13_4(other_test_rows, model):
    grid = reporting.shortened(density_classifiers.GRIDS[model])
    arguments = (model, TINY, grid, [])
    first = density_classifiers.measure_classifier(*arguments)
    other_test_rows()
    second = density_classifiers.measure_classifier(*arguments)
    assert first["chosen"] == second["chosen"]
    assert first["trials"] == second["trials"]
    assert [r["test"] for r in first["runs"]] != [r["test"] for r in second["runs"]]


@pytest.mark.parametrize("model", ["Parzen", "probabilistic PCA"])
def test_test_rows_choose_nothing_in_table_13_2(other_test_rows, model):
    grid = {"bandwidth": [0.1, 0.3]} if model == "Parzen" else {"n_components": [2, 5]}
    arguments = (model, (20, 10, 10), grid, None)
    first = digit_densities.measure_density(*arguments)
    other_test_rows()
    second = digit_densities.measure_density(*arguments)
    assert first["trials"] == second["trials"]
    assert first["chosen"]["params"] == second["chosen"]["params"]


def test_equal_errors_are_told_apart_by_the_likelihood():
    trials = [
        {"params": 1, "errors": 3, "ancll": 0.5},
        {"params": 2, "errors": 3, "ancll": 0.4},
        {"params": 3, "errors": 4, "ancll": 0.1},
        {"params": 4, "errors": 2, "ancll": None},
    ]
    assert density_classifiers.choose(trials[:3], "errors")["params"] == 2
    assert density_classifiers.choose(trials, "ancll")["params"] == 3
    assert density_classifiers.choose(trials[3:], "ancll") is None


def test_the_test_points_of_a_spiral_choose_nothing():
    grids = {name: {"bandwidth": [0.01, 0.02]} for name in spirals.PUBLISHED}
    for name in list(grids)[1:]:
        grids[name]["n_neighbors"] = [5, 10]
    found = [
        spirals.draw_and_measure(3, (60, 40, n_test), grids) for n_test in (50, 70)
    ]
    assert found[0]["chosen"] == found[1]["chosen"]
    assert found[0]["anll"] != found[1]["anll"]


def test_parts_do_not_overlap_and_keep_their_order(small):
    parts = digit_images.parts("mnist", TINY)
    source = digits("mnist")
    np.testing.assert_allclose(parts.X, source.data_train[:150] / 255)
    np.testing.assert_allclose(parts.X_valid, source.data_train[-60:] / 255)
    np.testing.assert_allclose(parts.X_test, source.data_test[:60] / 255)
    X, y = parts.everything()
    assert len(X) == len(y) == 210


@pytest.mark.parametrize(
    "errors, n, figure", [(100, 2007, 4.98), (79, 2007, 3.93), (80, 2007, 3.98)]
)
def test_percentages_are_cut(errors, n, figure):
    assert digit_images.percent(errors, n) == figure


@pytest.mark.parametrize(
    "ours, published, is_cut",
    [(-197.2777, -197.27, True), (5.166, 5.21, False), (4.171, 4.17, True)],
)
def test_figures_that_the_paper_cuts_are_known(ours, published, is_cut):
    assert digit_densities._is_cut(ours, published) is is_cut


def test_the_chance_in_the_choice_of_test_rows():
    sentence = reporting.chance("This", 20, 500)
    assert "4.00 % of 500" in sentence
    assert f"{100 * np.sqrt(0.04 * 0.96 / 500):.2f} points" in sentence


# Reports


MODULES = (
    local_neighbors,
    reduced_neighbors,
    neighbor_figures,
    digit_densities,
    density_classifiers,
)


@pytest.fixture
def light(small, monkeypatch):
    """Leave out what takes long even on few rows."""
    grids = {
        model: reporting.shortened(grid)
        for model, grid in density_classifiers.GRIDS.items()
        if "DensityClassifier" not in model
    }
    monkeypatch.setattr(density_classifiers, "GRIDS", grids)
    grids = dict(digit_densities.GRIDS)
    grids["probabilistic PCA"] = {"n_components": [2, 5]}
    grids["MParzen"] = {"n_neighbors": [5], "n_components": [3], "variance": [0.1]}
    monkeypatch.setattr(digit_densities, "GRIDS", grids)


@pytest.mark.parametrize(
    "experiment",
    [e for module in MODULES for e in module.EXPERIMENTS],
    ids=lambda e: e.name,
)
def test_reports_tell_and_draw_what_was_measured(light, experiment):
    records = running.run(experiment, quick=True, verbose=0)
    results = {name: record["result"] for name, record in records.items()}
    report = experiment.report(results)
    assert all(np.isfinite(row.ours) for row in report.rows)
    assert all(row.why for row in report.rows if row.differs)
    figure = Figure()
    report.draw(figure)
    assert figure.axes[0].get_xlabel()
    if len(results) > 2:
        first = dict(list(results.items())[: len(results) // 2])
        assert 0 < len(experiment.report(first).rows) < len(report.rows)


@pytest.mark.parametrize("experiment", spirals.EXPERIMENTS, ids=lambda e: e.name)
def test_reports_of_the_spiral(monkeypatch, experiment):
    monkeypatch.setattr(spirals, "N_TEST", 200)
    monkeypatch.setattr(spirals, "NEIGHBORS", (8, 11))
    monkeypatch.setattr(
        spirals, "WIDTHS", dict.fromkeys(spirals.PUBLISHED, (0.005, 0.01))
    )
    monkeypatch.setattr(spirals, "COMPONENTS", (5, 10))
    records = running.run(experiment, quick=True, verbose=0)
    report = experiment.report({name: r["result"] for name, r in records.items()})
    assert all(np.isfinite(row.ours) for row in report.rows)
    report.draw(Figure())


def test_the_same_classifiers_serve_both_tables():
    third, fourth = density_classifiers.EXPERIMENTS
    assert third.tasks(False) == fourth.tasks(False)


def test_curves_add_up_over_the_blocks_that_all_have(small):
    experiment = neighbor_figures.EXPERIMENTS[1]
    blocks = {
        f"{key}/from {first}": {"n_rows": 10, "errors": [[first + 1] * 70] * n_curves}
        for key, n_curves in (("HKNN", len(neighbor_figures.CURVES)), ("CKNN", 1))
        for first in (0, 10)
    }
    curves, n = neighbor_figures._curves(blocks)
    assert n == 20
    assert all(np.all(errors == 12) for errors in curves.values())
    del blocks["CKNN/from 10"]
    curves, n = neighbor_figures._curves(blocks)
    assert n == 10
    assert all(np.all(errors == 1) for errors in curves.values())
    assert len(experiment.tasks(False)) == 20


# Published claims


def needs(name):
    missing = name not in datasets.available()
    return pytest.mark.skipif(missing, reason=f"no {name}.npz in PURSUIT_DATA")


@pytest.mark.slow
@needs("usps")
@pytest.mark.parametrize("method, errors", [("KNN", 100), ("SVM", 87)])
def test_rivals_of_table_11_1(method, errors):
    published, figure = local_neighbors.PUBLISHED["usps"][method]
    grid = {"sigmas": [8.0], "Cs": [100.0], "n_rows": 500} if method == "SVM" else {}
    sizes = digit_images.SIZES["usps"]
    found = local_neighbors.measure("usps", sizes, method, published, grid)
    assert abs(found["test_errors"]["published"] - errors) <= 1
    assert digit_images.percent(errors, 2007) == figure


@pytest.mark.slow
@needs("usps")
@pytest.mark.parametrize("model", ["Parzen", "MParzen"])
def test_densities_of_tables_13_3_and_13_4(model):
    of = [
        table[model]
        for table in (
            density_classifiers.PUBLISHED_ERRORS,
            density_classifiers.PUBLISHED_ANCLL,
        )
    ]
    sizes, settings = digit_images.SIZES["usps"], [params for params, *_ in of]
    grid = {key: [value] for key, value in settings[0].items()}
    found = density_classifiers.measure_classifier(model, sizes, grid, settings[1:])
    runs = {str(run["params"]): run for run in found["runs"]}
    errors, likelihood = (runs[str(params)] for params in settings)
    valid = digit_images.percent(errors["validation"]["errors"], 1000)
    assert valid == pytest.approx(of[0][1], abs=0.1)
    test = digit_images.percent(errors["test"]["errors"], 2007)
    assert test == pytest.approx(of[0][2], abs=0.05)
    assert likelihood["validation"]["ancll"] == pytest.approx(of[1][1], abs=5e-4)
    assert likelihood["test"]["ancll"] == pytest.approx(of[1][2], abs=0.011)
