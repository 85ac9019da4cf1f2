"""Intervals, prediction sets and probabilities: what they promise, and what they hold.

    python benchmarks/bench_intervals.py [--quick] [--only intervals] [--tables a,b]

Each table is divided anew for each split: 300 rows to learn from, up to 1000 others to
judge by. A coverage of 0.9 is asked for. "intervals" are those of regressors on twelve
tables, "sets" the prediction sets of classifiers on eight, "probabilities" compares the
calibrations on the latter. What takes several fits is measured on the first splits only
(``--few``); its widths are compared with those of CV+ on the same splits.

A mean coverage is in the band if it is within the 99 % of a normal distribution around
0.9 whose variance is that of split conformal intervals of distinct scores,
0.09 (1 / (rows held out + 2) + 1 / rows judged) / splits. For CV+ that is no theorem:
its guarantee is 0.8.

"Thirds" are the coverages of the rows with the narrowest, middle and widest intervals;
"forest's thirds" sort the rows by the width that the quantile forest gives them, which
says where the targets scatter more. Times are those of the processor.
"""

from __future__ import annotations

import argparse
import pickle
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from bench_losses import calibration_error
from scipy.stats import gmean
from sklearn.calibration import CalibratedClassifierCV
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

from pursuit import KMPClassifier, KMPRegressor, datasets
from pursuit.losses import Quantile

PARTS = ("intervals", "sets", "probabilities", "cost")
NUMBERS = [
    *("airfoil", "ailerons", "bike", "concrete", "elevators", "energy", "fried"),
    *("house8L", "kin8nm", "parkinsons", "puma8nh", "skillcraft"),
]
CLASSES = ["balance", "car", "cmc", "krkp", "nursery", "pageblocks", "sick"]
CLASSES += ["waveform5000"]
COVERAGE = 0.9
QUANTILES = [0.05, 0.95]
N_TRAINING, MOST_TEST = 300, 1000
OURS, FOREST = "CV+", "quantile forest"


@dataclass(frozen=True)
class Split:
    """Rows to learn from, and others to judge by."""

    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    seed: int


def splits(name: str, n_splits: int) -> Iterator[Split]:
    table = datasets.load(f"tables/{name}")
    X, y = np.asarray(table.data), np.asarray(table.target)
    for seed in range(n_splits):
        order = np.random.default_rng(seed).permutation(len(y))
        train, test = np.split(order[: N_TRAINING + MOST_TEST], [N_TRAINING])
        yield Split(X[train], y[train], X[test], y[test], seed)


@dataclass(frozen=True)
class Answer:
    """What a method says of the rows judged: limits (n, 2), or sets (n, n_classes)."""

    found: np.ndarray
    n_held_out: float
    seconds: float


Method = Callable[[Split], dict[str, Answer]]


# -- intervals -----------------------------------------------------------------------


def cross_validated(p: Split) -> dict[str, Answer]:
    model, seconds = fitted(KMPRegressor(random_state=p.seed), p)
    names = {OURS: "plus", "minmax": "minmax", "base": "base"}
    return {
        name: Answer(limits(model, p, method=method), n_held_out(model), seconds)
        for name, method in names.items()
    }


def validated(p: Split) -> dict[str, Answer]:
    model, seconds = fitted(KMPRegressor(selection="validation", random_state=0), p)
    return {
        'selection="validation"': Answer(limits(model, p), n_held_out(model), seconds)
    }


def of_quantiles(p: Split) -> dict[str, Answer]:
    model, seconds = fitted(KMPRegressor(loss=Quantile(QUANTILES), random_state=0), p)
    return {"loss=Quantile([…])": Answer(limits(model, p), n_held_out(model), seconds)}


def forests(p: Split) -> dict[str, Answer]:
    """Return a forest's quantiles, and those that a quarter of the rows moved."""
    from quantile_forest import RandomForestQuantileRegressor

    def fit(n: int) -> tuple[Any, float]:
        forest = RandomForestQuantileRegressor(random_state=p.seed)
        return timed(lambda: forest.fit(p.X_train[:n], p.y_train[:n]))

    forest, seconds = fit(N_TRAINING)
    raw = np.asarray(forest.predict(p.X_test, quantiles=QUANTILES))
    n = 3 * N_TRAINING // 4
    part, of_part = fit(n)
    low, high = part.predict(p.X_train[n:], quantiles=QUANTILES).T
    scores = np.sort(np.maximum(low - p.y_train[n:], p.y_train[n:] - high))
    margin = scores[int(np.ceil(COVERAGE * (len(scores) + 1) - 1e-9)) - 1]
    moved = part.predict(p.X_test, quantiles=QUANTILES) + margin * np.array([-1.0, 1.0])
    return {
        FOREST: Answer(raw, np.inf, seconds),
        "quantile forest, conformal": Answer(moved, len(scores), of_part),
    }


def mapie_intervals(p: Split) -> dict[str, Answer]:
    from mapie.regression import CrossConformalRegressor

    model = CrossConformalRegressor(KMPRegressor(random_state=p.seed), COVERAGE, cv=5)
    model, seconds = timed(lambda: model.fit_conformalize(p.X_train, p.y_train))
    found = model.predict_interval(p.X_test)[1][..., 0]
    return {"MAPIE, CV+": Answer(found, N_TRAINING, seconds)}


def limits(model: Any, p: Split, **how: Any) -> np.ndarray:
    return model.predict_interval(p.X_test, COVERAGE, **how)[1][..., 0]


def thirds(inside: np.ndarray, width: np.ndarray) -> list[float]:
    parts = np.array_split(inside[np.argsort(width, kind="stable")], 3)
    return [float(part.mean()) for part in parts]


def judged_intervals(p: Split, answers: dict[str, Answer]) -> dict[str, list[float]]:
    """Return coverage, mean width and coverages by thirds of each method."""
    out, y = {}, p.y_test
    widths = {name: np.ptp(answer.found, axis=1) for name, answer in answers.items()}
    for name, answer in answers.items():
        inside = (answer.found[:, 0] <= y) & (y <= answer.found[:, 1])
        own = thirds(inside, widths[name])
        theirs = thirds(inside, widths[FOREST])
        out[name] = [inside.mean(), widths[name].mean(), *own, *theirs]
    return out


# -- sets ----------------------------------------------------------------------------


def ours_on_classes(title: str, **how: Any) -> Method:
    def method(p: Split) -> dict[str, Answer]:
        model, seconds = fitted(KMPClassifier(random_state=p.seed, **how), p)
        sets = model.predict_set(p.X_test, COVERAGE)[1][..., 0]
        sets = of_all_classes(sets, model.classes_, p)
        return {title: Answer(sets, n_held_out(model), seconds)}

    return method


def mapie_sets(p: Split) -> dict[str, Answer]:
    from mapie.classification import CrossConformalClassifier

    model = CrossConformalClassifier(
        KMPClassifier(random_state=p.seed, probability="temperature"),
        COVERAGE,
        cv=StratifiedKFold(5, shuffle=True, random_state=p.seed),
        random_state=p.seed,
    )
    try:
        model, seconds = timed(lambda: model.fit_conformalize(p.X_train, p.y_train))
    except ValueError:  # a class has too few rows for its folds
        return {}
    sets = model.predict_set(p.X_test, agg_scores="crossval")[1][..., 0]
    sets = of_all_classes(sets, np.unique(p.y_train), p)
    return {"MAPIE, cross-conformal": Answer(sets, N_TRAINING, seconds)}


def of_all_classes(sets: np.ndarray, known: np.ndarray, p: Split) -> np.ndarray:
    """Return sets with a column for each class of the rows judged, known or not."""
    classes = np.unique(np.concatenate([p.y_train, p.y_test]))
    out = np.zeros((len(sets), len(classes)), dtype=bool)
    out[:, np.searchsorted(classes, known)] = sets
    return out


def judged_sets(p: Split, answers: dict[str, Answer]) -> dict[str, list[float]]:
    """Return coverage and mean size, and shares of sets that are empty or single."""
    classes = np.unique(np.concatenate([p.y_train, p.y_test]))
    codes = np.searchsorted(classes, p.y_test)
    out = {}
    for name, answer in answers.items():
        sizes = answer.found.sum(axis=1)
        inside = answer.found[np.arange(len(codes)), codes]
        out[name] = [
            inside.mean(),
            sizes.mean(),
            np.mean(sizes == 0),
            np.mean(sizes == 1),
        ]
    return out


# -- both ----------------------------------------------------------------------------


def compare(
    names: list[str],
    methods: dict[Method, bool],
    judged: Callable[[Split, dict[str, Answer]], dict[str, list[float]]],
    columns: list[str],
    n_splits: int,
    n_few: int,
) -> None:
    """Print what each method holds on each table, and then on all."""
    print(
        f"| table | method | splits | coverage | in the band | {columns[0]}, ratio to "
        f"{OURS} | {' | '.join(columns[1:])} | fit, s |"
    )
    print("|---" * (len(columns) + 6) + "|")
    whole: dict[str, list[list[Any]]] = defaultdict(list)
    for name in names:
        found: dict[str, list[list[float]]] = defaultdict(list)
        for p in splits(name, n_splits):
            answers: dict[str, Answer] = {}
            for method, is_fast in methods.items():
                if is_fast or p.seed < n_few:
                    answers |= method(p)
            for title, values in judged(p, answers).items():
                answer = answers[title]
                noise = 1 / (answer.n_held_out + 2) + 1 / len(p.y_test)
                found[title].append([answer.seconds, noise, *values])
        for title, rows in found.items():
            print_row(name, title, np.array(rows), np.array(found[OURS]), whole)
    print_summary(whole)


def print_row(
    name: str, title: str, rows: np.ndarray, ours: np.ndarray, whole: dict[str, list]
) -> None:
    n = len(rows)
    seconds, noise, coverage, size, *others = rows.mean(axis=0)
    error = np.sqrt(COVERAGE * (1 - COVERAGE) * noise / n)
    observed = rows[:, 2].std(ddof=1) / np.sqrt(n) if n > 1 else np.nan
    place = (coverage - COVERAGE) / error
    verdict = "yes" if abs(place) < 2.576 else ("above" if place > 0 else "below")
    ratio = size / ours[:n, 3].mean()
    whole[title].append([verdict, coverage, ratio, seconds, others])
    print(
        f"| {name} | {title} | {n} | {coverage:.4f} ± {observed:.4f} | {verdict} "
        f"(± {2.576 * error:.4f}) | {ratio:.3f} | "
        f"{' | '.join(f'{v:.3f}' for v in others)} | {seconds:.2f} |",
        flush=True,
    )


def print_summary(whole: dict[str, list[list[Any]]]) -> None:
    """Print means over tables; of ratios and times, geometric ones."""
    print(
        "\n| method | tables | in the band | above | below | coverage | lowest | "
        "size, ratio | others | fit, s |\n" + "|---" * 10 + "|"
    )
    for title, rows in whole.items():
        verdicts, coverages, ratios, seconds, others = zip(*rows, strict=True)
        counts = [verdicts.count(v) for v in ("yes", "above", "below")]
        print(
            f"| {title} | {len(rows)} | {' | '.join(map(str, counts))} | "
            f"{np.mean(coverages):.4f} | {min(coverages):.4f} | {gmean(ratios):.3f} | "
            f"{', '.join(f'{v:.3f}' for v in np.mean(others, axis=0))} | "
            f"{gmean(seconds):.2f} |",
            flush=True,
        )


# -- probabilities -------------------------------------------------------------------


def recalibrated(method: str) -> Callable[[], Any]:
    return lambda: CalibratedClassifierCV(
        KMPClassifier(random_state=0), method=method, ensemble=False
    )


CONTESTANTS: dict[str, Callable[[], Any]] = {
    'probability="temperature"': lambda: KMPClassifier(
        random_state=0, probability="temperature"
    ),
    'probability="isotonic"': lambda: KMPClassifier(
        random_state=0, probability="isotonic"
    ),
    'loss="logistic"': lambda: KMPClassifier(random_state=0, loss="logistic"),
    "CalibratedClassifierCV, temperature": recalibrated("temperature"),
    "CalibratedClassifierCV, sigmoid": recalibrated("sigmoid"),
    "CalibratedClassifierCV, isotonic": recalibrated("isotonic"),
}


def probabilities(names: list[str], n_splits: int) -> None:
    print("| table | method | log-loss | calibration error | error | fit, s |")
    print("|---" * 6 + "|")
    whole = []
    for name in names:
        found = np.array(
            [
                [judged_probabilities(make(), p) for p in splits(name, n_splits)]
                for make in CONTESTANTS.values()
            ]
        ).mean(axis=1)
        whole.append(found)
        for title, row in zip(CONTESTANTS, found, strict=True):
            print_cells(name, title, row)
    for title, row in zip(CONTESTANTS, np.mean(whole, axis=0), strict=True):
        print_cells("mean", title, row)


def print_cells(name: str, title: str, row: np.ndarray) -> None:
    surprise, gap, error, seconds = row
    cells = f"{surprise:.4f} | {gap:.4f} | {error:.1%} | {seconds:.2f}"
    print(f"| {name} | {title} | {cells} |", flush=True)


def judged_probabilities(model: Any, p: Split) -> list[float]:
    """Return log-loss, calibration error of the likeliest class, error and seconds."""
    with warnings.catch_warnings():
        # A class with fewer rows than folds.
        warnings.simplefilter("ignore", UserWarning)
        model, seconds = fitted(model, p)
    is_known = np.isin(p.y_test, model.classes_)
    y, P = p.y_test[is_known], model.predict_proba(p.X_test[is_known])
    # An isotonic probability of 0 that turns out to be wrong would count without end.
    P = np.maximum(P, 1e-3)
    P /= P.sum(axis=1, keepdims=True)
    surprise = log_loss(y, P, labels=model.classes_)
    is_right = model.classes_[P.argmax(axis=1)] == y
    gap = calibration_error(P.max(axis=1), is_right)
    return [surprise, gap, 1 - float(is_right.mean()), seconds]


# -- cost ----------------------------------------------------------------------------


def cost(names: list[str]) -> None:
    print(
        "| table | points | predict, ms | with std, ms | interval, ms | pickle, kB | "
        "truncate() | truncate(folds=False) | file of truncate() | without folds |"
    )
    print("|---" * 10 + "|")
    for name in names:
        (p,) = splits(name, 1)
        model = KMPRegressor(random_state=0).fit(p.X_train, p.y_train)
        answers = (
            lambda m=model, q=p: m.predict(q.X_test),
            lambda m=model, q=p: m.predict(q.X_test, return_std=True),
            lambda m=model, q=p: m.predict_interval(q.X_test),
        )
        seconds = [min(timed(answer)[1] for _ in range(5)) for answer in answers]
        small = [model.truncate(), model.truncate(folds=False)]
        sizes = [len(pickle.dumps(m)) for m in (model, *small)] + [
            file_size(m) for m in small
        ]
        print(
            f"| {name} | {model.n_support_} | "
            f"{' | '.join(f'{1e3 * s:.1f}' for s in seconds)} | "
            f"{' | '.join(f'{size / 1e3:.0f}' for size in sizes)} |",
            flush=True,
        )


def file_size(model: Any) -> int:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.pursuit"
        model.save(path)
        return path.stat().st_size


# -- pieces --------------------------------------------------------------------------


def fitted(model: Any, p: Split) -> tuple[Any, float]:
    return timed(lambda: model.fit(p.X_train, p.y_train))


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def n_held_out(model: Any) -> float:
    return float(sum(fold.weight.sum() for fold in model._folds))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=PARTS)
    parser.add_argument("--tables", help="a,b,c instead of each part's own")
    parser.add_argument("--splits", type=int, default=50)
    parser.add_argument("--few", type=int, default=4, help="of what takes several fits")
    parser.add_argument("--quick", action="store_true", help="two tables, five splits")
    args = parser.parse_args()
    n_splits, n_few = (5, 1) if args.quick else (args.splits, args.few)

    def tables(own: list[str]) -> list[str]:
        return (
            args.tables.split(",") if args.tables else own[: 2 if args.quick else None]
        )

    numbers = {
        cross_validated: True,
        forests: True,
        validated: True,
        of_quantiles: False,
        mapie_intervals: False,
    }
    classes = {
        ours_on_classes(OURS): True,
        ours_on_classes('selection="validation"', selection="validation"): True,
        ours_on_classes('loss="logistic"', loss="logistic"): False,
        mapie_sets: False,
    }
    of_intervals = ["width", "thirds", "", "", "forest's thirds", "", ""]
    of_sets = ["size", "empty", "single"]
    parts: dict[str, Callable[[], None]] = {
        "intervals": lambda: compare(
            tables(NUMBERS), numbers, judged_intervals, of_intervals, n_splits, n_few
        ),
        "sets": lambda: compare(
            tables(CLASSES), classes, judged_sets, of_sets, n_splits, n_few
        ),
        "probabilities": lambda: probabilities(tables(CLASSES), n_few),
        "cost": lambda: cost(tables(NUMBERS)),
    }
    for name in PARTS:
        if args.only in (None, name):
            print(f"\n{name}\n")
            parts[name]()


if __name__ == "__main__":
    main()
