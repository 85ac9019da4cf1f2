"""The methods that a user would pick today, tuned on the training rows alone."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold
from sklearn.neighbors import (
    KernelDensity,
    KNeighborsClassifier,
    KNeighborsRegressor,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC, SVR

# Searched; widths are multiples of one over the median squared distance.
C = (0.1, 1.0, 10.0, 100.0, 1000.0)
WIDTHS = (1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
EPSILONS = (0.01, 0.1, 0.3)  # times the standard deviation of the targets
NEIGHBORS = (1, 3, 5, 7, 9, 11, 15, 21, 31)
N_FOLDS = 5
# Rows from which the median distance is taken.
MEDIAN_ROWS = 1000


def median_gamma(X: np.ndarray) -> float:
    """Return one over the median squared distance (of distinct rows, if 0)."""
    rows = np.random.default_rng(0).permutation(len(X))[:MEDIAN_ROWS]
    squares = pdist(X[rows], "sqeuclidean")
    return float(1.0 / (np.median(squares) or np.median(squares[squares > 0])))


def folds(y: np.ndarray, is_class: bool, n_folds: int = N_FOLDS) -> Any:
    """Return folds for a search, the classes balanced as far as they allow."""
    if not is_class:
        return KFold(n_folds, shuffle=True, random_state=0)
    rarest = int(np.unique(y, return_counts=True)[1].min())
    return StratifiedKFold(max(2, min(n_folds, rarest)), shuffle=True, random_state=0)


def searched(
    model: Any,
    grid: Mapping[str, Sequence[Any]],
    X: np.ndarray,
    y: np.ndarray,
    scoring: str | None = None,
    n_folds: int = N_FOLDS,
) -> Any:
    """Return the model fitted with the parameters that cross-validation likes best."""
    is_class = y.dtype.kind != "f"
    chosen = scoring or ("accuracy" if is_class else "neg_mean_squared_error")
    cv = folds(y, is_class, n_folds)
    search = GridSearchCV(model, dict(grid), scoring=chosen, cv=cv)
    return search.fit(X, y).best_estimator_


def tuned_svc(X: np.ndarray, y: np.ndarray) -> Any:
    """Return an SVC with C and width by 5-fold cross-validation."""
    widths = [factor * median_gamma(X) for factor in WIDTHS]
    return searched(SVC(cache_size=500), {"C": C, "gamma": widths}, X, y)


def tuned_svr(X: np.ndarray, y: np.ndarray) -> Any:
    """Return an SVR with C, width and epsilon by 5-fold cross-validation.

    The largest C is left out: it takes longest and was not chosen where it was tried.
    """
    widths = [factor * median_gamma(X) for factor in WIDTHS]
    spread = float(y.std())
    grid: dict[str, Sequence[float]] = {
        "C": [c * spread for c in C[:-1]],
        "gamma": widths,
        "epsilon": [e * spread for e in EPSILONS],
    }
    return searched(SVR(cache_size=500), grid, X, y)


def tuned_neighbors(X: np.ndarray, y: np.ndarray) -> Any:
    """Return nearest neighbours, number and weighting by cross-validation."""
    is_class = y.dtype.kind != "f"
    model = KNeighborsClassifier() if is_class else KNeighborsRegressor()
    at_most = len(X) * (N_FOLDS - 1) // N_FOLDS
    numbers = [k for k in NEIGHBORS if k < at_most]
    grid: dict[str, Sequence[Any]] = {
        "n_neighbors": numbers,
        "weights": ["uniform", "distance"],
    }
    return searched(model, grid, X, y)


def tuned_nystroem(
    X: np.ndarray, y: np.ndarray, n_components: int = 200, scoring: str | None = None
) -> Any:
    """Return logistic regression on random landmarks, C and width by validation."""
    n_components = min(n_components, len(X) * (N_FOLDS - 1) // N_FOLDS - 1)
    steps = [
        ("map", Nystroem(n_components=n_components, random_state=0)),
        ("model", LogisticRegression(max_iter=5000)),
    ]
    gamma = median_gamma(X)
    grid: dict[str, Sequence[float]] = {
        "map__gamma": [w * gamma for w in WIDTHS[1:]],
        "model__C": C,
    }
    return searched(Pipeline(steps), grid, X, y, scoring)


def landmark_regression(n_rows: int, n_components: int = 500) -> Any:
    """Return logistic regression on random landmarks, to be tuned elsewhere."""
    landmarks = Nystroem(n_components=min(n_components, n_rows), random_state=0)
    return make_pipeline(landmarks, LogisticRegression(tol=1e-3, max_iter=1000))


def tuned_density(X: np.ndarray, widths: Sequence[float]) -> Any:
    """Return scikit-learn's Parzen windows, width by 5-fold likelihood.

    With a tree its densities are wrong in more than a few dimensions (scikit-learn
    issue 7492); one leaf for all rows is exact.
    """
    model = KernelDensity(leaf_size=len(X) + 1)
    cv = KFold(N_FOLDS, shuffle=True, random_state=0)
    return (
        GridSearchCV(model, {"bandwidth": list(widths)}, cv=cv).fit(X).best_estimator_
    )


def has_rvm() -> bool:
    """Return whether the relevance vector machine of `fastrvm` is installed."""
    try:
        import fastrvm  # noqa: F401
    except ImportError:
        return False
    return True


def n_points(model: Any) -> int | None:
    """Return how many training points a model keeps, where it tells."""
    model = model[-1] if isinstance(model, Pipeline) else model
    for name in ("n_support_", "relevance_vectors_"):
        if hasattr(model, name):
            found = getattr(model, name)
            return int(np.sum(found)) if name == "n_support_" else len(found)
    return None


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """Return what an action gives, and the seconds it took."""
    start = time.perf_counter()
    found = action()
    return found, time.perf_counter() - start
