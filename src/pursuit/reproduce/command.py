"""The command ``pursuit reproduce``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pursuit import datasets

from . import page, registry, results, running
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
    """Run experiments, and write their files and the page.

    ``names`` of None means all experiments, an empty list only the page.

    Returns
    -------
    failed : list of str
        Names of the experiments that failed. Those whose data are absent are skipped
        with a message; they count as failed if requested by name.

    Raises
    ------
    ValueError
        If a name is unknown.
    """
    chosen = registry.EXPERIMENTS if names is None else registry.find(names)
    # Fail before hours of work, not after.
    settings.output.mkdir(parents=True, exist_ok=True)
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


def _run_one(experiment: Experiment, settings: Settings) -> str:
    try:
        for name in experiment.needs:
            datasets.locate(name)
    except FileNotFoundError as error:
        _say(f"{experiment.name} skipped: {error}")
        return "skipped"
    if settings.partial:
        return _write_kept(experiment, settings)
    try:
        records = running.run(
            experiment,
            quick=settings.quick,
            cache=Cache(settings.cache),
            jobs=settings.jobs,
        )
    except running.TaskError as error:
        _say(f"{experiment.name} failed: {error}")
        return "failed"
    results.write(
        settings.output,
        experiment,
        records,
        quick=settings.quick,
        jobs=settings.jobs,
    )
    return "done"


def _write_kept(experiment: Experiment, settings: Settings) -> str:
    """Write the stored results of an experiment, and run nothing."""
    records = running.kept(experiment, Cache(settings.cache), settings.quick)
    if not records:
        _say(f"{experiment.name} skipped: none of its tasks has run")
        return "skipped"
    results.write(settings.output, experiment, records, quick=settings.quick)
    return "done"


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
