"""Fits block by block that cannot go on: what is said, and what is kept."""

import errno
import os
import signal
import subprocess
import sys
import threading
import traceback
import tracemalloc

import numpy as np
import pytest
from sklearn.base import clone

import pursuit.estimators.kmp.batch_planning as batch_planning
import pursuit.trips.checkpoint as checkpoint_module
from pursuit import KMPClassifier, KMPRegressor
from pursuit.batches import ArrayRows, CalledRows, ParquetRows, Rows, RowsError

resource = pytest.importorskip("resource", reason="limits of Unix")

N, SIZE = 900, 50


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Let little data be fitted as large data are, and blocks be visited one by one."""
    monkeypatch.setattr(batch_planning, "PART_ROWS", 200)
    monkeypatch.setattr("pursuit.trips.visits._LEAST_ROWS", 1)


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 3))
    return X, np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.normal(size=N)


MODEL = KMPRegressor(
    *("rbf",),
    gamma=0.5,
    alpha=1e-3,
    n_candidates=60,
    max_support=12,
    random_state=0,
)


def assert_same(one, other):
    np.testing.assert_array_equal(one.support_vectors_, other.support_vectors_)
    scale = np.abs(one.dual_coef_).max()
    np.testing.assert_allclose(one.dual_coef_, other.dual_coef_, atol=1e-8 * scale)


def printed(error):
    return "".join(traceback.format_exception(error))


class Failing(Rows):
    """Rows that raise an error after a number of blocks."""

    def __init__(self, X, y, n_good):
        self._rows, self.n_left = ArrayRows(X, y, rows_at_once=SIZE), n_good

    def blocks(self, start=0):
        for block in self._rows.blocks(start):
            if self.n_left == 0:
                raise OSError("the disk was pulled out")
            self.n_left -= 1
            yield block

    def fingerprint(self):
        return self._rows.fingerprint()


# -- sources that fail -------------------------------------------------------------


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_fit_goes_on_from_its_checkpoint(numbers, tmp_path, loss):
    X, y = numbers
    model = KMPClassifier(**MODEL.get_params() | {"loss": loss})
    y = (y > 0.5).astype(int)
    expected = clone(model).fit_batches(ArrayRows(X, y, rows_at_once=SIZE))
    file, n_failed = tmp_path / "fit.npz", 0
    resumed = None
    while resumed is None:
        try:
            resumed = clone(model).fit_batches(Failing(X, y, 11), checkpoint=file)
        except OSError as error:
            n_failed += 1
            assert "pulled out" in str(error)
            assert "goes on from checkpoint=" in printed(error)
            assert n_failed < 40
    assert n_failed >= (5 if loss == "logistic" else 3)
    assert_same(expected, resumed)
    # A complete checkpoint is all that is needed.
    assert_same(expected, clone(model).fit_batches(Failing(X, y, 0), checkpoint=file))


def test_a_source_that_raises_says_on_which_trip_and_block(numbers):
    X, y = numbers
    with pytest.raises(OSError, match="pulled out") as caught:
        clone(MODEL).fit_batches(Failing(X, y, 23))
    text = printed(caught.value)
    assert "on the trip 'draw' over the rows, after 5 blocks" in text
    assert "with checkpoint='fit.npz', another call would go on" in text

    def blocks():
        yield X, y
        raise RuntimeError("no more tape")

    with pytest.raises(RowsError, match="block 2: blocks raised RuntimeError: no more"):
        clone(MODEL).fit_batches(blocks)


def written(numbers, folder, n_files=3, name="part"):
    """Write Parquet files; return their paths."""
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    X, y = numbers
    paths = []
    for i, rows in enumerate(np.array_split(np.arange(N), n_files)):
        table = pa.table(
            {"a": X[rows, 0], "b": X[rows, 1], "c": X[rows, 2], "y": y[rows]}
        )
        paths.append(folder / f"{name}-{i}.parquet")
        parquet.write_table(
            *(table, paths[-1]),
            compression="none",
            use_dictionary=False,
            write_page_checksum=True,
        )
    return paths


def test_a_truncated_file_is_named(numbers, tmp_path):
    paths = written(numbers, tmp_path)
    content = paths[1].read_bytes()
    paths[1].write_bytes(content[: len(content) // 2])
    with pytest.raises(RowsError, match=r"part-1\.parquet"):
        clone(MODEL).fit_batches(ParquetRows(tmp_path, target="y"))


def test_a_file_that_is_cut_during_the_fit_is_named(numbers, tmp_path):
    folder, file = tmp_path / "rows", tmp_path / "fit.npz"
    folder.mkdir()
    paths = written(numbers, folder)
    content, times = paths[2].read_bytes(), os.stat(paths[2])
    rows = ParquetRows(folder, target="y", rows_at_once=SIZE)
    n_seen = []

    class Cut(Rows):
        feature_names = rows.feature_names

        def blocks(self, start=0):
            for block in rows.blocks(start):
                n_seen.append(block)
                if len(n_seen) == 25:
                    paths[2].write_bytes(content[: len(content) // 2])
                yield block

        def fingerprint(self):
            return "the same"

    with pytest.raises(RowsError, match=r"part-2\.parquet") as caught:
        clone(MODEL).fit_batches(Cut(), checkpoint=file)
    assert "on the trip 'draw'" in printed(caught.value)
    paths[2].write_bytes(content)
    os.utime(paths[2], ns=(times.st_atime_ns, times.st_mtime_ns))
    resumed = clone(MODEL).fit_batches(Cut(), checkpoint=file)
    assert_same(resumed, clone(MODEL).fit_batches(rows))


def test_a_damaged_page_is_named(numbers, tmp_path):
    paths = written(numbers, tmp_path)
    content = bytearray(paths[1].read_bytes())
    content[4:400] = bytes(396)
    paths[1].write_bytes(content)
    with pytest.raises(RowsError, match=r"part-1\.parquet"):
        clone(MODEL).fit_batches(ParquetRows(tmp_path, target="y"))


def test_a_file_of_another_schema_is_named(numbers, tmp_path):
    pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    written(numbers, tmp_path)
    other = pa.table({"a": [1.0], "b": ["one"], "y": [2.0]})
    parquet.write_table(other, tmp_path / "part-9.parquet")
    with pytest.raises(RowsError, match=r"part-9\.parquet differs from .*part-0"):
        clone(MODEL).fit_batches(ParquetRows(tmp_path, target="y"))


def test_a_missing_value_in_the_last_block_is_named(numbers, tmp_path):
    X, y = (a.copy() for a in numbers)
    X[-1, 1] = np.nan
    written((X, y), tmp_path)
    rows = ParquetRows(tmp_path, target="y", rows_at_once=SIZE)
    file = tmp_path / "fit.npz"
    for _ in range(2):  # the checkpoint stays valid
        with pytest.raises(RowsError, match=r"part-2\.parquet, row 300, column 'b'"):
            clone(MODEL).fit_batches(rows, checkpoint=file)


# -- checkpoints that fail ---------------------------------------------------------


def test_checkpoints_of_others_are_refused(numbers, tmp_path):
    X, y = numbers
    file = tmp_path / "fit.npz"
    clone(MODEL).fit_batches(ArrayRows(X, y), checkpoint=file)
    before = file.read_bytes()
    words = "other rows, or with other parameters"
    with pytest.raises(ValueError, match=words):
        clone(MODEL).set_params(max_support=5).fit_batches(
            ArrayRows(X, y), checkpoint=file
        )
    with pytest.raises(ValueError, match=words):
        clone(MODEL).fit_batches(ArrayRows(X + 1, y), checkpoint=file)
    assert file.read_bytes() == before
    # What does not change the model may change.
    clone(MODEL).set_params(max_memory="1 GiB", verbose=0).fit_batches(
        ArrayRows(X, y), checkpoint=file
    )


def test_damaged_checkpoints_are_refused(numbers, tmp_path):
    X, y = numbers
    file = tmp_path / "fit.npz"
    clone(MODEL).fit_batches(ArrayRows(X, y), checkpoint=file)
    before, rng = file.read_bytes(), np.random.default_rng(0)
    damaged = [b"", b"nonsense", before[: len(before) // 2], before + b"x"]
    for place in rng.integers(len(before), size=50):
        content = bytearray(before)
        content[place] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(content))
    for content in damaged:
        file.write_bytes(content)
        with pytest.raises(ValueError, match=r"fit\.npz.*no readable checkpoint"):
            clone(MODEL).fit_batches(ArrayRows(X, y), checkpoint=file)


def test_a_checkpoint_that_cannot_be_written_is_told_before_the_first_trip(
    numbers, tmp_path
):
    rows = Failing(*numbers, 0)
    with pytest.raises(OSError, match=r"nowhere.*cannot be written"):
        clone(MODEL).fit_batches(rows, checkpoint=tmp_path / "nowhere" / "fit.npz")
    with pytest.raises((OSError, ValueError), match="checkpoint="):
        clone(MODEL).fit_batches(rows, checkpoint=tmp_path)


def test_a_full_disk_is_told_and_the_checkpoint_stays_valid(
    numbers, tmp_path, monkeypatch
):
    X, y = numbers
    file = tmp_path / "fit.npz"
    with pytest.raises(OSError, match="pulled out"):
        clone(MODEL).fit_batches(Failing(X, y, 20), checkpoint=file)
    before = file.read_bytes()

    def full(path, content):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint_module, "write_whole", full)
        with pytest.raises(OSError, match=r"fit\.npz.*after block.*No space.*still"):
            clone(MODEL).fit_batches(Failing(X, y, 100), checkpoint=file)
    assert file.read_bytes() == before
    resumed = clone(MODEL).fit_batches(Failing(X, y, 100), checkpoint=file)
    assert_same(resumed, clone(MODEL).fit_batches(ArrayRows(X, y)))


def test_a_file_that_may_not_grow_is_told(numbers, tmp_path):
    """The system itself refuses to write on: the file before stays, no other does."""
    X, y = numbers
    file = tmp_path / "fit.npz"
    with pytest.raises(OSError, match="pulled out"):
        clone(MODEL).fit_batches(Failing(X, y, 10), checkpoint=file)
    before = file.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 1000, hard))
    try:
        with pytest.raises(OSError, match=r"fit\.npz.*cannot be written.*still valid"):
            clone(MODEL).fit_batches(Failing(X, y, 100), checkpoint=file)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert os.listdir(tmp_path) == ["fit.npz"]
    resumed = clone(MODEL).fit_batches(Failing(X, y, 100), checkpoint=file)
    assert_same(resumed, clone(MODEL).fit_batches(ArrayRows(X, y)))


# -- interrupts --------------------------------------------------------------------


class Named(CalledRows):
    def fingerprint(self):
        return "named"


def interrupting(numbers, n_before):
    """Return rows that press Ctrl-C as one of their blocks is read."""
    X, y = numbers
    n_seen = []

    def blocks():
        for i in range(0, N, 100):
            n_seen.append(i)
            if len(n_seen) == n_before:
                signal.raise_signal(signal.SIGINT)
            yield X[i : i + 100], y[i : i + 100]

    return Named(blocks)


def test_interrupts_wait_for_the_block_and_keep_the_checkpoint(numbers, tmp_path):
    file, before = tmp_path / "fit.npz", signal.getsignal(signal.SIGINT)
    rows = interrupting(numbers, 14)
    with pytest.raises(KeyboardInterrupt) as caught:
        clone(MODEL).fit_batches(rows, checkpoint=file)
    assert signal.getsignal(signal.SIGINT) is before
    text = printed(caught.value)
    assert "on the trip 'draw' over the rows, after 5 blocks" in text
    assert f"The same call goes on from checkpoint={str(file)!r}" in text
    resumed = clone(MODEL).fit_batches(rows, checkpoint=file)
    assert_same(resumed, clone(MODEL).fit_batches(ArrayRows(*numbers)))


def test_interrupts_without_a_checkpoint_say_how_to_keep_more(numbers):
    with pytest.raises(KeyboardInterrupt) as caught:
        clone(MODEL).fit_batches(interrupting(numbers, 3))
    assert "with checkpoint='fit.npz'" in printed(caught.value)


def test_a_second_interrupt_in_a_block_does_not_spoil_the_checkpoint(
    numbers, tmp_path, monkeypatch
):
    from pursuit.trips.summing import Sum

    X, y = numbers
    file, add, n_calls = tmp_path / "fit.npz", Sum._add, []

    def add_and_interrupt(self, *arguments):
        add(self, *arguments)
        n_calls.append(1)
        if len(n_calls) == 5:  # one half of a block is added
            signal.raise_signal(signal.SIGINT)
            signal.raise_signal(signal.SIGINT)

    rows = ArrayRows(X, y, rows_at_once=SIZE)
    with monkeypatch.context() as patch:
        patch.setattr(Sum, "_add", add_and_interrupt)
        with pytest.raises(KeyboardInterrupt):
            clone(MODEL).fit_batches(rows, checkpoint=file)
    resumed = clone(MODEL).fit_batches(rows, checkpoint=file)
    assert_same(resumed, clone(MODEL).fit_batches(rows))


def test_fits_in_threads_take_no_signals(numbers):
    fitted = []
    model = clone(MODEL)
    thread = threading.Thread(
        target=lambda: fitted.append(model.fit_batches(ArrayRows(*numbers)))
    )
    thread.start()
    thread.join(60)
    assert_same(fitted[0], clone(MODEL).fit_batches(ArrayRows(*numbers)))


_SCRIPT = """
import os, signal, sys, time
import numpy as np
import pursuit.estimators.kmp.batch_planning as planning
import pursuit.trips.checkpoint as checkpoint
import pursuit.trips.visits as visits
from pursuit import KMPClassifier
from pursuit.batches import ArrayRows

planning.PART_ROWS, checkpoint._EVERY, checkpoint._RATIO = 200, 0.0, 0.0
visits._LEAST_ROWS = 1
X = np.random.default_rng(0).normal(size=(900, 3))
y = np.sin(X[:, 0]) > 0.2

class Slow(ArrayRows):
    def blocks(self, start=0):
        for block in super().blocks(start):
            time.sleep(pause)
            yield block

def fit(out, file=None):
    model = KMPClassifier("rbf", gamma=0.5, alpha=1e-3, n_candidates=60, max_support=9,
                          loss="logistic")
    model.fit_batches(Slow(X, y, rows_at_once=30), checkpoint=file)
    np.savez(out, support=model.support_vectors_, coef=model.dual_coef_)

file, folder, rng = sys.argv[1], sys.argv[2], np.random.default_rng(1)
pause = 0.0
fit(f"{folder}/whole.npz")
n_killed, pause = 0, 0.02
while n_killed < 10:
    child = os.fork()
    if not child:
        fit(f"{folder}/early.npz", file)
        os._exit(0)
    time.sleep(rng.uniform(0.05, 0.25))
    os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    n_killed += os.WIFSIGNALED(status)
    print(os.WIFSIGNALED(status), os.path.getsize(file), flush=True)
    assert os.WIFSIGNALED(status), "the fit was over before it was killed ten times"
pause = 0.0
fit(f"{folder}/resumed.npz", file)
"""


def test_a_fit_that_is_killed_ten_times_gives_the_same_model(tmp_path):
    """SIGKILL at random moments; the file is whole each time."""
    script, file = tmp_path / "fit.py", tmp_path / "fit.npz"
    script.write_text(_SCRIPT)
    command = [sys.executable, script, file, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=180)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("True") == 10
    with (
        np.load(tmp_path / "whole.npz") as one,
        np.load(tmp_path / "resumed.npz") as two,
    ):
        np.testing.assert_array_equal(one["support"], two["support"])
        np.testing.assert_allclose(one["coef"], two["coef"], rtol=1e-8)


# -- memory and progress -----------------------------------------------------------


def test_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr("pursuit.trips.visits._LEAST_ROWS", 4096)

    def rows(n_blocks):
        def blocks():
            for i in range(n_blocks):
                X = np.random.default_rng(i).normal(size=(4096, 5))
                yield X, np.sin(X[:, 0])

        return blocks

    peaks = []
    for n_blocks in (4, 4, 40):  # the first compiles
        tracemalloc.start()
        clone(MODEL).fit_batches(rows(n_blocks))
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 1.1 * peaks[1]


def test_progress_tells_rows_and_rate(numbers, capsys, monkeypatch):
    X, y = numbers
    model = clone(MODEL).set_params(verbose=1)
    rows = ArrayRows(X, y, rows_at_once=SIZE)
    model.fit_batches(rows)
    text = capsys.readouterr().err
    for name in ("look", "draw", "products"):
        assert f"{name}: 100%" in text
    assert "900/900" in text
    assert "row/s" in text
    # Without tqdm.
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    model.fit_batches(rows)
    text = capsys.readouterr().err
    assert "products: 900/900 rows, " in text
    assert "/s" in text
