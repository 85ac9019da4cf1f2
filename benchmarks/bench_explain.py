"""Exact Shapley values of a model: time, and agreement with explainers of others.

    python benchmarks/bench_explain.py [--rows 1000] [--features 20] [--points 100]

`shap.KernelExplainer` samples subsets and calls the model; shapiq's
`ProductKernelExplainer` is exact, for the game without a background. Packages that are
not installed are left out. Processor time, one thread; times of others are measured on
some rows and scaled.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from pursuit import KMPRegressor
from pursuit.explain import shapley, shapley_interactions


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--background", type=int, default=100)
    parser.add_argument("--others", type=int, default=5, help="rows for slow rivals")
    options = parser.parse_args()
    rng = np.random.default_rng(0)
    d = options.features
    X = rng.normal(size=(max(options.rows, 4 * options.points), d))
    y = np.sin(X[:, 0]) * X[:, 1 % d] + X[:, 2 % d] + 0.1 * X[:, d // 4 :].sum(axis=1)
    model = KMPRegressor(
        "rbf",
        gamma=0.6 / d,
        alpha=1e-3,
        max_support=options.points,
        selection=None,
    ).fit(X, y)
    rows, background = X[: options.rows], X[: options.background]
    shapley(model, rows[:1], background)
    shapley_interactions(model, rows[:1])
    print(
        f"{d} features, {model.n_support_} points, background of {len(background)} rows"
    )
    print(f"{'':48}{'s / 1000 rows':>14}{'ratio':>9}{'largest difference':>20}")
    with threadpool_limits(1):
        ours, values = seconds(lambda: shapley(model, rows, background), len(rows))
        tell("shapley", ours, ours)
        alone, plain = seconds(lambda: shapley(model, rows), len(rows))
        tell("shapley, no background", alone, ours)
        few = rows[: max(1, len(rows) // 20)]
        pairs, _ = seconds(
            lambda: shapley_interactions(model, few, background), len(few)
        )
        tell("shapley_interactions", pairs, ours)
        some = rows[: options.others]
        warnings.simplefilter("ignore")  # those of other packages
        with contextlib.suppress(ImportError):
            found, theirs = by_shap(model, some, background)
            tell("shap.KernelExplainer", found, ours, values[: len(some)] - theirs)
        with contextlib.suppress(ImportError):
            found, theirs = by_shapiq(model, some)
            tell(
                "shapiq.ProductKernelExplainer, no background",
                found,
                alone,
                plain[: len(some)] - theirs,
            )


def seconds(call: Callable[[], Any], n_rows: int) -> tuple[float, Any]:
    """Return processor seconds for 1000 rows, and the result."""
    start = time.process_time()
    result = call()
    return (time.process_time() - start) * 1000 / n_rows, result


def tell(name: str, time_taken: float, ours: float, difference: Any = None) -> None:
    """Print a row; ratios are to our time for the same game."""
    text = "" if difference is None else f"{np.abs(difference).max():20.2g}"
    print(f"{name:48}{time_taken:14.2f}{time_taken / ours:9.1f}{text}", flush=True)


def by_shap(
    model: Any, rows: np.ndarray, background: np.ndarray
) -> tuple[float, np.ndarray]:
    import shap

    explainer = shap.KernelExplainer(model.predict, background)
    with contextlib.redirect_stderr(io.StringIO()):
        return seconds(lambda: explainer.shap_values(rows, silent=True), len(rows))


def by_shapiq(model: Any, rows: np.ndarray) -> tuple[float, np.ndarray]:
    """Explain the same expansion, dressed as an SVR, since others are not accepted."""
    from shapiq.explainer.product_kernel import ProductKernelExplainer
    from sklearn.svm import SVR

    machine = SVR(gamma=model.gamma_)
    for name in ("support_vectors_", "dual_coef_", "intercept_", "n_features_in_"):
        setattr(machine, name, getattr(model, name))
    machine._gamma = model.gamma_
    explainer = ProductKernelExplainer(machine, max_order=1, index="SV")

    def explain() -> np.ndarray:
        d = rows.shape[1]
        explained = [explainer.explain(x) for x in rows]
        return np.array([[e[(j,)] for j in range(d)] for e in explained])

    return seconds(explain, len(rows))


if __name__ == "__main__":
    main()
