"""The scikit-learn faces of the library, a file a family."""

from .kmp import KMPClassifier, KMPRegressor
from .neighbor_regression import HKNNRegressor
from .neighbors import CKNNClassifier, HKNNClassifier

__all__ = [
    "CKNNClassifier",
    "HKNNClassifier",
    "HKNNRegressor",
    "KMPClassifier",
    "KMPRegressor",
]
