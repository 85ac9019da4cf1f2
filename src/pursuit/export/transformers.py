"""Steps of fitted transformers that compute with numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn import decomposition, preprocessing

from pursuit.estimators.metric import LearnedMetric

from .errors import UnsupportedError
from .steps import Affine, Clip, Linear, Power, Quantiles, Step

__all__ = ["NUMERIC"]


def _moved(d: int, by: Any) -> list[Step]:
    return [] if by is None else [Affine(np.ones(d), _vector(d, by))]


def _scaled(d: int, by: Any) -> list[Step]:
    return [] if by is None else [Affine(_vector(d, by), np.zeros(d))]


def _vector(d: int, numbers: Any) -> np.ndarray:
    return np.broadcast_to(np.asarray(numbers, dtype=np.float64), (d,)).copy()


def _inverse(numbers: Any) -> Any:
    return None if numbers is None else 1.0 / np.asarray(numbers, dtype=np.float64)


def _negative(numbers: Any) -> Any:
    return None if numbers is None else -np.asarray(numbers, dtype=np.float64)


def _standard_scaler(scaler: Any) -> list[Step]:
    # Two steps: in x * scale + shift, a mean far from 0 would cost digits.
    d = scaler.n_features_in_
    mean = scaler.mean_ if scaler.with_mean else None
    scale = scaler.scale_ if scaler.with_std else None
    return _moved(d, _negative(mean)) + _scaled(d, _inverse(scale))


def _robust_scaler(scaler: Any) -> list[Step]:
    d = scaler.n_features_in_
    center = scaler.center_ if scaler.with_centering else None
    scale = scaler.scale_ if scaler.with_scaling else None
    return _moved(d, _negative(center)) + _scaled(d, _inverse(scale))


def _min_max_scaler(scaler: Any) -> list[Step]:
    d = scaler.n_features_in_
    steps: list[Step] = [Affine(_vector(d, scaler.scale_), _vector(d, scaler.min_))]
    if scaler.clip:
        low, high = scaler.feature_range
        steps.append(Clip(_vector(d, low), _vector(d, high)))
    return steps


def _max_abs_scaler(scaler: Any) -> list[Step]:
    d = scaler.n_features_in_
    steps = _scaled(d, _inverse(scaler.scale_))
    if getattr(scaler, "clip", False):
        steps.append(Clip(_vector(d, -1.0), _vector(d, 1.0)))
    return steps


def _power_transformer(transformer: Any) -> list[Step]:
    powers = np.asarray(transformer.lambdas_, dtype=np.float64)
    steps: list[Step] = [Power(powers, transformer.method)]
    if transformer.standardize:
        steps += _standard_scaler(transformer._scaler)
    return steps


def _quantile_transformer(transformer: Any) -> list[Step]:
    return [
        Quantiles(
            np.array(transformer.quantiles_, dtype=np.float64),
            np.array(transformer.references_, dtype=np.float64),
            transformer.output_distribution == "normal",
        )
    ]


def _function_transformer(transformer: Any) -> list[Step]:
    function, d = transformer.func, transformer.n_features_in_
    if function is None:
        return []
    if transformer.kw_args:
        function = None
    logarithm = Power(np.zeros(d), "box-cox")
    if function is np.log:
        return [logarithm]
    if function is np.log1p:
        return [*_moved(d, 1.0), logarithm]
    raise UnsupportedError(
        f"{transformer!r} calls Python code: only func=None, np.log and np.log1p can "
        "be exported. Apply other functions to the data before the pipeline."
    )


def _pca(pca: Any) -> list[Step]:
    components = np.asarray(pca.components_, dtype=np.float64)
    steps = [*_moved(pca.n_features_in_, _negative(pca.mean_)), Linear(components.T)]
    if pca.whiten:
        scales = np.sqrt(np.asarray(pca.explained_variance_, dtype=np.float64))
        least = np.finfo(scales.dtype).eps
        steps += _scaled(len(scales), 1.0 / np.maximum(scales, least))
    return steps


def _truncated_svd(svd: Any) -> list[Step]:
    return [Linear(np.asarray(svd.components_, dtype=np.float64).T)]


def _learned_metric(metric: Any) -> list[Step]:
    factor = np.asarray(metric.factor_, dtype=np.float64)
    return _scaled(len(factor), factor) if factor.ndim == 1 else [Linear(factor)]


# By type, not by descent: a subclass may compute something else.
NUMERIC: dict[type, Callable[[Any], list[Step]]] = {
    preprocessing.StandardScaler: _standard_scaler,
    preprocessing.RobustScaler: _robust_scaler,
    preprocessing.MinMaxScaler: _min_max_scaler,
    preprocessing.MaxAbsScaler: _max_abs_scaler,
    preprocessing.PowerTransformer: _power_transformer,
    preprocessing.QuantileTransformer: _quantile_transformer,
    preprocessing.FunctionTransformer: _function_transformer,
    decomposition.PCA: _pca,
    decomposition.TruncatedSVD: _truncated_svd,
    LearnedMetric: _learned_metric,
}
