"""The command lines of the README and of the page on the command line run as shown."""

import re
import shlex
from pathlib import Path

import pytest
from command_lines import FAST, houses, run, text_of

from pursuit.commands.demo import tour, write_tables

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
PAGE = ROOT / "docs/command_line.md"
# Labels whose lines hold figures that rounding on another machine may change.
MEASURED = ("model", "error", "columns", "time", "written", "costs", "budget", "rows")


def section(path, title):
    """Return the text of a section of a page."""
    text = path.read_text("utf-8")
    return re.split(r"^## ", text.partition(f"## {title}\n")[2], flags=re.M)[0]


def commands(text):
    """Yield the commands of console blocks, and what is shown below each."""
    for block in re.findall(r"```console\n(.*?)```", text, flags=re.S):
        for part in re.split(r"^\$ ", block, flags=re.M)[1:]:
            line, _, shown = part.partition("\n")
            yield shlex.split(line, comments=True), shown


def labelled(text):
    """Return labels and texts of lines, without spaces that align them."""
    label, found = "", []
    for line in text.splitlines():
        head, _, rest = re.sub(r" {2,}", "\t", line).partition("\t")
        label = head or label
        found.append((label, rest.strip()))
    return found


def check(shown, printed):
    """Compare what a page shows with what is printed, but for measured figures."""
    expected, got = labelled(shown), labelled(printed)
    assert list(dict(expected)) == list(dict(got))
    for label in dict(expected):
        if label not in MEASURED:
            lines = [text for each, text in expected if each == label]
            assert lines == [text for each, text in got if each == label]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tour")
    write_tables(folder)
    return folder


def test_the_tour_of_the_readme(folder, monkeypatch, capsys):
    monkeypatch.chdir(folder)
    lines = list(commands(section(README, "From the command line")))
    assert {words[1] for words, _ in lines} == {
        "fit",
        "predict",
        "info",
        "report",
        "export",
    }
    for words, shown in lines:
        assert words[0] == "pursuit"
        status, out, err = run(capsys, *words[1:])
        assert status == 0, err
        if shown:
            check(shown, out)
    written = {path.name for path in folder.iterdir()}
    assert written == {
        "cancer.csv",
        "new.csv",
        "cancer.pursuit",
        "predictions.csv",
        "cancer.html",
        "cancer.h",
        "cancer.js",
        "cancer_model.py",
    }


def written(path, header, rows, delimiter=","):
    path.write_text(text_of(header, rows, delimiter), encoding="utf-8")


@pytest.fixture
def houses_folder(tmp_path, monkeypatch):
    """A folder with the tables of the page on the command line."""
    monkeypatch.chdir(tmp_path)
    header, rows = houses(400)
    written(tmp_path / "houses.csv", header, rows)
    rows[15][1] = "abc"
    written(tmp_path / "wrong.csv", header, rows)
    sales = [["1.234,50", f"{d}.12.2024", str(d % 7)] for d in range(31, 0, -1)]
    written(tmp_path / "sales.csv", ["price", "sold", "sellers"], sales, ";")
    new = [[*row[:4], row[5]] for row in houses(3, seed=1)[1]]
    new[1][2] = "Essen"
    written(tmp_path / "new.csv", [*header[:4], header[5]], new)
    return tmp_path


def cells(text):
    """The cells of a table: numbers and texts."""
    for cell in re.split(r"[,\n]", text.strip()):
        try:
            yield float(cell)
        except ValueError:
            yield cell


def test_the_page_on_the_command_line(houses_folder, capsys):
    page = PAGE.read_text("utf-8")
    notes = ""
    for words, shown in commands(page):
        status, out, err = run(capsys, *words[1:])
        assert status == 0, err
        notes += err
        if words[1] != "predict":
            check(shown, out)
        else:
            for a, b in zip(cells(out), cells(shown), strict=True):
                assert a == (pytest.approx(b) if isinstance(b, float) else b)
    (strange,) = re.findall(r"^pursuit: column .*$", page, flags=re.M)
    assert strange in notes


def test_the_errors_of_the_page(houses_folder, capsys):
    errors = re.findall(r"^pursuit: error: .*$", PAGE.read_text("utf-8"), flags=re.M)
    fast = ["--target", "sunny", "-o", "houses.pursuit", "--quiet", *FAST]
    assert run(capsys, "fit", "houses.csv", *fast)[0] == 0
    for words, expected in (
        (["fit", "sales.csv", "--target", "sellers"], 1),
        (["fit", "wrong.csv", "--target", "price"], 1),
        (["fit", "houses.csv", "--target", "prise"], 2),
        (["predict", "houses.pursuit", "new.csv"], 1),
    ):
        status, _, err = run(capsys, *words)
        assert status == expected
        assert err.strip() == errors.pop(0)
    assert not errors


def test_options_of_the_page_are_there(capsys):
    text = "".join(
        run(capsys, command, "--help")[1]
        for command in ("fit", "predict", "report", "export", "info", "demo")
    )
    shown = set(re.findall(r"--[a-z][a-z-]+", PAGE.read_text("utf-8")))
    assert not shown - set(re.findall(r"--[a-z][a-z-]+", text))


def test_a_page_that_shows_something_else_is_noticed():
    shown = "table  a.csv: 3 rows\nerror  1 %\n"
    check(shown, "table  a.csv: 3 rows\nerror  2 %\n")
    with pytest.raises(AssertionError):
        check(shown, "table  a.csv: 4 rows\nerror  1 %\n")
    with pytest.raises(AssertionError):
        check(shown, "table  a.csv: 3 rows\n")


def test_the_demo_tours_from_a_table_to_a_report(tmp_path, capsys):
    tour(tmp_path / "new folder", quick=True)
    out = capsys.readouterr().out
    for command in ("fit", "predict", "export", "report"):
        assert f"$ pursuit {command} " in out
    page = tmp_path / "new folder" / "cancer.html"
    assert f"open {page} in a browser" in out
    assert page.stat().st_size > 50_000
    predictions = (page.parent / "predictions.csv").read_text().split()
    assert len(predictions) == 115
    assert set(predictions[1:]) == {"benign", "malignant"}
