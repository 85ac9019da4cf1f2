"""Records of densities, of what is made of them, and of kernel smoothers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from pursuit.densities.local_gaussians import LocalGaussians
from pursuit.densities.local_weights import WeightedNeighbors
from pursuit.densities.mixture_pursuit import MixturePath
from pursuit.densities.mixtures import Mixture
from pursuit.densities.oriented_mixtures import OrientedGaussians
from pursuit.densities.points import Coordinates, DistinctRows
from pursuit.densities.pointwise_densities import PointwiseDensity
from pursuit.densities.pointwise_gaussians import PointwiseGaussians
from pursuit.densities.smoothing import ClassMeans, Smoother
from pursuit.densities.sparse_mixtures import SparseMixture
from pursuit.estimators.densities import (
    DensityClassifier,
    DensityOutlierDetector,
    KernelCentroidClassifier,
    LocalGaussianDensity,
    ManifoldParzen,
    NadarayaWatson,
    ParzenWindows,
    SparseManifoldParzen,
)
from pursuit.estimators.densities.outliers import _keys
from pursuit.kernels._base import KernelOn
from pursuit.sample import Framer

from ._basics import check_rows
from ._fitted import Attributes, estimator, read_classes
from ._kernels import check_kernel
from .tree import Fields, Names

__all__ = ["RECORDS"]


# -- points ------------------------------------------------------------------------


def _take_points(points: DistinctRows) -> dict[str, Any]:
    return {
        "rows": points.rows,
        "counts": points.counts,
        "set_of_row": points.set_of_row,
        "center": points.coordinates.center,
        "unit": float(points.coordinates.unit),
    }


def _read_points(fields: Fields, n_features: int) -> DistinctRows:
    rows = np.ascontiguousarray(fields.array("rows", "f", "l", n_features))
    if not len(rows):
        raise fields.error("rows", "must not be empty")
    counts = fields.array("counts", "f", "l", above=0.0)
    sets = fields.array("set_of_row", "i", "n", least=-1, below=len(rows))
    center = fields.array("center", "f", n_features)
    coordinates = Coordinates(center, fields.number("unit", above=0.0))
    with np.errstate(all="ignore"):
        X = coordinates.inside(rows)
        # Norms are squares: what overflows is no model.
        is_right = np.isfinite(np.square(X).sum()) and np.isfinite(counts.sum())
    if not is_right:
        raise fields.error("unit", "does not suit the rows")
    return DistinctRows(rows, X, counts, sets, coordinates)


def _read_trials(fields: Fields) -> list[dict[str, Any]]:
    return [dict(trial) for trial in fields.all_of("trials", Names)]


# -- mixtures ----------------------------------------------------------------------


def _take_mixture(model: Any) -> Mapping[str, Any]:
    mixture = model._mixture
    near = mixture.gaussians.neighbors
    return {
        **_take_points(mixture.points),
        "neighbors": near.indices,
        "weights": near.weights,
        "kernel": mixture.kernel,
        "n_neighbors": mixture.n_neighbors,
        "n_components": mixture.n_components,
        "bandwidth": float(mixture.bandwidth),
        "trials": [Names(trial) for trial in mixture.trials],
    }


def _make_mixture(model: Any, fields: Fields) -> Attributes:
    points = _read_points(fields, model.n_features_in_)
    n = len(points)
    indices = fields.array("neighbors", "i", "l", "K", least=0, below=n)
    weights = fields.array("weights", "f", "l", "K", least=0.0)
    if indices.shape[1] >= n:
        # No point has so many others: factors would take more room than the file.
        raise fields.error("neighbors", "are too many")
    kernel = fields.any("kernel")
    if kernel is not None:
        check_kernel(kernel, model.n_features_in_, fields.name)
    n_components = fields.whole("n_components", 0, optional=True)
    bandwidth = fields.number("bandwidth", above=0.0)
    gaussians = LocalGaussians(
        points.X,
        WeightedNeighbors(indices, weights),
        n_components,
        points.coordinates.width(bandwidth) ** 2,
        np.log(points.counts) - np.log(points.counts.sum()),
    )
    mixture = Mixture(
        points,
        kernel,
        fields.whole("n_neighbors", 0, optional=True),
        n_components,
        bandwidth,
        gaussians.factorized(model._limits()),
        _read_trials(fields),
    )
    attributes = {"_mixture": mixture, "bandwidth_": bandwidth}
    if isinstance(model, ParzenWindows):
        names = ("bandwidth", "score")
        return {
            **attributes,
            "search_": [{k: t.get(k) for k in names} for t in mixture.trials],
        }
    return {
        **attributes,
        "search_": mixture.trials,
        "n_neighbors_": mixture.n_neighbors,
        "n_components_": mixture.n_components,
    }


def _take_sparse(model: Any) -> Mapping[str, Any]:
    mixture = model._mixture
    parts, path = mixture.gaussians, mixture.path
    return {
        "center": mixture.coordinates.center,
        "unit": float(mixture.coordinates.unit),
        "centers": parts.centers,
        "axes": parts.axes,
        "spreads": parts.spreads,
        "rows": path.rows,
        "neighbors": path.n_neighbors,
        "weights": np.concatenate(path.weights),
        "scores": path.scores,
        "held_out": path.held_out,
        "stop_reason": path.stop_reason,
        "bandwidth": float(mixture.bandwidth),
        "size": int(mixture.size),
        "trials": [Names(trial) for trial in mixture.trials],
        "left_out": mixture.left_out,
    }


def _make_sparse(model: Any, fields: Fields) -> Attributes:
    n = model.n_features_in_
    unit, bandwidth = (fields.number(key, above=0.0) for key in ("unit", "bandwidth"))
    coordinates = Coordinates(fields.array("center", "f", n), unit)
    centers = np.ascontiguousarray(fields.array("centers", "f", "N", n))
    axes = np.ascontiguousarray(fields.array("axes", "f", "N", "d", n))
    spreads = np.ascontiguousarray(fields.array("spreads", "f", "N", "d", least=0.0))
    variance = coordinates.width(bandwidth) ** 2
    N = len(centers)
    size = fields.whole("size", 1, N)
    path = MixturePath(
        fields.array("rows", "i", "N", least=0),
        fields.array("neighbors", "i", "N", least=0),
        _read_weights(fields, N),
        fields.array("scores", "f", "N", finite=False),
        fields.array("held_out", "f", "N", finite=False, optional=True),
        fields.only("stop_reason", str),
    )
    model._set_mixture(
        SparseMixture(
            coordinates,
            OrientedGaussians(centers, axes, spreads, variance),
            path,
            bandwidth,
            size,
            _read_trials(fields),
            fields.array("left_out", "f", "n", finite=False, optional=True),
        )
    )
    return {}


def _read_weights(fields: Fields, n_steps: int) -> tuple[np.ndarray, ...]:
    """Return the weights at each size, which a file holds one after the other."""
    values = fields.array("weights", "f", n_steps * (n_steps + 1) // 2, least=0.0)
    weights = tuple(np.split(values, np.cumsum(np.arange(1, n_steps))))
    if not all(np.isclose(w.sum(), 1.0) for w in weights):
        raise fields.error("weights", "must sum to 1")
    return weights


def _take_pointwise(model: Any) -> Mapping[str, Any]:
    density = model._density
    return {
        **_take_points(density.points),
        "width": float(density.width),
        "bandwidth": float(density.bandwidth),
        "n_components": density.gaussians.n_components,
        "log_mass": float(model.log_mass_),
        "trials": [Names(trial) for trial in density.trials],
    }


def _make_pointwise(model: Any, fields: Fields) -> Attributes:
    points = _read_points(fields, model.n_features_in_)
    width, bandwidth = (fields.number(k, above=0.0) for k in ("width", "bandwidth"))
    gaussians = PointwiseGaussians(
        points.X,
        np.log(points.counts),
        points.coordinates.width(width),
        fields.whole("n_components", 0, optional=True),
    )
    density = PointwiseDensity(
        points, gaussians, width, bandwidth, _read_trials(fields)
    )
    return {
        "_density": density,
        "width_": width,
        "bandwidth_": bandwidth,
        "search_": density.trials,
        "log_mass_": fields.number("log_mass"),
    }


# -- made of densities -------------------------------------------------------------


def _check_density(density: Any, n_features: int, fields: Fields) -> None:
    is_density = hasattr(density, "score_samples")
    if not is_density or getattr(density, "n_features_in_", None) != n_features:
        raise fields.error("densities", f"must be fitted to {n_features} columns")


def _take_density_classifier(model: Any) -> Mapping[str, Any]:
    return {
        "classes": model.classes_,
        "priors": model.class_prior_,
        "densities": list(model.densities_),
        "temperature": float(model.temperature_),
        "best_params": dict(model.best_params_),
        "search": [Names(row) for row in model.search_],
        "framer": model._framer,
    }


def _make_density_classifier(model: Any, fields: Fields) -> Attributes:
    classes = read_classes(fields, "classes")
    priors = fields.array("priors", "f", len(classes), least=0.0)
    densities = fields.only("densities", list)
    if len(densities) != len(classes):
        raise fields.error("densities", "must be one for each class")
    for density in densities:
        _check_density(density, model.n_features_in_, fields)
    with np.errstate(divide="ignore"):
        log_priors = np.log(priors)
    return {
        "classes_": classes,
        "class_prior_": priors,
        "_log_priors": log_priors,
        "densities_": densities,
        "temperature_": fields.number("temperature", above=0.0),
        "best_params_": fields.only("best_params", dict),
        "search_": [dict(row) for row in fields.all_of("search", Names)],
        "_framer": fields.only("framer", Framer, optional=True),
    }


def _take_outliers(model: Any) -> Mapping[str, Any]:
    keys, logs = list(model._left_out), list(model._left_out.values())
    rows = np.frombuffer(b"".join(keys), np.float64)
    return {
        "density": model.density_,
        "offset": float(model.offset_),
        "left_out_rows": rows.reshape(len(keys), model.n_features_in_),
        "left_out_logs": np.array(logs, dtype=np.float64),
        "framer": model._framer,
    }


def _make_outliers(model: Any, fields: Fields) -> Attributes:
    d = model.n_features_in_
    density = fields.any("density")
    _check_density(density, d, fields)
    rows = fields.array("left_out_rows", "f", "m", d)
    logs = fields.array("left_out_logs", "f", "m", finite=False)
    return {
        "density_": density,
        "offset_": fields.number("offset"),
        "_left_out": dict(zip(_keys(rows), logs.tolist(), strict=True)),
        "_framer": fields.only("framer", Framer, optional=True),
    }


# -- smoothers ---------------------------------------------------------------------


def _read_kernel(model: Any, fields: Fields) -> KernelOn:
    points = check_rows(fields, "points", "l", model.n_features_in_)
    if not points.shape[0]:
        raise fields.error("points", "must not be empty")
    kernel = fields.any("kernel")
    check_kernel(kernel, model.n_features_in_, fields.name)
    return KernelOn(kernel, points)


def _take_smoother(model: Any) -> Mapping[str, Any]:
    smoother = model._smoother
    return {
        "kernel": smoother.values.kernel,
        "points": smoother.values.points,
        "targets": smoother.Y,
        "weights": smoother.w,
        "is_single": bool(model._is_single_output),
        "search": [Names(row) for row in model.search_],
    }


def _make_smoother(model: Any, fields: Fields) -> Attributes:
    values = _read_kernel(model, fields)
    Y = fields.array("targets", "f", "l", "T")
    w = fields.array("weights", "f", "l", above=0.0)
    is_single = fields.flag("is_single")
    if not Y.shape[1] or (is_single and Y.shape[1] != 1):
        raise fields.error("targets", "are too many or too few")
    return {
        "kernel_": values.kernel,
        "gamma_": getattr(values.kernel, "gamma", None),
        "_smoother": Smoother(values, Y, w),
        "_is_single_output": is_single,
        "search_": [dict(row) for row in fields.all_of("search", Names)],
    }


def _take_means(model: Any) -> Mapping[str, Any]:
    means = model._means
    return {
        "classes": model.classes_,
        "kernel": means.values.kernel,
        "points": means.values.points,
        "shares": means.shares,
        "products": means.products,
    }


def _make_means(model: Any, fields: Fields) -> Attributes:
    classes, values = read_classes(fields, "classes"), _read_kernel(model, fields)
    shares = fields.array("shares", "f", "l", len(classes))
    products = fields.array("products", "f", len(classes))
    return {
        "classes_": classes,
        "kernel_": values.kernel,
        "gamma_": getattr(values.kernel, "gamma", None),
        "_means": ClassMeans(values, shares, products),
    }


def _has(attribute: str) -> Any:
    return lambda model: hasattr(model, attribute)


RECORDS = tuple(
    estimator("densities", kind, take, make, _has(attribute))
    for kind, take, make, attribute in (
        (ManifoldParzen, _take_mixture, _make_mixture, "bandwidth_"),
        (ParzenWindows, _take_mixture, _make_mixture, "bandwidth_"),
        (SparseManifoldParzen, _take_sparse, _make_sparse, "bandwidth_"),
        (LocalGaussianDensity, _take_pointwise, _make_pointwise, "log_mass_"),
        (
            DensityClassifier,
            _take_density_classifier,
            _make_density_classifier,
            "densities_",
        ),
        (DensityOutlierDetector, _take_outliers, _make_outliers, "offset_"),
        (NadarayaWatson, _take_smoother, _make_smoother, "_smoother"),
        (KernelCentroidClassifier, _take_means, _make_means, "_means"),
    )
)
