"""Records of the estimators by local subspaces, and of the prototypes they keep."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pursuit._ranges import check_squares
from pursuit.estimators.neighbors import (
    CKNNClassifier,
    CondensedNeighbors,
    DropNeighbors,
    EditedNeighbors,
    HKNNClassifier,
    HKNNRegressor,
    PrototypePursuit,
)
from pursuit.estimators.neighbors._fitting import Fitted as FittedClassifier
from pursuit.estimators.neighbors._fitting import TrainingRows
from pursuit.estimators.neighbors._reference import TangentsOf
from pursuit.estimators.neighbors.regressor import Fitted as FittedRegressor
from pursuit.neighbors import ImageTangents
from pursuit.neighbors.leave_one_out import Table
from pursuit.neighbors.models import NearestSubspace, Reconstruction
from pursuit.neighbors.prototypes import PrototypePath
from pursuit.neighbors.queries import Reference
from pursuit.neighbors.search import ClassSearch
from pursuit.neighbors.subspaces import Hulls, Hyperplanes

from ._components import component
from ._fitted import Attributes, estimator, read_classes
from .tree import Fields, Record, RefusalError

__all__ = ["RECORDS"]

# The largest power of 2 by which targets may be divided, with room.
_EXPONENTS = 1100


def _points(fields: Fields, n_features: int) -> np.ndarray:
    """Return the reference points, whose type is that of the fit."""
    points = fields.array("points", "f", "l", n_features, keep=True)
    if not len(points):
        raise fields.error("points", "must not be empty")
    check_squares(points)
    return np.ascontiguousarray(points)


def _no_search(model: Any) -> None:
    if model.search is not None:
        raise RefusalError(
            f"its parameter search is a {type(model.search).__name__}, which a file "
            "cannot hold; with search=None it could be"
        )


# -- classifiers -------------------------------------------------------------------


def _take_classifier(model: Any) -> Mapping[str, Any]:
    _no_search(model)
    fitted = model._fitted
    near, columns = fitted.model, fitted.columns
    tangents = near.reference.tangents_of
    return {
        "classes": model.classes_,
        "points": near.reference.points,
        "rows": model.reference_,
        "codes": columns.codes,
        "tangents": None if tangents is None else tangents.tangents,
        "penalty": float(fitted.penalty),
        "n_components": float(getattr(near.shape, "n_components", 0.0)),
        "n_neighbors": int(near.n_neighbors),
        "unit": float(near.unit),
        "temperature": fitted.temperature,
        "table": fitted.table,
    }


def _make_classifier(model: Any, fields: Fields) -> Attributes:
    d = model.n_features_in_
    classes = read_classes(fields, "classes")
    points = _points(fields, d)
    codes = fields.array("codes", "i", "n", least=0, below=len(classes))
    rows = fields.array("rows", "i", "l", least=0, below=len(codes))
    if (np.diff(rows) <= 0).any():
        raise fields.error("rows", "must rise")
    if len(np.unique(codes[rows])) < len(classes):
        raise fields.error("rows", "lack a class")
    search = ClassSearch(points, codes[rows], len(classes), None)
    tangents = _tangents(fields, points)
    reference = Reference(points, len(classes), search, tangents)
    penalty = fields.number("penalty", least=0.0)
    n_components = fields.number("n_components", least=0.0)
    shape: Hulls | Hyperplanes = Hulls()
    if isinstance(model, HKNNClassifier):
        shape = Hyperplanes(penalty, n_components)
    n_neighbors = fields.whole("n_neighbors", 1, search.largest)
    near = NearestSubspace(
        reference, shape, n_neighbors, fields.number("unit", least=0)
    )
    training = TrainingRows(np.empty((len(codes), 0)), codes, rows, None)
    fitted = FittedClassifier(
        near,
        training.columns(len(classes)),
        penalty,
        fields.only("table", Table, optional=True),
        fields.number("temperature", above=0.0, optional=True),
    )
    model._set_fitted(fitted)
    return {"classes_": classes, "reference_": rows}


def _tangents(fields: Fields, points: np.ndarray) -> TangentsOf | None:
    value = fields.any("tangents")
    if value is None:
        return None
    if isinstance(value, ImageTangents):
        value(points[:1])  # says what is wrong with its parameters
    else:
        value = fields.array("tangents", "f", "l", "m", points.shape[1], keep=True)
    return TangentsOf(value, points)


# -- regressor ---------------------------------------------------------------------


def _take_regressor(model: Any) -> Mapping[str, Any]:
    _no_search(model)
    fitted = model._fitted
    return {
        "points": fitted.model.reference.points,
        "values": fitted.model.values,
        "exponents": fitted.exponents,
        "is_single": bool(fitted.has_one_output),
        "penalty": float(model.penalty_),
        "n_neighbors": int(model.n_neighbors_),
        "table": model.loo_table_,
    }


def _make_regressor(model: Any, fields: Fields) -> Attributes:
    points = _points(fields, model.n_features_in_)
    search = ClassSearch(points, np.zeros(len(points), dtype=np.intp), 1, None)
    values = np.ascontiguousarray(fields.array("values", "f", "l", "T"))
    exponents = fields.array(
        "exponents", "i", "T", least=-_EXPONENTS, below=_EXPONENTS
    ).astype(np.int32)
    penalty = fields.number("penalty", least=0.0)
    n_neighbors = fields.whole("n_neighbors", 1, len(points))
    is_single = fields.flag("is_single")
    if not len(exponents) or (is_single and len(exponents) != 1):
        raise fields.error("exponents", "are too many or too few")
    fitted = FittedRegressor(
        Reconstruction(Reference(points, 1, search), values),
        exponents,
        np.array([penalty]),
        np.array([n_neighbors]),
        is_single,
    )
    return {
        "_fitted": fitted,
        "penalty_": penalty,
        "n_neighbors_": n_neighbors,
        "loo_table_": fields.only("table", Table, optional=True),
    }


# -- prototypes ----------------------------------------------------------------------


def _take_selector(model: Any) -> Mapping[str, Any]:
    return {
        "classes": model.classes_,
        "support": model.support_,
        "points": model.support_vectors_,
    }


def _make_selector(model: Any, fields: Fields) -> Attributes:
    support = fields.array("support", "i", "l", least=0)
    if len(np.unique(support)) < max(1, len(support)):
        raise fields.error("support", "must be different rows")
    return {
        "classes_": read_classes(fields, "classes"),
        "support_": support,
        "support_vectors_": fields.array("points", "f", "l", model.n_features_in_),
        "n_support_": len(support),
    }


def _take_pursuit(model: Any) -> Mapping[str, Any]:
    path = model.path_
    return {
        **_take_selector(model),
        "losses": path.losses,
        "mistakes": path.mistakes,
        "stop_reason": path.stop_reason,
    }


def _make_pursuit(model: Any, fields: Fields) -> Attributes:
    attributes = _make_selector(model, fields)
    path = PrototypePath(
        attributes["support_"],
        fields.array("losses", "f", "l"),
        fields.array("mistakes", "f", "l", least=0.0),
        len(attributes["classes_"]),
        fields.only("stop_reason", str),
    )
    return {**attributes, "path_": path}


def _is_chosen(model: Any) -> bool:
    return hasattr(model, "support_")


# -- tables ------------------------------------------------------------------------


def _take_table(table: Table) -> Mapping[str, Any]:
    return {
        "n_neighbors": table.n_neighbors,
        "penalties": table.penalties,
        "errors": table.errors,
        "n_samples": int(table.n_samples),
    }


def _make_table(fields: Fields) -> Table:
    return Table(
        n_neighbors=fields.array("n_neighbors", "i", "K"),
        penalties=fields.array("penalties", "f", "L"),
        errors=fields.array("errors", "f", "L", "K", finite=False),
        n_samples=fields.whole("n_samples"),
    )


def _is_fitted(model: Any) -> bool:
    return hasattr(model, "_fitted")


RECORDS = (
    *(
        estimator("neighbors", kind, _take_classifier, _make_classifier, _is_fitted)
        for kind in (CKNNClassifier, HKNNClassifier)
    ),
    estimator("neighbors", HKNNRegressor, _take_regressor, _make_regressor, _is_fitted),
    *(
        estimator("neighbors", kind, _take_selector, _make_selector, _is_chosen)
        for kind in (CondensedNeighbors, DropNeighbors, EditedNeighbors)
    ),
    estimator("neighbors", PrototypePursuit, _take_pursuit, _make_pursuit, _is_chosen),
    Record("neighbors.Table", Table, _take_table, _make_table),
    component("neighbors", ImageTangents),
)
