"""Sparse kernel PCA beside KernelPCA and Nystroem + PCA; many rows; sparse KCCA.

    python benchmarks/bench_components.py [--only speed|large|correlation]

speed        fit and transform of 5000 rows at equal captured variance: that of
             KernelPCA's 100 components (as many as it takes of the others)
large        80 000 rows, 300 components within 2 GiB, peak memory of the process
correlation  held-out canonical correlations on mfeat and nutrimouse, our ridge by
             three folds of the training rows; methods of cca-zoo where it can be
             imported, at three ridges each
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator

import numpy as np
from sklearn.cross_decomposition import CCA
from sklearn.decomposition import PCA, KernelPCA
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV, ShuffleSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler, scale

from pursuit import SparseKernelCCA, SparseKernelPCA, datasets
from pursuit.kernels import median_gamma

ROWS, COMPONENTS, REPEATS = 5000, 100, 3
# Ridges of sparse kernel CCA, of which folds of the training rows choose one.
RIDGES = [1e-4, 1e-3, 1e-2, 1e-1]

# -- speed -------------------------------------------------------------------------


def speed() -> None:
    print("| data | method | points | components | time, s | ratio | transform, s |")
    print("|---|---|---|---|---|---|---|")
    for name, X in speed_data():
        SparseKernelPCA(5).fit(X[:300])
        gamma = median_gamma(X)
        target = captured(kernel_pca("randomized", gamma).fit_transform(X))
        for label, points, components, model in contestants(X, gamma, target):
            spent = best_time(model.fit_transform, X)
            again = best_time(model.transform, X)
            if label.startswith("SparseKernelPCA, all"):
                ours = spent
            print(
                f"| {name} | {label} | {points} | {components} | {spent:.2f} | "
                f"{spent / ours:.2f} | {again:.3f} |",
                flush=True,
            )


def speed_data() -> Iterator[tuple[str, np.ndarray]]:
    rng = np.random.default_rng(0)
    for name in ("california", "usps"):
        X = datasets.load(name).data
        rows = rng.permutation(len(X))[:ROWS]
        yield name, scale(X[rows]) if name == "california" else X[rows]


def contestants(X: np.ndarray, gamma: float, target: float) -> Iterator[tuple]:
    """Yield label, points kept, components, and a model that captures the target."""
    for label, how in {
        "SparseKernelPCA, all rows": {"subsample": None},
        "SparseKernelPCA, subsample=2000": {"subsample": 2000},
        "SparseKernelPCA, subsample=1000": {"subsample": 1000},
        "SparseKernelPCA, subsample=500": {"subsample": 500},
    }.items():
        make = lambda n, how=how: SparseKernelPCA(n, gamma=gamma, **how)  # noqa: E731
        longest = make(4 * COMPONENTS).fit(X)
        variances = np.diagonal(longest.path_.covariance(True)).cumsum()
        n = 1 + int(np.argmax(variances >= target)) if variances[-1] >= target else 0
        if n:
            yield label, n, n, make(n)
    n = nystroem_size(X, gamma, target)
    yield "Nystroem + PCA", n, n, nystroem(n, gamma, 0)
    for solver in ("randomized", "arpack"):
        yield f"KernelPCA, {solver}", len(X), COMPONENTS, kernel_pca(solver, gamma)


def kernel_pca(solver: str, gamma: float) -> KernelPCA:
    return KernelPCA(
        COMPONENTS, kernel="rbf", gamma=gamma, eigen_solver=solver, random_state=0
    )


def nystroem(n: int, gamma: float, seed: int) -> object:
    return make_pipeline(
        Nystroem(gamma=gamma, n_components=n, random_state=seed), PCA()
    )


def nystroem_size(X: np.ndarray, gamma: float, target: float) -> int:
    """Return how many random points capture the target, in the mean of three draws."""
    n = COMPONENTS
    while True:
        found = [captured(nystroem(n, gamma, s).fit_transform(X)) for s in range(3)]
        if np.mean(found) >= target:
            return n
        n = int(np.ceil(1.03 * n))


def captured(T: np.ndarray) -> float:
    return float(T.var(axis=0).sum())


def best_time(work: Callable[[np.ndarray], object], X: np.ndarray) -> float:
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        work(X)
        times.append(time.perf_counter() - start)
    return min(times)


# -- many rows ---------------------------------------------------------------------

MEASURE = """
import resource, sys, time
import numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from pursuit import SparseKernelPCA, datasets
from pursuit.kernels import median_gamma
kind, rows, n = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
X = datasets.load("covtype").data[:, :10]
X = X[np.random.default_rng(0).permutation(len(X))[:rows]].astype(np.float64)
X = (X - X.mean(axis=0)) / X.std(axis=0)
gamma = median_gamma(X)
how = dict(gamma=gamma, max_memory="2 GiB", random_state=0)
model = {
    "subsample='auto'": lambda: SparseKernelPCA(n, **how),
    "subsample=2000": lambda: SparseKernelPCA(n, subsample=2000, **how),
    "n_candidates=59": lambda: SparseKernelPCA(
        n, subsample=None, n_candidates=59, **how),
    "Nystroem + PCA": lambda: make_pipeline(
        Nystroem(gamma=gamma, n_components=n, random_state=0), PCA()),
}[kind]()
SparseKernelPCA(5).fit(X[:300])
start = time.perf_counter()
T = model.fit_transform(X)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
print(seconds, peak, T.var(axis=0).sum())
"""


def large(rows: int, n: int) -> None:
    """Nystroem also with as many points as capture what the sample of 2000 does."""
    print("| method | rows | components | time, s | peak of the process | captured |")
    print("|---|---|---|---|---|---|")
    measured("subsample='auto'", rows, n)
    target = measured("subsample=2000", rows, n)
    n_random = n
    while measured("Nystroem + PCA", rows, n_random) < target:
        n_random = int(np.ceil(1.06 * n_random))
    measured("n_candidates=59", rows, n)


def measured(kind: str, rows: int, n: int) -> float:
    """Print a row of the table, measured in a process of its own; return the last."""
    found = subprocess.run(
        [sys.executable, "-c", MEASURE, kind, str(rows), str(n)],
        capture_output=True,
        text=True,
        check=True,
    )
    spent, peak, variance = map(float, found.stdout.split())
    print(
        f"| {kind} | {rows} | {n} | {spent:.1f} | {peak:.0f} MiB | {variance:.4f} |",
        flush=True,
    )
    return variance


# -- correlations ------------------------------------------------------------------


def correlation() -> None:
    print("| data | method | rows kept | held-out correlation | fit, s | ridges |")
    print("|---|---|---|---|---|---|")
    mfeat, mice = datasets.load("mfeat").views, datasets.load("nutrimouse").views
    compare("mfeat", mfeat["fou"], mfeat["kar"], 5, 1000, 2, 300)
    compare("nutrimouse", mice["gene"], mice["lipid"], 2, 30, 20, 20)


def compare(
    name: str,
    X: np.ndarray,
    Y: np.ndarray,
    n: int,
    n_train: int,
    n_splits: int,
    n_support: int,
) -> None:
    """Print mean correlations of the first ``n`` pairs on rows held out."""
    found: dict[str, list[tuple[float, float, float]]] = {}
    ridges: dict[str, list[float | None]] = {}
    splits = ShuffleSplit(n_splits, train_size=n_train, random_state=0)
    for train, test in splits.split(X):
        x, y = StandardScaler().fit(X[train]), StandardScaler().fit(Y[train])
        parts = [(x.transform(X[rows]), y.transform(Y[rows])) for rows in (train, test)]
        widths = [median_gamma(view) for view in parts[0]]
        for label, model in correlators(n, n_support, widths).items():
            start = time.perf_counter()
            model.fit(*parts[0])
            spent = time.perf_counter() - start
            model = getattr(model, "best_estimator_", model)
            value = paired_correlation(*model.transform(*parts[1]))
            kept = getattr(model, "n_support_", n_train)
            ridges.setdefault(label, []).append(getattr(model, "alpha", None))
            found.setdefault(label, []).append((kept, value, spent))
    for label, rows in found.items():
        kept, value, spent = np.mean(rows, axis=0)
        error = np.std([row[1] for row in rows]) / np.sqrt(len(rows))
        print(
            f"| {name} | {label} | {kept:.0f} | {value:.3f} ± {error:.3f} | "
            f"{spent:.2f} | {dict(Counter(ridges[label]))} |",
            flush=True,
        )


def correlators(n: int, n_support: int, widths: list[float]) -> dict[str, object]:
    few = max(20, n_support // 3)
    kinds: dict[str, dict] = {
        f"{n_support} pairs": {"max_support": n_support},
        f"{few} pairs": {"max_support": few},
        f"by covariance, {few} pairs": {"max_support": few, "criterion": "covariance"},
        f"{few} pairs at random": {"max_support": few, "n_candidates": 1},
        "linear": {"max_support": n_support, "kernel": "linear"},
    }
    models: dict[str, object] = {
        f"SparseKernelCCA, {label}": GridSearchCV(
            SparseKernelCCA(n, **how), {"alpha": RIDGES}, cv=3
        )
        for label, how in kinds.items()
    }
    models["scikit-learn CCA"] = CCA(n, max_iter=2000)
    return models | zoo(n, widths)


class Views:
    """A method of cca-zoo, which takes the views as a list."""

    def __init__(self, method: object) -> None:
        self.method = method

    def fit(self, X: np.ndarray, Y: np.ndarray) -> None:
        self.method.fit([X, Y])

    def transform(self, X: np.ndarray, Y: np.ndarray) -> tuple:
        return tuple(self.method.transform([X, Y]))


def zoo(n: int, widths: list[float]) -> dict[str, object]:
    """Return dense methods of cca-zoo, where it is installed, at several ridges."""
    try:
        from cca_zoo.linear import RidgeCCA
        from cca_zoo.nonparametric import KCCA
    except ImportError:
        return {}
    found = {}
    for ridge in (1e-3, 1e-2, 0.1):
        linear = RidgeCCA(n_components=n, shrinkage=ridge)
        kernel = KCCA(n_components=n, kernel="rbf", gamma=widths, shrinkage=ridge)
        found[f"cca-zoo RidgeCCA, shrinkage {ridge}"] = Views(linear)
        found[f"cca-zoo KCCA, shrinkage {ridge}"] = Views(kernel)
    return found


def paired_correlation(T: np.ndarray, U: np.ndarray) -> float:
    pairs = zip(T.T, U.T, strict=True)
    return float(np.mean([np.corrcoef(t, u)[0, 1] for t, u in pairs]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("speed", "large", "correlation"))
    parser.add_argument("--rows", type=int, default=80_000)
    parser.add_argument("--components", type=int, default=300)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    if args.only in (None, "speed"):
        speed()
    if args.only in (None, "large"):
        large(args.rows, args.components)
    if args.only in (None, "correlation"):
        correlation()


if __name__ == "__main__":
    main()
