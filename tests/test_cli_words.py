"""What the command says: its own words, short names, files as they were named."""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from command_lines import FAST, houses, run, succeed, text_of

import pursuit
from pursuit._writing import whole_file, write_whole
from pursuit.commands._translations import in_command_words

SOURCES = Path(pursuit.__file__).parent
# Where the warnings and errors of fits, predictions, exports and reports are made.
SPEAKERS = (
    "engine/backfitting.py",
    "estimators/kmp/useless.py",
    "export/c/budget.py",
    "export/c/exporting.py",
    "fitting/learning.py",
    "fitting/procedure.py",
    "fitting/search.py",
    "losses/__init__.py",
    "report/contents.py",
)
# Words of Python: calls, parameters with values, attributes, names of classes.
PYTHON = re.compile(
    r"\w\(\)|\b\w+='|\b[a-z]+_[a-z_]+\b|\b\w+\.\w+\(|Scaler|pursuit\.\w"
)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def texts_of(node):
    """Return the text of a message, with x in the place of what is computed."""
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.JoinedStr):
        return "".join(map(texts_of, node.values))
    if isinstance(node, ast.BinOp):
        return texts_of(node.left) + texts_of(node.right)
    is_quoted = isinstance(node, ast.FormattedValue) and node.conversion == ord("r")
    return "'x'" if is_quoted else "7"


def messages():
    """Yield the sentences that are warned of, raised or returned as advice."""
    for name in SPEAKERS:
        for node in ast.walk(ast.parse((SOURCES / name).read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                called = ast.unparse(node.func)
                if called in ("warn", "warnings.warn", "ValueError"):
                    yield name, texts_of(node.args[0])
            elif isinstance(node, ast.Return) and name.endswith("useless.py"):
                yield name, texts_of(node.value)


def is_reachable(text):
    """Return whether options of the command can lead to a message."""
    unreachable = (
        "rows=",
        "y_train",
        "_names",
        "X has",
        "date_columns",
        "needs a path",
        "max_time",
    )
    beyond = ("error_bound", "check_rows", "name=", "bits", "must be", "labels")
    return not any(word in text for word in (*unreachable, *beyond))


def test_messages_are_found():
    found = [text for _, text in messages()]
    assert any("model.summary()" in text for text in found)
    assert any("max_bytes=" in text for text in found)
    assert len(found) > 15


@pytest.mark.parametrize("name, text", [m for m in messages() if is_reachable(m[1])])
def test_messages_have_no_words_of_python(name, text):
    assert not PYTHON.search(in_command_words(text)), in_command_words(text)


@pytest.mark.parametrize(
    "text, said",
    [
        ("max_bytes=10 is too small", "--max-bytes 10 is too small"),
        ("number='fixed' leaves 2 digits", "--number fixed leaves 2 digits"),
        ("two\n  lines", "two lines"),
    ],
)
def test_parameters_become_options(text, said):
    assert in_command_words(text) == said


def test_a_fit_of_noise_speaks_of_columns_and_options(capsys):
    rows = [[str(i * 7 % 13), str(i * i % 11)] for i in range(40)]
    Path("t.csv").write_text(text_of(["a", "y"], rows))
    out, err = succeed(capsys, "fit", "t.csv", "--target", "y", *FAST, "--points", "1")
    if "no points" in out:
        assert "--kernel" in err
    assert not PYTHON.search(err)


# -- usage -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "words, part",
    [
        (["fit"], "required: TABLE, --target (try pursuit fit --help)"),
        (["fit", "t.csv"], "required: --target (try pursuit fit --help)"),
        (["fit", "t.csv", "--target", "y", "--nonsense"], "--nonsense (try pursuit"),
        (["predict"], "required: MODEL, TABLE (try pursuit predict --help)"),
        (["export", "m", "--to", "rust"], "invalid choice: 'rust'"),
        (["nonsense"], "invalid choice: 'nonsense'"),
        (["fit", "t.csv", "--target", "y", "--dates", "iso"], "invalid choice: 'iso'"),
    ],
)
def test_wrong_usage_is_one_line_and_status_2(words, part, capsys):
    status, out, err = run(capsys, *words)
    assert (status, out, err.count("\n")) == (2, "", 1)
    assert err.startswith("pursuit: error: ")
    assert part in err


def test_the_help_is_there_without_numpy():
    code = "import sys; import pursuit.cli; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


# -- files -------------------------------------------------------------------------


@pytest.fixture
def table(tmp_path):
    (tmp_path / "t.csv").write_text(text_of(*houses(40)), encoding="utf-8")
    return tmp_path / "t.csv"


def test_files_that_are_replaced_are_called_so(table, capsys):
    commands = [
        ["fit", "t.csv", "--target", "price", *FAST],
        ["predict", "t.pursuit", "t.csv", "-o", "p.csv"],
        ["report", "t.pursuit", "t.csv"],
        ["export", "t.pursuit", "--to", "js"],
    ]
    for expected in (False, True):
        for words in commands:
            out, _ = succeed(capsys, *words)
            (line,) = [line for line in out.splitlines() if line.startswith("written")]
            assert line.endswith("; replaced the old file)") is expected


@pytest.mark.parametrize(
    "words",
    [
        ["fit", "t.csv", "--target", "price", "-o", "t.csv"],
        ["fit", "./t.csv", "--target", "price", "-o", "link.csv"],
        ["predict", "t.pursuit", "t.csv", "-o", "t.csv"],
        ["predict", "t.pursuit", "t.csv", "-o", "t.pursuit"],
        ["report", "t.pursuit", "t.csv", "-o", "t.csv"],
        ["export", "t.pursuit", "--to", "c", "-o", "./t.pursuit"],
    ],
)
def test_what_is_read_is_never_replaced(words, table, capsys):
    Path("t.pursuit").write_bytes(b"a model")
    Path("link.csv").symlink_to("t.csv")
    before = table.read_bytes()
    status, _, err = run(capsys, *words)
    assert (status, err.count("\n")) == (2, 1)
    assert "the command reads this file, and would replace it" in err
    assert table.read_bytes() == before
    assert Path("t.pursuit").read_bytes() == b"a model"


@pytest.mark.parametrize(
    "output, part",
    [
        ("no/m", "no/m: There is no folder no"),
        (".", ".: this is a folder; name a file in it"),
    ],
)
def test_where_to_write_is_checked_before_the_fit(output, part, capsys):
    status, _, err = run(capsys, "fit", "absent.csv", "--target", "y", "-o", output)
    assert (status, err) == (1, f"pursuit: error: {part}\n")


def test_errors_name_the_file_that_was_asked_for(table, capsys, monkeypatch):
    succeed(capsys, "fit", "t.csv", "--target", "price", "--quiet", *FAST)

    def written(*words):
        status, _, err = run(capsys, *words)
        assert (status, err.count("\n")) == (1, 1)
        return err

    err = written("predict", "t.pursuit", "t.csv", "-o", "no/p.csv")
    assert "There is no folder" in err
    assert "p.csv" in err
    assert ".part" not in err
    monkeypatch.setattr("secrets.token_hex", lambda n: "12345678")
    Path(".p.csv.12345678.tmp").mkdir()  # where the file beside would be
    err = written("predict", "t.pursuit", "t.csv", "-o", "p.csv")
    assert err == "pursuit: error: p.csv: File exists\n"


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "f"
    with pytest.raises(TypeError), whole_file(path) as file:
        file.writelines([b"half", None])
    assert list(tmp_path.iterdir()) == []
    write_whole(path, b"whole")
    assert path.read_bytes() == b"whole"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_is_not_replaced(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(path, b"through")
        assert os.read(reader, 100) == b"through"
    finally:
        os.close(reader)
    assert path.is_fifo()


# -- names -------------------------------------------------------------------------

LONG = "a name that somebody has written\nas a whole sentence, and with a line break"


def test_long_names_are_shortened_and_can_be_typed(capsys):
    header, rows = houses(40)
    header[0], header[4] = LONG, "the\nprice"
    quoted = [f'"{name}"' for name in header]
    Path("t.csv").write_text(text_of(quoted, rows), encoding="utf-8")
    out, _ = succeed(capsys, "fit", "t.csv", "--target", "the price", *FAST)
    info, _ = succeed(capsys, "info", "t.pursuit")
    for text in (out, info):
        assert "'the price'" in text
        assert "a name that somebody has written as a..." in text
        assert max(map(len, text.splitlines())) < 120
    Path("new.csv").write_text(text_of(*houses(4)), encoding="utf-8")
    status, _, err = run(capsys, "predict", "t.pursuit", "new.csv")
    assert (status, err.count("\n")) == (1, 1)
    assert "needs the column 'a name that somebody has written as a...'" in err
    _, err = succeed(capsys, "predict", "t.pursuit", "t.csv", "--keep", "the price")
    assert "'the price' is in the table" in err


# -- targets -----------------------------------------------------------------------


def with_target(cells):
    rows = [[str(i * 7 % 13), c] for i, c in enumerate(cells)]
    Path("t.csv").write_text(text_of(["a", "y"], rows))
    return ["fit", "t.csv", "--target", "y", *FAST]


@pytest.mark.parametrize(
    "cells, parts",
    [
        (
            ["yes", "None"] * 20,
            [
                "is 'yes' in all 20 rows that have one",
                "'None' (20 rows, the first is row 3) counts as missing",
                "write another word for it",
            ],
        ),
        (["NA"] * 40, ["is empty in all rows; 'NA' (40 rows, the first is row 2)"]),
        (
            [f"{i}.5" if i % 6 else "unknown" for i in range(40)],
            [
                "row 2, column 'y': 'unknown' is not a number (7 such cells)",
                "leave it empty, and the row is left out",
            ],
        ),
    ],
)
def test_targets_that_are_missing_are_named(cells, parts, capsys):
    status, _, err = run(capsys, *with_target(cells))
    assert (status, err.count("\n")) == (1, 1)
    for part in parts:
        assert part in err


def test_words_for_missing_targets_are_said(capsys):
    cells = [["None", "mild", "severe"][i % 3] for i in range(45)]
    out, _ = succeed(capsys, *with_target(cells))
    assert "15 rows left out, whose target is missing ('None' counts as missing)" in out


def test_an_error_that_is_not_measured_has_a_reason(capsys):
    words = with_target([f"{i}.5" for i in range(3)])
    out, _ = succeed(capsys, *words, "--test-size", "0.1")
    assert "not measured: of 3 rows, none can be held out" in out
    out, _ = succeed(capsys, "info", "t.pursuit")
    assert "not measured: the fit held out no rows (--test-size)" in out
