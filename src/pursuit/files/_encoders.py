"""Records of imputers and of encoders of words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from ._fitted import Attributes
from ._transformers import changed, fitted_to, transformer
from .tree import Fields

__all__ = ["ENCODERS"]

# How often a category that is not rare occurs, for an encoder made again.
_OFTEN = 10**9


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
    made = fitted_to(SimpleImputer(**changed(model)), rows, fields)
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
    parameters = {**changed(model), "categories": categories}
    grouping = ("min_frequency", "max_categories")
    plain = {k: v for k, v in parameters.items() if k not in grouping}
    made = fitted_to(type(model)(**plain), row, fields)
    made["categories_"] = categories
    if fields.has("infrequent"):
        made = _grouped(model, made, fields)
    return made


def _grouped(model: Any, made: Attributes, fields: Fields) -> Attributes:
    """Return the attributes of an encoder that groups rare categories."""
    rare, categories = fields.only("infrequent", list), made["categories_"]
    if len(rare) != len(categories):
        raise fields.error("infrequent", "must be one list for each column")
    inner = type(model)(**changed(model))
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


ENCODERS = (
    transformer(SimpleImputer, _take_imputer, _make_imputer, "statistics_"),
    transformer(OneHotEncoder, _take_encoder, _make_encoder, "categories_"),
    transformer(OrdinalEncoder, _take_encoder, _make_encoder, "categories_"),
)
