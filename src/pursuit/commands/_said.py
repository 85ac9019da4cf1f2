"""What a fit says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pursuit.tables import Field, Kind, Scan, Source

from ._columns import Columns
from ._measures import Measured
from ._talk import counted, percent
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
        *(("left out", text) for text in _left_out(source, columns, trained)),
        ("target", _target(scan, columns)),
        *(("rows", text) for text in _rows(scan, data, trained)),
        ("model", _model(trained)),
        *_error(trained),
        *(("columns", text) for text in _importances(shares)),
        ("time", f"{trained.seconds:.1f} s"),
    ]


def error_text(measured: Measured) -> str:
    """Return what an error says, beside that of the constant."""
    if measured.is_class:
        return (
            f"{percent(measured.error)} misclassified of {measured.n_rows} rows held "
            f"out; {percent(measured.baseline)} if all were {measured.constant!r}"
        )
    return (
        f"{measured.error:.4g} (root mean square of {measured.n_rows} rows held out); "
        f"{measured.baseline:.4g} if all were the mean, {measured.constant}"
    )


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
        return f": {_some([f'{name!r} ({words[name]})' for name in names])}"
    if kind is Kind.DATE:
        return f": {_some(list(map(repr, names)))}, as days since 1970"
    return ""


def _missing(scan: Scan, fields: Sequence[Field]) -> list[str]:
    missing = {f.name: scan.columns[f.name].n_missing for f in fields}
    names = [repr(name) for name, n in missing.items() if n]
    if not names:
        return []
    cells = counted(sum(missing.values()), "missing cell")
    return [f"{cells} in {_some(names)}: medians, and a flag"]


def _left_out(source: Source, columns: Columns, trained: Trained) -> list[str]:
    told = [f"{name!r}: {why}" for name, why in columns.left_out]
    told += [f"{name!r}: it is the same in all rows" for name in trained.constant]
    if source.unnamed:
        told.append(counted(source.unnamed, "column") + " without a name")
    return told


def _target(scan: Scan, columns: Columns) -> str:
    column = scan.columns[columns.target.name]
    text = f"{column.name!r}: {columns.task} ({columns.reason})"
    if columns.is_class and not column.values:
        common = [f"{w} {n}" for w, n in column.words.most_common()]
        text += f": {_some(common)}"
    return text


def _rows(scan: Scan, data: Data, trained: Trained) -> list[str]:
    told = []
    if data.n_rows < scan.n_rows:
        without = counted(scan.n_rows - data.n_rows, "row")
        told.append(f"{without} without a target left out")
    if len(data.rows) < data.n_rows:
        told.append(f"{len(data.rows)} of {data.n_rows} drawn: {data.why_drawn}")
    held = f", {trained.n_held_out} held out (told by their contents)"
    told.append(f"{trained.n_fitted} to fit{held if trained.n_held_out else ''}")
    return told


def _model(trained: Trained) -> str:
    model = trained.pipeline[-1]
    points = counted(model.n_support_, "point")
    return f"{type(model).__name__}: {points}, {kernel_text(model)}"


def _error(trained: Trained) -> Lines:
    if trained.measured is None:
        return [("error", "not measured: no rows were held out")]
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
    shown = list(shares[:N_IMPORTANT])
    if len(shares) > N_IMPORTANT:
        others = sum(share for _, share in shares[N_IMPORTANT:])
        shown.append((counted(len(shares) - N_IMPORTANT, "other"), others))
    width = max((len(name) for name, _ in shown), default=0)
    return [f"{name:<{width}}  {100 * share:5.1f} %" for name, share in shown]


def _some(texts: Sequence[str]) -> str:
    return ", ".join(texts[:N_NAMES]) + (", ..." if len(texts) > N_NAMES else "")
