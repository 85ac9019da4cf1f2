"""Import names of a package when they are first used.

So that ``import pursuit`` is quick, and ``from pursuit import KMPClassifier`` does not
load the other families.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(
    package: str,
    modules: Mapping[str, tuple[str, ...]],
    submodules: tuple[str, ...] = (),
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        Name of the package.
    modules : mapping from str to tuple of str
        Names that each submodule holds.
    submodules : tuple of str
        Submodules that are attributes themselves.
    """
    homes = {name: module for module, names in modules.items() for name in names}

    def get(name: str) -> Any:
        if name in submodules:
            return import_module(f"{package}.{name}")
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{homes[name]}"), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        hidden = {"TYPE_CHECKING", "lazy_names"}
        return sorted({*vars(sys.modules[package]), *homes, *submodules} - hidden)

    return get, names
