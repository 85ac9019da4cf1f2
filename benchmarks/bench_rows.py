"""Default fits of one function with a thousand rows to a million.

    python benchmarks/bench_rows.py [--rows 1000 3000 ...]

Friedman's first function, 10 features, noise 1 (of the variance, 0.960 can be
explained).  Every fit is a process of its own; peak memory is what it held above its
start.  The SVR has the width of the median distance and C = 10: one fit, not tuned.
"""

from __future__ import annotations

import argparse
import subprocess
import sys

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)

# With more an SVR takes longer than anyone would wait.
SVR_ROWS = 10_000

MEASURE = """
import resource, sys, time
from sklearn.datasets import make_friedman1
from sklearn.svm import SVR
from pursuit import KMPRegressor
from pursuit.kernels import median_gamma
name, rows = sys.argv[1], int(sys.argv[2])
X, y = make_friedman1(rows + 10_000, noise=1.0, random_state=0)
X, X_test, y, y_test = X[:rows], X[rows:], y[:rows], y[rows:]
KMPRegressor(max_support=20).fit(X[:300], y[:300])
if name == "KMPRegressor":
    model = KMPRegressor()
else:
    model = SVR(C=10.0, gamma=median_gamma(X[:10_000]), cache_size=1000)
def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before, start = held(), time.perf_counter()
model.fit(X, y)
fitted = time.perf_counter() - start
more, start = held() - before, time.perf_counter()
score = model.score(X_test, y_test)
spent = time.perf_counter() - start
print(fitted, len(model.support_), score, spent, more / 1024)
"""


def row(name: str, n_rows: int) -> str:
    found = subprocess.run(
        [sys.executable, "-c", MEASURE, name, str(n_rows)],
        capture_output=True,
        text=True,
        check=True,
    )
    fitted, n_points, score, spent, more = map(float, found.stdout.split())
    return (
        f"| {n_rows} | {name} | {fitted:.1f} | {n_points:.0f} | {score:.4f} | "
        f"{1e3 * spent:.0f} | {more:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    args = parser.parse_args()
    print("| rows | model | fit, s | points | R² | predict 10 000, ms | peak, MiB |")
    print("|---|---|---|---|---|---|---|")
    for n_rows in args.rows:
        print(row("KMPRegressor", n_rows), flush=True)
        if n_rows <= SVR_ROWS:
            print(row("SVR", n_rows), flush=True)


if __name__ == "__main__":
    main()
