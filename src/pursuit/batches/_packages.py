"""Optional packages, imported where they are used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["optional", "pandas"]

_EXTRAS = {"pandas": "tables", "pyarrow": "tables", "polars": "polars"}


def optional(module: str, what: str) -> Any:
    """Return a module of an optional package, or raise an error that names its extra.

    Parameters
    ----------
    module : str
        Name of the module, such as "pyarrow.csv".
    what : str
        What needs it.
    """
    package = module.partition(".")[0]
    try:
        return import_module(module)
    except ImportError as error:
        raise ImportError(
            f"{what} need {package}: pip install 'pursuit[{_EXTRAS[package]}]'."
        ) from error


def pandas() -> Any:
    """Return the module pandas."""
    return optional("pandas", "Rows as frames")
