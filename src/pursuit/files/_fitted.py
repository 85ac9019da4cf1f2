"""What the records of all estimators share: parameters, columns, classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ._components import parameters_of, restored
from .tree import Fields, Names, Record

__all__ = [
    "estimator",
    "read_classes",
    "read_columns",
    "read_output",
    "take_output",
    "taken",
]

# Named attributes of a fitted estimator: what `take` returns, and what `make` restores.
Attributes = dict[str, Any]


def estimator(
    family: str,
    kind: type,
    take: Callable[[Any], Mapping[str, Any]],
    make: Callable[[Any, Fields], Attributes],
    is_fitted: Callable[[Any], bool],
    parameters: Callable[[Any], Names] = parameters_of,
) -> Record:
    """Return the record of an estimator: its parameters, and what a fit has added.

    Parameters
    ----------
    family : str
        First part of its name in files.
    kind : type
    take : callable
        ``take(model)`` returns what to write of a fitted model.
    make : callable
        ``make(model, fields)`` returns its attributes.
    is_fitted : callable
    parameters : callable
        ``parameters(model)`` returns the parameters to write.
    """
    name = f"{family}.{kind.__name__}"

    def take_all(model: Any) -> Mapping[str, Any]:
        fitted = Names({**_columns(model), **take(model)}) if is_fitted(model) else None
        parts = {"parameters": parameters(model), "fitted": fitted}
        return {**parts, **take_output(model)}

    def make_all(fields: Fields) -> Any:
        model = restored(kind, fields.names("parameters"), name)
        read_output(model, fields)
        if not fields.has("fitted"):
            return model
        inner = Fields(name, fields.names("fitted"))
        attributes = read_columns(inner)
        # Methods may ask for the number of columns while the rest is read.
        vars(model).update(attributes)
        vars(model).update(make(model, inner))
        inner.check_all_used()
        return model

    return Record(name, kind, take_all, make_all)


def take_output(model: Any) -> Attributes:
    """Return what set_output was asked for, if it was."""
    output = vars(model).get("_sklearn_output_config", {}).get("transform")
    return {} if output is None else {"output": output}


def read_output(model: Any, fields: Fields) -> None:
    """Ask a model for the output that its file names."""
    if fields.has("output"):
        output = fields.word("output", "default", "pandas", "polars")
        model._sklearn_output_config = {"transform": output}


def _columns(model: Any) -> Attributes:
    columns = {}
    for attribute in ("n_features_in_", "feature_names_in_"):
        if attribute in vars(model):
            columns[attribute] = getattr(model, attribute)
    return columns


def read_columns(fields: Fields) -> Attributes:
    """Return the number of features and, if they have some, their names."""
    columns: Attributes = {"n_features_in_": fields.whole("n_features_in_", 1)}
    if fields.has("feature_names_in_"):
        names = fields.only("feature_names_in_", np.ndarray)
        is_words = names.dtype == object and all(isinstance(n, str) for n in names.flat)
        if names.ndim != 1 or not is_words:
            raise fields.error("feature_names_in_", "must be words")
        if columns["n_features_in_"] != len(names):
            raise fields.error("feature_names_in_", "are too many or too few")
        columns["feature_names_in_"] = names
    return columns


def taken(model: Any, *attributes: str) -> Attributes:
    """Return those of the attributes that a model has."""
    return {name: getattr(model, name) for name in attributes if hasattr(model, name)}


def read_classes(fields: Fields, key: str = "classes_") -> np.ndarray:
    """Return the labels of at least two classes."""
    labels = fields.only(key, np.ndarray)
    if labels.ndim != 1 or len(labels) < 2:
        raise fields.error(key, "must be at least two labels")
    if len(set(labels.tolist())) < len(labels):
        raise fields.error(key, "holds a label twice")
    return labels
