"""Tables from files: cells, columns, rows, splits."""

import bz2
import gzip
import json
import lzma
import math
import sys
from dataclasses import asdict

import numpy as np
import pytest

from pursuit._user_errors import TableError
from pursuit.tables import (
    Field,
    Kind,
    Notation,
    Reader,
    Rows,
    Split,
    days,
    drawn_rows,
    fingerprint,
    number_of,
    numbers,
    open_table,
    scan,
    sources,
)
from pursuit.tables.cells import words


def table(tmp_path, text, name="table.csv", **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return open_table(str(path), **options)


def cells(source):
    """Return all cells of a table by column."""
    blocks = list(source.blocks())
    return {n: [c for b in blocks for c in b.columns[n]] for n in source.names}


# -- cells -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, number",
    [
        ("1", 1.0),
        (" -2.5e3 ", -2500.0),
        ("+.5", 0.5),
        ("inf", math.inf),
        ("0x10", None),
        ("1_000", None),
        ("1,5", None),
        ("abc", None),
        ("12 %", None),
    ],
)
def test_numbers(text, number):
    assert number_of(text) == number


@pytest.mark.parametrize("text", ["", " ", "NA", "?", "nan", "NULL", "#N/A", " NaN "])
def test_missing_cells(text):
    assert math.isnan(number_of(text))
    assert words([text]) == [None]
    assert math.isnan(days([text])[0][0])


@pytest.mark.parametrize("text, number", [("1,5", 1.5), ("1.5", None), ("-3", -3.0)])
def test_decimal_commas(text, number):
    assert number_of(text, Notation(",")) == number


def test_a_column_of_numbers_with_one_mistake():
    values, wrong = numbers(["1", "", "x", "4"])
    np.testing.assert_array_equal(values, [1, np.nan, np.nan, 4])
    assert wrong.tolist() == [2]


def test_an_underscore_makes_no_number():
    assert numbers(["1", "2024_01"])[1].tolist() == [1]


def test_dates_are_days():
    values, wrong = days(["1970-01-02", "1970-01-01 12:00", "2024-02-30", "", "1/2/03"])
    np.testing.assert_array_equal(values, [1, 0.5, np.nan, np.nan, np.nan])
    assert wrong.tolist() == [2, 4]


def test_dates_know_zones():
    values, _ = days(["1970-01-02T00:00:00+01:00", "1970-01-02T00:00:00Z"])
    np.testing.assert_allclose(values, [23 / 24, 1])


# -- files -------------------------------------------------------------------------


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_delimiters_are_told(tmp_path, delimiter):
    lines = [["a", "b c", "d"], ["1", "x y", "3.5"], ["2", "z", "4"]]
    text = "\n".join(delimiter.join(line) for line in lines)
    source = table(tmp_path, text)
    assert source.names == ("a", "b c", "d")
    assert cells(source)["b c"] == ["x y", "z"]


def test_commas_within_cells_do_not_mislead(tmp_path):
    source = table(tmp_path, "a;b\n1,5;2,5\n3,5;4,5\n")
    assert source.names == ("a", "b")
    quoted = table(tmp_path, 'a,b\n"1;2;3",4\n"5;6;7",8\n')
    assert cells(quoted) == {"a": ["1;2;3", "5;6;7"], "b": ["4", "8"]}


def test_a_delimiter_can_be_named(tmp_path):
    source = table(tmp_path, "a~b\n1~2\n", delimiter="~")
    assert cells(source) == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_files(tmp_path, compress):
    source = table(tmp_path, compress(b"a,b\n1,2\n"), "table.csv.z")
    assert cells(source) == {"a": ["1"], "b": ["2"]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_encodings_that_say_so(tmp_path, encoding):
    source = table(tmp_path, "größe,ort\n1,Zürich\n".encode(encoding))
    assert cells(source) == {"größe": ["1"], "ort": ["Zürich"]}


def test_an_encoding_can_be_named(tmp_path):
    text = "a,ort\n1,Zürich\n".encode("cp1252")
    assert cells(table(tmp_path, text, encoding="cp1252"))["ort"] == ["Zürich"]


def test_empty_lines_and_quoted_line_breaks_keep_the_row_numbers(tmp_path):
    source = table(tmp_path, 'a,b\n\n1,"x\ny"\n\n2,z\n')
    (block,) = source.blocks()
    assert list(block.rows) == [3, 5]
    assert block.columns["b"] == ("x\ny", "z")


def test_windows_line_ends(tmp_path):
    assert cells(table(tmp_path, "a,b\r\n1,2\r\n")) == {"a": ["1"], "b": ["2"]}


def test_columns_without_names_are_not_read(tmp_path):
    source = table(tmp_path, ",a,b\n0,1,2\n1,3,4\n")
    assert source.names == ("a", "b")
    assert source.unnamed == 1
    assert cells(source) == {"a": ["1", "3"], "b": ["2", "4"]}


def test_blocks_are_joined_without_a_seam(tmp_path, monkeypatch):
    text = "a,b\n" + "".join(f"{i},{i * i}\n" for i in range(50))
    whole = cells(table(tmp_path, text))
    monkeypatch.setattr(sources, "BLOCK_ROWS", 7)
    source = table(tmp_path, text)
    assert cells(source) == whole
    assert [row for block in source.blocks() for row in block.rows] == [*range(2, 52)]


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    columns = {
        "n": pa.array([1, None, 3]),
        "f": pa.array([0.5, 1.5, None]),
        "w": pa.array(["x", None, "y"]).dictionary_encode(),
        "b": pa.array([True, False, None]),
        "d": pa.array(["2024-01-31", None, "2024-02-01"]).cast(pa.date32()),
        "t": pa.array([0, 1, None], pa.timestamp("ns")),
    }
    path = tmp_path / "table.parquet"
    parquet.write_table(pa.table(columns), path)
    source = open_table(str(path))
    (block,) = source.blocks()
    np.testing.assert_array_equal(block.columns["n"], [1, np.nan, 3])
    np.testing.assert_array_equal(block.columns["f"], [0.5, 1.5, np.nan])
    assert block.columns["w"] == ["x", "", "y"]
    assert block.columns["b"] == ["True", "False", ""]
    found = scan(source).columns
    kinds = {name: column.kind for name, column in found.items()}
    assert kinds["n"] is kinds["f"] is Kind.NUMBER
    assert kinds["w"] is kinds["b"] is Kind.CATEGORY
    assert kinds["d"] is kinds["t"] is Kind.DATE


def test_without_pyarrow_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(TableError, match=r"pip install 'pursuit\[tables\]'"):
        table(tmp_path, b"PAR1....", "table.parquet")


# -- columns -----------------------------------------------------------------------


def kind(values):
    """Return the kind of a column with these cells."""
    from pursuit.tables.columns import Column

    column = Column("x")
    half = len(values) // 2
    for start, part in ((0, values[:half]), (half, values[half:])):
        if part:
            column.see(part, range(start + 2, start + 2 + len(part)))
    return column.kind


@pytest.mark.parametrize(
    "expected, values",
    [
        (Kind.NUMBER, ["1.5", "2", "", "7"] * 10),
        (Kind.NUMBER, ["0", "1"] * 20),  # few numbers stay numbers
        (Kind.NUMBER, ["1", "2", "3"]),  # too few rows to be a count of them
        (Kind.NUMBER, [*map(str, range(40)), "x"]),  # x is a mistake
        (Kind.ROW_NUMBER, [*map(str, range(40))]),
        (Kind.NUMBER, [*map(str, range(40, 0, -1))]),
        (Kind.CATEGORY, ["a", "b", "1", ""] * 10),
        (Kind.CATEGORY, ["true", "false"] * 10),
        (Kind.CATEGORY, ["a", "b", "c"]),
        (Kind.TEXT, [f"word {i}" for i in range(40)]),
        (Kind.TEXT, [f"word {i % 60}" for i in range(600)]),
        (Kind.DATE, ["2024-01-31", "", "2024-02-29 12:30"] * 5),
        (Kind.DATE, [*["2024-01-31"] * 30, "soon"]),
        (Kind.EMPTY, ["", "NA", "?"]),
    ],
)
def test_kinds(expected, values):
    assert kind(values) is expected


def test_a_scan_counts_and_remembers_the_first_mistake(tmp_path):
    text = "a,b\n" + "".join(f"{i / 2},w{i % 3}\n" for i in range(30)) + "oops,\n,w0\n"
    seen = scan(table(tmp_path, text))
    a, b = seen.columns["a"], seen.columns["b"]
    assert seen.n_rows == a.n_rows == 32
    assert a.other == (32, "oops")
    assert (a.n_missing, a.n_numbers, a.n_others) == (1, 30, 1)
    assert b.words == {"w0": 11, "w1": 10, "w2": 10}
    assert not a.is_whole


# -- rows --------------------------------------------------------------------------

FIELDS = [Field("x", Kind.NUMBER), Field("w", Kind.CATEGORY), Field("d", Kind.DATE)]


def text_of(n, order=None):
    rows = [f"{i * 0.5},{'abc'[i % 3]},2024-01-{1 + i % 28:02}\n" for i in range(n)]
    return "x,w,d\n" + "".join(rows if order is None else [rows[i] for i in order])


def test_rows_are_numbers_codes_and_days(tmp_path):
    rows, n = drawn_rows(table(tmp_path, "x,w,d\n1,b,1970-01-03\n,,\n2,a,\n"), FIELDS)
    assert n == len(rows) == 3
    assert rows.words == {"w": ["b", "a"]}
    np.testing.assert_array_equal(rows.columns["w"], [0, -1, 1])
    np.testing.assert_array_equal(rows.columns["d"], [2, np.nan, np.nan])
    np.testing.assert_array_equal(rows.is_known("w"), [True, False, True])
    np.testing.assert_array_equal(rows.array(["x"])[:, 0], [1, np.nan, 2])
    mixed = rows.array(["x", "w"])
    assert mixed.dtype == object
    assert mixed[0].tolist() == [1.0, "b"]
    assert math.isnan(mixed[1, 1])


def test_a_wrong_cell_is_named(tmp_path):
    source = table(tmp_path, "x,w,d\n1,b,\nabc,a,\n")
    with pytest.raises(TableError, match=r"csv: row 3, column 'x': 'abc' is not a num"):
        drawn_rows(source, FIELDS)
    source = table(tmp_path, "x,w,d\n1,b,\n1e999,a,\n")
    with pytest.raises(TableError, match=r"row 3, .*: '1e999' is not a finite number"):
        drawn_rows(source, FIELDS)
    source = table(tmp_path, "x,w,d\n1,b,yesterday\n")
    with pytest.raises(TableError, match=r"row 2, column 'd': 'yesterday' is not a da"):
        drawn_rows(source, FIELDS)


def contents(rows):
    """Return the rows as a set."""
    return {tuple(map(str, row)) for row in rows.array(["x", "w", "d"])}


def test_drawn_rows_do_not_depend_on_order_or_blocks(tmp_path, monkeypatch):
    drawn, n = drawn_rows(table(tmp_path, text_of(500)), FIELDS, max_rows=60)
    assert (len(drawn), n) == (60, 500)
    order = np.random.default_rng(0).permutation(500)
    shuffled, _ = drawn_rows(table(tmp_path, text_of(500, order)), FIELDS, max_rows=60)
    assert contents(shuffled) == contents(drawn)
    monkeypatch.setattr(sources, "BLOCK_ROWS", 13)
    in_blocks, _ = drawn_rows(table(tmp_path, text_of(500)), FIELDS, max_rows=60)
    assert contents(in_blocks) == contents(drawn)
    assert (np.diff(in_blocks.columns["x"]) > 0).all()  # in the order of the file


def test_another_seed_draws_other_rows(tmp_path):
    source = table(tmp_path, text_of(500))
    one, other = (
        drawn_rows(source, FIELDS, max_rows=60, seed=seed)[0] for seed in (0, 1)
    )
    assert 0 < len(contents(one) & contents(other)) < 30


def test_drawn_rows_are_a_fair_sample(tmp_path):
    drawn, _ = drawn_rows(table(tmp_path, text_of(4000)), FIELDS, max_rows=1000)
    share = np.bincount(drawn.columns["w"]) / 1000
    np.testing.assert_allclose(share, 1 / 3, atol=0.05)
    np.testing.assert_allclose(drawn.columns["x"].mean(), 1000, atol=70)


def test_few_rows_are_held_while_they_are_drawn(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_ROWS", 10)
    held = []
    taken = Rows.__getitem__
    monkeypatch.setattr(
        Rows, "__getitem__", lambda rows, i: held.append(len(rows)) or taken(rows, i)
    )
    drawn_rows(table(tmp_path, text_of(1000)), FIELDS, max_rows=40)
    assert max(held) <= 2 * 40 + 10


def test_digests_depend_on_contents_only():
    rows = Rows(
        {"x": np.array([0.0, -0.0, 1.0]), "w": np.array([0, 0, -1])}, {"w": ["a"]}
    )
    digests = rows.digests(["x", "w"])
    assert digests[0] == digests[1] != digests[2]
    other = Rows({"w": np.array([1]), "x": np.array([0.0])}, {"w": ["b", "a"]})
    assert other.digests(["w", "x"])[0] == digests[0]
    assert rows.digests(["x", "w"], 1)[0] != digests[0]


def test_a_reader_knows_words_between_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(sources, "BLOCK_ROWS", 2)
    reader = Reader("f", [Field("w", Kind.CATEGORY)])
    source = table(tmp_path, "w,v\na,1\nb,1\nb,1\nc,1\n")
    codes = [reader(block).columns["w"].tolist() for block in source.blocks(["w"])]
    assert codes == [[0, 1], [1, 2]]


# -- splits ------------------------------------------------------------------------


def test_a_split_holds_out_a_share_of_each_class():
    rng = np.random.default_rng(0)
    digests = rng.integers(0, 2**63, 1000).astype(np.uint64)
    classes = np.repeat([0, 1, 2], [700, 295, 5])
    split = Split.of(0, digests, 0.2, classes)
    is_out = split.holds_out(digests, classes)
    assert np.bincount(classes[is_out]).tolist() == [140, 59, 1]


def test_the_last_row_of_a_class_is_not_held_out():
    digests = np.array([5, 1, 2, 3], dtype=np.uint64)
    split = Split.of(0, digests, 0.9, np.array(["a", "b", "b", "b"]))
    is_out = split.holds_out(digests, np.array(["a", "b", "b", "b"]))
    assert is_out.tolist() == [False, True, True, False]


def test_equal_rows_stay_together():
    digests = np.repeat(np.arange(20, dtype=np.uint64), 3)
    is_out = Split.of(0, digests, 0.25, None).holds_out(digests, None)
    per_row = is_out.reshape(20, 3)
    assert (per_row.all(axis=1) == per_row.any(axis=1)).all()
    assert 12 <= is_out.sum() <= 18
    same = np.zeros(6, dtype=np.uint64)
    assert not Split.of(0, same, 0.5, None).holds_out(same, None).any()


def test_rows_that_repeat_are_held_out_like_others():
    """A table of few words has few different rows, of which each repeats often."""
    rng = np.random.default_rng(0)
    rows = Rows({"town": rng.integers(0, 5, 400).astype(float)}, {})
    assert len(set(rows.digests(["town"]))) == 5
    digests = rows.numbered_digests(["town"])
    assert len(set(digests)) == 400
    is_out = Split.of(0, digests, 0.2, None).holds_out(digests, None)
    assert is_out.sum() == 80
    for town in range(5):
        assert 0 < is_out[rows.columns["town"] == town].mean() < 0.4
    order = rng.permutation(400)
    again = rows[order].numbered_digests(["town"])
    assert sorted(again) == sorted(digests)


def test_nothing_is_held_out_of_a_share_of_0():
    digests = np.arange(9, dtype=np.uint64)
    assert not Split.of(0, digests, 0.0, None).holds_out(digests, None).any()


def test_a_split_is_json():
    digests = np.array([2**64 - 1, 7, 3], dtype=np.uint64)
    split = Split.of(3, digests, 0.4, None)
    assert Split.of_dict(json.loads(json.dumps(asdict(split)))) == split


def test_a_fingerprint_does_not_depend_on_the_order():
    digests = np.array([3, 1, 2], dtype=np.uint64)
    assert fingerprint(digests) == fingerprint(digests[::-1])
    assert fingerprint(digests) != fingerprint(digests[:2])
