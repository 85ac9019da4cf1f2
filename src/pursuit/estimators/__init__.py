"""The scikit-learn faces of the library, a file a family."""

from .kmp import KMPClassifier, KMPRegressor
from .neighbors import CKNNClassifier, HKNNClassifier

__all__ = ["CKNNClassifier", "HKNNClassifier", "KMPClassifier", "KMPRegressor"]
