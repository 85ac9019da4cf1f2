"""Run the tasks of an experiment, and store their results."""

from __future__ import annotations

import signal
import threading
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from joblib import Parallel, delayed

from pursuit._progress import Progress

from .cache import Cache
from .experiment import Experiment, Task
from .origin import made_here

Records = dict[str, dict[str, Any]]
# Fields of a task's record, beside its arguments.
FIELDS = ("seconds", "result", "versions", "sources", "date")


class TaskError(Exception):
    """Failure of a task; the message contains its traceback."""


def run(
    experiment: Experiment,
    *,
    quick: bool = False,
    cache: Cache | None = None,
    jobs: int = 1,
    verbose: int | bool = 1,
) -> Records:
    """Run the tasks of an experiment that have no stored result.

    Parameters
    ----------
    experiment : Experiment
        Experiment to run.
    quick : bool, default=False
        Whether to run the reduced version.
    cache : Cache, optional
        Store of results. An interrupted run (Ctrl-C) leaves all finished tasks there.
    jobs : int, default=1
        Number of processes, which share the processors.
    verbose : int or bool, default=1
        0 shows no progress bar.

    Returns
    -------
    records : dict
        By task name: ``arguments``, ``seconds``, ``result``, and the ``versions``,
        ``sources`` and ``date`` with which it was computed, today or before.

    Raises
    ------
    TaskError
        If tasks failed; the others have finished and are stored.
    """
    cache = cache or Cache(None)
    tasks = experiment.work(quick)
    _check_names(tasks)
    records = _kept(tasks, cache)
    todo = [task for task in tasks if task.name not in records]
    failed = []
    with Progress(len(tasks), experiment.name, verbose, "task") as progress:
        progress.show(len(records))
        for name, record in _computed(todo, cache, jobs):
            if "failure" in record:
                failed.append(f"{name}: {record['failure']}")
            else:
                records[name] = record
            progress.show(len(records) + len(failed))
    if failed:
        raise TaskError(f"{len(failed)} of {len(tasks)} tasks failed:\n{failed[0]}")
    return _in_order(tasks, records)


def kept(experiment: Experiment, cache: Cache, quick: bool = False) -> Records:
    """Return the stored records of an experiment, as `run` does, without running it."""
    tasks = experiment.work(quick)
    return _in_order(tasks, _kept(tasks, cache))


def _kept(tasks: Sequence[Task], cache: Cache) -> Records:
    known = {task.name: cache.load(task) for task in tasks}
    return {name: record for name, record in known.items() if record is not None}


def _in_order(tasks: Sequence[Task], records: Records) -> Records:
    return {
        task.name: {
            "arguments": dict(task.arguments),
            **{key: records[task.name][key] for key in FIELDS},
        }
        for task in tasks
        if task.name in records
    }


def _check_names(tasks: Sequence[Task]) -> None:
    names = [task.name for task in tasks]
    if len(set(names)) < len(names):
        raise ValueError("two tasks of one experiment have the same name")


def _computed(
    tasks: Sequence[Task], cache: Cache, jobs: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    if jobs == 1:
        # Run in this process: Ctrl-C stops at once, and a debugger sees the task.
        yield from (_attempt(task, cache) for task in tasks)
    else:
        work = (delayed(_attempt)(task, cache) for task in tasks)
        yield from Parallel(n_jobs=jobs, return_as="generator")(work)


def _attempt(task: Task, cache: Cache) -> tuple[str, dict[str, Any]]:
    """Run a task and store its result in the same process, so that none is lost."""
    origin, start = made_here(task), time.perf_counter()
    try:
        with _noted_interrupts() as interrupts:
            result = task.run(**task.arguments)
    except Exception:  # a failure must not affect other tasks
        return task.name, {"failure": traceback.format_exc()}
    if interrupts:
        # At the first Ctrl-C a fit ends early, which is not a valid result.
        raise KeyboardInterrupt
    record = {**origin, "seconds": time.perf_counter() - start, "result": result}
    cache.store(task, record)
    return task.name, record


@contextmanager
def _noted_interrupts() -> Iterator[list[int]]:
    """Yield a list that records all interrupts, even those handled elsewhere."""
    interrupts: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        yield interrupts  # only the main thread gets signals
        return

    def note(number: int, frame: Any) -> None:
        interrupts.append(number)
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGINT, note)
    try:
        yield interrupts
    finally:
        signal.signal(signal.SIGINT, before or signal.default_int_handler)
