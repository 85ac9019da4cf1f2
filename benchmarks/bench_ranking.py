"""Rankers on tables whose targets become grades, in groups of twenty rows.

    python benchmarks/bench_ranking.py [--groups 50] [--seeds 3] [--sets tables/stock]

Rows of a regression table are dealt at random into groups of 20, like the answers to
queries: ``--groups`` of them to learn from, and up to 50 others to judge. The target
becomes a grade from 0 to 4 by the quintiles of the training rows. In "one judge" that
is all; in "own judges" each group first gets a number of its own added to its targets,
normal with their standard deviation, as if the judge of each query were stern or mild:
grades of different groups then say little of each other, the order within a group all
that there is to learn. Features are standardized by the training rows. NDCG has the
grades as gains and looks at the first ten places; the pairs are those of different
grades in a test group, with the grades of "one judge". All methods are as they come;
the linear ranking SVM is a LinearSVC on the differences of all pairs of a training
group, whose C five folds of groups choose. Protocol, tables and methods were fixed
before the first run. Tables of less than 2000 rows give half of their groups to learn.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.model_selection import GroupKFold
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from pursuit import KMPRanker, KMPRegressor, datasets
from pursuit.ranking import ndcg, pairwise_accuracy

TABLES = (
    "ailerons",
    "airfoil",
    "bike",
    "concrete",
    "elevators",
    "house8L",
    "kin8nm",
    "parkinsons",
    "pol",
    "puma8nh",
    "skillcraft",
    "stock",
)
SIZE, MOST_JUDGED, N_FOLDS = 20, 50, 5
C = (0.001, 0.01, 0.1, 1.0, 10.0)


class Case(NamedTuple):
    """Rows, grades and groups to learn from and to judge."""

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    groups_test: np.ndarray


def cases(
    X: np.ndarray, target: np.ndarray, n_groups: int, seed: int
) -> Iterator[tuple[str, Case]]:
    """Yield the two settings of a table."""
    rng = np.random.default_rng(seed)
    n_groups = min(n_groups, len(X) // (2 * SIZE))
    n_others = min(MOST_JUDGED, len(X) // SIZE - n_groups)
    groups = np.repeat(np.arange(n_groups + n_others), SIZE)
    order = rng.permutation(len(X))[: len(groups)]
    train, test = order[: n_groups * SIZE], order[n_groups * SIZE :]
    groups, groups_test = groups[: len(train)], groups[len(train) :]
    scaler = StandardScaler().fit(X[train])
    rows, others = scaler.transform(X[train]), scaler.transform(X[test])
    z = target[train]
    limits = np.quantile(z, [0.2, 0.4, 0.6, 0.8])
    y_test = np.digitize(target[test], limits)
    moods = rng.normal(scale=z.std(), size=n_groups)
    for setting, values in (("one judge", z), ("own judges", z + moods[groups])):
        y = np.digitize(values, np.quantile(values, [0.2, 0.4, 0.6, 0.8]))
        yield setting, Case(rows, y, groups, others, y_test, groups_test)


class RankSVM:
    """A linear SVM on the differences of pairs."""

    def fit(self, X: np.ndarray, y: np.ndarray, groups: np.ndarray) -> RankSVM:
        """Choose C by folds of groups, then fit all pairs."""
        folds = list(GroupKFold(N_FOLDS).split(X, y, groups))
        scores = [
            np.mean([self._score(c, X, y, groups, *fold) for fold in folds]) for c in C
        ]
        self.coef = self._coef(C[int(np.argmax(scores))], X, y, groups)
        return self

    def _score(self, c: float, X: Any, y: Any, groups: Any, a: Any, b: Any) -> float:
        coef = self._coef(c, X[a], y[a], groups[a])
        return pairwise_accuracy(y[b], X[b] @ coef, groups[b])

    def _coef(self, c: float, X: Any, y: Any, groups: Any) -> np.ndarray:
        i, j = np.triu_indices(len(X), 1)
        i, j = (p[(groups[i] == groups[j]) & (y[i] != y[j])] for p in (i, j))
        sign = np.sign(y[i] - y[j])
        # Both classes occur: every other pair is turned around.
        turn = np.where(np.arange(len(i)) % 2, -1, 1)
        D = (X[i] - X[j]) * (sign * turn)[:, None]
        svm = LinearSVC(C=c, fit_intercept=False, max_iter=5000).fit(D, turn)
        return svm.coef_[0]

    def predict(self, X: np.ndarray) -> np.ndarray:
        """Return the scores."""
        return X @ self.coef


def fit_lightgbm(case: Case) -> Any:
    """Return LightGBM's ranker (lambdarank); its groups are sizes of runs of rows."""
    from lightgbm import LGBMRanker

    sizes = np.bincount(case.groups)
    model = LGBMRanker(random_state=0, n_jobs=1, verbose=-1)
    return model.fit(case.X, case.y, group=sizes)


METHODS: dict[str, Callable[[Case], Any]] = {
    "KMPRanker": lambda c: KMPRanker(random_state=0).fit(c.X, c.y, groups=c.groups),
    "KMPRanker(loss='logistic')": lambda c: KMPRanker(
        loss="logistic", random_state=0
    ).fit(c.X, c.y, groups=c.groups),
    "KMPRanker(loss='plackett-luce')": lambda c: KMPRanker(
        loss="plackett-luce", random_state=0
    ).fit(c.X, c.y, groups=c.groups),
    "KMPRegressor on the grades": lambda c: KMPRegressor(random_state=0).fit(c.X, c.y),
    "LGBMRanker": fit_lightgbm,
    "linear ranking SVM": lambda c: RankSVM().fit(c.X, c.y, c.groups),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--groups", type=int, default=50)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", default="")
    parser.add_argument("--quick", action="store_true", help="two methods")
    parser.add_argument("--each", action="store_true", help="each table as it is done")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    names = options.sets.split(",") if options.sets else [f"tables/{t}" for t in TABLES]
    methods = dict(list(METHODS.items())[:: 5 if options.quick else 1])
    found: dict[tuple[str, str], list[tuple[float, ...]]] = {}
    for name in names:
        data = datasets.load(name)
        X, target = np.asarray(data.data, float), np.asarray(data.target, float)
        for seed in range(options.seeds):
            for setting, case in cases(X, target, options.groups, seed):
                for method, fit in methods.items():
                    result = judged(fit, case)
                    found.setdefault((setting, method), []).append(result)
                    if options.each:
                        print(name, seed, setting, method, *result, flush=True)
    print(
        f"{len(names)} tables, {options.seeds} seeds, "
        f"{options.groups} groups of {SIZE} rows to learn from"
    )
    columns = ("NDCG@10", "pairs", "best", "points", "s")
    print(f"{'':12}{'':32}" + "".join(f"{column:>10}" for column in columns))
    for (setting, method), results in found.items():
        ours = [r[1] for r in results]
        others = np.array([[r[1] for r in found[setting, m]] for m in methods])
        best = np.mean(np.array(ours) >= others.max(axis=0))
        gain, pairs, points, seconds = np.mean(results, axis=0)
        print(
            f"{setting:12}{method:32}{gain:10.4f}{pairs:10.4f}{best:10.0%}"
            f"{points:10.0f}{seconds:10.1f}"
        )


def judged(fit: Callable[[Case], Any], case: Case) -> tuple[float, ...]:
    """Return NDCG@10, pairwise accuracy, points kept and seconds of a method."""
    start = time.process_time()
    model = fit(case)
    taken = time.process_time() - start
    scores = model.predict(case.X_test)
    test = case.y_test, scores, case.groups_test
    points = getattr(model, "n_support_", 0)
    return ndcg(*test, k=10), pairwise_accuracy(*test), points, taken


if __name__ == "__main__":
    main()
