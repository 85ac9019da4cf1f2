"""Nearest neighbors by local subspaces: classifiers and a regressor."""

from .classifiers import CKNNClassifier, HKNNClassifier
from .regressor import HKNNRegressor

__all__ = ["CKNNClassifier", "HKNNClassifier", "HKNNRegressor"]
