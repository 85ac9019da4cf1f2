"""The records of all types, each family loaded when it is first needed."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from typing import Any

from .tree import Record

__all__ = ["record_named", "record_of"]

# Module with the records of each family of names.
_HOMES = {
    "basics": "_basics",
    "splitters": "_basics",
    "kernels": "_kernels",
    "losses": "_kernels",
    "dictionaries": "_kernels",
    "selection": "_kernels",
    "methods": "_kernels",
    "metrics": "_kernels",
    "functions": "_functions",
    "paths": "_functions",
    "kmp": "_kmp",
    "held_out": "_held_out",
    "neighbors": "_neighbors",
    "densities": "_densities",
    "subspaces": "_subspaces",
    "sklearn": "_preparation",
}
# The same by the beginning of the module in which a type is defined.
_MODULES = (
    ("pursuit.estimators.kmp", "_kmp"),
    ("pursuit.fitting.held_out", "_held_out"),
    ("pursuit.fitting", "_kmp"),
    ("pursuit.calibration", "_held_out"),
    ("pursuit.estimators.neighbors", "_neighbors"),
    ("pursuit.neighbors", "_neighbors"),
    ("pursuit.estimators.densities", "_densities"),
    ("pursuit.estimators", "_subspaces"),
    ("pursuit.components", "_subspaces"),
    ("pursuit.functions", "_functions"),
    ("pursuit.path", "_functions"),
    ("pursuit.sample", "_functions"),
    ("pursuit.", "_kernels"),
    ("sklearn.model_selection", "_basics"),
    ("sklearn", "_preparation"),
    ("", "_basics"),
)


@cache
def _records(home: str) -> tuple[Record, ...]:
    # One of the modules above, never a name of a file.
    module: Any = import_module(f"{__package__}.{home}")
    records: tuple[Record, ...] = module.RECORDS
    return records


def record_named(name: str) -> Record | None:
    """Return the record of a name in a file, None if it is unknown."""
    home = _HOMES.get(name.partition(".")[0])
    if home is None:
        return None
    return next((r for r in _records(home) if r.name == name), None)


def record_of(kind: type) -> Record | None:
    """Return the record of a type, None if it is unknown."""
    module = kind.__module__
    home = next(home for start, home in _MODULES if module.startswith(start))
    return next((r for r in _records(home) if r.kind is kind), None)
