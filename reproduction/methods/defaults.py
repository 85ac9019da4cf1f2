"""Defaults of this library, boosted trees as they come, a machine tuned by a grid.

All take raw units and the same number of cores; the machine scales its inputs itself.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from threadpoolctl import threadpool_limits

from pursuit import KMPClassifier, KMPRegressor
from reproduction.protocols.survey_sets import Problem

# The grid of the machine, with gammas for one column, and its folds.
C = (0.3, 3.0, 30.0, 300.0)
GAMMAS = (0.03, 0.1, 0.3, 1.0, 3.0)
N_FOLDS = 5
EPSILON = 0.1  # in standard deviations of the targets


@dataclass(frozen=True)
class Method:
    """A method: ``fit(X, y, cores)`` returns a model that predicts.

    Targets are classes unless they are floats.
    """

    fit: Callable[[np.ndarray, np.ndarray, int], Any]
    package: str = "sklearn"

    @property
    def is_installed(self) -> bool:
        """Whether its package is."""
        return find_spec(self.package) is not None


def _is_class(y: np.ndarray) -> bool:
    return y.dtype.kind != "f"


def _machine(X: np.ndarray, y: np.ndarray, cores: int) -> Any:
    """Return the SVC, or the SVR of standardized targets, with C and gamma by folds."""
    is_class = _is_class(y)
    model = SVC() if is_class else SVR(epsilon=EPSILON)
    step = type(model).__name__.lower()
    grid = {
        f"{step}__C": C,
        f"{step}__gamma": [gamma / X.shape[1] for gamma in GAMMAS],
    }
    pipeline = make_pipeline(StandardScaler(), model)
    search = GridSearchCV(pipeline, grid, cv=N_FOLDS, n_jobs=cores)
    if not is_class:
        search = TransformedTargetRegressor(search, transformer=StandardScaler())
    return search.fit(X, y)


def _pursuit(max_support: int | None = None) -> Method:
    def fit(X: np.ndarray, y: np.ndarray, cores: int) -> Any:
        kind = KMPClassifier if _is_class(y) else KMPRegressor
        return kind(max_support=max_support, random_state=0).fit(X, y)

    return Method(fit)


def _catboost(X: np.ndarray, y: np.ndarray, cores: int) -> Any:
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostClassifier if _is_class(y) else CatBoostRegressor
    return kind(thread_count=cores, verbose=0, allow_writing_files=False).fit(X, y)


def _lightgbm(X: np.ndarray, y: np.ndarray, cores: int) -> Any:
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMClassifier if _is_class(y) else LGBMRegressor
    return kind(n_jobs=cores, verbose=-1).fit(X, y)


def _histograms(X: np.ndarray, y: np.ndarray, cores: int) -> Any:
    kinds = HistGradientBoostingRegressor, HistGradientBoostingClassifier
    kind = kinds[_is_class(y)]
    return kind(random_state=0).fit(X, y)


METHODS = {
    "KMP": _pursuit(),
    "KMP, 50 points": _pursuit(50),
    "KMP, 100 points": _pursuit(100),
    "SVM, tuned": Method(_machine),
    "CatBoost": Method(_catboost, "catboost"),
    "LightGBM": Method(_lightgbm, "lightgbm"),
    "HistGradientBoosting": Method(_histograms),
}
KMP, *CAPPED, MACHINE = list(METHODS)[:4]
TREES = list(METHODS)[4:]


def installed() -> list[str]:
    """Return the names of the methods whose packages are installed."""
    return [name for name, method in METHODS.items() if method.is_installed]


@dataclass(frozen=True, eq=False)
class Fit:
    """What a fitted model took and gives: seconds, predictions, number of points."""

    seconds: float
    prediction: np.ndarray
    size: int | None


def fitted(
    method: str, p: Problem, cores: int, after: Callable[[], Any] = lambda: None
) -> Fit:
    """Fit a method and predict the test rows, with so many cores.

    Seconds are those of the processor, of all threads, which leave out what else the
    machine does. ``after`` is called between fit and prediction.
    """
    with warnings.catch_warnings(), threadpool_limits(cores):
        # Of folds that lack a rare class, and of arrays without column names.
        warnings.simplefilter("ignore")
        _warm_up(method, min(len(np.unique(p.y)), 3) if _is_class(p.y) else 0, cores)
        start = time.process_time()
        model = METHODS[method].fit(p.X, p.y, cores)
        seconds = time.process_time() - start
        after()
        return Fit(seconds, np.ravel(model.predict(p.X_test)), n_points(model))


@cache
def _warm_up(method: str, n_classes: int, cores: int) -> None:
    """Compile code, import packages and start processes before they are timed."""
    X = np.random.default_rng(0).normal(size=(40, 2))
    y = np.arange(40) % n_classes if n_classes else X[:, 0]
    METHODS[method].fit(X, y, cores)


def n_points(model: Any) -> int | None:
    """Return the number of training rows that a model keeps, None for trees."""
    if isinstance(model, TransformedTargetRegressor):
        model = model.regressor_
    if isinstance(model, GridSearchCV):
        model = model.best_estimator_[-1]
    support = getattr(model, "support_", None)
    return None if support is None else len(support)
