"""Records of scikit-learn's preprocessing, column transformers and pipelines.

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
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from ._components import component
from ._fitted import Attributes, estimator
from .tree import Fields, Names, Record, RefusalError

__all__ = ["RECORDS"]

# Columns that products of features may be made of, and may make.
_MOST_FEATURES, _MOST_PRODUCTS = 10_000, 100_000
# How often a category that is not rare occurs, for an encoder made again.
_OFTEN = 10**9


def _changed(value: Any) -> Names:
    """Return the parameters that differ from their defaults.

    So that a file does not name parameters that another version lacks.
    """
    parameters = list(signature(type(value).__init__).parameters.values())[1:]
    changed = {}
    for p in parameters:
        given = getattr(value, p.name)
        is_same = given is p.default or (
            type(given) is type(p.default)
            and isinstance(given, str | int | float | bool | tuple)
            and given == p.default
        )
        if p.default is Parameter.empty or not is_same:
            changed[p.name] = given
    return Names(changed)


def _record(
    kind: type,
    take: Callable[[Any], Mapping[str, Any]],
    make: Callable[[Any, Fields], Attributes],
    sign: str = "n_features_in_",
) -> Record:
    def is_fitted(model: Any) -> bool:
        return hasattr(model, sign)

    def checked(model: Any, fields: Fields) -> Attributes:
        # What a fit checks first: its methods rely on these parameters.
        model._validate_params()
        return make(model, fields)

    return estimator("sklearn", kind, take, checked, is_fitted, _changed)


# -- scalers and other attributes by name ------------------------------------------


def _take_count(value: Any) -> Any:
    """Return a number of rows: one, or one for each column."""
    if isinstance(value, np.ndarray):
        return value.astype(np.float64)
    return float(value)


def _read_count(fields: Fields, key: str, d: int) -> Any:
    if isinstance(fields.any(key), np.ndarray):
        counts = fields.array(key, "f", d, least=0.0)
        return counts.astype(np.int64) if (counts % 1 == 0).all() else counts
    count = fields.number(key, least=0.0)
    return int(count) if count.is_integer() and count < 1 << 53 else count


def _scaler(kind: type, **names: str | None) -> Record:
    """Return the record of a scaler, whose attributes have a number per column.

    Each is named with the parameter without which it may be missing, "" if it is
    always there, None if nothing needs it.
    """

    def take(model: Any) -> Mapping[str, Any]:
        values = {name: getattr(model, name) for name in names}
        if hasattr(model, "n_samples_seen_"):
            values["n_samples_seen_"] = _take_count(model.n_samples_seen_)
        return values

    def make(model: Any, fields: Fields) -> Attributes:
        d = model.n_features_in_
        # NaN is the mean of a column that is all missing.
        values: Attributes = {}
        for name, needs in names.items():
            is_needed = needs is not None and (not needs or getattr(model, needs))
            values[name] = fields.array(
                name, "f", d, finite=False, optional=not is_needed
            )
        if fields.has("n_samples_seen_"):
            values["n_samples_seen_"] = _read_count(fields, "n_samples_seen_", d)
        return values

    return _record(kind, take, make)


def _nothing(model: Any) -> Mapping[str, Any]:
    return {}


def _no_attributes(model: Any, fields: Fields) -> Attributes:
    return {}


def _take_quantiles(model: Any) -> Mapping[str, Any]:
    return {"quantiles": model.quantiles_, "references": model.references_}


def _make_quantiles(model: Any, fields: Fields) -> Attributes:
    references = fields.array("references", "f", "q")
    d = model.n_features_in_
    quantiles = fields.array("quantiles", "f", "q", d, finite=False)
    if not len(references):
        raise fields.error("references", "must not be empty")
    return {
        "quantiles_": quantiles,
        "references_": references,
        "n_quantiles_": len(references),
    }


def _take_powers(model: Any) -> Mapping[str, Any]:
    scaler = model._scaler if model.standardize else None
    return {
        "lambdas": model.lambdas_,
        "mean": None if scaler is None else scaler.mean_,
        "scale": None if scaler is None else scaler.scale_,
        "var": None if scaler is None else scaler.var_,
    }


def _make_powers(model: Any, fields: Fields) -> Attributes:
    d = model.n_features_in_
    attributes: Attributes = {"lambdas_": fields.array("lambdas", "f", d, finite=False)}
    mean, scale, var = (
        fields.array(name, "f", d, finite=False, optional=True)
        for name in ("mean", "scale", "var")
    )
    if model.standardize:
        scaler = StandardScaler(copy=False)
        if mean is None or scale is None:
            raise fields.error("mean", "and scale are needed to standardize")
        scaler.mean_, scaler.scale_, scaler.var_ = mean, scale, var
        scaler.n_features_in_ = d
        attributes["_scaler"] = scaler
    return attributes


def _take_function(model: Any) -> Mapping[str, Any]:
    if model.func is not None or model.inverse_func is not None:
        function = model.func or model.inverse_func
        name = getattr(function, "__name__", repr(function))
        raise RefusalError(f"it calls the function {name!r}")
    return {}


def _make_function(model: Any, fields: Fields) -> Attributes:
    if model.func is not None or model.inverse_func is not None:
        raise fields.error("func", "must be null")
    return {}


def _make_products(model: Any, fields: Fields) -> Attributes:
    degree, d = model.degree, model.n_features_in_
    highest = degree[-1] if isinstance(degree, tuple) and degree else degree
    is_whole = isinstance(highest, int) and not isinstance(highest, bool)
    if not is_whole or not 0 <= highest <= 20 or d > _MOST_FEATURES:
        raise fields.error("degree", "is out of range")
    made = _fitted(PolynomialFeatures(**_changed(model)), np.zeros((1, d)), fields)
    if made["n_output_features_"] > _MOST_PRODUCTS:
        raise fields.error("degree", "makes too many products")
    return made


def _fitted(model: Any, rows: np.ndarray, fields: Fields) -> Attributes:
    """Return what a fit to some rows adds to a model."""
    before = set(vars(model))
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(rows)
    except (AttributeError, IndexError, OverflowError, TypeError) as error:
        raise ValueError(f"{fields.name} cannot be made: {error}.") from None
    return {name: v for name, v in vars(model).items() if name not in before}


# -- imputers ----------------------------------------------------------------------


def _take_imputer(model: Any) -> Mapping[str, Any]:
    indicator = model.indicator_
    return {
        "statistics": model.statistics_,
        "has_words": model.statistics_.dtype.kind == "O" and _has_words(model),
        "flagged": None if indicator is None else indicator.features_,
    }


def _has_words(model: Any) -> bool:
    return getattr(model, "_fit_dtype", np.dtype(object)).kind == "O"


def _make_imputer(model: Any, fields: Fields) -> Attributes:
    d = model.n_features_in_
    statistics = fields.only("statistics", np.ndarray)
    if statistics.shape != (d,):
        raise fields.error("statistics", "must be one for each column")
    flagged = fields.array("flagged", "i", "f", least=0, below=d, optional=True)
    if (flagged is not None) != bool(model.add_indicator):
        raise fields.error("flagged", "contradicts add_indicator")
    # Two rows: one of values, and one that lacks those that were missing somewhere.
    rows = np.zeros((2, d))
    if fields.flag("has_words"):
        rows = np.full((2, d), "", dtype=object)
    missing = model.missing_values
    rows[:] = [["" if v == missing else v for v in row] for row in rows.tolist()]
    rows[1, [] if flagged is None else flagged] = missing
    made = _fitted(SimpleImputer(**_changed(model)), rows, fields)
    return {**made, "statistics_": statistics}


# -- encoders ----------------------------------------------------------------------


def _take_encoder(model: Any) -> Mapping[str, Any]:
    infrequent = getattr(model, "infrequent_categories_", None)
    values: dict[str, Any] = {"categories": list(model.categories_)}
    if infrequent is not None and any(c is not None for c in infrequent):
        values["infrequent"] = list(model._infrequent_indices)
    return values


def _make_encoder(model: Any, fields: Fields) -> Attributes:
    d = model.n_features_in_
    categories = fields.all_of("categories", np.ndarray)
    if len(categories) != d or any(c.ndim != 1 or not len(c) for c in categories):
        raise fields.error("categories", "must be one list for each column")
    # One row of known categories; with categories given, the fit learns nothing else.
    is_object = any(c.dtype.kind in "OU" for c in categories)
    row = np.empty((1, d), dtype=object if is_object else np.float64)
    row[0] = [c[0] for c in categories]
    parameters = {**_changed(model), "categories": categories}
    grouping = ("min_frequency", "max_categories")
    plain = {k: v for k, v in parameters.items() if k not in grouping}
    made = _fitted(type(model)(**plain), row, fields)
    made["categories_"] = categories
    if fields.has("infrequent"):
        made = _grouped(model, made, fields)
    return made


def _grouped(model: Any, made: Attributes, fields: Fields) -> Attributes:
    """Return the attributes of an encoder that groups rare categories."""
    rare, categories = fields.only("infrequent", list), made["categories_"]
    if len(rare) != len(categories):
        raise fields.error("infrequent", "must be one list for each column")
    inner = type(model)(**_changed(model))
    counts = []
    for indices, known in zip(rare, categories, strict=True):
        count = np.full(len(known), _OFTEN, dtype=np.int64)
        if indices is not None:
            part = Fields(fields.name, {"infrequent": indices})
            part.array("infrequent", "i", "r", least=0, below=len(known))
            count[indices] = 0
        counts.append(count)
    # scikit-learn groups by counts: rare ones get 0, all others as many as there are.
    vars(inner).update({**vars(model), **made})
    inner._infrequent_enabled = True
    try:
        missing = getattr(inner, "_missing_indices", {})
        inner._fit_infrequent_category_mapping(_OFTEN, counts, missing)
        if isinstance(inner, OneHotEncoder):
            inner._set_drop_idx()
            inner._n_features_outs = inner._compute_n_features_outs()
    except (AttributeError, IndexError, TypeError) as error:
        raise ValueError(f"{fields.name} cannot be made: {error}.") from None
    before = set(vars(model))
    return {name: value for name, value in vars(inner).items() if name not in before}


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


# -- plain values ------------------------------------------------------------------


RECORDS = (
    _scaler(StandardScaler, mean_="with_mean", scale_="with_std", var_=None),
    _scaler(
        MinMaxScaler, min_="", scale_="", data_min_="", data_max_="", data_range_=""
    ),
    _scaler(MaxAbsScaler, scale_="", max_abs_=""),
    _scaler(RobustScaler, center_="with_centering", scale_="with_scaling"),
    _record(Normalizer, _nothing, _no_attributes),
    _record(FunctionTransformer, _take_function, _make_function),
    _record(PolynomialFeatures, _nothing, _make_products, "n_output_features_"),
    _record(QuantileTransformer, _take_quantiles, _make_quantiles, "quantiles_"),
    _record(PowerTransformer, _take_powers, _make_powers, "lambdas_"),
    _record(SimpleImputer, _take_imputer, _make_imputer, "statistics_"),
    _record(OneHotEncoder, _take_encoder, _make_encoder, "categories_"),
    _record(OrdinalEncoder, _take_encoder, _make_encoder, "categories_"),
    _record(ColumnTransformer, _take_columns, _make_columns, "transformers_"),
    Record("sklearn.Pipeline", Pipeline, _take_pipeline, _make_pipeline),
    component("sklearn", make_column_selector),
)
