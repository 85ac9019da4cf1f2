"""What a fit says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pursuit._user_errors import shown
from pursuit.tables import Field, Kind, Scan, Source

from ._columns import Columns
from ._measures import Measured
from ._talk import counted, percent, plain
from ._training import Data, Trained

__all__ = ["error_text", "kernel_text", "said"]

# Number of columns that are listed by their importance, and of names in a line.
N_IMPORTANT = 8
N_NAMES = 6

Lines = list[tuple[str, str]]


def said(
    source: Source,
    scan: Scan,
    columns: Columns,
    data: Data,
    trained: Trained,
    shares: Sequence[tuple[str, float]],
) -> Lines:
    """Return labelled lines about a table and the model that was fitted to it."""
    return [
        ("table", _sizes(source, scan)),
        *(("", text) for text in _kinds(scan, trained.fields)),
        *(("", text) for text in _missing(scan, trained.fields)),
        *(("left out", text) for text in _left_out(source, scan, columns, trained)),
        ("target", _target(scan, columns)),
        *(("rows", text) for text in _rows(scan, columns, data, trained)),
        ("model", _model(trained)),
        *_error(trained),
        *(("columns", text) for text in _importances(shares)),
        ("time", f"{trained.seconds:.1f} s"),
    ]


def error_text(measured: Measured) -> str:
    """Return what an error says, beside that of the constant."""
    if measured.is_class:
        return (
            f"{percent(measured.error)} of {_held_out(measured)} are "
            f"classified wrongly; {percent(measured.baseline)} if all are called "
            f"{shown(measured.constant)}"
        )
    return (
        f"{measured.error:.4g} (root mean square on {_held_out(measured)}); "
        f"{measured.baseline:.4g} if all are predicted as the mean, {measured.constant}"
    )


def _held_out(measured: Measured) -> str:
    return f"{counted(measured.n_rows, 'row')} held out"


def kernel_text(model: Any) -> str:
    """Return which kernel a model has, without its numbers."""
    kernel = getattr(model.kernel_, "kernel", model.kernel_)
    learned = " in a learned metric" if model.metric_ is not None else ""
    return f"{type(kernel).__name__} kernel{learned}"


def _sizes(source: Source, scan: Scan) -> str:
    rows, columns = counted(scan.n_rows, "row"), counted(len(source.names), "column")
    return f"{source.path}: {rows}, {columns}"


def _kinds(scan: Scan, fields: Sequence[Field]) -> list[str]:
    """Return how many columns there are of each kind, and what is made of them."""
    told = []
    for kind, plural in (
        (Kind.NUMBER, None),
        (Kind.CATEGORY, "categories"),
        (Kind.DATE, None),
    ):
        names = [f.name for f in fields if f.kind is kind]
        if names:
            told.append(counted(len(names), kind, plural) + _detail(kind, names, scan))
    return told


def _detail(kind: Kind, names: Sequence[str], scan: Scan) -> str:
    if kind is Kind.CATEGORY:
        words = {n: counted(scan.columns[n].n_distinct, "word") for n in names}
        return f": {_some([f'{shown(name)} ({words[name]})' for name in names])}"
    if kind is Kind.DATE:
        return f": {_some(list(map(shown, names)))}, as days since 1970"
    return ""


def _missing(scan: Scan, fields: Sequence[Field]) -> list[str]:
    """Return how many cells are missing, and what is made of them."""
    told = []
    for is_word, what in (
        (False, "filled with the median, and marked"),
        (True, "missing counts as a word"),
    ):
        mine = [f.name for f in fields if (f.kind is Kind.CATEGORY) is is_word]
        missing = {name: scan.columns[name].n_missing for name in mine}
        names = [shown(name) for name, n in missing.items() if n]
        if names:
            cells = counted(sum(missing.values()), "missing cell")
            told.append(f"{cells} in {_some(names)}: {what}")
    return told


def _left_out(
    source: Source, scan: Scan, columns: Columns, trained: Trained
) -> list[str]:
    left_out = [*columns.left_out, *source.unreadable.items()]
    told = [f"{shown(name)}: {why}" for name, why in left_out]
    for name in trained.constant:
        told.append(f"{shown(name)}: it is the same in all rows")
        if max(map(abs, scan.columns[name].values), default=0) >= 2**53:
            told[-1] += ", to the 15 digits that are read; --category keeps all"
    if source.unnamed:
        told.append(counted(source.unnamed, "column") + " without a name")
    return told


def _target(scan: Scan, columns: Columns) -> str:
    column = scan.columns[columns.target.name]
    text = f"{shown(column.name)}: {columns.task} ({columns.reason})"
    if columns.is_class and not column.values:
        counts = (column.words + column.dashes).most_common()
        common = [f"{plain(word)} {n}" for word, n in counts]
        text += f": {_some(common)}"
    return text


def _rows(scan: Scan, columns: Columns, data: Data, trained: Trained) -> list[str]:
    told = []
    if data.n_rows < scan.n_rows:
        told.append(_without_target(scan, columns, scan.n_rows - data.n_rows))
    if data.n_rest:
        told.append(
            f"all {data.n_rows} are used, read again and again: they do not fit into "
            "--max-memory"
        )
        told.append(
            f"{len(data.rows)} of them, drawn at random (the same each time), decide "
            "how columns are prepared, and measure the error"
        )
    elif len(data.rows) < data.n_rows:
        told.append(
            f"only {len(data.rows)} of {data.n_rows} are used, drawn at random (the "
            f"same each time): {data.why_drawn}"
        )
    held = f", {trained.n_held_out} held out to measure the error (the same each time)"
    told.append(f"{trained.n_fitted} to fit{held if trained.n_held_out else ''}")
    return told


def _without_target(scan: Scan, columns: Columns, n: int) -> str:
    """Return how many rows have no target, and which words say so."""
    column = scan.columns[columns.target.name]
    is_worded = columns.target.kind is Kind.CATEGORY
    said = column.missing if is_worded else column.missing + column.dashes
    words = _some([shown(word) for word in said])
    but = f" ({words} counts as missing)" if words else ""
    return f"{counted(n, 'row')} left out, whose target is missing{but}"


def _model(trained: Trained) -> str:
    model = trained.pipeline[-1]
    if not model.n_support_:
        return "no points: it predicts the same for all rows"
    fitted = trained.n_fitted + trained.n_held_out * trained.is_refitted
    points = counted(model.n_support_, "point")
    return f"{points} (of {counted(fitted, 'row')}), {kernel_text(model)}"


def _error(trained: Trained) -> Lines:
    if trained.measured is None:
        return [("error", f"not measured: {trained.why_not_measured}")]
    whose = (
        "of the model before it was fitted again, to all rows"
        if trained.is_refitted
        else "of the model that is written, which has not seen these rows"
    )
    measured = trained.measured
    texts = [error_text(measured)]
    if measured.error >= measured.baseline:
        texts.append("no better than the constant: do not use it before you know why")
    elif measured.explained is not None:
        texts.append(f"{100 * measured.explained:.1f} % of the variance explained")
    return [("error", text) for text in (*texts, whose)]


def _importances(shares: Sequence[tuple[str, float]]) -> list[str]:
    if not any(share for _, share in shares):  # a model without points
        return []
    listed = list(shares[:N_IMPORTANT])
    if len(shares) > N_IMPORTANT:
        others = sum(share for _, share in shares[N_IMPORTANT:])
        listed.append((counted(len(shares) - N_IMPORTANT, "other"), others))
    names = [plain(name) for name, _ in listed]
    width = max(map(len, names), default=0)
    shares_ = (f"{100 * share:5.1f} %" for _, share in listed)
    told = [f"{n:<{width}}  {s}" for n, s in zip(names, shares_, strict=True)]
    return ["how much the predictions depend on each:", *told]


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:N_NAMES]) + (", ..." if len(texts) > N_NAMES else "")
