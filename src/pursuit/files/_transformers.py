"""What the records of scikit-learn's transformers share.

Parameters and documented fitted attributes are written, never the state of an object:
scikit-learn may change that between versions. What is private is made again from them,
by a fit to one or two rows where scikit-learn offers no other way.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from inspect import Parameter, signature
from typing import Any

import numpy as np

from ._fitted import Attributes, estimator
from .tree import Fields, Names, Record

__all__ = ["changed", "fitted_to", "transformer"]


def changed(value: Any) -> Names:
    """Return the parameters that differ from their defaults.

    So that a file does not name parameters that another version lacks.
    """
    parameters = list(signature(type(value).__init__).parameters.values())[1:]
    others = {}
    for p in parameters:
        given = getattr(value, p.name)
        is_same = given is p.default or (
            type(given) is type(p.default)
            and isinstance(given, str | int | float | bool | tuple)
            and given == p.default
        )
        if p.default is Parameter.empty or not is_same:
            others[p.name] = given
    return Names(others)


def transformer(
    kind: type,
    take: Callable[[Any], Mapping[str, Any]],
    make: Callable[[Any, Fields], Attributes],
    sign: str = "n_features_in_",
) -> Record:
    """Return the record of a transformer, which is fitted if it has the attribute."""

    def is_fitted(model: Any) -> bool:
        return hasattr(model, sign)

    def checked(model: Any, fields: Fields) -> Attributes:
        # What a fit checks first: its methods rely on these parameters.
        model._validate_params()
        return make(model, fields)

    return estimator("sklearn", kind, take, checked, is_fitted, changed)


def fitted_to(model: Any, rows: np.ndarray, fields: Fields) -> Attributes:
    """Return what a fit to some rows adds to a model."""
    before = set(vars(model))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows)
    except (AttributeError, IndexError, OverflowError, TypeError) as error:
        raise ValueError(f"{fields.name} cannot be made: {error}.") from None
    return {name: v for name, v in vars(model).items() if name not in before}
