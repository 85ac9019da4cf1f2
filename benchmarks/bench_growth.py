"""How time grows with rows l, candidates M and steps N; peak memory and the budget.

    python benchmarks/bench_growth.py [--large]

Each exponent is the slope on logarithmic axes.  Peak memory is of a process of its
own, less what it held before the fit; --large adds 60 000 candidates in 1 GiB.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time

import numpy as np
from sklearn.datasets import make_friedman1

from pursuit import KMPRegressor

MEASURE = """
import resource, sys, threading, time
import numpy as np
from sklearn.datasets import make_friedman1
from pursuit import KMPRegressor
rows, steps, budget, is_searched = int(sys.argv[1]), int(sys.argv[2]), *sys.argv[3:]
X, y = make_friedman1(rows, noise=1.0, random_state=0)
settings = dict(gamma="median", alpha=1e-3, selection=None)
if is_searched == "True":
    settings = {}
for warm_up in ("1 GiB", "4 MiB"):  # both engines
    KMPRegressor(max_support=5, max_memory=warm_up, **settings).fit(X[:300], y[:300])
def held():
    return int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
before, peak, done = held(), 0, False
def watch():
    global peak
    while not done:
        peak = max(peak, held())
        time.sleep(0.005)
thread = threading.Thread(target=watch)
thread.start()
start = time.perf_counter()
model = KMPRegressor(
    max_support=steps, max_memory=budget, n_candidates=None, **settings
).fit(X, y)
seconds = time.perf_counter() - start
done = True
thread.join()
print(seconds, (peak - before) / 2**20, hash(tuple(model.support_)))
"""


def seconds(n_rows: int, n_candidates: int, n_steps: int) -> float:
    X, y = make_friedman1(n_rows, noise=1.0, random_state=0)
    model = KMPRegressor(
        gamma="median",
        alpha=1e-3,
        selection=None,
        max_support=n_steps,
        n_candidates=n_candidates,
        random_state=0,
    )
    best = np.inf
    for _ in range(2):
        start = time.perf_counter()
        model.fit(X, y)
        best = min(best, time.perf_counter() - start)
    return best


def growth(name: str, values: list[int], settings: list[tuple[int, int, int]]) -> None:
    times = [seconds(*setting) for setting in settings]
    slope = np.polyfit(np.log(values), np.log(times), 1)[0]
    shown = ", ".join(f"{v}: {t:.2f} s" for v, t in zip(values, times, strict=True))
    print(f"| {name} | {shown} | {slope:.2f} |")


def memory(n_rows: int, n_steps: int, budget: str, is_searched: bool) -> None:
    arguments = (n_rows, n_steps, budget, is_searched)
    process = subprocess.run(
        [sys.executable, "-c", MEASURE, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    spent, peak, chosen = process.stdout.split()
    search = "ten folds" if is_searched else "none"
    print(
        f"| {n_rows} | {n_steps} | {search} | {budget} | {float(peak):.0f} MiB | "
        f"{float(spent):.1f} s | {int(chosen) % 10**6:06d} |"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--large", action="store_true", help="60 000 candidates")
    args = parser.parse_args()
    seconds(300, 300, 10)
    print("| growing | times | exponent |\n|---|---|---|")
    rows = [2000, 4000, 8000, 16000]
    growth("rows l (M = 2000, N = 100)", rows, [(n, 2000, 100) for n in rows])
    atoms = [1000, 2000, 4000, 8000]
    growth("candidates M (l = 8000, N = 100)", atoms, [(8000, m, 100) for m in atoms])
    steps = [50, 100, 200, 400]
    growth("steps N (l = M = 4000)", steps, [(4000, 4000, n) for n in steps])
    print("\n| rows | steps | search | max_memory | peak | time | choice |")
    print("|---|---|---|---|---|---|---|")
    for budget in ("1 GiB", "256 MiB", "128 MiB"):
        memory(8000, 60, budget, is_searched=False)
    for budget in ("1 GiB", "256 MiB", "128 MiB", "64 MiB"):
        memory(2000, 100, budget, is_searched=True)
    if args.large:
        memory(60000, 30, "1 GiB", is_searched=False)


if __name__ == "__main__":
    main()
