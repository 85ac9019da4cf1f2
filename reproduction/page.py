"""The page that compares measured and published figures, made from result files."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import results
from .experiment import CHANCE, Experiment, Row
from .origin import UNKNOWN

HEAD = f"""\
<!-- Written by `make reproduce`; do not edit. -->
# Reproduction

`make reproduce`, in a clone of the repository, runs the papers' experiments on the
original data and writes this page from what it measured; only the published figures
and the sentences in the column "why" were typed in. "± s.e." is the standard error of
the difference, where the protocol tells it. A sentence under "why" appears where ours
and the published figure are more than {CHANCE:g} standard errors apart or, without a
standard error, differ in a printed digit. Hyper-parameters come from the paper or from
validation data; test data choose nothing. Rows without a published figure are methods
of today and this library's defaults, on the same data. All figures with settings, seeds
and versions are in the `.json` file of each section; "sources" is a digest of this
library's modules, without those of the experiments. Seconds are those of the tasks,
added up, as they came on that day: the longer, the busier the machine was.
"""


def write(folder: Path, experiments: Sequence[Experiment]) -> Path:
    """Write the page beside the folder of the results and return its path."""
    path = folder.with_name(f"{folder.name}.md")
    path.parent.mkdir(parents=True, exist_ok=True)
    contents = [results.load(folder, experiment.name) for experiment in experiments]
    parts = [HEAD, _overview(experiments, contents)]
    parts += [section(content, folder.name) for content in contents if content]
    path.write_text("\n".join(parts), encoding="utf-8")
    return path


def _overview(
    experiments: Sequence[Experiment], contents: Sequence[dict[str, Any] | None]
) -> str:
    lines = [
        "| experiment | what | figures | differ | seconds |",
        "|---|---|---|---|---|",
    ]
    for experiment, content in zip(experiments, contents, strict=True):
        cells = ["–", "not run", "–"] if content is None else _counts(content)
        lines.append(_line([f"`{experiment.name}`", experiment.title, *cells]))
    return "\n".join(lines) + "\n"


def _counts(content: Mapping[str, Any]) -> list[str]:
    rows = [row for row in results.rows_of(content) if row.published is not None]
    label = " (quick)" if content["quick"] else ""
    label += " (partial)" if content.get("missing") else ""
    differ = sum(row.differs for row in rows)
    return [
        f"{len(rows)} published{label}",
        f"{differ} of {len(rows)}" if rows else "–",
        f"{content['seconds']:.0f}",
    ]


def section(content: Mapping[str, Any], folder: str) -> str:
    """Return the section of one experiment."""
    rows = results.rows_of(content)
    name = results.stem(content["name"], content["quick"])
    parts = [f"## {content['title']}\n", _about(content, folder, name)]
    if published := [row for row in rows if row.published is not None]:
        # Differences of a reduced version need no other explanation.
        parts.append(_published_table(published, with_reasons=not content["quick"]))
    if unpublished := [row for row in rows if row.published is None]:
        parts.append(_unpublished_table(unpublished))
    if content["notes"]:
        parts.append("\n".join(f"- {note}" for note in content["notes"]) + "\n")
    if content["picture"]:
        parts.append(f"![{content['title']}]({folder}/{name}.png)\n")
    return "\n".join(parts)


def _about(content: Mapping[str, Any], folder: str, name: str) -> str:
    versions = ", ".join(f"{k} {v}" for k, v in content["versions"].items())
    label = "**Quick, reduced version.** " if content["quick"] else ""
    if missing := content.get("missing"):
        total = len(missing) + len(content["tasks"])
        label += f"**Partial: {len(content['tasks'])} of {total} tasks have run.** "
    cores, jobs = content["machine"]["cores"], content["machine"]["jobs"]
    processes = "one process" if jobs == 1 else f"{jobs} processes"
    return (
        f"{label}{content['source']}. `{_command(content)}`, {content['date']}, "
        f"{content['seconds']:.0f} s of tasks in {processes} on {cores} cores; "
        f"{versions}; {_sources(content)}. "
        f"Files: [json]({folder}/{name}.json), [csv]({folder}/{name}.csv).\n"
    )


def _command(content: Mapping[str, Any]) -> str:
    """Return the command that runs the experiment."""
    words = f"{content['name']}{' --quick' if content['quick'] else ''}"
    return f'make reproduce REPRODUCE_ARGS="{words}"'


def _sources(content: Mapping[str, Any]) -> str:
    """Return which sources of the library made the figures, as far as recorded."""
    names = content.get("sources", UNKNOWN).split("/")
    known = [f"`{name}`" for name in names if name != UNKNOWN]
    if not known:
        return "sources of the library not recorded"
    rest = " and others, not recorded" if len(known) < len(names) else ""
    return f"sources of the library {', '.join(known)}{rest}"


def _published_table(rows: Sequence[Row], with_reasons: bool) -> str:
    """Return the table of published and measured figures."""
    has_sizes = any(row.published_size is not None for row in rows)
    has_reasons = with_reasons and any(row.differs and row.why for row in rows)
    head = ["", "", "published", "ours", "difference ± s.e."]
    head += ["points published", "points ours"] if has_sizes else []
    head += ["why"] if has_reasons else []
    lines = [_line(head), _line(["---"] * len(head))]
    for row, why in zip(rows, _reasons(rows), strict=True):
        cells = [row.label, row.quantity, *_figures(row)]
        cells += [_size(row.published_size), _size(row.size)] if has_sizes else []
        cells += [why] if has_reasons else []
        lines.append(_line(cells))
    return "\n".join(lines) + "\n"


def _reasons(rows: Sequence[Row]) -> Iterator[str]:
    """Yield the reason for each row that differs, without repetitions."""
    last = ""
    for row in rows:
        if not row.differs or not row.why:
            yield ""
        elif row.why == last:
            yield "as above"
        else:
            yield row.why
            last = row.why


def _figures(row: Row) -> Iterator[str]:
    yield f"{row.published:.{row.digits}f}"
    yield f"{row.ours:.{row.digits}f}"
    yield f"{row.difference:+.{row.digits}f}{_error(row)}"


def _error(row: Row) -> str:
    """Return the standard error, if there is one, with one more digit."""
    if row.standard_error is None:
        return ""
    return f" ± {row.standard_error:.{row.digits + 1}f}"


def _unpublished_table(rows: Sequence[Row]) -> str:
    """Return the table of figures without a published one, one line per label."""
    quantities = list(dict.fromkeys(row.quantity for row in rows))
    by_label: dict[str, dict[str, Row]] = {}
    for row in rows:
        by_label.setdefault(row.label, {})[row.quantity] = row
    has_sizes = any(row.size is not None for row in rows)
    head = ["", *quantities, *(["points"] if has_sizes else [])]
    lines = [_line(head), _line(["---"] * len(head))]
    for label, cells in by_label.items():
        sizes = [row.size for row in cells.values() if row.size is not None]
        size = [_size(sizes[0] if sizes else None)] if has_sizes else []
        values = [_value(cells.get(quantity)) for quantity in quantities]
        lines.append(_line([label, *values, *size]))
    return "\n".join(lines) + "\n"


def _value(row: Row | None) -> str:
    if row is None:
        return "–"
    return f"{row.ours:.{row.digits}f}{_error(row)}"


def _size(size: float | None) -> str:
    if size is None:
        return "–"
    return f"{size:.0f}" if size >= 10 or size == int(size) else f"{size:.1f}"


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
