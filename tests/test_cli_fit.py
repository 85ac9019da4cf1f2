"""``pursuit fit``: what it makes of tables, what it says, and what it writes."""

import gzip
import io
import json
import re
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from command_lines import FAST, houses, run, succeed, text_of

import pursuit
from pursuit.cli import main
from pursuit.commands import _model_files, _training
from pursuit.commands._recipes import Recipe
from pursuit.tables import Notation, sources


@pytest.fixture(scope="module")
def csv(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "houses.csv"
    path.write_text(text_of(*houses()), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """Each test has a folder of its own, into which models go."""
    monkeypatch.chdir(tmp_path)


def recipe(path="houses.pursuit"):
    return _model_files.load(_model_files.Path(path))[1]


def test_a_regression(csv, capsys):
    out, err = succeed(
        capsys, "fit", csv, "--target", "price", "--ignore", "sunny", *FAST
    )
    assert err == ""
    for line in (
        f"table     {csv}: 120 rows, 6 columns",
        "2 numbers",
        "1 category: 'town' (3 words)",
        "1 date: 'sold', as days since 1970",
        "left out  'sunny': as asked for",
        "target    'price': regression (numbers)",
        "rows      96 to fit, 24 held out to measure the error (the same each time)",
        "model     6 points (of 96 rows), Gaussian kernel",
        "of the model that is written, which has not seen these rows",
        "written   houses.pursuit (",
        "pursuit predict houses.pursuit new.csv",
    ):
        assert line in out
    assert "missing cells in 'area': filled with the median, and marked" in out


def test_a_classification(csv, capsys):
    out, _ = succeed(capsys, "fit", csv, "--target", "sunny", "-o", "m.pursuit", *FAST)
    assert "'sunny': classification (2 classes): " in out
    assert "of 24 rows held out are classified wrongly" in out
    assert "if all are called '" in out
    assert list(pursuit.load("m.pursuit").classes_) == ["no", "yes"]


def test_the_error_is_that_of_the_file(csv, capsys):
    succeed(capsys, "fit", csv, "--target", "price", *FAST)
    model, told = pursuit.load("houses.pursuit"), recipe()
    header, rows = houses()
    split = told.split
    table = [dict(zip(header, row, strict=True)) for row in rows]
    from pursuit.tables import drawn_rows, open_table

    read, _ = drawn_rows(open_table(str(csv)), [*told.fields, told.target])
    names = [*told.names, told.target.name]
    is_out = split.holds_out(read.numbered_digests(names, split.seed), None)
    X, y = read.array(told.names)[is_out], read.columns["price"][is_out]
    assert len(y) == 24 < len(table)
    with pytest.warns(UserWarning, match="valid feature names"):
        error = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    assert told.facts.measured.error == pytest.approx(error)
    assert error < 0.5 * told.facts.measured.baseline


def test_importances_are_of_whole_columns(csv, capsys):
    out, _ = succeed(capsys, "fit", csv, "--target", "price", *FAST)
    shares = dict(recipe().facts.importances)
    assert set(shares) == {"area", "rooms", "town", "sold", "sunny"}
    assert sum(shares.values()) == pytest.approx(1, abs=1e-4)
    assert max(shares, key=shares.get) == "area"
    assert f"area   {100 * shares['area']:5.1f} %\n" in out


def test_the_file_does_not_depend_on_the_order_of_the_rows(csv, capsys):
    header, rows = houses()
    (csv.parent / "other.csv").write_text(text_of(header, rows[::-1]), encoding="utf-8")
    for name in ("houses", "other"):
        file = csv.parent / f"{name}.csv"
        succeed(capsys, "fit", file, "--target", "price", "--quiet", *FAST)
    with open("houses.pursuit", "rb") as one, open("other.pursuit", "rb") as other:
        assert one.read() == other.read()


def test_other_forms_of_the_same_table_give_the_same_file(csv, capsys, monkeypatch):
    text = csv.read_text(encoding="utf-8")
    forms = {
        "houses.tsv": text.replace(",", "\t").encode(),
        "houses.txt": text.replace(",", ";").replace(".", ",").encode("utf-16"),
        "houses.csv.gz": gzip.compress(text.encode()),
        "-": text.encode(),
    }
    succeed(capsys, "fit", csv, "--target", "price", "--quiet", "-o", "one", *FAST)
    for name, content in forms.items():
        with open(name.replace("-", "stdin"), "wb") as file:
            file.write(content)
        stdin = io.TextIOWrapper(io.BytesIO(content))
        monkeypatch.setattr(sys, "stdin", stdin)
        decimal = ["--decimal", ","] if name.endswith("txt") else []
        words = [name, "--target", "price", "-o", "other", "--quiet", *decimal, *FAST]
        succeed(capsys, "fit", *words)
        if decimal:  # which the file remembers
            assert recipe("other") == replace(recipe("one"), notation=Notation(","))
            continue
        with open("one", "rb") as one, open("other", "rb") as other:
            assert one.read() == other.read(), name


def test_parquet_gives_the_same_file(csv, capsys):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")

    pd.read_csv(csv, parse_dates=["sold"]).to_parquet("houses.parquet")
    for file, model in ((csv, "one"), ("houses.parquet", "other")):
        succeed(capsys, "fit", file, "--target", "sunny", "-o", model, "--quiet", *FAST)
    with open("one", "rb") as one, open("other", "rb") as other:
        assert one.read() == other.read()


def test_columns_of_parquet_that_cannot_be_read_are_left_out(csv, capsys):
    pytest.importorskip("pyarrow")
    pd = pytest.importorskip("pandas")

    frame = pd.read_csv(csv).assign(tags=[["a", "b"]] * 120, raw=[b"\x00"] * 120)
    frame.to_parquet("houses.parquet")
    words = ["fit", "houses.parquet", "--quiet", *FAST, "--target"]
    assert run(capsys, *words, "price", "--ignore", "tags")[0] == 0
    out, _ = succeed(capsys, "fit", "houses.parquet", *FAST, "--target", "price")
    assert "left out  'tags': its type list<" in out
    assert "'raw': its type binary is no number, date, word or truth value" in out
    succeed(capsys, "predict", "houses.pursuit", "houses.parquet", "--quiet")
    status, _, err = run(capsys, *words, "tags")
    assert status == 2
    assert "the target 'tags' cannot be read: its type list<" in err


def test_numbers_that_differ_beyond_their_digits_are_told(capsys):
    rows = [[str(10**20 + i), str(i), f"{i}.5"] for i in range(40, 0, -1)]
    with open("t.csv", "w") as file:
        file.write(text_of(["big", "x", "y"], rows))
    out, _ = succeed(capsys, "fit", "t.csv", "--target", "y", *FAST)
    assert "'big': it is the same in all rows, to the 15 digits that are read" in out


def test_the_model_takes_frames_by_name(csv, capsys):
    pd = pytest.importorskip("pandas")
    succeed(capsys, "fit", csv, "--target", "price", "--ignore", "sold", *FAST)
    succeed(capsys, "predict", "houses.pursuit", csv, "-o", "p.csv")
    frame = pd.read_csv(csv)
    predicted = pursuit.load("houses.pursuit").predict(frame[frame.columns[::-1]])
    np.testing.assert_allclose(predicted, pd.read_csv("p.csv").prediction, rtol=1e-12)


def test_proba(csv, capsys):
    succeed(capsys, "fit", csv, "--target", "sunny", "--proba", *FAST)
    assert hasattr(pursuit.load("houses.pursuit"), "predict_proba")


def test_whole_numbers_of_few_kinds_are_classes(csv, capsys):
    out, _ = succeed(capsys, "fit", csv, "--target", "rooms", *FAST)
    assert "'rooms': classification (5 different whole numbers)" in out
    assert pursuit.load("houses.pursuit").classes_.dtype.kind == "i"
    out, _ = succeed(
        capsys, "fit", csv, "--target", "rooms", "--task", "regression", *FAST
    )
    assert "'rooms': regression (as asked for)" in out


def test_labels_of_many_digits_are_not_rounded(capsys):
    header, rows = houses(40)
    labels = ("123456789012345678", "123456789012345779")
    rows = [[*row, labels[i % 2]] for i, row in enumerate(rows)]
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of([*header, "y"], rows))
    words = ["--target", "y", "--task", "classification", *FAST]
    succeed(capsys, "fit", "t.csv", *words)
    assert tuple(pursuit.load("t.pursuit").classes_) == labels


def test_few_whole_numbers_in_few_rows_are_no_classes(capsys):
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write("a,y\n" + "".join(f"{i / 7},{i}\n" for i in (1, 5, 2, 9, 4, 8)))
    out, _ = succeed(capsys, "fit", "t.csv", "--target", "y", *FAST)
    assert "'y': regression (numbers)" in out


def test_numbers_can_be_categories(csv, capsys):
    out, _ = succeed(
        capsys, "fit", csv, "--target", "price", "--category", "rooms", *FAST
    )
    assert "3 categories: 'rooms' (5 words)" in out
    assert recipe().words["rooms"] == ["1", "2", "3", "4", "5"]


def test_text_can_be_a_category(capsys):
    header, rows = houses(200)
    rows = [[*row, f"street {i % 70}"] for i, row in enumerate(rows)]
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of([*header, "street"], rows))
    words = ["--target", "price", "--category", "street", *FAST]
    succeed(capsys, "fit", "t.csv", *words)
    assert len(recipe("t.pursuit").words["street"]) > 50
    succeed(capsys, "predict", "t.pursuit", "t.csv", "-o", "p.csv")


def test_what_is_left_out_is_said(capsys):
    header, rows = houses()
    rows = [[str(i), str(i + 1), *row, "same", ""] for i, row in enumerate(rows)]
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of(["", "id", *header, "land", "note"], rows))
    out, _ = succeed(capsys, "fit", "t.csv", "--target", "price", *FAST)
    assert "'id': it counts the rows (--number keeps it)" in out
    assert "'land': it is the same in all rows" in out
    assert "'note': it is empty" in out
    assert "1 column without a name" in out
    assert set(recipe("t.pursuit").names) == set(header) - {"price"}
    out, _ = succeed(
        capsys, "fit", "t.csv", "--target", "price", "--number", "id", *FAST
    )
    assert "'id'" not in out


def test_rows_without_a_target_are_left_out(capsys):
    header, rows = houses()
    for row in rows[::10]:
        row[4] = "NA"
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of(header, rows))
    out, _ = succeed(capsys, "fit", "t.csv", "--target", "price", *FAST)
    assert "12 rows left out, whose target is missing ('NA' counts as missing)" in out
    assert "86 to fit, 22 held out" in out


def test_weights(capsys):
    header, rows = houses()
    weights = np.arange(120) % 3
    weighted = [[*row, str(w)] for row, w in zip(rows, weights, strict=True)]
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of([*header, "w"], weighted))
    words = ["--target", "price", "--weights", "w", "--test-size", "0", *FAST]
    out, _ = succeed(capsys, "fit", "t.csv", *words)
    assert "not measured: --test-size 0 holds out no rows" in out
    weighted = pursuit.load("t.pursuit")[-1].dual_coef_
    succeed(capsys, "fit", "t.csv", *words[:2], "--ignore", "w", *words[4:])
    assert not np.array_equal(pursuit.load("t.pursuit")[-1].dual_coef_, weighted)


def test_refit_takes_all_rows(csv, capsys):
    succeed(capsys, "fit", csv, "--target", "price", *FAST)
    before = recipe().facts.measured
    out, _ = succeed(capsys, "fit", csv, "--target", "price", "--refit", *FAST)
    assert "of the model before it was fitted again, to all rows" in out
    assert recipe().facts.measured == before
    out, _ = succeed(capsys, "info", "houses.pursuit")
    assert "120 fitted of 120" in out


def test_the_split_depends_on_the_seed(csv, capsys):
    splits = []
    for seed in ("0", "1"):
        words = ["--target", "price", "--random-state", seed, *FAST]
        succeed(capsys, "fit", csv, *words)
        splits.append(recipe().split)
    assert splits[0] != splits[1]


def test_quiet(csv, capsys):
    out, err = succeed(capsys, "fit", csv, "--target", "price", "--quiet", *FAST)
    assert out == err == ""


# -- more rows than memory ---------------------------------------------------------


def test_rows_beyond_the_memory_are_drawn(capsys, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_ROWS", 500)
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of(*houses(3000)))
    words = ["--target", "price", "--max-memory", "1 MiB", *FAST]
    out, _ = succeed(capsys, "fit", "t.csv", *words)
    (line,) = [line for line in out.split("\n") if "drawn" in line]
    n, of, total = line.split()[2:5]
    assert (of, total) == ("of", "3000")
    assert 200 < int(n) < 2000
    assert "more do not fit into --max-memory" in line
    facts = recipe("t.pursuit").facts
    assert (facts.n_drawn, facts.n_rows) == (int(n), 3000)


def test_all_rows_beyond_the_memory_count(capsys, monkeypatch):
    header, rows = houses(600)
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of(header, rows + rows[:40]))  # some rows are equal
    seen = []
    fit_batches = pursuit.KMPRegressor.fit_batches

    def noted(model, source):
        blocks = list(source())
        seen.append(np.concatenate([y for _, y, _ in blocks]))
        assert len({X.shape[1] for X, _, _ in blocks}) == 1
        return fit_batches(model, source)

    monkeypatch.setattr(pursuit.KMPRegressor, "fit_batches", noted)
    monkeypatch.setattr(sources, "BLOCK_ROWS", 100)
    monkeypatch.setattr(_training, "_room", lambda *_: 200)
    words = ["fit", "t.csv", "--target", "price", "--ignore", "sunny", *FAST]
    out, _ = succeed(capsys, *words)
    assert "all 640 are used, read again and again: they do not fit into" in out
    assert "200 of them, drawn at random (the same each time), decide how" in out
    facts = recipe("t.pursuit").facts
    n_out = facts.measured.n_rows
    assert f"{640 - n_out} to fit, {n_out} held out" in out
    assert (facts.n_drawn, facts.n_fitted) == (200, 640 - n_out)
    assert len(seen.pop()) == 640 - n_out
    # Each row once, whatever the cut between those drawn and the rest.
    prices = sorted(float(row[header.index("price")]) for row in rows + rows[:40])
    succeed(capsys, *words, "--refit", "-o", "refitted")
    assert len(seen) == 2
    np.testing.assert_array_equal(np.sort(seen[1]), prices)
    out, _ = succeed(capsys, "report", "t.pursuit", "t.csv")
    assert "640 rows, of which the fit has seen some" in out
    with open("u.csv", "w", encoding="utf-8") as file:
        file.write(text_of(header, rows[::-1] + rows[:40]))
    out, _ = succeed(capsys, "fit", "u.csv", *words[2:])
    one, other = (pursuit.load(f"{name}.pursuit") for name in "tu")
    np.testing.assert_allclose(one[-1].dual_coef_, other[-1].dual_coef_, rtol=1e-8)


def test_an_amount_that_is_too_little(csv, capsys):
    words = ["--target", "price", "--max-memory", "2 KiB", *FAST]
    status, _, err = run(capsys, "fit", csv, *words)
    assert status == 1
    assert "--max-memory: 2 KiB is too little to fit 50 rows" in err
    assert err.count("\n") == 1


def test_max_rows(csv, capsys):
    out, _ = succeed(capsys, "fit", csv, "--target", "price", "--max-rows", "50", *FAST)
    assert (
        "only 50 of 120 are used, drawn at random (the same each time): as asked" in out
    )
    assert "40 to fit, 10 held out" in out
    out, _ = succeed(capsys, "info", "houses.pursuit")
    assert "40 fitted of 120 with a target (50 were drawn)" in out
    out, _ = succeed(capsys, "report", "houses.pursuit", csv)
    assert "120 rows, of which the fit has seen some" in out


# -- surroundings ------------------------------------------------------------------


def test_without_pandas_and_pyarrow(csv):
    """A table of text needs what is always installed, and nothing else."""
    code = (
        "import sys\n"
        "class Absent:\n"
        "    def find_spec(self, name, path=None, target=None):\n"
        "        if name.split('.')[0] in ('pandas', 'pyarrow', 'tqdm', 'polars'):\n"
        "            raise ModuleNotFoundError(name, name=name)\n"
        "sys.meta_path.insert(0, Absent())\n"
        "from pursuit.cli import main\n"
        f"fit = ['fit', {str(csv)!r}, '--target', 'price', *{FAST!r}]\n"
        f"sys.exit(main(fit) or main(['predict', 'houses.pursuit', {str(csv)!r}]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, encoding="utf-8"
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") > 120


def test_bars_are_for_people(csv, capsys, monkeypatch):
    _, err = succeed(capsys, "fit", csv, "--target", "price", *FAST)
    assert err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    _, err = succeed(capsys, "fit", csv, "--target", "price", *FAST)
    assert "reading" in err
    _, err = succeed(capsys, "fit", csv, "--target", "price", "--quiet", *FAST)
    assert err == ""
    assert pursuit.load("houses.pursuit")[-1].verbose == 0


def test_warnings_are_notes_of_one_line(csv, capsys):
    words = ["--target", "price", "--kernel", "linear", "--points", "100"]
    status, _, err = run(capsys, "fit", csv, *words)
    assert status == 0
    assert "Traceback" not in err
    assert all(line.startswith("pursuit: ") for line in err.splitlines())


@pytest.mark.parametrize(
    "change",
    [
        {"columns": 3},
        {"columns": [{"name": "area", "kind": "nonsense"}]},
        {"target": "price"},
        {"words": None},
        {"split": {"seed": 0, "limits": {"": 2**70}}},
        {"facts": {"task": "regression"}},
        {"facts": []},
    ],
)
def test_files_whose_words_about_the_table_are_wrong(csv, capsys, change):
    from pursuit.files import container

    succeed(capsys, "fit", csv, "--target", "price", "--quiet", *FAST)
    held = container.read("houses.pursuit")
    about = {**held.about, "table": {**held.about["table"], **change}}
    container.write(
        "houses.pursuit", container.pack(held.model, held.formula, about, held.arrays)
    )
    for words in (["info"], ["predict", csv], ["report", csv]):
        status, _, err = run(capsys, words[0], "houses.pursuit", *words[1:])
        assert status == 1
        assert "what the file says about the columns is not readable" in err
        assert err.count("\n") == 1


def test_columns_that_are_not_those_of_the_model(csv, capsys):
    succeed(capsys, "fit", csv, "--target", "price", "--quiet", *FAST)
    model, told = _model_files.load(_model_files.Path("houses.pursuit"))
    _model_files.save(model, "less.pursuit", replace(told, fields=told.fields[:2]))
    status, _, err = run(capsys, "predict", "less.pursuit", csv)
    assert status == 1
    assert "houses.csv: rows 2 to 121: " in err


def test_the_file_says_how_its_table_is_read(csv, capsys):
    succeed(capsys, "fit", csv, "--target", "price", *FAST)
    told = recipe()
    assert [str(field.kind) for field in told.fields] == [
        "number",
        "number",
        "category",
        "date",
        "category",
    ]
    assert told.words["town"] == ["Aachen", "Bonn", "Köln"]
    assert Recipe.of_dict(json.loads(json.dumps(told.as_dict()))) == told


def test_tables_of_few_different_rows_are_judged_fairly(tmp_path, capsys):
    """Of rows that repeat, some are held out, and not all rows of one word."""
    rng = np.random.default_rng(0)
    towns = rng.integers(0, 5, 200)
    lines = [f"town{t},{100 * t + rng.normal():.3f}" for t in towns]
    (tmp_path / "t.csv").write_text("\n".join(["town,price", *lines]) + "\n")
    command = ["fit", str(tmp_path / "t.csv"), "--target", "price", "--kernel", "rbf"]
    assert main([*command, "-o", str(tmp_path / "t.pursuit")]) == 0
    said = capsys.readouterr().out
    assert "160 to fit, 40 held out" in said
    assert float(re.search(r"([\d.]+) % of the variance", said)[1]) > 99


def test_a_model_no_better_than_the_constant_is_called_so(tmp_path, capsys):
    rng = np.random.default_rng(0)
    lines = [
        f"{a:.3f},{b}" for a, b in zip(rng.normal(size=90), "xyz" * 30, strict=True)
    ]
    (tmp_path / "n.csv").write_text("\n".join(["a,kind", *lines]) + "\n")
    command = ["fit", str(tmp_path / "n.csv"), "--target", "kind", "--kernel", "rbf"]
    assert main([*command, "-o", str(tmp_path / "n.pursuit"), "--points", "3"]) == 0
    said = capsys.readouterr().out
    wrong, constant = re.findall(r"([\d.]+) %", said.split("\nerror")[1])[:2]
    is_no_better = float(wrong) >= float(constant)
    assert ("no better than the constant" in said) == is_no_better
