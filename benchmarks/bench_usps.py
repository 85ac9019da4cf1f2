"""USPS digits: KMP beside SVC at the SVM's sizes and at equal error.

    python benchmarks/bench_usps.py

Needs usps.npz (see pursuit.datasets).  Images are smoothed as in Table 9.1 (Gaussian
filter, standard deviation 0.75 pixel), the kernel is exp(-d^2 / (0.3 * 256)), C = 20,
the ridge 0.001.
Times are of one run: fits of KMP with all threads, predictions of both with one.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from pursuit import KMPClassifier, datasets
from pursuit.engine.atoms import StoredAtoms
from pursuit.engine.gram import SharedGram
from pursuit.engine.gram_pursuit import GramPursuit
from pursuit.engine.problem import Problem
from pursuit.engine.running import run
from pursuit.kernels import Gaussian

GAMMA = 1.0 / (0.3 * 256)
ALPHA = 1e-3


def one_versus_rest(
    X: np.ndarray, y: np.ndarray, Xt: np.ndarray, yt: np.ndarray
) -> None:
    machines, sizes, svm_errors = [], [], []
    start = time.perf_counter()
    for digit in range(10):
        machines.append(SVC(C=20, gamma=GAMMA).fit(X, y == digit))
    svm_seconds = time.perf_counter() - start
    for digit, machine in enumerate(machines):
        sizes.append(int(machine.n_support_.sum()))
        svm_errors.append(int((machine.predict(Xt) != (yt == digit)).sum()))
    kernel = Gaussian(GAMMA)
    start = time.perf_counter()
    A = kernel(X)
    atoms = StoredAtoms(A)
    ones = np.ones(len(X))
    gram = SharedGram(A, {0: ones})
    pursuits = [
        GramPursuit(
            atoms,
            Problem(
                Y=np.where(y == digit, 1.0, -1.0)[None],
                weight=ones,
                held_out=0 * ones,
                candidates=ones.astype(bool),
                alpha=ALPHA,
                max_steps=size,
            ),
            gram,
        )
        for digit, size in enumerate(sizes)
    ]
    run(atoms, pursuits)
    kmp_seconds = time.perf_counter() - start
    errors = []
    for digit, pursuit in enumerate(pursuits):
        path = pursuit.path()
        support, coef, intercept = path.coefficients(len(path))
        f = kernel(Xt, X[support]) @ coef[0] + intercept[0]
        errors.append(int(((f > 0) != (yt == digit)).sum()))
    print("| ten digits one-versus-rest | SVC | KMP, same sizes | ratio |")
    print("|---|---|---|---|")
    print(
        f"| fit, s | {svm_seconds:.1f} | {kmp_seconds:.1f} | "
        f"{kmp_seconds / svm_seconds:.2f} |"
    )
    print(f"| errors of 2007, summed | {sum(svm_errors)} | {sum(errors)} | |")
    print(f"| support points, summed | {sum(sizes)} | {sum(sizes)} | |")
    print()


def multiclass(X: np.ndarray, y: np.ndarray, Xt: np.ndarray, yt: np.ndarray) -> None:
    start = time.perf_counter()
    machine = SVC(C=20, gamma=GAMMA).fit(X, y)
    svm_fit = time.perf_counter() - start
    svm_predict, svm_error = predicted(machine, Xt, yt)
    start = time.perf_counter()
    model = KMPClassifier(gamma=GAMMA, alpha=ALPHA, max_support=600, selection=None)
    model.fit(X, y)
    kmp_fit = time.perf_counter() - start
    staged = [int((p != yt).sum()) for p in model.staged_predict(Xt)]
    n_svm = len(machine.support_)
    equal = next((n + 1 for n, e in enumerate(staged) if e <= svm_error), len(staged))
    rows = [("a tenth of the points", max(1, n_svm // 10)), ("equal error", equal)]
    print(
        "| multiclass, one shared support | points | errors of 2007 | fit, s | "
        "predict, s | predict, ratio |\n|---|---|---|---|---|---|"
    )
    print(f"| SVC | {n_svm} | {svm_error} | {svm_fit:.1f} | {svm_predict:.2f} | 1 |")
    for label, n in rows:
        n = min(n, len(model.path_))
        seconds, error = predicted(model.truncate(n), Xt, yt)
        print(
            f"| KMP, {label} | {n} | {error} | {kmp_fit:.1f} (600 points) | "
            f"{seconds:.3f} | {svm_predict / seconds:.0f} |"
        )


def predicted(model, Xt: np.ndarray, yt: np.ndarray) -> tuple[float, int]:
    seconds, errors = [], 0
    # libsvm uses one thread.
    with threadpool_limits(1):
        for _ in range(3):
            start = time.perf_counter()
            errors = int((model.predict(Xt) != yt).sum())
            seconds.append(time.perf_counter() - start)
    return min(seconds), errors


def main() -> None:
    usps = datasets.load("usps", smooth=True)
    X, Xt = usps.data_train, usps.data_test
    y, yt = usps.target_train, usps.target_test
    KMPClassifier(max_support=10, selection=None, gamma=GAMMA).fit(X[:200], y[:200])
    one_versus_rest(X, y, Xt, yt)
    multiclass(X, y, Xt, yt)


if __name__ == "__main__":
    main()
