"""Fits of rows from Parquet files: time and memory against the number of rows.

Each size is a process of its own, so that its peak memory is known. Seconds are those
of the processor, one thread of BLAS, but for the first column. Beside the fit stand
reading alone, the products alone of rows in memory, and two limits of the machine:
bytes over the speed at which files are read, and operations over the speed of BLAS.
Boosted trees get the same rows in memory, at the sizes they bear.

    python benchmarks/bench_batches.py 1e5 1e6 1e7
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from scipy.linalg.blas import dsyrk

N_FEATURES, N_POINTS, N_CANDIDATES = 10, 200, 400
ROWS_IN_FILE = 500_000


def target(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return Friedman's first function with noise: five columns do not matter."""
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2
    return y + 10 * X[:, 3] + 5 * X[:, 4] + rng.normal(size=len(X))


def some_rows(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    X = rng.random((n, N_FEATURES))
    return X, target(X, rng)


def write(folder: Path, n: int) -> None:
    """Write ``n`` rows as Parquet files."""
    import pyarrow as pa
    from pyarrow import parquet

    folder.mkdir(exist_ok=True)
    for i in range(0, n, ROWS_IN_FILE):
        X, y = some_rows(min(ROWS_IN_FILE, n - i), i)
        columns = {f"x{j}": X[:, j] for j in range(N_FEATURES)}
        table = pa.table({**columns, "y": y})
        parquet.write_table(table, folder / f"part-{i:09d}.parquet", compression="none")


# -- one process each --------------------------------------------------------------


def fit(folder: str) -> dict[str, float]:
    """Fit the rows of a folder; return seconds of each trip, and the error."""
    from pursuit import KMPRegressor
    from pursuit.batches import ParquetRows
    from pursuit.trips import LocalVisits

    seconds: dict[str, float] = {}
    plain = LocalVisits.total

    def timed(self, trip):  # type: ignore[no-untyped-def]
        start = time.process_time()
        tally = plain(self, trip)
        seconds[trip.name] = time.process_time() - start
        return tally

    LocalVisits.total = timed  # type: ignore[method-assign]
    rows = ParquetRows(folder, target="y")
    # Compile before the clock starts.
    X, y = some_rows(2000, 2**31)
    KMPRegressor(max_support=20).fit(X, y)
    wall, start = time.perf_counter(), time.process_time()
    model = KMPRegressor(max_support=N_POINTS, n_candidates=N_CANDIDATES)
    model.fit_batches(rows)
    seconds["fit"] = time.process_time() - start
    seconds["wall"] = time.perf_counter() - wall
    X, y = some_rows(50_000, 2**30)
    error = float(np.sqrt(np.mean((model.predict(X) - y) ** 2)))
    return {**seconds, "error": error, "points": model.n_support_}


def read(folder: str) -> dict[str, float]:
    """Read all rows once."""
    from pursuit.batches import ParquetRows

    start = time.process_time()
    n = sum(len(block) for block in ParquetRows(folder, target="y").blocks())
    return {"seconds": time.process_time() - start, "rows": n}


def products(n: str) -> dict[str, float]:
    """Evaluate and sum up the products of rows in memory, as often as rows are asked.

    At most a million rows are visited; the time of more is in proportion.
    """
    from pursuit.batches import Block
    from pursuit.functions import KernelFunctions
    from pursuit.kernels import Gaussian
    from pursuit.trips.blocks import Coding
    from pursuit.trips.drawing import Contents
    from pursuit.trips.summing import Sum

    X, y = some_rows(1 << 16, 0)
    centers = KernelFunctions(
        X[:N_CANDIDATES], np.arange(N_CANDIDATES), False, Gaussian(gamma=1.0)
    )
    coding = Coding(n_features=N_FEATURES, n_targets=1)
    contents = Contents.of(X.min(axis=0), X.max(axis=0), None, 0, 0.0)
    trip = Sum(coding, contents, centers, np.zeros(1), np.float64)
    tally = trip.begin()
    trip.visit(tally, Block(X[:1000], y[:1000]))  # compiles
    rows = min(float(n), 1e6)
    n_blocks = max(1, round(rows / len(X)))
    start = time.process_time()
    for _ in range(n_blocks):
        trip.visit(tally, Block(X, y))
    each = (time.process_time() - start) / (n_blocks * len(X))
    return {"seconds": each * float(n)}


def boost(folder: str, which: str) -> dict[str, float]:
    """Fit boosted trees to the same rows, in memory."""
    from pursuit.batches import ParquetRows

    blocks = list(ParquetRows(folder, target="y").blocks())
    X, y = (np.concatenate([getattr(b, name) for b in blocks]) for name in ("X", "y"))
    del blocks
    if which == "LightGBM":
        from lightgbm import LGBMRegressor

        model = LGBMRegressor(verbose=-1)
    else:
        from sklearn.ensemble import HistGradientBoostingRegressor

        model = HistGradientBoostingRegressor()
    start = time.process_time()
    model.fit(X, y)
    seconds = time.process_time() - start
    X, y = some_rows(50_000, 2**30)
    return {
        "seconds": seconds,
        "error": float(np.sqrt(np.mean((model.predict(X) - y) ** 2))),
    }


JOBS = {"fit": fit, "read": read, "products": products, "boost": boost}


def apart(job: str, *arguments: str) -> dict[str, float]:
    """Run a job in a process of its own; return its figures and peak memory in MB."""
    command = [sys.executable, __file__, "--job", job, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{job} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


# -- limits ------------------------------------------------------------------------


def blas_speed() -> float:
    """Return operations per second of the products that are summed up."""
    A = np.random.default_rng(0).random((N_CANDIDATES, 10_000))
    C = np.zeros((N_CANDIDATES, N_CANDIDATES), order="F")
    best = np.inf
    for _ in range(5):
        start = time.process_time()
        dsyrk(1.0, A.T, 1.0, C, trans=1, lower=1, overwrite_c=1)
        best = min(best, time.process_time() - start)
    return N_CANDIDATES**2 * 10_000 / best


def file_speed(folder: Path) -> tuple[float, int]:
    """Return bytes per second of plain reading, and the bytes of all files."""
    files, n_bytes = sorted(folder.glob("*.parquet")), 0
    start = time.perf_counter()
    for file in files:
        with file.open("rb") as stream:
            while chunk := stream.read(1 << 22):
                n_bytes += len(chunk)
    return n_bytes / (time.perf_counter() - start), n_bytes


def main(sizes: list[int], rivals_until: int) -> None:
    """Print the table."""
    print(
        f"{N_FEATURES} features, at most {N_POINTS} points among {N_CANDIDATES} "
        "candidates; seconds of the processor"
    )
    columns = ("rows", "wall", "fit", "look", "draw", "search", "products")
    columns += ("read once", "in memory", "files", "BLAS", "MB", "error", "points")
    print("".join(f"{name:>10}" for name in columns))
    fits: list[tuple[float, float, float]] = []
    speed = blas_speed()
    for n in sizes:
        with tempfile.TemporaryDirectory() as place:
            folder = Path(place) / "rows"
            write(folder, n)
            bytes_per_second, n_bytes = file_speed(folder)
            found, reading = apart("fit", str(folder)), apart("read", str(folder))
            summing = apart("products", str(n))
            trips = sum(found[name] for name in ("look", "draw", "products"))
            row = [
                f"{n:.0e}",
                *(f"{found[name]:.1f}" for name in ("wall", "fit", "look", "draw")),
                f"{found['fit'] - trips:.1f}",
                f"{found['products']:.1f}",
                f"{reading['seconds']:.1f}",
                f"{summing['seconds']:.1f}",
                f"{n_bytes / bytes_per_second:.2f}",
                f"{N_CANDIDATES**2 * n / speed:.1f}",
                f"{found['megabytes']:.0f}",
                f"{found['error']:.3f}",
                f"{found['points']:.0f}",
            ]
            print("".join(f"{cell:>10}" for cell in row), flush=True)
            fits.append((n, trips, found["fit"]))
            for which in (
                ("LightGBM", "HistGradientBoosting") if n <= rivals_until else ()
            ):
                rival = apart("boost", str(folder), which)
                print(
                    f"{'':>10}{which}: {rival['seconds']:.1f} s, error "
                    f"{rival['error']:.3f}, {rival['megabytes']:.0f} MB",
                    flush=True,
                )
    if len(fits) > 1:
        logs = np.log(np.array(fits))
        trips, whole = np.polyfit(logs[:, 0], logs[:, 1:], 1)[0]
        print(f"Trips take rows to the power of {trips:.2f}, fits of {whole:.2f}.")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sizes", nargs="*", default=["1e5", "1e6"])
    parser.add_argument("--job", choices=list(JOBS))
    parser.add_argument("--rivals-until", type=float, default=1e7)
    options = parser.parse_args()
    if options.job:
        figures = JOBS[options.job](*options.sizes)  # type: ignore[operator]
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps({**figures, "megabytes": peak}))
    else:
        main([int(float(n)) for n in options.sizes], int(options.rivals_until))
