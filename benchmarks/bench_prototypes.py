"""Few rows for local classifiers, and few Gaussians for densities, beside all of them.

    python benchmarks/bench_prototypes.py [--quick] [usps] [mnist] [spiral] [densities]

Needs usps.npz and mnist.npz (see pursuit.datasets). USPS is smoothed, with all 7291
rows to choose from and 2007 test rows; of MNIST the first 10 000 training rows and the
first 2000 test rows are taken, in [0, 1]. Errors are percentages of the test rows, for
the share of the rows that is kept. Nothing is chosen by test rows.
"""

from __future__ import annotations

import argparse
import copy
import time
import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import KMeans
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier

from pursuit import (
    CKNNClassifier,
    CondensedNeighbors,
    DensityClassifier,
    DropNeighbors,
    EditedNeighbors,
    HKNNClassifier,
    KMPClassifier,
    ManifoldParzen,
    ParzenWindows,
    PrototypePursuit,
    SparseManifoldParzen,
    datasets,
)
from pursuit.datasets import make_spiral, spiral_log_density

Data = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]
# How many of the rows are kept, in percent, and how far pursuits and k-means go.
SHARES, FARTHEST = (1, 2, 5, 10, 20, 50), {"usps": 20, "mnist": 10}
RANDOM_DRAWS = 3


def load(name: str, is_quick: bool) -> Data:
    is_usps = name == "usps"
    data = datasets.load(name, smooth=is_usps)
    scale, n, m = (1.0, None, None) if is_usps else (255.0, 10_000, 2000)
    if is_quick:
        n, m = 1500, 500
    X, Xt = data.data_train[:n] / scale, data.data_test[:m] / scale
    y, yt = data.target_train[:n].astype(int), data.target_test[:m].astype(int)
    return X.astype(np.float64), y, Xt.astype(np.float64), yt


# -- prototypes ----------------------------------------------------------------------


def errors(data: Data, rows: np.ndarray) -> list[float]:
    """Return the test errors of 1-NN, 3-NN, HKNN and CKNN that keep some rows."""
    X, y, Xt, yt = data
    models = [
        KNeighborsClassifier(1).fit(X[rows], y[rows]),
        KNeighborsClassifier(min(3, len(rows))).fit(X[rows], y[rows]),
        HKNNClassifier(reference=rows, loo_samples=0).fit(X, y),
        CKNNClassifier(reference=rows, loo_samples=0).fit(X, y),
    ]
    return [100.0 * float((model.predict(Xt) != yt).mean()) for model in models]


def show(name: str, rows: np.ndarray, n: int, seconds: float, found: list[float]):
    figures = " | ".join(f"{e:.2f}" for e in found)
    print(
        f"| {name} | {len(rows)} ({100 * len(rows) / n:.3g} %) | {seconds:.1f} | "
        f"{figures} |",
        flush=True,
    )


def random_rows(y: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return rows drawn at random, at least one of each class."""
    order = np.random.default_rng(seed).permutation(len(y))
    firsts = order[np.unique(y[order], return_index=True)[1]]
    others = order[~np.isin(order, firsts)]
    return np.concatenate([firsts, others])[:n]


def means(X: np.ndarray, y: np.ndarray, share: float) -> np.ndarray:
    """Return the rows nearest to the means of k-means in each class."""
    kept = []
    for c in np.unique(y):
        rows = np.flatnonzero(y == c)
        k = max(1, round(share * len(rows)))
        model = KMeans(k, n_init=1, random_state=0).fit(X[rows])
        kept.append(rows[model.transform(X[rows]).argmin(axis=0)])
    return np.unique(np.concatenate(kept))


def paths(X: np.ndarray, y: np.ndarray, n: int) -> dict[str, Callable[[], np.ndarray]]:
    """Return pursuits that give at most n rows in order of choice."""
    kmp = KMPClassifier(
        "rbf", gamma="median", alpha=1e-3, selection=None, max_support=n
    )
    return {
        "KMP": lambda: kmp.fit(X, y).path_.support,
        "pursuit, K 1": lambda: PrototypePursuit(n, n_neighbors=1).fit(X, y).support_,
        "pursuit": lambda: PrototypePursuit(n).fit(X, y).support_,
    }


def prototypes(name: str, is_quick: bool) -> None:
    data = load(name, is_quick)
    X, y = data[:2]
    print(f"\n| {name}, {len(X)} rows | kept | s | 1-NN | 3-NN | HKNN | CKNN |")
    print("|---|---|---|---|---|---|---|", flush=True)
    show("all", y, len(X), 0.0, errors(data, np.arange(len(X))))
    shares = [s for s in SHARES if not is_quick or s in (2, 10)]
    for share in shares:
        n = round(share * len(X) / 100)
        draws = [random_rows(y, n, seed) for seed in range(RANDOM_DRAWS)]
        found = np.mean([errors(data, np.sort(rows)) for rows in draws], axis=0)
        show(f"random, mean of {RANDOM_DRAWS}", draws[0], len(X), 0.0, list(found))
        if share <= FARTHEST[name]:
            start = time.perf_counter()
            rows = means(X, y, share / 100)
            seconds = time.perf_counter() - start
            show("k-means, nearest rows", rows, len(X), seconds, errors(data, rows))
    for kind in (CondensedNeighbors, EditedNeighbors, DropNeighbors):
        start = time.perf_counter()
        rows = kind().fit(X, y).support_
        seconds = time.perf_counter() - start
        show(kind.__name__, rows, len(X), seconds, errors(data, rows))
    last = max(s for s in shares if s <= FARTHEST[name])
    for label, choose in paths(X, y, round(last * len(X) / 100)).items():
        start = time.perf_counter()
        path = choose()
        seconds = time.perf_counter() - start
        for share in shares:
            rows = np.sort(path[: round(share * len(X) / 100)])
            if share <= last and len(np.unique(y[rows])) == len(np.unique(y)):
                show(label, rows, len(X), seconds, errors(data, rows))


# -- densities -----------------------------------------------------------------------


def spiral(is_quick: bool) -> None:
    X, Z = make_spiral(300, random_state=0), make_spiral(10_000, random_state=1)
    print("\n| spiral, 300 rows | Gaussians | mean log-density of 10 000 new rows |")
    print("|---|---|---|", flush=True)
    print(f"| the true density | | {spiral_log_density(Z).mean():.3f} |")
    for full in (ManifoldParzen(), ParzenWindows()):
        score = full.fit(X).score(Z)
        print(f"| {type(full).__name__} | 300 | {score:.3f} |", flush=True)
    model = SparseManifoldParzen(10 if is_quick else 60).fit(X)
    print(
        f"| SparseManifoldParzen | {model.n_support_} (folds) | {model.score(Z):.3f} |"
    )
    stages = [float(s.mean()) for s in model.staged_score_samples(Z)]
    for n in (5, 10) if is_quick else (10, 20, 30, 40, 60):
        fits = [GaussianMixture(n, random_state=s).fit(X).score(Z) for s in range(3)]
        print(f"| SparseManifoldParzen | {n} | {stages[min(n, len(stages)) - 1]:.3f} |")
        print(f"| GaussianMixture, mean of 3 | {n} | {np.mean(fits):.3f} |", flush=True)


def of_classes(is_quick: bool) -> None:
    """Compare classifiers from densities on smoothed USPS.

    Bandwidths have the lowest error of left-out rows; the mixtures of scikit-learn have
    the variance that was best for all Gaussians as their `reg_covar`.
    """
    X, y, Xt, yt = load("usps", is_quick)
    print(
        "\n| densities of USPS | Gaussians a class | own log-density | error, % | s |"
    )
    print("|---|---|---|---|---|", flush=True)
    sizes = (5, 10) if is_quick else (5, 10, 20, 40)
    how = {"param_grid": {"bandwidth": [0.2, 0.4, 0.8]}, "tune_by": "error"}

    def row(name: str, n: object, model: DensityClassifier, seconds: float) -> None:
        logs = [
            model.densities_[c].score_samples(Xt[yt == label])
            for c, label in enumerate(model.classes_)
        ]
        error = 100.0 * float((model.predict(Xt) != yt).mean())
        print(
            f"| {name} | {n} | {np.concatenate(logs).mean():.1f} | {error:.2f} | "
            f"{seconds:.0f} |",
            flush=True,
        )

    def fitted(density: object, **how: object) -> tuple[DensityClassifier, float]:
        start = time.perf_counter()
        model = DensityClassifier(density, **how).fit(X, y)
        return model, time.perf_counter() - start

    for name, full in (
        ("ParzenWindows", ParzenWindows()),
        ("ManifoldParzen, K 11", ManifoldParzen(11)),
    ):
        model, seconds = fitted(full, **how)
        row(f"{name}, σ {model.best_params_['bandwidth']}", "all", model, seconds)
    model, seconds = fitted(SparseManifoldParzen(sizes[-1], cv=None), **how)
    for n in sizes:
        shorter = copy.copy(model)
        shorter.densities_ = [
            d.truncate(min(n, len(d.path_))) for d in model.densities_
        ]
        name = f"SparseManifoldParzen, σ {model.best_params_['bandwidth']}"
        row(name, n, shorter, seconds)
    for kind in ("full", "diag"):
        for n in sizes:
            theirs = GaussianMixture(
                n, covariance_type=kind, reg_covar=0.16, random_state=0
            )
            row(f"GaussianMixture, {kind}", n, *fitted(theirs, param_grid=None))


PARTS: dict[str, Callable[[bool], None]] = {
    "usps": lambda is_quick: prototypes("usps", is_quick),
    "mnist": lambda is_quick: prototypes("mnist", is_quick),
    "spiral": spiral,
    "densities": of_classes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=PARTS, default=list(PARTS))
    parser.add_argument("--quick", action="store_true", help="few rows, few shares")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for part in given.parts:
        PARTS[part](given.quick)


if __name__ == "__main__":
    main()
