"""The model along one or two features, averaged over rows or for each row."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.stats.mstats import mquantiles
from sklearn.utils import Bunch

from pursuit._parameters import check_choice, whole_number

from .products import Products, SumOfProducts
from .subjects import model_and_rows

# Factors that are in memory at once.
_AT_ONCE = 1 << 21


def partial_dependence(
    model: Any,
    X: Any,
    features: Any,
    *,
    kind: str = "average",
    grid_resolution: int = 100,
    percentiles: tuple[float, float] = (0.05, 0.95),
    custom_values: Any = None,
) -> Bunch:
    """Return the exact dependence of the model on one or two features.

    Since the functions of the model are products over features, what the others
    contribute is computed once, not once for each value on the grid.

    Parameters
    ----------
    model : KMPClassifier, KMPRanker, KMPRegressor or Pipeline
        Fitted model whose functions are products over features (see
        :mod:`pursuit.explain`), or a pipeline that ends in one: then `features` are
        those that the last step sees.
    X : array-like or sparse matrix of shape (n_samples, n_features)
        Rows over which is averaged.
    features : int, str, or sequence of one or two of them
        Features, by number or name.
    kind : {"average", "individual", "both"}, default="average"
        Whether to return the average, one curve for each row, or both.
    grid_resolution : int, default=100
        Number of values of a feature. If X holds fewer, these are taken.
    percentiles : tuple of two floats, default=(0.05, 0.95)
        Range of the values, as quantiles of X.
    custom_values : sequence of array-like, optional
        Values of each feature, instead of a grid.

    Returns
    -------
    result : Bunch
        ``grid_values``, ``average`` of shape (n_outputs, n_values, ...) and
        ``individual`` of shape (n_outputs, n_samples, n_values, ...), as
        :func:`sklearn.inspection.partial_dependence` returns them with
        ``method="brute"`` for the decision function: its display draws them.

    Notes
    -----
    With n rows, m support points, d features and v values on the grid, averages cost
    O(m (n d + v)) instead of O(m n d v).
    """
    check_choice("kind", kind, ("average", "individual", "both"))
    last, (rows,) = model_and_rows(model, X)
    whole = SumOfProducts.of(last)
    chosen = _numbers(features, last)
    grids = _grids(rows, chosen, grid_resolution, percentiles, custom_values)
    shape = tuple(len(grid) for grid in grids)
    points = np.zeros((int(np.prod(shape)), whole.n_features))
    points[:, chosen] = _combined(grids)
    average = np.tile(whole.intercept[:, None], len(points))
    individual = None
    if kind != "average":
        individual = np.empty((whole.n_outputs, len(rows), len(points)))
        individual[:] = whole.intercept[:, None, None]
    for part in whole.parts:
        is_chosen = np.isin(part.columns, chosen)
        along = part.factors(points)[:, :, is_chosen].prod(axis=2)
        for some, others in _others(part, rows, ~is_chosen):
            average += part.coef * (others.sum(axis=0) / len(rows)) @ along.T
            if individual is not None:
                for t, coef in enumerate(part.coef):
                    individual[t, some] += (others * coef) @ along.T
    result = Bunch(grid_values=grids)
    if kind != "individual":
        result.average = average.reshape(len(average), *shape)
    if individual is not None:
        result.individual = individual.reshape(*individual.shape[:2], *shape)
    return result


def _others(
    part: Products, rows: np.ndarray, which: np.ndarray
) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield the products (b, m) of some factors at blocks of rows."""
    step = max(1, _AT_ONCE // max(1, len(part) * len(which)))
    for start in range(0, len(rows), step):
        some = slice(start, start + step)
        yield some, part.factors(rows[some])[:, :, which].prod(axis=2)


def _numbers(features: Any, model: Any) -> list[int]:
    """Return the numbers of features that are given by number or name."""
    is_one = isinstance(features, str) or np.ndim(features) == 0
    given: Sequence[Any] = [features] if is_one else list(features)
    if len(given) not in (1, 2):
        raise ValueError(
            f"features={features!r} names {len(given)} features: name one or two."
        )
    names = list(getattr(model, "feature_names_in_", []))
    numbers = []
    for feature in given:
        if isinstance(feature, str):
            if feature not in names:
                known = ", ".join(names) if names else "numbers only, as X had no names"
                raise ValueError(f"There is no feature {feature!r}: there are {known}.")
            numbers.append(names.index(feature))
            continue
        number = whole_number("features", feature, 0)
        if number is None or number >= model.n_features_in_:
            raise ValueError(
                f"features={feature!r} is not below {model.n_features_in_}, the number "
                "of features."
            )
        numbers.append(number)
    if len(set(numbers)) < len(numbers):
        raise ValueError(f"features={features!r} names one feature twice.")
    return numbers


def _grids(
    X: np.ndarray,
    features: Sequence[int],
    resolution: Any,
    percentiles: Any,
    custom_values: Any,
) -> list[np.ndarray]:
    if custom_values is not None:
        is_list = np.ndim(custom_values[0]) > 0
        values = custom_values if is_list else [custom_values]
        if len(values) != len(features):
            raise ValueError(
                f"custom_values has {len(values)} sequences for {len(features)} "
                "features: pass one for each."
            )
        return [np.asarray(v, dtype=np.float64) for v in values]
    n = whole_number("grid_resolution", resolution, 2)
    low, high = percentiles
    if not 0 <= low < high <= 1:
        raise ValueError(
            f"percentiles={percentiles!r} must rise, between 0 and 1, as (0.05, 0.95)."
        )
    return [_grid(X[:, j], int(n), low, high, j) for j in features]


def _grid(x: np.ndarray, n: int, low: float, high: float, j: int) -> np.ndarray:
    different = np.unique(x)
    if len(different) < n:
        return different
    first, last = mquantiles(x, prob=[low, high])
    if first == last:
        raise ValueError(
            f"The quantiles {low} and {high} of feature {j} are equal: choose "
            "percentiles that are farther apart, or custom_values."
        )
    return np.linspace(first, last, n)


def _combined(grids: Sequence[np.ndarray]) -> np.ndarray:
    """Return all combinations of values, the last feature changing first."""
    if len(grids) == 1:
        return grids[0][:, None]
    return np.stack(np.meshgrid(*grids, indexing="ij"), axis=-1).reshape(-1, len(grids))
