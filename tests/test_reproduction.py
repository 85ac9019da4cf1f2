"""The framework of the reproduction, with experiments made for the purpose."""

import csv
import errno
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from pursuit import datasets
from reproduction import command, experiments, origin, page, results, running
from reproduction.cache import Cache, key
from reproduction.experiment import Experiment, Report, Row, Task
from reproduction.protocols import survey_sets, table_sets

RAN = []
CODE_VERSION = 1


def square(number, sign=1):
    RAN.append(number)
    return {"square": sign * number**2}


def fail_at_two(number):
    if number == 2:
        raise ZeroDivisionError("two is not allowed")
    return square(number)


def stop_at_two(number):
    if number == 2:
        raise KeyboardInterrupt
    return square(number)


def shrug_off_an_interrupt(number):
    """As a fit does: it ends with what it has at the first Ctrl-C."""
    if number == 2:
        try:
            os.kill(os.getpid(), signal.SIGINT)
            while True:
                pass
        except KeyboardInterrupt:
            pass
    return square(number)


def squares_report(found):
    rows = [
        Row(
            name,
            "square",
            result["square"],
            published=4.0,
            why=f"reason of {name}",
            digits=0,
        )
        for name, result in found.items()
    ]
    rows.append(Row("today's", "square", 987.0, size=654.0))
    return Report(rows, notes=["a note on squares"], draw=lambda figure: None)


def experiment(run=square, name="squares", needs=()):
    def tasks(quick):
        numbers = (1, 2) if quick else (1, 2, 3)
        return [Task(f"number {n}", run, {"number": n}) for n in numbers]

    return Experiment(
        name,
        "Squares",
        "Nobody (1999)",
        needs,
        tasks,
        squares_report,
        seeds="Nothing is random.",
    )


@pytest.fixture(autouse=True)
def forget():
    RAN.clear()


@pytest.fixture
def only(monkeypatch):
    """Return a function that replaces all experiments by its arguments."""

    def replace_all(*others):
        monkeypatch.setattr(experiments, "EXPERIMENTS", others)

    return replace_all


def run(what, folder=None, **settings):
    return running.run(what, cache=Cache(folder), verbose=0, **settings)


def reproduce(tmp_path, *words):
    output, cache = tmp_path / "out", tmp_path / "cache"
    return command.main(["--output", str(output), "--cache", str(cache), *words])


# Running and keeping


def test_what_is_kept_is_not_run_again(tmp_path):
    first = run(experiment(), tmp_path)
    assert RAN == [1, 2, 3]
    assert run(experiment(), tmp_path) == first
    assert RAN == [1, 2, 3]


def test_nothing_is_kept_without_a_folder():
    run(experiment())
    run(experiment())
    assert RAN == [1, 2, 3] * 2


def test_quick_runs_less_and_its_tasks_serve_the_whole(tmp_path):
    assert list(run(experiment(), tmp_path, quick=True)) == ["number 1", "number 2"]
    run(experiment(), tmp_path)
    assert RAN == [1, 2, 3]


@pytest.mark.parametrize("damage", ["", "{", '{"result": 3}', "[]", '{"result": {}}'])
def test_torn_files_are_computed_again(tmp_path, damage):
    first = run(experiment(), tmp_path)
    for path in tmp_path.iterdir():
        path.write_text(damage)
    RAN.clear()
    again = run(experiment(), tmp_path)
    assert RAN == [1, 2, 3]
    assert [r["result"] for r in again.values()] == [
        r["result"] for r in first.values()
    ]


def test_no_drafts_are_left(tmp_path):
    run(experiment(), tmp_path)
    assert {path.suffix for path in tmp_path.iterdir()} == {".json"}


def test_the_key_holds_arguments_and_versions(monkeypatch):
    task = Task("a", square, {"number": 1})
    assert key(task) == key(replace(task, name="b"))
    assert key(task) != key(replace(task, arguments={"number": 2}))
    assert key(task) != key(replace(task, run=fail_at_two))
    before = key(task)
    monkeypatch.setattr(sys.modules[square.__module__], "CODE_VERSION", 2)
    assert key(task) != before


def test_a_module_that_moves_keeps_its_results(monkeypatch, tmp_path):
    run(experiment(), tmp_path)
    here = sys.modules[square.__module__]
    moved = ModuleType(f"elsewhere.{here.__name__.rpartition('.')[2]}")
    moved.CODE_VERSION = CODE_VERSION
    monkeypatch.setitem(sys.modules, moved.__name__, moved)
    monkeypatch.setattr(square, "__module__", moved.__name__)
    RAN.clear()
    run(experiment(), tmp_path)
    assert RAN == []


def test_families_are_told_apart_by_their_names():
    """What is kept of a task is found by the name of its module alone."""
    names = [family.__name__.rpartition(".")[2] for family in experiments.FAMILIES]
    assert len(set(names)) == len(names)


@pytest.fixture
def data(monkeypatch, tmp_path):
    """What writes the data sets that are looked for, in the only folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    monkeypatch.setattr(datasets, "folders", lambda: [folder])

    def write(name, scale=1.0):
        X, y = scale * np.eye(4), np.array([0, 0, 1, 1])
        np.savez(folder / f"{name}.npz", X=X, y=y)

    write("sonar")
    write("pima")
    return write


def test_what_was_kept_of_other_data_is_run_again(data, tmp_path):
    kept, of_sonar = tmp_path / "cache", experiment(needs=("sonar",))
    run(of_sonar, kept)
    data("pima", scale=2.0)
    run(of_sonar, kept)
    assert RAN == [1, 2, 3]
    data("sonar", scale=2.0)
    assert running.kept(of_sonar, Cache(kept)) == {}
    for _ in range(2):
        run(of_sonar, kept)
        assert RAN == [1, 2, 3] * 2


def test_tasks_that_read_one_set_do_not_hang_on_others(data, tmp_path):
    def tasks(quick):
        first, second, third = experiment().tasks(quick)
        return [first, replace(second, needs=("pima",)), third]

    by_set = replace(experiment(needs=("sonar",)), tasks=tasks)
    run(by_set, tmp_path / "cache")
    data("pima", scale=2.0)
    RAN.clear()
    run(by_set, tmp_path / "cache")
    assert RAN == [2]


def without(folder, *recorded):
    """Make kept results those of a time when something was not recorded yet."""
    for path in folder.iterdir():
        record = json.loads(path.read_text())
        for name in recorded:
            del record[name]
        path.write_text(json.dumps(record))


def test_results_of_unknown_data_are_run_again(data, tmp_path):
    kept, of_sonar = tmp_path / "cache", experiment(needs=("sonar",))
    run(of_sonar, kept)
    without(kept, "data", "versions", "date")
    assert running.kept(of_sonar, Cache(kept)) == {}
    run(of_sonar, kept)
    assert RAN == [1, 2, 3] * 2


def test_results_of_other_sources_are_kept_and_told(
    only, monkeypatch, capsys, tmp_path
):
    only(experiment())
    monkeypatch.setattr(origin, "sources", lambda: "a1")
    assert reproduce(tmp_path, "squares", "--quick") == 0
    assert "other sources" not in capsys.readouterr().err
    monkeypatch.setattr(origin, "sources", lambda: "b2")
    assert reproduce(tmp_path, "squares") == 0
    assert RAN == [1, 2, 3]
    told = "squares: 2 of 3 results are kept ones, of other sources"
    assert told in capsys.readouterr().err
    assert results.load(tmp_path / "out", "squares")["sources"] == "a1/b2"
    assert "sources of the library `a1`, `b2`." in (tmp_path / "out.md").read_text()


def test_sources_that_were_not_recorded_are_not_invented(only, monkeypatch, tmp_path):
    only(experiment())
    monkeypatch.setattr(origin, "sources", lambda: "a1")
    assert reproduce(tmp_path, "squares", "--quick") == 0
    without(tmp_path / "cache", "sources")
    assert reproduce(tmp_path, "squares", "--quick") == 0
    page = tmp_path / "out.md"
    assert "sources of the library not recorded." in page.read_text()
    assert reproduce(tmp_path, "squares") == 0
    assert RAN == [1, 2, 3]
    assert "sources of the library `a1` and others, not recorded." in page.read_text()


def test_the_digest_of_the_sources_follows_the_library_alone(monkeypatch, tmp_path):
    package, beside = tmp_path / "src/pursuit", tmp_path / "reproduction"
    modules = (
        package / "datasets/__init__.py",
        package / "path.py",
        beside / "page.py",
    )
    for path in modules:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("default = 1\n")
    monkeypatch.setattr(datasets, "__file__", str(modules[0]))
    digest = origin.sources.__wrapped__
    before = digest()
    (beside / "page.py").write_text("default = 2\n")
    (package / "path.py").write_bytes(b"default = 1\r\n")
    assert digest() == before
    (package / "path.py").write_text("default = 2\n")
    assert digest() != before


def test_the_library_does_not_import_the_reproduction():
    """The wheel holds the library alone."""
    for path in (Path(datasets.__file__).parents[1]).rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"^\s*(from|import) reproduction\b", text, re.M), path


def test_every_task_that_reads_data_says_which():
    for known in experiments.EXPERIMENTS:
        for task in known.work(False):
            name = task.arguments.get("name")
            if name in (*datasets.names(), *table_sets.TABLES):
                assert task.needs == (name,)
            elif known.needs and name not in survey_sets.SHIPPED:
                assert set(task.needs) == set(known.needs)


def test_an_interrupted_run_goes_on(tmp_path):
    with pytest.raises(KeyboardInterrupt):
        run(experiment(stop_at_two), tmp_path)
    assert RAN == [1]
    assert len(list(tmp_path.iterdir())) == 1
    known = Cache(tmp_path).load(experiment(stop_at_two).tasks(False)[0])
    assert known["result"] == {"square": 1}


@pytest.mark.skipif(os.name == "nt", reason="signals are others there")
def test_a_result_cut_short_by_an_interrupt_is_not_kept(tmp_path):
    before = signal.getsignal(signal.SIGINT)  # to ignore it, in the background
    with pytest.raises(KeyboardInterrupt):
        run(experiment(shrug_off_an_interrupt), tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    assert signal.getsignal(signal.SIGINT) is before


def test_a_failure_does_not_lose_the_others(tmp_path):
    with pytest.raises(
        running.TaskError, match="1 of 3 tasks failed(.|\n)*two is not allowed"
    ):
        run(experiment(fail_at_two), tmp_path)
    assert RAN == [1, 3]
    assert len(list(tmp_path.iterdir())) == 2


def test_what_is_known_so_far_can_be_written(only, tmp_path):
    only(experiment())
    assert reproduce(tmp_path, "squares", "--partial") == 1
    assert not (tmp_path / "out" / "squares.json").exists()
    assert reproduce(tmp_path, "squares", "--quick") == 0
    RAN.clear()
    assert reproduce(tmp_path, "squares", "--partial") == 0
    assert RAN == []
    content = results.load(tmp_path / "out", "squares")
    assert content["missing"] == ["number 3"]
    assert list(content["tasks"]) == ["number 1", "number 2"]
    page = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert "**Partial: 2 of 3 tasks have run.**" in page
    assert reproduce(tmp_path, "squares") == 0
    assert results.load(tmp_path / "out", "squares")["missing"] == []


def test_processes_give_the_same(tmp_path):
    alone = run(experiments.find(["figure-9.5"])[0], quick=True)
    shared = run(experiments.find(["figure-9.5"])[0], tmp_path, quick=True, jobs=2)
    assert shared["losses"]["result"] == alone["losses"]["result"]


def test_tasks_of_one_name_are_refused():
    task = Task("twice", square, {"number": 1})
    twice = replace(experiment(), tasks=lambda quick: [task, task])
    with pytest.raises(ValueError, match="same name"):
        run(twice)


# Rows


@pytest.mark.parametrize(
    "row, differs",
    [
        (Row("", "", 1.0), False),
        (Row("", "", 1.0, 0.1, 1.19), False),
        (Row("", "", 1.0, 0.1, 1.21), True),
        (Row("", "", 3.404, published=3.40), False),
        (Row("", "", 3.406, published=3.40), True),
        (Row("", "", 16.0, published=17.0, digits=0), True),
    ],
)
def test_what_counts_as_a_difference(row, differs):
    assert row.differs is differs


# Files and page


def test_results_hold_settings_versions_and_figures(tmp_path):
    records = run(experiment(), quick=True)
    paths = results.write(tmp_path, experiment(), records, quick=True, jobs=3)
    assert [path.name for path in paths] == [
        "squares-quick.json",
        "squares-quick.csv",
        "squares-quick.png",
    ]
    content = json.loads(paths[0].read_text())
    assert content["quick"] is True
    assert content["seeds"] == "Nothing is random."
    assert content["machine"]["jobs"] == 3
    assert {"python", "numpy", "scikit-learn", "pursuit"} <= set(content["versions"])
    assert content["tasks"]["number 2"]["arguments"] == {"number": 2}
    assert content["tasks"]["number 2"]["result"] == {"square": 4}
    with paths[1].open() as file:
        assert [row["ours"] for row in csv.DictReader(file)] == ["1", "4", "987.0"]


def test_the_versions_are_those_that_made_the_figures(only, monkeypatch, tmp_path):
    """And not those with which the files are written."""
    only(experiment())
    then = {"pursuit": "1", "numpy": "2.9"}
    monkeypatch.setattr(origin, "versions", lambda: then)
    assert reproduce(tmp_path, "squares", "--quick") == 0
    today = {"pursuit": "1", "numpy": "2.10", "fastrvm": "3"}
    monkeypatch.setattr(origin, "versions", lambda: today)
    for words in ((), ("--partial",)):
        assert reproduce(tmp_path, "squares", "--quick", *words) == 0
        assert results.load(tmp_path / "out", "squares")["versions"] == then
    assert reproduce(tmp_path, "squares") == 0
    content = results.load(tmp_path / "out", "squares")
    several = {"pursuit": "1", "numpy": "2.9/2.10", "fastrvm": "3"}
    assert content["versions"] == several
    assert "pursuit 1, numpy 2.9/2.10, fastrvm 3;" in (tmp_path / "out.md").read_text()


def test_the_date_is_that_of_the_last_task(tmp_path):
    records = run(experiment())
    for day, record in enumerate(records.values(), start=1):
        record["date"] = f"2001-02-0{4 - day}"
    (path, *_) = results.write(tmp_path, experiment(), records, quick=False)
    assert json.loads(path.read_text())["date"] == "2001-02-03"


def test_rivals_that_are_installed_have_their_version(monkeypatch):
    monkeypatch.setattr(origin, "OPTIONAL", ("joblib", "not-a-package"))
    assert "joblib" in origin.versions()
    assert "not-a-package" not in origin.versions()


def test_without_matplotlib_there_is_no_picture(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    records = run(experiment())
    paths = results.write(tmp_path, experiment(), records, quick=False)
    assert [path.suffix for path in paths] == [".json", ".csv"]
    assert "![" not in page.section(results.load(tmp_path, "squares"), "out")


def test_whole_results_come_before_quick_ones(tmp_path):
    for quick in (False, True):
        records = run(experiment(), quick=quick)
        results.write(tmp_path, experiment(), records, quick=quick)
    assert results.load(tmp_path, "squares")["quick"] is False
    (tmp_path / "squares.json").unlink()
    assert results.load(tmp_path, "squares")["quick"] is True


def test_the_page_says_what_the_results_say(tmp_path):
    results.write(tmp_path / "out", experiment(), run(experiment()), quick=False)
    unrun = experiment(name="unrun")
    path = page.write(tmp_path / "out", [experiment(), unrun])
    text = path.read_text()
    assert path == tmp_path / "out.md"
    assert "| number 1 | square | 4 | 1 | -3 | reason of number 1 |" in text
    assert "| number 2 | square | 4 | 4 | +0 |  |" in text
    assert "| today's | 987.00 | 654 |" in text
    assert "- a note on squares" in text
    assert "| `unrun` | Squares | – | not run | – |" in text
    assert "out/squares.png" in text
    assert "quick" not in text.lower()


def test_a_reason_is_given_once():
    rows = [
        Row("a", "", 1.0, published=2.0, why="because"),
        Row("b", "", 2.0, published=2.0, why="because"),
        Row("c", "", 1.0, published=2.0, why="because"),
        Row("d", "", 1.0, published=2.0, why="else"),
        Row("e", "", 1.0, published=2.0, why="because"),
    ]
    expected = ["because", "", "as above", "else", "because"]
    assert list(page._reasons(rows)) == expected


def test_every_figure_of_the_page_is_in_the_results(tmp_path):
    """Change a results file by hand, and the page follows it."""
    (json_path, *_) = results.write(
        tmp_path / "out", experiment(), run(experiment()), quick=False
    )
    before = page.write(tmp_path / "out", [experiment()]).read_text()
    content = json.loads(json_path.read_text())
    for row in content["rows"]:
        row["ours"] += 1000.0
    json_path.write_text(json.dumps(content))
    after = page.write(tmp_path / "out", [experiment()]).read_text()
    table = re.compile(r"^\| (?:number|today).*$", re.MULTILINE)
    for old, new in zip(table.findall(before), table.findall(after), strict=True):
        assert old != new


def test_the_page_of_the_documentation_is_made_from_its_results(tmp_path):
    """Nobody typed into it: `make reproduce REPRODUCE_ARGS=--page` puts it right."""
    docs = Path(__file__).parents[1] / "docs"
    shutil.copytree(docs / "reproduction", tmp_path / "reproduction")
    made = page.write(tmp_path / "reproduction", experiments.EXPERIMENTS)
    kept = (docs / "reproduction.md").read_text(encoding="utf-8")
    assert made.read_text(encoding="utf-8") == kept


def test_the_published_results_say_what_their_seeds_are():
    docs = Path(__file__).parents[1] / "docs"
    for known in experiments.EXPERIMENTS:
        content = results.load(docs / "reproduction", known.name)
        assert content["seeds"] == known.seeds, known.name


def test_quick_is_labeled(tmp_path):
    records = run(experiment(), quick=True)
    results.write(tmp_path / "out", experiment(), records, quick=True)
    text = page.write(tmp_path / "out", [experiment()]).read_text()
    assert "**Quick, reduced version.**" in text
    assert '`make reproduce REPRODUCE_ARGS="squares --quick"`' in text
    assert "published (quick)" in text


# The command


def test_python_minus_m_from_the_root():
    done = subprocess.run(
        [sys.executable, "-m", "reproduction", "--list"],
        cwd=Path(__file__).parents[1],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("table-9.1 ")


def test_the_list_names_every_experiment(capsys):
    assert command.main(["--list"]) == 0
    out = capsys.readouterr().out
    for known in experiments.EXPERIMENTS:
        assert re.search(rf"^{re.escape(known.name)} +\S", out, re.MULTILINE)


def test_names_are_unique():
    names = [known.name for known in experiments.EXPERIMENTS]
    assert len(set(names)) == len(names)


def test_every_experiment_names_known_data_and_makes_tasks():
    for known in experiments.EXPERIMENTS:
        assert set(known.needs) <= {*datasets.names(), *table_sets.TABLES}
        for quick in (True, False):
            tasks = known.tasks(quick)
            names = {task.name for task in tasks}
            assert len(names) == len(tasks)
            for task in tasks:
                assert key(task)["arguments"] == dict(task.arguments)


def test_seeds_are_told_and_those_that_are_arguments_are_named():
    for known in experiments.EXPERIMENTS:
        assert re.search("[Nn]othing is random|seed", known.seeds), known.name
        named = set(re.findall("`(.*?)`", known.seeds))
        arguments = {key for task in known.tasks(False) for key in task.arguments}
        assert named <= arguments, known.name
        assert {"seed", "seeds", "split", "order", "repeat"} & arguments <= named


def test_an_unknown_name_is_an_error_that_names_the_nearest(capsys, tmp_path):
    assert reproduce(tmp_path, "figure-9.55") == 2
    err = capsys.readouterr().err
    assert "figure-9.5 " in err or "figure-9.5?" in err
    assert err.count("\n") == 1


def test_the_page_alone(only, tmp_path):
    only(experiment())
    assert reproduce(tmp_path, "squares") == 0
    (tmp_path / "out.md").unlink()
    RAN.clear()
    assert reproduce(tmp_path, "--page") == 0
    assert "number 1" in (tmp_path / "out.md").read_text()
    assert RAN == []


def test_nothing_asked_for_is_an_error(capsys, tmp_path):
    assert reproduce(tmp_path) == 2
    assert "--all" in capsys.readouterr().err


@pytest.mark.parametrize("jobs", ["0", "many"])
def test_jobs_must_be_a_positive_number(jobs, capsys, tmp_path):
    with pytest.raises(SystemExit) as exit_info:
        reproduce(tmp_path, "--all", "--jobs", jobs)
    assert exit_info.value.code == 2
    assert "number of processes" in capsys.readouterr().err


def test_all_runs_what_it_can(only, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(datasets, "folders", lambda: [tmp_path / "nowhere"])
    only(
        experiment(),
        experiment(name="lacks-data", needs=("sonar",)),
        experiment(fail_at_two, name="fails"),
        experiment(name="goes-on"),
    )
    assert reproduce(tmp_path, "--all") == 1
    shown = capsys.readouterr()
    assert "done: squares, goes-on\nskipped: lacks-data\nfailed: fails" in shown.out
    assert re.search("lacks-data skipped: .*sonar.npz.*PURSUIT_DATA", shown.err)
    assert "two is not allowed" in shown.err
    assert (tmp_path / "out" / "goes-on.json").is_file()
    assert not (tmp_path / "out" / "fails.json").exists()


@pytest.mark.parametrize("content", [b"", b"not an archive"])
@pytest.mark.parametrize("is_kept", [False, True])
def test_data_that_cannot_be_read_are_one_line(
    is_kept, content, data, only, capsys, tmp_path
):
    only(experiment(needs=("sonar",)), experiment(name="goes-on"))
    if is_kept:
        assert reproduce(tmp_path, "squares") == 0
    (tmp_path / "data" / "sonar.npz").write_bytes(content)
    capsys.readouterr()
    RAN.clear()
    assert reproduce(tmp_path, "squares") == 1
    assert RAN == []
    first, last = capsys.readouterr().err.splitlines()
    assert re.match(r"squares failed: .*sonar.npz is not a sound copy.*replace", first)
    assert last == "reproduction: error: not done: squares; see above"
    assert reproduce(tmp_path, "--all") == 1
    assert "done: goes-on\nfailed: squares" in capsys.readouterr().out


def test_skipping_is_no_failure(only, monkeypatch, tmp_path):
    monkeypatch.setattr(datasets, "folders", lambda: [tmp_path / "nowhere"])
    only(experiment(name="lacks-data", needs=("sonar",)))
    assert reproduce(tmp_path, "--all") == 0


def test_skipping_what_was_asked_for_is_one(only, monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(datasets, "folders", lambda: [tmp_path / "nowhere"])
    only(experiment(name="lacks-data", needs=("sonar",)), experiment())
    assert reproduce(tmp_path, "lacks-data", "squares") == 1
    assert "not done: lacks-data" in capsys.readouterr().err


@pytest.mark.parametrize("option", ["--all", "--page"])
def test_names_beside_all_are_an_error(option, capsys, tmp_path):
    assert reproduce(tmp_path, option, "table-9.1") == 2
    assert f"{option} takes no names; got table-9.1" in capsys.readouterr().err


def spoiled(**changes):
    """What spoils a results file: some of its contents become others."""
    return lambda text: json.dumps({**json.loads(text), **changes})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "{}",
        lambda text: "[]",
        lambda text: "[1, 2]",
        spoiled(title=None),
        spoiled(machine={}),
        spoiled(rows=[{}]),
        spoiled(rows=["ours"]),
        spoiled(rows=[{"label": "", "quantity": "", "ours": 1.0, "theirs": 2.0}]),
    ],
)
def test_an_unreadable_result_is_named(only, capsys, tmp_path, spoil):
    only(experiment())
    assert reproduce(tmp_path, "squares") == 0
    path = tmp_path / "out" / "squares.json"
    path.write_text(spoil(path.read_text()))
    capsys.readouterr()
    assert reproduce(tmp_path, "--page") == 1
    err = capsys.readouterr().err
    assert re.search(r"squares.json holds no results \(.*\): delete it", err)
    assert err.count("\n") == 1


@pytest.mark.parametrize("option, folder", [("--output", "out"), ("--cache", "cache")])
def test_a_folder_that_takes_no_files_is_told_before_the_work(
    option, folder, only, capsys, tmp_path
):
    only(experiment())
    (tmp_path / folder).write_text("")
    assert reproduce(tmp_path, "squares") == 1
    assert RAN == []
    err = capsys.readouterr().err
    assert f"{option} {tmp_path / folder} cannot be written to: File exists" in err
    assert err.count("\n") == 1


def test_a_folder_that_lets_nobody_write_is_told(monkeypatch, only, capsys, tmp_path):
    """Not by its permissions, which do not hold for every user."""

    def refuse(**where):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(command, "TemporaryFile", refuse)
    only(experiment())
    assert reproduce(tmp_path, "squares") == 1
    assert RAN == []
    assert "out cannot be written to: Permission denied" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["--page"], ["squares", "--partial"]])
def test_what_runs_nothing_needs_no_cache(words, only, tmp_path):
    only(experiment())
    reproduce(tmp_path, *words)
    assert not (tmp_path / "cache").exists()


def test_some_by_name_and_without_keeping(only, tmp_path):
    only(experiment(), experiment(name="other"))
    for _ in range(2):
        assert reproduce(tmp_path, "other", "--quick", "--no-cache") == 0
    assert RAN == [1, 2] * 2
    assert not (tmp_path / "cache").exists()
    assert (tmp_path / "out" / "other-quick.json").is_file()
    assert not (tmp_path / "out" / "squares-quick.json").exists()


def test_an_interrupt_of_the_command_is_status_130(only, tmp_path):
    only(experiment(stop_at_two))
    assert reproduce(tmp_path, "--all") == 130


def test_an_interrupt_leaves_the_page_of_what_has_ended(only, tmp_path):
    only(experiment(), experiment(stop_at_two, name="stops"))
    assert reproduce(tmp_path, "--all") == 130
    text = (tmp_path / "out.md").read_text(encoding="utf-8")
    assert "| number 3 | square |" in text
    assert "| `stops` | Squares | – | not run | – |" in text


def test_the_listing_says_which_data_are_absent(monkeypatch, only, tmp_path):
    monkeypatch.setattr(datasets, "folders", lambda: [tmp_path])
    only(experiment(needs=("sonar",)))
    assert list(command.listing()) == ["squares  Squares [data not here yet: sonar]"]
