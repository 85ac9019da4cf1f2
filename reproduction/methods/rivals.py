"""Methods that a user would choose today, tuned on the training rows only."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    ShuffleSplit,
    StratifiedKFold,
    StratifiedShuffleSplit,
)
from sklearn.neighbors import (
    KNeighborsClassifier,
    KNeighborsRegressor,
)
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from pursuit import KMPClassifier

# Grids of the searches; gammas are multiples of 1 over the median squared distance.
C = (0.1, 1.0, 10.0, 100.0, 1000.0)
WIDTHS = (1 / 16, 1 / 4, 1 / 2, 1.0, 2.0, 4.0)
EPSILONS = (0.01, 0.1, 0.3)  # times the standard deviation of the targets
RVM_WIDTHS, RVM_ROWS, RVM_STEPS = (1 / 4, 1.0, 4.0), 600, 500
NEIGHBORS = (1, 3, 5, 7, 9, 11, 15, 21, 31)
N_FOLDS = 5
# Number of rows from which the median distance is computed.
MEDIAN_ROWS = 1000
# Seconds of an action during which the clock did not move: never 0.
SHORTEST = time.get_clock_info("process_time").resolution


def median_gamma(X: np.ndarray) -> float:
    """Return 1 over the median squared distance (of distinct rows, if that is 0)."""
    rows = np.random.default_rng(0).permutation(len(X))[:MEDIAN_ROWS]
    squares = pdist(X[rows], "sqeuclidean")
    return float(1.0 / (np.median(squares) or np.median(squares[squares > 0])))


def folds(y: np.ndarray, is_class: bool, n_folds: int = N_FOLDS) -> Any:
    """Return folds for a search, with balanced classes if possible."""
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
    """Return the model fitted with the best parameters by cross-validation."""
    is_class = y.dtype.kind != "f"
    chosen = scoring or ("accuracy" if is_class else "neg_mean_squared_error")
    cv = folds(y, is_class, n_folds)
    search = GridSearchCV(model, dict(grid), scoring=chosen, cv=cv)
    return search.fit(X, y).best_estimator_


def tuned_svc(X: np.ndarray, y: np.ndarray) -> Any:
    """Return an SVC with C and gamma by 5-fold cross-validation."""
    widths = [factor * median_gamma(X) for factor in WIDTHS]
    return searched(SVC(cache_size=500), {"C": C, "gamma": widths}, X, y)


def tuned_svr(X: np.ndarray, y: np.ndarray) -> Any:
    """Return an SVR with C, gamma and epsilon by 5-fold cross-validation.

    The largest C is left out: it is the slowest, and was never chosen on California
    housing.
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
    """Return nearest neighbors with number and weighting by cross-validation."""
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
    X: np.ndarray, y: np.ndarray, n_components: int = 100, scoring: str | None = None
) -> Any:
    """Return logistic regression on random landmarks, with C and gamma by 5 folds."""
    n_components = min(n_components, len(X) * (N_FOLDS - 1) // N_FOLDS - 1)
    steps = [
        ("map", Nystroem(n_components=n_components, random_state=0)),
        ("model", LogisticRegression(max_iter=5000)),
    ]
    gamma = median_gamma(X)
    grid: dict[str, Sequence[float]] = {
        "map__gamma": [w * gamma for w in WIDTHS[1::2]],
        "model__C": C[:-1],
    }
    return searched(Pipeline(steps), grid, X, y, scoring)


# Grid for USPS. A looser tolerance would stop before large values of C take effect.
USPS_LANDMARKS: dict[str, list[Any]] = {
    "nystroem__gamma": [1 / 128, 1 / 64, 1 / 32],
    "logisticregression__C": [1.0, 10.0, 100.0, 1000.0],
    "logisticregression__tol": [1e-5],
}


def landmark_regression(n_rows: int, n_components: int = 500) -> Any:
    """Return untuned logistic regression on random landmarks."""
    landmarks = Nystroem(n_components=min(n_components, n_rows), random_state=0)
    return make_pipeline(landmarks, LogisticRegression(tol=1e-3, max_iter=1000))


def has_rvm() -> bool:
    """Return whether the relevance vector machine of `fastrvm` is installed."""
    return find_spec("fastrvm") is not None


def tuned_rvm(X: np.ndarray, y: np.ndarray) -> Any:
    """Return a relevance vector machine with gamma by cross-validation.

    There are 5 folds, or one held-out quarter for many rows or classes. Its steps are
    limited to 500, within which most fits end; it has no other parameter.
    """
    from fastrvm import RVC, RVR

    is_class = y.dtype.kind != "f"
    model = (RVC if is_class else RVR)(fit_intercept=True, max_iter=RVM_STEPS)
    gamma = median_gamma(X)
    is_long = len(X) > RVM_ROWS or (is_class and len(np.unique(y)) > 2)
    cv = _one_part(y, is_class) if is_long else folds(y, is_class)
    grid = {"gamma": [factor * gamma for factor in RVM_WIDTHS]}
    scoring = "accuracy" if is_class else "neg_mean_squared_error"
    return GridSearchCV(model, grid, scoring=scoring, cv=cv).fit(X, y).best_estimator_


def _one_part(y: np.ndarray, is_class: bool) -> Any:
    if is_class:
        return StratifiedShuffleSplit(1, test_size=0.25, random_state=0)
    return ShuffleSplit(1, test_size=0.25, random_state=0)


# Classifiers that a user would choose; each is made from the training rows only.
CLASSIFIERS: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "SVC, tuned": tuned_svc,
    "KNeighborsClassifier, tuned": tuned_neighbors,
    "Nystroem + LogisticRegression, tuned": tuned_nystroem,
    "RVM (fastrvm), tuned": tuned_rvm,
    "KMPClassifier(), as it comes": lambda X, y: KMPClassifier().fit(X, y),
}


def classifiers() -> list[str]:
    """Return the names of the classifiers that are installed."""
    return [name for name in CLASSIFIERS if has_rvm() or not name.startswith("RVM")]


def judged(
    name: str, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray
) -> dict[str, Any]:
    """Return a classifier's test error, number of points and seconds of tuning."""
    model, seconds = timed(lambda: CLASSIFIERS[name](X, y))
    error = float(np.mean(model.predict(X_test) != y_test))
    return {"error": error, "size": n_points(model), "seconds": seconds}


def n_points(model: Any) -> int | None:
    """Return the number of training points that a model keeps, if known."""
    if isinstance(model, Pipeline):
        return n_points(model[0])
    for name in ("relevance_", "component_indices_"):
        if hasattr(model, name):
            return len(getattr(model, name))
    if hasattr(model, "n_support_"):
        return int(np.sum(model.n_support_))
    return getattr(model, "n_samples_fit_", None)  # nearest neighbors keep all


def timed(action: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result of an action and its seconds of processor time, on one thread.

    A support vector machine and its search use one thread, so others get no more.
    Processor time leaves out what else the machine does.
    """
    with threadpool_limits(1):
        start = time.process_time()
        result = action()
        seconds = time.process_time() - start
    return result, max(seconds, SHORTEST)
