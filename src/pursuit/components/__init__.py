"""Sparse kernel PCA and CCA, by greedy choice of points and deflation."""

from .pairs import PairedPath
from .subspaces import SubspacePath

__all__ = ["PairedPath", "SubspacePath"]
