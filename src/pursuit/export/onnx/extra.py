"""Packages of the extra ``pursuit[onnx]``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["needed"]


def needed(name: str) -> Any:
    """Return a package of the extra; if it is absent, the error says how to get it."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(
            f'ONNX needs {name}, which is not installed: pip install "pursuit[onnx]".'
        ) from error
