"""Objects that hold their parameters and nothing else: kernels, losses and others."""

from __future__ import annotations

from collections.abc import Mapping
from inspect import Parameter, signature
from typing import Any

from .tree import Fields, Names, Record

__all__ = ["component", "parameters_of", "restored"]


def names_of(kind: type) -> dict[str, bool]:
    """Return the parameters of a type, and whether each has a default."""
    init: Any = getattr(kind, "__init__")  # noqa: B009
    if init is object.__init__:
        return {}
    parameters = list(signature(init).parameters.values())[1:]
    return {
        p.name: p.default is not Parameter.empty
        for p in parameters
        if p.kind in (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)
    }


def parameters_of(value: Any) -> Names:
    """Return the parameters of an object, by scikit-learn's convention."""
    return Names({name: getattr(value, name) for name in names_of(type(value))})


def restored(kind: type, parameters: Mapping[str, Any], owner: str) -> Any:
    """Return a new object with these parameters; those that are absent are defaults."""
    known = names_of(kind)
    unknown = sorted(set(parameters) - set(known))
    if unknown:
        raise ValueError(f"{owner} has no parameters {', '.join(unknown)[:80]}.")
    absent = [n for n, has_default in known.items() if not has_default]
    absent = [name for name in absent if name not in parameters]
    if absent:
        raise ValueError(f"{owner} lacks the parameters {', '.join(absent)}.")
    try:
        return kind(**parameters)
    except TypeError as error:
        raise ValueError(f"{owner} cannot be made: {error}.") from None


def component(family: str, kind: type) -> Record:
    """Return the record of a type whose objects are their parameters."""
    name = f"{family}.{kind.__name__}"

    def make(fields: Fields) -> Any:
        given = {key: fields.any(key) for key in names_of(kind) if key in fields}
        fields.check_all_used()
        return restored(kind, given, name)

    return Record(name, kind, parameters_of, make)
