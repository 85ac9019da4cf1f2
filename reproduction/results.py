"""Result files of an experiment: figures as JSON and CSV, and the picture."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import joblib

from .experiment import Experiment, Report, Row

# What the page reads from a results file, with types.
FIELDS: dict[str, type | tuple[type, ...]] = {
    "name": str,
    "title": str,
    "source": str,
    "quick": bool,
    "date": str,
    "seconds": (int, float),
    "machine": dict,
    "versions": dict,
    "rows": list,
    "notes": list,
    "tasks": dict,
    "picture": bool,
}


def stem(name: str, quick: bool) -> str:
    """Return the name of the files; quick results never overwrite full ones."""
    return f"{name}-quick" if quick else name


def write(
    folder: Path,
    experiment: Experiment,
    records: Mapping[str, dict[str, Any]],
    *,
    quick: bool,
    jobs: int = 1,
) -> list[Path]:
    """Write the files of an experiment and return their paths.

    Parameters
    ----------
    folder : Path
        Folder of the files, created if absent.
    experiment : Experiment
        Experiment that makes the report.
    records : mapping
        Records of all tasks, as returned by `running.run`, or of some: the others are
        then listed as missing.
    quick : bool
        Whether the records are of the reduced version.
    jobs : int, default=1
        Number of processes that ran the tasks, reported with the figures.

    Returns
    -------
    paths : list of Path
        Paths of the files; without a picture if matplotlib is not installed.
    """
    report = experiment.report({name: r["result"] for name, r in records.items()})
    folder.mkdir(parents=True, exist_ok=True)
    name = stem(experiment.name, quick)
    path, table, picture = (folder / f"{name}.{end}" for end in ("json", "csv", "png"))
    _write_csv(table, report)
    is_drawn = _draw(picture, experiment, report, quick)
    content = _content(experiment, report, records, quick, jobs)
    # Written last and atomically: if it exists, so do the others.
    _replace(path, _text({**content, "picture": is_drawn}))
    return [path, table, *([picture] if is_drawn else [])]


def _content(
    experiment: Experiment,
    report: Report,
    records: Mapping[str, dict[str, Any]],
    quick: bool,
    jobs: int,
) -> dict[str, Any]:
    return {
        "name": experiment.name,
        "title": experiment.title,
        "source": experiment.source,
        "needs": list(experiment.needs),
        "seeds": experiment.seeds,
        "quick": quick,
        "missing": [
            task.name for task in experiment.tasks(quick) if task.name not in records
        ],
        # Of the last task: most may have been kept from another day.
        "date": max(r["date"] for r in records.values()),
        "seconds": round(sum(r["seconds"] for r in records.values()), 1),
        "machine": {"cores": joblib.cpu_count(), "jobs": jobs},
        "versions": _versions(records.values()),
        "sources": "/".join(dict.fromkeys(r["sources"] for r in records.values())),
        "rows": [asdict(row) for row in report.rows],
        "notes": list(report.notes),
        "tasks": {
            name: {key: r[key] for key in ("arguments", "seconds", "result")}
            for name, r in records.items()
        },
    }


def _versions(records: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """Return the versions that made the figures; if several did, "2.4.5/2.4.6"."""
    versions: dict[str, dict[str, None]] = {}
    for record in records:
        for package, version in record["versions"].items():
            versions.setdefault(package, {})[version] = None
    return {package: "/".join(several) for package, several in versions.items()}


def load(folder: Path, name: str) -> dict[str, Any] | None:
    """Return an experiment's results, the quick ones only if there are no others.

    Raises
    ------
    OSError
        If the file is there but holds no results.
    """
    for quick in (False, True):
        path = folder / f"{stem(name, quick)}.json"
        if path.is_file():
            return _read(path)
    return None


def _read(path: Path) -> dict[str, Any]:
    try:
        content = dict(json.loads(path.read_text(encoding="utf-8")))
        _check(content)
    except (TypeError, ValueError) as error:
        raise OSError(
            f"{path} holds no results ({error}): delete it, or run its experiment again"
        ) from error
    return content


def _check(content: Mapping[str, Any]) -> None:
    """Raise a TypeError or ValueError unless the page can be made from this."""
    for key, needed in FIELDS.items():
        if not isinstance(content.get(key), needed):
            raise ValueError(f"its {key!r} is absent or of another kind")
    if not content["machine"].keys() >= {"cores", "jobs"}:
        raise ValueError("its 'machine' lacks cores or jobs")
    rows_of(content)


def rows_of(content: Mapping[str, Any]) -> list[Row]:
    """Return the rows of a results file."""
    return [Row(**row) for row in content["rows"]]


def _write_csv(path: Path, report: Report) -> None:
    columns = [field.name for field in fields(Row)]
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        writer.writerows(asdict(row) for row in report.rows)


def _draw(path: Path, experiment: Experiment, report: Report, quick: bool) -> bool:
    """Draw the picture; return whether there is one."""
    if report.draw is None:
        return False
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return False
    figure = Figure(layout="constrained")
    report.draw(figure)
    title = f"{experiment.title} ({experiment.source})"
    figure.suptitle(f"{title}: quick, reduced version" if quick else title)
    figure.savefig(path, dpi=100)
    return True


def _text(content: Mapping[str, Any]) -> str:
    """Return JSON with one line per row and task: short and suitable for diffs."""
    parts = []
    for name, value in content.items():
        if name == "rows":
            inner = ",\n  ".join(_json(row) for row in value)
            parts.append(f"{_json(name)}: [\n  {inner}\n ]")
        elif name == "tasks":
            inner = ",\n  ".join(f"{_json(k)}: {_json(v)}" for k, v in value.items())
            parts.append(f"{_json(name)}: {{\n  {inner}\n }}")
        else:
            parts.append(f"{_json(name)}: {_json(value)}")
    return "{\n " + ",\n ".join(parts) + "\n}\n"


def _json(value: Any) -> str:
    # NaN is not valid JSON: a report that contains one is wrong.
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _replace(path: Path, text: str) -> None:
    draft = path.with_suffix(f".{os.getpid()}.tmp")
    draft.write_text(text, encoding="utf-8")
    draft.replace(path)
