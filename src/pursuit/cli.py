"""The command ``pursuit``.

A subcommand is one entry of ``COMMANDS``, made from a module of `pursuit.commands`.
Problems that the user can fix (``OSError``, ``CommandError``) become one line and exit
status 1. Wrong usage (``UsageError``, or what the parser refuses) is status 2, Ctrl-C
status 130.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NoReturn

from pursuit import __version__
from pursuit._user_errors import CommandError, UsageError
from pursuit.commands import demo, export, fit, info, predict, report

__all__ = [
    "COMMANDS",
    "Command",
    "CommandError",
    "UsageError",
    "exit_status",
    "main",
]


@dataclass(frozen=True)
class Command:
    """A subcommand: its name, summary, options and action."""

    name: str
    summary: str
    configure: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], None]


COMMANDS = (
    Command("fit", fit.SUMMARY, fit.configure, fit.run),
    Command("predict", predict.SUMMARY, predict.configure, predict.run),
    Command("report", report.SUMMARY, report.configure, report.run),
    Command("export", export.SUMMARY, export.configure, export.run),
    Command("info", info.SUMMARY, info.configure, info.run),
    Command("demo", demo.SUMMARY, demo.configure, demo.run),
)


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


class _Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Print what is wrong, and end."""
        self.exit(2, f"pursuit: error: {message} (try {self.prog} --help)\n")


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
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
