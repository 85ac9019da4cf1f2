"""The command line: ``python -m reproduction``.

Exit statuses are those of the command ``pursuit``: 1 if experiments failed or files
cannot be read or written, 2 for wrong usage, 130 after Ctrl-C.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from tempfile import TemporaryFile

from pursuit import datasets
from pursuit.cli import CommandError, UsageError, exit_status

from . import experiments, origin, page, results, running
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


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    args = _parser().parse_args(argv)
    return exit_status(lambda: _run_command(args), "reproduction")


def _run_command(args: argparse.Namespace) -> None:
    if args.list:
        print("\n".join(listing()))
        return
    _check_names(args)
    settings = Settings(args.output, args.cache, args.quick, args.jobs, args.partial)
    names = None if args.all and not args.page else args.names
    if failed := run(names, settings):
        raise CommandError(f"not done: {', '.join(failed)}; see above")


def _check_names(args: argparse.Namespace) -> None:
    """Raise a UsageError unless it is clear which experiments are meant."""
    if not (args.names or args.all or args.page):
        raise UsageError("name experiments (--list shows them), or give --all")
    if args.names and (args.all or args.page):
        option = "--all" if args.all else "--page"
        raise UsageError(f"{option} takes no names; got {', '.join(args.names)}")
    try:
        experiments.find(args.names)
    except ValueError as error:
        raise UsageError(str(error)) from error


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="reproduction",
        description="Reproduce the papers' tables and figures and compare with the "
        "published ones.",
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="experiments to run")
    parser.add_argument("--list", action="store_true", help="list the experiments")
    parser.add_argument("--all", action="store_true", help="run all experiments")
    parser.add_argument(
        "--page",
        action="store_true",
        help="run nothing: rewrite the page from the results in --output",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="run reduced versions, labeled as such: all within minutes",
    )
    parser.add_argument(
        "--partial",
        action="store_true",
        help="run nothing: write the results of finished tasks, labeled as partial",
    )
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/reproduction"),
        metavar="DIR",
        help="folder of the results; the page is DIR.md (default: %(default)s)",
    )
    parser.add_argument(
        "--cache",
        type=Path,
        default=Path("build/reproduction-cache"),
        metavar="DIR",
        help="folder of the finished tasks (default: %(default)s)",
    )
    parser.add_argument(
        "--no-cache",
        dest="cache",
        action="store_const",
        const=None,
        help="compute everything, store nothing",
    )
    parser.add_argument(
        "--jobs",
        type=_positive,
        default=1,
        metavar="N",
        help="number of processes (default: 1, which uses all processors by threads)",
    )
    return parser


def _positive(text: str) -> int:
    try:
        number = int(text)
    except ValueError:
        number = 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of processes")
    return number


def listing() -> Iterator[str]:
    """Yield a line about each experiment."""
    width = max(len(experiment.name) for experiment in experiments.EXPERIMENTS)
    present = {*datasets.available(), *datasets.tables()}
    for experiment in experiments.EXPERIMENTS:
        absent = [name for name in experiment.needs if name not in present]
        # Some of these can be fetched from OpenML.
        note = f" [data not here yet: {_shortened(absent)}]" if absent else ""
        yield f"{experiment.name:<{width}}  {experiment.title}{note}"


def _shortened(names: Sequence[str], n_shown: int = 3) -> str:
    """Return a list in words, of many names the first ones and the number."""
    rest = len(names) - n_shown
    return ", ".join([*names[:n_shown], *([f"{rest} more"] if rest > 0 else [])])


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
    chosen = experiments.EXPERIMENTS if names is None else experiments.find(names)
    # Fail before hours of work, not after.
    _check_writable("--output", settings.output)
    if chosen and settings.cache is not None and not settings.partial:
        _check_writable("--cache", settings.cache)
    try:
        outcomes = {e.name: _run_one(e, settings) for e in chosen}
    finally:  # for finished experiments, even if the rest is interrupted
        path = page.write(settings.output, experiments.EXPERIMENTS)
    for outcome in ("done", "skipped", "failed"):
        if group := [name for name, word in outcomes.items() if word == outcome]:
            print(f"{outcome}: {', '.join(group)}")
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
    _report_other_sources(experiment, records)
    results.write(
        settings.output,
        experiment,
        records,
        quick=settings.quick,
        jobs=settings.jobs,
    )
    return "done"


def _check_data(experiment: Experiment, quick: bool) -> None:
    """Raise an OSError if data are absent or damaged, before a task reads them."""
    needs = [task.needs or () for task in experiment.work(quick)]
    for name in dict.fromkeys(chain(experiment.needs, *needs)):
        datasets.load(name)


def _records(experiment: Experiment, settings: Settings) -> running.Records:
    """Return what the tasks of an experiment give, or have given if partial."""
    cache = Cache(settings.cache)
    if settings.partial:
        return running.kept(experiment, cache, settings.quick)
    return running.run(
        experiment, quick=settings.quick, cache=cache, jobs=settings.jobs
    )


def _report_other_sources(experiment: Experiment, records: running.Records) -> None:
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
