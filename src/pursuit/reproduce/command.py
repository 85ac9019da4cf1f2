"""The command ``pursuit reproduce``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile

from pursuit import datasets

from . import origin, page, registry, results, running
from .cache import Cache
from .experiment import Experiment


@dataclass(frozen=True)
class Settings:
    """How to run experiments, and where to write their results.

    Parameters
    ----------
    output : Path
        Folder of the results; the page beside it has the same name.
    cache : Path or None
        Folder in which the results of tasks are stored.
    quick : bool
        Whether to run the reduced versions.
    jobs : int
        Number of processes.
    partial : bool
        Whether to run nothing, and write the results of tasks that have finished.
    """

    output: Path
    cache: Path | None
    quick: bool = False
    jobs: int = 1
    partial: bool = False


def listing() -> Iterator[str]:
    """Yield a line about each experiment."""
    width = max(len(experiment.name) for experiment in registry.EXPERIMENTS)
    present = set(datasets.available())
    for experiment in registry.EXPERIMENTS:
        absent = [name for name in experiment.needs if name not in present]
        # Some of these can be fetched from OpenML.
        note = f" [data not here yet: {', '.join(absent)}]" if absent else ""
        yield f"{experiment.name:<{width}}  {experiment.title}{note}"


def run(names: Sequence[str] | None, settings: Settings) -> list[str]:
    """Run experiments, write their files and the page.

    Parameters
    ----------
    names : sequence of str or None
        Which experiments; None runs all. With an empty one only the page is written.
    settings : Settings
        How they are run, and where the files go.

    Returns
    -------
    failed : list of str
        Names of the experiments that failed. Those whose data are absent are skipped
        with a message; they count as failed if requested by name.

    Raises
    ------
    ValueError
        If a name is unknown.
    OSError
        If nothing can be written to `settings.output` or `settings.cache`.
    """
    chosen = registry.EXPERIMENTS if names is None else registry.find(names)
    # Fail before hours of work, not after.
    _check_writable("--output", settings.output)
    if chosen and settings.cache is not None and not settings.partial:
        _check_writable("--cache", settings.cache)
    try:
        outcomes = {e.name: _run_one(e, settings) for e in chosen}
    finally:  # for finished experiments, even if the rest is interrupted
        path = page.write(settings.output, registry.EXPERIMENTS)
    for outcome in ("done", "skipped", "failed"):
        if found := [name for name, word in outcomes.items() if word == outcome]:
            print(f"{outcome}: {', '.join(found)}")
    print(f"page: {path}")
    bad = ("failed",) if names is None else ("failed", "skipped")
    return [name for name, word in outcomes.items() if word in bad]


def _check_writable(option: str, folder: Path) -> None:
    """Make a folder, and raise an OSError that names its option if it takes no file."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            pass
    except OSError as error:
        message = f"{option} {folder} cannot be written to: {error.strerror}"
        raise OSError(message) from error


def _run_one(experiment: Experiment, settings: Settings) -> str:
    try:
        _check_data(experiment, settings.quick)
    except FileNotFoundError as error:
        _say(f"{experiment.name} skipped: {error}")
        return "skipped"
    except OSError as error:
        _say(f"{experiment.name} failed: {error}")
        return "failed"
    try:
        records = _records(experiment, settings)
    except running.TaskError as error:
        _say(f"{experiment.name} failed: {error}")
        return "failed"
    if not records:
        _say(f"{experiment.name} skipped: none of its tasks has run")
        return "skipped"
    _tell_other_sources(experiment, records)
    results.write(
        settings.output,
        experiment,
        records,
        quick=settings.quick,
        jobs=settings.jobs,
    )
    return "done"


def _check_data(experiment: Experiment, quick: bool) -> None:
    """Raise an OSError if data are absent or damaged, before a task comes upon them."""
    read = [task.needs or () for task in experiment.work(quick)]
    for name in dict.fromkeys(chain(experiment.needs, *read)):
        datasets.load(name)


def _records(experiment: Experiment, settings: Settings) -> running.Records:
    """Return what the tasks of an experiment give, or have given if partial."""
    cache = Cache(settings.cache)
    if settings.partial:
        return running.kept(experiment, cache, settings.quick)
    return running.run(
        experiment, quick=settings.quick, cache=cache, jobs=settings.jobs
    )


def _tell_other_sources(experiment: Experiment, records: running.Records) -> None:
    """Say how many kept results the present library might not give again."""
    here = origin.sources()
    n_others = sum(record["sources"] != here for record in records.values())
    if n_others:
        _say(
            f"{experiment.name}: {n_others} of {len(records)} results are kept ones, "
            f"of other sources of the library than today's ({here}); "
            "--no-cache computes all again"
        )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
