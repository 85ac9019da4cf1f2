"""Records of scikit-learn's transformers of numbers, and of all its other parts."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from ._encoders import ENCODERS
from ._fitted import Attributes
from ._pipelines import PIPELINES
from ._transformers import changed, fitted_to, transformer
from .tree import Fields, Record, RefusalError

__all__ = ["RECORDS"]

# Columns that products of features may be made of, and may make.
_MOST_FEATURES, _MOST_PRODUCTS = 10_000, 100_000


def _floats(fields: Fields, key: str, *shape: str | int, **limits: Any) -> Any:
    """Return an array of the precision in which it was fitted."""
    return fields.array(key, "f", *shape, keep=True, **limits)


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
            values[name] = _floats(
                fields, name, d, finite=False, optional=not is_needed
            )
        if fields.has("n_samples_seen_"):
            values["n_samples_seen_"] = _read_count(fields, "n_samples_seen_", d)
        return values

    return transformer(kind, take, make)


def _nothing(model: Any) -> Mapping[str, Any]:
    return {}


def _no_attributes(model: Any, fields: Fields) -> Attributes:
    return {}


def _take_quantiles(model: Any) -> Mapping[str, Any]:
    return {"quantiles": model.quantiles_, "references": model.references_}


def _make_quantiles(model: Any, fields: Fields) -> Attributes:
    references = _floats(fields, "references", "q")
    d = model.n_features_in_
    quantiles = _floats(fields, "quantiles", "q", d, finite=False)
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
    attributes: Attributes = {"lambdas_": _floats(fields, "lambdas", d, finite=False)}
    mean, scale, var = (
        _floats(fields, name, d, finite=False, optional=True)
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
    # NumPy's functions are known by name; the parameters tell them, or refuse them.
    if model.kw_args and (model.func or model.inverse_func) is not None:
        raise RefusalError("it gives its function more arguments, kw_args")
    return {}


def _make_function(model: Any, fields: Fields) -> Attributes:
    functions = [f for f in (model.func, model.inverse_func) if f is not None]
    if not all(isinstance(f, np.ufunc) for f in functions):
        raise fields.error("func", "must be null or a function of NumPy")
    if model.kw_args and functions:
        raise fields.error("kw_args", "must be null")
    return {}


def _make_products(model: Any, fields: Fields) -> Attributes:
    degree, d = model.degree, model.n_features_in_
    highest = degree[-1] if isinstance(degree, tuple) and degree else degree
    is_whole = isinstance(highest, int) and not isinstance(highest, bool)
    if not is_whole or not 0 <= highest <= 20 or d > _MOST_FEATURES:
        raise fields.error("degree", "is out of range")
    made = fitted_to(PolynomialFeatures(**changed(model)), np.zeros((1, d)), fields)
    if made["n_output_features_"] > _MOST_PRODUCTS:
        raise fields.error("degree", "makes too many products")
    return made


# -- components --------------------------------------------------------------------


def _take_components(model: Any) -> Mapping[str, Any]:
    components = model.components_
    parts = {
        "components": components,
        # By which way it lies in memory, products differ in the last digit.
        "is_transposed": len(components) > 1 and not components.flags.c_contiguous,
        "variances": model.explained_variance_,
        "ratios": model.explained_variance_ratio_,
        "singular_values": model.singular_values_,
    }
    if isinstance(model, PCA):
        parts["mean"] = model.mean_
        parts["noise"] = float(model.noise_variance_)
        parts["n_samples"] = int(model.n_samples_)
    return parts


def _make_components(model: Any, fields: Fields) -> Attributes:
    d = model.n_features_in_

    array = partial(_floats, fields)
    components = array("components", "c", d)
    if fields.flag("is_transposed"):
        components = np.asfortranarray(components)
    attributes = {
        "components_": components,
        "explained_variance_": array("variances", "c"),
        # NaN if nothing varies.
        "explained_variance_ratio_": array("ratios", "c", finite=False),
        "singular_values_": array("singular_values", "c"),
    }
    if isinstance(model, PCA):
        attributes["mean_"] = array("mean", d)
        attributes["n_components_"] = len(components)
        attributes["noise_variance_"] = fields.number("noise")
        attributes["n_samples_"] = fields.whole("n_samples", 1)
    return attributes


RECORDS: tuple[Record, ...] = (
    _scaler(StandardScaler, mean_="with_mean", scale_="with_std", var_=None),
    _scaler(
        MinMaxScaler, min_="", scale_="", data_min_="", data_max_="", data_range_=""
    ),
    _scaler(MaxAbsScaler, scale_="", max_abs_=""),
    _scaler(RobustScaler, center_="with_centering", scale_="with_scaling"),
    transformer(Normalizer, _nothing, _no_attributes),
    transformer(FunctionTransformer, _take_function, _make_function),
    transformer(PolynomialFeatures, _nothing, _make_products, "n_output_features_"),
    transformer(QuantileTransformer, _take_quantiles, _make_quantiles, "quantiles_"),
    transformer(PowerTransformer, _take_powers, _make_powers, "lambdas_"),
    transformer(PCA, _take_components, _make_components, "components_"),
    transformer(TruncatedSVD, _take_components, _make_components, "components_"),
    *ENCODERS,
    *PIPELINES,
)
