"""From a table to a fitted pipeline and its error on rows that it has not seen."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
from sklearn.pipeline import Pipeline

from pursuit._user_errors import CommandError, UsageError, shown
from pursuit.tables import (
    Field,
    Kind,
    Notation,
    Rows,
    Scan,
    Source,
    Split,
    drawn_rows,
    fingerprint,
    smallest,
)
from pursuit.tables.columns import MAX_WORDS
from pursuit.tables.sources import BLOCK_ROWS

from ._columns import Columns
from ._measures import Measured, best_constant, measured
from ._pipelines import MODEL, Settings, new_pipeline, set_names
from ._rest import Rest
from ._talk import bar, in_shell, is_watched, told_warnings
from ._translations import in_command_words

__all__ = ["Data", "Trained", "ordered", "read", "targets", "train"]

BEYOND_MEMORY = "more do not fit into --max-memory"
# Number of rows that a memory must suffice for.
LEAST_ROWS = 50
_FLOAT, _OBJECT = 8, 32  # bytes


@dataclass(frozen=True, eq=False)
class Data:
    """Rows that were kept.

    Attributes
    ----------
    rows : Rows
    n_rows : int
        Number of rows with a target in the file.
    why_drawn : str
        Why not all of them were kept, if so.
    rest : Rest, optional
        The others, if the fit shall see them.
    """

    rows: Rows
    n_rows: int
    why_drawn: str
    rest: Rest | None = None

    @property
    def n_rest(self) -> int:
        """Number of rows that the fit shall see beside those that were kept."""
        return 0 if self.rest is None else self.n_rows - len(self.rows)


@dataclass(frozen=True, eq=False)
class Trained:
    """A fitted pipeline, and what is known about it.

    Attributes
    ----------
    pipeline : Pipeline
    fields : tuple of Field
        Columns that it takes, in order.
    constant : tuple of str
        Columns that were left out since they are the same in all rows.
    split : Split
        Which rows were held out.
    fingerprint : str
        Tells the rows from others.
    n_fitted, n_held_out : int
        Numbers of rows that were fitted before the error was measured, and of those
        on which it was.
    measured : Measured, optional
        None if no rows were held out.
    why_not_measured : str
        Why none were, if so.
    is_refitted : bool
        Whether the pipeline was fitted to all rows afterwards.
    seconds : float
    """

    pipeline: Pipeline
    fields: tuple[Field, ...]
    constant: tuple[str, ...]
    split: Split
    fingerprint: str
    n_fitted: int
    n_held_out: int
    measured: Measured | None
    why_not_measured: str
    is_refitted: bool
    seconds: float


def read(
    source: Source,
    scan: Scan,
    columns: Columns,
    settings: Settings,
    *,
    notation: Notation,
    quiet: bool,
) -> Data:
    """Read the rows that have a target, as many as the memory holds."""
    room = _room(scan, columns, settings)
    asked = settings.max_rows
    is_asked = asked is not None and asked <= room
    why = "as asked for" if is_asked else BEYOND_MEMORY
    with bar(scan.n_rows, "reading", quiet=quiet, unit="row") as advance:
        rows, n = drawn_rows(
            source,
            columns.fields,
            max_rows=asked if is_asked else room,
            notation=notation,
            seed=settings.random_state,
            keeps=lambda rows: rows.is_known(columns.target.name),
            seen=lambda block: advance(len(block)),
        )
    rest = None
    if asked is None:
        seed = settings.random_state
        fields = tuple(columns.fields)
        rest = Rest(source, fields, columns.target.name, notation, seed)
    return Data(rows, n, why, rest)


def _room(scan: Scan, columns: Columns, settings: Settings) -> int:
    """Return the number of rows that fit into the memory."""
    n_outputs = table = 0
    for field in columns.features:
        column = scan.columns[field.name]
        is_words = field.kind is Kind.CATEGORY
        n_outputs += min(column.n_distinct, MAX_WORDS) if is_words else 1
        n_outputs += bool(column.n_missing)
        table += _FLOAT
    has_words = any(field.kind is Kind.CATEGORY for field in columns.features)
    # Rows are held twice while they are drawn, and prepared rows while they are scaled.
    row = (
        2 * table
        + 2 * _FLOAT * n_outputs
        + (_OBJECT * len(columns.features) * has_words)
    )
    n = int(settings.memory_of_rows // row)
    if n < min(LEAST_ROWS, scan.n_rows):
        raise CommandError(_too_little(settings))
    return n


def _too_little(settings: Settings) -> str:
    amount = "the free memory" if settings.max_memory is None else settings.max_memory
    return f"--max-memory: {amount} is too little to fit {LEAST_ROWS} rows"


class _MemoryLimitError(Exception):
    """The fit needs more than it may use."""


def train(
    data: Data, columns: Columns, settings: Settings, *, quiet: bool
) -> tuple[Trained, Data]:
    """Fit a pipeline to a part of the rows, and measure it on the others.

    Returns
    -------
    trained : Trained
    data : Data
        The rows, fewer than given if the fit would need more memory than it may use.
    """
    names = [field.name for field in columns.fields]
    while True:
        try:
            return _trained(data, columns, settings, quiet), data
        except _MemoryLimitError as error:
            if data.n_rest:
                data = replace(data, rest=None)  # what was drawn must do
                continue
            n = len(data.rows) // 2
            if n < LEAST_ROWS:
                raise CommandError(f"{_too_little(settings)}: {error}") from None
            fewer = smallest(data.rows, names, n, settings.random_state)
            data = replace(data, rows=fewer, why_drawn=BEYOND_MEMORY)


def _trained(data: Data, columns: Columns, settings: Settings, quiet: bool) -> Trained:
    start = perf_counter()
    fields, constant = _varying(data.rows, columns.features)
    if not fields:
        raise CommandError("no column varies: nothing can be learned")
    rows, digests = ordered(data.rows, fields, columns.target)
    y, weight = targets(rows, columns.target, columns.is_class), _weights(rows, columns)
    if not weight.any():
        assert columns.weights is not None
        raise CommandError(
            f"--weights {in_shell([columns.weights.name])}: all weights are 0"
        )
    split, is_out = _split(rows, fields, y, columns, settings)
    fitted = ~is_out
    _check_target(y[fitted], columns)
    X = rows.array([f.name for f in fields])
    pipeline = new_pipeline(
        fields,
        columns.is_class,
        settings,
        has_rare_words=any(len(w) > MAX_WORDS for w in rows.words.values()),
        is_verbose=is_watched(quiet),
    )
    fit = _Fit(pipeline, data, fields, columns, quiet)
    fit(X[fitted], y[fitted], weight[fitted])
    error = None
    if is_out.any():
        answer = best_constant(y[fitted], weight[fitted], columns.is_class)
        predicted = _predicted(pipeline, X[is_out], quiet)
        error = measured(predicted, y[is_out], weight[is_out], answer)
    is_refitted = settings.refit and error is not None
    if is_refitted:
        fit(X, y, weight)
    set_names(pipeline, fields)
    pipeline[-1].set_params(verbose=0)
    return Trained(
        pipeline,
        fields,
        constant,
        split,
        fingerprint(digests),
        int(fitted.sum()) + data.n_rest,
        int(is_out.sum()),
        error,
        _why_not_measured(settings, len(y)),
        is_refitted,
        perf_counter() - start,
    )


def ordered(
    rows: Rows, fields: Sequence[Field], target: Field
) -> tuple[Rows, np.ndarray]:
    """Return the rows in the order of their digests, and these.

    A model then does not depend on the order of the rows in a file, not even in the
    last digit.
    """
    digests = rows.digests([*(f.name for f in fields), target.name])
    order = np.lexsort([*rows.columns.values(), digests])
    return rows[order], digests[order]


def targets(rows: Rows, target: Field, is_class: bool) -> np.ndarray:
    """Return the targets: words, whole numbers for other classes, or numbers."""
    if target.kind is Kind.CATEGORY:
        return rows.texts(target.name).astype(str)
    values = rows.columns[target.name]
    return values.astype(np.int64) if is_class else values


def _weights(rows: Rows, columns: Columns) -> np.ndarray:
    if columns.weights is None:
        return np.ones(len(rows))
    return rows.columns[columns.weights.name]


def _split(
    rows: Rows,
    fields: Sequence[Field],
    y: np.ndarray,
    columns: Columns,
    settings: Settings,
) -> tuple[Split, np.ndarray]:
    """Return the split, and which rows it holds out."""
    seed = settings.random_state
    names = [*(f.name for f in fields), columns.target.name]
    digests = rows.numbered_digests(names, seed)
    classes = y if columns.is_class else None
    split = Split.of(seed, digests, settings.test_size, classes)
    return split, split.holds_out(digests, classes)


def _why_not_measured(settings: Settings, n_rows: int) -> str:
    if not settings.test_size:
        return "--test-size 0 holds out no rows"
    return f"of {n_rows} rows, none can be held out"


def _check_target(y: np.ndarray, columns: Columns) -> None:
    if len(y) < 2 or len(np.unique(y)) < 2:
        raise CommandError(
            f"the target {shown(columns.target.name)} is the same in the {len(y)} rows "
            "that are left to fit: more rows are needed"
        )


def _varying(
    rows: Rows, fields: Sequence[Field]
) -> tuple[tuple[Field, ...], tuple[str, ...]]:
    """Return the columns that are not the same everywhere, and names of the others."""
    same = []
    for field in fields:
        values = rows.columns[field.name]
        first = values[0]
        equal = np.isnan(values) if np.isnan(first) else values == first
        if equal.all():
            same.append(field.name)
    return tuple(f for f in fields if f.name not in same), tuple(same)


@dataclass(frozen=True, eq=False)
class _Fit:
    """Fits a pipeline to rows in memory, and to the rest of the table."""

    pipeline: Pipeline
    data: Data
    fields: tuple[Field, ...]
    columns: Columns
    quiet: bool

    def __call__(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """Fit the pipeline; tell errors in the words of the command."""
        with told_warnings(quiet=self.quiet):
            try:
                if self.data.n_rest:
                    self._fit_all(X, y, weight)
                else:
                    self._fit_some(X, y, weight)
            except ValueError as error:
                if str(error).startswith("max_memory allows"):
                    raise _MemoryLimitError(in_command_words(error)) from None
                kind = UsageError if str(error).startswith("loss=") else CommandError
                raise kind(in_command_words(error)) from error

    def _fit_some(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        weights = {} if (weight == 1).all() else {f"{MODEL}__sample_weight": weight}
        self.pipeline.fit(X, y, **weights)

    def _fit_all(self, X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> None:
        """Fit the preparation to the rows in memory, and the model to all."""
        prepare = self.pipeline[:-1].fit(X)
        names = [field.name for field in self.fields]
        target, is_class = self.columns.target, self.columns.is_class

        def blocks() -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
            for start in range(0, len(X), BLOCK_ROWS):
                some = slice(start, start + BLOCK_ROWS)
                yield prepare.transform(X[some]), y[some], weight[some]
            assert self.data.rest is not None
            for rows in self.data.rest.blocks(self.data.rows):
                Z = prepare.transform(rows.array(names))
                yield Z, targets(rows, target, is_class), _weights(rows, self.columns)

        self.pipeline[-1].fit_batches(blocks)


def _predicted(pipeline: Pipeline, X: np.ndarray, quiet: bool) -> np.ndarray:
    with told_warnings(quiet=quiet):
        return np.asarray(pipeline.predict(X))
