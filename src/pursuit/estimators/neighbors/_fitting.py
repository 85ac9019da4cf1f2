"""Fit a classifier by local subspaces: from checked settings to a frozen model."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from pursuit.neighbors.leave_one_out import Table, mistakes, temperature
from pursuit.neighbors.models import NearestSubspace
from pursuit.neighbors.neighborhoods import Find, GraphColumns, LeftOut, Neighborhoods
from pursuit.neighbors.queries import Blocks, Reference
from pursuit.neighbors.subspaces import class_variance

from ._equal_rows import rows_left_out_together
from ._reference import checked_graph
from ._settings import Settings


@dataclass(frozen=True)
class TrainingRows:
    """Training data of a classifier.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    codes : ndarray of shape (n,)
        Classes.
    kept : ndarray of int
        Rows that are reference points.
    graph : sparse matrix of shape (n, n), or None
        Distances, used instead of a search.
    """

    X: np.ndarray
    codes: np.ndarray
    kept: np.ndarray
    graph: Any

    def columns(self, n_classes: int) -> GraphColumns:
        """Return what the columns of graphs stand for."""
        position = np.full(len(self.X), -1)
        position[self.kept] = np.arange(len(self.kept))
        return GraphColumns(self.codes, position, n_classes)


@dataclass(frozen=True)
class Fitted:
    """A fitted classifier.

    Attributes
    ----------
    model : NearestSubspace
    columns : GraphColumns
        The training rows, as columns of graphs.
    penalty : float
    table : Table or None
        Leave-one-out errors, if they chose something.
    temperature : float or None
        None if no rows were left out.
    """

    model: NearestSubspace
    columns: GraphColumns
    penalty: float
    table: Table | None
    temperature: float | None

    def finder(self, X: np.ndarray, graph: Any, n_threads: int) -> Find:
        """Return the finder of neighborhoods of rows of X, by search or by graph."""
        if graph is None:
            return self.model.reference.finder(X, n_threads)
        csr = checked_graph(graph, len(X), len(self.columns.position))
        return lambda rows, k: self.columns.find(csr[rows], k)


def fitted(
    settings: Settings, reference: Reference, training: TrainingRows, blocks: Blocks
) -> Fitted:
    """Return the classifier, with what is "auto" chosen by leave-one-out."""
    columns = training.columns(reference.n_classes)
    codes = training.codes[training.kept]
    variance = class_variance(reference.points, codes, reference.n_classes)
    penalties = settings.penalty.candidates(variance)
    numbers = settings.numbers(reference.search.largest, "the rows of any class")
    penalty, table = float(penalties[0]), None
    shape, unit = settings.shape.with_penalty(penalty), float(np.sqrt(variance))
    model = NearestSubspace(reference, shape, int(numbers[-1]), unit)
    if settings.loo_samples == 0:
        return Fitted(model, columns, penalty, None, None)
    rows = settings.rows_to_leave_out(len(training.X))
    X, codes = training.X[rows], training.codes[rows]
    find = _leave_out(rows, reference, training, columns, blocks)
    find = _found_once(find, X, reference, model.n_neighbors, blocks)
    if settings.is_auto:
        missed = mistakes(
            settings.shape, reference, X, codes, find, penalties, numbers, blocks
        )
        table = missed.table()
        j, k = missed.choice(settings.usual_number, settings.penalty.usual(variance))
        penalty = float(penalties[j])
        shape = settings.shape.with_penalty(penalty)
        model = replace(model, shape=shape, n_neighbors=int(numbers[k]))
    scores = model.scores(X, find, blocks)
    t = temperature(scores.values, codes, scores.shares)
    return Fitted(model, columns, penalty, table, t)


def _leave_out(
    rows: np.ndarray,
    reference: Reference,
    training: TrainingRows,
    columns: GraphColumns,
    blocks: Blocks,
) -> Find:
    """Return the finder for some training rows, each left out with rows equal to it."""
    sets = rows_left_out_together(training.X, training.codes, training.kept)
    left_out = LeftOut(sets[training.kept], sets[rows])
    if training.graph is None:
        n_threads = blocks.limits.n_threads
        return reference.finder(training.X[rows], n_threads, left_out)
    n = len(training.X)
    csr = checked_graph(training.graph, n, n)[rows]
    return lambda part, k: columns.find(csr[part], k, left_out[part])


def _found_once(
    find: Find, X: np.ndarray, reference: Reference, n_neighbors: int, blocks: Blocks
) -> Find:
    """Return a finder that looks up neighborhoods that were found once.

    If these take more than half of the memory, the finder is returned as it is.
    """
    each = 8 * reference.n_classes * (n_neighbors + 5)
    if len(X) * each > blocks.limits.memory // 2:
        return find
    queries = blocks.of(reference, X, find, n_neighbors)
    hoods = Neighborhoods.concatenated([query.hoods for _, query in queries])
    return lambda rows, k: hoods[rows].first(k)
