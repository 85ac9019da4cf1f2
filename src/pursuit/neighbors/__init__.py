"""Nearest neighbors by local subspaces: the mathematics behind the estimators."""

from .leave_one_out import Table
from .prototypes import PrototypePath
from .subspaces import gram_path, hull_distance, hyperplane_distance
from .tangents import ImageTangents

__all__ = [
    "ImageTangents",
    "PrototypePath",
    "Table",
    "gram_path",
    "hull_distance",
    "hyperplane_distance",
]
