"""Numbers and dates as people write them: told, refused with what to do, remembered."""

import json
import re
from datetime import UTC, datetime

import pytest
from command_lines import FAST, run, succeed, text_of

from pursuit.commands import _model_files
from pursuit.commands._recipes import Recipe
from pursuit.tables import PLAIN, Field, Kind, Notation, Usual, open_table, scan
from pursuit.tables.columns import Column
from pursuit.tables.guesses import guess, hint, options, strange

EUROPEAN = Notation(",", ".", "day-first")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


# -- cells -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "notation, text, number",
    [
        (Notation(","), "3,14", 3.14),
        (Notation(","), "3.14", None),
        (Notation(","), "1.234,5", None),
        (Notation(thousands=","), "1,234.5", 1234.5),
        (Notation(thousands=","), "-12,345,678", -12345678.0),
        (Notation(thousands=","), "1234.5", 1234.5),
        (Notation(thousands=","), "1,23", None),
        (Notation(thousands=","), "1,2345", None),
        (Notation(thousands=","), "1234,567", None),
        (Notation(",", "."), "1.234,5", 1234.5),
        (Notation(",", "."), "1.234", 1234.0),
        (Notation(",", "."), "1.23", None),
        (Notation(",", " "), "1 234,5", 1234.5),
        (Notation(",", " "), "1\u202f234\u00a0567", 1234567.0),
        (Notation(thousands="'"), "1'234.5", 1234.5),
        (Notation(thousands="'"), "1\u2019234", 1234.0),
    ],
)
def test_numbers(notation, text, number):
    assert notation.number(text) == number


@pytest.mark.parametrize(
    "dates, text, date",
    [
        ("", "2024/3/1", "2024-03-01"),
        ("", "1 Mar 2024", "2024-03-01"),
        ("", "March 1, 2024 1:05 pm", "2024-03-01T13:05"),
        ("", "01-Mar-24", "2024-03-01"),
        ("", "1 Foo 2024", None),
        ("", "1/3/2024", None),
        ("day-first", "1/3/2024", "2024-03-01"),
        ("day-first", "31.12.1999 23:59", "1999-12-31T23:59"),
        ("day-first", "31.12.99", "1999-12-31"),
        ("day-first", "12/31/2024", None),
        ("day-first", "2024-03-01", "2024-03-01"),
        ("month-first", "3/1/2024 12:30 AM", "2024-03-01T00:30"),
        ("month-first", "3/1/2024 13:30 PM", None),
        ("month-first", "31/12/2024", None),
        ("month-first", "2/30/2024", None),
    ],
)
def test_dates(dates, text, date):
    expected = None if date is None else PLAIN.days(date)
    assert Notation(dates=dates).days(text) == expected
    assert (expected is None) == (date is None)


@pytest.mark.parametrize("words", [(",", ","), (";",), (".", "x"), (".", "", "both")])
def test_notations_that_cannot_be(words):
    with pytest.raises(ValueError, match="cannot be"):
        Notation(*words)


# -- guesses -----------------------------------------------------------------------


def guessed(tmp_path, columns, notation=PLAIN):
    """Return the options that are guessed for columns of a table."""
    rows = list(map(list, zip(*columns.values(), strict=True)))
    (tmp_path / "g.csv").write_text(text_of([*columns], rows, "|"), encoding="utf-8")
    source = open_table(str(tmp_path / "g.csv"), delimiter="|")
    seen = scan(source, notation)
    odd = [strange(column, notation) for column in seen.columns.values()]
    found = guess(source, seen, [o for o in odd if o is not None], notation)
    return {options(each, notation) for each in found.notations}


@pytest.mark.parametrize(
    "expected, columns",
    [
        ({"--decimal ,"}, {"a": ["3,14", "2"]}),
        ({"--thousands ,"}, {"a": ["1,234.5", "2"]}),
        ({"--thousands ,"}, {"a": ["1,234", "2"], "b": ["1.5", "2.5"]}),
        ({"--decimal ,", "--thousands ,"}, {"a": ["1,234", "5,678"]}),
        ({"--decimal ,"}, {"a": ["1,234", "5,67"]}),
        ({"--decimal , --thousands ."}, {"a": ["1.234", "5,67"]}),
        ({"--decimal , --thousands ."}, {"a": ["3,14", "2"], "b": ["1.234", "5.678"]}),
        ({"--decimal , --thousands space"}, {"a": ["1 234,5", "2"]}),
        ({'--thousands "\'"'}, {"a": ["1'234.5", "2"]}),
        ({"--dates day-first"}, {"d": ["31/12/2024", "1/2/2024"]}),
        ({"--dates month-first"}, {"d": ["12/31/2024", "1/2/2024"]}),
        ({"--dates day-first"}, {"d": ["1.2.2024", "3.4.2024"]}),
        ({"--dates day-first", "--dates month-first"}, {"d": ["1/2/24", "3/4/24"]}),
        (set(), {"a": ["3,14", "2,5"], "b": ["1.5", "2.25"]}),
        (set(), {"a": ["3,14", "2.5"]}),
        (set(), {"d": ["31/12/2024", "12/31/2024"]}),
    ],
)
def test_guesses(expected, columns, tmp_path):
    assert guessed(tmp_path, columns) == expected


def test_a_guess_starts_from_what_is_known(tmp_path):
    columns = {"a": ["1.234,5", "2,5"]}
    assert guessed(tmp_path, columns, Notation(",")) == {"--thousands ."}


@pytest.mark.parametrize(
    "cells",
    [
        ["a", "b", "1,5"],
        ["1.2.3", "4.5.6"],
        ["x 1,5", "y"],
        ["2024-01-31", "2024-02-01"],
        ["1.5", "2.5"],
        ["1,23,456", "2,34,567"],
    ],
)
def test_what_is_not_strange(cells, tmp_path):
    (tmp_path / "t.csv").write_text(text_of(["x"], [[c] for c in cells], "|") + "\n")
    column = scan(open_table(str(tmp_path / "t.csv"), delimiter="|")).columns["x"]
    assert strange(column, PLAIN) is None


def test_hints():
    assert hint("3,5", PLAIN) == "if it is a number: --decimal ,"
    assert hint("abc", PLAIN) == ""
    assert "--dates day-first or --dates month-first" in hint("1/2/2024", PLAIN)


# -- the command -------------------------------------------------------------------


def european(n=60):
    """Return a table as an office in Europe saves it."""
    rows = []
    for i in range(n):
        area = 500 + 977 * (i * i % 23) / 7
        shown = f"{area:,.2f}".translate(str.maketrans(",.", ".,"))
        rows.append([shown, f"{i % 28 + 1:02}.{i % 12 + 1:02}.2024", f"{i % 5},5", "x"])
        rows[-1][3] = f"{3 * area + i % 5:.1f}".replace(".", ",")
    return ["fläche", "datum", "zimmer", "preis"], rows


def iso_date(days):
    """Return days since 1970 as a date."""
    return datetime.fromtimestamp(86400 * days, UTC).date().isoformat()


def added(err):
    """Return the options that an error says to add."""
    return err.partition("add ")[2].partition(";")[0].split()


def test_the_hint_leads_to_success_in_one_step(capsys):
    header, rows = european()
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of(header, rows, ";"))
    words = ["fit", "t.csv", "--target", "preis", *FAST]
    status, _, err = run(capsys, *words)
    assert (status, err.count("\n")) == (1, 1)
    assert "column 'fläche' (and 2 others) holds numbers such as '" in err
    assert "column 'datum' holds dates such as '01.01.2024'" in err
    out, _ = succeed(capsys, *words, *added(err))
    assert "2 numbers" in out
    assert "1 date: 'datum'" in out
    # The file knows how its tables are written, and new ones are read alike.
    assert _model_files.load(_model_files.Path("t.pursuit"))[1].notation == EUROPEAN
    one, _ = succeed(capsys, "predict", "t.pursuit", "t.csv")
    iso = [
        [str(EUROPEAN.number(a)), iso_date(EUROPEAN.days(d)), str(EUROPEAN.number(z))]
        for a, d, z, _ in rows
    ]
    with open("plain.csv", "w", encoding="utf-8") as file:
        file.write(text_of(header[:3], iso))
    other, _ = succeed(
        capsys, "predict", "t.pursuit", "plain.csv", "--decimal", ".", "--quiet"
    )
    assert one == other
    assert len(one.splitlines()) == 61
    out, _ = succeed(capsys, "info", "t.pursuit")
    how = "are read with --decimal , --thousands . --dates day-first"
    assert re.search(rf"^tables +{re.escape(how)}$", out, flags=re.M)
    out, _ = succeed(capsys, "report", "t.pursuit", "t.csv")
    assert "12 rows that the fit has not seen" in out


def fitted(capsys, cells, *options):
    """Fit a table whose column x holds some cells in turn."""
    texts = [cells[i % len(cells)] for i in range(30)]
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write("x;z;y\n")
        for i, text in enumerate(texts):
            file.write(f"{text};{i * 7 % 13}.5;{i * 5 % 29}.25\n")
    return run(capsys, "fit", "t.csv", "--target", "y", *FAST, *options)


@pytest.mark.parametrize(
    "cells, parts",
    [
        (["1,234", "2,345"], ["such as '1,234': add --thousands ,; if"]),
        (["1,5", "2,5"], ["such as '1,5', but column 'z' holds", "--category x"]),
        (["1/2/2024", "3/4/2024"], ["--dates day-first or --dates month-first;"]),
        (["31/12/2024", "12/31/2024"], ["no option reads all", "as 2024-01-31"]),
        (["12/31/2024", "1/2/2024"], ["add --dates month-first;"]),
    ],
)
def test_what_would_become_words_is_refused(cells, parts, capsys):
    status, _, err = fitted(capsys, cells)
    assert (status, err.count("\n")) == (1, 1)
    for part in ("t.csv: column 'x' holds", *parts):
        assert part in err
    status, out, _ = fitted(capsys, cells, "--category", "x")
    assert status == 0
    assert "1 category: 'x' (2 words)" in out


def test_a_target_does_not_become_classes(capsys):
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of(*european(), ";"))
    words = ["fit", "t.csv", "--target", "zimmer", *FAST]
    status, _, err = run(capsys, *words)
    assert status == 1
    assert "datum preis --task classification" in err
    out, _ = succeed(capsys, *words, *added(err))
    assert "'zimmer': regression (numbers)" in out


def test_options_that_contradict_each_other(capsys):
    status, _, err = fitted(capsys, ["1"], "--decimal", ",", "--thousands", ",")
    assert status == 2
    assert "--thousands ,: this is the decimal point, too" in err
    status, _, err = fitted(capsys, ["1"], "--thousands", "x")
    assert status == 2
    assert "'x' is not , . ' space or none" in err


def test_points_between_thousands_leave_the_comma(capsys):
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of(*european(), ";"))
    words = ["--thousands", ".", "--dates", "day-first", *FAST]
    succeed(capsys, "fit", "t.csv", "--target", "preis", *words)
    assert _model_files.load(_model_files.Path("t.pursuit"))[1].notation == EUROPEAN


@pytest.mark.parametrize(
    "cells, part",
    [
        ("3,5,2024-01-31", "row 2 has 3 cells, the header has 2"),
        ('"3,5",2024-01-31', "'3,5' is not a number (if it is a number: --decimal ,)"),
        (
            "3.5,31/1/2024",
            "not a date (if it is a date that is written so: --dates day",
        ),
        ("3.5,soon", "'soon' is not a date (dates are written 2024-01-31 or"),
    ],
)
def test_new_tables_that_are_written_otherwise(cells, part, capsys):
    lines = [f"{i / 7:.2f},2024-0{i % 9 + 1}-11,{i * 5 % 29}.25" for i in range(30)]
    for name, text in (("t", "\n".join(["x,d,y", *lines])), ("new", f"x,d\n{cells}")):
        with open(f"{name}.csv", "w", encoding="utf-8") as file:
            file.write(text + "\n")
    succeed(capsys, "fit", "t.csv", "--target", "y", "--quiet", *FAST)
    status, _, err = run(capsys, "predict", "t.pursuit", "new.csv")
    assert (status, err.count("\n")) == (1, 1)
    assert part in err


def test_the_file_remembers_delimiter_and_encoding(capsys):
    rows = european()[1]
    plain = [[a.replace(".", "").replace(",", "."), "ö", p] for a, _, _, p in rows]
    for i, row in enumerate(plain):
        row[1], row[2] = "äö"[i % 2], row[2].replace(",", ".")
    content = text_of(["fläche", "wort", "preis"], plain, "~")
    with open("t.csv", "wb") as file:
        file.write(content.encode("cp1252"))
    words = ["--delimiter", "~", "--encoding", "cp1252", *FAST]
    succeed(capsys, "fit", "t.csv", "--target", "preis", *words)
    told = _model_files.load(_model_files.Path("t.pursuit"))[1]
    assert told.usual == Usual("~", "cp1252")
    _, err = succeed(capsys, "predict", "t.pursuit", "t.csv")
    assert "did not see" not in err
    with open("other.csv", "wb") as file:  # says what it is
        file.write(content.replace("~", ";").encode("utf-8-sig"))
    _, err = succeed(capsys, "predict", "t.pursuit", "other.csv")
    assert "did not see" not in err


def test_recipes_without_notation_are_those_of_the_first_files():
    recipe = Recipe((Field("x", Kind.NUMBER),))
    told = json.loads(json.dumps(recipe.as_dict()))
    assert Recipe.of_dict(told) == recipe
    for name, text in (("decimal", "x"), ("delimiter", "ab"), ("dates", "never")):
        with pytest.raises(ValueError, match=r"cannot be|not one character"):
            Recipe.of_dict({**told, "written": {**told["written"], name: text}})
    del told["written"]
    assert Recipe.of_dict(told) == recipe


# -- dashes, and other signs -------------------------------------------------------


def test_dashes_are_missing_among_numbers_and_words_among_words(capsys):
    rows = [
        [f"{i * 7 % 13}", "-" if i % 7 == 3 else f"{i % 5}", "+-"[i * 7 % 13 > 6]]
        for i in range(60)
    ]
    with open("t.csv", "w", encoding="utf-8") as file:
        file.write(text_of(["a", "b", "y"], rows))
    out, _ = succeed(capsys, "fit", "t.csv", "--target", "y", *FAST)
    assert "9 missing cells in 'b'" in out
    assert "'y': classification (2 classes): + " in out
    assert "48 to fit, 12 held out" in out
    out, _ = succeed(capsys, "predict", "t.pursuit", "t.csv", "--quiet")
    assert set(out.split()) == {"prediction", "+", "-"}


@pytest.mark.parametrize("first", ["sep=;", '"sep=;"', "SEP=;\r", "sep=;;;"])
def test_a_line_that_names_the_separator(first, tmp_path):
    (tmp_path / "t.csv").write_text(f"{first}\na;b,c\n1;2\n", newline="")
    source = open_table(str(tmp_path / "t.csv"))
    assert source.names == ("a", "b,c")
    (block,) = source.blocks()
    assert block.columns == {"a": ("1",), "b,c": ("2",)}
    assert list(block.rows) == [3]


def test_a_column_named_sep_is_a_column(tmp_path):
    (tmp_path / "t.csv").write_text("sep=,b\n1,2\n")
    assert open_table(str(tmp_path / "t.csv")).names == ("sep=", "b")


def test_a_column_of_dashes_is_empty():
    column = Column("x")
    column.see(["-", "--", ""], range(2, 5))
    assert column.kind is Kind.EMPTY
    assert column.n_missing == 3


@pytest.mark.parametrize("cells", [["3 %", "4%"], ["$1,234.50", "$2"], ["3 EUR", "5"]])
def test_units_are_refused(cells, capsys):
    status, _, err = fitted(capsys, cells)
    assert status == 1
    assert f"column 'x' holds numbers with a unit, such as {cells[0]!r}" in err
    assert "if these are words: --category x" in err
    assert fitted(capsys, cells, "--category", "x")[0] == 0


@pytest.mark.parametrize(
    "cells, is_doubtful",
    [
        (["1.234", "567", "12.500"], True),
        (["1.234", "0.567", "12"], False),
        (["1.234", "1234", "12"], False),
        (["1.234", "2.5", "12"], False),
        (["1.234", "2.345"], False),  # three decimals each
        (["1", "234"], False),
    ],
)
def test_points_that_may_stand_between_thousands_are_told(cells, is_doubtful, capsys):
    status, _, err = fitted(capsys, cells)
    assert status == 0
    told = "column 'x': '1.234' is read as 1.234; if its point stands between thousands"
    assert (told in err) is is_doubtful
