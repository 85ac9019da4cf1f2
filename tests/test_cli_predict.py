"""``pursuit predict`` and ``pursuit info`` on models that ``pursuit fit`` wrote."""

import csv
import io
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from command_lines import FAST, houses, run, succeed, text_of
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pursuit
from pursuit import KMPRegressor, cli
from pursuit.tables import sources

HEADER, ROWS = houses()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, and models of numbers, classes and probabilities."""
    folder = tmp_path_factory.mktemp("models")
    (folder / "t.csv").write_text(text_of(HEADER, ROWS), encoding="utf-8")
    for name, *options in (
        ("price", "--target", "price"),
        ("sunny", "--target", "sunny"),
        ("proba", "--target", "town", "--proba", "--ignore", "sold"),
    ):
        words = ["fit", folder / "t.csv", *options, "-o", folder / name, "--quiet"]
        assert cli.main([str(word) for word in [*words, *FAST]]) == 0
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


def table(text):
    """Return the rows of a CSV text as dicts."""
    return list(csv.DictReader(io.StringIO(text)))


def written(name, header, rows):
    with open(name, "w", encoding="utf-8") as file:
        file.write(text_of(header, rows))
    return name


def test_predictions_are_in_the_order_of_the_rows(capsys):
    out, err = succeed(capsys, "predict", "price", "t.csv")
    predicted = np.array([float(row["prediction"]) for row in table(out)])
    prices = np.array([float(row[4]) for row in ROWS])
    assert np.corrcoef(predicted, prices)[0, 1] > 0.9
    assert "'price' is in the table: error " in err
    assert "120 rows); rows of the fit may be among them" in err


def test_a_file_of_predictions(folder, capsys):
    out, _ = succeed(capsys, "predict", "sunny", "t.csv", "-o", "p.csv")
    assert out == "written  p.csv (120 rows)\n"
    shown, err = succeed(capsys, "predict", "sunny", "t.csv", "-o", "-")
    assert (folder / "p.csv").read_text(encoding="utf-8") == shown
    assert {row["prediction"] for row in table(shown)} == {"yes", "no"}
    assert "of 120 rows misclassified" in err
    assert not list(folder.glob("*.part"))


def test_probabilities(capsys):
    out, _ = succeed(capsys, "predict", "proba", "t.csv", "--proba")
    for row in table(out):
        names = ["p_Aachen", "p_Bonn", "p_Köln"]
        P = [float(row[name]) for name in names]
        assert sum(P) == pytest.approx(1)
        assert row["prediction"] == names[int(np.argmax(P))].removeprefix("p_")


def test_intervals_of_numbers(capsys):
    out, _ = succeed(capsys, "predict", "price", "t.csv", "--interval", "0.8")
    rows = table(out)
    assert list(rows[0]) == ["prediction", "low", "high"]
    low, high, predicted = (
        np.array([float(row[name]) for row in rows])
        for name in ("low", "high", "prediction")
    )
    assert np.all((low < predicted) & (predicted < high))
    prices = np.array([float(row[4]) for row in ROWS])
    assert np.mean((low <= prices) & (prices <= high)) > 0.75
    wider, _ = succeed(capsys, "predict", "price", "t.csv", "--interval", "0.9")
    assert all(float(row["low"]) <= x for row, x in zip(table(wider), low, strict=True))


def test_intervals_of_classes(capsys):
    words = ["predict", "proba", "t.csv", "--interval", "0.9", "--proba"]
    rows = table(succeed(capsys, *words)[0])
    assert list(rows[0])[:2] == ["prediction", "possible"]
    towns = {row["prediction"] for row in rows}
    assert {town for row in rows for town in row["possible"].split()} <= towns
    pairs = zip(ROWS, rows, strict=True)
    assert np.mean([row[2] in said["possible"].split() for row, said in pairs]) > 0.85


@pytest.mark.parametrize("wrong", ["0", "1", "90", "much"])
def test_intervals_of_no_share(capsys, wrong):
    status, _, err = run(capsys, "predict", "price", "t.csv", "--interval", wrong)
    assert status == 2
    assert f"'{wrong}' is not a share between 0 and 1" in err


def test_intervals_that_are_not_there(capsys, monkeypatch):
    """As of a fit by blocks."""
    monkeypatch.setattr(KMPRegressor, "_has_folds", False)
    status, out, err = run(capsys, "predict", "price", "t.csv", "--interval", "0.9")
    assert status == 2
    assert not out
    assert "holds no errors on rows that were held out" in err


def test_probabilities_that_are_not_there(capsys):
    status, out, err = run(capsys, "predict", "sunny", "t.csv", "--proba")
    assert status == 2
    assert out == ""
    assert "fit it with `pursuit fit --proba`" in err


def test_columns_can_be_kept(capsys):
    out, _ = succeed(capsys, "predict", "price", "t.csv", "--keep", "town", "sold")
    rows = table(out)
    assert [(r["town"], r["sold"]) for r in rows] == [(r[2], r[3]) for r in ROWS]
    status, _, err = run(capsys, "predict", "price", "t.csv", "--keep", "Town")
    assert status == 1
    assert "no column for --keep: 'Town': did you mean 'town'?" in err


def test_columns_in_another_order_and_others(capsys):
    header = ["note", *HEADER[::-1][:-2], "rooms", "area"]
    rows = [["x", *row[::-1]] for row in ROWS]
    written("other.csv", header, rows)
    out, err = succeed(capsys, "predict", "price", "other.csv")
    assert "columns that the model does not use: 'note'" in err
    assert out == succeed(capsys, "predict", "price", "t.csv")[0]
    _, err = succeed(capsys, "predict", "price", "other.csv", "--quiet")
    assert err == ""


def test_missing_columns_are_named(capsys):
    written("less.csv", HEADER[1:], [row[1:] for row in ROWS])
    status, out, err = run(capsys, "predict", "price", "less.csv")
    assert (status, out) == (1, "")
    assert "less.csv: the model needs the column 'area'; the table has 'rooms'" in err


def test_unknown_words_and_missing_cells_are_predicted(capsys):
    rows = [["", "", "Paris", "", ""], ["50", "2", "", "2024-01-01", "yes"]]
    header = [name for name in HEADER if name != "price"]
    written("new.csv", header, rows)
    out, err = succeed(capsys, "predict", "price", "new.csv")
    assert all(np.isfinite(float(row["prediction"])) for row in table(out))
    assert "column 'town': 1 row with words that the fit did not see" in err
    assert "'Paris'" in err


@pytest.mark.parametrize(
    "cells, message",
    [
        (
            ["abc", "2", "Bonn", "2024-01-01", "yes"],
            "column 'area': 'abc' is not a number",
        ),
        (["inf", "2", "Bonn", "2024-01-01", "yes"], "'inf' is not a finite number"),
        (
            ["5", "2", "Bonn", "1.1.2024", "yes"],
            "column 'sold': '1.1.2024' is not a da",
        ),
    ],
)
def test_wrong_cells_are_named_and_no_file_is_left(folder, cells, message, capsys):
    header = [name for name in HEADER if name != "price"]
    good = ["50", "2", "Bonn", "2024-01-01", "yes"]
    written("bad.csv", header, [good, cells])
    status, _, err = run(capsys, "predict", "price", "bad.csv", "-o", "bad-p.csv")
    assert status == 1
    assert f"bad.csv: row 3, {message}"[:12] in err
    assert message in err
    assert err.count("\n") == 1
    assert not list(folder.glob("bad-p*"))


def test_a_table_without_rows_has_no_predictions(capsys):
    written("none.csv", HEADER, [])
    assert succeed(capsys, "predict", "price", "none.csv")[0] == "prediction\n"


def test_blocks_do_not_matter(capsys, monkeypatch):
    whole, _ = succeed(capsys, "predict", "proba", "t.csv")
    monkeypatch.setattr(sources, "BLOCK_ROWS", 7)
    assert succeed(capsys, "predict", "proba", "t.csv")[0] == whole


def test_memory_stays_flat(folder, capsys, monkeypatch):
    """Four times as many rows take as much memory."""
    monkeypatch.setattr(sources, "BLOCK_ROWS", 500)
    words = ["predict", "price", "many.csv", "-o", "many-p.csv", "--quiet"]
    succeed(capsys, "predict", "price", "t.csv", "--quiet")  # what is loaded once
    peaks = []
    for n in (40, 160):
        written("many.csv", HEADER, ROWS * n)
        tracemalloc.start()
        try:
            succeed(capsys, *words)
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[1] < 1.1 * peaks[0]
    assert (folder / "many-p.csv").read_text("utf-8").count("\n") == 160 * 120 + 1


def test_a_pipe(folder):
    line = "import sys; from pursuit.cli import main; sys.exit(main())"
    with open("t.csv", encoding="utf-8") as file:
        done = subprocess.run(
            [sys.executable, "-c", line, "predict", "price", "-", "--quiet"],
            stdin=file,
            capture_output=True,
            text=True,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") == 121


def test_models_from_python(folder, capsys):
    """A pipeline that was saved in Python says which columns it takes."""
    pd = pytest.importorskip("pandas")
    rows = [row for row in ROWS if row[0]]
    frame = pd.DataFrame(rows, columns=HEADER)[["area", "rooms"]].astype(float)
    price = [float(row[4]) for row in rows]
    model = make_pipeline(StandardScaler(), KMPRegressor("rbf", max_support=5))
    pursuit.save(model.fit(frame, price), "python.pursuit")
    written("complete.csv", HEADER, rows)
    out, _ = succeed(capsys, "predict", "python.pursuit", "complete.csv")
    predicted = [float(row["prediction"]) for row in table(out)]
    np.testing.assert_allclose(predicted, model.predict(frame), rtol=1e-12)
    assert "rooms" in succeed(capsys, "info", "python.pursuit")[0]


def test_a_model_without_columns(capsys):
    X = np.random.default_rng(0).normal(size=(30, 2))
    pursuit.save(pursuit.ParzenWindows().fit(X), "density.pursuit")
    status, _, err = run(capsys, "predict", "density.pursuit", "t.csv")
    assert status == 1
    assert "does not say which columns it takes: use it in Python" in err
    assert "ParzenWindows" in succeed(capsys, "info", "density.pursuit")[0]


def test_info(capsys):
    out, _ = succeed(capsys, "info", "proba")
    for part in (
        "KMPClassifier",
        "3: Aachen, Bonn, Köln",
        "probabilities  yes: predict --proba",
        "intervals      yes: predict --interval 0.9",
        "'town'",
        "task           classification",
        "of 24 rows held out are classified wrongly",
        "Gaussian kernel\n",
        "96 fitted of 120",
        "category (no, yes)",
    ):
        assert part in out
