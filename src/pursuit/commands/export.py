"""``pursuit export``: a model in C, JavaScript, NumPy alone or ONNX."""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pursuit._user_errors import CommandError, UsageError
from pursuit._writing import write_whole

from ._options import check_output, count
from ._talk import counted, lines, size, told_warnings, written
from ._translations import in_command_words

__all__ = ["SUMMARY", "configure", "run"]

SUMMARY = "write a model as C, JavaScript, NumPy alone or ONNX"


@dataclass(frozen=True)
class Language:
    """A language: suffix of its files, its numbers, and what writes it.

    ``write`` takes the model and the options, and returns the file's content and lines
    about it.
    """

    suffix: str
    numbers: tuple[str, ...]
    write: Callable[[Any, argparse.Namespace], tuple[bytes, list[tuple[str, str]]]]


def configure(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument(
        "model", type=Path, metavar="MODEL", help="model file, from `pursuit fit`"
    )
    parser.add_argument(
        "--to", required=True, choices=sorted(LANGUAGES), help="language"
    )
    parser.add_argument(
        "-o",
        "--output",
        type=Path,
        metavar="FILE",
        help="file to write (default: the model's name with another suffix); - for "
        "the standard output",
    )
    parser.add_argument(
        "--points",
        type=count,
        metavar="N",
        help="the model of N points (default: the size that the fit chose)",
    )
    parser.add_argument(
        "--max-bytes",
        type=count,
        metavar="N",
        help="the largest model that takes at most N bytes: of flash in C, of the file "
        "elsewhere",
    )
    parser.add_argument(
        "--number",
        choices=("float", "double", "fixed"),
        help="numbers: float (default), double or fixed in C; double (default) or "
        "float in ONNX; double elsewhere",
    )
    parser.add_argument(
        "--name", help="prefix of names in C (default: from the file's name)"
    )
    parser.add_argument("--quiet", action="store_true", help="print errors only")


def run(args: argparse.Namespace) -> None:
    """Write a model in another language."""
    from . import _model_files
    from ._sizes import of_size

    language = LANGUAGES[args.to]
    if args.number is not None and args.number not in language.numbers:
        known = " or ".join(language.numbers)
        raise UsageError(f"--number {args.number}: --to {args.to} has {known}")
    path = args.output or Path(args.model.stem + language.suffix)
    check_output(path, args.model)
    model, _ = _model_files.load(args.model)
    if args.points is not None:
        model = of_size(model, args.points)
    with told_warnings(quiet=args.quiet):
        try:
            content, about = language.write(model, args)
        except ImportError as error:
            if "pip install" not in str(error):  # a defect, not an absent extra
                raise
            raise CommandError(in_command_words(error)) from None
        except ValueError as error:
            raise CommandError(f"{args.model}: {in_command_words(error)}") from error
        except FloatingPointError:
            raise CommandError(
                f"{args.model}: numbers of the model are too large for --number "
                f"{args.number or language.numbers[0]}: take --number double"
            ) from None
    if str(args.output) == "-":
        sys.stdout.buffer.write(content)
        return
    is_new = not path.is_file()
    write_whole(path, content)
    if not args.quiet:
        file = written(path, size(len(content)), is_new=is_new)
        print(lines([*about, file]))


def _points(model: Any) -> tuple[str, str]:
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    return "model", counted(last.n_support_, "point")


def _within(
    model: Any, args: argparse.Namespace, write: Callable[[Any], bytes]
) -> tuple[bytes, list[tuple[str, str]]]:
    """Return what is written of the largest model within the bytes that are asked."""
    from ._sizes import largest_within

    if args.max_bytes is not None:
        model = largest_within(model, lambda m: len(write(m)), args.max_bytes)
    return write(model), [_points(model)]


def _c(model: Any, args: argparse.Namespace) -> tuple[bytes, list[tuple[str, str]]]:
    from pursuit.export import to_c

    name = args.name or _identifier((args.output or args.model).stem)
    code = to_c(
        model, number=args.number or "float", max_bytes=args.max_bytes, name=name
    )
    bound = float(code.error_bound.max(initial=0.0))
    about = [
        ("model", counted(code.n_functions, "point")),
        ("costs", str(code.costs)),
        ("error", f"values within {bound:.2g} of the model's"),
    ]
    if code.note:
        about.append(("budget", code.note))
    return code.code.encode(), about


def _javascript(
    model: Any, args: argparse.Namespace
) -> tuple[bytes, list[tuple[str, str]]]:
    from pursuit.export import to_javascript

    return _within(model, args, lambda m: to_javascript(m).encode())


def _numpy(model: Any, args: argparse.Namespace) -> tuple[bytes, list[tuple[str, str]]]:
    from pursuit.export import to_numpy

    return _within(model, args, lambda m: to_numpy(m).encode())


def _onnx(model: Any, args: argparse.Namespace) -> tuple[bytes, list[tuple[str, str]]]:
    from pursuit.export import to_onnx

    dtype = {"float": "float32"}.get(args.number, "float64")
    rows = _known_rows(model)

    def write(m: Any) -> bytes:
        return bytes(to_onnx(m, dtype=dtype, check=rows).SerializeToString())

    content, about = _within(model, args, write)
    return content, [*about, ("numbers", dtype)]


def _known_rows(model: Any) -> Any:
    """Return rows to check a graph on, None if the model's preparation is not ours."""
    from ._pipelines import NUMBERS, PREPARE, WORDS, support_rows

    steps = getattr(model, "named_steps", {})
    parts = getattr(steps.get(PREPARE), "named_transformers_", {})
    return support_rows(model) if {NUMBERS, WORDS} & set(parts) else None


def _identifier(text: str) -> str:
    """Return a text as a name in C."""
    name = re.sub(r"\W", "_", text, flags=re.ASCII)
    return name if name[:1].isalpha() else f"model_{name}".rstrip("_")


LANGUAGES = {
    "c": Language(".h", ("float", "double", "fixed"), _c),
    "js": Language(".js", ("double",), _javascript),
    "numpy": Language(".py", ("double",), _numpy),
    "onnx": Language(".onnx", ("double", "float"), _onnx),
}
