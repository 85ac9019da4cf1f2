"""Compare untuned pursuit estimators with tuned support vector machines.

    python benchmarks/bench_defaults.py --sets sonar,pima --splits 3 --cache DIR
    python benchmarks/bench_defaults.py --methods none   # only the baseline

Every method sees the same standardized training rows and is judged on the same test
rows. The baseline is an SVC (or SVR) with a Gaussian kernel; 5-fold cross-validation
chooses its C, width (and epsilon). Its results are kept as JSON files, so that
candidates can be compared again and again without fitting it anew. A candidate is
fitted once, as it comes. The error is the test error rate, for regression the test
mean squared error over the variance of the test targets. Every method has one thread.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from scipy.stats import gmean
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    StratifiedKFold,
)
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

sys.path.insert(0, str(Path(__file__).parents[1]))

from reproduction.protocols import survey_sets

C = [0.1, 1.0, 10.0, 100.0, 1000.0]
WIDTHS = [1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0]  # times 1 / median squared distance
EPSILONS = [0.01, 0.1, 0.3]  # times the standard deviation of y
N_FOLDS = 5


@dataclass(frozen=True)
class Plan(survey_sets.Protocol):
    """How a data set becomes training and test rows, and what is searched."""

    max_splits: int | None = None
    largest_c: float = max(C)

    @property
    def regression(self) -> bool:
        return not self.is_class


@dataclass(frozen=True)
class Problem:
    """One split of one data set."""

    name: str
    split: int
    plan: Plan
    X_train: Any
    y_train: np.ndarray
    X_test: Any
    y_test: np.ndarray


@dataclass(frozen=True)
class Result:
    """One method on one problem."""

    error: float
    n_test: int
    n_support: int
    fit_seconds: float
    search_seconds: float
    predict_seconds: float


# Smallest first, so that a first impression comes soon.
PLANS = {
    "thyroid": Plan(),
    "sonar": Plan(),
    "titanic": Plan(),
    "breast_cancer": Plan(),
    "heart": Plan(),
    "ionosphere": Plan(),
    "ripley": Plan(),
    "wisconsin": Plan(),
    "banana": Plan(),
    "pima": Plan(),
    "waveform": Plan(),
    "mushrooms": Plan(n_train=300),
    "boston": Plan(is_class=False),
    "mfeat": Plan(views=("fac", "kar")),
    "a9a": Plan(),
    "adult": Plan(),
    "covtype": Plan(),
    # C = 10 is chosen on all three splits; C = 1000 would add some 20 minutes.
    "california": Plan(is_class=False, largest_c=100.0),
    "mnist": Plan(max_splits=1, scale=255.0),
    "usps": Plan(n_train=1500, max_splits=1, scale=1.0),
}


# The problems


def problems(name: str, n_splits: int) -> Iterator[Problem]:
    """The first splits of a set: published if it has several, else seeded."""
    plan = PLANS[name]
    _, _, published = survey_sets.rows_of(name, plan)
    for k in range(min(n_splits, n_published_splits(published, plan) or n_splits)):
        part = survey_sets.problem(name, k, plan)
        yield Problem(name, k, plan, part.X, part.y, part.X_test, part.y_test)


def n_published_splits(published: list, plan: Plan) -> int | None:
    """How many different splits there are; None: as many as one asks for."""
    if plan.max_splits is not None:
        return plan.max_splits
    if len(published) == 1 and len(published[0][0]) <= plan.n_train:
        return 1
    return len(published) if len(published) > 1 else None


# The baseline


# Not `pursuit.kernels.median_gamma`, which takes a sample of many rows and may change:
# the baseline, whose results are kept, does not depend on the library.
def median_gamma(X: np.ndarray) -> float:
    """One over the median squared distance of the rows (of distinct rows, if 0)."""
    squares = pdist(X, "sqeuclidean")
    return 1.0 / (np.median(squares) or np.median(squares[squares > 0]))


def grid(plan: Plan) -> dict[str, list[float]]:
    """What is searched; the width as a factor of the median's."""
    values = {"C": [c for c in C if c <= plan.largest_c], "gamma": WIDTHS}
    return values | {"epsilon": EPSILONS} if plan.regression else values


def search(problem: Problem) -> GridSearchCV:
    """The tuned support vector machine, not yet fitted."""
    values = grid(problem.plan)
    width = median_gamma(problem.X_train)
    values["gamma"] = [factor * width for factor in values["gamma"]]
    if problem.plan.regression:
        folds = KFold(N_FOLDS, shuffle=True, random_state=0)
        machine, scoring = SVR(cache_size=500), "neg_mean_squared_error"
    else:
        folds = StratifiedKFold(N_FOLDS, shuffle=True, random_state=0)
        machine, scoring = SVC(cache_size=500), "accuracy"
    return GridSearchCV(machine, values, scoring=scoring, cv=folds, n_jobs=1)


def baseline(problem: Problem, cache: Path | None) -> Result:
    """The tuned machine's result, from the cache where it is known."""
    path = cache and cache / f"{problem.name}-{problem.split}-{digest(problem)}.json"
    if path and path.is_file():
        return Result(**json.loads(path.read_text())["result"])
    model = search(problem)
    result = run(model, problem)
    result = replace(result, fit_seconds=model.refit_time_)
    if path:
        record = {
            "set": problem.name,
            "split": problem.split,
            "best": model.best_params_,
        }
        store(path, record | {"result": asdict(result), "grid": model.param_grid})
    return result


def digest(problem: Problem) -> str:
    """A short name of the rows, the scaling and the grid, which decide the result."""
    settings = json.dumps([grid(problem.plan), N_FOLDS])
    state = hashlib.sha256(settings.encode())
    for part in (problem.X_train, problem.y_train, problem.X_test, problem.y_test):
        state.update(str(part.shape).encode())
        state.update(np.round(part, 6).tobytes())
    return state.hexdigest()[:12]


def store(path: Path, content: dict) -> None:
    """Write all or nothing: an interrupted run must not leave half a file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(json.dumps(content, indent=1))
    draft.replace(path)


# The candidates


def kmp(**params: Any) -> Callable[[bool], Any]:
    """A pursuit estimator with the given parameters, made when it is needed."""

    def make(regression: bool) -> Any:
        import pursuit

        name = "KMPRegressor" if regression else "KMPClassifier"
        return getattr(pursuit, name)(**params)

    return make


CANDIDATES: dict[str, Callable[[bool], Any]] = {
    "default": kmp(),
    "rbf": kmp(kernel="rbf"),
    "untuned_svm": lambda regression: SVR() if regression else SVC(),
}


def run(model: Any, problem: Problem) -> Result:
    """Fit, predict and count, on one thread: a machine and its search use no more."""
    with threadpool_limits(1):
        start = time.perf_counter()
        model.fit(problem.X_train, problem.y_train)
        fitted = time.perf_counter()
        prediction = model.predict(problem.X_test)
        done = time.perf_counter()
    machine = getattr(model, "best_estimator_", model)
    return Result(
        error=error_of(prediction, problem),
        n_test=len(problem.y_test),
        n_support=int(np.sum(machine.n_support_)),
        fit_seconds=fitted - start,
        search_seconds=fitted - start,
        predict_seconds=done - fitted,
    )


def error_of(prediction: np.ndarray, problem: Problem) -> float:
    if problem.plan.regression:
        mse = np.mean((prediction - problem.y_test) ** 2)
        return float(mse / np.var(problem.y_test))
    return float(np.mean(prediction != problem.y_test))


# The table


@dataclass(frozen=True)
class Row:
    """A method against the baseline on one set, means over the splits."""

    name: str
    svm: Sequence[Result]
    kmp: Sequence[Result]

    def mean(self, field: str) -> tuple[float, float]:
        svm, kmp = ([getattr(r, field) for r in part] for part in (self.svm, self.kmp))
        return float(np.mean(svm)), float(np.mean(kmp))

    @property
    def is_smoothed(self) -> bool:
        return min(self.mean("error")) == 0

    @property
    def error_ratio(self) -> float:
        """Mean error over the baseline's; half an error more each if one is 0."""
        svm, kmp = self.mean("error")
        extra = 0.5 / sum(r.n_test for r in self.svm) if self.is_smoothed else 0.0
        return (kmp + extra) / (svm + extra)

    @property
    def support_ratio(self) -> float:
        """The baseline's support vectors over the method's."""
        svm, kmp = self.mean("n_support")
        return svm / max(kmp, 1.0)


HEADER = (
    f"{'set':14}{'error SVM':>10}{'error':>9}{'ratio':>9}{'SV SVM':>9}{'SV':>8}"
    f"{'SV ratio':>9}{'search s':>10}{'refit s':>9}{'fit s':>9}"
    f"{'pred SVM':>10}{'pred s':>9}"
)


def line(row: Row) -> str:
    svm_error, kmp_error = row.mean("error")
    svm_support, kmp_support = row.mean("n_support")
    svm_fit, kmp_fit = row.mean("fit_seconds")
    svm_predict, kmp_predict = row.mean("predict_seconds")
    mark = "*" if row.is_smoothed else " "
    return (
        f"{row.name:14}{100 * svm_error:10.2f}{100 * kmp_error:9.2f}"
        f"{row.error_ratio:8.3f}{mark}{svm_support:9.1f}{kmp_support:8.1f}"
        f"{row.support_ratio:9.2f}{row.mean('search_seconds')[0]:10.1f}"
        f"{svm_fit:9.3f}{kmp_fit:9.3f}{svm_predict:10.3f}{kmp_predict:9.3f}"
    )


def summary(rows: Sequence[Row]) -> str:
    kinds = {
        "classification": [r for r in rows if not PLANS[r.name].regression],
        "regression": [r for r in rows if PLANS[r.name].regression],
        "all": list(rows),
    }
    lines = [
        f"{kind} ({len(part)} sets): error ratio, geometric mean "
        f"{gmean([r.error_ratio for r in part]):.3f}; support vectors SVM / method, "
        f"geometric mean {gmean([r.support_ratio for r in part]):.2f}, "
        f"median {np.median([r.support_ratio for r in part]):.2f}"
        for kind, part in kinds.items()
        if part
    ]
    if any(row.is_smoothed for row in rows):
        lines.append("* an error of 0: half an error added to both counts")
    return "\n".join(lines)


def compare(
    names: Sequence[str], methods: Sequence[str], n_splits: int, cache: Path | None
) -> None:
    """Print each method's rows as they come, then each method's summary."""
    print("errors in %; regression: mse / variance in %")
    print(f"{'method':16}{HEADER}", flush=True)
    table: dict[str, list[Row]] = {method: [] for method in methods or ["(none)"]}
    for name in names:
        splits = list(problems(name, n_splits))
        svm = [baseline(problem, cache) for problem in splits]
        for method, rows in table.items():
            make = CANDIDATES.get(method)
            results = [run(make(p.plan.regression), p) for p in splits] if make else svm
            rows.append(Row(name, svm, results))
            print(f"{method:16}{line(rows[-1])}", flush=True)
    for method in methods:
        print(f"\n{method}\n{summary(table[method])}")


# The command line


def chosen(text: str, known: Sequence[str]) -> list[str]:
    names = [name for name in text.split(",") if name]
    unknown = [name for name in names if name not in known]
    if unknown:
        raise SystemExit(f"unknown: {', '.join(unknown)}; known: {', '.join(known)}")
    return names


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--sets", default=",".join(PLANS), help="a,b,c (all)")
    parser.add_argument("--splits", type=int, default=3, help="splits a set (3)")
    parser.add_argument("--cache", type=Path, help="folder of the baseline's results")
    parser.add_argument(
        "--methods",
        default="default",
        help=f"'none' or some of {', '.join(CANDIDATES)} (default)",
    )
    args = parser.parse_args(argv)
    if args.splits < 1:
        parser.error("--splits must be at least 1")
    names = chosen(args.sets, list(PLANS))
    methods = [] if args.methods == "none" else chosen(args.methods, list(CANDIDATES))
    compare(names, methods, args.splits, args.cache)


if __name__ == "__main__":
    main()
