"""Sources of rows: the same rows from each, again and again; what errors name."""

import gzip
import itertools
import os
import pickle
import subprocess
import sys
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from pursuit.batches import (
    ArrayRows,
    ArrowRows,
    Block,
    CalledRows,
    CsvRows,
    ParquetRows,
    PolarsRows,
    Rows,
    RowsError,
    rows_of,
)
from pursuit.batches.blocks import default_rows_at_once

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")
pq = pytest.importorskip("pyarrow.parquet")
ds = pytest.importorskip("pyarrow.dataset")
csv = pytest.importorskip("pyarrow.csv")

N, NAMES = 1000, ("a", "b", "c")
AT_ONCE = 128


def made(n=N, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)).round(6)
    y = np.array(["no", "yes"], dtype=object)[(X[:, 0] > 0).astype(int)]
    weight = rng.uniform(size=n).round(6)
    for array in (X, y, weight):
        array.flags.writeable = False
    return X, y, weight


X, Y, WEIGHT = made()
TABLE = pa.table(
    {"y": Y, "a": X[:, 0], "unused": ["-"] * N, "b": X[:, 1], "c": X[:, 2], "w": WEIGHT}
)
HOW = {"target": "y", "features": NAMES, "weight": "w", "rows_at_once": AT_ONCE}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The table in files of several formats and divisions."""
    root = tmp_path_factory.mktemp("rows")
    pq.write_table(TABLE, root / "one.parquet", row_group_size=170)
    csv.write_csv(TABLE, root / "one.csv")
    (root / "one.csv.gz").write_bytes(gzip.compress((root / "one.csv").read_bytes()))
    bounds = [0, 1, 300, 300, 999, 1000]  # a file of one row, and one of none
    for i, (start, stop) in enumerate(itertools.pairwise(bounds)):
        part = TABLE.slice(start, stop - start)
        (root / "parts").mkdir(exist_ok=True)
        (root / "texts").mkdir(exist_ok=True)
        pq.write_table(part, root / "parts" / f"part-{i}.parquet", row_group_size=64)
        csv.write_csv(part, root / "texts" / f"part-{i}.csv")
    np.save(root / "X.npy", X)
    return root


def generated():
    for start in range(0, N, AT_ONCE):
        rows = slice(start, start + AT_ONCE)
        yield X[rows], Y[rows], WEIGHT[rows]


SOURCES = {
    "array": lambda _: ArrayRows(X, Y, WEIGHT, rows_at_once=AT_ONCE),
    "fortran": lambda _: ArrayRows(
        np.asfortranarray(X), Y, WEIGHT, rows_at_once=AT_ONCE
    ),
    "memmap": lambda folder: ArrayRows(
        np.load(folder / "X.npy", mmap_mode="r"), Y, WEIGHT, rows_at_once=AT_ONCE
    ),
    "sparse": lambda _: ArrayRows(
        sp.csc_array(X), list(Y), list(WEIGHT), rows_at_once=AT_ONCE
    ),
    "pandas": lambda _: ArrayRows(
        pd.DataFrame(X, columns=NAMES), pd.Series(Y), WEIGHT, rows_at_once=AT_ONCE
    ),
    "polars": lambda _: ArrayRows(
        pl.DataFrame(X, schema=NAMES), pl.Series(Y), WEIGHT, rows_at_once=AT_ONCE
    ),
    "parquet": lambda folder: ParquetRows(folder / "one.parquet", **HOW),
    "parquet folder": lambda folder: ParquetRows(str(folder / "parts"), **HOW),
    "parquet pattern": lambda folder: ParquetRows(f"{folder}/parts/*.parquet", **HOW),
    "csv": lambda folder: CsvRows(folder / "one.csv", **HOW),
    "csv compressed": lambda folder: CsvRows(folder / "one.csv.gz", **HOW),
    "csv folder": lambda folder: CsvRows(folder / "texts", **HOW),
    "table": lambda _: ArrowRows(TABLE, **HOW),
    "batches": lambda _: ArrowRows(TABLE.to_batches(max_chunksize=77), **HOW),
    "reader": lambda _: ArrowRows(TABLE.to_reader, **HOW),
    "dataset": lambda folder: ArrowRows(ds.dataset(folder / "parts"), **HOW),
    "lazy frame": lambda folder: PolarsRows(
        pl.scan_parquet(folder / "one.parquet"), **HOW
    ),
    "function": lambda _: CalledRows(generated, feature_names=NAMES),
}


def dense(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)


def whole(blocks):
    blocks = list(blocks)
    return (
        np.vstack([dense(block.X) for block in blocks]),
        np.concatenate([block.y for block in blocks]),
        np.concatenate([block.weight for block in blocks]),
    )


# -- all sources ---------------------------------------------------------------------


@pytest.mark.parametrize("name", SOURCES)
def test_each_source_gives_the_same_blocks_again_and_again(name, folder):
    rows = SOURCES[name](folder)
    for _ in range(2):
        blocks = list(rows.blocks())
        assert [len(block) for block in blocks] == [128] * 7 + [104]
        for block in blocks:
            assert block.X.dtype == np.float64
            assert block.weight.dtype == np.float64
            assert block.y.shape == (len(block),)
        features, targets, weight = whole(blocks)
        np.testing.assert_array_equal(features, X)
        np.testing.assert_array_equal(targets, Y)
        np.testing.assert_array_equal(weight, WEIGHT)


@pytest.mark.parametrize("name", SOURCES)
@pytest.mark.parametrize("start", [1, 5, 7])
def test_blocks_are_skipped(name, start, folder):
    rows = SOURCES[name](folder)
    features, targets, _ = whole(rows.blocks(start))
    np.testing.assert_array_equal(features, X[start * AT_ONCE :])
    np.testing.assert_array_equal(targets, Y[start * AT_ONCE :])
    expected = [block.where for block in rows.blocks()][start:]
    assert [block.where for block in rows.blocks(start)] == expected
    assert list(rows.blocks(8)) == []


@pytest.mark.parametrize("name", SOURCES)
def test_fingerprints_are_stable_and_tell_block_sizes_apart(name, folder):
    rows = SOURCES[name](folder)
    assert rows.fingerprint() == SOURCES[name](folder).fingerprint()
    if hasattr(rows, "rows_at_once"):
        rows.rows_at_once = 64
        assert rows.fingerprint() != SOURCES[name](folder).fingerprint()


@pytest.mark.parametrize("name", SOURCES)
def test_names_and_numbers_are_known_before_a_trip(name, folder):
    rows = SOURCES[name](folder)
    is_named = name not in ("array", "fortran", "memmap", "sparse")
    assert rows.feature_names == (NAMES if is_named else None)
    is_counted = not name.startswith("csv") and name not in (
        "dataset",
        "function",
        "lazy frame",
        "reader",
    )
    assert rows.n_rows == (N if is_counted else None)
    assert type(rows).__name__ in repr(rows)


@pytest.mark.parametrize("name", ["array", "memmap", "parquet folder", "csv", "table"])
def test_sources_of_plain_data_are_pickled(name, folder):
    rows = SOURCES[name](folder)
    again = pickle.loads(pickle.dumps(rows))
    assert again.fingerprint() == rows.fingerprint()
    np.testing.assert_array_equal(whole(again.blocks())[0], X)


@pytest.mark.parametrize("name", SOURCES)
def test_a_fitted_transformer_changes_the_features(name, folder):
    rows = SOURCES[name](folder)
    frame = X if rows.feature_names is None else pd.DataFrame(X, columns=NAMES)
    scaler = StandardScaler(with_mean=False).fit(frame)
    scaled = rows.through(scaler)
    features, targets, _ = whole(scaled.blocks(2))
    np.testing.assert_allclose(features, (X / scaler.scale_)[2 * AT_ONCE :])
    np.testing.assert_array_equal(targets, Y[2 * AT_ONCE :])
    assert scaled.n_rows == rows.n_rows
    assert scaled.feature_names == (rows.feature_names or ("x0", "x1", "x2"))
    assert scaled.fingerprint() != rows.fingerprint()
    other = StandardScaler(with_mean=False).fit(frame * 2)
    assert scaled.fingerprint() != rows.through(other).fingerprint()


@settings(max_examples=25, deadline=None)
@given(
    bounds=st.lists(st.integers(0, 60), max_size=6),
    at_once=st.integers(1, 70),
    start=st.integers(0, 4),
)
def test_blocks_do_not_depend_on_how_the_table_is_divided(bounds, at_once, start):
    table = TABLE.slice(0, 60)
    cuts = [0, *sorted(bounds), 60]
    batches = [
        batch
        for i, j in itertools.pairwise(cuts)
        for batch in table.slice(i, j - i).to_batches()
    ]
    divided = ArrowRows(batches, **{**HOW, "rows_at_once": at_once})
    expected = ArrayRows(X[:60], Y[:60], rows_at_once=at_once)
    pairs = list(zip(divided.blocks(start), expected.blocks(start), strict=True))
    assert len(pairs) == max(-(-60 // at_once) - start, 0)
    for block, other in pairs:
        np.testing.assert_array_equal(block.X, other.X)
        np.testing.assert_array_equal(block.y, other.y)
        assert block.where == other.where


def test_blocks_have_eight_to_sixteen_mebibytes():
    for n_columns in (10, 16, 100, 5000):
        assert 8 <= default_rows_at_once(n_columns) * n_columns * 8 / 2**20 <= 16
    assert default_rows_at_once(1) == 2**17
    assert default_rows_at_once(10**9) == 1


# -- columns -------------------------------------------------------------------------


def test_numbers_of_every_type_become_floats(tmp_path):
    table = pa.table(
        {
            "int": pa.array([1, 2], pa.int8()),
            "large": pa.array([2**40, 7], pa.uint64()),
            "half": pa.array([0.5, 0.25], pa.float32()),
            "truth": [True, False],
            "decimal": [Decimal("1.25"), Decimal("-3.50")],
            "category": pa.array([5, 6]).dictionary_encode(),
        }
    )
    expected = [[1, 2**40, 0.5, 1, 1.25, 5], [2, 7, 0.25, 0, -3.5, 6]]
    pq.write_table(table, tmp_path / "t.parquet")
    for rows in (
        ParquetRows(tmp_path / "t.parquet"),
        ArrowRows(table),
        PolarsRows(pl.from_arrow(table.drop_columns(["category"])).lazy()),
        ArrayRows(table.drop_columns(["category"]).to_pandas()),
        ArrayRows(pl.from_arrow(table.drop_columns(["category"]))),
    ):
        (block,) = rows.blocks()
        assert block.y is None
        width = block.X.shape[1]
        np.testing.assert_array_equal(block.X, np.array(expected)[:, :width])


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([3, 1, 3], np.array([3, 1, 3])),
        ([True, False, True], np.array([True, False, True])),
        ([0.5, 1.5, 2.5], np.array([0.5, 1.5, 2.5])),
        (["u", "v", "u"], np.array(["u", "v", "u"], dtype=object)),
        (pa.array(["u", "v", "u"]).dictionary_encode(), np.array(["u", "v", "u"])),
        ([Decimal("0.5"), Decimal("1.0"), Decimal("2.0")], np.array([0.5, 1, 2])),
    ],
    ids=["ints", "bools", "floats", "words", "categories", "decimals"],
)
def test_targets_stay_as_they_are(values, expected, tmp_path):
    table = pa.table({"a": [1.0, 2.0, 3.0], "y": values})
    pq.write_table(table, tmp_path / "t.parquet")
    for rows in (
        ArrowRows(table, target="y"),
        ParquetRows(tmp_path / "t.parquet", target="y"),
        PolarsRows(pl.scan_parquet(tmp_path / "t.parquet"), target="y"),
    ):
        (block,) = rows.blocks()
        np.testing.assert_array_equal(block.y, expected)
        assert block.y.dtype.kind in ("O" if expected.dtype.kind in "OU" else "biuf")
        if expected.dtype.kind in "bif":
            assert block.y.dtype == expected.dtype


def test_targets_of_text_are_whole_numbers_floats_or_words(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,i,f,s,t\n1,3,3,x,true\n2,4,4.5,7,false\n")
    for target, expected in (
        ("i", np.array([3, 4])),
        ("f", np.array([3.0, 4.5])),
        ("s", np.array(["x", "7"], dtype=object)),
        ("t", np.array([True, False])),
    ):
        (block,) = CsvRows(path, target=target, features=["a"]).blocks()
        assert block.y.dtype == expected.dtype
        np.testing.assert_array_equal(block.y, expected)
    (block,) = CsvRows(path, target="i", features=["a"], words=["i"]).blocks()
    assert block.y.tolist() == ["3", "4"]


def test_several_targets_make_a_matrix(folder):
    for rows in (
        ParquetRows(folder / "parts", target=["a", "b"], features=["c"]),
        CsvRows(folder / "one.csv", target=["a", "b"], features=["c"]),
        rows_of(pd.DataFrame(X, columns=NAMES), target=["a", "b"]),
        rows_of(pl.DataFrame(X, schema=NAMES), target=["a", "b"]),
    ):
        (block,) = rows.blocks()
        np.testing.assert_array_equal(block.y, X[:, :2])
        np.testing.assert_array_equal(block.X, X[:, 2:])
        assert rows.feature_names == ("c",)
    (block,) = ArrowRows(TABLE, target=["a"], features=["c"]).blocks()
    assert block.y.shape == (N, 1)


def test_columns_keep_the_order_in_which_they_are_asked_for(folder):
    rows = ParquetRows(folder / "one.parquet", features=["c", "a"])
    assert rows.feature_names == ("c", "a")
    np.testing.assert_array_equal(next(rows.blocks()).X, X[:, [2, 0]])
    rest = {"target": "y", "weight": "w"}
    numeric = ArrowRows(TABLE.drop_columns(["unused"]), **rest)
    assert numeric.feature_names == NAMES


IO = Path("/proc/self/io")


@pytest.mark.skipif(not IO.exists(), reason="needs Linux to count bytes that are read")
def test_only_the_needed_columns_are_read(tmp_path):
    rng = np.random.default_rng(0)
    table = pa.table({f"x{i}": rng.normal(size=20_000) for i in range(20)})
    path = tmp_path / "wide.parquet"
    pq.write_table(table, path, row_group_size=5_000)

    def bytes_of(**how):
        rows = ParquetRows(path, **how)
        before = int(IO.read_text().split()[1])
        assert sum(len(block) for block in rows.blocks()) == 20_000
        return int(IO.read_text().split()[1]) - before

    assert bytes_of() > 0.9 * path.stat().st_size
    assert bytes_of(features=["x3", "x7"]) < 0.15 * path.stat().st_size


# -- Parquet -------------------------------------------------------------------------


def test_folders_named_by_keys_give_columns(tmp_path):
    table = pa.table({"a": [1.0, 2.0, 3.0], "y": [0, 1, 0], "year": [2023, 2024, 2024]})
    ds.write_dataset(
        table,
        tmp_path,
        format="parquet",
        partitioning=ds.partitioning(pa.schema([("year", pa.int32())]), flavor="hive"),
    )
    (tmp_path / "_SUCCESS").write_text("")
    rows = ParquetRows(tmp_path, target="y")
    assert rows.feature_names == ("a", "year")
    (block,) = rows.blocks()
    np.testing.assert_array_equal(block.X, [[1, 2023], [2, 2024], [3, 2024]])
    late = ParquetRows(tmp_path, target="y", filter=[("year", ">=", 2024)])
    assert late.n_rows is None
    assert next(late.blocks()).X[:, 0].tolist() == [2, 3]
    read = [part.path for part in late._parts if part.groups]
    assert len(read) == 1
    assert "year=2024" in read[0]


@pytest.mark.parametrize(
    "condition",
    [[("a", ">", 0.5), ("unused", "==", "-")], ds.field("a") > 0.5],
    ids=["tuples", "expression"],
)
def test_filters_keep_some_rows(condition, folder):
    how = {**HOW, "features": ["b", "c"]}
    kept = X[:, 0] > 0.5
    for path in ("parts", "one.parquet"):
        rows = ParquetRows(folder / path, filter=condition, **how)
        np.testing.assert_array_equal(whole(rows.blocks())[0], X[kept, 1:])
        np.testing.assert_array_equal(whole(rows.blocks(1))[0], X[kept, 1:][AT_ONCE:])
        assert "of the rows kept" in next(rows.blocks()).where
    assert rows.fingerprint() != ParquetRows(folder / path, **how).fingerprint()


def test_row_groups_without_wanted_rows_are_passed_over(tmp_path):
    table = pa.table({"t": np.arange(100), "a": np.arange(100.0)})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=10)
    rows = ParquetRows(tmp_path / "t.parquet", filter=[("t", ">=", 85)])
    assert rows._parts[0].groups == (8, 9)
    assert next(rows.blocks()).X[:, 1].tolist() == list(range(85, 100))
    with pytest.raises(RowsError, match="that the filter keeps has no rows"):
        next(ParquetRows(tmp_path / "t.parquet", filter=[("t", ">", 200)]).blocks())


def test_wrong_filters_are_refused(folder):
    with pytest.raises(ValueError, match="filter=.*nowhere"):
        ParquetRows(folder / "one.parquet", filter=[("nowhere", ">", 1)], **HOW)
    with pytest.raises(ValueError, match="must be a pyarrow expression or a list"):
        ParquetRows(folder / "one.parquet", filter=[("a", "~", 1)], **HOW)


def test_skipped_blocks_are_not_read(tmp_path):
    for i in range(3):
        table = pa.table({"a": np.arange(100.0) + 100 * i})
        pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=10)
    rows = ParquetRows(tmp_path, rows_at_once=50)
    (tmp_path / "0.parquet").unlink()
    (block, *_) = rows.blocks(start=3)
    assert block.X[0, 0] == 150
    assert block.where == f"{tmp_path / '1.parquet'}, rows 51 to 100"
    with pytest.raises(RowsError, match="0.parquet: cannot be read"):
        next(rows.blocks())


def test_fingerprints_tell_changed_files(tmp_path):
    pq.write_table(pa.table({"a": [1.0, 2.0]}), tmp_path / "t.parquet")
    before = ParquetRows(tmp_path).fingerprint()
    os.utime(tmp_path / "t.parquet", ns=(1, 1))
    assert ParquetRows(tmp_path).fingerprint() != before


def test_damaged_files_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("pursuit.batches.parquet.BATCH_ROWS", 10_000)
    good, torn = tmp_path / "a.parquet", tmp_path / "b.parquet"
    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=50_000)})
    for path in (good, torn):
        pq.write_table(table, path, row_group_size=10_000)
    rows = ParquetRows(tmp_path, rows_at_once=50_000)
    content = torn.read_bytes()
    torn.write_bytes(content[: len(content) // 2])
    with pytest.raises(RowsError, match="b.parquet: not a readable Parquet file"):
        ParquetRows(tmp_path)
    blocks = rows.blocks()
    assert len(next(blocks)) == 50_000
    with pytest.raises(RowsError, match="b.parquet: cannot be read"):
        next(blocks)
    # Damage that only the data show, in the third row group.
    start = pq.ParquetFile(good).metadata.row_group(2).column(0).data_page_offset
    torn.write_bytes(content[:start] + b"\xff" * 200 + content[start + 200 :])
    with pytest.raises(RowsError, match="b.parquet, after row 20000: cannot be read"):
        list(ParquetRows(torn, rows_at_once=10_000).blocks())


def test_files_of_another_schema_are_named(tmp_path):
    pq.write_table(pa.table({"a": [1.0], "b": [2.0]}), tmp_path / "0.parquet")
    other = tmp_path / "1.parquet"
    for table, difference in (
        (pa.table({"a": [1.0]}), "it has no column 'b'"),
        (pa.table({"a": [1.0], "b": ["x"]}), "its column 'b' is of type string, not"),
        (pa.table({"a": [1.0], "b": [1.0], "c": [1.0]}), "one more column, 'c'"),
    ):
        pq.write_table(table, other)
        with pytest.raises(RowsError, match=f"1.parquet differs from .*{difference}"):
            ParquetRows(tmp_path)
    # Another order, other types of numbers, and columns that are not asked for.
    pq.write_table(pa.table({"z": ["?"], "b": [7], "a": [3]}), other)
    (block,) = ParquetRows(tmp_path, features=["a", "b"]).blocks()
    np.testing.assert_array_equal(block.X, [[1, 2], [3, 7]])
    assert block.where == (
        f"{tmp_path / '0.parquet'}, row 1 and {tmp_path / '1.parquet'}, row 1"
    )


# -- CSV -----------------------------------------------------------------------------


def text(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return path


def test_text_has_other_delimiters_and_encodings(tmp_path):
    expected = [[1.0, 2.0], [3.0, 4.0]]
    for name, content, how in (
        ("t.csv", "a;b\n1;2\n3;4\n", {"delimiter": ";"}),
        ("t.tsv", "a\tb\n1\t2\n3\t4\n", {}),
        ("t.csv", "1,2\n3,4\n", {"names": ["a", "b"]}),
        ("t.csv", '\ufeff"a","b"\n"1",2\n\n3,4', {}),
    ):
        rows = CsvRows(text(tmp_path, content, name), **how)
        assert rows.feature_names == ("a", "b")
        assert next(rows.blocks()).X.tolist() == expected
    path = tmp_path / "latin.csv"
    path.write_bytes("größe,y\n1,ä\n".encode("latin-1"))
    rows = CsvRows(path, target="y", encoding="latin-1")
    assert rows.feature_names == ("größe",)
    assert next(rows.blocks()).y.tolist() == ["ä"]
    with pytest.raises(RowsError, match="latin.csv: .*utf-8: pass encoding="):
        CsvRows(path, target="y")


def test_numbers_may_be_whole_in_the_first_rows_only(tmp_path, monkeypatch):
    monkeypatch.setattr("pursuit.batches.text._TEXT_BYTES", 64)
    content = "a,y\n" + "1,2\n" * 50 + "1.5,2.5\n"
    rows = CsvRows(text(tmp_path, content), target="y", rows_at_once=50)
    first, last = rows.blocks()
    assert first.y.dtype == np.int64
    assert last.X.tolist() == [[1.5]]
    assert last.y.tolist() == [2.5]


def test_rows_may_be_long(tmp_path):
    names = [f"x{i}" + "_" * 200 for i in range(2_000)]
    line = ",".join(["0.12345" + "0" * 200] * len(names))
    path = text(tmp_path, "\n".join([",".join(names), line, line]))
    (block,) = CsvRows(path, features=names[-2:]).blocks()
    assert block.X.tolist() == [[0.12345, 0.12345]] * 2


@pytest.mark.parametrize(
    ("content", "how", "message"),
    [
        ("", {}, r"t.csv: Empty CSV file"),
        ("a,b\n", {}, r"t.csv has no rows"),
        ("a,b\n1,2\n3\n", {}, r"t.csv: row 3: Expected 2 columns, got 1"),
        ("a,a\n1,2\n", {}, r"t.csv has two columns named 'a'"),
        ("1,2\n3,4\n", {}, r"first row holds numbers \(1, ...\).*pass names="),
        ("a,b\n1,\n", {}, r"t.csv, row 2, column 'b': the value is missing"),
        ("a,b\n1,inf\n", {}, r"t.csv, row 2, column 'b': the value is inf"),
        ("a,b\nx,1\n", {}, r"t.csv: the column 'a' holds words: encode it"),
        ("a,b\n2024-01-01,1\n", {}, r"'a' holds values of type date32"),
        ("a,y\n1,u\n2,\n", {"target": "y"}, r"t.csv, row 3, target: .* missing"),
        ("a,y\n1,9007199254740995\n", {"target": "y"}, r"pass words=\['y'\]"),
    ],
)
def test_wrong_texts_are_named(content, how, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        list(CsvRows(text(tmp_path, content), **how).blocks())


def test_words_after_numbers_are_named(tmp_path, monkeypatch):
    monkeypatch.setattr("pursuit.batches.text._TEXT_BYTES", 64)
    rows = text(tmp_path, "z,a,y\n" + "0,1,2\n" * 50 + "0,1,word\n0,oops,3\n")
    message = r"t.csv: column 'y', row 52: no number: .*'word'; .* words=\['y'\]"
    with pytest.raises(RowsError, match=message):
        list(CsvRows(rows, target="y", features=["a"]).blocks())
    (block,) = CsvRows(rows, target="y", features=["z"], words=["y"]).blocks()
    assert block.y.tolist()[-2:] == ["word", "3"]
    with pytest.raises(RowsError, match="column 'a', row 53: no number: .*'oops'[.]"):
        list(CsvRows(rows, features=["a"]).blocks())


def test_texts_of_another_header_are_named(tmp_path):
    text(tmp_path, "a,b\n1,2\n", "0.csv")
    text(tmp_path, "b,a\n3,4\n", "1.csv")
    (block,) = CsvRows(tmp_path).blocks()
    assert block.X.tolist() == [[1, 2], [4, 3]]
    text(tmp_path, "a,c\n3,4\n", "1.csv")
    message = r"1.csv differs from .*0.csv: it has no column 'b', .* more column, 'c'"
    with pytest.raises(RowsError, match=message):
        CsvRows(tmp_path)


def test_torn_compressed_texts_are_named(folder, tmp_path):
    content = (folder / "one.csv.gz").read_bytes()
    (tmp_path / "torn.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(RowsError, match="torn.csv.gz"):
        list(CsvRows(tmp_path / "torn.csv.gz", **HOW).blocks())


# -- Arrow and polars ----------------------------------------------------------------


def test_streams_that_are_read_once_are_refused():
    with pytest.raises(ValueError, match="read only once.*function that returns"):
        ArrowRows(TABLE.to_reader(), **HOW)
    with pytest.raises(ValueError, match="read only once.*function that makes it"):
        rows_of(generated())


def test_functions_may_return_what_gives_a_stream():
    rows = ArrowRows(lambda: pl.from_arrow(TABLE), **HOW)
    np.testing.assert_array_equal(whole(rows.blocks())[0], X)
    with pytest.raises(TypeError, match="returned list: it must return a RecordBatch"):
        ArrowRows(lambda: [1])


def test_streams_that_fail_in_the_middle_are_named():
    batches = TABLE.to_batches(max_chunksize=100)

    def failing():
        yield from batches[:3]
        raise OSError("the line is dead")

    rows = ArrowRows(
        lambda: pa.RecordBatchReader.from_batches(TABLE.schema, failing()), **HOW
    )
    with pytest.raises(RowsError, match="stream, after row 300: .*the line is dead"):
        list(rows.blocks())


def test_batches_of_other_schemas_are_refused():
    other = pa.table({"z": [1.0]})
    with pytest.raises(ValueError, match="not of one schema"):
        ArrowRows([TABLE, other])
    with pytest.raises(TypeError, match="int is not known"):
        ArrowRows(3)


def test_lazy_frames_run_their_query(folder, monkeypatch):
    query = pl.scan_parquet(folder / "one.parquet").filter(pl.col("a") > 0)
    expected = X[X[:, 0] > 0]
    np.testing.assert_array_equal(whole(PolarsRows(query, **HOW).blocks())[0], expected)
    # Versions of polars that do not have this method.
    monkeypatch.setattr("pursuit.batches.lazy_frames.BATCH_ROWS", 100)
    monkeypatch.delattr(pl.LazyFrame, "collect_batches", raising=False)
    rows = PolarsRows(query, **HOW)
    np.testing.assert_array_equal(whole(rows.blocks())[0], expected)
    with pytest.raises(TypeError, match="pass a LazyFrame"):
        PolarsRows(pl.DataFrame({"a": [1]}))


def test_queries_that_fail_are_named(tmp_path):
    with pytest.raises(RowsError, match="query cannot be run.*nowhere"):
        PolarsRows(pl.LazyFrame({"a": [1]}).select("nowhere"))
    query = pl.LazyFrame({"a": ["1", "x"]}).select(pl.col("a").cast(pl.Float64))
    with pytest.raises(RowsError, match="query failed"):
        list(PolarsRows(query).blocks())


# -- functions -----------------------------------------------------------------------


def test_functions_give_blocks_of_several_forms():
    def blocks():
        yield Block(X[:5], Y[:5], where="Monday")
        yield np.empty((0, 3)), []
        yield X[5:7].tolist(), Y[5:7]
        yield pd.DataFrame(X[7:9]), pd.Series(Y[7:9])
        yield sp.csr_array(X[9:10]), Y[9:10]

    found = list(CalledRows(blocks).blocks())
    assert [len(block) for block in found] == [5, 2, 2, 1]
    assert [b.where for b in found] == [
        "block 1, Monday",
        *(f"block {i}" for i in (3, 4, 5)),
    ]
    np.testing.assert_array_equal(np.vstack([dense(b.X) for b in found]), X[:10])
    (block,) = CalledRows(lambda: [X]).blocks()
    assert block.y is None


def test_functions_that_raise_are_named():
    def failing():
        yield X, Y
        raise KeyError("page 7")

    rows = CalledRows(failing).blocks()
    next(rows)
    with pytest.raises(
        RowsError, match="block 2: failing raised KeyError: 'page 7'"
    ) as e:
        next(rows)
    assert isinstance(e.value.__cause__, KeyError)


def test_interrupts_of_functions_are_not_changed():
    def interrupted():
        yield X, Y
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(CalledRows(interrupted).blocks())


def with_nan(X):
    X = X.copy()
    X[3, 1] = np.nan
    return X


@pytest.mark.parametrize(
    ("blocks", "message"),
    [
        ([(X, Y), (X[:, :2], Y)], "block 2 has 2 columns, but block 1 has 3"),
        ([(X, Y), X], "block 2 has no y, unlike block 1"),
        ([X, (X, Y)], "block 2 has a y, unlike block 1"),
        ([(X, Y), (X, X)], r"block 2 has a y of shape \(1000, 3\)"),
        ([(X, Y), (X, Y[:5])], r"block 2: y has the shape \(5,\), X has 1000 rows"),
        ([(X, Y, WEIGHT[:3])], "block 1: sample_weight.shape"),
        ([(X, Y, -WEIGHT)], "block 1: row 1: the weight is -"),
        ([(X, Y), (with_nan(X), Y)], "block 2: row 4, column 1: the value is missing"),
        ([(1, 2, 3, 4)], "block 1: the function gave a tuple of 4 parts"),
        ([(Y[:, None], Y)], "block 1: .*not numbers"),
        ([X[0]], "block 1: X has the shape"),
        ([], "The function gave no rows"),
        ([np.empty((0, 3))], "The function gave no rows"),
    ],
)
def test_wrong_blocks_are_named(blocks, message):
    with pytest.raises(RowsError, match=message):
        list(CalledRows(lambda: blocks).blocks())


def test_names_of_functions_are_checked():
    with pytest.raises(RowsError, match="3 columns, but there are 2 feature_names"):
        next(CalledRows(generated, feature_names=["a", "b"]).blocks())
    frames = [pd.DataFrame(X, columns=list(names)) for names in ("abc", "acb")]
    with pytest.raises(RowsError, match="block 2 has the columns"):
        list(CalledRows(lambda: frames).blocks())
    with pytest.raises(TypeError, match="not callable"):
        CalledRows([X])


def test_subclasses_need_blocks_only():
    class Own(Rows):
        def blocks(self, start=0):
            yield from list(ArrayRows(X, Y, rows_at_once=500).blocks())[start:]

    rows = Own()
    assert rows_of(rows) is rows
    assert rows.fingerprint() == Own().fingerprint()
    (scaled,) = rows.through(StandardScaler().fit(X)).blocks(1)
    np.testing.assert_allclose(scaled.X, StandardScaler().fit_transform(X)[500:])


# -- values and columns that are refused ---------------------------------------------


@pytest.mark.parametrize("name", ["parquet", "csv", "table", "lazy frame", "frame"])
@pytest.mark.parametrize("value", [np.nan, np.inf, None])
def test_values_that_are_not_finite_are_named(name, value, tmp_path):
    values = [1.0] * 300
    values[200] = value
    table = pa.table({"a": [1.0] * 300, "bad": values, "y": [0.0] * 300})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=70)
    csv.write_csv(table, tmp_path / "t.csv")
    how = {"target": "y", "rows_at_once": 90}
    rows = {
        "parquet": lambda: ParquetRows(tmp_path / "t.parquet", **how),
        "csv": lambda: CsvRows(tmp_path / "t.csv", **how),
        "table": lambda: ArrowRows(table, **how),
        "lazy frame": lambda: PolarsRows(
            pl.scan_parquet(tmp_path / "t.parquet"), **how
        ),
        "frame": lambda: rows_of(pl.from_arrow(table), target="y"),
    }[name]()
    what = "is inf" if value == np.inf else "is missing"
    row = 202 if name == "csv" else 201  # the header is a row of text
    place = {"parquet": "t.parquet, ", "csv": "t.csv, "}.get(name, "")
    with pytest.raises(RowsError, match=f"{place}row {row}, column 'bad': .*{what}"):
        list(rows.blocks())


@pytest.mark.parametrize(
    "values", [[1, None], ["u", None], [0.5, np.nan], [True, None]]
)
def test_missing_targets_are_named(values, tmp_path):
    table = pa.table({"a": [1.0, 2.0], "y": values})
    pq.write_table(table, tmp_path / "t.parquet")
    for rows in (
        ParquetRows(tmp_path / "t.parquet", target="y"),
        ArrowRows(table, target="y"),
        rows_of(table.to_pandas(), target="y"),
        rows_of(table.to_pandas(types_mapper=pd.ArrowDtype), target="y"),
        rows_of(pl.from_arrow(table), target="y"),
    ):
        with pytest.raises(RowsError, match="row 2, target: the value is missing"):
            list(rows.blocks())


def test_missing_values_of_sparse_matrices_are_named():
    values = X.copy()
    values[250, 2] = np.inf
    with pytest.raises(RowsError, match="row 251, column 2: the value is inf"):
        list(ArrayRows(sp.csr_array(values), rows_at_once=100).blocks())


def test_sums_that_overflow_are_no_error():
    large = np.full((4, 2), 1e308)
    assert len(next(ArrayRows(large).blocks())) == 4


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ({"target": "yy"}, r"target='yy': .* no column 'yy'. Did you mean 'y'\?"),
        ({"features": ["a", "unusde"]}, r"Did you mean 'unused'\? Its columns are 'y'"),
        ({"weight": "zzz"}, "weight='zzz': .* has no column 'zzz'. Its columns"),
        ({"target": "a", "features": ["a", "b"]}, "target='a' is among the features"),
        ({"weight": "b", "features": ["a", "b"]}, "weight='b' is among the features"),
        ({"target": "a", "weight": "a", "features": ["b"]}, "both target and weight"),
        ({"features": ["a", "a"]}, "names 'a' twice"),
        ({"features": []}, "no columns for features"),
        ({"target": "y"}, "the column 'unused' holds words: encode it.*as_frame=True"),
        (
            {"features": ["a"], "weight": "y"},
            "'y' holds words: weights must be numbers",
        ),
        ({"features": ["a"], "rows_at_once": 0}, "rows_at_once=0 must be a whole"),
        (
            {"features": ["a"], "as_frame": "yes"},
            "as_frame='yes' must be True or False",
        ),
    ],
)
@pytest.mark.parametrize("name", ["parquet", "csv", "table", "lazy frame"])
def test_wrong_columns_are_refused(name, how, message, folder):
    make = {
        "parquet": lambda: ParquetRows(folder / "one.parquet", **how),
        "csv": lambda: CsvRows(folder / "one.csv", **how),
        "table": lambda: ArrowRows(TABLE, **how),
        "lazy frame": lambda: PolarsRows(
            pl.scan_parquet(folder / "one.parquet"), **how
        ),
    }[name]
    with pytest.raises(ValueError, match=message):
        make()


def test_dates_and_categories_are_no_features():
    days = pd.date_range("2024-01-01", periods=3)
    frame = pd.DataFrame({"a": [1, 2, 3], "day": days})
    words = pd.DataFrame({"a": pd.Categorical(["u", "v", "u"])})
    for data, message in (
        (frame, "'day' .datetime64"),
        (pl.from_pandas(frame), "'day' .Datetime"),
        (words, "'a' .category"),
        (days.to_numpy()[:, None], "type datetime64"),
        (np.array([["x"]]), "array of type <U1"),
    ):
        with pytest.raises(ValueError, match=message):
            ArrayRows(data)
    with pytest.raises(ValueError, match="'day' holds values of type timestamp"):
        ArrowRows(pa.Table.from_pandas(frame))
    with pytest.raises(ValueError, match="targets must be numbers, truth values"):
        ArrowRows(pa.Table.from_pandas(frame), target="day")
    with pytest.raises(ValueError, match="y holds dates"):
        ArrayRows(X[:3], days)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((X[:0],), "at least one row and one column"),
        ((X[:, :0],), "at least one row and one column"),
        ((X[0],), "two dimensions"),
        ((X, Y[:3]), r"y has the shape \(3,\), X has 1000 rows"),
        ((X, Y, [1.0]), r"sample_weight.shape == \(1,\), expected \(1000,\)"),
        ((pd.DataFrame(X, columns=list("aab")),), "two columns named 'a'"),
    ],
)
def test_wrong_arrays_are_refused(arguments, message):
    with pytest.raises(ValueError, match=message):
        ArrayRows(*arguments)


# -- transformers --------------------------------------------------------------------


def test_words_are_encoded_block_by_block(folder):
    frame = TABLE.to_pandas()
    encoder = ColumnTransformer(
        [("words", OneHotEncoder(), ["y"]), ("numbers", StandardScaler(), ["b", "c"])],
        sparse_threshold=0.0,
    ).fit(frame[["y", "b", "c"]])
    expected = encoder.transform(frame[["y", "b", "c"]])
    how = {"features": ["y", "b", "c"], "target": "a", "as_frame": True}
    for rows in (
        ParquetRows(folder / "parts", rows_at_once=130, **how),
        CsvRows(folder / "texts", rows_at_once=130, **how),
        ArrowRows(TABLE, rows_at_once=130, **how),
        PolarsRows(pl.scan_parquet(folder / "one.parquet"), rows_at_once=130, **how),
    ):
        encoded = rows.through(encoder)
        assert encoded.feature_names[:2] == ("words__y_no", "words__y_yes")
        blocks = list(encoded.blocks())
        np.testing.assert_allclose(np.vstack([block.X for block in blocks]), expected)
        np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), X[:, 0])
        assert encoded.fingerprint() == rows.through(encoder).fingerprint()


def test_sparse_results_stay_sparse():
    encoder = OneHotEncoder().fit([[0], [1]])
    rows = ArrayRows(np.array([[0], [1], [0]])).through(encoder)
    (block,) = rows.blocks()
    assert sp.issparse(block.X)
    assert block.X.format == "csr"
    np.testing.assert_array_equal(block.X.toarray(), [[1, 0], [0, 1], [1, 0]])


def test_missing_values_are_filled_by_transformers(tmp_path):
    table = pa.table({"a": [1.0, None, 3.0], "b": [1, 2, None]})
    pq.write_table(table, tmp_path / "t.parquet")
    frame = table.to_pandas()
    imputer = SimpleImputer().fit(frame)
    for rows in (
        ArrowRows(table, as_frame=True),
        ArrowRows(table),
        ParquetRows(tmp_path / "t.parquet"),
        ArrayRows(frame),
        ArrayRows(pl.from_arrow(table)),
        CalledRows(lambda: [frame], feature_names=["a", "b"]),
    ):
        filled = rows.through(imputer)
        (block,) = filled.blocks()
        np.testing.assert_array_equal(block.X, [[1, 1], [2, 2], [3, 1.5]])
        assert filled.fingerprint() == rows.through(imputer).fingerprint()
    scaled = ArrowRows(table).through(StandardScaler().fit(frame))
    again = scaled.through(SimpleImputer().fit([[1.0, 2.0]]))
    assert next(again.blocks()).X[1, 0] == 1.0
    with pytest.raises(RowsError, match="row 2, column 'a': the value is missing"):
        list(scaled.blocks())


def test_transformers_that_fail_are_named():
    rows = ArrayRows(np.array([[0], [1], [2]]), rows_at_once=2)
    encoded = rows.through(OneHotEncoder().fit([[0], [1]])).blocks()
    next(encoded)
    with pytest.raises(RowsError, match="row 3: OneHotEncoder cannot .* unknown categ"):
        next(encoded)

    class Dropping(StandardScaler):
        def transform(self, X):
            return super().transform(X)[:-1]

    dropping = rows.through(Dropping().fit([[0], [1]])).blocks()
    with pytest.raises(
        RowsError, match="rows 1 to 2: Dropping made .* one row for each"
    ):
        next(dropping)
    with pytest.raises(ValueError, match="not fitted"):
        rows.through(StandardScaler())
    with pytest.raises(ValueError, match="has no method transform"):
        rows.through("scaler")


# -- what is chosen ------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda folder: str(folder / "one.parquet"), ParquetRows),
        (lambda folder: folder / "parts", ParquetRows),
        (lambda folder: [folder / "one.parquet"], ParquetRows),
        (lambda folder: folder / "one.csv", CsvRows),
        (lambda folder: folder / "one.csv.gz", CsvRows),
        (lambda folder: str(folder / "texts"), CsvRows),
        (lambda folder: f"{folder}/texts/*.csv", CsvRows),
        (lambda folder: TABLE, ArrowRows),
        (lambda folder: TABLE.to_batches(), ArrowRows),
        (lambda folder: ds.dataset(folder / "parts"), ArrowRows),
        (lambda folder: pl.from_arrow(TABLE).lazy(), PolarsRows),
        (lambda folder: pl.from_arrow(TABLE), ArrayRows),
        (lambda folder: TABLE.to_pandas(), ArrayRows),
    ],
)
def test_a_source_is_chosen_by_type(make, kind, folder):
    rows = rows_of(make(folder), target="y", features=list(NAMES), weight="w")
    assert type(rows) is kind
    features, targets, weight = whole(rows.blocks())
    np.testing.assert_array_equal(features, X)
    np.testing.assert_array_equal(targets, Y)
    np.testing.assert_array_equal(weight, WEIGHT)


def test_arrays_and_functions_are_chosen():
    assert type(rows_of(X, Y, WEIGHT)) is ArrayRows
    assert type(rows_of(X.tolist(), Y.tolist())) is ArrayRows
    assert type(rows_of(generated)) is CalledRows


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: rows_of(X, target="y"), "columns have no names: pass y"),
        (lambda f: rows_of(f / "one.csv", Y), "y cannot be given with"),
        (
            lambda f: rows_of(generated, target="y"),
            "target cannot be given with a func",
        ),
        (
            lambda f: rows_of(ArrayRows(X), target="y"),
            "target cannot be given with Arr",
        ),
        (lambda f: rows_of(TABLE.to_pandas(), Y, target="y"), "Both target and y"),
        (lambda f: rows_of(f), "holds both CSV and Parquet files"),
    ],
)
def test_arguments_that_do_not_go_together_are_refused(call, message, folder):
    with pytest.raises(ValueError, match=message):
        call(folder)


@pytest.mark.parametrize("kind", [ParquetRows, CsvRows, rows_of])
def test_missing_paths_are_named(kind, tmp_path):
    with pytest.raises(FileNotFoundError, match="no file or folder '.*nowhere'"):
        kind(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="No file matches the pattern"):
        kind(f"{tmp_path}/*.pq")
    with pytest.raises(FileNotFoundError, match="ArrowRows.pyarrow.dataset"):
        kind("s3://bucket/rows.parquet")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty' holds no files that end with"):
        kind(tmp_path / "empty")


def test_empty_lists_and_files_are_refused(tmp_path):
    with pytest.raises(ValueError, match="list of paths is empty"):
        ParquetRows([])
    pq.write_table(pa.table({"a": pa.array([], pa.float64())}), tmp_path / "0.parquet")
    with pytest.raises(RowsError, match="0.parquet has no rows"):
        ParquetRows(tmp_path)
    with pytest.raises(RowsError, match="the table has no rows"):
        list(ArrowRows(TABLE.slice(0, 0), **HOW).blocks())
    with pytest.raises(RowsError, match="the lazy frame has no rows"):
        list(PolarsRows(pl.LazyFrame({"a": []}, schema={"a": float})).blocks())


@pytest.mark.parametrize(
    ("package", "code", "extra"),
    [
        ("pyarrow", "ParquetRows(path)", "tables"),
        ("pyarrow", "CsvRows(path)", "tables"),
        ("pyarrow", "ArrowRows(3)", "tables"),
        ("polars", "PolarsRows(3)", "polars"),
    ],
)
def test_missing_packages_are_named(package, code, extra, monkeypatch, folder):
    for name in [n for n in sys.modules if n.partition(".")[0] == package]:
        monkeypatch.setitem(sys.modules, name, None)
    path = folder / "one.parquet"
    names = {"ParquetRows": ParquetRows, "CsvRows": CsvRows, "ArrowRows": ArrowRows}
    with pytest.raises(ImportError, match=f"need {package}: .*pursuit.{extra}."):
        eval(code, {**names, "PolarsRows": PolarsRows, "path": path})


def test_the_package_is_imported_without_optional_ones():
    code = (
        "import sys; sys.modules |= dict.fromkeys(('pandas', 'polars', 'pyarrow'));"
        "from pursuit.batches import rows_of;"
        "print([len(block) for block in rows_of([[1, 2], [3, 4]], [5, 6]).blocks()])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[2]"


# -- memory --------------------------------------------------------------------------

MEASURE = """
import sys
from pathlib import Path
from pursuit.batches import rows_of
def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
rows = rows_of(sys.argv[1])
rows.rows_at_once = 8192
held, n = [], 0
for block in rows.blocks():
    held.append(resident())
    n += len(block)
half = len(held) // 2
print(n, max(held[half:]) - max(held[:half]))
"""


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs Linux")
@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv"])
def test_memory_does_not_grow_with_the_rows(name, tmp_path):
    rng = np.random.default_rng(0)
    n = 1_000_000 if name.endswith("parquet") else 600_000
    table = pa.table({f"x{i}": rng.normal(size=n).round(3) for i in range(10)})
    path = tmp_path / name
    if name.endswith("parquet"):
        pq.write_table(table, path, use_dictionary=False)  # a single row group
    else:
        csv.write_csv(table, path)
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, str(path)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "MALLOC_ARENA_MAX": "1"},
    )
    n_read, grown = map(int, done.stdout.split())
    assert n_read == n
    # The second half of the rows is twice as much.
    assert grown < 8 * 10 * n / 4
