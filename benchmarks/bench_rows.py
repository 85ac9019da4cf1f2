"""Default fits of one function with a thousand rows to a million.

    python benchmarks/bench_rows.py [--rows 1000 3000 ...]
    python benchmarks/bench_rows.py --variants   # settings that save time, 3000 rows

Friedman's first function, 10 features, noise 1 (0.960 of the variance can be
explained).  Every fit is a process of its own; peak memory is what it held above its
start.  The SVR has the width of the median distance and C = 10: one fit, not tuned.
Variants have one thread, and their times are seconds of the processor, which a busy
machine changes less.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

ROWS = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)

# With more an SVR takes longer than anyone would wait.
SVR_ROWS = 10_000
SVR = "SVR(C=10.0, gamma=median_gamma(X[:10_000]), cache_size=1000)"

# The ways to a faster fit of docs/large_data.md.
VARIANT_ROWS = (3_000,)
VARIANTS = (
    "KMPRegressor()",
    'KMPRegressor("rbf")',
    'KMPRegressor("rbf", selection=CrossValidation(5))',
    'KMPRegressor(gamma="median")',
    'KMPRegressor(gamma="median", alpha=0.01)',
    'KMPRegressor("rbf", selection="validation")',
    'KMPRegressor("rbf", max_support=50)',
    'KMPRegressor("rbf", n_candidates=1000, random_state=0)',
    'KMPRegressor(gamma="median", alpha=0.01, selection="loo")',
)

MEASURE = """
import resource, sys, time
from sklearn.datasets import make_friedman1
from sklearn.svm import SVR
from pursuit import KMPRegressor
from pursuit.kernels import median_gamma
from pursuit.methods import Redrawn
from pursuit.selection import CrossValidation
expression, rows, clock = sys.argv[1], int(sys.argv[2]), getattr(time, sys.argv[3])
X, y = make_friedman1(rows + 10_000, noise=1.0, random_state=0)
X, X_test, y, y_test = X[:rows], X[rows:], y[:rows], y[rows:]
KMPRegressor(max_support=20).fit(X[:300], y[:300])
model = eval(expression)
def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
before, start = held(), clock()
model.fit(X, y)
fitted = clock() - start
more, start = held() - before, clock()
score = model.score(X_test, y_test)
spent = clock() - start
print(fitted, len(model.support_), score, spent, more / 1024)
"""


def row(n_rows: int, expression: str, is_variant: bool = False) -> str:
    clock = "process_time" if is_variant else "perf_counter"
    process = subprocess.run(
        [sys.executable, "-c", MEASURE, expression, str(n_rows), clock],
        env={**os.environ, "OMP_NUM_THREADS": "1"} if is_variant else None,
        capture_output=True,
        text=True,
        check=True,
    )
    fitted, n_points, score, spent, more = map(float, process.stdout.split())
    label = "SVR" if expression == SVR else f"`{expression}`"
    return (
        f"| {n_rows} | {label} | {fitted:.1f} | {n_points:.0f} | {score:.4f} | "
        f"{1e3 * spent:.0f} | {more:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", help="numbers of rows")
    parser.add_argument(
        "--variants",
        nargs="*",
        metavar="EXPRESSION",
        help="other models instead, by default settings that save time, on 3000 rows",
    )
    args = parser.parse_args()
    print("| rows | model | fit, s | points | R² | predict 10 000, ms | peak, MiB |")
    print("|---|---|---|---|---|---|---|")
    if args.variants is not None:
        for n_rows in args.rows or VARIANT_ROWS:
            for expression in args.variants or VARIANTS:
                print(row(n_rows, expression, is_variant=True), flush=True)
        return
    for n_rows in args.rows or ROWS:
        print(row(n_rows, 'KMPRegressor("rbf")'), flush=True)
        if n_rows <= SVR_ROWS:
            print(row(n_rows, SVR), flush=True)


if __name__ == "__main__":
    main()
