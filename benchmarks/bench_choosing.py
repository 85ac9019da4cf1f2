"""What each estimator costs: the column of docs/choosing.md.

    python benchmarks/bench_choosing.py [--rows 1000 10000] [--only KMP]

Friedman's first function, 10 features, noise 1; classifiers say whether it is above its
median, rankers get grades from 0 to 4 in groups of 20 rows. Every fit is a process of
its own with one thread, after a small fit that compiles. Times are seconds of the
processor, memory is what the fit held above its start.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

ROWS = (1_000, 10_000)
MODELS = (
    "KMPClassifier()",
    "KMPClassifier(max_support=50)",
    'KMPClassifier("rbf")',
    'KMPClassifier(loss="logistic")',
    "KMPRegressor()",
    'KMPRegressor(loss="huber")',
    "KMPRegressor(loss=Quantile(0.9))",
    "KMPRegressor(dictionary=ManyWidths())",
    "KMPRegressor(dictionary=Features() + OneKernel())",
    "KMPRanker()",
    'KMPRanker(loss="logistic")',
    "LearnedMetric()",
    "HKNNClassifier()",
    "HKNNClassifier(reference=PrototypePursuit())",
    "CKNNClassifier()",
    "HKNNRegressor()",
    "ManifoldParzen()",
    "SparseManifoldParzen()",
    "ParzenWindows()",
    "DensityClassifier(ParzenWindows())",
    "DensityOutlierDetector(ParzenWindows())",
    "SubspaceOutlierDetector()",
    "SparseKernelPCA(50)",
    "SparseKernelCCA(2)",
)

THREADS = ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
MEASURE = """
import resource, sys, time, warnings
import numpy as np
from sklearn.base import clone, is_classifier, is_outlier_detector
from sklearn.datasets import make_friedman1
from pursuit import *
from pursuit.dictionaries import Features, ManyWidths, OneKernel
from pursuit.losses import Quantile
warnings.simplefilter("ignore")
expression, rows = sys.argv[1], int(sys.argv[2])
model = eval(expression)
X, y = make_friedman1(rows + 1000, noise=1.0, random_state=0)
if is_classifier(model):
    y = y > np.median(y)
if type(model).__name__ == "SparseKernelCCA":
    X, y = X[:, :5], X[:, 3:]  # two views, with two features in both
X, X_new, y = X[:rows], X[rows:], y[:rows]
groups = {}
if type(model).__name__ == "KMPRanker":
    y = np.digitize(y, np.quantile(y, [0.2, 0.4, 0.6, 0.8]))
    groups = {"groups": np.arange(rows) // 20}
few = {"groups": np.arange(300) // 20} if groups else {}
clone(model).fit(X[:300], y[:300], **few)
def held():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
before, start = held(), time.process_time()
model.fit(X, y, **groups)
fitted, more = time.process_time() - start, held() - before
apply = next(getattr(model, name) for name in ("predict", "score_samples", "transform")
             if hasattr(model, name))
apply(X_new[:10])
start = time.process_time()
apply(X_new)
print(fitted, more, time.process_time() - start)
"""


def row(expression: str, n_rows: int) -> str:
    process = subprocess.run(
        [sys.executable, "-c", MEASURE, expression, str(n_rows)],
        env={**os.environ, **dict.fromkeys(THREADS, "1")},
        capture_output=True,
        text=True,
        check=False,
    )
    if process.returncode:
        return f"| `{expression}` | {n_rows} | {process.stderr.splitlines()[-1]} |"
    fitted, more, spent = map(float, process.stdout.split())
    return (
        f"| `{expression}` | {n_rows} | {fitted:.2f} | {more:.0f} | {1e3 * spent:.0f} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=ROWS)
    parser.add_argument("--only", default="", help="models whose text contains this")
    args = parser.parse_args()
    print("| model | rows | fit, s | memory, MiB | 1000 new rows, ms |")
    print("|---|---|---|---|---|")
    for expression in MODELS:
        for n_rows in args.rows if args.only in expression else ():
            print(row(expression, n_rows), flush=True)


if __name__ == "__main__":
    main()
