"""Nearest neighbors by local subspaces, and the choice of the rows that they keep."""

from .classifiers import CKNNClassifier, HKNNClassifier
from .regressor import HKNNRegressor
from .selectors import (
    CondensedNeighbors,
    DropNeighbors,
    EditedNeighbors,
    PrototypePursuit,
)

__all__ = [
    "CKNNClassifier",
    "CondensedNeighbors",
    "DropNeighbors",
    "EditedNeighbors",
    "HKNNClassifier",
    "HKNNRegressor",
    "PrototypePursuit",
]
