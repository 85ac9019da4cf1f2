"""How quickly sources give their rows, and in how much memory.

    python benchmarks/bench_reading.py [--rows 1000000] [--trips 3]

Ten features and a target, normal numbers.  Every source is a process of its own; the
best of the trips counts.  MB are those of the blocks, as float64.  Peak memory is what
the process held above its start, after the packages were imported (Linux only); pages
of a memory map count, though the system takes them back when it needs them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

FEATURES = 10

SOURCES = {
    "array, as it is": "ArrayRows(np.load(f'{folder}/X.npy'), y)",
    "memory map": "ArrayRows(np.load(f'{folder}/X.npy', mmap_mode='r'), y)",
    "memory map of float32": (
        "ArrayRows(np.load(f'{folder}/X32.npy', mmap_mode='r'), y)"
    ),
    "Parquet, one file": "ParquetRows(f'{folder}/one.parquet', target='y')",
    "Parquet, folder of 8": "ParquetRows(f'{folder}/parts', target='y')",
    "Parquet, 2 of 10 features": (
        "ParquetRows(f'{folder}/one.parquet', target='y', features=['x0', 'x1'])"
    ),
    "Parquet, filter of half": (
        "ParquetRows(f'{folder}/one.parquet', target='y', filter=[('x0', '>', 0)])"
    ),
    "CSV": "CsvRows(f'{folder}/one.csv', target='y')",
    "CSV, compressed": "CsvRows(f'{folder}/one.csv.gz', target='y')",
    "Arrow stream": (
        "ArrowRows(lambda: pa.ipc.open_stream(f'{folder}/one.arrows'), target='y')"
    ),
    "Arrow dataset of Parquet": "ArrowRows(ds.dataset(f'{folder}/parts'), target='y')",
    "polars, lazy frame of Parquet": (
        "PolarsRows(pl.scan_parquet(f'{folder}/one.parquet'), target='y')"
    ),
    "function": "CalledRows(made)",
}

MEASURE = """
import sys, time
import numpy as np, polars as pl, pyarrow as pa, pyarrow.csv, pyarrow.parquet
import pyarrow.dataset as ds
from pursuit.batches import *
expression, folder, trips = sys.argv[1], sys.argv[2], int(sys.argv[3])
y = np.load(f"{folder}/y.npy")
def made():
    # Costs of the source alone: the same rows again and again.
    X = np.zeros((65536, 10))
    for start in range(0, len(y), len(X)):
        n = min(len(X), len(y) - start)
        yield X[:n], y[start:start + n]
def held():
    # The largest memory of this process; getrusage counts its parent's too.
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmHWM")))
before = held()
seconds = []
for _ in range(trips):
    start = time.perf_counter()
    n = size = 0
    for block in eval(expression).blocks():
        n += len(block)
        size += block.X.nbytes + block.y.nbytes
    seconds.append(time.perf_counter() - start)
print(n, size, min(seconds), (held() - before) / 1024)
"""


def write(folder: Path, n_rows: int) -> None:
    """Write the same rows in every format, a part at a time."""
    import pyarrow as pa
    from pyarrow import csv, parquet

    X = np.random.default_rng(0).normal(size=(n_rows, FEATURES))
    y = X[:, 0] + np.sin(X[:, 1])
    np.save(folder / "X.npy", X)
    np.save(folder / "X32.npy", X.astype(np.float32))
    np.save(folder / "y.npy", y)
    table = pa.table({f"x{j}": X[:, j] for j in range(FEATURES)} | {"y": y})
    parquet.write_table(table, folder / "one.parquet")
    (folder / "parts").mkdir()
    step = -(-n_rows // 8)
    for i in range(8):
        part = table.slice(i * step, step)
        parquet.write_table(part, folder / "parts" / f"part-{i}.parquet")
    csv.write_csv(table, folder / "one.csv")
    with pa.CompressedOutputStream(str(folder / "one.csv.gz"), "gzip") as stream:
        csv.write_csv(table, stream)
    with pa.ipc.new_stream(folder / "one.arrows", table.schema) as stream:
        stream.write_table(table, max_chunksize=65536)


def row(name: str, folder: Path, trips: int) -> str:
    """Return the measurements of one source."""
    process = subprocess.run(
        [sys.executable, "-c", MEASURE, SOURCES[name], str(folder), str(trips)],
        env={**os.environ, "OMP_NUM_THREADS": "1", "POLARS_MAX_THREADS": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    n_rows, n_bytes, seconds, peak = map(float, process.stdout.split())
    return (
        f"| {name} | {seconds:.3f} | {n_rows / seconds / 1e6:.2f} | "
        f"{n_bytes / seconds / 1e6:.0f} | {peak:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--trips", type=int, default=3)
    parser.add_argument("--only", nargs="+", default=list(SOURCES), metavar="SOURCE")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write(folder, args.rows)
        print("| source | seconds | million rows/s | MB/s | peak, MiB |")
        print("|---|---|---|---|---|")
        for source in args.only:
            print(row(source, folder, args.trips), flush=True)


if __name__ == "__main__":
    main()
