"""Adaptive KMP: Ripley's points (Figure 1) and three more data sets (Table 1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from pursuit import KMPClassifier, datasets
from pursuit.dictionaries import AdaptiveGaussian, Constant, Dictionary, OneKernel
from pursuit.kernels import Gaussian
from reproduction.experiment import Experiment, Report, Row, Task
from reproduction.methods import rivals
from reproduction.protocols.splits import mean_and_error, thirds
from reproduction.reporting import INSIDE, dots

CODE_VERSION = 1

N_SPLITS, N_RIVAL_SPLITS = 50, 10
# Number of random halvings of the training rows of each official split of Titanic.
N_HALVINGS = 5
STRATEGIES = {"PG": "global", "PL": "local", "PS": "stochastic"}
# The middle of "20-30 samples, each containing 10%-25%" in the paper.
N_SUBSETS, SUBSET_SIZE = 25, 0.2
# Chosen by validation: gamma of KMP and SVM, C, and the radius of PL, which the paper
# leaves open, as a multiple of 1 over the square root of the median rule's gamma.
WIDTHS = tuple(2.0**power for power in range(-4, 6))
C = (0.1, 1.0, 10.0, 100.0, 1000.0)
RADII = (0.25, 0.5, 1.0)
READINGS = {"aligned": "", "scaled": ", with its coefficient"}
ONE_WIDTH, RVM = "KMP, one width by validation", "RVM (fastrvm), tuned"

# -- the parts of a split ------------------------------------------------------------


@dataclass(frozen=True)
class Parts:
    """Points for training, validation and test, with classes -1 and 1."""

    X: np.ndarray
    y: np.ndarray
    X_validation: np.ndarray
    y_validation: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def parts_of(name: str, split: int) -> Parts:
    """Return one split of a data set.

    Ripley: the 250 training points in random halves, for training and validation.
    Ionosphere (raw) and Pima (standardized): random thirds, as in Table 9.3 of the
    thesis, which the paper follows. Titanic: the 150 training points of ten official
    splits of the benchmark collection, in random halves.
    """
    bunch = datasets.load(name)
    X, y = bunch.data, np.where(bunch.target == np.max(bunch.target), 1, -1)
    if name in ("ionosphere", "pima"):
        X = StandardScaler().fit_transform(X) if name == "pima" else X
        rows = thirds(len(y), split)
        return _parts(X, y, (rows.train, rows.validation, rows.test))
    official, halving = divmod(split, N_HALVINGS) if name == "titanic" else (0, split)
    train, test = bunch.splits[official]
    order = np.random.default_rng(halving).permutation(train)
    half = len(order) // 2
    return _parts(X, y, (order[:half], order[half:], test))


def _parts(X: np.ndarray, y: np.ndarray, rows: Sequence[np.ndarray]) -> Parts:
    return Parts(*(part for r in rows for part in (X[r], y[r])))


# -- methods -------------------------------------------------------------------------


def best_on_validation(
    parts: Parts, dictionaries: Sequence[Dictionary]
) -> tuple[float, KMPClassifier]:
    """Return the model of lowest squared validation error, over sizes and dictionaries.

    The constant is one more candidate, as in the thesis.
    """
    candidates = []
    for dictionary in dictionaries:
        path = KMPClassifier(
            dictionary=Constant() + dictionary,
            fit_intercept=False,
            alpha=0.0,
            selection=None,
            max_support=len(parts.y),
        ).fit(parts.X, parts.y)
        errors = [
            float(np.mean((f - parts.y_validation) ** 2))
            for f in path.staged_decision_function(parts.X_validation)
        ]
        size = int(np.argmin(errors)) + 1
        candidates.append((errors[size - 1], path.truncate(size)))
    return min(candidates, key=lambda pair: pair[0])


def adaptive(parts: Parts, variant: str, reading: str) -> KMPClassifier:
    """Return AKMP-PG, -PL or -PS."""
    median = rivals.median_gamma(parts.X)
    radii = [r / np.sqrt(median) for r in RADII] if variant == "PL" else [None]
    return best_on_validation(
        parts,
        [
            AdaptiveGaussian(
                STRATEGIES[variant],
                criterion=reading,
                n_subsets=N_SUBSETS,
                subset_size=SUBSET_SIZE,
                average="mean",
                radius=radius,
            )
            for radius in radii
        ],
    )[1]


def one_width(parts: Parts) -> KMPClassifier:
    """Return KMP with one width, chosen on the validation rows like the size."""
    median = rivals.median_gamma(parts.X)
    widths = [OneKernel(Gaussian(w * median)) for w in WIDTHS]
    return best_on_validation(parts, widths)[1]


def machine(parts: Parts) -> SVC:
    """Return the SVM of lowest validation error; ties go to the smallest."""
    median = rivals.median_gamma(parts.X)
    candidates = [
        SVC(C=c, gamma=w * median).fit(parts.X, parts.y) for w in WIDTHS for c in C
    ]

    def order(model: SVC) -> tuple[float, int]:
        wrong = np.mean(model.predict(parts.X_validation) != parts.y_validation)
        return float(wrong), int(model.n_support_.sum())

    return min(candidates, key=order)


METHODS: dict[str, Callable[[Parts], Any]] = {
    **{
        f"AKMP-{variant}{words}": partial(adaptive, variant=variant, reading=reading)
        for reading, words in READINGS.items()
        for variant in STRATEGIES
    },
    ONE_WIDTH: one_width,
    "SVM": machine,
}


def published_methods(name: str, split: int, grid: int = 0) -> dict[str, Any]:
    """Return test error and size of each method, and its values on a ``grid``."""
    parts = parts_of(name, split)
    result = {}
    for method, fitted in METHODS.items():
        model = fitted(parts)
        wrong = float(np.mean(model.predict(parts.X_test) != parts.y_test))
        result[method] = {"error": wrong, "size": rivals.n_points(model)}
        if grid:
            values = model.decision_function(grid_of(parts.X_test, grid))
            result[method]["values"] = np.round(values, 3).tolist()
    return result


def grid_of(X: np.ndarray, n: int) -> np.ndarray:
    """Return a grid of n × n points over the range of X."""
    axes = [np.linspace(a, b, n) for a, b in zip(X.min(0), X.max(0), strict=True)]
    return np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, 2)


def todays_methods(name: str, split: int, methods: list[str]) -> dict[str, Any]:
    """Return the results of today's methods, fitted to all rows but the test rows."""
    parts = parts_of(name, split)
    X = np.concatenate([parts.X, parts.X_validation])
    y = np.concatenate([parts.y, parts.y_validation])
    scaler = StandardScaler().fit(X)
    A, B = scaler.transform(X), scaler.transform(parts.X_test)
    return {m: rivals.judged(m, A, y, B, parts.y_test) for m in methods}


# -- reports -------------------------------------------------------------------------

# Test error in percent and number of vectors; None if the paper has no figure.
PUBLISHED: dict[str, dict[str, tuple[float, int | None]]] = {
    "ripley": {
        "AKMP-PG": (8.8, None),
        "AKMP-PL": (8.7, None),
        "AKMP-PS": (8.3, 6),
        ONE_WIDTH: (9.4, None),
        "SVM": (9.7, 73),
        RVM: (9.9, 7),
    },
    "ionosphere": {
        "AKMP-PG": (6.16, 17),
        "AKMP-PL": (5.95, 25),
        "AKMP-PS": (5.87, 25),
        ONE_WIDTH: (6.87, 50),
        "SVM": (6.51, 68),
    },
    "pima": {
        "AKMP-PG": (26.01, 15),
        "AKMP-PL": (25.07, 18),
        "AKMP-PS": (23.52, 17),
        ONE_WIDTH: (23.9, 7),
        "SVM": (24.1, 146),
        RVM: (19.6, 4),
    },
    "titanic": {
        "AKMP-PG": (22.38, 19),
        "AKMP-PL": (22.51, 25),
        "AKMP-PS": (22.37, 21),
        "SVM": (22.1, 94),
        RVM: (23.0, 65),
    },
}
TITLES = {
    "ripley": "Ripley",
    "ionosphere": "Ionosphere",
    "pima": "Pima",
    "titanic": "Titanic",
}
WHY = {
    "ripley": "with half of the 250 points to train on, figures so near the Bayes "
    "error of 8 % were out of reach in all trials; how sizes and the radius were "
    "chosen is not stated",
    "ionosphere": "scaling, radius and subsets are not stated, and widths are bounded "
    "here",
    "pima": "scaling, radius and subsets are not stated, and widths are bounded here",
    "titanic": "the 75 training points hold 8 to 11 distinct inputs: no model can have "
    "19 to 25 independent vectors, so another protocol was used",
}
# Figures that the paper quotes from elsewhere.
WHY_QUOTED = {
    **{
        (name, method): "quoted from Table 9.3 of the thesis, whose width is fixed"
        for name in ("ionosphere", "pima")
        for method in (ONE_WIDTH, "SVM")
    },
    ("pima", RVM): "quoted from Tipping (2001), who trains and tests on other rows",
    ("titanic", "SVM"): "quoted from Tipping (2001), whose machine has all 150 points",
    ("titanic", RVM): "quoted from Tipping (2001); more vectors than distinct inputs "
    "cannot be independent",
    ("ripley", RVM): "the prior and the width of theirs are not stated",
}
NOTE = (
    "The width of each point minimises the squared loss between one Gaussian and the "
    "classes, with the sign that the function will carry (as printed, a function that "
    "is never negative is compared with both signs); 'with its coefficient' lets the "
    "function have its best factor. Widths lie between a hundredth and ten times 1 "
    f"over the median squared distance; {N_SUBSETS} subsets of "
    f"{100 * SUBSET_SIZE:.0f} % and their mean for PS; the radius of PL, the width of "
    "KMP, C and all sizes by validation; the constant is one more function. Today's "
    "methods, the RVM among them, get all rows but the test rows: of Ripley's the same "
    "250 each time, so that their standard error is that of the folds alone."
)


def _tasks(names: Sequence[str], quick: bool, grid: int) -> list[Task]:
    n_splits, n_rivals = (3, 1) if quick else (N_SPLITS, N_RIVAL_SPLITS)
    methods = [m for m in rivals.classifiers() if not (quick and m.startswith("RVM"))]
    tasks = []
    for name in names:
        # Use different official splits, not halvings of the first, if there are few
        # tasks or the methods get both halves anyway.
        step = N_HALVINGS if name == "titanic" else 1
        for split in range(n_splits):
            arguments = {"name": name, "split": split * (step if quick else 1)}
            if grid and split == 0:
                arguments["grid"] = grid
            tasks.append(
                Task(f"{name}/split {split}", published_methods, arguments, (name,))
            )
            if split < n_rivals:
                today = {"name": name, "split": split * step, "methods": methods}
                tasks.append(
                    Task(f"{name}/today {split}", todays_methods, today, (name,))
                )
    return tasks


def _rows(name: str, results: Mapping[str, Any]) -> Iterator[Row]:
    for kind, n_published in (("split", N_SPLITS), ("today", None)):
        splits = [r for t, r in results.items() if t.startswith(f"{name}/{kind} ")]
        for method in splits[0] if splits else ():
            errors = 100.0 * np.array([r[method]["error"] for r in splits])
            sizes = [r[method]["size"] for r in splits]
            published, size = PUBLISHED[name].get(method, (None, None))
            mean, error = mean_and_error(errors, n_published if published else None)
            yield Row(
                f"{TITLES[name]}, {method}",
                "test error, %",
                mean,
                error,
                published,
                None if None in sizes else float(np.mean(sizes)),
                size,
                WHY_QUOTED.get((name, method), WHY[name]) if published else "",
                1 if name == "ripley" else 2,
            )


def _comparison(name: str, results: Mapping[str, Any]) -> list[str]:
    """Return a sentence on whether adapted widths are better than one width."""
    splits = [r for t, r in results.items() if t.startswith(f"{name}/split ")]
    if len(splits) < 2:
        return []
    plain = np.array([r[ONE_WIDTH]["error"] for r in splits])
    words = []
    for method in (method for method in METHODS if method.startswith("AKMP")):
        adapted = np.array([r[method]["error"] for r in splits])
        mean, error = mean_and_error(100.0 * (adapted - plain))
        words.append(f"{method.removeprefix('AKMP-')} {mean:+.2f} ± {error:.2f}")
    what = "test error less that of one width by validation, in points"
    return [f"{TITLES[name]}, {what}: {'; '.join(words)}."]


def _report(names: Sequence[str], results: Mapping[str, dict[str, Any]]) -> Report:
    rows = [row for name in names for row in _rows(name, results)]
    notes = [NOTE, *(s for name in names for s in _comparison(name, results))]
    shown = results.get("ripley/split 0", {})
    if not any("values" in result for result in shown.values()):
        return Report(rows, notes, dots(rows, "test error, %"))
    return Report(rows, notes, lambda figure: _draw_boundaries(figure, shown, rows))


def _draw_boundaries(figure: Any, shown: Mapping[str, Any], rows: list[Row]) -> None:
    parts = parts_of("ripley", 0)
    X = np.concatenate([parts.X, parts.X_validation])
    y = np.concatenate([parts.y, parts.y_validation])
    mean = {row.label: row.ours for row in rows}
    figure.set_size_inches(11, 6)
    methods = [m for m in shown if "values" in shown[m] and "coefficient" not in m]
    for axes, method in zip(figure.subplots(2, 3).flat, methods, strict=False):
        values = np.array(shown[method]["values"])
        n = int(np.sqrt(len(values)))
        grid = grid_of(parts.X_test, n).reshape(n, n, 2)
        axes.scatter(*X.T, c=y, cmap="coolwarm", s=8)
        axes.contour(
            grid[..., 0], grid[..., 1], values.reshape(n, n), [0.0], colors="k"
        )
        error, size = mean[f"Ripley, {method}"], shown[method]["size"]
        axes.set_title(f"{method}: {error:.1f} %, {size} vectors", fontsize="medium")
        axes.set(xticks=(), yticks=())
    for axes in figure.axes[len(methods) :]:
        axes.set_axis_off()


TABLE = ("ionosphere", "pima", "titanic")

EXPERIMENTS = (
    Experiment(
        "akmp-ripley",
        "Adaptive KMP on Ripley's mixture",
        "Popovici and Thiran (2003), Figure 1",
        needs=("ripley",),
        tasks=lambda quick: _tasks(("ripley",), quick, 41),
        report=lambda results: _report(("ripley",), results),
        seeds=f"`split` seeds the halves. {INSIDE}",
    ),
    Experiment(
        "akmp-table-1",
        "Adaptive KMP on three sets",
        "Popovici and Thiran (2003), Table 1",
        needs=TABLE,
        tasks=lambda quick: _tasks(TABLE, quick, 0),
        report=lambda results: _report(TABLE, results),
        seeds=(
            "`split` seeds the thirds of Ionosphere and Pima. For Titanic, its "
            f"quotient by {N_HALVINGS} is the number of the official split, and the "
            f"remainder seeds the halves. {INSIDE}"
        ),
    ),
)
