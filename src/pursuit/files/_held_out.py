"""Records of the models of the folds, and of what follows from them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pursuit.calibration import Isotonic, Temperature
from pursuit.fitting.held_out import FoldPath
from pursuit.functions import Functions
from pursuit.path import OrthogonalPath, Path, SeparatePaths

from ._functions import check_columns
from .tree import Fields, Record

__all__ = ["RECORDS", "check_folds"]


def check_folds(folds: list[FoldPath], path: Any, n_features: int, owner: str) -> None:
    """Raise a ValueError unless these are folds of a model with such a path."""
    counts = [p.n_outputs for p in path.paths]
    for fold in folds:
        if [p.n_outputs for p in fold.path.paths] != counts:
            raise ValueError(f"The folds of {owner} have other outputs than the model.")
        check_columns(fold.functions, n_features, owner)


def _take_fold(value: FoldPath) -> Mapping[str, Any]:
    return {
        "path": value.path,
        "functions": value.functions,
        "values": value.values,
        "targets": value.Y,
        "weight": value.weight,
        "longest": list(map(int, value.longest)),
        "is_optimal": bool(value.is_optimal),
    }


def _make_fold(fields: Fields) -> FoldPath:
    path = fields.only("path", Path, SeparatePaths)
    functions = fields.only("functions", Functions)
    if len(functions) != len(path.support):
        raise fields.error("functions", "are not those of the path")
    longest = fields.all_of("longest", int)
    if len(longest) != len(path.paths) or min(longest) < 0:
        raise fields.error("longest", "must be a size for each path")
    is_optimal = fields.flag("is_optimal")
    if is_optimal and not all(isinstance(p, OrthogonalPath) for p in path.paths):
        raise fields.error("is_optimal", "is wrong: the path has no triangle")
    return FoldPath(
        path=path,
        functions=functions,
        values=fields.array("values", "f", "n", len(functions)),
        Y=fields.array("targets", "f", "n", sum(p.n_outputs for p in path.paths)),
        weight=fields.array("weight", "f", "n", above=0.0),
        longest=tuple(longest),
        is_optimal=is_optimal,
    )


def _take_isotonic(value: Isotonic) -> Mapping[str, Any]:
    return {"values": list(value.values), "shares": list(value.shares)}


def _make_isotonic(fields: Fields) -> Isotonic:
    values = fields.all_of("values", np.ndarray)
    shares = fields.all_of("shares", np.ndarray)
    is_right = bool(values) and len(values) == len(shares)
    for v, s in zip(values, shares, strict=False):
        is_right &= v.shape == s.shape and v.ndim == 1 and len(v) > 0
        is_right &= v.dtype == s.dtype == np.float64
        if is_right:
            fields.check_range("shares", s, least=0.0, below=1.0)
            fields.check_range("values", v)
            is_right = bool(np.all(np.diff(v) >= 0) and np.all(np.diff(s) >= 0))
    if not is_right:
        raise fields.error("values", "must be rising numbers, as many as shares")
    return Isotonic(tuple(values), tuple(shares))


RECORDS = (
    Record("held_out.Fold", FoldPath, _take_fold, _make_fold),
    Record(
        "held_out.Temperature",
        Temperature,
        lambda value: {"factor": float(value.factor)},
        lambda fields: Temperature(fields.number("factor", least=0.0)),
    ),
    Record("held_out.Isotonic", Isotonic, _take_isotonic, _make_isotonic),
)
