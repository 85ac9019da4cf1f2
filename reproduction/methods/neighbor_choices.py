"""Choose numbers of neighbors, penalties and widths on validation rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from pursuit._limits import Limits, budget
from pursuit._threads import allowed_threads
from pursuit.neighbors.leave_one_out import Table, mistakes
from pursuit.neighbors.queries import Blocks, Reference
from pursuit.neighbors.search import ClassSearch
from pursuit.neighbors.subspaces import Hulls, Hyperplanes

from . import machines

Labeled = tuple[np.ndarray, np.ndarray]
Params = dict[str, Any]

# Largest numbers of neighbors compared: by KNN, and by the other methods.
MOST_VOTES, MOST = 10, 80


# -- mistakes ------------------------------------------------------------------------


def subspace_mistakes(
    train: Labeled,
    queries: Labeled,
    shape: Hyperplanes | Hulls,
    penalties: np.ndarray,
    most: int,
) -> Table:
    """Return the errors on queries for every K up to ``most`` and some penalties.

    The cost is one search and, for each penalty, one factor per neighborhood.
    """
    (X, y), (Z, labels) = train, queries
    classes, codes = np.unique(y, return_inverse=True)
    search = ClassSearch(X, codes, len(classes))
    blocks = Blocks(Limits(budget(None), allowed_threads()))
    numbers = np.arange(1, min(most, search.largest) + 1)
    missed = mistakes(
        shape,
        Reference(X, len(classes), search),
        Z,
        np.searchsorted(classes, labels),
        lambda rows, k: search.find(Z[rows], k),
        penalties,
        numbers,
        blocks,
    )
    return missed.table()


def hyperplane_mistakes(
    train: Labeled, queries: Labeled, penalties: tuple[float, ...], most: int
) -> Table:
    """Return the errors of HKNN."""
    return subspace_mistakes(
        train, queries, Hyperplanes(0.0), np.array(penalties, dtype=np.float64), most
    )


def hull_mistakes(train: Labeled, queries: Labeled, most: int) -> Table:
    """Return the errors of CKNN."""
    return subspace_mistakes(train, queries, Hulls(), np.zeros(1), most)


def neighbor_mistakes(train: Labeled, queries: Labeled, most: int) -> np.ndarray:
    """Return the number of mistakes of KNN for every K up to ``most``.

    Ties go to the lowest label, as in scikit-learn.
    """
    (X, y), (Z, labels) = train, queries
    classes, codes = np.unique(y, return_inverse=True)
    finder = NearestNeighbors(n_neighbors=most, algorithm="brute").fit(X)
    nearest = codes[finder.kneighbors(Z, return_distance=False)]
    votes = np.eye(len(classes), dtype=np.int32)[nearest].cumsum(axis=1)
    chosen = classes[votes.argmax(axis=2)]
    return (chosen != labels[:, None]).sum(axis=0)


# -- choices -------------------------------------------------------------------------


@dataclass(frozen=True)
class Choice:
    """Parameters chosen on validation rows.

    Attributes
    ----------
    params : dict
        Parameters with the fewest mistakes.
    errors : int
        Number of their mistakes.
    published_errors : int or None
        Number of mistakes of the published parameters, if these were compared.
    table : list
        Mistakes of all parameters compared.
    """

    params: Params
    errors: int
    published_errors: int | None
    table: list[Any]


def _at(wrong: np.ndarray, K: int) -> int | None:
    return int(wrong[K - 1]) if len(wrong) >= K else None


def choose_neighbors(train: Labeled, valid: Labeled, published: Params) -> Choice:
    """Choose the K of KNN; ties go to the smallest."""
    wrong = neighbor_mistakes(train, valid, MOST_VOTES)
    best = int(wrong.argmin())
    at_published = _at(wrong, published["K"])
    return Choice({"K": best + 1}, int(wrong[best]), at_published, wrong.tolist())


def choose_hyperplanes(
    train: Labeled, valid: Labeled, published: Params, penalties: Sequence[float]
) -> Choice:
    """Choose K and λ; ties go to the smallest K, then to the largest λ."""
    table = hyperplane_mistakes(train, valid, tuple(penalties), MOST)
    wrong = np.rint(table.errors * table.n_samples).astype(int)
    j, k = table.best()
    params = {"K": int(table.n_neighbors[k]), "penalty": float(penalties[j])}
    row = list(penalties).index(published["penalty"])
    at_published = _at(wrong[row], published["K"])
    return Choice(params, int(wrong[j, k]), at_published, wrong.tolist())


def choose_hulls(train: Labeled, valid: Labeled, published: Params) -> Choice:
    """Choose the K of CKNN; ties go to the smallest."""
    table = hull_mistakes(train, valid, MOST)
    wrong = np.rint(table.errors[0] * table.n_samples).astype(int)
    best = int(wrong.argmin())
    at_published = _at(wrong, published["K"])
    return Choice({"K": best + 1}, int(wrong[best]), at_published, wrong.tolist())


def choose_machine(
    train: Labeled,
    valid: Labeled,
    published: Params,
    sigmas: Sequence[float],
    Cs: Sequence[float],
    n_rows: int,
) -> Choice:
    """Choose σ and C with machines fitted to the first ``n_rows`` training rows."""
    X, y = train
    trials = machines.choose((X[:n_rows], y[:n_rows]), valid, sigmas, Cs)
    errors = {(t["sigma"], t["C"]): t["errors"] for t in trials}
    params = {"sigma": trials[0]["sigma"], "C": trials[0]["C"]}
    at_published = errors.get((published["sigma"], published["C"]))
    return Choice(
        params, errors[trials[0]["sigma"], trials[0]["C"]], at_published, trials
    )


CHOICES: dict[str, Callable[..., Choice]] = {
    "KNN": choose_neighbors,
    "SVM": choose_machine,
    "HKNN": choose_hyperplanes,
    "CKNN": choose_hulls,
}
