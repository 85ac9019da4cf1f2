"""Figures 1 and 2 of "Theory of matching pursuit": bounds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler, normalize

from pursuit import KMPRegressor, SparseKernelPCA, bounds, datasets
from pursuit.kernels import Gaussian, Kernel, Linear, median_gamma
from reproduction.experiment import Experiment, Report, Row, Task
from reproduction.methods import rivals
from reproduction.protocols.splits import mean_and_error
from reproduction.reporting import INSIDE

CODE_VERSION = 2

N_ORDERS, N_RIVAL_ORDERS = 20, 5
N_TRAIN = 450
MOST = 120
# The width is not stated; with this multiple of the median squared distance the minimum
# is close to the published one.
WIDTH = 0.3
# Variance of the weakest strong dimension of the toy data, over that of the noise: the
# text says only "considerably larger".
STRENGTH = 50.0


def rows_of(order: int) -> tuple[np.ndarray, np.ndarray]:
    """Return Boston's rows, standardized, in random order."""
    bunch = datasets.load("boston")
    X = StandardScaler().fit_transform(bunch.data)
    places = np.random.default_rng(order).permutation(len(X))
    return X[places], np.asarray(bunch.target, dtype=np.float64)[places]


# -- Figure 1 ------------------------------------------------------------------------


def boston_residuals(order: int, width: float) -> dict[str, Any]:
    """Return residuals and bounds along sparse kernel PCA of Boston."""
    X, _ = rows_of(order)
    kernel = Gaussian(median_gamma(X) / width)
    return _residuals(kernel, X[:N_TRAIN], X[N_TRAIN:], order)


def toy_residuals(seed: int, strength: float) -> dict[str, Any]:
    """Return the same for points with 450 dimensions, 50 of them strong."""
    X = datasets.make_strong_dimensions(2000, strength=strength, random_state=seed)
    # On the unit sphere the residual is at most 1, as for the Gaussian kernel.
    X = normalize(X)
    return _residuals(Linear(), X[:1000], X[1000:], seed)


def _residuals(
    kernel: Kernel, X: np.ndarray, X_new: np.ndarray, seed: int
) -> dict[str, Any]:
    model = SparseKernelPCA(MOST, kernel=kernel, center=False, subsample=None).fit(X)
    sizes = range(1, model.n_support_ + 1)
    curves = model.path_.bound(), bounds.kpca_curve(kernel(X), model.n_support_)
    compression, eigenvalues = (np.asarray(curve.terms)[1:] for curve in curves)
    test = [float(model.truncate(n).reconstruction_error(X_new).mean()) for n in sizes]
    chosen = int(compression.argmin()) + 1
    return {
        "test": np.round(test, 5).tolist(),
        "compression": np.round(compression, 5).tolist(),
        "eigenvalues": np.round(eigenvalues, 5).tolist(),
        "at random": _random_residual(kernel, X, X_new, chosen, seed),
        "seen": len(sizes),
    }


def _random_residual(
    kernel: Kernel, X: np.ndarray, X_new: np.ndarray, n: int, seed: int
) -> float:
    """Return the residual of as many random points, as Nystroem chooses them."""
    basis = X[np.random.default_rng(seed).permutation(len(X))[:n]]
    C = kernel(X_new, basis)
    captured = np.einsum("ij,ij->i", C @ np.linalg.pinv(kernel(basis)), C)
    return float(np.mean(kernel.diag(X_new) - captured))


def _figure_1_tasks(quick: bool) -> list[Task]:
    n = 2 if quick else N_ORDERS
    boston = [
        Task(f"boston/{i}", boston_residuals, {"order": i, "width": WIDTH})
        for i in range(n)
    ]
    toy = [
        Task(f"toy/{i}", toy_residuals, {"seed": i, "strength": STRENGTH})
        for i in range(1 if quick else 5)
    ]
    return boston + toy


# Sizes at which the bounds are lowest: by compression, by eigenvalues.
PUBLISHED_1: dict[str, tuple[int, int | None]] = {"boston": (43, None), "toy": (46, 30)}
WHY_1 = {
    "boston": "the width of the kernel and the scaling are not stated; with the width "
    "the minimum moves",
    "toy": "by how much the 50 variances exceed the others is not stated",
}


def _figure_1_report(results: Mapping[str, dict[str, Any]]) -> Report:
    rows = []
    for name, (compression, eigenvalues) in PUBLISHED_1.items():
        repeats = [r for task, r in results.items() if task.startswith(f"{name}/")]
        if not repeats:
            continue
        title = "Boston" if name == "boston" else "Toy, 50 strong dimensions"
        for bound, published in (
            ("compression", compression),
            ("eigenvalues", eigenvalues),
        ):
            lowest = [int(np.argmin(r[bound])) + 1 for r in repeats]
            mean, error = mean_and_error(lowest, 1 if published else None)
            rows.append(
                Row(
                    f"{title}, bound by {bound}",
                    "lowest at so many points",
                    mean,
                    error,
                    published,
                    why=WHY_1[name],
                    digits=0,
                )
            )
        rows += _residual_rows(title, repeats)
    return Report(rows, [_note_1(results)], lambda figure: _draw_1(figure, results))


def _note_1(results: Mapping[str, dict[str, Any]]) -> str:
    return (
        f"Boston: standardized inputs, {N_TRAIN} of 506 rows in "
        f"{_count(results, 'boston/')} random orders, Gaussian kernel of {WIDTH} times "
        f"the median squared distance. Toy: {_count(results, 'toy/')} draws, linear "
        "kernel on points of length 1; variances of the strong dimensions fall as "
        f"t^-1.35, the weakest is {STRENGTH:.0f} times that of noise. Confidence 95 %. "
        "R is squared in the compression bound (printed without: it then fails). "
        "'Points at random' is what scikit-learn's Nystroem takes, as many as the "
        "compression bound chooses."
    )


def _count(results: Mapping[str, Any], prefix: str) -> int:
    return sum(task.startswith(prefix) for task in results)


def _residual_rows(title: str, repeats: list[dict[str, Any]]) -> list[Row]:
    chosen = [int(np.argmin(r["compression"])) for r in repeats]
    values = {
        "points by pursuit": [
            r["test"][n] for r, n in zip(repeats, chosen, strict=True)
        ],
        "points at random": [r["at random"] for r in repeats],
        "the compression bound there": [
            r["compression"][n] for r, n in zip(repeats, chosen, strict=True)
        ],
    }
    size = float(np.mean(chosen)) + 1
    return [
        Row(
            f"{title}, {what}",
            "residual of new points",
            *mean_and_error(v),
            size=size,
            digits=3,
        )
        for what, v in values.items()
    ]


def _draw_1(figure: Any, results: Mapping[str, dict[str, Any]]) -> None:
    figure.set_size_inches(10, 4)
    shown = [(n, results[f"{n}/0"]) for n in PUBLISHED_1 if f"{n}/0" in results]
    colors = {"test": "black", "compression": "tab:blue", "eigenvalues": "tab:red"}
    words = {
        "test": "residual of new points",
        "compression": "compression bound",
        "eigenvalues": "bound by eigenvalues",
    }
    panels = np.atleast_1d(figure.subplots(1, len(shown)))
    for axes, (name, result) in zip(panels, shown, strict=True):
        for curve, color in colors.items():
            sizes = np.arange(1, len(result[curve]) + 1)
            axes.plot(sizes, result[curve], color=color, label=words[curve])
            if curve != "test":
                axes.axvline(sizes[np.argmin(result[curve])], color=color, ls=":")
        axes.axhline(1.0, color="0.7", lw=0.6)
        axes.set(title=name.capitalize(), xlabel="chosen points", ylim=(0, 2.5))
        axes.legend(fontsize="small")


# -- Figure 2 ------------------------------------------------------------------------

ALPHA = 4.0  # thousand dollars; gives a minimum near the published one
WIDTHS = (1.0, 4.0, 16.0, 64.0)
N_STEPS = 80


def bound_and_test(order: int, width: float, alpha: float) -> dict[str, Any]:
    """Return the bound of Theorem 3 and the test error along KMP of Boston's prices.

    There is neither a constant nor a ridge, as in the paper.
    """
    X, y = rows_of(order)
    A, b = X[:N_TRAIN], y[:N_TRAIN]
    model = KMPRegressor(
        "rbf",
        gamma=median_gamma(X) / width,
        alpha=0.0,
        selection=None,
        max_support=N_STEPS,
        fit_intercept=False,
    ).fit(A, b)
    stages = model.staged_predict(X[N_TRAIN:])
    test = [float(np.mean((f - y[N_TRAIN:]) ** 2)) for f in stages]
    bound = np.asarray(model.bound(A, b, "vc", alpha=alpha))[1:]
    return {"test": np.round(test, 4).tolist(), "bound": np.round(bound, 5).tolist()}


def todays_regression(order: int) -> dict[str, Any]:
    """Return the test errors of models whose size is chosen by cross-validation."""
    X, y = rows_of(order)
    A, b, B, c = X[:N_TRAIN], y[:N_TRAIN], X[N_TRAIN:], y[N_TRAIN:]
    models = {
        "KMPRegressor(), as it comes": KMPRegressor().fit(A, b),
        "KMPRegressor('rbf', selection='bound')": KMPRegressor(
            "rbf", selection="bound"
        ).fit(A, b),
        "SVR, tuned": rivals.tuned_svr(A, b),
    }
    return {
        name: {
            "error": float(np.mean((model.predict(B) - c) ** 2)),
            "size": rivals.n_points(model),
        }
        for name, model in models.items()
    }


def _figure_2_tasks(quick: bool) -> list[Task]:
    n, n_rivals = (2, 1) if quick else (N_ORDERS, N_RIVAL_ORDERS)
    tasks = [
        Task(
            f"width {width:g}/{i}",
            bound_and_test,
            {"order": i, "width": width, "alpha": ALPHA},
        )
        for width in WIDTHS
        for i in range(n)
    ]
    return tasks + [
        Task(f"today/{i}", todays_regression, {"order": i}) for i in range(n_rivals)
    ]


PUBLISHED_2 = 17
WHY_2 = (
    "the width is not stated, and the test error of 56 rows has a flat minimum; in the "
    "paper both coincide"
)


def _figure_2_report(results: Mapping[str, dict[str, Any]]) -> Report:
    rows = []
    for width in WIDTHS:
        prefix = f"width {width:g}/"
        repeats = [r for task, r in results.items() if task.startswith(prefix)]
        for curve in ("bound", "test") if repeats else ():
            lowest = [int(np.argmin(r[curve])) + 1 for r in repeats]
            what = "Theorem 3" if curve == "bound" else "test error"
            rows.append(
                Row(
                    f"{what}, width {width:g} × median",
                    "lowest at so many points",
                    *mean_and_error(lowest, 1),
                    PUBLISHED_2,
                    why=WHY_2,
                    digits=0,
                )
            )
    today = [r for task, r in results.items() if task.startswith("today/")]
    for name in today[0] if today else ():
        mean, error = mean_and_error([r[name]["error"] for r in today])
        size = float(np.mean([r[name]["size"] for r in today]))
        rows.append(Row(name, "squared test error", mean, error, size=size, digits=1))
    return Report(rows, _notes_2(results), lambda figure: _draw_2(figure, results))


def _notes_2(results: Mapping[str, dict[str, Any]]) -> list[str]:
    n_orders = max(_count(results, f"width {width:g}/") for width in WIDTHS)
    rows = f"{N_TRAIN} of 506 rows in {n_orders} random orders"
    notes = [
        f"Errors above {ALPHA:g} (thousand dollars); no constant, no ridge; {rows}."
    ]
    values = [min(r["bound"]) for t, r in results.items() if t.startswith("width")]
    if values:
        vacuous = sum(value >= 1 for value in values)
        notes.append(
            f"The lowest values of the bound lie between {min(values):.2f} and "
            f"{max(values):.2f}; {vacuous} of {len(values)} are vacuous (1 or more)."
        )
    return notes


def _draw_2(figure: Any, results: Mapping[str, dict[str, Any]]) -> None:
    named = {width: f"width {width:g}/0" for width in WIDTHS}
    shown = [(w, results[task]) for w, task in named.items() if task in results]
    figure.set_size_inches(12, 3.6)
    for axes, (width, result) in zip(
        np.atleast_1d(figure.subplots(1, len(shown), sharey=True)), shown, strict=True
    ):
        sizes = np.arange(1, len(result["test"]) + 1)
        scale = result["test"][0]
        for curve, color, label in (
            (np.array(result["test"]) / scale, "black", "test error, relative"),
            (np.array(result["bound"]) / 5.0, "tab:blue", "bound, divided by 5"),
        ):
            axes.plot(sizes, curve, color=color, label=label)
            axes.axvline(sizes[curve.argmin()], color=color, ls=":")
        axes.axvline(PUBLISHED_2, color="tab:red", lw=0.8, label="published minimum")
        axes.set(title=f"{width:g} × median", xlabel="support points", ylim=(0, 2))
    figure.axes[0].legend(fontsize="small")


EXPERIMENTS = (
    Experiment(
        "theory-figure-1",
        "Bounds of sparse kernel PCA",
        "Hussain and Shawe-Taylor (2008), Figure 1",
        needs=("boston",),
        tasks=_figure_1_tasks,
        report=_figure_1_report,
        seeds=(
            "`order` seeds the order of Boston's rows, `seed` draws the toy data; each "
            "also draws the points at random."
        ),
    ),
    Experiment(
        "theory-figure-2",
        "A bound of KMP against its test error",
        "Hussain and Shawe-Taylor (2008), Figure 2",
        needs=("boston",),
        tasks=_figure_2_tasks,
        report=_figure_2_report,
        seeds=f"`order` seeds the order of the rows. {INSIDE}",
    ),
)
