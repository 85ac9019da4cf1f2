"""HKNN and CKNN beside scikit-learn's brute-force search, and their errors.

    python benchmarks/bench_neighbors.py [--full]

Needs usps.npz and mnist.npz (see pursuit.datasets).  USPS is smoothed as in Table 11.1;
of MNIST the first 1500 test images are classified, or with --full all 10 000.  The
search by class, the prediction and the exact distances are timed in turn, the best of
three each; ratios are to the search.  The prediction of one row is compared with the
validation of its data and with scikit-learn's search.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.datasets import load_diabetes, make_friedman1, make_friedman2
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
)
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.utils.validation import validate_data

from pursuit import CKNNClassifier, HKNNClassifier, HKNNRegressor, datasets
from pursuit.neighbors.tangents import ImageTangents


def load(name: str, n_test: int | None) -> tuple[np.ndarray, ...]:
    is_usps = name == "usps"
    data = datasets.load(name, smooth=is_usps)
    scale = 1.0 if is_usps else 255.0
    X, Xt = data.data_train / scale, data.data_test[:n_test] / scale
    return X, data.target_train, Xt, data.target_test[:n_test]


def brute(X: np.ndarray, y: np.ndarray, K: int) -> Callable[[np.ndarray], None]:
    finders = [
        NearestNeighbors(n_neighbors=K, algorithm="brute").fit(X[y == c])
        for c in np.unique(y)
    ]

    def search(Xt: np.ndarray) -> None:
        for finder in finders:
            finder.kneighbors(Xt)

    return search


def in_turn(calls: list[Callable[[], Any]], repeats: int = 3) -> list[float]:
    """Return the best time of each call; slow moments of the machine hit all alike."""
    best = [np.inf] * len(calls)
    for _ in range(repeats):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            call()
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def speed(full: bool) -> None:
    print(
        "| data | type | model | search, s | predict, s | ratio | goal | "
        "exact distances, ratio | errors |\n|---|---|---|---|---|---|---|---|---|"
    )
    settings = [
        ("usps", None, HKNNClassifier(15, 30.0, loo_samples=0), 1.3),
        ("usps", None, CKNNClassifier(20, loo_samples=0), 1.5),
        ("mnist", None if full else 1500, HKNNClassifier(65, 10.0, loo_samples=0), 1.3),
        ("mnist", None if full else 1500, CKNNClassifier(70, loo_samples=0), 1.5),
    ]
    for name, n_test, model, goal in settings:
        X, y, Xt, yt = load(name, n_test)
        for dtype in ("float64", "float32"):
            A, B = X.astype(dtype), Xt.astype(dtype)
            model.fit(A, y).predict(B[:10])
            model.distances(B[:10])
            search = brute(A, y, model.n_neighbors_)
            seconds = in_turn(
                [
                    lambda s=search, b=B: s(b),
                    lambda m=model, b=B: m.predict(b),
                    lambda m=model, b=B: m.distances(b),
                ],
                1 if full and name == "mnist" else 3,
            )
            errors = int((model.predict(B) != yt).sum())
            print(
                f"| {name}, {len(B)} | {dtype} | {type(model).__name__[:4]} "
                f"K {model.n_neighbors_} | {seconds[0]:.3f} | {seconds[1]:.3f} | "
                f"{seconds[1] / seconds[0]:.2f} | {goal} | "
                f"{seconds[2] / seconds[0]:.2f} | {errors} |",
                flush=True,
            )


def one_row() -> None:
    """Time predictions of one row, of 200 rows of two classes and 5 features."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 5))
    y = (X[:, 0] + 0.3 * rng.standard_normal(200) > 0).astype(int)
    print("\n| one row, µs | validation | search | predict |\n|---|---|---|---|")
    for model in (HKNNClassifier(), CKNNClassifier(), HKNNRegressor()):
        model.fit(X, y)
        finder = NearestNeighbors(n_neighbors=15).fit(X)
        seconds = in_turn(
            [
                lambda m=model: [
                    validate_data(m, X[:1], reset=False) for _ in range(100)
                ],
                lambda f=finder: [f.kneighbors(X[:1]) for _ in range(100)],
                lambda m=model: [m.predict(X[:1]) for _ in range(100)],
            ],
            10,
        )
        figures = " | ".join(f"{1e4 * s:.0f}" for s in seconds)
        print(f"| {type(model).__name__} | {figures} |", flush=True)


def usps_errors() -> None:
    X, y, Xt, yt = load("usps", None)
    tangents = ImageTangents((16, 16))
    print("\n| USPS, 2007 test images | reference points | errors | % |")
    print("|---|---|---|---|")
    models = {
        "1-NN": KNeighborsClassifier(1),
        "SVC, C 100, σ 8": SVC(C=100, gamma=1 / 64),
        "HKNN, K 15, λ 30": HKNNClassifier(15, 30.0, loo_samples=0),
        "CKNN, K 20": CKNNClassifier(20, loo_samples=0),
        "HKNN, defaults": HKNNClassifier(),
        "CKNN, defaults": CKNNClassifier(),
        "HKNN, both by leave-one-out": HKNNClassifier("auto", "auto"),
        "HKNN, K 15, λ 30, tangents": HKNNClassifier(
            15, 30.0, tangents=tangents, loo_samples=0
        ),
        "HKNN, K 15, λ 30, support vectors of that SVC": HKNNClassifier(
            15, 30.0, reference=SVC(C=100, gamma=1 / 64), loo_samples=0
        ),
        "CKNN, K 20, the same": CKNNClassifier(
            20, reference=SVC(C=100, gamma=1 / 64), loo_samples=0
        ),
    }
    for name, model in models.items():
        errors = int((model.fit(X, y).predict(Xt) != yt).sum())
        points = len(getattr(model, "reference_", getattr(model, "support_", X)))
        print(f"| {name} | {points} | {errors} | {100 * errors / len(yt):.2f} |")


def regression() -> None:
    boston, california = datasets.load("boston"), datasets.load("california")
    rows = np.random.default_rng(0).permutation(len(california.data))[:6000]
    sets = {
        "boston": (boston.data, boston.target),
        "california, 6000 rows": (california.data[rows], california.target[rows]),
        "diabetes": load_diabetes(return_X_y=True),
        "friedman1": make_friedman1(2000, noise=1.0, random_state=0),
        "friedman2": make_friedman2(2000, noise=100.0, random_state=0),
    }
    print("\n| share of the variance left | KNN, tuned | HKNNRegressor | ratio |")
    print("|---|---|---|---|")
    grid = {
        "n_neighbors": [3, 5, 7, 10, 15, 20, 30],
        "weights": ["uniform", "distance"],
    }
    for name, (X, y) in sets.items():
        left: list[list[float]] = [[], []]
        for seed in range(3):
            A, B, a, b = train_test_split(X, y, test_size=1 / 3, random_state=seed)
            scaler = StandardScaler().fit(A)
            A, B = scaler.transform(A), scaler.transform(B)
            models = GridSearchCV(KNeighborsRegressor(), grid), HKNNRegressor()
            for shares, model in zip(left, models, strict=True):
                shares.append(1 - model.fit(A, a).score(B, b))
        knn, ours = np.mean(left, axis=1)
        print(f"| {name} | {knn:.3f} | {ours:.3f} | {ours / knn:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--full", action="store_true", help="all of MNIST's test set")
    args = parser.parse_args()
    speed(args.full)
    one_row()
    usps_errors()
    regression()


if __name__ == "__main__":
    main()
