"""Bad input to the command line: one line that names file, row and column."""

import gzip

import pytest
from command_lines import FAST, houses, run, text_of

HEADER, ROWS = houses(40)


def changed(row, column, text):
    """Return the table with another cell; rows are counted as a spreadsheet does."""
    rows = [list(cells) for cells in ROWS]
    rows[row - 2][HEADER.index(column)] = text
    return text_of(HEADER, rows)


def with_column(name, cells):
    """Return the table with another column."""
    return text_of(
        [*HEADER, name], [[*row, c] for row, c in zip(ROWS, cells, strict=True)]
    )


GOOD = text_of(HEADER, ROWS)
PRICE = ["--target", "price"]

# Name of the case, content, options, exit status, parts of the message.
FITS = {
    "empty": ("", PRICE, 1, ["t.csv: the file is empty"]),
    "blank": ("\n\n \n", PRICE, 1, ["t.csv: the file is empty"]),
    "header only": (
        "a,price\n",
        PRICE,
        1,
        ["t.csv: there are no rows after the header"],
    ),
    "one column": (
        "price\n1\n2\n",
        PRICE,
        1,
        ["the only column is 'price'", "--delimiter"],
    ),
    "another delimiter": (
        GOOD.replace(",", "~"),
        PRICE,
        1,
        ["the only column is 'area~rooms~town~sold~price~sunny'", "--delimiter"],
    ),
    "wrong delimiter": (GOOD, [*PRICE, "--delimiter", ";"], 1, ["the only column is"]),
    "no such delimiter": (
        GOOD,
        [*PRICE, "--delimiter", "ab"],
        2,
        ["'ab' is not one char"],
    ),
    "duplicate names": (
        "a,b,a\n1,2,3\n",
        ["--target", "b"],
        1,
        ["t.csv: columns 1 and 3 have the same name, 'a': rename one"],
    ),
    "no header": (
        "1,2,3\n4,5,6\n",
        ["--target", "3"],
        1,
        ["the first row holds numbers (1, ...), not the names of the columns"],
    ),
    "short row": (
        GOOD.replace("\n", "\n1,2\n", 1),
        PRICE,
        1,
        ["t.csv: row 2 has 2 cells, the header has 6 (delimiter ','"],
    ),
    "long row": (
        GOOD + "1,2,3,4,5,6,7\n",
        PRICE,
        1,
        ["row 42 has 7 cells, the header has"],
    ),
    "latin-1": (
        GOOD.encode("latin-1"),
        PRICE,
        1,
        ["t.csv: line ", "byte 0xf6 is not UTF-8", "--encoding cp1252"],
    ),
    "wrong encoding": (
        GOOD.encode("latin-1"),
        [*PRICE, "--encoding", "ascii"],
        1,
        ["byte 0xf6 is not ASCII"],
    ),
    "no such encoding": (
        GOOD,
        [*PRICE, "--encoding", "nonsense"],
        2,
        ["--encoding nonsense: no such encoding"],
    ),
    "binary": (b"a,b\n\0\1\2,3\n", ["--target", "b"], 1, ["this is not a text file"]),
    "excel": (
        b"PK\3\4 and more",
        PRICE,
        1,
        ["a zip or Excel file", "save the sheet as CSV"],
    ),
    "model": (b"\x89PURSUIT....", PRICE, 1, ["a model file, not a table"]),
    "cut gzip": (
        gzip.compress(GOOD.encode())[:-20],
        PRICE,
        1,
        ["t.csv: cannot be decompressed"],
    ),
    "open quote": (
        'a,price\n1,"' + "x" * 200_000,
        PRICE,
        1,
        ["t.csv: line 2: field larger than field limit", "quotation mark left open"],
    ),
    "no such target": (
        GOOD,
        ["--target", "Price"],
        2,
        ["no target 'Price': did you mean 'price'?"],
    ),
    "no target at all": (
        GOOD,
        ["--target", "xyz"],
        2,
        ["no target 'xyz'; its columns are 'area', 'rooms', 'town'"],
    ),
    "target not named": (GOOD, [], 2, ["--target"]),
    "target empty": (
        with_column("y", [""] * 40),
        ["--target", "y"],
        1,
        ["the target 'y' is empty in all rows"],
    ),
    "target constant": (
        with_column("y", ["7"] * 40),
        ["--target", "y"],
        1,
        ["the target 'y' is '7' in all rows"],
    ),
    "target a text": (
        with_column("y", [f"word {i}" for i in range(40)]),
        ["--target", "y"],
        1,
        ["the target 'y' holds 40 different words in 40 rows", "--task classification"],
    ),
    "target a date": (GOOD, ["--target", "sold"], 1, ["the target 'sold' holds dates"]),
    "target of words as numbers": (
        GOOD,
        ["--target", "town", "--task", "regression"],
        1,
        [
            "t.csv: row 2, column 'town': ",
            "is not a number (40 such cells)",
            "classes: --task clas",
        ],
    ),
    "a word in the target": (
        changed(17, "price", "cheap"),
        PRICE,
        1,
        ["t.csv: row 17, column 'price': 'cheap' is not a number"],
    ),
    "infinite target": (
        changed(17, "price", "inf"),
        PRICE,
        1,
        ["t.csv: row 17, column 'price': 'inf' is not a finite number"],
    ),
    "a word among numbers": (
        changed(17, "rooms", "abc"),
        PRICE,
        1,
        ["t.csv: row 17, column 'rooms': 'abc' is not a number", "--category rooms"],
    ),
    "decimal comma": (
        changed(9, "rooms", '"3,5"'),
        PRICE,
        1,
        [
            "row 9, column 'rooms': '3,5' is not a number (",
            "(if it is a number: --decimal ,)",
        ],
    ),
    "infinite": (
        changed(5, "area", "1e400"),
        PRICE,
        1,
        ["t.csv: row 5, column 'area': '1e400' is not a finite number"],
    ),
    "too large": (
        changed(5, "area", "-1e200"),
        PRICE,
        1,
        ["column 'area': '-1e200' is not a finite number (below 1e+100)"],
    ),
    "not a date": (
        changed(30, "sold", "2024-02-30"),
        PRICE,
        1,
        ["t.csv: row 30, column 'sold': '2024-02-30' is not a date", "2024-01-31"],
    ),
    "text": (
        with_column("street name", [f"street {i}" for i in range(40)]),
        PRICE,
        1,
        [
            "column 'street name' holds 40 different words in 40 rows",
            "leave out by --ignore 'street name'",
            "--category 'street name'",
        ],
    ),
    "text that is ignored": (
        with_column("street name", [f"street {i}" for i in range(40)]),
        [*PRICE, "--ignore", "street name"],
        0,
        [],
    ),
    "an encoding of bytes": (
        GOOD,
        [*PRICE, "--encoding", "hex"],
        2,
        ["--encoding hex: no such encoding"],
    ),
    "wrong UTF-16": (
        GOOD,
        [*PRICE, "--encoding", "utf-16"],
        1,
        ["t.csv: the file is not UTF-16: name the encoding"],
    ),
    "a mark at the start, and its encoding": (
        GOOD.encode("utf-8-sig"),
        ["--target", "price", "--encoding", "utf-8", "--ignore", "area"],
        0,
        [],
    ),
    "line breaks in cells": (
        with_column("note", [f'"line\n{i % 2}"' for i in range(40)]),
        PRICE,
        0,
        [],
    ),
    "an empty column": (with_column("x", ["NA"] * 40), PRICE, 0, []),
    "identifiers": (
        with_column("id", [f"K{i:05}" for i in range(40)]),
        PRICE,
        1,
        ["column 'id' holds 40 different words in 40 rows: leave out by --ignore id"],
    ),
    "not ISO dates": (
        with_column("day", [f"{i % 28 + 1}/1/2024" for i in range(40)]),
        PRICE,
        1,
        ["column 'day' holds dates such as '1/1/2024': add --dates day-first; if"],
    ),
    "nothing left": (
        GOOD,
        [*PRICE, "--ignore", *(n for n in HEADER if n != "price")],
        1,
        ["no column is left to predict 'price' from"],
    ),
    "nothing varies": (
        "a,price\n" + "".join(f"1,{i}\n" for i in range(40)),
        PRICE,
        1,
        ["no column varies"],
    ),
    "no such column": (
        GOOD,
        [*PRICE, "--ignore", "twon"],
        2,
        ["no column for --ignore: 'twon': did you mean 'town'?"],
    ),
    "target ignored": (
        GOOD,
        [*PRICE, "--ignore", "price"],
        2,
        ["--ignore price: this is the"],
    ),
    "both": (
        GOOD,
        [*PRICE, "--category", "rooms", "--number", "rooms"],
        2,
        ["'rooms' cannot be both --category and --number"],
    ),
    "no such weights": (
        GOOD,
        [*PRICE, "--weights", "w"],
        2,
        ["no column for --weights: 'w'"],
    ),
    "weights of words": (
        GOOD,
        [*PRICE, "--weights", "town"],
        1,
        ["--weights town: the column holds no numbers"],
    ),
    "weights missing": (
        with_column("w", ["", *["1"] * 39]),
        [*PRICE, "--weights", "w"],
        1,
        ["--weights w: 1 row has no weight"],
    ),
    "weights negative": (
        with_column("w", ["-2", *["1"] * 39]),
        [*PRICE, "--weights", "w"],
        1,
        ["--weights w: -2 is negative"],
    ),
    "weights of 0": (
        with_column("w", ["0"] * 40),
        [*PRICE, "--weights", "w"],
        1,
        ["--weights w: all weights are 0"],
    ),
    "probabilities of numbers": (
        GOOD,
        [*PRICE, "--proba"],
        2,
        ["--proba: a regression"],
    ),
    "probabilities of a margin": (
        GOOD,
        ["--target", "sunny", "--proba", "--loss", "hinge"],
        2,
        ["--proba: the loss 'hinge' gives no probabilities"],
    ),
    "loss of the other task": (
        GOOD,
        [*PRICE, "--loss", "hinge"],
        2,
        ["--loss hinge is not a loss for regression: choose one of 'auto', 'squared'"],
    ),
    "no such loss": (GOOD, [*PRICE, "--loss", "nonsense"], 2, ["nonsense"]),
    "memory": (
        GOOD,
        [*PRICE, "--max-memory", "lots"],
        2,
        ["--max-memory lots: not an am"],
    ),
    "share": (
        GOOD,
        [*PRICE, "--test-size", "1.5"],
        2,
        ["'1.5' is not a share from 0 to 0.9"],
    ),
    "points": (
        GOOD,
        [*PRICE, "--points", "0"],
        2,
        ["'0' is not a whole number from 1 on"],
    ),
    "two rows": ("a,b\n1,2.5\n3,4.5\n", ["--target", "b"], 0, []),
    "one row": (
        "a,b\n1,2.5\n",
        ["--target", "b"],
        1,
        ["the target 'b' is '2.5' in all"],
    ),
}


@pytest.mark.parametrize("case", FITS)
def test_fit(case, tmp_path, monkeypatch, capsys):
    content, options, status, parts = FITS[case]
    monkeypatch.chdir(tmp_path)
    content = content if isinstance(content, bytes) else content.encode()
    (tmp_path / "t.csv").write_bytes(content)
    got, _, err = run(capsys, "fit", "t.csv", *FAST, *options)
    assert got == status, err
    for part in parts:
        assert part in err
    if status:
        assert err.startswith("pursuit: error: ")
        assert err.count("\n") == 1
        assert not (tmp_path / "t.pursuit").exists()


@pytest.mark.parametrize(
    "words, part",
    [
        (["fit", "absent.csv", "--target", "y"], "absent.csv: No such file"),
        (["fit", ".", "--target", "y"], ".: Is a directory"),
        (["predict", "absent.pursuit", "t.csv"], "absent.pursuit: No such file"),
        (["predict", "t.csv", "t.csv"], "t.csv: This is no model file of pursuit"),
        (["info", "t.csv"], "t.csv: This is no model file of pursuit"),
        (["export", "t.csv", "--to", "c"], "t.csv: This is no model file of pursuit"),
        (["report", "t.csv", "t.csv"], "t.csv: This is no model file of pursuit"),
        (["fit", "t.csv", "--target", "b", "-o", "no/such/folder/m"], "no/such/folder"),
    ],
)
def test_files_that_are_not_there_or_others(words, part, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b\n" + "".join(f"{i},{i}.5\n" for i in range(9)))
    status, _, err = run(capsys, *words)
    assert status == 1
    assert part in err
    assert err.count("\n") == 1
    assert err.startswith("pursuit: error: ")


def test_a_file_that_cannot_be_read(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.csv"
    path.write_text(GOOD, encoding="utf-8")
    path.chmod(0)
    try:
        path.read_bytes()
    except PermissionError:
        status, _, err = run(capsys, "fit", "t.csv", *PRICE)
        assert status == 1
        assert err == "pursuit: error: t.csv: Permission denied\n"
    else:
        pytest.skip("this user may read everything")
