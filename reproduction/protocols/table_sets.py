"""Data sets on which defaults are judged, in raw units, with fixed splits."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import geometric_mean
from typing import Any

import numpy as np

from reproduction.protocols import survey_sets
from reproduction.protocols.survey_sets import SHIPPED, Problem

# The names, in their order: every second table is of the half on which rules of the
# library were chosen, whichever files are there.
TABLES = tuple(
    f"tables/{name}"
    for name in (
        *("ailerons", "airfoil", "anneal", "authorship", "autompg", "balance", "bike"),
        *("car", "cmc", "colic", "concrete", "ecoli", "elevators", "energy", "forest"),
        *("fried", "glass", "haberman", "heart", "hepatitis", "house8L"),
        *("hypothyroid", "keggdirected", "kin40k", "kin8nm", "krkp", "mv", "nursery"),
        *("pageblocks", "parkinsons", "pol", "puma8nh", "sick", "skillcraft", "sml"),
        *("soybean", "stock", "tumor", "vote", "waveform5000", "yacht"),
    )
)
SETS = (*TABLES, *survey_sets.SETS)
GROUPS: dict[str, tuple[str, ...]] = {
    "all sets": SETS,
    "tables on which rules were chosen": TABLES[::2],
    "other tables": TABLES[1::2],
    "sets of the survey": tuple(survey_sets.SETS),
}
ALL, *PARTS = GROUPS

# The sets that have more than so many rows.
MANY = 11_000
LARGE_TABLES = tuple(
    f"tables/{name}"
    for name in (
        *("ailerons", "bike", "elevators", "fried", "house8L", "keggdirected"),
        *("kin40k", "mv", "nursery", "pol"),
    )
)
LARGE = (*LARGE_TABLES, "a9a", "adult", "covtype", "mnist", "california")

TASKS = ("two classes", "several classes", "regression")


@dataclass(frozen=True)
class Sizes:
    """Maximum numbers of training and test rows, and maximum share of the former."""

    train: int
    test: int
    share: float = 0.7


def split(n_rows: int, seed: int, sizes: Sizes) -> tuple[np.ndarray, np.ndarray]:
    """Return the training and test rows: the first of a random order, and the next."""
    rows = np.random.default_rng(seed).permutation(n_rows)
    n_train = min(sizes.train, int(sizes.share * n_rows))
    return rows[:n_train], rows[n_train : n_train + sizes.test]


def problem(name: str, seed: int, sizes: Sizes) -> Problem:
    """Return training and test rows of a set, in its own units."""
    X, y = complete_rows(name)
    parts = (part for rows in split(len(y), seed, sizes) for part in (X[rows], y[rows]))
    A, target, B, target_test = parts
    return Problem(survey_sets.dense(A), target, survey_sets.dense(B), target_test)


# The tasks of a set run one after the other, and some files take seconds to read.
@lru_cache(maxsize=1)
def complete_rows(name: str) -> tuple[Any, np.ndarray]:
    """Return inputs and targets, without incomplete rows."""
    plan = survey_sets.SETS.get(name, survey_sets.Protocol())
    X, y, _ = survey_sets.rows_of(name, plan)
    return X, y


def needs(name: str) -> tuple[str, ...]:
    """Return which files a set is read from."""
    return () if name in SHIPPED else (name,)


def task_of(name: str) -> str:
    """Return "two classes", "several classes" or "regression"."""
    y = complete_rows(name)[1]
    if y.dtype.kind == "f":
        return TASKS[2]
    return TASKS[0] if len(np.unique(y)) == 2 else TASKS[1]


def error(y: np.ndarray, prediction: np.ndarray) -> float:
    """Return the test error, which ratios can be taken of.

    It is (mistakes + ½)/n for classes, never 0, and else the mean squared error
    relative to the variance of the test targets.
    """
    if y.dtype.kind != "f":
        return float((np.sum(prediction != y) + 0.5) / len(y))
    return float(np.mean((prediction - y) ** 2) / np.var(y))


def mean(splits: Sequence[Mapping[str, Any]], field: str) -> float:
    """Return the mean of a field over the splits of one set."""
    return float(np.mean([split[field] for split in splits]))


def mean_ratio(pairs: Iterable[tuple[float, float]]) -> float | None:
    """Return the geometric mean of ratios, None if there are none."""
    ratios = [one / other for one, other in pairs]
    return geometric_mean(ratios) if ratios else None
