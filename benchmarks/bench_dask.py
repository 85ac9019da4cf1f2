"""Fits on Dask beside fits in one process: what distribution costs on one machine.

Two workers of one thread each, beside one process of two threads; the same rows from
the same Parquet files, 10 features, 200 points of 400 candidates. Each fit is a process
of its own that has made a small fit before, so that neither the start of workers nor
compilation counts. The ways take turns; shown are
seconds on the clock, and as "work" those of all processors, which matter where others
use the machine too: compare them with ``--threads 1``, since threads of BLAS that wait
for each other count as work.

    python benchmarks/bench_dask.py 1e6 --repeats 5
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import bench_batches as batches
import numpy as np

ROWS_IN_FILE = 125_000
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS")
WAYS = ("process", "dask")
PARAMS = {
    "max_support": batches.N_POINTS,
    "n_candidates": batches.N_CANDIDATES,
    "random_state": 0,
}


def timed(fit: Any, visits: type, processors: Any) -> dict[str, float]:
    """Return the seconds of a fit and of each of its trips, and its error.

    ``processors()`` are the seconds of all processors so far.
    """
    seconds: dict[str, float] = {}
    plain = visits.total

    def total(self: Any, trip: Any) -> Any:
        start = time.perf_counter()
        tally = plain(self, trip)
        seconds[trip.name] = seconds.get(trip.name, 0) + time.perf_counter() - start
        return tally

    visits.total = total
    start, before = time.perf_counter(), processors()
    model = fit()
    whole, work = time.perf_counter() - start, processors() - before
    X, y = batches.some_rows(50_000, 2**30)
    error = float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    known = {"fit": whole, "work": work, "error": error, "points": model.n_support_}
    return {**seconds, **known}


def process(folder: Path) -> dict[str, float]:
    """Fit in this process."""
    from pursuit import KMPRegressor
    from pursuit.batches import ParquetRows
    from pursuit.trips import LocalVisits

    def fit(folder: Path = folder) -> Any:
        return KMPRegressor(**PARAMS).fit_batches(ParquetRows(folder, target="y"))

    fit(folder.with_name("few"))
    return timed(fit, LocalVisits, time.process_time)


def dask(folder: Path) -> dict[str, float]:
    """Fit on two workers of one thread each."""
    import dask.dataframe as dd
    from distributed import Client

    from pursuit.dask import DaskKMPRegressor, DaskVisits

    def fit(folder: Path = folder) -> Any:
        frame = dd.read_parquet(folder)
        names = [name for name in frame.columns if name != "y"]
        return DaskKMPRegressor(**PARAMS).fit(frame[names], frame["y"]).local_

    address = {"dashboard_address": ":0"}
    with Client(n_workers=2, threads_per_worker=1, **address) as client:

        def processors() -> float:
            workers = client.run(time.process_time).values()
            return time.process_time() + sum(workers)

        fit(folder.with_name("few"))
        return timed(fit, DaskVisits, processors)


def apart(way: str, folder: Path, n_threads: int) -> dict[str, float]:
    """Run a way in a process of its own; workers have one thread each."""
    command = [sys.executable, __file__, "--way", way, "--folder", str(folder)]
    # What stands in the environment counts for workers too.
    threads = dict.fromkeys(THREADS, "1" if way == "dask" else str(n_threads))
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, env=os.environ | threads
    )
    if done.returncode:
        raise SystemExit(f"{way} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main(n: int, repeats: int, n_threads: int = 2) -> None:
    """Print the table, and the ratio of the medians."""
    names = ("fit", "work", "look", "draw", "products", "error", "points")
    print(f"{n:.0e} rows".ljust(16) + "".join(f"{name:>10}" for name in names))
    measured: dict[str, list[list[float]]] = {way: [] for way in WAYS}
    batches.ROWS_IN_FILE = ROWS_IN_FILE
    with tempfile.TemporaryDirectory() as place:
        batches.write(Path(place) / "rows", n)
        batches.write(Path(place) / "few", 25_000)
        for _ in range(repeats):
            for way in WAYS:
                figures = apart(way, Path(place) / "rows", n_threads)
                measured[way].append([figures["fit"], figures["work"]])
                cells = "".join(f"{figures[name]:>10.2f}" for name in names)
                print(f"{way:16}{cells}", flush=True)
    ratios = np.divide(measured["dask"], measured["process"])
    for name, some in zip(("seconds", "work"), ratios.T, strict=True):
        print(
            f"Dask takes {np.median(some):.2f} times the {name} (median of {repeats}; "
            f"{some.min():.2f} to {some.max():.2f})."
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", default="1e6")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2, help="of the one process")
    parser.add_argument("--way", choices=WAYS)
    parser.add_argument("--folder", type=Path)
    options = parser.parse_args()
    if options.way:
        print(
            json.dumps({"process": process, "dask": dask}[options.way](options.folder))
        )
    else:
        main(int(float(options.rows)), options.repeats, options.threads)
