"""Compare kernel matching pursuit with a tuned support vector machine.

:func:`run` fits both models to data sets that scikit-learn ships and prints their
error, size and times. It does the same for the pursuit truncated to a tenth of the
machine's points, which needs no other fit: that comes first, in a line for each data
set. A picture shows the error of every size on the pursuit's path. The error is one
minus the score: the error rate or, in regression, the unexplained share of the
variance.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.metrics import accuracy_score, r2_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR

from pursuit import KMPClassifier, KMPRegressor

__all__ = [
    "Comparison",
    "Measured",
    "Task",
    "compare",
    "draw",
    "headline",
    "run",
    "table",
    "tasks",
]

PICTURE = "pursuit-demo.png"
QUICK_ROWS = 250


@dataclass(frozen=True)
class Task:
    """Training and test rows of a data set, and the two models to compare on it."""

    name: str
    kind: str  # kind of error, for the axis label
    X_train: np.ndarray
    X_test: np.ndarray
    y_train: np.ndarray
    y_test: np.ndarray
    machine: Any
    grid: dict[str, list[float]]
    pursuit: Any
    score: Callable[[np.ndarray, np.ndarray], float]


@dataclass(frozen=True)
class Measured:
    """Error, size and times of one model."""

    model: str
    error: float
    n_support: int
    fit_seconds: float
    predict_seconds: float


@dataclass(frozen=True)
class Comparison:
    """Both models on one data set, and the error of every size of the pursuit.

    ``start`` is the pursuit truncated to a tenth of the machine's points, or the whole
    pursuit if it is smaller.
    """

    task: Task
    machine: Measured
    pursuit: Measured
    start: Measured
    staged_errors: np.ndarray


def run(output: Path, *, quick: bool = False) -> list[Comparison]:
    """Compare the models, print the table and save the picture in a folder.

    Parameters
    ----------
    output : Path
        Folder of the picture, created if absent.
    quick : bool, default=False
        Take fewer rows and search a smaller grid.

    Returns
    -------
    list of Comparison
        One for each data set.
    """
    output.mkdir(parents=True, exist_ok=True)
    start = perf_counter()
    comparisons = []
    for task in tasks(quick=quick):
        _note(f"{task.name}: {len(task.y_train)} rows to learn from …")
        comparisons.append(compare(task))
    print(headline(comparisons))
    print()
    print(table(comparisons))
    print()
    print(_summary(comparisons))
    print(_draw_if_possible(comparisons, output / PICTURE))
    print(f"total time: {perf_counter() - start:.0f} s")
    return comparisons


def tasks(*, quick: bool = False) -> Iterator[Task]:
    """Yield the data sets, each with its two untrained models."""
    grid = {
        "C": [1.0, 10.0] if quick else [0.1, 1.0, 10.0, 100.0, 1000.0],
        "gamma": [0.01, 0.1] if quick else [0.001, 0.003, 0.01, 0.03, 0.1],
    }
    for name, load in (("breast cancer", load_breast_cancer), ("digits", load_digits)):
        yield Task(
            name,
            "share misclassified",
            *_split(*load(return_X_y=True), quick=quick, stratified=True),
            SVC(),
            grid,
            KMPClassifier(random_state=0),
            accuracy_score,
        )
    X, y = load_diabetes(return_X_y=True)
    yield Task(
        "diabetes",
        "variance unexplained",
        # SVR's C and epsilon are in units of the target.
        *_split(X, (y - y.mean()) / y.std(), quick=quick, stratified=False),
        SVR(),
        grid,
        KMPRegressor(random_state=0),
        r2_score,
    )


def compare(task: Task) -> Comparison:
    """Fit and measure both models on one data set."""
    machine, machine_seconds = _timed_fit(_search(task), task)
    candidate = make_pipeline(StandardScaler(), task.pursuit)
    candidate.fit(task.X_train[:60], task.y_train[:60])  # compile first, untimed
    pursuit, pursuit_seconds = _timed_fit(candidate, task)
    measured = _measure(machine.best_estimator_, machine_seconds, task)
    return Comparison(
        task,
        measured,
        _measure(pursuit, pursuit_seconds, task),
        _measure_start(pursuit, max(1, measured.n_support // 10), task),
        _staged_errors(pursuit, task),
    )


def headline(comparisons: Sequence[Comparison]) -> str:
    """Return a line for each data set: what a tenth of the machine's points can do."""
    lines = ["A tuned SVM, and a pursuit cut to a tenth of its points:"]
    for each in comparisons:
        lines.append(
            f"  {each.task.name:<14}"
            f"{each.start.n_support:>4} points instead of {each.machine.n_support:>4}, "
            f"{each.task.kind:<20} {100 * each.start.error:>5.1f} % "
            f"instead of {100 * each.machine.error:>5.1f} %"
        )
    return "\n".join(lines)


def table(comparisons: Sequence[Comparison]) -> str:
    """Return the measurements as a table with aligned columns."""
    rows = [("data set", "model", "points", "test error", "prediction", "search+fit")]
    for comparison in comparisons:
        machine = replace(
            comparison.machine, model=f"{comparison.machine.model}, tuned"
        )
        for measured in (machine, comparison.pursuit, comparison.start):
            seconds = measured.fit_seconds
            rows.append(
                (
                    comparison.task.name,
                    measured.model,
                    f"{measured.n_support}",
                    f"{100 * measured.error:.2f} %",
                    f"{1000 * measured.predict_seconds:.2f} ms",
                    f"{seconds:.2f} s" if seconds else "no fit",
                )
            )
    header, *lines = _lines(rows)
    return "\n".join([header, "-" * len(header), *lines])


def draw(comparisons: Sequence[Comparison], path: Path) -> None:
    """Draw test error against model size, in one panel per data set.

    Requires matplotlib, the extra ``pursuit[plot]``.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.2 * len(comparisons), 3.8), layout="constrained")
    panels = figure.subplots(1, len(comparisons), squeeze=False)[0]
    for axes, comparison in zip(panels, comparisons, strict=True):
        _panel(axes, comparison)
    figure.savefig(path, dpi=130)


def _search(task: Task) -> GridSearchCV:
    pipeline = Pipeline([("scale", StandardScaler()), ("machine", task.machine)])
    grid = {f"machine__{name}": values for name, values in task.grid.items()}
    return GridSearchCV(pipeline, grid, cv=5, n_jobs=-1)


def _timed_fit(model: Any, task: Task) -> tuple[Any, float]:
    start = perf_counter()
    with parallel_config(backend="threading"):  # libsvm releases the GIL
        model.fit(task.X_train, task.y_train)
    return model, perf_counter() - start


def _measure(pipeline: Pipeline, fit_seconds: float, task: Task) -> Measured:
    scaled = pipeline[:-1].transform(task.X_test)
    model = pipeline[-1]
    return Measured(
        type(model).__name__,
        1 - task.score(task.y_test, model.predict(scaled)),
        len(model.support_),
        fit_seconds,
        _median_seconds(lambda: model.predict(scaled)),
    )


def _measure_start(pipeline: Pipeline, n: int, task: Task) -> Measured:
    """Measure a fitted pursuit truncated to ``n`` points, which needs no fit."""
    model = pipeline[-1].truncate(min(n, pipeline[-1].n_support_))
    start = Pipeline([("scale", pipeline[0]), ("start", model)])
    return replace(_measure(start, 0.0, task), model="the same, cut")


def _staged_errors(pipeline: Pipeline, task: Task) -> np.ndarray:
    scaled = pipeline[:-1].transform(task.X_test)
    stages = pipeline[-1].staged_predict(scaled)
    return np.array([1 - task.score(task.y_test, stage) for stage in stages])


def _median_seconds(action: Callable[[], object], repeats: int = 15) -> float:
    seconds = []
    for _ in range(repeats):
        start = perf_counter()
        action()
        seconds.append(perf_counter() - start)
    return median(seconds)


def _split(
    X: np.ndarray, y: np.ndarray, *, quick: bool, stratified: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Split the rows, or a fixed sample of them: three fifths train, the rest test."""
    if quick:
        kept = np.random.default_rng(0).permutation(len(y))[:QUICK_ROWS]
        X, y = X[kept], y[kept]
    X_train, X_test, y_train, y_test = train_test_split(
        X, y, test_size=0.4, stratify=y if stratified else None, random_state=0
    )
    return X_train, X_test, y_train, y_test


def _lines(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the rows with aligned columns: two of words, and then numbers."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if place < 2 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]


def _summary(comparisons: Sequence[Comparison]) -> str:
    def share(quantity: str) -> str:
        """Return the pursuits' sum over data sets, in percent of the machines' sum."""
        pursuits = sum(getattr(c.pursuit, quantity) for c in comparisons)
        machines = sum(getattr(c.machine, quantity) for c in comparisons)
        return f"{100 * pursuits / machines:.0f} %"

    differences = (100 * (c.pursuit.error - c.machine.error) for c in comparisons)
    return (
        f"KMP untuned beside the tuned SVM: test error "
        f"{', '.join(f'{points:+.1f}' for points in differences)} points, "
        f"{share('n_support')} of the support points, "
        f"{share('fit_seconds')} of the search and fit time, "
        f"{share('predict_seconds')} of the prediction time"
    )


def _draw_if_possible(comparisons: Sequence[Comparison], path: Path) -> str:
    try:
        draw(comparisons, path)
    except ImportError:
        return (
            "no picture: matplotlib is not installed "
            "(it comes with: pip install 'pursuit[plot]')"
        )
    return f"picture: {path}"


def _panel(axes: Any, comparison: Comparison) -> None:
    machine, pursuit = comparison.machine, comparison.pursuit
    errors = comparison.staged_errors
    axes.plot(np.arange(1, len(errors) + 1), errors, color="C0", label="every size")
    axes.plot(
        pursuit.n_support,
        pursuit.error,
        "o",
        color="C0",
        label=f"{pursuit.model}: {pursuit.n_support} points",
    )
    axes.axhline(machine.error, color="C1", linewidth=1)
    axes.plot(
        machine.n_support,
        machine.error,
        "s",
        color="C1",
        label=f"{machine.model}, tuned: {machine.n_support} points",
    )
    axes.set(
        title=comparison.task.name,
        xlabel="support points",
        ylabel=f"test error ({comparison.task.kind})",
        xscale="log",
    )
    axes.set_ylim(bottom=0)
    axes.grid(alpha=0.3)
    axes.legend(fontsize="small")


def _note(text: str) -> None:
    """Report progress, apart from the result."""
    print(text, file=sys.stderr, flush=True)
