"""The scikit-learn faces of the library, a file a family."""

from .kmp import KMPClassifier, KMPRegressor

__all__ = ["KMPClassifier", "KMPRegressor"]
