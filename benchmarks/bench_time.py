"""How well fits keep to a time budget, and what error they reach.

    python benchmarks/bench_time.py [--rows 50 1000 ...] [--budgets 1 2 ...]

Each line: the task, its rows, the budget, the seconds that the fit took, points, steps,
the error on 2000 new rows (mean squared error over the variance of the targets, or
share of wrong classes), and why the fit stopped. Compilation is paid before.
"""

import argparse
import time
import warnings

import numpy as np

from pursuit import KMPClassifier, KMPRegressor
from pursuit.dictionaries import ManyWidths

N_TEST, N_FEATURES = 2000, 10

TASKS = {
    "regression": (KMPRegressor, {}, 0),
    "two classes": (KMPClassifier, {}, 2),
    "four classes": (KMPClassifier, {}, 4),
    "logistic": (KMPClassifier, {"loss": "logistic"}, 2),
    "dictionary": (KMPRegressor, {"dictionary": ManyWidths()}, 0),
}


def data(n, n_classes, seed):
    """Return rows and targets: a curved function of four features, and noise."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, N_FEATURES))
    f = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * X[:, 3] ** 2
    y = f + 0.3 * rng.standard_normal(n)
    if not n_classes:
        return X, y
    return X, np.digitize(y, [0.4] if n_classes == 2 else [-0.4, 0.4, 1.2])


def error(model, X, y):
    """Return the error on new rows, relative to no model in regression."""
    if isinstance(model, KMPClassifier):
        return np.mean(model.predict(X) != y)
    return np.mean((model.predict(X) - y) ** 2) / y.var()


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, nargs="+", default=[50, 2000, 50_000])
    parser.add_argument("--budgets", type=float, nargs="+", default=[1, 3, 10])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=TASKS)
    parser.add_argument("--whole", action="store_true", help="also without a budget")
    options = parser.parse_args()
    print("task          rows    budget  seconds  points  steps  error   stopped")
    for name in options.tasks:
        kind, how, n_classes = TASKS[name]
        Xt, yt = data(N_TEST, n_classes, seed=1)
        for budget in (None, 5.0):  # compile
            few = data(300, n_classes, seed=2)
            kind(random_state=0, max_time=budget, **how).fit(*few)
        for n in options.rows:
            X, y = data(n, n_classes, seed=0)
            for budget in options.budgets + [None] * options.whole:
                model = kind(random_state=0, max_time=budget, **how)
                start = time.perf_counter()
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    model.fit(X, y)
                seconds = time.perf_counter() - start
                warned = " (warned)" if caught else ""
                print(
                    f"{name:<13} {n:<7} {budget or '-':<7} {seconds:<8.2f} "
                    f"{model.n_support_:<7} {len(model.path_):<6} "
                    f"{error(model, Xt, yt):<7.4f} "
                    f"{model.stop_reason_.split(':')[0]}{warned}",
                    flush=True,
                )


if __name__ == "__main__":
    main()
