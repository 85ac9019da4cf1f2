"""Kernel matching pursuit: sparse kernel models for scikit-learn."""

from .estimators import (
    CKNNClassifier,
    HKNNClassifier,
    HKNNRegressor,
    KMPClassifier,
    KMPRegressor,
)

__version__ = "0.1.0.dev0"

__all__ = [
    "CKNNClassifier",
    "HKNNClassifier",
    "HKNNRegressor",
    "KMPClassifier",
    "KMPRegressor",
    "__version__",
]
