"""``pursuit export`` and ``pursuit report``: models leave the command line."""

import importlib
import re

import numpy as np
import pytest
from command_lines import FAST, houses, run, succeed, text_of

import pursuit
from pursuit import cli, report
from pursuit.commands import _sizes
from pursuit.commands._pipelines import support_rows

HEADER, ROWS = houses()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a table, and models of numbers and classes."""
    folder = tmp_path_factory.mktemp("exports")
    (folder / "t.csv").write_text(text_of(HEADER, ROWS), encoding="utf-8")
    for target in ("price", "sunny"):
        model = folder / f"{target}.pursuit"
        words = ["fit", folder / "t.csv", "--target", target, "-o", model, "--quiet"]
        assert cli.main([str(word) for word in [*words, *FAST]]) == 0
    return folder


@pytest.fixture(autouse=True)
def inside(folder, monkeypatch):
    monkeypatch.chdir(folder)


# -- export ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "language, suffix", [("c", "h"), ("js", "js"), ("numpy", "py")]
)
@pytest.mark.parametrize("target", ["price", "sunny"])
def test_a_file_in_another_language(folder, capsys, language, suffix, target):
    out, err = succeed(capsys, "export", f"{target}.pursuit", "--to", language)
    assert err == ""
    assert f"{pursuit.load(f'{target}.pursuit')[-1].n_support_} points" in out
    assert re.search(rf"written\s+{target}.{suffix} \(\d+ ", out)
    file = (folder / f"{target}.{suffix}").read_text(encoding="utf-8")
    assert "town" in file


def test_the_numpy_file_predicts_what_the_command_predicts(folder, capsys, monkeypatch):
    succeed(capsys, "export", "price.pursuit", "--to", "numpy", "-o", "price_model.py")
    monkeypatch.syspath_prepend(folder)
    module = importlib.import_module("price_model")
    rows = [row for row in ROWS if row[0]][:5]
    text = text_of(HEADER, rows)
    (folder / "few.csv").write_text(text, encoding="utf-8")
    out, _ = succeed(capsys, "predict", "price.pursuit", "few.csv")
    shown = [float(line) for line in out.split()[1:]]
    days = (np.array([r[3] for r in rows], "datetime64[D]")).astype(int)
    X = [
        [float(r[0]), float(r[1]), r[2], float(day), r[5]]
        for r, day in zip(rows, days, strict=True)
    ]
    np.testing.assert_allclose(module.predict(X), shown, rtol=1e-9)


def test_fewer_points(folder, capsys):
    words = ["export", "price.pursuit", "--to", "js", "-o", "small.js"]
    out, _ = succeed(capsys, *words, "--points", "2")
    assert "2 points" in out
    status, _, err = run(capsys, *words, "--points", "700")
    assert status == 2
    assert "--points 700: the file holds models of up to" in err


@pytest.mark.parametrize("language", ["js", "numpy"])
def test_as_many_points_as_fit(folder, capsys, language):
    words = ["export", "price.pursuit", "--to", language, "-o", "part"]
    succeed(capsys, *words, "--points", "3")
    room = (folder / "part").stat().st_size
    out, _ = succeed(capsys, *words, "--max-bytes", room)
    assert "3 points" in out
    assert (folder / "part").stat().st_size <= room
    status, _, err = run(capsys, *words, "--max-bytes", "100")
    assert status == 1
    assert "--max-bytes 100: the model of one point takes" in err


def test_a_budget_in_c(capsys):
    words = ["export", "price.pursuit", "--to", "c", "-o", "model.h"]
    out, _ = succeed(capsys, *words)
    assert re.search(r"costs .* bytes of flash", out)
    flash = int(re.search(r"(\d+) bytes of flash", out)[1])
    out, _ = succeed(capsys, *words, "--max-bytes", flash - 1)
    assert int(re.search(r"(\d+) bytes of flash", out)[1]) < flash
    assert "budget" in out


def test_names_in_c(folder, capsys):
    words = ["export", "price.pursuit", "--to", "c"]
    succeed(capsys, *words, "-o", "my-model 2.h")
    assert "my_model_2" in (folder / "my-model 2.h").read_text()
    succeed(capsys, *words, "-o", "m.h", "--name", "houses")
    assert "houses_predict" in (folder / "m.h").read_text()


def test_the_standard_output(folder, capfdbinary):
    assert cli.main(["export", "price.pursuit", "--to", "js", "-o", "-"]) == 0
    shown = capfdbinary.readouterr().out
    assert cli.main(["export", "price.pursuit", "--to", "js", "-o", "same.js"]) == 0
    assert shown == (folder / "same.js").read_bytes()


@pytest.mark.parametrize(
    "words, message",
    [
        (["--to", "js", "--number", "fixed"], "--number fixed: --to js has double"),
        (["--to", "pascal"], "invalid choice: 'pascal'"),
        ([], "--to"),
        (["--to", "c", "--max-bytes", "few"], "'few' is not a whole number"),
    ],
)
def test_wrong_usage(words, message, capsys):
    status, out, err = run(capsys, "export", "price.pursuit", *words)
    assert (status, out) == (2, "")
    assert message in err


def test_onnx(folder, capsys):
    pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    out, _ = succeed(capsys, "export", "sunny.pursuit", "--to", "onnx")
    assert "float64" in out
    assert (folder / "sunny.onnx").stat().st_size > 1000


def test_a_model_without_a_formula(folder, capsys):
    X = np.random.default_rng(0).normal(size=(30, 2))
    pursuit.save(pursuit.ParzenWindows().fit(X), "density.pursuit")
    status, _, err = run(capsys, "export", "density.pursuit", "--to", "js")
    assert status == 1
    assert err.count("\n") == 1
    assert "density.pursuit: " in err


def test_sizes_of_a_pipeline():
    model = pursuit.load("price.pursuit")
    assert _sizes.size_of(model) == 6
    smaller = _sizes.of_size(model, 2)
    assert smaller[-1].n_support_ == 2
    assert model[-1].n_support_ == 6
    assert smaller[0] is model[0]


@pytest.mark.parametrize("target", ["price", "sunny"])
def test_support_points_as_rows_of_the_table(target):
    model = pursuit.load(f"{target}.pursuit")
    rows = support_rows(model)
    with pytest.warns(UserWarning, match="valid feature names"):
        prepared = model[:-1].transform(rows)
    np.testing.assert_allclose(prepared, model[-1].support_vectors_, rtol=1e-12)


# -- report ------------------------------------------------------------------------


@pytest.fixture
def written(monkeypatch):
    """What reports are written from."""
    seen = []
    write = report.write

    def note(model, path, **options):
        seen.append(options)
        return write(model, path, **options)

    monkeypatch.setattr(report, "write", note)
    return seen


def test_of_the_table_of_the_fit_the_rows_held_out_are_judged(folder, capsys, written):
    out, err = succeed(capsys, "report", "price.pursuit", "t.csv")
    assert "24 rows that the fit has not seen" in out
    assert "who gets the page can read some rows" in err
    (told,) = written
    assert told["is_held_out"]
    assert len(told["y"]) == 24
    assert len(told["y_train"]) == 96
    page = (folder / "price.html").read_text(encoding="utf-8")
    assert "price" in page
    # Rows of support points are those of the training rows.
    model = pursuit.load("price.pursuit")[-1]
    y_train = told["y_train"]
    assert len(model.support_) == 6
    assert model.support_.max() < len(y_train)


def test_support_points_are_rows_of_the_training_part(capsys, written):
    succeed(
        capsys, "report", "sunny.pursuit", "t.csv", "-o", "s.html", "--title", "Sun"
    )
    (told,) = written
    assert told["title"] == "Sun"
    model = pursuit.load("sunny.pursuit")
    with pytest.warns(UserWarning, match="valid feature names"):
        prepared = model[:-1].transform(told["X_train"])
    np.testing.assert_allclose(
        prepared[model[-1].support_], model[-1].support_vectors_, rtol=1e-12
    )


def test_new_rows_are_all_judged(folder, capsys, written):
    (folder / "new.csv").write_text(text_of(HEADER, ROWS[:50]), encoding="utf-8")
    out, _ = succeed(capsys, "report", "price.pursuit", "new.csv", "-o", "n.html")
    assert "50 rows, which are not the table of the fit" in out
    assert len(written[0]["y"]) == 50
    assert "X_train" not in written[0]


def test_after_a_refit_no_row_is_new(capsys, written):
    words = ["fit", "t.csv", "--target", "price", "--refit", "-o", "re", *FAST]
    succeed(capsys, *words)
    out, _ = succeed(capsys, "report", "re", "t.csv", "-o", "re.html")
    assert "120 rows, all of which the fit has seen" in out
    assert not written[0]["is_held_out"]
    assert len(written[0]["y_train"]) == 120


def test_a_report_needs_the_target(folder, capsys):
    rows = [[*row[:4], row[5]] for row in ROWS]
    header = [name for name in HEADER if name != "price"]
    (folder / "blind.csv").write_text(text_of(header, rows), encoding="utf-8")
    status, _, err = run(capsys, "report", "price.pursuit", "blind.csv")
    assert status == 1
    assert "blind.csv: there is no target 'price'" in err
