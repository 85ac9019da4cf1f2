"""Losses other than squares: time, the choice of points, likelihood, calibration.

    python benchmarks/bench_losses.py [--only speed] [--splits 3] [--small]

Parts: "speed" compares logistic with squared loss on one stored dictionary, "fits" the
same for whole fits of two and of five classes (one path, and the choice of ridge and
size at one width), "choice" the gradient's points with those of pre-fitting on the
loss's parabola, "likelihood" logistic pursuit with tuned kernel logistic regression on
all points, "calibration" the probabilities with those of a calibrated SVC.  All but the
first two need data sets (see pursuit.datasets); rows and splits are those of
bench_defaults.py.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable, Sequence
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench_defaults import Problem, median_gamma, problems
from bench_engine import data, dictionary, problem, timed
from scipy.stats import gmean
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import Pipeline
from sklearn.svm import SVC

from pursuit import KMPClassifier
from pursuit.engine.atoms import StoredAtoms
from pursuit.engine.loss_pursuit import LossPursuit
from pursuit.engine.pursuit import Pursuit
from pursuit.engine.running import run
from pursuit.losses import Logistic, as_loss
from pursuit.selection import FixedSize

PARTS = ("speed", "fits", "choice", "likelihood", "calibration")
CHOICE_SETS = ("ripley", "banana", "waveform", "pima", "adult", "covtype")
CHOICE_LOSSES = ("squared", "logistic", "squared-hinge")
CHOICE_WIDTHS = (0.25, 1.0, 4.0)  # gamma, times 1 / median squared distance
# With the number of splits of each: ratios of single splits of heart differ by 10 %.
LIKELIHOOD_SETS = {"waveform": 4, "ripley": 1, "heart": 8, "banana": 4}
CALIBRATION_SETS = ("ripley", "banana", "waveform", "pima")
N_SPLITS = 3  # of the others
C = [0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0]
WIDTHS = [1 / 64, 1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0]  # the same, searched
ALPHAS = [0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0]
SIZES = (5, 10, 20, 40)


# -- time ----------------------------------------------------------------------------


def speed(n_rows: int, n_steps: int) -> None:
    A, targets = classes(n_rows)
    for compiled in (least_squares, bits):
        compiled(*classes(100), 10, {})
    print("| method | squared, one pass a step | logistic | ratio |\n|---|---|---|---|")
    for method in ("pre-fitting", "back-fitting"):
        given = {"method": method, "alpha": 1e-2}
        squared, n_squared = timed(
            lambda g=given: least_squares(A, targets, n_steps, g), repeats=2
        )
        logistic, n_logistic = timed(
            lambda g=given: bits(A, targets, n_steps, g), repeats=2
        )
        print(
            f'| "{method}" | {squared:.2f} s, {n_squared} passes | {logistic:.2f} s, '
            f"{n_logistic} passes | {logistic / squared:.2f} |",
            flush=True,
        )


def classes(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    X, y = data(n_rows)
    return dictionary(X, 1.0), np.where(y > np.median(y), 1.0, -1.0)


def least_squares(A: np.ndarray, y: np.ndarray, n: int, given: dict[str, Any]) -> int:
    atoms = StoredAtoms(A)
    run([Pursuit(atoms, problem(y, len(A), n, **given), speculate=False)])
    return atoms.n_passes


def bits(A: np.ndarray, y: np.ndarray, n: int, given: dict[str, Any]) -> int:
    atoms = StoredAtoms(A)
    wanted = problem(y, len(A), n, loss=Logistic(), **given)
    run([LossPursuit(atoms, wanted)])
    return atoms.n_passes


def fits(n_rows: int, n_steps: int) -> None:
    X, y = data(n_rows)
    how = {"kernel": "rbf", "gamma": median_gamma(X), "max_support": n_steps}
    work = {"one path": {"alpha": 0.1, "selection": FixedSize()}, "ridge and size": {}}
    print("| fit | classes | squared | logistic | ratio |\n|---|---|---|---|---|")
    for title, given in work.items():
        for n_classes in (2, 5):
            edges = np.quantile(y, np.arange(1, n_classes) / n_classes)
            labels = np.digitize(y, edges)
            seconds = []
            for loss in ("squared", "logistic"):
                model = KMPClassifier(loss=loss, **how, **given)
                # The first fit compiles.
                seconds.append(timed(lambda m=model, c=labels: m.fit(X, c), 2)[0])
            print(
                f"| {title} | {n_classes} | {seconds[0]:.2f} s | {seconds[1]:.2f} s | "
                f"{seconds[1] / seconds[0]:.1f} |",
                flush=True,
            )


# -- the choice of points ------------------------------------------------------------


def choice(names: Sequence[str], n_splits: int) -> None:
    """Compare the points of pre-fitting with those of the gradient.

    Ratios are geometric means over the sets, with the lowest and the highest.
    """
    header = " | ".join(f"{size} points" for size in SIZES)
    print(f"| loss | gamma | {header} | lowest held-out loss | its points |")
    print("|---|---|" + "---|" * (len(SIZES) + 2))
    for loss in CHOICE_LOSSES:
        for width in CHOICE_WIDTHS:
            ratios = [choice_ratios(name, n_splits, loss, width) for name in names]
            cells = [
                f"{gmean(r):.2f} ({min(r):.2f}–{max(r):.2f})"
                for r in np.transpose(ratios)
            ]
            print(f"| {loss} | {width:g}/median | {' | '.join(cells)} |", flush=True)


def choice_ratios(name: str, n_splits: int, loss: str, width: float) -> np.ndarray:
    """Return pre-fitting over gradient: sizes of equal loss, lowest loss, its size."""
    sizes, lowest = [], []
    for p in problems(name, n_splits):
        gradient, parabola = (
            curves(p, loss, method, width) for method in ("back-fitting", "pre-fitting")
        )
        sizes.append([size_to_reach(parabola[0], gradient[0][n]) for n in SIZES])
        lowest.append([best(gradient[1]), best(parabola[1])])
    theirs, ours = np.mean(lowest, axis=0)
    return np.concatenate([np.mean(sizes, axis=0) / SIZES, ours / theirs])


def size_to_reach(curve: np.ndarray, target: float) -> int:
    reached = np.flatnonzero(curve <= target * (1 + 1e-9))
    return int(reached[0]) if len(reached) else len(curve)


def best(curve: np.ndarray) -> tuple[float, int]:
    """Return the lowest loss, and the smallest size within 1 % of it."""
    return float(curve.min()), max(1, size_to_reach(curve, 1.01 * curve.min()))


def curves(
    p: Problem, loss: str, method: str, width: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the mean training and test losses at sizes 0, 1, ..."""
    positive = p.y_train.max()
    model = KMPClassifier(
        loss=loss,
        method=method,
        gamma=width * median_gamma(p.X_train),
        alpha=1e-3,
        selection=None,
        max_support=2 * max(SIZES),
    ).fit(p.X_train, p.y_train == positive)
    value = as_loss(loss, is_class=True).value
    y = np.where(p.y_test == positive, 1.0, -1.0)
    start = model.truncate(0).decision_function(p.X_test)
    stages = [start, *model.staged_decision_function(p.X_test)]
    return model.path_.errors, np.array([value(y, f).mean() for f in stages])


# -- likelihood ----------------------------------------------------------------------


def likelihood(names: Sequence[str], n_splits: int | None) -> None:
    """Compare test log-losses; without a number of splits, each set has its own."""
    print(
        "| set | rows | all points | pursuit | ratio | points | a fifth, tuned | ratio "
        "| points | search, s | fit, s | search, s |\n" + "|---" * 12 + "|"
    )
    ratios = []
    for name in names:
        n = n_splits or LIKELIHOOD_SETS.get(name, N_SPLITS)
        found = np.array([against_all_points(p) for p in problems(name, n)])
        rows, theirs, ours, fifth, points, most, *seconds = found.mean(axis=0)
        ratios.append([ours / theirs, fifth / theirs])
        print(
            f"| {name} | {rows:.0f} | {theirs:.4f} | {ours:.4f} | {ours / theirs:.3f} "
            f"| {points:.1f} | {fifth:.4f} | {fifth / theirs:.3f} | {most:.1f} | "
            f"{' | '.join(f'{s:.1f}' for s in seconds)} |",
            flush=True,
        )
    print(f"\ngeometric means of the ratios: {gmean(ratios)}")


def against_all_points(p: Problem) -> tuple[float, ...]:
    """Return rows, log-losses on the test rows, numbers of points and times."""
    default = KMPClassifier("rbf", loss="logistic", max_support=0.2)
    fits = [
        timed(lambda: kernel_logistic_regression(p)),
        timed(lambda: default.fit(p.X_train, p.y_train)),
        timed(lambda: tuned_fifth(p)),
    ]
    seconds, models = zip(*fits, strict=True)
    losses = [log_loss(p.y_test, m.predict_proba(p.X_test)) for m in models]
    points = [m.n_support_ for m in models[1:]]
    return len(p.y_train), *losses, *points, *seconds


def tuned_fifth(p: Problem) -> KMPClassifier:
    """Return a pursuit of a fifth of the rows, width and ridge by the log-loss."""
    width = median_gamma(p.X_train)
    values = {"gamma": [w * width for w in WIDTHS], "alpha": ALPHAS}
    model = KMPClassifier("rbf", loss="logistic", selection=None, max_support=0.2)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    search = GridSearchCV(model, values, scoring="neg_log_loss", cv=folds)
    return search.fit(p.X_train, p.y_train).best_estimator_


def kernel_logistic_regression(p: Problem) -> GridSearchCV:
    """Return logistic regression on all points, width and C by the log-loss."""
    width = median_gamma(p.X_train)
    values = {"map__gamma": [w * width for w in WIDTHS], "model__C": C}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        # Fewer components in the folds, and no convergence at the largest C.
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        steps = [
            ("map", Nystroem(n_components=len(p.y_train), random_state=0)),
            ("model", LogisticRegression(max_iter=1000)),
        ]
        search = GridSearchCV(
            Pipeline(steps, memory=folder), values, scoring="neg_log_loss", cv=folds
        )
        return search.fit(p.X_train, p.y_train)


# -- calibration ---------------------------------------------------------------------


def tuned_svc(p: Problem) -> SVC:
    """Return an SVC with width and C of the highest accuracy."""
    width = median_gamma(p.X_train)
    values = {"gamma": [w * width for w in WIDTHS], "C": C}
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return (
        GridSearchCV(SVC(), values, cv=folds).fit(p.X_train, p.y_train).best_estimator_
    )


CONTESTANTS: dict[str, Callable[[Problem], Any]] = {
    "calibrated `SVC()`": lambda p: CalibratedClassifierCV(SVC(), ensemble=False),
    "the same, tuned": lambda p: CalibratedClassifierCV(tuned_svc(p), ensemble=False),
    '`KMPClassifier("rbf", loss="logistic")`': lambda p: KMPClassifier(
        "rbf", loss="logistic"
    ),
}


def calibration(names: Sequence[str], n_splits: int) -> None:
    print("| set | model | log-loss | Brier | ECE | error | points |")
    print("|---|---|---|---|---|---|---|")
    for name in names:
        splits = list(problems(name, n_splits))
        for title, make in CONTESTANTS.items():
            found = [judged(make(p).fit(p.X_train, p.y_train), p) for p in splits]
            surprise, brier, gap, error, points = np.mean(found, axis=0)
            print(
                f"| {name} | {title} | {surprise:.4f} | {brier:.4f} | {gap:.4f} | "
                f"{error:.1%} | {points:.0f} |",
                flush=True,
            )


def judged(model: Any, p: Problem) -> tuple[float, ...]:
    """Return log-loss, Brier score, calibration error, error rate and points."""
    P = model.predict_proba(p.X_test)[:, 1]
    y = p.y_test == model.classes_[1]
    return (
        log_loss(y, P),
        float(np.mean((P - y) ** 2)),
        calibration_error(P, y),
        float(np.mean(model.predict(p.X_test) != p.y_test)),
        n_points(model),
    )


def calibration_error(P: np.ndarray, y: np.ndarray, n_bins: int = 10) -> float:
    """Return the mean distance of probability and frequency over equal bins."""
    bins = np.minimum((P * n_bins).astype(int), n_bins - 1)
    gaps = [abs(np.sum(P[bins == b] - y[bins == b])) for b in range(n_bins)]
    return float(sum(gaps) / len(P))


def n_points(model: Any) -> int:
    if isinstance(model, CalibratedClassifierCV):
        model = model.calibrated_classifiers_[0].estimator
    return int(np.sum(model.n_support_))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--sets", help="a,b,c instead of each part's own")
    parser.add_argument(
        "--splits", type=int, help=f"splits per set ({N_SPLITS}; likelihood: 1 to 8)"
    )
    parser.add_argument("--small", action="store_true", help="a quick look")
    args = parser.parse_args()
    given = 1 if args.small else args.splits
    n_splits = given or N_SPLITS

    def sets(own: Iterable[str]) -> list[str]:
        if args.sets:
            return args.sets.split(",")
        return list(own)[: 2 if args.small else None]

    parts: dict[str, Callable[[], None]] = {
        "speed": lambda: speed(*((1000, 50) if args.small else (10_000, 200))),
        "fits": lambda: fits(*((200, 20) if args.small else (1000, 100))),
        "choice": lambda: choice(sets(CHOICE_SETS), n_splits),
        "likelihood": lambda: likelihood(sets(LIKELIHOOD_SETS), given),
        "calibration": lambda: calibration(sets(CALIBRATION_SETS), n_splits),
    }
    for name in PARTS:
        if args.only in (None, name):
            print(f"\n{name}\n")
            parts[name]()


if __name__ == "__main__":
    main()
