"""Records of what joins transformers and models: columns, unions, pipelines."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.compose import (
    ColumnTransformer,
    TransformedTargetRegressor,
    make_column_selector,
)
from sklearn.pipeline import FeatureUnion, Pipeline

from ._components import component, restored
from ._fitted import Attributes, read_output, take_output
from ._transformers import changed, transformer
from .tree import Fields, Names, Record, RefusalError

__all__ = ["PIPELINES"]


# -- columns and pipelines ---------------------------------------------------------


def _take_columns(model: Any) -> Mapping[str, Any]:
    indices = model._transformer_to_input_indices
    return {
        "transformers": [
            [name, part, _selection(columns), list(map(int, indices[name]))]
            for name, part, columns in model.transformers_
        ],
        "remainder": list(map(int, indices.get("remainder", []))),
        "remainder_columns": _selection(model._remainder[2]),
        # Neither is there without any output.
        "is_sparse": bool(getattr(model, "sparse_output_", False)),
        "outputs": [
            [name, int(where.start), int(where.stop)]
            for name, where in getattr(model, "output_indices_", {}).items()
        ],
    }


def _selection(columns: Any) -> Any:
    """Return which columns are meant; scikit-learn has a list of its own for some."""
    is_wrapped = hasattr(columns, "data") and hasattr(columns, "append")
    return list(columns) if is_wrapped else columns


def _make_columns(model: Any, fields: Fields) -> Attributes:
    d = model.n_features_in_
    fitted, places = [], {}
    for entry in fields.all_of("transformers", list):
        if len(entry) != 4 or not isinstance(entry[0], str):
            raise fields.error("transformers", "must have a name, steps and columns")
        name, part, columns, indices = entry
        places[name] = _read_places(indices, d, fields)
        _check_part(part, len(places[name]), fields)
        _check_selection(columns, fields)
        fitted.append((name, part, columns))
    given = _given_names(model, fields)
    rest = [name for name, _, _ in fitted[len(given) :]]
    if [name for name, _, _ in fitted] != given + rest or rest not in (
        [],
        ["remainder"],
    ):
        raise fields.error("transformers", "are not those of the parameters")
    remainder = _read_places(fields.any("remainder"), d, fields)
    places.setdefault("remainder", remainder)
    outputs = {}
    for entry in fields.all_of("outputs", list):
        if len(entry) != 3 or not all(type(n) is int and n >= 0 for n in entry[1:]):
            raise fields.error("outputs", "must have a name, a start and a stop")
        outputs[str(entry[0])] = slice(*entry[1:])
    columns = fields.any("remainder_columns")
    _check_selection(columns, fields)
    model.n_jobs = _bounded_jobs(model.n_jobs, fields)
    return {
        "transformers_": fitted,
        "sparse_output_": fields.flag("is_sparse"),
        "output_indices_": outputs,
        "_columns": [columns for _, _, columns in fitted[: len(given)]],
        "_transformer_to_input_indices": places,
        "_remainder": ("remainder", model.remainder, columns),
    }


def _given_names(model: Any, fields: Fields) -> list[str]:
    """Return the names of the parts, as the parameter has them."""
    given = model.transformers
    is_right = isinstance(given, list) and all(
        isinstance(part, tuple) and len(part) == 3 and isinstance(part[0], str)
        for part in given
    )
    if not is_right:
        raise fields.error("transformers", "must be a list of tuples")
    return [part[0] for part in given]


def _read_places(indices: Any, n: int, fields: Fields) -> list[int]:
    is_list = isinstance(indices, list)
    if not is_list or not all(type(i) is int and 0 <= i < n for i in indices):
        raise fields.error("transformers", "have columns that do not exist")
    return list(indices)


def _check_part(part: Any, n_columns: int, fields: Fields) -> None:
    """Raise a ValueError unless a part can prepare so many columns."""
    if isinstance(part, str) and part in ("drop", "passthrough"):
        return
    is_step = hasattr(part, "transform")
    if not is_step or getattr(part, "n_features_in_", n_columns) != n_columns:
        raise fields.error("transformers", f"must be for {n_columns} columns")


def _check_selection(columns: Any, fields: Fields) -> None:
    items = columns if isinstance(columns, list) else [columns]
    if isinstance(columns, np.ndarray):
        items = columns.tolist()
    if not all(isinstance(i, str | int | slice) for i in items):
        raise fields.error("transformers", "have columns that are no names or numbers")


def _take_pipeline(model: Pipeline) -> Mapping[str, Any]:
    if model.memory is not None:
        raise RefusalError("its parameter memory names a cache: set memory=None")
    if getattr(model, "transform_input", None) is not None:
        raise RefusalError("its parameter transform_input routes metadata: set None")
    return {
        "steps": [[name, step] for name, step in model.steps],
        "verbose": bool(model.verbose),
    }


def _make_pipeline(fields: Fields) -> Pipeline:
    steps = []
    for entry in fields.all_of("steps", list):
        if len(entry) != 2 or not isinstance(entry[0], str):
            raise fields.error("steps", "must have a name and an estimator each")
        name, step = entry
        is_empty = step is None or (isinstance(step, str) and step == "passthrough")
        if not is_empty and not hasattr(step, "fit"):
            raise fields.error("steps", f"must be estimators; {name!r:.30} is none")
        steps.append((name, step))
    if not steps:
        raise fields.error("steps", "must not be empty")
    for _, step in steps[:-1]:
        if step not in (None, "passthrough") and not hasattr(step, "transform"):
            raise fields.error("steps", "must transform, all but the last")
    return Pipeline(steps, verbose=fields.flag("verbose"))


# -- unions ------------------------------------------------------------------------


def _take_union(model: FeatureUnion) -> Mapping[str, Any]:
    # Its list holds the fitted transformers: there is nothing else of a fit.
    return {"parameters": changed(model), **take_output(model)}


def _make_union(fields: Fields) -> FeatureUnion:
    union = restored(FeatureUnion, fields.names("parameters"), fields.name)
    _check_union(union, fields)
    union.n_jobs = _bounded_jobs(union.n_jobs, fields)
    read_output(union, fields)
    return union


def _check_union(union: FeatureUnion, fields: Fields) -> None:
    parts, weights = union.transformer_list, union.transformer_weights
    is_list = isinstance(parts, list) and parts
    if not is_list or not all(isinstance(p, tuple) and len(p) == 2 for p in parts):
        raise fields.error("transformer_list", "must be a list of pairs")
    for name, part in parts:
        is_word = isinstance(part, str) and part in ("drop", "passthrough")
        if not isinstance(name, str) or not (is_word or hasattr(part, "transform")):
            raise fields.error("transformer_list", "must be names and transformers")
    is_dict = type(weights) is dict
    if weights is not None and not (
        is_dict and all(isinstance(w, int | float) for w in weights.values())
    ):
        raise fields.error("transformer_weights", "must be numbers by name")


def _bounded_jobs(n_jobs: Any, fields: Fields) -> int | None:
    """Return a number of processes, at most as many as this machine has cores.

    A file from elsewhere must not start thousands.
    """
    if n_jobs is None:
        return None
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or not n_jobs:
        raise fields.error("n_jobs", "must be a whole number, not 0")
    return min(n_jobs, os.cpu_count() or 1)


# -- targets -----------------------------------------------------------------------


def _take_targets(model: TransformedTargetRegressor) -> Mapping[str, Any]:
    fitted = None
    if hasattr(model, "regressor_"):
        fitted = Names(
            regressor=model.regressor_,
            transformer=model.transformer_,
            # Of the target, which predictions have, too.
            n_dimensions=int(model._training_dim),
        )
    return {"parameters": changed(model), "fitted": fitted}


def _make_targets(fields: Fields) -> TransformedTargetRegressor:
    name, kind = fields.name, TransformedTargetRegressor
    model = restored(kind, fields.names("parameters"), name)
    if model.regressor is not None and not hasattr(model.regressor, "get_params"):
        raise fields.error("regressor", "must be a regressor or null")
    if not fields.has("fitted"):
        return model
    inner = Fields(name, fields.names("fitted"))
    regressor, transformer_ = inner.any("regressor"), inner.any("transformer")
    if not hasattr(regressor, "predict"):
        raise inner.error("regressor", "must be a regressor")
    if not hasattr(transformer_, "inverse_transform"):
        raise inner.error("transformer", "must be a transformer with an inverse")
    model.regressor_, model.transformer_ = regressor, transformer_
    model._training_dim = inner.whole("n_dimensions", 1, 2)
    names = getattr(regressor, "feature_names_in_", None)
    if names is not None:
        model.feature_names_in_ = names
    inner.check_all_used()
    return model


PIPELINES = (
    transformer(ColumnTransformer, _take_columns, _make_columns, "transformers_"),
    Record("sklearn.FeatureUnion", FeatureUnion, _take_union, _make_union),
    Record("sklearn.Pipeline", Pipeline, _take_pipeline, _make_pipeline),
    Record(
        "sklearn.TransformedTargetRegressor",
        TransformedTargetRegressor,
        _take_targets,
        _make_targets,
    ),
    component("sklearn", make_column_selector),
)
