"""What is explained: the model at the end of a pipeline, and checked rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted


def model_and_rows(estimator: Any, *tables: Any) -> tuple[Any, list[Any]]:
    """Return the KMP model of an estimator, and tables as it sees them; None stays.

    Parameters
    ----------
    estimator : KMPClassifier, KMPRegressor, KMPRanker or Pipeline
    *tables : array-like or None
        Rows for the estimator.
    """
    model = estimator[-1] if isinstance(estimator, Pipeline) else estimator
    if not hasattr(model, "staged_score"):
        raise TypeError(
            f"{type(model).__name__} is no sum of functions: pursuit.explain is for "
            "KMPClassifier, KMPRegressor, KMPRanker, and pipelines that end in one."
        )
    check_is_fitted(model, "dual_coef_")
    if model._takes_matrix:
        raise ValueError(
            "The model takes a matrix of kernel values, which has no features to "
            "explain: fit it to points."
        )
    is_behind = isinstance(estimator, Pipeline) and len(estimator) > 1
    prepare = estimator[:-1].transform if is_behind else _as_is
    return model, [None if X is None else _dense(model, prepare(X)) for X in tables]


def _as_is(X: Any) -> Any:
    return X


def _dense(model: Any, X: Any) -> np.ndarray:
    X = model._checked(X)
    return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)
