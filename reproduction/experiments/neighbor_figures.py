"""Figures 11.2 and 11.3: decision surfaces in the plane, and errors on MNIST over K."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC

from pursuit import CKNNClassifier
from reproduction.experiment import Experiment, Report, Row, Task
from reproduction.methods.neighbor_choices import (
    hull_mistakes,
    hyperplane_mistakes,
)
from reproduction.protocols.digit_images import QUICK_SIZES, SIZES, parts, percent
from reproduction.protocols.splits import mean_and_error
from reproduction.reporting import FEWER, IN_ORDER, UNKNOWN

CODE_VERSION = 1

# -- Figure 11.2 ---------------------------------------------------------------------

# The paper does not publish its points. These are two irregularly sampled bands on both
# sides of the line y = SLOPE x, which is the best boundary.
SLOPE, HALF_WIDTH, THICKNESS = 0.3, 0.2, 0.03
FRAME = (-1.0, 1.0)
N_POINTS = 12
PLANE_MODELS: dict[str, Callable[[], Any]] = {
    "KNN, K 1": lambda: KNeighborsClassifier(1),
    "linear SVM": lambda: SVC(kernel="linear", C=1e3),
    "CKNN, K 2": lambda: CKNNClassifier(2, loo_samples=0),
}


def bands(n_points: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Return points of two classes along two parallel lines."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(*FRAME, size=(2, n_points))
    side = np.array([[-1.0], [1.0]])
    y = SLOPE * x + side * HALF_WIDTH + rng.normal(scale=THICKNESS, size=x.shape)
    return np.column_stack([x.ravel(), y.ravel()]), np.repeat([0, 1], n_points)


def _grid(resolution: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the positions of a square grid along an axis, and all its points."""
    steps = np.linspace(*FRAME, resolution)
    return steps, np.array(np.meshgrid(steps, steps)).reshape(2, -1).T


def wrong_areas(n_points: int, seeds: list[int], resolution: int) -> dict[str, Any]:
    """Measure the share of the frame that is not classified as by the best line."""
    _, places = _grid(resolution)
    truth = places[:, 1] > SLOPE * places[:, 0]
    areas: dict[str, list[float]] = {name: [] for name in PLANE_MODELS}
    for seed in seeds:
        X, y = bands(n_points, seed)
        for name, make in PLANE_MODELS.items():
            wrong = make().fit(X, y).predict(places) != truth
            areas[name].append(100.0 * float(wrong.mean()))
    return {"n_points": n_points, "seeds": list(seeds), "wrong": areas}


def _figure_2_tasks(quick: bool) -> list[Task]:
    arguments = {
        "n_points": N_POINTS,
        "seeds": list(range(10 if quick else 100)),
        "resolution": 101,
    }
    return [Task("plane", wrong_areas, arguments)]


def _figure_2_report(results: Mapping[str, dict[str, Any]]) -> Report:
    result = results["plane"]
    rows = [
        Row(name, "area decided wrongly, %", *mean_and_error(areas))
        for name, areas in result["wrong"].items()
    ]
    note = (
        "The paper's points are not given: here two bands on both sides of a straight "
        f"line, {result['n_points']} points each, {len(result['seeds'])} draws, of "
        "which the picture shows the first. The area is that of the frame on the wrong "
        "side of that line. The figure has no numbers to compare with."
    )

    def draw(figure: Any) -> None:
        _draw_surfaces(figure, result)

    return Report(rows, [note], draw)


def _draw_surfaces(figure: Any, result: dict[str, Any]) -> None:
    X, y = bands(result["n_points"], result["seeds"][0])
    steps, places = _grid(301)
    figure.set_size_inches(10, 4)
    panels = figure.subplots(1, 3, sharey=True)
    for axes, (name, make) in zip(panels, PLANE_MODELS.items(), strict=True):
        decided = make().fit(X, y).predict(places).reshape(len(steps), -1)
        axes.contourf(steps, steps, decided, levels=1, colors=["C0", "C1"], alpha=0.25)
        axes.contour(steps, steps, decided, levels=[0.5], colors="black", linewidths=1)
        line = SLOPE * np.array(FRAME)
        axes.plot(FRAME, line, "--", color="0.4", label="the best line")
        for c, color, marker in ((0, "C0", "o"), (1, "C1", "s")):
            axes.plot(*X[y == c].T, marker, color=color, mec="black", ms=5)
        axes.set(title=name, xlim=FRAME, ylim=FRAME, aspect="equal")
        axes.set_xlabel(f"{result['wrong'][name][0]:.1f} % of the area decided wrongly")
    panels[0].legend(loc="upper left", fontsize="small")


# -- Figure 11.3 ---------------------------------------------------------------------

CURVES = (0.0, 1.0, 10.0, 100.0)
MOST = 120
# Number of test images per task, about 20 s of work.
ROWS = 1000


def count_mistakes(
    sizes: list[int], first: int, n_rows: int, penalties: list[float] | None
) -> dict[str, Any]:
    """Count the mistakes of HKNN (or CKNN, for None) on test images for every K."""
    digits = parts("mnist", sizes)
    rows = slice(first, first + n_rows)
    queries = (digits.X_test[rows], digits.y_test[rows])
    train = digits.everything()
    if penalties is None:
        table = hull_mistakes(train, queries, MOST)
    else:
        table = hyperplane_mistakes(train, queries, tuple(penalties), MOST)
    errors = np.rint(table.errors * table.n_samples).astype(int)
    return {"n_rows": table.n_samples, "errors": errors.tolist()}


def _figure_3_tasks(quick: bool) -> list[Task]:
    sizes = (QUICK_SIZES if quick else SIZES)["mnist"]
    tasks = []
    for key, penalties in (("HKNN", list(CURVES)), ("CKNN", None)):
        for first in range(0, sizes[2], ROWS):
            n_rows = min(ROWS, sizes[2] - first)
            arguments = {
                "sizes": sizes,
                "first": first,
                "n_rows": n_rows,
                "penalties": penalties,
            }
            name = f"{key}/from {first}"
            tasks.append(Task(name, count_mistakes, arguments))
    return tasks


def _curves(results: Mapping[str, dict[str, Any]]) -> tuple[dict[str, np.ndarray], int]:
    """Return the mistakes for every K by curve, and the number of images.

    Only images classified by all methods count.
    """
    starts = [
        {name.split("/")[1] for name in results if name.startswith(f"{key}/")}
        for key in ("HKNN", "CKNN")
    ]
    common = sorted(starts[0] & starts[1])
    n = sum(results[f"HKNN/{start}"]["n_rows"] for start in common)
    planes = np.sum([results[f"HKNN/{start}"]["errors"] for start in common], axis=0)
    hulls = np.sum([results[f"CKNN/{start}"]["errors"] for start in common], axis=0)
    curves = {
        f"HKNN, λ {penalty:g}": errors
        for penalty, errors in zip(CURVES, planes, strict=True)
    }
    return {**curves, "CKNN": hulls[0]}, n


# Points of the curves given in Table 11.1: K and error.
KNOWN = {"HKNN, λ 10": (65, 1.26), "CKNN": (70, 1.46)}


def _figure_3_report(results: Mapping[str, dict[str, Any]]) -> Report:
    curves, n = _curves(results)
    rows = []
    why = UNKNOWN if n == SIZES["mnist"][2] else FEWER
    for name, (K, figure) in KNOWN.items():
        if len(curves[name]) < K:  # no class has that many rows
            continue
        error = percent(int(curves[name][K - 1]), n)
        label = f"{name}, K {K} (Table 11.1)"
        rows.append(Row(label, "test error, %", error, published=figure, why=why))
    for name, errors in curves.items():
        best = int(errors.argmin())
        rows.append(Row(name, "lowest error, %", percent(int(errors[best]), n)))
        rows.append(Row(name, "at K", best + 1, digits=0))
        at_last = percent(int(errors[-1]), n)
        rows.append(Row(name, f"error at K {len(errors)}, %", at_last))
    note = (
        f"{n} test images; the lowest error is read off the curve and chooses nothing. "
        "The paper draws the curves only; the two points that Table 11.1 gives are "
        "compared."
    )

    def draw(figure: Any) -> None:
        _draw_curves(figure, curves, n)

    return Report(rows, [note], draw)


def _draw_curves(figure: Any, curves: dict[str, np.ndarray], n: int) -> None:
    figure.set_size_inches(8, 4.8)
    axes = figure.subplots()
    for i, (name, errors) in enumerate(curves.items()):
        numbers = np.arange(1, len(errors) + 1)
        style = {"color": "black"} if name == "CKNN" else {"color": f"C{i}"}
        axes.plot(numbers, 100.0 * errors / n, label=name, linewidth=1.4, **style)
    for name, (K, published) in KNOWN.items():
        color = "black" if name == "CKNN" else "C2"
        axes.axhline(published, linestyle="--", linewidth=0.8, color=color)
        label = f"published, {name}, K {K}"
        axes.plot(K, published, "D", mfc="white", color=color, label=label)
    axes.set(xlabel="K", ylabel="test error, %")
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small", ncols=2)


EXPERIMENTS = (
    Experiment(
        "figure-11.2",
        "Decision surfaces in the plane",
        "Vincent (2003), Figure 11.2",
        needs=(),
        tasks=_figure_2_tasks,
        report=_figure_2_report,
        seeds="`seeds` draw the points.",
    ),
    Experiment(
        "figure-11.3",
        "Error on MNIST against K",
        "Vincent (2003), Figure 11.3",
        needs=("mnist",),
        tasks=_figure_3_tasks,
        report=_figure_3_report,
        seeds=f"Nothing is random. {IN_ORDER}",
    ),
)
