"""The command ``pursuit``.

A subcommand is one entry of ``COMMANDS``: its name, a summary, a function that adds
its options to a parser, and a function that runs it. The latter returns nothing on
success and raises ``OSError`` or ``CommandError`` for problems that the user can fix;
such an error becomes one line and exit status 1. Wrong usage (``UsageError``, or what
the parser refuses) is status 2, Ctrl-C status 130.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from pursuit import __version__

__all__ = [
    "COMMANDS",
    "Command",
    "CommandError",
    "UsageError",
    "exit_status",
    "main",
]

PACKAGES = ("numpy", "scipy", "scikit-learn", "numba", "joblib", "threadpoolctl")
OPTIONAL_PACKAGES = ("matplotlib", "tqdm", "pandas", "polars", "fastrvm")


class CommandError(Exception):
    """A problem that the user can fix; shown as one line, without a traceback."""


class UsageError(CommandError):
    """Arguments that the command cannot work with."""


@dataclass(frozen=True)
class Command:
    """A subcommand: its name, summary, options and action."""

    name: str
    summary: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status."""
    words = sys.argv[1:] if argv is None else list(argv)
    if words[:1] == ["reproduce"]:
        return exit_status(_refuse_reproduce)
    parser = _parser()
    args = parser.parse_args(words)
    if args.command is None:
        parser.print_help(sys.stderr)
        return 2
    return exit_status(lambda: args.command.run(args))


def exit_status(run: Callable[[], None], program: str = "pursuit") -> int:
    """Run an action, print its error as one line, and return the exit status.

    Parameters
    ----------
    run : callable
        Action without arguments.
    program : str, default="pursuit"
        Name that stands before messages.

    Returns
    -------
    status : int
        0 after success, 2 after a `UsageError`, 1 after another `CommandError` or an
        ``OSError``, 130 after Ctrl-C, 141 if the reader of the output has gone.
    """
    try:
        run()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(f"{program}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # the reader, such as `head`, has closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except (CommandError, OSError) as error:
        print(f"{program}: error: {_plain(error)}", file=sys.stderr)
        return 2 if isinstance(error, UsageError) else 1
    return 0


def _refuse_reproduce() -> None:
    raise UsageError(
        "the reproduction is not in the package: run `make reproduce` in a clone of "
        "the repository"
    )


def _plain(error: Exception) -> str:
    """Return the message of an error, without the number of a system error."""
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror}"
    return str(error)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="pursuit",
        description="Kernel matching pursuit: sparse kernel models for scikit-learn.",
    )
    parser.add_argument("--version", action="version", version=f"pursuit {__version__}")
    parser.set_defaults(command=None)
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for command in COMMANDS:
        subparser = commands.add_parser(
            command.name, help=command.summary, description=command.summary
        )
        command.configure(subparser)
        subparser.set_defaults(command=command)
    return parser


def _configure_demo(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--output",
        type=Path,
        default=Path("build/demo"),
        metavar="DIR",
        help="folder of the picture (default: %(default)s)",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer rows and a smaller search, in a few seconds",
    )


def _run_demo(args: argparse.Namespace) -> None:
    from pursuit import demo

    demo.run(args.output, quick=args.quick)


def _configure_info(parser: argparse.ArgumentParser) -> None:
    """Add nothing: the command has no options."""


def _run_info(args: argparse.Namespace) -> None:
    for title, lines in (
        ("versions", _versions()),
        ("threads", _threads()),
        ("data sets", _data_sets()),
    ):
        print(title)
        for name, value in lines:
            print(f"  {name:<14} {value}")


def _versions() -> Iterator[tuple[str, str]]:
    yield "pursuit", __version__
    yield "python", f"{platform.python_version()} ({platform.platform()})"
    for package in PACKAGES:
        yield package, metadata.version(package)
    for package in OPTIONAL_PACKAGES:
        try:
            yield package, metadata.version(package)
        except metadata.PackageNotFoundError:
            yield package, "not installed (optional)"


def _threads() -> Iterator[tuple[str, str]]:
    import joblib
    import numba
    import scipy.linalg  # noqa: F401  loads its BLAS, so that it is listed
    import sklearn.utils  # noqa: F401  loads OpenMP
    from threadpoolctl import threadpool_info

    yield "cores", f"{joblib.cpu_count()} usable of {os.cpu_count()}"
    yield "numba", f"{numba.config.NUMBA_NUM_THREADS} threads"
    for pool in threadpool_info():
        version = pool.get("version") or "version unknown"
        yield (
            pool["user_api"],
            f"{pool['internal_api']} {version}, {pool['num_threads']} threads",
        )


def _data_sets() -> Iterator[tuple[str, str]]:
    from pursuit import datasets

    for folder in datasets.folders():
        yield "looked for in", f"{folder}{'' if folder.is_dir() else ' (absent)'}"
    if not os.environ.get("PURSUIT_DATA"):
        yield "PURSUIT_DATA", "not set: may name another folder"
    present = datasets.available()
    yield "found", f"{len(present)} of {len(datasets.names())}"
    if present:
        yield "", ", ".join(present)


COMMANDS = (
    Command(
        "demo",
        "compare kernel matching pursuit with a tuned support vector machine",
        _configure_demo,
        _run_demo,
    ),
    Command(
        "info",
        "show versions, threads and where data sets are looked for",
        _configure_info,
        _run_info,
    ),
)
