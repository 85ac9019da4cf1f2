"""The comparison of defaults on tables: protocol, ratios, and what may be absent."""

import os
import re

import numpy as np
import pytest
from joblib import Parallel, delayed
from matplotlib.figure import Figure
from sklearn.svm import SVR

from pursuit import datasets
from reproduction import command, experiments
from reproduction.experiment import Task
from reproduction.experiments import tables
from reproduction.methods import defaults, memory
from reproduction.protocols import survey_sets, table_sets
from reproduction.protocols.survey_sets import Problem
from reproduction.protocols.table_sets import GROUPS, LARGE, SETS, TABLES, Sizes

SMALL = Sizes(1000, 2000)


def need_tables():
    if not set(TABLES) <= set(datasets.tables()):
        pytest.skip("the tables are absent; set PURSUIT_DATA")


def report(name, results):
    """An experiment's report, its picture drawn."""
    found = experiments.find([name])[0].report(results)
    found.draw(Figure())
    return found


def result(error, task="regression", size=None, seconds=1.0, **others):
    about = {"n_train": 10, "n_test": 10, "n_columns": 2, "cores": 2, "task": task}
    return {**about, "error": error, "size": size, "seconds": seconds, **others}


@pytest.fixture
def small_grid(monkeypatch):
    """Let the machine search less."""
    monkeypatch.setattr(defaults, "C", (3.0, 30.0))
    monkeypatch.setattr(defaults, "GAMMAS", (0.3, 1.0))


# Protocol


@pytest.mark.parametrize(
    "n_rows, sizes, n_train, n_test",
    [
        (100, SMALL, 70, 30),
        (101, SMALL, 70, 31),
        (1500, SMALL, 1000, 500),
        (9000, SMALL, 1000, 2000),
        (12960, Sizes(10_000, 10_000, share=1.0), 10_000, 2960),
        (70_000, Sizes(10_000, 10_000, share=1.0), 10_000, 10_000),
    ],
)
def test_splits_are_the_first_and_the_next_of_a_permutation(
    n_rows, sizes, n_train, n_test
):
    for seed in (0, 2):
        train, test = table_sets.split(n_rows, seed, sizes)
        order = np.random.default_rng(seed).permutation(n_rows)
        np.testing.assert_array_equal(train, order[:n_train])
        np.testing.assert_array_equal(test, order[n_train : n_train + n_test])


def test_problems_are_in_raw_units():
    p = table_sets.problem("sklearn diabetes", 1, SMALL)
    X, y = survey_sets.SHIPPED["sklearn diabetes"](return_X_y=True)
    rows = np.random.default_rng(1).permutation(442)
    np.testing.assert_array_equal(p.X, X[rows[:309]])
    np.testing.assert_array_equal(p.y_test, y[rows[309:]])
    assert table_sets.task_of("sklearn diabetes") == "regression"
    assert table_sets.task_of("sklearn digits") == "several classes"


def test_problems_of_sets_with_gaps_and_of_sparse_ones():
    if not {"wisconsin", "a9a"} <= set(datasets.available()):
        pytest.skip("data absent; set PURSUIT_DATA")
    p = table_sets.problem("wisconsin", 0, SMALL)
    assert len(p.y) + len(p.y_test) == 683
    assert np.isfinite(p.X).all()
    assert p.X.max() == 10.0
    p = table_sets.problem("a9a", 0, SMALL)
    assert isinstance(p.X, np.ndarray)
    assert p.X.shape == (1000, 123)
    assert table_sets.task_of("a9a") == "two classes"


def test_errors_by_hand():
    classes = np.array([0, 1, 2, 2])
    assert table_sets.error(classes, classes) == 0.125
    assert table_sets.error(classes, np.array([0, 1, 1, 1])) == 2.5 / 4
    y = np.array([1.0, 3.0])
    assert table_sets.error(y, np.array([1.0, 3.0])) == 0.0
    assert table_sets.error(y, np.array([2.0, 2.0])) == 1.0
    assert table_sets.error(y, np.array([1.0, 5.0])) == 2.0


def test_halves_are_every_second_name():
    assert list(TABLES) == sorted(TABLES)
    assert len(set(SETS)) == len(SETS) == 41 + len(survey_sets.SETS)
    chosen, others = (GROUPS[part] for part in table_sets.PARTS[:2])
    assert chosen[:2] == ("tables/ailerons", "tables/anneal")
    assert others[0] == "tables/airfoil"
    assert len(chosen) == 21
    assert {*chosen, *others} == set(TABLES)


def test_the_names_are_those_of_the_files():
    need_tables()
    assert datasets.tables() == list(TABLES)


@pytest.mark.slow
def test_large_sets_are_those_of_many_rows():
    need_tables()
    present = {*datasets.available(), *TABLES, *survey_sets.SHIPPED}
    counts = {n: len(table_sets.complete_rows(n)[1]) for n in SETS if n in present}
    large = {name for name, count in counts.items() if count > table_sets.MANY}
    assert large == set(LARGE) & present


# Methods


def test_the_machine_is_the_one_of_the_protocol():
    """By hand: the best of 20 settings by 5 folds, of a standardized target."""
    from sklearn.model_selection import cross_val_score
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2)) * [1.0, 1000.0]
    y = 5 + 40 * np.sin(X[:, 0]) + X[:, 1] / 1000
    z = (y - y.mean()) / y.std()

    def machine(C, gamma):
        model = SVR(C=C, gamma=gamma / 2, epsilon=0.1)
        return make_pipeline(StandardScaler(), model)

    settings = [(c, g) for c in (0.3, 3, 30, 300) for g in (0.03, 0.1, 0.3, 1, 3)]
    scores = [cross_val_score(machine(*s), X, z, cv=5).mean() for s in settings]
    best = machine(*settings[int(np.argmax(scores))]).fit(X, z)
    X_new = rng.normal(size=(9, 2)) * [1.0, 1000.0]
    found = defaults.fitted(
        defaults.MACHINE, Problem(X, y, X_new, np.zeros(9)), cores=1
    )
    expected = y.mean() + y.std() * best.predict(X_new)
    np.testing.assert_allclose(found.prediction, expected)
    assert found.size == len(best[-1].support_)


@pytest.mark.parametrize("method", defaults.METHODS)
@pytest.mark.parametrize("n_classes", [0, 2, 3])
def test_methods_learn(method, n_classes, small_grid):
    kind = defaults.METHODS[method]
    if not kind.is_installed:
        pytest.skip(f"{kind.package} is not installed (extra: compare)")
    X = np.random.default_rng(0).uniform(size=(300, 2)) * [1.0, 1000.0]
    y = X[:, 0] + X[:, 1] / 1000
    if n_classes:
        # Labels that are no codes: a method must give back what it got.
        y = 10 * np.digitize(y, np.linspace(0.4, 1.6, n_classes + 1)[1:-1]) - 1
    p = Problem(X[:200], y[:200], X[200:], y[200:])
    found = defaults.fitted(method, p, cores=1)
    assert table_sets.error(p.y_test, found.prediction) < 0.15
    assert found.prediction.shape == (100,)
    assert found.seconds > 0
    if method in defaults.TREES:
        assert found.size is None
    else:
        assert 0 < found.size <= 200


def test_caps_are_kept():
    X = np.random.default_rng(0).normal(size=(150, 3))
    y = np.sin(3 * X).sum(axis=1) + np.random.default_rng(1).normal(size=150)
    sizes = {
        m: defaults.fitted(m, Problem(X, y, X, y), cores=1).size
        for m in (defaults.KMP, *defaults.CAPPED)
    }
    assert sizes["KMP, 50 points"] <= 50
    assert sizes["KMP, 100 points"] <= 100


# Tasks


def test_rivals_that_are_absent_have_no_column(monkeypatch):
    monkeypatch.setattr(
        defaults, "find_spec", lambda name: None if name == "catboost" else True
    )
    methods = {task.arguments["method"] for task in tables._tasks(False)}
    assert methods == set(defaults.METHODS) - {"CatBoost"}
    results = {
        f"tables/yacht/0/{method}": result(0.5)
        for method in methods
        if method != "LightGBM"
    }
    found = report("tables", results)
    assert not any(row.quantity == "CatBoost" for row in found.rows)
    left_out = [note.split()[0] for note in found.notes if "is left out" in note]
    assert left_out == ["CatBoost", "LightGBM"]


def test_tables_that_are_absent_are_told(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(datasets, "folders", lambda: [tmp_path / "nowhere"])
    words = ["--output", str(tmp_path / "out"), "--no-cache", "--quick", "tables"]
    assert command.main(words) == 1
    told = capsys.readouterr().err
    assert re.search("tables skipped: no file tables/ailerons.npz .*PURSUIT_DATA", told)
    lines = {line.split()[0]: line for line in command.listing()}
    assert lines["tables"].endswith(
        "[data not here yet: tables/ailerons, tables/airfoil, tables/anneal, 38 more]"
    )


def test_sets_of_the_survey_that_are_absent_are_left_out(monkeypatch):
    monkeypatch.setattr(datasets, "available", lambda: ["sonar", "mnist"])
    beside = {*TABLES, *survey_sets.SHIPPED}
    names = {task.arguments["name"] for task in tables._tasks(False)}
    assert names == {"sonar", "mnist", *beside}
    names = {task.arguments["name"] for task in tables._large_tasks(False)}
    assert names == {"mnist", *table_sets.LARGE_TABLES}


def test_tasks_of_all_and_of_the_quick_version():
    whole, quick = tables._tasks(False), tables._tasks(True)
    seeds = {}
    for task in whole:
        seeds.setdefault(task.arguments["name"], set()).add(task.arguments["seed"])
    for name in tables.ONE_SEED:
        assert seeds.pop(name, {0}) == {0}
    assert all(several == {0, 1, 2} for several in seeds.values())
    assert {task.arguments["seed"] for task in quick} == {0}
    keys = [(task.name, task.arguments) for task in whole]
    assert all((task.name, task.arguments) in keys for task in quick)
    large = tables._large_tasks(False)
    assert {task.arguments["n_train"] for task in large} == {10_000}
    assert not any("SVM" in task.name or "points" in task.name for task in large)
    needs = {task.arguments["name"]: task.needs for task in whole}
    assert needs["tables/yacht"] == ("tables/yacht",)
    assert needs["sklearn digits"] == ()


def test_a_table_is_measured(small_grid):
    need_tables()
    found = tables.measure("tables/yacht", 0, defaults.MACHINE)
    assert (found["n_train"], found["n_test"], found["n_columns"]) == (215, 93, 6)
    assert found["task"] == "regression"
    assert 0 < found["error"] < 0.2
    assert 0 < found["size"] <= 215


def test_memory_is_that_of_another_process():
    need_tables()
    ballast = np.ones(1 << 28, dtype=np.uint8)  # 256 MiB, and none of them counts
    found = tables.measure_many("tables/kin40k", 0, "HistGradientBoosting", 1000)
    assert (found["n_train"], found["n_test"]) == (1000, 1000)
    assert found["error"] < 1
    if found["memory"] is not None:
        assert 0 < found["memory_before"] <= found["memory"]
        assert found["memory"] < memory.peak()
    assert ballast.any()


def _hold(n_bytes):
    before = memory.peak()
    held = np.ones(n_bytes, dtype=np.uint8)
    del held
    return before, memory.peak()


def test_peaks_are_kept_after_the_memory_is_free():
    before, after = memory.apart(_hold, 1 << 27)
    if before is None:
        pytest.skip("this system does not tell")
    assert (1 << 26) < after - before < (1 << 28)


def _process():
    return memory.apart(os.getpid), os.getpid()


def test_tasks_that_share_the_cores_start_processes_too():
    """As with --jobs 2."""
    found = Parallel(n_jobs=2)(delayed(_process)() for _ in range(2))
    assert all(apart not in (here, os.getpid()) for apart, here in found)


# Report


def test_ratios_are_of_mean_errors():
    """Geometric means over sets of the ratio of means over seeds."""
    results = {
        "tables/ailerons/0/KMP": result(0.1, size=0, seconds=1),
        "tables/ailerons/1/KMP": result(0.3, size=0, seconds=3),
        "tables/ailerons/0/SVM, tuned": result(0.3, size=40, seconds=1),
        "tables/ailerons/1/SVM, tuned": result(0.5, size=60, seconds=1),
        "tables/airfoil/0/KMP": result(0.2, size=10, seconds=1),
        "tables/airfoil/0/SVM, tuned": result(0.1, size=20, seconds=2),
        "tables/anneal/0/KMP": result(0.1, "several classes", 10, 5),
        "tables/anneal/0/SVM, tuned": result(0.1, "several classes", 80, 1),
        "heart/0/KMP": result(0.4, "two classes", 5, 4),
        "heart/0/SVM, tuned": result(0.1, "two classes", 5, 1),
        "tables/heart/0/KMP": result(0.4, "two classes", 5, 1),  # no rival's result
    }
    found = report("tables", results)
    rows = {row.label: row.ours for row in found.rows if row.quantity == "SVM, tuned"}
    start = "KMP's error / its, "
    assert rows[f"{start}regression, all sets (2)"] == pytest.approx(1.0)
    assert rows[f"{start}two classes, all sets (1)"] == pytest.approx(4.0)
    assert rows[f"{start}all tasks, all sets (4)"] == pytest.approx(4 ** (1 / 4))
    half = "tables on which rules were chosen (2)"
    assert rows[f"{start}all tasks, {half}"] == pytest.approx(0.5 ** (1 / 2))
    assert rows[f"{start}all tasks, other tables (1)"] == pytest.approx(2.0)
    assert rows[f"{start}all tasks, sets of the survey (1)"] == pytest.approx(4.0)
    assert f"{start}two classes, other tables (0)" not in rows
    # A constant has one point: 1/50, 10/20, 10/80, 5/5.
    points = (0.02 * 0.5 * 0.125) ** (1 / 4)
    assert rows["KMP's points / its, geometric mean"] == pytest.approx(points)
    assert rows["KMP's seconds / its, median"] == pytest.approx(3.0)  # 2, ½, 5, 4
    of_set = {row.label: row for row in found.rows if "ailerons" in row.label}
    assert of_set["tables/ailerons (10 rows × 2), error"].ours == pytest.approx(0.4)
    (line,) = [note for note in found.notes if "the error of SVM, tuned" in note]
    assert line.startswith("**KMP: 1.414 times the error of SVM, tuned** with 0.188")
    assert "regression 1.000; tables on which" in line
    assert "on 2 of 4 sets; 3.00 times its seconds" in line


def test_caps_are_compared_with_ours_and_the_machine():
    results = {
        "tables/yacht/0/KMP": result(0.2, size=80),
        "tables/yacht/0/KMP, 50 points": result(0.3, size=40),
        "tables/yacht/0/SVM, tuned": result(0.6, size=160),
    }
    notes = report("tables", results).notes
    told = [note.split(" times the points")[0] for note in notes if "**KMP, 50" in note]
    assert told == [
        "**KMP, 50 points: 1.500 times the error of KMP** with 0.500",
        "**KMP, 50 points: 0.500 times the error of SVM, tuned** with 0.250",
    ]


def test_memory_is_reported():
    results = {
        "tables/kin40k/0/KMP": result(0.1, size=90, memory=3 << 20),
        "tables/kin40k/0/CatBoost": result(0.2, memory=None),
    }
    rows = report("tables-large", results).rows
    values = {(row.label.split(", ")[-1], row.quantity): row.ours for row in rows}
    assert values["peak MiB", "KMP"] == 3.0
    assert ("peak MiB", "CatBoost") not in values
    assert values["points", "KMP"] == 90
    assert not any(row.label.startswith("KMP's points") for row in rows)


@pytest.mark.parametrize("name", ["tables", "tables-large"])
def test_reports_of_nothing_are_empty(name):
    assert not report(name, {}).rows


def test_both_are_experiments_like_others():
    for known in experiments.find(["tables", "tables-large"]):
        assert all(isinstance(task, Task) for task in known.work(True))
        assert all(name in TABLES for name in known.needs)
