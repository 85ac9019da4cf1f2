"""Records of sparse kernel PCA and CCA, and of learned metrics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pursuit.components.pairs import PairedPath
from pursuit.components.subspaces import Projection, SubspacePath
from pursuit.estimators.components import (
    SparseKernelCCA,
    SparseKernelPCA,
    SubspaceOutlierDetector,
)
from pursuit.estimators.components._views import SecondView, fitted_views
from pursuit.estimators.kmp import KMPClassifier, KMPRegressor
from pursuit.estimators.metric import LearnedMetric
from pursuit.kernels._base import KernelOn

from ._basics import check_rows
from ._fitted import Attributes, estimator
from ._kernels import check_kernel
from .tree import Fields, Record

__all__ = ["RECORDS"]


# -- paths -------------------------------------------------------------------------


def _take_path(path: SubspacePath) -> Mapping[str, Any]:
    return {
        "atoms": path.atoms,
        "gains": path.gains,
        "triangle": path.triangle,
        "means": path.means,
        "moments": path.moments,
        "total": float(path.total),
        "sup": float(path.sup),
        "n_samples": int(path.n_samples),
        "stop_reason": path.stop_reason,
    }


def _make_path(fields: Fields) -> SubspacePath:
    n_samples = fields.whole("n_samples", 1)
    atoms = fields.array("atoms", "i", "n", least=0, below=n_samples)
    triangle = fields.array("triangle", "f", "n", "n")
    if not len(atoms) or not np.all(np.diagonal(triangle)):
        raise fields.error("triangle", "is empty or has a 0 on its diagonal")
    return SubspacePath(
        atoms=atoms,
        gains=fields.array("gains", "f", "n", finite=False),
        triangle=triangle,
        means=fields.array("means", "f", "n"),
        moments=fields.array("moments", "f", "n", "n"),
        total=fields.number("total"),
        sup=fields.number("sup"),
        n_samples=n_samples,
        stop_reason=str(fields.text("stop_reason")),
    )


def _take_pair(path: PairedPath) -> Mapping[str, Any]:
    return {"first": path.first, "second": path.second, "cross": path.cross}


def _make_pair(fields: Fields) -> PairedPath:
    first, second = (fields.only(k, SubspacePath) for k in ("first", "second"))
    if len(first) != len(second):
        raise fields.error("second", "has another length than first")
    return PairedPath(first, second, fields.array("cross", "f", len(first), len(first)))


# -- estimators --------------------------------------------------------------------


def _read_points(fields: Fields, suffix: str, n: int, n_features: int) -> Any:
    """Return kernel and points of a view; None and no points if precomputed."""
    kernel = fields.any(f"kernel{suffix}")
    if kernel is None:
        fields.any(f"points{suffix}")
        return None, np.empty((0, 0))
    check_kernel(kernel, n_features, fields.name)
    return kernel, check_rows(fields, f"points{suffix}", n, n_features)


def _take_pca(model: Any) -> Mapping[str, Any]:
    return {
        "path": model.path_,
        "kernel": model._kernel,
        "points": None if model._kernel is None else model.support_vectors_,
        "components": model.components_,
        "offset": model._projection.offset,
        "variances": model.explained_variance_,
        "ratios": model.explained_variance_ratio_,
        "stop_reason": model.stop_reason_,
    }


def _make_pca(model: Any, fields: Fields) -> Attributes:
    path = fields.only("path", SubspacePath)
    kernel, points = _read_points(fields, "", len(path), model.n_features_in_)
    if kernel is None and path.atoms.max() >= model.n_features_in_:
        raise fields.error("path", "has rows that the kernel matrix lacks")
    components = fields.array("components", "f", "c", len(path))
    offset = fields.array("offset", "f", "c")
    on_points = None if kernel is None else KernelOn(kernel, points)
    return {
        "path_": path,
        "support_": path.atoms,
        "n_support_": len(path),
        "support_vectors_": points,
        "gamma_": getattr(kernel, "gamma", None),
        "components_": components,
        "n_components_": len(components),
        "explained_variance_": fields.array("variances", "f", "c"),
        "explained_variance_ratio_": fields.array("ratios", "f", "c"),
        "_projection": Projection(on_points, components, offset),
        "stop_reason_": fields.text("stop_reason"),
    }


def _take_cca(model: Any) -> Mapping[str, Any]:
    parts: dict[str, Any] = {"path": model.path_}
    points = model.x_support_vectors_, model.y_support_vectors_
    weights = model.x_weights_, model.y_weights_
    for suffix, view, Z, W in zip(
        ("", "_y"), model._views, points, weights, strict=True
    ):
        parts[f"kernel{suffix}"] = view.kernel
        parts[f"points{suffix}"] = None if view.kernel is None else Z
        parts[f"weights{suffix}"] = W
        parts[f"offset{suffix}"] = view.projection.offset
    names = vars(model._second).get("feature_names_in_")
    return {
        **parts,
        "n_features_y": int(model._views[1].n_features),
        "names_y": names,
        "correlations": getattr(model, "correlations_", None),
        "gaps": getattr(model, "_gaps", None),
        "stop_reason": model.stop_reason_,
    }


def _make_cca(model: Any, fields: Fields) -> Attributes:
    path = fields.only("path", PairedPath)
    counts = model.n_features_in_, fields.whole("n_features_y", 1)
    views = [
        _read_points(fields, suffix, len(path), d)
        for suffix, d in zip(("", "_y"), counts, strict=True)
    ]
    for (kernel, _), d in zip(views, counts, strict=True):
        if kernel is None and path.atoms.max() >= d:
            raise fields.error("path", "has rows that the kernel matrix lacks")
    weights = tuple(
        fields.array(f"weights{suffix}", "f", "c", len(path)) for suffix in ("", "_y")
    )
    offsets = tuple(fields.array(f"offset{suffix}", "f", "c") for suffix in ("", "_y"))
    (kernel_x, points_x), (kernel_y, points_y) = views
    attributes: Attributes = {
        "_views": fitted_views(
            path, (kernel_x, kernel_y), (points_x, points_y), counts, weights, offsets
        ),
        "_second": _second(fields, len(weights[0]), counts[1]),
        "x_weights_": weights[0],
        "y_weights_": weights[1],
        "n_components_": len(weights[0]),
        "path_": path,
        "support_": path.atoms,
        "n_support_": len(path),
        "x_support_vectors_": points_x,
        "y_support_vectors_": points_y,
        "gamma_": getattr(kernel_x, "gamma", None),
        "gamma_y_": getattr(kernel_y, "gamma", None),
        "stop_reason_": fields.text("stop_reason"),
    }
    if fields.has("correlations"):
        attributes["correlations_"] = fields.array("correlations", "f", "c")
    if fields.has("gaps"):
        attributes["_gaps"] = fields.array("gaps", "f", path.first.n_samples, "c")
    return attributes


def _second(fields: Fields, n_components: int, n_features: int) -> SecondView:
    """Return what knows the names of the second view."""
    second = SecondView(n_components)
    if not fields.has("names_y"):
        return second
    names = fields.only("names_y", np.ndarray)
    is_words = names.dtype == object and all(isinstance(n, str) for n in names.flat)
    if names.shape != (n_features,) or not is_words:
        raise fields.error("names_y", "must be a word for each column")
    second.feature_names_in_, second.n_features_in_ = names, n_features
    return second


def _take_outliers(model: Any) -> Mapping[str, Any]:
    return {
        "subspace": model.subspace_,
        "offset": float(model.offset_),
        "certified_rate": float(model.certified_rate_),
        "calibration": model._calibration,
    }


def _make_outliers(model: Any, fields: Fields) -> Attributes:
    subspace = fields.only("subspace", SparseKernelPCA)
    if subspace._kernel is None or subspace.n_features_in_ != model.n_features_in_:
        raise fields.error("subspace", "must be one of points of these features")
    calibration = None
    if fields.has("calibration"):
        calibration = fields.array("calibration", "f", "n")
    return {
        "subspace_": subspace,
        "support_vectors_": subspace.support_vectors_,
        "n_support_": subspace.n_support_,
        "offset_": fields.number("offset"),
        "certified_rate_": fields.number("certified_rate"),
        "_calibration": calibration,
    }


def _take_metric(model: Any) -> Mapping[str, Any]:
    return {"model": model.model_, "factor": model.factor_}


def _make_metric(model: Any, fields: Fields) -> Attributes:
    inner = fields.only("model", KMPClassifier, KMPRegressor)
    factor, d = fields.only("factor", np.ndarray), model.n_features_in_
    columns = (d,) if factor.ndim == 1 else (d, "r")
    factor = fields.array("factor", "f", *columns)
    return {
        "model_": inner,
        "factor_": factor,
        "metric_": factor**2 if factor.ndim == 1 else factor @ factor.T,
        "_n_features_out": factor.shape[-1],
    }


def _has(attribute: str) -> Any:
    return lambda model: hasattr(model, attribute)


RECORDS = (
    Record("subspaces.Path", SubspacePath, _take_path, _make_path),
    Record("subspaces.PairedPath", PairedPath, _take_pair, _make_pair),
    estimator("subspaces", SparseKernelPCA, _take_pca, _make_pca, _has("components_")),
    estimator("subspaces", SparseKernelCCA, _take_cca, _make_cca, _has("x_weights_")),
    estimator(
        "subspaces",
        SubspaceOutlierDetector,
        _take_outliers,
        _make_outliers,
        _has("offset_"),
    ),
    estimator("subspaces", LearnedMetric, _take_metric, _make_metric, _has("factor_")),
)
