"""The benchmarks can be imported, and their reduced versions run."""

import runpy
from pathlib import Path

import pytest

from pursuit import datasets

FOLDER = Path(__file__).parents[1] / "benchmarks"
SCRIPTS = sorted(FOLDER.glob("*.py"))
# Arguments with which a script takes a few seconds, and the data that it then reads.
REDUCED = [
    ("bench_engine", "--small --only figure", None),
    ("bench_engine", "--small --only omp", None),
    ("bench_engine", "--small --only folds", None),
    ("bench_rows", "--rows 200 --variants KMPRegressor(max_support=5)", None),
    ("bench_losses", "--small --only speed", None),
    ("bench_losses", "--small --only fits", None),
    ("bench_losses", "--small --only choice --sets ripley", "ripley"),
    ("bench_losses", "--small --only calibration --sets ripley", "ripley"),
    ("bench_defaults", "--sets ripley --splits 1", "ripley"),
    ("bench_explain", "--rows 20 --features 4 --points 5 --others 1", None),
    ("bench_export", "--points 10 --rows 300 --repeats 1", None),
    ("bench_files", "200 --processes 1", None),
    ("bench_intervals", "--quick --only cost --tables yacht", "tables/yacht"),
    ("bench_novelty", "--seeds 1 --sets tables/heart", "tables/heart"),
    (
        "bench_ranking",
        "--quick --seeds 1 --groups 5 --sets tables/stock",
        "tables/stock",
    ),
    ("bench_reading", "--rows 2000 --trips 1 --only CSV", None),
    ("bench_round_trips", "--sets ripley --rows 60", "ripley"),
    ("bench_prototypes", "--quick spiral", None),
    ("bench_density", "--queries 20 --literal 1 --only product", "usps"),
]


@pytest.fixture
def run(monkeypatch):
    """Return a function that runs a script as Python does, or only imports it."""
    monkeypatch.syspath_prepend(FOLDER)  # they import each other

    def run(name, *arguments, as_main=True):
        path = FOLDER / f"{name}.py"
        monkeypatch.setattr("sys.argv", [str(path), *arguments])
        return runpy.run_path(str(path), run_name="__main__" if as_main else name)

    return run


@pytest.mark.parametrize("name", [path.stem for path in SCRIPTS])
def test_they_are_imported_and_found_by_make(run, name):
    """`make bench` runs every ``bench_*.py``."""
    assert name.startswith("bench_")
    assert callable(run(name, as_main=False)["main"])


@pytest.mark.parametrize(
    "name, arguments, needs", REDUCED, ids=[f"{n} {a}" for n, a, _ in REDUCED]
)
def test_they_print_a_table(run, capsys, name, arguments, needs):
    if needs and needs not in {*datasets.available(), *datasets.tables()}:
        pytest.skip(f"data set {needs} not found: set PURSUIT_DATA")
    run(name, *arguments.split())
    header, *rows = capsys.readouterr().out.strip().splitlines()
    assert header
    assert rows
